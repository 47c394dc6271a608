"""Requests as blocks that can be compared: role, kind, key and body of each, and the rule that takes it out, if any.

A rule names what one side has that the other cannot have: the prompt of the run, its own reminders, words that a client
makes up. key = words | id of a call | signature | picture; body = name and arguments | result | words of a thought;
runs of white space are one space. `hashed` gives the digest rows in which recorded requests are kept.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from ctxkit.core.text.json_text import canonical
from tests.resume.agents import PING
from tests.resume.stub import Json

RULES = {
    "prompt": "the prompt of the resuming run",
    "reminder": "reminders: the run's own, and attachments, which are worded anew in each version",
    "runtime": "items of the resuming run: its instructions, its environment",
    "made up": "words in the place of what is not there, the agent's and ours; results so made answer the same calls",
    "unpaired": "a result without a call, or a second one: no provider takes it, so we leave it out",
    "open": "our answer to a call that Gemini CLI leaves open, which no provider takes",
    "loaded": "said after results that name tools which the resuming run has",
    "blank": "an empty text",
    "cut": "a result that the resuming run cut to its model's length, or an image in it that it could not decode",
}
"""What is not compared word by word, and why."""
MADE_TEXTS = {
    "No response requested.", "(no content)", "[Tool use interrupted]",
    "[Orphaned tool result removed due to conversation resume]",
    "[The previous response was interrupted before it completed.]",
}  # fmt: skip
MADE_RESULTS = (
    "[Tool call interrupted: the session ended", "[Tool result missing", "No result provided", "[no result recorded",
    "[Tool execution was interrupted]",
)  # fmt: skip
QWEN_MADE = "Tool execution result was not recorded"
LOADED = "Tool loaded."
ABORTED = "aborted"
"""What Codex answers an open call with."""
REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>", re.DOTALL)
CUT = re.compile(
    r"…\d+ (?:tokens|chars) truncated…|image content omitted because it could not be processed"
    r"|\.\.\. \[TRUNCATED\] \.\.\."
)
MASKED = re.compile(r'<tool_output_masked>\n\{\s+"output": (".*")\s+\}\n\nOutput too large\..*', re.DOTALL)
"""What Gemini CLI says of an old result that is long: its JSON, cut in the middle."""


@dataclass(frozen=True)
class Block:
    """One block. `rule`: one of RULES, or ""."""

    role: str
    kind: str
    key: str
    body: str | None = None
    rule: str = ""

    def hashed(self) -> tuple[str, str, str, str | None]:
        """Its digest row."""
        return self.role, self.kind, _sha(self.key), None if self.body is None else _sha(self.body)


def anthropic(messages: Iterable[Json]) -> Iterator[Block]:
    """The blocks of a Messages request, the agent's or ours."""
    listed = list(messages)
    for number, message in enumerate(listed):
        content = message["content"]
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
        last = number == len(listed) - 1 or all(one["role"] == "system" for one in listed[number + 1 :])
        for place, part in enumerate(parts):
            yield _anthropic(message["role"], part, asks=last and place == len(parts) - 1)


def _anthropic(role: str, part: Json, *, asks: bool) -> Block:
    match part["type"]:
        case "text":
            words = part["text"]
            rule = "reminder" if role == "system" or words.startswith("<system-reminder>") else ""
            rule = "prompt" if asks and words.strip() == PING else rule
            rule = "made up" if words in MADE_TEXTS else "loaded" if words == LOADED else rule
            return Block(role, "text", fold(words), rule=rule or ("" if words.strip() else "blank"))
        case "tool_use":
            return Block(role, "tool_use", part["id"], part["name"] + as_json(part["input"]))
        case "tool_result":
            words = _result(part.get("content") or "")
            rule = "made up" if words.startswith(MADE_RESULTS) else ""
            return Block(role, "tool_result", part["tool_use_id"], fold(REMINDER.sub(" ", words)), rule)
        case "thinking":
            return Block(role, "thinking", part.get("signature", ""), fold(part["thinking"]))
        case "redacted_thinking":
            return Block(role, "thinking", part["data"], "")
        case "image":
            return Block(role, "image", str(part["source"].get("data") or part["source"].get("url")))
    return Block(role, part["type"], as_json(part))


def _result(content: str | list[Json]) -> str:
    return content if isinstance(content, str) else "\n".join(_inner(part) for part in content)


def _inner(part: Json) -> str:
    if part["type"] == "text":
        return str(part["text"])
    known = part["source"]["data"] if part["type"] == "image" else as_json(part)
    return f"{part['type']}:{_sha(known)}"


