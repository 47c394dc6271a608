"""Shortening: which messages of a context a trim can let say less, and what they say then.

Results of tools first: superseded ones, then stale ones, the oldest first; on request the arguments of old calls. Where
something large stands in the way, its results and arguments, however new; and a long first message, down to FIRST
tokens. The order and the words are made here; how many of them it takes, `trim/plan.py` decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxkit.content.calls import Calls
from ctxkit.core.board import shortening
from ctxkit.core.context import entry
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Call, Content, Image, Message, Result
from ctxkit.logfile.open import words
from ctxkit.logfile.stubs import of_call, of_result, of_words, stubbed
from ctxkit.trim.plan import LONG, TrimRank, TrimUnit, Truncation

if TYPE_CHECKING:
    from ctxkit.logfile.commit import WritableLog


class TextEnds(NamedTuple):
    """What stays of a text: characters of its start and end, or `share` of all of them, where that is more. A text of
    less than twice as many stays whole.
    """

    head: int
    tail: int
    share: float = 0.0

    def of(self, text: str) -> tuple[int, int] | None:
        """Characters of the start and the end that stay of `text`; None where all of it does."""
        size = len(text)
        if size < 2 * (self.head + self.tail):
            return None
        head = max(self.head, int(size * self.share * HEAD))
        tail = max(self.tail, int(size * self.share * (1 - HEAD)))
        return (head, tail) if head + tail < size else None


STALE, OLD = TextEnds(300, 200), TextEnds(120, 80)
"""Of stale results, and of what is shortened for its size; of superseded ones, and of arguments."""
HEAD = 0.6
"""Of what stays of a text, where more of it does."""
FIRST = LONG
"""Tokens that a first message has at least, once it is shortened."""
SUPERSEDED, OLD_RESULT, OLD_INPUT = "superseded by message", "stale result", "old input"
LARGE_RESULT, LARGE_INPUT, LONG_FIRST = "large result", "large input", "long first message"
LEVELS = 100
"""Of arguments in arguments: deeper than any tool nests them, and far from what the interpreter can follow."""
STEPS, CLOSE = 6, 0.05
"""Tries to find how much of a text fits, and the part of the room that may stay free."""


class Shortening:
    """The cuts of one context. `results`: newest messages with results, or calls, that stay whole.

    `exclude`: tools whose calls and results do; `inputs`: arguments too; `saves`: tokens that new content saves.
    `printed`: messages in words that are what a command printed.
    """

    def __init__(
        self, log: WritableLog, units: Sequence[TrimUnit], calls: Calls, saves: Callable[[Name, Content], int], *,
        results: int, exclude: set[str], inputs: bool, printed: Callable[[Name], bool],
    ) -> None:  # fmt: skip
        self.log, self.units, self.calls, self.saves = log, units, calls, saves
        self.results, self.exclude, self.inputs, self.printed = results, exclude, inputs, printed
        self.state = log.state()
        self.places = {name: place for place, unit in enumerate(units) for name in unit.names}

    def old(self) -> Iterator[Truncation]:
        """What can be shortened for its age, in the order in which it is; content is read as far as it is asked for."""
        held = [name for name in self.calls.names if (one := self._message(name)) is not None and one.results]
        open_ = [name for name in held if self._may(name, TrimRank.EDITED)]
        newest = set(held[len(held) - self.results :]) if self.results else set()
        superseded = {name: by for name in open_ if (by := self._superseded(name)) is not None}
        for name, by in superseded.items():
            yield from self._cut(name, f"{SUPERSEDED} {by}", OLD)
        for name in open_:
            if name not in newest and name not in superseded:
                yield from self._cut(name, OLD_RESULT, STALE)
        if self.inputs:
            yield from self._old_inputs()

    def large(self, place: int) -> Iterator[Truncation]:
        """The results and arguments of a unit; of what never leaves the first message alone, unless it was protected by
        hand.
        """
        unit = self.units[place]
        if unit.rank >= TrimRank.TASK:
            if len(unit.names) == 1 and self._is_long_first(unit.names[0], unit.tokens):
                yield from self._first(unit.names[0], unit.tokens)
            return
        for name in unit.names:
            one = self._message(name)
            if one is None or not self._may(name, TrimRank.TASK):
                continue
            if one.results or self.printed(name):
                yield from self._cut(name, LARGE_RESULT, STALE)
            elif one.calls and self._answered(name, one):
                yield from self._cut(name, LARGE_INPUT, OLD)

    def wider(self, cut: Truncation, tokens: int) -> Truncation | None:
        """The same cut with more of each text, by up to `tokens`: as much of it as a few tries find."""
        content = self.log.full(entry(self.state, cut.name))
        ends = STALE if cut.reason in (OLD_RESULT, LARGE_RESULT, LONG_FIRST) else OLD
        found, target = None, max(1, cut.saves - tokens)
        low, high = (0.0, cut.saves), (1.0, 0)  # shares of the text that stay, and what they save
        for _ in range(STEPS):
            share = low[0] + (high[0] - low[0]) * (low[1] - target) / max(1, low[1] - high[1])
            stub = self._stub(cut.name, content, cut.reason, ends._replace(share=share))
            saves = 0 if stub is None else self.saves(cut.name, stubbed(content, stub))
            if saves < target:
                high = (share, saves)
                continue
            low = (share, saves)
            if saves < cut.saves:
                found = cut._replace(stub=stub, saves=saves)
                if saves - target <= tokens * CLOSE:
                    break
        return found

    def _old_inputs(self) -> Iterator[Truncation]:
        held = [name for name in self.calls.names if (one := self._message(name)) is not None and one.calls]
        for name in held[: len(held) - self.results]:
            one = self._message(name)
            if one is not None and not one.results and self._may(name, TrimRank.EDITED) and self._answered(name, one):
                yield from self._cut(name, OLD_INPUT, OLD)

    def _answered(self, name: Name, message: Message) -> bool:
        """Whether its step is a plain one: a call without a result, or a copy, is its program's to explain."""
        step = [one for member in self.units[self.places[name]].names if (one := self._message(member)) is not None]
        calls = [call for one in step for call in one.calls]
        return len(set(calls)) == len(calls) and {call for one in step for call in one.results}.issuperset(
            message.calls
        )

    def _may(self, name: Name, below: TrimRank) -> bool:
        """Whether a message's results, or arguments, are nobody's to keep."""
        return (
            self.units[self.places[name]].rank < below
            and shortening(self.state.board.stubs.get(name)) is None
            and not (self.exclude and self.exclude.intersection(self.calls.tools(name)))
        )

    def _is_long_first(self, name: Name, tokens: int) -> bool:
        """Whether it is protected for being the first one alone: that keeps its place and its ends, not its length."""
        state = self.state
        alone = state.is_first(name) and not state.protected(name) and shortening(state.board.stubs.get(name)) is None
        return alone and tokens > FIRST

    def _first(self, name: Name, tokens: int) -> Iterator[Truncation]:
        """The first message, cut down to FIRST tokens."""
        for cut in self._cut(name, LONG_FIRST, STALE):
            room = FIRST - (tokens - cut.saves)
            yield (self.wider(cut, room) or cut) if room > 0 else cut

    def _cut(self, name: Name, reason: str, ends: TextEnds) -> Iterator[Truncation]:
        content = self.log.full(entry(self.state, name))
        stub = self._stub(name, content, reason, ends)
        saves = 0 if stub is None else self.saves(name, stubbed(content, stub))
        if saves > 0:
            yield Truncation(name, stub, saves, reason, self.places[name])

    def _stub(self, name: Name, content: Content, reason: str, ends: TextEnds) -> Any:
        """What stands for a message that is cut for this reason; None where nothing of it is long enough."""
        if reason in (OLD_INPUT, LARGE_INPUT):
            return _of_calls(content, reason, ends)
        if reason == LONG_FIRST or not any(isinstance(part, Result) for part in content.parts):
            return of_words(content, lambda text: _ends_of(text, reason, ends))
        return _of_results(content, reason, ends)

    def _superseded(self, name: Name) -> str | None:
        """The message that reads or writes again all that this result shows; None where there is none."""
        found = [
            self.calls.outdated(caller, touch)
            for caller in self.calls.callers(name) for touch in self.calls.touched.get(caller, ())
        ]  # fmt: skip
        newer = [one for one in found if one is not None]
        if not found or len(newer) < len(found):
            return None
        return self.state.label(max(newer, key=self.calls.place.__getitem__))

    def _message(self, name: Name) -> Message | None:
        return self.calls.messages[name - 1] if isinstance(name, int) else None


