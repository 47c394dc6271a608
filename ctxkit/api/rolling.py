"""A rolling context: one object that lives with a session, and always gives a context that fits.

Pipeline: a message -> `api/provider_messages.py` -> a line of the log. If its context is over budget, `cut/trim.py`
plans what leaves, a summary replaces it on request, and the op is appended to the log. So the state is a log, with the
commands of any log; it goes on with what came (`core/replay.py`), and a turn costs its new bytes and a look at the
context, however long the log is.
"""

from __future__ import annotations

import asyncio
import inspect
import os
import threading
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from copy import copy, deepcopy
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Protocol, Self, TypeVar

import msgspec
from msgspec.structs import replace

from ctxkit.api.fit import as_arguments, configured, defined
from ctxkit.api.in_memory import chat_rows, in_memory
from ctxkit.api.log import Log
from ctxkit.api.prompt import To
from ctxkit.api.provider_messages import response_rows, rows
from ctxkit.api.rolling_summary import Summarizer, Summary, awaited, cut_to, is_in_loop, summarized
from ctxkit.content.calls import Calls
from ctxkit.core.chain import head
from ctxkit.core.context import entry
from ctxkit.core.derive.usage import usage
from ctxkit.core.item_names import Name, Names
from ctxkit.core.messages import Content, Message
from ctxkit.core.ops import Compact, Count, Mark, Op, Protect, Trim, Unprotect, sealed
from ctxkit.core.select import Numbers, selection
from ctxkit.core.state import PREAMBLE_ROLES
from ctxkit.core.text.json_text import dumps, loads
from ctxkit.core.times import iso
from ctxkit.cut.rank.ranking import Ranking
from ctxkit.cut.trim import Trimming, TrimRequest, as_op
from ctxkit.errors import (
    BadConfig,
    CannotCreate,
    CtxkitError,
    DoesNotFit,
    ForeignLog,
    NothingMatched,
    UnknownMessage,
    UpdatedElsewhere,
    Usage,
)
from ctxkit.formats.chat_lines import lines
from ctxkit.logfile.append import AppendableLog, OpsAppended, require_sayable
from ctxkit.logfile.assembly_sources import assemble, read_sources
from ctxkit.logfile.open import OpenLog
from ctxkit.measure.count import Counting
from ctxkit.measure.limit import context_limit
from ctxkit.measure.overhead import GIVEN, UNCOUNTED, noted, tokens_of
from ctxkit.settings import said_config
from ctxkit.settings.config import ARGUMENT, Config
from ctxkit.settings.keys import percent
from ctxkit.store import atomic
from ctxkit.store.durable_append import create_log
from ctxkit.store.source import Source
from ctxkit.tokens.counter import OwnCounter, TokenCounter
from ctxkit.tokens.models import UNKNOWN, Model, named

if TYPE_CHECKING:
    from ctxkit.core.assembly import AssemblySources
    from ctxkit.core.ledger import LedgerEntry

Row = dict[str, Any]
Predicate = Callable[[Row], bool]
"""Called with a message as its row in the log; whether it is protected."""

TARGET = "80%"
"""The share of the budget that a cut leaves, so that not every turn cuts again."""
ROOM = 0.15
"""The share of what a cut leaves that is for a summary."""
NEWEST = 300
"""The most messages that a summary by rules is made from: the newest ones that it stands for."""
READ = 1_000_000
"""The most bytes of these messages, if it is more than one."""
TRIES = 5
"""How often a cut is decided at most, if others change the log meanwhile."""
NOTES = 0.25
"""The share of the budget that the notes of a project take at most."""


F = TypeVar("F", bound=Callable[..., Any])


def _in_turn(method: F) -> F:
    """A method during which other threads wait: two at once would write ops that do not fit the log."""

    @wraps(method)
    def in_turn(self: RollingBase, /, *args: Any, **options: Any) -> Any:
        with self._turn:
            return method(self, *args, **options)

    return in_turn  # type: ignore[return-value]  # it has the same arguments


class Notes(Protocol):
    """What `memory` may be: a `Memory`, or an object like it."""

    def text(self, max_tokens: int, *, about: str = "", count: Callable[[str], int]) -> str:
        """The notes as a text of at most `max_tokens` tokens by `count`, those about a topic first; "" for none."""


class ContextCut(msgspec.Struct, frozen=True):
    """A cut: what `on_trim` and `on_compact` are called with. `op`: the id of the op in the log; `messages`: what left,
    as ranges of numbers; `shortened`: how many messages were shortened; `before`, `after`: tokens of the request, by
    `counter`; `summary`: its text, None for a trim; `fallback`: why rules wrote it, if the caller's summarizer failed.
    """

    kind: Literal["trim", "compact"]
    op: str
    messages: str
    shortened: int
    before: int
    after: int
    counter: str
    summary: str | None = None
    fallback: str | None = None


