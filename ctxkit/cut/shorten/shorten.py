"""Makes messages shorter, as stubs of an op that keep ids, names, keys and pairs: the one way there is.

A message has texts that may be cut (`texts_of`): its results, the arguments of its calls, or its words. What is put in
their place becomes a stub (`with_texts`). Trim cuts each text to both ends (`cut/trim_cuts.py`), a mask puts a line in
its place (`masks`), and a compact cuts the longest texts of several messages to one length (`abridge`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from ctxkit.core.item_names import Name
from ctxkit.core.messages import Call, Content, Image, Part, Result, Text, Thinking
from ctxkit.core.text.json_text import dumps
from ctxkit.cut.shorten.shorten_text import FULL, Count, abridged, longest
from ctxkit.cut.units.text_segments import SPEAKS, SegmentKind
from ctxkit.logfile.open import words
from ctxkit.logfile.stubs import of_call, of_parts, of_result, stubbed

Measure = Callable[[Name, Content], float]
FEW = 48
"""Tokens of the base: if no text has more, each length is tried."""
LEAST = 6
"""Tokens of the base: the least that a text is cut to, its beginning. A text with no more is not cut."""
LEVELS = 100
"""The most levels of nested arguments: more than any tool has, and far fewer than the interpreter's limit."""


class MessageText(NamedTuple):
    """A text of a message that can be cut: of the part at `part`; in arguments of a call the text number `turn`.

    `pictures`: how many a result has beside it; a stub of a result has none.
    """

    part: int
    turn: int
    text: str
    kind: SegmentKind
    pictures: int = 0

    @property
    def key(self) -> tuple[int, int]:
        """Its place in the message."""
        return self.part, self.turn

    def noted(self, brief: str) -> str:
        """`brief`, with a line for the pictures that go."""
        note = f"[{self.pictures:,} picture{'s' * (self.pictures != 1)} left out]" if self.pictures else ""
        return "\n".join(filter(None, [brief, note])) if note else brief


NewTexts = Mapping[tuple[int, int], str]
"""Part and turn -> the new text."""


def texts_of(content: Content, *, by_words: bool = False) -> Iterator[MessageText]:
    """Yields the texts of a message that can be cut: of its results; without any, of the arguments of its calls;
    without any, or `by_words`, its words. A stub replaces only one of these.
    """
    kinds = {type(part) for part in content.parts}
    speaker = SegmentKind.ASSISTANT if content.role in SPEAKS else SegmentKind.USER
    for place, part in enumerate(content.parts):
        match part:
            case Result(content=inner):
                pictures = 0 if isinstance(inner, str) else sum(isinstance(one, Image) for one in inner)
                text = "\n".join(words(Content("tool", [part])))
                yield MessageText(place, 0, text, SegmentKind.RESULT, pictures)
            case Call(arguments=arguments) if not (by_words or Result in kinds) and _takes_texts(part):
                for turn, text in enumerate(_strings(arguments)):
                    yield MessageText(place, turn, text, SegmentKind.INPUT)
            case Text(text=text) if text and Result not in kinds and (by_words or Call not in kinds):
                yield MessageText(place, 0, text, speaker)
            case _:
                continue


def with_texts(content: Content, new: NewTexts) -> Any:
    """The stub of a message with these new texts. Its pictures, thinking and ids stay; a result loses its pictures."""
    named: list[Any] = []
    brief: list[Part] = []
    for place, part in enumerate(content.parts):
        mine = {turn: text for (at, turn), text in new.items() if at == place}
        match part:
            case Call() | Result() if not mine:
                continue
            case Call():
                named.append(of_call(part, _with(part.arguments, mine)))
            case Result():
                named.append(of_result(part, mine[0]))
            case Thinking() if mine:
                brief.append(_thinking(mine[0]))
            case _:
                brief.append(Text(mine[0]) if mine else part)
    if named:
        alone = len(content.parts) == 1 and isinstance(content.parts[0], Result)
        return named[0]["content"] if alone else named
    return of_parts(brief)


def shortened(content: Content, cut: Callable[[str], str]) -> Any:
    """The stub of a message with each of its texts as `cut` makes it; None if that changes nothing."""
    texts = list(texts_of(content))
    new = {one.key: brief for one in texts if (brief := one.noted(cut(one.text))) != one.text}
    return with_texts(content, new) if new else None


def _takes_texts(call: Call) -> bool:
    """Whether other texts are valid in the arguments of a call: in an object, or where any text is one."""
    arguments = call.arguments
    return isinstance(arguments, dict) or (
        isinstance(arguments, str) and (call.raw or {}).get("type") == "custom_tool_call"
    )


def _strings(value: Any, levels: int = LEVELS) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and levels:
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner, levels - 1)


def _with(value: Any, new: Mapping[int, str]) -> Any:
    """Arguments with new texts at these turns. Keys and types of values stay."""
    turn = iter(range(1 << 62))

    def made(one: Any, levels: int) -> Any:
        if isinstance(one, str):
            return new.get(next(turn), one)
        if isinstance(one, dict) and levels:
            return {key: made(inner, levels - 1) for key, inner in one.items()}
        return [made(inner, levels - 1) for inner in one] if isinstance(one, list) and levels else one

    return made(value, LEVELS)


