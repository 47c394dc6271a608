"""A search over several logs: which of them an option or a report is about, and what is printed of each."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxkit.core.text.search_pattern import Needle
from tests.cli.runner import FOREIGN, SMALL, ctxkit, good, lines, message
from tests.cli.test_agents import SESSION


@pytest.fixture
def sessions(tmp_path: Path) -> list[Path]:
    """The same session twice; ops on the first are in another folder."""
    found = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for path in found:
        path.write_bytes(FOREIGN)
    good("forget", found[0], "1", "--sidecar", tmp_path / "SA")
    return found


def test_a_sidecar_is_for_one_log(sessions: list[Path], tmp_path: Path) -> None:
    """Ops of one log are never applied to another: several logs and folders are refused."""
    beside = ("--sidecar", tmp_path / "SA")
    [hit] = good("recall", sessions[0], "hello", "--json", *beside).values
    assert hit["words"] == "forgotten by op 1"
    for places in (sessions, [tmp_path], [sessions[0], "-"]):
        ran = ctxkit("recall", *places, "hello", *beside, stdin=FOREIGN)
        assert (ran.code, ran.out) == (2, b"") and "--sidecar is for one log" in ran.err


def test_seen_as_show_sees_it(tmp_path: Path) -> None:
    """Where a message stands is asked of the agent and thread that are looked at."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(SESSION)
    aside = ("--thread", "sidechain-1")
    explained = {value["n"]: value["standing"] for value in good("show", path, "--explain", "--json", *aside).values
                 if "n" in value}  # fmt: skip
    hits = good("recall", path, "--regex", ".", *aside, "--json").values
    assert hits and {hit["n"]: hit["state"] for hit in hits} == {n: "in" for n in (3, 4, 5, 6)}
    assert all(explained[hit["n"]] == hit["state"] for hit in hits)
    assert len(good("recall", path, "--regex", ".", *aside, "--state", "in", "--json").values) == len(hits)
    others = good("recall", path, "--regex", ".", *aside, "--invert", "--json").values
    assert {hit["n"]: hit["state"] for hit in others} == {n: "in" for n in (1, 2, 7, 8)}


def test_what_not_every_log_has(tmp_path: Path) -> None:
    """Of several logs, one without the agent or thread has no hits; of one log it is an error."""
    (tmp_path / "a.jsonl").write_bytes(SMALL)
    (tmp_path / "b.jsonl").write_bytes(SESSION)
    ran = good("recall", tmp_path, "--regex", ".", "--thread", "sidechain-1", "--json")
    assert [hit["log"] for hit in ran.values] == [str(tmp_path / "b.jsonl")] * 4 and ran.err == "4 hits\n"
    assert "no thread 'sidechain-1'" in ctxkit("recall", tmp_path / "a.jsonl", "e", "--thread", "sidechain-1").err


def test_what_is_wrong_with_which_log(tmp_path: Path) -> None:
    """Every report names the log, where several are searched."""
    at = {"messages": 1, "rows": 1}
    broken = lines(message("user", "x"), {"ctxkit": "mark", "v": 1, "id": "m1", "at": at | {"last": "000000000000"}})
    newer = lines(message("user", "x"), {"ctxkit": "frobnicate", "v": 1, "id": "m2", "at": at})
    for name, held in (("a.jsonl", broken), ("b.jsonl", newer), ("c.jsonl", SMALL)):
        (tmp_path / name).write_bytes(held)
    ran = ctxkit("recall", tmp_path, "e")
    assert ran.code == 65
    err = ran.err
    assert f"ctxkit: {tmp_path / 'a.jsonl'}: op 1 (mark, line 2) does not fit" in err
    assert f"ctxkit: {tmp_path / 'b.jsonl'}: op 1 is a 'frobnicate', which" in err
    err = ctxkit("recall", tmp_path, "e", "--at", "1").err
    assert f"ctxkit: {tmp_path / 'c.jsonl'}: no op 1" in err


