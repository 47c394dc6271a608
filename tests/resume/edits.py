"""What is done to a session before its export is resumed: nothing, a forget, a rewind, a compact that is undone.

Each works on a copy, and is chosen from what stands in the file, so that it fits any.
"""

from __future__ import annotations

from pathlib import Path

from ctxkit import Log
from ctxkit.core.ops import Compact
from ctxkit.policies.decision import Decision


def nothing(copy: Path) -> Log:
    """As it is."""
    return Log.open(copy)


def forget(copy: Path) -> Log:
    """The message in the middle of the context goes, with the step it is in."""
    log = Log.open(copy)
    log.forget(middle(log), include_protected=True)
    return Log.open(copy)


def rewind(copy: Path) -> Log:
    """The second half of the file comes after a mark, and is dropped."""
    lines = copy.read_bytes().splitlines(keepends=True)
    half = max(len(lines) // 2, 1)
    copy.write_bytes(b"".join(lines[:half]))
    Log.open(copy).mark("here")
    with copy.open("ab") as more:
        more.write(b"".join(lines[half:]))
    Log.open(copy).rewind("here")
    return Log.open(copy)


def undone(copy: Path) -> Log:
    """A summary in the place of the message in the middle, and an undo."""
    log = Log.open(copy)
    log.commit("compact", lambda: Decision(Compact(at=log.here(), ids=middle(log), text="in short"), ""))
    Log.open(copy).undo()
    return Log.open(copy)


EDITS = {"nothing": nothing, "forget": forget, "rewind": rewind, "undone compact": undone}


def middle(log: Log) -> str:
    """The number of the message in the middle of the context."""
    numbers = [entry.message.n for entry in log.entries() if entry.message is not None]
    return str(numbers[len(numbers) // 2])
