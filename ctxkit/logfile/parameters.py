"""The parameters of a context, each with its origin (law 1).

Pipeline: read from an opened log after its projection was set; `status` and `show --explain` print them.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from ctxkit.core.assembly import Assembly
from ctxkit.core.context import Projection, windowed
from ctxkit.core.op_fit import faults
from ctxkit.core.ops import Window
from ctxkit.core.state import State
from ctxkit.core.times import iso
from ctxkit.logfile.open import BEFORE, OpenLog
from ctxkit.settings.config import FLAG


class ValueWithOrigin(msgspec.Struct, frozen=True):
    """A value and its origin: `op 3`, `path:line` of a config, `CTXKIT_WINDOW_DEFAULT`, `default`.

    For a window: seconds, 0 = off.
    """

    value: int | None
    origin: str


class WindowOrigin(msgspec.Struct, frozen=True):
    """What windows count from. `name`: last, wall, or a time as typed; `time`: ISO, UTC.

    `time` is None if no message has one, and for `last` if no window is in force.
    """

    name: str
    time: str | None
    origin: str


class Around(msgspec.Struct, frozen=True):
    """What is put around the messages: `kind` system, docs, memory or status; `source`: the file it was read from, or
    "".
    """

    kind: str
    source: str


class Parameters(msgspec.Struct, frozen=True):
    """Everything besides the log that a context depends on.

    `window`: for all agents; `agents`: by name, those that have their own; `newest`: `window.messages`. `at`: the
    number of the op whose state is shown; `before`: whether it is the state before that op. `owner`: the listed program
    whose log of chat messages it is, or "". `forced`: ops that do not fit and were applied by --force-replay.
    `assembly`: what is put around the messages, in order; None if it was not read. `budget`: the tokens that the
    context was made to fit, and who asked for it; None: nobody did.
    """

    now: WindowOrigin
    window: ValueWithOrigin
    agents: dict[str, ValueWithOrigin]
    newest: ValueWithOrigin
    agent: str | None
    thread: str | None
    at: int | None
    before: bool
    conversation: int | None
    format: str
    owner: str
    forced: list[str]
    assembly: list[Around] | None = None
    budget: ValueWithOrigin | None = None


def parameters(log: OpenLog, assembly: Assembly | None = None) -> Parameters:
    """The parameters of `log` as it is set up now; `assembly` is what was put around it.

    Raises BadTime and what reading the state raises.
    """
    state, projection, config = log.state(), log.projection(), log.config
    own = sorted({str(name) for name in (*state.windows, *projection.windows) if name is not None})
    ops = {e.op.agent: e.number for e in state.ledger.entries if not e.void and isinstance(e.op, Window)}
    return Parameters(
        now=counted_from(log, state, projection),
        window=_window(log, state, ops, None),
        agents={agent: _window(log, state, ops, agent) for agent in own},
        newest=ValueWithOrigin(projection.newest, config.origin("window.messages")),
        agent=projection.agent,
        thread=projection.thread,
        at=log.looked_at().number if log.at is not None else None,
        before=log.at is not None and log.at.endswith(BEFORE),
        conversation=log.opening.conversation,
        format=log.opening.format.name,
        owner=log.opening.owner,
        forced=_forced(log, state) if log.force else [],
        assembly=None if assembly is None else [Around(one.kind, one.source) for one in assembly],
        budget=None if log.fitted is None else ValueWithOrigin(log.fitted.budget, log.fitted.origin),
    )


def counted_from(log: OpenLog, state: State, projection: Projection) -> WindowOrigin:
    """What windows count from. Raises BadTime."""
    asked = log.now or log.config["now"]
    moment = projection.now
    if asked == "last" and windowed(state, projection):
        moment = state.last
    return WindowOrigin(asked, None if moment is None else iso(moment), FLAG if log.now else log.config.origin("now"))


def _window(log: OpenLog, state: State, ops: Mapping[str | None, int], agent: str | None) -> ValueWithOrigin:
    """The window of one agent, or for all: ops first, the agent's own before the one for all (replay 40).

    `ops`: the number of the newest op for each.
    """
    for level in (agent, None):
        if level in state.windows:
            return ValueWithOrigin(state.windows[level], f"op {ops[level]}")
    own = log.config.windows().get(agent) if agent is not None else None
    if own is not None:
        return ValueWithOrigin(own.value, own.origin)
    return ValueWithOrigin(log.config["window.default"] or 0, log.config.origin("window.default"))


def _forced(log: OpenLog, state: State) -> list[str]:
    entries = [entry for entry in state.ledger.entries if not entry.void and entry.op is not None]
    found = [(entry, faults(entry, state.transcript, log.identity)) for entry in entries]
    return [f"op {entry.number} ({entry.name}) {fault[1]}" for entry, fault in found if fault is not None]
