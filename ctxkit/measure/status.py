"""The status of a log: how full its context is, what is in it, what is out of it and why, what is damaged.

The command `status` prints a `Status`. Without tokens, filter or window it costs no more than reading the log: it does
not make the messages one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec
from msgspec import structs

from ctxkit.content.thinking import unsent
from ctxkit.core.assembly import NOTHING, Assembly
from ctxkit.core.derive.usage import Figures, Measured, Overhead
from ctxkit.core.ended_ops import in_force
from ctxkit.core.item_names import Names
from ctxkit.core.messages import Damage, Message
from ctxkit.core.ops import Compact
from ctxkit.core.state import State
from ctxkit.core.times import iso
from ctxkit.core.transcript import MAIN
from ctxkit.core.visibility import IN, Visibilities
from ctxkit.errors import BadConfig, DamagedOp, Misfit, NoPermission, ReadFailed, Usage
from ctxkit.formats.columns import Columns
from ctxkit.logfile.open import OpenLog
from ctxkit.logfile.parameters import Parameters, ValueWithOrigin, parameters
from ctxkit.logfile.unpaired import unpaired
from ctxkit.measure.limit import context_limit

Level = Literal["green", "yellow", "red"]

UNDONE = ": nothing was "
"""What follows the cause in messages of commands that refuse a log."""
PLACES = 5
"""The most damaged places that are listed. All are counted, and `check` lists them."""


class Budget(msgspec.Struct, frozen=True):
    """Tokens in use and left. `used` and `counter` are None if nothing was counted; `available`, `over`, `percent` and
    `level` if no limit is known.

    `available`: limit − reserve − used, not below 0; `over`: what is used beyond the limit; `percent`: used of the
    limit; `level`: of `percent`, by `status.yellow` and `status.red`. `measured`: the messages; `beside`: what is sent
    besides them. `used` includes what of `beside` is not in the provider's count.
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
    """An agent or a thread. `in_context`: messages in the context of all, whatever agent or thread was asked for.
    `last`: the newest time of its messages, ISO; None if none has a time.
    """

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
    """Blocks of thinking in the context that the program does not send, and why."""

    blocks: int
    why: str


