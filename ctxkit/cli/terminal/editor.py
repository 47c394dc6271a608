"""The editor that somebody named: `$VISUAL`, else `$EDITOR`, else `vi`; without a shell, on a file of ours.

Nothing in a folder names it. Used by `edit`, for which it is asked again where a draft has mistakes.
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
from ctxkit.errors import BadConfig, BadDraft, EditorFailed

USUAL = "vi"
"""On a terminal alone: elsewhere it draws into whatever is there, and waits for keys that nobody types."""
HINT = "set VISUAL or EDITOR; --print and --apply need no editor"
PRIVATE = 0o077
"""What an editor writes beside the file is for nobody else either."""
AT_ONCE = 0.5
"""Seconds in which nobody edits anything."""


def edit(log: Log, asked: Selection, *, only_context: bool) -> Op | None:
    """An edit of what was asked for. Raises what `command`, `run` and `Log.edit` raise; the hint says where a draft is
    kept.
    """
    from ctxkit.edit.editor import Drafting
    from ctxkit.store.drafts import left

    beside = log.opening.sidecar
    if beside is not None and log.opening.path is not None:
        command(os.environ)  # where there is no editor nothing is written, a draft neither
    for path in left(beside) if beside is not None else ():
        streams.say(f"a draft of an earlier edit is left: {path}")
    began = time.monotonic()
    op = Drafting(log, asked, run, _again, only_context=only_context).edit()
    if op is None and streams.on_terminal() and time.monotonic() - began < AT_ONCE:
        log.notes = ['the editor came back at once; one with a window must wait: EDITOR="code --wait"']
    return op


def _again(error: BadDraft) -> bool:
    """Whether somebody is there who sees the draft once more."""
    return streams.on_terminal()


def command(env: Mapping[str, str]) -> str:
    """The editor's command line. Raises BadConfig where none is named, and nobody sits at a terminal."""
    named = next((words for name in ("VISUAL", "EDITOR") if (words := env.get(name, "").strip())), "")
    if not named and not streams.on_terminal():
        raise BadConfig("no editor is named, and this is no terminal: nothing was changed", HINT)
    return named or USUAL


def run(path: Path) -> None:
    """Let it edit `path`, and wait. Raises BadConfig where it cannot be started, EditorFailed where it failed."""
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
        shown = None if os.isatty(1) else 2  # what an editor draws or says is no result
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
        termios.tcsetattr(0, termios.TCSADRAIN, terminal)  # it could not leave it as it was
    if status:
        how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with {status}"
        raise EditorFailed(f"the editor {words!r} {how}: nothing was changed")
