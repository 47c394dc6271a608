"""A context is proved by what Claude Code noted of its requests; whatever is not as it was sent is found."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxkit.formats.claude_code import histories
from ctxkit.formats.claude_code import proofs as module
from ctxkit.formats.claude_code.hashing import message_hash
from tests.effort import examples
from tests.formats.claude_code.noting import (
    FILES,
    Json,
    Session,
    call,
    hash_of,
    lines,
    proofs,
    raw,
    result,
    rows,
    text,
    worked,
)  # fmt: skip

COUNTS = {"agent": (4, 26), "compact": (5, 28), "old": (4, 16), "subagent": (2, 7), "talk": (9, 116)}
"""Requests and messages of each file."""


@pytest.mark.parametrize("name", FILES)
def test_the_programs_own_files(name: str) -> None:
    """Every message of every request that Claude Code noted, without a copy's help."""
    found = proofs(raw(name))
    assert (found.requests, found.messages) == COUNTS[name]
    assert (found.proved, found.given, found.wrong, found.unproved) == (found.requests, 0, [], [])


def test_none_are_noted() -> None:
    """A log without requests proves nothing, and nothing is wrong with that."""
    session = worked(2)
    session.rows = [row for row in session.rows if row["type"] != "api-request"]
    found = proofs(session.bytes())
    assert (found.requests, found.proved, found.wrong, found.unproved) == (0, 0, [], [])


def places(row: Json) -> list[tuple[Any, ...]]:
    """Where words stand in a row that is sent."""
    if row["type"] == "attachment":
        rendered = row.get("rendered") or ()
        return [("rendered", i, "content") for i, one in enumerate(rendered) if type(one["content"]) is str]
    content = row.get("message", {}).get("content")
    if isinstance(content, str):
        return [("message", "content")]
    found: list[tuple[Any, ...]] = []
    for i, block in enumerate(content or ()):
        keys = {"text": "text", "thinking": "thinking", "tool_use": "id", "tool_result": "content"}
        if isinstance(block.get(keys[block["type"]]), str):
            found.append(("message", "content", i, keys[block["type"]]))
        if block["type"] == "tool_use":
            asked = [key for key, item in block["input"].items() if type(item) is str]
            found += [("message", "content", i, "input", key) for key in asked]
    return found


def changeable(name: str) -> list[tuple[int, tuple[Any, ...]]]:
    """All words of a file that some request was sent with."""
    found = rows(raw(name))
    last = max(i for i, row in enumerate(found) if row["type"] == "api-request")
    talk = {"user", "assistant", "attachment"}
    return [(i, place) for i, row in enumerate(found[:last]) if row["type"] in talk for place in places(row)]


PLACES = [(name, *one) for name in FILES for one in changeable(name)]


@given(st.sampled_from(PLACES), st.integers(0, 10_000), st.sampled_from("xé<"))
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_change_of_words_is_found(where: tuple[str, int, tuple[Any, ...]], at: int, put: str) -> None:
    """One character more in any message of a file that was proved."""
    name, i, place = where
    found = rows(raw(name))
    target: Any = found[i]
    for key in place[:-1]:
        target = target[key]
    words = target[place[-1]]
    at %= len(words) + 1
    target[place[-1]] = words[:at] + put + words[at:]
    answer = proofs(lines(found))
    assert answer.wrong, (name, i, place)
    assert {one.code for one in answer.wrong} == {"not-as-sent"}


def test_what_is_said_of_a_change() -> None:
    """The request, its line, the message of it and of the log, what was sent and what the log gives; told once."""
    session = worked(3)
    session.rows[3]["message"]["content"][0]["input"]["command"] = "rm -rf /"
    found = proofs(session.bytes())
    [wrong] = found.wrong
    sent = {"role": "assistant", "content": [text("step 0"), call("c0")]}
    ours = copy.deepcopy(sent)
    ours["content"][1]["input"]["command"] = "rm -rf /"  # type: ignore[index]
    assert (wrong.line, wrong.code) == (6, "not-as-sent")
    assert wrong.text == (
        f"request r0000005: message 2 of 3 was sent as {hash_of(sent)[:12]}, "
        f"message 2 of the log (assistant) gives {hash_of(ours)[:12]}"
    )
    assert (found.requests, found.proved, found.messages) == (4, 1, 1)


def test_two_changes_are_two() -> None:
    """What follows a change is still looked at."""
    session = worked(4)
    for i in (4, 12):
        session.rows[i]["message"]["content"][0]["content"] = "forged"
    assert [one.line for one in proofs(session.bytes()).wrong] == [6, 14]


