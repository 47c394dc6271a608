"""Surroundings: what check says of config, snapshots, drafts and copies beside a log."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.snapshots import snapshot
from ctxkit.store import snapshot_files
from ctxkit.store.drafts import Draft
from tests.build import lines
from tests.lawful import NOW, ROOT

FOREIGN = (ROOT / "fixtures/guide/session.jsonl").read_bytes()
ROWS = lines("1-9").splitlines(keepends=True)
OTHER = lines("1 system").splitlines(keepends=True)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of nine messages with two snapshots."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(b"".join(ROWS[:6]))
    opened(path).snapshot("one")
    with path.open("ab") as file:
        file.write(b"".join(ROWS[6:]))
    opened(path).snapshot("two")
    return path


def opened(path: Path) -> Log:
    """As of a clock that stands still, whatever its config says."""
    return Log.open(path, clock=lambda: NOW, tolerant=True)


def found(path: Path) -> list[tuple[str, str, bool]]:
    """Where, what, and whether it is a note."""
    return [(one.where, one.code, one.note) for one in opened(path).check(notes=True)]


def file_of(path: Path, description: str = "one") -> Path:
    """The file of one of the snapshots."""
    folder = path.with_name(path.name + ".ctxkit") / "snapshots"
    return next(one for one in folder.iterdir() if f'"description":"{description}"' in one.read_text())


def test_sound(log: Path) -> None:
    """Two snapshots, of a log that grew since: nothing to say, with ops on it, too, and of another program's."""
    assert found(log) == []
    opened(log).forget("3")
    opened(log).snapshot("three")
    assert found(log) == []
    session = log.with_name("s.jsonl")
    session.write_bytes(FOREIGN)
    opened(session).snapshot("one")
    opened(session).forget("2")
    opened(session).snapshot("two")
    assert found(session) == []


def changed_word(raw: bytes) -> bytes:
    """A message says something else."""
    return raw.replace(b'"content":"', b'"content":"not ', 1)


def newer(raw: bytes) -> bytes:
    """A version that is to come."""
    return raw.replace(b'"v":1', b'"v":2', 1)


def other_id(raw: bytes) -> bytes:
    """A head that was made to say another id, with the right sum."""
    body = json.loads(raw)
    messages, held = body.pop("messages"), body.pop("held")
    del body["sum"]
    body["session_id"] = "0" * 16
    return json.dumps({**sealed_dict(body), "messages": messages, "held": held}).encode()


def sealed_dict(body: dict[str, object]) -> dict[str, object]:
    """With its sum."""
    from ctxkit.core.ops import SUM_DIGITS
    from ctxkit.core.text.json_text import digest

    return {**body, "sum": digest(body, SUM_DIGITS)}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda raw: b"", "damaged-snapshot"),
        (lambda raw: b"[]", "damaged-snapshot"),
        (lambda raw: raw[:-40], "damaged-snapshot"),
        (lambda raw: raw.replace(b"one", b"uno", 1), "damaged-snapshot"),
        (lambda raw: b"\xff\xfe" + raw, "damaged-snapshot"),
        (changed_word, "damaged-snapshot"),
        (other_id, "damaged-snapshot"),
        (newer, "newer-snapshot"),
    ],
)
def test_each_snapshot_is_read(log: Path, change: Callable[[bytes], bytes], code: str) -> None:
    """Its head and its messages; what is said once is not said again for another reason."""
    path = file_of(log)
    path.write_bytes(change(path.read_bytes()))
    assert found(log) == [(f"snapshots/{path.name}", code, False)]


def test_names(log: Path) -> None:
    """A file that fits no name of its own; a copy that a program made is a note where its original is there."""
    path = file_of(log)
    for name in ("mine.json", "20990101T000000Z-00000000.json"):
        path = path.rename(path.with_name(name))
        assert found(log) == [(f"snapshots/{name}", "misnamed-snapshot", False)]
    path = file_of(log, "two")
    copy = path.with_name(f"{path.stem}.sync-conflict-20260212-143000-ABCDEFG.json")
    copy.write_bytes(path.read_bytes())
    assert (f"snapshots/{copy.name}", "conflict-copy", True) in found(log)
    path.unlink()
    assert (f"snapshots/{copy.name}", "conflict-copy", False) in found(log)


def test_no_files(log: Path) -> None:
    """Links, folders and pipes in a snapshot's place are named, and nothing is opened; hidden ones are nobody's."""
    folder = file_of(log).parent
    (folder / "a.json").symlink_to(file_of(log))
    (folder / "b.json").mkdir()
    os.mkfifo(folder / "c.json")
    (folder / ".d.json").touch()
    (folder / "notes.txt").touch()
    assert found(log) == [(f"snapshots/{name}.json", "damaged-snapshot", False) for name in "abc"]


