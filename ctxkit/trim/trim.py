"""Trim: a log's context made to fit a budget, as an op or for one look.

`trim/ranking.py` makes units of it, `trim/shortening.py` words what can say less, `trim/plan.py` decides; this
measures, and puts the decision into an op.
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
from ctxkit.core.ops import PARTS_VERSION, VERSION, Compact, Index, LogPosition, Trim
from ctxkit.errors import BadConfig, DoesNotFit, NoPermission, NoRefusal, ReadFailed, Usage
from ctxkit.logfile.assembly_sources import assemble
from ctxkit.measure.count import Counting
from ctxkit.measure.limit import context_limit
from ctxkit.measure.overhead import beside, tools_of
from ctxkit.measure.size import Measuring
from ctxkit.store.keys import percent
from ctxkit.tokens.overflow import Overflow, overflow
from ctxkit.trim.plan import TrimPlan, TrimRank, TrimUnit, plan
from ctxkit.trim.ranking import Ranking
from ctxkit.trim.shortening import Shortening

if TYPE_CHECKING:
    from ctxkit.logfile.commit import WritableLog

ROOM = {
    TrimRank.SYSTEM: "the system prompt",
    TrimRank.INSTRUCTION: "instructions",
    TrimRank.PROTECTED: "protected messages",
    TrimRank.TASK: "the current task",
}
"""What is never given up, in words."""


MOST = 0.5
"""Of the budget: where what is sent besides messages takes more, that is said."""


class TrimSummary(NamedTuple):
    """The compact that a trim becomes; tokens of the summary; how many messages leave, and how many are shortened."""

    op: Compact
    tokens: int
    dropped: int
    stubbed: int
    figures: Figures


class TrimRequest(msgspec.Struct, frozen=True):
    """What a trim was asked for. `budget`: tokens, or percent of the limit (`"30%"`), None = limit less reserve.
    `keep`: newest exchanges that are given up step by step, after all older ones; `results`: newest results that
    stay whole; `exclude`: tools whose calls and results do; `least`: tokens that shortening saves at least, once it
    begins; `inputs`: the arguments of old calls are shortened too. `refusal`: what a provider said of the context
    as it is. None: as the config says. `assembly`, `status`: what stands around the context, as of `Log.export`.
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
    summarize: Callable[[Trimming], TrimSummary | None] | None = None
    """Tells what is dropped, for the config's `trim.summarize`; None: nobody does."""

    def __post_init__(self) -> None:
        """Raises Usage for a number that is none: a plan for NaN tokens would never be done."""
        counts = {"keep": self.keep, "keep_results": self.results, "clear_at_least": self.least}
        share = isinstance(self.budget, str) and percent(self.budget) is not None
        for name, value in ({"max_tokens": None if share else self.budget} | counts).items():
            if isinstance(value, bool) or not isinstance(value, int | None):
                raise Usage(f"{name} must be a whole number: nothing was changed")
            if name in counts and (value or 0) < 0:
                raise Usage(f"{name} must be at least 0: nothing was changed")


