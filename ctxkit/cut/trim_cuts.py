"""Finds the messages of a context that a trim can shorten, and shortens them.

Results of tools come first: superseded ones, then stale ones, the oldest first; on request also arguments of old calls.
Large units can be shortened however new they are, and a long first message down to FIRST tokens. This module decides
the order and how much of a text stays; `cut/trim_plan.py` decides how many are shortened. A summary is shortened by
lines (`cut/shorten/summary_lines.py`). What was shortened before can be shortened further, always from its original
text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from ctxkit.content.calls import Calls
from ctxkit.core.board import LeftOut
from ctxkit.core.context import entry
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Content, Message, Result, Text
from ctxkit.cut.shorten.shorten import shortened
from ctxkit.cut.shorten.shorten_text import longest
from ctxkit.cut.shorten.summary_lines import SummaryLines
from ctxkit.cut.trim_plan import LONG, TrimRank, TrimUnit, Truncation
from ctxkit.logfile.stubs import stubbed

if TYPE_CHECKING:
    from ctxkit.logfile.commit import WritableLog


class TextEnds(NamedTuple):
    """What is kept of a text: `head` and `tail` characters of its start and end, or `share` of all if that is more. A
    text with less than twice `head` and `tail` is kept whole.
    """

    head: int
    tail: int
    share: float = 0.0

    def cut(self, text: str, reason: str) -> str:
        """`text` with a line that describes the cut in place of its middle; the text itself if it is short."""
        size = len(text)
        head = max(self.head, int(size * self.share * HEAD))
        tail = max(self.tail, int(size * self.share * (1 - HEAD)))
        if size < 2 * (self.head + self.tail) or head + tail >= size:
            return text
        return f"{text[:head]}\n[{reason}: {size - head - tail:,} characters were cut here]\n{text[-tail:]}"


STALE, OLD, LEAST = TextEnds(300, 200), TextEnds(120, 80), TextEnds(30, 20)
"""STALE: for stale results, and results shortened for their size. OLD: for superseded results, and arguments. LEAST:
for what fills the last gap, which may be small.
"""
HEAD = 0.6
"""The part of `TextEnds.share` that goes to the start."""
FIRST = LONG
"""The fewest tokens of a shortened first message."""
SUPERSEDED, OLD_RESULT, OLD_INPUT = "superseded by message", "stale result", "old input"
LARGE_RESULT, LARGE_INPUT, LONG_FIRST = "large result", "large input", "long first message"
LEAST_USEFUL, LONG_TEXT = "without its least useful lines", "long text"
PART_OF_HEAD = "without its least useful lines and a part of its head"
ENDS = {**dict.fromkeys((OLD_RESULT, LARGE_RESULT, LONG_FIRST, LEAST_USEFUL, PART_OF_HEAD), STALE), LONG_TEXT: LEAST}
"""What is kept of a text that is shortened for this reason; for every other OLD."""
CLOSE = 0.05
"""The share of the room that may stay free."""


class Shortening:
    """The cuts of one context.

    `results`: how many of the newest messages with results (and, for arguments, with calls) are not shortened;
    `exclude`: tools with calls and results that are not; `inputs`: also shorten arguments of old calls; `saves`: the
    tokens that new content of a message saves; `printed`: whether a message is the output of a command.
    """

    def __init__(
        self, log: WritableLog, units: Sequence[TrimUnit], calls: Calls, saves: Callable[[Name, Content], int], *,
        results: int, exclude: set[str], inputs: bool, printed: Callable[[Name], bool],
    ) -> None:  # fmt: skip
        self.log, self.units, self.calls, self.saves = log, units, calls, saves
        self.results, self.exclude, self.inputs, self.printed = results, exclude, inputs, printed
        self.state = log.state()
        self.places = {name: place for place, unit in enumerate(units) for name in unit.names}
        self._summaries: dict[str, SummaryLines] = {}
        """Text of a summary -> its lines."""

    def old(self) -> Iterator[Truncation]:
        """Yields what can be shortened for its age, in order. Content is read only as far as needed."""
        held = [name for name in self.calls.names if (one := self._message(name)) is not None and one.results]
        open_ = [name for name in held if self._may(name, TrimRank.EDITED)]
        newest = set(held[len(held) - self.results :]) if self.results else set()
        superseded = {name: by for name in open_ if (by := self._superseded(name)) is not None}
        for name, by in superseded.items():
            yield from self._cut(name, f"{SUPERSEDED} {by}")
        for name in open_:
            if name not in newest and name not in superseded:
                yield from self._cut(name, OLD_RESULT)
        if self.inputs:
            yield from self._old_inputs()

    def large(self, place: int) -> Iterator[Truncation]:
        """Yields cuts of the results and arguments of a unit; of a summary, of all lines but its head. Of units that
        are never dropped, only of a long first message that nobody protected.
        """
        unit = self.units[place]
        if unit.rank == TrimRank.SUMMARY:
            for name in unit.names:
                yield from self._cut(name, LEAST_USEFUL)
            return
        if unit.rank >= TrimRank.TASK:
            if len(unit.names) == 1 and self._is_long_first(unit.names[0], unit.tokens):
                yield from self._first(unit.names[0], unit.tokens)
            return
        for name in unit.names:
            one = self._message(name)
            if one is None or not self._may(name, TrimRank.TASK):
                continue
            if one.results or self.printed(name):
                yield from self._cut(name, LARGE_RESULT)
            elif one.calls and self._answered(name, one):
                yield from self._cut(name, LARGE_INPUT)

    def words(self, place: int) -> Iterator[Truncation]:
        """Yields cuts of the texts of a unit that leave little of them: of results, arguments, and messages of words;
        not of words with what the model thought. Of a summary that leaves only a part of its head.
        """
        [name, *more] = self.units[place].names
        if self.units[place].rank == TrimRank.SUMMARY and not more:
            yield from self._cut(name, PART_OF_HEAD)
            return
        for name in self.units[place].names:
            one = self._message(name)
            if one is not None and one.calls and not one.results:
                may = self._answered(name, one)
            else:
                may = all(isinstance(part, Text | Result) for part in unshortened(self.log, name).parts)
            if may and self._may(name, TrimRank.SUMMARY):
                yield from self._cut(name, LONG_TEXT)

    def wider(self, cut: Truncation, tokens: int) -> Truncation | None:
        """A cut of the same message that keeps more of each text, by up to `tokens`; None if a few tries find none."""
        content, ends = unshortened(self.log, cut.name), ENDS.get(cut.reason, OLD)

        def make(more: float) -> tuple[int, Truncation]:
            stub = self._stub(content, cut.reason, ends._replace(share=more / cut.saves))
            saves = 0 if stub is None else self.saves(cut.name, stubbed(content, stub))
            return -saves, cut._replace(stub=stub, saves=saves)

        # all of a message that was shortened before is more than it has now
        whole = (cut.saves, -self.saves(cut.name, content))
        room = -max(1, cut.saves - tokens)
        found = longest(make, room, least=(0, -cut.saves), most=whole, slack=CLOSE * tokens)
        return found if found is not None and found.saves < cut.saves else None

    def _old_inputs(self) -> Iterator[Truncation]:
        held = [name for name in self.calls.names if (one := self._message(name)) is not None and one.calls]
        for name in held[: len(held) - self.results]:
            one = self._message(name)
            if one is not None and not one.results and self._may(name, TrimRank.EDITED) and self._answered(name, one):
                yield from self._cut(name, OLD_INPUT)

    def _answered(self, name: Name, message: Message) -> bool:
        """Whether all calls of the message have results, and its step has no call twice."""
        step = [one for member in self.units[self.places[name]].names if (one := self._message(member)) is not None]
        calls = [call for one in step for call in one.calls]
        return len(set(calls)) == len(calls) and {call for one in step for call in one.results}.issuperset(
            message.calls
        )

    def _may(self, name: Name, below: TrimRank) -> bool:
        """Whether a message may be shortened: its rank is below `below`, and its tools are not excluded."""
        excluded = self.exclude and self.exclude.intersection(self.calls.tools(name))
        return self.units[self.places[name]].rank < below and not excluded

    def _is_long_first(self, name: Name, tokens: int) -> bool:
        """Whether it is long, and protected only as the first message: it may be shortened, but not dropped."""
        state = self.state
        return state.is_first(name) and not state.protected(name) and tokens > FIRST

    def _first(self, name: Name, tokens: int) -> Iterator[Truncation]:
        """Yields a cut of the first message that leaves at least FIRST tokens."""
        for cut in self._cut(name, LONG_FIRST):
            room = FIRST - (tokens - cut.saves)
            yield (self.wider(cut, room) or cut) if room > 0 else cut

    def _cut(self, name: Name, reason: str) -> Iterator[Truncation]:
        """Yields a cut, if the message has fewer tokens with it than it has now."""
        content = unshortened(self.log, name)
        stub = self._stub(content, reason, ENDS.get(reason, OLD))
        saves = 0 if stub is None else self.saves(name, stubbed(content, stub))
        if saves > 0:
            yield Truncation(name, stub, saves, reason, self.places[name])

    def _stub(self, content: Content, reason: str, ends: TextEnds) -> Any:
        """The stub of a message that is shortened for this reason; None if nothing in it is long enough."""
        if reason in (LEAST_USEFUL, PART_OF_HEAD):
            whole = reason == LEAST_USEFUL
            return shortened(content, lambda text: self._fewer_lines(text, ends.share, whole_head=whole))
        return shortened(content, lambda text: ends.cut(text, reason))

    def _fewer_lines(self, text: str, share: float, *, whole_head: bool) -> str:
        """The head of a summary, and its most useful lines: about this share of its characters."""
        if text not in self._summaries:
            self._summaries[text] = SummaryLines(text)
        return self._summaries[text].best(int(share * len(text)), whole_head=whole_head)

    def _superseded(self, name: Name) -> str | None:
        """The message that reads or writes again all that this result shows; None if there is none."""
        found = [
            self.calls.outdated(caller, touch)
            for caller in self.calls.callers(name) for touch in self.calls.touched.get(caller, ())
        ]  # fmt: skip
        newer = [one for one in found if one is not None]
        if not found or len(newer) < len(found):
            return None
        return self.state.label(max(newer, key=self.calls.place.__getitem__))

    def _message(self, name: Name) -> Message | None:
        return self.calls.message(name) if isinstance(name, int) else None


def unshortened(log: WritableLog, name: Name) -> Content:
    """A message as it was before any op shortened it. Parts of it that ops left out stay out."""
    one = entry(log.state(), name)
    return log.full(structs.replace(one, stub=LeftOut(one.stub.parts) if isinstance(one.stub, LeftOut) else None))
