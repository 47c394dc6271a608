"""What a message says as pieces of text, each with who says it. What compaction reads, and its benchmark. Pure.

Thinking is left out: providers hide it, bind it to its message, or take it for gone. A call's arguments are pieces of
their own, as they are and not as JSON, so that a line of an edit is the line of the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from ctxkit.core.derive import synthetic_messages
from ctxkit.core.derive.files import SHELL, FileTouch, touches
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Call, Content, Image, Part, Result, Text

SPEAKS = frozenset({"assistant", "model"})
NUMBERED = re.compile(r"^ *L?\d+(?:→|\t|: |: ?$|\|)")
"""How tools that read files number the lines that they show."""
SCRIPTS = frozenset({"command", "cmd", "script", "code"})
"""Arguments that hold a command for a shell."""
TASKS = ("content", "step", "subject", "title", "task")
"""Keys of what is to be done, beside its `status`."""
MOST = 0.6
"""Of the lines: if so many are numbered, the numbers are the tool's."""


CALLS = 10_000
"""Calls that are remembered, the newest ones: results come soon."""


class SegmentKind(IntEnum):
    """Who says it: a person, the model, the model to a tool, a tool; or it is a summary of what was said before."""

    USER = 0
    ASSISTANT = 1
    INPUT = 2
    RESULT = 3
    SUMMARY = 4
    NOTICE = 5
    """What a program put into the user's role: reminders, instructions, what a command printed."""


SHOWN = frozenset({SegmentKind.RESULT, SegmentKind.NOTICE})
"""Kinds of what shows files."""
REPORTS = re.compile(r"(?:Task|Agent)(?:Output)?$|(?:dispatch|spawn|wait)_agent$", re.I)
"""Tools whose results are what another agent reports."""
ANSWERS = re.compile(r"(?:AskUserQuestion|ask_?user|ask_followup_question|request_user_input)", re.I)
"""Tools whose results are what a person answers."""
REPORTED = "<task-notification>"
"""How such a report begins where the program brings it in."""


class TextSegment(NamedTuple):
    """One text of one message. `tool`: whose call or result it is; `key`: the argument that it stands in, as
    `edits.0.new_string`; `failed`: a result that says that it is an error; `touches`: what the call does to files, on
    its first piece and on its result; `call`: its id; `file`: the first path that the call or its result names.
    """

    name: Name
    kind: SegmentKind
    text: str
    tool: str = ""
    key: str = ""
    failed: bool = False
    touches: tuple[FileTouch, ...] = ()
    call: str = ""
    file: str = ""

    @property
    def argument(self) -> str:
        """The last key of the argument: `new_string`."""
        return self.key.rpartition(".")[2]

    @property
    def runs(self) -> bool:
        """Whether it is a command for a shell, or what one printed."""
        return bool(SHELL.search(self.tool))

    @property
    def reports(self) -> bool:
        """Whether it is what another agent reports."""
        if self.kind == SegmentKind.RESULT:
            return REPORTS.match(self.tool) is not None
        return self.kind == SegmentKind.NOTICE and self.text.lstrip().startswith(REPORTED)

    @property
    def is_task(self) -> bool:
        """Whether it is an entry of a list of tasks."""
        return self.kind == SegmentKind.INPUT and self.argument.isdigit() and self.text.startswith("[")

    @property
    def is_script(self) -> bool:
        """Whether it is what a shell is to run."""
        return self.kind == SegmentKind.INPUT and self.argument in SCRIPTS and self.runs


