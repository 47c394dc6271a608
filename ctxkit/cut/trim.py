"""Makes a log's context fit a budget, by an op or for one view.

`rank/ranking.py` splits the context into units, `trim_cuts.py` says what can be shortened, and `trim_plan.py` decides.
This module measures, and turns the decision into an op.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import structs

from ctxkit.content.calls import Calls
from ctxkit.core.assembly import NOTHING
from ctxkit.core.context import names as through
from ctxkit.core.decision import Decision
from ctxkit.core.derive.synthetic_messages import SyntheticKind
from ctxkit.core.derive.usage import Figures, Overhead
from ctxkit.core.item_names import Name, Names, Sizes
from ctxkit.core.messages import Content
from ctxkit.core.ops import PARTS_VERSION, VERSION, Compact, Index, LogPosition, Op, Trim
from ctxkit.core.strategies import OF_TRIM
from ctxkit.cut.rank.ranking import Ranking
from ctxkit.cut.trim_cuts import Shortening, unshortened
from ctxkit.cut.trim_plan import LARGE, TrimPlan, TrimRank, TrimUnit, plan
from ctxkit.errors import BadConfig, DoesNotFit, NoPermission, NoRefusal, ReadFailed, Usage
from ctxkit.logfile.assembly_sources import assemble
from ctxkit.logfile.stubs import stubbed
from ctxkit.measure.count import Counting
from ctxkit.measure.limit import context_limit
from ctxkit.measure.overhead import beside, tools_of
from ctxkit.measure.size import Measuring, Uncached, uncached, uncached_line
from ctxkit.settings.keys import percent
from ctxkit.tokens.overflow import Overflow, overflow

if TYPE_CHECKING:
    from ctxkit.core.state import State
    from ctxkit.logfile.commit import WritableLog

ROOM = {
    TrimRank.SYSTEM: "the system prompt",
    TrimRank.INSTRUCTION: "instructions",
    TrimRank.PROTECTED: "protected messages",
    TrimRank.TASK: "the current task",
}
"""What is never dropped, in words."""
FIRST, UNFINISHED = "the first message", "unfinished steps"
"""What is kept as if it were protected, in words."""


OTHER_WAYS = "a larger --max-tokens, a smaller task, or a new session"
"""What to do if nothing more may go."""
NAMED = 3
"""The most parts that a note names which are too large for the room that is left."""
MOST = 0.5
"""If what is sent besides messages takes more than this share of the budget, a note says so."""


class TrimSummary(NamedTuple):
    """A trim with a summary of what it drops. `tokens`: of the summary; `dropped`, `stubbed`: numbers of messages."""

    op: Compact
    tokens: int
    dropped: int
    stubbed: int
    figures: Figures


class TrimRequest(msgspec.Struct, frozen=True):
    """The options of a trim. None: the config's value.

    `budget`: tokens, or percent of the limit (`"30%"`); None: limit minus reserve. `keep`: the newest exchanges, which
    are dropped step by step, after all older ones. `results`: how many of the newest results are not shortened.
    `exclude`: tools with calls and results that are not shortened. `least`: the fewest tokens that shortening saves,
    once it begins. `inputs`: also shorten arguments of old calls. `refusal`: text of the provider's error for this
    context. `assembly`, `status`: the texts around the context, as in `Log.export`. `images`: leave out pictures that
    the provider refuses. `strategy`: what leaves first, of `OF_TRIM`.
    """

    budget: int | str | None = None
    keep: int | None = None
    results: int | None = None
    exclude: tuple[str, ...] = ()
    least: int = 0
    inputs: bool | None = None
    refusal: str | None = None
    assembly: bool = True
    status: str | None = None
    images: bool = False
    strategy: str | None = None
    summarize: Callable[[Trimming], TrimSummary | None] | None = None
    """Writes a summary of what is dropped, for the config's `trim.summarize`."""

    def __post_init__(self) -> None:
        """Raises Usage for a value that is no whole number (a plan for NaN tokens would never end), or no strategy."""
        counts = {"keep": self.keep, "keep_results": self.results, "clear_at_least": self.least}
        share = isinstance(self.budget, str) and percent(self.budget) is not None
        for name, value in ({"max_tokens": None if share else self.budget} | counts).items():
            if isinstance(value, bool) or not isinstance(value, int | None):
                raise Usage(f"{name} must be a whole number: nothing was changed")
            if name in counts and (value or 0) < 0:
                raise Usage(f"{name} must be at least 0: nothing was changed")
        if self.strategy not in (None, *OF_TRIM):
            text = f"{self.strategy!r} is not a strategy of trim: nothing was changed"
            raise Usage(text, f"strategies are {' and '.join(OF_TRIM)}")


