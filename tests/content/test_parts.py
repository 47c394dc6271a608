"""Parts of a message: which are shown as they were written, and which are pictures."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxkit.api.log import Log
from ctxkit.content.parts import is_image, may_hold_images, shown
from ctxkit.core.messages import Image, Other, Part, Result, Text
from tests import pictures

SMALL = pictures.block(pictures.png(10, 10))


def test_parts_inside_results(tmp_path: Path) -> None:
    """Each has its place, those inside a result too; what an op took out is not shown."""
    log = Log.open(pictures.in_results(tmp_path / "log.jsonl", [SMALL, SMALL]))
    found = {(name, place) for name in log.names() for place, part in shown(log, name) if isinstance(part, Image)}
    assert len(found) == 2 and all(isinstance(place, tuple) for _, place in found)
    log.forget(images=True)
    assert not [part for name in log.names() for _, part in shown(log, name) if isinstance(part, Image)]


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (Image("image/png", "", ""), True),
        (Other("input_image", {}), True),
        (Other("document", {}), False),
        (Text("a picture"), False),
        (Result("call", "image"), False),
    ],
)
def test_is_image(part: Part, expected: bool) -> None:
    """Pictures that were read, and those that are carried unread."""
    assert is_image(part) is expected


def test_may_hold_images(tmp_path: Path) -> None:
    """A message whose record has no such word is not looked into."""
    log = Log.open(pictures.chat(tmp_path / "log.jsonl", [SMALL]))
    names = list(log.names())
    holds = [any(isinstance(part, Image) for _, part in shown(log, name)) for name in names]
    assert any(holds) and all(may_hold_images(log, name) for name, held in zip(names, holds, strict=True) if held)
    plain = tmp_path / "plain.jsonl"
    plain.write_text('{"role":"user","content":"words"}\n', encoding="utf-8")
    assert not may_hold_images(Log.open(plain), 1)
