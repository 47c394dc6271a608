"""Searches everything in a log, in the context or not; each hit says whether and why it is visible.

Pipeline: `core/text/search_pattern.py` (traces) -> `store/scan.py` (their places in the bytes) -> messages at these
places are decoded -> `SearchHit`s. Text that ops brought in (summaries, literals, shortened text) is searched in the
ledger.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, assert_never

import msgspec

from ctxkit.core.board import shortening
from ctxkit.core.item_names import ItemName, Name, Names
from ctxkit.core.ledger import LedgerEntry
from ctxkit.core.messages import Content, Message
from ctxkit.core.ops import (
    Clear,
    Compact,
    Edit,
    Forget,
    Interrupted,
    Mark,
    Protect,
    Recall,
    Restore,
    Rewind,
    Trim,
    Undo,
    Unprotect,
    Window,
)
from ctxkit.core.text.message_words import RecordedText, texts
from ctxkit.core.text.search_pattern import Needle, Span
from ctxkit.core.times import day, written
from ctxkit.core.unreadable import is_unreadable
from ctxkit.core.visibility import IN, WORDS, Visibilities, Visibility
from ctxkit.errors import Usage
from ctxkit.formats.chat import content_of
from ctxkit.logfile.open import OpenLog
from ctxkit.store.scan import Scan

EXCERPTS = 3
"""The most lines of a hit that are kept; the others are counted."""
CONTEXT = 240
"""Characters of a line that are kept on either side of a match."""
GONE = "gone"
"""The visibility of text that an op brought in, and that was undone or replaced since."""


class Excerpt(msgspec.Struct, frozen=True):
    """A line with matches. `spans`: their places in `text`; `before`, `after`: whether the line is cut off there.

    `line`: its number in its text, from 1; `label`: the tool or argument that the text belongs to.
    """

    part: str
    label: str
    line: int
    text: str
    spans: list[Span]
    before: bool = False
    after: bool = False


class SearchHit(msgspec.Struct, frozen=True):
    """A message, or the text of an op, with matches.

    `moment`: seconds since 1970; `exchange`: the number of the user message that opened its exchange, 0 without one;
    `lines`: how many lines match, of which `excerpts` are the first; `shortened`: an op shortened it since; `by`: the
    number of the op whose text this is, None for a message's own.
    """

    name: Name
    label: str
    role: str
    moment: float | None
    visibility: Visibility
    exchange: int
    excerpts: list[Excerpt]
    lines: int
    shortened: bool = False
    by: int | None = None

    @property
    def day(self) -> str | None:
        """`2026-02-12`, in UTC."""
        return day(self.moment) if self.moment is not None else None

    @property
    def state(self) -> str:
        """Its visibility, in words."""
        if self.visibility.kind == GONE:
            return "undone or replaced since" if self.visibility.op is None else f"undone by op {self.visibility.op}"
        return self.visibility.words + (", shortened" if self.shortened else "")


class Search:
    """One search in one log. `scan` was started when the log was opened; without one every message is decoded.

    `unreadable`: numbers of messages that could not be searched.
    """

    def __init__(self, log: OpenLog, needle: Needle, scan: Scan | None = None) -> None:
        self.log = log
        self.needle = needle
        self.unreadable: list[int] = []
        self._scan = scan
        self._opener = 0, 0
        state = log.state()
        self._visibilities = Visibilities(state, log.projection())

    def hits(self) -> Iterator[SearchHit]:
        """All hits in the order of the log; those in the text of an op come after the messages before the op."""
        in_ops = list(self._in_ops())
        for n in self._candidates():
            while in_ops and in_ops[0][0] < n:
                yield in_ops.pop(0)[1]
            hit = self.message(n)
            if hit is not None:
                yield hit
        yield from (hit for _, hit in in_ops)

    def _candidates(self) -> Iterable[int]:
        """The numbers of the messages that may contain the needle."""
        count = self.log.state().count
        if self._scan is None or self._scan.everywhere:
            return range(1, count + 1)
        opening = self.log.opening
        scan = self._scan
        if opening.laid_out is not opening.source:  # the records of a container have other offsets
            scan = Scan(self.needle.traces, fold=self.needle.ignore_case)
            scan.start(opening.laid_out)
        more = self.log.transcript.view is not None
        found = set(_in_stretches(self.log.state().messages, scan.stretches(), more=more))
        return sorted(n for n in found if n <= count)

    def message(self, n: int) -> SearchHit | None:
        """The hit in message `n`; None if it has none. Called with rising numbers."""
        content = self.log.recorded(n)
        if is_unreadable(content):
            self.unreadable.append(n)
            return None
        return self._hit(n, content.role, content)

    def _hit(
        self, name: Name, role: str, content: Content, visibility: Visibility | None = None, *, by: int | None = None,
        moment: float | None = None,
    ) -> SearchHit | None:  # fmt: skip
        found, lines = self._excerpts(content)
        if not lines:
            return None
        state = self.log.state()
        exchange = self._exchange(name) if isinstance(name, int) and by is None else 0
        return SearchHit(
            name, state.label(name), role, moment if by is not None else state.original(name),
            visibility or self._visibilities.of(name), exchange, found, lines,
            by is None and name in state.board.stubs, by,
        )  # fmt: skip

    def _excerpts(self, content: Content) -> tuple[list[Excerpt], int]:
        found: list[Excerpt] = []
        lines = 0
        for words in texts(content):
            self.log.limit.restart(len(words.text))
            if not self.needle.within(words.text):
                continue
            for start, end, spans in _lines(words.text, self.needle.spans(words.text)):
                lines += 1
                if len(found) < EXCERPTS:
                    found.append(_excerpt(words, start, end, spans))
        self.log.limit.stop()
        return found, lines

    def _exchange(self, n: int) -> int:
        """The user message that opened n's exchange. Hits come in order, so no message is checked twice."""
        before, opener = self._opener
        found = next((m for m in range(n, before, -1) if self.log.messages[m - 1].opens), opener)
        self._opener = n, found
        return found

    def _in_ops(self) -> Iterator[tuple[int, SearchHit]]:
        """Hits in the text of ops, each with the number of messages before its op."""
        state = self.log.state()
        board = state.board
        for made in state.ledger.entries:
            for name, role, message, where in _brought(made):
                if where == "stub":
                    live = shortening(board.stubs.get(name)) == message
                    content = content_of({"role": "user", "content": message})
                else:
                    item = board.items.get(name) if isinstance(name, ItemName) else None
                    live = item is not None and item.message.get("content") == message.get("content")
                    content = content_of(message)
                visibility = self._visibilities.of(name) if live else Visibility(GONE, made.voided_by or None)
                moment = written(made.body.get("ts"))
                hit = self._hit(name, role, content, visibility, by=made.number, moment=moment)
                if hit is not None:
                    yield made.line.messages if not made.line.sidecar else made.op.at.messages if made.op else 0, hit


