"""Trim: a log's context made to fit a budget, as an op or for one look; what the policy needs is read here.

`policies/trim.py` decides; this measures messages, ranks them, and words the stubs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from ctxkit.around import beside, tools_of
from ctxkit.calls import Calls
from ctxkit.core.assembly import NOTHING
from ctxkit.core.context import entry
from ctxkit.core.messages import Message, Result
from ctxkit.core.names import Name, Names
from ctxkit.core.ops import At, Trim
from ctxkit.core.state import PREAMBLE_ROLES
from ctxkit.core.usage import Beside, Figures
from ctxkit.counting import Counting
from ctxkit.errors import BadConfig, DoesNotFit, NoPermission, NoRefusal, ReadFailed
from ctxkit.measuring import Measuring
from ctxkit.opened import stubbed, words
from ctxkit.policies.decision import Decision
from ctxkit.policies.trim import Cut, Plan, Rank, Unit, plan
from ctxkit.tokens.overflow import Overflow, overflow

if TYPE_CHECKING:
    from ctxkit.log import Log

HEAD, TAIL = 300, 200
"""Characters of a result that a stub keeps from its start and its end."""
WORTH = 2
"""A result is shortened where that leaves at most one token of so many."""
EXCHANGES, STEPS = 5, 30
"""A file is being edited that was written in the newest so many exchanges or steps (issue 5)."""


class Asked(msgspec.Struct, frozen=True):
    """What a trim was asked for. `budget`: tokens, None = limit less reserve. `keep`: newest exchanges that are left
    alone while anything older is there; `results`: newest results that stay whole; `exclude`: tools whose results do;
    `least`: tokens that shortening saves at least, once it begins. `refusal`: what a provider said of the context as it
    is. None: as the config says. `assembly`, `status`: what stands around the context, as of `Log.export`.
    """

    budget: int | None = None
    keep: int | None = None
    results: int | None = None
    exclude: tuple[str, ...] = ()
    least: int = 0
    refusal: str | None = None
    assembly: bool = True
    status: str | None = None


class Trimming:
    """One log's context, measured and ranked."""

    def __init__(self, log: Log, asked: Asked) -> None:
        self.log, self.asked = log, asked
        self.state = log.state()
        self.names = log.names()
        self.calls = Calls(log, self.names)
        self.counting = Counting(log)
        config = log.config
        self.keep = config["trim.keep_last"] if asked.keep is None else asked.keep
        self.results = config["trim.keep_results"] if asked.results is None else asked.results
        self.exclude = {*config["trim.exclude_tools"], *asked.exclude}
        self.told = _told(asked.refusal)
        self.measuring = Measuring(self.counting)
        self.measured, sizes = self.measuring.weighed(self.names)
        self.refused = self.told.sent is not None
        if self.told.sent is not None:
            counter = f"the provider's count, {self.told.sent:,} tokens, as it was refused"
            self.measured = structs.replace(self.measured, tokens=self.told.sent, known=self.told.sent, counter=counter)
        self.beside = self._beside()
        self.scale = 1.0
        """What sizes are multiplied by, where the provider's refusal says what they come to together."""
        if self.told.sent is not None:
            held = min(max(self.measured.overhead or 0, self.beside.within), self.told.sent)
            self.scale = (self.told.sent - held) / (sum(sizes) or 1)
        self.tokens = {name: int(size * self.scale) for name, size in zip(self.names, sizes, strict=True)}
        self.fixed = self.measured.tokens - sum(self.tokens.values()) + self.beside.added
        """Tokens that are there whatever leaves: system prompt, tools, and what else is sent with the messages."""

    def _beside(self) -> Beside:
        """What is sent besides the messages. Raises BadConfig, NoPermission, ReadFailed for files of the config."""
        try:
            self.assembly = self.log.assembled(self.asked.status) if self.asked.assembly else NOTHING
            self.tools = tools_of(self.log)
        except (BadConfig, NoPermission, ReadFailed) as error:
            error.message = error.message.replace(": nothing was printed", ": nothing was changed")
            raise
        return beside(self.counting, self.assembly, self.tools, self.measured, whole=self.refused)

    def notes(self) -> list[str]:
        """What is not counted again, in words."""
        if self.measured.known is None or not self.beside.tools + self.beside.overhead:
            return []
        return ["tools and overhead are not added: what the provider counted has them in it"]

    @cached_property
    def budget(self) -> int:
        """Tokens that the context may have. Raises BadConfig where no limit is known."""
        if self.asked.budget is not None:
            return self.asked.budget
        if self.limit is None:
            text = "no limit is known: neither the config nor the log's model names one: nothing was changed"
            raise BadConfig(text, "--max-tokens N, or `limit` or `model` in the config")
        return self.limit - int(self.log.config["reserve"])

    @property
    def limit(self) -> int | None:
        """Tokens that the model takes, where that is known."""
        return self.told.limit or self.log.config["limit"] or self.counting.limit

    def plan(self) -> Plan:
        """What fits, with what stands around it then. Raises DoesNotFit where nothing does."""
        room = self.budget - self.fixed
        while True:
            found = plan(self.units, self.cuts(), room, least=self.asked.least)
            if found is None:
                raise DoesNotFit(_too_large(self), "unprotect what may go, or a larger --max-tokens")
            tokens = found.tokens + self._grown(found)
            if tokens + self.fixed <= self.budget:
                return found._replace(tokens=tokens)
            room -= tokens + self.fixed - self.budget

    def _grown(self, found: Plan) -> int:
        """Tokens that what stands around the context has more once a plan is carried out: it may tell of messages."""
        op = as_op(self, found)
        if self.assembly.status is None or op is None:
            return 0
        after = self.log.seen_at(self.log.state_with(self.log.stamp(op)))
        after.noticed = []
        then = beside(self.counting, after.assembled(self.asked.status), self.tools, self.measured, whole=self.refused)
        return then.added - self.beside.added

    @property
    def total(self) -> int:
        """Tokens of the context as it is."""
        return sum(self.tokens.values()) + self.fixed

    def figures(self, made: Plan | None = None) -> Figures:
        """What was counted, and what `made` makes of it; without it the context as it is."""
        return Figures(
            self.total, self.total if made is None else made.tokens + self.fixed, self.measured.counter,
            len(self.names), len(made.dropped) if made else 0, stubbed=len(made.stubs) if made else 0,
            budget=self.budget, limit=self.limit, beyond=self._hidden,
        )  # fmt: skip

    @cached_property
    def _hidden(self) -> int:
        """Tokens of what a window hides: nothing that trim could cut, but part of the state."""
        shown = self.state.shown()
        if len(shown) == len(self.names):
            return 0
        return int(self.scale * sum(self.measuring.each(list(shown - Names.of(self.names)))))

    def lost(self, made: Plan) -> tuple[Name, int] | None:
        """The first message that a plan changes, and the cached tokens behind it that are lost; None for no change."""
        first = next((place for place, name in enumerate(self.names) if name in made.reasons), None)
        if first is None:
            return None
        gone = set(made.dropped)
        return self.names[first], sum(self.tokens[name] for name in self.names[first:] if name not in gone)

    @cached_property
    def units(self) -> list[Unit]:
        """The context as steps and messages that stand alone, in order."""
        groups: dict[int, list[Name]] = {}
        for place, name in enumerate(self.names):
            groups.setdefault(self.state.steps.leader(name) if isinstance(name, int) else -1 - place, []).append(name)
        kept = list(groups.values())
        exchanges = self._exchanges(kept)
        newest = exchanges[-1] if exchanges else 0
        task = max((place for place, group in enumerate(kept) if self._opens(group[0])), default=-1)
        found = []
        for place, (group, exchange) in enumerate(zip(kept, exchanges, strict=True)):
            if any(self.state.guarded(name) for name in group) or not self._whole(group):
                rank = Rank.NEVER
            elif place == task:
                rank = Rank.TASK
            elif all(self._role(name) in PREAMBLE_ROLES for name in group):
                rank = Rank.INSTRUCTION
            elif self._edits(group):
                rank = Rank.EDITED
            elif exchange <= newest - self.keep:
                rank = Rank.EXCHANGE
            else:
                rank = Rank.TALK if self._opens(group[0]) else Rank.STEP
            found.append(Unit(tuple(group), sum(self.tokens[name] for name in group), rank, exchange))
        return found

    def cuts(self) -> Iterator[Cut]:
        """Results that can be shortened: superseded ones, then stale ones, the oldest first."""
        places = {name: place for place, unit in enumerate(self.units) for name in unit.names}
        held = [name for name in self.names if (one := self._message(name)) is not None and one.results]
        open_ = [
            name for name in held
            if self.units[places[name]].rank < Rank.NEVER and name not in self.state.board.stubs
            and not self.exclude.intersection(self.calls.tools(name))
        ]  # fmt: skip
        newest = set(held[len(held) - self.results :]) if self.results else set()
        superseded = [(name, by) for name in open_ if (by := self._superseded(name)) is not None]
        for name, by in superseded:
            yield from self._cut(name, f"superseded by message {by}", places[name])
        done = {name for name, _ in superseded}
        for name in open_:
            if name not in newest and name not in done and self.units[places[name]].rank != Rank.EDITED:
                yield from self._cut(name, "stale result", places[name])

    def _cut(self, name: Name, reason: str, place: int) -> Iterator[Cut]:
        content = self.log.full(entry(self.state, name))
        if any(not isinstance(part, Result) for part in content.parts):
            return  # words of the user beside results are nobody's to shorten
        text = "\n".join(words(content))
        stub = _shortened(text, reason, whole=len(content.parts) == 1 and not reason.startswith("superseded"))
        saves = self.tokens[name] - ceil(self.scale * self.measuring.instead(name, stubbed(content, stub)))
        if saves * WORTH >= self.tokens[name]:
            yield Cut(name, stub, saves, reason, place)

    def _exchanges(self, groups: Sequence[Sequence[Name]]) -> list[int]:
        found, number = [], 0
        for group in groups:
            number += self._opens(group[0])
            found.append(number)
        return found

    @cached_property
    def _latest(self) -> dict[str, Name]:
        """Path -> the newest message that touches it."""
        return {touch.path: name for name, some in self.calls.touched.items() for touch in some}

    @cached_property
    def _being_edited(self) -> set[str]:
        """Paths that were written in the newest exchanges or steps."""
        callers = [name for name in self.names if (one := self._message(name)) is not None and one.calls]
        openings = [name for name in self.names if self._opens(name)]
        recent = set(callers[-STEPS:])
        start = openings[-EXCHANGES] if len(openings) >= EXCHANGES else None
        position = {name: place for place, name in enumerate(self.names)}
        since = position[start] if start is not None else 0 if openings else len(self.names)
        return {
            touch.path for name, some in self.calls.touched.items() for touch in some
            if touch.action == "write" and (name in recent or position[name] >= since)
        }  # fmt: skip

    def _edits(self, group: Sequence[Name]) -> bool:
        """Whether a step is the newest that touches a file that is being edited."""
        return any(
            touch.path in self._being_edited and self._latest[touch.path] == name
            for name in group for touch in self.calls.touched.get(name, ())
        )  # fmt: skip

    def _superseded(self, name: Name) -> str | None:
        """The message that reads or writes again all that this result shows; None where there is none."""
        made_by, paths = self.calls.callers(name), self.calls.files(name)
        if not paths or any(touch.action != "read" or self._latest[touch.path] in made_by for touch in paths):
            return None
        return self.state.label(self._latest[paths[0].path])

    def _message(self, name: Name) -> Message | None:
        return self.state.messages[name - 1] if isinstance(name, int) else None

    def _role(self, name: Name) -> str:
        return entry(self.state, name).role

    def _opens(self, name: Name) -> bool:
        message = self._message(name)
        return message.opens if message is not None else False

    def _whole(self, group: Sequence[Name]) -> bool:
        """Whether nothing of the step is hidden, by a window or a filter: it cannot leave in part."""
        return not isinstance(group[0], int) or len(self.state.steps.members(group[0])) <= len(group)


