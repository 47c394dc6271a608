"""Codex's forks and pages through the commands: one thread, one history, whatever files it stands in (replay 70)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log, find_sessions
from ctxkit.store.scan import Scan
from tests.cli.runner import ctxkit as run
from tests.formats.codex import logs, pages

SPEC = "user:one HERON | say:first | user:two | say:second | user:three | say:third"


def rows() -> list[dict[str, Any]]:
    """Three exchanges, at rising times."""
    return [json.loads(line) for line in logs.raw(SPEC).splitlines()]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a day in the home of Codex."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / ".codex"))
    return tmp_path / ".codex" / pages.DAY


def told(*words: str, stdin: bytes = b"") -> tuple[str, int]:
    """What a command prints, and its exit code."""
    ran = run(*words, stdin=stdin)
    return ran.out.decode(), ran.code


def scan_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are as large ones are: a scan runs beside the reading, and is over before anything is read."""
    monkeypatch.setattr("ctxkit.store.scan.LARGE", 0)
    monkeypatch.setattr("ctxkit.store.scan.READ_ALL", 0)
    check = Scan.check
    monkeypatch.setattr(Scan, "check", lambda scan, offset: (scan._done.wait(), check(scan, offset))[1])


def test_a_thread_is_one_session(home: Path) -> None:
    """Of the pages of a thread the newest is the session; forks are sessions of their own."""
    newest = pages.write(home, rows(), [2, 4], pages=True)
    assert [(one.path, one.glance.messages) for one in find_sessions().sessions] == [(newest, 6)]
    assert [one.path for one in find_sessions(here="/work").sessions] == [newest]
    out, code = told("check", str(home))
    assert out.count(".jsonl:") == 1 and "nothing found" in out and code == 0
    for path in home.iterdir():
        path.unlink()
    pages.write(home, rows(), [2, 4])
    assert sorted(one.glance.messages for one in find_sessions().sessions) == [3, 5, 6]


