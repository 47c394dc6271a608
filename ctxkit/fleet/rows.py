"""The rows of one log: bytes of a file and settings in, rows of the five tables out. Nothing is opened, nothing kept.

Pipeline: `logfile/read.py` -> `Log` -> here -> `ingest.py`, and what runs over many logs, on this machine or on others.
The same input gives the same rows, wherever it runs.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any, TypeAlias

from ctxkit.api.log import Log
from ctxkit.content.calls import Calls
from ctxkit.core.derive.files import How
from ctxkit.core.derive.outcome import outcome
from ctxkit.core.derive.synthetic_messages import SyntheticKind, stopped
from ctxkit.core.derive.synthetic_messages import kind as synthetic_kind
from ctxkit.core.derive.tail import condition, interrupted, newest_first, newest_shown
from ctxkit.core.derive.usage import SIZE_ROLE, cost, reply_id, total, usage
from ctxkit.core.item_names import ItemName, Name
from ctxkit.core.messages import Content, Message, Result, Text
from ctxkit.core.ops import Compact
from ctxkit.core.text.json_text import finite, loads
from ctxkit.core.text.redactor import Redactor
from ctxkit.core.text.utf8 import exact, sound
from ctxkit.core.times import iso, seconds, written
from ctxkit.core.visibility import IN, Visibilities
from ctxkit.errors import CtxkitError, ManyConversations
from ctxkit.fleet.scout import compactions, conversation_of
from ctxkit.fleet.tables import COLUMNS, SCOUT, SCOUT_COLUMNS, TABLES
from ctxkit.formats import containers
from ctxkit.formats.containers import Container
from ctxkit.logfile.open import model_of, words
from ctxkit.logfile.read import AUTO, Opening, read_held
from ctxkit.logfile.redacted_content import redacted
from ctxkit.logfile.tolerant import one_of_many
from ctxkit.measure.count import Counting
from ctxkit.measure.size import Measuring
from ctxkit.measure.status import status
from ctxkit.search.preview import title_of
from ctxkit.settings.config import Config, load
from ctxkit.store.folder import START
from ctxkit.store.sidecar import HeldSidecar

Row: TypeAlias = dict[str, Any]
"""Column -> value, of a table in `tables.TABLES`."""
Rows: TypeAlias = dict[str, list[Row]]
"""Table -> its rows, in order. Every table is there; Scout's, if it was asked for."""

CONFIG = "config.toml"
DIGITS = 32
"""Hex digits of the id of a transcript."""
ENDINGS = re.compile(r"(?<=.)(\.(jsonl?|ndjson|traj|eval|txt|log|zst))+$")
TOUCHED: dict[How, str] = {
    "read": "read", "edit": "edited", "write": "written", "create": "created", "delete": "deleted",
}  # fmt: skip


def transcript_id(uri: str, conversation: int | None = None) -> str:
    """The id of a transcript in the source `uri`. Those of one source begin alike, and no other's does."""
    found = hashlib.sha256(exact(uri)).hexdigest()[:DIGITS]
    return found if conversation is None else f"{found}-{conversation}"


def rows(
    data: bytes, name: str, *, sidecar: Mapping[str, bytes] | None = None, format: str = AUTO,
    config: Mapping[str, Any] | None = None, redact: bool = False, scout: bool = False,
) -> Rows:  # fmt: skip
    """The rows of the log with the bytes `data`, whose path or URL is `name`.

    `sidecar`: the files of its sidecar by name: `ops.jsonl` (or `ops.2.jsonl` for the second conversation) and
    `config.toml`, if there are any; `format`: its name, if it is not to be detected; `config`: key -> value as in a
    config file, before that of the sidecar. The user's config, that of folders and the environment do not count, so
    that the rows are the same on every machine. `redact`: secrets are taken out of the columns that are `secret`;
    `scout`: with those of Scout's table.

    A file with many conversations has a transcript for each. A file that cannot be read has one row in `transcripts`,
    with `error`, and no others; nothing is raised for it. Raises BadConfig for a bad `config`.
    """
    held = HeldSidecar(sidecar or {})
    laid = own_config(held).given(config or {})
    made, digest = empty(scout=scout), hashlib.sha256(data).hexdigest()
    redactor = Redactor() if redact else None
    for conversation, opening in conversations(data, name, held, str(laid["format"]) if format == AUTO else format):
        try:
            if not isinstance(opening, Opening):
                raise opening
            with one_of_many(name):
                log = Log(opening, laid)
                log.cache_folder = None  # a source is counted once, and workers of other machines share no cache
                found = _LogRows(log, transcript_id(name, conversation), conversation, redactor).all(scout=scout)
        except (CtxkitError, OSError) as error:
            found = unread(name, _said(error, name), conversation, scout=scout)
        for row in found["transcripts"]:
            row |= {"ctxkit_bytes": len(data), "ctxkit_sha256": digest}
        for table, some in found.items():
            made[table] += some
    if redactor is not None:
        _redact(made, redactor)
    _without_lone_surrogates(made)
    return made


