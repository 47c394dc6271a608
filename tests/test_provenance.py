"""Provenance: any JSON value in a field that the replay does not read changes no context and refuses nothing."""

from __future__ import annotations

import io
import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ctxkit import Log
from ctxkit.core import ops
from ctxkit.core.ops import checksum, odd_provenance, parse, provenance
from tests import lawful
from tests.build import log
from tests.cli.runner import ctxkit
from tests.core.test_ops import OPS, as_json_values
from tests.effort import examples

VALUES = as_json_values()
LOG = log(
    "1-3 | mark a | 4-6 | forget 4 planning=5-6 | 7-9 | recall 4 | protect 2 | unprotect 2 | window 86400000 | rewind a"
    " | 10-14 | compact 10-11 strategy=extract | trim 12 reasons={\"12\":\"old\"} | undo @8 | interrupted | 15-18"
    " | remember 1-2 | restore 15,new:hello | edit 15-16,new:again | 19-20 | clear keep=19 | 21-22"
)  # fmt: skip
"""A log with an op of every name."""
OLD = "ts", "by", "before", "after", "prev"
LOOKS = (
    ("show",), ("show", "--json", "--full"), ("show", "--explain"), ("log",), ("log", "--tokens"), ("log", "--json"),
    ("status",), ("status", "--json"), ("why", "4"), ("why", "12"), ("recall", "hello"), ("export", "--to", "openai"),
    ("diff",), ("cat",), ("check",), ("compact", "--force"), ("undo",), ("status", "--plot"), ("snapshot", "--json"),
)  # fmt: skip


def with_value(place: int, field: str, value: Any) -> list[dict[str, Any]]:
    """The log with this value in a field of the op at `place`; the op has the sum of what it says now."""
    found = [dict(record) for record in LOG]
    found[place][field] = value
    found[place]["sum"] = checksum(found[place])
    return found


def raw(records: list[dict[str, Any]]) -> bytes:
    """A log as bytes."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def context(records: list[dict[str, Any]]) -> list[str]:
    """What a log's context holds, and what later decisions depend on."""
    return lawful.context(Log.open(io.BytesIO(raw(records))))


CHANGES = [
    (place, field)
    for place, record in enumerate(LOG)
    if "ctxkit" in record
    for field in sorted(provenance(ops.BY_NAME[record["ctxkit"]]))
]


def test_every_op_is_in_the_log() -> None:
    """The log of these tests has an op of every name, and each names what it has beside what is folded."""
    assert {record["ctxkit"] for record in LOG if "ctxkit" in record} == set(ops.BY_NAME)
    assert all(set(OLD) - {"ts"} <= provenance(kind) for kind in ops.BY_NAME.values())
    assert [name for name, kind in ops.BY_NAME.items() if "ts" not in provenance(kind)] == ["edit", "restore"]


@given(OPS, st.data())
def test_parsed(op: ops.Op, data: st.DataObject) -> None:
    """An op with any value in its provenance is the same op to the replay."""
    body = ops.to_body(op)
    field, value = data.draw(st.sampled_from(sorted(provenance(type(op))))), data.draw(VALUES)
    found = parse({**body, field: value})
    assert found is not None
    assert all(getattr(found, name) == getattr(op, name) for name in type(op).folded | ops.ENVELOPE_FOLDED)
    assert odd_provenance({**body, field: value}) in ([], [field])


@pytest.mark.parametrize("value", ["me", 5, None, [], {"x": {}}, True, -1e300], ids=repr)
@pytest.mark.parametrize("field", OLD)
def test_the_envelope(field: str, value: Any) -> None:
    """A name instead of an object, a number for a time: the context is what it was, and `check` has a note of it."""
    place = next(place for place, record in enumerate(LOG) if record.get("ctxkit") == "forget")
    records = with_value(place, field, value)
    assert context(records) == context(LOG)
    found = [one for one in Log.open(io.BytesIO(raw(records))).check(notes=True) if one.code == "odd-field"]
    assert [one.note for one in found] == [True] * len(odd_provenance(records[place]))
    if value == "me" and field in ("by", "before", "after"):
        assert f"`{field}`" in found[0].text


@cache
def sound() -> list[int]:
    """How each look ends at the log without a foreign value."""
    with TemporaryDirectory() as folder:
        return [ends(Path(folder), LOG, words)[0] for words in LOOKS]


def ends(folder: Path, records: list[dict[str, Any]], words: tuple[str, ...]) -> tuple[int, str]:
    """The exit code of a command on a log, and its reports."""
    path = folder / "chat.jsonl"
    path.write_bytes(raw(records))
    ran = ctxkit(words[0], path, *words[1:])
    return ran.code, ran.err


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(CHANGES[1], "me")
@given(st.sampled_from(CHANGES), VALUES)
def test_looked_at(tmp_path: Path, change: tuple[int, str], value: Any) -> None:
    """Every look at such a log, and every change of it, ends as it does without the value; none ends in a bug."""
    records = with_value(*change, value)
    assert context(records) == context(LOG)
    for words, code in zip(LOOKS, sound(), strict=True):
        found, reports = ends(tmp_path, records, words)
        assert "a bug" not in reports, (words, reports)
        assert found == code or (words == ("check",) and change[1] == "prev"), (words, reports)  # the chain is broken
