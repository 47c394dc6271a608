"""recover: what a crash left is told, and the context goes back to where all is whole.

-o: a clean copy in a new file, private, and a report of every range that it does not have.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.cli.commands import recover
from ctxkit.cli.terminal.style import Styled
from ctxkit.core.findings import Finding
from ctxkit.core.ops import LogPosition
from ctxkit.core.snapshot import CHECKPOINT, SnapshotHead
from ctxkit.recovery.recover import LeftoverDraft, Open, Recovery, RecoveryPoint
from ctxkit.recovery.salvage import Range
from ctxkit.store.drafts import Draft
from tests.cli.runner import FOREIGN, ROOT, SMALL, call, ctxkit, good, lines, message, shell

QUESTION = message("user", "and now?", 11)
STEP = [
    message("assistant", "looking", 12, tool_calls=[call("Read", "c3", path="b.py")]),
    message("tool", "x = 1", 13, tool_call_id="c3"),
]
MORE = message("assistant", "running", 14, tool_calls=[call("Bash", "c4", command="ls")])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A log whose last exchange was cut off in its second step."""
    found = tmp_path / "chat.jsonl"
    found.write_bytes(SMALL + lines(QUESTION, *STEP, MORE))
    return found


def shown(path: Path) -> list[int]:
    """The numbers of the context."""
    return [one["n"] for one in good("show", path, "--json", "-q").values if "n" in one]


def test_a_report(path: Path) -> None:
    """Without a terminal and without --yes nothing is changed, exit 1, and what to say is told."""
    before = path.read_bytes()
    ran = ctxkit("recover", path)
    assert (ran.code, path.read_bytes()) == (1, before)
    assert ran.text.splitlines() == [
        f"{path}: message 15: no-result: call c4 has no result",
        f"{path}: messages 12 to 15: no-end: the last exchange has no end: its last calls have no results",
        "step: message 14 ends the last whole step: 15 would leave (1 message)",
        "exchange: message 11 ends the last complete exchange: 12-15 would leave (4 messages)",
    ]
    assert ran.err.splitlines() == [
        f"ctxkit: {path}: interrupted: nothing was changed",
        f"hint: ctxkit recover {path} --yes goes back to message 14",
    ]


def test_yes(path: Path) -> None:
    """The newest point; then there is nothing to recover but results that nobody answered; undo brings all back."""
    before = path.read_bytes()
    ran = good("recover", path, "--yes")
    assert ran.said == "Back at the end of the last whole step, message 14: 1 message left the context.\n"
    assert shown(path) == list(range(1, 15)) and path.read_bytes().startswith(before)
    after = path.read_bytes()
    assert "nothing needs to leave" in good("recover", path, "--yes").said and path.read_bytes() == after
    hint = ctxkit("recover", path).said.splitlines()[-1]
    assert hint == "hint: nothing needs to leave: you can go on from here, or further back with --point exchange"
    good("undo", path)
    assert shown(path) == list(range(1, 16))


def test_to(path: Path) -> None:
    """The point that is named."""
    good("recover", path, "--point", "exchange", "-q")
    assert shown(path) == list(range(1, 12))
    ran = good("recover", path)
    assert (ran.out, ran.err) == (b"", "Nothing to recover.\n")


@pytest.mark.parametrize(
    ("words", "said"),
    [(("--point", "nowhere"), "'nowhere' is not a point"), (("--point", "step", "--yes"), "cannot be combined")],
)
def test_refused(path: Path, words: tuple[str, ...], said: str) -> None:
    """Exit 2, and nothing is changed."""
    before = path.read_bytes()
    ran = ctxkit("recover", path, *words)
    assert ran.code == 2 and said in ran.err and path.read_bytes() == before


