"""A context goes out as a body that Anthropic takes, with nothing changed that it would take as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from ctxkit.core.messages import Call, Content, Image, Other, Part, Result, Text, Thinking
from ctxkit.core.text.json_text import dumps
from ctxkit.errors import NothingToSend
from ctxkit.formats import anthropic
from ctxkit.formats.chat import content_of
from tests.formats.strategies import CONTENTS
from tests.formats.writing import write
from tests.resume.contexts import ANY
from tests.shared import shared
from tests.validators.anthropic_rules import problems


def user(*parts: Part | str) -> Content:
    return Content("user", [Text(part) if isinstance(part, str) else part for part in parts])


def said(*parts: Part | str) -> Content:
    return Content("assistant", [Text(part) if isinstance(part, str) else part for part in parts])


def system(text: str) -> Content:
    return Content("system", [Text(text)])


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


SIGNED = Thinking("hm", {"type": "thinking", "thinking": "hm", "signature": "S"})
PNG = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
USE = {"type": "tool_use", "id": "A", "name": "f", "input": {"x": 1}}
CALL = Call("A", "f", {"x": 1})

Case = tuple[list[Content], list[tuple[str, list[dict[str, Any]]]], dict[str, int]]
CASES: dict[str, Case] = {
    # what it is: (contents, messages, left out)
    "plain": ([user("a"), said("b")], [("user", [text("a")]), ("assistant", [text("b")])], {}),
    "same roles merge": (
        [user("a"), user("b"), said("c"), said("d")],
        [("user", [text("a"), text("b")]), ("assistant", [text("c"), text("d")])],
        {},
    ),
    "a later system message": (
        [user("a"), said("b"), system("s")],
        [("user", [text("a")]), ("assistant", [text("b")]), ("user", [text("s")])],
        {},
    ),
    "other roles": (
        [Content("exit", [Text("a")]), Content("ai", [Text("b")])],
        [("user", [text("a")]), ("assistant", [text("b")])],
        {},
    ),
    "results first": (
        [user("a"), said(CALL), user("words", Result("A", "r"))],
        [
            ("user", [text("a")]),
            ("assistant", [USE]),
            ("user", [{"type": "tool_result", "tool_use_id": "A", "content": "r"}, text("words")]),
        ],
        {},
    ),
    "made first message": (
        [said("b")],
        [("user", [text("(no content)")]), ("assistant", [text("b")])],
        {"first message of the user": 1},
    ),
    "blank text": (
        [user(" ", "a"), said("\n"), user("b")],
        [("user", [text("a"), text("b")])],
        {"blank text": 2, "empty message": 1},
    ),
    "white space at the end": (
        [user("a"), said("b \n")],
        [("user", [text("a")]), ("assistant", [text("b")])],
        {"white space at the end": 1},
    ),
    "signed thinking": (
        [user("a"), said(SIGNED, "b")],
        [("user", [text("a")]), ("assistant", [SIGNED.raw, text("b")])],
        {},
    ),
    "unsigned thinking": (
        [user("a"), said(Thinking("x", {"reasoning_content": "x"}), "b")],
        [("user", [text("a")]), ("assistant", [text("b")])],
        {"thinking without a signature": 1},
    ),
    "thinking alone": (
        [user("a"), said(SIGNED), user("b")],
        [("user", [text("a"), text("b")])],
        {"thinking without words after it": 1},
    ),
    "images": (
        [user(Image("image/png", "iVBORw0KGgo="), Image(url="https://x/y"), Image("image/bmp", "AAAA"))],
        [("user", [PNG, {"type": "image", "source": {"type": "url", "url": "https://x/y"}}, text("[image]")])],
        {"image": 1},
    ),
    "arguments that are none": (
        [user("a"), said(Call("A", "f", "{broken")), user(Result("A", ""))],
        [
            ("user", [text("a")]),
            ("assistant", [USE | {"input": {"_raw": "{broken"}}]),
            ("user", [{"type": "tool_result", "tool_use_id": "A", "content": ""}]),
        ],
        {},
    ),
    "odd ids": (
        [user("a"), said(Call("a:1", "f", {})), user(Result("a:1", "r", True))],
        [
            ("user", [text("a")]),
            ("assistant", [USE | {"id": "a_1_2b2c40a6", "input": {}}]),
            ("user", [{"type": "tool_result", "tool_use_id": "a_1_2b2c40a6", "content": "r", "is_error": True}]),
        ],
        {},
    ),
    "documents": (
        [
            user(
                Other("document", {"type": "document", "source": {"type": "file", "file_id": "f"}}),
                Other("file", {"type": "file"}),
            )
        ],
        [("user", [{"type": "document", "source": {"type": "file", "file_id": "f"}}])],
        {"file": 1},
    ),
}


@pytest.mark.parametrize(("contents", "messages", "left_out"), CASES.values(), ids=CASES.keys())
def test_write(
    contents: list[Content], messages: list[tuple[str, list[dict[str, Any]]]], left_out: dict[str, int]
) -> None:
    """Each thing that needs care, and what is counted for it."""
    body, repairs = write(anthropic, contents)
    assert [(message["role"], message["content"]) for message in body["messages"]] == messages
    assert repairs.left_out | repairs.added == left_out
    assert set(body) == {"messages"}


def test_the_preamble_is_the_system_prompt() -> None:
    """Leading system and developer messages only; the model's name where it is given."""
    body, _ = write(anthropic, [system("a"), Content("developer", [Text("b")]), user("c")], model="m")
    assert (body["model"], body["system"], len(body["messages"])) == ("m", "a\n\nb", 1)


