"""Splits messages into segments of text, each with its speaker, for compaction and its benchmark. Pure.

Thinking is left out: providers hide it, bind it to its message, or drop it. Each argument of a call is a segment of its
own, as plain text and not as JSON, so that a line of an edit is the line of the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import Any, NamedTuple

from ctxkit.core.derive import synthetic_messages
from ctxkit.core.derive.files import SHELL, FileTouch, touches
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Call, Content, Image, Part, Result, Text
from ctxkit.core.roles import side

SPEAKS = frozenset({"assistant", "model"})
NUMBERED = re.compile(r"^ *L?\d+(?:→|\t|: |: ?$|\|)")
"""The line number that a tool puts before each line of a file."""
SCRIPTS = frozenset({"command", "cmd", "script", "code"})
"""Arguments that hold a command for a shell."""
POWER = re.compile(r"powershell|pwsh", re.I)
"""Tools that run commands of PowerShell."""
TASKS = ("content", "step", "subject", "title", "task")
"""Keys of the text of a task, which also has a `status`."""
LISTED = re.compile(r"\[([^\]\n]*)\] (.*)", re.S)
"""Matches such a task as a segment: its status, and its text."""
MOST = 0.6
"""If this share of the lines is numbered, a tool has added the numbers."""
CALLS = 10_000
"""How many of the newest calls are kept, to find the call of a result."""


class SegmentKind(IntEnum):
    """Who speaks: a person, the model, the model to a tool, a tool; or the segment is a summary of earlier messages."""

    USER = 0
    ASSISTANT = 1
    INPUT = 2
    RESULT = 3
    SUMMARY = 4
    NOTICE = 5
    """Text of a program in the user's role: reminders, instructions, the output of a command."""


SHOWN = frozenset({SegmentKind.RESULT, SegmentKind.NOTICE})
"""Kinds that may show files."""
ANSWERS = re.compile(r"(?:AskUserQuestion|ask_?user|ask_followup_question|request_user_input)", re.I)
"""Tools with results that are a person's answer."""
QUEUED = re.compile(
    r"\s*<system-reminder>\s*The user sent a new message while you were working:\s*(\S.*?)\s*</system-reminder>\s*$",
    re.S,
)
"""A reminder with a message that the user typed while the model worked."""
REPORTED = "<task-notification>"
"""The start of a report of another agent that the program adds as a message."""
UNTYPED = (
    "<command-name>",
    "<command-message>",
    "Base directory for this skill:",
    "Operation stopped by hook:",
    REPORTED,
)
"""How texts begin that nobody typed, or only to the program, whatever stands below."""


