"""What pi would send; `test_truth.py` has the recorded requests."""

from __future__ import annotations

from typing import Any

from ctxkit.core.messages import Call, Content, Message, Part, Text, Thinking
from ctxkit.formats.pi.content import content_of
from ctxkit.formats.pi.wire import portable, repair


def said(*parts: Part, **more: Any) -> Content:
    """A response."""
    return Content("assistant", list(parts), rows=[{"message": {"role": "assistant", "model": "m", **more}}])


def test_failed_and_blank_responses_go() -> None:
    """Aborted and failed ones with their calls; one cut at its length only as the last; each is counted."""
    asked = Content("user", [Text("q")])
    contents = [
        asked, said(Text("a"), stopReason="aborted"), said(Call("c", "bash", {}), stopReason="error"),
        said(Text(" \n")), said(Text("kept"), stopReason="length"), asked, said(Text("cut"), stopReason="length"),
    ]  # fmt: skip
    sent, repairs = repair(contents, "")
    assert [c.parts for c in sent] == [[Text("q")], [Text("kept")], [Text("q")]]
    assert repairs.left_out == {"failed response": 3, "empty message": 1}


def test_thinking_of_another_model_is_text() -> None:
    """Signed thinking goes to the model that made it only."""
    raw = {"type": "thinking", "thinking": "hm", "thinkingSignature": "s"}
    own = Thinking("hm", {"type": "thinking", "thinking": "hm", "signature": "s"})
    assert repair([said(Thinking("hm", raw))], "")[0][0].parts == [own]
    assert repair([said(Thinking("hm", raw))], "other")[0][0].parts == [Text("hm")]
    assert repair([said(Thinking("hm", {"thinking": "hm"}))], "m")[0][0].parts == [Text("hm")]


def test_thinking_of_an_edited_message_is_no_text() -> None:
    """An edit's copy has no row that names its model: its thinking is never told as the model's words."""
    edited = Content("assistant", [Thinking("hm", {"thinkingSignature": "s"}), Text("b")])
    sent, repairs = repair([edited, said(Text("a"))], "")
    assert [c.parts for c in sent] == [[Text("b")], [Text("a")]]
    assert repairs.left_out == {"thinking of an edited message": 1}
    assert isinstance(repair([edited, said(Text("a"))], "", words=True)[0][0].parts[0], Thinking)


def test_what_goes_on_to_another_program() -> None:
    """The same responses, each in its place; what fell out is counted; thinking is no text here."""
    contents = [
        said(Text("a"), stopReason="aborted"), said(Text(" ")), said(Thinking("hm", {"thinking": "hm"})),
        said(Text("cut"), stopReason="length"),
    ]  # fmt: skip
    found, repairs = portable(contents)
    assert found == [None, None, contents[2], None]
    assert repairs.left_out == {"failed response": 2, "empty message": 1}


def prompt(content: str, **sections: str) -> dict[str, Any]:
    """A system row as pi 1.6.0 writes it."""
    return {"type": "message", "message": {"role": "system", "content": content, "sections": sections, "timestamp": 1}}


def test_the_system_prompt() -> None:
    """The first row is it, its words in sections; one without words is nothing; no other is sent, which is said."""
    rows = [prompt("", preamble="You are pi.", tools="read, bash"), prompt(""), prompt("Later.")]
    made = [content_of(Message(n, 0, 0, "system"), [row]) for n, row in enumerate(rows, 1)]
    assert [[part.text for part in one.parts if isinstance(part, Text)] for one in made] == [
        ["You are pi.", "read, bash"], [], ["Later."],
    ]  # fmt: skip
    sent, repairs = repair([made[0], Content("user", [Text("hi")])], "")
    assert [one.role for one in sent] == ["system", "user"] and repairs.left_out == {}
    sent, repairs = repair([Content("user", [Text("hi")]), made[2]], "")
    assert [one.role for one in sent] == ["user"]
    assert repairs.left_out == {"message of a role that pi does not send": 1}
