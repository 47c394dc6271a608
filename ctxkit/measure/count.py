"""Counting: how many tokens the messages of an opened log have, each text counted once and remembered by its content.

A message that stands as its rows have it is known by their bytes, so that a second look decodes nothing; what ops wrote
is known by its words. Status, diff, previews and trim count through this, so their figures agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

from ctxkit.core.context import Entry, entry
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Call, Content, Image, Other, Part, Result, Thinking
from ctxkit.logfile.open import OpenLog, words
from ctxkit.measure.row_counts import RowCounts
from ctxkit.tokens.cache import Cache, digest
from ctxkit.tokens.counter import Counter, counter
from ctxkit.tokens.models import bare

PER_MESSAGE = 4
"""Tokens around a message: its role and its ends, as OpenAI counts them; others are near it."""
PER_CALL, PER_RESULT = 7, 5
"""Tokens around a call and around a result, as 636 calls and 622 results of recorded Codex sessions have it."""
PER_IMAGE = 1500
"""Tokens of a picture: about what a megapixel comes to with each provider. Its data is not looked at."""
PER_SIGN = 0.19
"""Tokens of the base to a character of a signature: it holds the thinking that is not shown. Fitted on 629 thoughts of
recorded sessions: replies are told within a tenth by it, without it within a quarter to a half (docs/tokens.md).
"""
PER_DATA = 0.02
"""Tokens to a character of a file's data, as base64: a page of a document has some 100,000, and 2,000 tokens."""
OPAQUE = {"encrypted_content": PER_SIGN, "signature": PER_SIGN, "data": PER_DATA, "file_data": PER_DATA}
"""What no tokenizer sees as it stands in a part that ctxkit only carries: tokens to a character, by its key."""
LETTERS = 4.2
"""Characters to a token of thinking that is shown."""
TOGETHER = 1 << 16
"""Messages that are looked up at a time."""
REMEMBERED = 1 << 16
"""Counts that a run holds; more are looked up again."""
AT_ONCE = 21 << 20
"""Characters that are held for counting at a time."""
WAY = b"4"
"""Of making text of a message: other counts of the same rows are not taken."""


