"""Pieces in a spool are what they were."""

from __future__ import annotations

import pytest

from ctxkit.core.item_names import ItemName, Name
from ctxkit.core.messages import Call, Content, Result, Text
from ctxkit.cut.units import segment_spool
from ctxkit.cut.units.segment_spool import spooled
from ctxkit.cut.units.text_segments import all_pieces

SAID: list[tuple[Name, Content]] = [
    (1, Content("user", [Text("fix \ud800 the\nlogin")])),
    (2, Content("assistant", [Text("I look."), Call("c", "Edit", {"file_path": "a/b.py", "new_string": "x = 1"})])),
    (3, Content("tool", [Result("c", "it failed", is_error=True)])),
    (ItemName("op", 2), Content("user", [Text("in short")])),
]


@pytest.mark.parametrize("held", [0, 40, 10**6])
def test_what_is_read_again_is_what_was_said(held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From memory, and from a spool for what is more."""
    monkeypatch.setattr(segment_spool, "HELD", held)
    kept = spooled(SAID)
    assert list(kept) == all_pieces(SAID)
    assert [kept[place] for place in (4, 0)] == [all_pieces(SAID)[place] for place in (4, 0)]
