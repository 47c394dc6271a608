"""For every message, whether it is in the context, and why."""

from __future__ import annotations

import io

import pytest

from ctxkit.api.log import Log
from ctxkit.core.item_names import Names
from ctxkit.explain.explain import everything, explained
from tests.cli.runner import SMALL, lines, message
from tests.measure.test_status import REAL, _many


def told(raw: bytes, env: dict[str, str] | None = None, chosen: str | None = None) -> list[str]:
    """Label, standing, and reasons in brief."""
    log = Log.open(io.BytesIO(raw), env=env or {})
    found = explained(log, None if chosen is None else Names.parse(chosen))
    return [f"{one.label} {one.visibility.kind}: {'; '.join(reason.brief for reason in one.reasons)}" for one in found]


def test_all_of_them() -> None:
    """Each once, items where they stand, all reasons."""
    at = {"messages": 4}
    raw = lines(*(message("user", str(n), n) for n in range(1, 5))) + lines(
        {"ctxkit": "compact", "v": 1, "id": "c", "at": at, "ids": "2-3", "text": "both"},
        {"ctxkit": "forget", "v": 1, "id": "f", "at": at, "ids": "4", "criteria": "--last 1"},
    )
    minute = {"CTXKIT_WINDOW_DEFAULT": "1m", "CTXKIT_WINDOW_MIN": "1m", "CTXKIT_NOW": "2026-02-01T10:04:30Z"}
    assert told(raw, minute) == [
        "1 window: older than the window of 1m; the first message",
        "1.1 window: older than the window; the summary that op 1 put in for 2-3",
        "2 compact: replaced by the summary of op 1; older than the window of 1m; summarized in 1.1",
        "3 compact: replaced by the summary of op 1; older than the window of 1m; summarized in 1.1",
        "4 forget: forgotten by op 2 (--last 1)",
    ]


def test_chosen_ones() -> None:
    """Those only, in order."""
    assert told(SMALL, chosen="1,9") == ["1 in: protected as part of the system preamble", "9 in: "]


@pytest.mark.parametrize("path", REAL, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_real_logs(path: object) -> None:
    """Every message is there once; in is what `show` shows; what is out has a reason."""
    from pathlib import Path

    assert isinstance(path, Path)
    log = Log.open(path, conversation=1 if _many(path) else None)
    found = list(explained(log))
    assert [one.name for one in found] == everything(log)
    assert {one.name for one in found if one.visible} == set(log.names())
    assert all(one.reasons for one in found if not one.visible)


def test_what_only_this_look_leaves_out() -> None:
    """Is named as such, and by no op, as there is none; what ops did keeps its own reasons."""
    log = Log.open(io.BytesIO(SMALL), env={})
    log.forget("2")
    log.fit(80)
    found = {one.label: one for one in explained(log)}
    assert {reason.op for reason in found["2"].reasons} == {1, None}
    out = [one for one in found.values() if one.visibility.kind == "trim"]
    assert out and all(one.visibility.op is None and one.reasons[0].text.startswith("trimmed to fit 80") for one in out)