def test_another_log(log: Path) -> None:
    """A log that was cut, or whose first messages are others: those that hold of it stay silent."""
    log.write_bytes(b"".join(ROWS[:7]))
    assert found(log) == [(f"snapshots/{file_of(log, 'two').name}", "foreign-snapshot", False)]
    log.write_bytes(b"".join([*ROWS[:3], *OTHER, *ROWS[4:]]))
    assert sorted(found(log)) == sorted(
        (f"snapshots/{file_of(log, name).name}", "foreign-snapshot", False) for name in ("one", "two")
    )
    assert "first 6 messages were others" in " ".join(one.text for one in opened(log).check())


def test_a_folder_that_cannot_be_read(log: Path) -> None:
    """A link that leads out is not followed: one finding."""
    folder = file_of(log).parent
    away = folder.rename(log.parents[1] / f"{log.parent.name}-away")
    folder.symlink_to(away)
    assert found(log) == [("snapshots", "damaged-snapshot", False)]


def test_what_stands_in_the_place_of_folders(tmp_path: Path) -> None:
    """Files, pipes, links that lead nowhere or out: named, whatever else is there."""
    log = tmp_path / "work" / "chat.jsonl"
    log.parent.mkdir()
    log.write_bytes(b"".join(ROWS))
    folder = log.with_name("chat.jsonl.ctxkit")
    os.mkfifo(folder)
    assert found(log) == [("chat.jsonl.ctxkit", "no-folder", False)]
    folder.unlink()
    folder.symlink_to(tmp_path)
    assert found(log) == [("chat.jsonl.ctxkit", "ignored-sidecar", False)]
    folder.unlink()
    folder.mkdir()
    (folder / "snapshots").touch()
    (folder / "drafts").symlink_to("nowhere")
    assert found(log) == [("snapshots", "no-folder", False), ("drafts", "no-folder", False)]


def test_config(log: Path) -> None:
    """All of it, by line, and the log is read in spite of it; so is one that is no file."""
    config = log.with_name(log.name + ".ctxkit") / "config.toml"
    config.write_text('frmat = "chat"\n[window]\nmin = "soon"\nmax = "3d"\n')
    said = [(one.where, one.code, one.line) for one in opened(log).check()]
    assert said == [("config.toml line 1", "bad-config", 1), ("config.toml line 3", "bad-config", 3)]
    config.write_text("now = \n")
    assert found(log) == [("config.toml line 1", "bad-config", False)]
    config.write_bytes(b"\xff")
    assert found(log) == [("config.toml", "bad-config", False)]
    config.unlink()
    config.mkdir()
    assert found(log) == [("config.toml", "bad-config", False)]
    config.rmdir()
    above = log.with_name("ctxkit.toml")
    above.write_text("x = 1\n")
    assert found(log) == [(f"{above} line 1", "bad-config", False)]
    above.write_text('window.min = "2h"\nwindow.max = "1h"\n')
    assert [code for _, code, _ in found(log)] == ["bad-config"]


def test_drafts(log: Path) -> None:
    """One that was left is a note."""
    sidecar = opened(log).opening.sidecar
    assert sidecar is not None
    draft = Draft(sidecar, "words")
    where = str(draft.path.relative_to(sidecar.folder))
    assert found(log) == [(where, "draft-left", True)]
    assert opened(log).check() == []
    draft.remove()
    assert found(log) == []


def texts(path: Path) -> list[str]:
    """What is said of copies."""
    return [f"{one.where}: {one.text}{' (note)' if one.note else ''}" for one in opened(path).check(notes=True)]


def test_copies_of_the_log(log: Path) -> None:
    """Each with what it has more and fewer, and where they part; nothing is changed."""
    log.with_name("chat (Ann's conflicted copy 2026-02-12).jsonl").write_bytes(b"".join([*ROWS[:7], *OTHER]))
    log.with_name("chat.sync-conflict-20260212-143000-ABCDEFG.jsonl").write_bytes(b"".join(ROWS))
    log.with_name("chat 2.jsonl").write_bytes(b"".join(ROWS[:5]))
    log.with_name("chat 3.jsonl").write_bytes(b"".join(OTHER))  # another log
    log.with_name("chat (4).jsonl").mkdir()
    log.with_name("chat (conflicted copy).jsonl").mkdir()
    before = {path: path.read_bytes() for path in log.parent.rglob("*") if path.is_file()}
    assert texts(log) == [
        "chat (Ann's conflicted copy 2026-02-12).jsonl: a copy of chat.jsonl: the first 7 records are the same; "
        "it has 1 record more and lacks 2",
        "chat (conflicted copy).jsonl: a copy of chat.jsonl that cannot be read: not a log: it is a directory",
        "chat 2.jsonl: a copy of chat.jsonl: the first 5 records are the same; it has nothing more and lacks 4 (note)",
        "chat.sync-conflict-20260212-143000-ABCDEFG.jsonl: a copy of chat.jsonl: it holds the same (note)",
    ]
    assert before == {path: path.read_bytes() for path in log.parent.rglob("*") if path.is_file()}


