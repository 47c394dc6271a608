"""Baselines: what others do when a context is too large, each as a function of a case and a budget.

Each gives the messages of the compacted context, or why it cannot run here. All keep the system preamble, steps whole,
and cut until they fit.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence

from ctxkit.core.messages import Call, Content, Part, Result, Text
from ctxkit.core.state import PREAMBLE_ROLES
from ctxkit.measure.count import PER_MESSAGE
from ctxkit.tokens.encodings import encoding
from tests.bench.compaction.cases import tokens
from tests.bench.compaction.lexrank import ranks
from tests.bench.compaction.ready import Ready

Compacted = list[Content] | str
"""A compacted context, or why there is none."""
STUB = "[old result left out]"
CUT = "\n[…]\n"
NEAR = 100
"""Characters of a text are told to one in so many."""
KEEP = 3
"""Results that clearing leaves."""


def oldest(case: Ready, budget: int) -> Compacted:
    """The newest steps that fit."""
    return dropped(case, case.contents, budget)


def masked(case: Ready, budget: int) -> Compacted:
    """Results replaced by a stub, the oldest first, until it fits; then the oldest steps dropped."""
    some, sizes = list(case.contents), list(case.tokens)
    for place, content in enumerate(some):
        if sum(sizes) <= budget:
            break
        if any(isinstance(part, Result) for part in content.parts):
            some[place] = stubbed(content)
            sizes[place] = tokens([some[place]])[0]
    return dropped(case, some, budget)


def cleared(case: Ready, budget: int) -> Compacted:
    """All results but the last KEEP replaced by a stub; then the oldest steps dropped."""
    with_results = [n for n, one in enumerate(case.contents) if any(isinstance(part, Result) for part in one.parts)]
    old = set(with_results[:-KEEP])
    return dropped(case, [stubbed(one) if n in old else one for n, one in enumerate(case.contents)], budget)


def ends(case: Ready, budget: int) -> Compacted:
    """Head and tail of every text, so many characters of each that it fits; then the oldest steps dropped."""
    low, high = 0, 1 << 17
    while high - low > low // NEAR:
        middle = (low + high + 1) // 2
        if sum(tokens([shortened(one, middle) for one in case.contents])) <= budget:
            low = middle
        else:
            high = middle - 1
    return dropped(case, [shortened(one, low) for one in case.contents], budget)


def central(case: Ready, budget: int) -> Compacted:
    """The lines that LexRank ranks highest, in order, as one message."""
    lines, order, sizes = _ranked(case)
    left = budget - PER_MESSAGE
    chosen = []
    for place in order:
        if sizes[place] <= left:
            chosen.append(place)
            left -= sizes[place]
    return [Content("user", [Text("\n".join(lines[place] for place in sorted(chosen)))])]


_known: dict[str, tuple[list[str], list[int], list[int]]] = {}
"""Of the newest case: its lines, their places by rank, their tokens. Ranks do not depend on a budget."""


def _ranked(case: Ready) -> tuple[list[str], list[int], list[int]]:
    if case.case.name not in _known:
        _known.clear()
        lines = list(dict.fromkeys(line for piece in case.pieces for line in piece.text.split("\n") if line.strip()))
        found = ranks(lines)
        order = sorted(range(len(lines)), key=lambda place: (-found[place], place))
        _known[case.case.name] = lines, order, encoding("o200k_base").counts([f"{line}\n" for line in lines])
    return _known[case.case.name]


def listed(case: Ready, budget: int) -> Compacted:
    """Every item of the prefix, a line each, whatever the budget: what a score of items alone can be gamed with."""
    return [Content("user", [Text("\n".join(sorted(item.text for item in case.items)))])]


def dropped(case: Ready, some: Sequence[Content], budget: int) -> list[Content]:
    """These messages without the oldest steps, so that they fit."""
    sizes = tokens(some)
    preamble = next((n for n, one in enumerate(some) if one.role not in PREAMBLE_ROLES), len(some))
    left = budget - sum(sizes[:preamble])
    kept: list[int] = []
    for step in reversed(case.steps):
        numbers = [n for n in step if n >= preamble]
        left -= sum(sizes[n] for n in numbers)
        if left < 0:
            break
        kept = numbers + kept
    return [some[n] for n in [*range(preamble), *kept]]


def stubbed(content: Content) -> Content:
    """A message with a stub in place of each result."""
    parts = [Result(part.id, STUB, part.is_error) if isinstance(part, Result) else part for part in content.parts]
    return Content(content.role, parts, content.name)


def shortened(content: Content, most: int) -> Content:
    """A message of which every text has at most `most` characters, of its head and its tail; not the preamble's."""
    if content.role in PREAMBLE_ROLES:
        return content
    return Content(content.role, list(_shortened(content.parts, most)), content.name)


def _shortened(parts: Sequence[Part], most: int) -> Iterator[Part]:
    for part in parts:
        match part:
            case Text(text=text):
                yield Text(_cut(text, most))
            case Result(content=str() as text):
                yield Result(part.id, _cut(text, most), part.is_error)
            case Result(content=list() as inner):
                yield Result(part.id, list(_shortened(inner, most)), part.is_error)
            case Call():
                changed = copy.copy(part)
                changed.arguments, changed.raw = _leaves(part.arguments, most), None
                yield changed
            case _:
                yield part


def _leaves(value: object, most: int) -> object:
    if isinstance(value, str):
        return _cut(value, most)
    if isinstance(value, dict):
        return {key: _leaves(inner, most) for key, inner in value.items()}
    return [_leaves(inner, most) for inner in value] if isinstance(value, list) else value


def _cut(text: str, most: int) -> str:
    half = most // 2
    return text if len(text) <= most + len(CUT) else text[:half] + CUT + text[len(text) - half :]


BASELINES: dict[str, Callable[[Ready, int], Compacted]] = {
    "drop the oldest": oldest, "observation masking": masked, "clear tool results, keep 3": cleared,
    "head and tail of each message": ends, "LexRank over lines": central, "a bare list of all items": listed,
}  # fmt: skip
"""By what the tables call them."""
