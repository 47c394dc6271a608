"""Ops on the wire: what is written is read again, and what cannot be read is said."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core import ops
from ctxkit.core.ops import Item, LogPosition, Op, Resummarized, checksum, parse, sealed, to_body
from ctxkit.core.text.json_text import dumps, loads

AT = LogPosition(messages=60, last="9f3a12bc01de", rows=60)
NAMES = st.sampled_from(["", "1", "3-9,16-30", "45,b3.1"])
TEXT = st.text(max_size=5)
MESSAGE = st.fixed_dictionaries({"role": st.sampled_from(["user", "tool"]), "content": TEXT})
ITEM = st.one_of(
    st.builds(Item, n=st.integers(1, 60), protected=st.booleans(), after=st.sampled_from([None, 0, 7, ".2", "a4.1"])),
    st.builds(Item, message=MESSAGE, origin=st.sampled_from([None, 45, "a4.1", {"log": "x", "n": 3}]), ts=TEXT),
)
STUBS = st.dictionaries(st.sampled_from(["31", "b3.1"]), TEXT)
RETOLD = st.lists(
    st.builds(Resummarized, op=st.just("a4"), text=st.none() | TEXT, short=st.none() | TEXT, keep=st.booleans())
)
OBJECT = st.dictionaries(TEXT, st.none() | st.integers(0, 99) | TEXT, max_size=2)
TOKENS = st.none() | st.integers(0, ops.LARGEST - 1)
PARTS = st.dictionaries(
    st.sampled_from(["31", "b3.1"]), st.lists(st.integers(0, 9) | st.tuples(st.integers(0, 9), st.integers(0, 9)))
)
CHOICE = {"criteria": st.none() | TEXT, "skipped": NAMES, "answer": st.none() | OBJECT, "parts": PARTS}
CHOICE |= {"planning": NAMES, "summaries": RETOLD, "closed": NAMES, "cleans": st.none() | TEXT}
FIELDS: dict[str, dict[str, Any]] = {
    "clear": {"agent": st.none() | TEXT, "keep": NAMES},
    "mark": {"label": st.none() | TEXT},
    "rewind": {"to": st.just("a1"), "label": st.none() | TEXT},
    "forget": {"ids": NAMES, **CHOICE},
    "remember": {"ids": NAMES, **CHOICE},
    "recall": {"ids": NAMES},
    "protect": {"ids": NAMES},
    "unprotect": {"ids": NAMES},
    "window": {"seconds": TOKENS, "agent": st.none() | TEXT, "asked": st.none() | TEXT},
    "compact": {
        "ids": NAMES, "text": st.none() | TEXT, "stubs": STUBS, "strategy": st.none() | TEXT, "model": st.none() | TEXT,
        "fallback": st.none() | st.booleans() | TEXT, "target": st.none() | TEXT, "budget": TOKENS, "asked": OBJECT,
        "focus": st.none() | TEXT, "tells": NAMES,
    },
    "trim": {
        "ids": NAMES, "stubs": STUBS, "reasons": STUBS, "parts": PARTS, "budget": TOKENS, "counter": st.none() | TEXT,
    },
    "edit": {"items": st.lists(ITEM), "shown": st.none() | TEXT},
    "restore": {
        "items": st.lists(ITEM), "mode": st.sampled_from(["append", "replace", "place"]), "skipped": NAMES,
        "snapshot": st.none() | OBJECT,
    },
    "undo": {"op": st.just("a1")},
    "interrupted": {},
}  # fmt: skip


def _op(name: str) -> st.SearchStrategy[Op]:
    """Ops of this name, of the newest version."""
    version = ops.NEWEST.get(ops.BY_NAME[name], ops.VERSION)
    fields = FIELDS[name] if name != "remember" else FIELDS[name] | {"parts": st.just({})}
    return st.builds(ops.BY_NAME[name], at=st.just(AT), id=TEXT, v=st.just(version), **fields)


OPS = st.one_of(*map(_op, FIELDS))


def as_json_values() -> st.SearchStrategy[Any]:
    """Any value that a line of JSON can hold, and those that are nearly of a field's shape."""
    near = st.sampled_from(["me", "1-3", "x", {"messages": 1}, {"messages": "1"}, {"args": 1}, {"tool": "t"}, 2**60])
    plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT | near
    return st.recursive(plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))


def test_every_op_is_known() -> None:
    """The table of names holds the ops of the specification, each under its own name."""
    assert ops.BY_NAME.keys() == FIELDS.keys()
    assert all(kind.__name__.lower() == name for name, kind in ops.BY_NAME.items())


