"""A log, opened for reading: its messages, its state, its context, and the content that is printed.

Content is read from the file again only if it is printed, so memory grows with the number of messages, not their bytes.
`Log` (in `api/log.py`) adds a method per writing command.
"""

from __future__ import annotations

import copy
import json
import os
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self

import msgspec

from ctxkit.core.chain import ChainBreak, breaks
from ctxkit.core.context import Bounds, Entry, Projection, entries, entry, listed, shown_names
from ctxkit.core.derive.usage import MARK, Figures, Fit, RequestUsage, usage, window
from ctxkit.core.item_names import Name, Names
from ctxkit.core.ledger import Ledger, LedgerEntry, build, build_on
from ctxkit.core.messages import Call, Content, Message, Result, Span, Text, Thinking
from ctxkit.core.replay import fold, fold_on
from ctxkit.core.select import NoLimit, Planning, Rank, RankedMessages, SearchLimit, Selection, resolve
from ctxkit.core.sets.prefix import FirstMessages
from ctxkit.core.state import State
from ctxkit.core.text.json_text import loads
from ctxkit.core.text.utf8 import utf8
from ctxkit.core.times import iso, seconds
from ctxkit.core.transcript import Transcript
from ctxkit.errors import BadConfig, BadTime, DamagedOp, Misfit, NoPermission, UnknownFormat, UnknownOp
from ctxkit.formats.chat import content_of
from ctxkit.logfile.read import Opening, Partial, Progress, back, identity_of, read
from ctxkit.logfile.read import content_of as content_in
from ctxkit.logfile.stubs import stubbed
from ctxkit.settings.config import DEFAULT, Config, Unsaid, load
from ctxkit.settings.said_config import accept_line
from ctxkit.store.private import user_cache, user_config
from ctxkit.store.sidecar import Sidecar
from ctxkit.store.source import Source

if TYPE_CHECKING:
    from ctxkit.core.assembly import AssemblySources
    from ctxkit.core.text.redactor import Redactor
    from ctxkit.tokens.counter import Counter
    from ctxkit.tokens.tools import Tool

NOW = "now"
"""The name of the log's current state, in place of an op."""
BEFORE = "^"
"""After the name of an op: the state right before it."""


Meter = Callable[["OpenLog", Figures, "OpenLog | None"], None]
"""Called with a log, its figures, and the other log if two are compared."""


