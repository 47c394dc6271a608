"""The files that a summary lists."""

from __future__ import annotations

import pytest

from ctxkit.core.derive.files import FileTouch, How
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment
from ctxkit.cut.units.touched_files import touched


def piece(name: int, path: str, how: How) -> TextSegment:
    return TextSegment(name, SegmentKind.INPUT, path, "Edit", "file_path", touches=(FileTouch(path, how),))


def test_a_file_has_its_newest_messages_and_what_was_done() -> None:
    calls = [piece(n, "a.py", "edit" if n == 2 else "read") for n in (1, 2, 3, 4, 5)]
    [a, b] = touched([*calls, piece(6, "b.py", "read")])
    assert (a.text, a.edited, a.names, a.often) == ("a.py", True, [2], 5)
    assert (b.text, b.edited, b.names) == ("b.py", False, [6])
    assert b.at < a.at


def test_a_result_touches_nothing_again() -> None:
    answer = piece(2, "a.py", "read")._replace(kind=SegmentKind.RESULT)
    assert [one.names for one in touched([piece(1, "a.py", "read"), answer])] == [[1]]


def test_what_is_gone_and_what_was_not_done() -> None:
    """A file that was deleted, one for throwing away, and one that a call failed to read."""
    failed = piece(3, "c.py", "read")._replace(call="c")
    answer = TextSegment(4, SegmentKind.RESULT, "File does not exist", "Read", failed=True, call="c")
    calls = [piece(1, "a.py", "edit"), piece(2, "a.py", "delete"), failed, answer, piece(5, "/tmp/d.py", "write")]
    assert touched(calls) == []


def test_a_file_is_listed_once_whatever_the_folder() -> None:
    """As edited, if one path is the end of the other."""
    calls = [piece(1, "src/a.py", "read"), piece(2, "/w/src/a.py", "edit"), piece(3, "src/b.py", "read")]
    assert [file.text for file in touched(calls)] == ["/w/src/a.py", "src/b.py"]


def test_a_path_is_one_line() -> None:
    assert [file.line for file in touched([piece(1, "a\nb.py", "read")])] == ["a b.py"]


def script(name: int, path: str, how: How, output: str) -> list[TextSegment]:
    """A call of a shell that touches a file, and what it prints."""
    asked = TextSegment(
        name, SegmentKind.INPUT, "…", "Bash", "command", touches=(FileTouch(path, how),), call=f"c{name}"
    )
    return [asked, TextSegment(name + 1, SegmentKind.RESULT, output, "Bash", call=f"c{name}")]


@pytest.mark.parametrize(
    "output",
    [
        "", "(Bash completed with no output)", "Chunk ID: 1\nProcess exited with code 0\nOutput:\n",
        "total 3\ncat: src/a.py: No such file or directory",
    ],
)  # fmt: skip
def test_what_a_script_did_not_read(output: str) -> None:
    """It goes on where a file is missing; what printed nothing read nothing. What it writes prints nothing."""
    assert touched(script(1, "src/a.py", "read", output)) == []
    assert [file.text for file in touched(script(1, "src/a.py", "read", "x = 1"))] == ["src/a.py"]
    assert [file.text for file in touched(script(1, "src/a.py", "write", ""))] == ["src/a.py"]


def test_deleted_by_another_name() -> None:
    """A script names it from another folder."""
    calls = [piece(1, "/w/src/a.py", "edit"), piece(2, "b.py", "edit")]
    assert touched([*calls, *script(3, "src/a.py", "delete", ""), *script(5, "/w/b.py", "delete", "")]) == []
