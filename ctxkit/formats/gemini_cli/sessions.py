"""New Gemini CLI records: contents of any format as a session that `gemini --resume` continues.

Pipeline: `write` makes a whole session of contents; `rewriting.py` uses single records for what ops added. A session is
a header and a record per message. A call holds its result, so a record is written only after the results of its calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ctxkit.core.messages import Call, Content, Image, Other, Part, Repairs, Result, Text, Thinking
from ctxkit.core.text.json_text import dumps
from ctxkit.formats.base import MessageToWrite, NewSession, Written
from ctxkit.formats.bodies import Ids, arguments, clean, count_lost_name, kind_of, placeholder, speaker, tool_name
from ctxkit.formats.gemini_media import file_of, media_of
from ctxkit.formats.session_folders import project_hash

_LONGEST_ID = 128
_LONGEST_NAME = 64
_COMMANDS = ("/", "?")
"""First characters of texts that Gemini CLI takes for commands and does not send."""
_BEFORE = "\u200b"
"""Put before such a text: invisible, and no white space, which the program would skip."""

Json = dict[str, Any]


class RecordWriter:
    """Makes records, one after the other. `known`: calls that the session has already, id -> name; their ids stay."""

    def __init__(self, session: NewSession, repairs: Repairs, known: dict[str, str] | None = None) -> None:
        self.session, self.repairs = session, repairs
        self._known = known or {}
        self._names = dict(self._known)
        self._ids = Ids(_LONGEST_ID)

    def of(self, kept: MessageToWrite) -> tuple[list[Result], Json | None]:
        """The results for calls of earlier records, and the record of the rest; None if nothing is left."""
        content = kept.content or Content("user", [])
        own = speaker(content) == "assistant"
        calls = {part.id for part in content.parts if isinstance(part, Call)}
        answers = [part for part in content.parts if isinstance(part, Result) and part.id not in calls]
        inside = [part for part in content.parts if isinstance(part, Result) and part.id in calls]
        rest = [part for part in content.parts if not isinstance(part, Result)]
        if rest:
            count_lost_name(content, self.repairs)
        record = (
            self._response_record(rest, kept)
            if own
            else self._user_record(rest, kept, system=speaker(content) == "system")
        )
        if record is not None:
            for result in inside:
                self.answer(record, result)
        elif not answers:
            self.repairs.leave_out("empty message")
        return answers, record

    def answer(self, record: Json, result: Result) -> bool:
        """Put a result into the call of `record` that it answers; False if no unanswered call there has its id."""
        identity = result.id if result.id in self._known else self._ids.answer(result.id)
        for call in record.get("toolCalls") or ():
            if isinstance(call, dict) and call.get("id") == identity and call.get("result") is None:
                call["result"] = self._response(identity, call.get("name", ""), result)
                call["status"] = "error" if result.is_error else "success"
                return True
        return False

    def _head(self, kept: MessageToWrite, kind: str) -> Json:
        return {"id": self.session.fresh(), "timestamp": kept.ts or self.session.time, "type": kind}

    def _response_record(self, parts: Sequence[Part], kept: MessageToWrite) -> Json | None:
        """The record of a response: its text, then its calls; None if empty."""
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

    def _user_record(self, parts: Sequence[Part], kept: MessageToWrite, *, system: bool) -> Json | None:
        """The record of a user message: text and pictures; None if empty."""
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
        """A result as Gemini CLI keeps it; pictures are beside the text."""
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
                words.append(placeholder(part))
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
        answers, record = records.of(kept)
        written.count += bool(answers) or record is not None
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


def line(record: Json) -> bytes:
    """A record as a line of the file."""
    return dumps(clean(record)).encode("ascii") + b"\n"


def file_name(session: NewSession) -> str:
    """The file name of a session in Gemini CLI."""
    return f"session-{session.time.removesuffix('Z').replace(':', '-')}-{session.id[:8]}.jsonl"
