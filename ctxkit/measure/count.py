"""Counts the tokens of messages of an opened log. Each text is counted once; the count is cached by content.

The cache key of an unchanged message is a digest of its rows, so a second count decodes nothing; the key of what ops
wrote is a digest of its text. Status, diff, previews and trim count through this, so their figures agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from math import ceil
from typing import Any

from ctxkit.core.context import Entry, entry
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Call, Content, Image, Other, Part, Result, Thinking
from ctxkit.core.text.utf8 import exact, utf8
from ctxkit.logfile.open import OpenLog, words
from ctxkit.measure.row_counts import RowCounts
from ctxkit.tokens.cache import digest
from ctxkit.tokens.counter import Counter, CounterAtHand, counter
from ctxkit.tokens.models import bare
from ctxkit.tokens.pictures import UNKNOWN, PictureRule, picture_rule, picture_tokens

PER_MESSAGE = 4
"""Tokens around a message, for its role and its ends: OpenAI's figure; others are near it."""
PER_CALL, PER_RESULT = 7, 5
"""Tokens around a call and around a result, measured on 636 calls and 622 results of recorded Codex sessions."""
PER_SIGN = 0.19
"""Tokens of the base per character of a signature, which holds the hidden thinking. Fitted on 629 thoughts of recorded
sessions: with it replies are counted within a tenth, without it within a quarter to a half (docs/tokens.md).
"""
PER_DATA = 0.02
"""Tokens per character of a file's data in base64: a page of a document has some 100,000 characters, and 2,000 tokens.
"""
OPAQUE = {"encrypted_content": PER_SIGN, "signature": PER_SIGN, "data": PER_DATA, "file_data": PER_DATA}
"""Key -> tokens per character of its value, for values that a model does not see as text, in parts of unknown kinds."""
LETTERS = 4.2
"""Characters per token of shown thinking."""
TOGETHER = 1 << 16
"""Messages that are looked up at a time."""
REMEMBERED = 1 << 16
"""The most counts kept in memory; then all are dropped, and looked up again."""
AT_ONCE = 21 << 20
"""Characters that are counted at a time."""
VERSION = b"5"
"""Version of how a message is made text, part of each cache key. Raised, all messages are counted again."""


