"""ctxkit show: the context, for people."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from copy import copy
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from ctxkit.api.log import Log
from ctxkit.changes import window
from ctxkit.cli.log_access import asked, assembly_of, finish_reading, fit, now_of, opened
from ctxkit.cli.options import (
    Assembling,
    Fitting,
    LogArgument,
    Looking,
    Numbers,
    Reading,
    RequestOptions,
    Selecting,
    takes,
)
from ctxkit.cli.terminal import layout, message_view, streams, summary_view
from ctxkit.core.assembly import NOTHING, Assembled, Assembly
from ctxkit.core.context import Entry
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Content, Text
from ctxkit.core.select import Selection
from ctxkit.core.state import State
from ctxkit.core.times import iso
from ctxkit.errors import NothingMatched, Usage

if TYPE_CHECKING:
    from ctxkit.cli.terminal.session_page import SessionPage

EVERY = 0.5
"""Seconds between two looks at a log that is followed."""


@takes(Selecting, Assembling, RequestOptions, Looking, Reading)
def command(
    log: LogArgument = "-",
    numbers: Numbers = None,
    *,
    full: Annotated[bool, typer.Option("--full", help="Show results and other parts in full.")] = False,
    max_tokens: Fitting = None,
    expand: Annotated[bool, typer.Option("--expand", help="Show summaries in full.")] = False,
    oneline: Annotated[bool, typer.Option("--oneline", help="One line per message.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Why each message is in or out, and the parameters used.")
    ] = False,
    calls: Annotated[
        bool, typer.Option("--calls", help="A row per tool call: tool, target, status, tokens, seconds.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("-f", "--follow", help="Go on with what is added to the log, until Ctrl-C.")
    ] = False,
    from_start: Annotated[bool, typer.Option("--from-start", help="The pager opens at the first message.")] = False,
    assembling: Assembling,
    request_options: RequestOptions,
    looking: Looking,
    reading: Reading,
    selecting: Selecting,
) -> None:
    """Print the context that a model would be sent.

    Messages keep the numbers that the log gives them, so `ctxkit forget LOG 45` takes out what `show` calls 45.
    With numbers or criteria it prints these only; else what is assembled around them too (system prompt, docs, status
    of the threads), without numbers. A summary that `ctxkit compact` made is one line; --expand opens it. --max-tokens
    shows what `ctxkit trim` would leave, as the config's `budget.enforce` does by itself, and tells on stderr what that
    left out. --json prints a JSON object per message. --explain tells of all messages of the log, or of those named,
    why they are in the context or out of it, and then with which parameters it was made. On a terminal it is laid out
    for reading, and the pager opens at the end; --calls (or --tools without a file) lists the tool calls.
    """
    form = _Form(full=full, expand=expand, oneline=oneline, json=reading.json)
    opened_log = opened(log, reading, looking, command="show", thread=selecting.thread)
    if follow:
        _refuse_to_follow(opened_log, looking, other=explain or calls or max_tokens is not None)
        _follow(opened_log, form, lambda again: _shown(again, numbers, selecting), reading)
        return
    opened_log.looks = True
    wanted = _wanted(opened_log, numbers, selecting)
    assembly, around = assembly_of(opened_log, assembling), NOTHING
    fit(opened_log, max_tokens, request_options, assembly=assembly[0], status=assembly[1])
    if explain:
        from ctxkit.cli.terminal import explain_view

        finish_reading(opened_log, explain_view.show(opened_log, wanted, assembly, json=reading.json))
        return
    shown = opened_log.listed()
    if not wanted.empty:
        if assembling.status is not None:
            raise Usage("--status needs the whole context, but only some messages were chosen", "leave one out")
        shown = _among(shown, set(opened_log.select(wanted, shown)))
    elif assembly[0]:
        around = opened_log.assembled(assembly[1])
    if calls:
        _calls(opened_log, shown, json=reading.json)
        return
    if form.is_page:
        form.page(opened_log, shown, around).show(from_start=from_start)
    else:
        for entry in around.around(opened_log.entries(shown), lambda entry: entry.role):
            form.print(opened_log, entry)
    state, bounds = opened_log.state(), opened_log.bounds()
    held = window.in_force(state, bounds)
    unless = f"; {held}, now: {now_of(opened_log)}" if held else ""
    also = "; assembled: " + ", ".join(dict.fromkeys(one.kind for one in around)) if any(around) else ""
    counted = f"{len(shown)} of {layout.count(len(state.messages), 'message')}"
    finish_reading(opened_log, f"{counted}{_provided(state)}{unless}{also}")
    if held:
        for note in window.timeless(state):
            streams.say(note)
    if numbers and not shown:
        fitted = opened_log.fitted is not None and opened_log.fitted.said
        why = "--max-tokens off shows everything" if fitted else "ctxkit why LOG N explains it"
        streams.say(f"none of these is in the context: {why}")


class _Form:
    """How messages are printed: as a page of a terminal, or each by itself."""

    def __init__(self, *, full: bool, expand: bool, oneline: bool, json: bool) -> None:
        self.full, self.expand, self.oneline, self.json = full, expand, oneline, json
        self.columns = layout.width()

    @property
    def is_page(self) -> bool:
        """Whether a person reads them on a terminal."""
        return streams.Streams.columns > 0 and not (self.json or self.oneline)

    def page(self, log: Log, shown: Sequence[Name], around: Assembly = NOTHING) -> SessionPage:
        """The page of these messages."""
        from ctxkit.cli.terminal.session_page import SessionPage

        return SessionPage(log, shown, around, full=self.full, expand=self.expand)

    def print(self, log: Log, entry: Entry | Assembled) -> None:
        """One message, or what is assembled."""
        if isinstance(entry, Assembled):
            _assembled(entry, full=self.full, oneline=self.oneline, json=self.json)
        elif self.json:
            streams.out_json(as_json(log, entry))
        elif self.oneline:
            _oneline(log, entry, self.columns)
        else:
            _print(log, entry, full=self.full, expand=self.expand)


def _wanted(log: Log, numbers: Numbers, selecting: Selecting) -> Selection:
    """What was asked for; an agent or thread is a way to look, not a choice among what is shown."""
    wanted = asked(log, numbers, selecting)
    if not selecting.invert:
        log.lens_agent, log.lens_thread = selecting.agent, selecting.thread
        wanted = msgspec.structs.replace(wanted, agent=None, thread=None)
    return wanted


def _shown(log: Log, numbers: Numbers, selecting: Selecting) -> Sequence[Name]:
    """The messages that were asked for, as far as they are there."""
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
        text = "-f shows what is added to the log, and --at, --explain, --calls and --max-tokens do not"
        raise Usage(text, "leave one out")


def _follow(log: Log, form: _Form, choose: Callable[[Log], Sequence[Name]], reading: Reading) -> None:
    """Print the end of the context, then what comes, until Ctrl-C: new messages, ops, compactions."""
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
    """What tells that the log or its ops grew: size and time of both files."""
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
    from ctxkit.measure.tool_uses import tool_uses  # brings what counts

    found = tool_uses(log, shown)
    if json:
        for use in found:
            streams.out_json(tool_use_view.as_json(log.state(), use))
    else:
        for row in tool_use_view.rows(log.state(), found, layout.breadth()):
            streams.out(*row)
    failed = sum(use.failed for use in found)
    finish_reading(log, layout.count(len(found), "call") + (f", {failed:,} failed" if failed else ""))


def _provided(state: State) -> str:
    """What an edit provided, where it is the newest of the ops behind which a context begins anew."""
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
    """What is chosen of what is shown, in order. From the end on, where `--last` finds all of it."""
    found: list[Name] = []
    for name in reversed(shown):
        if len(found) == len(chosen):
            break
        if name in chosen:
            found.append(name)
    return found[::-1]


def as_json(log: Log, entry: Entry) -> dict[str, Any]:
    """The machine form of one message: `n` (or `item`), `role`, `ts`, `parts`, and flags where they are set."""
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
    if entry.item is not None and entry.item.tells:
        found["tells"] = str(entry.item.tells)
    if entry.name in log.ranked.scores:
        found["score"] = log.ranked.scores[entry.name]
    from ctxkit.export.request import parts_json

    found["parts"] = parts_json(content)
    return found


def _print(log: Log, entry: Entry, *, full: bool, expand: bool) -> None:
    state, content = log.state(), log.full(entry)
    moment = state.original(entry.name)
    notes = summary_view.notes(log, entry)
    header = message_view.header(
        state.label(entry.name), content.role, moment, name=content.name, protected=entry.protected, notes=notes
    )
    streams.out(*header, hang=4)
    closed = entry.item is not None and entry.item.summary and not expand
    for line in message_view.body(content, full=full) if not closed or message_view.is_short(content) else ():
        streams.out(f"    {line}" if line else "")
    streams.out("")


def _assembled(one: Assembled, *, full: bool, oneline: bool, json: bool) -> None:
    """What is not in the log: marked, and without a number, for nothing can select it."""
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


def _oneline(log: Log, entry: Entry, columns: int) -> None:
    state, content = log.state(), log.full(entry)
    if entry.item is not None and entry.item.summary and not message_view.is_short(content):
        content = Content(content.role, [Text(summary_view.line(state, entry.item))])
    streams.out(*message_view.row(state.label(entry.name), content, protected=entry.protected, columns=columns))
