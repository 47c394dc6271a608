"""Leaf, chain and compactions: which messages a Claude Code log goes on with, and what a cut took out."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.messages import Call, Result, Text
from ctxkit.core.transcript import ProgramCut
from tests.formats.claude_code.logs import assistant, boundary, call, content, context, log, other, read, result, user
from tests.shared import shared

Rows = list[dict[str, Any]]


def words(raw: bytes, numbers: list[int]) -> str:
    """The messages of these numbers in short: texts, +call, -result."""
    said = []
    messages = read(raw).messages
    for n in numbers:
        for part in content(raw, messages[n - 1]).parts:
            match part:
                case Text():
                    said.append(part.text)
                case Call():
                    said.append("+" + part.id)
                case Result():
                    said.append("-" + part.id)
    return " ".join(said)


def turn(k: int, parent: str | None, at: float) -> Rows:
    """A question and its answer: rows q<k> and a<k>."""
    return [user(f"q{k}", parent, f"q{k}", at), assistant(f"a{k}", f"q{k}", f"a{k}", at + 1)]


def hook(uuid: str, parent: str, at: float, sent: bool = True) -> dict[str, Any]:
    """An attachment that says its own name, or is not sent."""
    rendered = {"rendered": [{"content": uuid}]} if sent else {}
    return other("attachment", uuid, parent, at, attachment={"type": "hook_note"}, **rendered)


OLD = [*turn(1, None, 1), *turn(2, "a1", 3)]
SUMMARY = user("s", "b", "SUM", 8, isCompactSummary=True)
KEEP = {"preservedMessages": {"anchorUuid": "s", "uuids": ["q2", "a2"]}}
SEGMENT = {"preservedSegment": {"anchorUuid": "s", "headUuid": "q2", "tailUuid": "a2"}}
HALF = {"preservedMessages": {"anchorUuid": "s", "uuids": ["gone", "a2"]}}
SECOND = [boundary("c", at=20), user("t", "c", "SUM2", 21, isCompactSummary=True)]

CHAINS: dict[str, tuple[Rows, str]] = {
    "the last row in the file is the leaf, though it has an older child above it": (
        [user("q1", None, "q1", 1), user("q2", "a1", "q2", 3), assistant("a1", "q1", "a1", 4)],
        "q1 a1",
    ),
    "a newer child above it is gone on with": (
        [user("q1", None, "q1", 1), user("q2", "a1", "q2", 3), assistant("a1", "q1", "a1", 2)],
        "q1 a1 q2",
    ),
    "a rewound turn is not on the path": ([*OLD, *turn(3, "a1", 9)], "q1 a1 q3 a3"),
    "what hangs on a result that is put back comes with it": (
        [
            user("q1", None, "q1", 1),
            assistant("a1", "q1", call("c1"), 2, response="m"),
            assistant("a2", "a1", call("c2"), 3, response="m"),
            user("r1", "a1", [result("c1")], 4),
            hook("h0", "r1", 5, False),
            hook("h1", "h0", 5.5),
            user("r2", "a2", [result("c2")], 6),
            hook("h2", "r2", 7),
            hook("h3", "a1", 7.5),
            assistant("a3", "h2", "a3", 8),
        ],
        "q1 +c1 +c2 -c1 h1 -c2 h2 a3",
    ),
    "a progress row is looked through": (
        [*turn(1, None, 1), other("progress", "p", "a1", 3), other("progress", "r", "p", 4), *turn(2, "r", 5)],
        "q1 a1 q2 a2",
    ),
    "a progress row without parent is a root": ([*OLD, other("progress", "p", None, 9), *turn(3, "p", 60)], "q3 a3"),
    "a parent that is missing ends the chain": ([*OLD, *turn(3, "gone", 60)], "q3 a3"),
    "unless a row is at most 5 s older": ([*OLD, *turn(3, "gone", 9)], "q1 a1 q2 a2 q3 a3"),
    "a progress row whose parent is missing is bridged as well": (
        [*OLD, other("progress", "p", "gone", 5), *turn(3, "p", 6)],
        "q1 a1 q2 a2 q3 a3",
    ),
    "a row on an unknown type is a missing parent": ([*OLD, other("later", "x", "a2", 60), *turn(3, "x", 61)], "q3 a3"),
    "rows without time are not bridged": ([*OLD, user("q3", "gone", "q3", 5, timestamp=None)], "q3"),
    "a cycle ends where it began": ([user("q1", "a1", "q1", 1), assistant("a1", "q1", "a1", 2)], "q1 a1"),
    "a row that is its own parent": ([user("q1", "q1", "q1", 1)], "q1"),
    "progress rows in a cycle": (
        [other("progress", "p", "r", 1), other("progress", "r", "p", 2), *turn(1, "r", 3)],
        "q1 a1",
    ),
    "sidechains are never sent": (
        [*OLD, user("x", "a2", "side", 5, isSidechain=True), assistant("y", "x", "side", 6, isSidechain=True)],
        "q1 a1 q2 a2",
    ),
    "a sidechain row between is walked through": (
        [*turn(1, None, 1), user("x", "a1", "side", 3, isSidechain=True), *turn(2, "x", 4)],
        "q1 a1 q2 a2",
    ),
    "a file of nothing but a sidechain is read as itself": (
        [user("x", None, "side", 5, isSidechain=True), assistant("y", "x", "job", 6, isSidechain=True, agentId="A")],
        "side job",
    ),
    "of rows with one uuid the last counts": (
        [*turn(1, None, 1), user("q1", None, "again", 5), user("q2", "a1", "q2", 6)],
        "again a1 q2",
    ),
    "a boundary cuts": ([*OLD, boundary("b", at=7), SUMMARY, *turn(3, "s", 9)], "SUM q3 a3"),
    "a boundary cuts with a parent too (p60)": ([*OLD, boundary("b", "a2", 7), SUMMARY, *turn(3, "s", 9)], "SUM q3 a3"),
    "a boundary without summary at the end is ignored (p63)": ([*OLD, boundary("b", at=7)], "q1 a1 q2 a2"),
    "the last boundary cuts": ([*OLD, boundary("b", at=7), SUMMARY, *turn(3, "s", 9), *SECOND], "SUM2"),
    "a later row on the old branch lifts the compaction": (
        [*OLD, boundary("b", at=7), SUMMARY, *turn(3, "a2", 9)],
        "q1 a1 q2 a2 q3 a3",
    ),
    "preserved rows follow the summary": (
        [*OLD, boundary("b", at=7, **KEEP), SUMMARY, *turn(3, "s", 9)],
        "SUM q2 a2 q3 a3",
    ),
    "so does what hangs on the last of them": (
        [*OLD, boundary("b", at=7, **KEEP), SUMMARY, *turn(3, "a2", 9)],
        "SUM q2 a2 q3 a3",
    ),
    "a preserved segment is the same": (
        [*OLD, boundary("b", at=7, **SEGMENT), SUMMARY, *turn(3, "s", 9)],
        "SUM q2 a2 q3 a3",
    ),
    "a list that misses a row is ignored": (
        [*OLD, boundary("b", at=7, **HALF), SUMMARY, *turn(3, "s", 9)],
        "SUM q3 a3",
    ),
    "and a child of its tail brings everything back (p69)": (
        [*OLD, boundary("b", at=7, **HALF), SUMMARY, *turn(3, "a2", 9)],
        "q1 a1 q2 a2 q3 a3",
    ),
    "nothing that was not listed comes back with a preserved row (p70, p71)": (
        [
            *turn(1, None, 1),
            assistant("x", "a1", call("A"), 3, response="m"),
            user("ra", "x", [result("A")], 4),
            boundary("b", at=7, preservedMessages={"anchorUuid": "s", "uuids": ["x"]}),
            SUMMARY,
        ],
        "SUM +A",
    ),
    "microcompact_boundary does nothing": (
        [*OLD, other("system", "m", "a2", 6, subtype="microcompact_boundary"), *turn(3, "m", 9)],
        "q1 a1 q2 a2 q3 a3",
    ),
    "parallel calls and their results are put back in file order": (
        [
            user("q", None, "q", 1),
            assistant("x", "q", call("A"), 2, response="m"),
            assistant("y", "x", call("B"), 3, response="m"),
            user("rb", "y", [result("B")], 5),
            user("ra", "x", [result("A")], 4),
            assistant("z", "rb", "done", 6),
        ],
        "q +A +B -B -A done",
    ),
    "a row of the response far from the others is put back too (p114)": (
        [
            user("q", None, "q", 1),
            assistant("x", "q", call("A"), 2, response="m"),
            user("ra", "x", [result("A")], 4),
            user("o", "q", "other branch", 5),
            assistant("y", "o", call("B"), 6, response="m"),
            user("rb", "y", [result("B")], 7),
            assistant("z", "ra", "done", 8),
        ],
        "q +A +B -A -B done",
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_what_is_sent(name: str) -> None:
    """The messages on the active path, in the order they are sent."""
    raw = log(*CHAINS[name][0])
    assert words(raw, context(read(raw))) == CHAINS[name][1]


def test_cuts_name_what_left_and_what_moved() -> None:
    """`order` keeps the histories that compactions took out; each cut names its row, what left, and what it kept."""
    rows = [*OLD, boundary("b", at=7, **KEEP), SUMMARY, *turn(3, "s", 9), *SECOND, *turn(4, "t", 30)]
    raw = log(*rows)
    view = read(raw).view
    assert view is not None
    assert words(raw, view.order) == "q1 a1 q2 a2 SUM q3 a3 SUM2 q4 a4"
    assert view.cuts == [
        ProgramCut(4, [1, 2], "compacted by Claude Code at line 5", moved=[3, 4], after=5),
        ProgramCut(8, [5, 3, 4, 6, 7], "compacted by Claude Code at line 9"),
    ]
    assert view.inactive == {}
    early = read(log(*rows[:6])).view
    assert early is not None and early.cuts == view.cuts[:1]


def test_before_a_boundary_the_leaf_rule_holds_again() -> None:
    """What a compaction took out is the branch that was active then, not the abandoned one."""
    raw = log(*OLD, *turn(3, "a1", 9), boundary("b", at=17), SUMMARY)
    view = read(raw).view
    assert view is not None
    assert words(raw, view.order) == "q1 a1 q3 a3 SUM"
    assert [cut.out for cut in view.cuts] == [[1, 2, 5, 6]]
    assert view.inactive == {3: "branch", 4: "branch"}


def test_above_a_boundary_with_a_parent_the_chain_goes_on() -> None:
    """Then not the leaf rule but the parent says what was compacted."""
    raw = log(*OLD, *turn(3, "a1", 9), boundary("b", "a2", 17), SUMMARY)
    view = read(raw).view
    assert view is not None
    assert words(raw, view.order) == "q1 a1 q2 a2 SUM"
    assert view.inactive == {5: "branch", 6: "branch"}


@pytest.mark.parametrize("progress", [False, True])
def test_messages_that_a_missing_record_cuts_off(progress: bool) -> None:
    """They are no branch, also where a progress row hangs on the missing record; an abandoned branch stays one."""
    late = user("x", "gone", "q9", 60)
    rows = [{**late, "type": "progress", "uuid": "p"}, user("x", "p", "q9", 60)] if progress else [late]
    transcript = read(log(*OLD, *turn(3, "a1", 9), *rows))
    view = transcript.view
    assert view is not None and view.order == [7]
    assert view.inactive == {1: "cut-off", 2: "cut-off", 3: "branch", 4: "branch", 5: "cut-off", 6: "cut-off"}
    assert view.cut_before == 7
    assert [(one.line, one.code) for one in transcript.broken] == [(7, "missing-parent")]


def test_a_parent_that_is_no_row_of_the_chain_is_not_missing() -> None:
    """A row of an unknown type has its uuid."""
    transcript = read(log(*OLD, {"type": "artifact", "uuid": "art", "parentUuid": "a2"}, user("x", "art", "q9", 60)))
    assert transcript.broken == [] and transcript.view is not None and transcript.view.cut_before == 0


def test_reasons_of_inactive_messages() -> None:
    """A message off the path is on a branch, or in a sidechain with its agent's thread."""
    side = user("x", None, "job", 5, isSidechain=True, agentId="A7")
    transcript = read(log(*OLD, side, {**side, "uuid": "y", "agentId": None}, *turn(3, "a1", 9)))
    assert transcript.view is not None
    assert transcript.view.inactive == {3: "branch", 4: "branch", 5: "sidechain", 6: "sidechain"}
    assert [(m.thread, m.agent) for m in transcript.messages[3:7]] == [
        (None, None),
        ("A7", "A7"),
        ("sidechain-1", None),
        (None, None),
    ]


