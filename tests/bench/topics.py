"""`just bench-about`: how many of the first ten messages that `--about` takes are about the topic, over real sessions.

`topics.toml` names sessions, topics, and the messages that were found and judged: about it, or not. A message that
nobody judged counts as not about it, and is listed. `--write` puts the figures into docs/selecting.md.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from ctxkit.api.log import Log
from ctxkit.core.select import Selection
from ctxkit.errors import NothingMatched
from tests.bench.__main__ import ROOT
from tests.shared import SHARED

FIRST = 10
PAGE = ROOT / "docs/selecting.md"
BEGIN, END = "<!-- written by `just bench-about --write` -->\n", "<!-- end of topics -->\n"


class Judged(NamedTuple):
    """One topic. `found`: the first messages; `right` of them are about it, `unread` were never judged."""

    session: str
    text: str
    found: list[int]
    right: int
    unread: list[int]

    @property
    def precision(self) -> float:
        """Of what was found."""
        return self.right / len(self.found) if self.found else 0.0


def topics(under: int = 1 << 40) -> list[dict[str, Any]]:
    """Those whose session is there, and smaller than so many bytes."""
    told: list[dict[str, Any]] = tomllib.loads((Path(__file__).parent / "topics.toml").read_text())["topic"]
    paths = ((one, SHARED / "transcripts" / one["session"]) for one in told)
    return [one for one, path in paths if path.exists() and path.stat().st_size < under]


def judged(some: Iterable[dict[str, Any]]) -> list[Judged]:
    """Each topic asked for in its session."""
    logs: dict[str, Log] = {}
    found = []
    for one in some:
        log = logs.setdefault(one["session"], Log.open(SHARED / "transcripts" / one["session"]))
        try:
            log.select(Selection(about=one["text"], top=FIRST))
        except NothingMatched:
            log.ranked.reset()
        names = [name for name in log.ranked.scores if isinstance(name, int)]
        known = {*one["about"], *one["not_about"]}
        unread = [n for n in names if n not in known]
        found.append(Judged(one["session"], one["text"], names, len({*names} & {*one["about"]}), unread))
    return found


def mean(some: Iterable[Judged]) -> float:
    """Precision of the topics."""
    values = [one.precision for one in some]
    return sum(values) / len(values) if values else 0.0


def main() -> int:
    """Print a line for each topic, and the mean."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    found = judged(topics())
    if not found:
        print("no session is there: CTXKIT_SHARED names their folder", file=sys.stderr)
        return 1
    for one in found:
        unread = f"  not read: {one.unread}" if one.unread else ""
        print(f"{one.right:>3} of {len(one.found):>2}  {one.session.split('/')[1][:28]:<28}  {one.text}{unread}")
    right, count = sum(one.right for one in found), sum(len(one.found) for one in found)
    full = sum(one.precision == 1 for one in found)
    said = (
        f"{len(found)} topics in {len({one.session for one in found})} sessions: of the first {FIRST} messages that it "
        f"takes (fewer, where fewer are above half of the best score: {count} in all) {right} are about the topic; the "
        f"mean precision is {100 * mean(found):.0f} %, and {full} topics have nothing beside it.\n"
    )
    print(said)
    if asked.write:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(re.sub(f"(?s)({re.escape(BEGIN)}).*?({re.escape(END)})", lambda m: m[1] + said + m[2], text))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
