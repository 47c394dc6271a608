"""Messages of a log that stood before are known by one digest of many; whatever changed is counted anew."""

from __future__ import annotations

import io
import json
from array import array
from pathlib import Path

import pytest

from ctxkit.api.log import Log
from ctxkit.measure import row_counts
from ctxkit.measure.count import Counting
from ctxkit.store.source import Source
from ctxkit.tokens.cache import Cache
from tests.cli.runner import lines, message

MANY = lines(*(message("user", f"message {n} " + "word " * (n % 7), n % 60) for n in range(1, 41)))
ENV = {"CTXKIT_COUNTER": "o200k_base"}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(row_counts, "TOGETHER", 8)
    monkeypatch.setattr(row_counts, "LEAST", 2)


def of(raw: bytes, tmp_path: Path) -> Counting:
    """Opened as a process of its own would."""
    return Counting(Log.open(io.BytesIO(raw), env={**ENV, "XDG_CACHE_HOME": str(tmp_path)}))


def asked_one_by_one(found: Counting, numbers: list[int], monkeypatch: pytest.MonkeyPatch) -> int:
    """How many of them are looked up by a digest of their own."""
    asked: list[object] = []
    with monkeypatch.context() as patch:
        patch.setattr(Cache, "get", lambda self, keys, real=Cache.get: asked.extend(keys) or real(self, keys))
        list(found.base_as_read(numbers))
    return len(asked)


def test_a_second_look_is_one_digest_for_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the last ones, which are still growing; the counts are the same, in any order."""
    numbers = list(range(1, 41))
    first = list(of(MANY, tmp_path).base_as_read(numbers))
    assert list(of(MANY, tmp_path).base_as_read(numbers)) == first
    assert list(of(MANY, tmp_path).base_as_read(numbers[::-1])) == first[::-1]
    assert list(of(MANY, tmp_path).base_as_read([7, 7, 1])) == [first[6], first[6], first[0]]
    assert asked_one_by_one(of(MANY, tmp_path), numbers, monkeypatch) == 1  # 8 to 15 and so on; 40 is alone


def test_one_changed_byte_is_counted_anew(tmp_path: Path) -> None:
    """The words around it are as long as they were."""
    numbers = list(range(1, 41))
    first = list(of(MANY, tmp_path).base_as_read(numbers))
    changed = MANY.replace(b"message 20 word", b"m-ss-ge 20 word")
    assert len(changed) == len(MANY)
    then = list(of(changed, tmp_path).base_as_read(numbers))
    assert [n for n in numbers if then[n - 1] != first[n - 1]] == [20]


def test_gaps_belong_to_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some messages of many, with long rows between them: only their own bytes are read."""
    long = json.dumps({"ctxkit": "mark", "v": 1, "id": "m", "at": {"messages": 10}, "x": "y" * 99_000}).encode() + b"\n"
    rows = MANY.splitlines(keepends=True)
    raw = b"".join([*rows[:10], long, *rows[10:]])
    numbers = [9, 10, 11, 14, 15, 17]
    expected = [next(of(MANY, tmp_path / "other").base_as_read([n])) for n in numbers]
    reads: list[int] = []
    real = Source.read_into
    monkeypatch.setattr(Source, "read_into", lambda self, to, at: reads.append(at) or real(self, to, at))
    for _ in range(2):
        reads.clear()
        assert list(of(raw, tmp_path).base_as_read(numbers)) == expected
        assert len(reads) == 5  # 17 is alone


def test_a_log_that_grew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but what came, and the last few before it, is known by the digests that it had."""
    numbers = list(range(1, 41))
    first = list(of(MANY, tmp_path).base_as_read(numbers))
    grown = of(MANY + lines(message("user", "one two", 59)), tmp_path)
    [new] = grown.base_as_read([41])
    assert (
        asked_one_by_one(of(MANY + lines(message("user", "one two", 59)), tmp_path), [*numbers, 41], monkeypatch) == 2
    )
    assert list(grown.base_as_read([*numbers, 41])) == [*first, new]


def test_a_log_that_is_read_again(tmp_path: Path) -> None:
    """The same object counts what the log holds now."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines(message("user", "one", 1)))
    log = Log.open(path, env=dict(ENV))
    counting = Counting(log)
    [one] = counting.base(log.listed())
    with path.open("ab") as file:
        file.write(lines(message("user", "one two three", 2)))
    log.refresh()
    assert list(counting.base(log.listed())) == [one, one + 2]


def test_what_the_cache_has_wrong_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer counts than messages: they are looked up one by one."""
    numbers = list(range(1, 41))
    first = list(of(MANY, tmp_path).base_as_read(numbers))
    monkeypatch.setattr(Cache, "get_runs", lambda self, keys: {key: array("q", [1]) for key in keys})
    assert list(of(MANY, tmp_path).base_as_read(numbers)) == first
