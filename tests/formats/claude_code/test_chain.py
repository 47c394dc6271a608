"""The tree of rows: leaf, parents, bridges and preserved rows, asked directly."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ctxkit.formats.claude_code.chain import Chain, Path, Preserved, milliseconds
from ctxkit.formats.claude_code.links import ChainLinks, RowKind


def tree(*rows: tuple[str, str | None, float], side: bool = False, **kept: Preserved) -> Chain:
    """A chain of rows (uuid, parent, second): the first letter is the kind, "-" in front makes a sidechain."""
    kinds = {
        "u": RowKind.USER,
        "a": RowKind.ASSISTANT,
        "s": RowKind.SYSTEM,
        "b": RowKind.BOUNDARY,
        "p": RowKind.PROGRESS,
    }
    uuids = [name.lstrip("-") for name, _, _ in rows]
    times = [f"2026-01-01T00:00:{at:06.3f}Z" if at >= 0 else None for _, _, at in rows]
    links = ChainLinks()
    links.extend([kinds[uuid[0]] for uuid in uuids], uuids, [parent or "" for _, parent, _ in rows], times)
    links.numbers = list(range(1, len(rows) + 1))
    links.threads = {i: "x" for i, (name, _, _) in enumerate(rows) if name[0] == "-"}
    return Chain(links, {links.index[b]: what for b, what in kept.items()}, side)


def names(chain: Chain, path: Path) -> list[str]:
    """The rows of a path."""
    return [chain.links.uuids[i] for i in path.links]


Rows = list[tuple[str, str | None, float]]


@pytest.mark.parametrize(
    ("rows", "sent"),
    [
        pytest.param("u1 a1<u1 u2<a1 a2<u2 u3<a1", "u1 a1 u3", id="the last of the file"),
        pytest.param("u1@9 a1<u1@8 u2@1", "u2", id="whatever its time"),
        pytest.param("u1 a1<u1 s1<a1 s2<s1", "u1 a1 s1 s2", id="with what hangs on it"),
        pytest.param("u1 a1<u1 u2<a1 a2<u2 s1<a1", "u1 a1 s1", id="or the row on which the last hangs"),
        pytest.param("u1 a1<u1 u2<a1 a2<u2 p1<a1 s1<p1", "u1 a1 s1", id="by way of progress"),
        pytest.param("u1 a1<u1 u2<a1 p1<a1", "u1 a1 u2", id="progress alone is none"),
        pytest.param("u1 a1<u1 s1 s2<s1", "u1 a1", id="nor what hangs on nobody's words"),
        pytest.param("u1 a1<u1 s1<gone", "u1 a1", id="nor on what is missing"),
        pytest.param("u1 a1<u1 -u2<a1", "u1 a1", id="nor a sidechain"),
        pytest.param("u1 a1<u1 s1<a1@9 s2<a1@8 s3<s1@7", "u1 a1 s2 s1 s3", id="siblings by time, each above its own"),
        pytest.param("u1 a1<u1 s1<a1 s2<a1 u2<s2", "u1 a1 s2 u2", id="but those of the path alone before the leaf"),
        pytest.param("u1 u2<a1@3 a2<u2@4 a1<u1@2", "u1 a1 u2 a2", id="of the last and those below, the newest"),
        pytest.param("u1 u2<a1@3 a2<u2@4 a1<u1@9", "u1 a1", id="which it may be itself"),
        pytest.param("u1 u2<a1@9 a2<u2@5 a1<u1@2", "u1 a1 u2", id="not the lowest"),
        pytest.param("u1 u2<a1@2 a2<u2@2 u3<a1@2 a1<u1@2", "u1 a1 u3", id="of several the last"),
        pytest.param("u1 u2<a1@3 s1<u2@4 a1<u1@2", "u1 a1 u2 s1", id="with what hangs on that"),
        pytest.param("u1 u2<s1@9 a1<u1@2 s1<a1@3", "u1 a1 s1 u2", id="below a system row"),
        pytest.param("u1 a1<u1 b1<a1", "b1", id="a compaction that hangs there cuts"),
        pytest.param("u1 a1<u1 s1<a1 b1<s1 s2<b1", "b1 s2", id="and what hangs on it stays"),
        pytest.param("u1 a1<u1 b1", "u1 a1", id="one that hangs nowhere does not"),
        pytest.param("s1", "", id="nobody's words"),
    ],
)
def test_what_is_gone_on_with(rows: str, sent: str) -> None:
    """Rule 2, as it was seen: each of these sessions was resumed by Claude Code 2.1.329."""
    made: Rows = []
    for place, row in enumerate(rows.split()):
        found = re.fullmatch(r"(-?\w+)(?:<(\w+))?(?:@(\d+))?", row)
        assert found
        made.append((found[1], found[2], float(found[3] or place + 1)))
    chain = tree(*made)
    assert " ".join(names(chain, chain.newest(len(made)))) == sent


def test_before_a_row_there_was_another_leaf() -> None:
    """What comes later does not count."""
    chain = tree(("u1", None, 0), ("a1", "u1", 1), ("s1", "a1", 2), ("s2", "u1", 3))
    assert [chain.leaf(limit) for limit in range(5)] == [-1, 0, 1, 1, 0]


def test_sidechains_have_no_leaf_unless_asked_for() -> None:
    """A sidechain row is a leaf only in a file of sidechains."""
    rows = [("u1", None, 0.0), ("-u2", "u1", 1.0)]
    assert tree(*rows).leaf(2) == 0
    assert tree(*rows, side=True).leaf(2) == 1


def test_parents() -> None:
    """Null is a root, a missing uuid is told apart, progress rows are looked through, cycles of them end."""
    chain = tree(("u1", None, 0), ("p1", "u1", 1), ("p2", "p1", 2), ("a1", "p2", 3), ("a2", "gone", 4), ("p3", "p3", 5))
    assert [chain.parent(i, 6) for i in (0, 3, 4, 5)] == [-1, 0, -2, -1]


def test_before_a_limit_the_earlier_row_of_a_uuid_counts() -> None:
    """A row that repeats a uuid replaces the earlier one only for what comes after it."""
    chain = tree(("u1", None, 0), ("u1", None, 1), ("u1", None, 2))
    assert [chain.links.find("u1", limit) for limit in range(4)] == [-1, 0, 1, 2]


@pytest.mark.parametrize(
    ("seconds", "parent"),
    [
        pytest.param([1, 2, 7], "a1", id="5 s bridge"),
        pytest.param([1, 2, 7.001], None, id="more do not"),
        pytest.param([2, 2, 2], "a1", id="the later of two at one time"),
        pytest.param([2, 9, 3], "u1", id="later rows do not count"),
        pytest.param([2, 1, 3], "u1", id="the newest, not the last in the file"),
        pytest.param([1, -1, 2], "u1", id="a row without time is no candidate"),
        pytest.param([1, 2, -1], None, id="nor has it any"),
    ],
)
def test_a_missing_parent_is_bridged(seconds: list[float], parent: str | None) -> None:
    """The newest row at most 5 s older is taken as parent (rule 3)."""
    first, second, third = seconds
    chain = tree(("u1", None, first), ("a1", None, second), ("u2", "gone", third))
    assert names(chain, chain.path(2, 3)) == ([parent, "u2"] if parent else ["u2"])


def test_a_bridge_never_leads_back() -> None:
    """A row that already hangs on the orphan is not its parent; neither is a sidechain."""
    chain = tree(("u1", None, 1), ("-u9", None, 2), ("u2", "gone", 3), ("a2", "u2", 3))
    assert names(chain, chain.path(3, 4)) == ["u1", "u2", "a2"]


def test_preserved_rows_change_nothing_before_their_boundary() -> None:
    """The path above a compaction is the one that was there; below it, the kept rows hang on the anchor."""
    kept = Preserved("u9", ["a1"])
    chain = tree(("u1", None, 1), ("a1", "u1", 2), ("b1", None, 3), ("u9", "b1", 4), ("u3", "u9", 5), b1=kept)
    path = chain.path(4, 5)
    assert names(chain, path) == ["b1", "u9", "a1", "u3"]
    assert names(chain, chain.path(3, 4)) == ["b1", "u9", "a1"]
    assert (path.boundary, path.kept, path.anchor) == (2, [1], 3)
    assert names(chain, chain.path(1, 2)) == ["u1", "a1"]


@pytest.mark.parametrize(
    ("kept", "used"),
    [
        pytest.param(Preserved("u9", None, "u1", "a1"), True, id="a segment"),
        pytest.param(Preserved("u9", None, "a1", "u1"), False, id="a segment upside down"),
        pytest.param(Preserved("u9", None, "", ""), False, id="nothing"),
        pytest.param(Preserved("gone", ["a1"]), False, id="an anchor that is missing"),
        pytest.param(Preserved("a1", ["a1"]), False, id="an anchor that is kept itself"),
        pytest.param(Preserved("u9", ["gone", "a1"]), False, id="a row that is missing"),
        pytest.param(Preserved("u9", ["a1", "a1"]), False, id="a row twice"),
    ],
)
def test_what_was_preserved_must_be_there(kept: Preserved, used: bool) -> None:
    """A list that does not fit the file is ignored."""
    chain = tree(("u1", None, 1), ("a1", "u1", 2), ("b1", None, 3), ("u9", "b1", 4), b1=kept)
    assert bool(chain.path(3, 4).kept) is used


@pytest.mark.parametrize(
    ("ts", "ms"),
    [
        ("1970-01-01T00:00:01.500Z", 1500),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T00:00:01", 1000),
        ("soon", None),
        (1500, None),
        (None, None),
    ],
)
def test_times(ts: Any, ms: int | None) -> None:
    """ISO times in milliseconds; anything else is no time."""
    assert milliseconds(ts) == ms
