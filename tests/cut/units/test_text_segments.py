"""What a message says, piece by piece."""

from __future__ import annotations

import pytest

from ctxkit.core.messages import Call, Content, Result, Text, Thinking
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment, all_pieces


def pieces(name: int, content: Content) -> list[TextSegment]:
    return all_pieces([(name, content)])


def test_a_call_says_its_arguments_as_they_are_and_its_result_knows_it() -> None:
    arguments = {"file_path": "src/a.py", "old_string": "x = 1", "new_string": "x = 2\ny = 3", "replace_all": False}
    call = Content("assistant", [Thinking("hidden", {}), Text("I edit."), Call("c1", "Edit", arguments)])
    found = all_pieces([(1, call), (2, Content("tool", [Result("c1", "done", is_error=True)]))])
    said = [(piece.name, piece.kind, piece.text, piece.key) for piece in found]
    assert said == [
        (1, SegmentKind.ASSISTANT, "I edit.", ""), (1, SegmentKind.INPUT, "src/a.py", "file_path"),
        (1, SegmentKind.INPUT, "x = 1", "old_string"), (1, SegmentKind.INPUT, "x = 2\ny = 3", "new_string"),
        (2, SegmentKind.RESULT, "done", ""),
    ]  # fmt: skip
    assert [touch.path for touch in found[1].touches] == ["src/a.py"]
    assert found[-1].tool == "Edit"
    assert found[-1].failed
    assert found[-1].touches == found[1].touches


def test_who_says_it() -> None:
    kinds = {
        "fix it": SegmentKind.USER,
        "<system-reminder>be nice</system-reminder>": SegmentKind.NOTICE,
        "<command-name>/clear</command-name>": SegmentKind.NOTICE,
        "This session is being continued from a previous conversation that ran out of context": SegmentKind.SUMMARY,
        "OBSERVATION:\nfile.py": SegmentKind.RESULT,
        "Base directory for this skill: /home/me/skills/plan": SegmentKind.NOTICE,
    }
    found = {text: pieces(1, Content("user", [Text(text)]))[0].kind for text in kinds}
    assert found == kinds
    assert pieces(1, Content("assistant", [Text("done")]))[0].kind == SegmentKind.ASSISTANT
    assert pieces(1, Content("system", [Text("you are")]))[0].kind == SegmentKind.NOTICE


def test_a_file_stands_without_the_numbers_that_a_tool_put_in_front() -> None:
    [piece] = pieces(1, Content("tool", [Result("c", "     1→import os\n     2→\n     3→print(os)")]))
    assert piece.text == "import os\n\nprint(os)"
    [piece] = pieces(1, Content("tool", [Result("c", "12: 3 failed\nsome words\nmore of them\nand more")]))
    assert piece.text.startswith("12: 3 failed")


def test_the_words_of_a_command_are_one_text() -> None:
    found = pieces(1, Content("assistant", [Call("c", "shell", {"command": ["bash", "-lc", "make\nmake test"]})]))
    assert [piece.text for piece in found] == ["bash -lc make\nmake test"]
    assert found[0].runs


def test_output_that_is_wrapped_in_json_is_unwrapped() -> None:
    [piece] = pieces(1, Content("tool", [Result("c", '{"output":"one\\ntwo","metadata":{}}')]))
    assert piece.text == "one\ntwo"


@pytest.mark.parametrize("printed", ['{"output": [1', '{"output": ' + "[" * 100_000, '{"output": 7}'])
def test_output_that_only_begins_like_that_stands_as_it_is(printed: str) -> None:
    [piece] = pieces(1, Content("tool", [Result("c", printed)]))
    assert piece.text == printed


def test_an_entry_of_a_list_of_tasks_is_one_line() -> None:
    todos = [{"content": "build it", "status": "pending", "activeForm": "Building"}]
    [piece] = pieces(1, Content("assistant", [Call("c", "TodoWrite", {"todos": todos})]))
    assert piece.text == "[pending] build it"
    assert piece.is_task
    [piece] = pieces(1, Content("assistant", [Call("c", "update_plan", {"plan": [{"step": "a", "status": "done"}]})]))
    assert piece.text == "[done] a"


def test_what_a_person_answers_to_a_question_of_the_model_is_what_a_person_says() -> None:
    asks = Content("assistant", [Call("c", "AskUserQuestion", {"question": "Which?"})])
    assert all_pieces([(1, asks), (2, Content("user", [Result("c", "The first one.")]))])[-1].kind == SegmentKind.USER


def test_what_a_program_brings_in_for_a_command_is_typed_by_nobody() -> None:
    brought = Content("user", [Text("Review the code.")], rows=[{"type": "user", "isMeta": True}])
    assert pieces(1, brought)[0].kind == SegmentKind.NOTICE


@pytest.mark.parametrize(("tool", "runs"), [("PowerShell", True), ("run_pwsh", True), ("bash", True), ("Grep", False)])
def test_a_command_of_any_shell_is_a_script(tool: str, runs: bool) -> None:
    [found] = pieces(1, Content("assistant", [Call("c1", tool, {"command": "npm run themes"})]))
    assert found.is_script is runs


def test_what_the_user_typed_meanwhile_is_the_users() -> None:
    text = (
        "<system-reminder>\nThe user sent a new message while you were working:\nnot on every run\n</system-reminder>"
    )
    assert pieces(1, Content("user", [Text(text)])) == [TextSegment(1, SegmentKind.USER, "not on every run")]


def test_outputs_of_a_trajectory_without_calls() -> None:
    """What SWE-agent answers to a step is an output, though it is in the role of a user; another message is not."""
    step = Content(
        "assistant", [Text("I look. ls")], rows=[{"role": "assistant", "thought": "I look.", "action": "ls"}]
    )
    said = Content("assistant", [Text("I look.")], rows=[{"role": "assistant"}])
    found = all_pieces(
        [(1, Content("user", [Text("Solve it.")])), (2, step), (3, Content("user", [Text("a.py\nbash-$")])), (4, said),
         (5, Content("user", [Text("Go on.")]))]
    )  # fmt: skip
    assert [piece.kind for piece in found] == [
        SegmentKind.USER, SegmentKind.ASSISTANT, SegmentKind.RESULT, SegmentKind.ASSISTANT, SegmentKind.USER,
    ]  # fmt: skip
