"""The course in a terminal: columns of blocks, what stands below them, and never wider than it may be."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from ctxkit.cli.terminal import timeline_chart
from ctxkit.cli.terminal.safe_text import cells
from ctxkit.core.compare.timeline import Timeline, TimelineEvent, TimelinePoint
from tests.cli.commands.test_status import _uncoloured
from tests.cli.hostile import ALL
from tests.cli.runner import ctxkit, good, small
from tests.cli.screens import on_pty
from tests.cli.terminal.test_rows import text
from tests.test_startup import SLOW, modules


def made(*tokens: int, events: tuple[TimelineEvent, ...] = (), limit: int | None = None, counted: int = 0) -> Timeline:
    """A course of these sizes, the first ones counted."""
    points = [TimelinePoint(n, size, counted=n <= counted) for n, size in enumerate(tokens, 1)]
    return Timeline(points, list(events), max(tokens, default=0), limit, "a counter", "m")


def drawing(course: Timeline, width: int) -> list[str]:
    """The lines as they are printed."""
    found = [text(list(line)) for line in timeline_chart.lines(course, width, yellow=70, red=85)]
    assert all(cells(line) <= width for line in found), found
    return found


def test_heights() -> None:
    """In eighths of a row; the scale's ends and middle are labelled; what is there at all is seen."""
    found = drawing(made(8, 4, 1, 0), 22)
    rows = [line for line in found if line[1:2] in ("┤", "│")]
    assert [row[:2] for row in rows] == ["8┤", *[" │"] * 3, "4┤", *[" │"] * 2, "0┤"]
    blocks = [row[2:].ljust(20) for row in rows]
    assert blocks == [*["█" * 5 + " " * 15] * 4, *["█" * 10 + " " * 10] * 3, "█" * 15 + " " * 5]
    low = drawing(made(1_000_000, 1), 20)
    assert [line for line in low if line.strip().startswith("0┤")] == ["   0┤" + "█" * 7 + "▁" * 8]


@pytest.mark.parametrize("width", [20, 24, 39, 40, 80, 200])
@pytest.mark.parametrize("count", [1, 2, 5, 14, 1000])
def test_no_line_is_wider(width: int, count: int) -> None:
    """Few messages or many, whatever marks are called."""
    mark = TimelineEvent(1, "mark", "日本\x1b[31m" * 9, 3, 5, 5, 0)
    fall = TimelineEvent(count, "cut", "compacted by a program " * 9, None, 10**9, 5, count - 1)
    found = drawing(made(*range(1, count + 1), events=(mark, fall), limit=2 * count, counted=1), width)
    assert sum("│" in line or "┤" in line for line in found) == (12 if width >= 40 else 8)
    assert "\x1b" not in "".join(found)


def test_signs() -> None:
    """A mark, a fall, a rise, each below its column; in words below them."""
    events = (
        TimelineEvent(1, "mark", "here", 1, 5, 5, 0), TimelineEvent(2, "cut", "compacted by it", None, 9, 3, 2),
        TimelineEvent(2, "undo", "", 2, 3, 9, 3), TimelineEvent(2, "hidden", "", None, 9, 2, 4),
    )  # fmt: skip
    points = [
        TimelinePoint(1, 5),
        TimelinePoint(2, 9, counted=True),
        TimelinePoint(2, 3),
        TimelinePoint(2, 9),
        TimelinePoint(2, 2),
    ]
    found = drawing(Timeline(points, list(events), 9, 10, "c", "m"), 44)
    axis = found.index("  └" + "─" * 8 + "━" * 8 + "─" * 25)
    assert found[axis + 1] == "   " + " " * 7 + "◆" + " " * 8 + "▼" + " " * 7 + "▲" + " " * 7 + "▼"
    assert found[axis + 2].split() == ["1", "message", "2"]
    assert found[axis + 3 :] == [
        "◆ 1  mark here (op 1)", "▼ 2  compacted by it: 9 → 3", "▲ 2  undo (op 2): 3 → 9",
        "▼ 2  hidden by a filter: 9 → 2", "━ counted by the provider  ─ estimated  ╌", "  limit",
        "tokens: c",
    ]  # fmt: skip


