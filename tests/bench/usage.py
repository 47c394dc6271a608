"""`just bench-tokens`: how well sizes are told, against what providers counted, call by call on real sessions.

For each reply whose usage is recorded, the session is read as it stood right before it, and `measure` is asked what the
request came to; then the same for requests 5 and 20 calls later, with what the session had taught until then. The truth
is what the provider counted. Beside it: "no change", and characters / 2.7 on top of the last count.

Then what ops take out: for pairs of replies a < z, what `status` says after `forget a-(z-1)`, against what the provider
counted: the context now, less what the second request had more than the first. And sessions that are exported after a
trim, by what they say themselves.
"""

from __future__ import annotations

import argparse
import io
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from ctxkit.api.log import Log
from ctxkit.core.context import entry
from ctxkit.core.derive.usage import Measured, RequestUsage
from ctxkit.core.messages import Message
from ctxkit.errors import DoesNotFit
from ctxkit.formats.base import SessionFormat
from ctxkit.logfile.open import OpenLog
from ctxkit.measure.count import Counting
from ctxkit.measure.size import measure
from ctxkit.measure.usage import RecordedUsage
from ctxkit.tokens.calibration import Calibration
from tests.shared import HERE, SHARED
from tests.test_figures import after_forgetting, counted, pairs

PAGE = HERE.parent / "docs/tokens.md"
BEGIN, END = "<!-- written by `just bench-tokens --write` -->\n", "<!-- end -->\n"
FOLDERS = ("claude-code", "codex", "pi", "mini-swe-agent")
AHEAD = (1, 5, 20)
BIG = 1000
"""Tokens from which an increment is looked at by itself."""
PAIRS = 20
"""Of replies, a session."""
SHARES = (0.75, 0.5, 0.25)
"""Of the context, that it is trimmed to."""
FORGOTTEN = "<!-- what a forget leaves, written by `just bench-tokens --write` -->\n", "<!-- end of forget -->\n"
GROWN = 10_000
"""Tokens that a session must have grown by, where nothing but the estimate of its messages is compared."""


class Call(NamedTuple):
    """A counted request, and what `told` of it before it was. `first`: after a compaction. What came since the call
    before: tokens of the base of `others` and of `mine`, the model's own, and characters of both.
    """

    session: str
    model: str
    usage: RequestUsage
    told: Measured
    calibration: Calibration
    factor: float
    first: bool
    others: int
    mine: int
    characters: int


class Errors(NamedTuple):
    """Of one kind, in shares of the truth."""

    told: list[float]
    unchanged: list[float]
    by_characters: list[float]


