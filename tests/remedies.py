"""The law of `why`: the commands that it names for what is out of the context bring it back, run for real on a copy.

`python -m tests.remedies` runs random ops on whole real sessions and prints what was seen (just remedies); the suite
runs a part, and the same law over small random logs.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter

from ctxkit import Log
from ctxkit.core.item_names import ItemName, Name
from ctxkit.core.reasons import Reasons
from ctxkit.core.visibility import Visibilities
from ctxkit.explain.remedies import Remedies, Remedy
from tests.lawful import cli, copied, opened, tried
from tests.whole import FORMATS, drawn, source

EACH = 3
"""Of the messages that the same things keep out, so many are brought back for real."""
ran: Counter[str] = Counter()


class Wrong(Exception):
    """What `why` says is not so."""


def hidden(log: Log) -> list[Name]:
    """All that is not in the context, items of ops without effect too."""
    state = log.state()
    shown = Visibilities(state, log.projection()).visible
    gone = [name for entry in state.ledger.entries for name in _brought(entry) if name not in state.board.items]
    return [*(name for name in (*state.everything().numbers, *state.everything().items) if name not in shown), *gone]


def _brought(entry: object) -> list[ItemName]:
    from ctxkit.core.ended_ops import brought
    from ctxkit.core.ledger import LedgerEntry

    assert isinstance(entry, LedgerEntry)
    return brought(entry) if entry.id else []


def alike(log: Log) -> list[tuple[Name, Remedy]]:
    """Some of each kind, drawn evenly: by what keeps them out and what is said to bring them back."""
    names, state = hidden(log), log.state()
    found, why = Remedies(log).of(names), Reasons(Visibilities(log.state(), log.projection()))
    if list(found) and set(found) != set(names):
        raise Wrong("not every hidden message has a remedy")
    ran["hidden"] += len(names)
    kinds: dict[object, list[Name]] = {}
    for name in names:
        reasons = tuple((reason.kind, reason.op) for reason in why.of(name))
        if not reasons:
            raise Wrong(f"{state.label(name)} is out for no reason")
        label = state.label(name)
        words = tuple(command.replace(f" {label} ", " N ") for command in found[name].commands)
        ran[f"{len(words)} commands"] += 1
        one_each = sum(1 for reason in why.of(name) if reason.back.startswith("ctxkit undo"))
        ran["one undo was said, and more is needed"] += one_each > 0 and len(words) > 1
        if not words:
            ran[f"none: {found[name].text[:60]}"] += 1
        kinds.setdefault((reasons, words), []).append(name)
    dice = random.Random(len(names))
    chosen = [name for group in kinds.values() for name in dice.sample(group, min(EACH, len(group)))]
    return [(name, found[name]) for name in chosen]


def proved(log: Log, name: Name, remedy: Remedy) -> None:
    """Run the commands on a copy of the log, as people type them. Raises Wrong where the message is not there then."""
    before = Visibilities(log.state(), log.projection()).visible
    if bool(remedy.commands) == bool(remedy.text):
        raise Wrong(f"{log.state().label(name)}: commands, and why there are none: {remedy}")
    if remedy.text.startswith("no undo, recall or window"):
        raise Wrong(f"{log.state().label(name)}: nothing is known that keeps it out for good")
    raw = copied(log)
    for command in remedy.commands:
        words = command.replace("LOG", "-").split()[1:]
        code, raw, err = cli(*words, stdin=raw)
        if code:
            raise Wrong(f"{log.state().label(name)}: {command}: exit {code}: {err}")
    if not remedy.commands:
        return
    after = opened(raw)
    shown = Visibilities(after.state(), after.projection()).visible
    if name not in shown:
        raise Wrong(f"{log.state().label(name)} is not back with {remedy.commands}")
    if before - shown != remedy.leave:
        raise Wrong(f"{log.state().label(name)}: {before - shown} left, said were {remedy.leave}: {remedy.commands}")
    ran["brought back for real"] += 1


def sequence(name: str, number: int) -> None:
    """One random sequence on a real session."""
    path, commands = drawn(name, number)
    log = opened(source(path))
    for command in commands:
        tried(log, command)
    for one, remedy in alike(log):
        proved(log, one, remedy)
    ran["sequences"] += 1


def main() -> int:
    """Runs sequences, goes on after a failure, and says what failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.remedies", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="of each format")
    parser.add_argument("--start", type=int, default=0)
    asked = parser.parse_args()
    bad = 0
    for name in FORMATS:
        ran.clear()
        begun = time.monotonic()
        for number in range(asked.start, asked.start + asked.count):
            try:
                sequence(name, number)
            except Exception as error:
                bad += 1
                print(f"{name} {number}: {type(error).__name__}: {error}", flush=True)
        print(f"{name}: {dict(sorted(ran.items()))} in {time.monotonic() - begun:.0f} s", flush=True)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
