"""Random ops on whole real sessions: what is written can be gone on with, and is the context that was asked for.

`python -m tests.whole --count 2000` runs so many sequences of each format and prints what was seen (just whole); the
suite runs the first of them. Sequence N is the same in every run: `--format codex --only N` repeats one.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from ctxkit import Log
from ctxkit.core.integrity import NO_RESULT
from ctxkit.core.messages import Content, Repairs
from ctxkit.core.text.json_text import canonical
from ctxkit.errors import NothingToSend
from ctxkit.formats.bodies import speaker
from tests.lawful import NOW, Command, tried
from tests.shared import SHARED

FORMATS = ("claude-code", "codex", "pi")
FILES = {name: sorted((SHARED / f"transcripts/{name}").glob("*.jsonl")) for name in FORMATS}
LINKS = {"claude-code": ("uuid", "parentUuid"), "codex": ("", ""), "pi": ("id", "parentId")}
"""Keys of a row: its own id, and that of the row it hangs on."""
LABELS = (None, "a", "b")
LARGE = ("edit", "remember", "condense")
"""What is about many messages."""
CHANGED = ('{"role":"user","content":"changed"}', '{"role":"assistant","content":"so it was"}')
Told = list[tuple[str, bytes]]
ran: Counter[str] = Counter()


class Wrong(Exception):
    """A written session is not what it should be."""


@cache
def source(path: Path) -> bytes:
    return path.read_bytes()


def opened(raw: bytes) -> Log:
    """A log of these bytes, whose clock stands still."""
    return Log.open(io.BytesIO(raw), clock=lambda: NOW)


def drawn(name: str, number: int) -> tuple[Path, list[Command]]:
    """Sequence `number` of a format: a file, and one to six commands that reach all over it."""
    dice = random.Random(f"{name} {number}")
    path = FILES[name][number % len(FILES[name])]
    return path, [_command(dice) for _ in range(dice.randint(1, 6))]


def _command(dice: random.Random) -> Command:
    verb = dice.choice(
        ["forget"] * 4
        + ["compact"]
        + ["condense"] * 3
        + ["trim", "edit", "restore", "remember", "recall", "protect", "rewind", "mark"] * 2
        + ["unprotect", "clear", "undo", "redo", "set_window"]
    )
    more = dice.choice([0, 0, 1, 3, 20, 200] if verb not in LARGE else [3, 40, 400, 4000])
    criteria: tuple[tuple[str, str | bool], ...] = ()
    if verb in ("forget", "remember", "recall", "protect") and dice.random() < 0.3:
        criteria = dice.choice(
            [(("last", "2"),), (("last", "1x"),), (("last", "5s"),), (("role", "tool"),), (("tool", "*d"),),
             (("grep", "error"),), (("grep", "the"), ("invert", True)), (("role", "user"), ("last", "7"))]
        )  # fmt: skip
    return Command(
        verb, dice.randrange(10**6), more, criteria, dice.choice(LABELS),
        hours=dice.choice([1, 2, 4, 7] if verb == "condense" else [1, 5, 50]),
        flag=dice.random() < 0.5, changed=dice.choice(CHANGED),
    )  # fmt: skip


def context(log: Log) -> list[Content]:
    """The messages of a context in full."""
    return [log.full(entry) for entry in log.entries()]


def told(contents: Iterable[Content]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Whose words, and the parts with all they hold, but for the form in which a format writes them."""
    found = []
    for content in contents:
        parts = [_bare(part) for part in msgspec.to_builtins(content.parts)]
        if parts := [part for part in parts if part.get("text", "x") != ""]:
            found.append(("assistant" if speaker(content) == "assistant" else "user", parts))
    return found


def _bare(part: dict[str, Any]) -> dict[str, Any]:
    if part["type"] in ("call", "result", "image"):
        part.pop("raw", None)
    if part["type"] == "thinking":
        part["raw"] = part["raw"].get("signature", part["raw"].get("thinkingSignature"))
    if isinstance(part.get("content"), list):
        part["content"] = [_bare(inner) for inner in part["content"]]
        if len(part["content"]) == 1 and part["content"][0]["type"] == "text":
            part["content"] = part["content"][0]["text"]
    return part


def flat(messages: Sequence[tuple[str, list[dict[str, Any]]]]) -> Told:
    """The parts in order, wherever a message ends; what stands for a result that is not there is left out."""
    return [
        (side, canonical(part))
        for side, parts in messages
        for part in parts
        if part.get("content") != NO_RESULT or part["type"] != "result"
    ]


def pairs(contents: Sequence[Content]) -> tuple[set[str], set[str]]:
    """Ids of calls that no later result answers, and of results that no earlier call asked for."""
    waiting: set[str] = set()
    made: set[str] = set()
    lost: set[str] = set()
    for _, parts in told(contents):
        for part in parts:
            if part["type"] == "call":
                made.add(part["id"])
                waiting.add(part["id"])
            elif part["type"] == "result":
                ran["pairs"] += part["id"] in waiting
                lost |= {part["id"]} - made
                waiting.discard(part["id"])
    return waiting, lost


def rows(raw: bytes) -> list[dict[str, Any]]:
    """The rows of a file, damaged lines left out."""
    found = []
    for piece in raw.split(b"\n"):
        try:
            row = json.loads(piece)
        except ValueError:
            continue
        if isinstance(row, dict):
            found.append(row)
    return found


