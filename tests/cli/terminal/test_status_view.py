"""How a status looks: bar, figures, one line for prompts."""

from __future__ import annotations

import io
from typing import Any

import msgspec
import pytest

from ctxkit.api.log import Log
from ctxkit.cli.terminal import status_view
from ctxkit.cli.terminal.safe_text import cells
from ctxkit.core.derive.usage import Measured
from ctxkit.logfile.parameters import ValueWithOrigin
from ctxkit.measure.status import Status
from tests.cli.runner import SMALL
from tests.cli.terminal.test_rows import text


def made(**changed: Any) -> Status:
    """The status of the small log, with other figures."""
    found = Log.open(io.BytesIO(SMALL), env={}).status(tokens=True, limit=128_000)
    tokens = {
        key: changed.pop(key) for key in ("used", "percent", "level", "limit", "over", "measured") if key in changed
    }
    window = changed.pop("window", 0)
    used = msgspec.structs.replace(found.parameters, window=ValueWithOrigin(window, "op 1"))
    return msgspec.structs.replace(
        found, tokens=msgspec.structs.replace(found.tokens, **tokens), parameters=used, **changed
    )


BIG = {"used": 2450, "percent": 1.9, "inside": 14, "window": 28800}


@pytest.mark.parametrize(
    ("changed", "width", "expected"),
    [
        (BIG, 80, "2,450 / 128,000 tokens (1 %) · 14 messages · 8h"),
        (BIG, 40, "2,450/128,000 (1 %) · 14 · 8h"),
        (BIG, 20, "1 % · 14 · 8h"),
        ({**BIG, "percent": 0.1}, 20, "<1 % · 14 · 8h"),
        ({**BIG, "damaged": 3}, 80, "2,450 / 128,000 tokens (1 %) · 14 messages · 8h · 3 damaged"),
        ({**BIG, "damaged": 3}, 20, "1 % · 14 · 8h · !3"),
        ({"used": 2450, "percent": None, "inside": 1}, 80, "2,450 tokens · 1 message"),
        ({"used": 2_450_000, "percent": None, "inside": 123_456}, 15, "2.5M · 123,456"),
        ({"used": 2_450_000, "percent": None, "inside": 123_456}, 12, "2.5M · 123k"),
        ({"used": None, "percent": None, "inside": 14}, 80, "14 messages"),
        ({**BIG, "inside": 10**9, "damaged": 10**9}, 8, "1 % · 1…"),
    ],
)
def test_short(changed: dict[str, Any], width: int, expected: str) -> None:
    """The longest form that fits."""
    found = status_view.short(made(**changed), width)
    assert found == expected and cells(found) <= width


@pytest.mark.parametrize(("percent", "expected"), [(0, 0), (1, 0), (50, 5), (94, 9), (100, 10), (300, 10)])
def test_bar(percent: float, expected: int) -> None:
    """Never longer than it is; the reserve is its last part, as far as it is not used."""
    found = made(percent=percent)
    assert found.tokens.limit.value is not None and 0 < found.tokens.reserve < found.tokens.limit.value / 10
    reserved = min(1, 10 - expected)
    assert status_view.bar(found.tokens, 10) == "█" * expected + "░" * (10 - expected - reserved) + "▒" * reserved


@pytest.mark.parametrize(
    ("number", "expected"),
    [(None, ""), (0, "0"), (999, "999"), (1000, "1.0k"), (45_678, "45k"), (3_100_000, "3.1M"), (2 * 10**10, "20G")],
)
def test_brief(number: int | None, expected: str) -> None:
    """Few cells for any number."""
    assert status_view.brief(number) == expected


@pytest.mark.parametrize(
    ("measured", "expected"),
    [
        (Measured(9, "x", known=9, at=3, trust="exact"), "exact: counted by the provider"),
        (Measured(9, "x", known=9, at=3, trust="exact", error=0.0),
         "exact: counted by the provider · our estimates in this session were off by <0.1 % (median)"),
        (Measured(9, "x", known=81_220, at=3, estimated=1203, trust="calibrated", error=0.38),
         "81,220 counted by the provider, +1,203 since then (estimated) · "
         "our estimates in this session were off by 0.4 % (median)"),
        (Measured(9, "x", known=81_220, at=3, estimated=-1203, trust="calibrated", error=9.4),
         "81,220 counted by the provider, −1,203 since then (estimated) · "
         "our estimates in this session were off by 9.4 % (median)"),
        (Measured(9, "x", known=9, at=3, trust="calibrated"),
         "counted by the provider, maybe with records that are missing now"),
        (Measured(9, "x", overhead=4, trust="range", least=8, most=20),
         "a range, as measured on other sessions: the provider has counted nothing since the compaction"),
        (Measured(9, "x", trust="encoding"),
         "by the model's own encoding; no reply in this log has the provider's count"),
        (Measured(9, "x"), "a guess: no reply in this log has the provider's count"),
        (Measured(0, "x"), ""), (None, ""),
    ],
)  # fmt: skip
def test_trust(measured: Measured | None, expected: str) -> None:
    """What is exact, calibrated or a guess, with the error so far; with a limit and without."""
    for changed in ({}, {"percent": None}):
        found = made(measured=measured, **changed)
        said = [text(line).strip() for line in status_view.lines(found, 160)]
        told = [line for line in said if line.startswith(("exact", "a range", "a guess", "81,", "by ", "counted"))]
        assert told == ([expected] if expected else [])


def test_a_range() -> None:
    """Where only bounds are known, no figure stands without them; what leaves with a resume has a line."""
    measured = Measured(43_220, "x", overhead=4, trust="range", least=29_754, most=73_695, once=11_900)
    found = made(used=43_300, limit=ValueWithOrigin(200_000, "flag"), percent=21.6, measured=measured)
    said = [text(line).strip() for line in status_view.lines(found, 160)]
    assert "about 43,000 tokens (30,000 to 74,000) of 200,000 (" in "\n".join(said)
    assert "11,900 of these are typical after a compaction, and stand in no row: 31,320 when resumed" in said
    assert status_view.short(found, 80).startswith("about 43,000 (30,000 to 74,000) / 200,000 tokens (21 %)")


@pytest.mark.parametrize("width", [20, 39, 40, 80, 200])
def test_no_line_is_wider(width: int) -> None:
    """However long names are."""
    found = made(log="a/very/long/path/" * 9, warnings=["w" * 99], out={"window": 3, "odd kind": 10**12}, damaged=1)
    assert all(cells(text(line)) <= width for line in status_view.lines(found, width))


@pytest.mark.parametrize("style", ["green", "yellow", "red"])
def test_colour(style: str) -> None:
    """Bar and figures have the colour of the level."""
    spans = [span for line in status_view.lines(made(level=style), 80) for span in line if not isinstance(span, str)]
    assert [span.text[:1] for span in spans if style in span.style] == ["░", "<", "1"]