def test_rows_that_are_gone_and_rows_that_came() -> None:
    """A message taken out of the chain, and one put into it."""
    session = worked(3)
    del session.rows[2:5]
    session.rows[2]["parentUuid"] = "x"
    first = next(row for row in session.rows[2:] if row["type"] == "assistant")
    first["parentUuid"] = "u0"
    assert proofs(session.bytes()).wrong
    session = worked(3)
    session.rows.insert(5, {**session.rows[0], "uuid": "new", "parentUuid": session.rows[4]["uuid"]})
    next(row for row in session.rows[6:] if row["type"] == "assistant")["parentUuid"] = "new"
    assert proofs(session.bytes()).wrong


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        ({"base": "gone"}, "its base gone is not in the log before it"),
        ({"base": None}, "it shares 3 messages with a base that has 0"),
        ({"keep": 9}, "it shares 9 messages with a base that has 3"),
        ({"keep": "many"}, "its row does not say how many messages it shares with its base"),
        ({"keep": -1}, "its row does not say how many messages it shares with its base"),
        ({"tail": None}, "its row names no messages"),
        ({"tail": [1]}, "its row names no messages"),
    ],
)
def test_notes_that_are_damaged(spoil: Json, why: str) -> None:
    """They prove nothing, and say nothing against the log; nor do those that go on from them."""
    session = worked(3)
    at = [i for i, row in enumerate(session.rows) if row["type"] == "api-request"][2]
    session.rows[at] |= spoil
    found = proofs(session.bytes())
    assert found.wrong == []
    assert found.unproved[0].text == why
    assert (found.unproved[0].line, found.unproved[0].request) == (at + 1, session.rows[at]["id"])
    assert found.requests == 4
    assert (found.proved, [one.text for one in found.unproved[1:]]) == (2, [f"its base: {why}"])


def test_a_request_that_was_cut_down() -> None:
    """Its messages are not those of the log, and are not said to be."""
    session = worked(1)
    noted = next(row for row in reversed(session.rows) if row["type"] == "api-request")
    noted |= {"cut": {"kind": "x"}, "tail": ["0" * 64] * 2}
    found = proofs(session.bytes())
    assert (found.proved, found.wrong, found.unproved[0].text) == (1, [], "what was sent was cut down")


def test_a_request_without_an_answer() -> None:
    """It goes out with the log as it stood: proved where that is so, else it may have been about something else."""
    session = worked(2)
    session.rows = session.rows[:-1]
    assert proofs(session.bytes()).proved == 3
    session.say("more")
    session.sent.append({"role": "user", "content": "a summary of all this, please"})
    session.ask(anew=True)
    found = proofs(session.bytes())
    assert (found.proved, found.wrong) == (3, [])
    assert found.unproved[0].text == "no answer to it is in the log, so that its place is not known"


def test_branches() -> None:
    """A request goes out with the branch that its answer hangs on, whatever stands before it in the file."""
    session = worked(2)
    leaf, sent = session.leaf, list(session.sent)
    session.say("one way")
    session.ask()
    session.answer(text("that way"))
    session.leaf, session.sent = leaf, sent
    session.say("another way")
    session.ask()
    session.answer(text("this way"))
    found = proofs(session.bytes())
    assert (found.requests, found.proved, found.wrong) == (5, 5, [])


def test_a_copy() -> None:
    """A reminder that only a copy has is the program's, and the copy is counted; a copy that is damaged is found."""
    session = Session()
    session.say("go")
    reminded = {"role": "user", "content": [text("<system-reminder>\nonly here\n</system-reminder>\n"), text("go")]}
    session.sent = [reminded]
    session.rows.append({"type": "api-request-blob", "hash": hash_of(reminded), "message": reminded})
    session.ask()
    session.answer(text("yes"))
    session.say("on")
    session.ask()
    session.answer(text("yes"))
    found = proofs(session.bytes())
    assert (found.proved, found.messages, found.given, found.wrong) == (2, 4, 2, [])
    session.rows[0]["message"]["content"] = "stop"
    assert [one.code for one in proofs(session.bytes()).wrong] == ["not-as-sent"]
    session.rows[0]["message"]["content"] = "go"
    session.rows[1]["message"] = {"role": "user", "content": "forged"}
    codes = [(one.line, one.code) for one in proofs(session.bytes()).wrong]
    assert codes == [(2, "damaged-copy"), (3, "not-as-sent")]


