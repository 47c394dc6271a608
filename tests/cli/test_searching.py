"""A search over several logs: which of them an option or a report is about, and what is printed of each."""

from __future__ import annotations

from pathlib import Path

import pytest

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
    ran = good("recall", tmp_path, "--regex", ".", "--thread", "sidechain-1", "-c")
    assert ran.text == f"{tmp_path / 'a.jsonl'}:0\n{tmp_path / 'b.jsonl'}:4\n" and ran.err == ""
    assert "no thread 'sidechain-1'" in ctxkit("recall", tmp_path / "a.jsonl", "e", "--thread", "sidechain-1").err


def test_what_is_wrong_with_which_log(tmp_path: Path) -> None:
    """Every report names the log, where several are searched."""
    at = {"messages": 1, "rows": 1}
    broken = lines(message("user", "x"), {"ctxkit": "mark", "v": 1, "id": "m1", "at": at | {"last": "000000000000"}})
    newer = lines(message("user", "x"), {"ctxkit": "frobnicate", "v": 1, "id": "m2", "at": at})
    for name, held in (("a.jsonl", broken), ("b.jsonl", newer), ("c.jsonl", SMALL)):
        (tmp_path / name).write_bytes(held)
    err = good("recall", tmp_path, "e", "-c").err
    assert f"ctxkit: {tmp_path / 'a.jsonl'}: op 1 (mark, line 2) does not fit" in err
    assert f"ctxkit: {tmp_path / 'b.jsonl'}: op 1 is a 'frobnicate', which" in err
    err = ctxkit("recall", tmp_path, "e", "--at", "1").err
    assert f"ctxkit: {tmp_path / 'c.jsonl'}: no op 1" in err
