"""ctxkit diff: what differs between two contexts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from ctxkit.api.log import Log
from ctxkit.cli.log_access import opened
from ctxkit.cli.options import LogArgument, Reading, session_path, takes
from ctxkit.cli.terminal import layout, streams
from ctxkit.cli.terminal.diff_view import as_json, lines, stat
from ctxkit.errors import CtxkitError, ExitCode, NoSuchLog, Usage, Warned
from ctxkit.explain.diff import Diff
from ctxkit.explain.revisions import MARK, SNAPSHOT
from ctxkit.logfile.chain_head import parting
from ctxkit.store.folder import LOG_ENDINGS
from ctxkit.store.snapshot_files import is_snapshot

State = Annotated[
    str | None,
    typer.Argument(metavar="[A]", help="A state: an op (3; 3^: before it), a mark, a snapshot, now; or another log."),
]


@takes(Reading)
def command(
    log: LogArgument = "-",
    a: State = None,
    b: Annotated[str | None, typer.Argument(metavar="[B]", help="The other state (default: now).")] = None,
    *,
    agent: str | None = None,
    thread: str | None = None,
    unified: int = 1,
    full: bool = False,
    stat_: bool = False,
    no_tokens: bool = False,
    label: list[str] | None = None,
    reading: Reading,
) -> int:
    """Compare two contexts, message by message: two states of one log, or two logs of any format.

    `diff LOG A B` takes ops, marks, snapshots and now. Without B it compares with now; without A it shows what the
    newest op changed. If the second word is a file (or -), it is a log, unless it holds a snapshot: `diff LOG1 LOG2`.
    Signs: - gone, + came, ~ changed, > moved. Exit 0: the same, 1: different. --json prints an object per run of
    differences, then a summary.
    """
    if a is not None:
        a = session_path(a)
    if label and len(label) > 2:
        raise Usage("--label is given more than twice", "once for A, once more for B")
    two = a is not None and _is_log(a)
    try:
        found = _compared(log, a, b, agent, thread, reading)
    except CtxkitError as error:
        if error.code is ExitCode.NO:  # 1 means: they differ
            raise Usage(error.message, error.hint) from error
        raise
    own = (log, a if two and a is not None else log)
    given = label or []
    names = (given[0] if given else own[0], given[1] if len(given) > 1 else own[1])
    counter = not no_tokens and stat_
    if reading.json:
        for value in as_json(found, names, full=full, tokens=counter, differences=not stat_):
            streams.out_json(value)
    else:
        for spans in stat(found, tokens=counter) if stat_ else lines(found, names, around=unified, full=full):
            streams.out(*spans)
    streams.flush()
    sides = zip(names, (found.a, found.b), strict=True)
    warnings = [(name, warning) for name, side in sides for warning in side.state.warnings]
    for name, warning in dict.fromkeys(warnings):
        among = "standard input" if name == "-" else name
        streams.warn(Warned(f"{among}: {warning}" if names[0] != names[1] else warning, "replay"))
    if not found.one_log and (parted := parting(found.a.log, found.b.log)):
        streams.say(parted)
    streams.say(_summary(found))
    return int(ExitCode.NO) if found.differs else int(ExitCode.DONE)


def _compared(log: str, a: str | None, b: str | None, agent: str | None, thread: str | None, reading: Reading) -> Diff:
    if a is None or not _is_log(a):
        one = _opened(log, reading, agent, thread)
        try:
            return one.diff(a, b)
        except Usage as error:
            folder = next(
                (word for word in (a, b) if word and "not a file" in error.message and os.path.isdir(word)), None
            )
            if folder is not None:
                raise NoSuchLog(f"{folder}: not a log: it is a directory", error.hint) from error
            missing = next((word for word in (a, b) if word and word.endswith(LOG_ENDINGS)), None)
            if missing is None or "not a file" not in error.message:
                raise
            raise NoSuchLog(f"{missing}: no such log", f"{error.hint}") from error
    if b is not None:
        raise Usage(f"{a} is a log, and {b} one word too many", "diff LOG A B, or diff LOG1 LOG2; marks: mark:LABEL")
    if log == a == "-":
        raise Usage("both logs are standard input", "one of them can be: ctxkit diff old.jsonl -")
    if reading.sidecar is not None:
        raise Usage("--sidecar is for one log, and two were named", "compare states of one: ctxkit diff LOG 3 now")
    return _opened(log, reading, agent, thread).diff(_opened(a, reading, agent, thread))


def _is_log(word: str) -> bool:
    """Whether a word is a log and not a state: -, or a file that is no snapshot. `./now` is a file, `now` a state."""
    if word == "now" or word.startswith((MARK, SNAPSHOT)) or (word.isascii() and word.isdigit()):
        return False
    return word == "-" or (os.path.lexists(word) and not os.path.isdir(word) and not is_snapshot(Path(word)))


def _opened(log: str, reading: Reading, agent: str | None, thread: str | None) -> Log:
    found = opened(log, reading, command="diff", devices=True)
    found.lens_agent, found.lens_thread = agent, thread
    return found


def _summary(found: Diff) -> str:
    counts = found.counts
    same = f"{layout.count(counts['same'], 'message')} the same"
    if not found.differs:
        between = f" between {found.a.title} and {found.b.title}" if found.a.title != found.b.title else ""
        return f"no difference{between}: {same}"
    words = [f"{count:,} {kind}" for kind, count in counts.items() if count and kind != "same"]
    return f"{', '.join(words)}; {same}"