class SegmentReader:
    """Makes pieces of messages, in order: a result is told by the call that it answers."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[str, tuple[FileTouch, ...]]] = {}

    def pieces(self, name: Name, content: Content) -> Iterator[TextSegment]:
        """What message `name` says."""
        words = self._words(content)
        for part in content.parts:
            match part:
                case Text(text=text) if text.strip():
                    yield TextSegment(name, words, _plain(text) if words in SHOWN else text)
                case Call():
                    yield from self._call(name, part)
                case Result():
                    tool, touched = self._calls.get(part.id, ("", ()))
                    text = "\n".join(_texts(part.content))
                    if text.strip():
                        kind = SegmentKind.USER if ANSWERS.match(tool) else SegmentKind.RESULT
                        yield TextSegment(
                            name, kind, _plain(text), tool, "", part.is_error, touched, part.id, _file(touched)
                        )
                case _:
                    continue

    @staticmethod
    def _words(content: Content) -> SegmentKind:
        """Whose the texts of a message are."""
        if content.role in SPEAKS:
            return SegmentKind.ASSISTANT
        if content.role in ("tool", "function", "observation"):
            return SegmentKind.RESULT
        kind = synthetic_messages.kind(content)
        if kind == synthetic_messages.SyntheticKind.SUMMARY:
            return SegmentKind.SUMMARY
        if kind == synthetic_messages.SyntheticKind.OBSERVATION:
            return SegmentKind.RESULT
        typed = content.role == "user" and kind is None and not _is_slash(content)
        return SegmentKind.USER if typed else SegmentKind.NOTICE

    def _call(self, name: Name, call: Call) -> Iterator[TextSegment]:
        touched = tuple(touches(call))
        self._calls[call.id] = call.name, touched
        if len(self._calls) > CALLS:
            del self._calls[next(iter(self._calls))]
        file = _file(touched)
        for key, text in _leaves(call.arguments):
            if text.strip():
                yield TextSegment(
                    name, SegmentKind.INPUT, text, call.name, key, touches=touched, call=call.id, file=file
                )
                touched = ()


def _file(touched: Sequence[FileTouch]) -> str:
    return touched[0].path if touched else ""


def _is_slash(content: Content) -> bool:
    """Whether it is a command to the program itself, as Claude Code notes `/clear`, or what one brings in."""
    if content.rows and content.rows[0].get("isMeta") is True:
        return True
    first = next((part.text for part in content.parts if isinstance(part, Text)), "")
    return first.lstrip().startswith(("<command-name>", "<command-message>", "Base directory for this skill:"))


def all_pieces(messages: Iterable[tuple[Name, Content]]) -> list[TextSegment]:
    """What these messages say, in order."""
    return list(each_piece(messages))


def each_piece(messages: Iterable[tuple[Name, Content]]) -> Iterator[TextSegment]:
    """The same, one after the other."""
    reader = SegmentReader()
    return (piece for name, content in messages for piece in reader.pieces(name, content))


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """The texts in arguments, each with the path of keys to it; a list of words, a command, is one text."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict) and (task := _task(value)):
        yield key, task
    elif isinstance(value, dict):
        for inner, held in value.items():
            yield from _leaves(held, f"{key}.{inner}" if key else str(inner))
    elif isinstance(value, list):
        if (
            value
            and all(isinstance(word, str) and "\n" not in word for word in value[:-1])
            and isinstance(value[-1], str)
        ):
            yield key, " ".join(value)
        else:
            for place, held in enumerate(value):
                yield from _leaves(held, f"{key}.{place}" if key else str(place))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield key, str(value)


def _task(value: dict[str, Any]) -> str:
    """An entry of a list of tasks, as agents keep them, in one line; "" for anything else."""
    status = value.get("status")
    says = next((value[key] for key in TASKS if isinstance(value.get(key), str)), None)
    return f"[{status}] {says}" if isinstance(status, str) and says is not None else ""


def _texts(content: str | list[Part]) -> Iterator[str]:
    if isinstance(content, str):
        yield _unwrapped(content)
        return
    for part in content:
        match part:
            case Text(text=text):
                yield text
            case Result(content=inner):
                yield from _texts(inner)
            case Image():
                yield "[image]"
            case _:
                continue


def _unwrapped(text: str) -> str:
    """The output in a result that is JSON around it, as Codex and mini-swe-agent wrote it."""
    if text.startswith('{"') and '"output"' in text[:40]:
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):  # a tool prints what it likes, nested as deep as it likes
            return text
        if isinstance(found, dict) and isinstance(found.get("output"), str):
            return str(found["output"])
    return text


def _plain(text: str) -> str:
    """A file's lines without the numbers that a tool put in front of them."""
    head = text[:4000].split("\n")[:40]
    numbered = sum(NUMBERED.match(line) is not None for line in head)
    if numbered < 3 or numbered < MOST * len(head):
        return text
    return "\n".join(NUMBERED.sub("", line, count=1) for line in text.split("\n"))
