"""A library's list of messages beside a rolling context."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from ctxkit import RollingContext
from ctxkit.adapters.message_list import MessageList
from tests.simulated_agent import turns

Row = dict[str, Any]


def small(**options: Any) -> RollingContext:
    """A context that is soon cut."""
    return RollingContext(3000, reserve=500, model="gpt-4o", **options)


def test_the_same_objects_stay() -> None:
    """What stays are the messages of the list; a shortened one and a summary are made, and are not added again."""
    context = small(summarize=lambda rows: "told")
    held = MessageList[Row](context, lambda row: [dict(row)])
    items: list[Row] = []
    made: list[Row] = []
    for turn in turns(60):
        items += turn
        held.follow(items)
        context.fit()
        kept = held.kept(lambda one, item: made.append(dict(one.row)) or made[-1])  # type: ignore[func-returns-value]
        items = kept if len(context.log.messages) % 3 else items  # some libraries keep what was returned
        assert len(kept) == len(context.shown())
        assert [row["content"] for row in kept] == [one.row["content"] for one in context.shown()]
        known = {id(row) for row in items} | {id(row) for row in made}
        assert all(id(row) in known for row in kept)
    assert context.status().compacts > 2 and len(context.log.messages) == sum(len(turn) for turn in turns(60))


def test_what_the_list_lost_stays() -> None:
    """The context is the session; only a forget takes something out, also if the list still has it."""
    context = small()
    held = MessageList[Row](context, lambda row: [dict(row)])
    one, two, three = ({"role": "user", "content": text} for text in ("one", "two", "three"))

    def said(*items: Row) -> list[str]:
        held.follow(items)
        return [row["content"] for row in held.kept(lambda one, _: one.row)]

    said(one, two)
    assert said(two, three) == ["one", "two", "three"]
    context.forget(1)
    assert said(one, two, three) == ["two", "three"]


def test_a_list_that_was_there_before(tmp_path: Path) -> None:
    """The beginning of a list that a loaded context has already is not added again; what differs is."""
    path = tmp_path / "chat.jsonl"
    rows = [{"role": "user", "content": text} for text in ("one", "two")]
    first = small(log=path)
    for row in rows:
        first.add(dict(row))
    second = small(log=path)
    held = MessageList[Row](second, lambda row: [dict(row)])
    held.follow(
        [dict(row) for row in rows] + [{"role": "user", "content": "three"}, {"role": "user", "content": "one"}]
    )
    assert [one.row["content"] for one in second.shown()] == ["one", "two", "three", "one"]


@pytest.mark.parametrize("keeps", [False, True])
def test_copies_are_not_added_again(keeps: bool, tmp_path: Path) -> None:
    """A library that reads its list from a store has new objects at each call, also after a restart; what we made and
    it kept is ours. Words that are said twice are two messages.
    """
    items: list[Row] = []
    path = tmp_path / "chat.jsonl"
    context, count = small(log=path, summarize=lambda rows: "told"), 0
    held = MessageList[Row](context, lambda row: [dict(row)])
    for number, turn in enumerate(turns(60)):
        new = [*turn, {"role": "user", "content": "yes"}] if number % 3 == 0 else turn
        count += len(new)
        items = copy.deepcopy([*items, *new])
        held.follow(items)
        context.fit()
        kept = held.kept(lambda one, item: dict(one.row))
        assert [row["content"] for row in kept] == [one.row["content"] for one in context.shown()]
        assert len(context.log.messages) == count and len(held._held) <= 3 * len(items)
        items = kept if keeps else items
        if number == 40:
            context = small(log=path, summarize=lambda rows: "told")
            held = MessageList[Row](context, lambda row: [dict(row)])