def test_nothing_to_recover(tmp_path: Path) -> None:
    """A sound log: exit 0 and nothing appended, whatever was said."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(SMALL)
    good("snapshot", path, "--light")
    for words in ((), ("--yes",), ("--point", "exchange"), ("--dry-run",)):
        ran = good("recover", path, *words)
        assert (ran.out, ran.err) == (b"", "Nothing to recover.\n")
    assert path.read_bytes() == SMALL


@pytest.mark.parametrize(
    ("answer", "left"), [("e", 11), ("s", 14), ("n", 15), ("", 15), ("x", 15), ("S", 14), ("yes", 15)]
)
def test_on_a_terminal(path: Path, answer: str, left: int) -> None:
    """It asks which; anything else is none of them, exit 1."""
    ran = ctxkit("recover", path, stdin=f"{answer}\n".encode(), terminal=True)
    assert "Go back?\n" in ran.err and "[s/e/N]" in ran.err
    assert len(shown(path)) == left and ran.code == (left == 15)


def test_a_checkpoint_is_offered(path: Path) -> None:
    """In the words that everybody knows, with time and label; and the other points beside it."""
    good("snapshot", path, "--light", "-m", "the tests are green")
    time = good("snapshots", path, "--json").values[0]["timestamp"]
    ran = ctxkit("recover", path, stdin=b"\n", terminal=True)
    assert f"Resume from checkpoint? [{time}] - [the tests are green]\ny  exactly its context: 15 messages\n" in ran.err
    assert "[y/s/e/N]" in ran.err and ran.code == 1
    good("clear", path)
    ran = ctxkit("recover", path)
    assert ran.err == "Nothing to recover.\n" and ran.out == b""  # a context that was cleared was not interrupted
    good("undo", path)
    ran = ctxkit("recover", path, stdin=b"y\n", terminal=True)
    assert "- [before clear]\n" in ran.err and ran.code == 0 and "The context is checkpoint" in ran.err
    assert shown(path) == list(range(1, 16))


@pytest.mark.parametrize("words", [("--point", "checkpoint"), ("--point", "checkpoint", "--dry-run")])
def test_to_a_checkpoint(path: Path, words: tuple[str, ...]) -> None:
    """Exactly its context, without a question."""
    good("forget", path, "12-15")
    good("snapshot", path, "--light", "-m", "without")
    good("undo", path)
    assert good("recover", path, *words, "--json", "-q").values[0]["op"]["ctxkit"] == "restore"
    assert shown(path) == list(range(1, 16 if "--dry-run" in words else 12))


def test_in_a_pipe(path: Path) -> None:
    """The log goes out whole: with the op behind it where that is wanted, else as it is, exit 1."""
    raw = path.read_bytes()
    ran = ctxkit("recover", "-", stdin=raw)
    assert (ran.code, ran.out) == (1, raw) and "no-end" in ran.err
    ran = good("recover", "-", "--yes", stdin=raw)
    assert ran.out.startswith(raw) and ran.out.count(b"\n") == raw.count(b"\n") + 1
    assert len(good("show", "-", "--json", "-q", stdin=ran.out).values) == 14
    assert good("recover", stdin=SMALL).out == SMALL


def test_damage(tmp_path: Path) -> None:
    """Lost records by their ranges, and how to come by a clean copy; the log stays damaged, exit 1, or 0 with --yes."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(SMALL[:200] + SMALL[230:])
    ran = ctxkit("recover", path)
    assert ran.code == 1 and f"copy: ctxkit recover {path} -o NEW" in ran.text and " are lost: " in ran.text
    assert "is complete: nothing needs to leave" in good("recover", path, "--yes").err


