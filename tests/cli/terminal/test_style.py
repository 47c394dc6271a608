"""Colour: who may have it, and that a transcript cannot make any."""

from __future__ import annotations

import pytest

from ctxkit.cli.terminal import streams
from ctxkit.cli.terminal.style import Styled, allowed, painted


@pytest.mark.parametrize(
    ("env", "terminal", "expected"),
    [
        ({}, True, True),
        ({}, False, False),
        ({"NO_COLOR": "1"}, True, False),
        ({"NO_COLOR": ""}, True, True),
        ({"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, True, False),
        ({"CLICOLOR_FORCE": "1"}, False, True),
        ({"CLICOLOR_FORCE": "0"}, False, False),
        ({"CLICOLOR": "0"}, True, False),
        ({"TERM": "dumb"}, True, False),
    ],
)
def test_who_may_have_colour(env: dict[str, str], terminal: bool, expected: bool) -> None:
    """First that speaks: NO_COLOR, CLICOLOR_FORCE, then terminals that can."""
    assert allowed(env, terminal=terminal) is expected


def test_styles_are_joined() -> None:
    """Several styles make one sequence; nothing is put around nothing."""
    assert painted("x", "bold red") == "\x1b[1;31mx\x1b[0m"
    assert painted("", "bold") == ""


def test_only_our_own_sequences_reach_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sequence inside an inked text is made visible like any other."""
    put: list[bytes] = []
    monkeypatch.setattr(streams, "_put", put.append)
    monkeypatch.setattr(streams.Streams, "colour", True)
    streams.out("a\x1b[31m", Styled("b\x1b[0m\n", "green"))
    assert put == ["a␛[31m\x1b[32mb␛[0m␊\x1b[0m\n".encode()]


def test_a_warning_has_its_colour(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """Yellow on the name alone; without colour no sequence."""
    for coloured in (True, False):
        streams.begin(())
        monkeypatch.setattr(streams.Streams, "err_colour", coloured)
        streams.warn("beware")
        name = b"\x1b[33mctxkit:\x1b[0m" if coloured else b"ctxkit:"
        assert capfdbinary.readouterr().err == name + b" beware\n"