def test_words_of_the_programs_own() -> None:
    """An attachment whose words are not in the log, nor a copy of what was sent: that proves nothing."""
    session = Session()
    session.say("go")
    session.row("attachment", attachment={"type": "plan_mode"}, renderedRole="user")
    session.sent = [{"role": "user", "content": "Plan mode is on.\ngo"}]
    session.ask()
    session.answer(text("yes"))
    found = proofs(session.bytes())
    assert (found.proved, found.wrong) == (0, [])
    assert found.unproved[0].text == "message 1 holds words of Claude Code's own that are not in the log"


def test_attachments_that_were_not_sent() -> None:
    """A program that was told to send none of its reminders: neither proved nor wrong."""
    session = Session()
    session.say("go")
    session.remind("Today is another day.")
    session.sent.pop()
    session.ask()
    session.answer(text("yes"))
    found = proofs(session.bytes())
    assert (found.proved, found.wrong) == (0, [])
    assert found.unproved[0].text == "it was sent without attachments of the log (from message 2 on)"


def test_a_prompt_that_was_never_answered() -> None:
    """A program that resumes says itself that no answer was asked for; a copy tells so."""
    session = Session()
    session.say("go")
    session.ask()
    said = {"role": "assistant", "content": [text("No response requested.")]}
    session.sent.append(said)
    session.rows.append({"type": "api-request-blob", "hash": hash_of(said), "message": said})
    session.say("again")
    session.ask(anew=True)
    session.answer(text("yes"))
    found = proofs(session.bytes())
    assert (found.proved, found.messages, found.given, found.wrong) == (2, 4, 1, [])


def test_each_message_is_hashed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work grows with the log, not with its requests: neither messages are hashed again nor rows read again."""
    hashed, read = [], []
    take = histories.ThreadHistory._pieces

    def counted(self: histories.ThreadHistory, start: int) -> Any:
        read.append(len(self.path) - start)
        return take(self, start)

    monkeypatch.setattr(module, "message_hash", lambda message: hashed.append(1) or message_hash(message))
    monkeypatch.setattr(histories.ThreadHistory, "_pieces", counted)
    session = worked(150)
    session.say("more")
    session.ask(anew=True)
    session.answer(text("yes"))
    found = proofs(session.bytes())
    assert found.proved == found.requests == 152
    chain = sum(row["type"] != "api-request" for row in session.rows)
    assert len(hashed) <= len(session.sent) + 10
    assert sum(read) <= chain + 10


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("work"), st.integers(1, 3)),
        st.tuples(st.just("say"), st.text(max_size=20)),
        st.tuples(st.just("back"), st.integers(1, 4)),
        st.tuples(st.just("anew"), st.integers()),
        st.tuples(st.just("remind"), st.text(st.characters(codec="utf-8"), min_size=1, max_size=10)),
    ),
    max_size=12,
)


@given(STEPS)
@settings(max_examples=examples(80), deadline=None)
def test_random_sessions(steps: list[tuple[str, Any]]) -> None:
    """Calls at once, branches, reminders, programs that start anew: every request of them is proved."""
    session = Session()
    session.say("first")
    session.ask()
    session.answer(text("hello"))
    ends = [(session.leaf, list(session.sent))]
    for number, (step, how) in enumerate(steps):
        match step:
            case "work":
                keys = [f"c{number}-{i}" for i in range(how)]
                session.say(f"do {number}")
                session.ask()
                session.answer(*map(call, keys))
                session.say([result(key, f"out {key}") for key in keys])
                session.ask()
            case "say" | "anew":
                session.say(f"{number} {how}")
                session.ask(anew=step == "anew")
            case "remind":
                session.say(f"word {number}")
                session.remind(how)
                session.ask()
            case "back":
                session.leaf, session.sent = ends[-min(how, len(ends))][0], list(ends[-min(how, len(ends))][1])
                continue
        session.answer(text(f"answer {number}"))
        ends.append((session.leaf, list(session.sent)))
    found = proofs(session.bytes())
    assert (found.proved, found.wrong, found.unproved) == (found.requests, [], [])


def test_there_is_an_end_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A log whose requests do not fit again and again is not gone through for ever."""
    monkeypatch.setattr(module, "_OVER_AGAIN", 0)
    session = worked(2)
    session.rows[0]["message"]["content"] = "forged"
    found = proofs(session.bytes())
    assert [one.text for one in found.wrong] and found.proved == 0
    monkeypatch.setattr(module, "_OVER_AGAIN", -1)
    found = proofs(session.bytes())
    assert found.wrong == []
    assert {one.text for one in found.unproved} == {"there was too much to go through again"}
