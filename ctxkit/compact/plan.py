"""The plan of a compact: a log's context with a part of it replaced by a summary, measured.

`trim/ranking.py` makes units of the context, `candidates.py` says which may go, `extraction.py` and its neighbours in
which words they are told; this measures, asks for words that fit, and looks at what comes of it. Summaries are made of
the original messages.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from math import ceil, inf
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec
from msgspec import structs

from ctxkit.compact.ask_model import ModelSummary
from ctxkit.compact.candidates import (
    FEWEST,
    SUMMARY,
    CompactUnit,
    KeptTail,
    Units,
    candidates,
    guarded,
    originals,
    rooms,
)
from ctxkit.compact.extraction import Count, Extraction
from ctxkit.compact.masked_results import Masked, maskable
from ctxkit.compact.prompt import worded
from ctxkit.compact.segment_spool import spooled
from ctxkit.compact.shorten_messages import abridge
from ctxkit.content.calls import Calls
from ctxkit.content.facts import facts, kept
from ctxkit.content.text_segments import SPEAKS, TextSegment
from ctxkit.core.context import belongs, entry
from ctxkit.core.context import names as through
from ctxkit.core.derive.synthetic_messages import SyntheticKind, kind
from ctxkit.core.derive.usage import Figures
from ctxkit.core.item_names import NOTHING, ItemName, Name, Names, Sizes, column
from ctxkit.core.messages import Content
from ctxkit.core.ops import Compact, LogPosition
from ctxkit.core.select import Selection
from ctxkit.core.sets.sequences import Reiterable
from ctxkit.core.state import PREAMBLE_ROLES
from ctxkit.core.strategies import RULES, STRATEGIES
from ctxkit.errors import NothingChanges
from ctxkit.llm.hooks import Hooks
from ctxkit.logfile.stubs import stubbed
from ctxkit.measure.count import PER_MESSAGE, Counting
from ctxkit.trim.plan import LONG
from ctxkit.trim.ranking import Ranking
from ctxkit.trim.trim import Trimming
from ctxkit.trim.trim import TrimRequest as Everything

if TYPE_CHECKING:
    from ctxkit.logfile.commit import WritableLog

SHORTEST, FLOOR = 60, 4
"""Tokens that a summary has in any case; of more than so many times as many it has room for a line."""
TRIES = 4
"""Summaries that are made until the whole fits, where what is counted of the parts did not add up."""
NEAR, GRAIN = 0.004, 24
"""Of the tokens of all messages, and in tokens: so much less than the goal is the goal; the larger counts."""


class CompactGoal(msgspec.Struct, frozen=True):
    """What is asked of a compact. `percent`: of the tokens of all messages, `budget`: so many; one of them counts.

    It counts from the originals that summaries tell, but where `force` asks for more once that is reached, and where
    the context is `full`: then from the context as it is.

    `keep`: the tail; `chosen`: what may be replaced, None for all; `part`: the percent is of what is chosen;
    `text`: the summary, where somebody else wrote it; `selection`: whose agent and thread alone are told. `model`: who
    is asked by the strategy `llm`, for `seconds` at most; `fallback`: rules take over where that fails. `shortens`:
    what stays and is too long for the goal is made shorter where it stands.
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
    seconds: float = 60.0
    fallback: bool = True
    hooks: Hooks = Hooks()
    force: bool = False
    full: bool = False
    shortens: bool = True

    @property
    def asked(self) -> str:
        """The target as an op says it: `30%`, or a budget."""
        return f"{self.percent:g}%" if self.budget is None else str(self.budget)