def conversations(
    data: bytes, name: str, held: HeldSidecar, format: str
) -> Iterator[tuple[int | None, Opening | CtxkitError | OSError]]:
    """Every conversation of a log with its number, or why it cannot be read; None for the number of an only one."""
    container: Container | None = None
    waiting: list[int | None] = [None]
    for number in waiting:
        held.conversation = None
        try:
            with one_of_many(name):
                opening = read_held(name, data, held, conversation=number, format=format, container=container)
        except ManyConversations:
            container = containers.find(data)
            waiting += range(1, 1 + len(container.conversations if container is not None else ()))
        except (CtxkitError, OSError) as error:
            yield number, error
        else:
            yield number, opening


def own_config(held: HeldSidecar) -> Config:
    """The config of a log's sidecar alone: that of the user, of folders and of the environment has no effect, because
    which one there is depends on the machine.
    """
    text = held.files.get(CONFIG)
    instead = {} if text is None else {held.config_path: text.decode("utf-8", "replace")}
    return load(held.config_path, None, {}, None, tolerant=True, instead=instead)


def empty(*, scout: bool = False) -> Rows:
    """No rows, of every table."""
    return {table: [] for table in (COLUMNS if scout else TABLES)}


def unread(name: str, error: str, conversation: int | None = None, *, scout: bool = False) -> Rows:
    """The rows for a source that cannot be read, not even its bytes."""
    row = _unread(name, conversation) | {"error": error}
    return empty(scout=scout) | {"transcripts": [row]} | ({SCOUT: [_scout(row, "[]", "[]")]} if scout else {})


def _unread(name: str, conversation: int | None) -> Row:
    row: Row = dict.fromkeys(column.name for column in TABLES["transcripts"])
    return row | {
        "transcript_id": transcript_id(name, conversation), "source_id": _stem(name), "source_uri": name,
        "ctxkit_conversation": conversation,
    }  # fmt: skip


def _scout(transcript: Row, messages: str, events: str) -> Row:
    """The row of Scout's table for one of `transcripts`."""
    texts = {"messages": messages, "events": events}
    return {one.name: texts.get(one.name) or transcript[one.name] for one in SCOUT_COLUMNS}


def _said(error: CtxkitError | OSError, name: str) -> str:
    text = error.message if isinstance(error, CtxkitError) else str(error)
    return text.removeprefix(f"{name}: ")


def _stem(name: str) -> str:
    return ENDINGS.sub("", name.rstrip("/").rpartition("/")[2])


def _time(value: Any) -> str | None:
    moment = written(value)
    return None if moment is None else iso(moment)


def _json(value: Any) -> str:
    return json.dumps(finite(value), ensure_ascii=False, separators=(",", ":"))


def _without_lone_surrogates(made: Rows) -> None:
    """Put U+FFFD in the place of halves of characters, which a log may hold, and UTF-8 cannot."""
    for some in made.values():
        for row in some:
            for name, value in row.items():
                if isinstance(value, str) and not value.isascii():
                    row[name] = sound(value)


def _redact(made: Rows, redactor: Redactor) -> None:
    """Take secrets out of the columns that may have some."""
    for table, some in made.items():
        names = [column.name for column in COLUMNS[table] if column.secret]
        for row in some:
            for name in names:
                if row[name] and not (name == "text" and row.get("n")):  # that of a message was made without
                    row[name] = redactor.value(row[name])


