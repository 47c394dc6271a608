"""Compaction of real files: every strategy at several targets, through the API that the command uses.

`python -m tests.compacts` takes every file of every format and prints what was seen (just compacts); the suite takes a
few. What must hold: the target is met, or its floor said; every provider's format and the log's own session format hold
the context, valid by rules that share no code with ctxkit; a second run gives the same; undo gives back what was there.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ctxkit import Log
from ctxkit.core.item_names import Names
from ctxkit.core.messages import Content
from ctxkit.core.ops import Compact, Op
from ctxkit.core.state import PREAMBLE_ROLES
from ctxkit.core.strategies import OFFLINE
from ctxkit.errors import CtxkitError, ManyConversations, NothingChanges, NothingToSend
from ctxkit.formats.base import SessionFormat
from tests.shared import SHARED
from tests.trims import OWN, RULES
from tests.whole import context, pairs, same

TARGETS = (10, 25, 40, 60)
PAUSE = 3600.0
"""Seconds between two compacts, by the log's clock."""
CONVERSATIONS = 25
"""Of a file that holds many: the first ones."""
seen: Counter[str] = Counter()


class Wrong(Exception):
    """A compact is not what it should be."""


class Case(NamedTuple):
    """A log that is compacted."""

    path: Path
    conversation: int | None = None

    @property
    def name(self) -> str:
        """What it is called."""
        return f"{self.path.parent.name}/{self.path.name}" + (f":{self.conversation}" if self.conversation else "")

    def open(self) -> Log:
        """The log in memory, its config that of nobody; no compact comes within the cooldown of another."""
        ticks = iter(range(10**9))
        return Log.open(
            io.BytesIO(self.path.read_bytes()), conversation=self.conversation, env={},
            clock=lambda: 1_780_000_000.0 + PAUSE * next(ticks),
        )  # fmt: skip


def cases(folders: Sequence[str] = (), largest: int = 1 << 30, most: int = CONVERSATIONS) -> Iterator[Case]:
    """The conversations of the files in these folders, or in all, and of our own."""
    chosen = folders or [path.name for path in sorted((SHARED / "transcripts").iterdir()) if path.is_dir()]
    files = [path for name in chosen for path in sorted((SHARED / "transcripts" / name).glob("*.*"))]
    for path in [*files, *([] if folders else OWN)]:
        if path.is_file() and path.stat().st_size <= largest:
            yield from _of_file(path, most)


def _of_file(path: Path, most: int) -> Iterator[Case]:
    try:
        if len(Case(path).open().names()) > 1:
            yield Case(path)
    except ManyConversations:
        for number in range(1, most + 1):
            try:
                if len(Case(path, number).open().names()) > 1:
                    yield Case(path, number)
            except CtxkitError:
                return
    except CtxkitError:
        return


def shape(log: Log) -> str:
    """All that the context is made of."""
    return json.dumps(log.shape(), default=str)


def body(op: Op) -> dict[str, Any]:
    """What two runs must have in common."""
    assert isinstance(op, Compact)
    return {"ids": op.ids, "text": op.text, "stubs": op.stubs, "before": op.before, "after": op.after}


def fits(log: Log, op: Compact) -> None:
    """The sizes are those that `status` has, and the target is met or its floor said; what must stay does."""
    assert log.compacted is not None
    found, state = log.compacted.found, log.state()
    used, besides = log.status(assembly=False).tokens.used, found.made_by.base.fixed
    if used != found.after + besides:
        raise Wrong(f"status says {used} tokens, the compact {found.after} and {besides} besides")
    if found.after >= found.before:
        raise Wrong(f"{found.after} tokens after {found.before}")
    said = any("cannot be reached" in note for note in log.notes)
    if (found.after > found.goal) != said:
        raise Wrong(f"{found.after} tokens, {found.goal} were asked for, and the floor is {'' if said else 'not '}said")
    seen["floor said" if said else "target met"] += 1
    ids = Names.parse(op.ids)
    if state.steps.whole(ids) != ids:
        raise Wrong(f"a step is split: {ids - state.steps.whole(ids)}")
    if kept := [n for n in ids.numbers if log.messages[n - 1].role in PREAMBLE_ROLES]:
        raise Wrong(f"message {kept[0]}, of a {log.messages[kept[0] - 1].role}, is replaced")
    if op.strategy == "extract" and op.text is not None and op.budget is not None:
        item = next(item for item in state.board.telling.values() if item.summary)
        if item.tells != ids | Names.parse(op.tells):  # also what the program's own compaction took out (67)
            raise Wrong(f"the summary tells {item.tells}, the op replaces {ids} and tells {op.tells or 'no more'}")