class Trimming:
    """One log's context, measured and ranked."""

    def __init__(self, log: WritableLog, asked: TrimRequest) -> None:
        self.log, self.asked = log, asked
        self.state = log.state()
        self.names = self.shown = log.listed()
        """What a plan may cut, and what is shown: the same, but where `window.messages` lets others slide in."""
        self.came = 0
        """Messages that do so once the plan is carried out."""
        self.left: int | None = None
        """Tokens that are hidden then, where they are others than now."""
        self.counting = Counting(log)
        self.told = _told(asked.refusal)
        self.measuring = Measuring(self.counting)
        self.measured, sizes = self.measuring.weighed(self.names)
        sent = self._sent()
        self.refused = sent is not None
        if sent is not None:
            whose = f"the provider's count, {sent:,} tokens" if self.told.sent else f"at least {sent:,} tokens"
            counter = f"{whose}, as in the error"
            self.measured = structs.replace(self.measured, tokens=sent, known=sent, counter=counter)
        self.then = self.measured
        """The same once the plan is carried out: what `status` says then."""
        self.beside = self._beside()
        self.scale = 1.0
        """What sizes are multiplied by, where the provider's refusal says what they come to together."""
        if sent is not None:
            held = min(max(self.measured.overhead or 0, self.beside.within), sent)
            self.scale = (sent - held) / (sum(sizes) or 1)
        self.tokens = self._whole(sizes)
        self.total = self.measured.tokens + self.beside.added
        """Tokens of the context as it is."""
        self.fixed = self.total - self.tokens.total
        """Tokens that are there whatever leaves: system prompt, tools, and what else is sent with the messages."""
        self.parts: dict[str, list[Index]] = {}
        """Pictures that the provider does not take with the others: they are out of the log that is looked at."""
        self.before = self.total
        """Tokens before pictures were left out, too."""

    def _whole(self, sizes: Sequence[float]) -> Sizes:
        return Sizes(self.names, (int(size * self.scale) for size in sizes))

    def _sent(self) -> int | None:
        """What a refused context came to: as the provider says, else more than the limit, whatever was counted."""
        told, limit = self.told, self.limit
        if self.asked.refusal is None or told.sent is not None or limit is None:
            return told.sent
        return limit + told.over if told.over else max(limit + 1, self.measured.tokens)

    def _beside(self) -> Overhead:
        """What is sent besides the messages. Raises BadConfig, NoPermission, ReadFailed for files of the config."""
        try:
            self.assembly = assemble(self.log, self.asked.status) if self.asked.assembly else NOTHING
            self.tools = tools_of(self.log)
        except (BadConfig, NoPermission, ReadFailed) as error:
            error.message = error.message.replace(": nothing was printed", ": nothing was changed")
            raise
        return beside(self.counting, self.assembly, self.tools, self.measured, whole=self.refused)

    def notes(self) -> list[str]:
        """What is not counted again, and what takes most of the room, in words."""
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
        """Tokens that the context may have; percent are of the limit. Raises BadConfig where no limit is known, or the
        reserve leaves none of it; DoesNotFit where the reply that was asked for does.
        """
        asked = self.asked.budget
        if isinstance(asked, int):
            return asked
        if self.limit is None:
            text = "no limit is known: neither the config nor the log's model names one: nothing was changed"
            raise BadConfig(text, "--max-tokens N, or `limit` or `model` in the config")
        if asked is not None:
            return int((percent(asked) or 0) * self.limit / 100)
        reserve, reply = int(self.log.config["reserve"]), self.told.reply or 0
        if reply >= self.limit:
            text = f"a reply of {reply:,} tokens was asked for, which leaves nothing of {self.limit:,}"
            raise DoesNotFit(f"{text}: nothing was changed", "ask for a shorter reply (max_tokens)")
        if reserve >= self.limit:
            text = f"the reserve of {reserve:,} tokens takes all of the limit of {self.limit:,}: nothing was changed"
            raise BadConfig(text, "a smaller `reserve` in the config, or --max-tokens N")
        return self.limit - max(reserve, reply)

    @cached_property
    def limit(self) -> int | None:
        """Tokens that the model takes, where that is known."""
        return context_limit(self.log, refused=self.told.limit or None).tokens

    def plan(self) -> TrimPlan:
        """What fits, with what stands around it then. Raises DoesNotFit where nothing does."""
        if self.total <= self.budget:
            return TrimPlan(self.total - self.fixed, [], {}, {})
        projection = self.log.projection()
        if projection.newest is not None:  # what it hides would come in for what leaves, so that has to fit, too
            self.names = list(through(self.state, structs.replace(projection, newest=None)))
            self.tokens = self._whole(self.measuring.each(self.names))
        room = self.budget - self.fixed
        while True:
            found = plan(self.units, self._shortening, room, least=self.asked.least)
            if found is None:
                may_go = any(unit.rank == TrimRank.PROTECTED for unit in self.units)
                hint = "unprotect what may go, or a larger --max-tokens" if may_go else "a larger --max-tokens"
                raise DoesNotFit(_too_large(self), hint)
            grown = self._grown(found)
            tokens = found.tokens + grown
            if tokens + self.fixed <= self.budget:
                tokens = self._exactly(found, tokens - grown) + grown
            if tokens + self.fixed <= self.budget:
                return found._replace(tokens=tokens)
            room -= tokens + self.fixed - self.budget

    def _exactly(self, found: TrimPlan, tokens: int) -> int:
        """Tokens that a plan leaves of the messages that are shown then, to the token where shares of the provider's
        count are not whole ones: a plan adds up whole ones, so that it never takes too few for what leaves.
        """
        slides = self.names is not self.shown
        after = self._after(found) if slides or self.measuring.is_taught else None
        if after is None or self.refused:
            return tokens
        gone = set(found.dropped)
        names = after.names() if slides else [name for name in self.shown if name not in gone]
        self.came = len(names) - len(self.shown) + len(self._dropped(found))
        self.then = self.measuring.seen(Counting(after)).of(names)
        exact = self.then.tokens - self.measured.tokens + self.total - self.fixed
        if slides:
            shown = self.total - self.fixed
            self.left = self.hidden - (self.tokens.total - shown) + tokens - exact
        return exact

    def _dropped(self, made: TrimPlan) -> list[Name]:
        """What is shown and leaves."""
        shown = set(self.shown)
        return [name for name in made.dropped if name in shown]

    def _after(self, found: TrimPlan) -> WritableLog | None:
        """The log as it is once a plan is carried out; None where that changes nothing."""
        op = as_op(self, found)
        if op is None:
            return None
        after = self.log.seen_at(self.log.state_with(self.log.stamp(op)))
        after.noticed = []
        return after

    def _grown(self, found: TrimPlan) -> int:
        """Tokens that what stands around the context has more once a plan is carried out: it may tell of messages."""
        after = self._after(found) if self.assembly.status is not None else None
        if after is None:
            return 0
        then = beside(self.counting, assemble(after, self.asked.status), self.tools, self.measured, whole=self.refused)
        return then.added - self.beside.added

    def saves(self, name: Name, content: Content) -> int:
        """Tokens that message `name` would have less with this content."""
        return self.tokens[name] - ceil(self.scale * self.measuring.instead(name, content))

    def tells(self, name: Name) -> Names:
        """What a summary of ours tells; nothing for all else."""
        item = self.state.board.items.get(name) if not isinstance(name, int) else None
        return item.tells if item is not None and item.summary else Names()

    def why(self, name: Name, reason: str) -> str:
        """The reason of a plan as the op has it: a summary is named by what it tells."""
        return f"a summary of {self.state.brief(self.tells(name))}, {reason}" if self.tells(name) else reason

    def after(self, made: TrimPlan) -> int:
        """Tokens of what a plan leaves."""
        return made.tokens + self.fixed

    def figures(self, made: TrimPlan | None = None) -> Figures:
        """What was counted, and what `made` makes of it; without it the context as it is."""
        return Figures(
            self.before, self.before if made is None else self.after(made), self.then.counter,
            len(self.shown), len(self._dropped(made)) if made else 0, self.came if made else 0,
            len(made.stubs) if made else 0, budget=self.budget, limit=self.limit, beyond=self.hidden,
            left=self.left if made else None,
        )  # fmt: skip

    @cached_property
    def hidden(self) -> int:
        """Tokens of what a window hides: nothing that trim could cut, but part of the state."""
        shown = self.state.shown()
        if len(shown) == len(self.shown):
            return 0
        return int(self.scale * sum(self.measuring.each(list(shown - Names.of(self.shown)))))

    def lost(self, made: TrimPlan) -> tuple[Name, int] | None:
        """The first message that a plan changes, and the cached tokens behind it that are lost; None for no change.

        What a provider caches is a prefix: what stays as it is behind the first change is read from no cache any more.
        """
        first = next((place for place, name in enumerate(self.shown) if name in made.reasons), None)
        if first is None:
            return None
        return self.shown[first], sum(self.tokens[name] for name in self.shown[first:] if name not in made.reasons)

    @cached_property
    def units(self) -> list[TrimUnit]:
        """The context as steps and messages that stand alone, in order."""
        keep = self.log.config["trim.keep_last"] if self.asked.keep is None else self.asked.keep
        self._ranking = Ranking(self.log, self._calls, keep)
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
    """The op that makes the context fit. Raises DoesNotFit, BadConfig where no limit is known, NoRefusal."""
    return look(log, asked)[0]


