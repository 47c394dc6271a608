"""ctxkit edit: the whole history in an editor; what is left there is the context."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from ctxkit.api.log import Log
from ctxkit.cli.log_access import CHANGED, finish_reading, opened, selection_of, typed, words_given, write
from ctxkit.cli.options import LogArgument, Numbers, Reading, Selecting, Writing, takes
from ctxkit.cli.terminal import streams
from ctxkit.core.ops import Op
from ctxkit.core.text.utf8 import utf8
from ctxkit.errors import BadDraft, CtxkitError, ExitCode, Usage
from ctxkit.formats.bodies import batched
from ctxkit.store.sidecar import Sidecar
from ctxkit.store.spool import Spool

LARGEST = 1 << 30
"""Most bytes of a draft."""


@takes(Selecting, Writing, Reading)
def command(
    log: LogArgument = "-",
    numbers: Numbers = None,
    *,
    only_context: bool = False,
    plain: bool = False,
    print_: bool = False,
    draft: str | None = None,
    reading: Reading,
    writing: Writing,
    selecting: Selecting,
) -> None:
    """Edit the context in an editor: delete, reorder, change, add, bring back.

    The editor is $VISUAL, else $EDITOR, else, on a terminal, vi; in a pipe one must be named. The draft holds all
    messages of the log, with a line `%% NUMBER TIME ROLE` before each. Messages that are out of the context are
    commented out, with their state: remove the # to bring one back, even from before a clear. With numbers or criteria
    the draft holds only those messages, and the others stay as they are. If you save the draft unchanged, nothing
    changes; if it has no message left, the edit is cancelled. After a mistake the editor opens again and shows the
    error at its line; without a terminal: exit 65, and the draft is kept. --print and --draft need no editor: --draft
    takes what --print printed, or a conversation kept elsewhere, with a line `[2025-01-18 22:15:03] NAME: TEXT`
    for each message: the context becomes what it says.

    --plain: the draft is a conversation, with a line `[TIME] NAME: TEXT` for each message, and [new] for a new one.
    What this form cannot say (calls, results, images, thinking) is a line <<...>>, which stays as it is.
    """
    chosen = bool(numbers) or only_context or plain or any(getattr(selecting, key) for key in Selecting.__annotations__)
    if print_:
        if draft is not None:
            raise Usage("--print and --draft cannot be combined: nothing was changed", "use only one of them")
        _print(
            opened(log, reading, command="edit", thread=selecting.thread),
            numbers,
            selecting,
            reading,
            only_context,
            plain,
        )
        return
    if draft is not None and chosen:
        text = "the draft already says which messages it has, and its form: nothing was changed"
        raise Usage(text, "use numbers, criteria, --only-context and --plain with --print")

    def action(target: Log) -> Op | None:
        if draft is not None:
            return _applied(target, draft)
        from ctxkit.cli.terminal import editor

        return editor.edit(target, selection_of(target, numbers, selecting), only_context=only_context, plain=plain)

    write(log, reading, writing, "edit", action, thread=selecting.thread)


def _applied(target: Log, file: str) -> Op | None:
    from ctxkit.edit.parse import base_of
    from ctxkit.edit.plain import with_times

    text = words_given(target, "--draft", file, after=CHANGED, refused=BadDraft, largest=LARGEST)
    if base_of(text) is None:
        text = with_times(text, lambda time: typed(time) or time)  # a person's times are in the person's zone
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
    """Save a draft from standard input that cannot be applied now: it is nowhere else (law 4)."""
    from ctxkit.edit.editor import kept
    from ctxkit.store.drafts import Draft

    with suppress(CtxkitError):
        error.hint = kept(target, Draft(beside, text), error)


def _print(
    target: Log, numbers: list[str] | None, selecting: Selecting, reading: Reading, only_context: bool, plain: bool
) -> None:
    from ctxkit.edit.edit import Editing

    editing = Editing.of(target, selection_of(target, numbers, selecting), only_context=only_context, plain=plain)
    if reading.json:
        streams.out_json({"draft": editing.text})
    else:
        streams.out_bytes(Spool(batched(utf8(piece) for piece in editing.pieces())))
    finish_reading(target)