def test_a_draft(tmp_path: Path) -> None:
    """It is named with the call that takes it up, and that does."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(SMALL)
    log = Log.open(path)
    assert log.opening.sidecar is not None
    draft = Draft(log.opening.sidecar, log.draft().replace("last answer", "better"))
    ran = ctxkit("recover", path)
    assert (
        ran.code == 1 and ran.text == f"draft: {draft.path}: continue with: ctxkit edit {path} --draft {draft.path}\n"
    )
    good("edit", path, "--draft", draft.path)
    assert good("recover", path).err == "Nothing to recover.\n"


def test_dry_run(path: Path) -> None:
    """The op on standard output, what was found beside it."""
    before = path.read_bytes()
    ran = good("recover", path, "--dry-run")
    assert ran.values[0]["ids"] == "15" and "no-end" in ran.err and path.read_bytes() == before


def test_json(path: Path) -> None:
    """One object: what was found, the points, and the op once there is one."""
    ran = ctxkit("recover", path, "--json", "-q")
    [found] = ran.values
    assert (ran.code, found["state"], found["op"]) == (1, "interrupted", None)
    assert [one["to"] for one in found["points"]] == ["step", "exchange"]
    [found] = good("recover", path, "--json", "-q", "--yes").values
    assert found["op"]["ctxkit"] == "forget" and found["state"] == "interrupted"


def test_sessions_and_recover_say_the_same(path: Path) -> None:
    """One rule of what is interrupted, damaged and clean, before and after."""

    def states() -> tuple[str, str]:
        listed = good("sessions", path.parent, "--json", "-q").values[0]["state"]
        return listed, ctxkit("recover", path, "--json", "-q").values[0]["state"]

    assert states() == ("interrupted", "interrupted")
    good("recover", path, "--point", "exchange")
    assert states() == ("clean", "clean")
    with path.open("ab") as file:
        file.write(b'{"role":"us')
    assert states() == ("interrupted", "interrupted")
    with path.open("ab") as file:
        file.write(b"\n" + lines(message("user", "x")))
    assert states() == ("damaged", "damaged")


HEAD = SnapshotHead(
    kind=CHECKPOINT, session_id="0123456789abcdef", timestamp="2026-02-01T10:20:30Z", description="before clear",
    message_count=7, at=LogPosition(messages=9),
)  # fmt: skip
ALL = Recovery(
    "damaged", [Finding("op 2", "misfit", "forget does not fit")], [Range(40, 9, 3, "left", "torn-line", "cut off")],
    [Finding("message 5", "no-result", "call c1 has no result")], Open("12", "15", "calls"),
    [RecoveryPoint("step", "14", "15", 1), RecoveryPoint("exchange", "11", "12-15", 4)],
    [LeftoverDraft(Path("/d/draft.txt"), "ctxkit edit …")],
    HEAD,
)  # fmt: skip


@pytest.fixture
def found_log(tmp_path: Path) -> Log:
    """Any found_log."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(SMALL)
    found = Log.open(path)
    found.opening.name = "a.jsonl"
    return found


def texts(found_log: Log, found: Recovery) -> list[str]:
    """The lines without their styles."""
    made = recover.lines(found_log, found)
    return ["".join(span.text if isinstance(span, Styled) else span for span in line) for line in made]


def test_lines(found_log: Log) -> None:
    """A line for each thing; what mends it beside it."""
    assert texts(found_log, ALL) == [
        "a.jsonl: op 2: misfit: forget does not fit",
        "a.jsonl: line 3: torn-line: bytes 40 to 49 are lost: cut off",
        "copy: ctxkit recover a.jsonl -o NEW writes a clean copy of the rest",
        "a.jsonl: message 5: no-result: call c1 has no result",
        "a.jsonl: messages 12 to 15: no-end: the last exchange has no end: its last calls have no results",
        "draft: /d/draft.txt: continue with: ctxkit edit …",
        "checkpoint: [2026-02-01T10:20:30Z] - [before clear]: 7 messages",
        "step: message 14 ends the last whole step: 15 would leave (1 message)",
        "exchange: message 11 ends the last complete exchange: 12-15 would leave (4 messages)",
    ]
    assert texts(found_log, Recovery("clean", checkpoint=HEAD)) == []


def test_many(found_log: Log) -> None:
    """Ten are named, the others counted."""
    found = Recovery("damaged", unanswered=[Finding(f"message {n}", "no-result", "x") for n in range(1, 1001)])
    assert len(texts(found_log, found)) == 11 and texts(found_log, found)[-1] == "… 990 more (--json names all)"
    leaves = ",".join(map(str, range(1, 999, 2)))
    assert len(recover.describe(RecoveryPoint("step", "1", leaves, 499))) < 140