class TextSegment(NamedTuple):
    """One text of one message.

    `tool`: the tool of the call or result; `key`: the path of the argument, as `edits.0.new_string`; `failed`: the
    result is an error; `touches`: what the call does to files, on its first segment and on its result; `call`: the id
    of the call; `file`: the first path of the call.
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
        """Whether it is the call or the result of a shell."""
        return _runs(self.tool)

    @property
    def is_task(self) -> bool:
        """Whether it is a task of a task list."""
        return self.kind == SegmentKind.INPUT and self.argument.isdigit() and LISTED.match(self.text) is not None

    @property
    def is_script(self) -> bool:
        """Whether it is a script for a shell."""
        return self.kind == SegmentKind.INPUT and self.argument in SCRIPTS and self.runs


@lru_cache(256)
def _runs(tool: str) -> bool:
    return bool(SHELL.search(tool) or POWER.search(tool))


class SegmentReader:
    """Splits messages into segments. Reads them in order: a result gets its tool and files from its call."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[str, tuple[FileTouch, ...]]] = {}
        self._acts = False
        """Whether the newest message of the model is a step of SWE-agent, to which its program answers."""

    def pieces(self, name: Name, content: Content) -> Iterator[TextSegment]:
        """Yields the segments of message `name`."""
        speaker = self._speaker(content)
        if speaker == SegmentKind.USER and self._acts:
            speaker = SegmentKind.RESULT
        self._acts = speaker == SegmentKind.ASSISTANT and _is_step(content)
        for part in content.parts:
            match part:
                case Text(text=text) if speaker == SegmentKind.NOTICE and (typed := QUEUED.match(text)) is not None:
                    yield TextSegment(name, SegmentKind.USER, typed[1])
                case Text(text=text) if text.strip():
                    yield TextSegment(name, speaker, _unnumbered(text) if speaker in SHOWN else text)
                case Call():
                    yield from self._call(name, part)
                case Result():
                    tool, touched = self._calls.get(part.id, ("", ()))
                    text = "\n".join(_texts(part.content))
                    if text.strip():
                        kind = SegmentKind.USER if ANSWERS.match(tool) else SegmentKind.RESULT
                        yield TextSegment(
                            name, kind, _unnumbered(text), tool, "", part.is_error, touched, part.id, _file(touched)
                        )
                case _:
                    continue

    @staticmethod
    def _speaker(content: Content) -> SegmentKind:
        """The kind of the texts of a message."""
        speaker = side(content.role)
        if speaker == "assistant":
            return SegmentKind.ASSISTANT
        if speaker == "tool" or content.role == "observation":
            return SegmentKind.RESULT
        kind = synthetic_messages.kind(content)
        if kind == synthetic_messages.SyntheticKind.SUMMARY:
            return SegmentKind.SUMMARY
        if kind == synthetic_messages.SyntheticKind.OBSERVATION:
            return SegmentKind.RESULT
        typed = speaker == "user" and kind is None and not _is_slash(content)
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


def _is_step(content: Content) -> bool:
    """Whether it is a step of SWE-agent in a trajectory without calls: its `action` is a command in its text."""
    row = content.rows[0] if content.rows else {}
    return isinstance(row.get("action"), str) and "thought" in row and not row.get("tool_calls")


def _file(touched: Sequence[FileTouch]) -> str:
    return touched[0].path if touched else ""


def _is_slash(content: Content) -> bool:
    """Whether it is a command to the program itself, such as `/clear` of Claude Code, or text that one adds."""
    if content.rows and content.rows[0].get("isMeta") is True:
        return True
    first = next((part.text for part in content.parts if isinstance(part, Text)), "")
    return first.lstrip().startswith(UNTYPED)


def all_pieces(messages: Iterable[tuple[Name, Content]]) -> list[TextSegment]:
    """The segments of these messages, in order."""
    return list(each_piece(messages))


def each_piece(messages: Iterable[tuple[Name, Content]]) -> Iterator[TextSegment]:
    """Yields the segments of these messages, in order, holding none."""
    reader = SegmentReader()
    return (piece for name, content in messages for piece in reader.pieces(name, content))


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yields the texts in arguments, each with the path of its keys. A list of words, as of a command, is one text."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict) and key and (task := _task(value)):
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
    """A task of an agent's task list, on one line; "" for anything else."""
    status = value.get("status")
    task = next((value[key] for key in TASKS if isinstance(value.get(key), str)), None)
    return f"[{status}] {task}" if isinstance(status, str) and task is not None else ""


def flat(text: str) -> str:
    """A text on one line."""
    return " ".join(text.split())


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
    """The output in a result that is JSON, as Codex and mini-swe-agent write it; else the text itself."""
    if text.startswith('{"') and '"output"' in text[:40]:
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):  # a tool may print anything, nested at any depth
            return text
        if isinstance(found, dict) and isinstance(found.get("output"), str):
            return str(found["output"])
    return text


def _unnumbered(text: str) -> str:
    """The lines of a file without the numbers that a tool put before them."""
    head = text[:4000].split("\n")[:40]
    numbered = sum(NUMBERED.match(line) is not None for line in head)
    if numbered < 3 or numbered < MOST * len(head):
        return text
    return "\n".join(NUMBERED.sub("", line, count=1) for line in text.split("\n"))
