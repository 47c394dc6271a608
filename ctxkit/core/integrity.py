"""Integrity: what leaves ctxkit has a result for every call and a call for every result.

Pipeline: the context's contents -> `repair` -> `formats/*` write them (replay 20). Pure; whatever is
changed is counted in `Repairs`, never silent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from ctxkit.core.messages import Call, Content, Part, Repairs, Result, Text
from ctxkit.core.roles import side

SECOND_COPY = "second copy of a result"
"""What a further result of a call is called that has one."""
NO_RESULT = "[no result recorded]"
"""What stands where a result should."""


class Alone(NamedTuple):
    """A call without a result (`no-result`), or a result that answers no open call (`no-call`): the number of its
    content, from 0, and the call's id.
    """

    at: int
    code: str
    call: str


def alone(contents: Iterable[Content | None], *, pairs: bool) -> Iterator[Alone]:
    """What a request has alone. None stands for a content that is not sent.

    A call is open up to the next response. `pairs`: the program takes the results up to there together, the first of
    each call alone; else a call is open only up to the next content without a result, and a second result stays.
    """
    waiting: dict[str, int] = {}
    answered: set[str] = set()
    for at, content in enumerate(contents):
        if content is None:
            continue
        answers = any(isinstance(part, Result) for part in content.parts)
        if side(content.role) == "assistant" or not (answers or pairs):
            yield from (Alone(n, "no-result", call) for call, n in waiting.items())
            waiting, answered = {}, set()
        for part in content.parts:
            if isinstance(part, Call):
                waiting[part.id] = at
            elif isinstance(part, Result) and waiting.pop(part.id, None) is not None:
                answered.add(part.id)
            elif isinstance(part, Result) and not (pairs and part.id in answered):
                yield Alone(at, "no-call", part.id)
    yield from (Alone(n, "no-result", call) for call, n in waiting.items())


_Place = tuple[int, int]
"""Number of the content, number of the part in it; both from 0."""


class _Step(msgspec.Struct):
    """The calls of the content at `at`, and for each of them its result, with its content, or None.

    `places`: where these stand. `near`: whether all that came behind the calls so far are results of theirs.
    """

    at: int
    calls: list[Call]
    answers: list[tuple[Content, Result] | None]
    places: list[_Place]
    near: bool = True

    @property
    def whole(self) -> bool:
        """Whether each call has its result."""
        return len(self.places) == len(self.calls)


class _Pairs(msgspec.Struct):
    """What is to be changed: results that stand elsewhere than right behind their call, or answer none, calls that
    repeat an id; and steps whose answers are written behind them. `copies`: how many of the lost answer a call of the
    step before them, which has its result.
    """

    astray: set[_Place] = set()
    lost: set[_Place] = set()
    copies: int = 0
    repeated: set[_Place] = set()
    steps: dict[int, _Step] = {}


def repair(contents: Iterable[Content]) -> tuple[list[Content], Repairs]:
    """The contents as `PairedContents` has them, and what was changed for that."""
    repairs = Repairs()
    return list(PairedContents(contents).paired(repairs)), repairs


class PairedContents:
    """The contents with every call answered right after the message that makes it.

    They are gone through once to look, and once each time they are given; none is held. A result belongs to the nearest
    earlier call with its id; a second answer and one without a call are dropped. A call without a result gets
    `NO_RESULT` as an error; one that repeats an id within its message is left out. Where all answers of a message stand
    right after it already, they stay in their own order (a program's log is given back as its program sends it); else
    they stand in the order of the calls. Messages without anything in them are left out. The given contents are not
    changed. Repairing what was repaired changes nothing.
    """

    def __init__(self, contents: Iterable[Content]) -> None:
        self._contents = contents
        self._pairs = _pair(contents)

    def __iter__(self) -> Iterator[Content]:
        return self.paired(Repairs())

    def paired(self, repairs: Repairs) -> Iterator[Content]:
        """The contents with calls and results paired; `repairs` counts the changes."""
        pairs = self._pairs
        if pairs.repeated:
            repairs.leave_out("repeated call", len(pairs.repeated))
        repairs.dropped += len(pairs.lost) - pairs.copies
        if pairs.copies:
            repairs.leave_out(SECOND_COPY, pairs.copies)
        left_out = pairs.astray | pairs.lost | pairs.repeated
        for at, given in enumerate(self._contents):
            content = _named(at, given)
            rest = content.parts
            if left_out:
                rest = [part for k, part in enumerate(content.parts) if (at, k) not in left_out]
            if not _is_empty(rest):
                yield content if len(rest) == len(content.parts) else _with(content, rest)
            elif _is_empty(content.parts):
                repairs.leave_out("empty message")
            if at in pairs.steps:
                yield from _answers(pairs.steps[at], repairs)


def _named(at: int, content: Content) -> Content:
    """The same with an id for each call: a message that a person wrote may have calls without one."""
    if not any(isinstance(part, Call) and not part.id for part in content.parts):
        return content
    parts = [
        Call(f"ctxkit-{at + 1}-{k + 1}", part.name, part.arguments, part.raw)
        if isinstance(part, Call) and not part.id
        else part
        for k, part in enumerate(content.parts)
    ]
    return _with(content, parts)


def _pair(contents: Iterable[Content]) -> _Pairs:
    """Which result belongs to which call: only what is out of order is remembered of a step that has its answers."""
    pairs = _Pairs()
    newest: dict[str, tuple[_Step, int]] = {}
    done: set[str] = set()  # the calls of the newest step that has all its results
    last: _Step | None = None
    for at, given in enumerate(contents):
        content = _named(at, given)
        step: _Step | None = None
        here: list[_Place] = []
        mine = True
        for k, part in enumerate(content.parts):
            if isinstance(part, Call):
                step = step or _Step(at, [], [], [])
                if any(call.id == part.id for call in step.calls):
                    pairs.repeated.add((at, k))
                    continue
                newest[part.id] = (step, len(step.calls))
                step.calls.append(part)
                step.answers.append(None)
            elif isinstance(part, Result):
                answered, which = newest.get(part.id, (None, 0))
                if answered is None or answered.answers[which] is not None:
                    pairs.lost.add((at, k))
                    pairs.copies += answered is not None or part.id in done
                    continue
                answered.answers[which] = content, part
                answered.places.append((at, k))
                here.append((at, k))
                mine = mine and answered is last
                if not answered.near:
                    pairs.astray.add((at, k))
        if last is not None and last.near:
            _behind(pairs, last, content, here, mine=mine)
            if last.near and last.whole:
                done = {call.id for call in last.calls}
                for key in done:  # a second answer to it is one to none
                    newest.pop(key, None)
                last = None
        if step is not None:
            if step.places:  # what answers a call does not stand in the message that makes it
                _far(pairs, step)
            last = step
    if last is not None and last.near:
        _far(pairs, last)
    return pairs


def _behind(pairs: _Pairs, step: _Step, content: Content, here: list[_Place], *, mine: bool) -> None:
    """A content behind a step: whether nothing but results of it stands there still."""
    speaks = side(content.role) == "assistant" or any(isinstance(part, Call) for part in content.parts)
    more = any(not isinstance(part, Result) for part in content.parts)
    if speaks or not mine or (more and not (here and step.whole)):
        _far(pairs, step)


def _far(pairs: _Pairs, step: _Step) -> None:
    """The answers of a step are written behind it, wherever they stand."""
    step.near = False
    pairs.steps[step.at] = step
    pairs.astray.update(step.places)


def _answers(step: _Step, repairs: Repairs) -> Iterator[Content]:
    """The answers of a step in the order of its calls, each in a content of its own."""
    for call, answer in zip(step.calls, step.answers, strict=True):
        if answer is None:
            repairs.made += 1
            yield Content("tool", [Result(call.id, NO_RESULT, True)])
            continue
        content, result = answer
        role = "tool" if side(content.role) == "assistant" else content.role
        alone = len(content.parts) == 1 and role == content.role
        yield content if alone else Content(role, [result], content.name, content.rows)


def _with(content: Content, parts: list[Part]) -> Content:
    return Content(content.role, parts, content.name, content.rows)


def _is_empty(parts: list[Part]) -> bool:
    return all(isinstance(part, Text) and not part.text for part in parts)
