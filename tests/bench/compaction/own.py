"""ctxkit's own strategies: the prefix compacted by the product, and read back."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence

from ctxkit.core.messages import Content, Text
from ctxkit.tokens.encodings import encoding
from tests.bench.compaction.baselines import Compacted
from tests.bench.compaction.ready import Ready

TAIL = 0.3
"""Of the budget: what stays as it is."""


def extract(case: Ready, budget: int) -> Compacted:
    """The first message, a summary, and a tail of whole steps."""
    if importlib.util.find_spec("ctxkit.policies.compact.extract") is None:
        return "there is no such strategy"
    made = importlib.import_module("ctxkit.policies.compact.extract").extract
    first = case.steps[0].stop
    left, start = budget * TAIL, len(case.contents)
    for step in reversed(case.steps[1:]):
        left -= sum(case.tokens[n] for n in step)
        if left < 0:
            break
        start = step.start
    spent = sum(case.tokens[:first]) + sum(case.tokens[start:])
    middle = [piece for piece in case.pieces if first < _place(piece.name) <= start]
    text = made(middle, budget - spent - 8, _count)
    summary = [] if text is None else [Content("user", [Text(text)])]
    return [*case.contents[:first], *summary, *case.contents[start:]]


def _place(name: object) -> int:
    return name if isinstance(name, int) else 0


def _count(texts: Sequence[str]) -> Sequence[int]:
    return encoding("o200k_base").counts(texts)


OWN = {"ctxkit extract": extract}
