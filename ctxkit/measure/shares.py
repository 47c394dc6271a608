"""Shares: whose a context's tokens are, by role, tool, exchange or file; and every file that its calls touch.

Reads what `measure/size.py` says of each message, so that they are parts of what `status` shows; `status --by` and
`--files` print it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import floor
from typing import Literal

import msgspec

from ctxkit.content.calls import Calls
from ctxkit.core.context import belongs, entry
from ctxkit.core.derive.files import FileTouch
from ctxkit.core.item_names import Name, Names
from ctxkit.core.times import iso
from ctxkit.logfile.open import OpenLog
from ctxkit.measure.count import Counting
from ctxkit.measure.size import Measuring

By = Literal["role", "tool", "exchange", "file"]
NO_TOOL, NO_FILE, BEFORE = "(no tool)", "(no file)", "(before the first)"


class Share(msgspec.Struct, frozen=True):
    """Some messages of the context. `first`: the earliest of them as people write it; `tokens`: of all of them."""

    what: str
    messages: int
    tokens: int
    first: str


class Touched(msgspec.Struct, frozen=True):
    """A file that calls touch. `reads`, `writes`: the messages that do, as people write them; `created`, `deleted`:
    those of the writes that do just that. `last`: the newest of all; `time`: its own, ISO, None where it has none.

    `tokens`: of these calls and their results in the context, those of a call that touches several files for each of
    them. `superseded`: reads of what a later one shows again, or a write made old. `out`: those of the messages that
    are out of the context; `in_context`: whether any is in it.
    """

    path: str
    reads: list[str]
    writes: list[str]
    created: list[str]
    deleted: list[str]
    last: str
    time: str | None
    tokens: int
    superseded: list[str]
    out: list[str] = []
    in_context: bool = True


class Shares:
    """A context, its messages counted one by one."""

    def __init__(self, log: OpenLog) -> None:
        self.log, self.state = log, log.state()
        self.names = list(log.listed())
        self.calls = Calls(log, self.names)
        measuring = Measuring(Counting(log))
        sums = [floor(held + 1e-6) for held in measuring.rising(self.names)]  # whole ones that add up
        self.tokens = dict(zip(self.names, (now - before for before, now in pairwise(sums)), strict=True))
        self.counter = measuring.name

    def by(self, kind: By) -> list[Share]:
        """The shares, the largest first; exchanges in their order. Each message is in one of them, so they add up."""
        groups: dict[str, list[Name]] = {}
        for what, name in self._labelled(kind):
            groups.setdefault(what, []).append(name)
        found = [
            Share(what, len(names), sum(self.tokens[name] for name in names), self.state.label(names[0]))
            for what, names in groups.items()
        ]
        return found if kind == "exchange" else sorted(found, key=lambda share: -share.tokens)

    def largest(self, count: int) -> list[Share]:
        """The largest messages, by their role."""
        names = self.largest_names(count)
        return [Share(entry(self.state, name).role, 1, self.tokens[name], self.state.label(name)) for name in names]

    def largest_names(self, count: int) -> list[Name]:
        """The names of the largest messages, the largest first."""
        return sorted(self.names, key=lambda name: -self.tokens[name])[:count]

    def files(self, *, only_context: bool = False) -> list[Touched]:
        """Every file that a call of the log touches, by its newest touch, the newest first; `only_context`: that a call
        in the context touches.
        """
        calls = self.calls if only_context else Calls(self.log, self._everything(), whole=True)
        order: dict[str, list[tuple[Name, FileTouch]]] = {}
        for name, some in calls.touched.items():
            for touch in some:
                order.setdefault(touch.path, []).append((name, touch))
        newest = sorted(order, key=lambda one: -calls.place[order[one][-1][0]])
        return [self._file(path, order[path], calls) for path in newest]

    def _everything(self) -> list[Name]:
        """All messages of the log that are of the agent and thread which are looked at, in the order of the context."""
        state, projection = self.state, self.log.projection()
        names = state.everything()
        if projection.agent is not None or projection.thread is not None:
            names = Names.of(name for name in names if belongs(state, name, projection.agent, projection.thread))
        return sorted(names, key=state.key)

    def _file(self, path: str, held: Sequence[tuple[Name, FileTouch]], calls: Calls) -> Touched:
        def labels(names: Iterable[Name]) -> list[str]:
            return [self.state.label(name) for name in dict.fromkeys(names)]

        last = held[-1][0]
        moment = self.state.original(last)
        new = [
            name for n, (name, touch) in enumerate(held) if touch.how == "create" or (touch.how == "write" and not n)
        ]
        steps = {member for name, _ in held for member in self._step(name)}
        return Touched(
            path,
            labels(name for name, touch in held if touch.how == "read"),
            labels(name for name, touch in held if touch.how != "read"),
            labels(new),
            labels(name for name, touch in held if touch.how == "delete"),
            self.state.label(last),
            iso(int(moment)) if moment is not None else None,
            sum(self.tokens.get(name, 0) for name in steps),
            labels(name for name, touch in held if calls.outdated(name, touch) is not None),
            labels(name for name, _ in held if name not in self.tokens),
            any(name in self.tokens for name, _ in held),
        )

    def _labelled(self, kind: By) -> Iterator[tuple[str, Name]]:
        exchange = BEFORE
        for name in self.names:
            message = self.state.messages[name - 1] if isinstance(name, int) else None
            match kind:
                case "role":
                    yield entry(self.state, name).role, name
                case "tool":
                    tools = sorted(self.calls.tools(name))
                    yield ", ".join(tools) or NO_TOOL, name
                case "file":
                    paths = sorted({touch.path for touch in self.calls.files(name)})
                    yield ", ".join(paths) or NO_FILE, name
                case "exchange":
                    if message is not None and message.opens:
                        exchange = f"from {self.state.label(name)}"
                    yield exchange, name

    def _step(self, name: Name) -> Sequence[Name]:
        return self.state.steps.members(name) if isinstance(name, int) else [name]