def without_results(content: Content, tools: Mapping[str, str], *, observed: bool) -> Any:
    """The stub of a message with a line in place of each result. `tools`: id of a call -> its tool; `observed`: the
    words of the message are the output of a command, and are masked.
    """
    if observed:
        return masked("output", "\n".join(words(content)))
    new: dict[tuple[int, int], str] = {}
    for one in texts_of(content):
        part = content.parts[one.part]
        if isinstance(part, Result):
            new[one.key] = masked(tools.get(part.id, ""), one.text, one.pictures, failed=part.is_error)
    return with_texts(content, new)


def masked(tool: str, text: str, pictures: int = 0, *, failed: bool = False) -> str:
    """The line that replaces a result: `[Read: 40 lines left out]`."""
    lines = text.count("\n") + (not text.endswith("\n")) if text else 0
    parts = [f"{lines:,} line{'s' * (lines != 1)}"] if lines or not pictures else []
    if pictures:
        parts.append(f"{pictures:,} picture{'s' * (pictures != 1)}")
    return f"[{tool or 'result'}{' failed' * failed}: {' and '.join(parts)} left out]"


class _Leaf(NamedTuple):
    """A text with its tokens in the message `name`, and those of the text alone, by the base. In arguments it is
    written as JSON.
    """

    name: Name
    text: MessageText
    tokens: float
    base: int

    @property
    def least(self) -> float:
        """The tokens that it always keeps."""
        return LEAST * self.tokens / max(self.base, 1)


def abridge(
    messages: Mapping[Name, Content], tokens: int, measure: Measure, rate: Callable[[Name], float], count: Count, *,
    least: bool = False,
) -> dict[Name, Any]:  # fmt: skip
    """Stubs with which these messages have at most `tokens` together; empty if they cannot be made so short.

    Thinking is dropped first, the oldest first: providers drop that of earlier turns anyway. Then the longest texts are
    cut to one length. `least`: if that is not enough, makes them as short as possible. `measure`: tokens of a content
    as a message; `rate`: tokens per token of the base in it; `count`: counts by the base.
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
        thoughts = [
            MessageText(place, 0, part.text, SegmentKind.ASSISTANT)
            for place, part in enumerate(messages[name].parts) if isinstance(part, Thinking) and is_plain(part)
        ]  # fmt: skip
        if whole - saved <= tokens and thoughts:
            leaves = _leaves(name, thoughts, rate(name), count)
            if stubs := _levelled(now, leaves, tokens, measure, count):
                return _changed(messages, now) | stubs
        now[name], whole = rest, whole - saved
    if whole <= tokens:
        return _changed(messages, now)
    now |= unthinking
    leaves = [
        leaf for name, content in now.items()
        for leaf in _leaves(
            name, texts_of(content, by_words=name in unthinking or _cuts_words(content, count)), rate(name), count
        )
    ]  # fmt: skip
    stubs = _levelled(now, leaves, tokens, measure, count, least=least)
    return _changed(messages, now) | stubs if stubs or (least and unthinking) else {}


def _changed(messages: Mapping[Name, Content], now: Mapping[Name, Content]) -> dict[Name, Any]:
    """Stubs, of their words, for the messages that `now` differ."""
    return {name: with_texts(one, {}) for name, one in now.items() if one is not messages[name]}


def _leaves(name: Name, texts: Iterable[MessageText], rate: float, count: Count) -> list[_Leaf]:
    some = list(texts)
    bases = count([one.text for one in some])
    sizes = count([dumps(one.text)[1:-1] if one.kind == SegmentKind.INPUT else one.text for one in some])
    return [_Leaf(name, *one) for one in zip(some, [size * rate for size in sizes], bases, strict=True)]


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

    longest_leaf = max((leaf.tokens for leaf in leaves), default=0)
    shortest = made(0)
    if shortest[0] > tokens or not leaves:
        return shortest[1] if least else {}
    if all(leaf.base <= FEW for leaf in leaves):  # the mark of a cut is as long as some words: sizes are no guide
        fitting = [one for one in map(made, range(int(longest_leaf) + 2)) if one[0] <= tokens]
        return max(fitting, key=itemgetter(0))[1]
    ends = {"least": (0.0, shortest[0]), "most": (longest_leaf, whole)}
    return longest(made, tokens, **ends, slack=(1 - FULL) * tokens) or shortest[1]


def _cut(messages: Mapping[Name, Content], leaves: Sequence[_Leaf], length: float, count: Count) -> dict[Name, Any]:
    """Stubs with the longer leaves cut to `length`, or to the least of a text."""
    new: dict[Name, dict[tuple[int, int], str]] = {}
    for leaf in leaves:
        allowed = max(length, leaf.least)
        if leaf.tokens <= allowed:  # a leaf may have 0 tokens, if the requests around it did not grow
            continue
        brief = abridged(leaf.text.text, int(allowed * leaf.base / leaf.tokens), count, leaf.text.kind)
        if brief is not None:
            new.setdefault(leaf.name, {})[leaf.text.key] = leaf.text.noted(brief)
    return {name: with_texts(messages[name], texts) for name, texts in new.items()}


def _cuts_words(content: Content, count: Count) -> bool:
    """Whether the words of a message are cut, and not the arguments of its calls: a stub replaces only one of the two.
    True without calls, or if words and thinking are longer than the arguments. Signed thinking is bound to the words,
    so these are not cut.
    """
    kinds = {type(part) for part in content.parts}
    if Result in kinds or Call not in kinds:
        return Result not in kinds
    if any(isinstance(part, Thinking) and not is_plain(part) for part in content.parts):
        return False
    given = [text for part in content.parts if isinstance(part, Call) for text in _strings(part.arguments)]
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
