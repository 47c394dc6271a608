"""ctxkit's own strategies: the prefix compacted by the product, and read back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ctxkit.core.messages import Content, Text
from ctxkit.core.names import Names
from ctxkit.core.state import PREAMBLE_ROLES
from ctxkit.policies.compact.extract import extract
from ctxkit.tokens.encodings import encoding
from tests.bench.compaction.baselines import Compacted
from tests.bench.compaction.cases import tokens
from tests.bench.compaction.ready import Ready

TAIL = 0.3
"""Of the budget: what stays as it is."""


def extracted(case: Ready, budget: int) -> Compacted:
    """The preamble and the first message, a summary, and a tail of whole steps."""
    preamble = next((n for n, one in enumerate(case.contents) if one.role not in PREAMBLE_ROLES), 0)
    first = next(step.stop for step in case.steps if preamble in step)
    left, start = budget * TAIL, len(case.contents)
    for step in reversed(case.steps):
        left -= sum(case.tokens[n] for n in step)
        if left < 0 or step.start < first:
            break
        start = step.start
    around = tokens([Content("user", [Text("")])])[0]
    room = budget - sum(case.tokens[:first]) - sum(case.tokens[start:]) - around
    pieces = [piece for piece in case.pieces if isinstance(piece.name, int) and piece.name <= len(case.contents)]
    text = extract(pieces, room, _count, told=Names.of(range(first + 1, start + 1)))
    summary = [] if text is None else [Content("user", [Text(text)])]
    return [*case.contents[:first], *summary, *case.contents[start:]]


def _count(texts: Sequence[str]) -> Sequence[int]:
    return encoding("o200k_base").counts(texts)


OWN: dict[str, Callable[[Ready, int], Compacted]] = {"ctxkit extract": extracted}
"""By what the tables call them."""
