"""Lines of the state at the head of a summary, with the right answer: what each should say at a place of a session.

`header_lines.toml` was written from the sessions by hand, before the code was run on them. A case has these keys:

- `session`: the file, below the shared transcripts; `cut`: how many of its messages there are.
- `line`: which line is asked for, a key of `LINES`; `trap`: what makes it hard, or `ordinary`.
- `says`: words that the line must have; none: there is nothing right to say. `never`: words that it must not have.
- `room`: tokens of the state, `ROOM` unless given.

The digest of the file is below: who changes a case, changes it too.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from ctxkit.core.boundaries import as_told, told_before
from ctxkit.core.item_names import Names
from ctxkit.cut.summarize.state_header import SessionState, header
from ctxkit.cut.units.text_segments import all_pieces
from ctxkit.logfile.open import OpenLog
from ctxkit.tokens.encodings import encoding
from tests.bench.compaction.sessions import opened, until
from tests.shared import SHARED

PATH = Path(__file__).with_name("header_lines.toml")
DIGEST = "5ec4684edb3ed2c224ad8356b53e910c6ffec22688c6a5f39aae2160acd87d1a"
ROOM = 800
"""Tokens: the state's share of a summary of 5,000."""
LINES = {
    "request": "Last request: ",
    "tasks": "Open tasks: ",
    "failing": "Failing: ",
    "edited": "Edited",
}
"""How the lines begin that are asked for."""
RIGHT, WRONG, SILENT = "right", "wrong", "silent"
SHOWN = 90
"""The most characters of what the code says, in the table."""


class HeaderLine(NamedTuple):
    """A case. An empty `says` without `never` asks for silence."""

    id: str
    session: str
    cut: int
    line: str
    trap: str
    says: list[str]
    never: list[str]
    room: int


def cases() -> list[HeaderLine]:
    """All cases. Raises ValueError if the file is not what was committed."""
    raw = PATH.read_bytes()
    if hashlib.sha256(raw).hexdigest() != DIGEST:
        raise ValueError(f"{PATH.name} is not the file of its digest: answers are written before they are compared")
    return [HeaderLine(**{"never": [], "room": ROOM, **one}) for one in tomllib.loads(raw.decode())["case"]]


class Answer(NamedTuple):
    """What the code says for a case, and whether that is `right`, `wrong` or `silent`."""

    case: HeaderLine
    said: str
    verdict: str


def answers(path: Path, some: Sequence[HeaderLine]) -> Iterator[Answer]:
    """Yields what the code says for cases of one session file."""
    log = opened(path.read_bytes())
    for case in some:
        said = " ".join(lines(state_lines(cut(log, case.cut), case.room), LINES[case.line]))
        yield Answer(case, said, judged(case, said))


def cut(log: OpenLog, many: int) -> OpenLog:
    """The log as it was when it had so many messages."""
    rows = log.transcript.row_of
    then = until(log, rows[many]) if many < len(rows) else log
    if len(then.messages) != many:
        raise ValueError(f"{len(then.messages)} messages instead of {many}")
    return then


def state_lines(log: OpenLog, room: int) -> list[str]:
    """The state of a summary of all that a log has, with what its program's own compactions took out."""
    state, ids = log.state(), Names.of(log.own())
    before = told_before(state, ids, log.is_summary)
    covered = ids | before.names
    names = sorted(covered - before.stale, key=as_told(state, covered))
    pieces = all_pieces((name, log.original(name)) for name in names)
    return header(SessionState(pieces), covered, lambda name: f"#{name}", room, encoding("o200k_base").counts)[0]


def lines(state: Sequence[str], begins: str) -> Iterator[str]:
    """Yields the lines of a state that begin so, without these words, each with those that continue it."""
    is_asked = False
    for line in state:
        if not line.startswith("  "):
            is_asked = line.startswith(begins)
        if is_asked:
            yield " ".join(line.removeprefix(begins).split())


def judged(case: HeaderLine, said: str) -> str:
    """Whether what is said is right."""
    if any(word in said for word in case.never):
        return WRONG
    if not case.says:
        return RIGHT if case.never or not said else WRONG
    if not said:
        return SILENT
    return RIGHT if all(word in said for word in case.says) else WRONG


def by_session(some: Sequence[HeaderLine]) -> list[tuple[str, list[HeaderLine]]]:
    """The cases of each session."""
    return [(name, list(held)) for name, held in groupby(sorted(some, key=_session), key=_session)]


def _session(case: HeaderLine) -> str:
    return case.session


def main() -> int:
    """Print a row for each case: the right answer, what the code says, whether it is right."""
    words = argparse.ArgumentParser(prog="just bench-header", description=__doc__)
    words.add_argument("--only", metavar="TEXT", help="cases with this in their id, session, line or trap")
    given = words.parse_args()
    asked = [one for one in cases() if (given.only or "") in " ".join((one.id, one.session, one.line, one.trap))]
    counts: Counter[tuple[str, str]] = Counter()
    for name, some in by_session(asked):
        path = SHARED / "transcripts" / name
        if not path.exists():
            print(f"{name} is not here", file=sys.stderr)
            return 2
        for case, said, verdict in answers(path, some):
            right = " + ".join(case.says) or ("silence" if not case.never else "")
            right += f" (never: {', '.join(case.never)})" if case.never else ""
            shown = said if len(said) <= SHOWN else f"{said[:SHOWN]}…"
            print(f"{verdict:6} | {case.id} | {name}:{case.cut} | {case.line} | {case.trap} | {right} | {shown or '-'}")
            counts[case.line, verdict] += 1
    for line in LINES:
        print(f"{line}: " + ", ".join(f"{counts[line, verdict]} {verdict}" for verdict in (RIGHT, WRONG, SILENT)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