@pytest.mark.parametrize("name", FIELDS)
def test_every_field_is_tried(name: str) -> None:
    """The ops that are drawn here have all fields of their own."""
    assert set(ops.BY_NAME[name].__struct_fields__) - set(ops.Envelope.__struct_fields__) == FIELDS[name].keys()


@given(OPS)
def test_round_trip(op: Op) -> None:
    """An op survives its line; its sum is right; unknown keys do not disturb."""
    body = loads(dumps(sealed(op)).encode())
    assert body["sum"] == checksum(body)
    found = parse({**body, "added-later": 1})
    assert found is not None
    assert to_body(found) == to_body(op)
    assert found.name == body["ctxkit"]


def test_body_reads_well() -> None:
    """The envelope first, provenance last, defaults left out, null kept where it means something."""
    op = ops.Window(at=AT, id="a1", seconds=None, by={"version": "0"})
    assert list(to_body(op)) == ["ctxkit", "v", "id", "at", "seconds", "by"]
    assert to_body(op)["seconds"] is None
    assert list(sealed(op))[-1] == "sum"


@pytest.mark.parametrize(
    "body",
    [
        {"ctxkit": "forget", "at": {"messages": 1}},
        {"ctxkit": "forget", "ids": "1"},
        {"ctxkit": "forget", "at": {"messages": "1"}, "ids": "1"},
        {"ctxkit": "forget", "at": {"messages": 1}, "ids": 1},
        {"ctxkit": "forget", "at": {"messages": 1}, "ids": "x"},
        {"ctxkit": "forget", "at": {"messages": 1}, "ids": "1", "planning": "x"},
        {"ctxkit": "clear", "at": {"messages": 1}, "keep": "1-"},
        {"ctxkit": "trim", "at": {"messages": 1}, "ids": "1", "stubs": {"x": ""}},
        {"ctxkit": "edit", "at": {"messages": 1}, "items": [{}]},
        {"ctxkit": "edit", "at": {"messages": 1}, "items": [{"n": 1, "message": {}}]},
        {"ctxkit": "edit", "at": {"messages": 1}, "items": [{"message": {}, "from": "x"}]},
        {"ctxkit": "mark", "v": "1", "at": {"messages": 1}},
        {"ctxkit": "mark", "v": True, "at": {"messages": 1}},
    ],
)
def test_what_cannot_be_read(body: dict[str, Any]) -> None:
    """A missing field, a wrong type, names that do not read: a ValueError, never another exception."""
    with pytest.raises(ValueError):
        parse(body)


@pytest.mark.parametrize(
    "body", [{"ctxkit": "frobnicate"}, {"ctxkit": "mark", "v": 2}, {"ctxkit": "forget", "v": 4}, {"ctxkit": ""}]
)
def test_unknown(body: dict[str, Any]) -> None:
    """An unknown name or a larger version is no error: None (replay 24)."""
    assert parse(body) is None


def test_the_envelope_of_an_interrupted_line_may_be_missing() -> None:
    """A program's own line needs its name only."""
    assert isinstance(parse({"ctxkit": "interrupted"}), ops.Interrupted)


class Plain:
    """Names as they stand."""

    def names(self, text: str) -> str:
        """As it is."""
        return text

    def op(self, key: Any) -> str:
        """As it is."""
        return str(key)

    def snapshot(self, key: str) -> str:
        """As it is."""
        return key


@pytest.mark.parametrize("kind", ops.BY_NAME.values(), ids=ops.BY_NAME)
def test_an_entry_is_whole(kind: type[Op]) -> None:
    """Each op says what it is, what the replay reads of it, and how what it takes out is called."""
    assert kind.__doc__ and kind.folded <= set(kind.__struct_fields__)
    assert bool(kind.gone) == bool(kind.gone_by)


@pytest.mark.parametrize("kind", ops.BY_NAME.values(), ids=ops.BY_NAME)
@given(st.dictionaries(st.sampled_from(["ids", "stubs", "parts", "items", "seconds", "snapshot"]), as_json_values()))
def test_a_damaged_op_has_words(kind: type[Op], body: dict[str, Any]) -> None:
    """Whatever its fields hold, a line about it can be written."""
    assert isinstance(kind.about(body, Plain()), str)


def test_words() -> None:
    """What an op is about, in a few words."""
    assert ops.Window.about({"seconds": 3600, "agent": "sam"}, Plain()) == "1h for sam"
    trim = {"ids": "3-4", "stubs": {"7": ""}, "parts": {"9": [0]}}
    assert ops.Trim.about(trim, Plain()) == "3-4, 1 shortened, parts of 9"
    assert ops.Forget.about({"ids": "", "planning": "5", "cleans": "a1"}, Plain()) == "5, cleanup of a1"
