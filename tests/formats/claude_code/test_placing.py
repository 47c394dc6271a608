"""Where reminders stand in a turn, for three kinds of models; what a live program sends, row by row."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.messages import Content, Repairs
from ctxkit.formats.claude_code.blocks import pieces_of
from ctxkit.formats.claude_code.hashing import LOOSE
from ctxkit.formats.claude_code.placing import Style, bare, turn
from tests.formats.claude_code.logs import assistant, call, other, result, user

Rows = list[dict[str, Any]]
BARE, TAGGED, INSIDE = Style


def reminder(*words: str, role: str = "system", kind: str = "date") -> dict[str, Any]:
    """An attachment as it was sent."""
    rendered = [{"content": f"<system-reminder>\n{one}\n</system-reminder>"} for one in words]
    return other("attachment", f"x{words}", None, attachment={"type": kind}, rendered=rendered, renderedRole=role)


def placed(rows: Rows, style: Style) -> list[str]:
    """The messages in short: role initial, then blocks; tags as < and >."""
    pieces = pieces_of([Content("user", [], rows=[row]) for row in rows], "m", Repairs())
    return [f"{message.role[0]}: " + " | ".join(map(short, message.blocks)) for message in turn(pieces, style)]


def short(block: dict[str, Any]) -> str:
    """A block in short."""
    match block["type"]:
        case "text":
            found = str(block["text"])
        case "tool_use":
            found = f"+{block['id']}"
        case "tool_result":
            inner = block["content"]
            words = inner if isinstance(inner, str) else f"[{','.join(map(short, inner))}]"
            found = f"-{block['tool_use_id']}={words}"
        case kind:
            found = str(kind)
    return found.replace("<system-reminder>\n", "<").replace("\n</system-reminder>", ">").replace("\n", "/")


ASKED = [user("u", None, "go"), reminder("A"), reminder("B", role="user"), reminder("C"), reminder("D", role="user")]
FILE = [user("u", None, "see"), reminder("called", "result", role="user", kind="file"), reminder("E")]
WORKED = [
    assistant("a", None, call("c1")), assistant("b", None, call("c2")), user("r", None, [result("c1", " one ")]),
    reminder("H"), user("s", None, [result("c2", [{"type": "text", "text": "two"}])]), reminder("N", role="user"),
    reminder("T"),
]  # fmt: skip
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}
TWO = user("s", None, [result("c2", [{"type": "text", "text": "two"}])])
BESIDE = [
    *WORKED[:2], user("r", None, [result("c1", "one")]), user("s", None, [result("c2", [IMAGE])]),
    reminder("N", role="user", kind="nested_memory"),
]  # fmt: skip
FAILED = [
    *WORKED[:2], user("r", None, [result("c1", [{"type": "text", "text": "one"}, IMAGE]) | {"is_error": True}]),
    reminder("A", role="user"), reminder("B", role="user"), TWO,
]  # fmt: skip
TEXTS = [user("u", None, "one"), user("v", None, "two", isMeta=True), reminder("A")]
LOADS = [
    assistant("a", None, call("c1")),
    user("r", None, [result("c1", [{"type": "tool_reference", "tool_name": "X"}])]), reminder("T"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "style", "expected"),
    [
        (ASKED, BARE, ["u: <B> | <D>/ | go", "s: A//C"]),
        (ASKED, TAGGED, ["u: <B> | <D>/ | go", "s: <A>//<C>"]),
        (ASKED, INSIDE, ["u: <A> | <B> | <C> | <D>/ | go"]),
        (FILE, BARE, ["u: <called>", "u: <result>/ | see", "s: E"]),
        (FILE, INSIDE, ["u: <called>", "u: <result> | <E>/ | see"]),
        ([reminder("S"), *FILE], INSIDE, ["u: <S> | <called> | <result> | <E>/ | see"]),
        (WORKED, BARE, ["a: +c1 | +c2", "u: -c1= one  | -c2=[two/,<N>]", "s: H//T"]),
        (BESIDE, BARE, ["a: +c1 | +c2", "u: -c1=one | -c2=[image] | <N>"]),
        (BESIDE, INSIDE, ["a: +c1 | +c2", "u: -c1=one | -c2=[image,<N>]"]),
        (FAILED, INSIDE, ["a: +c1 | +c2", "u: -c1=[one//<A>///<B>] | -c2=[two]"]),
        ([reminder("A", "B")], TAGGED, ["s: <A/B>"]),
        (WORKED, INSIDE, ["a: +c1 | +c2", "u: -c1=one//<H> | -c2=[two/,<N>/,<T>]"]),
        (TEXTS, BARE, ["u: one/ | two", "s: A"]),
        (TEXTS, INSIDE, ["u: <A>/ | one/ | two"]),
        (LOADS, BARE, ["a: +c1", "u: -c1=[tool_reference] | Tool loaded.", "s: T"]),
        (LOADS, INSIDE, ["a: +c1", "u: -c1=[tool_reference] | Tool loaded. | <T>"]),
        ([reminder("A", "B"), reminder("C")], BARE, ["s: A/B//C"]),
        ([user("u", None, ""), assistant("a", None, "x")], BARE, ["a: x", "u: "]),
    ],
)
def test_turns(rows: Rows, style: Style, expected: list[str]) -> None:
    """As Claude Code 2.1.329 was seen to do it."""
    assert placed(rows, style) == expected


def test_words_of_ours_are_marked() -> None:
    """An attachment without its words, a result that was made up: nobody takes them for what was sent."""
    plan = other("attachment", "p", None, attachment={"type": "plan_mode"}, renderedRole="user")
    rows = [assistant("a", None, call("c1")), user("u", None, "go"), plan]
    pieces = pieces_of([Content("user", [], rows=[row]) for row in rows], "m", Repairs())
    [_, message] = turn(pieces, BARE)
    assert [LOOSE in block for block in message.blocks] == [True, True, False]


def test_bare() -> None:
    """Tags go where they enclose everything."""
    assert bare("<system-reminder>\nx\n</system-reminder>") == "x"
    assert bare("<system-reminder>\nx\n</system-reminder> y").endswith(" y")
