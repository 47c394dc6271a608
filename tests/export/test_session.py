"""Sessions: which writer, which ids, and pairs that ops broke."""

from __future__ import annotations

import io

import pytest

from ctxkit import Log
from ctxkit.core.decision import Decision
from ctxkit.core.messages import Repairs
from ctxkit.core.ops import Compact, Item, Restore, Trim
from ctxkit.errors import NothingToSend, Usage
from ctxkit.export.session import edited_of, fresh, session
from tests.cli.runner import SMALL, lines, message
from tests.formats.claude_code.logs import assistant, call, log, result, user
from tests.formats.claude_code.sessions import opened, problems, rows, told, written
from tests.lawful import ROOT

GUIDE = (ROOT / "fixtures/guide/session.jsonl").read_bytes()


def test_ids() -> None:
    """A new id each time, unless it is kept; no id is made twice."""
    one = opened(GUIDE)
    first, second = one.session("claude-code"), one.session("claude-code")
    kept = one.session("claude-code", keep_id=True)
    assert len({first.id, second.id, kept.id}) == 3 and kept.name == f"{kept.id}.jsonl"
    assert b"".join(kept.pieces) == GUIDE
    assert len({fresh() for _ in range(100)}) == 100


def test_of_another_format() -> None:
    """Contents become rows; calls and results are paired; there is no id to keep."""
    one = Log.open(io.BytesIO(SMALL))
    made = written(one)
    assert problems(made) == [] and len(told(opened(made))) == len(told(one))
    with pytest.raises(Usage, match="no id to keep"):
        one.session("claude-code", keep_id=True)


def test_refused() -> None:
    """A format that has no sessions; a context without messages."""
    with pytest.raises(Usage, match="no session of chat"):
        session(opened(GUIDE), "chat")
    one = Log.open(io.BytesIO(lines(message("user", "x"))))
    one.clear()
    with pytest.raises(NothingToSend):
        one.session("claude-code")


@pytest.mark.parametrize(
    ("number", "counts", "kinds"), [("2", (0, 1), ["q", "e"]), ("3", (1, 0), ["q", "a", "+", "e"])]
)
def test_pairs_that_an_op_broke(number: str, counts: tuple[int, int], kinds: list[str]) -> None:
    """A result whose call is gone goes, a call whose result is gone gets one that says so; both are counted."""
    answered = [assistant("a", "q", call("A")), user("r", "a", [result("A")])]
    one = opened(log(user("q", None, "go"), *answered, assistant("e", "r", "so")))
    one.commit("trim", lambda: Decision(Trim(at=one.here(), ids=number), ""))
    repairs = Repairs()
    edited = edited_of(one, repairs)
    assert (repairs.made, repairs.dropped) == counts
    keys = [one.messages[kept.n - 1].key if kept.n else "+" for kept in edited.context]
    assert keys == kinds and edited.gone and not edited.moved
    made = written(one)
    assert problems(made) == [] and len(rows(made)) == len(kinds)


def test_nothing_but_results() -> None:
    """Without their calls they cannot be sent: then there is nothing."""
    one = opened(log(user("q", None, "go"), assistant("a", "q", call("A")), user("r", "a", [result("A")])))
    one.commit("trim", lambda: Decision(Trim(at=one.here(), ids="1-2"), ""))
    with pytest.raises(NothingToSend, match="only results"):
        one.session("claude-code")


def test_a_summary_and_what_it_replaces() -> None:
    """The summary is a row where the first of what it replaces was; undone, the file is as before."""
    one = opened(GUIDE)
    one.commit("compact", lambda: Decision(Compact(at=one.here(), ids="2-5", text="in short"), ""))
    made = written(one)
    assert problems(made, GUIDE) == [] and told(opened(made)) == told(one)
    assert [role for role, parts in told(opened(made)) if parts[0].get("text") == "in short"] == ["user"]
    one.undo()
    assert written(one, keep_id=True) == GUIDE


def test_looking_back() -> None:
    """As it was at an op: what came later is not in the file."""
    raw = GUIDE.splitlines(keepends=True)
    one = opened(GUIDE)
    op = one.forget("3")
    assert op is not None
    assert written(one.seen_at("1^"), keep_id=True) == GUIDE and len(raw) > 1


def test_half_a_pair_that_was_elsewhere() -> None:
    """A call of a branch that was left, restored without its result, gets one; a result without its call goes."""
    for half, counts in ((2, (1, 0)), (3, (0, 1))):
        one = opened(
            log(
                user("q", None, "go"),
                assistant("a", "q", call("A"), 1),
                user("r", "a", [result("A")], 2),
                assistant("e", "q", "so", 3),
            )
        )
        assert list(one.names()) == [1, 4]
        op = Restore(at=one.here(), items=[Item(n=half)], mode="append")
        one.commit("restore", lambda op=op: Decision(op, ""))
        repairs = Repairs()
        edited_of(one, repairs)
        assert (repairs.made, repairs.dropped) == counts
        assert problems(written(one)) == []


def test_two_calls_with_one_id() -> None:
    """Each result stays behind its own: a history that stands twice in a file is not shuffled by an op."""
    twice = [(assistant(f"a{k}", up, call("A")), user(f"r{k}", f"a{k}", [result("A")])) for k, up in enumerate("qp")]
    one = opened(log(user("q", None, "go"), *twice[0], user("p", "r0", "again"), *twice[1]))
    one.commit("restore", lambda: Decision(Restore(at=one.here(), items=[Item(n=1)], mode="append"), ""))
    assert [kept.n for kept in edited_of(one, Repairs()).context] == [2, 3, 4, 5, 6, 1]


@pytest.mark.parametrize("target", ["claude-code", "codex", "pi", "gemini-cli"])
def test_what_nothing_is_left_of_is_not_counted(target: str) -> None:
    """A message of which the target can hold nothing is left out, and is none of those that were written."""
    empty = {"role": "user", "content": [{"type": "thinking", "thinking": "hm"}]}
    rows = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}, empty]
    made = Log.open(io.BytesIO(lines(*rows))).session(target)
    list(made.pieces)
    assert made.count == 2, made.repairs.left_out