def test_json_of_recovery_view(found_log: Log) -> None:
    """Every key is always there."""
    told, bare = (
        recover.as_json(found_log, ALL, {"ctxkit": "forget"}),
        recover.as_json(found_log, Recovery("clean"), None),
    )
    assert told.keys() == bare.keys() and bare["open"] is None and bare["op"] is None
    assert told["checkpoint"] == {
        "id": "0123456789abcdef", "time": "2026-02-01T10:20:30Z", "label": "before clear", "tags": [], "messages": 7,
    }  # fmt: skip
    assert told["open"] == {"first": "12", "last": "15", "why": "calls"}
    assert told["points"][0] == {"to": "step", "message": "14", "leaves": "15", "count": 1}


ROWS = SMALL.splitlines(keepends=True)
TORN = b"".join([ROWS[0], b'{"role":"us', *ROWS[1:4], b"\0" * 7, *ROWS[4:], b'{"ty'])


def log(folder: Path, raw: bytes = TORN, name: str = "chat.jsonl") -> Path:
    """A log with that in it."""
    path = folder / name
    path.write_bytes(raw)
    return path


def test_a_clean_copy(tmp_path: Path) -> None:
    """Whole, of the owner alone; the log is as it was; the report on standard error, a line a range."""
    path, new = log(tmp_path), tmp_path / "new.jsonl"
    os.umask(0)
    try:
        ran = good("recover", path, "-o", new)
    finally:
        os.umask(0o022)
    assert ran.out == b"" and new.read_bytes() == SMALL and path.read_bytes() == TORN
    assert stat.S_IMODE(new.stat().st_mode) == 0o600
    at = len(ROWS[0])
    nul = at + 11 + sum(map(len, ROWS[1:4]))
    assert ran.err.splitlines() == [
        f"{path}:2: torn-prefix: bytes {at} to {at + 11}: not taken: 11 bytes of a record cut off before another",
        f"{path}:5: nul-block: bytes {nul} to {nul + 7}: not taken: 7 NUL bytes, {nul} to {nul + 7}",
        f"{path}:{len(ROWS) + 1}: torn-tail: bytes {len(TORN) - 4} to {len(TORN)}: not taken: the last 4 bytes are a "
        "record cut off",
        f"wrote {new}: {len(ROWS)} records, {len(SMALL):,} bytes; 22 bytes left out",
    ]
    assert ctxkit("check", path).code == 1 and good("check", new).err.endswith("nothing found\n")
    assert good("show", new).out == good("show", path).out
    assert sorted(os.listdir(tmp_path)) == ["chat.jsonl", "new.jsonl"]


def test_a_clean_copy_as_json(tmp_path: Path) -> None:
    """An object a range, and one of all."""
    ran = good("recover", log(tmp_path), "-o", tmp_path / "new.jsonl", "--json", "-q")
    *ranges, found = ran.values
    assert [(one["code"], one["size"], one["line"], one["kind"]) for one in ranges] == [
        ("torn-prefix", 11, 2, "left"), ("nul-block", 7, 5, "left"), ("torn-tail", 4, len(ROWS) + 1, "left"),
    ]  # fmt: skip
    assert set(ranges[0]) == {"offset", "size", "line", "kind", "code", "text"}
    assert found == {"records": len(ROWS), "size": len(SMALL), "left": 22, "equal": False} and ran.err == ""


def test_a_copy_is_never_over_a_file(tmp_path: Path) -> None:
    """Neither another one, nor a link, nor the log itself, by whatever name."""
    path, other = log(tmp_path), log(tmp_path, b"mine", "other")
    os.symlink("nowhere", tmp_path / "link")
    os.link(path, tmp_path / "again")
    for name in ("chat.jsonl", "other", "link", "again", "."):
        ran = ctxkit("recover", path, "-o", tmp_path / name)
        assert (ran.code, ran.out) == (73, b"") and "exists already: nothing was written" in ran.err
    assert path.read_bytes() == TORN and other.read_bytes() == b"mine"
    assert not os.path.lexists(tmp_path / "nowhere")
    ran = shell("ctxkit recover chat.jsonl -o - >>chat.jsonl", tmp_path)
    assert ran.code == 73 and path.read_bytes() == TORN
    ran = ctxkit("recover", path, "-o", tmp_path / "none" / "new")
    assert ran.code == 73 and "mkdir -p" in ran.err


