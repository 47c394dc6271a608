"""`recall` and `sessions` over many logs in several processes print what one prints."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.runner import FOREIGN, SMALL, ctxkit


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with some logs, a broken one among them."""
    monkeypatch.chdir(tmp_path)
    for n in range(5):
        (tmp_path / f"{n}.jsonl").write_bytes(SMALL if n % 2 else FOREIGN)
    (tmp_path / "torn.jsonl").write_bytes(b'{"role":"user","content":"question')
    return tmp_path


@pytest.mark.one_in(8)
@pytest.mark.parametrize(
    "words",
    [["question"], ["question", "-c"], ["question", "-l"], ["hello", "--json"], ["h.llo", "--regex"], ["nowhere"],
     ["question", "--role", "user"], ["question", "--state", "in"]],
)  # fmt: skip
def test_recall(logs: Path, words: list[str]) -> None:
    """The same hits, counts, reports and status, below a folder and in named logs, also from the index of words."""
    for places in (["."], ["1.jsonl", "none.jsonl", "3.jsonl", "0.jsonl"]):
        one, two, again = (ctxkit("recall", *places, *words, "--jobs", jobs) for jobs in ("1", "2", "2"))
        assert (one.code, one.out, one.err) == (two.code, two.out, two.err)
        assert (again.code, again.out) == (two.code, two.out)


@pytest.mark.full("a regular expression runs into its time limit twice")
def test_a_pattern_that_is_wrong(logs: Path) -> None:
    """It ends the search, from another process too."""
    (logs / "5.jsonl").write_bytes(b'{"role":"user","content":"' + b"a" * 60 + b'!"}\n')
    for jobs in ("1", "2"):
        ran = ctxkit("recall", "5.jsonl", "1.jsonl", "(a+)+$", "--regex", "--jobs", jobs)
        assert (ran.code, "pattern too slow" in ran.err) == (2, True), ran.err


def test_lists(logs: Path) -> None:
    """Both take their logs from a list; it may end names with NUL bytes without saying so."""
    ran = ctxkit("recall", "--files-from", "-", "question", "-l", stdin=b"1.jsonl\0003.jsonl\0")
    assert ran.text == "1.jsonl\n3.jsonl\n"
    found = ctxkit("sessions", "--files-from", "-", "--json", stdin=b"1.jsonl\n0.jsonl\n")
    assert {one["path"] for one in found.values} == {"0.jsonl", "1.jsonl"}
    ran = ctxkit("recall", "--files-from", "-", "--apply", "3", stdin=b"1.jsonl\n")
    assert (ran.code, "--apply takes one log" in ran.err) == (2, True)
    assert ctxkit("sessions", "--files-from", "-", stdin=b"").code == 1


def test_sessions(logs: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that the index does not know are read by several processes, and listed as by one."""
    long_ago = 1_700_000_000
    for path in logs.iterdir():
        os.utime(path, (long_ago, long_ago))
    found = []
    for jobs in ("1", "2"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        ran = ctxkit("sessions", ".", "--json", "--jobs", jobs)
        found.append((ran.code, ran.out, ran.err))
    assert found[0] == found[1]
