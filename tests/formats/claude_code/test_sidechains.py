"""Sidechains: whose a row is, and each one as a thread with its own leaf, branches and compactions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.transcript import Transcript
from tests.formats.claude_code.logs import assistant, boundary, call, log, other, read, result, user
from tests.shared import shared

MAIN = [user("q1", None, "q1", 1), assistant("a1", "q1", "a1", 2)]


def side(row: dict[str, Any], agent: str | None = None) -> dict[str, Any]:
    """The row in a sidechain."""
    return {**row, "isSidechain": True, **({"agentId": agent} if agent else {})}


def threads(*rows: dict[str, Any]) -> dict[str, list[int]]:
    """The order of each sidechain of a log."""
    view = read(log(*rows)).view
    assert view is not None
    return {name: thread.order for name, thread in view.threads.items()}


def ask(key: str, at: float = 10, parent: str | None = None, agent: str | None = None) -> list[dict[str, Any]]:
    """A prompt and its answer in a sidechain."""
    return [
        side(user(f"{key}1", parent, key, at), agent),
        side(assistant(f"{key}2", f"{key}1", key, at + 1), agent),
    ]


def test_agents_name_them() -> None:
    """Rows with an agentId are of the sidechain so called, interleaved or not."""
    x, y = ask("x", agent="A"), ask("y", agent="B")
    assert threads(*MAIN, x[0], y[0], x[1], y[1]) == {"A": [3, 5], "B": [4, 6]}


def test_the_tree_tells_them_apart() -> None:
    """Without one, a row is where its parent is; one without a parent begins a sidechain."""
    x, y = ask("x"), ask("y")
    assert threads(*MAIN, x[0], y[0], x[1], y[1]) == {"sidechain-1": [3, 5], "sidechain-2": [4, 6]}


def test_a_fork_begins_one() -> None:
    """So does one that hangs on a row of the main thread; the main thread is not part of it."""
    assert threads(*MAIN, *ask("x", parent="a1")) == {"sidechain-1": [3, 4]}


def test_a_lost_parent() -> None:
    """A row whose parent is not there is of the sidechain that was written last."""
    assert threads(*MAIN, *ask("x"), *ask("y", 12, parent="gone")) == {"sidechain-1": [3, 4, 5, 6]}


def test_its_own_branches() -> None:
    """Within a sidechain the last row leads; what it does not hang on is a branch, by that name."""
    rows = [*MAIN, *ask("x"), *ask("y", 100, parent="x1")]
    assert threads(*rows) == {"sidechain-1": [3, 5, 6]}
    view = read(log(*rows)).view
    assert view is not None
    assert view.inactive == {3: "sidechain", 4: "branch", 5: "sidechain", 6: "sidechain"}
    assert view.threads["sidechain-1"].inactive == {4: "branch"}


def test_the_main_thread_goes_on() -> None:
    """Rows of the main thread after it are no part of it, nor it of them."""
    rows = [*MAIN, *ask("x"), user("q2", "a1", "q2", 20)]
    assert threads(*rows) == {"sidechain-1": [3, 4]}
    view = read(log(*rows)).view
    assert view is not None and view.order == [1, 2, 5]


def test_parallel_calls() -> None:
    """Rows of one response, and results that hang on them, are put together as in the main thread."""
    rows = [
        side(user("u", None, "go", 10)),
        side(assistant("v", "u", call("c1"), 11, response="m")),
        side(assistant("w", "v", call("c2"), 12, response="m")),
        side(user("r1", "v", [result("c1")], 13)),
        side(user("r2", "w", [result("c2")], 14)),
    ]
    assert threads(*MAIN, *rows) == {"sidechain-1": [3, 4, 5, 6]}


def test_its_own_compaction() -> None:
    """A compaction in a sidechain is a cut of that thread, and of no other."""
    cut = [side(boundary("b", None, 20), "A"), side(user("s", "b", "SUM", 21, isCompactSummary=True), "A")]
    transcript = read(log(*MAIN, *ask("x", agent="A"), *cut))
    assert transcript.view is not None
    thread = transcript.view.threads["A"]
    assert (thread.order, [one.out for one in thread.cuts]) == ([3, 4, 5], [[3, 4]])
    assert transcript.view.cuts == [] and transcript.view.all_cuts == thread.cuts


def test_rows_written_again_after_a_compaction() -> None:
    """The history before a compaction is that of the rows that were there then."""
    again = side(user("x1", "s", "x", 30))
    cut = [side(boundary("b", "x2", 20)), side(user("s", "b", "SUM", 21, isCompactSummary=True))]
    assert threads(*MAIN, *ask("x"), *cut, again) == {"sidechain-1": [3, 4, 5]}


def test_progress_rows_are_looked_through() -> None:
    """A row that hangs on a progress row of a sidechain is in it."""
    rows = [*ask("x"), side(other("progress", "p", "x2", 12)), side(user("z", "p", "z", 13))]
    assert threads(*MAIN, *rows) == {"sidechain-1": [3, 4, 5]}


def test_rows_written_twice() -> None:
    """A repeated row begins no other sidechain: it is the same message, and what hangs on it is newer."""
    assert threads(*MAIN, *ask("x"), ask("x")[0]) == {"sidechain-1": [3, 4]}


@pytest.mark.parametrize(
    ("rows", "order", "expected"),
    [
        (ask("x", agent="A"), [1, 2], {}),
        ([*ask("x", agent="A"), *ask("y", agent="B")], [3, 4], {"A": [1, 2], "B": [3, 4]}),
    ],
)
def test_a_file_of_sidechains(rows: list[dict[str, Any]], order: list[int], expected: dict[str, list[int]]) -> None:
    """One alone is read as itself; of several, the last row's is the default."""
    view = read(log(*rows)).view
    assert view is not None and view.order == order
    assert threads(*rows) == expected


