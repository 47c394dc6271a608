"""check: what is wrong with a log."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.runner import FOREIGN, SMALL, call, ctxkit, good, lines, message, small
from tests.formats.claude_code.noting import raw, worked


def test_sound(tmp_path: Path) -> None:
    """Exit 0, the head alone on stdout, what was looked at on stderr; nothing at all of a log without ops."""
    path = small(tmp_path)
    assert (good("check", path).out, good("check", path).err) == (b"", "11 messages, 0 ops: nothing found\n")
    good("mark", path, "a")
    ran = good("check", path)
    assert re.fullmatch(r"head: [0-9a-f]{64}-[0-9a-f]{64}\n", ran.text)
    assert ran.err == "11 messages, 1 op: nothing found\n"
    assert good("check", path, "--json").values == [
        {"log": str(path), "findings": 0},
        {"head": ran.text[6:-1], "ops": 1},
    ]


def test_findings(tmp_path: Path) -> None:
    """Exit 1, a line each: path, place, code, words; the same as JSON; nothing is changed."""
    at = {"messages": 4, "rows": 4}
    path = tmp_path / "x.jsonl"
    path.write_bytes(
        b"broken\n"
        + lines(message("user", "go", 1), message("assistant", "", 2, tool_calls=[call("A", "c1")]))
        + lines(
            message("tool", "lost", 3, tool_call_id="c9"), message("assistant", "", 4, tool_calls=[call("A", "c2")])
        )
        + lines({"ctxkit": "mark", "v": 1, "id": "a", "at": {"messages": 4, "rows": 4, "last": "0" * 12}})
        + lines({"ctxkit": "mark", "v": 1, "id": "b", "at": at, "sum": "0" * 16})
        + lines({"ctxkit": "frobnicate", "v": 1, "id": "c", "at": at})
        + lines({"ctxkit": "rewind", "v": 1, "id": "d", "at": at, "to": "zzz"})
    )
    before = path.read_bytes()
    ran = ctxkit("check", path)
    found = [line.removeprefix(f"{path}: ").split(": ")[:2] for line in ran.text.splitlines()]
    assert ran.code == 1
    assert found == [["line 1", "not-json"], ["op 1", "misfit"], ["op 2", "damaged-op"], ["op 3", "unknown-op"],
                     ["op 4", "dangling-op"], ["ops 1-4", "unchained"], ["message 2", "no-result"],
                     ["message 4", "open-call"], ["message 3", "no-call"]]  # fmt: skip
    said, hint = ran.err.splitlines()
    assert said == "4 messages, 4 ops: 5 problems found, 4 notes"
    assert "refused because of op 1 (and 2 more): undo it" in hint
    values = ctxkit("check", path, "--json").values
    assert [[value["where"], value["code"]] for value in values] == found
    assert path.read_bytes() == before


def test_fail_on(tmp_path: Path) -> None:
    """A call that the user interrupted is a note: exit 0, and 1 with --fail-on notes, of one log and of a folder."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(
        lines(message("user", "go", 1), message("assistant", "", 2, tool_calls=[call("A", "c1")]))
        + lines(message("user", "No, wait.", 3))
    )
    assert good("check", path).err == "3 messages, 0 ops: nothing found, 1 note\n"
    for place in (path, tmp_path):
        for words, code in (([], 0), (["--fail-on", "damage"], 0), (["--fail-on", "notes"], 1)):
            assert [ctxkit("check", place, *words, *quiet).code for quiet in ([], ["-q"])] == [code, code]
    assert ctxkit("check", path, "--fail-on", "all").code == 2


def test_sidecar(tmp_path: Path) -> None:
    """Its lines are looked at too."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(FOREIGN)
    good("mark", path)
    with (tmp_path / "s.jsonl.ctxkit" / "ops.jsonl").open("ab") as file:
        file.write(b"broken\n")
    ran = ctxkit("check", path)
    assert ran.code == 1 and "ops.jsonl line 2: not-json" in ran.text


def test_quiet(tmp_path: Path) -> None:
    """Nothing is printed, not even findings; the exit code tells."""
    path = small(tmp_path)
    with path.open("ab") as log:
        log.write(b"{damaged\n")
    for words in ([], ["--json"]):
        ran = ctxkit("check", path, "-q", *words)
        assert (ran.code, ran.text, ran.err) == (1, "", "") and ctxkit("check", path, *words).text


def test_streams() -> None:
    """A pipe is checked like a file."""
    assert good("check", "-", stdin=SMALL).out == b""
    assert ctxkit("check", "-", stdin=SMALL + b"x\n").code == 1


def test_an_empty_file(tmp_path: Path) -> None:
    """Nothing is wrong with it, and it is said that nothing is there."""
    path = tmp_path / "empty.jsonl"
    path.write_bytes(b"")
    said = f"{path} has no message: is it the right file?\n0 messages, 0 ops: nothing found\n"
    assert good("check", path).err == said


def test_proofs(tmp_path: Path) -> None:
    """A log that notes its requests: how many are proved, on stdout; what is not as it was sent is a finding."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(raw("talk"))
    ran = good("check", path)
    assert ran.text == "proved: 9 of 9 requests, 116 messages\n"
    assert good("check", path, "-q").text == ""
    assert good("check", path, "--json").values == [
        {"log": str(path), "findings": 0},
        {"requests": 9, "proved": 9, "messages": 116, "given": 0, "unproved": []},
    ]
    good("forget", path, "3")
    assert good("check", path).text.splitlines()[:-1] == ran.text.splitlines()
    path.write_bytes(raw("talk").replace(b"Both at once.", b"None at all."))
    ran = ctxkit("check", path)
    first, *_, last, head = ran.text.splitlines()
    assert ran.code == 1
    assert first.startswith(f"{path}: line 34: not-as-sent: request ")
    assert head.startswith("head: ")
    assert last == "proved: 3 of 9 requests, 35 messages"


