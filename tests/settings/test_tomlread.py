"""Reading a config file: bounded, regular, with the line of each key."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ctxkit.errors import BadConfig, ReadFailed
from ctxkit.settings.tomlread import TomlFile, flat, header, lines, read

TEXT = """# c
model = "m"
[window]  # [not a table]
# default = "8h"
min = '1h'
status.x = 1
[agents."a.b"]
window = "8h"
[[ many ]]
[ 'q]r' . s ]
"k" = 1
"""


def test_lines() -> None:
    """Keys and tables have their line; a key that stands in another way has that of its table."""
    known = lines(TEXT)
    assert known == {
        "model": 2, "window": 3, "window.min": 5, "window.status.x": 6, "agents.a.b": 7, "agents.a.b.window": 8,
        "many": 9, "q]r.s": 10, "q]r.s.k": 11,
    }  # fmt: skip
    file = TomlFile(Path("f"), TEXT)
    assert [file.line(name) for name in ("window.min", "window.max", "model.x", "zzz")] == [5, 3, 2, 1]
    assert file.place("window.min") == "f:5"


@pytest.mark.parametrize(
    ("line", "name"),
    [("[a]", "a"), (" [[a.b]] # c", "a.b"), ('["a]b"]', "a]b"), ("a = [1]", None), ("# [a]", None), ("[a", None)],
)
def test_header(line: str, name: str | None) -> None:
    """A table's header, in whatever way it is written."""
    assert header(line) == name


@pytest.mark.parametrize("text", ['x = """\n' + "[" * 1_000_000 + '\n"""', 'x = """\n[' + " " * 1_000_000 + '\n"""',
                                  "\n".join(f'[agents.a{i}]\nwindow = "8h"' for i in range(20_000))])  # fmt: skip
def test_lines_are_linear(text: str) -> None:
    """A megabyte of brackets, blanks or tables takes no time worth mentioning (quadratic would take hours)."""
    assert lines(text)


def test_other_kinds(tmp_path: Path) -> None:
    """A pipe, a folder, a device: an error, without waiting for anyone."""
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "zero").symlink_to("/dev/zero")
    for name in ("fifo", "zero", "."):
        with pytest.raises(ReadFailed, match="not a config file: it is"):
            read(tmp_path / name)
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(ReadFailed):
        read(tmp_path / "loop")
    assert read(tmp_path / "none") is None and read(tmp_path / "none" / "deeper") is None


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    """A gigabyte (sparse) is refused by its first megabyte."""
    with open(tmp_path / "huge", "wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(BadConfig, match="larger than"):
        read(tmp_path / "huge")


def test_text(tmp_path: Path) -> None:
    """Without a mark at the start, line ends as \\n, and whose it is."""
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbfa = 1\r\nb = 2\r\n")
    found = read(tmp_path / "f")
    assert found is not None and found.text == "a = 1\nb = 2\n" and found.owner == os.geteuid()
    assert found.table() == {"a": 1, "b": 2} and TomlFile(tmp_path / "f", " \n").table() == {}
    assert found.raw == (tmp_path / "f").read_bytes() and found.entries() == [(("a",), 1), (("b",), 2)]


def test_flat() -> None:
    """A known key ends a path even where its value is a table; nesting without end is not followed."""
    table = {"a": {"b": 1, "c": {}}, "now": {"x": 1}, "d": {"d": {"d": {"d": {"d": 1}}}}}
    found = list(flat(table))
    assert found == [(("a", "b"), 1), (("a", "c"), {}), (("now",), {"x": 1}), (("d",) * 4, {"d": 1})]


def test_a_stranger_s(tmp_path: Path) -> None:
    """A file of somebody else, and a link that leads out of the folder; root's and a text of one's own are not."""
    (tmp_path / "in").mkdir()
    (tmp_path / "f").write_text("")
    (tmp_path / "in/link").symlink_to("../f")
    (tmp_path / "in/own").symlink_to("link2")
    (tmp_path / "in/link2").write_text("")
    link, inside = read(tmp_path / "in/link"), read(tmp_path / "in/own")
    assert link is not None and inside is not None
    assert link.stranger(tmp_path / "in") == f"a link that leads out of {tmp_path / 'in'}"
    assert (link.stranger(tmp_path), link.stranger(None), inside.stranger(tmp_path / "in")) == ("", "", "")
    owners = {owner: TomlFile(tmp_path / "f", "", owner).stranger(None) for owner in (os.geteuid(), 0, 54321, None)}
    assert {owner for owner, why in owners.items() if why} == {54321}
