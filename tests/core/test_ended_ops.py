"""Which ops have no effect any more, and what became of the items of such ops."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.ended_ops import brought, ended, fate, role_of
from ctxkit.core.item_names import ItemName
from ctxkit.core.select import parse_ids
from ctxkit.errors import UnknownMessage
from tests.lawful import as_bytes, opened

TALK = [{"role": ("user", "assistant")[n % 2], "content": str(n)} for n in range(6)]
NEW = [{"n": 1}, {"message": {"role": "assistant", "content": "new"}}]


def op(name: str, key: str, **fields: Any) -> dict[str, Any]:
    return {"ctxkit": name, "v": 1, "id": key, "at": {"messages": 6}, **fields}


@pytest.mark.parametrize(
    ("ops", "told"),
    [
        ([op("forget", "f", ids="2"), op("clear", "k")], {1: "ended by clear 2"}),
        ([op("forget", "f", ids="2"), op("clear", "k"), op("undo", "u", op="k")], {}),
        ([op("forget", "f", ids="2-3"), op("clear", "k", keep="3")], {}),
        ([op("forget", "f", ids="2-3"), op("clear", "k", keep="3"), op("clear", "l")],
         {1: "ended by clear 3", 2: "ended by clear 3"}),
        ([op("clear", "k", keep="3"), op("clear", "l", keep="3")], {1: "ended by clear 2"}),
        ([op("mark", "m"), op("rewind", "r", to="m"), op("edit", "e", items=NEW)],
         {1: "ended by edit 3", 2: "ended by edit 3"}),
        ([op("edit", "e", items=NEW), op("restore", "s", items=NEW, mode="replace")], {1: "ended by restore 2"}),
        ([op("compact", "c", ids="2-3", text="t"), op("recall", "a", ids="2"), op("trim", "t", ids="4"),
          op("clear", "k")], {1: "ended by clear 4", 2: "ended by clear 4", 3: "ended by clear 4"}),
        ([op("protect", "p", ids="2"), op("window", "w", seconds=3600), op("clear", "k")], {}),
        ([{"ctxkit": "interrupted"}, op("clear", "k")], {1: "ended by clear 2"}),
    ],
)  # fmt: skip
def test_what_a_boundary_ends(ops: list[dict[str, Any]], told: dict[int, str]) -> None:
    """All that was about nothing but what it took out; flags and windows go on; what it keeps, too."""
    found = ended(opened(as_bytes([*TALK, *ops])).state())
    assert {number: end.text for number, end in found.items()} == told


@pytest.mark.parametrize(
    ("ops", "token", "text", "undo"),
    [
        ([op("edit", "e", items=NEW), op("undo", "u", op="e")], "1.2",
         "op 1 (edit) brought it in, and is undone by op 2", 2),
        ([op("mark", "m"), op("compact", "c", ids="2-3", text="t"), op("rewind", "r", to="m")], "2.1",
         "op 2 (compact) brought it in: undone by rewind 3", 3),
        ([op("compact", "c", ids="2-3", text="t"), op("compact", "d", ids="2-4", text="u")], "c.1",
         "op 1 (compact) brought it in; op 2 (compact) took its messages out, and the summary with them", 2),
        ([op("forget", "f", ids="4"), op("undo", "u", op="f"), op("compact", "d", ids="2-4", text="u"),
          op("undo", "v", op="u")], "3.1", "op 3 (compact) brought it in: no effect", 1),
    ],
)  # fmt: skip
def test_items_that_are_not_there(ops: list[dict[str, Any]], token: str, text: str, undo: int) -> None:
    """Said by name, also to who selects one; `gone` lets it be asked for."""
    state = opened(as_bytes([*TALK, *ops])).state()
    with pytest.raises(UnknownMessage, match=r"there is no item .* now: op . .* brought it in"):
        parse_ids(state, [token])
    [name] = parse_ids(state, [token], gone=True)
    assert isinstance(name, ItemName)
    assert (fate(state, name).text, fate(state, name).undo) == (text, undo)
    assert role_of(state, name) == ("assistant" if token == "1.2" else "user")
    assert brought(state.ledger.by_id[name.op]) == [name]
    with pytest.raises(UnknownMessage, match="no op of this log brought it in"):
        parse_ids(state, ["1.7"], gone=True)
