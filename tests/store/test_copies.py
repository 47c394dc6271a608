"""Copies: what stands beside a file under the name of a copy, and how its records differ."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit.store import copies
from ctxkit.store.copies import CopyDifference, beside, parting, same_start
from ctxkit.store.source import Source
from tests.effort import examples


def parted(original: str, copy: str) -> CopyDifference:
    """Of texts; each letter is a line."""
    return parting(*(Source("x", "".join(f"{one}\n" for one in text).encode()) for text in (original, copy)))


@pytest.mark.parametrize(
    ("original", "copy", "expected"),
    [
        ("", "", CopyDifference(0, equal=True)),
        ("abc", "abc", CopyDifference(3, equal=True)),
        ("abc", "ab", CopyDifference(2, 0, 1)),
        ("abc", "abcde", CopyDifference(3, 2, 0)),
        ("abcd", "abxcy", CopyDifference(2, 2, 1)),
        ("abc", "acb", CopyDifference(1)),
        ("aab", "ab", CopyDifference(1, 0, 1)),
        ("abc", "xyz", CopyDifference(0, 3, 3)),
        ("", "a", CopyDifference(0, 1, 0)),
    ],
)
def test_parting(original: str, copy: str, expected: CopyDifference) -> None:
    """Where they part, what each has alone; other line ends, blank lines and a missing last end are no difference."""
    assert parted(original, copy) == expected
    raw = "".join(f"\n  \n{one}\r\n" for one in copy).encode().removesuffix(b"\n")
    assert parting(Source("x", "\n".join(original).encode()), Source("y", raw)) == expected


ROWS = st.lists(st.sampled_from(["a", "bb", "ccc", ""]), max_size=12)


@settings(max_examples=examples(60), deadline=None)
@given(ROWS, ROWS, st.integers(1, 7))
def test_by_pieces(one: list[str], other: list[str], size: int) -> None:
    """Wherever the pieces end that are read at a time, it is what the lists say."""
    before, copies.CHUNK = copies.CHUNK, size
    try:
        found = parting(Source("x", "\n".join(one).encode()), Source("y", "\n".join(other).encode()))
    finally:
        copies.CHUNK = before
    mine, theirs = [row for row in one if row], [row for row in other if row]
    same = next((i for i, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), min(len(mine), len(theirs)))
    more, fewer = Counter(theirs) - Counter(mine), Counter(mine) - Counter(theirs)
    assert found == CopyDifference(same, more.total(), fewer.total(), mine == theirs)


def test_same_start() -> None:
    """Which of two files of similar names are versions of one."""
    assert same_start(Source("x", b"\na\nb"), Source("y", b"a\r\nc"))
    assert not same_start(Source("x", b"a\n"), Source("y", b"b\n"))
    assert not same_start(Source("x", b""), Source("y", b"\n"))


def test_beside(tmp_path: Path) -> None:
    """By name, files and folders; no links, not the file itself; nothing where there is no folder."""
    log = tmp_path / "chat.jsonl"
    for name in ("chat.jsonl", "chat 2.jsonl", "chat (conflicted copy).jsonl", "other.jsonl"):
        (tmp_path / name).touch()
    (tmp_path / "chat (1).jsonl").symlink_to("chat.jsonl")
    (tmp_path / "chat 3.jsonl").mkdir()
    found = [(path.name, said) for path, said in beside(log)]
    assert found == [("chat (conflicted copy).jsonl", True), ("chat 2.jsonl", False), ("chat 3.jsonl", False)]
    assert beside(tmp_path / "no" / "log.jsonl") == []
