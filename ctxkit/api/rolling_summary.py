"""The running summary of a rolling context, which replaces the one before it and what leaves now.

Pipeline: `cut/trim.py` plans what leaves -> here -> a compact op that fits. A program's own summarizer gets the
summary before it and what leaves. Rules (`extraction.py`) read the messages themselves, the newest ones of all
that it stands for. So a cut costs the same however long the session is; `ctxkit compact` reads all of them.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Generator, Sequence
from typing import Any, NamedTuple

from ctxkit.core.context import entry
from ctxkit.core.item_names import Name, Names
from ctxkit.core.messages import Content
from ctxkit.core.ops import Compact
from ctxkit.core.strategies import GIVEN, RULES
from ctxkit.cut.summarize.extraction import extract
from ctxkit.cut.trim import Trimming
from ctxkit.cut.trim_plan import TrimPlan
from ctxkit.cut.units.text_segments import all_pieces
from ctxkit.errors import BadSummary, Usage
from ctxkit.formats.chat_lines import lines
from ctxkit.measure.count import PER_MESSAGE, Counting

Row = dict[str, Any]
Summarizer = Callable[[list[Row]], str | Awaitable[str]]
"""Called with chat messages: the summary so far, as a user's message, then what leaves. Returns the new summary."""

TRIES = 4
LEAST = 16
"""The fewest tokens that a summary is written for."""
MORE = " […]"
"""The end of a summary that was cut to its room."""


class Summary(NamedTuple):
    """What is summarized: what `plan` drops of `found`; the context with the summary may have `goal` tokens.

    `originals`: the messages in the log that some names of the context stand for, each in full.
    """

    found: Trimming
    plan: TrimPlan
    goal: int
    originals: Callable[[Names], list[tuple[Name, Content]]]

    @property
    def earlier(self) -> list[Name]:
        """The summaries in the context, which the new one replaces."""
        state = self.found.state
        items = (name for name in self.found.names if not isinstance(name, int))
        return [name for name in items if state.board.items[name].summary and not state.guarded(name)]

    @property
    def is_needed(self) -> bool:
        """Whether anything leaves, a message or lines of an earlier summary."""
        return bool(self.plan.dropped) or not self.plan.stubs.keys().isdisjoint(self.earlier)

    @property
    def freed(self) -> int:
        """Tokens that the earlier summaries have in the plan, which the new one may have."""
        gone = {*self.plan.dropped}
        return sum(self.found.left_of(self.plan, name) for name in self.earlier if name not in gone)

    @property
    def ids(self) -> Names:
        """The messages that it stands for."""
        state, found = self.found.state, Names.of(name for name in self.plan.dropped if isinstance(name, int))
        beside = Names.of(name for name in self.found.names if isinstance(name, int)) - found
        for name in self.earlier:
            found = found | ((state.board.items[name].tells & state.present()) - beside)  # type: ignore[index]  # these are items
        return found

    @property
    def names(self) -> list[Name]:
        """What is read for it, in order: earlier summaries, and what leaves."""
        read = {*self.earlier, *self.plan.dropped}
        return [name for name in self.found.names if name in read]

    @property
    def contents(self) -> list[tuple[Name, Content]]:
        """That in full."""
        log, state = self.found.log, self.found.state
        return [(name, log.full(entry(state, name))) for name in self.names]

    def tokens(self, op: Compact) -> int:
        """Tokens of the request with it."""
        log = self.found.log
        then = log.with_op(op)
        return sum(Counting(then).counted(list(then.listed()))) + self.found.fixed


def summarized(what: Summary, *, own: bool) -> Generator[list[Row], str | Exception, tuple[Compact, str | None] | None]:
    """The op with a summary, and why rules wrote it instead of the program; None if no summary fits.

    `own`: the program writes it: what it is asked is yielded, its text or error is sent back.
    """
    found, contents = what.found, what.contents
    earlier = {*what.earlier}
    room = what.goal - found.after(what.plan) + what.freed
    counter = found.counting.counter
    text, fallback, pieces = None, None, None
    if own:
        given = yield plain_rows([content for _, content in contents])
        if isinstance(given, str) and given.strip():
            text = given.strip()
        else:
            fallback = f"{type(given).__name__}: {given}" if isinstance(given, Exception) else "it gave no text"
    for _ in range(TRIES):
        size = int(room / counter.factor) - PER_MESSAGE
        if size < LEAST:
            return None
        if text is not None:
            said: str | None = cut_to(text, size, counter.counts)
        else:
            pieces = all_pieces(what.originals(what.ids)) if pieces is None else pieces
            said = extract(pieces, size, counter.counts)
        if not said:
            return None
        op = Compact(
            at=found.log.here(), ids=str(what.ids), text=said,
            stubs={str(name): stub for name, stub in what.plan.stubs.items() if name not in earlier},
            strategy=RULES if text is None else GIVEN, target=str(what.goal), fallback=fallback,
        )  # fmt: skip
        over = what.tokens(op) - what.goal
        if over <= 0:
            return op, fallback
        room -= over
    return None


def asked(summarize: Summarizer, rows: list[Row]) -> str:
    """The text of a summarizer, which may be async: `awaited`. Raises what it raises."""
    found = summarize(rows)
    return awaited(found) if inspect.isawaitable(found) else found


def awaited(found: Awaitable[Any]) -> Any:
    """The result of an async function that a program gave; no event loop may run in this thread.

    Raises Usage if one does, and what the function raises.
    """
    if not is_in_loop():
        return asyncio.run(_awaited(found))
    if inspect.iscoroutine(found):
        found.close()
    raise Usage("an async function cannot be awaited inside a running event loop", "AsyncRollingContext")


def is_in_loop() -> bool:
    """Whether an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def _awaited(found: Awaitable[Any]) -> Any:
    return await found


class OwnWords:
    """A program's own summarizer, as `cut/summarize/summarize_dropped.py` asks it: once, whatever room is tried.

    Raises Usage for what is no function, BadSummary for what is no text, and what the summarizer raises.
    """

    def __init__(self, summarize: Summarizer, counts: Callable[[Sequence[str]], list[int]]) -> None:
        if not callable(summarize):
            raise Usage(f"summarize={summarize!r}: nothing was changed", "a function")
        self._summarize, self._counts = summarize, counts
        self._text: str | None = None

    def __call__(self, contents: Sequence[Content], size: int) -> str | None:
        """The summary of these messages, cut to `size` tokens; None if nothing has room."""
        if self._text is None:
            self._text = asked(self._summarize, plain_rows(contents))
            if not isinstance(self._text, str) or not self._text.strip():
                raise BadSummary("the summarizer gave no text: nothing was changed", "a text that is not empty")
        return cut_to(self._text.strip(), size, self._counts)


def plain_rows(contents: Sequence[Content]) -> list[Row]:
    """Messages as rows of a chat log, for a summarizer."""
    return list(lines(contents))


def cut_to(text: str, size: int, counts: Callable[[Sequence[str]], list[int]]) -> str | None:
    """The beginning of `text` that has at most `size` tokens; None if nothing of it has."""
    if counts([text])[0] <= size:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if counts([text[:middle].rstrip() + MORE])[0] <= size:
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip() + MORE if low else None