def look(log: WritableLog, asked: TrimRequest) -> tuple[Decision, Figures]:
    """The same, and what was counted."""
    found = _without_images(log, asked)
    log.tell(found.figures())  # whether or not it can be made to fit
    made = found.plan()
    if made.dropped and asked.summarize is not None and log.config["trim.summarize"]:
        return _summarized(found, made, asked.summarize(found))
    figures = found.figures(made)
    log.tell(figures)
    return told(found, made, as_op(found, made)), figures


def _without_images(log: WritableLog, asked: TrimRequest) -> Trimming:
    """The context to trim: without the pictures for which the provider would refuse it, where that is asked.

    A summary of what is dropped is an op that takes no parts: `export` leaves these pictures out.
    """
    from ctxkit.content.images import beyond, parts_of, without  # brings the writers

    out = beyond(log) if asked.images and not log.config["trim.summarize"] else []
    if not out:
        return Trimming(log, asked)
    found = Trimming(without(log, out), asked)
    found.parts, found.before = parts_of(out), Trimming(log, asked).total
    return found


def _summarized(found: Trimming, made: TrimPlan, one: TrimSummary | None) -> tuple[Decision, Figures]:
    """The same with a summary of what is dropped, where one fits."""
    if one is None:
        figures = found.figures(made)
        found.log.tell(figures)
        decision = told(found, made, as_op(found, made))
        decision.notes = [*decision.notes, "trim.summarize: no room is left for a summary of what is dropped"]
        return decision, figures
    found.log.tell(one.figures)
    parts = f"{one.dropped} dropped, told in {one.tokens:,} tokens" + f", {one.stubbed} shortened" * bool(one.stubbed)
    said = f"Trimmed ({found.total:,} → {one.figures.after:,} tokens, {one.figures.counter}): {parts}."
    return Decision(one.op, said, found.notes()), one.figures


