"""The declaration of the tables and what Arrow makes of it."""

from __future__ import annotations

import sys

import pytest

from ctxkit.errors import Usage
from ctxkit.fleet.rows import rows
from ctxkit.fleet.tables import COLUMNS, INSTALL, SCHEMA, SCHEMA_KEY, schema, table

CHAT = b'{"role":"user","content":"hi","ts":"2026-02-12T14:30:00Z"}\n'


@pytest.mark.parametrize("name", COLUMNS)
def test_schema(name: str) -> None:
    """Names and order are those of the declaration; the version stands in the metadata; every table names its log."""
    found = schema(name)
    assert found.names == [column.name for column in COLUMNS[name]]
    assert found.metadata == {SCHEMA_KEY.encode(): str(SCHEMA).encode()}
    assert found.names[0] == "transcript_id"
    assert len(set(found.names)) == len(found.names)


@pytest.mark.parametrize("name", COLUMNS)
def test_meanings(name: str) -> None:
    """Every column says what it holds, in a sentence."""
    assert all(column.meaning.rstrip(")").endswith(".") for column in COLUMNS[name])


@pytest.mark.parametrize("name", COLUMNS)
def test_rows_fit(name: str) -> None:
    """A row has every column of its table, and no other."""
    found = rows(CHAT, "/chat.jsonl", scout=True)
    for row in found[name]:
        assert set(row) == {column.name for column in COLUMNS[name]}
    assert table(name, found[name]).num_rows == len(found[name])


def test_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(Usage) as raised:
        schema("messages")
    assert raised.value.hint == INSTALL