@cache
def known(path: Path) -> tuple[Counter[str], set[str], set[str], set[str]]:
    """Of a real file: how often each id stands, parents that are missing, calls and results that are not paired."""
    name = next(one for one in FORMATS if path in FILES[one])
    ids, missing = tree(name, source(path))
    return ids, missing, *pairs(context(opened(source(path))))


def tree(name: str, raw: bytes) -> tuple[Counter[str], set[str]]:
    """How often each id stands, and the parents that no row is."""
    own, parent = LINKS[name]
    found = rows(raw)
    ids = Counter(row[own] for row in found if isinstance(row.get(own), str))
    return ids, {row[parent] for row in found if isinstance(row.get(parent), str)} - set(ids)


def ops_in(session: bytes) -> bool:
    """Whether a row of a session has a key `ctxkit` at its top, as ops have."""
    rows = (json.loads(line) for line in session.splitlines() if b'"ctxkit"' in line)
    return any(isinstance(row, dict) and "ctxkit" in row for row in rows)


def check(name: str, path: Path, log: Log) -> None:
    """The session of this context. Raises Wrong."""
    try:
        written = log.session(name)
    except NothingToSend:
        ran["nothing to send"] += 1
        return
    made = b"".join(written.pieces)
    ids_before, missing_before, open_before, lost_before = known(path)
    ids, missing = tree(name, made)
    again = context(opened(made))
    asked = context(log)
    if twice := [key for key, count in ids.items() if count > max(1, ids_before[key])]:
        raise Wrong(f"ids twice: {twice[:3]}")
    if missing - missing_before:
        raise Wrong(f"dangling: {sorted(missing - missing_before)[:3]}")
    if ops_in(made) and not ops_in(source(path)):
        raise Wrong("an op is in it")
    waiting, lost = pairs(again)
    if waiting - open_before or lost - lost_before:
        raise Wrong(f"pairs: {sorted(waiting - open_before)[:3]} {sorted(lost - lost_before)[:3]}")
    same(asked, again, written.repairs, lost_before)


def same(asked: Sequence[Content], again: Sequence[Content], repairs: Repairs, lost_before: set[str]) -> None:
    """What was asked for and what is read. Raises Wrong where they differ by more than the repair of pairs."""
    one, other = told(asked), told(again)
    if one == other:
        ran["the same messages"] += 1
        return
    _, lost = pairs(asked)
    made = {part["id"] for _, parts in one for part in parts if part["type"] == "call"}
    early = lost & made - lost_before
    gone = lost - made - lost_before
    first = [(side, part) for side, part in flat(one) if not _answers(part, gone)]
    second = flat(other)
    if first == second:
        ran["the same parts"] += 1
        return
    if early and moved(first, early) == moved(second, early):
        ran["the same parts, results behind their calls"] += 1
        return
    if any(kind.startswith("repeated ") for kind in repairs.left_out) and once(first) == once(second):
        ran["the same parts, repeated calls once"] += 1
        return
    if sorted(first) == sorted(second):
        raise Wrong("another order")
    away = list((Counter(first) - Counter(second)).items())[:3]
    come = list((Counter(second) - Counter(first)).items())[:3]
    raise Wrong(f"other parts: - {away} + {come} {repairs}"[:900])


def moved(parts: Told, ids: set[str]) -> tuple[Told, Told]:
    """The parts in order but for results with these ids, and those, in no order."""
    return [one for one in parts if not _answers(one[1], ids)], sorted(one for one in parts if _answers(one[1], ids))


def once(parts: Told) -> tuple[Told, Told]:
    """Words in their order; each call and result once, in no order: a history was copied into itself."""
    paired: dict[tuple[str, str], tuple[str, bytes]] = {}
    words: Told = []
    for one in parts:
        part = json.loads(one[1])
        if part["type"] in ("call", "result"):
            paired.setdefault((part["type"], part["id"]), one)
        else:
            words.append(one)
    return words, sorted(paired.values())


def _answers(part: bytes, ids: set[str]) -> bool:
    return bool(ids) and part.startswith(b'{"content"') and json.loads(part).get("id") in ids


def sequence(name: str, number: int) -> None:
    """Runs one. Raises Wrong, or whatever goes wrong in ctxkit."""
    path, commands = drawn(name, number)
    log = opened(source(path))
    for command in commands:
        ran[f"{command.name}: done"] += tried(log, command) is not None
    check(name, path, log)
    ran["sequences"] += 1


def main() -> int:
    """Runs sequences, goes on after a failure, and says what failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.whole", description=__doc__)
    parser.add_argument("--format", choices=FORMATS, action="append")
    parser.add_argument("--count", type=int, default=2000, help="of each format")
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--only", type=int, help="one sequence, with its commands and its traceback")
    asked = parser.parse_args()
    bad = 0
    for name in asked.format or FORMATS:
        ran.clear()
        begun = time.monotonic()
        numbers = range(asked.start, asked.start + asked.count) if asked.only is None else [asked.only]
        for number in numbers:
            try:
                sequence(name, number)
            except Exception as error:
                bad += 1
                path, commands = drawn(name, number)
                print(f"{name} {number} {path.name}: {type(error).__name__}: {error}", flush=True)
                if asked.only is not None:
                    print(*commands, sep="\n")
                    traceback.print_exc()
        print(f"{name}: {dict(sorted(ran.items()))} in {time.monotonic() - begun:.0f} s", flush=True)
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
