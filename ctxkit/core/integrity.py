"""Integrity: what leaves ctxkit has a result for every call and a call for every result.

Pipeline: the context's contents -> `repair` -> `formats/*` write them. Source: DESIGN section 4 "Integrity" and
settled (20). Pure; whatever is changed is counted in `Repairs`, never silent.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ctxkit.core.messages import Call, Content, Part, Repairs, Result, Text

NO_RESULT = "[no result recorded]"
"""What stands where a result should."""

ASSISTANT_ROLES = frozenset({"assistant", "ai", "model", "gpt", "bot"})
"""Roles that the model speaks in; logs differ."""


_Place = tuple[int, int]
"""Number of the content, number of the part in it; both from 0."""


class _Step(msgspec.Struct):
    """The calls of the content at `at`, and for each of them where its result stands, or None."""

    at: int
    calls: list[Call]
    answers: list[_Place | None]


class _Pairs(msgspec.Struct):
    """Which result belongs to which call: steps by content, results that answer a call, calls that repeat an id."""

    steps: dict[int, _Step] = {}
    taken: set[_Place] = set()
    repeated: set[_Place] = set()


def repair(contents: list[Content]) -> tuple[list[Content], Repairs]:
    """The contents with every call answered right after the message that makes it, and what was changed for that.

    A result belongs to the nearest earlier call with its id; a second answer and one without a call are dropped. A
    call without a result gets `NO_RESULT` as an error; one that repeats an id within its message is left out. Where
    all answers of a message stand right after it already, they stay in their own order (a program's log is given back
    as its program sends it); else they stand in the order of the calls. Messages without anything in them are left
    out. The given contents are not changed. Repairing what was repaired changes nothing.
    """
    repairs = Repairs()
    contents = [_named(at, content) for at, content in enumerate(contents)]
    pairs = _pair(contents)
    in_place = {place for step in pairs.steps.values() for place in _in_place(contents, step, pairs.taken)}
    if pairs.repeated:
        repairs.leave_out("repeated call", len(pairs.repeated))
    out: list[Content] = []
    for at, content in enumerate(contents):
        rest: list[Part] = []
        for k, part in enumerate(content.parts):
            if isinstance(part, Result):
                repairs.dropped += (at, k) not in pairs.taken
                if (at, k) not in in_place:
                    continue
            if (at, k) not in pairs.repeated:
                rest.append(part)
        if not _is_empty(rest):
            out.append(content if len(rest) == len(content.parts) else _with(content, rest))
        elif _is_empty(content.parts):
            repairs.leave_out("empty message")
        step = pairs.steps.get(at)
        if step is not None and not any(place in in_place for place in step.answers):
            out += _answers(contents, step, repairs)
    return out, repairs


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


def _pair(contents: list[Content]) -> _Pairs:
    pairs = _Pairs()
    newest: dict[str, tuple[_Step, int]] = {}
    for at, content in enumerate(contents):
        for k, part in enumerate(content.parts):
            if isinstance(part, Call):
                step = pairs.steps.setdefault(at, _Step(at, [], []))
                if any(call.id == part.id for call in step.calls):
                    pairs.repeated.add((at, k))
                    continue
                newest[part.id] = (step, len(step.calls))
                step.calls.append(part)
                step.answers.append(None)
            elif isinstance(part, Result) and part.id in newest:
                step, which = newest[part.id]
                if step.answers[which] is None:
                    step.answers[which] = (at, k)
                    pairs.taken.add((at, k))
    return pairs


def _in_place(contents: list[Content], step: _Step, taken: set[_Place]) -> list[_Place]:
    """The places of the step's answers where all of them stand right after it, nothing but results between; else []."""
    found: list[_Place] = []
    for at in range(step.at + 1, len(contents)):
        content = contents[at]
        here = [(at, k) for k, part in enumerate(content.parts) if isinstance(part, Result) and (at, k) in taken]
        speaks = content.role in ASSISTANT_ROLES or any(isinstance(part, Call) for part in content.parts)
        more = any(not isinstance(part, Result) for part in content.parts)
        if speaks or any(place not in step.answers for place in here) or (more and not here):
            return []
        found += here
        if len(found) == len(step.calls):
            return found
        if more:
            return []
    return []


def _answers(contents: list[Content], step: _Step, repairs: Repairs) -> Iterator[Content]:
    """The answers of a step in the order of its calls, each in a content of its own."""
    for call, place in zip(step.calls, step.answers, strict=True):
        if place is None:
            repairs.made += 1
            yield Content("tool", [Result(call.id, NO_RESULT, True)])
            continue
        content = contents[place[0]]
        role = "tool" if content.role in ASSISTANT_ROLES else content.role
        alone = len(content.parts) == 1 and role == content.role
        yield content if alone else Content(role, [content.parts[place[1]]], content.name, content.rows)


def _with(content: Content, parts: list[Part]) -> Content:
    return Content(content.role, parts, content.name, content.rows)


def _is_empty(parts: list[Part]) -> bool:
    return all(isinstance(part, Text) and not part.text for part in parts)
