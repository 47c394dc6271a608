"""A pi session after ops: which entries change, and where those hang that come in."""

from __future__ import annotations

import json

import pytest

from ctxkit import Log
from ctxkit.core.decision import Decision
from ctxkit.core.ops import Compact, Trim
from tests.formats.pi import logs
from tests.lawful import opened


def written(log: Log) -> bytes:
    """The session with its own id."""
    return b"".join(log.session("pi", keep_id=True).pieces)


def trimmed(log: Log, numbers: str) -> Log:
    """The log without these messages, and no step closed."""
    log.commit("trim", lambda: Decision(Trim(at=log.here(), ids=numbers), ""))
    return log


def told(raw: bytes) -> list[str]:
    """The words of the context, summaries bare."""
    log = opened(raw)
    words = [getattr(part, "text", "-") for entry in log.entries() for part in log.full(entry).parts]
    return [text.partition("<summary>\n")[2].partition("\n</summary>")[0] or text for text in words]


def links(raw: bytes) -> dict[str, str | None]:
    """Parent of each entry by its id."""
    return {row["id"]: row.get("parentId") for row in map(json.loads, raw.splitlines()) if row["type"] != "session"}


@pytest.mark.parametrize(
    ("session", "numbers", "parents", "words"),
    [
        ("user:a | assistant:b | user:c", "2", {"e1": None, "e3": "e1"}, ["a", "c"]),
        ("user:a | user:b | user:c^1", "1", {"e2": None, "e3": None}, ["c"]),
        # a label of what leaves goes with it
        ("user:a | user:b | label:x^2@2 | user:c", "2", {"e1": None, "e4": "e1"}, ["a", "c"]),
        # a compaction keeps from the next one on
        ("user:a | user:b | user:c | compaction:s>2 | user:d", "2", {"e1": None, "e3": "e1", "e4": "e3", "e5": "e4"},
         ["s", "c", "d"]),
        ("user:a | user:b | edit:null@1 | user:c", "2", {"e1": None, "e3": "e1", "e4": "e3"}, ["c"]),
    ],
)  # fmt: skip
def test_an_entry_leaves(session: str, numbers: str, parents: dict[str, str | None], words: list[str]) -> None:
    """What hung on its parent is what it hung on."""
    after = written(trimmed(opened(logs.raw(session)), numbers))
    assert links(after) == parents
    assert told(after) == words


def test_a_summary_that_leaves() -> None:
    """What it stood for is not back: what the compaction kept hangs on nothing, and all else stays as it is."""
    before = logs.raw("user:a | user:b | compaction:s>2 | user:c")
    after = written(trimmed(opened(before), "3"))
    assert told(after) == ["b", "c"]
    assert links(after) == {"e1": None, "e2": None, "e4": "e2"}
    assert after.splitlines()[1] == before.splitlines()[1]
    assert told(written(trimmed(opened(logs.raw("user:a | compaction:s>- | user:c")), "2"))) == ["c"]
    # of two compactions the earlier would cut again: the chain is written anew
    twice = "user:a | user:b | compaction:s>2 | user:c | compaction:t>2 | user:d"
    assert told(written(trimmed(opened(logs.raw(twice)), "5"))) == ["b", "c", "d"]


def test_the_last_entry_leaves() -> None:
    """Where another branch stands behind what is then the last, an entry that nobody is sent comes behind it."""
    for session, number, words in (
        ("user:a | user:b | user:x^1 | user:c^2", "4", ["a", "b"]),
        ("user:a | user:b | user:x^1 | label:l^2@2", "2", ["a"]),  # a label of what leaves goes with it
    ):
        before = logs.raw(session).splitlines()
        *after, last = written(trimmed(opened(logs.raw(session)), number)).splitlines()
        assert told(b"\n".join([*after, last])) == words and set(after) < set(before)
        assert json.loads(last)["type"] == "custom" and json.loads(last)["parentId"] == f"e{len(words)}"


def test_what_comes_in_hangs_where_it_belongs() -> None:
    """Between its neighbours; of version 1 it has no id, and what a compaction counts still fits."""
    log = opened(logs.raw("user:a | user:b | user:c"))
    log.commit("compact", lambda: Decision(Compact(at=log.here(), ids="2", text="in short"), ""))
    after = written(log)
    assert told(after) == ["a", "in short", "c"]
    new = links(after)["e3"]
    assert new not in (None, "e1", "e2") and links(after)[str(new)] == "e1"


def test_version_1() -> None:
    """Rows without ids: they are counted, so that what leaves moves what a compaction keeps."""
    head = {"type": "session", "id": "S", "cwd": "/src"}
    entries = [{"type": "message", "message": {"role": "user", "content": word}} for word in "abc"]
    compaction = {"type": "compaction", "summary": "s", "firstKeptEntryIndex": 3}
    raw = b"".join(json.dumps(row).encode() + b"\n" for row in [head, *entries, compaction])
    assert told(raw) == ["s", "c"]
    log = trimmed(opened(raw), "1")
    after = written(log)
    assert told(after) == ["s", "c"] and json.loads(after.splitlines()[-1])["firstKeptEntryIndex"] == 2


def test_a_header_that_was_lost() -> None:
    """After an op there is one again, or pi would not know the file."""
    raw = b"".join(logs.raw("user:a | branch:s | user:c").splitlines(keepends=True)[1:])
    log = trimmed(opened(raw), "1,3")
    assert json.loads(written(log).splitlines()[0])["type"] == "session"
    assert log.session("pi").repairs.added == {"header of the session, which was lost": 1}
