"""recover: what a crash left is told, and the context goes back to where all is whole."""

from __future__ import annotations

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
from tests.cli.runner import SMALL, call, ctxkit, good, lines, message

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
    good("checkpoint", path)
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
    good("checkpoint", path, "-m", "the tests are green")
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
    good("checkpoint", path, "-m", "without")
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
    assert ran.code == 1 and f"salvage: ctxkit salvage {path} -o NEW" in ran.text and " are lost: " in ran.text
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
def log(tmp_path: Path) -> Log:
    """Any log."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(SMALL)
    found = Log.open(path)
    found.opening.name = "a.jsonl"
    return found


def texts(log: Log, found: Recovery) -> list[str]:
    """The lines without their styles."""
    made = recover.lines(log, found)
    return ["".join(span.text if isinstance(span, Styled) else span for span in line) for line in made]


def test_lines(log: Log) -> None:
    """A line for each thing; what mends it beside it."""
    assert texts(log, ALL) == [
        "a.jsonl: op 2: misfit: forget does not fit",
        "a.jsonl: line 3: torn-line: bytes 40 to 49 are lost: cut off",
        "salvage: ctxkit salvage a.jsonl -o NEW writes a clean copy of the rest",
        "a.jsonl: message 5: no-result: call c1 has no result",
        "a.jsonl: messages 12 to 15: no-end: the last exchange has no end: its last calls have no results",
        "draft: /d/draft.txt: continue with: ctxkit edit …",
        "checkpoint: [2026-02-01T10:20:30Z] - [before clear]: 7 messages",
        "step: message 14 ends the last whole step: 15 would leave (1 message)",
        "exchange: message 11 ends the last complete exchange: 12-15 would leave (4 messages)",
    ]
    assert texts(log, Recovery("clean", checkpoint=HEAD)) == []


def test_many(log: Log) -> None:
    """Ten are named, the others counted."""
    found = Recovery("damaged", unanswered=[Finding(f"message {n}", "no-result", "x") for n in range(1, 1001)])
    assert len(texts(log, found)) == 11 and texts(log, found)[-1] == "… 990 more (--json names all)"
    leaves = ",".join(map(str, range(1, 999, 2)))
    assert len(recover.describe(RecoveryPoint("step", "1", leaves, 499))) < 140


def test_json_of_recovery_view(log: Log) -> None:
    """Every key is always there."""
    told, bare = (
        recover.as_json(log, ALL, {"ctxkit": "forget"}),
        recover.as_json(log, Recovery("clean"), None),
    )
    assert told.keys() == bare.keys() and bare["open"] is None and bare["op"] is None
    assert told["checkpoint"] == {
        "id": "0123456789abcdef", "time": "2026-02-01T10:20:30Z", "label": "before clear", "tags": [], "messages": 7,
    }  # fmt: skip
    assert told["open"] == {"first": "12", "last": "15", "why": "calls"}
    assert told["points"][0] == {"to": "step", "message": "14", "leaves": "15", "count": 1}