def test_an_id_that_is_used_again_gets_another() -> None:
    """Each answer goes with its call."""
    log = [user("a"), said(CALL), user(Result("A", "1")), said(CALL), user(Result("A", "2"))]
    body, _ = write(anthropic, log)
    ids = [(b.get("id") or b.get("tool_use_id")) for m in body["messages"][1:] for b in m["content"]]
    assert ids == ["A", "A", "A-2", "A-2"]
    assert problems(body) == []


@pytest.mark.parametrize("contents", [[], [system("s")], [user(" ")], [said(SIGNED)]])
def test_nothing_to_send(contents: list[Content]) -> None:
    """A body without messages is no body."""
    with pytest.raises(NothingToSend):
        write(anthropic, contents)


def test_what_the_log_s_own_program_sends_stays_as_it_is() -> None:
    """Words between two results, and thinking without a signature, as they are sent (agents, Claude Code 5 and 7)."""
    unsigned = Thinking("x", {"type": "thinking", "thinking": "x"})
    log = [
        user("a"),
        said(unsigned, CALL, Call("B", "f", {})),
        user(Result("B", "b"), "words", Result("A", "a")),
        said("c", SIGNED),
    ]
    kinds = [[b["type"] for b in m["content"]] for m in write(anthropic, log, as_sent=True)[0]["messages"]]
    assert kinds == [
        ["text"],
        ["thinking", "tool_use", "tool_use"],
        ["tool_result", "text", "tool_result"],
        ["text", "thinking"],
    ]
    body, repairs = write(anthropic, log)
    assert problems(body) == []
    assert repairs.left_out == {"thinking without a signature": 1, "thinking without words after it": 1}


@given(CONTENTS)
def test_every_body_is_valid(contents: list[Content]) -> None:
    """Whatever the contents are: the validator finds nothing, and the body can be written as JSON."""
    try:
        body, _ = write(anthropic, contents, model="m")
    except NothingToSend:
        return
    assert problems(body) == []
    assert json.loads(dumps(body)) == body


@given(CONTENTS)
def test_signed_thinking_is_never_changed(contents: list[Content]) -> None:
    """What goes out is what came in, in the same order."""
    try:
        body, _ = write(anthropic, contents)
    except NothingToSend:
        return
    sent = [b for m in body["messages"] for b in m["content"] if b["type"] == "thinking"]
    known = [p.raw for c in contents for p in c.parts if isinstance(p, Thinking) and "\ud83d" not in p.text]
    rest = iter(known)
    assert all(any(block == one for one in rest) for block in sent if "\ufffd" not in block["thinking"])


