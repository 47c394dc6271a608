"""What the agents' own models wrote: each compaction of a session whose summary can be read, as a case of its own.

The prefix is the context right before it, the suffix what came after; the summary is scored as it stands, and ctxkit
at its size. Summaries that are encrypted, and contexts that are smaller than a case, are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ctxkit.core.derive.synthetic_messages import SyntheticKind, kind
from ctxkit.core.messages import Content
from tests.bench.compaction.cases import LEAST, Case, contents, read, tokens
from tests.bench.compaction.sessions import MAIN, Reading, Record, readings, records, repository


class Written(NamedTuple):
    """A compaction: the case, and the summary that took the prefix's place."""

    case: Case
    summary: Content


def written(paths: list[Path]) -> Iterator[Written]:
    """All of them that can be read, in order."""
    for session, path in enumerate(paths, 1):
        if path.parent.name not in MAIN:
            continue
        raw = path.read_bytes()
        found = {one.rows: one for one in readings(raw)}
        for number, (prefix, after) in enumerate(_around(found), 1):
            some = contents(read(after))
            place = next((n for n, one in enumerate(some) if kind(one) == SyntheticKind.SUMMARY), None)
            if place is None or sum(tokens(contents(read(prefix)))) < LEAST:
                continue
            name = f"{path.parent.name}/{path.stem}, compaction {number}"
            case = Case(name, session, repository(path, raw), True, False, prefix, after[place + 1 :])
            yield Written(case, some[place])


def _around(found: dict[int, Reading]) -> Iterator[tuple[list[Record], list[Record]]]:
    """The context before each compaction, and the one that it had come to at the next."""
    for row, before in sorted(found.items()):
        later = (one for rows, one in sorted(found.items()) if rows > row and any(cut.row == row for cut in one.cuts))
        after = next(later, None)
        if after is not None:
            yield records(before.log, before.numbers), records(after.log, after.numbers)