class RollingStatus(msgspec.Struct, frozen=True):
    """How full a rolling context is. `messages`: in the context, `of`: in the log; `tokens`: of a request by `counter`,
    `beside` of them for what is sent with the messages; `budget`: `limit` less `reserve`; `percent`: of the limit;
    `notes`: tokens of the project's notes; `protected`: messages that no cut takes; `trims`, `compacts`: cuts
    by this object; `summary`: the running one.
    """

    messages: int
    of: int
    tokens: int
    beside: int
    notes: int
    budget: int
    limit: int
    reserve: int
    percent: float
    counter: str
    protected: int
    trims: int
    compacts: int
    summary: str | None
    log: str | None


class ContextFile(msgspec.Struct, frozen=True):
    """A file that calls in the context touch. `editing`: it was written in the newest exchanges or steps, so a cut
    takes it late; `read`, `written`: numbers of the messages that do; `superseded`: of those that read what a newer
    message reads again or writes.
    """

    path: str
    editing: bool
    read: tuple[int, ...]
    written: tuple[int, ...]
    superseded: tuple[int, ...]


class RecalledMessage(msgspec.Struct, frozen=True):
    """A message that `recall` found. `number`: its number, or the name of a summary; `in_context`: whether it is."""

    number: int | str
    role: str
    text: str
    in_context: bool


class ShownMessage(msgspec.Struct, frozen=True):
    """A message of the context. `number`: in the log, None for a summary; `row`: as a row of a chat log; `changed`:
    whether a cut shortened it.
    """

    number: int | None
    row: Row
    changed: bool