def test_models() -> None:
    """Each thread knows the model of its own answers."""
    x = [side(user("x1", None, "x", 10)), side(assistant("x2", "x1", "x", 11, model="small"))]
    transcript = read(log(*MAIN, *x))
    assert transcript.view is not None
    assert (transcript.model, transcript.view.threads["sidechain-1"].model) == ("claude-opus-4-6", "small")


@given(st.lists(st.tuples(st.sampled_from("MAB"), st.sampled_from("uuaarbd"), st.integers(0, 3)), max_size=18))
def test_each_is_what_it_is_alone(drawn: list[tuple[str, str, int]]) -> None:
    """Rows interleaved, forked, answered, compacted, repeated: a thread is read as it would be in a file of its own."""
    rows: list[tuple[str, dict[str, Any]]] = []
    for i, (who, kind, back) in enumerate(drawn):
        mine = [row["uuid"] for other, row in rows if other == who]
        parent = mine[-1 - back] if back < len(mine) else None
        said: Any = {"a": call(f"c{who}"), "r": [result(f"c{who}")]}.get(kind, f"q{i}")
        row = (assistant if kind == "a" else user)(f"{who}{i}", parent, said, 10 * i)
        if kind == "b":
            row = boundary(f"{who}{i}", parent, 10 * i)
        if kind == "d" and parent is not None:
            row = {**row, "uuid": parent, "parentUuid": mine[0] if mine[0] != parent else None}
        rows.append((who, row if who == "M" else side(row, who)))
    whole = read(log(*(row for _, row in rows)))
    view = whole.view
    assert view is not None
    for who in "AB":
        alone = read(log(*(row for other, row in rows if other == who)))
        assert alone.view is not None
        numbers = [message.n for message in whole.messages if message.thread == who]
        thread = view.threads.get(who)
        if thread is not None:
            assert thread.order == [numbers[n - 1] for n in alone.view.order]
            assert thread.inactive == {numbers[n - 1]: "branch" for n in alone.view.inactive}
    if any(message.thread is None for message in whole.messages):
        alone = read(log(*(row for other, row in rows if other == "M")))
        numbers = [message.n for message in whole.messages if message.thread is None]
        assert alone.view is not None and view.order == [numbers[n - 1] for n in alone.view.order]


def placed(transcript: Transcript) -> list[int]:
    """Every number that some thread shows or leaves on a branch."""
    view = transcript.view
    assert view is not None
    found = [*view.order, *(n for thread in view.threads.values() for n in (*thread.order, *thread.inactive))]
    return sorted(found + [n for n, why in view.inactive.items() if why == "branch" and n not in found])


def test_a_real_file() -> None:
    """Five agents of an older client: each message stands in one thread, and none is lost."""
    transcript = read(shared("transcripts/claude-code/38-dkimuson-v1-inline-sidechains.jsonl").read_bytes())
    assert transcript.view is not None and len(transcript.view.threads) == 5
    assert placed(transcript) == [message.n for message in transcript.messages]
    assert not any(thread.inactive for thread in transcript.view.threads.values())
