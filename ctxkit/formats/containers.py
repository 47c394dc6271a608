"""Files that hold chat messages in something bigger: an array, `{"messages": [...]}`, runs, a conversation per line.

Pipeline: `find` takes the bytes of such a file (a pipe may have added op lines), `lay_out` gives one conversation of it
as JSONL, which the reader of `formats/chat.py` then reads: offsets and identities refer to that buffer. Another program
owns these files, so `FORMAT` is not native: ops go to the sidecar.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

import msgspec

from ctxkit.core.jsontext import loads
from ctxkit.core.messages import Text
from ctxkit.errors import ManyConversations, Usage
from ctxkit.formats.chat import ChatFormat, content_of

FORMAT = ChatFormat("messages", native=False)
"""How the laid out lines are read."""

_ABSENT = msgspec.Raw(b"")
_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n"
_BETWEEN = re.compile(r"[ \t\r\n,]*")
_LOOKED_AT = 50
_SHOWN = 10
_TITLE = 60
_LISTS = ("messages", "traj", "history")
"""Where the messages stand: of requests and runs, of tau-bench, of SWE-agent."""
_LABELS = ("instance_id", "task_id", "conversation_id", "id", "title", "name", "trial")


class Conversation(msgspec.Struct):
    """One conversation: what its container calls it ("task_id 3, trial 0", or ""); its messages, raw, a line each."""

    label: str
    lines: list[bytes]
    format: str = "messages"
    """Whose lines they are: a session document (`formats/documents.py`) has a format of its own."""

    @property
    def count(self) -> int:
        """How many messages it has."""
        if self.format != "messages":
            return len(self.lines) - 1
        return sum(_role(line) is not None for line in self.lines)

    @property
    def title(self) -> str:
        """The start of its first user message, on one line."""
        for line in self.lines:
            if _role(line) == "user":
                words = " ".join(part.text for part in content_of(loads(line)).parts if isinstance(part, Text)).split()
                return " ".join(words)[:_TITLE]
        return ""


class Container(msgspec.Struct):
    """What a file holds. `rest` is what follows: op lines that a pipe added, and lines that are no conversation."""

    conversations: list[Conversation]
    rest: bytes


class _Head(msgspec.Struct):
    """As much of an object as tells what it holds. A list of messages stands under one of `_LISTS`."""

    ctxkit: Any = None
    role: Any = None
    messages: msgspec.Raw = _ABSENT
    traj: msgspec.Raw = _ABSENT
    history: msgspec.Raw = _ABSENT
    system: msgspec.Raw = _ABSENT


_decode_head = msgspec.json.Decoder(_Head).decode
_decode_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def may_be(start: bytes) -> bool:
    """Whether a file that starts so is worth reading as a whole. `start` must reach to the end of its first line.

    So a native log of a gigabyte is never tried; what is no container after all is told by `find`.
    """
    start = start.removeprefix(_BOM).lstrip(_BLANK)
    line = start.partition(b"\n")[0].rstrip(_BLANK)
    if line.startswith(b"["):
        return True
    head = _head(line)
    if head is None:
        return line.startswith(b"{") and line[-1:] in b"{[,"
    return _messages(head) is not None or _document(head, line) is not None


def find(raw: bytes) -> Container | None:
    """The conversations of a file, or None where it is no such container (a log, another format, not JSON)."""
    body, ops = _split_ops(raw.removeprefix(_BOM))
    lines = [line for line in body.split(b"\n") if line.strip(_BLANK)]
    if len(lines) > 1 and (one := _conversations(lines[0])) is not None:
        return _per_line(one, lines[1:], ops)
    found = _conversations(body)
    if found is not None:
        return Container(found, ops)
    return _broken(body, ops)


def lay_out(container: Container, number: int | None, name: str = "the input") -> bytes:
    """One conversation as JSONL, with the lines that follow it. Takes and raises what `choose` does."""
    return b"".join(line + b"\n" for line in choose(container, number, name).lines) + container.rest


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
        if line:
            head = _head(line)
            if head is None or not isinstance(head.ctxkit, str):
                break
        end = start
    return raw[:end], raw[end:]


def _per_line(first: list[Conversation], lines: Iterable[bytes], ops: bytes) -> Container:
    """A conversation on each line. A line that is none is left to the reader of the rest, which reports it."""
    conversations, other = list(first), b""
    for line in lines:
        one = _conversations(line)
        if one is None:
            other += line + b"\n"
        else:
            conversations += one
    return Container(conversations, other + ops)


def _conversations(raw: bytes) -> list[Conversation] | None:
    """The conversations in one JSON text; None where it holds none."""
    raw = raw.strip(_BLANK)
    if raw.startswith(b"["):
        items = _items(raw)
        if items is None:
            return None
        if any(_role(item) is not None for item in items[:_LOOKED_AT]):
            return [Conversation("", [_one_line(item) for item in items])]
        runs = [_conversation(item) for item in items]
        found = [run for run in runs if run is not None]
        return found or None
    one = _conversation(raw) if raw.startswith(b"{") else None
    return None if one is None else [one]


def _conversation(raw: bytes) -> Conversation | None:
    """The conversation in one JSON object: its messages, and Anthropic's `system` before them, as a message."""
    head = _head(raw)
    items = None if head is None else _messages(head)
    if head is None or items is None:
        found = None if head is None else _document(head, raw)
        return None if found is None else Conversation("", found[1], found[0])
    lines = [_one_line(item) for item in items]
    system = bytes(head.system)
    if system[:1] in (b'"', b"[") and system not in (b'""', b"[]"):
        lines.insert(0, _one_line(b'{"role":"system","content":' + system + b"}"))
    return Conversation(_label(raw), lines)