class RollingBase:
    """What `RollingContext` and `AsyncRollingContext` share: all but the methods that may ask a summarizer."""

    def __init__(
        self, limit: int | None = None, *, reserve: int | None = None, model: str = "",
        counter: str | TokenCounter | Callable[[str], int] | None = None,
        summarize: Summarizer | bool | None = None, protect: Predicate | int | Sequence[int] | None = None,
        log: str | os.PathLike[str] | Log | None = None, target: float | str = TARGET,
        tools: Sequence[Mapping[str, Any]] | None = None, on_trim: Callable[[ContextCut], object] | None = None,
        on_compact: Callable[[ContextCut], object] | None = None,
        memory: Notes | str | os.PathLike[str] | None = None, memory_tokens: int | None = None,
    ) -> None:  # fmt: skip
        """`limit`: tokens of the model; None: the config's, else the model's. `reserve`: tokens for the reply (default:
        the config's); `model`: whose tokens count; `counter`: a name as in the config, an object with `count(text)`, or
        a function; `summarize`: a function that writes the summary of what leaves (it may be async), True: rules write
        it, False: nothing does, None: as the config's `trim.summarize` says. `protect`: as in the method. `log`: a
        `Log` or a path, which is created if it does not exist; None: in memory. `target`: what a cut leaves, in
        percent of the budget. `tools`: definitions that you send beside the
        body of a request: they count. `on_trim`, `on_compact`: called after each cut; they may be async.
        `memory`: the notes of a project, as a user's message before the conversation: a `Memory`, or the folder of one;
        `memory_tokens`: most tokens of them (default: the config's `memory.tokens`), and never more than a quarter of
        the budget.

        Raises Usage, BadConfig, BadTools; ForeignLog for a log that another program owns; what `Log.open` raises.
        """
        if not (summarize is None or isinstance(summarize, bool) or callable(summarize)):
            raise Usage(f"summarize={summarize!r}: nothing was opened", "a function, True or False")
        for name, called in (("on_trim", on_trim), ("on_compact", on_compact)):
            if not (called is None or callable(called)):
                raise Usage(f"{name}={called!r}: nothing was opened", "a function")
        share = percent(target) if isinstance(target, str) else target
        if share is None or isinstance(share, bool) or not 0 < share <= 100:
            raise Usage(f"target={target!r}: nothing was opened", "a share of the budget, such as 80 or '80%'")
        sent = None if tools is None else defined(tools, "opened")
        asked: dict[str, Any] = {
            "limit": limit, "reserve": reserve, "model": model or None, "memory.tokens": memory_tokens,
            "counter": counter if isinstance(counter, str) else None,
        }  # fmt: skip
        asked = {key: value for key, value in asked.items() if value is not None}
        own = None if counter is None or isinstance(counter, str) else OwnCounter(counter)
        self._turn = threading.RLock()
        self._asking: object = None
        """Who asks the summarizer right now: a task, or True; None: nobody."""
        if log is not None and not isinstance(log, Log) and not os.path.lexists(_path(log)):  # before it is created
            _configured(in_memory(), asked)
        self.log = log if isinstance(log, Log) else _opened(log)
        """The log. Its methods may be used at any time: the next call of this object follows them."""
        if not self.log.native:
            raise ForeignLog(f"{self.log.opening.name} belongs to another program: nothing was opened", "a log of ours")
        self.log.config = _configured(self.log, asked)
        if own is not None:
            self.log.own_counter = own
        if sent is not None:
            self.log.tools = sent
        self.target = share / 100
        self.on_trim, self.on_compact = on_trim, on_compact
        self._unawaited: list[Awaitable[object]] = []
        """What async callbacks returned: awaited once the cut is made."""
        self._summarize: Summarizer | None = summarize if callable(summarize) else None
        self._summarizes = self.log.config["trim.summarize"] if summarize is None else bool(summarize)
        self._predicates: list[Predicate] = []
        self._trims = self._compacts = 0
        self._sent: int | None = None
        """Tokens of the newest context that was given out, by our count."""
        self._uncounted = 0
        """Tokens that a provider counted beyond that: tools of its own, and what we count too low."""
        self._sources: AssemblySources | None = None
        self._memory: Notes | None = _memory(memory)
        self.notes = ""
        """The text of the project's notes that stands before the messages; "" for none."""
        self._look(None)
        if self._memory is not None:
            self.refresh_memory()
        if protect is not None:
            self.protect(protect)

    @classmethod
    def load(cls, path: str | os.PathLike[str], limit: int | None = None, **options: Any) -> Self:
        """The rolling context of a log that exists; `options` as for a new one. Raises NoSuchLog, as `Log.open`."""
        return cls(limit, log=_owned(_path(path)), **options)

    @_in_turn
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the log as a new file, which `load` and each command take. Raises CannotCreate, also if it exists."""
        self._sync()
        atomic.create(_path(path), self.log.copy_out())

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """A context of its own, if the log is in memory; of a file, one more on the same log."""
        made = memo[id(self)] = type(self).__new__(type(self))
        with self._turn:
            held = {key: value for key, value in vars(self).items() if key not in ("_turn", "_locks", "_asking")}
            vars(made).update(deepcopy(held, memo), _turn=threading.RLock(), _asking=None)
        return made

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        """Raises TypeError: another process needs the log itself."""
        raise TypeError("a rolling context cannot be pickled: save(path) here, load(path) there")

    # messages

    @_in_turn
    def add(self, message: object) -> int:
        """Append a message: a dict or an object, of OpenAI's chat or Responses, Anthropic, Gemini, or a row of ours.

        Returns its number (of its last row, if it becomes several). Nothing is cut yet. Raises BadMessage; UnknownRole;
        Usage for a user's or system message without content; and what an append raises.
        """
        found = rows(message)
        for row in found:
            require_sayable(row)
        return self._add(found)

    @_in_turn
    def add_response(self, response: object) -> int:
        """Append a provider's response, with the usage that it states: from then on what the provider counted beyond
        our own count is part of every size. The log has it as `meta.usage`. Returns the number of its last row. Raises
        BadMessage.
        """
        return self._add(response_rows(response))

    @_in_turn
    def protect(self, what: Predicate | Numbers) -> None:
        """Protect messages from every cut: numbers (45, "45-67"), or those for which a function says so, now and later.

        The function is called with each message that this object adds, as its row. Raises UnknownMessage, and what the
        function raises.
        """
        self._sync()
        if callable(what):
            self._predicates.append(what)
            numbers = [n for n in self._numbers() if what(self.row(n))]
            if numbers:
                self.protect(numbers)
            return
        self._changed(lambda log: log.protect(what))

    @_in_turn
    def refresh_memory(self, about: str = "") -> str:
        """Read the notes of the project again, and return their text, which stands before the messages from now on.

        They change at no other time, so that a provider's cache stays valid. `about`: those with words of a topic
        first. "" without `memory`, or if no note fits. Raises what reading the notes raises.
        """
        if self._memory is None:
            return ""
        most, known = int(self.log.config["memory.tokens"]), self._known_limit
        if known is not None:
            most = min(most, int(NOTES * max(0, known - int(self.log.config["reserve"]))))

        def count(text: str) -> int:
            return self._counting.of_texts([text])

        text = self._memory.text(most, about=about, count=count) or ""
        if not isinstance(text, str):
            raise Usage(f"memory gave {type(text).__name__}: the notes stay as they were", "a text")
        self._set_notes(cut_to(text, most, lambda texts: [count(one) for one in texts]) or "")
        return self.notes

    @_in_turn
    def forget(self, numbers: Numbers = (), **criteria: Any) -> Op | None:
        """Take messages out of the context, as `Log.forget`."""
        return self._changed(lambda log: log.forget(numbers, **criteria))

    @_in_turn
    def clear(self) -> Op | None:
        """Empty the context, as `Log.clear`; the system preamble stays."""
        return self._changed(lambda log: log.clear())

    @_in_turn
    def mark(self, label: str | None = None) -> None:
        """Set a mark, to which `rewind` goes back."""
        self._changed(lambda log: log.mark(label))

    @_in_turn
    def rewind(self, label: str | None = None) -> Op | None:
        """Drop the messages after the newest mark, or after the newest with this label. Raises NoMark."""
        return self._changed(lambda log: log.rewind(label))

    @_in_turn
    def undo(self, op: str | None = None) -> Op | None:
        """Void one op: the newest in force, a cut too, or the one named. Raises NoSuchOp."""
        return self._changed(lambda log: log.undo(op))

    @_in_turn
    def recall(self, text: str, *, top: int = 20, apply: bool = False) -> list[RecalledMessage]:
        """The messages of the whole log that are about `text`, by their words, in order; also what left the context.

        `apply`: bring them back. An empty list if there is none. This reads the whole log.
        """
        self._sync()
        state = self.log.state()
        try:
            asked = selection((), {"about": text, "top": top})
            found = self.log.select(asked, list(state.everything()))
        except NothingMatched:
            return []
        shown = state.shown()
        hits = [
            RecalledMessage(
                name if isinstance(name, int) else state.label(name), entry(state, name).role, self.log.text(name),
                name in shown,
            )
            for name in sorted(found, key=state.key)
        ]  # fmt: skip
        if apply and any(not hit.in_context for hit in hits):
            back = [state.label(name) for name in found if name not in shown]
            self._changed(lambda log: log.recall(back))
        return hits

    # looks

    @property
    def budget(self) -> int:
        """Tokens that a request may have: limit less reserve. Raises BadConfig if no limit is known."""
        return self._limit() - int(self.log.config["reserve"])

    @property
    @_in_turn
    def tokens(self) -> int:
        """Tokens of a request with the context as it is now, before any cut."""
        self._sync()
        return self._total()

    @_in_turn
    def shown(self) -> list[ShownMessage]:
        """The messages of the context one by one, before any cut and without repairs, for lists of other libraries."""
        self._sync()
        entries = list(self._view.entries())
        rows = lines([self._view.full(one) for one in entries])
        return [
            ShownMessage(one.name if isinstance(one.name, int) else None, row, one.stub is not None)
            for one, row in zip(entries, rows, strict=True)
        ]

    def row(self, n: int) -> Row:
        """Message n of the log, as its row; also one that left the context. Raises UnknownMessage."""
        if not 1 <= n <= len(self.log.messages):
            raise UnknownMessage(f"there is no message {n}: the log has {len(self.log.messages)}", "1 is the first")
        message = self.log.messages[n - 1]
        found = loads(self.log.opening.laid_out.read(message.offset, message.size))
        return found if isinstance(found, dict) else {}

    def notes_row(self) -> list[Row]:
        """The project's notes as a message: a row that is not in the log; empty without notes. It is the user's: notes
        are words of other sessions. It stands right before the conversation.
        """
        return [{"role": "user", "content": self.notes}] if self.notes else []

    def _with_notes(self, rows: list[Row]) -> list[Row]:
        first = next((place for place, row in enumerate(rows) if row["role"] not in PREAMBLE_ROLES), len(rows))
        return [*rows[:first], *self.notes_row(), *rows[first:]]

    @_in_turn
    def files(self) -> list[ContextFile]:
        """The files that calls in the context touch, in the order of their first call."""
        self._sync()
        log = self._view
        calls = Calls(log, list(log.listed()))
        editing = Ranking(log, calls, int(log.config["trim.keep_last"])).edited_files
        found = []
        for path, touched in calls.by_path.items():
            read, written = (_numbers(name for name, how in touched if how == action) for action in ("read", "write"))
            superseded = _numbers(
                name for name, _ in touched
                if any(one.path == path and calls.outdated(name, one) is not None for one in calls.touched[name])
            )  # fmt: skip
            found.append(ContextFile(path, path in editing, read, written, superseded))
        return found

    @_in_turn
    def status(self) -> RollingStatus:
        """How full the context is."""
        self._sync()
        log, limit, total = self._view, self._limit(), self._total()
        state, names = log.state(), list(log.listed())
        texts = [state.board.items[name].message.get("content") for name in names if not isinstance(name, int)]
        return RollingStatus(
            messages=len(names), of=len(self.log.messages), tokens=total, beside=self._beside() + self._uncounted,
            notes=self._counting.of_texts([self.notes]) if self.notes else 0,
            budget=self.budget, limit=limit, reserve=int(self.log.config["reserve"]),
            percent=round(100 * total / limit, 1), counter=self._counting.counter.name,
            protected=sum(map(state.guarded, names)), trims=self._trims, compacts=self._compacts,
            summary=str(texts[-1]) if texts else None,
            log=None if self.log.opening.path is None else str(self.log.opening.path),
        )  # fmt: skip

    # inside

    def _add(self, found: Sequence[Row]) -> int:
        n, counted = 0, usage(list(found))
        if counted is not None:
            before = self.tokens - self._uncounted if self._sent is None else self._sent
            self._uncounted = max(0, counted.request - before)
        for row in deepcopy(list(found)):  # the caller keeps its own
            self._note(row)
            self._pair(row)
            row.setdefault("ts", iso(self.log.clock()))
            line = dumps(row).encode("ascii")
            guarded = any(one(deepcopy(row)) for one in self._predicates)  # before the append: it may raise
            before = len(self.log.messages)
            AppendableLog.add_message(self.log, row)
            self._sync()
            source, messages = self.log.opening.laid_out, self.log.messages
            mine = (n for n in range(len(messages), before, -1) if _is_row(source, messages[n - 1], line))
            n = next(mine, len(messages))
            if guarded:
                self.protect(n)
        return n

    def _note(self, row: Row) -> None:
        """Note in a reply's row what commands on the log need for the same figures, and `load` for its own."""
        if row.get("role") != "assistant":
            return
        said: Row = {}
        if "usage" in row:  # of a context that earlier ops made; `usage` would be that of all messages before it
            said = {"usage": row.pop("usage"), UNCOUNTED: self._uncounted}
        log, own, answered = self.log, self.log.config["model"], row.get("model")
        if own and log.config.origin("model") == ARGUMENT:
            if not answered:
                row["model"] = own
            elif named(answered) is UNKNOWN and named(own) is not UNKNOWN:
                row["model"], said["model"] = own, answered
        counting = Counting(self._view, own or row.get("model") or log.model)  # by which it is counted from now on
        given = counting.of_texts([self.notes]) if self.notes else 0
        given += tokens_of(counting, log.tools) if log.tools is not None else 0
        if given:
            said |= {UNCOUNTED: self._uncounted, GIVEN: given}
        if said:
            row["meta"] = (meta if isinstance(meta := row.get("meta"), dict) else {}) | said

    def _pair(self, row: Row) -> None:
        """Gives calls without an id one, and a result without one that of the oldest open call of its tool."""
        messages, n = self.log.messages, len(self.log.messages) + 1
        for k, call in enumerate(row.get("tool_calls") or (), start=1):
            if isinstance(call, dict) and not call.get("id"):
                call["id"] = f"call-{n}-{k}"
        if row.get("role") == "tool" and not row.get("tool_call_id"):
            seen = [messages[n - 1] for n in self._numbers()]
            answered = {id for message in seen for id in message.results}
            for message in reversed(seen):
                named = zip(message.calls, message.tools, strict=False)
                open_ = [id for id, tool in named if id not in answered and row.get("name") in (None, "", tool)]
                if open_:
                    row["tool_call_id"] = open_[0]
                    return

    def _sync(self) -> None:
        """Follow the log: read what is new, by whomever."""
        opening = self.log.opening
        seen = opening.source.seen
        if seen is not None and opening.path is not None:
            try:
                now = os.stat(opening.path)
                same = (now.st_size, now.st_ino) == (seen.size, seen.ino)
            except OSError:
                same = False  # reading it says why
            if not same:
                self.log.refresh()
        if self._view.opening is not self.log.opening or self._view.state() is not self.log.state():
            self._look(self._view)

    def _look(self, before: Log | None) -> None:
        """Look at the log as it is now, as requests are made of it; `before`: as it was at the last look."""
        state = self.log.state()
        self._view = copy(self.log)
        self._view.estimates, self._view.memory, self._view.sources = True, self.notes, self._sources
        self._made: list[Row] | None = None
        """The messages of the context, once they are made."""
        follows, known = False, 0
        if before is not None and before.opening.reader is self.log.opening.reader:
            known = before.state().count
            follows = all(map(self._follows, state.ledger.entries[len(before.state().ledger.entries) :]))
        self._take_uncounted(range(state.count, known, -1))
        if not follows:
            self._known_limit = context_limit(self.log).tokens
        if not follows or self._model() != self._counted_for:  # an answer named another
            self._size_up()

    def _follows(self, came: LedgerEntry) -> bool:
        """Whether the sizes of messages stay right after an op, if those are left out that it shortens."""
        op = came.op
        if isinstance(op, Trim | Compact):
            parts = op.parts if isinstance(op, Trim) else {}
            for name in Names.of(one for text in (*op.stubs, *parts) for one in Names.parse(text)):
                self._sizes.pop(name, None)
        return isinstance(op, Trim | Compact | Mark | Protect | Unprotect)

    def _model(self) -> Model:
        """The model that is counted for, as far as it is known."""
        return named(self.log.config["model"] or self.log.model)

    def _size_up(self) -> None:
        """Count all that is sent: at the start, for another model, and after ops that change it in any way."""
        log = self._view
        self._counting, self._counted_for = Counting(log), self._model()
        self._counting.counter.cache_folder = None  # it counts what is new: to look it up would take longer
        log.sources = None
        found = Trimming(log, TrimRequest(1 << 60))
        sizes = map(int, found.measuring.each(found.names))
        self._sizes: dict[Name, int] = dict(zip(found.names, sizes, strict=True))
        self._tools = found.fixed - found.beside.assembled
        """Tokens of tools, and of what else is sent besides messages and texts."""
        self._read_sources()

    def _read_sources(self) -> None:
        """Read the texts around the context again. They stay the same until the next call: what is counted is sent."""
        self._view.sources = None
        self._view.sources = self._sources = read_sources(self._view)

    def _set_notes(self, text: str) -> None:
        self.notes = self._view.memory = text
        self._read_sources()

    def _beside(self, log: OpenLog | None = None) -> int:
        """Tokens of what is sent besides the messages: texts around them, tools."""
        texts = assemble(self._view if log is None else log)
        return self._counting.of_texts(one.text for one in texts) + self._tools

    def _take_uncounted(self, numbers: range) -> None:
        """What the newest response that states it was counted beyond our count, by whomever it was added."""
        found = next((said for n in numbers if (said := noted(self.log, n)) is not None), None)
        if found is not None:
            self._uncounted = found[0]

    def _total(self) -> int:
        log, sizes = self._view, self._sizes
        names = log.listed()
        new = [name for name in names if name not in sizes]
        if new:
            state = log.state()
            contents = [log.full(entry(state, name)) for name in new]
            sizes.update(zip(new, self._counting.of_contents(contents), strict=True))
        return sum(sizes[name] for name in names) + self._beside() + self._uncounted

    def _limit(self) -> int:
        if self._known_limit is None:
            self._known_limit = context_limit(self.log).tokens
        if self._known_limit is None:
            text = "no limit is known: neither the config nor the model names one"
            raise BadConfig(text, "limit=N, or model= a known one")
        if int(self.log.config["reserve"]) >= self._known_limit:
            reserve = self.log.config["reserve"]
            text = f"the reserve of {reserve:,} tokens takes all of the limit of {self._known_limit:,}"
            raise BadConfig(text, "reserve=N, below the limit")
        return self._known_limit

    def _numbers(self) -> tuple[int, ...]:
        """The messages of the context."""
        return _numbers(self._view.listed())

    def _changed(self, change: Callable[[Log], Op | None]) -> Op | None:
        """A method of the log."""
        self._sync()
        found = change(self.log)
        self._sync()
        return found

    def _cutting(self) -> Generator[list[Row], str | Exception, None]:
        """Cut until the context fits. Yields what a summarizer is asked; the summary, or an error, is sent back.

        Raises DoesNotFit if what never leaves does not fit.
        """
        self._sync()
        self._read_sources()
        for _ in range(TRIES):
            self._sync()
            if self._total() <= self.budget:
                return
            ops = self.log.ledger.entries
            try:
                decided, fallback, shortened = yield from self._decided()
            except DoesNotFit:
                if not self.notes:
                    raise
                self._set_notes("")  # what never leaves needs their room
                continue
            self._sync()
            if self.log.ledger.entries is not ops:  # changed while the summarizer was asked
                continue
            log, counter = self._view, self._counting.counter.name
            before, op = self._total(), log.stamp(replace(decided, at=log.here(), prev=head(ops)))
            then = log.with_op(op)
            after = sum(Counting(then).counted(then.listed())) + self._beside(then) + self._uncounted
            op.before, op.after = (
                Count(messages=len(one.state().shown()), tokens=tokens, counter=counter)
                for one, tokens in ((log, before), (then, after))
            )
            try:
                self.log.append(sealed(op))
            except OpsAppended:
                continue
            text = op.text if isinstance(op, Compact) else None
            left = str(Names.parse(decided.ids).numbers)
            self._tell(ContextCut(
                "compact" if isinstance(op, Compact) else "trim", op.id, left, shortened, before, after, counter, text,
                fallback,
            ))  # fmt: skip
        text = f"updated elsewhere: other ops are appended again and again in {self.log.opening.name}"
        raise UpdatedElsewhere(f"{text}: nothing was appended", "try again")

    def _tell(self, cut: ContextCut) -> None:
        if cut.kind == "compact":
            self._compacts += 1
            called = self.on_compact
        else:
            self._trims += 1
            called = self.on_trim
        found = None if called is None else called(cut)
        if inspect.isawaitable(found):
            self._unawaited.append(found)

    def _called(self) -> Iterator[Awaitable[object]]:
        while self._unawaited:
            yield self._unawaited.pop(0)

    def _decided(self) -> Generator[list[Row], str | Exception, tuple[Trim | Compact, str | None, int]]:
        """The op that makes the context fit, why rules wrote its summary, and how many messages it shortens."""
        room = self.budget - self._uncounted
        if room <= 0:
            text = (
                f"the provider counted {self._uncounted:,} tokens more than our count has: they alone do not fit into"
            )
            hint = "fewer tools, a larger limit; the usage of a new response replaces this one"
            raise DoesNotFit(f"{text} {self.budget:,}: nothing was changed", hint)
        for goal in (int(self.target * room), room):
            for share in (ROOM, 0.0) if self._summarizes else (0.0,):
                try:
                    with as_arguments():
                        found = Trimming(self._view, TrimRequest(int(goal * (1 - share))))
                        plan = found.plan()
                except DoesNotFit:
                    if goal == room and not share:  # without a summary, too
                        raise
                    continue
                what = Summary(found, plan, goal, self._originals)
                if share and what.is_needed:
                    made = yield from summarized(what, own=self._summarize is not None)
                    if made is not None:
                        return made[0], made[1], len(plan.stubs)
                op = None if share else as_op(found, plan)
                if op is not None:
                    return op, None, len(plan.stubs)
        raise DoesNotFit(f"{self._total():,} tokens do not fit into {self.budget:,}", "a larger limit")

    def _originals(self, names: Names) -> list[tuple[Name, Content]]:
        """The newest messages among these names: at most NEWEST, up to READ bytes."""
        size, numbers = 0, list[int]()
        for n in reversed(list(names.numbers)[-NEWEST:]):
            size += self.log.messages[n - 1].size
            if numbers and size > READ:
                break
            numbers.append(n)
        return [(n, self.log.content(n)) for n in reversed(numbers)]

    def _given(self) -> list[Row]:
        """The messages of the context, which fits; made once for the same context."""
        self._sent = self._total() - self._uncounted
        if self._made is None:
            self._made = chat_rows(self._view)
        return self._with_notes(deepcopy(self._made))  # the caller may change its rows

    def _body(self, to: To) -> Row:
        log = self._view
        self._sent = self._total() - self._uncounted
        exported = log.export(to, model=str(self.log.config["model"] or self.log.transcript.model), fit_images=True)
        found = list(exported.values)
        return {"messages": self._with_notes(found)} if to == "chat" else found[0]


