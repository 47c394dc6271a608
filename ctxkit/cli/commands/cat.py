"""ctxkit cat: a log with its sidecar's ops merged in."""

from __future__ import annotations

from ctxkit.cli.log_access import opened
from ctxkit.cli.options import LogArgument, Reading, takes
from ctxkit.cli.terminal import streams


@takes(Reading)
def command(log: LogArgument = "-", *, reading: Reading) -> None:
    """Print a log byte for byte, its sidecar's ops merged in at their places.

    Start a pipe with it, so that the next command knows the ops: `ctxkit cat LOG | ctxkit forget - 45 | …`. For a
    native log plain `cat` is enough, because its ops are in the file.
    """
    target = opened(log, reading, command="cat")
    streams.out_bytes(target.merged())
