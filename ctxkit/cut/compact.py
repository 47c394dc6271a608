"""Replaces a part of a log's context by a summary, with an op: decides whether to, and describes the result.

`cut/compact_plan.py` makes the plan. There is no second compact within the cooldown, also if another process made the
first.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from math import ceil
from typing import TYPE_CHECKING, Any

import msgspec

from ctxkit.core.decision import Decision
from ctxkit.core.derive.usage import Figures
from ctxkit.core.item_names import NOTHING, Names
from ctxkit.core.ledger import LedgerEntry
from ctxkit.core.ops import Compact, Undo
from ctxkit.core.select import Selection
from ctxkit.core.strategies import GIVEN, MODEL, NAMES, RULES, asks_model
from ctxkit.core.times import written
from ctxkit.cut.compact_plan import CompactGoal, CompactionOutcome, CompactionPlan, plan_compact, whole
from ctxkit.cut.rank.candidates import FEWEST, KeptTail
from ctxkit.cut.trim import Trimming
from ctxkit.cut.trim_plan import LONG
from ctxkit.errors import BadConfig, BadSummary, CoolingDown, NothingChanges, Usage
from ctxkit.llm.hooks import Hooks
from ctxkit.measure.limit import context_limit
from ctxkit.measure.size import uncached, uncached_line
from ctxkit.settings.keys import key_of

if TYPE_CHECKING:
    from ctxkit.logfile.commit import WritableLog


FOCUSED = (RULES, MODEL)
"""The strategies that a focus is for."""


class CompactRequest(msgspec.Struct, frozen=True):
    """The options of a compact. None: the config's value.

    `target`: percent of the tokens of all messages, `30` or `"30%"`; `budget`: tokens. `keep_last`, `keep_steps`: how
    many of the newest exchanges or steps stay; None: as many as fit into their share of the budget. `summary`: a given
    text that replaces the messages. `force`: compact even if the context is not full. `model`: for the strategy `llm`;
    `fast`: the config's fast model; `fallback`: the rules write the summary if the model gives none; `hooks`: called
    while the model is asked; `focus`: what the summary should say most about.
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
    focus: str = ""

    @property
    def is_bare(self) -> bool:
        """Whether the only reason to compact is a full context."""
        named = (self.target, self.budget, self.summary)
        return not self.force and self.selection.empty and all(one is None for one in named)


class Compacted(msgspec.Struct, frozen=True):
    """The figures of a compact: what `ctxkit compact --json` prints. The page of the command explains the keys."""

    found: CompactionOutcome
    seconds: float

    def as_json(self, op: Mapping[str, Any] | None) -> dict[str, Any]:
        """The report as JSON values. `op`: its line in the log."""
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
    """Decides the op that compacts the context, and returns its figures; no op and no figures if nothing is to be done.

    Raises CoolingDown; NothingChanges if nothing would be smaller; Usage; BadSummary; BadConfig if a limit or a model
    is needed and none is known; ModelFailed if the model fails and `fallback` is off.
    """
    began, thread = time.perf_counter(), log.lens_thread
    try:
        return _decided(log, asked, began)
    finally:
        log.lens_thread = thread  # a sidechain is selected only while it is compacted


def _decided(log: WritableLog, asked: CompactRequest, began: float) -> tuple[Decision, Compacted | None]:
    goal = goal_of(log, asked)
    if asked.force or asked.is_bare:
        check_cooldown(log, asked, goal)
    if asked.is_bare and context_limit(log).tokens is None:
        text = "I do not know this model's limit, so I cannot tell how full the context is: nothing was changed"
        raise BadConfig(text, "--target 30% compacts anyway; or set `limit` or `model` in the config")
    base = whole(log)
    # also if nothing is done in the end
    log.tell(
        Figures(base.total, base.total, base.measured.counter, len(base.shown), limit=base.limit, beyond=base.hidden)
    )
    if asked.is_bare and base.limit is not None and (said := _not_full(log, base, base.limit)):
        return Decision(None, said), None
    messages = base.total - base.fixed
    if goal.budget is not None and messages <= goal.budget and asked.summary is None and asked.selection.empty:
        said = f"{messages:,} of {goal.budget:,} tokens ({base.measured.counter}): it fits, nothing was changed."
        return Decision(None, said), None
    if goal.budget is None and goal.percent >= 100 and asked.summary is None and asked.selection.empty:
        said = f"{messages:,} tokens ({base.measured.counter}) are {goal.percent:g} % or less: nothing was changed."
        return Decision(None, said), None
    found = plan_compact(log, base, goal)
    if asked.summary is None and (said := found.reached):
        raise NothingChanges(f"{said}: nothing was changed", "use --force or a smaller --target to condense further")
    if asks_model(goal.strategy):  # the model would be asked for the same summary again
        check_cooldown(log, asked, goal)
    if not found.is_worth and not found.stubs:
        shorter = found.shortened_alone()
        if shorter is None:
            return Decision(None, _too_few(found)), None
        found = shorter
    made = _made(found)
    found = made.made_by
    log.tell(made.figures)
    # a summary by a model or a person is not made again if other ops come meanwhile
    decision = Decision(made.op, headline(made), list(_notes(found, made)), settled=found.definition.by_others)
    return decision, Compacted(made, time.perf_counter() - began)