class Trimming:
    """One log's context, measured and ranked."""

    def __init__(self, log: WritableLog, asked: TrimRequest) -> None:
        self.log, self.asked = log, asked
        self.state = log.state()
        self.names = self.shown = log.listed()
        """What a plan may cut, and what is shown. The former is more if `window.messages` hides messages: these come in
        when others leave.
        """
        self.came = 0
        """How many messages come in."""
        self.left: int | None = None
        """Tokens that are hidden after the trim; None if no message came in."""
        self.counting = Counting(log)
        self.refusal = _read_refusal(asked.refusal)
        self.measuring = Measuring(self.counting)
        self.measured, sizes = self.measuring.with_sizes(self.names)
        sent = self._sent()
        self.refused = sent is not None
        if sent is not None:
            count = f"the provider's count, {sent:,} tokens" if self.refusal.sent else f"at least {sent:,} tokens"
            counter = f"{count}, as in the error"
            self.measured = structs.replace(self.measured, tokens=sent, known=sent, counter=counter)
        self.then = self.measured
        """The size after the trim, as `status` will report it."""
        self.beside = self._beside()
        self.scale = 1.0
        """Factor on the sizes of messages, so that they add up to what the provider's refusal says."""
        if sent is not None:
            held = min(max(self.measured.overhead or 0, self.beside.within) + self.measured.once, sent)
            self.scale = (sent - held) / (sum(sizes) or 1)
        self.tokens = self._scaled(sizes)
        self.total = max(0, self.measured.resumed) + self.beside.added
        """Tokens of the context before the trim, as a resumed session has it: a trim takes effect there."""
        self.fixed = self.total - self.tokens.total
        """Tokens that no trim removes: system prompt, tools, and what else is sent with the messages."""
        self.parts: dict[str, list[Index]] = {}
        """The pictures that are left out because the provider refuses them. `log` is a view without these."""
        self.before = self.total
        """Tokens before pictures were left out."""

    def _scaled(self, sizes: Sequence[float]) -> Sizes:
        return Sizes(self.names, (int(size * self.scale) for size in sizes))

    def _sent(self) -> int | None:
        """Tokens of a refused context: by the provider's error, else more than the limit. None without a refusal."""
        refusal, limit = self.refusal, self.limit
        if self.asked.refusal is None or refusal.sent is not None or limit is None:
            return refusal.sent
        return limit + refusal.over if refusal.over else max(limit + 1, self.measured.tokens)

    def _beside(self) -> Overhead:
        """Tokens sent besides the messages. Raises BadConfig, NoPermission, ReadFailed for files of the config."""
        try:
            self.assembly = assemble(self.log, self.asked.status) if self.asked.assembly else NOTHING
            self.tools = tools_of(self.log)
        except (BadConfig, NoPermission, ReadFailed) as error:
            error.message = error.message.replace(": nothing was printed", ": nothing was changed")
            raise
        return beside(self.counting, self.assembly, self.tools, self.measured, whole=self.refused)

    def notes(self) -> list[str]:
        """Notes for the user: on what is not counted again, and on what takes most of the budget."""
        found = []
        if self.measured.is_counted and self.beside.tools + self.beside.overhead:
            found.append("tools and overhead are not added: the provider's count includes them")
        beside = self.fixed + sum(unit.tokens for unit in self.units if unit.rank == TrimRank.SYSTEM)
        if self.total > self.budget and beside > MOST * self.budget:
            left = max(0, self.budget - beside)
            text = f"system prompt, tools and what else is sent with the messages take {beside:,} of {self.budget:,}"
            found.append(f"{text} tokens: {left:,} are left for messages")
        return found

    @cached_property
    def budget(self) -> int:
        """Tokens that the context may have.

        Raises BadConfig if no limit is known, or the reserve takes all of it; DoesNotFit if the requested reply takes
        all of it.
        """
        asked = self.asked.budget
        if isinstance(asked, int):
            return asked
        if self.limit is None:
            text = "no limit is known: neither the config nor the log's model names one: nothing was changed"
            raise BadConfig(text, "--max-tokens N, or `limit` or `model` in the config")
        if asked is not None:
            return int((percent(asked) or 0) * self.limit / 100)
        reserve, reply = int(self.log.config["reserve"]), self.refusal.reply or 0
        if reply >= self.limit:
            text = f"a reply of {reply:,} tokens was asked for, which leaves nothing of {self.limit:,}"
            raise DoesNotFit(f"{text}: nothing was changed", "ask for a shorter reply (max_tokens)")
        if reserve >= self.limit:
            text = f"the reserve of {reserve:,} tokens takes all of the limit of {self.limit:,}: nothing was changed"
            raise BadConfig(text, "a smaller `reserve` in the config, or --max-tokens N")
        return self.limit - max(reserve, reply)

    @cached_property
    def limit(self) -> int | None:
        """The model's limit in tokens; None if unknown."""
        return context_limit(self.log, refused=self.refusal.limit or None).tokens

    def plan(self) -> TrimPlan:
        """Makes a plan that fits the budget, overhead included. Raises DoesNotFit if there is none."""
        if self.total <= self.budget:
            return TrimPlan(self.total - self.fixed, [], {}, {})
        projection = self.log.projection()
        if projection.newest is not None:  # messages that it hides come in when others leave, so they have to fit too
            self.names = list(through(self.state, structs.replace(projection, newest=None)))
            self.tokens = self._scaled(self.measuring.each(self.names))
        room = self.budget - self.fixed
        while True:
            found = plan(self.units, self._shortening, room, least=self.asked.least)
            if found is None:
                may_go = any(unit.rank == TrimRank.PROTECTED for unit in self.units)
                raise DoesNotFit(_too_large(self), f"{'unprotect what may go, ' if may_go else ''}{OTHER_WAYS}")
            grown = self._overhead_growth(found)
            tokens = found.tokens + grown
            if tokens + self.fixed <= self.budget:
                tokens = self._measure(found) + grown
            if tokens + self.fixed <= self.budget:
                return found._replace(tokens=tokens)
            room -= tokens + self.fixed - self.budget

    def _measure(self, found: TrimPlan) -> int:
        """Measures the messages that a plan leaves, if the plan's own sum may be inexact.

        The plan rounds each message down, so that it never removes too little. Sizes by the provider's counts are not
        whole numbers, and messages may come in.
        """
        slides = self.names is not self.shown
        after = self._after(found) if slides or self.measuring.is_calibrated else None
        if after is None or self.refused:
            return found.tokens
        gone = set(found.dropped)
        names = after.names() if slides else [name for name in self.shown if name not in gone]
        self.came = len(names) - len(self.shown) + len(self._dropped(found))
        self.then = self.measuring.with_counting(Counting(after)).of(names)
        exact = self.then.tokens - self.measured.tokens + self.total - self.fixed
        if slides:
            shown = self.total - self.fixed
            self.left = self.hidden - (self.tokens.total - shown) + found.tokens - exact
        return exact

    def _dropped(self, made: TrimPlan) -> list[Name]:
        """The shown messages that the plan drops."""
        shown = set(self.shown)
        return [name for name in made.dropped if name in shown]

    def _after(self, found: TrimPlan) -> WritableLog | None:
        """A view of the log with the plan carried out; None if that changes nothing."""
        op = as_op(self, found)
        return None if op is None else self.seen(self.log.stamp(op))

    def seen(self, op: Op) -> WritableLog:
        """A view of the log with an op, as it would be appended."""
        after = self.log.with_op(op)
        after.noticed = []
        return after

    def _overhead_growth(self, found: TrimPlan) -> int:
        """Tokens by which the texts around the context grow with the plan: a status text may describe messages."""
        after = self._after(found) if self.assembly.status is not None else None
        if after is None:
            return 0
        then = beside(self.counting, assemble(after, self.asked.status), self.tools, self.measured, whole=self.refused)
        return then.added - self.beside.added

    def saves(self, name: Name, content: Content) -> int:
        """Tokens saved if message `name` gets this content."""
        return self.tokens[name] - ceil(self.scale * self.measuring.replacement(name, content))

    def left_of(self, made: TrimPlan, name: Name) -> int:
        """Tokens that a plan leaves of message `name`, which it does not drop."""
        stub = made.stubs.get(name)
        saved = 0 if stub is None else self.saves(name, stubbed(unshortened(self.log, name), stub))
        return self.tokens[name] - saved

    def summarized(self, name: Name) -> Names:
        """The messages that the summary `name` replaces; none if it is not a summary of ctxkit's."""
        item = self.state.board.items.get(name) if not isinstance(name, int) else None
        return item.tells if item is not None and item.summary else Names()

    def why(self, name: Name, reason: str) -> str:
        """The reason of a plan as the op has it: for a summary, with the messages that it replaces."""
        replaced = self.summarized(name)
        return f"a summary of {self.state.brief(replaced)}, {reason}" if replaced else reason

    def after(self, made: TrimPlan) -> int:
        """Tokens of the context that a plan leaves."""
        return made.tokens + self.fixed

    def figures(self, made: TrimPlan | None = None) -> Figures:
        """The tokens before and after the plan `made`; without a plan, those of the unchanged context."""
        return Figures(
            self.before, self.before if made is None else self.after(made), self.then.counter,
            len(self.shown), len(self._dropped(made)) if made else 0, self.came if made else 0,
            len(made.stubs) if made else 0, budget=self.budget, limit=self.limit, beyond=self.hidden,
            left=self.left if made else None,
        )  # fmt: skip

    @cached_property
    def hidden(self) -> int:
        """Tokens of what a window hides: part of the state, but nothing that trim can cut."""
        shown = self.state.shown()
        if len(shown) == len(self.shown):
            return 0
        return int(self.scale * sum(self.measuring.each(list(shown - Names.of(self.shown)))))

    def lost(self, op: Trim | Compact | None) -> Uncached | None:
        """What the next request sends without the provider's cache after `op`; None if nothing changes."""
        found = None if op is None else uncached(self.measuring, self.log, self.seen(self.log.stamp(op)))
        return None if found is None else found._replace(tokens=round(self.scale * found.tokens))

    @cached_property
    def units(self) -> list[TrimUnit]:
        """The units of the context, in order."""
        keep = self.log.config["trim.keep_last"] if self.asked.keep is None else self.asked.keep
        strategy = self.asked.strategy or self.log.config["trim.strategy"]
        self._ranking = Ranking(self.log, self._calls, keep, strategy)
        return self._ranking.units(self.tokens)

    @cached_property
    def _calls(self) -> Calls:
        return Calls(self.log, self.names)

    @cached_property
    def _shortening(self) -> Shortening:
        config, asked = self.log.config, self.asked
        return Shortening(
            self.log, self.units, self._calls, self.saves,
            results=config["trim.keep_results"] if asked.results is None else asked.results,
            exclude={*config["trim.exclude_tools"], *asked.exclude},
            inputs=config["trim.clear_inputs"] if asked.inputs is None else asked.inputs,
            printed=lambda name: self._ranking.kinds.get(name) == SyntheticKind.OBSERVATION,
        )  # fmt: skip


