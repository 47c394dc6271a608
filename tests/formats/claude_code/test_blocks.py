"""Single rows on their way out: what is renamed, wrapped, or not sent."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.messages import Call, Content, Image, Other, Part, Repairs, Result, Text, Thinking
from ctxkit.formats.chat import content_of
from ctxkit.formats.claude_code.blocks import SentPiece, last_model, pieces_of
from ctxkit.formats.claude_code.wire import repair
from tests.formats.claude_code.logs import assistant, call, content, log, other, read, result, user
from tests.formats.claude_code.sessions import block_of

Q = user("q", None, "q")
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "S"}


def pieces(row: dict[str, Any], model: str = "") -> tuple[list[SentPiece], Repairs]:
    """The pieces of one row."""
    repairs = Repairs(left_out={})
    return pieces_of([Content("user", [], rows=[row])], model, repairs), repairs


def test_old_tools_have_their_new_names() -> None:
    """Task is Agent, and said; SendMessage loses older fields beside the newer alone; what is no object becomes one."""
    calls = [
        {"type": "tool_use", "id": "A", "name": "Task", "input": {"type": 1}},
        {
            "type": "tool_use",
            "id": "B",
            "name": "SendMessage",
            "input": {"to": 1, "message": 1, "type": 1, "recipient": 1, "content": 1, "approve": 1, "reason": 1},
        },
        {"type": "tool_use", "id": "F", "name": "SendMessage", "input": {"to": 1, "type": 1, "content": "hello"}},
        {"type": "tool_use", "id": "C", "name": "Bash", "input": '{"command": "ls"}'},
        {"type": "tool_use", "id": "D", "name": "Bash", "input": "ls"},
        {"type": "tool_use", "id": "E", "name": "Bash"},
    ]
    raw = log(Q, assistant("a", "q", calls))
    contents = [content(raw, m) for m in read(raw).messages]
    messages, repairs = repair(contents, frozenset())
    assert [(b["name"], b["input"]) for b in map(block_of, messages[1].parts)] == [
        ("Agent", {"type": 1}),
        ("SendMessage", {"to": 1, "message": 1, "reason": 1}),
        ("SendMessage", {"to": 1, "type": 1, "content": "hello"}),
        ("Bash", {"command": "ls"}),
        ("Bash", {"arguments": "ls"}),
        ("Bash", {}),
    ]
    assert contents[1].rows[0]["message"]["content"] == calls
    assert repairs.left_out["older field of SendMessage beside the newer ones"] == 4
    assert repairs.added == {"today's name of a tool (Agent for Task)": 1}


def test_parts_without_rows_become_blocks() -> None:
    """What ctxkit brought in is written for Anthropic; thinking without its row is not."""
    parts: list[Part] = [
        Thinking("hm", THOUGHT),
        Text("x"),
        Other("reasoning", {"type": "reasoning"}),
        Call("A", "Bash", '{"command": "ls"}', {"function": {}}),
    ]
    answer: list[Part] = [Result("A", [Text("out"), Image("image/png", "AA"), Image(url="http://x")], True)]
    contents = [Content("system", [Text("be kind")]), Content("assistant", parts), Content("tool", answer)]
    messages, repairs = repair(contents, frozenset())
    assert [[block_of(part) for part in m.parts] for m in messages] == [
        [{"type": "text", "text": "be kind"}],
        [{"type": "text", "text": "x"}, {"type": "tool_use", "id": "A", "name": "Bash", "input": {"command": "ls"}}],
        [
            {
                "type": "tool_result",
                "tool_use_id": "A",
                "content": [{"type": "text", "text": "out"}],
                "is_error": True,
            }
        ],
    ]
    assert repairs.left_out == {
        "thinking of another model": 1,
        "reasoning block": 1,
        "picture or document in a failed result": 2,
    }


def test_what_a_search_found_of_tools() -> None:
    """Only tools that a resumed session has of itself are named; without any, words say so (rule 12)."""
    found = [{"type": "tool_reference", "tool_name": name} for name in ("WebFetch", "mcp__x__y")]
    for listed, left in (
        (found, [found[0]]),
        (found[1:], [{"type": "text", "text": "[Tool references removed - tools no longer available]"}]),
    ):
        raw = log(Q, assistant("a", "q", call("A")), user("r", "a", [{**result("A"), "content": listed}]))
        messages, _ = repair([content(raw, m) for m in read(raw).messages], frozenset())
        assert [block_of(part)["content"] for part in messages[2].parts] == [left]


@pytest.mark.parametrize(
    ("model", "sent"),
    [
        ("claude-opus-4-5-20251101", True),
        ("claude-opus-4-6", True),
        ("claude-sonnet-4-20250514", True),
        ("claude-haiku-4-5", True),
        ("claude-opus-4-8", False),
        ("claude-opus-5", False),
        ("claude-sonnet-5", False),
        ("", False),
    ],
)
def test_task_reminders_are_for_older_models(model: str, sent: bool) -> None:
    """Newer models are not reminded of their task list (rule 11)."""
    row = other("attachment", "t", None, attachment={"type": "task_reminder", "content": []})
    assert bool(pieces(row, model)[0]) is sent


def test_a_task_notification_is_marked_as_nobodys_input() -> None:
    """With its origin it is wrapped; without it goes as it is (rule 12)."""
    marked = pieces(user("n", None, "<task-notification>x", origin={"kind": "task-notification"}))[0][0].blocks[0][
        "text"
    ]
    assert marked.startswith("<system-reminder>\n[SYSTEM NOTIFICATION - NOT USER INPUT]")
    assert marked.endswith("<task-notification>x\n</system-reminder>")
    plain = pieces(user("n", None, "<task-notification>x"))[0]
    assert [(piece.role, piece.blocks) for piece in plain] == [
        ("user", [{"type": "text", "text": "<task-notification>x"}])
    ]


def test_blocks_in_the_wrong_place_are_left_out() -> None:
    """A call of the user, a result of the assistant, a block without its id, a type nobody knows: counted."""
    row = user("q", None, [call("A"), {"type": "tool_result"}, THOUGHT, {"type": "text", "text": 7}, {"type": ["x"]}])
    found, repairs = pieces(row)
    assert [(piece.role, piece.blocks) for piece in found] == [("user", [])]
    assert repairs.left_out == {"tool_use block": 1, "tool_result block": 1, "thinking block": 1, "untyped block": 1}


def test_empty_texts_in_a_result_are_left_out() -> None:
    """The API refuses them; a list of nothing else becomes an empty result."""
    blank = {"type": "text", "text": " "}
    row = user("r", None, [result("A", [blank, {"type": "text", "text": "x"}]), result("B", [blank]), result("C", 7)])
    assert [b["content"] for b in pieces(row)[0][0].blocks] == [[{"type": "text", "text": "x"}], "", ""]


def test_the_model_of_the_request() -> None:
    """The last answer's, synthetic ones left out."""
    rows = [assistant("a", "q", "a", model="x"), assistant("b", "a", "b", model="<synthetic>"), user("c", "b", "c")]
    assert last_model([Content("", [], rows=[row]) for row in rows]) == "x"
    assert last_model([]) == ""


def test_what_an_op_brought_in_is_sent() -> None:
    """A summary, and the literal of an edit, are records of ours: their words are no row's, and go out."""
    own = content_of({"role": "user", "content": "in short"})
    repairs = Repairs(left_out={})
    found = pieces_of([own], "", repairs)
    assert found == [SentPiece("user", [{"type": "text", "text": "in short"}], "own")]
    messages, _ = repair([own, content_of({"role": "assistant", "content": "so"})], frozenset())
    assert [[block_of(part) for part in message.parts] for message in messages] == [
        [{"type": "text", "text": "in short"}], [{"type": "text", "text": "so"}],
    ]  # fmt: skip
    assert repairs.left_out == {}


def test_a_result_that_failed_is_words_alone() -> None:
    """Its pictures are not sent; those of one that did not fail are."""
    inner = [{"type": "text", "text": "no"}, {"type": "image", "source": {"type": "base64", "data": "AA"}}]
    for failed, kept in ((True, inner[:1]), (False, inner)):
        block = result("A", inner) | {"is_error": failed}
        [[piece], _] = pieces(user("u", None, [block]))
        assert piece.blocks[0]["content"] == kept