def _made(found: CompactionPlan) -> CompactionOutcome:
    """The context with a summary. If little may be replaced and the summary misses the goal, the context with shortened
    messages instead if that is nearer to the goal. Raises NothingChanges.
    """
    made: CompactionOutcome | NothingChanges
    try:
        made = found.carry_out()
        plan = made.made_by
    except NothingChanges as error:
        made, plan = error, found
    # where the same summary comes again, shortening was weighed when it was made
    again = bool(plan.places) and all(plan.units[place].is_summary for place in plan.places)
    is_little = plan.loose <= LONG or len(plan.ids) < FEWEST
    misses = not again if isinstance(made, NothingChanges) else not made.is_near
    shorter = found.shortened_alone() if is_little and misses else None
    if shorter is not None:
        other = shorter.carry_out()
        if isinstance(made, NothingChanges) or other.is_nearer(made):
            return other
    if isinstance(made, NothingChanges):
        raise made
    return made


def headline(made: CompactionOutcome) -> str:
    """The first line of the report of a compact."""
    return f"Context condensed ({made.before:,} → {made.after:,} tokens)"


def goal_of(log: WritableLog, asked: CompactRequest) -> CompactGoal:
    """The goal of a request, completed by the config. Raises Usage, BadSummary, BadConfig."""
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
            "this strategy asks no model: nothing was changed", f"--summary-model and --fast are for --strategy {MODEL}"
        )
    if asked.summary is not None:
        strategy = GIVEN
        from ctxkit.cut.summarize.ask_model import require_text

        require_text("the summary", asked.summary, "summary=TEXT; a model is named: summary_model=NAME")
        if not asked.summary.strip():
            raise BadSummary("the summary is empty: nothing was changed", "give the text that replaces the messages")
    elif strategy not in NAMES:
        raise Usage(f"no strategy {strategy!r}: nothing was changed", f"{', '.join(NAMES)}")
    if asked.focus and strategy not in FOCUSED:
        raise Usage(
            "a focus is for a summary of chosen lines: nothing was changed", f"use --strategy {' or '.join(FOCUSED)}"
        )
    model = ""
    if asks_model(strategy):
        from ctxkit.cut.summarize.ask_model import model_of

        model = model_of(log, asked.model, fast=asked.fast)
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
        percent, asked.budget, keep, strategy, chosen, part, asked.summary, selection, model, asked.fallback,
        asked.hooks, asked.force, asked.is_bare,
        focus=asked.focus,
    )  # fmt: skip


def _target(asked: float | str) -> float:
    key = key_of("compact.target")
    try:
        found = float(key.read(key.typed(asked.strip()) if isinstance(asked, str) else asked))
    except ValueError as error:
        raise Usage(
            f"the target {asked!r} is not a percentage: nothing was changed", f"{error}, such as 30%"
        ) from error
    if 0 < found < 1:  # a fraction, as other programs write it
        raise Usage(f"the target {asked} is {found:g} %: nothing was changed", f"did you mean {100 * found:g}%?")
    return found