def trim(log: WritableLog, asked: TrimRequest) -> Decision:
    """Decides the op that makes the context fit. Raises DoesNotFit, NoRefusal; BadConfig if no limit is known."""
    return decide(log, asked)[0]


def decide(log: WritableLog, asked: TrimRequest) -> tuple[Decision, Figures]:
    """Decides the op that makes the context fit, and returns what was counted too. Raises as `trim`."""
    found = _without_images(log, asked)
    log.tell(found.figures())  # also reported if the context cannot be made to fit
    made = found.plan()
    leaves = made.dropped or any(map(found.summarized, made.stubs))
    if leaves and asked.summarize is not None and log.config["trim.summarize"]:
        return _summarized(found, made, asked.summarize(found))
    figures = found.figures(made)
    log.tell(figures)
    return _decision(found, made), figures


def _without_images(log: WritableLog, asked: TrimRequest) -> Trimming:
    """The context to trim, without the pictures that the provider refuses if `asked.images`.

    Not with `trim.summarize`: the op of a summary cannot leave out parts, so `export` leaves these pictures out.
    """
    from ctxkit.content.images import excess, parts_of, without  # imports the writers

    out = excess(log) if asked.images and not log.config["trim.summarize"] else []
    if not out:
        return Trimming(log, asked)
    found = Trimming(without(log, out), asked)
    found.parts, found.before = parts_of(out), Trimming(log, asked).total
    return found


