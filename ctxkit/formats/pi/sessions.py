"""New pi entries: contents of any format as a session that pi continues.

Pipeline: `write` makes a whole session of contents; `rewriting.py` uses single entries for what ops added. A session is
a header of version 3 and a tree of entries, here a chain.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from ctxkit.core.messages import Call, Content, Image, Part, Repairs, Result, Text, Thinking
from ctxkit.core.text.json_text import dumps
from ctxkit.core.times import seconds
from ctxkit.formats.base import MessageToWrite, NewSession, Written
from ctxkit.formats.bodies import Ids, arguments, clean, count_lost_name, image_type, kind_of, placeholder, speaker

VERSION = 3
_LONGEST_ID = 64
_NOTHING = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}

Json = dict[str, Any]


class Entries:
    """Makes entries, one after the other. `known`: calls that the session has already, id -> name; their ids stay."""

    def __init__(self, session: NewSession, repairs: Repairs, known: Mapping[str, str], taken: Collection[str]) -> None:
        self.session, self.repairs = session, repairs
        self._known = known
        self._names = dict(known)
        self._ids = Ids(_LONGEST_ID)
        self._taken = set(taken)

    def fresh(self) -> str:
        """A new id of an entry: eight digits."""
        while (found := self.session.fresh()[:8]) in self._taken:
            pass
        self._taken.add(found)
        return found

    def of(self, kept: MessageToWrite, parent: str | None) -> list[Json]:
        """The entries of a message, each the child of the one before, the first of `parent`."""
        ts = kept.ts or self.session.time
        found: list[Json] = []
        for message in self.messages(kept.content or Content("user", [])):
            entry = {"type": "message", "id": self.fresh(), "parentId": parent, "timestamp": ts}
            parent = entry["id"]
            found.append(clean(entry | {"message": message | {"timestamp": int((seconds(ts) or 0) * 1000)}}))
        return found

    def messages(self, content: Content) -> list[Json]:
        """The messages of a content: one per result, then its text and calls."""
        side = speaker(content)
        found = [self._result(part) for part in content.parts if isinstance(part, Result)]
        rest = [part for part in content.parts if not isinstance(part, Result)]
        blocks = [block for part in rest if (block := self._block(part, side))]
        if rest:
            count_lost_name(content, self.repairs)
        if blocks and side == "system":
            self.repairs.leave_out("role of a system message (it is the user's)")
        if blocks:
            found.append(self._answer(content, blocks) if side == "assistant" else {"role": "user", "content": blocks})
        if not found:
            self.repairs.leave_out("empty message")
        return found

    def _answer(self, content: Content, blocks: list[Json]) -> Json:
        calls = any(block["type"] == "toolCall" for block in blocks)
        model = _model(content) or self.session.model or "unknown"
        claude = model.startswith("claude")
        return {
            "role": "assistant",
            "content": blocks,
            "api": "anthropic-messages" if claude else "openai-responses",
            "provider": "anthropic" if claude else "openai",
            "model": model,
            "usage": {**_NOTHING, "totalTokens": 0, "cost": {**_NOTHING, "total": 0}},
            "stopReason": "toolUse" if calls else "stop",
        }

    def _result(self, result: Result) -> Json:
        inner: list[Part] = [Text(result.content)] if isinstance(result.content, str) else result.content
        blocks = [self._block(part, "user") or {"type": "text", "text": _placeholder(part)} for part in inner]
        known = result.id in self._known
        return {
            "role": "toolResult",
            "toolCallId": result.id if known else self._ids.answer(result.id),
            "toolName": self._names.get(result.id, ""),
            "content": blocks,
            "isError": result.is_error,
        }

    def _block(self, part: Part, side: str) -> Json | None:
        match part:
            case Text(text=words):
                return {"type": "text", "text": words} if words else None
            case Image() if side == "user" and (called := image_type(part)):
                return {"type": "image", "data": part.data, "mimeType": called}
            case Thinking(text=words, raw=raw) if words and side == "assistant":
                signature = raw.get("thinkingSignature", raw.get("signature"))
                block = {"type": "thinking", "thinking": words}
                return block | {"thinkingSignature": signature} if isinstance(signature, str) and signature else block
            case Call(id=identity, name=name):
                self._names[identity] = name
                new = identity if identity in self._known else self._ids.call(identity)
                return {"type": "toolCall", "id": new, "name": name, "arguments": arguments(part)}
        self.repairs.leave_out(kind_of(part))
        return None


def write(context: Iterable[MessageToWrite], session: NewSession) -> Written:
    """A new session: a header, and a chain of entries."""
    written = Written(session.id, file_name(session), (), Repairs(), 0)
    written.pieces = _rows(context, session, written)
    return written


def _rows(context: Iterable[MessageToWrite], session: NewSession, written: Written) -> Iterator[bytes]:
    entries = Entries(session, written.repairs, {}, ())
    yield line(header(session))
    parent: str | None = None
    for kept in context:
        made = entries.of(kept, parent)
        written.count += bool(made)
        for entry in made:
            parent = entry["id"]
            yield line(entry)


def header(session: NewSession, *, named: bool = True) -> Json:
    """The first row of a session. `named`: its entries have ids; else it is a header of version 1."""
    head: Json = {"type": "session", "id": session.id, "timestamp": session.time, "cwd": session.cwd}
    return head | {"version": VERSION} if named else head


def marker(identity: str, above: str | None, ts: str) -> Json:
    """An entry that pi never sends, and from which it continues if it is the file's last."""
    return {"type": "custom", "customType": "ctxkit", "id": identity, "parentId": above, "timestamp": ts}


def line(entry: Json) -> bytes:
    """An entry as a line of the file."""
    return dumps(entry).encode("ascii") + b"\n"


def file_name(session: NewSession) -> str:
    """The file name of a session in pi."""
    return f"{session.time.removesuffix('Z').replace(':', '-')}-000Z_{session.id}.jsonl"


def _placeholder(part: Part) -> str:
    return "" if isinstance(part, Text) else placeholder(part)


def _model(content: Content) -> str:
    """The model that wrote the content, if the log names one."""
    row = content.rows[0] if content.rows else {}
    message = row.get("message")
    found = message.get("model") if isinstance(message, dict) else row.get("model")
    return found if isinstance(found, str) else ""
