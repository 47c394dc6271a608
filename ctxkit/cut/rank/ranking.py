"""Splits a context into units for a trim, and ranks them.

A unit is a step (a call with its results, also those that ops added; the output of a command, with the message that ran
it), or a message outside of steps.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, compress
from typing import TYPE_CHECKING

from ctxkit.content.calls import Calls
from ctxkit.core.context import entry
from ctxkit.core.derive import synthetic_messages
from ctxkit.core.derive.synthetic_messages import SyntheticKind
from ctxkit.core.item_names import Name, Names
from ctxkit.core.messages import Call, Content, Message, Result, Text
from ctxkit.core.roles import ASSISTANT as SPEAKS
from ctxkit.core.select import opens
from ctxkit.core.sets.sequences import LazySequence
from ctxkit.core.state import PREAMBLE_ROLES
from ctxkit.core.strategies import EPISODES, OLDEST
from ctxkit.cut.rank.episodes import Episodes
from ctxkit.cut.trim_plan import TrimRank, TrimUnit
from ctxkit.formats.columns import Columns

if TYPE_CHECKING:
    from ctxkit.logfile.commit import WritableLog

EXCHANGES, STEPS = 5, 30
"""A file is being edited if it was written in so many newest exchanges or steps."""

LINKED, OPENS = 1, 2


class Ranking:
    """The units of a context. `keep`: the newest exchanges, which are dropped step by step, after all older ones.
    `strategy`: `episodes` ranks what is done with below them.
    """

    def __init__(self, log: WritableLog, calls: Calls, keep: int, strategy: str = OLDEST) -> None:
        self.log, self.calls, self.keep, self.strategy = log, calls, keep, strategy
        self.state, self.names = log.state(), calls.names
        self.messages = self.state.messages

    def units(self, tokens: Mapping[Name, int]) -> list[TrimUnit]:
        """The units in order. `tokens`: of each message."""
        groups, exchanges, asks, special = self.groups, self.exchanges, self._asks, self._special
        newest = exchanges[-1] if exchanges else 0
        task = asks.rfind(1)
        newest_of_model = self._newest_of_model()
        done = self._done if self.strategy == EPISODES else {}
        found = []
        for place, (group, exchange) in enumerate(zip(groups, exchanges, strict=True)):
            rank = TrimRank.EXCHANGE if exchange <= newest - self.keep else TrimRank.LATEST
            for name in group:
                if name in special:
                    rank = max(rank, special[name])
            if place == task:
                rank = max(rank, TrimRank.TASK)
            if place in newest_of_model:
                rank = max(rank, newest_of_model[place])
            if rank <= TrimRank.LATEST and place in done:
                rank = done[place]
            if rank < TrimRank.PROTECTED and not self.whole(group):
                rank = TrimRank.PROTECTED
            size = sum([tokens[name] for name in group])
            found.append(TrimUnit(tuple(group), size, rank, exchange, bool(asks[place])))
        return found

    @cached_property
    def _done(self) -> dict[int, TrimRank]:
        """Places of the steps that are done with, of finished episodes or superseded. Reads all content."""
        found = Episodes(self.log, self.calls, self.groups, self._asks)
        ranks = dict.fromkeys(found.superseded, TrimRank.SUPERSEDED)
        return ranks | dict.fromkeys(found.finished, TrimRank.FINISHED)

    def _newest_of_model(self) -> dict[int, TrimRank]:
        """Places of the newest step, and of the last answer: the model's newest message with text and no call."""
        spoken = (place for place in range(len(self.groups) - 1, -1, -1) if self._speaks(self.groups[place]))
        step = next(spoken, None)
        if step is None:
            return {}
        answer = next((place for place in chain((step,), spoken) if self._answers(self.groups[place])), None)
        return {step: TrimRank.STEP} | ({} if answer is None else {answer: TrimRank.ANSWER})

    def _speaks(self, group: Sequence[Name]) -> bool:
        return any(self.role(name) in SPEAKS for name in group)

    def _answers(self, group: Sequence[Name]) -> bool:
        """Whether the unit has a message of the model with text and no call."""
        return any(
            self.role(name) in SPEAKS and not (isinstance(name, int) and self.links(name)[0])
            and _is_words(self.log.full(entry(self.state, name)))
            for name in group
        )  # fmt: skip

    @cached_property
    def _special(self) -> dict[Name, TrimRank]:
        """The ranks of messages that do not depend on age."""
        state, found = self.state, dict[Name, TrimRank]()
        items = state.board.items
        found.update(
            (name, TrimRank.SUMMARY) for name in self.names if not isinstance(name, int) and items[name].summary
        )
        found.update((name, TrimRank.SUMMARY) for name, kind in self.kinds.items() if kind == SyntheticKind.SUMMARY)
        found.update(dict.fromkeys(self._edited, TrimRank.EDITED))
        first = state.preamble + 1
        plain = not (items or state.board.protected or state.board.unprotected)  # only the first ones are guarded
        near = [name for name in self.names if not plain or (isinstance(name, int) and name <= first)]
        found.update((name, TrimRank.PROTECTED) for name in near if state.guarded(name))
        found.update((name, TrimRank.INSTRUCTION) for name in self.names if self.role(name) in PREAMBLE_ROLES)
        found.update(
            (name, TrimRank.INSTRUCTION) for name, kind in self.kinds.items() if kind == SyntheticKind.INSTRUCTION
        )
        found.update((name, TrimRank.SYSTEM) for name in near if state.is_preamble(name))
        return found

    @cached_property
    def _linked(self) -> bytearray:
        """Number -> flags: the message makes or answers calls (LINKED), it opens an exchange (OPENS)."""
        found = bytearray(self.state.count + 1)
        few = 2 * len(self.names) < self.state.count  # of a long log only the context is looked at
        seen = (self.messages[n - 1] for n in self.names if isinstance(n, int)) if few else iter(self.messages)
        for message in seen:
            found[message.n] = LINKED * bool(message.calls or message.results) | OPENS * message.opens
        return found

    @cached_property
    def groups(self) -> Sequence[list[Name]]:
        """The names of each unit, in order of its first message. Calls and results are paired by id, and by the steps
        of the log.
        """
        names, linked, kinds = self.names, self._linked, self.kinds
        opens = bytearray(len(names))  # whether a unit begins at a place
        after = array("i", bytes(4 * len(names)))  # the next place of the same unit; 0 for none
        ends = array("i", range(len(names)))  # of a unit, by its place, the last one
        leads: dict[str, int] = {}  # id of a call without its answer -> place of its unit
        joined: dict[int, int] = {}
        steps = array("i", bytes(4 * (self.state.count + 1)))  # what opened a step of the log -> its unit, from 1
        last = 0  # the unit of the message before
        for place, name in enumerate(names):
            if isinstance(name, int) and not linked[name] & LINKED and name not in kinds:
                opens[place], last = 1, place
                continue
            calls, results = self.links(name)
            step = self.state.steps.leader(name) if isinstance(name, int) and (calls or results) else 0
            held = [leads.pop(one) for one in results if one in leads] + ([steps[step] - 1] if steps[step] else [])
            units = sorted({_first(joined, one) for one in held})
            if not units and kinds.get(name) == SyntheticKind.OBSERVATION and self.role(names[place - 1]) in SPEAKS:
                units = [last]
            last = units[0] if units else place
            for other in units[1:]:
                joined[other], opens[other] = last, 0
                after[ends[last]], ends[last] = other, ends[other]
            if units:
                after[ends[last]] = place
                ends[last] = place
            else:
                opens[place] = 1
            leads.update(dict.fromkeys(calls, last))
            if step:
                steps[step] = last + 1
        begins = array("i", compress(range(len(names)), opens))

        def made(at: int) -> list[Name]:
            found, place = [names[begins[at]]], after[begins[at]]
            while place:
                found.append(names[place])
                place = after[place]
            return found

        return LazySequence(len(begins), made)

    def links(self, name: Name) -> tuple[Sequence[str], Sequence[str]]:
        """The ids of the calls that a message makes, and of those that it answers."""
        if isinstance(name, int):
            message = self.messages[name - 1]
            return message.calls, message.results
        parts = self.log.full(entry(self.state, name)).parts
        calls = [part.id for part in parts if isinstance(part, Call)]
        return calls, [part.id for part in parts if isinstance(part, Result)]

    @cached_property
    def kinds(self) -> dict[Name, SyntheticKind]:
        """Messages in the user's role that nobody typed -> their kind. Content is read only if needed."""
        found: dict[Name, SyntheticKind] = {}
        before: Name | None = None
        for name in self.names:
            message = self.messages[name - 1] if isinstance(name, int) and self.role(name) == "user" else None
            if not isinstance(name, int) or (message is not None and not message.results):
                kind = self._kind(name, message, self.messages[before - 1] if isinstance(before, int) else None)
                if kind is not None:
                    found[name] = kind
            before = name
        return found

    def _kind(self, name: Name, message: Message | None, before: Message | None) -> SyntheticKind | None:
        kind = None
        if message is None or synthetic_messages.may_be(self._raw(message)):
            one = entry(self.state, name)
            kind = synthetic_messages.kind(self.log.full(one)) if one.role == "user" else None
        ran = kind is None and before is not None and self._ran(before)
        return SyntheticKind.OBSERVATION if ran else kind

    def _ran(self, message: Message) -> bool:
        """Whether a model's message is an action that was run, as SWE-agent records it. Its output follows."""
        if message.role not in SPEAKS or message.calls or b'"action"' not in (raw := self._raw(message)):
            return False
        rows = self.log.content(message.n).rows if b'"thought"' in raw else []
        return any(isinstance(row.get("action"), str) and row["action"] for row in rows)

    def _raw(self, message: Message) -> bytes:
        source = self.log.opening.laid_out
        first = source.read(message.offset, message.size)
        return b"\n".join([first, *(source.read(*span) for span in message.more)]) if message.more else first

    def _is_asking(self, name: Name) -> bool:
        """Whether a message opens an exchange: somebody typed it."""
        if isinstance(name, int):
            return bool(self._linked[name] & OPENS) and name not in self.kinds
        return opens(self.state, name) and not self.links(name)[1] and name not in self.kinds

    @cached_property
    def _asks(self) -> bytearray:
        """Per unit, whether it begins with a message that opens an exchange."""
        return bytearray(self._is_asking(group[0]) for group in self.groups)

    @cached_property
    def exchanges(self) -> Sequence[int]:
        """The number of each unit's exchange."""
        return array("i", accumulate(self._asks))

    @cached_property
    def _edited(self) -> set[Name]:
        """The messages that touch a file being edited: from its last read on; only the newest if it was not read."""
        return {name for names in self.edited_files.values() for name in names}

    @cached_property
    def edited_files(self) -> dict[str, list[Name]]:
        """The files being edited, by path, each with the messages that stay with it."""
        asking = [place for place, asks in enumerate(self._asks) if asks]
        answers = [place for place, group in enumerate(self.groups) if self._speaks(group)] or [0]
        # with fewer exchanges all would be the newest, so only steps are counted
        since = min(asking[-EXCHANGES] if len(asking) >= EXCHANGES else len(self.groups), answers[-STEPS:][0])
        recent = {name for group in self.groups[since:] for name in group}
        found: dict[str, list[Name]] = {}
        for path, touched in self.calls.by_path.items():
            if any(action == "write" and name in recent for name, action in touched):
                reads = [at for at, (_, action) in enumerate(touched) if action == "read"]
                found[path] = [name for name, _ in touched[reads[-1] if reads else -1 :]]
        return found

    @cached_property
    def _roles(self) -> Sequence[str]:
        messages = self.messages
        return messages.roles if isinstance(messages, Columns) else [message.role for message in messages]

    def role(self, name: Name) -> str:
        """The role of a message."""
        return self._roles[name - 1] if isinstance(name, int) else self.state.board.items[name].role

    @cached_property
    def _hidden(self) -> Names:
        """What a window or a filter hides of the context. A step that is partly hidden cannot be dropped."""
        shown = self.state.shown(self.log.lens_thread)
        return shown - Names.of(self.names) if len(shown) > len(self.names) else Names()

    def whole(self, group: Sequence[Name]) -> bool:
        """Whether the context shows the whole steps of these messages."""
        steps, hidden = self.state.steps, self._hidden
        return not hidden or not any(m in hidden for n in group if isinstance(n, int) for m in steps.members(n))


def _is_words(content: Content) -> bool:
    """Whether a message has text, and no call."""
    texts = any(isinstance(part, Text) and part.text.strip() for part in content.parts)
    return texts and not any(isinstance(part, Call) for part in content.parts)


def _first(joined: Mapping[int, int], unit: int) -> int:
    """The unit that `unit` was joined to, in the end."""
    while unit in joined:
        unit = joined[unit]
    return unit