def _summarized(found: Trimming, made: TrimPlan, one: TrimSummary | None) -> tuple[Decision, Figures]:
    """The decision with the summary `one` of what is dropped; with a plain trim if none fits."""
    if one is None:
        figures = found.figures(made)
        found.log.tell(figures)
        decision = _decision(found, made)
        decision.notes = [*decision.notes, "trim.summarize: no room is left for a summary of what is dropped"]
        return decision, figures
    found.log.tell(one.figures)
    parts = f"{one.dropped} dropped, with a summary of {one.tokens:,} tokens" + f", {one.stubbed} shortened" * bool(
        one.stubbed
    )
    said = f"Trimmed ({found.total:,} → {one.figures.after:,} tokens, {one.figures.counter}): {parts}."
    notes = [uncached_line(found.log, lost)] if (lost := found.lost(one.op)) is not None else []
    return Decision(one.op, said, [*found.notes(), *notes]), one.figures


def _decision(found: Trimming, made: TrimPlan) -> Decision:
    """A plan as a decision: its op, and its description."""
    op = as_op(found, made)
    total, counter, lost = found.before, found.then.counter, found.lost(op)
    out = sum(map(len, found.parts.values()))
    pictures = [f"{out:,} image{'s' * (out != 1)} left out, which the provider does not accept"] * bool(out)
    if lost is None and out:
        said = f"Trimmed ({total:,} → {found.after(made):,} tokens, {counter}): {pictures[0]}."
        return Decision(op, said, found.notes())
    if lost is None:
        said = f"{total:,} of {found.budget:,} tokens ({counter}): it fits, nothing was changed."
        return Decision(None, said, found.notes())
    note = uncached_line(found.log, lost)
    parts = [f"{len(made.dropped)} dropped"] * bool(made.dropped) + [f"{len(made.stubs)} shortened"] * bool(made.stubs)
    parts += pictures
    said = f"Trimmed ({total:,} → {found.after(made):,} tokens, {counter}): {', '.join(parts)}."
    return Decision(op, said, [*found.notes(), *_summaries(found, made), *_unused(found, made), note])


