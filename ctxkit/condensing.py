"""Condensing: a log's context with a part of it replaced by a summary, measured; the plan that a compact carries out.

`ranking.py` makes units of the context, `policies/compact/` says which may go and in which words they are told; this
measures, asks for words that fit, and looks at what comes of it. Summaries are made of the original messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import structs

from ctxkit.asking import MODEL, RULES, Asking, Told
from ctxkit.calls import Calls
from ctxkit.core.context import belongs, entry
from ctxkit.core.context import names as through
from ctxkit.core.messages import Content
from ctxkit.core.names import ItemName, Name, Names
from ctxkit.core.ops import At, Compact
from ctxkit.core.select import Selection
from ctxkit.core.state import PREAMBLE_ROLES
from ctxkit.core.untyped import Kind, kind
from ctxkit.core.usage import Figures
from ctxkit.counting import PER_MESSAGE, Counting
from ctxkit.errors import ModelFailed, NothingChanges
from ctxkit.formats.chat import content_of
from ctxkit.hooks import Hooks
from ctxkit.masking import maskable
from ctxkit.policies.compact.candidates import Keep, Unit, candidates, guarded, originals
from ctxkit.policies.compact.extract import Count, extract
from ctxkit.policies.compact.facts import facts, kept
from ctxkit.policies.compact.mask import mask
from ctxkit.policies.compact.source import SPEAKS, Piece, all_pieces
from ctxkit.policies.compact.story import worded
from ctxkit.policies.compact.truncate import left_out, these
from ctxkit.ranking import Ranking
from ctxkit.trimming import Asked as Everything
from ctxkit.trimming import Trimming

if TYPE_CHECKING:
    from ctxkit.log import Log

GIVEN = "given"
"""The strategy of a summary that somebody else wrote."""
FAIR, LESS, SHORTEST = 0.05, 0.3, 60
"""Of what it replaces, of the target's share of that, and in tokens: the smaller of the first two, and no less than the
last, a summary gets whatever stays beside it.
"""
TRIES = 4
"""Summaries that are made until the whole fits, where what is counted of the parts did not add up."""


class Wish(msgspec.Struct, frozen=True):
    """What is asked of a compact. `percent`: of the tokens of all messages, `budget`: so many; one of them counts.

    `keep`: the tail; `chosen`: what may be replaced, None for all; `part`: the percent is of what is chosen;
    `text`: the summary, where somebody else wrote it; `selection`: whose agent and thread alone are told. `model`: who
    is asked by the strategy `llm`, for `seconds` at most; `fallback`: rules take over where that fails.
    """

    percent: float
    budget: int | None = None
    keep: Keep = Keep()
    strategy: str = "extract"
    chosen: Names | None = None
    part: bool = False
    text: str | None = None
    selection: Selection = Selection()
    model: str = ""
    seconds: float = 60.0
    fallback: bool = True
    hooks: Hooks = Hooks()


class Condensed(msgspec.Struct, frozen=True):
    """What a compact comes to. `op`: what it appends; `replaced`: what is told by it, or masked.

    Tokens of all messages of the context `before` and `after`, by `counter`: the provider's, or ours. `goal`: of the
    same, what was asked for; `summary`: of the summary alone; `reached`: whether `after` is no more than the goal.
    `seen`: the log as it is then.
    """

    op: Compact
    replaced: Names
    before: int
    after: int
    counter: str
    goal: int
    summary: int
    figures: Figures
    seen: Log
    made_by: Condensing

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

    def kept(self) -> dict[str, tuple[int, int]]:
        """Of each class of facts of what is replaced: how many the context keeps, and of how many."""
        told = [piece for piece in self.made_by.pieces if piece.name in self.replaced]
        seen, state = self.seen, self.seen.state()
        left = all_pieces([(name, seen.full(entry(state, name))) for name in seen.names()])
        return kept(facts(told), "\n".join(piece.text for piece in left))


class Condensing:
    """One log's context, its units, and what may be replaced."""

    def __init__(self, log: Log, base: Trimming, wish: Wish) -> None:
        self.log, self.base, self.wish = log, base, wish
        self.state = log.state()
        self.names, self.tokens = base.names, base.tokens
        lens = log.lens()
        if lens.newest is not None:  # what it hides would come in for what leaves, so that is told, too
            self.names = list(through(self.state, structs.replace(lens, newest=None)))
            sizes = base.measuring.each(self.names)
            self.tokens = {name: int(size) for name, size in zip(self.names, sizes, strict=True)}
        self.whole = sum(self.tokens.values())
        """Tokens of all messages that are looked at."""
        self.spared = spared(log)
        self.messages = base.total - base.fixed
        """Tokens of the messages of the context. What is sent besides them no compact makes smaller."""
        share = int(wish.percent * self.messages / 100) if wish.budget is None else wish.budget
        self.fair = min(FAIR, LESS * share / self.messages) if self.messages else FAIR
        """Of the tokens that it replaces, what a summary gets in any case."""
        places, self.tail = candidates(self.units, wish.keep, share)
        self.places = places
        self.going = [name for place in places for name in self.units[place].names]
        """What is seen and may be replaced, in order: messages, and summaries of ours."""
        self.ids = self._originals(self.going)
        """The same as messages of the log: what is told."""
        self.gone = sum(self.tokens[name] for name in self.going)
        self.story: Told | None = None
        self.failure = ""
        """Why no model's words are in the summary, where one was to be asked."""
        self.goal = share
        if wish.part and wish.budget is None:
            self.goal = self.whole - self.gone + int(wish.percent * self.gone / 100)

    def _originals(self, names: Sequence[Name]) -> Names:
        return originals(self.state, Names.of(names), self.spared)

    @cached_property
    def _ranking(self) -> Ranking:
        return Ranking(self.log, Calls(self.log, self.names), 0)

    @cached_property
    def units(self) -> list[Unit]:
        """The context as units, in order."""
        ranking, chosen = self._ranking, self.wish.chosen
        groups = ranking.groups
        waiting = self._waiting(groups)
        return [
            Unit(
                tuple(group), sum([self.tokens[name] for name in group]), exchange,
                step=self._role(group[0]) in SPEAKS,
                stays=place == waiting or any(map(self._stays, group)) or not ranking.whole(group),
                chosen=chosen is None or all(self._is_chosen(name, chosen) for name in group),
                told=not isinstance(group[0], int) and self.state.board.items[group[0]].summary,
            )
            for place, (group, exchange) in enumerate(zip(groups, ranking.exchanges, strict=True))
        ]  # fmt: skip

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
            name in self.spared
            or name == self._task
            or self._role(name) in PREAMBLE_ROLES
            or self._ranking.kinds.get(name) == Kind.INSTRUCTION
        )

    @cached_property
    def _task(self) -> Name | None:
        """What was typed first, where nothing stands before it but instructions and notices of a program: the log's
        first message may be one of these, or on a branch that was left.
        """
        for name in self.names:
            if self._role(name) in PREAMBLE_ROLES or self._ranking.kinds.get(name) in (Kind.INSTRUCTION, Kind.NOTICE):
                continue
            typed = isinstance(name, int) and self._role(name) == "user" and name not in self._ranking.kinds
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

    def _role(self, name: Name) -> str:
        return self.state.messages[name - 1].role if isinstance(name, int) else self.state.board.items[name].role

    @cached_property
    def pieces(self) -> list[Piece]:
        """What the context says, in order: the originals of all that may be replaced, and what stays beside them."""
        going = set(self.going)
        stay = {
            name: self.log.full(entry(self.state, name)) for name in (*self.names, *self._back) if name not in going
        }
        told = {name: self.log.original(name) for name in self.ids}
        return all_pieces(sorted((stay | told).items(), key=lambda one: self.state.key(one[0])))

    def condensed(self) -> Condensed:
        """What comes of it. Raises NothingChanges where it would not be smaller."""
        if self.wish.strategy == "mask":
            return self._smaller(self._outcome(Names(), None, self._masks()))
        if self.wish.strategy == "truncate":
            ids = self._oldest()
            return self._smaller(self._outcome(ids, left_out(ids, self.state.label), {}))
        if self.wish.text is not None:
            text = f"[Summary of messages {these(self.ids, self.state.label)}]\n\n{self.wish.text.strip()}"
            return self._smaller(self._outcome(self.ids, text, {}))
        if self.wish.strategy == MODEL:
            self._ask()
        return self._smaller(self._extracted())

    def _ask(self) -> None:
        """The story of what is replaced, in the model's words. Raises ModelFailed where nothing may take over."""
        room, _ = self._room()
        tokens = int(room / self.base.measuring.rate(ItemName("", 1))) - PER_MESSAGE
        try:
            asking = Asking(self.wish.model, self.wish.seconds, self.wish.hooks)
            self.story = asking.story(self.log, self.ids, self.pieces, tokens)
        except ModelFailed as error:
            if not self.wish.fallback:
                error.message += ": nothing was changed"
                raise
            self.failure = error.message

    @property
    def strategy(self) -> str:
        """By which the summary is made in the end."""
        return RULES if self.wish.strategy == MODEL and self.story is None else self.wish.strategy

    def _room(self) -> tuple[int, int]:
        """Tokens that a summary may have, and those that it gets in any case."""
        least = min(max(SHORTEST, ceil(self.fair * self.gone)), self.gone // 2)
        return min(max(self.goal - self.stays, least), max(self.gone - 1, 1)), least

    def _extracted(self) -> Condensed:
        room, least = self._room()
        counter, rate = self.base.counting.counter, self.base.measuring.rate(ItemName("", 1))
        found: Condensed | None = None
        for _ in range(TRIES):
            budget = int(room / rate) - PER_MESSAGE
            text = self._text(budget, counter.counts)
            if text is None and found is None and room < self.gone // 2:  # what it opens with took all of the room
                room = least = min(2 * room, self.gone // 2)
                continue
            if text is None:
                break
            found = self._outcome(self.ids, text, {}, budget)
            over = found.after - self.goal
            if over <= 0 or room - over < least:
                return found
            room -= over
        if found is None:
            raise NothingChanges(
                f"it would not be smaller: no summary of {len(self.ids)} messages is shorter: nothing was changed"
            )
        return found

    def _text(self, budget: int, count: Count) -> str | None:
        """The words of a summary of so many tokens of the base; None where nothing fits."""
        if budget <= 0:
            return None
        if self.story is not None:
            return worded(
                self.story.texts, self.story.model, self.pieces, budget, count, told=self.ids, label=self.state.label
            )
        return extract(self.pieces, budget, count, told=self.ids, label=self.state.label)

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

    def _oldest(self) -> Names:
        """The oldest of what may be replaced, as far as it takes."""
        [line] = self.base.counting.of_contents(
            [Content("user", [*content_of(_user(left_out(self.ids, self.state.label))).parts])]
        )
        need, going = self.whole + line - self.goal, list[Name]()
        for place in self.places:
            if need <= 0:
                break
            going += self.units[place].names
            need -= self.units[place].tokens
        return self._originals(going)

    def _masks(self) -> dict[Name, Any]:
        going = [name for name in self.going if isinstance(name, int)]
        return mask(maskable(self._ranking, self.base.measuring, going, self.tokens), self.whole - self.goal)

    def _outcome(self, ids: Names, text: str | None, stubs: dict[Name, Any], budget: int | None = None) -> Condensed:
        log, base = self.log, self.base
        asked = f"{self.wish.percent:g}%" if self.wish.budget is None else str(self.wish.budget)
        op = Compact(
            at=log.here() if log.at is None else At(messages=self.state.count), ids=str(ids), text=text,
            stubs={str(name): stub for name, stub in stubs.items()}, strategy=self.strategy, target=asked,
            budget=budget, fallback=self.failure or None,
        )  # fmt: skip
        if self.story is not None:
            op.model, op.asked = self.story.model, self.story.asked
        made = log.stamp(op)
        after = log.seen_at(log.state_with(made))
        after.noticed = []
        names, then = after.names(), base.measuring.seen(Counting(after))
        told = then.of(names)
        tokens = told.tokens - base.measured.tokens + base.total
        item = ItemName(made.id, 1)
        summary = ceil(sum(then.each([item]))) if text is not None and item in after.state().board.items else 0
        replaced, shown = ids | Names.of(stubs), set(base.shown)
        left = set(names)
        figures = Figures(
            base.total, tokens, told.counter, len(base.shown), sum(name not in left for name in base.shown),
            sum(name not in shown for name in names), len(stubs), budget=self.goal + base.fixed, limit=base.limit,
            beyond=base.hidden, left=self._left(after, names, tokens),
        )  # fmt: skip
        return Condensed(
            op, replaced, self.messages, tokens - base.fixed, told.counter, self.goal, summary, figures, after, self
        )  # fmt: skip

    def _left(self, after: Log, names: Sequence[Name], tokens: int) -> int | None:
        """Tokens that a window hides then, where they are others than now."""
        if self.names is self.base.names:
            return None
        hidden = after.state().shown() - Names.of(names)
        return ceil(sum(self.base.measuring.seen(Counting(after)).each(list(hidden))))

    def _smaller(self, found: Condensed) -> Condensed:
        if found.after < found.before and found.replaced:
            return found
        if self.wish.strategy == "mask" and not found.replaced:
            text = "no result that could be masked is longer than the line in its place: nothing was changed"
            raise NothingChanges(text, "--strategy extract tells what was said, too")
        what = f"it would not be smaller ({found.before:,} → {found.after:,} tokens, {found.counter})"
        hint = "a shorter summary" if self.wish.text is not None else "a smaller --target"
        raise NothingChanges(f"{what}: nothing was changed", f"{hint}, or more messages")


def spared(log: Log) -> Names:
    """What no compact of this log replaces. Its first message is the task, but where it is what is left of an earlier
    part: a summary, a model's words.
    """
    state = log.state()
    first = state.messages[state.preamble] if state.preamble < state.count else None
    opens = first is not None and first.role == "user" and kind(log.content(first.n)) != Kind.SUMMARY
    return guarded(state, first=opens)


def whole(log: Log, *, assembly: bool = True) -> Trimming:
    """The context measured, with all that is sent; `assembly`: what the config puts around it, too."""
    return Trimming(log, Everything(assembly=assembly))


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}
