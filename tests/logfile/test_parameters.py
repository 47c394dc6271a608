"""The parameters of a projection, each with where it comes from."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from ctxkit.api.log import Log
from ctxkit.logfile.parameters import ValueWithOrigin, WindowOrigin, parameters
from tests.cli.runner import SMALL, good, lines, message, small


def piped(env: dict[str, str] | None = None, extra: bytes = b"") -> Log:
    """The small log as a stream, in this environment."""
    return Log.open(io.BytesIO(SMALL + extra), env=env or {}, clock=lambda: 1770000000.0)


@pytest.mark.parametrize(
    ("env", "typed", "expected"),
    [
        ({}, None, WindowOrigin("last", None, "default")),
        ({"CTXKIT_WINDOW_DEFAULT": "8h"}, None, WindowOrigin("last", "2026-02-01T10:10:00Z", "default")),
        ({"CTXKIT_NOW": "wall"}, None, WindowOrigin("wall", "2026-02-02T02:40:00Z", "CTXKIT_NOW")),
        (
            {"CTXKIT_NOW": "wall"},
            "2026-03-01T00:00:00Z",
            WindowOrigin("2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z", "flag"),
        ),
    ],
)
def test_now(env: dict[str, str], typed: str | None, expected: WindowOrigin) -> None:
    """As typed, before the environment, before the default; `last` is looked for only where a window counts from it."""
    log = piped(env)
    log.now = typed
    assert parameters(log).now == expected


def test_windows(tmp_path: Path) -> None:
    """The op that set one, the line of the config, or the default; an agent's own and the one for all."""
    path = small(tmp_path)
    sidecar = tmp_path / "chat.jsonl.ctxkit"
    sidecar.mkdir()
    config = sidecar / "config.toml"
    config.write_text('[window]\ndefault = "8h"\n[agents.sam]\nwindow = "3h"\n')
    assert parameters(Log.open(path)).window == ValueWithOrigin(28800, f"{config}:2")
    assert parameters(Log.open(path)).agents == {"sam": ValueWithOrigin(10800, f"{config}:4")}
    good("window", path, "24h")
    good("window", path, "2h", "--agent", "frodo")
    good("window", path, "12h")
    found = parameters(Log.open(path))
    assert found.window == ValueWithOrigin(43200, "op 3")
    assert found.agents == {"frodo": ValueWithOrigin(7200, "op 2"), "sam": ValueWithOrigin(43200, "op 3")}
    good("undo", path)
    assert parameters(Log.open(path)).window == ValueWithOrigin(86400, "op 1")
    good("window", path, "reset")
    assert parameters(Log.open(path)).window == ValueWithOrigin(28800, f"{config}:2")


def test_the_rest() -> None:
    """Filters, the op looked back to, the newest, format and conversation."""
    extra = lines(message("user", "x", 20, agent="a"), {"ctxkit": "mark", "id": "op1", "at": {"messages": 12}})
    log = piped({"CTXKIT_WINDOW_MESSAGES": "5"}, extra)
    log.lens_agent, log.at = "a", "op1"
    found = parameters(log)
    assert (found.agent, found.thread, found.at, found.conversation, found.format) == ("a", None, 1, None, "chat")
    assert found.newest == ValueWithOrigin(5, "CTXKIT_WINDOW_MESSAGES")
    assert (found.forced, found.assembly) == ([], None)


def test_right_before_an_op() -> None:
    """`3^`: that op's number, and that it is before it."""
    log = piped(extra=lines({"ctxkit": "mark", "id": "op1", "at": {"messages": 11}}))
    log.at = "op1^"
    assert (parameters(log).at, parameters(log).before) == (1, True)


def test_forced_ops_are_named() -> None:
    """With --force-replay, what does not fit is applied all the same, and said."""
    log = piped(extra=lines({"ctxkit": "forget", "v": 1, "id": "f", "at": {"messages": 11, "last": "no"}, "ids": "2"}))
    log.force = True
    assert parameters(log).forced == ["op 1 (forget) does not fit: message 11 is not the one that it was written after"]
