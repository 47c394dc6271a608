"""The cuts that Codex's own history makes; `test_reader.py` has the contexts that follow from them."""

from __future__ import annotations

from tests.formats.codex import logs


def test_cuts_say_what_and_where() -> None:
    """`why` names the line; a compaction that a rollback undid is no cut any more."""
    view = logs.read("user:a | say:b | compact user:a | start | user:c | say:d | rollback:1").view
    assert view is not None
    assert [(cut.row, cut.out, cut.label) for cut in view.cuts] == [
        (2, [2], "compacted by Codex at line 3"),
        (6, [3, 4], "rolled back by Codex at line 7"),
    ]
    view = logs.read("user:a | say:b | user:c | compact user:x | rollback:2").view
    assert view is not None
    assert [(cut.row, cut.out) for cut in view.cuts] == [(4, [1, 2, 3, 4])]


def test_a_compaction_goes_with_its_turn() -> None:
    """One in a turn that a rollback dropped is as if it had not been, wherever the rollback stands."""
    view = logs.read("user:a | start | user:b | rollback:1 | compact user:x | start | user:c").view
    assert view is not None
    assert [(cut.out, cut.label) for cut in view.cuts] == [
        ([2], "rolled back by Codex at line 4"),
        ([3], "rolled back by Codex at line 4"),
    ]


def test_what_is_listed_again_is_there() -> None:
    """A compaction may bring back what an earlier one took, and in a different order."""
    view = logs.read("user:a | user:b | compact user:x | start | user:c | compact user:b,user:a").view
    assert view is not None
    assert [(cut.out, cut.moved, cut.after) for cut in view.cuts] == [([], [], 0), ([3, 4], [1], 2)]
