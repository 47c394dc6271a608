"""Numbering: which rows of a Claude Code log open a message, and that no later row changes it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.messages import Text
from ctxkit.formats.claude_code import FORMAT
from ctxkit.formats.claude_code.reader import ClaudeReader
from tests.formats.claude_code.logs import assistant, block, boundary, call, content, log, other, read, result, user
from tests.shared import shared


def attachment(uuid: str, parent: str | None, kind: str, **more: Any) -> dict[str, Any]:
    """An attachment row."""
    return other("attachment", uuid, parent, attachment={"type": kind, **more})


def test_rows_that_open_messages() -> None:
    """User rows, the first row of a response, local commands and attachments that are sent; nothing else."""
    rows = [
        other("file-history-snapshot", "", None),
        user("q", None, "q"),
        assistant("a", "q", {"type": "thinking", "thinking": "hm", "signature": "S"}, response="m"),
        other("progress", "p", "a"),
        assistant("b", "a", call("A", "Read"), response="m"),
        user("r", "b", [result("A")]),
        attachment("n", "r", "nested_memory"),
        attachment("u", "n", "never_heard_of"),
        attachment("h", "u", "hook_success", hookEvent="SessionStart", content=""),
        attachment("i", "h", "hook_success", hookEvent="SessionStart", content="hi"),
        attachment("j", "i", "hook_success", hookEvent="Stop", content="hi"),
        {**attachment("k", "j", "never_heard_of"), "rendered": ["words"]},
        other("system", "l", "k", subtype="local_command", content="<local-command-stdout>x</local-command-stdout>"),
        other("system", "t", "l", subtype="turn_duration"),
        assistant("c", "t", "done", response=""),
    ]
    del rows[-1]["message"]["id"]
    transcript = read(log(*rows))
    assert [(m.key, m.role) for m in transcript.messages] == [
        ("q", "user"),
        ("a", "assistant"),
        ("r", "user"),
        ("n", "user"),
        ("i", "user"),
        ("k", "user"),
        ("l", "user"),
        ("c", "assistant"),
    ]
    assert list(transcript.row_of) == [1, 2, 5, 6, 9, 11, 12, 14]
    assert transcript.rows == len(rows)
    second = transcript.messages[1]
    assert (second.calls, second.tools, len(second.more)) == (("A",), ("Read",), 1)
    assert transcript.messages[2].results == ("A",)
    assert transcript.model == "claude-opus-4-6"


@pytest.mark.parametrize(
    ("row", "opens"),
    [
        pytest.param(user("q", None, "please"), True, id="words"),
        pytest.param(user("q", None, [{"type": "text", "text": "please"}]), True, id="a text block"),
        pytest.param(user("q", None, [{"type": "image", "source": {}}]), True, id="an image"),
        pytest.param(user("q", None, "<command-name>/review</command-name>"), True, id="a command of the user's own"),
        pytest.param(user("q", None, [result("A")]), False, id="a result"),
        pytest.param(user("q", None, [result("A"), {"type": "text", "text": "and"}]), False, id="a result and words"),
        pytest.param(user("q", None, "skill", isMeta=True), False, id="meta"),
        pytest.param(user("q", None, "SUM", isCompactSummary=True), False, id="a summary"),
        pytest.param(user("q", None, "<local-command-stdout>x</local-command-stdout>"), False, id="a command's output"),
        pytest.param(
            user("q", None, [{"type": "text", "text": "[Request interrupted by user]"}]), False, id="interrupt"
        ),
        pytest.param(user("q", None, "<task-notification>", origin={"kind": "task-notification"}), False, id="a task"),
        pytest.param(user("q", None, "please", origin={"kind": "human"}), True, id="origin human"),
        pytest.param(attachment("q", None, "queued_command", prompt="x"), False, id="a queued command"),
        pytest.param(other("system", "q", None, subtype="local_command", content="x"), False, id="a local command"),
    ],
)
def test_which_messages_open_an_exchange(row: dict[str, Any], opens: bool) -> None:
    """Only what a person asked opens an exchange."""
    assert [m.opens for m in read(log(row)).messages] == [opens]


def test_the_rows_of_a_response_are_one_message_until_the_user_speaks() -> None:
    """Same message.id: one message, though results stand between; another one after a user's words (p113)."""
    rows = [
        user("q", None, "q"),
        assistant("a", "q", call("A"), response="m"),
        user("r", "a", [result("A")]),
        assistant("b", "r", call("B"), response="m"),
        user("w", "b", "words"),
        assistant("c", "w", "c", response="m"),
        assistant("d", "gone", "d", response="m"),
        assistant("e", "a", "e", response="m", isSidechain=True),
        user("x", "d", "more words"),
        assistant("f", "gone", "f", response="m"),
    ]
    found = [(m.key, len(m.more)) for m in read(log(*rows)).messages if m.role == "assistant"]
    assert found == [("a", 1), ("c", 1), ("e", 0), ("f", 0)]