class RollingContext(RollingBase):
    """A context that never exceeds its budget: add messages, take the context or a request before each call of a model.

    Its state is a log: a file, with which every command works meanwhile, or one in memory.
    """

    @_in_turn
    def fit(self) -> None:
        """Cut now what does not fit; `context` and `request` do it by themselves.

        Raises DoesNotFit if what never leaves is larger than the budget: system prompt, instructions, protected
        messages, the current task.
        """
        if self._asking:
            raise _inside()
        work = self._cutting()
        try:
            rows_ = next(work, None)
            while rows_ is not None:
                rows_ = work.send(self._ask(rows_))
        except StopIteration:
            pass
        finally:
            for one in self._called():
                awaited(one)

    @_in_turn
    def context(self) -> list[Row]:
        """The messages of the context, within the budget, as rows of a chat log. Raises DoesNotFit."""
        self.fit()
        return self._given()

    @_in_turn
    def request(self, to: To = "openai") -> Row:
        """The body of a request to `to`, within the budget and valid for it.

        Raises DoesNotFit; NothingToSend for an empty context; Usage for another provider.
        """
        self.fit()
        return self._body(to)

    def _ask(self, rows: list[Row]) -> str | Exception:
        if self._summarize is None:
            return Usage("no summarizer")
        self._asking = True
        try:
            found = self._summarize(rows)
            if not inspect.isawaitable(found) or not is_in_loop():
                return awaited(found) if inspect.isawaitable(found) else found
        except Exception as error:  # of the caller's own code: rules take over, and the cut names it
            return error
        finally:
            self._asking = None
        return str(awaited(found))  # raises: the program takes the wrong class