class CompactionOutcome(msgspec.Struct, frozen=True):
    """What a compact comes to. `op`: what it appends; `replaced`: what is told by it, or masked; `shortened`: what
    stays where it stood, with fewer words.

    Tokens of all messages of the context `before` and `after`, by `counter`: the provider's, or ours. `goal`: of the
    same, what was asked for; `summary`: of the summary alone; `reached`: whether `after` is no more than the goal.
    `seen`: the log as it is then.
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
        wish = self.made_by.wish
        if wish.budget is None and not wish.part:
            return wish.percent
        return round(100 * self.goal / self.before, 1) if self.before else 0.0

    @property
    def reached(self) -> bool:
        """Whether the goal is."""
        return self.after <= self.goal

    @property
    def is_near(self) -> bool:
        """Whether hardly less than the goal is left."""
        return 0 <= self.goal - self.after <= NEAR * self.before

    def is_nearer(self, other: CompactionOutcome) -> bool:
        """Whether this leaves more than another that reached the goal, or less than one that did not."""
        if self.reached and other.reached:
            return self.after > other.after
        return self.reached or (not other.reached and self.after < other.after)

    def kept(self) -> dict[str, tuple[int, int]]:
        """Of each class of facts of what is replaced: how many the context keeps, and of how many."""
        seen, state, changed = self.seen, self.seen.state(), self.replaced | self.shortened
        told = Reiterable(lambda: (piece for piece in self.made_by.pieces if piece.name in changed))
        left = spooled((name, seen.full(entry(state, name))) for name in seen.names())
        return kept(facts(told), Reiterable(lambda: (piece.text for piece in left)))


class _Made(NamedTuple):
    """The text that was made last, and what for."""

    budget: int = 0
    ids: Names = NOTHING
    lines: Extraction | None = None
    text: str | None = None


class Strategy(ABC):
    """One way to tell what leaves. A file of `compact/strategies/` has one; `core/strategies.py` names it.

    `summarizes`: a summary stands in the place of messages; `shortens`: what stays and is too long for the goal is made
    shorter where it stands; `by_others`: the words are not ours, and are not made again where other ops come meanwhile;
    `fallback`: the strategy that takes over where this one gives no words; `nothing`: the error and the hint where it
    finds nothing to replace.
    """

    summarizes = True
    shortens = True
    by_others = False
    fallback = ""
    nothing: tuple[str, str] | None = None

    @abstractmethod
    def make(self, plan: CompactionPlan) -> CompactionOutcome:
        """What comes of it. Raises NothingChanges where it would not be smaller."""

    def note(self, plan: CompactionPlan, made: CompactionOutcome, told: str) -> str:
        """What is said of the messages that are `told`."""
        return f"{plan.strategy}: {told} summarized in {made.summary:,} tokens, {made.counter}"

    def floor(self, plan: CompactionPlan, made: CompactionOutcome, least: str) -> str:
        """What is said where the target is not reached: `least` is left, and what would leave less."""
        less = plan.without_tail(made)
        if less is not None:
            kept = sum(unit.tokens for unit in plan.units[plan.tail :] if not unit.stays)
            least += f" while the newest {kept:,} tokens stay; --keep-last 0 leaves {less:,}"
        return f"{least}; the messages that stay have {plan.stays:,}"

    def again(self, log: WritableLog, op: Compact, told: Names, leave: Names) -> str | None:
        """The words of a summary that `op` made, for `told` alone; None where they cannot be made again. `leave`: what
        leaves the context now.
        """
        return None


def load(name: str) -> Strategy:
    """The strategy with this name. Imports its module, and no other's."""
    return cast(Strategy, import_module(STRATEGIES[name].module).STRATEGY)


