"""restore: a snapshot comes back, into its own log and into others."""

from __future__ import annotations

import json
from pathlib import Path

import pexpect
import pytest

from tests.cli.runner import FOREIGN, PYTHON, SMALL, ctxkit, good, lines, message, ops, shell, shown, small


def test_what_is_missing(tmp_path: Path) -> None:
    """Comes back to its place, with its own time for display, and says so."""
    path = small(tmp_path)
    good("snapshot", path, "-m", "before")
    good("forget", path, "2-5")
    ran = good("restore", path, "before")
    assert ran.out == b"" and ran.said.splitlines() == [
        "visible already, left where they are: 7 of 11",
        f"Restored 4 messages of snapshot {ops(path)[-1]['snapshot']['id'][:8]} (before).",
    ]
    assert shown(path) == list(range(1, 12))
    found = good("show", path, "--json").values
    assert found[4]["ts"] == "2026-02-01T10:04:00Z" and [one.get("restored") for one in found[:6]] == [
        None,
        *[2] * 4,
        None,
    ]
    assert "restored by op 2" in good("show", path, "5").text and "restored" not in good("show", path, "6").text
    assert "op 2 (restore) brought it back" in good("why", path, "5").text
    good("undo", path)
    assert shown(path) == [1, 6, 7, 8, 9, 10, 11]
    assert path.read_bytes().startswith(SMALL)


def test_an_empty_id_names_nothing(tmp_path: Path) -> None:
    """As without an id: an unset variable of a script is no reason to offer the newest checkpoint."""
    path = small(tmp_path)
    good("clear", path)
    ran, bare = ctxkit("restore", path, ""), ctxkit("restore", path)
    assert (ran.code, ran.err) == (bare.code, bare.err) and ran.code == 2 and "before clear" not in ran.err


def test_behind_an_edit(tmp_path: Path) -> None:
    """What an edit or a replacing restore took out stands where it stood, not before the system prompt."""
    path = small(tmp_path)
    good("snapshot", path, "-m", "all")
    good("forget", path, "3-5")
    good("snapshot", path, "-m", "part")
    good("restore", path, "part", "--replace")
    good("add", path, "one more")
    good("restore", path, "all")
    assert shown(path) == list(range(1, 13))


def test_a_summary_and_a_shortened_message(tmp_path: Path) -> None:
    """After a clear the log's own summary comes back before the newest question; so does what a trim shortened."""
    path = small(tmp_path)
    body = {"ctxkit": "compact", "v": 1, "id": "c1", "at": {"messages": 11}, "ids": "3-8", "text": "in short"}
    with path.open("ab") as log:
        log.write(lines({**body, "stubs": {"2": "short", "10": "shorter"}}))
    was = good("show", path, "--json").values
    good("snapshot", path, "-m", "S")
    good("clear", path)
    assert "at the end" not in good("restore", path, "S").err
    now = good("show", path, "--json").values
    assert len(now) == 6 and [one["parts"] for one in now] == [one["parts"] for one in was]


def test_what_stays_shortened_is_said(tmp_path: Path) -> None:
    """It is visible, but not all that the snapshot has; --replace brings that. Shortened in the snapshot too: all is
    there.
    """
    path = tmp_path / "s.jsonl"
    path.write_bytes(SMALL + lines(*(message("user", f"{k} " + "long words " * 400, 20 + k) for k in range(3))))
    good("snapshot", path, "-m", "long")
    body = {"ctxkit": "trim", "v": 1, "id": "t1", "at": {"messages": 14}, "ids": "", "stubs": {"12": "12 long …"}}
    with path.open("ab") as log:
        log.write(lines(body))
    ran = good("restore", path, "long")
    assert "visible already, 1 shorter than in the snapshot (--replace brings the long ones): nothing" in ran.err
    good("snapshot", path, "-m", "short")
    assert "shorter" not in good("restore", path, "short").err
    good("restore", path, "long", "--replace")
    assert "shorter" not in good("restore", path, "long").err


def test_at_the_end(tmp_path: Path) -> None:
    """--append: an op of the first version, and the report says where."""
    path = small(tmp_path)
    good("snapshot", path, "-m", "before")
    good("forget", path, "2-5")
    ran = good("restore", path, "before", "--append")
    assert ran.said.splitlines()[-1].endswith(" (before), at the end.") and ops(path)[-1]["v"] == 1
    assert shown(path) == [1, 6, 7, 8, 9, 10, 11, 2, 3, 4, 5]
    assert "restored by op 2" in good("show", path, "5").text
    ran = ctxkit("restore", path, "before", "--append", "--replace")
    assert ran.code == 2 and "two places: nothing was changed" in ran.said


