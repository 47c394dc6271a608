"""The table of programs that keep chat messages: no key of it is anybody's."""

from __future__ import annotations

import inspect
from typing import Any, get_args, get_type_hints

import pytest
from openai.types import chat, responses

from ctxkit.core.text.json_text import dumps
from ctxkit.formats.base import Row
from ctxkit.formats.chat import ChatRow
from ctxkit.formats.chat_programs import MARKS, PROGRAMS, TRACES, of_row
from ctxkit.formats.foreign_keys import is_foreign


def keys_of(kind: Any) -> set[str]:
    """The keys of a TypedDict, or of all that a union has."""
    if members := get_args(kind):
        return set().union(*map(keys_of, members))
    return set(get_type_hints(kind)) if inspect.isclass(kind) else set()


def test_no_key_is_openais_or_our_own() -> None:
    """A log of chat messages may have any key that OpenAI's rows or ctxkit's own have, and what bots write."""
    ours = set(ChatRow.__struct_fields__) | set(Row.__struct_fields__) | {"usage", "meta", "id", "timestamp", "uuid"}
    theirs = keys_of(chat.ChatCompletionMessageParam) | set(chat.ChatCompletionMessage.model_fields)
    theirs |= keys_of(responses.ResponseInputItemParam)
    assert {"role", "tool_calls", "name"} <= theirs
    assert {*MARKS, "message_id"} & (ours | theirs) == {"message_id"} & (ours | theirs)
    for key in (ours | theirs) - {"role"}:
        assert not of_row({"role": "user", "content": "hi", key: "x"}), key


def test_every_program_has_a_place_and_a_source() -> None:
    """Its folder, the file beside its own, the package in which that was seen; and no two share a name."""
    assert len({one.name for one in PROGRAMS}) == len(PROGRAMS)
    for one in PROGRAMS:
        assert one.folders and one.companion and one.source.startswith("PyPI "), one.name


@pytest.mark.parametrize("one", PROGRAMS, ids=lambda one: one.name)
def test_rows(one: Any) -> None:
    """A row with all keys of a set, or with one of the roles, is the program's; its bytes have a trace of that."""
    rows = [{"role": "user", "content": "x"} | dict.fromkeys(keys) for keys in one.keys]
    rows += [{"role": role} for role in one.roles]
    assert rows
    for row in rows:
        assert of_row(row) == one.name and is_foreign(row)
        assert any(trace in dumps(row).encode() for trace in TRACES)


@pytest.mark.parametrize(
    "row", [{}, {"role": ["_usage"]}, {"role": "usage"}, {"message_id": "m", "role": "user"}, {"_type": "metadata"}]
)
def test_rows_of_nobody(row: dict[str, Any]) -> None:
    """Half a set, another kind of value, a key that bots of all kinds write."""
    assert of_row(row) == ""
