"""ctxkit's context of a session as blocks: what it says the agent would send."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from ctxkit import Log
from ctxkit.core.integrity import repair
from ctxkit.core.messages import Call, Content, Image, Other, Part, Result, Text, Thinking
from ctxkit.errors import NothingToSend
from ctxkit.formats import anthropic as target
from tests.formats.writing import write
from tests.resume.blocks import ABORTED, MADE_RESULTS, Block, anthropic, as_json, fold, gemini, qwen, without_nulls


class _Any:
    """Every tool: an agent sends the definitions of its own along."""

    def __contains__(self, _: object) -> bool:
        return True


ANY = _Any()
FORGETS_OTHERS_THINKING = {("pi", "1.6.0")}
"""Agents that leave out signed thinking of another model, which versions before sent as words, as ctxkit does:
`python -m tests.resume.probes` shows both."""


def context(agent: str, session: Path, model: str = "", version: str = "") -> list[Block]:
    """The blocks of the context of `session`, in the form in which `agent` would send them."""
    return context_of(agent, Log.open(session), model, version)


def context_of(agent: str, log: Log, model: str = "", version: str = "") -> list[Block]:
    """The same of a log that was opened, and perhaps edited."""
    if agent == "codex":
        contents, _ = repair([log.full(entry) for entry in log.entries()])
        return list(_items(contents))
    if agent in ("gemini-cli", "qwen-code"):
        default = (
            "gemini-2.5-pro" if agent == "qwen-code" else "gemini-3-pro-preview"
        )  # which takes pictures in results
        sent = next(iter(log.export("gemini", model=model or default, assembly=False).values))
        return list((gemini if agent == "gemini-cli" else qwen)(sent["contents"]))
    contents = [log.full(entry) for entry in log.entries()]
    if (agent, version) in FORGETS_OTHERS_THINKING:
        contents = list(_without_foreign_thinking(contents))
    own = log.opening.format.sent(contents, log.answered, model)  # after ops too: what the program makes of the history
    try:
        body, _ = write(target, own[0] if own else contents, as_sent=own is not None, tools=ANY)
    except NothingToSend:
        return []
    return list(anthropic(body["messages"]))


def _without_foreign_thinking(contents: list[Content]) -> Iterator[Content]:
    """The contents without what models thought that are not the one asked, by any other provider or API.

    Asked is the last one; if it is not Anthropic's, for which alone pi is given a key, one of which no thought is here.
    """
    last = next((made for content in reversed(contents) if (made := _maker(content))), ())
    asked = last if last[:1] == ("anthropic",) else ("another",)
    for content in contents:
        foreign = _maker(content) not in ((), asked)
        rest = [part for part in content.parts if not (foreign and isinstance(part, Thinking))]
        yield Content(content.role, rest, content.name, content.rows)


def _maker(content: Content) -> tuple[str, ...]:
    """Provider, API and model of a response."""
    message = content.rows[0].get("message") if content.rows and content.role == "assistant" else None
    made = message if isinstance(message, dict) else {}
    return tuple(str(made.get(key)) for key in ("provider", "api", "model")) if made.get("model") else ()


def _items(contents: Iterable[Content]) -> Iterator[Block]:
    """As the Responses API has them: the raw words of arguments, results and encrypted thinking."""
    for content in contents:
        for part in content.parts:
            yield _item(content.role, part)


def _item(role: str, part: Part) -> Block:
    match part:
        case Text(text=words):
            return Block(role, "text", fold(words))
        case Thinking(text=words, raw=raw):
            return Block(role, "thinking", str(raw.get("encrypted_content") or ""), fold(words))
        case Call(id=key, name="local_shell", arguments=arguments):
            return Block(role, "tool_use", key, "local_shell" + as_json(without_nulls(arguments)))
        case Call(id=key, name=name, arguments=arguments):
            raw = part.raw or {}
            written = raw.get("arguments", raw.get("input"))
            return Block(role, "tool_use", key, name + (written if isinstance(written, str) else as_json(arguments)))
        case Result(id=key, content=inner):
            words = inner if isinstance(inner, str) else "\n".join(p.text for p in inner if isinstance(p, Text))
            made = words == ABORTED or words.startswith(MADE_RESULTS)
            return Block("user", "tool_result", key, fold(words), "made up" if made else "")
        case Image(data=pixels, url=url):
            return Block(role, "image", pixels or url)
        case Other(kind=kind, raw=raw):
            known = {key: value for key, value in raw.items() if key != "metadata" and "passthrough" not in key}
            return Block("assistant", kind, as_json(known))
