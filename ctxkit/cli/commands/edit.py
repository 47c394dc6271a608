"""ctxkit edit: the whole history in an editor; what is left there is the context."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from ctxkit.api.log import Log
from ctxkit.cli.log_access import CHANGED, asked, finish_reading, opened, words_given, write
from ctxkit.cli.options import LogArgument, Numbers, Reading, Selecting, Writing, takes
from ctxkit.cli.terminal import streams
from ctxkit.core.ops import Op
from ctxkit.errors import BadDraft, CtxkitError, ExitCode, Usage
from ctxkit.formats.bodies import batched
from ctxkit.store.sidecar import Sidecar
from ctxkit.store.spool import Spool

LARGEST = 1 << 30
"""Bytes of a draft."""


@takes(Selecting, Writing, Reading)
def command(
    log: LogArgument = "-",
    numbers: Numbers = None,
    *,
    only_context: Annotated[bool, typer.Option("--only-context", help="Only messages in the context.")] = False,
    print_: Annotated[bool, typer.Option("--print", help="Print the draft; do not edit.")] = False,
    apply: Annotated[
        str | None, typer.Option(metavar="FILE", help="Apply this edited draft; - for standard input.")
    ] = None,
    reading: Reading,
    writing: Writing,
    selecting: Selecting,
) -> None:
    """Edit the context in an editor: delete, reorder, change, add, bring back.

    The editor is $VISUAL, else $EDITOR, else, on a terminal, vi. The draft holds all messages of the log, a line
    `%% NUMBER TIME ROLE` before each. What is out of the context is commented out, with its state: taking away the #
    brings it back, also from before a clear. With numbers or criteria it holds these, and the others stay as they are.
    Saved as it is, nothing changes; without any message the edit is cancelled. After a mistake the editor opens again,
    with what is wrong at its line; where nobody sits at a terminal: exit 65, and the draft is kept. --print and --apply
    need no editor: what one prints the other takes.
    """
    chosen = bool(numbers) or only_context or any(getattr(selecting, key) for key in Selecting.__annotations__)
    if print_:
        if apply is not None:
            raise Usage("--print and --apply cannot be combined: nothing was changed", "use only one of them")
        _print(opened(log, reading, command="edit", thread=selecting.thread), numbers, selecting, reading, only_context)
        return
    if apply is not None and chosen:
        text = "the draft already says which messages it has: nothing was changed"
        raise Usage(text, "use numbers, criteria and --only-context with --print")

    def action(target: Log) -> Op | None:
        if apply is not None:
            return _applied(target, apply)
        from ctxkit.cli.terminal import editor

        return editor.edit(target, asked(target, numbers, selecting), only_context=only_context)

    write(log, reading, writing, "edit", action, thread=selecting.thread)


def _applied(target: Log, file: str) -> Op | None:
    text = words_given(target, "--apply", file, after=CHANGED, refused=BadDraft, largest=LARGEST)
    beside = target.opening.sidecar
    try:
        op = target.edit(text)
    except BadDraft as error:
        if file != "-":
            error.name(file)
        raise
    except CtxkitError as error:
        if file == "-" and error.code is ExitCode.TRY_AGAIN and beside is not None:
            _keep(target, beside, text, error)
        raise
    if beside is not None and not target.dry_run:
        from ctxkit.store.drafts import discard

        discard(beside, Path(file))
    return op


def _keep(target: Log, beside: Sidecar, text: str, error: CtxkitError) -> None:
    """A draft that came on standard input and cannot be applied now is nowhere else any more (law 4)."""
    from ctxkit.edit.editor import kept
    from ctxkit.store.drafts import Draft

    with suppress(CtxkitError):
        error.hint = kept(target, Draft(beside, text), error)


def _print(target: Log, numbers: list[str] | None, selecting: Selecting, reading: Reading, only_context: bool) -> None:
    from ctxkit.edit.edit import Editing

    editing = Editing.of(target, asked(target, numbers, selecting), only_context=only_context)
    if reading.json:
        streams.out_json({"draft": editing.text})
    else:
        streams.out_bytes(Spool(batched(piece.encode("utf-8") for piece in editing.pieces())))
    finish_reading(target)
