"""Plans a compact: replaces a part of a log's context by a summary, and measures the result.

`rank/ranking.py` splits the context into units, `candidates.py` selects those that may be replaced, and the strategies
write the summary. This module measures, asks for a summary that fits, and measures the context with it. Summaries are
made of the original messages.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from math import ceil, inf
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import structs

from ctxkit.content.calls import Calls
from ctxkit.core.boundaries import ToldBefore, as_told, told_before
from ctxkit.core.context import belongs, entry
from ctxkit.core.context import names as through
from ctxkit.core.derive.synthetic_messages import SyntheticKind, kind
from ctxkit.core.derive.usage import Figures
from ctxkit.core.item_names import NOTHING, ItemName, Name, Names, Sizes, column
from ctxkit.core.messages import Content
from ctxkit.core.ops import Compact, LogPosition, Resummarized
from ctxkit.core.select import Selection
from ctxkit.core.sets.sequences import Reiterable
from ctxkit.core.state import PREAMBLE_ROLES
from ctxkit.core.strategies import RULES, STRATEGIES
from ctxkit.cut.rank.candidates import (
    FEWEST,
    SUMMARY,
    CompactUnit,
    KeptTail,
    Units,
    guarded,
    originals,
    rooms,
    tail_start,
)
from ctxkit.cut.rank.facts import facts, kept
from ctxkit.cut.rank.ranking import Ranking
from ctxkit.cut.shorten.shorten import abridge
from ctxkit.cut.summarize.extraction import Extraction
from ctxkit.cut.trim import Trimming, TrimRequest
from ctxkit.cut.trim_plan import LONG
from ctxkit.cut.units.segment_spool import spooled
from ctxkit.cut.units.text_segments import SPEAKS, TextSegment
from ctxkit.errors import NothingChanges
from ctxkit.llm.hooks import Hooks
from ctxkit.logfile.stubs import of_content, stubbed
from ctxkit.measure.count import PER_MESSAGE, Counting

if TYPE_CHECKING:
    from ctxkit.core.state import State
    from ctxkit.cut.summarize.ask_model import ModelSummary
    from ctxkit.logfile.commit import WritableLog

SHORTEST, FLOOR = 60, 4
"""The least tokens of a summary; and the multiple of its least from which on it surely has room for a line."""
TRIES = 4
"""The most summaries that are made until the whole context fits: the sizes of its parts may not add up."""
NEAR, GRAIN = 0.004, 24
"""How far below the goal a result may be: a share of the tokens of all messages, or GRAIN tokens if that is more."""
LANDING = 0.03
"""How far below the goal a summary may leave the context, as a share of what may go, before shortened messages alone
may take its place: they land nearer, and tell less. Within 3 points a target counts as met.
"""


class CompactGoal(msgspec.Struct, frozen=True):
    """The goal of a compact: `budget` in tokens, else `percent` of the tokens of all messages.

    A percentage counts from the original size of summarized messages. It counts from the current size if the context is
    `full`, or if the goal is reached already and `force` asks for more.

    `keep`: the tail; `chosen`: what may be replaced, None for all; `part`: the percentage is of the chosen messages;
    `text`: a given summary; `selection`: limits the summary to its agent and thread; `model`: for the strategy `llm`;
    `fallback`: the rules take over if the model fails; `shortens`: messages that stay and
    are too long for the goal are shortened in place; `focus`: words of lines that count more.
    """

    percent: float
    budget: int | None = None
    keep: KeptTail = KeptTail()
    strategy: str = RULES
    chosen: Names | None = None
    part: bool = False
    text: str | None = None
    selection: Selection = Selection()
    model: str = ""
    fallback: bool = True
    hooks: Hooks = Hooks()
    force: bool = False
    full: bool = False
    shortens: bool = True
    focus: str = ""

    @property
    def target(self) -> str:
        """The target as the op records it: `30%`, or a budget."""
        return f"{self.percent:g}%" if self.budget is None else str(self.budget)


class CompactionOutcome(msgspec.Struct, frozen=True):
    """The result of a compact.

    `op`: the op to append; `replaced`: messages that are summarized or masked; `shortened`: messages that are shortened
    in place. Tokens, by `counter`: of all messages `before` and `after`; `goal`: of `after`; `summary`: of the summary
    alone. `seen`: a view of the log with the op.
    """

    op: Compact
    replaced: Names
    shortened: Names
    before: int
    after: int
    counter: str
    goal: int
    summary: int
    figures: Figures
    seen: WritableLog
    made_by: CompactionPlan

    @property
    def asked(self) -> float:
        """The goal in percent of all messages."""
        asked = self.made_by.asked
        if asked.budget is None and not asked.part:
            return asked.percent
        return round(100 * self.goal / self.before, 1) if self.before else 0.0

    @property
    def reached(self) -> bool:
        """Whether the goal is reached."""
        return self.after <= self.goal

    @property
    def is_near(self) -> bool:
        """Whether the goal is reached, and hardly less than it is left."""
        return 0 <= self.goal - self.after <= LANDING * self.made_by.loose

    def is_nearer(self, other: CompactionOutcome) -> bool:
        """Whether this is nearer to the goal than `other`. A result that reaches the goal is preferred."""
        if self.reached and other.reached:
            return self.after > other.after
        return self.reached or (not other.reached and self.after < other.after)

    def kept(self) -> dict[str, tuple[int, int]]:
        """Class of facts -> how many facts of the changed messages the context keeps, and how many there are."""
        seen, state, changed = self.seen, self.seen.state(), self.replaced | self.shortened
        pieces = Reiterable(lambda: (piece for piece in self.made_by.pieces if piece.name in changed))
        left = spooled((name, seen.full(entry(state, name))) for name in seen.names())
        return kept(facts(pieces), Reiterable(lambda: (piece.text for piece in left)))


class Strategy(ABC):
    """A compaction strategy. Each file of `cut/strategies/` has one; `core/strategies.py` lists them.

    `summarizes`: a summary replaces messages; `shortens`: messages that stay and are too long for the goal are
    shortened in place; `by_others`: a model or a person wrote the summary, so it is not made again if other ops come
    meanwhile; `tells_before`: the summary is also made of what the program's own compactions took out; `fallback`: the
    strategy that takes over if this one gives no summary; `nothing`: the error and the hint if there is nothing to
    replace.
    """

    summarizes = True
    shortens = True
    by_others = False
    tells_before = False
    fallback = ""
    nothing: tuple[str, str] | None = None

    @abstractmethod
    def make(self, plan: CompactionPlan) -> CompactionOutcome:
        """Carries out the strategy. Raises NothingChanges if the context would not be smaller."""

    def note(self, plan: CompactionPlan, made: CompactionOutcome, replaced: str) -> str:
        """The note on the replaced messages. `replaced`: these, in words."""
        return f"{plan.strategy}: {replaced} summarized in {made.summary:,} tokens, {made.counter}"

    def floor(self, plan: CompactionPlan, made: CompactionOutcome, least: str) -> str:
        """The note if the target is not reached. `least`: the smallest result, in words; adds what would leave less."""
        less = plan.without_tail(made)
        if less is not None:
            kept = sum(unit.tokens for unit in plan.units[plan.tail :] if not unit.stays)
            least += f" while the newest {kept:,} tokens stay; --keep-last 0 leaves {less:,}"
        staying = plan.state.brief(Names.of(plan.names) - Names.of(plan.going))
        return f"{least}; the messages that stay ({staying}) have {plan.stays:,}"

    def resummarize(self, log: WritableLog, op: Compact, covered: Names, leave: Names) -> Resummarized | None:
        """Makes the summary of `op` again, for the messages `covered` only; None if it cannot be made again. `leave`:
        the messages that leave the context now.
        """
        return None


def load(name: str) -> Strategy:
    """The strategy with this name. Imports only its module."""
    return cast(Strategy, import_module(STRATEGIES[name].module).STRATEGY)


class CompactionPlan(msgspec.Struct, frozen=True, dict=True, eq=False):
    """A log's context, and what of it is replaced. It never changes: another tail, or other stubs, make another plan.

    `names`: of the context; `tokens`: of each, with the new size of shortened ones; `cut`: messages that an earlier
    compact shortened or masked; `messages`: tokens of the messages of the context, since a compact does not change what
    is sent besides them; `originals`: the same with the originals instead of summaries and shortened messages; `goal`:
    the tokens that may be left of the messages; `units`: the context as units, in order; `tail`: the place where the
    tail begins; `stubs`: messages that are shortened in place; `restored`: what an earlier compact shortened counts
    whole, as if that was not there, and the stub with which it is whole; `parts`: how many messages are kept, whole or
    shortened, because a summary of them cannot fill the room; `by_model`: what a model wrote; `failure`: why it gave no
    summary, if it was asked; `widest`: the plan with the shortest tail, whose lines are those of this one too.
    """

    log: WritableLog
    base: Trimming
    asked: CompactGoal
    names: Sequence[Name]
    tokens: Sizes
    exempt: Names
    ranking: Ranking
    cut: Sequence[int]
    messages: int
    originals: int
    goal: int
    units: Units
    tail: int = 0
    stubs: Mapping[Name, Any] = {}
    restored: Mapping[Name, Any] = {}
    parts: int = 0
    by_model: ModelSummary | None = None
    failure: str = ""
    widest: CompactionPlan | None = None

    @cached_property
    def state(self) -> State:
        """The state of the log."""
        return self.log.state()

    @property
    def definition(self) -> Strategy:
        """The strategy that was asked for."""
        return load(self.asked.strategy)

    @property
    def strategy(self) -> str:
        """The strategy that makes the summary: the fallback if the model gave none."""
        return self.definition.fallback if self.definition.fallback and self.by_model is None else self.asked.strategy

    @property
    def shortens(self) -> bool:
        """Whether messages are shortened in place."""
        return self.asked.shortens and self.asked.chosen is None and self.definition.shortens

    @cached_property
    def places(self) -> Sequence[int]:
        """The places of the units that are replaced: all older than the tail that may be."""
        return self.units.may_go(self.tail)

    @cached_property
    def going(self) -> Sequence[Name]:
        """The names of the context that are replaced, in order: messages, and ctxkit's summaries."""
        return column(name for place in self.places for name in self.units[place].names)

    @cached_property
    def ids(self) -> Names:
        """The messages of the log that are summarized."""
        return self.originals_of(self.going)

    @cached_property
    def before(self) -> ToldBefore:
        """What the program's own compactions before these took out: the summary tells it too, if its strategy reads
        messages.
        """
        return told_before(self.state, self.ids, self.log.is_summary) if self.definition.tells_before else ToldBefore()

    @property
    def covered(self) -> Names:
        """All that the summary tells."""
        return self.ids | self.before.names

    @cached_property
    def whole(self) -> int:
        """Tokens of all messages."""
        return self.tokens.total

    @cached_property
    def gone(self) -> int:
        """Tokens of what is replaced."""
        return sum(self.tokens[name] for name in self.going)

    @cached_property
    def stays(self) -> int:
        """Tokens of what is not replaced, with messages that come back."""
        return self.whole - self.gone + ceil(sum(self.base.measuring.each(self._back)))

    @cached_property
    def _back(self) -> list[Name]:
        """Messages that come back: they are protected now, and covered by an earlier summary that is replaced."""
        items = self.state.board.items
        covered = [items[name].tells for name in self.going if not isinstance(name, int) and items[name].summary]
        return [name for names in covered for name in (names & self.state.present()) - self.ids]

    @property
    def loose(self) -> int:
        """Tokens of all that may be replaced, the tail included."""
        return sum(self.units[place].tokens for place in self.units.may_go(len(self.units)))

    @property
    def is_worth(self) -> bool:
        """Whether a summary is worth making: not of a few short messages, except beside messages kept in part."""
        many = len(self.ids)
        return many >= FEWEST or (many > 0 and self.shortens and _is_worth(many + self.parts, self.gone))

    def originals_of(self, names: Sequence[Name]) -> Names:
        """`names` with ctxkit's summaries replaced by the messages that they cover."""
        return originals(self.state, Names.of(names), self.exempt)

    @property
    def reached(self) -> str | None:
        """The message if earlier compacts have reached the target already; None if not."""
        asked, now, whole = self.asked, self.messages, self.originals
        if asked.budget is not None or asked.force or asked.full or (asked.chosen is not None and not asked.part):
            return None
        if asked.part:
            now, whole = self.gone, self.gone + self.surplus(self.going)
        if now == whole or now > asked.percent * whole / 100 + max(GRAIN, NEAR * whole / 2):  # originals are estimated
            return None
        what = f"the target{' for the chosen messages' * asked.part} is reached already"
        return f"{what}: {now:,} tokens are {100 * now / whole:.1f} % of the {whole:,} of the originals"

    def surplus(self, names: Sequence[Name]) -> int:
        """Tokens by which the originals of summaries and shortened messages in `names` are larger than these."""
        measuring, items, present = self.base.measuring, self.state.board.items, self.state.present()
        summaries = [name for name in names if not isinstance(name, int) and items[name].summary]
        cut = [name for name in self.cut if name in self.tokens]
        whole = [n for name in summaries for n in (items[name].tells & present).numbers] + cut
        read = self.base.counting.base_as_read(whole)
        size = sum([measuring.rate(n) * tokens for n, tokens in zip(whole, read, strict=True)])
        return max(0, int(size) - sum(self.tokens[name] for name in set[Name]([*summaries, *cut])))

    def with_tail(self, begins: int) -> CompactionPlan:
        """The plan with another tail. All older units that may be replaced are replaced."""
        return self.but(tail=begins)

    def but(self, **changes: Any) -> CompactionPlan:
        """The plan with these changes, and with the same lines for a summary."""
        return structs.replace(self, widest=self.widest or self, **changes)

    def with_shorter(self, places: Sequence[int], room: int, *, least: bool = False) -> CompactionPlan | None:
        """The plan in which the units at these places stay, shortened to `room` tokens together if they have more; None
        if they cannot be so short. `least`: as far as possible if that is not enough.
        """
        measuring, names = self.base.measuring, [name for place in places for name in self.units[place].names]
        messages = {name: self._unshortened(name) for name in names}
        counts = self.base.counting.counter.counts
        stubs = abridge(messages, room, measuring.replacement, measuring.rate, counts, least=least)
        if not stubs and sum(self.tokens[name] for name in names) > room:
            return None
        tokens, units = self.tokens.copy(), self.units.copy()
        for name, stub in stubs.items():
            tokens[name] = ceil(measuring.replacement(name, stubbed(messages[name], stub)))
        for place in places:
            unit = units[place]
            size = sum(tokens[name] for name in unit.names)
            units[place] = unit._replace(tokens=size, stays=True, shrinks=True)
        return structs.replace(self, tokens=tokens, units=units, stubs={**self.stubs, **stubs})

    def _unshortened(self, name: Name) -> Content:
        """A message as it was before a compact shortened it, with the changes of other ops."""
        plain = name not in self.state.board.stubs or name in self.cut
        return self.log.original(name) if plain else self.log.full(entry(self.state, name))

    def shortened_alone(self) -> CompactionPlan | None:
        """The plan that shortens in place all that may be replaced, too little for a summary; None if nothing of it can
        be shorter.
        """
        places = [place for place in self.units.may_go(len(self.units)) if not self.units[place].is_summary]
        if not self.shortens or self.asked.keep != KeptTail() or not places:
            return None
        loose = sum(self.units[place].tokens for place in places)
        found = self.with_shorter(places, self.goal - (self.whole - loose), least=True)
        return found.with_tail(len(self.units)) if found is not None and found.stubs else None

    @property
    def _lines_of(self) -> CompactionPlan:
        """The plan whose lines are chosen from: more messages leave with it, and what the summary tells besides them is
        the same.
        """
        return self.widest if self.widest is not None and self.widest.before == self.before else self

    @cached_property
    def pieces(self) -> Sequence[TextSegment]:
        """The segments of the context, in order: of the originals of all that is replaced, and of what stays. Before
        them stands what the program's own compactions took out.
        """
        if self._lines_of is not self:
            return self._lines_of.pieces
        stay = (Names.of(self.names) | Names.of(self._back)) - Names.of(self.going)
        names: Sequence[Name] = self.state.ordered((stay | self.covered) - self.before.stale)
        if self.before.names:
            names = sorted(names, key=as_told(self.state, self.covered))
        return spooled((name, self._content(name)) for name in names)

    def _content(self, name: Name) -> Content:
        """The original of a message that is summarized; of another, its content in the new context."""
        if name in self.covered:
            return self.log.original(name)
        stub = self.stubs.get(name, self.restored.get(name))
        return self.log.full(entry(self.state, name)) if stub is None else stubbed(self._unshortened(name), stub)

    @cached_property
    def lines(self) -> Extraction:
        """The lines that a summary may have."""
        if self._lines_of is not self:
            return self._lines_of.lines
        return Extraction(self.pieces, self.base.counting.counter.counts, self.state.label, focus=self.asked.focus)

    def carry_out(self) -> CompactionOutcome:
        """Carries out the strategy. Raises NothingChanges if the context would not be smaller."""
        return self.definition.make(self)

    def filled(self) -> CompactionPlan:
        """The plan that keeps as many of the newest messages as there is room for, where a summary of all older ones is
        shorter than its room.
        """
        plan = self
        for _ in range(TRIES):
            if not (plan.is_worth and plan.shortens and plan.asked.keep == KeptTail()) or plan._text_in_room is None:
                break
            [size] = plan.base.counting.counter.counts([plan._text_in_room])
            tokens = (size + PER_MESSAGE) * plan._rate
            more = plan._with_more(tokens) if plan._room[0] - tokens > plan._near else None
            if more is None:
                break
            plan = more
        return plan

    @property
    def _near(self) -> float:
        """The tokens that do not matter: so many may be missing to the goal, or from the lines of a summary."""
        return max(GRAIN, NEAR * self.messages)

    @property
    def _rate(self) -> float:
        """Tokens of a summary per token of the base."""
        return self.base.measuring.rate(ItemName("", 1))

    @cached_property
    def _full(self) -> dict[int, float]:
        """Place of a replaced unit -> about how many tokens all its lines have in a summary; without units of 0."""
        lines, rate = self.lines.full, self._rate
        found: dict[int, float] = {}
        for place in self.places:
            unit = self.units[place]
            names = self.originals_of(unit.names) if unit.is_summary else unit.names
            found[place] = rate * sum([lines.get(name, 0) for name in names])
        return {place: tokens for place, tokens in found.items() if tokens}

    def _with_more(self, tokens: float) -> CompactionPlan | None:
        """The plan that keeps more of the newest messages, beside a summary that has all lines of the older ones; with
        more than that, the room would be worth less. If not even the newest has room, the unit that loses least by
        that, the newest of several, is kept in part. `tokens`: of the summary now.
        """
        full = self._full
        scale = tokens / (sum(full.values()) or 1)
        behind = max((place for place in self.places if self.units[place].is_summary), default=-1)
        places = [place for place in reversed(self.places) if place > behind]
        stays, left, lines, many, begins = self.stays, self.gone, tokens, len(self.ids), self.tail
        for place in places:
            unit = self.units[place]
            left, many, lines = left - unit.tokens, many - len(unit.names), lines - scale * full.get(place, 0)
            room = self.goal - stays - max(lines - self._near, self._least(left, lines))
            if unit.tokens > room or not _is_worth(many, left):
                break
            stays, begins = stays + unit.tokens, place
        if begins != self.tail:
            return self.with_tail(begins)
        spare = self.goal - self.stays - tokens

        def lost(place: int) -> tuple[bool, float]:
            more = self.units[place].tokens - scale * full.get(place, 0)
            return more < spare, more

        for place in sorted(places, key=lost):
            unit = self.units[place]
            left, lines = self.gone - unit.tokens, tokens - scale * full.get(place, 0) + GRAIN  # estimated
            has_summary = len(self.places) > 1 and _is_worth(len(self.ids) + self.parts, left)
            room = int(self.goal - self.stays - (max(lines, self._least(left, 0)) if has_summary else left))
            found = self.with_shorter([place], room) if room > GRAIN else None
            if found is not None:
                return structs.replace(found, parts=self.parts + len(unit.names), widest=self.widest or self)
        return None

    def without_tail(self, made: CompactionOutcome) -> int | None:
        """Tokens that would be left without a tail, with a summary by rules; None if that is no less than `made`."""
        if self.asked.keep == KeptTail(0) or not any(not unit.stays for unit in self.units[self.tail :]):
            return None
        asked = structs.replace(self.asked, keep=KeptTail(0), strategy=self.definition.fallback or self.asked.strategy)
        try:
            after = plan_compact(self.log, self.base, asked).carry_out().after
        except NothingChanges:
            return None
        return after if after < made.after else None

    @cached_property
    def _room(self) -> tuple[int, int]:
        """The most tokens of the summary, and the least."""
        by_originals = not (self.asked.full or self.asked.force)
        least = self._least(self.gone + (self.surplus(self.going) if by_originals else 0))
        is_small = self.goal - self.stays < FLOOR * least
        most = max(self.gone // 2, min(self.gone - 1, 2 * SHORTEST))
        while is_small and least < most and self.lines.text(self._base_of(least), self.covered) is None:
            least = min(least + SHORTEST // 10, most)  # the opening line may take all of the room
        return min(max(self.goal - self.stays, least), max(self.gone - 1, 1)), least

    def _least(self, gone: int, lines: float = inf) -> int:
        """The least tokens of a summary of `gone` tokens with lines of `lines` tokens."""
        return min(max(SHORTEST, int(min(ceil(SUMMARY * gone), lines))), gone // 2)

    def base_room(self) -> int:
        """The room of the summary, in tokens of the base."""
        return self._base_of(self._room[0])

    def _base_of(self, room: int) -> int:
        """Converts the tokens of a summary to tokens of the base, without those around a message."""
        return int(room / self._rate) - PER_MESSAGE

    @cached_property
    def _text_in_room(self) -> str | None:
        """A summary that fills its room; None if nothing fits."""
        return self._text(self.base_room())

    def _text(self, budget: int) -> str | None:
        """A summary of at most `budget` tokens of the base, with the model's words if there are any."""
        if budget <= 0:
            return None
        if self.by_model is None:
            return self.lines.text(budget, self.covered)
        from ctxkit.cut.summarize.prompt import combined

        texts, model, counts = self.by_model.texts, self.by_model.model, self.base.counting.counter.counts
        return combined(texts, model, self.lines, budget, counts, covered=self.covered, label=self.state.label)

    def summarized(self) -> CompactionOutcome:
        """The result with a summary, with the model's words if there are any; without one if none is worth it, or none
        is shorter than the messages, but others are shortened. Raises NothingChanges.
        """
        try:
            return self.smaller(self._extracted() if self.is_worth else self.outcome())
        except NothingChanges:
            if not (self.stubs and self.is_worth):
                raise
        return self.smaller(self.outcome())

    def _extracted(self) -> CompactionOutcome:
        room, least = self._room
        if least >= self.gone:
            least_of = f"{self.gone:,} tokens is already the smallest possible summary of {len(self.ids)} messages"
            raise NothingChanges(
                f"the context would not be smaller: {least_of}: nothing was changed",
                "" if self.asked.force else "use --force to condense further",
            )
        found, text = None, self._text_in_room
        for _ in range(TRIES):
            if text is None:
                break
            found = self.outcome(self.ids, text, budget=self._base_of(room))
            over = found.after - self.goal
            if over <= 0 or room - over < least:
                return found
            room -= over
            text = self._text(self._base_of(room))
        if found is None:
            raise NothingChanges(
                f"no summary of {len(self.ids)} messages is shorter than they are: nothing was changed"
            )
        return found

    def outcome(
        self, ids: Names = NOTHING, text: str | None = None, masks: dict[Name, Any] | None = None,
        budget: int | None = None,
    ) -> CompactionOutcome:  # fmt: skip
        """The result of a summary `text` in place of `ids`, or of `masks`; of shortened messages alone without any.
        `budget`: the size for which it was made.
        """
        log, base = self.log, self.base
        stubs = {name: stub for name, stub in self.restored.items() if name not in ids} | {**self.stubs}
        stubs = stubs if masks is None else masks
        op = Compact(
            at=log.here() if log.at is None else LogPosition(messages=self.state.count), ids=str(ids), text=text,
            stubs={str(name): stub for name, stub in stubs.items()}, strategy=self.strategy, target=self.asked.target,
            tells=str(self.before.names) if text is not None and ids else "",
            budget=budget, fallback=self.failure or None, focus=self.asked.focus or None,
        )  # fmt: skip
        if self.by_model is not None:
            op.model, op.asked = self.by_model.model, self.by_model.asked
        made = log.stamp(op)
        after = base.seen(made)
        names, then = after.listed(), base.measuring.with_counting(Counting(after))
        measured = then.of(names)
        tokens = measured.tokens - base.measured.tokens + base.total
        item = ItemName(made.id, 1)
        summary = ceil(sum(then.each([item]))) if text is not None and item in after.state().board.items else 0
        shortened, shown, left = Names.of(self.stubs), Names.of(base.shown), Names.of(names)
        replaced = ids | Names.of(masks or {})
        figures = Figures(
            base.total, tokens, measured.counter, len(base.shown), len(shown - left), len(left - shown), len(stubs),
            budget=self.goal + base.fixed, limit=base.limit, beyond=base.hidden, left=self._left(after, names),
        )  # fmt: skip
        return CompactionOutcome(
            op, replaced, shortened, self.messages, tokens - base.fixed, measured.counter, self.goal, summary, figures,
            after, self,
        )  # fmt: skip

    def _left(self, after: WritableLog, names: Sequence[Name]) -> int | None:
        """Tokens that a window hides afterwards; None if it hides the same as before."""
        if self.names is self.base.names:
            return None
        hidden = after.state().shown() - Names.of(names)
        return ceil(sum(self.base.measuring.with_counting(Counting(after)).each(list(hidden))))

    def smaller(self, found: CompactionOutcome) -> CompactionOutcome:
        """Returns `found`. Raises NothingChanges if it is not smaller than the context."""
        if found.after < found.before and (found.replaced or found.shortened):
            return found
        if self.definition.nothing and not found.replaced:
            raise NothingChanges(*self.definition.nothing)
        what = f"the context would not be smaller ({found.before:,} → {found.after:,} tokens, {found.counter})"
        hint = "a shorter summary" if self.asked.text is not None else "a smaller --target"
        raise NothingChanges(f"{what}: nothing was changed", f"{hint}, or more messages")


def plan_compact(log: WritableLog, base: Trimming, asked: CompactGoal) -> CompactionPlan:
    """Plans a compact of a log's context, with the tail that was asked for; what stays and is too long is shortened."""
    names, tokens = base.names, base.tokens.copy()
    projection = log.projection()
    if projection.newest is not None:  # messages that it hides come in when others leave
        names = list(through(log.state(), structs.replace(projection, newest=None)))
        tokens = Sizes(names, map(int, base.measuring.each(names)))
    messages = base.total - base.fixed
    plan = CompactionPlan(
        log, base, asked, names, tokens, exempt(log), Ranking(log, Calls(log, names), 0), _cut(log.state()), messages,
        originals=0, goal=0, units=Units([], []),
    )  # fmt: skip
    originals = messages + plan.surplus(names)
    goal = int(asked.percent * originals / 100) if asked.budget is None else asked.budget
    if asked.budget is None and (asked.full or (asked.force and messages <= goal)):
        originals, goal = messages, int(asked.percent * messages / 100)
    anew = plan.shortens and plan.definition.summarizes and asked.keep == KeptTail()
    restored = {
        name: stub for name in (plan.cut if anew else ())
        if name in tokens and (stub := of_content(log.original(name))) is not None
    }  # fmt: skip
    tokens = tokens.copy()
    for name in restored:
        tokens[name] = ceil(base.measuring.replacement(name, log.original(name)))
    plan = structs.replace(plan, originals=originals, goal=goal, tokens=tokens, restored=restored)
    plan = structs.replace(plan, units=_units(plan))
    for place, room in rooms(plan.units, asked.keep, goal).items() if plan.shortens else ():
        plan = plan.with_shorter([place], room) or plan
    plan = structs.replace(plan, tail=tail_start(plan.units, asked.keep, goal))
    if asked.part and asked.budget is None:
        gone = plan.gone + (0 if asked.full else plan.surplus(plan.going))
        plan = structs.replace(plan, goal=plan.whole - plan.gone + int(asked.percent * gone / 100))
    return plan


def _cut(state: State) -> list[int]:
    """Messages that an earlier compact shortened or masked."""
    stubs = state.board.stubs
    in_force = {source for _, source in state.representation} if stubs else set()
    ops = [one.op for one in state.ledger.entries if one.number in in_force] if stubs else []
    cut = {n for op in ops if isinstance(op, Compact) for text in op.stubs for n in Names.parse(text).numbers}
    return sorted(cut & stubs.keys())


def _units(plan: CompactionPlan) -> Units:
    """The context as units, in order, with what stays of it."""
    state, ranking, chosen, kinds = plan.state, plan.ranking, plan.asked.chosen, plan.ranking.kinds
    task, waiting = _task(plan), _waiting(ranking)

    def instructs(name: Name) -> bool:
        return ranking.role(name) in PREAMBLE_ROLES or kinds.get(name) == SyntheticKind.INSTRUCTION

    def stays(name: Name) -> bool:
        return name in plan.exempt or name == task or instructs(name)

    def shrinks(name: Name) -> bool:
        """Whether a message stays only because it is the first one: it may be shortened (replay 63)."""
        is_first = state.is_first(name) or name == task
        return is_first and stays(name) and not instructs(name) and not state.protected(name)

    return Units(ranking.groups, (
        CompactUnit(
            tuple(group), sum([plan.tokens[name] for name in group]), exchange,
            step=ranking.role(group[0]) in SPEAKS,
            stays=place == waiting or any(map(stays, group)) or not ranking.whole(group),
            chosen=chosen is None or all(_is_chosen(plan, name, chosen) for name in group),
            is_summary=not isinstance(group[0], int) and state.board.items[group[0]].summary,
            shrinks=place != waiting and len(group) == 1 and shrinks(group[0]) and ranking.whole(group),
        )
        for place, (group, exchange) in enumerate(zip(ranking.groups, ranking.exchanges, strict=True))
    ))  # fmt: skip


def _waiting(ranking: Ranking) -> int:
    """The place of the newest step with calls, if one of them has no result yet; else -1."""
    for place in range(len(ranking.groups) - 1, -1, -1):
        links = [ranking.links(name) for name in ranking.groups[place]]
        calls = {call for made, _ in links for call in made}
        if calls:
            return place if calls - {call for _, answered in links for call in answered} else -1
    return -1


def _task(plan: CompactionPlan) -> Name | None:
    """The first typed message, if only instructions and notices of a program precede it. The log's first message may be
    one of these, or on an abandoned branch.
    """
    role, kinds = plan.ranking.role, plan.ranking.kinds
    for name in plan.names:
        if role(name) in PREAMBLE_ROLES or kinds.get(name) in (SyntheticKind.INSTRUCTION, SyntheticKind.NOTICE):
            continue
        typed = isinstance(name, int) and role(name) == "user" and name not in kinds
        return name if typed and name not in plan.state.board.unprotected else None
    return None


def _is_chosen(plan: CompactionPlan, name: Name, chosen: Names) -> bool:
    """Whether `name` is chosen. A summary of ctxkit's is, if all messages that it covers are; or if it is itself, and
    covers no message of an agent or thread that is not selected.
    """
    state, selection = plan.state, plan.asked.selection
    item = None if isinstance(name, int) else state.board.items[name]
    if item is None or not item.summary:
        return name in chosen
    if (item.tells & state.present()).within(chosen):
        return True
    alone = selection.agent is None and selection.thread is None
    return name in chosen and (alone or all(belongs(state, n, selection.agent, selection.thread) for n in item.tells))


def _is_worth(many: int, tokens: int) -> bool:
    """Whether a summary of so many messages, with so many tokens, is worth making."""
    return many >= FEWEST or tokens > LONG


def exempt(log: WritableLog) -> Names:
    """The messages that no compact of this log replaces. The first message is one of them, unless the log begins with a
    summary or a model's message.
    """
    state = log.state()
    first = state.messages[state.preamble] if state.preamble < state.count else None
    opens = first is not None and first.role == "user" and kind(log.content(first.n)) != SyntheticKind.SUMMARY
    return guarded(state, first=opens)


def whole(log: WritableLog, *, assembly: bool = True) -> Trimming:
    """Measures the whole request. `assembly`: with the texts that the config puts around the context."""
    return Trimming(log, TrimRequest(assembly=assembly))