def test_recorded_requests_go_out_as_they_came() -> None:
    """Every request that Claude Code was recorded to send has the same blocks in the same order after the writer."""
    for path in sorted(shared("truth/claude-code").glob("*.json")):
        messages = json.loads(path.read_text())["request_messages"]
        body, _ = write(anthropic, [content_of(message) for message in messages], as_sent=True, tools=ANY)
        assert [one for one in problems(body) if "not found in available tools" not in one] == [], path.name
        assert list(_blocks(body["messages"])) == list(_blocks(messages)), path.name


def _blocks(messages: list[dict[str, Any]]) -> Any:
    for message in messages:
        content = message["content"]
        yield from [text(content)] if isinstance(content, str) else content


def test_a_failed_result_holds_words_alone() -> None:
    """A picture in it is named and counted."""
    failed = Result("A", [Text("no"), Image("image/png", "iVBORw0KGgo=")], True)
    body, repairs = write(anthropic, [user("a"), said(CALL), user(failed)])
    assert body["messages"][2]["content"][0]["content"] == [text("no"), text("[image]")]
    assert repairs.left_out == {"image": 1}
    assert problems(body) == []


def test_what_has_no_place_is_counted() -> None:
    """Names of speakers, and signatures of Gemini's."""
    call = Call("A", "f", {}, {"thoughtSignature": "S"})
    _, repairs = write(anthropic, [Content("user", [Text("a")], "sam"), said(call), user(Result("A", "r"))])
    assert repairs.left_out == {"name of a speaker": 1, "thought signature": 1}


@pytest.mark.parametrize(
    ("caller", "kept"),
    [
        ({"type": "direct"}, True), ({"type": "code_execution_20250825", "tool_id": "srvtoolu_1"}, True),
        ({"type": "code_execution_20250825", "tool_id": "srvtoolu_2"}, False), ({"type": "robot"}, False),
        ({"type": "direct", "more": 1}, False), ({"type": "code_execution_20250825", "tool_id": ["x"]}, False),
        ("direct", False),
    ],
)  # fmt: skip
def test_who_made_a_call(caller: Any, kept: bool) -> None:
    """Code is named only where its own call is in the message; what was left out is counted."""
    code = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "code_execution", "input": {}}
    done = {"type": "code_execution_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    blocks = [Other(str(block["type"]), block) for block in (code, done)]
    call = Call("A", "f", {}, {"type": "tool_use", "caller": caller})
    body, repairs = write(anthropic, [user("x"), Content("assistant", [*blocks, call]), user(Result("A", "r"))])
    sent = body["messages"][1]["content"][-1]
    assert sent.get("caller") == (caller if kept else None)
    assert repairs.left_out == ({} if kept else {"caller": 1})


def test_pictures_are_fetched_by_https() -> None:
    """What the provider would not fetch is named and counted."""
    body, repairs = write(anthropic, [user(Image(url="http://x/y.png"))])
    assert body["messages"][0]["content"] == [text("[image]")] and repairs.left_out == {"image": 1}


def test_tools_that_a_search_found() -> None:
    """As they stand where their definitions go along, else in words, which is counted: Anthropic refuses the others."""
    named = [Other("tool_reference", {"type": "tool_reference", "tool_name": name}) for name in ("Read", "mcp__a__b")]
    asked = [user("x"), said(CALL), user(Result("A", named))]
    body, repairs = write(anthropic, asked, tools={"Read"})
    held = body["messages"][2]["content"][0]["content"]
    assert held == [named[0].raw, {"type": "text", "text": "[tool found: mcp__a__b]"}]
    assert repairs.left_out == {"tool_reference": 1}
    assert problems(body) == ["tool reference 'Read' not found in available tools"]
    assert problems(body | {"tools": [{"name": "Read", "input_schema": {"type": "object"}}]}) == []
    assert problems(write(anthropic, asked)[0]) == []
