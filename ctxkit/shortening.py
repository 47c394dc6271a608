"""Shortening: which messages of a context a trim can let say less, and what they say then.

Results of tools first: superseded ones, then stale ones, the oldest first; on request the arguments of old calls. The
order and the words are made here; how many of them it takes, `policies/trim.py` decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxkit.calls import Calls
from ctxkit.core.context import entry
from ctxkit.core.messages import Call, Content, Image, Message, Result
from ctxkit.core.names import Name
from ctxkit.opened import words
from ctxkit.policies.trim import Cut, Rank, Unit
from ctxkit.stubs import of_call, of_result, stubbed

if TYPE_CHECKING:
    from ctxkit.log import Log


class Ends(NamedTuple):
    """Characters that stay of a text's start and end; a text of less than twice as many stays whole."""

    head: int
    tail: int


STALE, OLD = Ends(300, 200), Ends(120, 80)
"""Of stale results; of superseded ones, and of arguments."""


class Shortening:
    """The cuts of one context. `results`: newest messages with results, or calls, that stay whole.

    `exclude`: tools whose calls and results do; `inputs`: arguments too; `saves`: tokens that new content saves.
    """

    def __init__(
        self, log: Log, units: Sequence[Unit], calls: Calls, saves: Callable[[Name, Content], int], *,
        results: int, exclude: set[str], inputs: bool,
    ) -> None:  # fmt: skip
        self.log, self.units, self.calls, self.saves = log, units, calls, saves
        self.results, self.exclude, self.inputs = results, exclude, inputs
        self.state = log.state()
        self.places = {name: place for place, unit in enumerate(units) for name in unit.names}

    def cuts(self) -> Iterator[Cut]:
        """What can be shortened, in the order in which it is; content is read as far as it is asked for."""
        held = [name for name in self.calls.names if (one := self._message(name)) is not None and one.results]
        open_ = list(filter(self._may, held))
        newest = set(held[len(held) - self.results :]) if self.results else set()
        superseded = {name: by for name in open_ if (by := self._superseded(name)) is not None}
        for name, by in superseded.items():
            yield from self._of_results(name, f"superseded by message {by}", OLD)
        for name in open_:
            if name not in newest and name not in superseded:
                yield from self._of_results(name, "stale result", STALE)
        if self.inputs:
            yield from self._old_inputs()

    def _old_inputs(self) -> Iterator[Cut]:
        held = [name for name in self.calls.names if (one := self._message(name)) is not None and one.calls]
        for name in held[: len(held) - self.results]:
            one = self._message(name)
            if one is not None and not one.results and self._may(name) and self._answered(name, one):
                yield from self._of_calls(name)

    def _answered(self, name: Name, message: Message) -> bool:
        """Whether its step is a plain one: a call without a result, or a copy, is its program's to explain."""
        step = [one for member in self.units[self.places[name]].names if (one := self._message(member)) is not None]
        calls = [call for one in step for call in one.calls]
        return len(set(calls)) == len(calls) and {call for one in step for call in one.results}.issuperset(
            message.calls
        )

    def _may(self, name: Name) -> bool:
        """Whether a message's results, or arguments, are nobody's to keep."""
        return (
            self.units[self.places[name]].rank < Rank.EDITED
            and name not in self.state.board.stubs
            and not (self.exclude and self.exclude.intersection(self.calls.tools(name)))
        )

    def _of_results(self, name: Name, reason: str, ends: Ends) -> Iterator[Cut]:
        content = self.log.full(entry(self.state, name))
        stubs = [
            of_result(part, said)
            for part in content.parts
            if isinstance(part, Result) and (said := _shortened(part, reason, ends)) is not None
        ]
        if stubs:
            alone = len(content.parts) == 1
            yield from self._cut(name, content, stubs[0]["content"] if alone else stubs, reason)

    def _of_calls(self, name: Name) -> Iterator[Cut]:
        content = self.log.full(entry(self.state, name))
        stubs = []
        for part in content.parts:
            if isinstance(part, Call):
                brief = less(part.arguments, "old input", OLD)
                if brief != part.arguments and (isinstance(part.arguments, dict) or _takes_text(part)):
                    stubs.append(of_call(part, brief))
        if stubs:
            yield from self._cut(name, content, stubs, "old input")

    def _cut(self, name: Name, content: Content, stub: Any, reason: str) -> Iterator[Cut]:
        saves = self.saves(name, stubbed(content, stub))
        if saves > 0:
            yield Cut(name, stub, saves, reason, self.places[name])

    def _superseded(self, name: Name) -> str | None:
        """The message that reads or writes again all that this result shows; None where there is none."""
        found = [
            self.calls.outdated(caller, touch)
            for caller in self.calls.callers(name) for touch in self.calls.touched.get(caller, ())
        ]  # fmt: skip
        newer = [one for one in found if one is not None]
        if not found or len(newer) < len(found):
            return None
        return self.state.label(max(newer, key=self.calls.place.__getitem__))

    def _message(self, name: Name) -> Message | None:
        return self.calls.messages[name - 1] if isinstance(name, int) else None


def less(value: Any, reason: str, ends: Ends) -> Any:
    """Arguments with each long text in them shortened: the same keys and kinds of values."""
    if isinstance(value, str):
        return _ends_of(value, reason, ends) if len(value) >= 2 * sum(ends) else value
    if isinstance(value, dict):
        return {key: less(inner, reason, ends) for key, inner in value.items()}
    return [less(inner, reason, ends) for inner in value] if isinstance(value, list) else value


def _takes_text(call: Call) -> bool:
    """Whether any text is valid as the arguments of this call."""
    return isinstance(call.arguments, str) and (call.raw or {}).get("type") == "custom_tool_call"


def _shortened(result: Result, reason: str, ends: Ends) -> str | None:
    """What a result says then; None where it is short."""
    inner = result.content if isinstance(result.content, list) else []
    text = "\n".join(words(Content("tool", [result])))
    pictures = sum(isinstance(part, Image) for part in inner)
    if pictures:
        what = f"{pictures} pictures were" if pictures > 1 else "a picture was"
        brief = _ends_of(text, reason, ends) if len(text) >= 2 * sum(ends) else text
        return "\n".join(filter(None, [brief, f"[{reason}: {what} cut]"]))
    return _ends_of(text, reason, ends) if len(text) >= 2 * sum(ends) else None


def _ends_of(text: str, reason: str, ends: Ends) -> str:
    cut = len(text) - sum(ends)
    return f"{text[: ends.head]}\n[{reason}: {cut:,} characters were cut here]\n{text[-ends.tail :]}"
