"""Runs a command with a meter on, where CTXKIT_LOG names a token log: what it counted is written down when it ended."""

from __future__ import annotations

from collections.abc import Callable

from ctxkit.cli.terminal import streams
from ctxkit.errors import CtxkitError
from ctxkit.measure.token_log import VARIABLE, Meter


def metered(command: str, path: str, run: Callable[[], int]) -> int:
    """The exit status of `run`; trouble with the token log is said, and changes nothing."""
    meter = streams.Streams.meter = Meter(command)
    status = run()
    try:
        meter.write(path, status)
    except Exception as error:  # the command is done, and this is not its result
        streams.warn(f"{VARIABLE}: {error.message if isinstance(error, CtxkitError) else type(error).__name__}")
    return status
