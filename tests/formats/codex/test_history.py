"""The cuts that Codex's own history makes; `test_reader.py` has the contexts that follow from them."""

from __future__ import annotations

from tests.formats.codex import logs


def test_cuts_say_what_and_where() -> None:
    """`why` names the line; a compaction that a rollback undid is no cut any more."""
    view = logs.read("user:a | say:b | compact user:a | user:c | say:d | rollback:1").view
    assert view is not None
    assert [(cut.row, cut.out, cut.label) for cut in view.cuts] == [
        (2, [2], "compacted by Codex at line 3"),
        (5, [3, 4], "rolled back by Codex at line 6"),
    ]
    view = logs.read("user:a | say:b | user:c | compact user:x | rollback:2").view
    assert view is not None
    assert [(cut.row, cut.out) for cut in view.cuts] == [(4, [1, 2, 3, 4])]
