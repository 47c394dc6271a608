"""ctxkit show: the context, for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

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
from ctxkit.core.assembly import NOTHING, Assembled
from ctxkit.core.board import LeftOut
from ctxkit.core.context import Entry
from ctxkit.core.item_names import ItemName, Name
from ctxkit.core.messages import Content, Text
from ctxkit.core.state import State
from ctxkit.core.times import iso
from ctxkit.errors import Usage


@takes(Selecting, Assembling, RequestOptions, Looking, Reading)
def command(
    log: LogArgument = "-",
    numbers: Numbers = None,
    *,
    full: Annotated[bool, typer.Option("--full", help="Tool results and other parts in full.")] = False,
    max_tokens: Fitting = None,
    expand: Annotated[bool, typer.Option("--expand", help="Summaries in full, not on one line.")] = False,
    oneline: Annotated[bool, typer.Option("--oneline", help="A line per message.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Why each message is in or out, and the parameters used.")
    ] = False,
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
    why they are in the context or out of it, and then with which parameters it was made.
    """
    opened_log = opened(log, reading, looking, command="show", thread=selecting.thread)
    opened_log.looks = True
    wanted = asked(opened_log, numbers, selecting)
    if not selecting.invert:  # an agent or thread is a way to look, not a choice among what is shown
        opened_log.lens_agent, opened_log.lens_thread = selecting.agent, selecting.thread
        wanted = msgspec.structs.replace(wanted, agent=None, thread=None)
    assembly, around = assembly_of(opened_log, assembling), NOTHING
    fit(opened_log, max_tokens, request_options, assembly=assembly[0], status=assembly[1])
    if explain:
        from ctxkit.cli.terminal import explain_view

        finish_reading(opened_log, explain_view.show(opened_log, wanted, assembly, json=reading.json))
        return
    shown = opened_log.listed()
    if not wanted.empty:
        if assembling.status is not None:
            raise Usage("--status stands around the whole context, and only some of it was asked for", "leave one out")
        shown = _among(shown, set(opened_log.select(wanted, shown)))
    elif assembly[0]:
        around = opened_log.assembled(assembly[1])
    columns = layout.width()
    for entry in around.around(opened_log.entries(shown), lambda entry: entry.role):
        if isinstance(entry, Assembled):
            _assembled(entry, full=full, oneline=oneline, json=reading.json)
        elif reading.json:
            streams.out_json(as_json(opened_log, entry))
        elif oneline:
            _oneline(opened_log, entry, columns)
        else:
            _print(opened_log, entry, full=full, expand=expand)
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
        why = "--max-tokens off shows what was left out to fit" if fitted else "ctxkit why LOG N says what keeps it out"
        streams.say(f"none of these is in the context: {why}")


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


def _notes(log: Log, entry: Entry) -> str:
    state = log.state()
    if entry.item is not None and entry.item.summary:
        return summary_view.line(state, entry.item)
    if entry.item is not None and entry.item.origin is not None:
        return f"from {state.label(entry.item.origin)}"
    if isinstance(entry.name, ItemName):
        return f"by op {entry.item.source if entry.item else '?'}"
    if isinstance(entry.stub, LeftOut) and entry.stub.stub is None:
        return layout.count(len(entry.stub.parts), "part") + " left out"
    return "shortened" if entry.stub is not None else ""


def _print(log: Log, entry: Entry, *, full: bool, expand: bool) -> None:
    state, content = log.state(), log.full(entry)
    moment = state.original(entry.name)
    score = log.ranked.scores.get(entry.name)
    notes = ", ".join(filter(None, (_notes(log, entry), "" if score is None else f"{score} %")))
    header = message_view.header(
        state.label(entry.name), content.role, moment, name=content.name, protected=entry.protected, notes=notes
    )
    streams.out(*header, hang=4)
    closed = entry.item is not None and entry.item.summary and not expand
    for line in message_view.body(content, full=full) if not closed or _is_short(content) else ():
        streams.out(f"    {line}" if line else "")
    streams.out("")


def _is_short(content: Content) -> bool:
    """Whether a summary is one line itself."""
    return "\n" not in "\n".join(message_view.body(content, full=True)).strip()


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
    if entry.item is not None and entry.item.summary and not _is_short(content):
        content = Content(content.role, [Text(summary_view.line(state, entry.item))])
    streams.out(*message_view.row(state.label(entry.name), content, protected=entry.protected, columns=columns))