class CompactionPlan:
    """One log's context, its units, and what may be replaced."""

    def __init__(self, log: WritableLog, base: Trimming, wish: CompactGoal) -> None:
        self.log, self.base, self.wish = log, base, wish
        self.state = log.state()
        self.names, self.tokens = base.names, base.tokens.copy()
        projection = log.projection()
        if projection.newest is not None:  # what it hides would come in for what leaves, so that is told, too
            self.names = list(through(self.state, structs.replace(projection, newest=None)))
            sizes = base.measuring.each(self.names)
            self.tokens = Sizes(self.names, map(int, sizes))
        self.exempt = exempt(log)
        self.messages = base.total - base.fixed
        """Tokens of the messages of the context. What is sent besides them no compact makes smaller."""
        self.originals = self.messages + self._beyond(self.names)
        """The same, with the originals in the place of what a compact made of them."""
        share = int(wish.percent * self.originals / 100) if wish.budget is None else wish.budget
        if wish.budget is None and (wish.full or (wish.force and self.messages <= share)):
            self.originals, share = self.messages, int(wish.percent * self.messages / 100)
        self.share = share
        self.goal = share
        self._made = _Made()
        self._shape: Any = None
        """What decides which words the messages have: of a message that is as the log has it, they are the same."""
        self._earlier_shape: Any = None
        self._earlier_read: dict[str, Any] = {}
        """What was read for the words before: they come back where a change of them is taken back."""
        self.stubs: dict[Name, Any] = {}
        """What is shortened where it stands."""
        self.parts = 0
        """Messages that are kept, whole or in part, as no summary could tell so much of them as there is room for."""
        self.kind = load(wish.strategy)
        self.shortens = wish.shortens and wish.chosen is None and self.kind.shortens
        if self.shortens:
            for place, room in rooms(self.units, wish.keep, share).items():
                self._shorten(place, room)
        self._choose(candidates(self.units, wish.keep, share)[1])
        self.story: ModelSummary | None = None
        self.failure = ""
        """Why no model's words are in the summary, where one was to be asked."""
        if wish.part and wish.budget is None:
            gone = self.gone if wish.full else self.gone + self._beyond(self.going)
            self.goal = self.whole - self.gone + int(wish.percent * gone / 100)

    def _choose(self, begins: int) -> None:
        """The tail begins there: all older units that may be replaced are."""
        self.tail = begins
        self.places = self.units.may_go(begins)
        self.going = column(name for place in self.places for name in self.units[place].names)
        """What is seen and may be replaced, in order: messages, and summaries of ours."""
        self.ids = self.originals_of(self.going)
        """The same as messages of the log: what is told."""
        self.whole = self.tokens.total
        """Tokens of all messages that are looked at, with those that are shortened as they are then."""
        self.gone = sum(self.tokens[name] for name in self.going)
        going = Names.of(self.going)
        shape = {name for name in self.state.board.stubs if name in going}, going.items, self.stubs.copy()
        for cached in ("stays", "_back", "_full", "_told_of"):
            self.__dict__.pop(cached, None)
        if shape != self._shape:
            read: dict[str, Any] = {
                name: self.__dict__.pop(name) for name in ("pieces", "_lines") if name in self.__dict__
            }
            if shape == self._earlier_shape:
                self.__dict__ |= self._earlier_read
            self._earlier_shape, self._earlier_read = self._shape, read
        self._shape = shape

    @property
    def loose(self) -> int:
        """Tokens of all that may go, the tail included."""
        return sum([unit.tokens for unit in self.units if unit.chosen and not unit.stays])

    @property
    def is_worth(self) -> bool:
        """Whether a summary is made: of a few short messages none is, but beside those of which a part is kept."""
        many = len(self.ids)
        return many >= FEWEST or (many > 0 and self.shortens and (many + self.parts >= FEWEST or self.gone > LONG))

    def _unshortened(self, name: Name) -> Content:
        """A message as it was before a compact shortened it; what other ops made of it stays so."""
        plain = name not in self.state.board.stubs or name in self._cut
        return self.log.original(name) if plain else self.log.full(entry(self.state, name))

    @property
    def reached(self) -> str | None:
        """What is said where a share of the originals is reached already, by what summaries tell; None where not."""
        wish, now, whole = self.wish, self.messages, self.originals
        if wish.budget is not None or wish.force or wish.full or (wish.chosen is not None and not wish.part):
            return None
        if wish.part:
            now, whole = self.gone, self.gone + self._beyond(self.going)
        if now == whole or 100 * now > wish.percent * whole:
            return None
        percent = 100 * now / whole
        what = (
            "the target is reached already"
            if not wish.part
            else "the target for the chosen messages is reached already"
        )
        return f"{what}: {now:,} tokens are {percent:.1f} % of the {whole:,} of the originals"

    def _beyond(self, names: Sequence[Name]) -> int:
        """Tokens that the originals of these have more: of what summaries of ours tell, and a compact shortened."""
        state, measuring = self.state, self.base.measuring
        items, present = state.board.items, state.present()
        told = [name for name in names if not isinstance(name, int) and items[name].summary]
        cut = [name for name in self._cut if name in self.tokens] if self._cut else []
        whole = [n for name in told for n in (items[name].tells & present).numbers] + cut
        read = self.base.counting.base_as_read(whole)
        size = sum([measuring.rate(n) * tokens for n, tokens in zip(whole, read, strict=True)])
        changed: set[Name] = {*told, *cut}
        now = sum(self.tokens[name] for name in changed)
        return max(0, int(size) - now)

    @cached_property
    def _cut(self) -> list[int]:
        """Messages that an earlier compact shortened, or whose results it masked."""
        stubs = self.state.board.stubs
        if not stubs:
            return []
        in_force = {source for _, source in self.state.representation}
        ops = [one.op for one in self.state.ledger.entries if one.number in in_force]
        cut = {n for op in ops if isinstance(op, Compact) for text in op.stubs for n in Names.parse(text).numbers}
        return sorted(cut & stubs.keys())

    def _shorten(self, place: int, room: int) -> bool:
        """The unit at `place` has `room` tokens from now on, and stays; whether it can be made so short."""
        unit = self.units[place]
        if not self._abridge(unit.names, room):
            return False
        tokens = sum(self.tokens[name] for name in unit.names)
        self.units[place] = unit._replace(tokens=tokens, stays=True)
        return True

    def _abridge(self, names: Sequence[Name], room: int, *, least: bool = False) -> bool:
        """These messages have `room` tokens together from now on, or with `least` as few as they can; whether any is
        made shorter.
        """
        measuring = self.base.measuring
        messages = {name: self._unshortened(name) for name in names}
        stubs = abridge(
            messages, room, measuring.instead, measuring.rate, self.base.counting.counter.counts, least=least
        )
        for name, stub in stubs.items():
            self.stubs[name] = stub
            self.tokens[name] = ceil(measuring.instead(name, stubbed(messages[name], stub)))
        return bool(stubs)

    def shorten_all(self) -> bool:
        """Shorten all that may go where it stands, the longest texts first: it is too little for a summary. Whether
        it can be made so short.
        """
        loose = [place for place, unit in enumerate(self.units) if unit.chosen and not (unit.stays or unit.told)]
        if not self.shortens or self.wish.keep != KeptTail() or not loose:
            return False
        names = [name for place in loose for name in self.units[place].names]
        room = self.goal - (self.whole - sum(self.tokens[name] for name in names))
        shortened = self._abridge(names, room, least=True)
        for place in loose if shortened else ():
            unit = self.units[place]
            self.units[place] = unit._replace(tokens=sum(self.tokens[name] for name in unit.names), stays=True)
        if shortened:
            self._choose(len(self.units))
        return shortened

    def originals_of(self, names: Sequence[Name]) -> Names:
        return originals(self.state, Names.of(names), self.exempt)

    @cached_property
    def _ranking(self) -> Ranking:
        return Ranking(self.log, Calls(self.log, self.names), 0)

    @cached_property
    def units(self) -> Units:
        """The context as units, in order."""
        ranking, chosen = self._ranking, self.wish.chosen
        groups = ranking.groups
        waiting = self._waiting(groups)
        return Units(groups, (
            CompactUnit(
                tuple(group), sum([self.tokens[name] for name in group]), exchange,
                step=self._ranking.role(group[0]) in SPEAKS,
                stays=place == waiting or any(map(self._stays, group)) or not ranking.whole(group),
                chosen=chosen is None or all(self._is_chosen(name, chosen) for name in group),
                told=not isinstance(group[0], int) and self.state.board.items[group[0]].summary,
                shrinks=place != waiting and len(group) == 1 and self._shrinks(group[0]) and ranking.whole(group),
            )
            for place, (group, exchange) in enumerate(zip(groups, ranking.exchanges, strict=True))
        ))  # fmt: skip

    def _waiting(self, groups: Sequence[Sequence[Name]]) -> int:
        """The place of the newest step, where a call in it waits for its result; -1 for none."""
        for place in range(len(groups) - 1, -1, -1):
            links = [self._ranking.links(name) for name in groups[place]]
            calls = {call for made, _ in links for call in made}
            if calls:
                return place if calls - {call for _, answered in links for call in answered} else -1
        return -1

    def _stays(self, name: Name) -> bool:
        return (
            name in self.exempt
            or name == self._task
            or self._ranking.role(name) in PREAMBLE_ROLES
            or self._ranking.kinds.get(name) == SyntheticKind.INSTRUCTION
        )

    def _shrinks(self, name: Name) -> bool:
        """Whether a message stays because it is the first one alone: its length is nobody's to keep (replay 63)."""
        first = self.state.is_first(name) or name == self._task
        typed = (
            self._ranking.role(name) not in PREAMBLE_ROLES
            and self._ranking.kinds.get(name) != SyntheticKind.INSTRUCTION
        )
        return first and typed and not self.state.protected(name)

    @cached_property
    def _task(self) -> Name | None:
        """What was typed first, where nothing stands before it but instructions and notices of a program: the log's
        first message may be one of these, or on a branch that was left.
        """
        role, kinds = self._ranking.role, self._ranking.kinds
        for name in self.names:
            if role(name) in PREAMBLE_ROLES or kinds.get(name) in (SyntheticKind.INSTRUCTION, SyntheticKind.NOTICE):
                continue
            typed = isinstance(name, int) and role(name) == "user" and name not in kinds
            return name if typed and name not in self.state.board.unprotected else None
        return None

    def _is_chosen(self, name: Name, chosen: Names) -> bool:
        """Whether `name` is: a summary of ours by itself, but where it tells what another agent said, or by all that it
        tells. Where that is a part only, it stays, and no message that it tells comes back for it.
        """
        item, asked = None if isinstance(name, int) else self.state.board.items[name], self.wish.selection
        if item is None or not item.summary:
            return name in chosen
        if item.tells.within(chosen):
            return True
        alone = asked.agent is None and asked.thread is None
        return name in chosen and (alone or all(belongs(self.state, n, asked.agent, asked.thread) for n in item.tells))

    @cached_property
    def pieces(self) -> Sequence[TextSegment]:
        """What the context says, in order: the originals of all that may be replaced, and what stays beside them."""
        stay = (Names.of(self.names) | Names.of(self._back)) - Names.of(self.going)
        names = self.state.ordered(stay | self.ids)
        return spooled((name, self._said(name, as_it_was=name in self.ids)) for name in names)

    def _said(self, name: Name, *, as_it_was: bool) -> Content:
        """A message of the log, or what is sent for it."""
        if as_it_was:
            return self.log.original(name)
        stub = self.stubs.get(name)
        return self.log.full(entry(self.state, name)) if stub is None else stubbed(self._unshortened(name), stub)

    def condensed(self) -> CompactionOutcome:
        """What comes of it. Raises NothingChanges where it would not be smaller."""
        return self.kind.make(self)

    def has_room(self) -> bool:
        """Whether a summary is made, once as many of the newest messages stay as there is room for."""
        if self.is_worth and self.shortens and self.wish.keep == KeptTail():
            self._fill()
        return self.is_worth

    def summarized(self) -> CompactionOutcome:
        """A summary in its room, of the story where there is one."""
        return self.smaller(self._extracted())

    def shortened(self) -> CompactionOutcome:
        """No summary, and long messages shortened where they stand."""
        return self.smaller(self.outcome(Names(), None))

    def maskable(self) -> Iterator[Masked]:
        """The results that could be masked, the oldest first."""
        going = [name for name in self.going if isinstance(name, int)]
        return maskable(self._ranking, self.base.measuring, going, self.tokens)

    def base_room(self) -> int:
        """Tokens of the base that a summary has."""
        return self._base_of(self._room()[0])

    def _fill(self) -> None:
        """Make room for more of the newest, where a summary that tells all of the older is shorter than its room."""
        near = max(GRAIN, NEAR * self.messages)
        for _ in range(2 * TRIES):
            room, _ = self._room()
            told = self._told()
            if told is None or room - told <= near:
                return
            full = self._full
            scale = told / (sum(full.values()) or 1)
            begins = self._earlier(scale)
            if begins != self.tail:
                self._choose(begins)
            elif not self._keep_a_part(scale):
                return

    def _told(self) -> float | None:
        """Tokens of a summary that has the room that there is; None where nothing fits."""
        text = self._text(self.base_room(), self.base.counting.counter.counts)
        if text is None:
            return None
        [size] = self.base.counting.counter.counts([text])
        return (size + PER_MESSAGE) * self.base.measuring.rate(ItemName("", 1))

    @cached_property
    def _full(self) -> dict[int, float]:
        """Of each unit that is replaced, about how many tokens its lines have; nothing of one without any."""
        rate, lines = self.base.measuring.rate(ItemName("", 1)), self._lines.full
        found: dict[int, float] = {}
        for place in self.places:
            names = self.units[place].names
            told = names if all(isinstance(name, int) for name in names) else self.originals_of(names)
            tokens = sum([lines.get(name, 0) for name in told])
            if tokens:
                found[place] = rate * tokens
        return found

    def _earlier(self, scale: float) -> int:
        """Where the tail begins, if a summary of all that is older is as long as its room; else as early as it may."""
        full, stays, left = self._full, self.stays, self.gone
        lines = scale * sum(full.values())
        begins, many = self.tail, len(self.ids)
        for place in reversed(self.places):
            unit = self.units[place]
            left -= unit.tokens
            many -= len(unit.names)
            rest = lines - scale * full.get(place, 0)
            if (
                unit.told
                or stays + unit.tokens + self._least(left, rest) > self.goal
                or not (many >= FEWEST or left > LONG)
            ):
                break
            stays, lines, begins = stays + unit.tokens, rest, place
            if self.goal - stays <= lines:
                break
        return begins

    def _keep_a_part(self, scale: float) -> bool:
        """Of the newest unit that is replaced as much as there is room for: it is too long to stay whole, or nothing
        would be left to tell. Of an older one where it has no long texts. Whether any of it is kept, and a summary made
        of others.
        """
        full = self._full
        lines = scale * sum(full.values())
        for place in reversed(self.places):
            unit = self.units[place]
            if unit.told:
                return False
            others = self.gone - unit.tokens
            many = len(self.ids) + self.parts
            tells = len(self.places) > 1 and (many >= FEWEST or others > LONG)
            older = max(lines - scale * full.get(place, 0), self._least(others, 0)) if tells else others
            room = int(self.goal - self.stays - older)
            if room <= GRAIN:
                continue
            sizes = {name: self.tokens[name] for name in unit.names}
            need = self._keep(place, room)
            if need is None:
                continue
            lacks = need - (self.goal - self.stays)
            if not self.is_worth or lacks <= 0:
                self._earlier_read = {}
                return self.is_worth
            self._tell(place, unit, sizes)  # what is left to tell has no room beside it
            if lacks >= room - GRAIN or self._keep(place, room - lacks) is None:
                return False
            self._earlier_read = {}
            return True
        return False

    def _keep(self, place: int, room: int) -> int | None:
        """The unit at `place` stays, in `room` tokens. What a summary of the others has at least; None where the unit
        cannot be that short.
        """
        unit = self.units[place]
        if room >= unit.tokens:
            self.units[place] = unit._replace(stays=True)
        elif not self._shorten(place, room):
            return None
        self.parts += len(unit.names)
        self._choose(self.tail)
        least = self._least(self._told_of)
        if least - (self.goal - self.stays) >= room - GRAIN:  # so much is lacking in any case: nothing is read for it
            return least
        return self._room()[1]

    def _tell(self, place: int, unit: CompactUnit, sizes: Mapping[Name, int]) -> None:
        """The unit at `place` is told again, as it was, with these sizes."""
        self.units[place] = unit
        for name, size in sizes.items():
            self.tokens[name] = size
            self.stubs.pop(name, None)
        self.parts -= len(unit.names)
        self._choose(self.tail)

    def without_tail(self, made: CompactionOutcome) -> int | None:
        """Tokens that would be left if no newest messages stayed, by rules; None where that is no less than `made`."""
        if self.wish.keep == KeptTail(0) or not any(not unit.stays for unit in self.units[self.tail :]):
            return None
        wish = structs.replace(self.wish, keep=KeptTail(0), strategy=self.kind.fallback or self.wish.strategy)
        try:
            after = CompactionPlan(self.log, self.base, wish).condensed().after
        except NothingChanges:
            return None
        return after if after < made.after else None

    @property
    def strategy(self) -> str:
        """By which the summary is made in the end."""
        return self.kind.fallback if self.kind.fallback and self.story is None else self.wish.strategy

    def _room(self) -> tuple[int, int]:
        """Tokens that a summary may have, and those that it gets in any case."""
        least = self._least(self._told_of)
        if self.goal - self.stays < FLOOR * least:  # what it opens with may take all of the room
            least = self._holding(least)
        return min(max(self.goal - self.stays, least), max(self.gone - 1, 1)), least

    def _holding(self, tokens: int) -> int:
        """So many tokens, or as few more as hold a summary."""
        low, high = tokens - 1, tokens
        while high < self.gone // 2 and not self._holds(high):
            low, high = high, min(2 * high, self.gone // 2)
        while high < min(self.gone - 1, 2 * SHORTEST) and not self._holds(high):
            low, high = high, high + 2
        while high - low > 2:
            middle = (low + high) // 2
            low, high = (low, middle) if self._holds(middle) else (middle, high)
        return high

    def _holds(self, tokens: int) -> bool:
        """Whether there is a summary of so many tokens."""
        return self._lines.text(self._base_of(tokens), self.ids) is not None

    def _least(self, gone: int, lines: float = inf) -> int:
        """Tokens that a summary of so many gets in any case, whose lines have so many."""
        return min(max(SHORTEST, int(min(ceil(SUMMARY * gone), lines))), gone // 2)

    def _extracted(self) -> CompactionOutcome:
        room, least = self._room()
        if least >= self.gone:
            least_of = f"{self.gone:,} tokens is already the smallest possible summary of {len(self.ids)} messages"
            raise NothingChanges(
                f"it would not be smaller: {least_of}: nothing was changed", "use --force to condense further"
            )
        counter = self.base.counting.counter
        found: CompactionOutcome | None = None
        for _ in range(TRIES):
            budget = self._base_of(room)
            text = self._text(budget, counter.counts)
            if text is None:
                break
            found = self.outcome(self.ids, text, budget=budget)
            over = found.after - self.goal
            if over <= 0 or room - over < least:
                return found
            room -= over
        if found is None:
            raise NothingChanges(
                f"it would not be smaller: no summary of {len(self.ids)} messages is shorter: nothing was changed"
            )
        return found

    def _base_of(self, room: int) -> int:
        """Tokens of the base that a summary of `room` tokens has."""
        return int(room / self.base.measuring.rate(ItemName("", 1))) - PER_MESSAGE

    def _text(self, budget: int, count: Count) -> str | None:
        """The words of a summary of so many tokens of the base; None where nothing fits."""
        if budget <= 0:
            return None
        if self.story is not None:
            return worded(
                self.story.texts, self.story.model, self.pieces, budget, count, told=self.ids, label=self.state.label
            )
        if (self._made.budget, self._made.ids, self._made.lines) != (budget, self.ids, self._lines):
            self._made = _Made(budget, self.ids, self._lines, self._lines.text(budget, self.ids))
        return self._made.text

    @cached_property
    def _lines(self) -> Extraction:
        return Extraction(self.pieces, self.base.counting.counter.counts, self.state.label)

    @cached_property
    def _told_of(self) -> int:
        """Tokens of what a summary replaces, of the originals of what one tells; where more is asked for, as it is."""
        again = not (self.wish.full or self.wish.force)
        return self.gone + (self._beyond(self.going) if again else 0)

    @cached_property
    def stays(self) -> int:
        """Tokens that stay whatever is told; with messages that an earlier summary told and that are protected now."""
        return self.whole - self.gone + ceil(sum(self.base.measuring.each(self._back)))

    @cached_property
    def _back(self) -> list[Name]:
        """Messages that come back, as a summary told them that goes, and they are protected since."""
        items = self.state.board.items
        told = [items[name].tells for name in self.going if not isinstance(name, int) and items[name].summary]
        return [name for names in told for name in (names & self.state.present()) - self.ids]

    def outcome(
        self, ids: Names, text: str | None, masks: dict[Name, Any] | None = None, budget: int | None = None
    ) -> CompactionOutcome:
        """What comes of a summary `text` in the place of `ids`, or of `masks`; `budget`: what it was made for."""
        log, base = self.log, self.base
        stubs = self.stubs if masks is None else masks
        op = Compact(
            at=log.here() if log.at is None else LogPosition(messages=self.state.count), ids=str(ids), text=text,
            stubs={str(name): stub for name, stub in stubs.items()}, strategy=self.strategy, target=self.wish.asked,
            budget=budget, fallback=self.failure or None,
        )  # fmt: skip
        if self.story is not None:
            op.model, op.asked = self.story.model, self.story.asked
        made = log.stamp(op)
        after = log.seen_at(log.state_with(made))
        after.noticed = []
        names, then = after.listed(), base.measuring.seen(Counting(after))
        told = then.of(names)
        tokens = told.tokens - base.measured.tokens + base.total
        item = ItemName(made.id, 1)
        summary = ceil(sum(then.each([item]))) if text is not None and item in after.state().board.items else 0
        shortened, shown, left = Names.of(self.stubs), Names.of(base.shown), Names.of(names)
        replaced = ids | Names.of(masks or {})
        figures = Figures(
            base.total, tokens, told.counter, len(base.shown), len(shown - left), len(left - shown), len(stubs),
            budget=self.goal + base.fixed, limit=base.limit, beyond=base.hidden, left=self._left(after, names, tokens),
        )  # fmt: skip
        return CompactionOutcome(
            op, replaced, shortened, self.messages, tokens - base.fixed, told.counter, self.goal, summary, figures,
            after, self,
        )  # fmt: skip

    def _left(self, after: WritableLog, names: Sequence[Name], tokens: int) -> int | None:
        """Tokens that a window hides then, where they are others than now."""
        if self.names is self.base.names:
            return None
        hidden = after.state().shown() - Names.of(names)
        return ceil(sum(self.base.measuring.seen(Counting(after)).each(list(hidden))))

    def smaller(self, found: CompactionOutcome) -> CompactionOutcome:
        """What was found. Raises NothingChanges where it is not smaller than the context."""
        if found.after < found.before and (found.replaced or found.shortened):
            return found
        if self.kind.nothing and not found.replaced:
            raise NothingChanges(*self.kind.nothing)
        what = f"it would not be smaller ({found.before:,} → {found.after:,} tokens, {found.counter})"
        hint = "a shorter summary" if self.wish.text is not None else "a smaller --target"
        raise NothingChanges(f"{what}: nothing was changed", f"{hint}, or more messages")


def exempt(log: WritableLog) -> Names:
    """What no compact of this log replaces. Its first message is the task, but where it is what is left of an earlier
    part: a summary, a model's words.
    """
    state = log.state()
    first = state.messages[state.preamble] if state.preamble < state.count else None
    opens = first is not None and first.role == "user" and kind(log.content(first.n)) != SyntheticKind.SUMMARY
    return guarded(state, first=opens)


def whole(log: WritableLog, *, assembly: bool = True) -> Trimming:
    """The context measured, with all that is sent; `assembly`: what the config puts around it, too."""
    return Trimming(log, Everything(assembly=assembly))


def user(text: str) -> dict[str, Any]:
    """A summary as a message."""
    return {"role": "user", "content": text}