def _document(head: _Head, raw: bytes) -> tuple[str, list[bytes]] | None:
    """The format and lines of a session document (`formats/documents.py`); None where the object is none."""
    if head.messages is _ABSENT:
        return None
    from ctxkit.formats import documents

    return documents.lay_out(raw)


def _messages(head: _Head) -> list[bytes] | None:
    """The items of one of the lists, where some of the first have a string role; not of a message or an op."""
    if isinstance(head.role, str) or isinstance(head.ctxkit, str):
        return None
    for raw in (getattr(head, key) for key in _LISTS):
        items = _items(bytes(raw)) if raw is not _ABSENT else None
        if items and any(_role(item) is not None for item in items[:_LOOKED_AT]):
            return items
    return None


def _head(raw: bytes) -> _Head | None:
    """The head of a JSON object; None for anything else."""
    try:
        return _decode_head(raw)
    except msgspec.ValidationError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        value = loads(raw)
    except ValueError:
        return None
    if not isinstance(value, dict):
        return None
    head = _Head(value.get("ctxkit"), value.get("role"))
    for key in (*_LISTS, "system"):
        if key in value:
            setattr(head, key, msgspec.Raw(_dump(value[key])))
    return head


def _items(raw: bytes) -> list[bytes] | None:
    """The items of a JSON array, each as it is written; None where the text is none."""
    try:
        return [bytes(item) for item in _decode_items(raw)]
    except msgspec.ValidationError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:
        value = loads(raw)
    except ValueError:
        return None
    return [_dump(item) for item in value] if isinstance(value, list) else None


def _broken(body: bytes, rest: bytes) -> Container | None:
    """A document that something follows, or an array that was cut off: what is whole. The reader reports the rest."""
    text = body.decode("utf-8", "surrogateescape").strip()
    decode = json.JSONDecoder(strict=False).raw_decode
    items: list[Any] = []
    end, found = 0, None
    try:
        if text.startswith("{"):
            value, end = decode(text)
            found = _conversations(_dump(value))
        elif text.startswith("["):
            end = _between(text, 1)
            while not text.startswith("]", end):
                item, end = decode(text, end)
                items.append(item)
                end = _between(text, end)
            end += 1
    except (ValueError, RecursionError):
        pass  # not silent: what could not be decoded stands in the rest, as a line that is not JSON
    found = found or _conversations(_dump(items))
    if found is None:
        return None
    left = _one_line(text[end:].strip().encode("utf-8", "surrogateescape"))
    return Container(found, (left + b"\n" if left else b"") + rest)


def _between(text: str, start: int) -> int:
    """Where the next item of an array begins."""
    match = _BETWEEN.match(text, start)
    return match.end() if match else start


def _role(raw: bytes) -> str | None:
    head = _head(raw)
    return head.role if head is not None and isinstance(head.role, str) else None


def _label(raw: bytes) -> str:
    """What the container calls the conversation: the first of its ids, and the trial."""
    record = loads(raw)
    found = [(key, record[key]) for key in _LABELS if isinstance(record.get(key), str | int)]
    return ", ".join(f"{key} {value}" for key, value in found if key == found[0][0] or key == "trial")


def _one_line(raw: bytes) -> bytes:
    """The same JSON on one line: a raw line break in JSON can only stand between tokens."""
    return raw.replace(b"\r", b" ").replace(b"\n", b" ")


def _dump(value: Any) -> bytes:
    """JSON text again, for what only the tolerant decoder could read; NaN stays NaN, a lone surrogate its escape."""
    return json.dumps(value, separators=(",", ":")).encode()
