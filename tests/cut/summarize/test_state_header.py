"""The state of a session at the head of a summary."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from ctxkit.core.derive.files import FileTouch
from ctxkit.core.item_names import Names
from ctxkit.cut.summarize.extraction import extract
from ctxkit.cut.summarize.state_header import SessionState, header
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment
from tests.cut.summarize.test_extraction import count


def user(name: int, text: str) -> TextSegment:
    return TextSegment(name, SegmentKind.USER, text)


def model(name: int, text: str) -> TextSegment:
    return TextSegment(name, SegmentKind.ASSISTANT, text)


def tasks(name: int, *texts: str) -> list[TextSegment]:
    return [TextSegment(name, SegmentKind.INPUT, text, "TodoWrite", f"todos.{n}") for n, text in enumerate(texts)]


def ran(name: int, command: str, output: str) -> list[TextSegment]:
    call = f"c{name}"
    return [TextSegment(name, SegmentKind.INPUT, command, "Bash", "command", call=call),
            TextSegment(name + 1, SegmentKind.RESULT, output, "Bash", call=call)]  # fmt: skip


def edit(name: int, path: str) -> TextSegment:
    return TextSegment(name, SegmentKind.INPUT, path, "Edit", "file_path", touches=(FileTouch(path, "edit"),))


SAID = [
    user(1, "Load the rows. Never touch the lock file."),
    *ran(2, "go test ./...", "ok  \texample.org/rows\t0.1s"),
    edit(4, "src/old.go"),
    *tasks(5, "[pending] merge", "[pending] print"),
    *ran(6, "go test ./...", "ok  \texample.org/rows\t0.2s"),
    user(8, "Now merge them.\nKeep the order."),
    edit(9, "src/merge.go"),
    *tasks(10, "[completed] merge", "[in_progress] print"),
    *ran(11, "go test ./...", "--- FAIL: TestMerge (0.00s)\n    merge_test.go:3: got 1, want 2\nFAIL"),
    model(13, "One test fails. Next I look at the order of the rows."),
]
STATE = """\
Last request: #8 Now merge them.
  Keep the order.
Failing: #12 go test ./...
  --- FAIL: TestMerge (0.00s)
  merge_test.go:3: got 1, want 2
Open tasks: #10 [in_progress] print
Said last: #13 Next I look at the order of the rows.
Edited since #7 passed (go test ./...): merge.go #9"""


def told(said: Sequence[TextSegment], covered: str = "1-99", room: int = 500) -> list[str]:
    return header(SessionState(said), Names.parse(covered), lambda name: f"#{name}", room, count)[0]


def test_what_is_so() -> None:
    """The newest of each, with its message; what came before is superseded."""
    assert "\n".join(told(SAID)) == STATE


@pytest.mark.parametrize(
    ("more", "gone"),
    [
        ([user(20, "Stop.")], "Said last: #13"),
        ([user(20, "Stop.")], "Last request: #8"),
        (ran(20, "go test ./...", "ok  \texample.org/rows\t0.1s"), "Failing"),
        (ran(20, "go test ./...", "ok  \texample.org/rows\t0.1s"), "Edited since #7"),
        (tasks(20, "[completed] merge", "[completed] print"), "Open tasks"),
        ([model(20, "Done.")], "Said last: #13"),
    ],
)
def test_what_is_no_longer_so(more: list[TextSegment], gone: str) -> None:
    """A later message supersedes it, also one that stays in the context."""
    assert gone in STATE
    assert all(gone not in line for line in told([*SAID, *more]))
    assert all(gone not in line for line in told([*SAID, *more], "1-19"))


def test_only_what_leaves_the_context() -> None:
    """What stays says itself."""
    assert told(SAID, "1-9")[0] == "Last request: #8 Now merge them."
    assert not [line for line in told(SAID, "1-9") if "#1" in line and not line.startswith("Earlier")]
    assert told(SAID, "20-30") == []


def test_a_command_to_the_program_is_a_request() -> None:
    """With its arguments, and with what the program wrote below it."""
    slash = "<command-name>/review</command-name>\n<command-args>--fix</command-args>"
    said = [*SAID, TextSegment(20, SegmentKind.NOTICE, slash), user(21, "Review it all.")]
    assert told(said)[:2] == ["Last request: #20 /review --fix", "  #21 Review it all."]
    bare = TextSegment(20, SegmentKind.NOTICE, "<command-name>/clear</command-name>\n<command-args></command-args>")
    assert told([*SAID, bare])[0] == "Last request: #8 Now merge them."


