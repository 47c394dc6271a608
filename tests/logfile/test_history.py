"""Histories that begin in other files (replay 70): read as from one file, or refused."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit import Log
from ctxkit.errors import MissingHistory
from ctxkit.logfile.open import OpenLog
from tests.cli.runner import ctxkit
from tests.formats.codex import logs
from tests.formats.codex.pages import base, lines, meta, name, thread, write
from tests.shared import SHARED

PROBES = sorted((Path(__file__).resolve().parents[2] / "fixtures/truth-codex").glob("*.jsonl"))
REAL = sorted((SHARED / "transcripts/codex").glob("*.jsonl"))
SPEC = "user:one | say:1 | call:c1 | out:c1 | user:two | compact user:one,user:two | say:2 | user:three | rollback:1"


def read(path: Path) -> list[Any]:
    """What a log says: the numbers and contents of all messages, and its context."""
    log = OpenLog.open(path, env={})
    contents = [(m.n, m.role, m.ts, log.content(m.n).parts) for m in log.messages]
    return [contents, list(log.listed()), log.transcript.counts.keys(), log.answered, log.model]


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The records of a file after its first row, as objects."""
    found = []
    for line in path.read_bytes().splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return [row for row in found if isinstance(row, dict) and row.get("type") != "session_meta"]


