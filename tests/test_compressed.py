"""A compressed log is the log: every command reads the same in it, and none ever writes to it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.errors import ForeignLog
from tests.cli.runner import SMALL, ctxkit, good
from tests.compressed import pack, packed
from tests.damage.sessions import ALL
from tests.damage.test_commands import CALLS
from tests.formats.codex.test_threads import AT, A
from tests.shared import transcripts

REAL = transcripts("codex", "claude-code", "claude-code-subagents", "copilot-cli", "openai-chat", under=1 << 20)
SAME = ("show", "export", "recall", "cat", "why")
"""Commands whose output has neither a time nor a size of ours."""


def ops(log: Log) -> list[str]:
    """The names of its ops."""
    return [entry.name for entry in log.ledger.entries]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ALL)
def test_every_command(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same exit codes, contexts and ops as of the plain file, which stays as it was."""
    (tmp_path / "plain").mkdir()
    plain = tmp_path / "plain" / ALL[name].name
    plain.write_bytes(ALL[name].clean)
    (tmp_path / "packed").mkdir()
    there = tmp_path / "packed" / f"{ALL[name].name}.zst"
    there.write_bytes(before := packed(ALL[name].clean))
    for command, (options, words) in CALLS.items():
        if command in ("add", "config", "init", "snapshots", "restore", "metrics", "fleet", "sql", "watch", "memory"):
            continue  # they take no log, or several; for a message see below
        ran = []
        for path in (plain, there):
            monkeypatch.chdir(path.parent)
            ran.append(ctxkit(command, *options, "--", path.name, *words))
        assert there.read_bytes() == before, command
        assert ran[0].code == ran[1].code, (command, ran[0].err, ran[1].err)
        assert command not in SAME or ran[0].text == ran[1].text.replace(there.name, plain.name), command
    assert ops(Log.open(plain)) == ops(Log.open(there))
    assert set(os.listdir(there.parent)) == {there.name, f"{plain.name}.ctxkit"}


@pytest.mark.parametrize("path", REAL[::4], ids=lambda path: path.name)
def test_real_files(path: Path, tmp_path: Path) -> None:
    """What is read, in full, and where it stands."""
    there = tmp_path / f"{path.name}.zst"
    there.write_bytes(packed(path.read_bytes()))
    plain, log = Log.open(path), Log.open(there)
    assert log.opening.format.name == plain.opening.format.name
    assert [log.content(one.n) for one in log.messages] == [plain.content(one.n) for one in plain.messages]
    assert [one.offset for one in log.messages] == [one.offset for one in plain.messages]


def test_ops_stay_when_a_program_compresses_its_log(tmp_path: Path) -> None:
    """And when it unpacks it again: plain and compressed are one log with one sidecar."""
    log = tmp_path / f"rollout-{AT}-{A}.jsonl"
    log.write_bytes(ALL["codex"].clean)
    good("forget", log, "3")
    there = pack(log)
    assert good("log", there).text.count("forget") == 1
    ran = ctxkit("show", log)
    assert (ran.code, ran.err.splitlines()[-1]) == (66, f"hint: it was compressed: {there}")
    assert "a sidecar whose log is gone" not in good("sessions", tmp_path).err + good("check", there).err
    good("forget", there, "4")
    there.unlink()
    log.write_bytes(ALL["codex"].clean)
    assert good("log", log).text.count("forget") == 2


def test_a_native_log(tmp_path: Path) -> None:
    """Ops go beside it, those in it count; a message is refused."""
    (tmp_path / "chat.jsonl").write_bytes(SMALL)
    good("mark", tmp_path / "chat.jsonl", "in it")
    there = pack(tmp_path / "chat.jsonl")
    before = there.read_bytes()
    good("mark", there, "beside it")
    log = Log.open(there)
    assert ops(log) == ["mark", "mark"]
    with pytest.raises(ForeignLog, match="is compressed: no message was added"):
        log.add_message({"role": "user", "content": "more"})
    assert there.read_bytes() == before
    assert (tmp_path / "chat.jsonl.ctxkit/ops.jsonl").read_bytes().count(b"\n") == 1


def test_a_log_that_is_compressed_anew(tmp_path: Path) -> None:
    """A longer one is read as a whole; an op that was decided on the shorter one is not appended."""
    log = tmp_path / "chat.jsonl"
    log.write_bytes(SMALL)
    there = pack(log)
    seen = Log.open(there)
    there.write_bytes(packed(SMALL + SMALL))
    ran = ctxkit("forget", there, "12")
    assert ran.code == 0
    seen.refresh()
    assert (len(seen.messages), ops(seen)) == (22, ["forget"])
    seen.forget([2])
    assert ops(Log.open(there)) == ["forget", "forget"]


@pytest.mark.parametrize("how", ["torn", "garbage behind it"])
def test_what_cannot_be_unpacked(how: str, tmp_path: Path) -> None:
    """It is refused by name, as git refuses an object that is not whole; others in the folder are read."""
    (tmp_path / "good.jsonl").write_bytes(SMALL)
    bad = tmp_path / "bad.jsonl.zst"
    bad.write_bytes(packed(SMALL)[:-9] if how == "torn" else packed(SMALL) + b"garbage")
    for command, *words in (("show",), ("status",), ("forget", "1"), ("check",), ("export", "--to", "openai")):
        ran = ctxkit(command, bad, *words)
        assert (ran.code, ran.out) == (65, b""), command
        assert ran.err.startswith(f"ctxkit: {bad}: ") and "nothing was read or changed\nhint: " in ran.err, ran.err
    for words in (("sessions", tmp_path), ("recall", tmp_path, "question")):
        ran = ctxkit(*words)
        assert "first question" in ran.text and f"ctxkit: {bad}: " in ran.err, ran.err
    assert sorted(os.listdir(tmp_path)) == ["bad.jsonl.zst", "good.jsonl"]


def test_in_a_folder(tmp_path: Path) -> None:
    """Compressed files are searched, also the second time; what is no log is passed over; the plain one counts."""
    (tmp_path / "a.jsonl").write_bytes(SMALL)
    there = pack(tmp_path / "a.jsonl")
    (tmp_path / "words.txt.zst").write_bytes(packed(b"first question\n" * 100_000))
    for _ in range(2):
        assert [one["path"] for one in good("sessions", tmp_path, "--json").values] == [str(there)]
        assert str(there) in good("recall", tmp_path, "first question").text
    (tmp_path / "a.jsonl").write_bytes(SMALL)
    assert [one["path"] for one in good("sessions", tmp_path, "--json").values] == [str(tmp_path / "a.jsonl")]