class _LogRows:
    """Makes the rows of one log. `redactor`: takes secrets out of the parts of a message before they are one text, in
    which arguments are no JSON any more.
    """

    def __init__(self, log: Log, id: str, conversation: int | None, redactor: Redactor | None) -> None:
        self.log, self.id, self.conversation, self.redactor = log, id, conversation, redactor
        self.status = status(log, tokens=False)  # first: it also takes a log whose ops do not fit
        self.state = log.state()
        self.visibilities = Visibilities(self.state, log.projection())
        self.listed = list(log.listed())
        self.shown = frozenset(self.listed)
        self.contents: dict[int, Content] = {}

    def all(self, *, scout: bool) -> Rows:
        """The rows of every table."""
        messages = list(self._messages())
        requests, ops = list(self._requests()), list(self._ops())
        transcript = self._transcript(requests)
        made = {
            "transcripts": [transcript], "messages": messages, "ops": ops, "requests": requests,
            "files": list(self._files()),
        }  # fmt: skip
        if not scout:
            return made
        times, format = self.state.times.of, self.log.transcript.format
        conversation = _json(conversation_of(self.log, self._main(), self._content))
        events = _json(compactions(ops, format, seconds(transcript["date"]) or 0.0, times))
        return made | {SCOUT: [_scout(transcript, conversation, events)]}

    def _transcript(self, requests: Sequence[Row]) -> Row:
        log, found = self.log, self.status
        name = log.opening.name
        measured = self.measuring.of(self.listed)
        moments = [moment for n in range(1, len(log.messages) + 1) if (moment := self.state.times.of(n)) is not None]
        tokens = sum(one["input"] + one["output"] for one in requests if not self._is_copied(one["n"]))
        transcript = log.transcript
        torn = sum(one.code == "torn-tail" for one in transcript.damage)
        end = condition(found.damaged - torn, torn=torn > 0, interrupted=self._open())
        return _unread(name, self.conversation) | {
            "source_type": transcript.format, "date": iso(moments[0]) if moments else None,
            "agent": None if transcript.format in CHATS else transcript.format,
            "model": log.model or (requests[-1]["model"] if requests else None),
            "message_count": len(log.messages), "total_tokens": tokens if requests else None,
            "total_time": max(moments) - min(moments) if moments else None,
            "ctxkit_in_context": found.inside, "ctxkit_tokens": measured.tokens, "ctxkit_counter": measured.counter,
            "ctxkit_trust": measured.trust, "ctxkit_ops": found.ops, "ctxkit_compactions": found.compactions,
            "ctxkit_damaged": found.damaged, "ctxkit_end": end, "ctxkit_title": title_of(log.opening) or None,
        }  # fmt: skip

    def _is_copied(self, n: int) -> bool:
        """Whether a message is history of another session, whose rows this one copied: Claude Code marks each, and pi
        names the other session in its first row, with the time of the copy.
        """
        own = self._content(n).rows
        if any(row.get("forkedFrom") for row in own):
            return True
        moment = self.state.times.of(n)
        return self._copied_at is not None and moment is not None and moment < self._copied_at

    @cached_property
    def _copied_at(self) -> float | None:
        """When pi copied the rows of another session; None if it did not."""
        log = self.log
        if log.transcript.format != "pi":
            return None
        with suppress(ValueError):
            begun = loads(log.opening.laid_out.read(0, START).partition(b"\n")[0])
            if isinstance(begun, dict) and begun.get("parentSession"):
                return written(begun.get("timestamp"))
        return None

    def _main(self) -> Sequence[int]:
        """The messages of the main thread, in order."""
        view = self.log.transcript.view
        return range(1, len(self.log.messages) + 1) if view is None else view.order

    def _open(self) -> bool:
        """Whether the last exchange is unfinished, and still in the context."""

        def ended(message: Message) -> bool:
            return not message.opens and message.n > 0 and stopped(self._content(message.n))

        return interrupted(newest_first(self.log.transcript), ended) and interrupted(
            (message for _, message in newest_shown(self.state)), ended
        )

    def _content(self, n: int) -> Content:
        """A message as the log has it."""
        if n not in self.contents:
            self.contents[n] = self.log.content(n)
        return self.contents[n]

    @property
    def measuring(self) -> Measuring:
        """Counts tokens by what the log records."""
        if not hasattr(self, "_measuring"):
            self._measuring = Measuring(Counting(self.log))
        return self._measuring

    def _messages(self) -> Iterator[Row]:
        state, log = self.state, self.log
        numbers = range(1, len(log.messages) + 1)
        items = sorted(state.board.items, key=state.key)
        names: list[Name] = [*numbers, *items]
        remade: list[Name] = [name for name in names if isinstance(name, ItemName) or name in state.board.stubs]
        tokens: dict[Name, float] = dict(zip(numbers, self.measuring.as_read(numbers), strict=True))
        tokens |= zip(remade, self.measuring.each(remade), strict=True)
        callers = {
            call: tool for message in log.messages for call, tool in zip(message.calls, message.tools, strict=False)
        }
        for name in names:
            yield self._message(name, max(0, round(tokens[name])), callers)

    def _message(self, name: Name, tokens: int, callers: Mapping[str, str]) -> Row:
        state, log = self.state, self.log
        seen = self.visibilities.of(name)
        inside = seen.kind == IN
        row: Row = {
            "transcript_id": self.id, "n": None, "item": None, "tokens": tokens, "in_context": inside,
            "shortened": name in state.board.stubs, "out_kind": None if inside else seen.kind,
            "out_by_op": None if inside else seen.op, "branch": None, "thread": None, "agent": None,
        }  # fmt: skip
        if isinstance(name, ItemName):
            item = state.board.items[name]
            content = log.original(name)
            text = "\n".join(words(content))
            raw = exact(text)
            return row | {
                "item": state.label(name), "role": item.role, "kind": "summary" if item.summary else "item",
                "tool": None, "call_id": None, "error": None, "ts": self._moment(name), "text": text,
                "bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest(),
                "thread": item.message.get("thread"), "agent": item.message.get("agent"),
            }  # fmt: skip
        message, content = log.messages[name - 1], self._content(name)
        ids = [*message.calls, *message.results]
        tools = [*message.tools, *(callers.get(call, "") for call in message.results)]
        source = log.opening.laid_out
        digest = hashlib.sha256()
        for span in ((message.offset, message.size), *message.more):
            digest.update(source.read(*span))
        return row | {
            "n": name, "role": message.role, "kind": _kind(message, content),
            "tool": ",".join(dict.fromkeys(filter(None, tools))) or None, "call_id": ",".join(ids) or None,
            "error": _failed(content), "ts": self._moment(name), "text": self._text(name, content),
            "bytes": message.bytes, "sha256": digest.hexdigest(), "branch": state.inactive_reason.get(name),
            "thread": message.thread, "agent": message.agent,
        }  # fmt: skip

    def _text(self, n: int, content: Content) -> str:
        """What a message says."""
        if self.redactor is not None:
            content = redacted(n, Content(content.role, content.parts), self.redactor)
        return "\n".join(words(content))

    def _moment(self, name: Name) -> str | None:
        moment = self.state.original(name)
        return None if moment is None else iso(moment)

    def _ops(self) -> Iterator[Row]:
        log, state = self.log, self.state
        ledger, view, places = state.ledger, log.transcript.view, log.transcript.row_of
        none: Row = dict.fromkeys(column.name for column in TABLES["ops"]) | {"transcript_id": self.id, "void": False}
        cuts = [] if view is None else view.all_cuts
        noted = {one.row: one.tokens for one in log.transcript.compactions}
        found = [
            (cut.row, 0, none | {
                "n": _before(places, cut.row), "kind": "program", "label": cut.label, "ids": _spans(cut.out),
                "before_tokens": noted.get(cut.row) if cut.is_compaction else None,
            }) for cut in cuts
        ]  # fmt: skip
        for one in ledger.entries:
            body = one.body
            before, after = body.get("before"), body.get("after")
            label = body.get("label")
            text = body.get("text") if isinstance(one.op, Compact) else None
            found.append((one.place, one.number, none | {
                "op": one.number, "id": one.id or None, "ts": _time(body.get("ts")), "n": _before(places, one.place),
                "kind": ledger.name_of(one), "label": label if isinstance(label, str) else None,
                "ids": body["ids"] if isinstance(body.get("ids"), str) else None,
                "before": _whole(before, "messages"), "after": _whole(after, "messages"),
                "before_tokens": _whole(before, "tokens"), "after_tokens": _whole(after, "tokens"),
                "void": one.void, "text": text if isinstance(text, str) else None,
                "by": None if body.get("by") is None else _json(body["by"]),
            }))  # fmt: skip
        yield from (row for _, _, row in sorted(found, key=lambda one: one[:2]))

    def _requests(self) -> Iterator[Row]:
        """Each request once: a reply may be in parts between results (Claude Code), a count told twice (Codex), and one
        that a log inherited is a request of the log that made it. A size of the context alone is no request (Copilot
        CLI, Goose).
        """
        log = self.log
        before = None
        made: dict[str | int, Row] = {}
        for message in log.messages:
            if message.role != "assistant" or message.n <= log.transcript.inherited:
                continue
            own = self._content(message.n).rows
            found = log.usage_rows(message.n) if message.n in log.transcript.counts else own
            counted, so_far = usage(found), total(found)
            size_alone = counted is not None and counted.whole and found[0].get("role") != SIZE_ROLE
            if counted is None or size_alone or (so_far is not None and so_far == before):
                continue
            before, more, id = so_far, cost(found), reply_id(own) or message.n
            first = made.get(id, {"n": message.n, "ts": self._moment(message.n)})
            made[id] = {
                "transcript_id": self.id, "n": first["n"], "ts": first["ts"],
                "model": model_of(own) or _response_model(own) or log.model or None, "input": counted.request,
                "cached": more.cached, "cache_write": more.written, "output": counted.reply,
                "reasoning": counted.passing, "cost": more.cost,
            }  # fmt: skip
        yield from made.values()

    def _files(self) -> Iterator[Row]:
        names = range(1, len(self.log.messages) + 1)
        calls = Calls(self.log, names, whole=True)
        touched = [(name, touch) for name, some in calls.touched.items() for touch in some]
        newest = {touch.path: place for place, (_, touch) in enumerate(touched)}
        state = {touch.path: TOUCHED[touch.how] for _, touch in touched if touch.how != "read"}
        for place, (name, touch) in enumerate(touched):
            yield {
                "transcript_id": self.id, "path": touch.path, "n": name, "touched": TOUCHED[touch.how],
                "part": touch.part or None, "in_context": name in self.shown,
                "outdated": calls.outdated(name, touch) is not None, "last": newest[touch.path] == place,
                "state": state.get(touch.path, "read"),
            }  # fmt: skip