def valid(whole: Log, log: Log) -> None:
    """What each provider is sent is valid, and no pair is broken that was none before; so in chat."""
    for to, rules in RULES.items():
        before = _sent(whole, to)
        after = _sent(log, to)
        if after is None:
            continue
        if problems := rules(after[0]):
            raise Wrong(f"{to}: {problems[0]}")
        if before is not None and (after[1] > before[1] or after[2] > before[2]):
            raise Wrong(f"{to}: pairs were broken: {after[1:]} after {before[1:]}")
        seen["requests"] += 1
    lines = log.export("chat").values
    again = Log.open(io.BytesIO(b"".join(json.dumps(line).encode() + b"\n" for line in lines)), env={})
    sound("chat", whole, context(again))


def _sent(log: Log, to: str) -> tuple[dict[str, Any], int, int] | None:
    """The request, results that were made, and those that were dropped; None where it cannot be."""
    try:
        exported = log.export(to, model="gpt-4o")
        [request] = exported.values
    except CtxkitError as error:
        seen[type(error).__name__] += 1
        return None
    return request, exported.repairs.made, exported.repairs.dropped


def resumable(whole: Log, log: Log) -> None:
    """The session in the log's own format is read as this context."""
    name = log.opening.format.name
    if not isinstance(log.opening.format, SessionFormat) or log.opening.conversation is not None:
        return
    try:
        written = log.session(name)
    except NothingToSend:
        return
    again = context(Log.open(io.BytesIO(b"".join(written.pieces)), env={}))
    same(context(log), again, written.repairs, sound(name, whole, again))
    seen["sessions"] += 1


def sound(to: str, whole: Log, contents: Sequence[Content]) -> set[str]:
    """No pair is broken that was whole before; results that had no call then. Raises Wrong."""
    waiting, lost = pairs(contents)
    waiting_before, lost_before = pairs(context(whole))
    if waiting - waiting_before or lost - lost_before:
        raise Wrong(f"{to}: pairs: {sorted(waiting - waiting_before)[:3]} {sorted(lost - lost_before)[:3]}")
    return lost_before


def one(case: Case, log: Log, whole: Log, target: int, strategy: str) -> None:
    """One compact of `log`, looked at, made again, and undone. Raises Wrong."""
    before = shape(log)
    seen["compacts asked for"] += 1
    try:
        op = log.compact(target=target, strategy=strategy)
    except NothingChanges:
        seen["not smaller"] += 1
        return
    finally:
        state = shape(log)
    if op is None:
        seen["it fits already" if "it fits" in log.said else "nothing to condense"] += 1
        if state != before:
            raise Wrong("it was changed all the same")
        return
    assert isinstance(op, Compact)
    seen[strategy] += 1
    fits(log, op)
    valid(whole, log)
    resumable(whole, log)
    log.undo()
    if shape(log) != before:
        raise Wrong("undo does not give back what was there")
    again = log.compact(target=target, strategy=strategy)
    if again is None or body(again) != body(op) or shape(log).replace(again.id, op.id) != state:
        raise Wrong("a second run comes to something else")
    log.undo()


def run(case: Case, targets: Sequence[int] = TARGETS, strategies: Sequence[str] = OFFLINE) -> None:
    """A case at all targets, by all strategies. Raises Wrong."""
    log, whole = case.open(), case.open()
    for target in targets:
        for strategy in strategies:
            try:
                one(case, log, whole, target, strategy)
            except Wrong as wrong:
                raise Wrong(f"{case.name} at {target} %, {strategy}: {wrong}") from wrong
    seen["files"] += 1


def main() -> int:
    """Run and print; 1 where anything was wrong."""
    parser = argparse.ArgumentParser(prog="just compacts", description=__doc__)
    parser.add_argument("--only", default="", help="files with this in their name")
    parser.add_argument("--strategy", action="append", choices=OFFLINE, help="only this one; can be repeated")
    parser.add_argument("--target", action="append", type=int, help="only this one, in percent; can be repeated")
    parser.add_argument("--conversations", type=int, default=CONVERSATIONS, help="of a file that holds many")
    parser.add_argument("--trace", action="store_true", help="where it went wrong")
    asked = parser.parse_args()
    wrong, start = 0, time.monotonic()
    for case in cases(most=asked.conversations):
        if asked.only in case.name:
            try:
                run(case, asked.target or TARGETS, asked.strategy or OFFLINE)
            except Exception as error:  # whatever goes wrong in ctxkit is told, and the next file is taken
                wrong += 1
                known = isinstance(error, Wrong)
                print(error if known else f"{case.name}: {type(error).__name__}: {error}", flush=True)
                if asked.trace:
                    traceback.print_exc()
    what = ", ".join(f"{count:,} {name}" for name, count in seen.items())
    print(f"{what}; {wrong} wrong; {time.monotonic() - start:.0f} s")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