def check_cooldown(log: WritableLog, asked: CompactRequest, goal: CompactGoal) -> None:
    """Raises CoolingDown within the cooldown after the newest compact in force, by the log's clock.

    The cooldown is for compacts that do more each time: automatic ones, those with --force, and those that ask a model.
    There is none if `asked` and `goal` differ from the newest compact (chosen messages, target, strategy, tail), or if
    anything was undone since.
    """
    state, cooldown = log.state(), int(log.config["compact.cooldown"])
    in_force = {source for _, source in state.representation}
    entries = state.ledger.entries
    newest = next((one for one in reversed(entries) if one.number in in_force and isinstance(one.op, Compact)), None)
    moment = written(newest.body.get("ts")) if newest is not None else None
    if newest is None or moment is None or any(isinstance(one.op, Undo) for one in entries[newest.number :]):
        return
    if _is_new(log, asked, goal, newest):
        return
    since = log.clock() - moment
    if abs(since) < cooldown:  # negative: the time was written by a clock that is ahead
        left = ceil(cooldown - max(0.0, since))
        text = f"op {newest.number} compacted this log {max(0, int(since))} s ago: {left} s of the cooldown are left"
        hint = (
            f"in {left} s, or with other arguments; `ctxkit config LOG set compact.cooldown off` turns the cooldown off"
        )
        raise CoolingDown(f"{text}: nothing was changed", hint)


def _is_new(log: WritableLog, asked: CompactRequest, goal: CompactGoal, newest: LedgerEntry) -> bool:
    """Whether the request differs from the one of the `newest` compact."""
    op = newest.op
    if not isinstance(op, Compact) or asked.summary is not None or not asked.selection.empty:
        return True
    named = asked.target is not None or asked.budget is not None
    if (named and goal.target != op.target) or (asked.strategy is not None and goal.strategy != op.strategy):
        return True
    by = newest.body.get("by")
    if asked.focus != (op.focus or ""):
        return True
    other = (asked.keep_last, asked.keep_steps, asked.model) != (None, None, None) or asked.fast
    return other and not (log.args and isinstance(by, Mapping) and by.get("args") == list(log.args))


def _not_full(log: WritableLog, base: Trimming, limit: int) -> str | None:
    """The message if the context is below the threshold; None if it is not."""
    threshold = float(log.config["compact.threshold"])
    used = base.total + base.measured.once  # the program that goes on has all of it
    if 100 * used >= threshold * limit:
        return None
    share = _percent(used, limit)
    full = f"{used:,} of {limit:,} tokens ({base.measured.counter}), {share:g} %"
    below = f"below the threshold of {threshold:g} %: nothing was changed"
    return f"{full}: {below} (--target or --force compacts anyway)."


def _too_few(found: CompactionPlan) -> str:
    count = len(found.ids)
    what = "no message" if not count else f"only {count} message{'s' * (count != 1)}"
    said = f"nothing to condense: {what} of {len(found.names)} may be replaced; a summary needs {FEWEST}."
    chosen = found.asked.chosen or NOTHING
    parts = sum(name in chosen for unit in found.units if not unit.chosen for name in unit.names)
    some = (
        "1 of the chosen messages is only a part" if parts == 1 else f"{parts:,} of the chosen messages are only parts"
    )
    return f"{said} A step is replaced only as a whole, and {some} of a step." if parts else said


def _notes(found: CompactionPlan, made: CompactionOutcome) -> list[str]:
    state, count = found.state, len(made.replaced)
    replaced = f"{count:,} message{'s' * (count != 1)} ({state.brief(made.replaced)})"
    notes = []
    if made.shortened:
        many = f"{len(made.shortened):,} message{'s' * (len(made.shortened) != 1)} ({state.brief(made.shortened)})"
        notes.append(f"shortened: {many}: the start, the end and the most useful lines stay; {made.counter}")
    if count:
        notes.append(found.definition.note(found, made, replaced))
    if found.originals != found.messages and found.asked.budget is None and not found.asked.part:
        notes.append(
            f"the target counts from {found.originals:,} tokens: summarized messages count with their original size"
        )
    left = (name for place in range(found.tail, len(found.units)) for name in found.units[place].names)
    if found.asked.chosen is not None and (near := Names.of(left) & found.asked.chosen):
        notes.append(f"kept, because they are the newest: {state.brief(near)} (--keep-last 0 replaces them too)")
    if not made.reached:
        notes.append(_floor(found, made))
    if (lost := uncached(found.base.measuring, found.log, made.seen)) is not None:
        notes.append(uncached_line(found.log, lost))
    return notes


def _floor(found: CompactionPlan, made: CompactionOutcome) -> str:
    """The note if the target is not reached: the smallest possible result, and what would leave less."""
    goal = found.asked
    asked = f"{goal.percent:g} %" if goal.budget is None else f"{goal.budget:,} tokens"
    least = f"{_percent(made.after, made.before):g} %, {made.after:,} tokens, is the smallest possible result"
    return f"the target of {asked} cannot be reached: {found.definition.floor(found, made, least)}"


def _percent(part: int, of: int) -> float:
    return round(100 * part / of, 1) if of else 0.0