def test_a_repeated_uuid_stays_one_message() -> None:
    """The last row counts, under the number of the first (p40)."""
    raw = log(
        user("q", None, "q"), assistant("a", "q", "first", response="m"), assistant("a", "q", "second", response="m")
    )
    messages = read(raw).messages
    assert len(messages) == 2
    assert content(raw, messages[1]).parts == [Text("second")]


def test_ops_are_not_rows() -> None:
    """A row with a string `ctxkit` is an op, even between two rows of a response; with any other value it is a row."""
    rows = [
        user("q", None, "q"),
        assistant("a", "q", "one", response="m"),
        {"ctxkit": "forget", "type": "user"},
        assistant("b", "a", "two", response="m"),
        user("r", "b", "r", ctxkit=7),
    ]
    transcript = read(log(*rows))
    assert [(op.body["ctxkit"], op.rows, op.messages, op.line) for op in transcript.ops] == [("forget", 2, 2, 3)]
    assert (transcript.rows, len(transcript.messages)) == (4, 3)


@given(
    st.lists(st.tuples(st.sampled_from("uaarrpsbAd"), st.integers(0, 5), st.integers(0, 3)), max_size=24),
    st.lists(st.integers(1, 6), min_size=24, max_size=24),
)
def test_how_a_log_is_cut_up_says_nothing(drawn: list[tuple[str, int, int]], cuts: list[int]) -> None:
    """Rows in any pieces, forked, repeated, orphaned, in sidechains: what comes later in a piece is not known yet."""
    rows: list[dict[str, Any]] = []
    for i, (kind, back, group) in enumerate(drawn):
        parent = rows[-1 - back]["uuid"] if back < len(rows) else "gone" if back == 5 else None
        uuid = parent if kind == "d" and parent and parent != "gone" else f"x{i}"
        match kind:
            case "a" | "d":
                rows.append(assistant(uuid, parent, call(f"c{i}"), i, response=f"m{i // 4}-{group % 2}"))
            case "A":
                more: dict[str, Any] = {"agentId": "A"} if group else {}
                rows.append(assistant(uuid, parent, f"a{i}", i, response="m", isSidechain=True, **more))
            case "r":
                rows.append(user(uuid, parent, [result(f"c{i - 1}")], i))
            case "b":
                rows.append(boundary(uuid, parent, i, preservedMessages={"anchorUuid": "x3", "uuids": ["x1", "x2"]}))
            case _:
                rows.append({"p": other("progress", uuid, parent, i), "s": other("system", uuid, parent, i)}.get(
                    kind, user(uuid, parent, f"q{i}", i)))  # fmt: skip
    lines = log(*rows).splitlines(keepends=True)
    whole = read(b"".join(lines))
    reader = ClaudeReader()
    done = at = 0
    for count in cuts:
        piece = b"".join(lines[at : at + count])
        reader.feed(block(piece, done, at + 1))
        done, at = done + len(piece), at + count
    assert reader.finish() == whole


@pytest.mark.parametrize(
    ("head", "ours"),
    [
        pytest.param([{"type": "user", "uuid": "u", "parentUuid": None, "sessionId": "s"}], True, id="a message"),
        pytest.param([{"type": "file-history-snapshot", "messageId": "m"}], True, id="a snapshot"),
        pytest.param([{"type": "summary", "summary": "x", "leafUuid": "u"}], True, id="a title"),
        pytest.param([{"type": "summary", "summary": "x"}], False, id="somebody's summary"),
        pytest.param([{"type": "session", "id": "x", "parentId": None}], False, id="pi"),
        pytest.param([{"role": "user", "content": "x"}, {"type": ["user"]}], False, id="chat"),
        pytest.param([], False, id="nothing"),
    ],
)
def test_detection(head: list[dict[str, Any]], ours: bool) -> None:
    """The format is told by what no other has."""
    assert FORMAT.detect(head) is ours


@pytest.mark.parametrize(
    ("name", "step"),
    [("37-agentv-small", 1), ("40-sessionshare-main-with-subagents", 1), ("42-sessionshare-general-commented", 23)],
)
def test_numbers_never_change_as_a_log_grows(name: str, step: int) -> None:
    """At every cut the messages so far have the numbers, keys and roles they keep; the end is the same for all cuts."""
    raw = shared(f"transcripts/claude-code/{name}.jsonl").read_bytes()
    whole = read(raw)
    reader = ClaudeReader()
    offset = 0
    for i, line in enumerate(raw.splitlines(keepends=True)):
        reader.feed(block(line, offset, i + 1))
        offset += len(line)
        if i % step == 0:
            part = reader.finish()
            known = whole.messages[: len(part.messages)]
            assert [(m.n, m.key, m.role, m.ts, m.opens) for m in part.messages] == [
                (m.n, m.key, m.role, m.ts, m.opens) for m in known
            ]
            for now, later in zip(part.messages, known, strict=True):
                assert later.more[: len(now.more)] == now.more
                assert later.calls[: len(now.calls)] == now.calls
            assert part.row_of == whole.row_of[: len(part.messages)]
    assert reader.finish() == whole