def test_what_is_not_proved(tmp_path: Path) -> None:
    """Notes that are damaged are told by reason, and are no finding; all of them as JSON."""
    session = worked(4)
    for row in session.rows[5:]:
        row.pop("base", None)
    path = tmp_path / "s.jsonl"
    path.write_bytes(session.bytes())
    first = "it shares 1 messages with a base that has 0"
    ran = good("check", path)
    assert ran.text.splitlines()[0] == "proved: 1 of 5 requests, 1 message"
    assert ran.text.splitlines()[1] == f"unproved: 1 request, on line 6: {first}"
    value = good("check", path, "--json").values[1]
    assert value["unproved"][0] == {"where": "line 6", "request": "r0000005", "text": first}
    assert len(value["unproved"]) == 4


def test_beside_the_log(tmp_path: Path) -> None:
    """Findings of snapshots and copies, whatever they are called; notes are told, and change no exit code."""
    path = small(tmp_path)
    good("snapshot", path)
    copy = tmp_path / "chat (conflicted copy \x1b]0;x\x07).jsonl"
    copy.write_bytes(SMALL)
    ran = good("check", path)
    assert ran.err == "11 messages, 0 ops: nothing found, 1 note\n"
    assert "\x1b" not in ran.text and ": conflict-copy: note: a copy of chat.jsonl: it holds the same\n" in ran.text
    copy.write_bytes(SMALL + lines(message("user", "said elsewhere", 20)))
    [file] = (tmp_path / "chat.jsonl.ctxkit/snapshots").iterdir()
    file.write_bytes(file.read_bytes()[:-9])
    ran = ctxkit("check", path, "--json")
    assert (ran.code, ran.err) == (1, "11 messages, 0 ops: 2 problems found\n")
    assert [list(value) for value in ran.values] == [["log", "where", "code", "text", "line", "byte", "note"]] * 2
    assert {value["log"] for value in ran.values} == {str(path)}
    assert [(value["code"], value["note"]) for value in ran.values] == [
        ("damaged-snapshot", False),
        ("conflict-copy", False),
    ]


def test_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its mistakes are findings; those of the environment are the caller's, and so they are with --strict."""
    path = small(tmp_path)
    good("config", path, "set", "limit", "1000")
    config = tmp_path / "chat.jsonl.ctxkit/config.toml"
    config.write_text(config.read_text() + "\nnothing = 1\n")
    ran = ctxkit("check", path)
    assert ran.code == 1 and ": bad-config: unknown key " in ran.text
    assert ctxkit("check", path, "--strict").code == ctxkit("show", path).code == 78
    config.unlink()
    monkeypatch.setenv("CTXKIT_LIMIT", "many")
    ran = ctxkit("check", path)
    assert ran.code == 78 and ran.err.startswith("ctxkit: CTXKIT_LIMIT: ")


def test_the_way_out_of_a_damaged_op(tmp_path: Path) -> None:
    """The command that voids it, which works; an op that is void already, or has no id, has none."""
    path = small(tmp_path)
    good("forget", path, "2")
    path.write_bytes(path.read_bytes().replace(b'"ids":"2"', b'"ids":"3"'))
    ran = ctxkit("check", path)
    found = re.search(
        rf"hint: the log is refused because of op 1: undo it with `ctxkit undo {path} (\w+) --force-replay`", ran.err
    )
    assert ran.code == 1 and found is not None
    good("undo", path, found[1], "--force-replay")
    assert ctxkit("show", path).code == 0
    assert "hint" not in ctxkit("check", path).err
    path = small(tmp_path)
    path.write_bytes(path.read_bytes() + lines({"ctxkit": "forget", "v": 1, "at": {"messages": 99}, "ids": "2"}))
    assert ctxkit("show", path).code == 65 and "hint" not in ctxkit("check", path).err


def test_a_head_is_called_so_once(tmp_path: Path) -> None:
    """Of a log whose newest op is gone."""
    path = small(tmp_path)
    good("mark", path, "a")
    good("mark", path, "b")
    head = good("check", path).text.removeprefix("head: ").strip()
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    first = ctxkit("check", path, "--head", head).text.splitlines()[0]
    assert first.startswith(f"{path}: head: the log has no op of this head")


def test_a_long_record_cut_off(tmp_path: Path) -> None:
    """Its size is read at a glance."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(SMALL + b'{"role": "user", "content": "' + b"x" * 5000)
    assert "the last 5,029 bytes are a record cut off" in ctxkit("check", path).text