def trim(log: Log, asked: Asked) -> Decision:
    """The op that makes the context fit. Raises DoesNotFit, BadConfig where no limit is known, NoRefusal."""
    found = Trimming(log, asked)
    log.tell(found.figures())  # whether or not it can be made to fit
    made = found.plan()
    log.tell(found.figures(made))
    return told(found, made, as_op(found, made))


def told(found: Trimming, made: Plan, op: Trim | None) -> Decision:
    """A plan in words, with its op."""
    total, counter, lost = found.total, found.measured.counter, found.lost(made)
    if lost is None:
        said = f"{total:,} of {found.budget:,} tokens ({counter}): it fits, nothing was changed."
        return Decision(None, said, found.notes())
    note = f"first change at message {found.state.label(lost[0])}: {lost[1]:,} cached tokens behind it are lost"
    parts = [f"{len(made.dropped)} dropped"] * bool(made.dropped) + [f"{len(made.stubs)} shortened"] * bool(made.stubs)
    said = f"Trimmed ({total:,} → {made.tokens + found.fixed:,} tokens, {counter}): {', '.join(parts)}."
    return Decision(op, said, [*found.notes(), note])


def as_op(found: Trimming, made: Plan) -> Trim | None:
    """The op that does what a plan says; None where it changes nothing. Looking back, one that is never appended."""
    if not made.reasons:
        return None
    return Trim(
        at=found.log.here() if found.log.at is None else At(messages=found.state.count),
        ids=str(Names.of(made.dropped)), stubs={str(name): stub for name, stub in made.stubs.items()},
        reasons={str(name): reason for name, reason in made.reasons.items()}, budget=found.budget,
        counter=found.measured.counter,
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
    never = sum(unit.tokens for unit in found.units if unit.rank == Rank.NEVER)
    kept = f"protected messages have {never:,} tokens"
    beside = f", what is sent besides messages {found.fixed:,}" if found.fixed else ""
    whole = f"{found.total:,} tokens do not fit into {found.budget:,}"
    return f"{whole}: {kept}{beside}, which trim leaves: nothing was changed"


def _shortened(text: str, reason: str, *, whole: bool) -> str:
    """A result in brief. `whole`: with its start and end."""
    cut = len(text) - HEAD - TAIL
    if not whole or cut <= 0:
        return f"[{reason}: {len(text):,} characters were cut]"
    return f"{text[:HEAD]}\n[{reason}: {cut:,} characters were cut here]\n{text[-TAIL:]}"