def _summaries(found: Trimming, made: TrimPlan) -> list[str]:
    """A note on the summaries that a plan drops, since the content of all messages that they replace goes with them."""
    state, dropped = found.state, {*made.dropped}
    units = [unit for unit in found.units if unit.rank == TrimRank.SUMMARY and dropped.issuperset(unit.names)]
    gone = {name: found.summarized(name) for unit in units for name in unit.names}
    if not gone:
        return []
    told = (f"the summary {state.label(name)}" + (f" of {state.brief(of)}" if of else "") for name, of in gone.items())
    named, first = ", ".join(told), state.label(next(iter(gone)))
    return [f"dropped: {named}; `ctxkit recall LOG {first} --apply` brings it back"]


def _unused(found: Trimming, made: TrimPlan) -> list[str]:
    """A note on the parts of which no more fits, dropped or shortened, if more than LARGE of the room is left."""
    room, gone = found.budget - found.after(made), {*made.dropped}
    if room <= LARGE * found.budget:
        return []

    def left_out(unit: TrimUnit) -> int:
        cut = [name for name in unit.names if name in made.reasons]
        return sum(found.tokens[name] - (0 if name in gone else found.left_of(made, name)) for name in cut)

    large = [unit for unit in found.units if left_out(unit) > room]
    if not large:
        return []
    named = [f"{found.state.brief(Names.of(unit.names))} ({unit.tokens:,} tokens)" for unit in large[-NAMED:]]
    more = f" and {len(large) - NAMED:,} more" if len(large) > NAMED else ""
    return [f"{room:,} of {found.budget:,} tokens are not used: no more fits of {', '.join(named)}{more}"]


