"""ctxkit log: the ops, newest last, with what each did."""

from __future__ import annotations

from typing import Any

from ctxkit.cli import io, render
from ctxkit.cli.ink import Ink
from ctxkit.cli.params import LogArgument, Looking, Reading, takes
from ctxkit.cli.run import finish_reading, opened
from ctxkit.core.ledger import LedgerEntry
from ctxkit.core.names import Names
from ctxkit.core.state import State
from ctxkit.core.times import spoken

WIDE_IDS = 40
"""Characters of a list of numbers that a line shows."""


@takes(Looking, Reading)
def command(log: LogArgument = "-", *, looking: Looking, reading: Reading) -> None:
    """List the ops of a log, newest last: number, time, what it did, and whether it was undone.

    The number (or the id) is what `ctxkit undo LOG OP` and --at take. --json prints a JSON object per op.
    """
    target = opened(log, reading, looking, command="log")
    state = target.state()
    for entry in state.ledger.entries:
        if reading.json:
            voided_by = entry.voided_by or None
            io.out_json({"number": entry.number, "void": entry.void, "voided_by": voided_by, **entry.body})
        else:
            io.out(*line(state, entry), hang=5)
    counted = render.count(len(state.ledger.entries), "op"), render.count(len(state.messages), "message")
    finish_reading(target, ", ".join(counted))


def line(state: State, entry: LedgerEntry) -> list[str | Ink]:
    """One op for people, as spans for `io.out`."""
    when = str(entry.body.get("ts", ""))[:19].replace("T", " ")
    sizes = ""
    before, after = entry.body.get("before"), entry.body.get("after")
    if isinstance(before, dict) and isinstance(after, dict) and before != after:
        sizes = f"{before.get('messages')} → {after.get('messages')} messages"
    void = f"[undone by {entry.voided_by}]" if entry.void else ""
    fault = f"[cannot be read: {entry.fault}]" if entry.fault else ""
    return render.spaced(
        Ink(f"{entry.number:>3}", "bold"), Ink(f"{when:<19}", "dim"), Ink(f"{entry.name:<9}", "cyan"),
        what(state, entry), sizes, Ink(void, "yellow"), Ink(fault, "red"), Ink(entry.id, "dim"),
    )  # fmt: skip


def what(state: State, entry: LedgerEntry) -> str:
    """What the op is about, in a few words."""
    body: dict[str, Any] = entry.body
    match entry.name:
        case "mark" | "rewind":
            return repr(body["label"]) if body.get("label") is not None else ""
        case "undo":
            target = state.ledger.by_id.get(str(body.get("op")))
            return f"op {target.number} ({target.name})" if target else str(body.get("op"))
        case "window":
            seconds = body.get("seconds")
            text = "default" if seconds is None else spoken(seconds) if isinstance(seconds, int) and seconds else "off"
            return f"{text} for {body['agent']}" if body.get("agent") else text
        case "clear":
            return f"agent {body['agent']}" if body.get("agent") else ""
        case "edit" | "restore":
            items = body.get("items")
            return f"{len(items)} items" if isinstance(items, list) else ""
        case _:
            return _ids(state, str(body.get("ids", "")))


def _ids(state: State, text: str) -> str:
    try:
        names = Names.parse(text)
    except ValueError:
        return text[:WIDE_IDS]
    shown = ",".join(filter(None, (str(names.numbers), *map(state.label, sorted(names.items)))))
    return shown if len(shown) <= WIDE_IDS else f"{shown[: WIDE_IDS - 1]}…"
