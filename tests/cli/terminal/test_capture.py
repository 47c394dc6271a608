"""What a run of its own prints is kept, and the run around it goes on as it was."""

from __future__ import annotations

import pytest

from ctxkit.cli.terminal import streams
from ctxkit.cli.terminal.capture import Manner, captured


def test_captured(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Results and reports are kept apart; state, streams and the summary of the outer run are as before."""
    streams.begin(["status", "x"])
    streams.Streams.quiet = True
    with captured(["check", "y"], Manner(colour=False, err_colour=False, events=None)) as printed:
        streams.out("line")
        streams.say("report")
        streams.note("detail")
        streams.sum_up("all in all")
        assert (streams.Streams.words, streams.Streams.summary) == (("check", "y"), ("all in all",))
    assert (printed.out, printed.err) == (b"line\n", b"report\n")
    run = streams.Streams
    assert (run.words, run.quiet, run.among, run.summary) == (("status", "x"), True, False, ())
    streams.begin([])


def test_captured_after_an_error() -> None:
    """An error goes on, and what was printed before it is kept."""
    with pytest.raises(ValueError, match="x"), captured(["check", "y"], Manner.now()) as printed:
        streams.out("line")
        raise ValueError("x")
    assert printed.out == b"line\n"
    assert not streams.Streams.among