def test_any_of_several_texts(tmp_path: Path) -> None:
    """-e more than once: a message with any of them is a hit, and each is marked."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(SMALL)
    values = good("recall", path, "-e", "first", "-e", "third", "-e", "question", "--json").values
    assert [(value["n"], value["matches"]) for value in values] == [
        (2, [[0, 5], [6, 14]]), (6, [[7, 15]]), (10, [[0, 5], [6, 14]]),
    ]  # fmt: skip
    assert len(good("recall", path, "-e", "^first", "-e", "^third", "--regex", "--json").values) == 2
    assert len(good("recall", path, "-e", "FIRST", "-e", "zebra", "-i", "--json").values) == 1
    ran = ctxkit("recall", path, "-e", "zebra", "-e", "emu")
    assert ran.code == 1 and "nothing found: 'zebra' or 'emu' is nowhere in" in ran.err
    assert ctxkit("recall", path, "-e", "first", "-e", "").code == 2
    good("forget", path, "2", "10")
    ran = good("recall", path, "-e", "first", "-e", "third", "--apply", "--yes")
    assert "Recalled 2, 10 (2 messages)" in ran.err or "Recalled 2,10" in ran.err


def test_names(tmp_path: Path) -> None:
    """As they are for programs; visible for people."""
    path = tmp_path / "a\x1b b\n.jsonl"
    path.write_bytes(SMALL)
    assert {hit["log"] for hit in good("recall", tmp_path, "question", "--json").values} == {str(path)}
    assert b"\x1b" not in good("recall", tmp_path, "question").out


def test_files_with_many_conversations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All are searched, whether the file is named or stands below a folder."""
    monkeypatch.setenv("COLUMNS", "300")  # a path of any length
    path = tmp_path / "many.json"
    path.write_text(json.dumps([{"messages": [message("user", f"first {i}")]} for i in range(3)]))
    for place in (path, tmp_path):
        found = good("recall", place, "first", "--json").values
        assert [(value["log"], value["conversation"]) for value in found] == [(str(path), n) for n in (1, 2, 3)]
        assert ctxkit("recall", place, "first 7").code == 1
        text = good("recall", place, "first").text
        assert f"{path}#2\n" in text and "    many.json#2:1  user" in text
    assert len(good("recall", path, "first", "--limit", "2", "--json").values) == 2
    [one] = good("recall", path, "first", "--conversation", "2", "--json").values
    assert one["conversation"] == 2
    assert ctxkit("recall", path, "zebra").code == 1
    assert ctxkit("recall", path, "first", "--last", "x").code == 2
    assert ctxkit("recall", "-", "first", stdin=path.read_bytes()).code == 2


@pytest.mark.parametrize("command", [["recall", ".", "-i", "more"], ["sessions", ".", "--grep", "more"]])
def test_what_is_looked_for_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]) -> None:
    """However many files there are: the traces of a text in bytes, and its words for the index."""
    monkeypatch.chdir(tmp_path)
    made: list[str] = []
    for name in ("_traces", "_stems"):
        real = getattr(Needle, name)
        monkeypatch.setattr(Needle, name, lambda self, name=name, real=real: [made.append(name), real(self)][1])
    for k in range(8):
        (tmp_path / f"{k}.jsonl").write_bytes(FOREIGN)
        made.clear()
        good(*command)
        assert sorted(made) == ["_stems", "_traces"]


def test_a_folder_that_is_shut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said why it cannot be looked into, and not that it is no log; the others are searched."""
    (tmp_path / "a.jsonl").write_bytes(SMALL)
    shut = tmp_path / "shut"
    shut.mkdir()

    def refusing(call: Callable[..., Any]) -> Callable[..., Any]:
        def refused(path: Any = ".", *more: Any) -> Any:
            if str(path) == str(shut):
                raise PermissionError(errno.EACCES, "Permission denied", str(path))
            return call(path, *more)

        return refused

    for name in ("scandir", "listdir"):
        monkeypatch.setattr(os, name, refusing(getattr(os, name)))
    ran = ctxkit("recall", tmp_path, "question")
    assert f"{shut}: permission denied" in ran.err and "is a directory" not in ran.err
    assert ran.code == 77 and f"{tmp_path / 'a.jsonl'}\n" in ran.text


@pytest.mark.full("a regular expression runs into its time limit")
def test_a_pattern_that_is_too_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends the search of many logs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "slow.jsonl").write_bytes(b'{"role":"user","content":"' + b"a" * 60 + b'!"}\n')
    (tmp_path / "small.jsonl").write_bytes(SMALL)
    ran = ctxkit("recall", "slow.jsonl", "small.jsonl", "(a+)+$", "--regex")
    assert (ran.code, "pattern too slow" in ran.err) == (2, True), ran.err


def test_logs_of_a_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may end names with NUL bytes without saying so."""
    monkeypatch.chdir(tmp_path)
    for name in ("1.jsonl", "3.jsonl"):
        (tmp_path / name).write_bytes(SMALL)
    hits = good("recall", "--files-from", "-", "question", "--json", stdin=b"1.jsonl\0003.jsonl\0").values
    assert list(dict.fromkeys(hit["log"] for hit in hits)) == ["1.jsonl", "3.jsonl"]
    ran = ctxkit("recall", "--files-from", "-", "--apply", "3", stdin=b"1.jsonl\n")
    assert (ran.code, "--apply takes one log" in ran.err) == (2, True)
