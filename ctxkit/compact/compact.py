"""Compact: a part of a log's context is replaced by a summary, as an op; whether it is time for it, and what is said.

`compact/plan.py` makes the plan. One compact at a time: none within the cooldown after another, and none beside one
that another process appended meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from math import ceil
from typing import TYPE_CHECKING, Any

import msgspec

from ctxkit.compact.ask_model import model_of, require_text
from ctxkit.compact.candidates import FEWEST, KeptTail
from ctxkit.compact.plan import CompactGoal, CompactionOutcome, CompactionPlan, whole
from ctxkit.core.decision import Decision
from ctxkit.core.derive.usage import Figures
from ctxkit.core.item_names import NOTHING, Names
from ctxkit.core.ledger import LedgerEntry
from ctxkit.core.ops import Compact, Undo
from ctxkit.core.select import Selection
from ctxkit.core.strategies import GIVEN, MODEL, NAMES, asks_model
from ctxkit.core.times import written
from ctxkit.errors import BadConfig, BadSummary, CoolingDown, NothingChanges, Usage
from ctxkit.llm.hooks import Hooks
from ctxkit.measure.limit import context_limit
from ctxkit.store.config import key_of
from ctxkit.trim.plan import LONG
from ctxkit.trim.trim import Trimming

if TYPE_CHECKING:
    from ctxkit.logfile.commit import WritableLog


class CompactRequest(msgspec.Struct, frozen=True):
    """What a compact was asked for. `target`: percent of the tokens of all messages, `30` or `"30%"`; `budget`: so
    many tokens; None: as the config says. `keep_last`: newest exchanges, `keep_steps`: newest steps that stay; None: as
    many as their share of the budget has room for. `summary`: what stands for the messages, by whoever wrote it.
    `force`: also where the context is not full. `model`: who is asked by the strategy `llm`, `fast`: the config's fast
    one; None: the config's; `fallback`: rules take over where it gives no summary; `hooks`: what the caller does then.
    """

    target: float | str | None = None
    budget: int | None = None
    keep_last: int | None = None
    keep_steps: int | None = None
    strategy: str | None = None
    summary: str | None = None
    force: bool = False
    selection: Selection = Selection()
    model: str | None = None
    fast: bool = False
    fallback: bool = True
    hooks: Hooks = Hooks()

    @property
    def is_bare(self) -> bool:
        """Whether nothing asks for it but the context being full."""
        named = (self.target, self.budget, self.summary)
        return not self.force and self.selection.empty and all(one is None for one in named)


class Compacted(msgspec.Struct, frozen=True):
    """What a compact did, in figures: what `ctxkit compact --json` prints, whose page explains the keys."""

    found: CompactionOutcome
    seconds: float

    def as_json(self, op: Mapping[str, Any] | None) -> dict[str, Any]:
        """The report, with the op as it stands in the log."""
        found = self.found
        return {
            "op": op,
            "strategy": found.op.strategy,
            "replaced": str(found.replaced),
            "messages": len(found.replaced),
            "shortened": str(found.shortened),
            "tokens": {
                "before": found.before, "after": found.after, "summary": found.summary,
                "besides": found.made_by.base.fixed, "counter": found.counter,
            },
            "target": {
                "tokens": found.goal, "percent": found.asked, "of": found.made_by.originals, "reached": found.reached,
            },
            "percent": _percent(found.after, found.before),
            "floor": None if found.reached else found.after,
            "kept": {name: {"kept": kept, "of": of} for name, (kept, of) in found.kept().items()},
            "seconds": round(self.seconds, 3),
        }  # fmt: skip


def compact(log: WritableLog, asked: CompactRequest) -> tuple[Decision, Compacted | None]:
    """The op that condenses the context, and what it did in figures. Raises CoolingDown, NothingChanges where nothing
    would be smaller, Usage, BadSummary, BadConfig where it has to know how full the context is, and no limit is known,
    or where no model is named, ModelFailed where one fails and nothing may take over.
    """
    began, thread = time.perf_counter(), log.lens_thread
    try:
        return _decided(log, asked, began)
    finally:
        log.lens_thread = thread  # a sidechain is only looked at while it is compacted


def _decided(log: WritableLog, asked: CompactRequest, began: float) -> tuple[Decision, Compacted | None]:
    wish = wish_of(log, asked)
    if asked.force or asked.is_bare:
        cool(log, asked, wish)
    if asked.is_bare and context_limit(log).tokens is None:
        text = "I do not know this model's limit, so I cannot tell how full the context is: nothing was changed"
        raise BadConfig(text, "--target 30% (or --budget N) compacts anyway; or set `limit` or `model` in the config")
    base = whole(log)
    log.tell(_as_it_is(base))  # whether or not anything comes of it
    if asked.is_bare and base.limit is not None and (said := _not_full(log, base, base.limit)):
        return Decision(None, said), None
    messages = base.total - base.fixed
    if wish.budget is not None and messages <= wish.budget and asked.summary is None and asked.selection.empty:
        said = f"{messages:,} of {wish.budget:,} tokens ({base.measured.counter}): it fits, nothing was changed."
        return Decision(None, said), None
    if wish.budget is None and wish.percent >= 100 and asked.summary is None and asked.selection.empty:
        said = f"{messages:,} tokens ({base.measured.counter}) are {wish.percent:g} % or less: nothing was changed."
        return Decision(None, said), None
    found = CompactionPlan(log, base, wish)
    if asked.summary is None and (said := found.reached):
        raise NothingChanges(f"{said}: nothing was changed", "use --force or a smaller --target to condense further")
    if asks_model(wish.strategy):  # it would be asked for the same words again
        cool(log, asked, wish)
    if not found.is_worth and not found.stubs and not found.shorten_all():
        return Decision(None, _too_few(found)), None
    made = _made(found)
    found = made.made_by
    log.tell(made.figures)
    # the words of others are not made again where other ops come meanwhile
    decision = Decision(made.op, said_of(made), list(_notes(found, made)), settled=found.kind.by_others)
    return decision, Compacted(made, time.perf_counter() - began)


def _made(found: CompactionPlan) -> CompactionOutcome:
    """The context with a summary. Where what may go is no longer than one long message, and the summary leaves another
    size than was asked for: with messages cut short where they stand, if that is nearer. Raises NothingChanges.
    """
    made: CompactionOutcome | NothingChanges
    try:
        made = found.condensed()
    except NothingChanges as error:
        made = error
    if found.loose <= LONG and (isinstance(made, NothingChanges) or not made.is_near):
        other = CompactionPlan(found.log, found.base, found.wish)
        if other.shorten_all():
            shortened = other.condensed()
            if isinstance(made, NothingChanges) or shortened.is_nearer(made):
                return shortened
    if isinstance(made, NothingChanges):
        raise made
    return made


def _as_it_is(base: Trimming) -> Figures:
    return Figures(
        base.total, base.total, base.measured.counter, len(base.shown), limit=base.limit, beyond=base.hidden
    )  # fmt: skip


def said_of(made: CompactionOutcome) -> str:
    """What a compact says when it is done."""
    less = round(100 * (made.before - made.after) / max(made.before, 1))  # a provider may have counted nothing
    return f"Context condensed ({made.before:,} → {made.after:,} tokens, −{less} %)"


def wish_of(log: WritableLog, asked: CompactRequest) -> CompactGoal:
    """What is asked for, with what the config says where nothing is. Raises Usage, BadSummary, BadConfig."""
    for name, value in (("budget", asked.budget), ("keep_last", asked.keep_last), ("keep_steps", asked.keep_steps)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
            raise Usage(f"{name} must be a whole number from 0 on: nothing was changed")
    if asked.target is not None and asked.budget is not None:
        raise Usage("use either a target or a budget: nothing was changed", "use only one of them")
    if asked.summary is not None and asked.strategy is not None:
        raise Usage("a given summary needs no strategy: nothing was changed", "use only one of them")
    named = asked.model is not None or asked.fast
    strategy = asked.strategy or (MODEL if named else log.config["compact.strategy"])
    if named and (not asks_model(strategy) or asked.summary is not None):
        raise Usage(
            "this strategy asks no model: nothing was changed", f"--model and --fast are for --strategy {MODEL}"
        )
    if asked.summary is not None:
        strategy = GIVEN
        require_text("the summary", asked.summary, "summary=TEXT; a model is named: summary_model=NAME")
        if not asked.summary.strip():
            raise BadSummary("the summary is empty: nothing was changed", "give the text that replaces the messages")
    elif strategy not in NAMES:
        raise Usage(f"no strategy {strategy!r}: nothing was changed", f"{', '.join(NAMES)}")
    model = model_of(log, asked.model, fast=asked.fast) if asks_model(strategy) else ""
    percent = float(log.config["compact.target"]) if asked.target is None else _target(asked.target)
    chosen = None
    selection = asked.selection
    if selection.thread is not None and log.state().sidechain(selection.thread) is not None:
        log.lens_thread = selection.thread
    if not selection.empty:
        chosen = log.select(selection)
    part = chosen is not None and asked.target is None
    keep = KeptTail(asked.keep_last, asked.keep_steps)
    return CompactGoal(
        percent, asked.budget, keep, strategy, chosen, part, asked.summary, selection, model,
        float(log.config["compact.timeout"]), asked.fallback, asked.hooks, asked.force, asked.is_bare,
    )  # fmt: skip


def _target(asked: float | str) -> float:
    key = key_of("compact.target")
    try:
        found = float(key.read(key.typed(asked.strip()) if isinstance(asked, str) else asked))
    except ValueError as error:
        raise Usage(
            f"the target {asked!r} is not a percentage: nothing was changed", f"{error}, such as 30%"
        ) from error
    if 0 < found < 1:  # a share of one, as others write it
        raise Usage(f"the target {asked} is {found:g} %: nothing was changed", f"{100 * found:g}% was meant?")
    return found


def cool(log: WritableLog, asked: CompactRequest | None = None, wish: CompactGoal | None = None) -> None:
    """Raises CoolingDown within the cooldown after the newest compact that is in force, by the log's clock.

    For what does more each time: a compact by itself, one that insists, and one that asks a model. A target that is
    asked for again is reached, or cannot be: that is said at any time. `asked`, `wish`: where they decide anew, by
    numbers or criteria, another target, strategy or tail than that compact had, nobody waits; nor where anything was
    undone since.
    """
    state, cooldown = log.state(), int(log.config["compact.cooldown"])
    in_force = {source for _, source in state.representation}
    entries = state.ledger.entries
    newest = next((one for one in reversed(entries) if one.number in in_force and isinstance(one.op, Compact)), None)
    moment = written(newest.body.get("ts")) if newest is not None else None
    if newest is None or moment is None or any(isinstance(one.op, Undo) for one in entries[newest.number :]):
        return
    if asked is not None and wish is not None and _is_new(log, asked, wish, newest):
        return
    since = log.clock() - moment
    if abs(since) < cooldown:  # a time to come is another machine's clock, or a wrong one
        left = ceil(cooldown - max(0.0, since))
        text = f"op {newest.number} compacted this log {max(0, int(since))} s ago: {left} s of the cooldown are left"
        hint = (
            f"in {left} s, or with other arguments; `ctxkit config LOG set compact.cooldown off` turns the cooldown off"
        )
        raise CoolingDown(f"{text}: nothing was changed", hint)


def _is_new(log: WritableLog, asked: CompactRequest, wish: CompactGoal, newest: LedgerEntry) -> bool:
    """Whether this is another decision than the one that made the `newest` compact."""
    op = newest.op
    if not isinstance(op, Compact) or asked.summary is not None or not asked.selection.empty:
        return True
    named = asked.target is not None or asked.budget is not None
    if (named and wish.asked != op.target) or (asked.strategy is not None and wish.strategy != op.strategy):
        return True
    by = newest.body.get("by")
    other = (asked.keep_last, asked.keep_steps, asked.model) != (None, None, None) or asked.fast
    return other and not (log.args and isinstance(by, Mapping) and by.get("args") == list(log.args))


def _not_full(log: WritableLog, base: Trimming, limit: int) -> str | None:
    """What is said where the context is below the threshold."""
    threshold = float(log.config["compact.threshold"])
    if 100 * base.total >= threshold * limit:
        return None
    share = _percent(base.total, limit)
    full = f"{base.total:,} of {limit:,} tokens ({base.measured.counter}), {share:g} %"
    below = f"below the threshold of {threshold:g} %: nothing was changed"
    return f"{full}: {below} (--target, --budget or --force compacts all the same)."


def _too_few(found: CompactionPlan) -> str:
    count = len(found.ids)
    what = "no message" if not count else f"only {count} message{'s' * (count != 1)}"
    said = f"nothing to condense: {what} of {len(found.names)} may be replaced; a summary needs {FEWEST}."
    chosen = found.wish.chosen or NOTHING
    parts = sum(name in chosen for unit in found.units if not unit.chosen for name in unit.names)
    some = "1 is a part" if parts == 1 else f"{parts:,} are parts"
    return f"{said} A step is only replaced as a whole: of the chosen messages {some} of one." if parts else said


def _notes(found: CompactionPlan, made: CompactionOutcome) -> list[str]:
    state, count = found.state, len(made.replaced)
    told = f"{count:,} message{'s' * (count != 1)} ({state.brief(made.replaced)})"
    notes = []
    if made.shortened:
        many = f"{len(made.shortened):,} message{'s' * (len(made.shortened) != 1)} ({state.brief(made.shortened)})"
        notes.append(f"shortened: {many}: the start, the end and the most useful lines stay; {made.counter}")
    if count:
        notes.append(found.kind.note(found, made, told))
    if fixed := found.base.fixed:
        sizes = f"{made.before + fixed:,} → {made.after + fixed:,}"
        notes.append(f"with what is sent besides messages (system prompt, tools, rounding: {fixed:,} tokens): {sizes}")
    if found.originals != found.messages and found.wish.budget is None and not found.wish.part:
        notes.append(
            f"the target counts from {found.originals:,} tokens: summarized messages count with their original size"
        )
    left = (name for place in range(found.tail, len(found.units)) for name in found.units[place].names)
    if found.wish.chosen is not None and (near := Names.of(left) & found.wish.chosen):
        notes.append(f"kept, because they are the newest: {state.brief(near)} (--keep-last 0 replaces them too)")
    if not made.reached:
        notes.append(_floor(found, made))
    changed = (Names.of(found.going) if made.op.ids else made.replaced) | made.shortened
    first = next((place for place, name in enumerate(found.base.shown) if name in changed), None)
    if first is not None:
        lost = sum(found.base.tokens[name] for name in found.base.shown[first:] if name not in changed)
        where = state.label(found.base.shown[first])
        sent = f"{max(0, lost):,} tokens after it are sent uncached once"
        notes.append(f"prompt cache: valid before message {where}; {sent}")
    return notes


def _floor(found: CompactionPlan, made: CompactionOutcome) -> str:
    """What is said where the target is not reached: the least that this comes to, and what would leave less."""
    wish = found.wish
    asked = f"{wish.percent:g} %" if wish.budget is None else f"{wish.budget:,} tokens"
    least = f"{_percent(made.after, made.before):g} %, {made.after:,} tokens, is the smallest possible result"
    return f"the target of {asked} cannot be reached: {found.kind.floor(found, made, least)}"


def _percent(part: int, of: int) -> float:
    return round(100 * part / of, 1) if of else 0.0
