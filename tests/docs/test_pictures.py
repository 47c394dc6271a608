"""The pictures in docs/pictures are what the commands print: drawn from a run, compared or rewritten like the pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pictures import FOLDER, GUIDE, PICTURES, picture
from tests.docs.sandbox import make, run
from tests.docs.svg import drawn

SVG = {"course": "ctxkit status chat.jsonl --svg --context-limit 500"}
"""File -> the command that draws it."""

MEASURED = {"compaction-recall", "compaction-seconds", "rolling-turns", "rolling-memory"}
"""Drawn by `just bench-compact --write`, of what it measured."""


@pytest.mark.parametrize("name", PICTURES)
def test_picture(name: str, update: bool) -> None:
    """Colours and all, at 80 columns."""
    svg = picture(PICTURES[name])
    file = FOLDER / f"{name}.svg"
    if update:
        file.write_text(svg, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == svg, "just docs draws it again"


@pytest.mark.parametrize("name", SVG)
def test_picture_of_the_command(name: str, tmp_path: Path, update: bool) -> None:
    """What the command itself draws."""
    ran = run(make(tmp_path), [*GUIDE, SVG[name]])
    assert ran[-1][1] == 0, ran[-1][0]
    file = FOLDER / f"{name}.svg"
    if update:
        file.write_text(ran[-1][0], encoding="utf-8")
    assert file.read_text(encoding="utf-8") == ran[-1][0], "just docs draws it again"


def test_every_picture_is_drawn() -> None:
    """No picture that nothing keeps current."""
    assert {path.stem for path in FOLDER.iterdir()} == PICTURES.keys() | SVG.keys() | MEASURED


def test_styles_are_drawn() -> None:
    """What is coloured is coloured, wide characters take two cells, and text cannot become markup."""
    svg = drawn("x", [("x", "\x1b[1;31mred\x1b[0m <b>日本\x1b[2m dim")], 20)
    assert 'class="red" font-weight="bold"' in svg and "&lt;b&gt;" in svg and 'opacity="0.6"' in svg
    assert f'textLength="{(3 + 4) * 8.4:.1f}"' in svg
