"""window: arithmetic, bounds, levels, words. Rules one by one: tests/core/test_rules.py."""

from __future__ import annotations

import pytest

from ctxkit.changes.window import Bounds, effective, off, reset, set_to, shift, show
from ctxkit.core.decision import Decision
from ctxkit.errors import WindowOff
from tests import build

H = 3600
EIGHT = Bounds({None: 8 * H, "frodo": 4 * H})


def decide(spec: str, bounds: Bounds, command: str, seconds: int = 0, agent: str | None = None) -> Decision:
    """One command on a log."""
    state, at = build.state(spec), build.here(build.log(spec))
    if command == "set":
        return set_to(state, at, bounds, seconds, agent, "asked")
    if command == "add":
        return shift(state, at, bounds, seconds, agent)
    return (reset if command == "reset" else off)(state, at, bounds, agent)


@pytest.mark.parametrize(
    ("spec", "bounds", "agent", "words"),
    [
        ("1", Bounds(), None, "Context window: off (default: off)"),
        ("1", EIGHT, None, "Context window: 8h (default: 8h)"),
        ("1", EIGHT, "frodo", "Context window: 4h (default: 4h)"),
        ("1", EIGHT, "sam", "Context window: 8h (default: 8h)"),
        ("1 | window 86400", EIGHT, None, "Context window: 24h (default: 8h)"),
        ("1 | window 86400", EIGHT, "frodo", "Context window: 24h (default: 4h)"),
        ("1 | window 0 agent=frodo", EIGHT, "frodo", "Context window: off (default: 4h)"),
    ],
)
def test_show(spec: str, bounds: Bounds, agent: str | None, words: str) -> None:
    """The window in force, and the default."""
    assert show(build.state(spec), bounds, agent) == words


@pytest.mark.parametrize(
    ("spec", "bounds", "command", "seconds", "agent", "expected", "said"),
    [
        ("1", Bounds(), "set", 24 * H, None, 24 * H, "Context window set to 24h"),
        ("1", Bounds(), "set", 90 * 60, "frodo", 90 * 60, "Context window set to 1h 30m"),
        ("1", Bounds(), "set", 1, None, H, "Context window set to 1h"),
        ("1", Bounds(), "set", 10**9, None, 168 * H, "Context window set to 168h"),
        ("1", Bounds(least=60, most=120), "set", 61, None, 61, "Context window set to 1m 1s"),
        ("1", EIGHT, "set", 8 * H, None, 8 * H, "Context window set to 8h"),
        ("1", EIGHT, "add", 8 * H, None, 16 * H, "Context window set to 16h"),
        ("1", EIGHT, "add", -4 * H, None, 4 * H, "Context window set to 4h"),
        ("1", EIGHT, "add", -9 * H, None, H, "Context window set to 1h"),
        ("1 | window 86400", EIGHT, "add", H, "frodo", 25 * H, "Context window set to 25h"),
        ("1 | window 86400", EIGHT, "reset", 0, None, None, "Context window reset to default (8h)"),
        ("1 | window 0", Bounds(), "reset", 0, None, None, "Context window reset to default (off)"),
        ("1", EIGHT, "off", 0, None, 0, "Context window set to off"),
        ("1", Bounds(), "off", 0, "frodo", 0, "Context window set to off"),
        ("1 | window 86400", Bounds(), "off", 0, None, 0, "Context window set to off"),
    ],
)
def test_decides(
    spec: str, bounds: Bounds, command: str, seconds: int, agent: str | None, expected: int | None, said: str
) -> None:
    """Seconds, clamped; null follows the default; 0 is off; each for its own level."""
    decision = decide(spec, bounds, command, seconds, agent)
    assert decision.op is not None
    assert (getattr(decision.op, "seconds", -1), getattr(decision.op, "agent", ""), decision.said) == (
        expected,
        agent,
        said,
    )
    notes = [note for note in decision.notes if not note.startswith("no message of this log is of the agent")]
    assert bool(notes) == (command in ("set", "add") and expected in (H, 168 * H) and seconds != expected)
    assert (len(notes) < len(decision.notes)) == (agent is not None and command in ("set", "add"))


@pytest.mark.parametrize(
    ("spec", "bounds", "command", "seconds", "agent"),
    [
        ("1 | window 86400", EIGHT, "set", 86400, None),
        ("1 | window 3600", EIGHT, "set", 1, None),
        ("1", EIGHT, "reset", 0, None),
        ("1 | window 86400", EIGHT, "reset", 0, "frodo"),
        ("1", Bounds(), "off", 0, None),
        ("1 | window 0", EIGHT, "off", 0, None),
        ("1 | window 0 agent=frodo", EIGHT, "off", 0, "frodo"),
    ],
)
def test_holds_already(spec: str, bounds: Bounds, command: str, seconds: int, agent: str | None) -> None:
    """Nothing is appended (replay 50)."""
    assert decide(spec, bounds, command, seconds, agent).op is None


def test_arithmetic_needs_a_window() -> None:
    """Off is no number."""
    for spec in ("1", "1 | window 0"):
        with pytest.raises(WindowOff, match="no window is set"):
            decide(spec, Bounds(), "add", H)


def test_effective() -> None:
    """Ops before config, the agent's before all's (replay 40)."""
    state = build.state("1 | window 7200 | window 3600 agent=frodo")
    assert [effective(state, EIGHT, agent) for agent in (None, "frodo", "sam")] == [7200, 3600, 7200]
