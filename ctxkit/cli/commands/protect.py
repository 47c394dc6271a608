"""ctxkit protect: messages that no rule may take away; --off takes the protection away."""

from __future__ import annotations

from ctxkit.api.log import Log
from ctxkit.cli.log_access import selection_of, write
from ctxkit.cli.options import LogArgument, Numbers, Reading, Selecting, Writing, takes
from ctxkit.core.ops import Op
from ctxkit.errors import Usage


@takes(Selecting, Writing, Reading)
def command(
    log: LogArgument = "-",
    numbers: Numbers = None,
    *,
    off: bool = False,
    force: bool = False,
    reading: Reading,
    writing: Writing,
    selecting: Selecting,
) -> None:
    """Protect messages from compact, trim, window, remember and forget (unless forced).

    A step (a call with its results) is protected as a whole. clear, rewind and edit still take protected messages out;
    such a message is still protected when it comes back.

    --off removes the protection, including the default protection of the first message. The system preamble is always
    protected, unless --force is added.
    """
    if force and not off:
        raise Usage("--force belongs to --off: nothing was changed", "leave it out")

    def action(target: Log) -> Op | None:
        chosen = selection_of(target, numbers, selecting)
        return target.unprotect(chosen, force=force) if off else target.protect(chosen)

    write(log, reading, writing, "protect", action, thread=selecting.thread)