def told(found: Trimming, made: TrimPlan, op: Trim | None) -> Decision:
    """A plan in words, with its op."""
    total, counter, lost = found.before, found.then.counter, found.lost(made)
    out = sum(map(len, found.parts.values()))
    pictures = [f"{out:,} image{'s' * (out != 1)} left out, which the provider does not take"] * bool(out)
    if lost is None and out:
        said = f"Trimmed ({total:,} → {found.after(made):,} tokens, {counter}): {pictures[0]}."
        return Decision(op, said, found.notes())
    if lost is None:
        said = f"{total:,} of {found.budget:,} tokens ({counter}): it fits, nothing was changed."
        return Decision(None, said, found.notes())
    sent = f"{max(0, lost[1]):,} tokens after it are sent uncached once"
    note = f"prompt cache: valid before message {found.state.label(lost[0])}; {sent}"
    parts = [f"{len(made.dropped)} dropped"] * bool(made.dropped) + [f"{len(made.stubs)} shortened"] * bool(made.stubs)
    parts += pictures
    said = f"Trimmed ({total:,} → {found.after(made):,} tokens, {counter}): {', '.join(parts)}."
    return Decision(op, said, [*found.notes(), *_summaries(found, made), note])


def _summaries(found: Trimming, made: TrimPlan) -> list[str]:
    """What is said of the summaries that a plan drops: with them goes all that they tell."""
    state = found.state
    gone = [name for name in made.dropped if found.tells(name)]
    if not gone:
        return []
    named = ", ".join(f"the summary {state.label(name)} of {state.brief(found.tells(name))}" for name in gone)
    return [f"dropped: {named}; `ctxkit recall LOG {state.label(gone[0])} --apply` brings it back"]


def as_op(found: Trimming, made: TrimPlan) -> Trim | None:
    """The op that does what a plan says; None where it changes nothing. Looking back, one that is never appended."""
    if not made.reasons and not found.parts:
        return None
    return Trim(
        v=PARTS_VERSION if found.parts else VERSION, parts=found.parts,
        at=found.log.here() if found.log.at is None else LogPosition(messages=found.state.count),
        ids=str(Names.of(made.dropped)), stubs={str(name): stub for name, stub in made.stubs.items()},
        reasons={str(name): found.why(name, reason) for name, reason in made.reasons.items()}, budget=found.budget,
        counter=found.then.counter,
    )  # fmt: skip


def _told(refusal: str | None) -> Overflow:
    found = Overflow(None, None) if refusal is None else overflow(refusal)
    if found is None:
        shown = " ".join(str(refusal).split())[:80]
        raise NoRefusal(
            f"{shown!r} is no provider's refusal of a request that is too large: nothing was changed",
            "`prompt is too long: 210345 tokens > 200000 maximum` is one; --max-tokens N needs none",
        )
    return found


def _too_large(found: Trimming) -> str:
    sizes = dict.fromkeys(sorted(ROOM, reverse=True), 0)
    for place, unit in enumerate(found.units):
        if unit.rank in sizes:  # a long first message counts as it would be shortened
            sizes[unit.rank] += unit.tokens - sum(cut.saves for cut in found._shortening.large(place))
    parts = [f"{ROOM[rank]} ({size:,} tokens)" for rank, size in sizes.items() if size]
    if found.fixed:
        parts.append(f"what is sent besides messages ({found.fixed:,} tokens)")
    if not any(sizes.values()):
        parts.append(f"what would go last ({min((unit.tokens for unit in found.units), default=0):,} tokens)")
    whole = f"{found.total:,} tokens do not fit into {found.budget:,}"
    return f"{whole}: trim leaves alone {', '.join(parts)}: nothing was changed"