class AsyncRollingContext(RollingBase):
    """`RollingContext` for asyncio: the methods that may ask a summarizer are awaited; the others are the same."""

    _locks: tuple[object, asyncio.Lock] | None = None

    @property
    def _busy(self) -> asyncio.Lock:
        """Held while a cut is made, so that no other task makes the same one; one for each event loop."""
        loop = asyncio.get_running_loop()
        if self._locks is None or self._locks[0] is not loop:
            self._locks = loop, asyncio.Lock()
        return self._locks[1]

    async def fit(self) -> None:
        """As that of `RollingContext`."""
        if self._asking is not None and self._asking is asyncio.current_task():
            raise _inside()
        try:
            async with self._busy:
                await self._cut()
        finally:
            for one in self._called():
                await one

    async def _cut(self) -> None:
        work = self._cutting()
        with self._turn:
            asked = next(work, None)
        while asked is not None:
            given = await self._ask(asked)
            try:
                with self._turn:
                    asked = work.send(given)
            except StopIteration:
                return

    async def context(self) -> list[Row]:
        """As that of `RollingContext`."""
        await self.fit()
        return self._given()

    async def request(self, to: To = "openai") -> Row:
        """As that of `RollingContext`."""
        await self.fit()
        return self._body(to)

    async def _ask(self, asked: list[Row]) -> str | Exception:
        if self._summarize is None:
            return Usage("no summarizer")
        self._asking = asyncio.current_task()
        try:
            found = self._summarize(asked)
            return await found if inspect.isawaitable(found) else found
        except Exception as error:  # as in RollingContext
            return error
        finally:
            self._asking = None


