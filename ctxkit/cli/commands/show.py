"""ctxkit show: the context, for people."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import msgspec

from ctxkit.api.log import Log
from ctxkit.changes import window
from ctxkit.cli.log_access import assembly_of, finish_reading, fit, now_of, opened, selection_of
from ctxkit.cli.options import (
    Assembling,
    LogArgument,
    Looking,
    ManyLogs,
    Numbers,
    Reading,
    RequestOptions,
    Selecting,
    takes,
)
from ctxkit.cli.terminal import layout, message_view, streams, summary_view
from ctxkit.cli.terminal.style import dimmed
from ctxkit.core.assembly import NOTHING, Assembled, Assembly
from ctxkit.core.context import Entry
from ctxkit.core.context import entry as entry_of
from ctxkit.core.item_names import Name, Names
from ctxkit.core.messages import Content, Text
from ctxkit.core.select import Selection, parse_ids
from ctxkit.core.state import State
from ctxkit.core.times import iso
from ctxkit.errors import NothingMatched, Usage

if TYPE_CHECKING:
    from ctxkit.cli.terminal.session_page import SessionPage

OUT = "(out) "
"""Before the text of a message out of the context, where it has one line."""
EVERY = 0.5
"""Seconds between two checks of a log that is followed."""


@takes(ManyLogs, Selecting, Assembling, RequestOptions, Looking, Reading)
def command(
    log: LogArgument = "-",
    numbers: Numbers = None,
    *,
    full: bool = False,
    max_tokens: str | None = None,
    oneline: bool = False,
    explain: bool = False,
    tools: bool = False,
    follow: bool = False,
    from_start: bool = False,
    words: bool = False,
    redact: bool = False,
    assembling: Assembling,
    request_options: RequestOptions,
    looking: Looking,
    reading: Reading,
    selecting: Selecting,
) -> None:
    """Print the context that a model would be sent.

    Messages keep the numbers that the log gives them, so `ctxkit forget LOG 45` takes out what `show` calls 45.
    With criteria it prints only the messages of the context that fit; with numbers these messages, also those that are
    out of it, and with both the ones of them that fit; otherwise also what is assembled around them (system prompt,
    docs, status of the threads), without numbers. A summary that `ctxkit compact` made is one line; --full
    opens it. --max-tokens shows what `ctxkit trim` would leave, as `budget.enforce` in the config always
    does; stderr says what was left out. --json prints a JSON object per message. --explain says for all messages,
    or for the named ones, why they are in the context or out of it, and then which parameters were used. On a
    terminal the text is laid out for reading, and the pager opens at the end; --tools lists the tool calls, --words
    prints what can be pasted elsewhere.
    """
    if words and (explain or tools or follow or oneline):
        text = "--words prints texts, and --explain, --tools, --oneline and -f print something else"
        raise Usage(text, "leave one out")
    form = _Form(full=full, oneline=oneline, json=reading.json)
    opened_log = opened(log, reading, looking, command="show", thread=selecting.thread)
    if follow:
        _refuse_to_follow(opened_log, looking, other=explain or tools or max_tokens is not None)
        _follow(opened_log, form, lambda again: _shown(again, numbers, selecting), reading)
        return
    opened_log.looks = True
    wanted = _wanted(opened_log, numbers, selecting)
    assembly, around = assembly_of(opened_log, assembling, selecting.agent), NOTHING
    fit(opened_log, max_tokens, request_options, assembly=assembly[0], status=assembly[1])
    if explain:
        from ctxkit.cli.terminal import explain_view

        finish_reading(opened_log, explain_view.show(opened_log, wanted, assembly, json=reading.json))
        return
    shown, by_number = opened_log.listed(), bool(wanted.ids) and not (wanted.invert or wanted.last)
    if not wanted.empty:
        if assembling.status is not None:
            raise Usage("--status needs the whole context, but only some messages were chosen", "leave one out")
        chosen = opened_log.select(wanted, parse_ids(opened_log.state(), wanted.ids) if by_number else shown)
        if by_number:
            form.outs = _outs(opened_log, chosen)
            shown = _in_order(opened_log, chosen, read=bool(form.outs))
        else:
            shown = _among(shown, set(chosen))
    elif assembly[0]:
        around = opened_log.assembled(assembly[1])
    if tools:
        _calls(opened_log, shown, json=reading.json)
        return
    if words:
        shown, around = [name for name in shown if _said(opened_log, name)], NOTHING
        for said in opened_log.entries(shown):
            _print_words(opened_log, said, json=reading.json)
    elif form.is_page:
        form.page(opened_log, shown, around, between=by_number).show(from_start=from_start or by_number)
    else:
        for entry in around.around(opened_log.entries(shown), lambda entry: entry.role):
            form.print(opened_log, entry)
    state, bounds = opened_log.state(), opened_log.bounds()
    held = window.in_force(state, bounds)
    unless = f"; {held}, now: {now_of(opened_log)}" if held else ""
    also = "; assembled: " + ", ".join(dict.fromkeys(one.kind for one in around)) if any(around) else ""
    counted = f"{len(shown)} of {layout.count(len(state.messages) + len(state.board.items), 'message')}"
    finish_reading(opened_log, f"{counted}{_provided(state)}{unless}{also}")
    if held:
        for note in window.timeless(state):
            streams.say(note)
    if form.outs:
        fitted = opened_log.fitted is not None and opened_log.fitted.said
        why = f"ctxkit why LOG {state.label(next(iter(form.outs)))} says what brings it back"
        out = "1 of these is" if len(form.outs) == 1 else f"{len(form.outs):,} of these are"
        streams.say(f"{out} out of the context: {'--max-tokens off shows everything' if fitted else why}")


class _Form:
    """How messages are printed: as a page of a terminal, or each by itself."""

    def __init__(self, *, full: bool, oneline: bool, json: bool) -> None:
        self.full, self.oneline, self.json = full, oneline, json
        self.columns = layout.width()
        self.outs: dict[Name, str] = {}
        """Messages that are shown though they are out of the context, and why they are."""

    @property
    def is_page(self) -> bool:
        """Whether a person reads them on a terminal."""
        return streams.Streams.columns > 0 and not (self.json or self.oneline)

    def page(
        self, log: Log, shown: Sequence[Name], around: Assembly = NOTHING, *, between: bool = False
    ) -> SessionPage:
        """The page of these messages. `between`: as in SessionPage."""
        from ctxkit.cli.terminal.session_page import SessionPage

        return SessionPage(log, shown, around, full=self.full, outs=self.outs, between=between)

    def print(self, log: Log, entry: Entry | Assembled) -> None:
        """One message, or what is assembled."""
        if isinstance(entry, Assembled):
            _assembled(entry, full=self.full, oneline=self.oneline, json=self.json)
        elif self.json:
            inside = {"in_context": False} if entry.name in self.outs else {}
            streams.out_json(as_json(log, entry) | inside)
        elif self.oneline:
            _oneline(log, entry, self.columns, out=entry.name in self.outs)
        else:
            _print(log, entry, full=self.full, out=self.outs.get(entry.name, ""))


def _wanted(log: Log, numbers: Numbers, selecting: Selecting) -> Selection:
    """The selection. An agent or thread sets the view of the log, and selects nothing in it."""
    wanted = selection_of(log, numbers, selecting)
    if not selecting.invert:
        log.lens_agent, log.lens_thread = selecting.agent, selecting.thread
        wanted = msgspec.structs.replace(wanted, agent=None, thread=None)
    return wanted


def _outs(log: Log, chosen: Names) -> dict[Name, str]:
    """Which of the chosen messages are out of the context, and why: `compacted by Claude Code at line 812`."""
    from ctxkit.explain.explain import explained

    return {
        one.name: one.reasons[0].brief if one.reasons else one.visibility.words
        for one in explained(log, chosen)
        if not one.visible
    }


def _in_order(log: Log, chosen: Names, *, read: bool) -> list[Name]:
    """The chosen messages as they are in the context; in the order of the log to `read` some that are out of it."""
    key = log.state().key
    numbers = sorted(name for name in chosen if isinstance(name, int))
    return list[Name](numbers) if read and not chosen.items else sorted(chosen, key=key)


def _shown(log: Log, numbers: Numbers, selecting: Selecting) -> Sequence[Name]:
    """The selected messages that are in the context; [] if none is."""
    wanted = _wanted(log, numbers, selecting)
    shown = log.listed()
    try:
        return shown if wanted.empty else _among(shown, set(log.select(wanted, shown)))
    except NothingMatched:
        return []


def _refuse_to_follow(log: Log, looking: Looking, *, other: bool) -> None:
    if log.opening.path is None:
        raise Usage("-f follows a file that grows, and the log is standard input", "name a log: ctxkit show LOG -f")
    if looking.at is not None or other:
        text = "-f shows what is added to the log, and --at, --explain, --tools and --max-tokens do not"
        raise Usage(text, "leave one out")


def _follow(log: Log, form: _Form, choose: Callable[[Log], Sequence[Name]], reading: Reading) -> None:
    """Print the end of the context, then new messages, ops and compactions, until Ctrl-C."""
    streams.Streams.pager = None
    path = log.opening.path
    again = copy(reading)
    again.quiet = True
    seen, turns, first = set[Name](), 0, True
    try:
        while True:
            before = _stamps(log)
            shown = choose(log)
            if form.is_page:
                page, height = form.page(log, shown), streams.height()
                rows = list(page.rows_since(set(shown[:-height]) if first else seen, turns))
                if first:  # as much as there is room for
                    rows = rows[-max(1, height - 2) :]
                for row in rows:
                    streams.out(*row)
                turns = page.turns
            else:
                for entry in log.entries([name for name in shown if name not in seen]):
                    form.print(log, entry)
            seen.update(shown)
            first = False
            streams.flush()
            while _stamps(log) == before:
                time.sleep(EVERY)
            log = opened(str(path), again, command="show", report=False)
    except KeyboardInterrupt:
        return


def _stamps(log: Log) -> list[tuple[int, int]]:
    """Size and time of the log and of its ops: they differ if one of the files grew."""
    beside = log.opening.sidecar
    found = []
    for path in (log.opening.path, beside.ops_path if beside is not None else None):
        try:
            one = os.stat(path) if path is not None else None
        except FileNotFoundError:
            one = None
        found.append((0, 0) if one is None else (one.st_size, one.st_mtime_ns))
    return found


def _calls(log: Log, shown: Sequence[Name], *, json: bool) -> None:
    from ctxkit.cli.terminal import tool_use_view
    from ctxkit.measure.tool_uses import tool_uses  # imports the counters

    found = tool_uses(log, shown)
    if json:
        for use in found:
            streams.out_json(tool_use_view.as_json(log.state(), use))
    else:
        for row in tool_use_view.rows(log.state(), found, layout.wrap_width()):
            streams.out(*row)
    failed = sum(use.failed for use in found)
    finish_reading(log, layout.count(len(found), "call") + (f", {failed:,} failed" if failed else ""))


def _provided(state: State) -> str:
    """What an edit provided, if it is the newest op that begins a new context."""
    for entry in reversed(state.ledger.entries):
        if entry.void:
            continue
        if entry.name == "edit":
            from ctxkit.cli.terminal.op_view import what

            return f"; {what(state, entry)} by op {entry.number}"
        if (entry.name == "clear" and not entry.body.get("agent")) or entry.body.get("mode") == "replace":
            break
    return ""


def _among(shown: Sequence[Name], chosen: set[Name]) -> list[Name]:
    """The chosen messages of those shown, in order. Searched from the end, where those of `--last` are."""
    found: list[Name] = []
    for name in reversed(shown):
        if len(found) == len(chosen):
            break
        if name in chosen:
            found.append(name)
    return found[::-1]


def as_json(log: Log, entry: Entry) -> dict[str, Any]:
    """The JSON form of one message: `n` (or `item`), `role`, `ts`, `parts`, and flags where they are set."""
    content = log.full(entry)
    state = log.state()
    found: dict[str, Any] = message_view.named(entry.name, state.label(entry.name))
    moment = state.original(entry.name)
    found["role"] = content.role
    if moment is not None:
        found["ts"] = iso(moment)
    if content.name:
        found["name"] = content.name
    if entry.message is not None:
        found.update({key: value for key in ("agent", "thread") if (value := getattr(entry.message, key)) is not None})
    if entry.protected:
        found["protected"] = True
    if entry.stub is not None:
        found["stub"] = True
    if (op := state.board.restored.get(entry.name)) is not None:
        found["restored"] = op
    if entry.item is not None and entry.item.tells:
        found["tells"] = str(entry.item.tells)
    if entry.name in log.ranked.scores:
        found["score"] = log.ranked.scores[entry.name]
    from ctxkit.export.request import parts_json

    found["parts"] = parts_json(content)
    return found


def _said(log: Log, name: Name) -> bool:
    """Whether a person or the model said this message: not a notice of the program, nor a result alone."""
    one = entry_of(log.state(), name)
    return one.role in ("user", "assistant") and (one.role == "assistant" or log.typed(name)) and bool(_texts(log, one))


def _texts(log: Log, one: Entry) -> list[str]:
    return [part.text for part in log.full(one).parts if isinstance(part, Text) and part.text.strip()]


def _print_words(log: Log, one: Entry, *, json: bool) -> None:
    """Print the texts of a message, in full."""
    content, state = log.full(one), log.state()
    if json:
        parts = [{"type": "text", "text": text} for text in _texts(log, one)]
        streams.out_json(as_json(log, one) | {"parts": parts})
        return
    label = state.label(one.name)
    moment = state.original(one.name)
    streams.out(*message_view.header(label, content.role, moment, name=content.name, protected=False, notes=""), hang=4)
    for text in _texts(log, one):
        for line in message_view.body(Content(content.role, [Text(text)]), full=True):
            streams.out(f"    {line}" if line else "")
    streams.out("")


def _print(log: Log, entry: Entry, *, full: bool, out: str) -> None:
    state, content = log.state(), log.full(entry)
    moment = state.original(entry.name)
    notes = summary_view.notes(log, entry, out)
    header = message_view.header(
        state.label(entry.name), content.role, moment, name=content.name, protected=entry.protected, notes=notes
    )
    streams.out(*header, hang=4)
    closed = entry.item is not None and entry.item.summary and not full
    for line in message_view.body(content, full=full) if not closed or message_view.is_short(content) else ():
        streams.out(f"    {line}" if line else "")
    streams.out("")


def _assembled(one: Assembled, *, full: bool, oneline: bool, json: bool) -> None:
    """Print text that is not in the log. It is marked, and has no number because it cannot be selected."""
    if json:
        from ctxkit.export.request import parts_json

        source = {"source": one.source} if one.source else {}
        streams.out_json({"assembled": one.kind, "role": one.role, **source, "parts": parts_json(one.content)})
    elif oneline:
        streams.out(*message_view.row("+", one.content, protected=False, columns=layout.width()))
    else:
        notes = f"assembled: {one.kind}" + (f" {one.source}" if one.source else "")
        streams.out(*message_view.header("+", one.role, None, name=None, protected=False, notes=notes), hang=4)
        for line in message_view.body(one.content, full=full):
            streams.out(f"    {line}" if line else "")
        streams.out("")


def _oneline(log: Log, entry: Entry, columns: int, *, out: bool) -> None:
    state, content = log.state(), log.full(entry)
    if entry.item is not None and entry.item.summary and not message_view.is_short(content):
        content = Content(content.role, [Text(summary_view.line(state, entry.item))])
    columns -= len(OUT) if out else 0
    row = message_view.row(state.label(entry.name), content, protected=entry.protected, columns=columns)
    streams.out(*(dimmed([*row[:-1], OUT, row[-1]]) if out else row))
