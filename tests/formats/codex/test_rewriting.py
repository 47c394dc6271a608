"""A Codex session after ops: which rows change, and what becomes of a message that a compaction lists again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.core.decision import Decision
from ctxkit.core.ops import Compact, Trim
from tests.formats.codex import logs, pages
from tests.lawful import opened


def written(log: Log) -> bytes:
    """The session with its own id."""
    return b"".join(log.session("codex", keep_id=True).pieces)


def trimmed(log: Log, numbers: str) -> Log:
    """The log without these messages, and no step closed."""
    log.commit("trim", lambda: Decision(Trim(at=log.here(), ids=numbers), ""))
    return log


def told(raw: bytes) -> list[str]:
    """The words of the context, or what a part is."""
    log = opened(raw)
    parts = [part for entry in log.entries() for part in log.full(entry).parts]
    return [getattr(part, "text", "") or type(part).__name__ for part in parts]


@pytest.mark.parametrize(
    ("session", "numbers", "lines", "words"),
    [
        ("meta | user:q | say:a | user:r | say:b", "2", [0, 1, 3, 4], ["q", "r", "b"]),
        # listed again: the row goes, and the item of the list
        ("meta | user:q | say:a | compact user:q,user:short | user:r", "1", [0, 2, 4], ["short", "r"]),
        # an item that only a list has
        ("meta | user:q | say:a | compact user:q,user:short | user:r", "3", [0, 1, 2, 4], ["q", "r"]),
        # reasoning that an event parted from its words
        ("meta | user:q | think | abort | say:a | user:r", "3", [0, 1, 3, 5], ["q", "r"]),
        # all of what a rollback would take: the rest is written anew
        ("meta | user:p | user:q | say:a | rollback:1 | user:r", "1", [0, 2, 3, 4, 5], ["r"]),
    ],
)
def test_a_message_leaves(session: str, numbers: str, lines: list[int], words: list[str]) -> None:
    """Its rows, and where it is listed; other rows keep their bytes."""
    raw = logs.raw(session)
    after = written(trimmed(opened(raw), numbers))
    old = raw.splitlines(keepends=True)
    assert [line for line in after.splitlines(keepends=True) if line in old] == [old[i] for i in lines]
    assert told(after) == words


def test_the_summary_of_an_old_compaction_leaves() -> None:
    """What it kept is listed in its row, in the place of the summary; every other row stays as it is."""
    before = logs.raw("meta | user:q | say:a | legacy:told | user:r").splitlines(keepends=True)
    after = written(trimmed(opened(b"".join(before)), "3")).splitlines(keepends=True)
    assert told(b"".join(after)) == ["q", "r"]
    assert [old == new for old, new in zip(before, after, strict=True)] == [True, True, True, False, True]
    payload = json.loads(after[3])["payload"]
    assert payload["message"] == "" and payload["replacement_history"] == [json.loads(before[1])["payload"]]


def test_what_comes_in_stands_where_it_belongs() -> None:
    """A summary behind what stays before it: in the file, or in the list that Codex goes on with."""
    for session, numbers, words in (
        ("meta | user:q | say:a | user:r | say:b", "2-3", ["q", "in short", "b"]),
        ("meta | user:o | compact user:q,user:short,user:s | user:r", "3", ["q", "in short", "s", "r"]),
    ):
        log = opened(logs.raw(session))
        log.commit("compact", lambda: Decision(Compact(at=log.here(), ids=numbers, text="in short"), ""))  # noqa: B023
        assert told(written(log)) == words


def test_the_new_id_is_in_every_row_that_says_it() -> None:
    """A session that was gone on with says its id more than once; the id of another one stays."""
    raw = logs.raw("meta | user:q | meta") + b'{"type":"session_meta","payload":{"id":"other"}}\n'
    made = opened(raw).session("codex")
    ids = [
        row["payload"]["id"] for row in map(json.loads, b"".join(made.pieces).splitlines()) if "id" in row["payload"]
    ]
    assert ids == [made.id, made.id, "other"]


@pytest.mark.parametrize("told", [{"thread_source": "subagent"}, {}])
def test_a_subagents_thread_becomes_a_users(told: dict[str, str]) -> None:
    """Codex lists the threads of users alone. Older ones say whose they are in `source` alone, and get no other key."""
    head, rest = logs.raw("meta | user:q | say:a").split(b"\n", 1)
    row = json.loads(head)
    row["payload"] |= {"cwd": "/x", "source": {"subagent": {"thread_spawn": {}}}, **told}
    made = opened(json.dumps(row).encode() + b"\n" + rest).session("codex")
    meta = json.loads(b"".join(made.pieces).split(b"\n")[0])["payload"]
    assert (meta["source"], meta.get("thread_source"), meta["id"]) == ("cli", "user" if told else None, made.id)


@pytest.mark.parametrize("session", ["user:q | say:a | user:r", "user:p | user:q | say:a | rollback:1 | user:r"])
def test_a_session_meta_that_was_lost(session: str) -> None:
    """After an op there is one again, in place or anew, or Codex would not know the file; without an op none."""
    log = opened(logs.raw(session))
    assert b"session_meta" not in written(log)
    log = trimmed(log, "1")
    made = log.session("codex")
    row = json.loads(b"".join(made.pieces).splitlines()[0])
    assert (row["type"], row["payload"]["id"]) == ("session_meta", made.id)
    assert made.repairs.added == {"session_meta, which was lost": 1}
    kept = log.session("codex", keep_id=True)
    assert kept.id and kept.id in kept.name


def test_a_history_in_two_files_is_written_whole(tmp_path: Path) -> None:
    """After an op on an inherited message the session goes on from no other file, and its rows are the joined ones."""
    rows = [json.loads(line) for line in logs.raw("user:q | say:a | user:r | say:b").splitlines()]
    log = Log.open(pages.write(tmp_path, rows, [2]))
    log.forget("1")
    raw = b"".join(log.session("codex").pieces)
    first, *others = map(json.loads, raw.splitlines())
    assert first["payload"]["history_base"] is None and first["payload"]["history_mode"] == "legacy"
    assert [row["payload"].get("id") for row in others if row["type"] == "session_meta"] == [pages.thread(0)]
    assert told(raw) == ["a", "r", "b"]
    again = tmp_path / "elsewhere.jsonl"
    again.write_bytes(raw)
    assert list(Log.open(again).listed()) == [1, 2, 3]


def test_a_paginated_session_that_changed_is_legacy(tmp_path: Path) -> None:
    """Codex opens no paginated file whose last row has no number, which a summary has not; unchanged ones stay."""
    rows = [json.loads(line) for line in logs.raw("user:q | say:a | user:r | say:b").splitlines()]
    path = pages.write(tmp_path, rows, [])
    log = Log.open(path)
    assert b"".join(log.session("codex", keep_id=True).pieces) == path.read_bytes()
    assert json.loads(b"".join(log.session("codex").pieces).splitlines()[0])["payload"]["history_mode"] == "paginated"
    log.forget("3-4")
    assert json.loads(b"".join(log.session("codex").pieces).splitlines()[0])["payload"]["history_mode"] == "legacy"