def _numbers(names: Iterable[Name]) -> tuple[int, ...]:
    """The messages of the log among these names."""
    return tuple(name for name in names if isinstance(name, int))


def _configured(log: Log, asked: Mapping[str, Any]) -> Config:
    """The config of a log with what was asked for. Raises Usage; BadConfig if the reserve takes all of the limit."""
    found = configured(log, asked, "opened")
    if "limit" in asked and found["reserve"] >= found["limit"]:
        text = f"the reserve of {found['reserve']:,} tokens takes all of the limit of {found['limit']:,}"
        raise BadConfig(f"{text}: nothing was opened", "reserve=N: tokens that the reply may have")
    return found


def _opened(log: str | os.PathLike[str] | None) -> Log:
    if log is None:
        return in_memory()
    path = _path(log)
    if not os.path.lexists(path):
        try:
            create_log(path)
        except CannotCreate:
            if not os.path.lexists(path):  # else another process created it just now
                raise
    return _owned(path)


def _owned(path: Path) -> Log:
    """The log of the program that uses this, also in a folder in which programs keep their own files: it is one. Its
    sidecar notes that, so that a command does not take the log for another program's. Raises what `Log.open` raises.
    """
    found = Log.open(path)
    if not found.opening.by_folder:
        return found
    found = Log.open(path, own=True)
    if found.opening.sidecar is not None:
        said_config.own(found.opening.sidecar, os.environ)
    return found


def _path(given: str | os.PathLike[str]) -> Path:
    """Raises Usage for what is no name of a file."""
    text = os.fsdecode(given) if isinstance(given, str | bytes | os.PathLike) else ""
    if not text or "\0" in text:
        raise Usage(f"{given!r} is not the name of a file: nothing was opened", "a path")
    return Path(text)


def _memory(given: Notes | str | os.PathLike[str] | None) -> Notes | None:
    if given is None or hasattr(given, "text"):
        return given  # type: ignore[return-value]  # a path has no text
    if isinstance(given, str | os.PathLike):
        from ctxkit.memory.memory import Memory

        return Memory(_path(given))
    raise Usage(f"memory={given!r}: nothing was opened", "a Memory, or the folder of a project")


def _inside() -> CtxkitError:
    return Usage("a summarizer asked for the context that it is to make smaller", "what it is called with is all")


def _is_row(source: Source, message: Message, line: bytes) -> bool:
    return message.size == len(line) and source.read(message.offset, message.size) == line