def _response_model(rows: Sequence[Mapping[str, Any]]) -> str:
    """The model in a response that is kept beside the reply (mini-swe-agent), or ""."""
    kept = (row["extra"].get("response") for row in rows if isinstance(row.get("extra"), dict))
    return next((name for one in kept if isinstance(one, dict) and isinstance(name := one.get("model"), str)), "")


CHATS = ("chat", "openai", "anthropic")
"""Formats that name no program."""


def _kind(message: Message, content: Content) -> str:
    """What a message of the log is, in the words of the column `kind`."""
    if message.role in ("system", "developer"):
        return "system"
    if message.role == "assistant":
        return "call" if message.calls else "reply"
    if message.results or message.role == "tool":
        return "result"
    found = synthetic_kind(content)
    return "prompt" if found is None else "summary" if found is SyntheticKind.SUMMARY else "synthetic"


def _failed(content: Content) -> bool | None:
    """Whether a result says that its call failed; None without a result."""
    results = [part for part in content.parts if isinstance(part, Result)]
    if not results:
        return None
    return any(part.is_error or outcome(_text(part)).status not in (None, 0) for part in results)


def _text(part: Result) -> str:
    if isinstance(part.content, str):
        return part.content
    return "\n".join(one.text for one in part.content if isinstance(one, Text))


def _before(places: Sequence[int], row: int) -> int:
    """How many messages begin before a row."""
    from bisect import bisect_left

    return bisect_left(places, row)


def _spans(numbers: Any) -> str | None:
    from ctxkit.core.sets.ranges import Ranges

    return str(numbers if isinstance(numbers, Ranges) else Ranges.of(sorted(numbers))) or None


def _whole(count: Any, key: str) -> int | None:
    value = count.get(key) if isinstance(count, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 62 else None