def test_a_partly_preserved_response_is_sent_in_part() -> None:
    """Rows of a response that a compaction did not list stay away, and only then (p71)."""
    thought = {"type": "thinking", "thinking": "hm", "signature": "S"}
    rows = [
        *turn(1, None, 1),
        assistant("x", "a1", thought, 3, response="m"),
        assistant("y", "x", "kept", 4, response="m"),
        boundary("b", at=7, preservedMessages={"anchorUuid": "s", "uuids": ["y"]}),
        SUMMARY,
    ]
    whole = log(*rows[:4])
    assert len(content(whole, read(whole).messages[2]).parts) == 2
    raw = log(*rows)
    assert [type(part) for part in content(raw, read(raw).messages[2]).parts] == [Text]


@pytest.mark.full("a long chain")
def test_a_long_chain_and_one_id_for_all_are_read() -> None:
    """A session of 60 000 rows that all claim to be one response (redacted ids) neither hangs nor overflows."""
    rows = [user("0", None, "q")]
    rows += [assistant(str(i), str(i - 1), "x", response="REDACTED") for i in range(1, 60_001)]
    transcript = read(log(*rows))
    assert transcript.view is not None
    assert len(transcript.view.order) == len(transcript.messages) == 61


@pytest.mark.parametrize("name", ["21-entire-3compact", "23-entire-5-dangling-parents", "29-entire-starts-at-boundary"])
def test_every_cut_of_a_real_session_takes_out_what_was_there(name: str) -> None:
    """Numbers stand once in `order`; what leaves at a boundary stood before it and had not left already."""
    transcript = read(shared(f"transcripts/claude-code/{name}.jsonl").read_bytes())
    view = transcript.view
    assert view is not None and view.cuts
    assert len(set(view.order)) == len(view.order)
    assert sorted([*view.order, *view.inactive]) == [m.n for m in transcript.messages]
    gone: set[int] = set()
    for cut in view.cuts:
        assert cut.out and not gone & set(cut.out)
        assert all(transcript.row_of[n - 1] < cut.row for n in cut.out)
        gone |= set(cut.out)
    assert gone <= set(view.order)
