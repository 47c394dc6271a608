"""ctxkit cat: a log with its sidecar's ops merged in."""

from __future__ import annotations

from ctxkit.cli.log_access import opened
from ctxkit.cli.options import LogArgument, Reading, takes
from ctxkit.cli.terminal import streams


@takes(Reading)
def command(log: LogArgument = "-", *, reading: Reading) -> None:
    """Print a log byte for byte, its sidecar's ops merged in at their places.

    The start of a pipe that should know what was done before: `ctxkit cat LOG | ctxkit forget - 45 | …`. Plain `cat`
    does for a native log, whose ops are in it.
    """
    target = opened(log, reading, command="cat")
    streams.out_bytes(target.merged())
