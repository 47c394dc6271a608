"""ctxkit compact: old messages are replaced by a summary of them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from ctxkit.api.log import Log
from ctxkit.cli.amounts import share_or_tokens
from ctxkit.cli.log_access import CHANGED, selection_of, words_given, write
from ctxkit.cli.options import LogArgument, ManyLogs, Numbers, Reading, Selecting, Writing, takes
from ctxkit.cli.terminal import streams
from ctxkit.core.ops import Op
from ctxkit.core.text.json_text import digest
from ctxkit.errors import BadSummary, CtxkitError, ExitCode, Warned
from ctxkit.llm.hooks import Hooks


@takes(ManyLogs, Selecting, Writing, Reading)
def command(
    log: LogArgument = "-",
    numbers: Numbers = None,
    *,
    target: str | None = None,
    keep_last: int | None = None,
    keep_steps: int | None = None,
    strategy: str | None = None,
    focus: str | None = None,
    summary_model: str | None = None,
    fast: bool = False,
    no_fallback: bool = False,
    summary_file: str | None = None,
    force: bool = False,
    reading: Reading,
    writing: Writing,
    selecting: Selecting,
) -> None:
    """Replace old messages by a summary of them. Nothing leaves the log.

    Rules write the summary, offline, from the text of the messages: files, commands, errors, decisions, code and other
    important lines, each with its message number. Protected messages, the first message, and the newest exchanges or
    steps stay. Without options it acts if the context is 80 % full; with --target, --summary-file, --force, numbers
    or criteria it always acts. With numbers or criteria only the selected messages are replaced, and the target is a
    share of them unless you give one. A very long first or newest message is shortened. `ctxkit undo LOG` brings
    everything back.

    With --summary-model, --fast or --strategy llm a model writes a story, and the facts by rules follow below it. If
    the model gives none, rules write everything. The model gets the messages, without the secrets that are found in
    them.
    """

    def action(found: Log) -> Op | None:
        text = None
        if summary_file is not None:
            text = words_given(found, "--summary-file", summary_file, after=CHANGED, refused=BadSummary)
        share, budget = share_or_tokens("--target", target)
        try:
            with streams.progress("Condensing context", "") as step:
                op = found.compact(
                    selection_of(found, numbers, selecting), target=share, budget=budget,
                    keep_last=keep_last, keep_steps=keep_steps, strategy=strategy, summary=text, force=force,
                    summary_model=summary_model, fast=fast, fallback=not no_fallback,
                    focus=focus or "", hooks=Hooks(report=streams.say, step=step),
                )  # fmt: skip
        except CtxkitError as error:
            made = found.compacted.found.op if found.compacted is not None else None
            by_model = made.text if made is not None and made.model is not None else None
            if error.code is ExitCode.TRY_AGAIN and (words := by_model or (text if summary_file == "-" else None)):
                _keep(found, words, error)
            raise
        if found.compacted is not None and (why := found.compacted.found.op.fallback):
            streams.warn(Warned(f"{why}: rules made the summary", "fallback"))
        return op

    write(log, reading, writing, "compact", action, thread=selecting.thread, report=_report)


def _keep(log: Log, text: str, error: CtxkitError) -> None:
    """Save a summary that cannot be appended now: from a pipe or a model, it is nowhere else (law 4)."""
    beside = log.opening.sidecar
    if beside is None or not text.strip():
        return
    with suppress(CtxkitError):
        path = beside.keep(f"summary-{digest(text, 8)}.txt", text)
        error.hint = f"the summary is kept: try again with --summary-file {shlex.quote(str(path))}"


def _report(log: Log, op: Mapping[str, Any] | None) -> dict[str, Any]:
    """The JSON form: the op and its figures."""
    return {"op": op, "said": log.said} if log.compacted is None or op is None else log.compacted.as_json(op)
