"""What is done to a session before its export is resumed: the commands that there are, and ops that a log may hold.

Each works on a copy, is chosen from what stands in the file, so that it fits any, and gives None where there is nothing
of its kind in the file. Ops that no command writes so (compact, trim, edit) are what the op format says they are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from ctxkit import Log
from ctxkit.core.decision import Decision
from ctxkit.core.item_names import Names
from ctxkit.core.ops import Compact, Edit, Forget, Item, Op, Trim

SUMMARY = "In short: what was said here went well."
"""What a compact puts in the place of messages."""
ASKED = {"role": "user", "content": "Where were we?"}
"""What an edit puts in."""
STUB = "[shortened]"
"""What a trim leaves of a message."""


def nothing(copy: Path) -> Log:
    """As it is."""
    return Log.open(copy)


def forget(copy: Path) -> Log:
    """The message in the middle of the context goes, with the step it is in."""
    log = Log.open(copy)
    log.forget(str(middle(log)), include_protected=True)
    return Log.open(copy)


def parallel(copy: Path) -> Log | None:
    """A response with several calls goes, and all results with it."""
    log = Log.open(copy)
    found = _group(log)
    if found is None:
        return None
    log.forget(str(found), include_protected=True)
    return Log.open(copy)


def one_result(copy: Path) -> Log | None:
    """Of several calls in one response one result goes, as an op may say though no command does."""
    log = Log.open(copy)
    found = _group(log)
    if found is None:
        return None
    results = [n for n in log.state().steps.members(found) if log.messages[n - 1].results]
    return commit(log, Forget(at=log.here(), ids=str(results[0])))


def rewind(copy: Path) -> Log:
    """What came after the middle of the context comes after a mark, and is dropped."""
    _in_the_middle(copy, lambda log: log.mark("here"))
    Log.open(copy).rewind("here")
    return Log.open(copy)


def clear(copy: Path) -> Log:
    """All that came before the middle of the context goes."""
    _in_the_middle(copy, lambda log: log.clear())
    return Log.open(copy)


def remember(copy: Path) -> Log:
    """The newest step alone stays."""
    log = Log.open(copy)
    log.remember(last="2s")
    return Log.open(copy)


def recall(copy: Path) -> Log:
    """The first half goes, and a step of it comes back."""
    log = Log.open(copy)
    half = numbers(log)[: len(numbers(log)) // 2 + 1]
    log.forget(half, include_protected=True)
    Log.open(copy).recall(str(half[len(half) // 2]))
    return Log.open(copy)


def compact(copy: Path) -> Log:
    """A summary in the place of the second third of the context."""
    log = Log.open(copy)
    return commit(log, Compact(at=log.here(), ids=_third(log), text=SUMMARY))


def condensed(strategy: str, copy: Path) -> Log | None:
    """What the command `compact` makes of it: the old messages told by rules, or their results masked."""
    log = Log.open(copy)
    found = log.compact(target=30, strategy=strategy, keep_last=0, keep_steps=2)
    return None if found is None else Log.open(copy)


def undone(copy: Path) -> Log:
    """The same, and an undo."""
    compact(copy).undo()
    return Log.open(copy)


def trim(copy: Path) -> Log:
    """The message in the middle says less, as does the last one with results."""
    log = Log.open(copy)
    short = {middle(log), *[n for n in numbers(log) if log.messages[n - 1].results][-1:]}
    return commit(log, Trim(at=log.here(), ids="", stubs={str(n): STUB for n in short}))


def questions(copy: Path) -> Log | None:
    """All replies go, with what answers their calls: no count of a provider is left, so another message tells it."""
    log = Log.open(copy)
    replies = [n for n in numbers(log) if log.messages[n - 1].role == "assistant"]
    if not any(log.usage(n) for n in replies):
        return None
    return commit(log, Trim(at=log.here(), ids=str(log.state().steps.close(Names.of(replies))), stubs={}))


def edit(copy: Path) -> Log:
    """Exactly this: a question of ours, then the second half of the context."""
    log = Log.open(copy)
    found = numbers(log)
    items = [Item(message=ASKED), *(Item(n=n) for n in found[len(found) // 2 :])]
    return commit(log, Edit(at=log.here(), items=items))


EDITS: dict[str, Callable[[Path], Log | None]] = {
    "nothing": nothing,
    "forget": forget,
    "forget of parallel calls": parallel,
    "forget of one result": one_result,
    "rewind": rewind,
    "clear": clear,
    "remember": remember,
    "recall": recall,
    "compact": compact,
    "compact by extract": partial(condensed, "extract"),
    "compact by mask": partial(condensed, "mask"),
    "undone compact": undone,
    "trim": trim,
    "trim of replies": questions,
    "edit": edit,
}


def middle(log: Log) -> int:
    """The number of the message in the middle of the context."""
    found = numbers(log)
    return found[len(found) // 2]


def numbers(log: Log) -> list[int]:
    """The messages of the context."""
    return [entry.message.n for entry in log.entries() if entry.message is not None]


def _third(log: Log) -> str:
    """The second third of the context, in whole steps."""
    found = numbers(log)
    third = found[len(found) // 3 : 2 * len(found) // 3 + 1]
    return str(log.state().steps.close(Names.of(third)))


def _group(log: Log) -> int | None:
    """The last response of the context with several calls that have results of their own."""
    steps, shown = log.state().steps, set(numbers(log))
    for n in reversed(numbers(log)):
        answers = [m for m in steps.members(n) if log.messages[m - 1].results and m in shown]
        if len(log.messages[n - 1].calls) > 1 and len(answers) > 1:
            return n
    return None


def commit(log: Log, op: Op) -> Log:
    """The log with an op that no command writes."""
    log.commit(op.name, lambda: Decision(op, ""))
    return Log.open(log.opening.path or "")


def _in_the_middle(copy: Path, act: Callable[[Log], object]) -> None:
    """Do something when the log reaches up to the middle of its context; then the rest is written."""
    whole = copy.read_bytes()
    log = Log.open(copy)
    offset = log.messages[middle(log) - 1].offset
    here = whole.rfind(b"\n", 0, offset) + 1 or whole.find(b"\n") + 1 or len(whole)
    copy.write_bytes(whole[:here])
    act(Log.open(copy, format=log.opening.format.name))
    with copy.open("ab") as more:
        more.write(whole[here:])
