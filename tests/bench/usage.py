"""`just bench-tokens`: how well sizes are told, against what providers counted, call by call on real sessions.

For each reply whose usage is recorded, the session up to it tells the requests 1, 5 and 20 calls ahead; the truth is
what the provider counted there. Beside it: "no change", and characters / 2.7 on top of the last count.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ctxkit.counting import Counting
from ctxkit.log import Log
from ctxkit.measuring import Session
from ctxkit.tokens.calibration import Calibration, Step, calibrate
from tests.shared import HERE, SHARED

PAGE = HERE.parent / "docs/tokens.md"
BEGIN, END = "<!-- written by `just bench-tokens --write` -->\n", "<!-- end -->\n"
FOLDERS = ("claude-code", "codex", "pi", "mini-swe-agent")
AHEAD = (1, 5, 20)
BIG = 1000
"""Tokens from which an increment is looked at by itself."""
GROWN = 10_000
"""Tokens that a session must have grown by, where nothing but the estimate of its messages is compared."""


class Epoch(NamedTuple):
    """Requests of one session without a compaction between them; `characters` of what came with and after each."""

    session: str
    model: str
    factor: float
    steps: list[Step]
    characters: list[int]


class Errors(NamedTuple):
    """Of one kind, in shares of the truth."""

    told: list[float]
    unchanged: list[float]
    by_characters: list[float]


def main() -> int:
    """Measure, print, and with --write put the tables into docs/tokens.md; 2 where the sessions are not at hand."""
    parser = argparse.ArgumentParser(prog="just bench-tokens", description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/tokens.md")
    asked = parser.parse_args()
    files = [path for name in FOLDERS for path in sorted((SHARED / "transcripts" / name).glob("*.json*"))]
    if not files:
        print("the shared transcripts are not here")
        return 2
    found = [epoch for path in files for epoch in epochs(path)]
    text = "\n".join([*ahead(found), "", *steps(found), "", *compacted(files), "", *alone(found)]) + "\n"
    print(text)
    if asked.write:
        page = PAGE.read_text(encoding="utf-8")
        page = re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n{text}\n{END}", page, flags=re.S)
        PAGE.write_text(page, encoding="utf-8")
    return 0


def epochs(path: Path) -> Iterator[Epoch]:
    """The runs of requests of a session, in the order of its active path."""
    log = Log.open(path, conversation=1 if path.suffix == ".json" else None)
    counting, transcript = Counting(log), log.transcript
    view = transcript.view
    cuts = [cut.row for cut in view.cuts] if view is not None else []
    order = sorted(set(view.order)) if view is not None else list(range(1, len(log.messages) + 1))
    base = dict(zip(order, counting.base_as_read(order), strict=True))
    held: dict[int, list[tuple[Step, int]]] = defaultdict(list)
    last = None
    for n in order:
        usage = log.usage(n) if log.messages[n - 1].role == "assistant" else None
        size = len(log.text(n))
        if usage is not None:
            last = held[bisect_right(cuts, transcript.row_of[n - 1])]
            last.append((Step(usage.request, usage.reply, base[n], 0), size))
        elif last:
            step, before = last[-1]
            last[-1] = step._replace(since=step.since + base[n]), before + size
    for found in held.values():
        yield Epoch(
            path.stem, counting.model or "not named", counting.counter.factor,
            [step for step, _ in found], [characters for _, characters in found],
        )  # fmt: skip


def ahead(found: Sequence[Epoch]) -> Iterator[str]:
    """One table: how far off requests ahead are told."""
    yield "| model | calls | 1 ahead: told, no change, characters | 5 ahead | 20 ahead |"
    yield "|---|---|---|---|---|"
    models: dict[str, dict[int, Errors]] = defaultdict(lambda: {k: Errors([], [], []) for k in AHEAD})
    for epoch in found:
        for k, errors in _ahead(epoch):
            for name in (epoch.model, "all"):
                for kept, error in zip(models[name][k], errors, strict=True):
                    kept.append(error)
    for name, kinds in sorted(models.items(), key=lambda one: (one[0] == "all", -len(one[1][1].told))):
        cells = [", ".join(_percent(errors) for errors in kinds[k]) if kinds[k].told else "" for k in AHEAD]
        yield f"| {name} | {len(kinds[1].told)} | {' | '.join(cells)} |"


def _ahead(epoch: Epoch) -> Iterator[tuple[int, tuple[float, float, float]]]:
    steps = epoch.steps
    for i, step in enumerate(steps[:-1]):
        calibration = calibrate(steps[: i + 1], epoch.factor)
        told, characters = calibration.next(step), step.request + epoch.characters[i] / 2.7
        for k, later in enumerate(steps[i + 1 : i + 1 + max(AHEAD)], 1):
            if later.request < steps[i + k - 1].request:
                break  # something left the context, of which nobody can know ahead
            if k in AHEAD:
                unchanged = step.request + step.reply
                yield k, tuple(abs(size - later.request) / later.request for size in (told, unchanged, characters))
            told += _worth(later, calibration)
            characters += epoch.characters[i + k] / 2.7


def _worth(step: Step, calibration: Calibration) -> float:
    return step.own * calibration.outwards + step.since * calibration.inwards


def steps(found: Sequence[Epoch]) -> Iterator[str]:
    """One table: increments of BIG tokens and more."""
    yield f"| model | increments of {BIG:,} tokens and more | median error |"
    yield "|---|---|---|"
    models: dict[str, list[float]] = defaultdict(list)
    for epoch in found:
        for i, (step, following) in enumerate(zip(epoch.steps, epoch.steps[1:], strict=False)):
            calibration = calibrate(epoch.steps[: i + 1], epoch.factor)
            came = following.request - calibration.after(step)
            if came >= BIG:
                for name in (epoch.model, "all"):
                    models[name].append(abs(step.since * calibration.inwards - came) / came)
    for name, errors in sorted(models.items(), key=lambda one: (one[0] == "all", -len(one[1]))):
        yield f"| {name} | {len(errors)} | {_percent(errors, 0.5)} |"


def compacted(files: Sequence[Path]) -> Iterator[str]:
    """One table: the first request after each compaction, by the overhead and the factor of what was before it."""
    yield "| session | first call after a compaction | told | off by |"
    yield "|---|---|---|---|"
    for path in files:
        log = Log.open(path, conversation=1 if path.suffix == ".json" else None)
        view, rows, raw = log.transcript.view, log.transcript.row_of, path.read_bytes()
        replies = [message for message in log.messages if message.role == "assistant"] if view is not None else []
        for cut in view.cuts if view is not None else []:
            before = [one for one in replies if rows[one.n - 1] < cut.row and one.n in cut.out and log.usage(one.n)]
            after = [one for one in replies if rows[one.n - 1] > cut.row and log.usage(one.n)]
            truth = log.usage(after[0].n) if before and after else None
            if truth is None:
                continue
            session, new = Session(Counting(_until(raw, before[-1].offset))), _until(raw, after[0].offset)
            told = (session.overhead or 0) + session.calibration.inwards * sum(Counting(new).base(new.names()))
            yield f"| {path.stem} | {truth.request:,} | {told:,.0f} | {abs(told - truth.request) / truth.request:.1%} |"


def _until(raw: bytes, offset: int) -> Log:
    return Log.open(io.BytesIO(raw[:offset]))


def alone(found: Sequence[Epoch]) -> Iterator[str]:
    """One table: the estimate of messages where no usage is looked at."""
    yield f"| model | stretches of {GROWN:,} tokens and more | below the truth by, 95 % of them | above, median |"
    yield "|---|---|---|---|"
    models: dict[str, list[float]] = defaultdict(list)
    for epoch in found:
        start = base = 0
        for i, (step, following) in enumerate(zip(epoch.steps, epoch.steps[1:], strict=False)):
            start = start or step.request
            base += step.own + step.since
            if following.request < step.request:
                start = base = 0
            elif following.request - start >= GROWN and i:
                models[epoch.model].append(base * epoch.factor / (following.request - start) - 1)
                models["all"].append(models[epoch.model][-1])
                start = base = 0
    for name, off in sorted(models.items(), key=lambda one: (one[0] == "all", -len(one[1]))):
        below = [max(0.0, -one) for one in off]
        yield f"| {name} | {len(off)} | {_percent(below)} | {sorted(off)[len(off) // 2]:+.1%} |".replace("%", " %")


def _percent(errors: Sequence[float], share: float = 0.95) -> str:
    return f"{100 * sorted(errors)[min(len(errors) - 1, int(share * len(errors)))]:.1f} %"


if __name__ == "__main__":
    sys.exit(main())