def _of_results(content: Content, reason: str, ends: TextEnds) -> Any:
    stubs = [
        of_result(part, said)
        for part in content.parts
        if isinstance(part, Result) and (said := _shortened(part, reason, ends)) is not None
    ]
    if not stubs:
        return None
    return stubs[0]["content"] if len(content.parts) == 1 else stubs


def _of_calls(content: Content, reason: str, ends: TextEnds) -> Any:
    stubs = []
    for part in content.parts:
        if isinstance(part, Call):
            brief = less(part.arguments, reason, ends)
            if brief != part.arguments and (isinstance(part.arguments, dict) or _takes_text(part)):
                stubs.append(of_call(part, brief))
    return stubs or None


def less(value: Any, reason: str, ends: TextEnds, levels: int = LEVELS) -> Any:
    """Arguments with each long text in them shortened: the same keys and kinds of values. What is nested more than
    `levels` deep stays as it is.
    """
    if isinstance(value, str):
        return _ends_of(value, reason, ends)
    if not levels:
        return value
    if isinstance(value, dict):
        return {key: less(inner, reason, ends, levels - 1) for key, inner in value.items()}
    return [less(inner, reason, ends, levels - 1) for inner in value] if isinstance(value, list) else value


def _takes_text(call: Call) -> bool:
    """Whether any text is valid as the arguments of this call."""
    return isinstance(call.arguments, str) and (call.raw or {}).get("type") == "custom_tool_call"


def _shortened(result: Result, reason: str, ends: TextEnds) -> str | None:
    """What a result says then; None where it is short."""
    inner = result.content if isinstance(result.content, list) else []
    text = "\n".join(words(Content("tool", [result])))
    pictures = sum(isinstance(part, Image) for part in inner)
    brief = _ends_of(text, reason, ends)
    if pictures:
        what = f"{pictures} pictures were" if pictures > 1 else "a picture was"
        return "\n".join(filter(None, [brief, f"[{reason}: {what} cut]"]))
    return brief if brief != text else None


def _ends_of(text: str, reason: str, ends: TextEnds) -> str:
    """`text` without its middle, which a line in its place tells of; itself, where it is short."""
    found = ends.of(text)
    if found is None:
        return text
    head, tail = found
    return f"{text[:head]}\n[{reason}: {len(text) - head - tail:,} characters were cut here]\n{text[-tail:]}"
