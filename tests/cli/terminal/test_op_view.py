"""How an op looks, in a list and to programs."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cli.runner import ctxkit, good, lines, small


def test_lines(tmp_path: Path) -> None:
    """Number, time, name, what it was about, sizes, whether it was undone, its id."""
    path = small(tmp_path, marks=["start here"])
    for words in (["forget", "2-5"], ["window", "8h"], ["window", "8h", "--agent", "sam"], ["protect", "9"],
                  ["undo", "2"], ["rewind", "start here"], ["clear"]):  # fmt: skip
        good(words[0], path, *words[1:])
    ran = good("log", path)
    bare = [re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|[a-f][0-9a-f]{11}", "_", line) for line in ran.text.splitlines()]
    assert bare == [
        "  1  _  mark       'start here'  [ended by clear 7]  _",
        "  2  _  forget     2-5  11 → 7 messages  [undone by 6]  _",
        "  3  _  window     8h  _",
        "  4  _  window     8h for sam  _",
        "  5  _  protect    9  _",
        "  6  _  undo       op 2 (forget)  7 → 11 messages  _",
        "  7  _  clear      11 → 1 messages  _",
    ]
    assert ran.err == "7 ops, 11 messages\n"


def test_redo(tmp_path: Path) -> None:
    """An undo of an undo is a redo of the op; an undo of a redo is an undo of it again."""
    path = small(tmp_path)
    good("forget", path, "2")
    good("undo", path)
    good("undo", path, "--redo")
    assert good("undo", path, "3").said == "Undid op 3 (redo).\n"
    shown = [line.split()[2:5] for line in good("log", path).text.splitlines()[1:]]
    assert shown == [["undo", "op", "1"], ["redo", "op", "1"], ["undo", "op", "1"]]


def test_long_lists_are_cut(tmp_path: Path) -> None:
    """A line stays a line."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines(*({"role": "user", "content": "x"} for _ in range(200))))
    good("forget", path, ",".join(map(str, range(2, 200, 2))))
    line = good("log", path).text
    assert "…" in line and len(line) < 120


def test_ops_of_others(tmp_path: Path) -> None:
    """Ops that this ctxkit does not know, or that hold odd values, are listed too."""
    at = {"messages": 0, "rows": 0}
    path = tmp_path / "x.jsonl"
    odd = [{"ctxkit": "frobnicate", "v": 1, "id": "z1", "ts": 7, "at": at, "ids": [1]},
           {"ctxkit": "mark", "v": 99, "id": "z2", "at": at, "label": {"a": 1}}]  # fmt: skip
    path.write_bytes(lines(*odd))
    ran = good("log", path)
    assert "frobnicate" in ran.text and len(ran.text.splitlines()) == 2
    assert ctxkit("log", path, "--json").code == 0


def test_an_op_cannot_pose_as_another(tmp_path: Path) -> None:
    """Keys of its own give way to what the ledger knows."""
    path = small(tmp_path)
    odd = {"ctxkit": "mark", "id": "m", "at": {"messages": 11}, "number": 99, "void": True, "tokens": {"before": 1}}
    path.write_bytes(path.read_bytes() + lines(odd))
    [value] = good("log", path, "--json", "--tokens").values
    assert (value["number"], value["void"]) == (1, False) and value["tokens"]["before"] > 1
    assert good("log", path, "--json").values[0]["number"] == 1