def test_a_long_request_is_cut() -> None:
    """It leaves room for the rest of the state."""
    lines = told([*SAID[:-2], user(20, "\n".join(f"Line {n} of a long request." for n in range(200)))], room=200)
    assert lines[0] == "Last request: #20 Line 0 of a long request." and lines[1] == "  Line 1 of a long request."
    assert any("…" in line for line in lines) and any(line.startswith("Open tasks") for line in lines)
    assert sum(count([f"{line}\n" for line in lines])) <= 200


def test_a_request_below_what_was_pasted() -> None:
    """Its last line stays, in any room that has two lines."""
    log = "\n".join(f"2026-01-01T00:00:{n:02} layer {n} 0x{n:08x}" for n in range(60))
    said = user(1, f"The log of the night:\n\n{log}\n\nMend only the second failure.")
    for room in (40, 60, 100, 200, 400):
        *lines, last = told([said, model(2, "I look at it now.")], room=room)
        assert last == "Said last: #2 I look at it now." and lines[0] == "Last request: #1 The log of the night:"
        assert lines[-1].endswith("Mend only the second failure.") and any("…" in line for line in lines[1:])
        assert sum(count([f"{line}\n" for line in lines])) <= room


@pytest.mark.parametrize("room", [0, 5, 20, 60, 100, 200])
def test_never_more_than_its_room(room: int) -> None:
    """Whole lines, the most important first."""
    lines = told(SAID, room=room)
    assert sum(count([f"{line}\n" for line in lines])) <= room


def test_the_summary_says_it_once() -> None:
    """At its head, and not again among the messages; what is not in the state stays there."""
    noise = [TextSegment(n, SegmentKind.RESULT, f"plain output {n}", "Bash") for n in range(14, 60)]
    text = extract([*SAID, *noise], 1200, count)
    assert text is not None
    head, _, rest = text.partition("\nMessages:\n")
    assert "\nState:\nLast request: #8 Now merge them.\n" in head
    assert "Now merge them" not in rest and "Load the rows." in rest


def state_of(*pieces: TextSegment) -> list[str]:
    """The lines of the state, all messages being summarized."""
    names = Names.of(piece.name for piece in pieces)
    return header(SessionState(pieces), names, lambda name: f"#{name}", 400, count)[0]


def test_an_answer_belongs_to_the_request() -> None:
    """What the user chose when the model asked does not take the request's place, and is said with its question."""
    answer = 'Your questions have been answered: "Which rows?"="Only the new ones" selected preview:\n┌──┐\n└──┘'
    asked = TextSegment(3, SegmentKind.USER, answer, "AskUserQuestion", call="c")
    lines = state_of(user(1, "Load the rows."), model(2, "I ask."), asked, model(4, "Now I load the new rows."))
    assert lines[:2] == ["Last request: #1 Load the rows.", "  #3 Which rows? = Only the new ones"]
    assert state_of(user(1, "Load."), asked, model(4, "Yes."), user(5, "Print it."), model(6, "I print."))[:1] == [
        "Last request: #5 Print it."
    ]


def test_requests_with_messages_between_that_nobody_has() -> None:
    """Where a program's compaction left only what the user typed, the newest alone is the request."""
    assert state_of(user(4, "Make the branch."), user(65, "Now the style.")) == ["Last request: #65 Now the style."]
    assert state_of(user(64, "Make the branch."), user(65, "And the style."))[0] == "Last request: #64 Make the branch."


def test_the_newest_of_several_requests_is_whole() -> None:
    """If there is no room for all of them, the older ones are cut."""
    long = "\n".join(f"Row {number} of the log that was pasted here." for number in range(200))
    lines = state_of(user(1, f"See this.\n{long}"), user(2, "Mend the last row.\nThen print it."))
    assert lines[0] == "Last request: #1 See this."
    assert lines[-2:] == ["  … #2 Mend the last row.", "  Then print it."]