def test_many_events() -> None:
    """The newest in words, the others counted."""
    events = tuple(TimelineEvent(n, "forget", "", n, 9, 8, n - 1) for n in range(1, 31))
    found = drawing(made(*[9] * 30, events=events), 80)
    assert "20 earlier events: --json" in found and sum(line.startswith("▼") for line in found) == 10


@pytest.mark.parametrize(("limit", "shown"), [(None, False), (100, True), (400, True), (401, False)])
def test_the_limit(limit: int | None, shown: bool) -> None:
    """Drawn where it does not make the course flat, named always."""
    found = drawing(made(50, 100, limit=limit), 60)
    assert any("╌╌╌" in line for line in found[1:]) == shown
    assert (limit is None) == ("limit" not in found[0])


def test_colours() -> None:
    """Of each column's own level."""
    spans: list[Any] = [
        span for line in timeline_chart.lines(made(10, 75, 90, limit=100), 40, yellow=70, red=85) for span in line
    ]
    inked = {span.style for span in spans if not isinstance(span, str) and "█" in span.text}
    assert inked == {"green", "yellow", "red"}


def test_now_is_the_last_column() -> None:
    """However many messages a column stands for."""
    found = timeline_chart.bucketed(made(*range(100, 0, -1)), 10)
    assert [column.tokens for column in found] == [100, 90, 80, 70, 60, 50, 40, 30, 20, 1]


def test_no_messages() -> None:
    """Nothing to draw."""
    assert drawing(made(), 20) == ["no messages"]
    assert good("status", "-", "--plot").text == "no messages\n"


@pytest.mark.parametrize("columns", [80, 20])
def test_on_a_terminal(tmp_path: Path, columns: int) -> None:
    """In colour, and not wider."""
    path = small(tmp_path, marks=["before"])
    good("forget", path, "2-5")
    seen = on_pty(["status", str(path), "--plot", "--context-limit", "150"], columns)
    found = _uncoloured(seen.raw.decode()).replace("\r", "").split("\n")
    assert seen.code == 0 and b"\x1b[32m" in seen.raw and all(cells(line) <= columns for line in found)
    assert "◆" in "".join(found) and "▼" in "".join(found)


def test_json_and_what_does_not_go_together(tmp_path: Path) -> None:
    """The series; the words of the one form are not those of another."""
    path = small(tmp_path, marks=["before"])
    [value] = good("status", path, "--plot", "--json", "--context-limit", "500").values
    used = good("status", path, "--json").values[0]["tokens"]["used"]
    assert list(value) == ["points", "events", "peak", "limit", "counter", "model"]
    assert value["points"][-1] == {"n": 11, "tokens": used, "counted": False} and value["limit"] == 500
    assert value["events"] == [
        {"n": 11, "kind": "mark", "label": "before", "op": 1, "before": used, "after": used, "point": 10}
    ]
    modules(tmp_path, ["status", str(path), "--plot"])
    assert not SLOW & modules(tmp_path, ["status", str(path), "--plot"])


SPACE = "{http://www.w3.org/2000/svg}"


def parsed(text: str) -> ElementTree.Element:
    """The document; its size stands."""
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SPACE}svg" and root.get("viewBox") == "0 0 880 400" and root.get("role") == "img"
    return root


def words(root: ElementTree.Element) -> list[str]:
    """All that can be read."""
    return ["".join(one.itertext()) for one in root.iter() if one.tag in (f"{SPACE}text", f"{SPACE}title")]


def corners(root: ElementTree.Element) -> list[tuple[float, float]]:
    """Of the course's line."""
    line = root.find(f"{SPACE}polyline")
    assert line is not None
    return [(float(x), float(y)) for x, y in re.findall(r"([\d.]+),([\d.]+)", line.get("points") or "")]


