"""What stands around a context: its places, and the status of the threads, which is made of the context alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.assembly import BEGINNING, NOTHING, Assembled, Assembly, status, threads
from ctxkit.core.context import Projection
from ctxkit.core.messages import Text
from ctxkit.core.transcript import View
from tests import build

TWO = "1 thread=a | 2 thread=a | 3 thread=b"


def said(spec: str, projection: Projection | None = None, words: str = "", view: View | None = None) -> list[str]:
    """The lines of the status; what the user said is `words`, or the name of the message."""
    state = build.state(spec, view)
    return status(state, projection or Projection(), lambda name: words or state.label(name)).split("\n")


def brief(spec: str, projection: Projection | None = None) -> list[str]:
    """Each thread in short: `a 2 user m1`: name, messages, waiting for whom, last user message."""
    state = build.state(spec)
    found = []
    for one in threads(state, projection or Projection()):
        asked = "-" if one.asked is None else state.label(one.asked)
        found.append(f"{one.name} {one.messages} {one.waiting.split()[1]} {asked}")
    return found


def test_words() -> None:
    """A head and a line per thread, the one that spoke last first."""
    assert said(TWO) == [
        "Threads: 2 active",
        '- b: last 2026-02-01T10:03:00Z, 1 message, waiting for the model, user\'s last words: "3"',
        '- a: last 2026-02-01T10:02:00Z, 2 messages, waiting for the user, user\'s last words: "1"',
    ]


@pytest.mark.parametrize("spec", ["1-4", "1 thread=a | 2-3", "1-2 thread=a", "1 thread=a | 2 thread=b | forget 2", ""])
def test_absent_without_two_threads(spec: str) -> None:
    """One thread, or none, or one that is left in the context: nothing is said."""
    spec = spec.replace("1-2 thread=a", "1 thread=a | 2 thread=a") or "row"
    assert said(spec) == [""]


@pytest.mark.parametrize(
    ("spec", "projection", "expected"),
    [
        (TWO, Projection(), ["b 1 model 3", "a 2 user 1"]),
        (TWO, Projection(thread="a"), ["b 1 model 3", "a 2 user 1"]),
        ("1 thread=a agent=x | 2 thread=b agent=y | 3 thread=c", Projection(agent="x"), ["c 1 model 3", "a 1 model 1"]),
        ("1 thread=a call=c | 2 thread=b", Projection(), ["b 1 user -", "a 1 tool -"]),
        ("1 thread=a call=c,d | 2 thread=a result=c | 3 thread=b", Projection(), ["b 1 model 3", "a 2 tool -"]),
        ("1 thread=a call=c | 2 thread=a result=c | 3 thread=b", Projection(), ["b 1 model 3", "a 2 model -"]),
        ("1 thread=a call=c | 2 thread=b | 3 thread=a", Projection(), ["a 2 model 3", "b 1 user -"]),
        ("1 thread=a | 2 thread=a system | 3 thread=b", Projection(), ["b 1 model 3", "a 2 model 1"]),
        ("1 thread=a | 2 thread=b | window 45", Projection(), ["b 1 user -"]),
        (f"{TWO} | clear", Projection(), []),
        ("1 thread=a | 2 thread=b | 3-4 | compact 1-2", Projection(), ["a 1 model -", "b 1 model -"]),
        ("1 thread=a | 2 thread=a | 3 thread=b | compact 1", Projection(), ["b 1 model 3", "a 2 user -"]),
        ("1 thread=a ts=none | 2 thread=b", Projection(), ["b 1 user -", "a 1 model 1"]),
    ],
)
def test_threads(spec: str, projection: Projection, expected: list[str]) -> None:
    """Who has messages in the context, how many, for whom each waits, and what its user said last."""
    assert brief(spec, projection) == expected


def test_nothing_that_was_taken_out() -> None:
    """What was forgotten is not quoted: the message before it is."""
    assert brief("1 thread=a | 2 thread=b | 3 thread=a | forget 3") == ["b 1 user -", "a 1 model 1"]


def test_a_literal_has_a_thread() -> None:
    """What an edit brought in counts where its message says so."""
    records = build.log("1 thread=a | 2 thread=b | edit 1-2,new:x")
    records[-1]["items"][-1]["message"] |= {"thread": "b", "tool_calls": [{"id": "c"}], "role": "assistant"}
    [b, a] = threads(build.state_of(records), Projection())
    assert (b.name, b.messages, b.waiting, a.messages) == ("b", 2, "a tool", 1)


def test_sidechains_are_no_threads() -> None:
    """Another program's sidechains are not in the context, so nothing is said of them."""
    view = View([1, 4], {2: "sidechain", 3: "sidechain"}, threads={"s": View([2], {}), "t": View([3], {})})
    assert said("1 | 2 thread=s | 3 thread=t | 4", view=view) == [""]


def test_texts_stay_on_their_line() -> None:
    """A long text is cut after 80 characters, line breaks are blanks: no text passes for a line of the status."""
    [head, *lines] = said("1 thread=a | 2 thread=a | 3 thread=b", words="x\n- evil: " + "y" * 100)
    assert head == "Threads: 2 active" and len(lines) == 2
    assert lines[0].endswith('"x - evil: ' + "y" * (BEGINNING - 10) + '…"')


@given(st.lists(st.sampled_from(["thread=a", "thread=b", "agent=x", "system", ""]), min_size=1, max_size=8))
def test_same_log_same_bytes(words: list[str]) -> None:
    """It depends on the log alone, and adds up: each message of a thread is counted once."""
    spec = " | ".join(f"{n} {word}" for n, word in enumerate(words, start=1))
    state = build.state(spec)
    assert said(spec) == said(spec)
    assert sum(one.messages for one in threads(state, Projection())) == sum(word.startswith("thread") for word in words)


ONE = Assembled("system", "system", "be kind")
TALK = Assembled("status", "user", "Threads")


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        ("system user", "S system T user"),
        ("user assistant", "S T user assistant"),
        ("system developer user system", "S system developer T user system"),
        ("system", "S system T"),
        ("", "S T"),
    ],
)
def test_places(roles: str, expected: str) -> None:
    """The system's words lead, those of the context behind ours; the status stands right before the conversation."""
    placed = Assembly((ONE,), TALK).around(roles.split(), lambda role: role)
    assert " ".join({ONE: "S", TALK: "T"}[one] if isinstance(one, Assembled) else one for one in placed) == expected


def test_nothing() -> None:
    """Without anything to assemble the messages are as they were."""
    assert list(NOTHING.around(["user"], lambda role: role)) == ["user"] and list(NOTHING) == []
    assert list(Assembly((ONE,), TALK)) == [ONE, TALK]


def test_content() -> None:
    """As a message in full."""
    assert (TALK.content.role, TALK.content.parts) == ("user", [Text("Threads")])