class OpenLog:
    """The content of a log. `force`: also apply ops that do not fit; `now`: as typed.

    `at`: the op whose state is shown; with ^ after it, the state before it. `clock()` gives seconds since 1970.
    """

    def __init__(self, opening: Opening, config: Config, *, clock: Callable[[], float] = time.time) -> None:
        self.opening = opening
        self.config = config
        self.clock = clock
        self.force = False
        self.at: str | None = None
        self.now: str | None = None
        self.limit: SearchLimit = NoLimit()
        self.ranked = RankedMessages()
        """The result of the last `--about`."""
        self.lens_thread: str | None = None
        self.tools: Sequence[Tool] | None = None
        """Definitions of tools that are sent too; None: those of the config."""
        self.memory = ""
        """Notes of the project, put before the context."""
        self.sources: AssemblySources | None = None
        """What was read for the texts around the context; None: it is read whenever they are assembled."""
        self.cache_folder: Path | None = user_cache(os.environ)
        """Where counts are kept between runs; None: nowhere."""
        self.noticed: list[str] = []
        """Files and other things that were left out, in words, for the closing report."""
        self.fitted: Fit | None = None
        """The budget that the context was made to fit, and the cuts; None if it was not."""
        self.figures: Figures | None = None
        """The tokens that were counted last."""
        self.meter: Meter | None = None
        """Called with every count, if a token log is kept."""
        self.checkpointed = False
        """Whether a checkpoint of the context was made."""
        self.own_counter: Counter | None = None
        """The caller's own counter; None: the one that the config names."""
        self.counts_at_hand = False
        """Whether only cached counts and rough ones are used, without a tokenizer: else NotCountedError is raised."""
        self.estimates = False
        """Whether sizes are estimated only: what providers counted, as the log records it, is not used."""
        self.is_list = False
        """Whether it is a list of messages in memory: what a log notes besides its messages is not sent with them."""
        self.folder: Path | None = None
        """The folder that paths in the config are relative to; None: that of the log."""
        self.redactor: Redactor | None = None
        """Takes secrets out of what is shown or written of the log; None: nothing is taken out."""
        self.hides = True
        """Whether contents have no secrets, if there is a `redactor`."""
        self.looks = False
        """Whether the log is only looked at: then a missing file of the config is a notice and not an error."""
        self._state: State | None = None
        self._ledger: Ledger | None = None
        self._earlier: State | None = None
        """The newest state before the log grew, from which the next one goes on."""

    @classmethod
    def open(
        cls, log: str | os.PathLike[str] | BinaryIO | Source, *, sidecar: str | os.PathLike[str] | None = None,
        conversation: int | None = None, format: str | None = None, env: Mapping[str, str] | None = None,
        clock: Callable[[], float] = time.time, strict: bool = False, progress: Progress | None = None,
        before: Callable[[Source], None] | None = None, tolerant: bool = False, partial: Partial = "no",
        own: bool = False, unsaid: Unsaid = "some",
    ) -> Self:  # fmt: skip
        """Opens and reads a log: a path, or a binary stream (which is spooled, so that it can be copied out whole).

        `sidecar`: the folder, if not beside the log; `conversation`: which one, from 1, of a file with many; `format`:
        its name, or `auto` to detect it (default: the config's); `env`: the environment (default: the process's own);
        `strict`: raise BadConfig if something of a folder's own config would be ignored; `progress`: called after each
        block with the bytes read and their total; `before`: called with the bytes before they are read; `tolerant`:
        mistakes of the config are kept in `config.errors`, and have no effect; `partial`: if the file in which its
        history begins is missing, `transcript.missing` says so, and the log is read without it, a log without ops
        (`look`), or any, without its ops (`bare`); `own`: the log is the caller's: messages and ops go to it, whatever
        program it seems to be of; `unsaid`: what counts of config files of folders that this user did not say on this
        machine (`settings/config.py`). `log` may also be a `Source`, bytes in memory. Raises NoSuchLog, NoPermission,
        UnknownFormat, ManyConversations, ReadFailed, CannotUnpack, BadConfig, ForeignLog, MissingHistory.
        """
        known = os.environ if env is None else env
        loaded: list[Config] = []

        def settle(path: Path | None, beside: Sidecar | None) -> str:
            """The config, which is loaded before the log is read, because it may name the format."""
            if strict and beside is not None and beside.ignored:
                raise BadConfig(beside.notices[0].removesuffix(": ignored"), "leave out --strict")
            folder = path.resolve().parent if path else Path.cwd()
            file = beside.config_path if beside else None
            base = beside.base if beside else None
            config = load(
                file, folder, known, user_config(known), strict=strict, tolerant=tolerant, base=base, unsaid=unsaid,
                accept=accept_line(path, sidecar),
            )  # fmt: skip
            loaded.append(config)
            return str(format or loaded[0]["format"])

        try:
            opening = read(
                log, sidecar=sidecar, conversation=conversation, settle=settle, progress=progress, before=before,
                partial=partial, own=own,
            )  # fmt: skip
        except UnknownFormat as error:
            if loaded and not format and loaded[0].origin("format") != DEFAULT:
                said = f"`format` is set ({loaded[0].origin('format')})"
                error.hint = f"{said}: `ctxkit config LOG unset format`, or --from auto"
            raise
        opened = cls(opening, loaded[0], clock=clock)
        opened.cache_folder = user_cache(known)
        return opened

    @property
    def lens_agent(self) -> str | None:
        """The agent that the log is seen as: its messages, and its settings before those of the log. None: no agent."""
        return self.config.agent

    @lens_agent.setter
    def lens_agent(self, agent: str | None) -> None:
        self.config = self.config.for_agent(agent)

    @property
    def transcript(self) -> Transcript:
        """Messages, ops and damage of the log."""
        return self.opening.transcript

    @property
    def messages(self) -> Sequence[Message]:
        """All messages of the log, light."""
        return self.transcript.messages

    @property
    def native(self) -> bool:
        """Whether ctxkit may append messages to this log."""
        return self.opening.format.native

    @property
    def model(self) -> str:
        """The model that the log names: of the shown thread, if it has its own; "" for none."""
        side = self.state().sidechain(self.lens_thread)
        return (side.model if side is not None else "") or self.transcript.model

    @property
    def ledger(self) -> Ledger:
        """The ops, numbered, with those that are void."""
        if self._ledger is None:
            known = None if self._earlier is None else build_on(self._earlier.ledger, self.transcript)
            self._ledger = known or build(self.transcript)
        return self._ledger

    def breaks(self) -> list[ChainBreak]:
        """The breaks of the chain of its ops that were not accepted (replay 61). Raises ReadFailed."""
        found = breaks(self.ledger.entries)
        if not found:
            return found
        from ctxkit.store.accepted import accepted

        known = accepted(self.opening.sidecar)
        return [one for one in found if one.key not in known]

    def state(self) -> State:
        """The state of the log, or as it was at op `at`. Raises Misfit, DamagedOp, NoSuchOp."""
        if self._state is None:
            transcript, ledger = (self.transcript, self.ledger) if self.at is None else self.back_to(self.at)
            try:
                if self._earlier is not None and self.at is None and not self.force:
                    self._state = fold_on(self._earlier, transcript, ledger, self.identity)
                self._state = self._state or fold(transcript, ledger, self.identity, force=self.force)
            except (Misfit, DamagedOp) as error:
                error.message = f"{self.opening.name}: {error.message}"
                raise
        return self._state

    def seen_at(self, at: str | State | None) -> Self:
        """This log in another state: at an op (`3`), before it (`3^`), now (None), or in a given state."""
        found = copy.copy(self)
        found.at, found._state = (self.at, at) if isinstance(at, State) else (at, None)
        return found

    def raw(self) -> Self:
        """This log with the contents of its messages as they are, also with a `redactor`."""
        found = copy.copy(self)
        found.hides = False
        return found

    def _given(self, key: object, content: Content) -> Content:
        """A content as it is given to whoever asks; `key`: what it is the content of."""
        if self.redactor is None or not self.hides:
            return content
        from ctxkit.logfile.redacted_content import redacted

        return redacted(key, content, self.redactor)

    def tell(self, figures: Figures, other: OpenLog | None = None) -> None:
        """Report figures that were counted, of this log, and of the `other` if two are compared."""
        self.figures = figures
        if self.meter is not None:
            self.meter(self, figures, other)

    def looked_at(self) -> LedgerEntry:
        """The op whose state is shown, or, with ^ after it, the state before. Raises NoSuchOp."""
        return self.ledger.find((self.at or "").removesuffix(BEFORE))

    def back_to(self, name: str) -> tuple[Transcript, Ledger]:
        """The log up to and including op `name`, or, with ^ after it, right before that op (replay 46)."""
        op = self.ledger.find(name.removesuffix(BEFORE))
        return self.upto(op.place, op.number - name.endswith(BEFORE))

    def upto(self, rows: int, ops: int) -> tuple[Transcript, Ledger]:
        """The log as it was with this number of rows and ops."""
        ledger, transcript = self.ledger.upto(ops), self.transcript
        if rows >= transcript.rows:
            return transcript, ledger
        if transcript.view is not None:
            return back(self.opening, rows), ledger
        row_of = transcript.row_of[: bisect_left(transcript.row_of, rows)]
        messages = FirstMessages(transcript.messages, len(row_of))
        return msgspec.structs.replace(transcript, messages=messages, row_of=row_of), ledger

    def agents(self) -> dict[str, Path]:
        """The logs of subagents that the log's program keeps in separate files beside it, by agent.

        Each is a separate log, with its own numbers and ops. The folder is read when this is asked.
        """
        path, place = self.opening.path, self.opening.format.agents
        if path is None or place is None:
            return {}
        from ctxkit.store.folder import named

        return named(path.parent / path.stem / place[0], *place[1:])

    def known_ops(self) -> None:
        """Raises UnknownOp if an op in force is not known to this ctxkit (replay 24)."""
        beside = self.opening.sidecar
        if beside is not None and beside.ignored and beside.may_hold_ops():
            text = f"{beside.folder} {beside.ignored} and may hold ops, which are ignored: nothing was exported"
            raise NoPermission(text, "--skip-unknown exports without them, forgotten messages and all")
        unknown = self.ledger.unknown
        if unknown:
            first = unknown[0]
            text = f"op {first.number} is a {first.name!r} (v {first.body.get('v', 1)}), not known to this ctxkit"
            raise UnknownOp(f"{text}: nothing was exported", "a newer ctxkit may; --skip-unknown goes on without it")

    def identity(self, n: int) -> str:
        """The identity of message n, to compare with `at.last`."""
        return identity_of(self.opening, self.messages[n - 1], lambda: self._content(self._held(n)))

    def projection(self) -> Projection:
        """The parameters of the projection: what was typed, else the config."""
        windows: dict[str | None, int] = {agent: setting.value for agent, setting in self.config.windows().items()}
        windows[None] = self.config["window.default"] or 0
        newest = self.config["window.messages"]
        known = frozenset(self.config.agents)
        return Projection(self.lens_agent, self.lens_thread, self.now_seconds(), windows, newest or None, known)

    lens = projection
    """The older name of `projection()`."""

    def own(self) -> Sequence[int]:
        """The messages of the log's own context, before any op of ctxkit's, in order."""
        state = self.state()
        if state.ledger.entries:
            state = fold(state.transcript, Ledger([], {}, []))
        found = listed(state, Projection(thread=self.lens_thread))
        return found if isinstance(found, range) else [name for name in found if isinstance(name, int)]

    def now_seconds(self) -> float | None:
        """What windows count from, in seconds since 1970; None = the newest time in the log. Raises BadTime."""
        asked = self.now or self.config["now"]
        if asked == "last":
            return None
        if asked == "wall":
            return self.clock()
        moment = seconds(asked)
        if moment is None:
            raise BadTime(f"now is {asked!r}: not a time", "last, wall, or an ISO time such as 2026-02-12T14:30:00Z")
        return moment

    def now_name(self, written: Callable[[float], str] = iso) -> str:
        """What windows count from, in words: `last (2026-02-12T14:30:00Z)`; `written`: how a time is formatted."""
        asked = self.now or self.config["now"]
        moment = self.now_seconds() if asked != "last" else self.state().last
        shown = written(moment) if moment is not None else "no message has a time"
        return f"{asked} ({shown})" if asked in ("last", "wall") else shown

    def reference(self) -> float:
        """Now in seconds for `--since 2h` and dates: as `now_seconds`, or the clock if the log has no time."""
        now = self.now_seconds()
        if now is None:
            now = self.state().last
        return self.clock() if now is None else now

    def bounds(self) -> Bounds:
        """Default and limits of windows, from the config."""
        return Bounds(self.projection().windows, self.config["window.min"], self.config["window.max"])

    def entries(self, names: Iterable[Name] | None = None) -> Iterator[Entry]:
        """The context in order, or these `names` of it. Raises UnknownAgent."""
        state = self.state()
        return entries(state, self.projection()) if names is None else (entry(state, name) for name in names)

    def names(self) -> list[Name]:
        """The names of the context in order."""
        return list(self.listed())

    def listed(self) -> Sequence[Name]:
        """The names of the context in order; a range if they are one unbroken run of messages."""
        return listed(self.state(), self.projection())

    def memory_line(self) -> str:
        """A line about the notes of the project, for the status of the threads; "" without notes."""
        return ""

    def ranker(self, asked: Selection, *, leaves: bool, request: Planning | None) -> Rank:
        """Ranks messages by a text, for `--about`. A log that is only read has none: `Log` has."""
        raise NotImplementedError("only a Log ranks messages by a text")

    def select(
        self, asked: Selection, shown: Iterable[Name] | None = None, *, leaves: bool = False,
        request: Planning | None = None,
    ) -> Names:  # fmt: skip
        """The names that a selection chooses; criteria search `shown`, by default the context before windows.

        `leaves`: the chosen messages will leave the context; `request`: the conversation in which a model calls
        filter_context, which the model is not shown.
        """
        state = self.state()
        self.ranked.reset()
        try:
            seen = shown_names(state, asked.thread) if shown is None else shown
            rank = None if asked.about is None else self.ranker(asked, leaves=leaves, request=request)
            return resolve(state, asked, seen, self._text_in_time, rank, self.typed)
        finally:
            self.limit.stop()

    def typed(self, name: Name) -> bool:
        """Whether a person typed a part of this user message, or added a picture to it."""
        from ctxkit.core.derive.synthetic_messages import kind

        content = self.original(name)
        return kind(content) is None and not any(isinstance(part, Result) for part in content.parts)

    def _text_in_time(self, name: Name) -> str:
        self.limit.stop()
        text = self.text(name)
        self.limit.restart(len(text))
        return text

    def content(self, n: int) -> Content:
        """Message n in full, read from the file; for an earlier state, without rows added to it since."""
        return self._given(n, self._content(self._held(n)))

    def recorded(self, n: int) -> Content:
        """Message n for a search: all text in its rows, also text that is not shown."""
        return self._given((n, "recorded"), self._content(self._held(n), recorded=True))

    def _held(self, n: int) -> Message:
        held = self.messages if self._state is None else self._state.messages
        return held[n - 1]

    def _content(self, message: Message, *, recorded: bool = False) -> Content:
        return content_in(self.opening, message, recorded=recorded)

    def _rows(self, spans: Iterable[Span]) -> list[dict[str, Any]]:
        source = self.opening.laid_out
        return [row for offset, size in spans if isinstance(row := loads(source.read(offset, size)), dict)]

    def usage(self, n: int) -> RequestUsage | None:
        """What the provider counted for the request that message n answers, and for n; None if nothing is recorded."""
        return usage(self.usage_rows(n))

    def usage_rows(self, n: int) -> list[dict[str, Any]]:
        """The rows in which the usage of message n would be recorded."""
        message, beside = self._held(n), self.transcript.counts.get(n)
        return self._rows([(message.offset, message.size), *message.more] if beside is None else [beside])

    def noted(self, n: int) -> RequestUsage | None:
        """What is noted of message n, which is not a reply: tokens of the context up to and including it.

        An export notes that in the message, Kimi CLI beside it.
        """
        if n in self.transcript.counts and (counted := self.usage(n)) is not None and counted.whole:
            return counted
        span = self._held(n).offset, self._held(n).size
        found = usage(self._rows([span])) if utf8(MARK) in self.opening.laid_out.read(*span) else None
        return found if found is not None and found.estimated else None

    def reply(self, n: int) -> tuple[RequestUsage | None, str]:
        """What the provider counted for reply n, and the model that its rows name, or ""."""
        message = self._held(n)
        rows = self._rows([(message.offset, message.size), *message.more])
        return (self.usage(n) if n in self.transcript.counts else usage(rows)), model_of(rows)

    def noted_limit(self) -> int | None:
        """The limit in tokens that the program itself recorded for its newest request; None if there is none."""
        noted = self.transcript.counts
        return window(self._rows([noted[max(noted)]])) if noted else None

    def full(self, entry: Entry) -> Content:
        """An entry in full: a message, an item, or what an op shortened it to."""
        if entry.message is not None:
            content = self._content(entry.message)
        else:
            content = content_of(entry.item.message if entry.item is not None else {})
        return self._given(entry.name, content if entry.stub is None else stubbed(content, entry.stub))

    def original(self, name: Name) -> Content:
        """A message in full, whatever ops shortened it to."""
        if isinstance(name, int):
            return self.content(name)
        return self._given(name, content_of(self.state().board.items[name].message))

    def is_summary(self, n: int) -> bool:
        """Whether a message is a summary that the log's own program made."""
        from ctxkit.core.derive.synthetic_messages import SyntheticKind, kind

        return kind(self.content(n)) == SyntheticKind.SUMMARY

    def text(self, name: Name) -> str:
        """All text of a message, for --grep."""
        return "\n".join(words(self.full(entry(self.state(), name))))

    @property
    def answered(self) -> frozenset[str]:
        """Ids of calls with a result anywhere in the log, without those that the log's program considers unanswered."""
        transcript = self.transcript if self.at is None else self.back_to(self.at)[0]
        messages, view = transcript.messages, transcript.view
        found = frozenset(call for message in messages for call in message.results)
        if view is None:
            return found
        held = set(view.order).difference(*(cut.out for cut in view.cuts))
        results = {call for n in held for call in messages[n - 1].results}
        waiting = {call for n in held for call in messages[n - 1].calls if call not in results}
        return found - waiting if waiting else found


def model_of(rows: Iterable[dict[str, Any]]) -> str:
    """The model that the rows of a reply name, or ""."""
    held = (one for row in rows for one in (row, row.get("message")) if isinstance(one, dict))
    return next((name for one in held if isinstance(name := one.get("model"), str)), "")


def words(content: Content) -> Iterator[str]:
    """All text of a message: its text, thinking, calls with their arguments, results."""
    for part in content.parts:
        match part:
            case Text(text=text) | Thinking(text=text):
                yield text
            case Call(name=name, arguments=arguments):
                yield name
                yield arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
            case Result(content=inner):
                if isinstance(inner, str):
                    yield inner
                else:
                    yield from words(Content("tool", inner))
            case _:
                continue
