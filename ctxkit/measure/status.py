"""status: how full a context is, what is in it and what is out of it and why, and what state its log is in.

Reads an opened log; the command of the same name prints a `Status`. Without tokens, filter or window its cost is that
of reading the log: nothing here goes through the messages one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from ctxkit.content.thinking import unsent
from ctxkit.core.assembly import NOTHING, Assembly
from ctxkit.core.derive.usage import Figures, Measured, Overhead
from ctxkit.core.ended_ops import ended
from ctxkit.core.item_names import Names
from ctxkit.core.messages import Damage, Message
from ctxkit.core.state import State
from ctxkit.core.times import iso
from ctxkit.core.transcript import MAIN
from ctxkit.core.visibility import IN, Visibilities
from ctxkit.errors import BadConfig, DamagedOp, Misfit, NoPermission, ReadFailed, Usage
from ctxkit.formats.columns import Columns
from ctxkit.logfile.open import OpenLog
from ctxkit.logfile.parameters import Parameters, ValueWithOrigin, parameters
from ctxkit.measure.limit import context_limit

Level = Literal["green", "yellow", "red"]

UNDONE = ": nothing was "
"""How other commands end what they say of a log that they refuse."""
PLACES = 5
"""Damaged places that are named; all are counted, and `check` names them."""


class Budget(msgspec.Struct, frozen=True):
    """Tokens. `used` and `counter` are None where nothing was counted; what follows from a limit, where none is known.

    `available`: limit − reserve − used, not below 0; `over`: how much more than the limit is used. `percent`: used of
    the limit; `level`: where that lies between `status.yellow` and `status.red`. `measured`: what of it the provider
    counted; without what is put around the messages. `beside`: what is sent besides them, as far as
    it is not within the provider's count a part of `used`.
    """

    used: int | None
    counter: str | None
    limit: ValueWithOrigin
    reserve: int
    available: int | None = None
    over: int | None = None
    percent: float | None = None
    level: Level | None = None
    measured: Measured | None = None
    beside: Overhead | None = None


class MarkStatus(msgspec.Struct, frozen=True):
    """A mark that can be rewound to. `position`: messages before it; `since`: messages after it."""

    label: str | None
    op: int
    id: str
    position: int
    since: int


class NamedGroup(msgspec.Struct, frozen=True):
    """An agent or a thread. `last`: the newest time of its messages, ISO; None where none has one."""

    name: str
    messages: int
    in_context: int
    last: str | None


class DamagedPlace(msgspec.Struct, frozen=True):
    """A damaged place."""

    where: str
    code: str
    text: str


class SkippedThinking(msgspec.Struct, frozen=True):
    """Blocks of thinking in the context that its program goes on without, and why."""

    blocks: int
    why: str


class Status(msgspec.Struct, frozen=True):
    """All of it. `total`: messages of the log and what ops brought in (`items` of them); `inside` of these are in the
    context, the others in `out` by kind: the figures add up. `ops`: in force, and void because undone.
    """

    log: str
    model: str
    tokens: Budget
    parameters: Parameters
    total: int
    items: int
    inside: int
    out: dict[str, int]
    marks: list[MarkStatus]
    ops: int
    void: int
    agents: list[NamedGroup]
    threads: list[NamedGroup]
    damaged: int
    damage: list[DamagedPlace]
    warnings: list[str]
    sidecar: str | None
    thinking: SkippedThinking | None = None


def status(log: OpenLog, *, tokens: bool = True, limit: int | None = None, assembly: bool = True) -> Status:
    """How `log` stands, through its projection.

    `tokens` False: nothing is counted, no content is read. `limit`: in tokens, before that of the config. `assembly`:
    what is put around the messages counts too.

    What keeps others from going on is told among the warnings: ops that do not fit or are damaged (they are applied all
    the same), and files that cannot be put around. Raises UnknownAgent, NoSuchOp, BadTime, Usage.
    """
    if limit is not None and limit < 1:
        raise Usage(f"a limit of {limit} tokens", "it is at least 1")
    trouble: list[str] = []
    state = _state(log, trouble)
    visibilities = Visibilities(state, log.projection())
    tally = visibilities.tally()
    places = list(_damage(log))
    around = _around(log, trouble) if tokens and assembly else None
    beside = log.opening.sidecar
    left = unsent(log) if tokens else None
    over = ended(state)
    return Status(
        log=log.opening.name,
        model=log.model,
        tokens=budget(log, around, limit, tokens=tokens, trouble=trouble),
        parameters=parameters(log, around),
        total=sum(tally.values()),
        items=len(state.board.items),
        inside=tally.pop(IN),
        out=tally,
        marks=[MarkStatus(m.label, m.number, m.op, m.position, state.count - m.position) for m in state.marks],
        ops=sum(not entry.void and entry.number not in over for entry in state.ledger.entries),
        void=sum(entry.void for entry in state.ledger.entries),
        agents=named(state, "agent", visibilities.visible),
        threads=threads(state, visibilities.visible),
        damaged=len(places),
        damage=places[:PLACES],
        warnings=[*log.opening.notices, *log.config.notices, *log.noticed, *state.warnings, *trouble],
        sidecar=str(beside.folder) if beside is not None and not beside.ignored and beside.folder.is_dir() else None,
        thinking=None if left is None else SkippedThinking(left.blocks, left.why),
    )


def _state(log: OpenLog, trouble: list[str]) -> State:
    """The state; with ops that do not fit, as --force-replay makes it."""
    try:
        return log.state()
    except (Misfit, DamagedOp) as error:
        log.force = True  # then each such op is a warning of the state
        trouble.append(f"other commands refuse this log: {error.hint}")
        return log.state()


def _around(log: OpenLog, trouble: list[str]) -> Assembly | None:
    """What is put around; None where a file that belongs to it is missing."""
    from ctxkit.logfile.assembly_sources import assemble

    try:
        return assemble(log)
    except (BadConfig, NoPermission, ReadFailed) as error:
        trouble.append(f"{error.message.partition(UNDONE)[0]}: the text around the messages is not counted")
        return None


def budget(
    log: OpenLog, around: Assembly | None = None, limit: int | None = None, *, tokens: bool = True,
    trouble: list[str],
) -> Budget:  # fmt: skip
    """What the context, and all that is sent `around` it, are of the limit: `limit`, else the config's, else the
    model's. `trouble` is told of a file with tools that is missing.
    """
    config = log.config
    if not tokens:
        return Budget(None, None, ValueWithOrigin(*context_limit(log, limit, look=False)), config["reserve"])
    held = ValueWithOrigin(*context_limit(log, limit))
    from ctxkit.measure.count import Counting  # brings sqlite3: only where tokens are counted
    from ctxkit.measure.overhead import beside, tools_of
    from ctxkit.measure.size import measure

    counting = Counting(log)
    names = log.listed()
    measured = measure(counting, names)
    try:
        tools = tools_of(log)
    except (BadConfig, NoPermission, ReadFailed) as error:
        tools = ()
        trouble.append(f"{error.message.partition(UNDONE)[0]}: no tools are counted")
    if counting.counter.missing is not None:
        trouble.append(counting.counter.missing)
    more = beside(counting, around or NOTHING, tools, measured)
    counted = measured.tokens + more.added
    counter = measured.counter
    log.tell(Figures(counted, counted, counter, len(names), limit=held.value))
    if held.value is None:
        return Budget(counted, counter, held, config["reserve"], measured=measured, beside=more)
    left = held.value - config["reserve"] - counted
    percent = 100 * counted / held.value
    return Budget(
        counted, counter, held, config["reserve"], max(0, left), max(0, counted - held.value), round(percent, 2),
        level(percent, config["status.yellow"], config["status.red"]), measured, more,
    )  # fmt: skip


def level(percent: float, yellow: float, red: float) -> Level:
    """Below `yellow` green, from `red` on red."""
    return "red" if percent >= red else "yellow" if percent >= yellow else "green"


def named(state: State, kind: Literal["agent", "thread"], visible: Names) -> list[NamedGroup]:
    """The agents or threads of a log and of what ops brought in, in the order in which they appear."""
    count: dict[str, int] = {}
    inside: dict[str, int] = {}
    last: dict[str, float] = {}

    def add(name: str, moment: float | None, *, shown: bool) -> None:
        count[name] = count.get(name, 0) + 1
        inside[name] = inside.get(name, 0) + shown
        if moment is not None:
            last[name] = max(moment, last.get(name, moment))

    for n, name in _names(state.messages, kind).items():
        add(name, state.times.of(n), shown=n in visible.numbers)
    for item in state.board.items.values():
        own = item.message.get(kind)
        if isinstance(own, str):
            add(own, state.original(item.name), shown=item.name in visible.items)
    return [
        NamedGroup(name, n, inside[name], iso(int(last[name])) if name in last else None) for name, n in count.items()
    ]


def threads(state: State, visible: Names) -> list[NamedGroup]:
    """The threads; before sidechains the main thread, whose messages name none."""
    found = named(state, "thread", visible)
    if not state.threads:
        return found
    numbers = [message.n for message in state.messages if message.thread is None]
    latest = max((moment for n in numbers if (moment := state.times.of(n)) is not None), default=None)
    last = None if latest is None else iso(int(latest))
    return [NamedGroup(MAIN, len(numbers), sum(n in visible.numbers for n in numbers), last), *found]


def _names(messages: Sequence[Message], kind: Literal["agent", "thread"]) -> Mapping[int, str]:
    """Number -> agent or thread, of the messages that have one: columns know them without a look at each message."""
    if isinstance(messages, Columns):
        return messages.agents if kind == "agent" else messages.threads
    found = ((message.n, getattr(message, kind)) for message in messages)
    return {n: name for n, name in found if name is not None}


def _damage(log: OpenLog) -> Iterable[DamagedPlace]:
    own: Iterable[Damage] = (*log.transcript.damage, *log.ledger.damage)
    for one in own:
        yield DamagedPlace(f"line {one.line}", one.code, one.text)
    for one in log.opening.sidecar_damage:
        yield DamagedPlace(f"ops.jsonl line {one.line}", one.code, one.text)


def as_json(found: Status) -> dict[str, Any]:
    """The machine form: every key is always there."""
    built: dict[str, Any] = msgspec.to_builtins(found)
    return built
