"""The words of files: which of them cannot hold a text."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit.core.text.json_text import loads
from ctxkit.core.text.message_words import texts
from ctxkit.core.text.search_pattern import Needle
from ctxkit.formats.chat import content_of
from ctxkit.store import words
from ctxkit.store.source import Source
from ctxkit.store.words import NO_LOG, ODD, PLAIN, WordIndex, available, looked_at
from tests.core.text.test_search_pattern import records
from tests.effort import examples

pytestmark = pytest.mark.skipif(not available(), reason="this SQLite has no FTS5")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"", b""), (b'{"a":"The the fox_trot"}', b"fox the trot"), (b"ab c d12", b"d12"),
        ('"naïve \\u00e9tude"'.encode(), b"u00e9tude"), (b'"\\nline"', b"nline"),
        (b'"\\u0041bc"', None), (b'"\\u005cu0041"', None), (b'"\\\\u0061"', None), (b"a\0b", None),
        (b'"\\u0020xyz"', b"u0020xyz"),
        (b'"\\u005Cx"', None), (b'"\\u004A"', None), (b'"\\u000axyz"', b"u000axyz"),
    ],
)  # fmt: skip
def test_words(raw: bytes, expected: bytes | None) -> None:
    """Runs of letters and digits in lower case; nothing of a file in which some are spelled as escapes."""
    assert words.words(raw) == expected


@given(data=st.data(), raw=records(), ignore_case=st.booleans())
@settings(max_examples=examples(600))
def test_no_text_is_without_its_words(data: st.DataObject, raw: bytes, ignore_case: bool) -> None:
    """Whatever a record holds, each stem of it stands in a word of its bytes."""
    said = [found.text for found in texts(content_of(loads(raw))) if found.text]
    kept = words.words(raw)
    if not said or kept is None:
        return
    text = data.draw(st.sampled_from(said))
    start = data.draw(st.integers(0, len(text) - 1))
    needle = Needle(text[start : data.draw(st.integers(start + 1, len(text)))], ignore_case=ignore_case)
    if any(needle.within(one) for one in said):
        for stem in (needle.stems or [[]])[0]:
            assert any(stem in word for word in kept.decode().split()), (needle, kept)


def learn(index: WordIndex, files: dict[bytes, bytes]) -> None:
    """Put files in whose bytes are these."""
    index.learn({path: ("s", PLAIN, words.words(raw) or b"") for path, raw in files.items()})


FILES = {b"/a/1": b"the lifetime of a fox", b"/a/2": b"lifetimes", b"/a/3": b"time of life", b"/b/4": b"zebra"}


@pytest.mark.parametrize(
    ("stems", "holding"),
    [
        ([["lifetime"]], "12"), ([["life"]], "123"), ([["ifetim"]], "12"), ([["life", "fox"]], "1"), ([["zebra"]], ""),
        ([["zebra"], ["fox"]], "1"), ([["lifetime", "zebra"]], ""), ([["time"], ["fox"]], "123"),
    ],
)  # fmt: skip
def test_lacking(tmp_path: Path, stems: list[list[str]], holding: str) -> None:
    """A word with each stem of one of the texts: all others lack them; only below the folder."""
    index = WordIndex(tmp_path)
    learn(index, FILES)
    found = index.lacking(b"/a", stems)
    assert set(found) == {b"/a/%d" % n for n in (1, 2, 3) if str(n) not in holding}
    assert set(found.values()) <= {("s", PLAIN)}


def test_odd_files_and_no_logs(tmp_path: Path) -> None:
    """One may hold anything, the other nothing."""
    index = WordIndex(tmp_path)
    index.learn({b"/a/odd": ("s", ODD, b""), b"/a/no": ("s", NO_LOG, b"")})
    assert index.lacking(b"/a", [["fox"]]) == {b"/a/no": ("s", NO_LOG)}


def test_changes(tmp_path: Path) -> None:
    """What a file has now counts, and what is gone is gone."""
    index = WordIndex(tmp_path)
    learn(index, FILES)
    index.learn({b"/a/1": ("t", PLAIN, b"zebra")}, [b"/a/2"])
    assert index.known(b"/a") == {b"/a/1": "t", b"/a/3": "s"}
    assert set(index.lacking(b"/a", [["fox"]])) == {b"/a/1", b"/a/3"}
    assert set(index.lacking(b"/a", [["zebra"]])) == {b"/a/3"}


def test_many_words_with_a_stem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tell nothing from so many on; up to there all of them are looked for."""
    index = WordIndex(tmp_path)
    learn(index, {b"/a/%d" % n: b"x%dabc" % n for n in range(words.MANY)} | {b"/a/none": b"zebra"})
    assert set(index.lacking(b"/a", [["abc"]])) == {b"/a/none"}
    learn(index, {b"/a/more": b"yabc"})
    assert index.lacking(b"/a", [["abc"]]) == {}


def test_what_is_stale_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of what changed are not kept for ever."""
    monkeypatch.setattr(words, "MANY", 5)
    index = WordIndex(tmp_path)
    for _ in range(12):
        learn(index, {b"/a/1": b"fox"})
    assert index.known(b"/a") in ({}, {b"/a/1": "s"})
    with sqlite3.connect(index.path) as db:
        [most] = db.execute("SELECT coalesce(max(id), 0) FROM files").fetchone()
    db.close()
    assert most < 10


def test_damaged(tmp_path: Path) -> None:
    """It is made anew."""
    index = WordIndex(tmp_path)
    learn(index, FILES)
    index.path.write_bytes(b"broken" * 1000)
    assert index.known(b"/a") == {} == index.lacking(b"/a", [["fox"]])
    learn(index, FILES)
    assert len(index.known(b"/a")) == 3


def test_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain one, no log, one that is too large."""
    source = Source("x", b'{"the":"fox"}')
    assert looked_at(source) == (PLAIN, b"fox the")
    assert looked_at(Source("x", b"the fox")) == (NO_LOG, b"")
    monkeypatch.setattr(words, "LARGEST_FILE", 5)
    assert looked_at(source) == (ODD, b"")
