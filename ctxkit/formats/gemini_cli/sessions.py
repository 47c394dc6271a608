"""New Gemini CLI records: contents of any format as a session that `gemini --resume` goes on with.

Pipeline: `write` makes a whole session of contents; `rewriting.py` takes single records for what ops brought in. A
session is a header and a record per message; a call holds its result, so a record waits for what answers its calls.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ctxkit.core.messages import Call, Content, Image, Other, Part, Repairs, Result, Text, Thinking
from ctxkit.core.text.json_text import dumps
from ctxkit.formats.base import MessageToWrite, NewSession, Written
from ctxkit.formats.bodies import Ids, arguments, clean, instead_of, kind_of, speaker, tool_name, unsaid_name
from ctxkit.formats.gemini_media import file_of, media_of

_LONGEST_ID = 128
_LONGEST_NAME = 64
_COMMANDS = ("/", "?")
"""How words begin that Gemini CLI takes for a command, and sends to no model."""
_BEFORE = "\u200b"
"""Put before such words: nobody sees it, and it is no white space, which the program would pass over."""

Json = dict[str, Any]


class RecordWriter:
    """Writes records, one after the other. `known`: names of calls that the session has already, by id; ids stay."""

    def __init__(self, session: NewSession, repairs: Repairs, known: dict[str, str] | None = None) -> None:
        self.session, self.repairs = session, repairs
        self._known = known or {}
        self._names = dict(self._known)
        self._ids = Ids(_LONGEST_ID)

    def of(self, kept: MessageToWrite) -> tuple[list[Result], Json | None]:
        """What answers calls of records before, and the record of the rest; None where nothing is left."""
        content = kept.content or Content("user", [])
        own = speaker(content) == "assistant"
        calls = {part.id for part in content.parts if isinstance(part, Call)}
        answers = [part for part in content.parts if isinstance(part, Result) and part.id not in calls]
        inside = [part for part in content.parts if isinstance(part, Result) and part.id in calls]
        rest = [part for part in content.parts if not isinstance(part, Result)]
        if rest:
            unsaid_name(content, self.repairs)
        record = self._said(rest, kept) if own else self._asked(rest, kept, system=speaker(content) == "system")
        if record is not None:
            for result in inside:
                self.answer(record, result)
        elif not answers:
            self.repairs.leave_out("empty message")
        return answers, record

    def answer(self, record: Json, result: Result) -> bool:
        """Put a result into the call of `record` that it answers; False where it has none that waits for it."""
        identity = result.id if result.id in self._known else self._ids.answer(result.id)
        for call in record.get("toolCalls") or ():
            if isinstance(call, dict) and call.get("id") == identity and call.get("result") is None:
                call["result"] = self._response(identity, call.get("name", ""), result)
                call["status"] = "error" if result.is_error else "success"
                return True
        return False

    def _head(self, kept: MessageToWrite, kind: str) -> Json:
        return {"id": self.session.fresh(), "timestamp": kept.ts or self.session.time, "type": kind}

    def _said(self, parts: Sequence[Part], kept: MessageToWrite) -> Json | None:
        """A response: its words, then its calls."""
        words: list[str] = []
        calls: list[Json] = []
        for part in parts:
            match part:
                case Text(text=text):
                    words += [text] if text else []
                case Call():
                    calls.append(self.call(part, kept))
                case Thinking():
                    self.repairs.leave_out("thinking of another program")
                case _:
                    self.repairs.leave_out(kind_of(part))
        if not (words or calls):
            return None
        found = self._head(kept, "gemini") | {"content": "\n".join(words), "thoughts": []}
        found["model"] = self.session.model or "unknown"
        return found | {"toolCalls": calls} if calls else found

    def call(self, part: Call, kept: MessageToWrite) -> Json:
        """A call without its result."""
        known = part.id in self._known
        name = part.name if known else tool_name(part.name, _LONGEST_NAME, self.repairs, first_letter=True)
        identity = part.id if known else self._ids.call(part.id)
        self._names[part.id] = name
        ts = kept.ts or self.session.time
        return {"id": identity, "name": name, "args": arguments(part), "status": "cancelled", "timestamp": ts}

    def _asked(self, parts: Sequence[Part], kept: MessageToWrite, *, system: bool) -> Json | None:
        """A message of the user: words and pictures."""
        found: list[Json] = []
        for part in parts:
            match part:
                case Text(text=text):
                    found += [{"text": text}] if text else []
                case Image() | Other() if media := media_of(part) or file_of(part):
                    found.append(media)
                case _:
                    self.repairs.leave_out(kind_of(part))
        if not found:
            return None
        if system:
            self.repairs.leave_out("role of a system message (it is the user's)")
        if "".join(one.get("text", "") for one in found).strip().startswith(_COMMANDS):
            self.repairs.put_in("mark before words that Gemini CLI takes for a command")
            found.insert(0, {"text": _BEFORE})
        return self._head(kept, "user") | {"content": found}

    def _response(self, identity: str, name: str, result: Result) -> list[Json]:
        """What came back, as Gemini CLI keeps it; pictures stand beside the words."""
        words: list[str] = []
        beside: list[Json] = []
        for part in [Text(result.content)] if isinstance(result.content, str) else result.content:
            media = media_of(part) if not isinstance(part, Text) else None
            if isinstance(part, Text):
                words.append(part.text)
            elif media is not None:
                beside.append(media)
            else:
                self.repairs.leave_out(kind_of(part))
                words.append(instead_of(part))
        response = {"error" if result.is_error else "output": "\n".join(words)}
        return [{"functionResponse": {"id": identity, "name": name, "response": response}}, *beside]


def write(context: Iterable[MessageToWrite], session: NewSession) -> Written:
    """A new session: a header, and a record per message."""
    written = Written(session.id, file_name(session), (), Repairs(), 0)
    written.pieces = _rows(context, session, written)
    return written


def _rows(context: Iterable[MessageToWrite], session: NewSession, written: Written) -> Iterator[bytes]:
    records = RecordWriter(session, written.repairs)
    yield line(header(session))
    last: list[Json] = []
    for kept in context:
        written.count += 1
        answers, record = records.of(kept)
        for result in answers:
            if not any(records.answer(one, result) for one in last):
                written.repairs.leave_out("result of a call that is not there")
        if record is not None:
            yield from map(line, last)
            last = [record]
    yield from map(line, last)


def header(session: NewSession) -> Json:
    """The first row of a session."""
    return {
        "sessionId": session.id,
        "projectHash": project_hash(session.cwd),
        "startTime": session.time,
        "lastUpdated": session.time,
        "kind": "main",
    }


def project_hash(cwd: str) -> str:
    """What Gemini CLI notes of the folder that it runs in."""
    return hashlib.sha256(cwd.encode("utf-8", "surrogateescape")).hexdigest()


def line(record: Json) -> bytes:
    """A record as a line of the file."""
    return dumps(clean(record)).encode("ascii") + b"\n"


def file_name(session: NewSession) -> str:
    """What Gemini CLI calls the file of a session."""
    return f"session-{session.time.removesuffix('Z').replace(':', '-')}-{session.id[:8]}.jsonl"
