"""Claude Code sessions after ops: what changes, and that nothing else does."""

from __future__ import annotations

import json

import pytest

from tests.formats.claude_code.logs import assistant, boundary, call, log, other, result, user
from tests.formats.claude_code.sessions import opened, problems, rows, told, written

FILE = b'{"type":"custom-title","customTitle":"t","sessionId":"s"}\nnoise\n\n' + log(
    user("q", None, "first"),
    other("progress", "g", "q"),
    assistant("a", "g", call("A"), response="m"),
    assistant("b", "a", call("B"), response="m"),
    user("ra", "a", [result("A")], toolUseResult={"uuid": "x", "parentUuid": "y", "sessionId": "s"}),
    user("rb", "b", [result("B", "long " * 50)], toolUseResult={"stdout": "long"}),
    assistant("d", "rb", "done"),
    {"type": "last-prompt", "leafUuid": "d", "sessionId": "s"},
    user("o", "d", "another"),
    assistant("x", "d", "of a branch that was left"),
    user("p", "o", "more"),
    assistant("e", "p", "the end"),
)


def changed_lines(one: bytes, other: bytes) -> list[bytes]:
    """Lines of `one` that are not in `other`."""
    there = set(other.split(b"\n"))
    return [piece for piece in one.split(b"\n") if piece not in there]


def test_nothing_changes() -> None:
    """Without ops, and after op and undo, it is the file, or the file with another id of its session."""
    one = opened(FILE)
    assert written(one, keep_id=True) == FILE
    made = written(one)
    new = json.loads(made.split(b"\n")[0])["sessionId"]
    assert made == FILE.replace(b'"sessionId":"s"', b'"sessionId":"%s"' % new.encode()).replace(
        b'"sessionId": "s"', b'"sessionId": "%s"' % new.encode()
    ).replace(b'"y", "sessionId": "%s"' % new.encode(), b'"y", "sessionId": "s"')
    one.forget("1")
    one.undo()
    assert written(one, keep_id=True) == FILE


def test_a_subagents_file_becomes_a_session() -> None:
    """Claude Code (2.1.332) finds no session in rows of a sidechain: what is written has none, with or without ops."""
    rows = [json.loads(line) for line in FILE.split(b"\n") if line.startswith(b"{")]
    side = {"isSidechain": True, "agentId": "b9"}
    raw = b"".join(json.dumps(row | (side if "uuid" in row else {})).encode() + b"\n" for row in rows)
    for change in ("", "4"):
        one = opened(raw)
        if change:
            one.forget(change)
        made = written(one)
        assert told(opened(made)) == told(one) and problems(made) == []
        assert b'"isSidechain": true' not in made and b'"isSidechain":true' not in made


def test_one_message_is_forgotten() -> None:
    """Its rows go, whoever hung on them hangs on what is above; all other lines are as they were."""
    one = opened(FILE)
    one.forget("4")  # a result: the step goes
    made = written(one, keep_id=True)
    assert problems(made) == [] and told(opened(made)) == told(one)
    [line] = changed_lines(made, FILE)
    assert json.loads(line)["uuid"] == "d" and json.loads(line)["parentUuid"] == "g"
    assert len(FILE.split(b"\n")) - len(made.split(b"\n")) == 4


@pytest.mark.parametrize("numbers", ["1", "2-4", "5", "6", "9", "8-9", "6,8-9", "1-5", "5,9"])
def test_some_are_forgotten(numbers: str) -> None:
    """The outcome reads as the context; a branch that was left does not come back."""
    one = opened(FILE)
    one.forget(numbers, include_protected=True)
    made = written(one)
    assert problems(made) == []
    assert told(opened(made)) == told(one)
    assert b"of a branch that was left" in made
    uuids = {row.get("uuid") for row in rows(made)}
    assert {row["leafUuid"] for row in rows(made) if "leafUuid" in row} <= uuids


def test_a_rewind() -> None:
    """What came after the mark goes; a last row, which is never sent, hangs on the last of the context."""
    one = opened(FILE)
    one.forget("6,8-9")
    made = rows(written(one))
    assert (made[-1]["type"], made[-1]["parentUuid"]) == ("system", "d")
    assert "x" in [row.get("uuid") for row in made] and told(opened(written(one))) == told(one)


def test_a_branch_that_hangs_on_the_last_row() -> None:
    """Rows that were left, newer than the context's last row, which they hang on, are not gone on with (rule 2)."""
    branches = [user("u1", None, "q1", 1), assistant("a1", "u1", "r1", 2), user("u2", "a1", "left", 3),
                assistant("a2", "u2", "left too", 4), user("u3", "a1", "q3", 5)]  # fmt: skip
    one = opened(log(*branches))
    one.forget("5")
    again = opened(written(one))
    assert told(again) == told(one)
    assert b"left too" in written(one)


def test_preserved_messages() -> None:
    """What a compaction preserved is named without what goes."""
    meta = {"preservedMessages": {"anchorUuid": "s1", "uuids": ["b", "c"], "allUuids": ["b", "c"]}}
    raw = log(
        user("a", None, "old"),
        assistant("b", "a", "kept"),
        user("c", "b", "kept too"),
        boundary("k", None, **meta),
        user("s1", "k", "summary", isCompactSummary=True),
        user("e", "s1", "new"),
    )
    for n in ("2", "3", "4", "2-3", "5", "4-5"):
        one = opened(raw)
        one.forget(n, include_protected=True)
        made = written(one)
        assert problems(made) == [] and told(opened(made)) == told(one), n
    one = opened(raw)
    one.forget("3")
    [mark] = [row for row in rows(written(one)) if row["uuid"] == "k"]
    assert mark["compactMetadata"]["preservedMessages"] == {"anchorUuid": "s1", "uuids": ["b"], "allUuids": ["b"]}


def test_a_missing_parent() -> None:
    """Claude Code bridges it by time; where what it found goes, the row says what is above that."""
    raw = log(user("a", None, "one"), assistant("b", "a", "two", 1), user("c", "gone", "three", 2))
    one = opened(raw)
    assert len(told(one)) == 3
    one.forget("2")
    made = rows(written(one))
    assert [row["parentUuid"] for row in made] == [None, "a"]


def test_one_of_two_copies_of_a_history_leaves() -> None:
    """The other copy was drawn in by it: it goes into the chain, by two links, and every other line stays."""
    copy = [assistant("a", "q", "one", response="m"), assistant("b", "a", call("B"), response="m")]
    raw = log(
        user("q", None, "first"), *copy, user("r", "b", [result("B")]), user("q2", None, "first", 5),
        assistant("a2", "q2", "one", 6, response="m"), user("p", "a2", "more", 7),
    )  # fmt: skip
    one = opened(raw)
    before = told(one)
    [n] = [n for n in one.names() if isinstance(n, int) and one.messages[n - 1].key == "a2"]
    one.forget(str(n))
    made = written(one, keep_id=True)
    assert problems(made) == [] and len(before) == 5 and told(opened(made)) == told(one)
    assert [json.loads(piece)["uuid"] for piece in changed_lines(made, raw)] == ["a", "p"]
    assert len(rows(raw)) - len(rows(made)) == 1
