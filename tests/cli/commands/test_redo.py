"""redo: the newest undo is voided."""

from __future__ import annotations

from pathlib import Path

from tests.cli.runner import ctxkit, good, shown, small


def test_words(tmp_path: Path) -> None:
    """The op is in force again, and named."""
    path = small(tmp_path)
    good("forget", path, "2")
    good("undo", path)
    assert good("redo", path).said == "Redid op 1 (forget).\n"
    assert 2 not in shown(path)


def test_as_often_as_undone(tmp_path: Path) -> None:
    """Two undos, two redos; then none is left: exit 1, nothing appended."""
    path = small(tmp_path)
    for n in ("2", "5"):
        good("forget", path, n)
    good("undo", path)
    good("undo", path)
    good("redo", path)
    assert 2 not in shown(path) and 5 in shown(path)
    good("redo", path)
    assert 5 not in shown(path)
    before = path.read_bytes()
    assert ctxkit("redo", path).code == 1 and path.read_bytes() == before


def test_ops_between_do_not_matter(tmp_path: Path) -> None:
    """Marks and the like may come between."""
    path = small(tmp_path)
    good("forget", path, "2")
    good("undo", path)
    good("mark", path)
    good("redo", path)
    assert 2 not in shown(path)
    good("undo", path, "4")
    assert 2 in shown(path)
