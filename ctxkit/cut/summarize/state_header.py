"""Writes the state of a session, for the head of a summary: what was asked last, what is open, what fails. Pure.

Only what is so is said: what a later message supersedes, or what stays in the context anyway, is left out. Each line
names its message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from ctxkit.core.item_names import Name, Names
from ctxkit.cut.rank.facts import WORD, sentences
from ctxkit.cut.summarize.failures import DENIED, CommandRun, CommandRuns, sort
from ctxkit.cut.summarize.tasks import Task, TaskReader
from ctxkit.cut.summarize.working_state import WorkingState
from ctxkit.cut.units.pasted import WRAPPED
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment, flat
from ctxkit.cut.units.touched_files import AWAY

HEADER, REQUESTED = "State", "Last request: "
"""The title of the state, and how its line begins that quotes the newest request."""
SHARE, REQUEST = 0.16, 0.5
"""The most that the state may take of a summary, and the last request of the state."""
SHOWN, LISTED = 12, 6
"""The most lines of a failing command; and messages of a request, or edited files."""
LETTERS, MARK = 4, 3
"""About how many characters a token has; and the most tokens of a mark of what is left out."""
LONGEST = 240
"""The most characters of what was announced, or of a command."""
ENDING = 2000
"""The last characters of what the model said, in which its last sentence is looked for."""
GOES_ON = re.compile(
    r"\W*(?:please )?(?:continue|go on|keep going|carry on|resume|proceed|weiter|继续)\b|"
    r"\W*(?:(?:yes|yep|yeah|y|ok(?:ay)?|sure|go|ahead|do|it|that|so|please|try|again|retry|thanks?|never ?mind|"
    r"both|all|none|ja|nein|no|nope|oui|non|s[ií]|claro|mach|[好对是行]|可以|はい|いい)\b\W*){1,4}$",
    re.I,
)
"""Matches a message that says nothing without the request that it goes on with: `yes, do that`."""
ANSWERED = re.compile(r'"([^"\n]+)"="([^"]*)"')
"""Matches a question of the model with the answer that the user chose."""
GAP = 3
"""The most that the numbers of two messages differ that the user typed one after the other: of what a program's
compaction took out between two, nobody knows who spoke.
"""
UNSAID = re.compile(r"No response requested\.|You['’]ve hit your .*limit")
"""Matches what programs put into the place of an answer."""
STOPPED = re.compile(r"\[Request interrupted|<turn_aborted>")
"""Matches a notice that the user stopped the model: what was asked is not done, and the next message adds to it."""
SLASH = re.compile(r"<command-name>/?([\w:-]+)</command-name>(?:.*?<command-args>(.*?)</command-args>)?", re.S)
"""Matches a command that the user typed."""
STEERS = (
    " about add-dir agents approvals auth autocompact bashes branch bug changelog chat clear color compact config"
    " context continue copy cost doctor effort exit export extra-usage fast feedback help hooks hotkeys ide"
    " install-github-app keybindings login logout marketplace mcp memory model new output-style permissions plugin"
    " plugins quit privacy-settings release-notes reload-plugins rename resume rewind sandbox session settings"
    " share skills stats status statusline stickers tasks terminal-setup theme thinking todos tools tree undo"
    " upgrade usage vim "
)
"""Commands that steer the program, and ask for no work."""
WITHDRAWN = re.compile(
    r"\W*(?:(?:sorry|oops|oh|no|ah),? )?(?:wrong (?:chat|window|session|tab|thread)|"
    r"(?:ignore|forget|disregard) (?:(?:that|my|the|this) )?(?:(?:last|previous) )?(?:message|prompt|request)\b|"
    r"scratch that\b)",
    re.I,
)
"""Matches what takes the message before back."""


class _Said(NamedTuple):
    name: Name
    place: int
    text: str


class StatePart(NamedTuple):
    """A part of the state: its lines, and the segments (by place) that they are quoted from. `order`: which lines are
    taken first, if not all have room; it may use REQUEST of the room then.
    """

    lines: list[str]
    places: tuple[int, ...] = ()
    order: tuple[int, ...] = ()


class SessionState:
    """The newest request, tasks, runs and edits of a session. Takes linear time; holds only what is newest."""

    def __init__(self, pieces: Sequence[TextSegment]) -> None:
        self.runs = CommandRuns()
        self.work = WorkingState()
        self.request: list[_Said] = []
        """The segments of the newest request."""
        self.next: _Said | None = None
        """What the model announced last."""
        self._edited: dict[str, _Said] = {}
        self._before: dict[str, list[tuple[str, _Said | None]]] = {}
        """Call that edits -> its paths, each with the edit before."""
        self._turns = -1, -1
        """Places of the newest two requests: a list of tasks from before both is of other work."""
        self._answered = True
        """Whether the model spoke since the newest request."""
        self._is_stopped = False
        """Whether the user stopped the model since."""
        tasks = TaskReader()
        for place, piece in enumerate(pieces):
            if (call := tasks.add(place, piece)) is not None:
                self.work.add(call)
            self._take(place, piece)
        self.tasks = tasks.open

    def _take(self, place: int, piece: TextSegment) -> None:
        self.runs.add(place, piece)
        if piece.is_script and piece.kind == SegmentKind.INPUT:
            self.work.starts(piece.text)
        self._edit(place, piece)
        if text := asked(piece):
            self._ask(_Said(piece.name, place, text), is_answer=piece.kind == SegmentKind.RESULT or piece.tool != "")
        elif piece.kind in (SegmentKind.INPUT, SegmentKind.RESULT):
            self._answered = True
        elif piece.kind == SegmentKind.ASSISTANT and UNSAID.match(piece.text.strip()) is None:
            self._answered = True
            self.next = _Said(piece.name, place, piece.text[-ENDING:])
        if text or piece.kind in (SegmentKind.INPUT, SegmentKind.ASSISTANT):
            self._is_stopped = False
        elif STOPPED.match(piece.text) is not None:
            self._is_stopped = True

    def _ask(self, said: _Said, *, is_answer: bool) -> None:
        last = self.request[-1].name if self.request else None
        if WITHDRAWN.match(said.text) is not None:
            self.request = self.request[:-1]
            last = None
        is_next = isinstance(said.name, int) and isinstance(last, int) and said.name - last <= GAP
        goes_on = self._is_stopped or (len(said.text) <= LONGEST and GOES_ON.match(said.text) is not None)
        if not (is_answer or goes_on or (is_next and not self._answered)):
            self.request = []
            self._turns = self._turns[1], said.place
        self.request = [one for one in self.request if one.text != said.text]
        self.request = [*self.request[:1], *self.request[1:][2 - LISTED :], said]
        self.next, self._answered = None, self._answered and is_answer

    def _edit(self, place: int, piece: TextSegment) -> None:
        """Takes the files that a call edits; a call that was denied, or that failed to edit, edits none."""
        if piece.kind == SegmentKind.INPUT:
            for touch in piece.touches:
                if touch.how != "read" and AWAY.match(touch.path) is None:
                    self.work.edits(touch.path)
                    known = self._edited.pop(touch.path, None)
                    if piece.call:
                        self._before.setdefault(piece.call, []).append((touch.path, known))
                    if touch.how != "delete":
                        self._edited[touch.path] = _Said(piece.name, place, touch.path)
        elif piece.kind == SegmentKind.RESULT:
            before = self._before.pop(piece.call, ())
            if piece.failed and (not piece.runs or DENIED.match(piece.text)):
                for path, known in reversed(before):
                    self._edited.pop(path, None)
                    self._edited.update({path: known} if known is not None else {})

    @property
    def named(self) -> str:
        """What the newest request, the open tasks and the last announcement say, for a query."""
        some: list[_Said | Task] = [*self.request, *self.tasks, *([self.next] if self.next else [])]
        return "\n".join(one.text for one in some)

    def entries(self, covered: Names, tag: Callable[[Name], str], room: int) -> Iterator[StatePart]:
        """Yields the parts of the state that messages of `covered` say, the most important first. `room`: about how
        many tokens the state may have.
        """
        letters = room * LETTERS
        if asked := [one for one in self.request if one.name in covered]:
            yield _request(asked, tag, max(int(REQUEST * letters), LONGEST))
        if failed := self._failed(covered):
            lines = [line for run in failed for line in self._failing(run, tag, letters // 5)]
            yield StatePart(lines, tuple(run.place for run in failed))
        if tasks := [one for one in self.tasks if one.name in covered and (one.id or one.place > self._turns[0])]:
            newest = max(tasks, key=lambda one: one.place)
            first, *others = (one.line for one in tasks)
            lines = [f"Open tasks: {tag(newest.name)} {first}", *(f"  {one}" for one in others)]
            yield StatePart(lines, tuple(one.place for one in tasks))
        yield from map(StatePart, self.work.lines(covered, tag))
        if self.next is not None and self.next.name in covered and (said := _last(self.next.text)):
            yield StatePart([f"Said last: {tag(self.next.name)} {flat(said)}"], (self.next.place,))
        if edited := self._since(covered, tag):
            yield StatePart([edited])

    def _failed(self, covered: Names) -> list[CommandRun]:
        """The newest failing run, and the newest before it that checks something else."""
        newest = {sort(run.command): run for run in self.runs.open}
        found = sorted(newest.values(), key=lambda run: run.place)[:-3:-1]
        return [run for run in found if run.name in covered] if found and found[0].name in covered else []

    def _failing(self, run: CommandRun, tag: Callable[[Name], str], letters: int) -> Iterator[str]:
        """Yields the lines of a failing run. `letters`: the most of its command, so that its lines have room."""
        mended, green = "", self.runs.green
        if self.runs.was_edited(run):
            mended = " (what it names was edited since)"
        elif green is not None and green.place > run.place and sort(green.command) == sort(run.command):
            mended = f" ({tag(green.name)} passed since: {flat(green.command)[: LONGEST // 6]})"
        command = flat(run.together or run.command)
        most = min(letters, LONGEST)
        where = f" in {flat(run.folder)}" if run.folder and len(run.folder) < most else ""
        yield f"Failing: {tag(run.name)} {command[:most]}{' …' * (len(command) > most)}{where}{mended}"
        yield from (f"  {line}" for line in dict.fromkeys(run.failing[:SHOWN]))

    def _since(self, covered: Names, tag: Callable[[Name], str]) -> str:
        """The line of the files that were edited since a run passed, or at all; "" without any."""
        green = self.runs.green
        place = green.place if green is not None else -1
        since = [one for one in self._edited.values() if one.place > place and one.name in covered]
        if not since:
            return ""
        head = f" since {tag(green.name)} passed ({flat(green.command)[: LONGEST // 4]})" if green is not None else ""
        listed = ", ".join(f"{_short(one.text)} {tag(one.name)}" for one in since[-LISTED:])
        more = f" and {len(since) - LISTED} other" if len(since) > LISTED else ""
        return f"Edited{head}: {listed}{more}"


def _request(request: Sequence[_Said], tag: Callable[[Name], str], letters: int) -> StatePart:
    """The newest request, word for word: of each of its messages first the first line, and of the newest one the last
    line (above it may stand what was pasted), then the rest of the newest, then of the others.
    """
    lines, firsts = list[str](), list[int]()
    for one in request:
        firsts.append(len(lines))
        most = letters if one == request[-1] else max(letters // len(request), LONGEST)
        said = [f"  {line[:most]}{' …' * (len(line) > most)}" for line in one.text.strip().split("\n")]
        lines += [f"  {tag(one.name)} {said[0].lstrip()}", *said[1:]]
    lines[0] = f"{REQUESTED}{lines[0].lstrip()}"
    newest = range(firsts[-1], len(lines))
    ends = [newest[-1]] if len(lines[-1]) <= LONGEST else []
    order = dict.fromkeys([0, newest[0], *ends, *firsts, *newest, *range(len(lines))])
    return StatePart(lines, tuple(one.place for one in request), tuple(order))


def header(
    state: SessionState, covered: Names, tag: Callable[[Name], str], room: int,
    count: Callable[[Sequence[str]], Sequence[int]],
) -> tuple[list[str], dict[int, str]]:  # fmt: skip
    """The lines of the state, of at most `room` tokens, and what is quoted of each segment, by place. Where some are
    left out, the next one has a mark.
    """
    lines: list[str] = []
    quoted: dict[int, str] = {}
    for part in state.entries(covered, tag, room):
        sizes = count([f"{line}\n" for line in part.lines])
        is_cut = bool(part.order) and sum(sizes) > room * REQUEST
        left = int(room * REQUEST) if is_cut else room
        taken: list[int] = []
        for place in part.order or range(len(sizes)):
            size = sizes[place] + (MARK if place and place - 1 not in taken else 0)
            if size > (left if len(taken) > 1 else room):
                break
            taken.append(place)
            left, room = left - size, room - size
        told = [part.lines[place] for place in sorted(taken)]
        for number, (before, place) in enumerate(pairwise(sorted(taken)), 1):
            if place > before + 1:
                told[number] = f"  … {told[number].lstrip()}"
        lines += told
        for place in part.places if told else ():
            quoted[place] = "\n".join([quoted.get(place, ""), *told])
    return lines, quoted


def asked(piece: TextSegment) -> str:
    """What a person asks for with a segment: what was typed, answered, said when a call was denied, or a command with
    its arguments; "" for what a program says, or is told.
    """
    if piece.kind == SegmentKind.USER:
        text = _typed(piece.text)
        if piece.tool:
            return "\n".join(_answers(text)) or text
        return "" if text[:1] == "/" and f" {text[1:]}" in STEERS else text
    if piece.kind == SegmentKind.RESULT and (denied := DENIED.match(piece.text)) is not None:
        return (denied["said"] or "").removesuffix("</feedback>").strip()
    found = SLASH.search(piece.text[:ENDING]) if piece.kind == SegmentKind.NOTICE else None
    return (
        f"/{found[1]} {(found[2] or '').strip()}".strip() if found is not None and f" {found[1]} " not in STEERS else ""
    )


def _typed(text: str) -> str:
    """A text of the user without what programs put before and behind it."""
    text = text.strip()
    while (tag := WRAPPED.match(text)) is not None and (end := text.find(f"</{tag[1]}>")) > 0:
        text = text[end + len(tag[0]) + 1 :].lstrip()
    while text.endswith(">") and (start := text.rfind(f"<{text[text.rfind('</') + 2 :]}")) >= 0:
        if WRAPPED.match(text, start) is None:
            break
        text = text[:start].rstrip()
    return text


def _answers(text: str) -> Iterator[str]:
    """Yields the questions that a result answers, each with the answer."""
    yield from (f"{flat(asked)} = {flat(answer)}" for asked, answer in ANSWERED.findall(text))


def _last(text: str) -> str:
    """The last sentence of what the model said; "" if it is long."""
    said = [one for one in sentences(text) if len(WORD.findall(one)) > 2]
    return said[-1] if said and len(said[-1]) <= LONGEST else ""


def _short(path: str) -> str:
    return flat(path.replace("\\", "/").rpartition("/")[2])