def test_what_the_svg_shows() -> None:
    """Title, axes, limit, events in words, the band of what was counted, the counter's name."""
    events = (
        TimelineEvent(1, "mark", "here", 1, 50, 50, 0),
        TimelineEvent(3, "cut", "compacted by it", None, 100, 40, 3),
    )
    sizes = ((1, 50, True), (2, 75, True), (3, 100, False), (3, 40, False))
    points = [TimelinePoint(n, tokens, counted=counted) for n, tokens, counted in sizes]
    course = Timeline(points, list(events), 100, 200, "a counter", "m")
    root = parsed(timeline_chart.svg(course, "s.jsonl"))
    said = words(root)
    for one in ("s.jsonl: tokens over the session", "limit 200", "message", "tokens", "1", "3", "0", "200", "100",
                "here", "compacted 100 → 40", "1  mark here (op 1)", "3  compacted by it: 100 → 40",
                "counted by the provider", "tokens: a counter"):  # fmt: skip
        assert one in said, one
    assert [one.get("class") for one in root.iter(f"{SPACE}rect")] == ["back", "counted", "counted"]
    places = corners(root)
    assert places == sorted(places, key=lambda one: one[0]) and len(places) == 8
    assert places[0][0] == 64 and places[-1][0] == 856 and places[4][1] == 204 and places[0][1] == 274


@pytest.mark.parametrize("count", [1, 2, 700, 20_000])
def test_the_size_of_an_svg_is_bounded(count: int) -> None:
    """However long the session is; its highest point is drawn."""
    text = timeline_chart.svg(made(*([5] * (count // 2)), 90, *([5] * (count - count // 2 - 1))), "x")
    assert len(text) < 150_000 and min(y for _, y in corners(parsed(text))) == 64
    assert all(64 <= x <= 856.1 for x, _ in corners(parsed(text)))


def test_svg_of_nothing() -> None:
    """A picture that says so."""
    assert "no messages" in timeline_chart.svg(made(), "x") and parsed(timeline_chart.svg(made(), "x")) is not None


def test_svg_of_hostile_words() -> None:
    """Markup is text, and what a terminal would obey is shown."""
    evil = f"<script>&\"'{ALL}\ud800"
    course = made(
        1, 2, events=(TimelineEvent(1, "mark", evil, 1, 1, 1, 0), TimelineEvent(2, "cut", evil, None, 2, 1, 1))
    )
    text = timeline_chart.svg(course, evil)
    text.encode("utf-8")
    assert "<script" not in text and "\x1b" not in text and any("<script>" in one for one in words(parsed(text)))


def test_svg(tmp_path: Path) -> None:
    """On standard output, for a file; no folder of the log in it; a picture of a pipe has a name, too."""
    path = small(tmp_path, marks=["a<b"])
    ran = good("status", path, "--svg", "--context-limit", "150")
    assert "chat.jsonl: tokens over the session" in words(parsed(ran.text)) and str(tmp_path) not in ran.text
    assert ran.out == good("status", path, "--plot", "--svg", "--context-limit", "150").out and ran.err == ""
    assert "standard input" in good("status", "-", "--svg", stdin=path.read_bytes()).text
    for other in (["--short"], ["--by", "role"], ["--largest", "1"], ["--files"], ["--no-tokens"]):
        for one in ("--plot", "--svg"):
            assert ctxkit("status", path, one, *other).code == 2, other


def test_light_and_dark() -> None:
    """Both have a colour for all that has one; nothing is fetched."""
    text = timeline_chart.svg(made(1, 2), "x")
    light, dark = timeline_chart.STYLE.split("@media (prefers-color-scheme:dark)")
    classes = set(re.findall(r"\.(\w+)", light.replace("·", ""))) - {"15"}
    assert {name for name in classes if name.isalpha() and name != "title"} <= set(re.findall(r"\.(\w+)", dark))
    assert "href" not in text and "url(" not in text and text.count("http") == 1
