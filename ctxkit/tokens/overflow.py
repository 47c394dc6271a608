"""What providers say when a request is too large: how many tokens it had, how many they take, how many it asked for.

One table of their wordings, the surest first; in JSON, also one inside of another, they are found where they stand.
Pure. Text in, figures out.
"""

from __future__ import annotations

import re
from typing import NamedTuple

FIGURE = r"(?<!\d)(?:\d{1,3}(?:[.,_'\u00a0\u202f]\d{3}){1,4}|\d{1,12})(?!\d)"
"""How figures are written: 210345, 210,345, 210_345."""
WORDINGS = (
    # Anthropic; Bedrock and Vertex for it; Fireworks
    "prompt is too long: {sent} tokens? > {limit}",
    "prompt is too long: {sent},? .{0,20}maximum context length: {limit}",
    r"exceeds? (?:the )?context limit: {sent} \+ {reply} > {limit}",
    # OpenAI, Azure, DeepSeek, OpenRouter, vLLM, SGLang and others that speak its protocol
    r"context length (?:is|of)(?: only)? {limit} tokens\W.{0,40}?requested (?:about |a total of )?{both} tokens",
    r"is too large: {reply}\. .{0,60}context length is {limit} tokens and your request has {sent} input",
    r"passed {sent} input tokens and requested {reply} output tokens.{0,60}context length is(?: only)? {limit}",
    r"context length is {limit} tokens\W.{0,60}?(?:resulted in|contains?(?: at least)?|request has|has) {sent}",
    r"limit of {limit} tokens\W.{0,40}?resulted in {sent} tokens",
    r"maximum (?:context|prompt|input) length is {limit}\b.{0,40}?\b(?:contains?|has|had|got) {sent} tokens",
    # Gemini, and Vertex for it
    r"input token count \(?{sent}\)? exceeds the maximum number of tokens allowed \(?{limit}",
    r"input token count is {sent} but .{0,40}supports up to {limit}",
    # llama.cpp, and llama-cpp-python
    r'"n_prompt_tokens": ?{sent}.{0,20}"n_ctx": ?{limit}',
    r"request \({sent} tokens\) exceeds the available context size \({limit} tokens",
    r"requested tokens \({sent}\) exceeds? context window of {limit}",
    # vLLM and SGLang before a request is taken, text-generation-inference, Ollama's log
    r"prompt \((?:total )?length {sent}\) is (?:longer than|too long).{0,60}?(?:length|length of) {limit}",
    r"(?:prompt|input) \({sent} tokens\) is (?:longer than|too long).{0,60}?(?:\(|limit of |length of ){limit}",
    r"must be <= {limit}\. given: {sent} .{0,20}tokens and {reply}",
    r"must have less than {limit} tokens\. given: {sent}",
    r"context length.{0,10}prompt={sent}.{0,10}limit={limit}",
    # Mistral, xAI, Moonshot, Cohere, Cerebras, Copilot, Hugging Face
    r"prompt contains {sent} tokens.{0,40}too large for model with {limit}",
    r"model token limit: {limit} \(requested: {sent}\)",
    r"tokens in the prompt cannot exceed {limit}\W+received {sent}",
    r"current length is {sent} while limit is {limit}",
    r"token count of {sent} exceeds the limit of {limit}",
    r"maximum sequence length for this model \({sent} > {limit}\)",
    # nobody's in particular
    r"{sent} (?:input |prompt )?tokens?\W{0,2} ?(?:exceeds?|is more than|is over|>) .{0,60}?{limit}",
    # figures in part
    r"exceed(?:s|ed)? (?:max(?:imum)? )?(?:context length|size limit|limit exceeded)? ?by {over} tokens",
    r"size limit exceeded by {over} tokens",
    r"maximum (?:context|prompt|input) length (?:is|of) {limit}(?: tokens)?\b",
    r"input length should be \[\d+, ?{limit}\]",
)
"""`sent`, `limit`, `reply`: as in `Overflow`; `both`: request and reply together; `over`: how far it is above."""
REPLY = r"{reply}(?: tokens)? (?:in|for|of|from) (?:the |your )?(?:completion|output)"
INPUT = r"{sent}(?: tokens)? (?:in|for|of|from) (?:the |your )?(?:input )?(?:messages|prompt|text input|input)"
"""How wordings go on that name both together."""
AHEAD = 240
"""Characters behind these in which they do."""
UNTOLD = re.compile(
    r"context_length_exceeded|model_context_window_exceeded|exceed_context_size_error|exceeds? the (?:\w+ )?context"
    r"|context (?:size|length|window) (?:has been |was |is )?exceeded|(?:input|prompt) is too long"
    r"|prompt exceeds max(?:imum)? length|number of input tokens exceeds|exceeds the available context",
    re.IGNORECASE,
)
"""A refusal without figures."""


class Overflow(NamedTuple):
    """A refusal. `sent`: tokens of the request, without the reply; `limit`: of both together; `reply`: tokens that were
    asked for; `over`: how far above the limit it was. None: it does not say.
    """

    sent: int | None
    limit: int | None
    reply: int | None = None
    over: int | None = None


def _compiled(wording: str) -> re.Pattern[str]:
    named = re.sub(r"\{(\w+)\}", lambda one: one[0] if one[1].isdigit() else f"(?P<{one[1]}>{FIGURE})", wording)
    return re.compile(named, re.IGNORECASE)


def overflow(text: str) -> Overflow | None:
    """What a provider's words say; None where they speak of no request that is too large."""
    flat = _flat(text)
    for wording in WORDINGS:
        found = _compiled(wording).search(flat)
        if found is not None:
            told = {name: _number(figure) for name, figure in found.groupdict().items()}
            if "both" in told:
                told |= _parted(told.pop("both"), flat[found.end() : found.end() + AHEAD])
            return Overflow(told.get("sent"), told.get("limit"), told.get("reply"), told.get("over"))
    return Overflow(None, None) if UNTOLD.search(flat) else None


def _parted(both: int, behind: str) -> dict[str, int]:
    """What of `both` was sent, and what asked for."""
    reply, sent = (_compiled(wording).search(behind) for wording in (REPLY, INPUT))
    if reply is not None:
        asked = _number(reply["reply"])
        return {"sent": both - asked, "reply": asked}
    if sent is not None and _number(sent["sent"]) < both:
        return {"sent": _number(sent["sent"]), "reply": both - _number(sent["sent"])}
    return {"sent": both}


def _flat(text: str) -> str:
    """One line, as it reads once the JSON that it may stand in is decoded, however often.

    A run of backslashes is looked at from its start alone.
    """
    text = re.sub(r"(?<!\\)\\+u([0-9a-fA-F]{4})", lambda code: chr(int(code[1], 16)), text)
    text = re.sub(r"(?<!\\)\\+([\"'/`])", r"\1", re.sub(r"(?<!\\)\\+[nrt]", " ", text))
    return re.sub(r"[ \t\r\n]+", " ", text)


def _number(text: str) -> int:
    return int(re.sub(r"\D", "", text))