class Counting:
    """The tokens of one log, for one model: `model`, else the config's, else the log's; "" where none is named."""

    def __init__(self, log: OpenLog, model: str | None = None) -> None:
        self.log = log
        self._model = model
        self._known: dict[bytes, int] = {}

    @property
    def model(self) -> str:
        """The model that is counted for."""
        return (self.log.config["model"] or self.log.model) if self._model is None else self._model

    @cached_property
    def counter(self) -> Counter:
        """What counts."""
        return counter(self.log.config["counter"], self.model)

    @property
    def is_own(self) -> bool:
        """Whether that is the model that spoke: what was counted in the log says nothing of another one."""
        return bare(self.model) == bare(self.log.model)

    def of(self, names: Iterable[Name]) -> int:
        """Tokens of these messages together."""
        return sum(self.counted(names))

    def of_texts(self, texts: Iterable[str]) -> int:
        """Tokens of texts that stand around the messages."""
        return sum(self.counter.all(self._texts(list(texts))))

    def of_contents(self, some: Iterable[Content]) -> list[int]:
        """Tokens of each of these messages, which no log need hold."""
        return list(self.counter.all(self.base_of_contents(some)))

    def base_of_contents(self, some: Iterable[Content]) -> list[int]:
        """The same by the counter's base, before any factor."""
        listed = list(some)
        counted = self.counter.counts([_said(content) for content in listed])
        around = (PER_MESSAGE + _beside(content.parts) for content in listed)
        return [n + more for n, more in zip(counted, around, strict=True)]

    def counted(self, names: Iterable[Name]) -> Iterator[int]:
        """Tokens of each of these messages; figures for many are sums of these, so that they add up.

        What is not known yet is read from the log, some megabytes at a time, and kept for the next run.
        """
        return self.counter.all(self.base(names))  # which are counted by now: the factor is known then

    def base(self, names: Iterable[Name]) -> Iterator[int]:
        """The same by the counter's base, before any factor."""
        state = self.log.state()
        listed = names if isinstance(names, range) else list(names)
        stubs = state.board.stubs
        if isinstance(listed, range) and not stubs:
            return self._rows.of(listed)
        made = [name for name in listed if not isinstance(name, int) or name in stubs]
        plain = self._rows.of([n for n in listed if isinstance(n, int) and n not in stubs])
        if not made:
            return plain
        counted = dict(zip(made, self._counted(entry(state, name) for name in made), strict=True))
        return (counted[name] if name in counted else next(plain) for name in listed)

    def base_of(self, entries: Iterable[Entry]) -> Iterator[int]:
        """The same of entries of whatever state of the log."""
        return self._counted(entries)

    def base_as_read(self, numbers: Iterable[int]) -> Iterator[int]:
        """The same of messages of the log as their rows have them, whatever ops made of them."""
        return self._rows.of(numbers)

    def results_in(self, n: int) -> int:
        """The same of the results that a message has in itself."""
        content = self.log.content(n)
        results: list[Part] = [part for part in content.parts if isinstance(part, Result)]
        [tokens] = self.counter.counts([_said(Content(content.role, results))])
        return tokens + _beside(results)

    @cached_property
    def _rows(self) -> RowCounts:
        return RowCounts(self.log, self._way, lambda: self._cache, self._one_by_one)

    def _one_by_one(self, numbers: Iterable[int]) -> Iterator[int]:
        messages = self.log.state().messages
        return self._counted(Entry(n, messages[n - 1].role, messages[n - 1], None, None, False) for n in numbers)

    def _counted(self, entries: Iterable[Entry]) -> Iterator[int]:
        left = iter(entries)
        while some := list(islice(left, TOGETHER)):
            if len(self._known) > REMEMBERED:
                self._known.clear()
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
                text = _said(content)
                waiting[key] = text, PER_MESSAGE + _beside(content.parts)
                size += len(text)
                if size >= AT_ONCE:
                    self._count(waiting)
                    waiting, size = {}, 0
        self._count(waiting)
        return [self._known[key] for key in keys]

    def _texts(self, texts: list[str]) -> list[int]:
        keys = [digest(text.encode("utf-8", "surrogatepass"), WAY) for text in texts]
        unknown = self._unknown(keys)
        self._count({key: (text, PER_MESSAGE) for key, text in zip(keys, texts, strict=True) if key in unknown})
        return [self._known[key] for key in keys]

    def _key(self, one: Entry) -> bytes:
        """What the tokens of a message are known by: the bytes that all of it is made of."""
        if one.message is None or one.stub is not None:
            content = self.log.full(one)
            made = f"{_beside(content.parts)}\n{_said(content)}"
            return digest(made.encode("utf-8", "surrogatepass"), WAY)
        source = self.log.opening.laid_out
        spans = ((one.message.offset, one.message.size), *one.message.more)
        return digest(b"\n".join(source.read(*span) for span in spans), self._way)

    @cached_property
    def _way(self) -> bytes:
        return WAY + self.log.opening.format.name.encode()

    @cached_property
    def _cache(self) -> Cache:
        return Cache(self.log.cache_folder, self.counter.base)

    def _unknown(self, keys: Sequence[bytes]) -> set[bytes]:
        """Those that neither this run nor an earlier one has counted."""
        asked = {key for key in keys if key not in self._known}
        self._known.update(self._cache.get(list(asked)))
        return {key for key in asked if key not in self._known}

    def _count(self, waiting: Mapping[bytes, tuple[str, int]]) -> None:
        if waiting:
            tokens = self.counter.counts([text for text, _ in waiting.values()])
            found = {key: n + around for n, (key, (_, around)) in zip(tokens, waiting.items(), strict=True)}
            self._known.update(found)
            if self._cache.base != self.counter.base:
                del self._cache  # the ranks turned out to be damaged: what is counted is counted by pieces
            self._cache.put(found)


def _said(content: Content) -> str:
    """What is counted as text: all words, and what parts that ctxkit only carries hold."""
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
    """The values of JSON that hold no others, in order, each behind its key; "" in front of those that have none."""
    left = [("", value)]
    while left:
        key, found = left.pop()
        if isinstance(found, dict):
            left.extend(reversed(found.items()))
        elif isinstance(found, list):
            left.extend(("", one) for one in reversed(found))
        else:
            yield key, found


def _beside(parts: Iterable[Part]) -> int:
    """Tokens of what is no text: around calls and results; pictures, those in results among them; thinking that is not
    shown.
    """
    tokens = 0
    for part in parts:
        match part:
            case Image():
                tokens += PER_IMAGE
            case Call():
                tokens += PER_CALL
            case Result(content=inner):
                tokens += PER_RESULT + (_beside(inner) if isinstance(inner, list) else 0)
            case Other(raw=raw):
                tokens += round(sum(OPAQUE[key] * len(str(value)) for key, value in _leaves(raw) if key in OPAQUE))
            case Thinking(text=text, raw={"signature": str(hidden)} | {"encrypted_content": str(hidden)}):
                tokens += max(0, round(PER_SIGN * len(hidden) - len(text) / LETTERS))
    return tokens