def main() -> int:
    """Measure, print, and with --write put the tables into docs/tokens.md; 2 where the sessions are not at hand."""
    parser = argparse.ArgumentParser(prog="just bench-tokens", description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/tokens.md")
    parser.add_argument("--forget", action="store_true", help="only what `status` says after a forget, and a trim")
    asked = parser.parse_args()
    files = [path for name in FOLDERS for path in sorted((SHARED / "transcripts" / name).glob("*.json*"))]
    if not files:
        print("the shared transcripts are not here")
        return 2
    tables = [(forgotten(files), FORGOTTEN)]
    if not asked.forget:
        found = [list(calls(path)) for path in files]
        tables.append(([*ahead(found), "", *steps(found), "", *compacted(found), "", *alone(found)], (BEGIN, END)))
    for lines, (begin, end) in tables:
        text = "\n".join(lines) + "\n"
        print(text, flush=True)
        if asked.write:
            page = PAGE.read_text(encoding="utf-8")
            page = re.sub(f"{begin}.*?{end}", lambda _: f"{begin}\n{text}\n{end}", page, flags=re.S)  # noqa: B023
            PAGE.write_text(page, encoding="utf-8")
    return 0


def forgotten(files: Sequence[Path]) -> Iterator[str]:
    """One table: how far `status` after a forget is from the provider's difference of two requests; `hidden`: where
    just these two counts are kept from ctxkit.
    """
    yield "| session | compactions | pairs | too low, worst | off, median | hidden, median | trims | over budget |"
    yield "|---|---|---|---|---|---|---|---|"
    every: list[float] = []
    every_hidden: list[float] = []
    trims = over = 0
    for path in files:
        log = _log(path if path.suffix == ".jsonl" else io.BytesIO(path.read_bytes()))
        now = log.status().tokens.used or 0
        found, hidden = [], []
        replies = counted(log)
        for a, z in pairs(log, replies, PAIRS):
            truth = now - (z[1].request - a[1].request)
            said = after_forgetting(log, a[0], z[0])
            with _hidden({a[0], z[0]}):
                guessed = after_forgetting(log, a[0], z[0])
            if said is not None and guessed is not None:
                found.append((said - truth) / truth)
                hidden.append(abs(guessed - truth) / truth)
        if not replies:
            continue
        cuts = len(log.transcript.view.cuts) if log.transcript.view is not None else 0
        tried, large = _trims(path, log, now)
        every, every_hidden, trims, over = every + found, every_hidden + hidden, trims + tried, over + large
        yield _row(path.name.partition(".")[0], str(cuts), found, hidden, tried, large)
    yield _row("all", "", every, every_hidden, trims, over)


def _row(name: str, cuts: str, found: Sequence[float], hidden: Sequence[float], tried: int, large: int) -> str:
    if not found:
        return f"| {name} | {cuts} | 0 | | | | {tried} | {large} |"
    low, off = 100 * max(0.0, *(-one for one in found)), _percent([abs(one) for one in found], 0.5)
    return f"| {name} | {cuts} | {len(found)} | {low:.1f} % | {off} | {_percent(hidden, 0.5)} | {tried} | {large} |"


@contextmanager
def _hidden(some: set[int]) -> Iterator[None]:
    """Nothing is said of what was counted of these replies, as long as it lasts."""
    real = OpenLog.usage
    OpenLog.usage = lambda log, n: None if n in some else real(log, n)  # type: ignore[method-assign]  # put back below
    try:
        yield
    finally:
        OpenLog.usage = real  # type: ignore[method-assign]  # as it was


def _trims(path: Path, log: Log, now: int) -> tuple[int, int]:
    """Sessions that were exported after a trim, and how many of them say that they are over its budget."""
    tried = over = 0
    if not isinstance(log.opening.format, SessionFormat):
        return 0, 0
    for share in SHARES:
        trimmed = Log.open(io.BytesIO(path.read_bytes()), env={})
        budget = int(now * share)
        try:
            trimmed.trim(budget)
        except DoesNotFit:
            continue
        made = b"".join(trimmed.session(log.opening.format.name).pieces)
        tried += 1
        over += (Log.open(io.BytesIO(made), env={}).status().tokens.used or 0) > budget
    return tried, over


def calls(path: Path) -> Iterator[Call]:
    """The counted requests of a session, in the order of its rows."""
    raw = path.read_bytes()
    log = _log(path if path.suffix == ".jsonl" else io.BytesIO(raw))
    messages = log.messages
    base = list(Counting(log).base_as_read(range(1, len(messages) + 1)))
    before: set[int] = set()
    for message in messages:
        usage = log.usage(message.n) if message.role == "assistant" else None
        if usage is None:
            continue
        then = _log(io.BytesIO(_until(raw, message)))
        view = then.transcript.view
        if view is not None and message.thread in view.threads:
            then.lens_thread = message.thread
        names = [name for name in then.names() if isinstance(name, int)]
        session = RecordedUsage(Counting(then))
        new = [n for n in names if n not in before]
        mine = sum(base[n - 1] for n in new if messages[n - 1].role == "assistant")
        yield Call(
            path.stem, _model(log, message.n) or "not named", usage, measure(session.counting, names),
            session.calibration, session.counting.counter.factor, bool(session.earlier) and not session.steps,
            sum(base[n - 1] for n in new) - mine, mine, sum(len(log.text(n)) for n in new),
        )  # fmt: skip
        before = set(names)


def _log(source: Path | io.BytesIO) -> Log:
    """A session; of a file with many, the first."""
    whole = isinstance(source, Path) or not source.getvalue().startswith(b"{\n")
    return Log.open(source, env={}) if whole else Log.open(source, env={}, conversation=1)


def _until(raw: bytes, message: Message) -> bytes:
    """The session as it stood before a message."""
    if not raw.startswith(b"{\n"):
        return raw[: message.offset]
    run = json.loads(raw)
    return json.dumps({**run, "messages": run["messages"][: message.n - 1]}, indent=1).encode()


def _model(log: Log, n: int) -> str:
    """The model that a reply names."""
    for row in log.full(entry(log.state(), n)).rows:
        for held in (row, row.get("message")):
            if isinstance(held, dict) and isinstance(held.get("model"), str):
                return str(held["model"])
    return log.model


def ahead(found: Sequence[Sequence[Call]]) -> Iterator[str]:
    """One table: how far off requests ahead are told."""
    yield "| model | calls | 1 ahead: told, no change, characters | 5 ahead | 20 ahead |"
    yield "|---|---|---|---|---|"
    models: dict[str, dict[int, Errors]] = defaultdict(lambda: {k: Errors([], [], []) for k in AHEAD})
    for session in found:
        for model, k, errors in _ahead(session):
            for name in (model, "all"):
                for kept, error in zip(models[name][k], errors, strict=True):
                    kept.append(error)
    for name, kinds in sorted(models.items(), key=lambda one: (one[0] == "all", -len(one[1][1].told))):
        cells = [", ".join(_percent(errors) for errors in kinds[k]) if kinds[k].told else "" for k in AHEAD]
        yield f"| {name} | {len(kinds[1].told)} | {' | '.join(cells)} |"


def _ahead(session: Sequence[Call]) -> Iterator[tuple[str, int, tuple[float, float, float]]]:
    for i, call in enumerate(session):
        if call.told.known is None:
            continue  # the first of its session, or after a compaction: looked at by itself
        last = session[i - 1].usage
        told, unchanged = float(call.told.tokens), last.request + last.reply
        characters = last.request + call.characters / 2.7
        for k, later in enumerate(session[i : i + max(AHEAD)], 1):
            if k > 1:
                if later.first or later.usage.request < session[i + k - 2].usage.request:
                    break  # something left the context, of which nobody can know ahead
                told += later.mine * call.calibration.outwards + later.others * call.calibration.inwards
                characters += later.characters / 2.7
            if k in AHEAD:
                truth = later.usage.request
                a, b, c = (abs(size - truth) / truth for size in (told, unchanged, characters))
                yield later.model, k, (a, b, c)


def steps(found: Sequence[Sequence[Call]]) -> Iterator[str]:
    """One table: increments of BIG tokens and more."""
    yield f"| model | increments of {BIG:,} tokens and more | median error |"
    yield "|---|---|---|"
    models: dict[str, list[float]] = defaultdict(list)
    for session in found:
        for call in session:
            came = call.usage.request - (call.told.known or 0)
            if call.told.known is not None and came >= BIG:
                for name in (call.model, "all"):
                    models[name].append(abs(call.told.estimated - came) / came)
    for name, errors in sorted(models.items(), key=lambda one: (one[0] == "all", -len(one[1]))):
        yield f"| {name} | {len(errors)} | {_percent(errors, 0.5)} |"


def compacted(found: Sequence[Sequence[Call]]) -> Iterator[str]:
    """One table: the first request after each compaction."""
    yield "| session | first call after a compaction | told | off by |"
    yield "|---|---|---|---|"
    for session in found:
        for call in session:
            if call.first:
                truth, told = call.usage.request, call.told.tokens
                yield f"| {call.session} | {truth:,} | {told:,} | {abs(told - truth) / truth:.1%} |".replace("%", " %")


def alone(found: Sequence[Sequence[Call]]) -> Iterator[str]:
    """One table: the estimate of messages where no usage is looked at; hidden reasoning, which is in no row, apart."""
    yield f"| model | stretches of {GROWN:,} tokens and more | below the truth by, 95 % of them | above, median |"
    yield "|---|---|---|---|"
    models: dict[str, list[float]] = defaultdict(list)
    for session in found:
        start = base = hidden = 0
        for before, call in pairwise(session):
            start = start or before.usage.request
            base += call.others + call.mine
            hidden += before.usage.passing
            grown = call.usage.request - start - hidden
            if call.usage.request < before.usage.request or call.model != before.model:
                start = base = hidden = 0
            elif grown >= GROWN:
                for name in (call.model, "all"):
                    models[name].append(base * call.factor / grown - 1)
                start = base = hidden = 0
    for name, off in sorted(models.items(), key=lambda one: (one[0] == "all", -len(one[1]))):
        below = [max(0.0, -one) for one in off]
        yield f"| {name} | {len(off)} | {_percent(below)} | {100 * sorted(off)[len(off) // 2]:+.1f} % |"


def _percent(errors: Sequence[float], share: float = 0.95) -> str:
    return f"{100 * sorted(errors)[min(len(errors) - 1, int(share * len(errors)))]:.1f} %"


if __name__ == "__main__":
    sys.exit(main())