class Status(msgspec.Struct, frozen=True):
    """The status of a log.

    `total`: messages of the log and those that ops added (`items`); `inside`: those in the context; `out`: the others,
    by kind; `inside` and `out` add up to `total`. `ops`: in force, `void`: undone; undos are not counted. `damaged`:
    places of lines, links, pairs and ops. `compactions`: by the program, and by ctxkit if in force. `cut_before`: the
    line before which a missing record ends the context, None if none does. `colors`: of the agents that the config
    gives one.
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
    cut_before: int | None = None
    compactions: int = 0
    colors: dict[str, str] = {}


def status(log: OpenLog, *, tokens: bool = True, limit: int | None = None, assembly: bool = True) -> Status:
    """Makes the status of `log`, through its projection.

    `tokens` False: nothing is counted, no content is read. `limit`: in tokens, instead of the config's. `assembly`:
    texts around the messages are counted too.

    Causes for which other commands refuse the log are warnings here: ops that do not fit or are damaged (they are still
    applied), and missing files of the assembly. Raises UnknownAgent, NoSuchOp, BadTime, Usage.
    """
    if limit is not None and limit < 1:
        raise Usage(f"a limit of {limit} tokens", "it is at least 1")
    trouble: list[str] = []
    state = _state(log, trouble)
    visibilities = Visibilities(state, log.projection())
    tally = visibilities.tally()
    seen = log.projection()
    for_all = structs.replace(seen, agent=None, thread=None)
    everybody = visibilities.visible if seen == for_all else Visibilities(state, for_all).visible
    places = list(_damage(log))
    around = _around(log, trouble) if tokens and assembly else None
    beside = log.opening.sidecar
    left = unsent(log, around or NOTHING) if tokens else None
    view = log.transcript.view
    ops = in_force(state)
    cuts = view.cuts if view is not None else []
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
        ops=len(ops),
        void=sum(entry.void for entry in state.ledger.entries if entry.name != "undo"),
        agents=named(state, "agent", everybody),
        threads=threads(state, everybody),
        damaged=len(places),
        damage=places[:PLACES],
        warnings=[*log.opening.notices, *log.config.notices, *log.noticed, *state.warnings, *trouble],
        sidecar=str(beside.folder) if beside is not None and not beside.ignored and beside.folder.is_dir() else None,
        thinking=None if left is None else SkippedThinking(left.blocks, left.why),
        cut_before=view.cut_before or None if view is not None else None,
        compactions=sum(cut.is_compaction for cut in cuts) + sum(isinstance(entry.op, Compact) for entry in ops),
        colors={name: own["color"].value for name, own in log.config.agents.items() if "color" in own},
    )


def _state(log: OpenLog, trouble: list[str]) -> State:
    """The state; if ops do not fit, the state that --force-replay makes."""
    try:
        return log.state()
    except (Misfit, DamagedOp) as error:
        log.force = True  # each such op becomes a warning of the state
        trouble.append(f"other commands refuse this log: {error.hint}")
        return log.state()


def _around(log: OpenLog, trouble: list[str]) -> Assembly | None:
    """The texts around the messages; None if a file of the assembly is missing."""
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
    """Compares the context, with what is sent `around` it, to the limit: `limit`, else that of `context_limit`.

    Adds to `trouble` if a file with tools or a tokenizer is missing.
    """
    config = log.config
    if not tokens:
        return Budget(None, None, ValueWithOrigin(*context_limit(log, limit, look=False)), config["reserve"])
    held = ValueWithOrigin(*context_limit(log, limit))
    from ctxkit.measure.count import Counting  # imports sqlite3: needed only if tokens are counted
    from ctxkit.measure.overhead import beside, tools_of
    from ctxkit.measure.size import measure

    counting = Counting(log)
    names = log.listed()
    measured = measure(counting, names, around or NOTHING)
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
    """The level of a percentage: from `red` on red, from `yellow` on yellow, else green."""
    return "red" if percent >= red else "yellow" if percent >= yellow else "green"


def named(state: State, kind: Literal["agent", "thread"], visible: Names) -> list[NamedGroup]:
    """The agents or threads of a log and of the items that ops added, in order of appearance."""
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
    """The threads. If there are any, the main thread is first; its messages name no thread."""
    found = named(state, "thread", visible)
    if not state.threads:
        return found
    numbers = [message.n for message in state.messages if message.thread is None]
    latest = max((moment for n in numbers if (moment := state.times.of(n)) is not None), default=None)
    last = None if latest is None else iso(int(latest))
    return [NamedGroup(MAIN, len(numbers), sum(n in visible.numbers for n in numbers), last), *found]


def _names(messages: Sequence[Message], kind: Literal["agent", "thread"]) -> Mapping[int, str]:
    """Number -> agent or thread, of the messages that have one. `Columns` has both, without a look at each message."""
    if isinstance(messages, Columns):
        return messages.agents if kind == "agent" else messages.threads
    found = ((message.n, getattr(message, kind)) for message in messages)
    return {n: name for n, name in found if name is not None}


def _damage(log: OpenLog) -> Iterable[DamagedPlace]:
    own: Iterable[Damage] = (*log.transcript.damage, *log.transcript.broken, *log.ledger.damage)
    for one in own:
        yield DamagedPlace(one.place, one.code, one.text)
    for alone in unpaired(log.messages):
        if alone.code in log.opening.format.leaves:  # else its program mends it, or nobody sends it: a note of `check`
            yield DamagedPlace(f"message {alone.n}", alone.code, alone.text)
    for one in log.opening.sidecar_damage:
        yield DamagedPlace(f"ops.jsonl line {one.line}", one.code, one.text)


def as_json(found: Status) -> dict[str, Any]:
    """The status as JSON values, with every key always present."""
    built: dict[str, Any] = msgspec.to_builtins(found)
    return built