class Counting:
    """Counts a log for one model: `model`, else the config's, else the log's; "" if none is named."""

    def __init__(self, log: OpenLog, model: str | None = None) -> None:
        self.log = log
        self._model = model
        self._known: dict[bytes, int] = {}

    @property
    def model(self) -> str:
        """The model to count for."""
        return (self.log.config["model"] or self.log.model) if self._model is None else self._model

    @cached_property
    def counter(self) -> Counter:
        """The counter for the model."""
        own = self.log.own_counter
        if own is not None:
            return own
        found = counter(self.log.config["counter"], self.model)
        found = CounterAtHand(found) if self.log.counts_at_hand else found
        found.cache_folder = self.log.cache_folder
        return found

    @property
    def is_own(self) -> bool:
        """Whether this is the log's own model: the log's recorded usage is valid for no other."""
        return bare(self.model) == bare(self.log.model)

    def of(self, names: Iterable[Name]) -> int:
        """Tokens of these messages together."""
        return sum(self.counted(names))

    def of_texts(self, texts: Iterable[str]) -> int:
        """Tokens of texts around the messages."""
        return sum(self.counter.all(self._made([(text, 0) for text in texts])))

    def of_contents(self, some: Iterable[Content]) -> list[int]:
        """Tokens of each of these messages, which need not be in a log."""
        return list(self.counter.all(self.base_of_contents(some)))

    def base_of_contents(self, some: Iterable[Content]) -> list[int]:
        """Tokens of each of these messages by the counter's base, without a factor."""
        return self._made([(counted_text(content), other_tokens(content.parts, self.picture)) for content in some])

    def counted(self, names: Iterable[Name]) -> Iterator[int]:
        """Tokens of each of these messages. Sizes of many are sums of these, so figures add up.

        What is not cached is read from the log, some megabytes at a time, counted and cached.
        """
        return self.counter.all(self.base(names))  # `base` counts first: its fallback to pieces changes the factor

    def base(self, names: Iterable[Name]) -> Iterator[int]:
        """Tokens of each of these messages by the counter's base, without a factor."""
        state = self.log.state()
        listed = names if isinstance(names, range) else list(names)
        stubs = state.board.stubs
        if isinstance(listed, range) and not stubs:
            return self._rows.of(listed)
        made = [name for name in listed if not isinstance(name, int) or name in stubs]
        plain = self._rows.of([n for n in listed if isinstance(n, int) and n not in stubs])
        if not made:
            return plain
        counted = dict(zip(made, self.base_of(entry(state, name) for name in made), strict=True))
        return (counted[name] if name in counted else next(plain) for name in listed)

    def base_as_read(self, numbers: Iterable[int]) -> Iterator[int]:
        """Tokens, by the base, of messages as the log's rows have them, whatever ops made of them."""
        return self._rows.of(numbers)

    def results_in(self, n: int) -> int:
        """Tokens, by the base, of the results inside a message."""
        content = self.log.content(n)
        results: list[Part] = [part for part in content.parts if isinstance(part, Result)]
        [tokens] = self.counter.counts([counted_text(Content(content.role, results))])
        return tokens + other_tokens(results, self.picture)

    def picture(self, image: Image) -> int:
        """Tokens of a picture by the counter's base: those that the provider counts, without the factor of texts."""
        return ceil(picture_tokens(image, self._rule) / self.counter.factor)

    @cached_property
    def _rule(self) -> PictureRule:
        return picture_rule(self.model)

    @cached_property
    def _rows(self) -> RowCounts:
        return RowCounts(self.log, self._salt, lambda: self.counter.cache, self._one_by_one)

    def _one_by_one(self, numbers: Iterable[int]) -> Iterator[int]:
        messages = self.log.state().messages
        return self.base_of(Entry(n, messages[n - 1].role, messages[n - 1], None, None, False) for n in numbers)

    def base_of(self, entries: Iterable[Entry]) -> Iterator[int]:
        """Tokens, by the base, of each of these entries, from any state of the log."""
        left = iter(entries)
        while some := list(islice(left, TOGETHER)):
            yield from self._together(some)

    def _together(self, entries: list[Entry]) -> list[int]:
        keys = [self._key(one) for one in entries]
        unknown = self._unknown(keys)
        waiting: dict[bytes, tuple[str, int]] = {}
        size = 0
        for key, one in zip(keys, entries, strict=True):
            if key in unknown:
                unknown.discard(key)
                content = self.log.full(one)
                text = counted_text(content)
                waiting[key] = text, other_tokens(content.parts, self.picture)
                size += len(text)
                if size >= AT_ONCE:
                    self._count(waiting)
                    waiting, size = {}, 0
        self._count(waiting)
        return [self._known[key] for key in keys]

    def _made(self, texts: list[tuple[str, int]]) -> list[int]:
        """Tokens, by the base, of messages beside the log's rows; of each its text, and the tokens of the rest."""
        keys = [_made_key(*one) for one in texts]
        unknown = self._unknown(keys)
        self._count({key: one for key, one in zip(keys, texts, strict=True) if key in unknown})
        return [self._known[key] for key in keys]

    def _key(self, one: Entry) -> bytes:
        """The cache key of a message: a digest of all bytes that it is made of."""
        if one.message is None or one.stub is not None:
            content = self.log.full(one)
            return _made_key(counted_text(content), other_tokens(content.parts, self.picture))
        source = self.log.opening.laid_out
        spans = ((one.message.offset, one.message.size), *one.message.more)
        return digest(b"\n".join(source.read(*span) for span in spans), self._salt)

    @cached_property
    def _salt(self) -> bytes:
        rule = utf8(f"{self._rule.name} {self.counter.factor}")  # what a picture counts is not the base's alone
        return VERSION + utf8(self.log.opening.format.name) + rule

    def _unknown(self, keys: Sequence[bytes]) -> set[bytes]:
        """The keys that are neither in memory nor in the cache."""
        if len(self._known) > REMEMBERED:
            self._known.clear()
        asked = {key for key in keys if key not in self._known}
        self._known.update(self.counter.cache.get(list(asked)))
        return {key for key in asked if key not in self._known}

    def _count(self, waiting: Mapping[bytes, tuple[str, int]]) -> None:
        if waiting:
            tokens = self.counter.anew([text for text, _ in waiting.values()])
            found = {key: PER_MESSAGE + n + more for n, (key, (_, more)) in zip(tokens, waiting.items(), strict=True)}
            self._known.update(found)
            if not self.counter.rough:
                self.counter.cache.put(found)


def _made_key(text: str, more: int) -> bytes:
    """The cache key of a message that is no row of the log: a digest of its text and of the tokens of the rest."""
    return digest(exact(f"{more}\n{text}"), VERSION)


def counted_text(content: Content) -> str:
    """The text of a message that the counter counts: its words, and the values in parts of unknown kinds."""
    carried = (leaf for part in _carried(content.parts) for leaf in _leaves(part.raw))
    return "\n".join([*words(content), *(f"{key} {value}" for key, value in carried if key not in OPAQUE)])


def _carried(parts: Iterable[Part]) -> Iterator[Other]:
    for part in parts:
        match part:
            case Other():
                yield part
            case Result(content=list(inner)):
                yield from _carried(inner)


def _leaves(value: Any) -> Iterator[tuple[str, Any]]:
    """Yields the scalars of a JSON value in order, each with its key; "" for items of a list."""
    left = [("", value)]
    while left:
        key, found = left.pop()
        if isinstance(found, dict):
            left.extend(reversed(found.items()))
        elif isinstance(found, list):
            left.extend(("", one) for one in reversed(found))
        else:
            yield key, found


def other_tokens(parts: Iterable[Part], picture: Callable[[Image], int] = lambda _: UNKNOWN) -> int:
    """Tokens of what is not text: around calls and results, of pictures (also in results), of hidden thinking."""
    tokens = 0
    for part in parts:
        match part:
            case Image():
                tokens += picture(part)
            case Call():
                tokens += PER_CALL
            case Result(content=inner):
                tokens += PER_RESULT + (other_tokens(inner, picture) if isinstance(inner, list) else 0)
            case Other(raw=raw):
                tokens += round(sum(OPAQUE[key] * len(str(value)) for key, value in _leaves(raw) if key in OPAQUE))
            case Thinking(text=text, raw={"signature": str(hidden)} | {"encrypted_content": str(hidden)}):
                tokens += max(0, round(PER_SIGN * len(hidden) - len(text) / LETTERS))
    return tokens