def test_a_list_is_made_anew_if_the_parent_is(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index keeps a preview only as long as every file of the chain is as it was."""
    child = pages.write(home, rows(), [2])
    monkeypatch.setattr("ctxkit.store.index.JUST_NOW", 0)
    find_sessions()
    assert {one.path: one.glance.messages for one in find_sessions().sessions}[child] == 6
    (home / pages.name(0)).unlink()
    [left] = find_sessions().sessions
    assert (left.path, left.glance.messages, left.glance.state) == (child, 4, "damaged")
    assert left.glance.tokens is None


def test_recall(home: Path) -> None:
    """A search reaches what a log inherited, and tells it once where the other file is searched too."""
    child = pages.write(home, rows(), [4])
    assert "one HERON" in told("recall", str(child), "HERON")[0]
    assert told("recall", str(home), "HERON")[0].count("one HERON\n") == 1
    assert told("recall", str(child), str(home / pages.name(0)), "HERON", "--json")[0].count('"n":') == 1
    assert told("recall", str(home), "d")[0].count("second\n") == 1  # the last that is inherited
    assert '"n":6' in told("recall", str(home), "third", "--json")[0]


def test_recall_by_state(home: Path) -> None:
    """What an op took out is told of each log: the parent's op says nothing of the fork."""
    child = pages.write(home, rows(), [4])
    assert told("forget", str(home / pages.name(0)), "3-4", "--yes")[1] == 0
    hits = [json.loads(line) for line in told("recall", str(home), "d", "--state", "in", "--json")[0].splitlines()]
    assert [(Path(hit["log"]).name, hit["n"]) for hit in hits] == [(child.name, 4), (child.name, 6)]


def test_tokens_of_a_fork_are_not_kept(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list of sessions would show them when the other file is another one."""
    monkeypatch.setattr("ctxkit.store.index.JUST_NOW", 0)
    child = pages.write(home, rows(), [4])
    assert told("status", str(child))[1] == 0
    (home / pages.name(0)).unlink()
    [left] = find_sessions().sessions
    assert left.tokens is None


def test_commands_reach_inherited_messages(home: Path) -> None:
    """forget, trim, log and undo count over all files; the stream of `cat` is the same log."""
    child = pages.write(home, rows(), [2, 4])
    kept = {path: path.read_bytes() for path in home.iterdir()}
    assert told("forget", str(child), "1-2", "--yes")[1] == 0
    shown = told("show", str(child), "--oneline")[0]
    assert "first" not in shown and "third" in shown
    stream = told("cat", str(child))[0]
    assert told("show", "-", "--oneline", stdin=stream.encode())[0] == shown
    assert told("undo", str(child))[1] == 0
    assert "first" in told("show", str(child), "--oneline")[0]
    assert {path: path.read_bytes() for path in kept} == kept


def test_resume(home: Path, tmp_path: Path) -> None:
    """The newest page goes on in its place; of an older one, and of one that changed, a whole copy is written."""
    newest = pages.write(home, rows(), [2, 4], pages=True, cwd=str(tmp_path))
    assert Log.open(newest).resume().path == newest
    older = Log.open(home / pages.name(1, page_of=0)).resume()
    assert older.path not in home.iterdir() and older.written is not None
    Log.open(newest).forget("1-2")
    changed = Log.open(newest).resume()
    raw = changed.path.read_bytes()
    assert json.loads(raw.splitlines()[0])["payload"]["history_base"] is None
    assert len(Log.open(changed.path).messages) == 4


def test_ops_of_an_older_page(home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Codex goes on with a newer file, which has none: whoever opens the thread by its name, or lists it, is told."""
    monkeypatch.chdir(tmp_path)
    pages.write(home, rows()[:4], [2], pages=True, cwd=str(tmp_path))
    older = home / pages.name(1, page_of=0)
    assert told("forget", str(older), "1-2", "--yes")[1] == 0
    for words in (("show", "@"), ("sessions",), ("sessions", "--here"), ("show", f"@{pages.thread(0)}")):
        assert str(older) not in run(*words).err.replace("1 session", "")
    newest = pages.write(home, rows(), [2, 4], pages=True, cwd=str(tmp_path))
    for words in (
        ("show", "@"),
        ("sessions",),
        ("sessions", "--here"),
        ("show", f"@{pages.thread(0)}"),
        ("sessions", str(home)),
    ):
        assert f"ctxkit log {older}" in run(*words).err
    assert "ctxkit log" not in run("show", str(newest)).err


def test_salvage(home: Path, tmp_path: Path) -> None:
    """The own rows of a fork are copied; what is wrong in another file stays there, and is named with it."""
    child, parent = pages.write(home, rows(), [2, 4]), home / pages.name(1)
    raw = child.read_bytes()
    child.write_bytes(raw.replace(b'"three"', b'"three', 1))
    found = json.loads(told("recover", str(child), "-o", str(home / "clean.jsonl"), "--json")[0].splitlines()[0])
    whole, left = child.read_bytes().splitlines(keepends=True), child.read_bytes()
    assert left[found["offset"] :][: found["size"]] == whole[1]
    assert (home / "clean.jsonl").read_bytes() == whole[0] + whole[2]
    assert len(Log.open(home / "clean.jsonl").messages) == 4  # two answers side by side are one
    child.write_bytes(raw)
    parent.write_bytes(parent.read_bytes().replace(b'"role": "user"', b"\0" * 14, 1))
    ran = run("recover", str(child), "-o", str(home / "equal.jsonl"))
    assert ran.code == 0 and (home / "equal.jsonl").read_bytes() == raw
    assert f"{parent} is damaged" in ran.err and "--to codex" in ran.err
    assert f"{parent}:2: nul-block" in run("show", str(child)).err and "copy:" not in told("recover", str(child))[0]
    assert told("export", str(child), "--to", "codex", "-o", str(tmp_path / "one.jsonl"))[1] == 0
    assert told("recover", str(tmp_path / "one.jsonl"), "-o", str(tmp_path / "two.jsonl"))[1] == 0
    assert len(Log.open(tmp_path / "two.jsonl").messages) == 4 and told("check", str(tmp_path / "two.jsonl"))[1] == 0
    parent.unlink()
    child.write_bytes(raw[:-20])
    assert told("recover", str(child), "-o", str(home / "tail.jsonl"))[1] == 0
    assert (home / "tail.jsonl").read_bytes() == b"".join(raw.splitlines(keepends=True)[:-1])


def test_sql_counts_a_thread_once(home: Path) -> None:
    """A dataset of forks: messages of each context, and each log with its own name."""
    pages.write(home, rows(), [4])
    out, _ = told("sql", str(home), "select count(*), count(distinct transcript_id) from messages")
    assert out.splitlines()[1].split("\t") == ["11", "2"]


def test_recall_in_a_folder_without_the_parent(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search below a folder finds what a search of each log finds, also once the words of all are indexed."""
    child = pages.write(home, rows(), [4])
    below = home.parent / "02"
    below.mkdir()
    child = child.rename(below / child.name)
    monkeypatch.setattr("ctxkit.store.index.JUST_NOW", 0)
    for _ in range(2):
        assert "one HERON" in told("recall", str(below), "HERON")[0]
    assert told("recall", str(below), "ibis")[1] == 1
    assert [one.path for one in find_sessions([below]).sessions] == [child]
    assert child.name in told("sessions", str(below), "--grep", "HERON")[0]


@pytest.mark.parametrize("many", [False, True], ids=["log", "folder"])
@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
def test_recall_without_the_whole_history(home: Path, monkeypatch: pytest.MonkeyPatch, large: bool, many: bool) -> None:
    """What is not found is not nowhere, if a part of the history could not be read."""
    child = pages.write(home, rows(), [4])
    (home / pages.name(0)).unlink()
    if large:
        scan_first(monkeypatch)
    assert "missing-history" in run("recall", str(home if many else child), "HERON").err


def test_recall_in_a_large_fork(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That its own bytes lack the text ends no reading."""
    child = pages.write(home, rows(), [4])
    scan_first(monkeypatch)
    assert "one HERON" in told("recall", str(child), "HERON")[0]
