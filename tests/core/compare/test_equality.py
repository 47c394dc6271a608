"""Likeness: what makes messages of two logs the same."""

from __future__ import annotations

import pytest

from ctxkit.core.compare.equality import SIZE, UNPAIRED, likeness, links
from ctxkit.core.messages import Call, Content, Image, Other, Part, Result, Text, Thinking


def test_links() -> None:
    """A result is told by where its call stands: a call that nobody answers does not move the later ones."""
    told = dict(links([(0, ["a"], []), (1, ["b", "c"], []), (2, [], ["c"]), (3, [], ["b"]), (4, [], ["a", "x"])]))
    assert told == {2: [(0, 1)], 3: [(0, 0)], 4: [(0, 0), UNPAIRED]}
    assert dict(links([(0, ["lost"], []), (1, ["b"], []), (2, [], ["b"])])) == {2: [(0, 0)]}


SAME = [
    (Content("tool", [Result("a", "x")]), Content("user", [Result("b", [Text("x")])])),
    (Content("assistant", [Call("a", "Read", {"p": 1, "q": 2})]),
     Content("assistant", [Call("b", "Read", {"q": 2, "p": 1}, {"raw": 1})])),
    (Content("user", [Text("hi")], None, [{"ts": 1}]), Content("user", [Text("hi")], None, [{"ts": 2}])),
]  # fmt: skip

OTHER: list[list[Part]] = [
    [Text("hi")], [Text("ho")], [Thinking("hi", {})], [Thinking("hi", {"signature": "s"})], [Call("a", "Read", {})],
    [Call("a", "Read", "{")], [Result("a", "hi")], [Result("a", "hi", True)], [Image("image/png", "AAAA")],
    [Other("hi", {"x": 1})], [Text("hi"), Text("ho")], [], [Text("\ud800")], [Text("\ud801")],
    [Other("n", {"x": 10**30})],
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME)
def test_same(one: Content, other: Content) -> None:
    """Ids, times, the order of keys, and how a result is written do not count."""
    assert likeness(one) == likeness(other) and len(likeness(one)) == SIZE


def test_different() -> None:
    """Everything that is said does, and the role, the name, and the call that a result answers."""
    found = {likeness(Content("user", parts)) for parts in OTHER}
    found |= {likeness(Content("assistant", [Text("hi")])), likeness(Content("user", [Text("hi")], "bob"))}
    found.add(likeness(Content("user", [Result("a", "hi")]), [(0, 1)]))
    assert len(found) == len(OTHER) + 3
