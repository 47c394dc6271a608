"""ctxkit edit: the whole history in an editor; what is left there is the context."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ctxkit.api.log import Log
from ctxkit.cli.log_access import CHANGED, finish_reading, opened, selection_of, typed, words_given, write
from ctxkit.cli.options import LogArgument, Numbers, Reading, Selecting, Writing, takes
from ctxkit.cli.terminal import streams
from ctxkit.core.ops import Op
from ctxkit.core.select import Selection
from ctxkit.core.text.utf8 import utf8
from ctxkit.errors import (
    BadConfig,
    BadDraft,
    CannotCreate,
    CtxkitError,
    EditorFailed,
    ExitCode,
    NothingChanges,
    Usage,
    reason_of,
)
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
        return edit(target, selection_of(target, numbers, selecting), only_context=only_context, plain=plain)

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


USUAL = "vi"
"""The default, on a terminal only: elsewhere it would wait for keys that nobody types."""
HINT = "set VISUAL or EDITOR; --print and --draft need no editor"
PRIVATE = 0o077
"""The umask of the editor: its backup files are private, too."""
AT_ONCE = 0.5
"""Seconds in which nobody can edit: an editor that ends faster has a window of its own."""


def edit(log: Log, asked: Selection, *, only_context: bool, plain: bool = False) -> Op | None:
    """Edit the selected messages; return the op, or None without a change.

    Raises the errors of `editor_of`, `run_editor` and `Log.edit`; the hint names the kept draft.
    """
    from ctxkit.edit.editor import Drafting
    from ctxkit.store.drafts import left

    beside = log.opening.sidecar
    if log.opening.path is None and any(os.environ.get(name, "").strip() for name in ("VISUAL", "EDITOR")):
        return _edit_stream(log, asked, only_context=only_context, plain=plain)
    if beside is not None and log.opening.path is not None:
        editor_of(os.environ)  # without an editor no draft is written
    for path in left(beside) if beside is not None else ():
        streams.say(f"a draft of an earlier edit is left: {path}")
    began = time.monotonic()
    op = Drafting(log, asked, run_editor, _again, only_context=only_context, plain=plain).edit()
    if op is None and streams.on_terminal() and time.monotonic() - began < AT_ONCE:
        log.notes = ['the editor ended at once; if it has a window: EDITOR="code --wait"']
    return op


def _edit_stream(log: Log, asked: Selection, *, only_context: bool, plain: bool) -> Op | None:
    """Edit a log on standard input. It has no sidecar: the draft is in a folder of its own in the user's cache, and
    stays there, named in the hint, if it cannot be applied.
    """
    import shutil
    import tempfile

    from ctxkit.edit.edit import Editing
    from ctxkit.store.private import make_private, user_cache

    given = Editing.of(log, asked, only_context=only_context, plain=plain).text
    try:
        make_private(user_cache(os.environ))
        folder = Path(tempfile.mkdtemp(prefix="draft-", dir=user_cache(os.environ)))  # 0700
        path = folder / "draft.txt"
        path.write_bytes(utf8(given))
    except OSError as error:
        text = f"{user_cache(os.environ)}: cannot create a draft: {reason_of(error)}: nothing was changed"
        raise CannotCreate(text, HINT) from error
    changed = False
    try:
        run_editor(path)
        try:
            edited = path.read_bytes().decode()
        except (OSError, ValueError) as error:
            raise BadDraft(f"{path}: the draft cannot be read: {error}: nothing was changed") from error
        changed = edited != given
        op = log.edit(edited)
    except CtxkitError as error:
        if not changed or isinstance(error, NothingChanges):
            shutil.rmtree(folder, ignore_errors=True)
        else:
            error.hint = f"the draft is kept: ctxkit edit - --draft {path}"
        raise
    shutil.rmtree(folder, ignore_errors=True)
    return op


def _again(error: BadDraft) -> bool:
    """Whether a user can edit the draft again."""
    return streams.on_terminal()


def editor_of(env: Mapping[str, str]) -> str:
    """Return the command line of the editor. Raises BadConfig if none is named and there is no terminal."""
    named = next((words for name in ("VISUAL", "EDITOR") if (words := env.get(name, "").strip())), "")
    if not named and not streams.on_terminal():
        raise BadConfig("no editor is named, and this is no terminal: nothing was changed", HINT)
    return named or USUAL


def run_editor(path: Path) -> None:
    """Run the editor on `path` and wait. Raises BadConfig if it cannot be started, EditorFailed if it fails."""
    import shlex
    import subprocess
    import termios

    words = editor_of(os.environ)
    streams.flush()
    terminal = termios.tcgetattr(0) if os.isatty(0) else None
    # Ctrl-C is for the editor; a handler, unlike SIG_IGN, is not inherited by it
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        called = shlex.split(words)
        shown = None if os.isatty(1) else 2  # output of an editor is no result
        program = subprocess.Popen([*called, str(path)], umask=PRIVATE, stdout=shown)  # noqa: S603  # no shell
        status = program.wait()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        text = f"the editor {words!r} cannot be started: {why.lower()}: nothing was changed"
        raise BadConfig(text, HINT) from error
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if status < 0 and terminal is not None:
        termios.tcsetattr(0, termios.TCSADRAIN, terminal)  # a killed editor cannot restore it
    if status:
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with {status}"
        raise EditorFailed(f"the editor {words!r} {how}: nothing was changed")