@pytest.mark.parametrize("tag", ["current_datetime", "system_reminder", "system-reminder", "ide_opened_file"])
def test_what_programs_put_around_a_request(tag: str) -> None:
    """It was not typed."""
    around = f"<{tag}>\n2026-06-24\n</{tag}>"
    assert state_of(user(1, f"{around}\n\nLoad the rows.\n\n{around}")) == ["Last request: #1 Load the rows."]
    assert state_of(user(1, "Load."), model(2, "I load."), user(3, around))[0] == "Last request: #1 Load."


def test_no_answer_of_a_program() -> None:
    """What Claude Code writes in the place of an answer is not said by the model."""
    lines = state_of(user(1, "Load."), model(2, "Now I load the rows."), model(3, "No response requested."))
    assert lines[-1] == "Said last: #2 Now I load the rows."


REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected. "


@pytest.mark.parametrize(
    "text",
    [
        f"{REJECTED}To tell you how to proceed, the user said:\nTest it first.",
        "Error: The user rejected permission to use this tool call with the following feedback: Test it first.",
        "The user denied this operation and provided the following feedback:\n<feedback>\nTest it first.\n</feedback>",
    ],
)
def test_what_the_user_said_to_a_call_is_a_request(text: str) -> None:
    """Beside what it was about, as Claude Code, opencode and Cline write it; the call edits nothing."""
    said = [user(1, "Load the rows."), edit(2, "a.go")._replace(call="c")]
    lines = state_of(*said, TextSegment(3, SegmentKind.RESULT, text, "Edit", failed=True, call="c"))
    assert lines == ["Last request: #1 Load the rows.", "  #3 Test it first."]


@pytest.mark.parametrize(
    "text",
    [
        f"{REJECTED}STOP what you are doing and wait for the user to tell you how to proceed.", "Command aborted",
        "exec command rejected by user", "[Operation Cancelled] Reason: User did not allow tool call",
        "[Request interrupted by user for tool use]", "command timed out after 1000 milliseconds\n--- FAIL: TestA",
        "some-model is temporarily unavailable, so auto mode cannot determine the safety of Bash right now.",
        "--- FAIL: TestA (0.00s)\n\nCommand timed out after 2m 0.0s", "Exit code 130\nerror: interrupted",
        "<tool_use_error>Sibling tool call errored</tool_use_error>", "PreToolUse:Bash hook error: not now",
        "Permission to use Bash with command go test has been denied.",
    ],
)  # fmt: skip
def test_what_did_not_run_or_was_stopped_is_no_failure(text: str) -> None:
    """Nor does it mend one."""
    before = ran(2, "go vet ./...", "a.go:3:4: no such row")
    denied = [one._replace(failed=True) for one in ran(4, "go test ./...", text)]
    assert state_of(user(1, "Load."), *denied) == ["Last request: #1 Load."]
    assert [line for line in state_of(*before, *denied) if line.startswith("Failing")] == ["Failing: #3 go vet ./..."]


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("continue", "#1 #20"), ("Yes, please.", "#1 #20"), ("Go ahead!", "#1 #20"), ("never mind", "#1 #20"),
        ("continue, but use the small model", "#1 #20"), ("weiter", "#1 #20"), ("继续", "#1 #20"),
        ("yes, and print them", "#20"), ("Now print them.", "#20"), ("/mode", "#1"), ("/clear", "#1"),
    ],
)  # fmt: skip
def test_a_go_ahead_shows_with_what_it_goes_on_with(text: str, asked: str) -> None:
    """It says nothing alone; a command that steers the program, mistyped or not, asks for nothing."""
    lines = state_of(user(1, "Load the rows."), model(2, "Shall I?"), user(20, text))
    assert re.findall(r"#\d+", " ".join(lines)) == asked.split()


@pytest.mark.parametrize("notice", ["[Request interrupted by user]", "<turn_aborted>\nThe user interrupted"])
def test_what_was_interrupted_is_still_asked_for(notice: str) -> None:
    """What is typed next adds to it."""
    said = [user(1, "Load the rows."), model(2, "I do."), TextSegment(20, SegmentKind.NOTICE, notice)]
    assert state_of(*said, user(21, "Of May."))[:2] == ["Last request: #1 Load the rows.", "  #21 Of May."]
    assert state_of(*said, model(22, "Yes."), user(23, "Of May."))[0] == "Last request: #23 Of May."