@settings(max_examples=25)
@given(data=st.data())
def test_wherever_it_is_cut(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A history in up to five files, forks or pages, is the one that it is in one file."""
    folder = tmp_path_factory.mktemp("cut")
    rows = rows_of(data.draw(st.sampled_from(PROBES)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=4)))
    whole = read(write(folder / "whole", rows, []))
    assert read(write(folder / "cut", rows, cuts, pages=data.draw(st.booleans()))) == whole


@pytest.mark.parametrize("path", REAL or [None], ids=lambda path: path.stem if path else "none")
def test_real_sessions_cut_in_three(path: Path | None, tmp_path: Path) -> None:
    """Each real session, cut at a third and at two thirds, is what it was."""
    if path is None:
        pytest.skip("no transcripts")
    rows = rows_of(path)
    whole = read(write(tmp_path / "whole", rows, []))
    assert read(write(tmp_path / "cut", rows, [len(rows) // 3, 2 * len(rows) // 3])) == whole


@pytest.fixture
def fork(tmp_path: Path) -> Path:
    """A fork of a fork, its parents beside it."""
    return write(tmp_path / "home", logs_rows(SPEC), [3, 6])


def logs_rows(spec: str) -> list[dict[str, Any]]:
    """Rows by the words of `logs.py`."""
    return [json.loads(line) for line in logs.raw(spec).splitlines()]


def _gone(home: Path) -> str:
    (home / name(0)).unlink()
    return f"its history begins in {thread(0)}, which is not there"


def _cut(home: Path) -> str:
    path = home / name(1)
    path.write_bytes(path.read_bytes()[:500])
    return f"{path} has 500 bytes, not"


def _grown_within(home: Path) -> str:
    path = home / name(0)
    path.write_bytes(path.read_bytes().replace(b'"one"', b'"one and more"'))
    return f"{path} has no line that ends at byte"


def _other_row(home: Path) -> str:
    path = home / name(0)
    path.write_bytes(path.read_bytes().replace(b'{"ordinal": 3', b'{"ordinal": 5'))
    return "has row 5 before byte"


def _legacy(home: Path) -> str:
    path = home / name(0)
    path.write_bytes(path.read_bytes().replace(b'"paginated"', b'"legacy"   '))
    return f"{path} is not paginated"


def _circle(home: Path) -> str:
    path = home / name(0)
    rows = path.read_bytes().split(b"\n", 1)[1]
    first = lines([meta(thread(0), base(2, 1, 300))])
    other = home / name(1)
    moved = first + rows
    path.write_bytes(moved)
    end = moved.index(b"\n", moved.index(b'{"ordinal": 3')) + 1
    old = json.loads(other.read_bytes().splitlines()[0])
    old["payload"]["history_base"] = base(0, 4, end)
    other.write_bytes(json.dumps(old).encode() + b"\n" + other.read_bytes().split(b"\n", 1)[1])
    young = home / name(2)
    whole = other.read_bytes()
    end = whole.index(b"\n", whole.index(b'{"ordinal": 7')) + 1
    own = json.loads(young.read_bytes().splitlines()[0])
    own["payload"]["history_base"] = base(1, 8, end)
    young.write_bytes(json.dumps(own).encode() + b"\n" + young.read_bytes().split(b"\n", 1)[1])
    return "goes on from itself"


def _itself(home: Path) -> str:
    path = home / name(2)
    path.write_bytes(path.read_bytes().replace(thread(1).encode(), thread(2).encode(), 1))
    return "goes on from itself"


def _no_place(home: Path) -> str:
    path = home / name(2)
    path.write_bytes(path.read_bytes().replace(b'"end_byte_offset"', b'"end_word_offset"', 1))
    return "cannot tell up to where"


def _anew(k: int) -> Callable[[Path], str]:
    def put(home: Path) -> str:
        path = home / name(k)
        raw = path.read_bytes()
        end = raw.index(b"\n", raw.index(b"\n") + 1) + 1  # behind the first message
        path.write_bytes(raw[:end] + lines([meta(thread(k))], 1) + raw[end:])
        if k < 2:
            child = home / name(k + 1)
            text = child.read_bytes()
            old = json.loads(text.splitlines()[0])["payload"]["history_base"]["end_byte_offset"]
            new = old + len(lines([meta(thread(k))], 1))
            child.write_bytes(text.replace(f'"end_byte_offset": {old}'.encode(), f'"end_byte_offset": {new}'.encode()))
        return f"{path} begins anew at line 3"

    return put


DAMAGE: list[Callable[[Path], str]] = [
    _gone, _cut, _grown_within, _other_row, _legacy, _circle, _itself, _no_place, *map(_anew, range(3)),
]  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda one: one.__name__.strip("_"))
def test_what_is_not_there_is_not_left_out_in_silence(damage: Callable[[Path], str], fork: Path) -> None:
    """A look at a log without ops gives its own messages without numbers, and says why; all else is refused."""
    before = read(fork)
    why = damage(fork.parent)
    with pytest.raises(MissingHistory) as refused:
        Log.open(fork)
    assert why in refused.value.message
    log = OpenLog.open(fork, partial="look")
    assert why in log.transcript.missing
    assert [one.code for one in log.transcript.broken] == ["missing-history"]
    assert [log.state().label(n) for n in log.listed()] == [f"?{n}" for n in log.listed()]
    assert len(log.messages) < len(before[0]) or "anew" in why


def test_a_forked_subagent_of_claude_code(tmp_path: Path) -> None:
    """It begins with rows of its session, which is another file: its own rows are not all there is."""
    session = "11111111-2222-4333-8444-555555555555"
    common = {"sessionId": session, "isSidechain": True, "agentId": "a1", "timestamp": "2026-10-01T10:00:00.000Z"}
    rows = [
        {
            "type": "fork-context-ref",
            "agentId": "a1",
            "parentSessionId": session,
            "parentLastUuid": "p",
            "contextLength": 2,
        },
        common | {"type": "user", "uuid": "u", "parentUuid": None, "message": {"role": "user", "content": "look"}},
    ]
    path = tmp_path / "agent-a1.jsonl"
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    with pytest.raises(MissingHistory, match=session):
        Log.open(path)
    log = OpenLog.open(path, partial="look")
    assert [log.state().label(n) for n in log.listed()] == ["?1"]
    path.write_bytes(path.read_bytes().split(b"\n", 1)[1])
    assert len(list(Log.open(path).entries())) == 1


def test_a_folder_that_cannot_be_listed_is_not_empty(fork: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is named: nothing is said to be gone."""

    def refused(folder: str) -> list[str]:
        raise PermissionError(errno.EACCES, "Permission denied", folder)

    monkeypatch.setattr(os, "listdir", refused)
    with pytest.raises(MissingHistory, match=f"but {fork.parent} cannot be listed: permission denied"):
        Log.open(fork)


def test_a_log_with_ops_is_not_even_looked_at(fork: Path) -> None:
    """Numbers in ops would mean other messages. Without them it can be checked and listed, which is said."""
    Log.open(fork).forget("2")
    _gone(fork.parent)
    with pytest.raises(MissingHistory, match="is not there"):
        OpenLog.open(fork, partial="look")
    log = OpenLog.open(fork, partial="bare")
    assert log.transcript.ops == [] and log.listed()
    assert [one.code for one in log.transcript.broken] == ["missing-history"] * 2
    ran = ctxkit("check", fork)
    assert ran.code == 1 and "have no effect" in ran.text
    ran = ctxkit("sessions", fork.parent)
    assert ran.code == 0 and "damaged" in ran.text


def test_a_parent_that_grew(fork: Path) -> None:
    """What comes behind the place from which the log goes on is not part of it."""
    before = read(fork)
    with (fork.parent / name(1)).open("ab") as parent:
        parent.write(b"not even JSON\n")
    assert read(fork) == before
    assert not Log.open(fork).transcript.damage


def test_a_parent_without_its_last_line_end(tmp_path: Path) -> None:
    """A parent that ends with its last row, and no line end, is whole."""
    home = tmp_path
    child = write(home, logs_rows("user:one | say:1 | user:two"), [2])
    parent = home / name(0)
    text = parent.read_bytes()
    kept = text[: text.index(b"\n", text.index(b'{"ordinal": 2'))]
    parent.write_bytes(kept)
    old, new = (f'"end_byte_offset": {size}'.encode() for size in (len(kept) + 1, len(kept)))
    child.write_bytes(child.read_bytes().replace(old, new))
    assert len(read(child)[0]) == 3


def test_ops_count_the_joined_rows(fork: Path) -> None:
    """Ops stay with the file that was named, name inherited messages, and count rows over all files (replay 70)."""
    kept = {path: path.read_bytes() for path in fork.parent.iterdir()}
    log = Log.open(fork)
    log.forget("1")
    assert log.ledger.entries[0].body["at"]["rows"] == len(logs_rows(SPEC)) + 3
    assert {path: path.read_bytes() for path in kept} == kept
    assert list(Log.open(fork).listed()) == list(log.listed())
    Log.open(fork).undo()
    assert read(fork)[1] == read(write(fork.parent / "again", logs_rows(SPEC), []))[1]


def test_a_log_that_grows(fork: Path) -> None:
    """What is appended to the log itself is read on, without reading its history again."""
    log = Log.open(fork)
    last = len(log.messages)
    with fork.open("ab") as file:
        file.write(lines(logs_rows("user:four"), 99))
    log.refresh()
    assert len(log.messages) == last + 1
    assert read(fork)[0][-1][3] == log.content(last + 1).parts


def test_a_log_that_begins_anew_as_it_grows(fork: Path) -> None:
    """What comes before is not sent any more: Codex would read this file from here on."""
    log = Log.open(fork)
    with fork.open("ab") as file:
        file.write(lines([meta(thread(2))], 99))
    with pytest.raises(MissingHistory, match="begins anew"):
        log.refresh()


def test_parents_lie_where_codex_keeps_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another day, the archive, and for a copy elsewhere the user's own home."""
    rows = logs_rows(SPEC)
    child = write(tmp_path / "codex/sessions/2026/10/01", rows, [3, 6])
    whole = read(child)
    for k, place in ((0, "archived_sessions"), (1, "sessions/2026/09/30")):
        (tmp_path / "codex" / place).mkdir(parents=True)
        shutil.move(child.parent / name(k), tmp_path / "codex" / place)
    assert read(child) == whole
    copy = tmp_path / "copy.jsonl"
    shutil.copy(child, copy)
    with pytest.raises(MissingHistory):
        Log.open(copy)
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    assert read(copy) == whole
    with copy.open("rb") as stream:
        assert len(OpenLog.open(stream, env={}).messages) == len(whole[0])


def test_damage_is_told_with_the_file_that_has_it(fork: Path) -> None:
    """A line counts in its own file, and the text names another one."""
    parent = fork.parent / name(1)
    text = parent.read_bytes()
    parent.write_bytes(text.replace(b'"call_id": "c1"', b"\0" * 15))
    damage = Log.open(fork).transcript.damage
    assert damage and all(one.file == str(parent) for one in damage)
    assert text[damage[0].offset :].startswith(text.splitlines()[damage[0].line - 1])
    assert max(one.line for one in damage) <= text.count(b"\n")
    assert [one.code for one in Log.open(fork).check(notes=True) if one.code == "other-session"] == []
    assert any(one.where.startswith(f"{parent} line ") for one in Log.open(fork).check())
    fork.write_bytes(fork.read_bytes()[:-20])
    [own] = [one for one in Log.open(fork).transcript.damage if not one.file]
    assert own.code == "torn-tail" and fork.read_bytes()[own.offset :].startswith(b'{"ordinal"')


@pytest.mark.parametrize("cuts", [[], [2]], ids=["alone", "fork"])
def test_what_codex_does_not_open_is_noted(cuts: list[int], tmp_path: Path) -> None:
    """A file without a mode, or whose last row has no number, is read, and `check` says that Codex refuses it."""
    path = write(tmp_path, logs_rows("user:one | say:first | user:two"), cuts)

    def noted() -> list[tuple[int | None, str]]:
        return [(one.line, one.text) for one in Log.open(path).check(notes=True) if one.code == "not-opened"]

    assert noted() == []
    raw = path.read_bytes()
    last = raw.count(b"\n") + 1
    path.write_bytes(raw + b"".join(json.dumps(row).encode() + b"\n" for row in logs_rows("say:2")))
    assert noted() == [(last, "Codex does not open a paginated file whose last row has no ordinal")]
    if not cuts:
        path.write_bytes(raw.replace(b'"paginated"', b"null"))
        assert noted() == [(1, "Codex does not open a file whose history_mode is null")]
    assert not [one for one in Log.open(path).check() if one.code == "not-opened"]


def test_a_page_is_not_its_thread(tmp_path: Path) -> None:
    """A base that names a thread means its first file, not a page that has other words at the same bytes."""
    child = write(tmp_path, logs_rows("user:one | say:first | user:two"), [2])
    before = read(child)
    text = (tmp_path / name(0)).read_bytes().replace(b'"one"', b'"ONE"')
    (tmp_path / name(7, page_of=0)).write_bytes(text)
    assert read(child) == before


@pytest.mark.parametrize("before", [b"\n", b" \n\r\n\t", b"\xef\xbb\xbf"], ids=["line", "blanks", "bom"])
def test_blanks_are_no_first_row(before: bytes, fork: Path) -> None:
    """What stands behind them says what the log goes on from, as for Codex."""
    whole = read(fork)
    fork.write_bytes(before + fork.read_bytes())
    assert read(fork) == whole


def test_a_first_row_of_any_length(tmp_path: Path) -> None:
    """However long the instructions in it are."""
    rows = logs_rows("user:one | say:first | user:two")
    child = write(tmp_path, rows, [2])
    whole = read(child)
    long = json.dumps("x" * (17 << 20)).encode()
    child.write_bytes(child.read_bytes().replace(b'"You are Codex."', long, 1))
    assert read(child) == whole


@pytest.mark.parametrize(
    "damage",
    [
        lambda raw: b"\0" * 40 + raw,  # a block that was never written
        lambda raw: raw.replace(b"\n", b"", 1),  # two rows on one line
        lambda raw: raw.replace(b'"payload"', b'"payl', 1),
        lambda raw: raw[:60] + raw[raw.index(b"\n") :],
        lambda raw: raw[:60] + b"\n\0\0\n{\n" + raw[raw.index(b"\n") + 1 :],
        lambda raw: raw[raw.index(b"\n") + 1 :],
        lambda raw: b"what is this?\n" + raw,
        lambda raw: b"3\n" + raw,
    ],
    ids=["nul", "glued", "torn", "base-lost", "lines-lost", "row-lost", "text-before", "number-before"],
)
def test_a_damaged_first_row_is_no_short_log(damage: Callable[[bytes], bytes], fork: Path) -> None:
    """Where it may name another file, and nobody can read which, the log is refused as one without that file."""
    fork.write_bytes(damage(fork.read_bytes()))
    with pytest.raises(MissingHistory):
        Log.open(fork)
    assert OpenLog.open(fork, partial="look").transcript.missing


def test_a_first_row_that_is_lost_where_all_is_there(tmp_path: Path) -> None:
    """Rows without numbers are of a file that stands alone, and so are those behind a `session_meta` without a base."""
    rows = logs_rows("user:one | say:first")
    path = tmp_path / name(0)
    path.write_bytes(b'{"type":"session_meta","pay\n' + b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    assert len(Log.open(path).messages) == 2
    path.write_bytes(lines([meta(thread(0)), *rows], 7))
    assert len(Log.open(path).messages) == 2