def test_names_that_people_use(log: Path) -> None:
    """A talk that begins with the same prompt is no copy; one that goes on as this one does is."""
    beside = log.with_name("chat 2.jsonl")
    for same, expected in ((1, []), (2, []), (3, ["chat 2.jsonl"])):
        beside.write_bytes(b"".join([*ROWS[:same], *OTHER]))
        assert [where for where, _, _ in found(log)] == expected
    beside.write_bytes(ROWS[0])
    assert found(log) == [("chat 2.jsonl", "conflict-copy", True)]


def test_copies_beside_a_link(log: Path, tmp_path: Path) -> None:
    """They stand where the file is."""
    log.with_name("chat (conflicted copy).jsonl").write_bytes(lines("1-2"))
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.jsonl"
    link.symlink_to(log)
    assert [where for where, _, _ in found(link)] == ["chat (conflicted copy).jsonl"]


def test_copies_in_the_sidecar(log: Path) -> None:
    """Of ops, config, and the folder itself."""
    session = log.with_name("s.jsonl")
    session.write_bytes(FOREIGN)
    opened(session).mark("a")
    folder = session.with_name("s.jsonl.ctxkit")
    ops = (folder / "ops.jsonl").read_bytes()
    (folder / "ops.sync-conflict-20260212-143000-ABCDEFG.jsonl").write_bytes(ops + b'{"ctxkit":"mark"}\n')
    (folder / "config (conflicted copy).toml").write_text('now = "wall"\n')
    session.with_name("s.jsonl 2.ctxkit").mkdir()
    assert texts(session) == [
        "ops.sync-conflict-20260212-143000-ABCDEFG.jsonl: a copy of ops.jsonl: the first record is the same; "
        "it has 1 record more and lacks none",
        "config (conflicted copy).toml: a copy of config.toml: they begin differently; it has 1 record more and "
        "lacks none",
        "s.jsonl 2.ctxkit: a copy of s.jsonl.ctxkit: nothing in it is read",
    ]


def test_copies_of_a_file_that_is_one_text(tmp_path: Path) -> None:
    """Its messages are compared, however the text is laid out."""
    path = tmp_path / "chat.json"
    messages = [{"role": role, "content": role} for role in ("user", "assistant", "user")]
    path.write_text(json.dumps(messages))
    path.with_name("chat (conflicted copy).json").write_text(json.dumps(messages[:2], indent=2))
    path.with_name("chat 2.json").write_text(json.dumps([*messages, messages[1]], indent=2))
    assert [text.partition(": a copy of chat.json: ")[2] for text in texts(path)] == [
        "the first 2 records are the same; it has nothing more and lacks 1 (note)",
        "the first 3 records are the same; it has 1 record more and lacks none",
    ]


def test_the_log_is_read_once_for_all_snapshots(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are: reads of the log, and of each file, do not multiply; no two bodies are held at once."""
    target = opened(log)
    hashed = 0
    take = snapshot._take

    def counted(running: object, source: object, start: int, end: int, **named: bool) -> None:
        nonlocal hashed
        hashed += max(end - start, 0)
        take(running, source, start, end, **named)

    monkeypatch.setattr(snapshot, "_take", counted)
    for n in range(20):
        target.snapshot(f"number {n}")
    hashed, reads = 0, []
    monkeypatch.setattr("ctxkit.recovery.beside.read", lambda path: reads.append(path) or snapshot_files.read(path))
    assert opened(log).check() == []
    assert len(reads) == len(set(reads)) == 22
    assert hashed < log.stat().st_size


def test_streams() -> None:
    """They have no place."""
    import io

    assert Log.open(io.BytesIO(lines("1-3"))).check(notes=True) == []


def test_sidecars_whose_log_is_gone(log: Path) -> None:
    """Are named, as a note; neither they nor links and files of such a name are touched."""
    old = log.with_name("old.jsonl")
    old.write_bytes(log.read_bytes())
    opened(old).snapshot("kept")
    assert found(log) == []
    old.unlink()
    log.with_name("a.ctxkit").write_bytes(b"x")
    log.with_name("b.ctxkit").symlink_to(log.parent)
    [finding] = opened(log).check(notes=True)
    assert (finding.where, finding.code, finding.note) == ("old.jsonl.ctxkit", "orphan-sidecar", True)
    assert (
        f"ctxkit snapshots {old}" in finding.text and len(list(old.with_name("old.jsonl.ctxkit").rglob("*.json"))) == 1
    )
