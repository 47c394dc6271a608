"""Files that hold chat messages in something bigger: an array, `{"messages": [...]}`, runs, a conversation per line.

Pipeline: `find` takes the bytes of such a file (a pipe may have added op lines), `lay_out` gives one conversation of it
as JSONL, which the reader of `formats/chat.py` then reads: offsets and identities refer to that buffer. Another program
owns these files, so `FORMAT` is not native: ops go to the sidecar.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from ctxkit.core.jsontext import loads
from ctxkit.core.messages import Damage, Text
from ctxkit.errors import ManyConversations, Usage
from ctxkit.formats.chat import ChatFormat, content_of

FORMAT = ChatFormat("messages", native=False)
"""How the laid out lines are read."""

_ABSENT = msgspec.Raw(b"")
_BOM = b"\xef\xbb\xbf"
_BLANK = b" \t\r\n"
_LOOKED_AT = 50
_FIRST = 3
"""Lines looked at to tell whether each holds a conversation: the first may be damaged."""
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


_decode_head = msgspec.json.Decoder(_Head).decode
_decode_any = msgspec.json.Decoder(msgspec.Raw).decode
_decode_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def may_be(start: bytes) -> bool:
    """Whether a file that starts so is worth reading as a whole. `start` must reach to the end of its first line.

    So a native log of a gigabyte is never tried; what is no container after all is told by `find`.
    """
    start = start.lstrip(b"\0").removeprefix(_BOM).lstrip(_BLANK)
    line = start.partition(b"\n")[0].rstrip(_BLANK)
    if line.startswith(b"["):
        return True
    head = _head(line)
    if head is not None and (_messages(head) is not None or _document(head, line) is not None):
        return True
    return line.startswith(b"{") and line[-1:] in b"{[,"


def find(raw: bytes) -> Container | None:
    """The conversations of a file, or None where it is no such container (a log, another format, not JSON)."""
    body, ops = _split_ops(raw.removeprefix(_BOM))
    lines = [line for line in body.split(b"\n") if line.strip(_BLANK)]
    if len(lines) > 1 and any(map(_is_one, lines[: 1 if body.startswith(b"[") else _FIRST])):
        return _per_line(lines, ops)
    if _sound(body):
        found = _conversations(body)
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


def _per_line(lines: Iterable[bytes], ops: bytes) -> Container:
    """A conversation on each line. A line that is none is left to the reader of the rest, which reports it."""
    conversations: list[Conversation] = []
    other = b""
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
    from ctxkit.formats import mending

    found = mending.fields(raw)
    if found is None:
        return None
    head = _Head()
    for key in _Head.__struct_fields__:
        if key in (*_LISTS, "system") and key in found:
            setattr(head, key, msgspec.Raw(found[key]))
        elif key in found and mending.sound(found[key]):
            setattr(head, key, loads(found[key]))
    return head


def _items(raw: bytes) -> list[bytes] | None:
    """The items of a JSON array, each as it is written; None where the text is none."""
    try:
        return [bytes(item) for item in _decode_items(raw)]
    except msgspec.ValidationError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    from ctxkit.formats import mending

    return mending.items(raw)


def _broken(body: bytes, rest: bytes) -> Container | None:
    """A file that is no sound JSON: what is whole. Messages that are damaged are lines, which the reader reports."""
    from ctxkit.formats import mending

    texts, left, damage = mending.texts(body)
    found: list[Conversation] = []
    for piece in texts:
        one = _conversations(piece.text)
        if one is None:
            left = piece.text + b" " + left
            continue
        found += one
        damage += piece.damage
        odd = not (piece.damage or mending.sound(piece.text))
        if odd and all(mending.sound(line) for each in one for line in each.lines):
            damage.append(mending.around(body, piece))
    if not found:
        return None
    return Container(found, (mending.one_line(left) + b"\n" if left else b"") + rest, damage)


def _role(raw: bytes) -> str | None:
    head = _head(raw)
    return head.role if head is not None and isinstance(head.role, str) else None


def _label(raw: bytes) -> str:
    """What the container calls the conversation: the first of its ids, and the trial."""
    try:
        record = loads(raw)
    except ValueError:
        return ""
    found = [(key, record[key]) for key in _LABELS if isinstance(record.get(key), str | int)]
    return ", ".join(f"{key} {value}" for key, value in found if key == found[0][0] or key == "trial")


def _one_line(raw: bytes) -> bytes:
    """The same JSON on one line: in sound JSON a raw line break can only stand between tokens."""
    if (b"\n" in raw or b"\r" in raw) and not _sound(raw):
        from ctxkit.formats import mending

        return mending.one_line(raw)
    return raw.replace(b"\r", b" ").replace(b"\n", b" ")
