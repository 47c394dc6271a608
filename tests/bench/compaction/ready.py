"""Cases made ready to be scored, and kept between runs: a tuning run must not work out again what does not change.

The cache is `bench-compact/` in ctxkit's folder of what can be made anew; what is there is known by the content that it
was made of and by the source of what made it.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import NamedTuple, TypeVar

from ctxkit.core.messages import Content
from ctxkit.cut.rank import facts as facts_
from ctxkit.cut.rank.facts import facts
from ctxkit.cut.units import identifiers as items_
from ctxkit.cut.units import text_segments as source_
from ctxkit.cut.units.identifiers import Identifier
from ctxkit.cut.units.text_segments import TextSegment, all_pieces
from ctxkit.store.private import user_cache
from tests.bench.compaction import cases as cases_
from tests.bench.compaction import needed as needed_
from tests.bench.compaction import sessions as sessions_
from tests.bench.compaction.cases import Case, borders, contents, numbered, of_session, read, tokens
from tests.bench.compaction.needed import Needed, needed, prefix_items

GENERIC = 3
"""Repositories from which on an item that they have in common says nothing of any."""
T = TypeVar("T")


class Ready(NamedTuple):
    """A case with all that does not depend on a strategy. `contents`, `tokens`, `steps`: of the prefix, `steps` as runs
    of messages that are not split; `facts` and `items`: of the prefix.
    """

    case: Case
    contents: list[Content]
    tokens: list[int]
    steps: list[range]
    pieces: list[TextSegment]
    items: frozenset[Identifier]
    needed: Needed
    facts: dict[str, list[str]]

    @property
    def total(self) -> int:
        """Tokens of the prefix."""
        return sum(self.tokens)


def all_cases(paths: Sequence[Path]) -> list[Case]:
    """The cases of these session files."""
    return numbered(
        [(path, _kept((path.read_bytes(), sessions_, cases_), partial(of_session, path))) for path in paths]
    )


def ready(case: Case) -> Ready:
    """A case made ready; from the cache, where it was before."""
    return _kept((case, sessions_, cases_, source_, items_, facts_, needed_), partial(make_ready, case))


def make_ready(case: Case) -> Ready:
    """A case made ready."""
    log = read(case.prefix)
    some = contents(log)
    later = contents(read(case.suffix))
    everything = all_pieces(list(enumerate([*some, *later], 1)))
    pieces = [piece for piece in everything if piece.name <= len(some)]  # type: ignore[operator]
    suffix = everything[len(pieces) :]
    ends = borders(log)
    steps = [range(start, end) for start, end in zip([0, *ends], ends, strict=False)]
    return Ready(case, some, tokens(some), steps, pieces, prefix_items(pieces), needed(pieces, suffix), facts(pieces))


def generic(found: Iterable[Ready]) -> frozenset[Identifier]:
    """The items that stand in prefixes of so many repositories that they say nothing of any."""
    whose: dict[Identifier, set[str]] = defaultdict(set)
    for one in found:
        for item in one.items:
            whose[item].add(one.case.repository)
    return frozenset(item for item, repositories in whose.items() if len(repositories) >= GENERIC)


def _kept(known_by: Sequence[object], make: Callable[[], T]) -> T:
    """What `make` makes, from the cache where it was made of the same before."""
    name = hashlib.sha256()
    for one in known_by:
        if isinstance(one, ModuleType):
            name.update(inspect.getsource(one).encode())
        else:
            name.update(one if isinstance(one, bytes) else pickle.dumps(one))
    folder = user_cache(os.environ) / "bench-compact"
    path = folder / name.hexdigest()[:32]
    if path.exists():
        found: T = pickle.loads(path.read_bytes())
        return found
    made = make()
    folder.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(f".{os.getpid()}")
    beside.write_bytes(pickle.dumps(made, protocol=pickle.HIGHEST_PROTOCOL))
    beside.replace(path)
    return made
