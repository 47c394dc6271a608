"""undo: an op is voided, whatever it was, also an undo."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.runner import SMALL, ctxkit, good, lines, message, ops, shown, small


@pytest.mark.parametrize("words", [["mark", "a"], ["forget", "3"], ["remember", "6"], ["clear"], ["protect", "5"],
                                   ["protect", "2", "--off"], ["window", "1h"]], ids=" ".join)  # fmt: skip
def test_context_from_before(tmp_path: Path, words: list[str]) -> None:
    """Of the newest op: byte for byte what `show` printed before it; the op is named."""
    path = small(tmp_path)
    before = good("show", path, "--json").out
    good(words[0], path, *words[1:])
    ran = good("undo", path)
    assert ran.said.splitlines()[-1] == f"Undid op 1 ({'unprotect' if '--off' in words else words[0]})."
    assert good("show", path, "--json").out == before
    assert path.read_bytes().startswith(SMALL)


def test_two_walk_back_two(tmp_path: Path) -> None:
    """An undo is not what the next undo undoes."""
    path = small(tmp_path)
    good("forget", path, "2")
    good("forget", path, "5")
    good("undo", path)
    good("undo", path)
    assert shown(path) == list(range(1, 12))
    ran = ctxkit("undo", path)
    assert ran.code == 1 and "nothing to undo: no op is in force" in ran.err


def test_by_number_id_and_prefix(tmp_path: Path) -> None:
    """Any op, also an older one; once only."""
    path = small(tmp_path)
    for n in ("2", "5", "6"):
        good("forget", path, n)
    good("undo", path, "1")
    good("undo", path, ops(path)[1]["id"])
    good("undo", path, ops(path)[2]["id"][:8])
    assert shown(path) == list(range(1, 12))
    ran = ctxkit("undo", path, "1")
    assert ran.code == 1 and "op 1 (forget) is undone already, by op 4" in ran.err


def test_of_an_undo(tmp_path: Path) -> None:
    """Named, an undo can be undone."""
    path = small(tmp_path)
    good("forget", path, "2")
    good("undo", path)
    good("undo", path, "2")
    assert 2 not in shown(path)


def test_nothing_visible(tmp_path: Path) -> None:
    """It says so, and does it."""
    path = small(tmp_path, marks=["a"])
    assert "nothing visible changes in the context" in good("undo", path).err
    path = small(tmp_path, name="other.jsonl")
    good("forget", path, "5")
    good("clear", path)
    assert "nothing visible changes" in good("undo", path, "1").err


def test_mends_a_log(tmp_path: Path) -> None:
    """What does not fit is voided by --force-replay, as the error advises; then the log is read again."""
    path = tmp_path / "m.jsonl"
    op = {"ctxkit": "forget", "v": 1, "id": "f1", "at": {"messages": 1, "rows": 1, "last": "000000000000"}, "ids": "1"}
    path.write_bytes(lines(message("user", "a"), op))
    ran = ctxkit("show", path)
    assert ran.code == 65 and f"ctxkit undo {path} f1 --force-replay" in ran.err
    good("undo", path, "f1", "--force-replay")
    assert shown(path) == [1]


def test_redo(tmp_path: Path) -> None:
    """The op is in force again, and named."""
    path = small(tmp_path)
    good("forget", path, "2")
    good("undo", path)
    assert good("undo", path, "--redo").said == "Redid op 1 (forget).\n"
    assert 2 not in shown(path)


def test_redone_as_often_as_undone(tmp_path: Path) -> None:
    """Two undos, two redos; then none is left: exit 1, nothing appended."""
    path = small(tmp_path)
    for n in ("2", "5"):
        good("forget", path, n)
    good("undo", path)
    good("undo", path)
    good("undo", path, "--redo")
    assert 2 not in shown(path) and 5 in shown(path)
    good("undo", path, "--redo")
    assert 5 not in shown(path)
    before = path.read_bytes()
    assert ctxkit("undo", path, "--redo").code == 1 and path.read_bytes() == before


def test_ops_before_a_redo_do_not_matter(tmp_path: Path) -> None:
    """Marks and the like may come between."""
    path = small(tmp_path)
    good("forget", path, "2")
    good("undo", path)
    good("mark", path)
    good("undo", path, "--redo")
    assert 2 not in shown(path)
    good("undo", path, "4")
    assert 2 in shown(path)


def test_redo_names_no_op(tmp_path: Path) -> None:
    """It is of the newest undo."""
    path = small(tmp_path)
    good("forget", path, "2")
    good("undo", path)
    before = path.read_bytes()
    ran = ctxkit("undo", path, "2", "--redo")
    assert ran.code == 2 and "name it without --redo" in ran.err and path.read_bytes() == before
