"""ctxkit tool: the tool with which a model forgets: its definition, its calls, and their cleanup."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from ctxkit.changes.filter_schema import LARGEST, PROVIDERS
from ctxkit.cli.log_access import CHANGED, finish_reading, opened
from ctxkit.cli.options import Reading, Writing, named_session, takes
from ctxkit.cli.terminal import streams
from ctxkit.core.ops import sealed
from ctxkit.errors import CtxkitError, ExitCode, NoSuchLog, Usage
from ctxkit.logfile.append import check_id

HINT = "ctxkit tool schema --for openai, ctxkit tool call LOG FILE, or ctxkit tool cleanup LOG ID"


@takes(Writing, Reading)
def command(
    action: Annotated[str, typer.Argument(metavar="schema|call|cleanup", help="schema, call or cleanup.")],
    log: Annotated[
        str | None,
        typer.Argument(metavar="[LOG]", help="For call and cleanup: a log, or - for stdin.", callback=named_session),
    ] = None,
    file: Annotated[
        str | None,
        typer.Argument(metavar="[FILE|ID]", help="For call: its file, or - for stdin. For cleanup: an op."),
    ] = None,
    *,
    for_: str | None = None,
    about_model: str | None = None,
    reading: Reading,
    writing: Writing,
) -> None:
    """Let a model forget: print the definition of the tool filter_context, and execute its calls.

    `schema` prints the definition for the tools of a request. `call` executes one call on a log: a preview lists what
    matches and changes nothing; an apply appends an op as `ctxkit forget` and `ctxkit remember` do. The call is its
    arguments alone, or as OpenAI, Anthropic or Gemini give it; the answer for the model is a line of JSON. A mistake
    that the model can correct is an answer too, with `error`: exit 0, nothing appended. A call with an id is executed
    only once, even if it is sent again. With - for LOG the log goes to standard output, and the answer to standard
    error.

    `cleanup` is the last step: what was recorded after an apply (the call's result, the model's answer) leaves the
    context too. The answer to the apply names the command; `ctxkit add` runs it automatically. Run again, it does
    nothing. Without ID it cleans up after all applies that were answered: for hooks.
    """
    if action == "schema":
        _schema(for_, log)
    elif action == "call":
        _call(log, file, for_, about_model, reading, writing)
    elif action == "cleanup":
        _cleanup(log, file, for_ or about_model, reading, writing)
    else:
        raise Usage(f"tool cannot {action!r}", HINT)


def _schema(provider: str | None, more: str | None) -> None:
    from ctxkit.changes.filter_context import filter_context_tool

    if more is not None:
        raise Usage(f"the definition is the same for all logs: {more!r} is one too many", HINT)
    if provider is None:
        raise Usage("for which provider?", f"--for {', --for '.join(PROVIDERS)}")
    streams.out_json(filter_context_tool(provider))


def _cleanup(log: str | None, op: str | None, more: str | None, reading: Reading, writing: Writing) -> None:
    if more is not None:
        raise Usage("--for and --about-model do not apply to a cleanup: nothing was changed", HINT)
    if log is None:
        raise Usage("a cleanup takes a log", HINT)
    if writing.op_id is not None:
        raise Usage(
            "--op-id: the id of a cleanup is computed from what it cleans up: nothing was changed", "leave it out"
        )
    target = opened(log, reading, command="tool")
    target.args, target.dry_run = streams.Streams.words, writing.dry_run
    piped = target.opening.path is None
    try:
        found = target.cleanup(op)
    except CtxkitError as error:
        if piped and error.code is ExitCode.NO:
            streams.out_bytes(target.copy_out())
            streams.flush()
        raise
    if found and not (piped or writing.dry_run):
        streams.Streams.done = target.said
    if piped:
        streams.out_bytes(target.copy_out())
    if reading.json or writing.dry_run:
        for one in found:
            (streams.err_json if piped else streams.out_json)(sealed(one))
    said = target.said or "Nothing to clean up."
    finish_reading(target, f"Dry run, nothing was appended. Without it: {said}" if writing.dry_run and found else said)


def _call(
    log: str | None, file: str | None, provider: str | None, model: str | None, reading: Reading, writing: Writing
) -> None:
    from ctxkit.changes.filter_context import filter_context

    if provider is not None:
        raise Usage("--for is for the definition: a call is read in every shape", HINT)
    if log is None or file is None:
        raise Usage("a call takes a log, and a file with the call", HINT)
    target = opened(log, reading, command="tool")
    target.args, target.dry_run, target.op_id = streams.Streams.words, writing.dry_run, writing.op_id
    if writing.op_id is not None and writing.op_id not in target.ledger.by_id:
        check_id(writing.op_id)
    target.state()  # a log that cannot be replayed is an error, whatever the call says
    piped = target.opening.path is None
    target.ranked.warn, target.ranked.tell = streams.warn, streams.say
    found = filter_context(target, _given(file, piped=piped), model=model)
    (streams.err_json if piped else streams.out_json)(found)
    if piped:
        streams.out_bytes(target.copy_out())
    elif target.written is not None:
        streams.Streams.done = target.said
    dry = writing.dry_run and "filter_event_id" in found
    finish_reading(target, f"Dry run, nothing was appended. Without it: {target.said}" if dry else target.said)


def _given(file: str, *, piped: bool) -> bytes:
    """The bytes of the call, at most one more than allowed. Raises Usage, NoSuchLog, CtxkitError."""
    if file == "-":
        if piped:
            raise Usage("standard input cannot be both the log and the call: nothing was changed", "a file for one")
        if sys.stdin is None:
            raise Usage(f"standard input is closed: there is no call to read{CHANGED}", "a file with the call, or -")
        if sys.stdin.isatty():
            raise Usage(f"standard input is a terminal: there is no call to read{CHANGED}", "a file with the call")
        return sys.stdin.buffer.read(LARGEST + 1)
    try:
        with open(file, "rb") as stream:
            return stream.read(LARGEST + 1)
    except OSError as error:
        reason = (error.strerror or os.strerror(error.errno or 0)).lower()
        raise _cannot_read(f"{file}: {reason}{CHANGED}", error) from error


def _cannot_read(text: str, error: OSError) -> CtxkitError:
    from ctxkit.errors import NoPermission, ReadFailed

    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return NoSuchLog(text, "a file with the call, or - for standard input")
    return NoPermission(text) if isinstance(error, PermissionError) else ReadFailed(text)