def responses(items: Iterable[Json], turn: str = "") -> Iterator[Block]:
    """The blocks of a Responses request. `turn`: the id of the resuming run's own turn."""
    for item in items:
        meta = item.get("internal_chat_message_metadata_passthrough") or {}
        rule = "runtime" if "model.base_instructions" in meta.get("content_item_kinds", ()) else ""
        if turn and meta.get("turn_id") == turn:
            rule = "prompt" if "user.text" in meta.get("content_item_kinds", ()) else "runtime"
        for block in _item(item):
            yield Block(block.role, block.kind, block.key, block.body, rule) if rule else block


def _item(item: Json) -> Iterator[Block]:
    kind = item.get("type", "message")
    match kind:
        case "message":
            for part in item["content"]:
                if part["type"] == "input_image":
                    yield Block(item["role"], "image", _pixels(part["image_url"]))
                else:
                    yield Block(item["role"], "text", fold(part["text"]))
        case "agent_message":
            yield from (Block("user", "text", fold(part["text"])) for part in item["content"] if "text" in part)
        case "tool_search_call" | "local_shell_call" if item.get("call_id"):
            asked = item.get("arguments", item.get("action"))
            name = str(kind).removesuffix("_call")
            yield Block("assistant", "tool_use", item["call_id"], name + as_json(without_nulls(asked)))
        case "tool_search_output" if item.get("call_id"):
            found = item.get("tools")
            yield Block("user", "tool_result", item["call_id"], as_json(found), "" if found else "made up")
        case "reasoning":
            words = "\n".join(part["text"] for part in item.get("summary") or ())
            yield Block("assistant", "thinking", item.get("encrypted_content") or "", fold(words))
        case "function_call" | "custom_tool_call":
            body = item.get("arguments", item.get("input"))
            yield Block("assistant", "tool_use", item["call_id"], item["name"] + str(body))
        case "function_call_output" | "custom_tool_call_output":
            words = _output(item["output"])
            made = words == ABORTED or words.startswith(MADE_RESULTS)
            yield Block("user", "tool_result", item["call_id"], fold(words), "made up" if made else "")
        case _:
            known = {key: value for key, value in item.items() if key != "metadata" and "passthrough" not in key}
            yield Block("assistant", str(kind), as_json(known))


def without_nulls(value: Any) -> Any:
    """An object without the fields that say nothing, which Codex fills in."""
    return {key: item for key, item in value.items() if item is not None} if isinstance(value, dict) else value


def gemini(contents: Iterable[Json]) -> Iterator[Block]:
    """The blocks of a request to Gemini, the agent's or ours. A call and its result have the key of the former."""
    listed = [(content["role"], part) for content in contents for part in content["parts"]]
    for number, (role, part) in enumerate(listed):
        match part:
            case {"text": str() as words}:
                rule = "runtime" if words.startswith("<session_context>") else ""
                rule = "prompt" if number == len(listed) - 1 and words.strip() == PING else rule
                rule = "made up" if words in MADE_TEXTS else rule or ("" if words.strip() else "blank")
                yield Block(role, "text", fold(words), rule=rule)
            case {"functionCall": call}:
                yield Block(role, "tool_use", call.get("id", ""), call["name"] + as_json(call.get("args") or {}))
            case {"functionResponse": found}:
                words = _response(found.get("response"))
                made = "open" if "[no result recorded" in words else ""
                yield Block(role, "tool_result", found.get("id", ""), words, made)
                yield from (Block(role, "image", one["inlineData"]["data"]) for one in found.get("parts", ()))
            case {"inlineData": {"data": pixels}}:
                yield Block(role, "image", pixels)
            case _:
                yield Block(role, "part", as_json(part))


def _response(response: Any) -> str:
    """A response as one text; of a cut one what is left of its JSON, so that it is compared as it stands."""
    masked = MASKED.fullmatch(str(response.get("output"))) if isinstance(response, dict) else None
    return as_json(response) if masked is None else f'{{"output":{masked[1]}}}'


def qwen(contents: Iterable[Json]) -> Iterator[Block]:
    """The same of a request of Qwen Code's to Gemini, or of ours for its sessions."""
    for block in gemini(contents):
        rule = "reminder" if block.key.startswith("<system-reminder>") else block.rule
        if block.kind == "tool_result" and (rule == "open" or QWEN_MADE in str(block.body)):
            rule = "made up"
        yield replace(block, rule=rule)


def _output(output: Any) -> str:
    if isinstance(output, dict):
        output = output.get("content", "")
    if isinstance(output, list):
        return "\n".join(part["text"] for part in output if "text" in part)
    return str(output)


def _pixels(url: str) -> str:
    return url.partition(";base64,")[2] or url


def fold(words: str) -> str:
    """Runs of white space as one space."""
    return re.sub(r"\s+", " ", words).strip()


def as_json(value: Any) -> str:
    """One text for equal values."""
    try:
        return canonical(value).decode("utf-8", "surrogatepass")
    except ValueError:
        return json.dumps(value, sort_keys=True)


def _sha(words: str) -> str:
    return hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()