def test_a_copy_in_a_pipe(tmp_path: Path) -> None:
    """From standard input to standard output."""
    ran = good("recover", "-", "-o", "-", stdin=TORN)
    assert ran.out == SMALL and "standard input:2: torn-prefix: bytes " in ran.err
    assert ran.err.endswith("bytes; 22 bytes left out\n") and "wrote standard output: " in ran.err


def test_a_copy_of_a_sound_log(tmp_path: Path) -> None:
    """An equal copy, and it says so."""
    new = tmp_path / "new.jsonl"
    ran = good("recover", log(tmp_path, SMALL), "-o", new)
    assert new.read_bytes() == SMALL
    assert ran.err == f"wrote {new}: {len(ROWS)} records, {len(SMALL):,} bytes: nothing is damaged; the copy is equal\n"
    assert good("recover", log(tmp_path, SMALL), "-o", tmp_path / "2", "--json").values[-1]["equal"] is True


def test_a_copy_without_ops_of_a_sidecar(tmp_path: Path) -> None:
    """They stay; a copy of the sidecar gives them to the copy, where they fit."""
    rows = FOREIGN.splitlines(keepends=True)
    path, new = log(tmp_path, b'{"ty' + FOREIGN, "s.jsonl"), tmp_path / "new.jsonl"
    good("forget", path, "2")
    ran = good("recover", path, "-o", new)
    ops = tmp_path / "s.jsonl.ctxkit" / "ops.jsonl"
    assert ran.err.splitlines()[-1] == f"its ops stay in {ops}: copy that folder to {new}.ctxkit to have them too"
    assert new.read_bytes() == FOREIGN and len(rows) > 2
    os.rename(tmp_path / "s.jsonl.ctxkit", tmp_path / "new.jsonl.ctxkit")
    assert good("show", new).out != good("show", path).out
    assert 2 not in [one["n"] for one in good("show", new, "--json").values if "n" in one]


def test_no_copy_of_what_is_no_log(tmp_path: Path) -> None:
    """Refused, and nothing is written."""
    for raw in (b"buy milk\n", "UTF-16".encode("utf-16"), b'{"messages":[{"role":"user","content":"a"},]} so'):
        ran = ctxkit("recover", log(tmp_path, raw), "-o", tmp_path / "new")
        assert ran.code == 65 and ran.out == b"" and not (tmp_path / "new").exists()
    assert "it is one JSON text, and damaged" in ran.err or "is one JSON text, and damaged" in ran.err


def test_a_copy_of_what_only_a_tolerant_reader_takes(tmp_path: Path) -> None:
    """It is written so that every program takes it."""
    raw = lines(message("user", "a"), message("assistant", "b")).replace(b'"b"', b'"b\xff\t"')
    ran = good("recover", "-", "-o", "-", stdin=raw)
    assert ran.out == raw.replace(b'"b\xff\t"', b'"b\\udcff\\u0009"')
    assert "bad-utf8: bytes " in ran.err and ": mended: " in ran.err and "0 bytes left out" in ran.err


def test_a_copy_of_sound_json_that_cannot_be_read(tmp_path: Path) -> None:
    """What `check` names is not called undamaged: the copy is equal, and reads no better."""
    path = log(tmp_path, (ROOT / "fixtures/fuzz/found/codex-type-no-word.jsonl").read_bytes())
    assert "unreadable" in ctxkit("check", path).text
    said = good("recover", path, "-o", tmp_path / "new.jsonl").err
    assert "nothing is damaged" not in said
    assert "every record is sound JSON; the copy is equal; 2 lines have findings that ctxkit check lists" in said


@pytest.mark.parametrize("more", ["--yes", "--point exchange", "--dry-run", "--op-id a"])
def test_a_copy_alone(tmp_path: Path, more: str) -> None:
    """It is no way to go back, and nothing of one can be asked with it."""
    ran = ctxkit("recover", log(tmp_path), "-o", tmp_path / "new", *more.split())
    assert ran.code == 2 and not (tmp_path / "new").exists()
