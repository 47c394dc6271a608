"""Files that hold chat messages in something bigger: an array, `{"messages": [...]}`, runs, a conversation per line.

Pipeline: `find` takes the bytes of such a file (a pipe may have added op lines), `choose` gives one conversation of it,
whose records the reader of `formats/chat.py` then reads: offsets refer to the JSONL that `lay_out` makes of them.
Another program owns these files, so `FORMAT` is not native: ops go to the sidecar.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any

import msgspec

from ctxkit.core.messages import Damage, Text
from ctxkit.core.text.json_text import loads
from ctxkit.core.unreadable import attempt
from ctxkit.errors import ManyConversations, Usage
from ctxkit.formats.chat import ChatFormat, content_of
from ctxkit.formats.partial_decode import one_line, value, views

FORMAT = ChatFormat("messages", native=False)
"""How the laid out lines are read."""

_ABSENT = msgspec.Raw(b"")
_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n"
_BLANKS = re.compile(rb"[ \t\r\n]*")
_LONG = 1 << 16
_LOOKED_AT = 50
_FIRST = 3
"""Lines looked at to tell whether each holds a conversation: the first may be damaged."""
_SHOWN = 10
_TITLE = 60
_DEEPEST = 2
_LISTS = ("messages", "traj", "history")
"""Where the messages stand: of requests and runs, of tau-bench, of SWE-agent."""
BODIES = frozenset({"responses", "gemini"})
"""Formats of lines other than chat messages that bodies of requests are laid out as (`formats/exchanges.py`)."""
_HEADED = frozenset({"gemini-cli", "opencode"})
"""Formats of session documents, whose first line is about the session (`formats/documents.py`)."""
_LABELS = ("custom_id", "instance_id", "task_id", "conversation_id", "id", "title", "name", "trial")


class Conversation(msgspec.Struct):
    """One conversation: what its container calls it ("task_id 3, trial 0", or ""); its messages, as they are written.

    Those of one long list may be views (`msgspec.Raw`).
    """

    label: str
    records: list[bytes]
    format: str = "messages"
    """Whose records they are: session documents (`formats/documents.py`) and `BODIES` have formats of their own."""

    @property
    def count(self) -> int:
        """How many messages it has."""
        if self.format == "messages":
            return sum(_role(record) is not None for record in self.records)
        if self.format in BODIES:
            from ctxkit.formats import exchanges

            return exchanges.count(self.format, self.records)
        return len(self.records) - (self.format in _HEADED)

    @property
    def title(self) -> str:
        """The start of its first user message, on one line."""
        for record in self.records:
            if _role(record) == "user":
                return attempt(partial(_words, bytes(record)), "")
        return ""


def _words(record: bytes) -> str:
    """The start of the words of a message, on one line."""
    told = loads(record)
    if "parts" in told:
        told["content"] = told["parts"]
    words = " ".join(part.text for part in content_of(told).parts if isinstance(part, Text)).split()
    return " ".join(words)[:_TITLE]


class Container(msgspec.Struct):
    """What a file holds. `rest` is what follows: op lines that a pipe added, and lines that are no conversation."""

    conversations: list[Conversation]
    rest: bytes
    damage: list[Damage] = []
    """Of the file as a whole; what is damaged of a message is for the reader to report."""


class _Head(msgspec.Struct):
    """As much of an object as tells what it holds. A list of messages stands under one of `_LISTS`."""

    ctxkit: Any = None
    role: Any = None
    messages: msgspec.Raw = _ABSENT
    traj: msgspec.Raw = _ABSENT
    history: msgspec.Raw = _ABSENT
    system: msgspec.Raw = _ABSENT
    input: msgspec.Raw = _ABSENT
    output: msgspec.Raw = _ABSENT
    choices: msgspec.Raw = _ABSENT
    contents: msgspec.Raw = _ABSENT
    candidates: msgspec.Raw = _ABSENT
    body: msgspec.Raw = _ABSENT
    params: msgspec.Raw = _ABSENT
    request: msgspec.Raw = _ABSENT
    response: msgspec.Raw = _ABSENT
    result: msgspec.Raw = _ABSENT
    custom_id: msgspec.Raw = _ABSENT
    instance_id: msgspec.Raw = _ABSENT
    task_id: msgspec.Raw = _ABSENT
    conversation_id: msgspec.Raw = _ABSENT
    id: msgspec.Raw = _ABSENT
    title: msgspec.Raw = _ABSENT
    name: msgspec.Raw = _ABSENT
    trial: msgspec.Raw = _ABSENT


_SIGNS = ("input", "output", "choices", "contents", "candidates", "body", "params", "request", "response", "result")
"""Keys of which the body of a request or a response has one, or what such a body stands in."""

_decode_head = msgspec.json.Decoder(_Head).decode
_decode_any = msgspec.json.Decoder(msgspec.Raw).decode


def may_be(start: bytes, *, whole: bool = True) -> bool | None:
    """Whether a file that starts so is worth reading as a whole; None where more of it is needed to tell.

    `whole`: this is all of the file. A native log of a gigabyte is never tried: its first sound line tells. What is no
    container after all is told by `find`.
    """
    start = start.lstrip(b"\0").removeprefix(_BOM).lstrip(_BLANK)
    count = 0
    for _, offset, line in islice(_lines(start), _FIRST):
        if offset + len(line) == len(start) and not whole:
            return None
        told = line.rstrip(_BLANK)
        if not count and (told.startswith(b"[") or (told.startswith(b"{") and told[-1:] in b"{[,")):
            return True
        if _held(told):
            return True
        if _sound(told):
            return False
        count += 1  # torn, perhaps before a conversation a line
    return False if whole or count == _FIRST else None


def is_document(raw: bytes) -> bool:
    """Whether a file is one JSON text over many lines: what stands on a line of it is no record."""
    body = _split_ops(raw.removeprefix(_BOM))[0]
    first = next((line for _, _, line in _lines(body)), b"")
    return not _sound(first) and _sound(body)


def find(raw: bytes) -> Container | None:
    """The conversations of a file, or None where it is no such container (a log, another format, not JSON)."""
    body, ops = _split_ops(raw.removeprefix(_BOM))
    first = [line for _, _, line in islice(_lines(body), _FIRST)]
    if len(first) > 1 and any(map(_is_one, first[: 1 if body.startswith(b"[") else _FIRST])):
        return _per_line(body, ops)
    if _sound(body):
        found = _conversations(body) or _lone(body)
        return None if found is None else Container(found, ops)
    return _broken(body, ops)


def _is_one(line: bytes) -> bool:
    """Whether a line is a conversation, from its start to its end."""
    return _sound(line) and _conversations(line) is not None


def _sound(raw: bytes) -> bool:
    """Whether it is one JSON value, strictly."""
    try:
        _decode_any(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _lines(raw: bytes) -> Iterator[tuple[int, int, bytes]]:
    """The lines that are not blank, each behind its number and its offset."""
    number, start = 1, 0
    while start < len(raw):
        end = raw.find(b"\n", start)
        end = len(raw) if end < 0 else end
        if (line := raw[start:end]).strip(_BLANK):
            yield number, start, line
        number, start = number + 1, end + 1


def lay_out(records: Iterable[bytes], rest: bytes) -> bytes:
    """The records of a conversation as JSONL, with the lines that follow it."""
    return b"\n".join([*map(one_line, records), rest])


def choose(container: Container, number: int | None, name: str = "the input") -> Conversation:
    """The conversation `number`, from 1; None where there is only one.

    Raises ManyConversations, with a list of them, where none was chosen; Usage for a number that is not there.
    """
    count = len(container.conversations)
    if number is None and count > 1:
        shown = [_line_of_list(n, one) for n, one in enumerate(container.conversations[:_SHOWN], 1)]
        more = [f"  and {count - _SHOWN} more"] if count > _SHOWN else []
        message = "\n".join([f"{name} holds {count} conversations and none is chosen:", *shown, *more])
        raise ManyConversations(message, f"--conversation N, 1 to {count}")
    number = 1 if number is None else number
    if not 1 <= number <= count:
        raise Usage(f"{name} has no conversation {number}", f"there are 1 to {count}")
    return container.conversations[number - 1]


def _line_of_list(number: int, one: Conversation) -> str:
    words = [one.label, f"{one.count} message{'s' * (one.count != 1)}", one.title]
    return f"  {number:>3}  " + ": ".join(word for word in words if word)


def _split_ops(raw: bytes) -> tuple[bytes, bytes]:
    """The document, and the op lines after it. From the end, since a document may span many lines."""
    end = len(raw)
    while end:
        start = raw.rfind(b"\n", 0, end - 1 if raw.endswith(b"\n", 0, end) else end) + 1
        line = raw[start:end].strip(_BLANK)
        if line and not _is_op(line):
            break
        end = start
    return raw[:end], raw[end:]


def _is_op(line: bytes) -> bool:
    """Whether a line is an op; the last line of a document is long."""
    head = _head(line) if len(line) < _LONG or b"ctxkit" in line else None
    return head is not None and isinstance(head.ctxkit, str)


def _per_line(body: bytes, ops: bytes) -> Container:
    """A conversation on each line. Of a torn one what is whole is taken, and it is told; others stay, as records."""
    from ctxkit.formats import truncated_json

    found = Container([], b"")
    other: list[bytes] = []
    for number, offset, line in _lines(body):
        last = offset + len(line) == len(body)
        if _sound(line):
            one = _conversations(line)
            found.conversations += one or []
            other += [] if one else [line + b"\n"]
        elif torn := _broken(line, b""):
            found.conversations += torn.conversations
            found.damage += [truncated_json.moved(each, number, offset, last=last) for each in torn.damage]
        elif b'"ctxkit"' in line:
            other.append(line + b"\n")
        else:
            found.damage.append(truncated_json.lost(line, number, offset, last=last))
    found.rest = b"".join([*other, ops])
    return found


def _conversations(raw: bytes) -> list[Conversation] | None:
    """The conversations in one JSON text; None where it holds none."""
    blank = _BLANKS.match(raw)
    start = blank.end() if blank else 0
    if raw.startswith(b"[", start):
        listed = views(raw)
        if listed is None:
            return None
        if whose := _whose(listed):
            return [Conversation("", list(map(bytes, listed)) if whose in BODIES else listed, whose)]
        return [run for item in listed for run in _held(bytes(item))] or None
    return (_held(raw) if raw.startswith(b"{", start) else []) or None


def _lone(raw: bytes) -> list[Conversation] | None:
    """One message over many lines, as the response of Anthropic is; on one line it is a log of one message."""
    raw = raw.strip(_BLANK)
    if b"\n" not in raw or not raw.startswith(b"{"):
        return None
    from ctxkit.formats import exchanges

    return [Conversation("", [raw])] if exchanges.is_message(raw) else None


def _held(raw: bytes, depth: int = 0) -> list[Conversation]:
    """The conversations in one JSON object: its messages, Anthropic's `system` before them; or in a provider's body."""
    head = _head(raw)
    if head is None:
        return []
    messages = None if head.messages is _ABSENT else views(head.messages)
    found = _messages(head, messages)
    if found is None:
        document = _document(raw, messages)
        return [Conversation("", document[1], document[0])] if document else _bodies(head, raw, depth)
    whose, listed = found
    system = bytes(head.system)
    if system[:1] in (b'"', b"[") and system not in (b'""', b"[]"):
        listed.insert(0, b'{"role":"system","content":' + system + b"}")
    return [Conversation(_label(head), listed, whose)]


def _bodies(head: _Head, raw: bytes, depth: int) -> list[Conversation]:
    """The conversations in a request, a response, or a record of both: what came back follows what was asked."""
    if isinstance(head.role, str) or isinstance(head.ctxkit, str):
        return []
    if all(getattr(head, key) is _ABSENT for key in _SIGNS):
        return []
    from ctxkit.formats import exchanges

    talks = exchanges.lay_out(raw)
    if talks:
        label = _label(head)
        return [Conversation(", ".join(filter(None, (label, talk.label))), talk.lines, talk.format) for talk in talks]
    found: list[Conversation] = []
    for inner in exchanges.inside(raw) if depth < _DEEPEST else ():
        said = _held(inner, depth + 1)
        if not said and exchanges.is_message(inner):
            said = [Conversation("", [inner])]
        if found and said and {one.format for one in found} == {one.format for one in said}:
            found = [Conversation(one.label, found[0].records + one.records, one.format) for one in said]
        else:
            found = found or said
    return [Conversation(one.label or _label(head), one.records, one.format) for one in found]


def _document(raw: bytes, messages: list[bytes] | None) -> tuple[str, list[bytes]] | None:
    """The format and records of a session document (`formats/documents.py`); None where the object is none."""
    if messages is None:
        return None
    from ctxkit.formats import documents

    return documents.lay_out(raw, messages)


def _messages(head: _Head, messages: list[bytes] | None) -> tuple[str, list[bytes]] | None:
    """The items of one of the lists, and whose they are; None where none are messages. Not of a message or an op.

    `messages`: those under that key.
    """
    if isinstance(head.role, str) or isinstance(head.ctxkit, str):
        return None
    for key in _LISTS:
        raw = getattr(head, key)
        listed = messages if key == "messages" else views(raw) if raw is not _ABSENT else None
        if listed and (whose := _whose(listed)):
            return whose, list(map(bytes, listed)) if whose in BODIES else listed
    return None


def _whose(listed: list[bytes]) -> str:
    """The format of the messages in a list, by the first of them; "" where they are none."""
    from ctxkit.formats import exchanges

    return exchanges.whose(listed)


def _head(raw: bytes) -> _Head | None:
    """The head of a JSON object; None for anything else."""
    try:
        return _decode_head(raw)
    except msgspec.ValidationError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    from ctxkit.formats import truncated_json

    found = truncated_json.fields(raw)
    if found is None:
        return None
    head = _Head()
    for key in _Head.__struct_fields__:
        if key in (*_LISTS, *_SIGNS, *_LABELS, "system") and key in found:
            setattr(head, key, msgspec.Raw(found[key]))
        elif key in found and truncated_json.sound(found[key]):
            setattr(head, key, loads(found[key]))
    return head


def _broken(body: bytes, rest: bytes) -> Container | None:
    """A file that is no sound JSON: what is whole. Messages that are damaged are lines, which the reader reports."""
    from ctxkit.formats import truncated_json

    texts, left, damage = truncated_json.texts(body)
    found: list[Conversation] = []
    for piece in texts:
        one = _conversations(piece.text) or _lone(piece.text)
        if one is None:
            left = piece.text + b" " + left
            continue
        found += one
        damage += piece.damage
        odd = not (piece.damage or truncated_json.sound(piece.text))
        if odd and all(truncated_json.sound(line) for each in one for line in each.records):
            damage.append(truncated_json.around(body, piece))
    if not found:
        return None
    return Container(found, (truncated_json.one_line(left) + b"\n" if left else b"") + rest, damage)


def _role(raw: bytes) -> str | None:
    head = _head(raw)
    return head.role if head is not None and isinstance(head.role, str) else None


def _label(head: _Head) -> str:
    """What the container calls the conversation: the first of its ids, and the trial."""
    told = [(key, bytes(getattr(head, key))) for key in _LABELS]
    known = [(key, value(raw)) for key, raw in told if raw and raw[:1] not in b"{["]
    found = [(key, one) for key, one in known if isinstance(one, str | int)]
    return ", ".join(f"{key} {one}" for key, one in found if key == found[0][0] or key == "trial")
