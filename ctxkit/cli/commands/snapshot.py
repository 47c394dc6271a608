"""ctxkit snapshot: the context is kept as a file beside the log; --light: a reference to it, a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ctxkit.api.log import Log
from ctxkit.cli.log_access import finish_reading, opened, words_given
from ctxkit.cli.options import LogArgument, Looking, Reading, takes
from ctxkit.cli.terminal import layout, streams
from ctxkit.errors import BadSummary, Usage
from ctxkit.llm.hooks import Hooks
from ctxkit.snapshots.trigger_events import SPOKEN

if TYPE_CHECKING:
    from ctxkit.snapshots.snapshot import TakenSnapshot


@takes(Looking, Reading)
def command(
    log: LogArgument = "-",
    *,
    message: str = "",
    tag: list[str] | None = None,
    light: bool = False,
    auto: bool = False,
    all_: bool = False,
    agent: str | None = None,
    summary_file: str | None = None,
    summary_model: str | None = None,
    fast: bool = False,
    redact: bool = False,
    looking: Looking,
    reading: Reading,
) -> None:
    """Save the context as a file beside the log, to come back to. Nothing is cleared, and nothing is appended.

    The file holds everything that is visible, of all agents and threads, or with --agent what one agent sees: id,
    time, description, a summary of a few sentences, tokens, and the messages. It needs no other file. The id is
    printed. It is a digest of the messages, the window and the description, so the same snapshot taken again has the
    same id and is not saved twice.

    With - for LOG the file goes to standard output, and `ctxkit restore LOG FILE` takes it from there. Rules write the
    summary, offline: what was done, decided, asked and left open. --summary-file takes the text of any
    program. --summary-model and --fast ask a model, which gets the messages without the secrets that are found in them.

    --light saves a reference to the context as it is, a checkpoint: less than 1 KB. `ctxkit restore LOG ID` rebuilds
    the context from the log itself and checks it by digests: a log that was changed is refused. ctxkit makes one
    automatically before every compact, clear, edit and restore --replace. Automatic ones are deleted after 30 days, or
    when there are 50 newer ones.

    --auto is for hooks and watchers. It looks at the newest exchange and the one before, and makes a light one if a
    tool wrote a file (#code), or if a command that failed succeeds again (#error_resolution); with --tag decision or
    --tag milestone also if the model says one. One per exchange: run again, it writes nothing.
    """
    if light or auto:
        others = all_, agent, summary_file, summary_model, fast, redact, looking.at
        if any(others):
            text = "a light one refers to the log as it is now, and holds no messages or summary"
            raise Usage(f"{text}: nothing was kept", "--light and --auto take -m; leave the others out")
        _refer(log, message, tag or (), auto=auto, reading=reading)
        return
    from ctxkit.cut.summarize.gist import FAILED  # imports what finds failures and tasks, which hooks need not wait for

    target = opened(log, reading, looking, command="snapshot")
    target.opening.reader.release()  # nothing is appended
    words = None if summary_file is None else _words(target, summary_file)
    with streams.progress("Asking for a summary", "") as step:
        taken = target.snapshot(
            message, tags=tag or (), all=all_, agent=agent, summary=words, summary_model=summary_model, fast=fast,
            hooks=Hooks(report=streams.say, step=step),
        )  # fmt: skip
    head = taken.kept.head
    if taken.path is None:
        streams.out_bytes(taken.pieces)
    elif reading.json:
        streams.out_json({**taken.kept.body, "path": str(taken.path), "new": taken.new})
    else:
        streams.out(taken.id)
    if words is not None and head.summary == FAILED:
        streams.warn("the given summary is empty; the snapshot was taken, and says so")
    finish_reading(target, _said(taken))


def _said(taken: TakenSnapshot) -> str:
    head = taken.kept.head
    size = layout.count(head.message_count, "message")
    if head.tokens is not None:
        size += f", {head.tokens.count:,} tokens ({head.tokens.counter})"
    return f"Snapshot taken: {size}." if taken.new else "The same snapshot exists already: nothing was written."


def _words(log: Log, file: str) -> str:
    """The given summary; "" if it is no text, because a program that failed must not prevent the snapshot."""
    try:
        return words_given(log, "--summary-file", file, after=": nothing was kept", refused=BadSummary)
    except BadSummary:
        return ""


def _refer(log: str, message: str, tags: Sequence[str], *, auto: bool, reading: Reading) -> None:
    """Save a reference to the context. `tags`: with `auto`, further triggers."""
    unknown = [tag for tag in tags if tag not in SPOKEN]
    if unknown or (tags and not auto):
        text = f"--tag {unknown[0]} is none that --auto finds" if auto else "a light one has a tag only with --auto"
        raise Usage(f"{text}: nothing was kept", f"--auto --tag {' --tag '.join(sorted(SPOKEN))}")
    target = opened(log, reading, command="snapshot")
    found = target.checkpoint(message, auto=auto, also=tags)
    if reading.json:
        kept = {} if found is None else {**found.kept.body, "path": str(found.path)}
        streams.out_json({**kept, "new": found is not None and found.new, "said": target.said})
    elif found is not None:
        streams.out(found.id)
    for warning in target.warned:
        streams.warn(warning)
    for note in target.notes:
        streams.say(note)
    finish_reading(target, target.said)
