"""ctxkit compact: old messages are replaced by a summary of them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any

import typer

from ctxkit.api.log import Log
from ctxkit.cli.amounts import tokens
from ctxkit.cli.log_access import CHANGED, asked, words_given, write
from ctxkit.cli.options import LogArgument, Numbers, Reading, Selecting, Writing, takes
from ctxkit.cli.terminal import streams
from ctxkit.core.ops import Op
from ctxkit.core.strategies import NAMES, RULES, asks_model
from ctxkit.core.text.json_text import digest
from ctxkit.errors import BadSummary, CtxkitError, ExitCode
from ctxkit.llm.hooks import Hooks


@takes(Selecting, Writing, Reading)
def command(
    log: LogArgument = "-",
    numbers: Numbers = None,
    *,
    target: Annotated[
        str | None, typer.Option(metavar="P%", help="Tokens of all messages after, as a share of those before (30%).")
    ] = None,
    budget: Annotated[str | None, typer.Option(metavar="N", help="The target in tokens (40000, 40k).")] = None,
    keep_last: Annotated[
        int | None, typer.Option("--keep-last", metavar="K", min=0, help="Keep the newest N exchanges as they are.")
    ] = None,
    keep_steps: Annotated[
        int | None, typer.Option("--keep-steps", metavar="K", min=0, help="Keep the newest N steps as they are.")
    ] = None,
    strategy: Annotated[
        str | None, typer.Option(metavar="|".join(NAMES), help=f"How messages are summarized ({RULES}).")
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="Ask this model, as openai/gpt-….")] = None,
    fast: Annotated[bool, typer.Option("--fast", help="Ask the model compact.fast_model.")] = False,
    no_fallback: Annotated[
        bool, typer.Option("--no-fallback", help="Exit 69 if the model gives no summary, instead of using rules.")
    ] = False,
    summary: Annotated[
        str | None, typer.Option(metavar="FILE", help="A file with the summary; - for standard input.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Also if the context is not full, or the target is reached.")
    ] = False,
    reading: Reading,
    writing: Writing,
    selecting: Selecting,
) -> None:
    """Replace old messages by a summary of them. Nothing leaves the log.

    Rules write the summary, offline, from the text of the messages: files, commands, errors, decisions, code and other
    important lines, each with its message number. Protected messages, the first message, and the newest exchanges or
    steps stay. Without options it acts if the context is 80 % full; with --target, --budget, --summary, --force,
    numbers or criteria it always acts. With numbers or criteria only the selected messages are replaced, and the target
    is a share of them unless you give one. A very long first or newest message is shortened. `ctxkit undo LOG` brings
    everything back.

    With --model, --fast or --strategy llm a model writes a story, and the facts by rules follow below it. If the model
    gives none, rules write everything. The model gets the messages, without the secrets that are found in them.
    """

    tells = strategy is None or asks_model(strategy)
    asks = model if selecting.about is None or tells else None  # else it chooses messages alone

    def action(found: Log) -> Op | None:
        text = None if summary is None else words_given(found, "--summary", summary, after=CHANGED, refused=BadSummary)
        try:
            with streams.progress("Condensing context", "") as step:
                op = found.compact(
                    asked(found, numbers, selecting), target=target, budget=tokens("--budget", budget),
                    keep_last=keep_last, keep_steps=keep_steps, strategy=strategy, summary=text, force=force,
                    summary_model=asks, fast=fast, fallback=not no_fallback, hooks=Hooks(tell=streams.say, step=step),
                )  # fmt: skip
        except CtxkitError as error:
            made = found.compacted.found.op if found.compacted is not None else None
            by_model = made.text if made is not None and made.model is not None else None
            if error.code is ExitCode.TRY_AGAIN and (words := by_model or (text if summary == "-" else None)):
                _keep(found, words, error)
            raise
        if found.compacted is not None and (why := found.compacted.found.op.fallback):
            streams.warn(f"{why}: rules made the summary")
        return op

    write(log, reading, writing, "compact", action, thread=selecting.thread, report=_report)


def _keep(log: Log, text: str, error: CtxkitError) -> None:
    """A summary that came on standard input, or from a model, and cannot be appended now is nowhere else (law 4)."""
    beside = log.opening.sidecar
    if beside is None or not text.strip():
        return
    with suppress(CtxkitError):
        path = beside.keep(f"summary-{digest(text, 8)}.txt", text)
        error.hint = f"the summary is kept: try again with --summary {shlex.quote(str(path))}"


def _report(log: Log, op: Mapping[str, Any] | None) -> dict[str, Any]:
    """The machine form: the op, and what it did in figures."""
    return {"op": op, "said": log.said} if log.compacted is None or op is None else log.compacted.as_json(op)