def test_an_answer_at_the_end(tmp_path: Path) -> None:
    """A request that would end with an answer is said, once it was not so before."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(lines(message("user", "first question", 1), message("assistant", "first answer", 2),
                           message("user", "second question", 3)))  # fmt: skip
    good("snapshot", path)
    good("forget", path, "1-2")
    assert "ends with an answer now (2)" in good("restore", path, "latest", "--append", "--dry-run").err
    assert "answer" not in good("restore", path, "latest").err and shown(path) == [1, 2, 3]
    good("forget", path, "3")
    good("snapshot", path)
    good("forget", path, "1-2")
    assert "ends with an answer now (2)" in good("restore", path, "latest", "--replace").err
    assert "answer" not in good("restore", path, "latest", "--replace").err


def test_newest_messages_alone(tmp_path: Path) -> None:
    """What window.messages hides of the restored is said."""
    path = small(tmp_path)
    good("snapshot", path)
    good("forget", path, "2-5")
    good("config", path, "set", "window.messages", "3")
    said = "window.messages shows the newest 3: 7 of the restored stay hidden (--append puts them at the end)"
    assert said in good("restore", path, "latest", "--dry-run").err
    assert "3 of the visible are hidden now" in good("restore", path, "latest", "--append").err


@pytest.mark.parametrize("word", ["ID", "ID4", "latest", "before", "FILE"])
def test_by_name(word: str, tmp_path: Path) -> None:
    """An id, its beginning, `latest`, a description, a file."""
    path = small(tmp_path)
    key = good("snapshot", path, "-m", "before").text.strip()
    [file] = (tmp_path / "chat.jsonl.ctxkit/snapshots").iterdir()
    good("clear", path)
    good("restore", path, {"ID": key, "ID4": key[:4], "FILE": str(file)}.get(word, word))
    assert shown(path) == [1, *range(2, 12)]


def test_replace(tmp_path: Path) -> None:
    """Exactly that, whatever came since: tokens and order, and back by undo."""
    path = small(tmp_path)
    good("forget", path, "3-4")
    good("snapshot", path)
    before = good("status", path, "--json").values[0]["tokens"]
    good("recall", path, "3", "--apply")
    good("add", path, "--ts", "2026-02-01T10:30:00Z", "more")
    good("mark", path, "a")
    now = shown(path)
    assert good("restore", path, "latest", "--replace").said.endswith(" again: 9 messages.\n")
    assert shown(path) == [1, 2, 5, 6, 7, 8, 9, 10, 11]
    assert good("status", path, "--json").values[0]["tokens"] == before
    assert ctxkit("rewind", path).code == 1  # a boundary takes marks
    good("undo", path)
    assert shown(path) == now


def test_summary(tmp_path: Path) -> None:
    """Only its words, quoted, as one user message that says where they are from."""
    path = small(tmp_path)
    good("snapshot", path, "-m", "before", "--summary-file", "-", stdin=b"We looked. All is well.")
    good("clear", path)
    ran = good("restore", path, "before", "--summary")
    assert ran.said.startswith("Summary of snapshot ") and ran.said.endswith(" (before) brought in.\n")
    [line] = good("export", path, "--to", "chat").values[1:]
    assert line["role"] == "user" and line["content"].endswith("11 messages]\n\n> We looked. All is well.")
    assert '"before" of chat.jsonl' in line["content"]


def test_again(tmp_path: Path) -> None:
    """All of it is visible: exit 0, nothing appended; an op id makes a retry harmless."""
    path = small(tmp_path)
    good("snapshot", path)
    assert good("restore", path, "latest").err.endswith("is visible already: nothing appended.\n")
    assert path.read_bytes() == SMALL
    good("forget", path, "11")
    for _ in range(2):
        good("restore", path, "latest", "--op-id", "once", "-q")
    assert len(ops(path)) == 2 and shown(path)[-1] == 11


def test_into_another_log(tmp_path: Path) -> None:
    """After a warning and --yes; copies that say where they are from. Again: they are visible already."""
    path = small(tmp_path)
    good("snapshot", path, "-m", "x")
    [file] = (tmp_path / "chat.jsonl.ctxkit/snapshots").iterdir()
    other = tmp_path / "s.jsonl"
    other.write_bytes(FOREIGN)
    ran = ctxkit("restore", other, file)
    assert ran.code == 2 and "is of another log (chat.jsonl)" in ran.err and "use --yes" in ran.err
    assert not (tmp_path / "s.jsonl.ctxkit").exists()
    assert "Dry run" in good("restore", other, file, "--dry-run").err
    good("restore", other, file, "--yes")
    assert other.read_bytes() == FOREIGN
    [op] = ops(tmp_path / "s.jsonl.ctxkit/ops.jsonl")
    assert op["items"][1]["from"] == {"log": "chat.jsonl", "n": 2} and op["items"][0]["protected"] is True
    assert len(good("show", other, "--json").values) == 14
    assert "visible already" in good("restore", other, file, "--yes").err
    assert good("check", other).code == 0


def test_another_model(tmp_path: Path) -> None:
    """The same."""
    path = small(tmp_path)
    good("config", path, "set", "model", "gpt-4o")
    good("snapshot", path)
    good("config", path, "set", "model", "claude-sonnet-4-5")
    good("forget", path, "11")
    ran = ctxkit("restore", path, "latest")
    assert ran.code == 2 and "was taken for gpt-4o, and this log is for claude-sonnet-4-5" in ran.err
    assert shown(path)[-1] == 10
    good("restore", path, "latest", "--yes")
    assert shown(path)[-1] == 11


def test_on_a_terminal(tmp_path: Path) -> None:
    """It asks; only a yes is one."""
    small(tmp_path)
    (tmp_path / "other.jsonl").write_bytes(lines(message("user", "x", 1)))
    kept = good("snapshot", "-", stdin=SMALL).out
    (tmp_path / "kept.json").write_bytes(kept)
    for answer, code in (("n", 1), ("y", 0)):
        words = [*PYTHON[1:], "restore", "other.jsonl", "kept.json"]
        child = pexpect.spawn(PYTHON[0], words, cwd=str(tmp_path), timeout=60, encoding="utf-8")
        child.expect(r"another log.*\[y/N\]")
        child.sendline(answer)
        child.expect(pexpect.EOF)
        child.close()
        assert child.exitstatus == code
        assert len(good("show", tmp_path / "other.jsonl", "--json").values) == (1 if code else 12)


def test_a_pipe(tmp_path: Path) -> None:
    """The log comes out with the op behind it; pipes never ask."""
    path = small(tmp_path)
    (tmp_path / "kept.json").write_bytes(good("snapshot", "-", stdin=SMALL).out)
    ran = good("restore", "-", tmp_path / "kept.json", "--replace", stdin=lines(message("user", "x", 1)))
    assert "of another log" in ran.err and json.loads(ran.out.splitlines()[-1])["mode"] == "replace"
    ran = ctxkit("restore", "-", tmp_path / "none.json", stdin=SMALL)
    assert (ran.code, ran.out) == (66, b"")
    (tmp_path / "kept.json").write_bytes(b"{}")
    ran = ctxkit("restore", "-", tmp_path / "kept.json", stdin=SMALL)
    assert (ran.code, ran.out) == (65, b"") and path.read_bytes() == SMALL


def test_from_standard_input(tmp_path: Path) -> None:
    """From one log straight into another."""
    small(tmp_path)
    (tmp_path / "new.jsonl").write_bytes(b"")
    ran = shell(
        "ctxkit snapshot - -q <chat.jsonl | ctxkit restore new.jsonl - --yes && ctxkit show new.jsonl --json", tmp_path
    )
    assert ran.code == 0 and len(ran.values) == 11 and ran.values[0]["item"] == "1.1"


def test_file_and_pipe_agree(tmp_path: Path) -> None:
    """Law 3: the same lines but for id, time, and who wrote them."""
    path = small(tmp_path)
    good("snapshot", path, "-m", "x")
    [file] = (tmp_path / "chat.jsonl.ctxkit/snapshots").iterdir()
    good("forget", path, "3-8")
    for more in ((), ("--replace",), ("--summary",)):
        raw = path.read_bytes()
        piped = good("restore", "-", file, *more, stdin=raw).out
        good("restore", path, file, *more)
        one, other = (json.loads(found.splitlines()[-1]) for found in (piped, path.read_bytes()))
        for key in ("id", "ts", "by", "prev", "sum"):
            one.pop(key), other.pop(key)
        assert one == other and piped.startswith(raw)


def test_across_a_clear(tmp_path: Path) -> None:
    """What no recall brings back, a snapshot does."""
    path = small(tmp_path)
    good("snapshot", path)
    good("clear", path)
    assert ctxkit("recall", path, "5", "--apply").code == 1
    good("restore", path, "latest")
    assert shown(path) == list(range(1, 12))


def test_refused(tmp_path: Path) -> None:
    """An unknown id names the nearest; a changed file, a newer version: nothing appended."""
    path = small(tmp_path)
    key = good("snapshot", path, "-m", "before").text.strip()
    ran = ctxkit("restore", path, key[:7] + "x")
    assert ran.code == 1 and key[:8] in ran.err
    [file] = (tmp_path / "chat.jsonl.ctxkit/snapshots").iterdir()
    raw = file.read_bytes()
    for changed in (raw.replace(b"third question", b"third answer"), raw.replace(b'"v":1', b'"v":2', 1)):
        file.write_bytes(changed)
        ran = ctxkit("restore", path, str(file))
        assert ran.code == 65 and "nothing was changed" in ran.err
    assert path.read_bytes() == SMALL