@pytest.mark.parametrize("text", ["sorry wrong chat. ignore last message.", "Ignore my previous message, please."])
def test_what_was_taken_back(text: str) -> None:
    """Neither a request nor an instruction, also where more is said."""
    said = [user(1, "Load the rows."), model(2, "Yes."), user(3, "Never touch the lock file."), model(4, "Yes.")]
    lines = state_of(*said, user(5, f"{text} Print them."), model(6, "Printed."))
    assert lines[0] == f"Last request: #5 {text} Print them." and not [line for line in lines if "#3" in line]


def test_a_status_that_is_no_more_all() -> None:
    """A file was edited since."""
    status = ran(2, "git status -s", " M a.go")
    assert "Git status: M a.go #3" in state_of(user(1, "Load."), *status)
    assert not [one for one in state_of(user(1, "Load."), *status, edit(4, "b.go")) if one.startswith("Git")]


def test_a_list_of_tasks_from_before_two_requests_is_of_other_work() -> None:
    """One with ids holds until it is done."""
    said = [user(1, "Load."), model(2, "Yes."), *tasks(3, "[pending] merge"), user(4, "Print."), model(5, "Yes.")]
    assert "Open tasks: #3 [pending] merge" in state_of(*said)
    assert not [one for one in state_of(*said, user(9, "Now mend them all.")) if one.startswith("Open tasks")]


def test_edited_files() -> None:
    """Also before any run passed; the list is whole or says that there are others; not what is thrown away."""
    assert state_of(edit(1, "src/a.go"), edit(2, "/tmp/b.go")) == ["Edited: a.go #1"]
    assert state_of(*(edit(n, f"{n}.go") for n in range(1, 16)))[0].endswith(", 15.go #15 and 9 other")
    failed = TextSegment(4, SegmentKind.RESULT, "String to replace not found", "Edit", failed=True, call="c")
    assert state_of(edit(1, "a.go"), edit(3, "a.go")._replace(call="c"), failed) == ["Edited: a.go #1"]


def test_the_newest_failure_in_a_small_room() -> None:
    """Its command is cut; an older failure never takes its place."""
    long = f"go test {' '.join(f'./pkg{n}/...' for n in range(14))}"
    older = ran(1, "npm run lint", "src/a.ts:3:4 lint/style/useImportType")
    said = [*older, *ran(3, "pytest -q", "1 passed in 0.1s"), *ran(5, long, "--- FAIL: TestA (0.00s)")]
    for room in (30, 60, 200):
        lines = told(said, room=room)
        assert lines[0].startswith("Failing: #6 go test ./pkg0") and lines[1] == "  --- FAIL: TestA (0.00s)"
    assert lines[2:] == [
        "Failing: #2 npm run lint",
        "  src/a.ts:3:4 lint/style/useImportType",
    ]
    assert told([*said[:2], *ran(3, "npm run lint:all", "src/b.ts:3:4 lint/style/useImportType")])[1:] == [
        "  src/b.ts:3:4 lint/style/useImportType"
    ]


def test_a_failure_that_passed_later_says_where() -> None:
    """Its lines are no longer open; the heading above them names the run that passed."""
    out = "--- FAIL: TestMerge (0.00s)\n    merge_test.go:3: got 1, want 2\nFAIL"
    said = [*ran(1, "go test ./...", out), *ran(3, "go test ./...", "ok  \texample.org/rows\t0.2s"), user(5, "Go on.")]
    text = extract(said, 200, count)
    assert text is not None and "#2 Bash failed until #4 →" in text
    other = out.replace("TestMerge", "TestOrder").replace("merge_test", "order_test")
    text = extract([*said[:2], *ran(3, "go test ./...", other), user(5, "Go on.")], 200, count)
    assert text is not None and "#2 Bash" in text and "until" not in text


def test_a_failure_whose_files_were_edited() -> None:
    """It may be mended: nothing was run since."""
    out = "src/rows.ts:3:4 - error TS2345: no such thing"
    lines = state_of(*ran(1, "npx tsc", out), edit(3, "src/rows.ts"))
    assert lines[:2] == ["Failing: #2 npx tsc (what it names was edited since)", f"  {out}"]
