"""No call leaves without a result and no result without a call, whatever a log holds."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.integrity import NO_RESULT, SECOND_COPY, repair
from ctxkit.core.messages import Call, Content, Result, Text
from ctxkit.core.roles import ASSISTANT


def build(words: str) -> list[Content]:
    """`a:A,B`: a message with calls A and B; `t:A`: a result; `u:hi,=A`: a user message with words and a result."""
    made = []
    for word in words.split():
        role, _, body = word.partition(":")
        parts: list[Any] = []
        for one in body.split(","):
            if one.startswith("="):
                parts.append(Result(one[1:], f"r{one[1:]}"))
            elif one and one.isupper():
                parts.append(Call(one, "f", {}) if role == "a" else Result(one, f"r{one}"))
            elif one:
                parts.append(Text(one))
        made.append(Content({"a": "assistant", "u": "user", "t": "tool", "s": "system"}[role], parts))
    return made


def show(contents: list[Content]) -> str:
    """The other way round; a made result is `A!`."""
    said = []
    for content in contents:
        words = []
        for part in content.parts:
            if isinstance(part, Call):
                words.append(part.id)
            elif isinstance(part, Result):
                made = part.content == NO_RESULT and part.is_error
                words.append((part.id if content.role == "tool" else f"={part.id}") + ("!" if made else ""))
            elif isinstance(part, Text):
                words.append(part.text)
        said.append(f"{content.role[0]}:{','.join(words)}")
    return " ".join(said)


COPY = {SECOND_COPY: 1}
CASES: dict[str, tuple[str, str, int, int, dict[str, int]]] = {
    # what it is: (before, after, made, dropped, left out)
    "nothing to do": ("s:x u:hi a:A t:A a:ok", "s:x u:hi a:A t:A a:ok", 0, 0, {}),
    "a call without a result": ("u:hi a:A u:go", "u:hi a:A t:A! u:go", 1, 0, {}),
    "one of two": ("a:A,B t:B u:go", "a:A,B t:A! t:B u:go", 1, 0, {}),
    "a call at the end": ("u:hi a:ok,A", "u:hi a:ok,A t:A!", 1, 0, {}),
    "a result without its call": ("u:hi t:A a:ok", "u:hi a:ok", 0, 1, {}),
    "a result before its call": ("t:A a:A", "a:A t:A!", 1, 1, {}),
    "a result in a user message without its call": ("u:hi,=A", "u:hi", 0, 1, {}),
    "a second answer": ("a:A t:A t:A u:go", "a:A t:A u:go", 0, 0, COPY),
    "a second answer between the first ones": ("a:A,B t:A t:A t:B", "a:A,B t:A t:B", 0, 0, COPY),
    "call and result in one message, and once more": ("a:A,=A u:=A u:go", "a:A t:A u:go", 0, 0, COPY),
    "a late result moves up": ("a:A u:hi t:A a:ok", "a:A t:A u:hi a:ok", 0, 0, {}),
    "a late result moves up out of its message": ("a:A u:hi u:go,=A", "a:A u:=A u:hi u:go", 0, 0, {}),
    "answers in a different order stay so": ("a:A,B t:B t:A", "a:A,B t:B t:A", 0, 0, {}),
    "and with words beside them": ("a:A,B u:=B,go,=A", "a:A,B u:=B,go,=A", 0, 0, {}),
    "with one moved up, in the order of the calls": ("a:A,B t:B u:hi t:A", "a:A,B t:A t:B u:hi", 0, 0, {}),
    "words between two results": ("a:A,B u:=A,hi t:B", "a:A,B u:=A t:B u:hi", 0, 0, {}),
    "two messages with calls, answers after both": ("a:A a:B t:A t:B", "a:A t:A a:B t:B", 0, 0, {}),
    "an id used again: the nearest call": ("a:A a:A t:A t:A", "a:A t:A! a:A t:A", 1, 0, COPY),
    "an id used again, both answered": ("a:A t:A a:A t:A", "a:A t:A a:A t:A", 0, 0, {}),
    "an id twice in one message": ("a:A,A t:A", "a:A t:A", 0, 0, {"repeated call": 1}),
    "empty messages": ("u: a: u:hi a:A t:A", "u:hi a:A t:A", 0, 0, {"empty message": 2}),
    "an empty message between call and result": ("a:A u: t:A", "a:A t:A", 0, 0, {"empty message": 1}),
    "a result in a message of the model": ("a:A a:ok,=A", "a:A t:A a:ok", 0, 0, {}),
    "call and result in one message": ("a:A,=A,ok", "a:A,ok t:A", 0, 0, {}),
}


@pytest.mark.parametrize(("before", "after", "made", "dropped", "left_out"), CASES.values(), ids=CASES.keys())
def test_repair(before: str, after: str, made: int, dropped: int, left_out: dict[str, int]) -> None:
    """What leaves has its pairs (replay 20), a case each."""
    got, repairs = repair(build(before))
    assert show(got) == after
    assert (repairs.made, repairs.dropped, repairs.left_out) == (made, dropped, left_out)


def test_calls_without_an_id_get_one() -> None:
    """A literal of an edit may have been written by hand."""
    got, repairs = repair(
        [Content("assistant", [Call("", "f", {}), Call("", "g", {})]), Content("tool", [Result("", "x")])]
    )
    ids = [part.id for part in got[0].parts if isinstance(part, Call)]
    assert len(set(ids)) == 2
    assert all(ids)
    assert [part.id for one in got[1:] for part in one.parts if isinstance(part, Result)] == ids
    assert (repairs.made, repairs.dropped) == (2, 1)


def test_what_is_moved_keeps_its_record() -> None:
    """So that an export still knows its time and name."""
    late = Content("tool", [Result("A", "x")], "n", [{"role": "tool", "ts": 1}])
    got, _ = repair([*build("a:A u:hi"), late])
    assert got[1] is late


ROLES = st.sampled_from(["user", "assistant", "tool", "system", "ai", "exit"])
IDS = st.sampled_from(["A", "B", "C", ""])
PARTS = st.one_of(
    st.builds(Text, st.sampled_from(["", "x", " "])),
    st.builds(Call, IDS, st.just("f"), st.just({})),
    st.builds(Result, IDS, st.just("r")),
)
LOGS = st.lists(st.builds(Content, ROLES, st.lists(PARTS, max_size=4)), max_size=10)


@given(LOGS)
def test_nothing_is_ever_unpaired(contents: list[Content]) -> None:
    """Each message with calls is followed by exactly their results; the input is not changed; repair is idempotent."""
    before = copy.deepcopy(contents)
    got, repairs = repair(contents)
    assert contents == before
    due: list[str] = []
    for content in got:
        assert content.parts
        calls = [part.id for part in content.parts if isinstance(part, Call)]
        results = [part.id for part in content.parts if isinstance(part, Result)]
        for one in results:
            due.remove(one)  # fails for a result without its call
        assert not (results and content.role in ASSISTANT)
        if calls:
            assert not due
            assert len(set(calls)) == len(calls)
            due = calls
        elif not results:
            assert not due
    assert not due
    again, nothing = repair(got)
    assert again == got
    assert (nothing.made, nothing.dropped, nothing.left_out) == (0, 0, {})
    given_results = sum(isinstance(part, Result) for content in contents for part in content.parts)
    kept = sum(isinstance(part, Result) for content in got for part in content.parts)
    copies = repairs.left_out.get(SECOND_COPY, 0)
    assert kept == given_results - repairs.dropped - copies + repairs.made
