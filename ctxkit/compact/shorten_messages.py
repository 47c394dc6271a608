"""Abridging: messages made shorter where they stand, to so many tokens, as stubs of an op.

`compact/plan.py` asks for it where no summary may stand for a message, or none is as long as what was asked for. The
longest texts of the messages are cut to one length: words, what results say, what calls are given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ctxkit.compact.shorten_text import abridged
from ctxkit.content.text_segments import SPEAKS, Kind
from ctxkit.core.messages import Call, Content, Image, Part, Result, Text, Thinking
from ctxkit.core.names import Name
from ctxkit.core.text.json_text import dumps
from ctxkit.logfile.open import words
from ctxkit.logfile.stubs import of_call, of_parts, of_result, stubbed

Count = Callable[[Sequence[str]], Sequence[int]]
TRIES = 8


class _Leaf(NamedTuple):
    """One text of a message that can be cut: of the part at `place`, in a call's arguments the one at `turn`.

    `tokens`: as the message has them, `base`: of the text alone; in arguments it stands as JSON.
    """

    name: Name
    place: int
    turn: int
    text: str
    kind: Kind
    tokens: float
    base: int


def abridge(
    messages: Mapping[Name, Content], tokens: int, measure: Callable[[Name, Content], float],
    rate: Callable[[Name], float], count: Count,
) -> dict[Name, Any]:  # fmt: skip
    """Stubs that leave these messages at most `tokens` together; nothing where they have no texts that long.

    `measure`: tokens that a content has as a message, `rate`: of a token of the base in it, `count`: such tokens.
    """
    leaves = list(_leaves(messages, rate, count))
    sizes = {name: measure(name, content) for name, content in messages.items()}
    spoken = {name: rest for name, content in messages.items() if (rest := _spoken(content)) is not None}
    bare = {name: measure(name, rest) for name, rest in spoken.items()}
    whole = sum(sizes.values())
    if whole > tokens >= sum((sizes | bare).values()):  # thinking is bound to the words beside it: all of it, or none
        found = {}
        for name, content in spoken.items():
            if whole > tokens:
                found[name], whole = of_parts(content.parts), whole - sizes[name] + bare[name]
        return found
    room = tokens - (sum((sizes | bare).values()) - sum(leaf.tokens for leaf in leaves))
    for _ in range(TRIES):
        length = _level([leaf.tokens for leaf in leaves], room)
        if length is None:
            return {}
        said: dict[Name, dict[tuple[int, int], str]] = {name: {} for name in spoken}
        for leaf in leaves:
            if leaf.tokens > length:
                brief = abridged(leaf.text, int(length * leaf.base / leaf.tokens), count, leaf.kind)
                if brief is None:
                    return {}
                said.setdefault(leaf.name, {})[leaf.place, leaf.turn] = brief
        stubs = {name: _stub(messages[name], texts) for name, texts in said.items()}
        size = sum(
            measure(name, stubbed(content, stubs[name]) if name in stubs else content)
            for name, content in messages.items()
        )
        if size <= tokens:
            return stubs
        room -= size - tokens + 1
    return {}


def _level(sizes: Sequence[float], room: float) -> float | None:
    """The length that all longer ones are cut to, so that they have `room` together; None where that is none."""
    left = room
    for at, size in enumerate(ordered := sorted(sizes)):
        share = left / (len(ordered) - at)
        if share < size:
            return share if share >= 1 else None
        left -= size
    return None


def _leaves(messages: Mapping[Name, Content], rate: Callable[[Name], float], count: Count) -> Iterator[_Leaf]:
    found: list[tuple[Name, int, int, str, Kind]] = []
    for name, content in messages.items():
        linked = any(isinstance(part, Call | Result) for part in content.parts)
        said = Kind.ASSISTANT if content.role in SPEAKS else Kind.USER
        for place, part in enumerate(content.parts):
            match part:
                case Text(text=text) if not linked and text:
                    found.append((name, place, 0, text, said))
                case Result():
                    found.append((name, place, 0, "\n".join(words(Content("tool", [part]))), Kind.RESULT))
                case Call(arguments=dict(arguments)):
                    found += [(name, place, turn, text, Kind.INPUT) for turn, text in enumerate(_strings(arguments))]
                case _:
                    continue
    bases = count([text for *_, text, _ in found])
    sizes = count([dumps(text)[1:-1] if kind == Kind.INPUT else text for *_, text, kind in found])
    for (name, place, turn, text, kind), base, size in zip(found, bases, sizes, strict=True):
        yield _Leaf(name, place, turn, text, kind, size * rate(name), base)


def _spoken(content: Content) -> Content | None:
    """A message that says something and calls nothing, without its thinking; None where it has none."""
    rest: list[Part] = [part for part in content.parts if not isinstance(part, Thinking)]
    calls = any(isinstance(part, Call | Result) for part in rest)
    says = any(isinstance(part, Text) and part.text for part in rest)
    return Content(content.role, rest) if says and not calls and len(rest) < len(content.parts) else None


def _stub(content: Content, said: Mapping[tuple[int, int], str]) -> Any:
    """The stub of a message whose texts at these places say that."""
    parts = []
    for place, part in enumerate(content.parts):
        mine = {turn: text for (at, turn), text in said.items() if at == place}
        if not mine:
            continue
        if isinstance(part, Call):
            parts.append(of_call(part, _with(part.arguments, mine)))
        elif isinstance(part, Result):
            inner = part.content if isinstance(part.content, list) else []
            pictures = sum(isinstance(one, Image) for one in inner)
            more = f"\n[{pictures} picture{'s' * (pictures > 1)} left out]" * bool(pictures)
            parts.append(of_result(part, mine[0] + more))
    if parts:
        return parts
    brief = {
        part.text: said[at, 0] for at, part in enumerate(content.parts) if isinstance(part, Text) and (at, 0) in said
    }
    rest = (_spoken(content) or content).parts  # thinking is bound to the words as they were
    return of_parts([Text(brief.get(part.text, part.text)) if isinstance(part, Text) else part for part in rest])


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def _with(value: Any, said: Mapping[int, str]) -> Any:
    """Arguments with other texts at these turns; keys and kinds of values stay."""
    turn = iter(range(1 << 62))

    def made(one: Any) -> Any:
        if isinstance(one, str):
            return said.get(next(turn), one)
        if isinstance(one, dict):
            return {key: made(inner) for key, inner in one.items()}
        return [made(inner) for inner in one] if isinstance(one, list) else one

    return made(value)
