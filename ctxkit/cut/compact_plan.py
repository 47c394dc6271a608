"""Plans a compact: replaces a part of a log's context by a summary, and measures the result.

`rank/ranking.py` splits the context into units, `candidates.py` selects those that may be replaced, and the strategies
write the summary. This module measures, asks for a summary that fits, and measures the context with it. Summaries are
made of the original messages.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from importlib import import_module
from math import ceil, inf
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec
from msgspec import structs

from ctxkit.content.calls import Calls
from ctxkit.core.board import shortening
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
from ctxkit.cut.shorten.shorten import Masked, abridge, without_results
from ctxkit.cut.summarize.extraction import Count, Extraction
from ctxkit.cut.trim import Trimming, TrimRequest
from ctxkit.cut.trim_plan import LONG
from ctxkit.cut.units.segment_spool import spooled
from ctxkit.cut.units.text_segments import SPEAKS, TextSegment
from ctxkit.errors import NothingChanges
from ctxkit.llm.hooks import Hooks
from ctxkit.logfile.stubs import of_content, stubbed
from ctxkit.measure.count import PER_MESSAGE, Counting

if TYPE_CHECKING:
    from ctxkit.cut.summarize.ask_model import ModelSummary
    from ctxkit.logfile.commit import WritableLog

SHORTEST, FLOOR = 60, 4
"""The least tokens of a summary; and the multiple of its least from which on it surely has room for a line."""
TRIES = 4
"""The most summaries that are made until the whole context fits: the sizes of its parts may not add up."""
NEAR, GRAIN = 0.004, 24
"""How far below the goal a result may be: a share of the tokens of all messages, or GRAIN tokens if that is more."""


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
        return 0 <= self.goal - self.after <= NEAR * self.before

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


class _LastSummary(NamedTuple):
    """The summary that was made last, and its arguments."""

    budget: int = 0
    ids: Names = NOTHING
    lines: Extraction | None = None
    text: str | None = None


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


class CompactionPlan:
    """A log's context, its units, and what of it may be replaced."""

    def __init__(self, log: WritableLog, base: Trimming, asked: CompactGoal) -> None:
        self.log, self.base, self.asked = log, base, asked
        self.state = log.state()
        self.names, self.tokens = base.names, base.tokens.copy()
        projection = log.projection()
        if projection.newest is not None:  # messages that it hides come in when others leave
            self.names = list(through(self.state, structs.replace(projection, newest=None)))
            sizes = base.measuring.each(self.names)
            self.tokens = Sizes(self.names, map(int, sizes))
        self.exempt = exempt(log)
        self.messages = base.total - base.fixed
        """Tokens of the messages of the context. A compact does not change what is sent besides them."""
        self.originals = self.messages + self._surplus(self.names)
        """Tokens of the messages with the originals instead of summaries and shortened messages."""
        share = int(asked.percent * self.originals / 100) if asked.budget is None else asked.budget
        if asked.budget is None and (asked.full or (asked.force and self.messages <= share)):
            self.originals, share = self.messages, int(asked.percent * self.messages / 100)
        self.share = share
        self.goal = share
        self._made = _LastSummary()
        self._shape: Any = None
        """All on which the text of the messages depends: `pieces` and `_lines` are read again if it changes."""
        self.stubs: dict[Name, Any] = {}
        """The messages that are shortened in place."""
        self.parts = 0
        """Number of messages that are kept, whole or shortened, because a summary of them cannot fill the room."""
        self.definition = load(asked.strategy)
        self.shortens = asked.shortens and asked.chosen is None and self.definition.shortens
        anew = self.shortens and self.definition.summarizes and asked.keep == KeptTail()
        self.restored: dict[Name, Any] = {
            name: stub for name in (self._cut if anew else ())
            if name in self.tokens and (stub := of_content(log.original(name))) is not None
        }  # fmt: skip
        """What an earlier compact shortened counts whole, as if that was not there; the stub with which it is whole."""
        for name in self.restored:
            self.tokens[name] = ceil(base.measuring.replacement(name, log.original(name)))
        if self.shortens:
            for place, room in rooms(self.units, asked.keep, share).items():
                self._shorten(place, room)
        self._choose(tail_start(self.units, asked.keep, share))
        self.by_model: ModelSummary | None = None
        self.failure = ""
        """Why the model gave no summary, if one was asked."""
        if asked.part and asked.budget is None:
            gone = self.gone if asked.full else self.gone + self._surplus(self.going)
            self.goal = self.whole - self.gone + int(asked.percent * gone / 100)

    def _choose(self, begins: int) -> None:
        """Sets the place where the tail begins. All older units that may be replaced are replaced."""
        self.tail = begins
        self.places = self.units.may_go(begins)
        self.going = column(name for place in self.places for name in self.units[place].names)
        """The names of the context that are replaced, in order: messages, and ctxkit's summaries."""
        self.ids = self.originals_of(self.going)
        """The messages of the log that are summarized."""
        self.before = self._told_before()
        """What the program's own compactions before these took out: the summary tells it too."""
        self.covered = self.ids | self.before.names
        """All that the summary tells."""
        self.whole = self.tokens.total
        """Tokens of all messages, with the new size of shortened ones."""
        self.gone = sum(self.tokens[name] for name in self.going)
        going = Names.of(self.going)
        shape = {name for name in self.state.board.stubs if name in going}, going.items, self.stubs.copy(), self.before
        for cached in ("stays", "_back", "_full", "_replaced_size"):
            self.__dict__.pop(cached, None)
        for cached in ("pieces", "_lines") if shape != self._shape else ():
            self.__dict__.pop(cached, None)
        self._shape = shape

    @property
    def loose(self) -> int:
        """Tokens of all that may be replaced, the tail included."""
        return sum([unit.tokens for unit in self.units if unit.chosen and not unit.stays])

    @property
    def is_worth(self) -> bool:
        """Whether a summary is worth making: not of a few short messages, except beside messages kept in part."""
        many = len(self.ids)
        return many >= FEWEST or (many > 0 and self.shortens and (many + self.parts >= FEWEST or self.gone > LONG))

    def _unshortened(self, name: Name) -> Content:
        """A message as it was before a compact shortened it, with the changes of other ops."""
        plain = name not in self.state.board.stubs or name in self._cut
        return self.log.original(name) if plain else self.log.full(entry(self.state, name))

    @property
    def reached(self) -> str | None:
        """The message if earlier compacts have reached the target already; None if not."""
        asked, now, whole = self.asked, self.messages, self.originals
        if asked.budget is not None or asked.force or asked.full or (asked.chosen is not None and not asked.part):
            return None
        if asked.part:
            now, whole = self.gone, self.gone + self._surplus(self.going)
        if now == whole or now > asked.percent * whole / 100 + max(GRAIN, NEAR * whole / 2):  # originals are estimated
            return None
        percent = 100 * now / whole
        what = (
            "the target is reached already"
            if not asked.part
            else "the target for the chosen messages is reached already"
        )
        return f"{what}: {now:,} tokens are {percent:.1f} % of the {whole:,} of the originals"

    def _surplus(self, names: Sequence[Name]) -> int:
        """Tokens by which the originals of summaries and shortened messages in `names` are larger than these."""
        state, measuring = self.state, self.base.measuring
        items, present = state.board.items, state.present()
        summaries = [name for name in names if not isinstance(name, int) and items[name].summary]
        cut = [name for name in self._cut if name in self.tokens] if self._cut else []
        whole = [n for name in summaries for n in (items[name].tells & present).numbers] + cut
        read = self.base.counting.base_as_read(whole)
        size = sum([measuring.rate(n) * tokens for n, tokens in zip(whole, read, strict=True)])
        changed: set[Name] = {*summaries, *cut}
        now = sum(self.tokens[name] for name in changed)
        return max(0, int(size) - now)

    @cached_property
    def _cut(self) -> list[int]:
        """Messages that an earlier compact shortened or masked."""
        stubs = self.state.board.stubs
        if not stubs:
            return []
        in_force = {source for _, source in self.state.representation}
        ops = [one.op for one in self.state.ledger.entries if one.number in in_force]
        cut = {n for op in ops if isinstance(op, Compact) for text in op.stubs for n in Names.parse(text).numbers}
        return sorted(cut & stubs.keys())

    def _shorten(self, place: int, room: int) -> bool:
        """Shortens the unit at `place` to `room` tokens, so that it stays. Returns False if it cannot be so short."""
        unit = self.units[place]
        if not self._abridge(unit.names, room):
            return False
        tokens = sum(self.tokens[name] for name in unit.names)
        self.units[place] = unit._replace(tokens=tokens, stays=True, shrinks=True)
        return True

    def _abridge(self, names: Sequence[Name], room: int, *, least: bool = False) -> bool:
        """Shortens these messages to `room` tokens together; with `least` as far as possible if that is not enough.
        Returns whether any is shorter.
        """
        measuring = self.base.measuring
        messages = {name: self._unshortened(name) for name in names}
        stubs = abridge(
            messages, room, measuring.replacement, measuring.rate, self.base.counting.counter.counts, least=least
        )
        for name, stub in stubs.items():
            self.stubs[name] = stub
            self.tokens[name] = ceil(measuring.replacement(name, stubbed(messages[name], stub)))
        return bool(stubs)

    def shorten_all(self) -> bool:
        """Shortens in place all that may be replaced, too little for a summary. Returns whether any is shorter."""
        loose = [place for place, unit in enumerate(self.units) if unit.chosen and not (unit.stays or unit.is_summary)]
        if not self.shortens or self.asked.keep != KeptTail() or not loose:
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

    def _told_before(self) -> ToldBefore:
        """What the summary tells beyond the messages that it replaces, if its strategy reads messages."""
        return told_before(self.state, self.ids, self.log.is_summary) if self.definition.tells_before else ToldBefore()

    def originals_of(self, names: Sequence[Name]) -> Names:
        """`names` with ctxkit's summaries replaced by the messages that they cover."""
        return originals(self.state, Names.of(names), self.exempt)

    @cached_property
    def _ranking(self) -> Ranking:
        return Ranking(self.log, Calls(self.log, self.names), 0)

    @cached_property
    def units(self) -> Units:
        """The context as units, in order."""
        ranking, chosen = self._ranking, self.asked.chosen
        groups = ranking.groups
        waiting = self._waiting(groups)
        return Units(groups, (
            CompactUnit(
                tuple(group), sum([self.tokens[name] for name in group]), exchange,
                step=self._ranking.role(group[0]) in SPEAKS,
                stays=place == waiting or any(map(self._stays, group)) or not ranking.whole(group),
                chosen=chosen is None or all(self._is_chosen(name, chosen) for name in group),
                is_summary=not isinstance(group[0], int) and self.state.board.items[group[0]].summary,
                shrinks=place != waiting and len(group) == 1 and self._shrinks(group[0]) and ranking.whole(group),
            )
            for place, (group, exchange) in enumerate(zip(groups, ranking.exchanges, strict=True))
        ))  # fmt: skip

    def _waiting(self, groups: Sequence[Sequence[Name]]) -> int:
        """The place of the newest step with calls, if one of them has no result yet; else -1."""
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
        """Whether a message stays only because it is the first one: it may be shortened (replay 63)."""
        first = self.state.is_first(name) or name == self._task
        typed = (
            self._ranking.role(name) not in PREAMBLE_ROLES
            and self._ranking.kinds.get(name) != SyntheticKind.INSTRUCTION
        )
        return first and typed and self._stays(name) and not self.state.protected(name)

    @cached_property
    def _task(self) -> Name | None:
        """The first typed message, if only instructions and notices of a program precede it. The log's first message
        may be one of these, or on an abandoned branch.
        """
        role, kinds = self._ranking.role, self._ranking.kinds
        for name in self.names:
            if role(name) in PREAMBLE_ROLES or kinds.get(name) in (SyntheticKind.INSTRUCTION, SyntheticKind.NOTICE):
                continue
            typed = isinstance(name, int) and role(name) == "user" and name not in kinds
            return name if typed and name not in self.state.board.unprotected else None
        return None

    def _is_chosen(self, name: Name, chosen: Names) -> bool:
        """Whether `name` is chosen. A summary of ctxkit's is, if all messages that it covers are; or if it is itself,
        and covers no message of an agent or thread that is not selected.
        """
        item, selection = None if isinstance(name, int) else self.state.board.items[name], self.asked.selection
        if item is None or not item.summary:
            return name in chosen
        if (item.tells & self.state.present()).within(chosen):
            return True
        alone = selection.agent is None and selection.thread is None
        return name in chosen and (
            alone or all(belongs(self.state, n, selection.agent, selection.thread) for n in item.tells)
        )

    @cached_property
    def pieces(self) -> Sequence[TextSegment]:
        """The segments of the context, in order: of the originals of all that is replaced, and of what stays. Before
        them stands what the program's own compactions took out.
        """
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

    def carry_out(self) -> CompactionOutcome:
        """Carries out the strategy. Raises NothingChanges if the context would not be smaller."""
        return self.definition.make(self)

    def has_room(self) -> bool:
        """Keeps as many of the newest messages as there is room for. Returns whether a summary is worth it."""
        if self.is_worth and self.shortens and self.asked.keep == KeptTail():
            self._fill()
        return self.is_worth

    def summarized(self) -> CompactionOutcome:
        """The result with a summary, with the model's words if there are any; without one if no summary is shorter than
        the messages, but others are shortened. Raises NothingChanges.
        """
        try:
            return self.smaller(self._extracted())
        except NothingChanges:
            if not self.stubs:
                raise
        return self.shortened()

    def shortened(self) -> CompactionOutcome:
        """The result without a summary, with shortened messages only. Raises NothingChanges."""
        return self.smaller(self.outcome(Names(), None))

    def maskable(self) -> Iterator[Masked]:
        """The results that can be masked, the oldest first: not those that are shortened."""
        tools: dict[str, str] = {}
        for name in self.going:
            if not isinstance(name, int):
                continue
            message = self.state.messages[name - 1]
            tools.update(zip(message.calls, message.tools, strict=False))
            observed = self._ranking.kinds.get(name) == SyntheticKind.OBSERVATION
            if shortening(self.state.board.stubs.get(name)) is not None or not (message.results or observed):
                continue
            content = self.log.full(entry(self.state, name))
            stub = without_results(content, tools, observed=observed)
            size = ceil(self.base.measuring.replacement(name, stubbed(content, stub)))
            yield Masked(name, stub, self.tokens[name] - size)

    def base_room(self) -> int:
        """The room of the summary, in tokens of the base."""
        return self._base_of(self._room()[0])

    @property
    def _near(self) -> float:
        """The tokens that do not matter: so many may be missing to the goal, or from the lines of a summary."""
        return max(GRAIN, NEAR * self.messages)

    def _fill(self) -> None:
        """Keeps more of the newest messages, if a summary of all older ones is shorter than its room."""
        for _ in range(TRIES):
            room, _ = self._room()
            size = self._summary_size()
            if size is None or room - size <= self._near:
                return
            full = self._full
            scale = size / (sum(full.values()) or 1)
            begins = self._earlier(scale)
            if begins != self.tail:
                self._choose(begins)
            elif not self._keep_a_part(scale):
                return

    def _summary_size(self) -> float | None:
        """Tokens of a summary made for its room; None if nothing fits."""
        text = self._text(self.base_room(), self.base.counting.counter.counts)
        if text is None:
            return None
        [size] = self.base.counting.counter.counts([text])
        return (size + PER_MESSAGE) * self.base.measuring.rate(ItemName("", 1))

    @cached_property
    def _full(self) -> dict[int, float]:
        """Place of a replaced unit -> about how many tokens all its lines have in a summary; without units of 0."""
        rate, lines = self.base.measuring.rate(ItemName("", 1)), self._lines.full
        found: dict[int, float] = {}
        for place in self.places:
            names = self.units[place].names
            covered = names if all(isinstance(name, int) for name in names) else self.originals_of(names)
            tokens = sum([lines.get(name, 0) for name in covered])
            if tokens:
                found[place] = rate * tokens
        return found

    def _earlier(self, scale: float) -> int:
        """Where the tail begins so that a summary of all older units, with all of their lines, still has room. A longer
        tail would take lines from the summary, so that more room would be worth less.
        """
        full, stays, left = self._full, self.stays, self.gone
        lines = scale * sum(full.values())
        begins, many = self.tail, len(self.ids)
        for place in reversed(self.places):
            unit = self.units[place]
            left -= unit.tokens
            many -= len(unit.names)
            rest = lines - scale * full.get(place, 0)
            if (
                unit.is_summary
                or stays + unit.tokens + max(rest - self._near, self._least(left, rest)) > self.goal
                or not (many >= FEWEST or left > LONG)
            ):
                break
            stays, lines, begins = stays + unit.tokens, rest, place
        return begins

    def _keep_a_part(self, scale: float) -> bool:
        """Keeps as much of one replaced unit as there is room for, beside a summary with all lines of the others: of
        the unit that loses least by that, the newest of several. Takes another one if it has no long texts. Returns
        whether any of it is kept, and a summary is still worth making.
        """
        full = self._full
        lines = scale * sum(full.values())
        spare = self.goal - self.stays - lines
        behind = max((place for place in self.places if self.units[place].is_summary), default=-1)

        def lost(place: int) -> tuple[bool, float]:
            more = self.units[place].tokens - scale * full.get(place, 0)
            return more < spare, more

        for place in sorted((place for place in reversed(self.places) if place > behind), key=lost):
            unit = self.units[place]
            others = self.gone - unit.tokens
            has_summary = len(self.places) > 1 and (len(self.ids) + self.parts >= FEWEST or others > LONG)
            older = max(lines - scale * full.get(place, 0), self._least(others, 0)) if has_summary else others
            room = int(self.goal - self.stays - older)
            if room <= GRAIN:
                continue
            if room >= unit.tokens:
                self.units[place] = unit._replace(stays=True)
            elif not self._shorten(place, room):
                continue
            self.parts += len(unit.names)
            self._choose(self.tail)
            return self.is_worth
        return False

    def without_tail(self, made: CompactionOutcome) -> int | None:
        """Tokens that would be left without a tail, with a summary by rules; None if that is no less than `made`."""
        if self.asked.keep == KeptTail(0) or not any(not unit.stays for unit in self.units[self.tail :]):
            return None
        asked = structs.replace(self.asked, keep=KeptTail(0), strategy=self.definition.fallback or self.asked.strategy)
        try:
            after = CompactionPlan(self.log, self.base, asked).carry_out().after
        except NothingChanges:
            return None
        return after if after < made.after else None

    @property
    def strategy(self) -> str:
        """The strategy that makes the summary: the fallback if the model gave none."""
        return self.definition.fallback if self.definition.fallback and self.by_model is None else self.asked.strategy

    def _room(self) -> tuple[int, int]:
        """The most tokens of the summary, and the least."""
        least = self._least(self._replaced_size)
        is_small = self.goal - self.stays < FLOOR * least
        most = max(self.gone // 2, min(self.gone - 1, 2 * SHORTEST))
        while is_small and least < most and self._lines.text(self._base_of(least), self.covered) is None:
            least = min(least + SHORTEST // 10, most)  # the opening line may take all of the room
        return min(max(self.goal - self.stays, least), max(self.gone - 1, 1)), least

    def _least(self, gone: int, lines: float = inf) -> int:
        """The least tokens of a summary of `gone` tokens with lines of `lines` tokens."""
        return min(max(SHORTEST, int(min(ceil(SUMMARY * gone), lines))), gone // 2)

    def _extracted(self) -> CompactionOutcome:
        room, least = self._room()
        if least >= self.gone:
            least_of = f"{self.gone:,} tokens is already the smallest possible summary of {len(self.ids)} messages"
            raise NothingChanges(
                f"the context would not be smaller: {least_of}: nothing was changed",
                "" if self.asked.force else "use --force to condense further",
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
                f"no summary of {len(self.ids)} messages is shorter than they are: nothing was changed"
            )
        return found

    def _base_of(self, room: int) -> int:
        """Converts the tokens of a summary to tokens of the base, without those around a message."""
        return int(room / self.base.measuring.rate(ItemName("", 1))) - PER_MESSAGE

    def _text(self, budget: int, count: Count) -> str | None:
        """The text of a summary of at most `budget` tokens of the base; None if nothing fits."""
        if budget <= 0:
            return None
        if self.by_model is not None:
            from ctxkit.cut.summarize.prompt import combined

            texts, model = self.by_model.texts, self.by_model.model
            return combined(texts, model, self._lines, budget, count, covered=self.covered, label=self.state.label)
        if (self._made.budget, self._made.ids, self._made.lines) != (budget, self.covered, self._lines):
            text = self._lines.text(budget, self.covered)
            self._made = _LastSummary(budget, self.covered, self._lines, text)
        return self._made.text

    @cached_property
    def _lines(self) -> Extraction:
        return Extraction(self.pieces, self.base.counting.counter.counts, self.state.label, focus=self.asked.focus)

    @cached_property
    def _replaced_size(self) -> int:
        """Tokens of what the summary replaces: by the originals, but by the current size with `full` or `force`."""
        by_originals = not (self.asked.full or self.asked.force)
        return self.gone + (self._surplus(self.going) if by_originals else 0)

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

    def outcome(
        self, ids: Names, text: str | None, masks: dict[Name, Any] | None = None, budget: int | None = None
    ) -> CompactionOutcome:
        """The result of a summary `text` in place of `ids`, or of `masks`. `budget`: the size for which it was made."""
        log, base = self.log, self.base
        stubs = {name: stub for name, stub in self.restored.items() if name not in ids} | self.stubs
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
        after = log.seen_at(log.state_with(made))
        after.noticed = []
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