def _brought(made: LedgerEntry) -> Iterator[tuple[Name, str, Any, str]]:
    """The texts in an op: the name of the message, its role, the message, `item`; or the stub itself and `stub`."""
    op = made.op
    match op:
        case Compact(text=text, stubs=stubs):
            if text is not None:
                yield ItemName(made.id, 1), "user", {"role": "user", "content": text}, "item"
            yield from _shortened(stubs)
        case Trim(stubs=stubs):
            yield from _shortened(stubs)
        case Forget(summaries=summaries):
            for retold in summaries:
                if retold.text is not None:
                    name = retold.op if "." in retold.op else f"{retold.op}.1"
                    message = {"role": "user", "content": retold.text}
                    yield from ((one, "user", message, "item") for one in Names.parse(name).items)
        case Edit(items=items) | Restore(items=items):
            for k, item in enumerate(items, start=1):
                if item.message is not None:
                    role = item.message.get("role")
                    yield ItemName(made.id, k), role if isinstance(role, str) else "user", item.message, "item"
        case (
            None | Clear() | Mark() | Rewind() | Recall() | Protect() | Unprotect() | Window() | Undo() | Interrupted()
        ):  # they have no text of a message
            pass
        case _:
            assert_never(op)


def _shortened(stubs: Mapping[str, Any]) -> Iterator[tuple[Name, str, Any, str]]:
    """The texts of messages that an op shortened."""
    for text, stub in stubs.items():
        yield from ((name, "shortened", stub, "stub") for name in Names.parse(text))


def _in_stretches(messages: Any, stretches: Iterable[Span], *, more: bool) -> Iterator[int]:
    """The numbers of the messages in these stretches of bytes. `more`: messages may have further rows.

    A list of a million places is not built for a few hits.
    """
    places: Any = messages
    place_of: Callable[[Any], tuple[int, ...]] = _place
    if more:
        places = sorted(
            (offset, offset + size, m.n) for m in messages for offset, size in ((m.offset, m.size), *m.more)
        )
        place_of = tuple
    for start, end in stretches:
        i = max(bisect_right(places, start, key=lambda one: place_of(one)[0]) - 1, 0)
        while i < len(places):
            low, high, n = place_of(places[i])
            if low >= end:
                break
            if high > start:
                yield n
            i += 1


def _place(message: Message) -> tuple[int, ...]:
    """The first byte of a message, the one behind its last, and its number."""
    return message.offset, message.offset + message.size, message.n


def _lines(text: str, spans: Iterable[Span]) -> Iterator[tuple[int, int, list[Span]]]:
    """The lines in which spans begin: the start, the end (that of the line in which the last span ends), the spans."""
    start, end, held = 0, -1, list[Span]()
    for low, high in spans:
        if held and low <= end:
            held.append((low, high))
        else:
            if held:
                yield start, end, held
            start, held = text.rfind("\n", 0, low) + 1, [(low, high)]
        stop = text.find("\n", high)
        end = len(text) if stop < 0 else stop
    if held:
        yield start, end, held


def _excerpt(words: RecordedText, start: int, end: int, spans: list[Span]) -> Excerpt:
    """The line from `start` to `end`, cut around the first span."""
    first, last = spans[0]
    low, high = max(start, first - CONTEXT), min(end, max(last, first + 1) + CONTEXT)
    kept = [(a - low, min(b, high) - low) for a, b in spans if a <= high]
    number = words.text.count("\n", 0, start) + 1
    text = words.text[low:high]
    return Excerpt(words.part, words.label, number, text, kept, before=low > start, after=high < end)


def chosen(log: OpenLog, hits: Iterable[SearchHit]) -> Names:
    """The names of hits that can be brought back: messages of the log, and existing items."""
    board = log.state().board
    return Names.of(hit.name for hit in hits if isinstance(hit.name, int) or hit.name in board.items)


def state_words() -> dict[str, set[str]]:
    """The words for states of a message, each with the kinds of visibility that it means."""
    words = {kind: {kind} for kind in (*WORDS, GONE)}
    words |= {text.split()[0]: {kind} for kind, text in WORDS.items() if kind != IN and " " not in text}
    words["out"] = {kind for kind in (*WORDS, GONE) if kind != IN}
    return words


def states(text: str) -> frozenset[str]:
    """The kinds of visibility that words such as `in`, `out` or `forgotten` mean, separated by commas. Raises Usage."""
    words = state_words()
    found = [word.strip() for word in text.split(",")]
    for word in found:
        if word not in words:
            raise Usage(f"--state {word!r} is not a state of a message", ", ".join(words))
    return frozenset(kind for word in found for kind in words[word])
