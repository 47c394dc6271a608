"""ctxkit snapshot: the context is kept as a file beside the log."""

from __future__ import annotations

from ctxkit.api.log import Log
from ctxkit.cli.log_access import finish_reading, opened, words_given
from ctxkit.cli.options import LogArgument, Looking, Reading, takes
from ctxkit.cli.terminal import layout, streams
from ctxkit.cut.summarize.gist import FAILED
from ctxkit.errors import BadSummary
from ctxkit.llm.hooks import Hooks
from ctxkit.snapshots.snapshot import TakenSnapshot


@takes(Looking, Reading)
def command(
    log: LogArgument = "-",
    *,
    message: str = "",
    tag: list[str] | None = None,
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
    """
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
