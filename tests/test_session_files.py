"""Codex and pi sessions that are written: of any ops on slices of real files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxkit import Log
from ctxkit.core import integrity, roles
from ctxkit.core.messages import Call, Content, Result, Text
from ctxkit.core.text.json_text import canonical, dumps
from ctxkit.errors import NothingToSend, UnknownFormat
from tests.effort import examples
from tests.lawful import COMMANDS, MENDED, ROOT, TO_COME, Command, opened, tried
from tests.seeds import slices
from tests.shared import SHARED

SEQUENCES = 2500
"""Of each format."""
FILES = {
    name: [
        *sorted((ROOT / f"fixtures/truth-{name}").glob("*.jsonl")),
        *sorted((SHARED / f"transcripts/{name}").glob("*.jsonl")),
    ]
    for name in ("codex", "pi")
}
EACH = [(name, path) for name, paths in FILES.items() for path in paths if (name, path) not in MENDED]
ran: Counter[str] = Counter()


def told(contents: Iterable[Content]) -> Iterator[tuple[str, ...]]:
    """Whose words, which words, calls and results, in order; of a message that has both, the results first."""
    for content in contents:
        mine = content.role in roles.ASSISTANT or any(isinstance(part, Call) for part in content.parts)
        for part in sorted(content.parts, key=lambda part: not isinstance(part, Result)):
            match part:
                case Text(text=words) if words:
                    yield "assistant" if mine else "user", words
                case Call(id=identity, name=name, arguments=arguments):
                    raw = arguments.get("_raw", arguments) if isinstance(arguments, dict) else arguments
                    yield identity, name, canonical(raw).decode("utf-8", "surrogatepass")
                case Result(id=identity, content=inner):
                    words = inner if isinstance(inner, str) else "".join(p.text for p in inner if isinstance(p, Text))
                    yield identity, words


def context(log: Log) -> list[Content]:
    """The messages of a context in full."""
    return [log.full(entry) for entry in log.entries()]


def broken(contents: list[Content]) -> set[str]:
    """Ids of calls without a result behind them, and of results without a call before them."""
    calls: set[str] = set()
    wrong: set[str] = set()
    waiting: set[str] = set()
    for content in contents:
        for part in content.parts:
            if isinstance(part, Call):
                calls.add(part.id)
                waiting.add(part.id)
            elif isinstance(part, Result):
                wrong |= {part.id} - calls
                waiting.discard(part.id)
    return wrong | waiting


def rows(raw: bytes) -> list[dict[str, Any]]:
    """The rows of a file that can be read."""
    found = []
    for piece in raw.split(b"\n"):
        try:
            found.append(json.loads(piece))
        except ValueError:
            continue
    return [row for row in found if isinstance(row, dict)]


def dangling(raw: bytes) -> set[str]:
    """Parents that no entry is."""
    found = rows(raw)
    ids = {row.get("id") for row in found}
    return {row["parentId"] for row in found if row.get("parentId")} - ids


@pytest.mark.parametrize(("name", "path"), EACH, ids=lambda one: one.stem if isinstance(one, Path) else one)
def test_without_a_change_nothing_changes(name: str, path: Path) -> None:
    """Every byte stays, but for the id in the row that says it; after an op that is undone, too."""
    before = path.read_bytes()
    log = opened(before)
    assert b"".join(log.session(name, keep_id=True, recount=False).pieces) == before
    made = log.session(name)
    after = b"".join(made.pieces)
    old, new = before.split(b"\n"), after.split(b"\n")
    assert len(old) == len(new) and made.id in made.name
    differing = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    assert all(b.count(made.id.encode()) >= 1 and b'"session' in b for _, b in differing)
    assert list(told(context(opened(after)))) == list(told(context(log)))
    if tried(log, Command("forget", 1)):
        assert b"".join(log.session(name, keep_id=True, recount=False).pieces) != before
        log.undo()
        assert b"".join(log.session(name, keep_id=True, recount=False).pieces) == before


@pytest.mark.parametrize(("name", "path"), EACH, ids=lambda one: one.stem if isinstance(one, Path) else one)
def test_one_message_forgotten(name: str, path: Path) -> None:
    """Its rows go; what stays is as it was, but for a link to a parent."""
    before = path.read_bytes()
    log = opened(before)
    numbers = [n for n in log.names() if isinstance(n, int)]
    if not any(tried(log, Command("forget", n - 1)) for n in reversed(numbers[: len(numbers) // 2 + 1])):
        pytest.skip("nothing in it can be forgotten")
    after = b"".join(log.session(name, keep_id=True, recount=False).pieces)
    old = set(before.split(b"\n"))
    new = [line for line in after.split(b"\n") if line not in old]
    bare = Counter(plain(row) for row in rows(before))
    assert all(bare[plain(row)] for row in rows(b"\n".join(new)))
    assert dangling(after) <= dangling(before)
    assert list(told(context(opened(after)))) == list(told(whole(log, before)))


def plain(row: dict[str, Any]) -> bytes:
    """A row without its links, and without what a compaction lists."""
    row = {key: value for key, value in row.items() if key not in ("parentId", "firstKeptEntryId")}
    if row.get("type") == "compacted":
        row["payload"] = {}
    return dumps(row).encode("ascii")


def whole(log: Log, source: bytes) -> list[Content]:
    """The context without what the op broke and the source had whole."""
    contents = context(log)
    return integrity.repair(contents)[0] if broken(contents) - broken(context(opened(source))) else contents


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_after_any_ops(name: str) -> None:
    """Ids stand once, every parent is there, every pair is whole that was whole; the words are those of the context."""

    @settings(max_examples=examples(SEQUENCES), suppress_health_check=list(HealthCheck))
    @given(slices(name), st.lists(st.one_of(COMMANDS, TO_COME), min_size=1, max_size=6))
    def sequence(content: bytes, commands: list[Command]) -> None:
        try:
            log = opened(content)
        except UnknownFormat:
            return
        if log.transcript.format != name:
            return
        for command in commands:
            tried(log, command)
        ran[name] += 1
        try:
            after = b"".join(log.session(name).pieces)
        except NothingToSend:
            return
        ids = Counter(row["id"] for row in rows(after) if isinstance(row.get("id"), str))
        before = Counter(row["id"] for row in rows(content) if isinstance(row.get("id"), str))
        assert all(count <= max(1, before[key]) for key, count in ids.items())
        assert dangling(after) <= dangling(content)
        again = context(opened(after))
        assert broken(again) <= broken(context(opened(content)))
        said = [one for one in told(context(log)) if len(one) == 2 and one[0] in ("user", "assistant")]
        assert [one for one in told(again) if len(one) == 2 and one[0] in ("user", "assistant")] == said

    sequence()
    print(f"sequences of ops on sessions of {name}: {ran[name]}")
    assert ran[name] >= examples(2000)
