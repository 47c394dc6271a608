"""Finds the episodes of a context whose effect is in the files, and the steps that later ones supersede.

By structure alone: which files calls write, which runs pass and fail, which calls are made again, which tasks are open.
`cut/rank/ranking.py` ranks such units lowest, for the strategy `episodes`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from ctxkit.content.calls import Calls
from ctxkit.core.context import entry
from ctxkit.core.derive.files import touches
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Call, Content
from ctxkit.cut.summarize.failures import CommandRuns
from ctxkit.cut.summarize.tasks import TaskReader
from ctxkit.cut.units.text_segments import SegmentKind, SegmentReader, TextSegment

if TYPE_CHECKING:
    from ctxkit.logfile.open import OpenLog


class Episodes:
    """The episodes of a context, of whose units `groups` has the names in order.

    An episode begins with a message that somebody typed (`asks`, per unit), and after a run that passed. `finished`:
    places of the steps of finished episodes. `superseded`: places of steps whose every call is made again later, or
    reads what is read again or written later.
    """

    def __init__(self, log: OpenLog, calls: Calls, groups: Sequence[Sequence[Name]], asks: Sequence[int]) -> None:
        self.log, self.calls = log, calls
        self._place = {name: place for place, group in enumerate(groups) for name in group}
        self._runs = CommandRuns()
        self._passed: list[tuple[int, str]] = []
        """The units in which a run passed: the place, and the command."""
        self._wrote: dict[str, list[int]] = defaultdict(list)
        """Path -> places of the units that write it."""
        self._tasks = TaskReader()
        self._newest: dict[tuple[str, str], Name] = {}
        """Tool and arguments -> the newest message with such a call."""
        self._made: dict[int, list[tuple[bool, tuple[str, str]]]] = defaultdict(list)
        """Place -> its calls: whether the call reads only what is read again or written later, its key."""
        self._read()
        self.superseded = frozenset(place for place in self._made if self._is_superseded(place))
        self.finished = frozenset(self._of_finished(asks))

    def _read(self) -> None:
        state, reader, at = self.log.state(), SegmentReader(), 0
        for name in self.calls.names:
            content = self.log.full(entry(state, name))
            self._take_calls(name, content)
            for piece in reader.pieces(name, content):
                at += 1
                self._take(at, piece)

    def _take_calls(self, name: Name, content: Content) -> None:
        place = self._place[name]
        for part in content.parts:
            if isinstance(part, Call):
                key = part.name, json.dumps(part.arguments, sort_keys=True, default=str)
                some = list(touches(part))
                outdated = bool(some) and all(self.calls.outdated(name, one) is not None for one in some)
                self._newest[key] = name
                self._made[place].append((outdated, key))

    def _take(self, at: int, piece: TextSegment) -> None:
        place, green = self._place[piece.name], self._runs.green
        self._runs.add(at, piece)
        self._tasks.add(at, piece)
        if self._runs.green is not None and self._runs.green is not green:
            self._passed.append((place, self._runs.green.command))
        for touch in piece.touches:
            if touch.action != "write":
                continue
            if piece.kind == SegmentKind.INPUT:
                self._wrote[touch.path].append(place)
            elif piece.failed and place in self._wrote[touch.path]:  # it wrote nothing
                self._wrote[touch.path].remove(place)

    def _is_superseded(self, place: int) -> bool:
        lists = self._tasks.lists
        return place not in self._open and all(
            outdated or self._place[self._newest[key]] > place
            or (key[0] in lists and self._place[lists[key[0]].name] > place)  # a later list of tasks replaces this one
            for outdated, key in self._made[place]
        )  # fmt: skip

    @cached_property
    def _open(self) -> set[int]:
        """Places of the units with a failure that no later run supersedes, or with an open task."""
        failed = {self._place[run.name] for run in self._runs.open}
        return failed | {self._place[task.name] for task in self._tasks.open}

    def _of_finished(self, asks: Sequence[int]) -> Iterator[int]:
        """Yields the steps of the episodes that wrote files and left nothing open. The newest episode is never one."""
        episodes = list(self._episodes(asks))
        of = {place: number for number, places in enumerate(episodes) for place in places}
        red = {run.command for run in self._runs.open}
        green = max((place for place, command in self._passed if command not in red), default=-1)
        wrote: set[int] = set()
        undone = {of[place] for place in self._open} | {len(episodes) - 1}
        for places in self._wrote.values():
            last = of[places[-1]] if places else -1
            for place in places:
                wrote.add(of[place])
                if place >= green and of[place] == last:
                    undone.add(of[place])
        for number in wrote - undone:
            yield from (place for place in episodes[number] if place in self._made)

    def _episodes(self, asks: Sequence[int]) -> Iterator[range]:
        """Yields the places of each episode."""
        passed, start = {place for place, _ in self._passed}, 0
        for place, opens in enumerate(asks):
            if place > start and (opens or place - 1 in passed):
                yield range(start, place)
                start = place
        yield range(start, len(asks))
