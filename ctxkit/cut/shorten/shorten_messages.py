"""Shortens messages in place to a number of tokens, as stubs of an op.

`compact_plan.py` uses it for messages that no summary may replace, and if no summary is as long as the goal. Thinking
is dropped first. Then the longest texts of the messages are cut to one length: words, results, arguments of calls.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from math import ceil
from operator import itemgetter
from typing import Any, NamedTuple

from ctxkit.core.item_names import Name
from ctxkit.core.messages import Call, Content, Image, Part, Result, Text, Thinking
from ctxkit.core.text.json_text import dumps
from ctxkit.cut.shorten.shorten_text import abridged
from ctxkit.cut.units.text_segments import SPEAKS, SegmentKind
from ctxkit.logfile.open import words
from ctxkit.logfile.stubs import of_call, of_parts, of_result, stubbed

Count = Callable[[Sequence[str]], Sequence[int]]
Measure = Callable[[Name, Content], float]
TRIES = 8
HALVINGS = 32
FEW = 48
"""Tokens of the base: if no text has more, each length is tried."""
LEAST = 6
"""Tokens of the base: the least that a text is cut to, its beginning. A text with no more is not cut."""


class _Leaf(NamedTuple):
    """A text of a message that can be cut: of the part at `place`; in arguments of a call the text number `turn`.

    `tokens`: in the message; `base`: of the text alone, by the base. In arguments the text is written as JSON.
    """

    name: Name
    place: int
    turn: int
    text: str
    kind: SegmentKind
    tokens: float
    base: int

    @property
    def least(self) -> float:
        """The tokens that it always keeps."""
        return LEAST * self.tokens / max(self.base, 1)


NewTexts = dict[tuple[int, int], str]
"""Place and turn -> the new text, for the texts of a message that are cut."""


def abridge(
    messages: Mapping[Name, Content], tokens: int, measure: Measure, rate: Callable[[Name], float], count: Count, *,
    least: bool = False,
) -> dict[Name, Any]:  # fmt: skip
    """Stubs with which these messages have at most `tokens` together; empty if they cannot be made so short.

    `least`: then makes them as short as possible. `measure`: tokens of a content as a message; `rate`: tokens per token
    of the base in it; `count`: counts by the base. Thinking is dropped first, the oldest first: providers drop that of
    earlier turns anyway.
    """
    whole = sum(measure(name, content) for name, content in messages.items())
    unthinking = {
        name: rest for name, content in messages.items() if (rest := _without_thinking(content, count)) is not None
    }
    now = dict(messages)
    for name, rest in unthinking.items():
        if whole <= tokens:
            break
        saved = measure(name, messages[name]) - measure(name, rest)
        if saved <= 0:
            continue
        if whole - saved <= tokens and (leaves := list(_thoughts(name, messages[name], rate, count))):
            stubs = _levelled(now, leaves, tokens, measure, count)
            if stubs:
                return _changed(messages, now) | stubs
        now[name], whole = rest, whole - saved
    if whole <= tokens:
        return _changed(messages, now)
    now |= unthinking
    leaves = list(_leaves(now, unthinking, rate, count))
    stubs = _levelled(now, leaves, tokens, measure, count, least=least)
    return _changed(messages, now) | stubs if stubs or (least and unthinking) else {}


def _changed(messages: Mapping[Name, Content], now: Mapping[Name, Content]) -> dict[Name, Any]:
    """Stubs, of their words, for the messages that `now` differ."""
    return {name: of_parts(_words(one)) for name, one in now.items() if one is not messages[name]}


def _levelled(
    messages: Mapping[Name, Content], leaves: Sequence[_Leaf], tokens: int, measure: Measure, count: Count, *,
    least: bool = False,
) -> dict[Name, Any]:  # fmt: skip
    """Stubs with these leaves cut to one length, so that all messages have at most `tokens` together. If that is not
    possible: empty, or with `least` the shortest leaves.
    """
    sizes = {name: measure(name, content) for name, content in messages.items()}
    whole = sum(sizes.values())

    def made(length: float) -> tuple[float, dict[Name, Any]]:
        stubs = _cut(messages, leaves, length, count)
        size = whole + sum(measure(name, stubbed(messages[name], stub)) - sizes[name] for name, stub in stubs.items())
        return size, stubs

    if all(leaf.base <= FEW for leaf in leaves):  # the mark of a cut is as long as some words: sizes are no guide
        longest = ceil(max((leaf.tokens for leaf in leaves), default=0))
        fitting = [one for one in map(made, range(longest + 1)) if one[0] <= tokens]
        return max(fitting, key=itemgetter(0))[1] if fitting else made(0)[1] if least else {}
    room = tokens - (whole - sum(leaf.tokens for leaf in leaves))
    for _ in range(TRIES):
        length = _level(leaves, room)
        if length is None:
            break
        size, stubs = made(length)
        if size <= tokens:
            return stubs
        room -= size - tokens + 1
    return made(0)[1] if least else {}


def _cut(messages: Mapping[Name, Content], leaves: Sequence[_Leaf], length: float, count: Count) -> dict[Name, Any]:
    """Stubs with the longer leaves cut to `length`, or to the least of a text."""
    cut: dict[Name, NewTexts] = {}
    for leaf in leaves:
        allowed = max(length, leaf.least)
        if leaf.tokens <= allowed:  # a leaf may have 0 tokens, if the requests around it did not grow
            continue
        brief = abridged(leaf.text, int(allowed * leaf.base / leaf.tokens), count, leaf.kind)
        if brief is not None:
            cut.setdefault(leaf.name, {})[leaf.place, leaf.turn] = brief
    return {name: _stub(messages[name], texts) for name, texts in cut.items()}


def _level(leaves: Sequence[_Leaf], room: float) -> float | None:
    """The length to which longer leaves are cut, so that all have at most `room` together; None if even the least of
    each is too long.
    """
    low, high = 0.0, max((leaf.tokens for leaf in leaves), default=0.0)

    def sizes(length: float) -> float:
        return sum(min(leaf.tokens, max(length, leaf.least)) for leaf in leaves)

    if sizes(high) <= room:
        return high
    if sizes(low) > room:
        return None
    for _ in range(HALVINGS):
        length = (low + high) / 2
        low, high = (length, high) if sizes(length) <= room else (low, length)
    return low


def _leaves(
    messages: Mapping[Name, Content], unthinking: Container[Name], rate: Callable[[Name], float], count: Count
) -> Iterator[_Leaf]:
    """Yields the texts that can be cut. Messages in `unthinking` have a stub for their words already."""
    for name, content in messages.items():
        speaker = SegmentKind.ASSISTANT if content.role in SPEAKS else SegmentKind.USER
        by_words = name in unthinking or _cuts_words(content, count)
        found: list[tuple[int, int, str, SegmentKind]] = []
        for place, part in enumerate(content.parts):
            match part:
                case Text(text=text) if by_words and text:
                    found.append((place, 0, text, speaker))
                case Result():
                    found.append((place, 0, "\n".join(words(Content("tool", [part]))), SegmentKind.RESULT))
                case Call(arguments=dict(arguments)) if not by_words:
                    found += [(place, turn, text, SegmentKind.INPUT) for turn, text in enumerate(_strings(arguments))]
                case _:
                    continue
        yield from _measured(name, found, rate, count)


def _thoughts(name: Name, content: Content, rate: Callable[[Name], float], count: Count) -> Iterator[_Leaf]:
    """Yields the plain thinking of a message."""
    found = [
        (place, 0, part.text, SegmentKind.ASSISTANT)
        for place, part in enumerate(content.parts) if isinstance(part, Thinking) and is_plain(part)
    ]  # fmt: skip
    return _measured(name, found, rate, count)


def _measured(
    name: Name, found: Sequence[tuple[int, int, str, SegmentKind]], rate: Callable[[Name], float], count: Count
) -> Iterator[_Leaf]:
    bases = count([text for *_, text, _ in found])
    sizes = count([dumps(text)[1:-1] if kind == SegmentKind.INPUT else text for *_, text, kind in found])
    for (place, turn, text, kind), base, size in zip(found, bases, sizes, strict=True):
        yield _Leaf(name, place, turn, text, kind, size * rate(name), base)


def _cuts_words(content: Content, count: Count) -> bool:
    """Whether the words of a message are cut, and not the arguments of its calls: a stub replaces only one of the two.
    True without calls, or if words and thinking are longer than the arguments. Signed thinking is bound to the words,
    so these are not cut.
    """
    if any(isinstance(part, Result) for part in content.parts):
        return False
    given = [text for part in content.parts if isinstance(part, Call) for text in _strings(part.arguments)]
    if not any(isinstance(part, Call) for part in content.parts):
        return True
    if any(isinstance(part, Thinking) and not is_plain(part) for part in content.parts):
        return False
    spoken = [part.text for part in content.parts if isinstance(part, Text | Thinking)]
    return sum(count(spoken)) > sum(count(given))


def _without_thinking(content: Content, count: Count) -> Content | None:
    """A message without its thinking; None if it has none, or cannot be sent without.

    In a message with calls only plain thinking is cut, and its beginning is kept: providers refuse a call of a thinking
    model without thinking. Signed thinking is bound to the words of its message: all of it is dropped, or none.
    """
    thinks = [part for part in content.parts if isinstance(part, Thinking)]
    rest: list[Part] = [part for part in content.parts if not isinstance(part, Thinking)]
    if not thinks or any(isinstance(part, Result) for part in rest):
        return None
    if not any(isinstance(part, Call) for part in rest):
        return Content(content.role, rest) if any(isinstance(part, Text) and part.text for part in rest) else None
    if not all(map(is_plain, thinks)) or not _cuts_words(content, count):
        return None
    brief = {part.text: abridged(part.text, LEAST, count, SegmentKind.ASSISTANT) or part.text for part in thinks}
    return Content(
        content.role,
        [_thinking(brief[part.text]) if isinstance(part, Thinking) else part for part in content.parts],
    )


def is_plain(part: Thinking) -> bool:
    """Whether thinking is plain text, as chat APIs write it (`reasoning_content`), without a signature or an id."""
    rest = [key for key, value in part.raw.items() if value != part.text]
    return bool(part.text) and len(rest) < len(part.raw) and rest in ([], ["type"])


def _thinking(text: str) -> Thinking:
    return Thinking(text, {"type": "reasoning", "text": text})


def _words(content: Content) -> list[Part]:
    """The parts of a stub for the words of a message: all but its calls."""
    return [part for part in content.parts if not isinstance(part, Call)]


def _stub(content: Content, new: NewTexts) -> Any:
    """The stub of a message with these new texts."""
    parts = []
    for place, part in enumerate(content.parts):
        mine = {turn: text for (at, turn), text in new.items() if at == place}
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
    brief: list[Part] = []
    for place, part in enumerate(content.parts):
        text = new.get((place, 0))
        if isinstance(part, Thinking):
            brief.append(part if text is None else _thinking(text))
        elif not isinstance(part, Call):
            brief.append(part if text is None else Text(text))
    return of_parts(brief)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)


def _with(value: Any, new: Mapping[int, str]) -> Any:
    """Arguments with new texts at these turns. Keys and types of values stay."""
    turn = iter(range(1 << 62))

    def made(one: Any) -> Any:
        if isinstance(one, str):
            return new.get(next(turn), one)
        if isinstance(one, dict):
            return {key: made(inner) for key, inner in one.items()}
        return [made(inner) for inner in one] if isinstance(one, list) else one

    return made(value)
