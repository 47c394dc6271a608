"""Runs the user's editor on a draft, without a shell: `$VISUAL`, else `$EDITOR`, else `vi`.

No file in a folder can set it. Used by `edit`, which runs it again if a draft has mistakes.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from pathlib import Path

from ctxkit.api.log import Log
from ctxkit.cli.terminal import streams
from ctxkit.core.ops import Op
from ctxkit.core.select import Selection
from ctxkit.core.text.utf8 import utf8
from ctxkit.errors import BadConfig, BadDraft, CannotCreate, CtxkitError, EditorFailed, NothingChanges, reason_of

USUAL = "vi"
"""The default, on a terminal only: elsewhere it would wait for keys that nobody types."""
HINT = "set VISUAL or EDITOR; --print and --draft need no editor"
PRIVATE = 0o077
"""The umask of the editor: its backup files are private, too."""
AT_ONCE = 0.5
"""Seconds in which nobody can edit: an editor that ends faster has a window of its own."""


def edit(log: Log, asked: Selection, *, only_context: bool, plain: bool = False) -> Op | None:
    """Edit the selected messages; return the op, or None without a change. Raises the errors of `command`, `run` and
    `Log.edit`; the hint names the kept draft.
    """
    from ctxkit.edit.editor import Drafting
    from ctxkit.store.drafts import left

    beside = log.opening.sidecar
    if log.opening.path is None and any(os.environ.get(name, "").strip() for name in ("VISUAL", "EDITOR")):
        return _edit_stream(log, asked, only_context=only_context, plain=plain)
    if beside is not None and log.opening.path is not None:
        command(os.environ)  # without an editor no draft is written
    for path in left(beside) if beside is not None else ():
        streams.say(f"a draft of an earlier edit is left: {path}")
    began = time.monotonic()
    op = Drafting(log, asked, run, _again, only_context=only_context, plain=plain).edit()
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
        run(path)
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


def command(env: Mapping[str, str]) -> str:
    """Return the command line of the editor. Raises BadConfig if none is named and there is no terminal."""
    named = next((words for name in ("VISUAL", "EDITOR") if (words := env.get(name, "").strip())), "")
    if not named and not streams.on_terminal():
        raise BadConfig("no editor is named, and this is no terminal: nothing was changed", HINT)
    return named or USUAL


def run(path: Path) -> None:
    """Run the editor on `path` and wait. Raises BadConfig if it cannot be started, EditorFailed if it fails."""
    import shlex
    import subprocess
    import termios

    words = command(os.environ)
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
