"""The events of an exchange that trigger a checkpoint, in one table. Pure.

Pipeline: `snapshots/triggers.py` gives the messages of an exchange that may have one, and makes a reference to its end.
`core/derive/files.py` finds what calls do to files, `cut/units/identifiers.py` the parts of a script.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from ctxkit.core.derive.files import SHELL, changes, script, touches
from ctxkit.core.messages import Call, Content, Result, Text
from ctxkit.cut.units.identifiers import BARE, without_documents

STATUS = re.compile(
    r"(?:\bexit(?:ed)?(?: with)?(?: exit)?[ _]?(?:code|status)|\breturncode|\breturned code)\W{0,3}(-?\d+)", re.I
)
"""How tools report the exit status of a command, in the first or last lines of its output."""
LINES, LOOKED_AT = 3, 300
"""How many lines at either end of the output are searched for it, and how many characters."""
REFUSED = re.compile(r"(?:<tool_use_error>|error\b|failed\b|\w+ (?:verification )?failed\b)", re.I)
"""How a result without a status begins if the tool failed."""
REJECTED = re.compile(r"(?:The user doesn't want to|\[Request interrupted by user|Command aborted|aborted by user)")
"""How a result begins if a person refused or stopped the call; it does not show whether the command works."""
ASIDE = BARE | {
    "cd", "export", "source", ".", "set", "pushd", "popd", "sleep", "rm", "mkdir", "exit", "done", "fi", "}",
}  # fmt: skip
"""Programs whose success means nothing, and words that end a loop, a condition, or a group."""
REDIRECTED = re.compile(r"[\d&]?>>?\s*(?:&\d|/dev/null)|\\\n")
OPERATORS = re.compile(
    r"""'[^']*'|"(?:\\.|[^"\\])*"|\\.|(?P<comment>(?:(?<=\s)|^)\#[^\n]*)
    |(?P<pipe>\|&?(?!\|))|(?P<and>&&)|(?P<or>\|\||(?<![<>&])&(?![>&]))|(?P<end>[;\n])""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
"""The operators between the commands of a script; quoted text comes first, so that nothing in it matches."""
STRICT, PIPEFAIL = re.compile(r"^\s*set -\w*e", re.M), re.compile(r"\bpipefail\b")
"""How a script sets that it fails with each of its commands, and with each command of a pipe."""
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
"""The most failed commands that may still succeed, the newest ones."""
WORDS, NAME = 60, 40
"""The most characters of the description of an event, and of a command or file name in it."""


class TriggerEvent(NamedTuple):
    """An event that triggers a checkpoint: its `tag`, and its description."""

    tag: str
    said: str


class _Ran(NamedTuple):
    """A call with its result; `failed`: whether the call failed."""

    call: Call
    failed: bool


Detector = Callable[[Iterable[_Ran | str]], Iterator[tuple[int, str]]]
"""Gets the calls with results and the texts of the model; returns the places and descriptions of events."""


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
"""Tag -> whether it is on by default, and its detector. The last two search the model's text, and are often wrong."""
USUAL = tuple(tag for tag, (on, _) in TRIGGERS.items() if on)
SPOKEN = frozenset(tag for tag, (on, _) in TRIGGERS.items() if not on)
"""Tags that need the text of the model."""


def newest_event(contents: Sequence[Content], tags: Collection[str] = USUAL, first: int = 0) -> TriggerEvent | None:
    """The newest event in the messages of an exchange that triggers a checkpoint with one of `tags`.

    The messages before place `first` are those of an earlier one: what failed there may succeed in this.
    """
    happened = list(_happened(contents))
    start = sum(1 for _ in _happened(contents[:first]))
    found: tuple[int, TriggerEvent] | None = None
    for tag in TRIGGERS:
        for place, text in TRIGGERS[tag][1](happened) if tag in tags else ():
            if place >= (start if found is None else found[0]):
                found = place, TriggerEvent(tag, _clipped(text, WORDS))
    return None if found is None else found[1]


def matters(tool: str) -> bool:
    """Whether calls of a tool can trigger a checkpoint; other calls need not be read."""
    return SHELL.search(tool) is not None or changes(tool)


def written(call: Call) -> list[str]:
    """The files that a call of a writing tool writes; of a shell, only those of a patch."""
    shell = SHELL.search(call.name) is not None
    if shell and "*** Begin Patch" not in str(call.arguments):
        return []
    return [one.path for one in touches(call) if one.how != "read"]


def commands(call: Call) -> list[str]:
    """The commands of a shell call that decide its status, each on one line, without those in ASIDE.

    In a pipe only the last command decides, in a script only its last list: the status of `make | tail` is that of
    `tail`, of `make; date` that of `date`. A list with `||` or `&` counts for none of its commands.
    """
    arguments = call.arguments if isinstance(call.arguments, dict) else {"command": call.arguments}
    found = (" ".join(REDIRECTED.sub(" ", one).split()) for one in _deciding(without_documents(script(arguments))))
    return [one for one in found if one and one.split()[0] not in ASIDE]


def _deciding(text: str) -> list[str]:
    """The commands of a script that decide its status."""
    strict, pipes = STRICT.search(text) is not None, PIPEFAIL.search(text) is not None
    found, chained, command, start, either = list[str](), list[str](), "", 0, False
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
            found = [*(found if strict else ()), *(() if either else chained)]
            chained, either = [], False
    return found


def failed(result: Result) -> bool:
    """Whether a result means that the call failed."""
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
