"""What is worth a checkpoint: which events of an exchange trigger one, by structure, in one table. Pure.

Pipeline: `snapshots/make_checkpoint.py` gives the messages of an exchange that may hold one, and makes a reference to
its end. What calls do to files is told by `core/derive/files.py`, what a script consists of by
`content/identifiers.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from ctxkit.content.identifiers import BARE, without_documents
from ctxkit.core.derive.files import SHELL, changes, script, touches
from ctxkit.core.messages import Call, Content, Result, Text

STATUS = re.compile(
    r"(?:\bexit(?:ed)?(?: with)?(?: exit)?[ _]?(?:code|status)|\breturncode|\breturned code)\W{0,3}(-?\d+)", re.I
)
"""How tools say with which status a command ended, in the first or last lines of what it printed."""
LINES, LOOKED_AT = 3, 300
"""So many lines, and characters of them."""
REFUSED = re.compile(r"(?:<tool_use_error>|error\b|failed\b|\w+ (?:verification )?failed\b)", re.I)
"""How the result of a tool begins that did not do it and does not say so otherwise."""
REJECTED = re.compile(r"(?:The user doesn't want to|\[Request interrupted by user|Command aborted|aborted by user)")
"""How the result of a call begins that a person did not let run, or to its end: it says nothing of the command."""
ASIDE = BARE | {
    "cd", "export", "source", ".", "set", "pushd", "popd", "sleep", "rm", "mkdir", "exit", "done", "fi", "}",
}  # fmt: skip
"""Programs whose success says nothing, and what ends a loop, a condition, or a group."""
REDIRECTED = re.compile(r"[\d&]?>>?\s*(?:&\d|/dev/null)|\\\n")
OPERATORS = re.compile(
    r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.|(?P<comment>(?:(?<=\s)|^)\#[^\n]*)
    |(?P<pipe>\|&?(?!\|))|(?P<and>&&)|(?P<or>\|\||(?<![<>&])&(?![>&]))|(?P<end>[;\n])""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
"""What stands between the commands of a script; quoted text first, so that nothing in it counts."""
STRICT, PIPEFAIL = re.compile(r"^\s*set -\w*e", re.M), re.compile(r"\bpipefail\b")
"""How a script says that each of its commands decides on its status, and each of a pipe."""
DECIDED = re.compile(
    r"\b(?:(?:we|I)(?:'ve| have)? (?:decided|agreed)|decision:|let's go with|(?:we|I)(?:'ll| will) go with|"
    r"the root cause (?:is|was)|(?:we|I) chose)\b",
    re.I,
)
REACHED = re.compile(
    r"\b(?:all (?:\d+ )?(?:tests|checks) (?:pass|are green)|(?:feature|task|phase|step|milestone)(?: \w+)? "
    r"(?:is|are) (?:now )?(?:complete|done|finished)|(?:is|was|has been) (?:merged|released|deployed|shipped))",
    re.I,
)
OPEN = 100
"""So many commands that failed are waited for, the newest ones."""
WORDS, NAME = 60, 40
"""Characters of what is told of an event, and of a command or a file in it."""


class TriggerEvent(NamedTuple):
    """What triggers a checkpoint: its `tag`, and what it was, in words."""

    tag: str
    said: str


class _Ran(NamedTuple):
    """A call with its result; `failed`: it did not do what it was to do."""

    call: Call
    failed: bool


Detector = Callable[[Iterable[_Ran | str]], Iterator[tuple[int, str]]]
"""Of what happened in an exchange (calls that were answered, and what the model says): which of it counts, in words."""


def _code(happened: Iterable[_Ran | str]) -> Iterator[tuple[int, str]]:
    """A successful call of a tool that writes files."""
    for place, one in enumerate(happened):
        if isinstance(one, _Ran) and not one.failed and (files := written(one.call)):
            more = f" and {len(files) - 1} more" if len(files) > 1 else ""
            yield place, f"{_clipped(files[-1].rpartition('/')[2])} written{more}"


def _error_resolution(happened: Iterable[_Ran | str]) -> Iterator[tuple[int, str]]:
    """A command that failed and later succeeded."""
    open_ones: list[frozenset[str]] = []
    for place, one in enumerate(happened):
        if not isinstance(one, _Ran) or not SHELL.search(one.call.name) or not (ran := commands(one.call)):
            continue
        if one.failed:
            open_ones = [*open_ones[1 - OPEN :], frozenset(ran)]
            continue
        solved = [failed for failed in open_ones if failed <= set(ran)]
        if solved:
            open_ones = [failed for failed in open_ones if failed not in solved]
            yield place, f"{_clipped(next(name for name in ran if name in solved[-1]))} succeeds again"


def _says(words: re.Pattern[str]) -> Detector:
    def said(happened: Iterable[_Ran | str]) -> Iterator[tuple[int, str]]:
        for place, one in enumerate(happened):
            if isinstance(one, str) and (found := words.search(one)) is not None:
                start = one.rfind("\n", 0, found.start()) + 1
                yield place, one[max(start, found.start() - WORDS // 2) :].split("\n")[0]

    return said


TRIGGERS: dict[str, tuple[bool, Detector]] = {
    "code": (True, _code),
    "error_resolution": (True, _error_resolution),
    "decision": (False, _says(DECIDED)),
    "milestone": (False, _says(REACHED)),
}
"""Tag -> whether it is on unless somebody says so, and what finds it. The last two go by words, and are often wrong."""
USUAL = tuple(tag for tag, (on, _) in TRIGGERS.items() if on)
SPOKEN = frozenset(tag for tag, (on, _) in TRIGGERS.items() if not on)
"""Tags that need what the model says."""


def newest_event(contents: Sequence[Content], tags: Collection[str] = USUAL, first: int = 0) -> TriggerEvent | None:
    """The newest event in the messages of an exchange that triggers a checkpoint with one of `tags`.

    The messages before place `first` are those of an earlier one: what failed there may succeed in this.
    """
    happened = list(_happened(contents))
    start = sum(1 for _ in _happened(contents[:first]))
    found: tuple[int, TriggerEvent] | None = None
    for tag in TRIGGERS:
        for place, said in TRIGGERS[tag][1](happened) if tag in tags else ():
            if place >= (start if found is None else found[0]):
                found = place, TriggerEvent(tag, _clipped(said, WORDS))
    return None if found is None else found[1]


def matters(tool: str) -> bool:
    """Whether calls of a tool can trigger one: the others need not be read."""
    return SHELL.search(tool) is not None or changes(tool)


def written(call: Call) -> list[str]:
    """The files that a call of a tool for writing files writes; a shell is one where it is given a patch."""
    shell = SHELL.search(call.name) is not None
    if shell and "*** Begin Patch" not in str(call.arguments):
        return []
    return [one.path for one in touches(call) if one.how != "read"]


def commands(call: Call) -> list[str]:
    """The commands of a call of a shell that its status tells of, each as one line, but for what says nothing by its
    success.

    Of a pipe that is the last one, and of a script what stands in its last list: `make | tail` is a success of `tail`
    alone, `make; date` one of `date`, and what has an `||`, or runs aside, tells of neither side.
    """
    arguments = call.arguments if isinstance(call.arguments, dict) else {"command": call.arguments}
    found = (" ".join(REDIRECTED.sub(" ", one).split()) for one in _telling(without_documents(script(arguments))))
    return [one for one in found if one and one.split()[0] not in ASIDE]


def _telling(text: str) -> list[str]:
    """The commands of a script whose status is its own."""
    strict, pipes = STRICT.search(text) is not None, PIPEFAIL.search(text) is not None
    told, chained, command, start, either = list[str](), list[str](), "", 0, False
    for match in OPERATORS.finditer(text + "\n"):
        if (kind := match.lastgroup) is None:
            continue  # quoted
        command, start = command + text[start : match.start()], match.end()
        if kind == "comment":
            continue
        if command.strip() and (kind != "pipe" or pipes):
            chained.append(command)
        command, either = "", either or kind == "or"
        if kind == "end" and chained:
            told = [*(told if strict else ()), *(() if either else chained)]
            chained, either = [], False
    return told


def failed(result: Result) -> bool:
    """Whether a result says that the call did not do what it was to do."""
    if result.is_error:
        return True
    text = _text(result)
    head, tail = text[:LOOKED_AT].split("\n")[:LINES], text[-LOOKED_AT:].split("\n")[-LINES:]
    for line in (*head, *reversed(tail)):
        if (found := STATUS.search(line)) is not None:
            return int(found[1][:9]) != 0
    return REFUSED.match(text.lstrip()[:100]) is not None


def _clipped(text: str, most: int = NAME) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _happened(contents: Iterable[Content]) -> Iterator[_Ran | str]:
    calls: dict[str, Call] = {}
    for content in contents:
        for part in content.parts:
            match part:
                case Call():
                    calls[part.id] = part
                case Result() if (call := calls.pop(part.id, None)) is not None:
                    if not REJECTED.match(_text(part)[:LOOKED_AT].lstrip()):
                        yield _Ran(call, failed(part))
                case Text(text=text) if content.role in ("assistant", "model"):
                    yield text
                case _:
                    continue


def _text(result: Result) -> str:
    if isinstance(result.content, str):
        return result.content
    return "\n".join(part.text for part in result.content if isinstance(part, Text))