def as_op(found: Trimming, made: TrimPlan) -> Trim | None:
    """The op that carries out a plan; None if it changes nothing. In a view of an earlier state it is not appended."""
    if not made.reasons and not found.parts:
        return None
    return Trim(
        v=PARTS_VERSION if found.parts else VERSION, parts=found.parts,
        at=found.log.here() if found.log.at is None else LogPosition(messages=found.state.count),
        ids=str(Names.of(made.dropped)), stubs={str(name): stub for name, stub in made.stubs.items()},
        reasons={str(name): found.why(name, reason) for name, reason in made.reasons.items()}, budget=found.budget,
        counter=found.then.counter,
    )  # fmt: skip


def _read_refusal(refusal: str | None) -> Overflow:
    found = Overflow(None, None) if refusal is None else overflow(refusal)
    if found is None:
        shown = " ".join(str(refusal).split())[:80]
        raise NoRefusal(
            f"{shown!r} is not a provider's error about a request that is too large: nothing was changed",
            "`prompt is too long: 210345 tokens > 200000 maximum` is one; --max-tokens N needs none",
        )
    return found


def _held(state: State, unit: TrimUnit) -> str:
    """Why trim leaves a unit alone, in words."""
    if unit.rank != TrimRank.PROTECTED or state.board.protected.meets(Names.of(unit.names)):
        return ROOM[unit.rank]
    return FIRST if state.preamble + 1 in unit.names else UNFINISHED


def _too_large(found: Trimming) -> str:
    words = [ROOM[TrimRank.SYSTEM], ROOM[TrimRank.INSTRUCTION], FIRST, ROOM[TrimRank.PROTECTED], UNFINISHED]
    sizes = dict.fromkeys([*words, ROOM[TrimRank.TASK]], 0)
    shortened = set[str]()
    for place, unit in enumerate(found.units):
        if unit.rank in ROOM:  # a long first message counts as it would be shortened
            word, saved = _held(found.state, unit), sum(cut.saves for cut in found._shortening.large(place))
            sizes[word] += unit.tokens - saved
            if saved:
                shortened.add(word)
    after = {word: " when shortened" for word in shortened}
    parts = [f"{word} ({size:,} tokens{after.get(word, '')})" for word, size in sizes.items() if size]
    if found.fixed:
        parts.append(f"what is sent besides messages ({found.fixed:,} tokens)")
    if not any(sizes.values()):
        parts.append(f"what would go last ({min((unit.tokens for unit in found.units), default=0):,} tokens)")
    whole = f"{found.total:,} tokens do not fit into {found.budget:,}"
    return f"{whole}: trim never drops {', '.join(parts)}: nothing was changed"
