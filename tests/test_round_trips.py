"""Sessions to their own format: without a change no byte changes, and one message that goes takes nothing else along.

What may change is said once, in `LINKS`: how rows point at one another. Everything else of a line that stays is
compared byte by byte, and which lines may have another link is counted from the source, by what they point at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ctxkit import CtxkitError, Log
from ctxkit.core.item_names import Names
from ctxkit.errors import ExitCode, NothingToSend
from tests import effort
from tests.effort import some
from tests.lawful import MENDED, ROOT, Command, opened, tried
from tests.shared import SHARED
from tests.whole import rows

FILES = {
    "claude-code": [
        ROOT / "fixtures/guide/session.jsonl",
        *sorted((ROOT / "fixtures/truth-claude-code").glob("*.jsonl")),
        *sorted((SHARED / "transcripts/claude-code").glob("*.jsonl")),
        *sorted((SHARED / "transcripts/claude-code-subagents").glob("*.jsonl")),
    ],
    **{
        name: [
            *sorted((ROOT / f"fixtures/truth-{name}").glob("*.jsonl")),
            *sorted((SHARED / f"transcripts/{name}").glob("*.jsonl")),
        ]
        for name in ("codex", "pi")
    },
}
EACH = [(name, path) for name, paths in FILES.items() for path in paths]
SOUND = [one for one in EACH if one not in MENDED]
JOINTS = 2
"""Further links that one message can cost: where a copy of a response, or a summary, leaves, what stays is joined."""
MARKERS = (b'"turn_duration"', b'"customType":"ctxkit"')
"""What a row that comes in at the end of the file has, where a branch was after the last of the context."""
ANEW = {"compacted-ghost", "rollback-context", "rollback-developer", "compaction-twice-old", "q13-preserved-no-anchor"}
"""Where a rollback, an earlier compaction, an empty list or a missing anchor is in the way: one message makes the
history be written anew, of lines of the source, and what else went is counted."""

BOUND = {"q27-unknown-model"}
"""Sessions of a model that binds its thinking: behind what went, a row has none. An alias is the newest model."""
_THOUGHT = re.compile(rb'{"type":"thinking"[^{}]*},?')

SAMPLE = 5
"""Messages of a file that are forgotten, one by one, all over it; with `--whole` each of them is."""
SESSION_KEYS = {"claude-code": {"sessionId"}, "codex": {"id", "session_id"}, "pi": {"id"}}
LINKS = {
    "claude-code": re.compile(
        rb'"(parentUuid|leafUuid|logicalParentUuid)": ?("[^"]*"|null)'
        rb'|"preserved(Messages|Segment)": ?({[^{}]*}|null)'
    ),
    "codex": re.compile(rb"(?!)"),
    "pi": re.compile(rb'"(parentId|firstKeptEntryId|firstKeptEntryIndex)": ?("[^"]*"|null|[0-9]+)'),
}


def name_of(one: Any) -> str:
    return one.stem[:24] if isinstance(one, Path) else str(one)


def written(log: Log, name: str) -> bytes:
    return b"".join(log.session(name, keep_id=True, recount=False).pieces)


@pytest.mark.parametrize(("name", "path"), SOUND, ids=name_of)
def test_without_an_op(name: str, path: Path) -> None:
    """Every byte stays with --keep-id; else the id alone is another, in the rows that say it."""
    raw = path.read_bytes()
    log = opened(raw)
    assert written(log, name) == raw
    made = log.session(name)
    old, new = raw.split(b"\n"), b"".join(made.pieces).split(b"\n")
    assert len(old) == len(new)
    for before, after in zip(old, new, strict=True):
        if before != after:
            [one], [other] = rows(before), rows(after)
            if name == "codex":
                one, other = one["payload"], other["payload"]
            if one.get("isSidechain") and not other["isSidechain"]:  # a subagent's file, which becomes a session
                one["isSidechain"] = False
                before = before.replace(b'"isSidechain":true', b'"isSidechain":false')
            changed = {key for key in other if one.get(key) != other[key]}
            assert list(one) == list(other) and changed and changed <= SESSION_KEYS[name]
            assert {other[key] for key in changed} == {made.id}
            names = "|".join(changed).encode()
            masked = [re.sub(rb'"(%s)": ?"[^"]*"' % names, b"", line) for line in (before, after)]
            assert masked[0] == masked[1]


@pytest.mark.parametrize(("name", "path"), SOUND, ids=name_of)
def test_an_op_that_is_undone(name: str, path: Path) -> None:
    """Whatever the op was: every byte is as it was."""
    raw = path.read_bytes()
    log = opened(raw)
    for verb in some(("forget", "compact", "trim", "edit", "restore", "clear"), 3, SOUND.index((name, path))):
        if tried(log, Command(verb, len(log.messages) // 2, 2)):
            log.undo()
            assert written(log, name) == raw
    log.mark("here")
    assert written(log, name) == raw


class Line(NamedTuple):
    """A line of a source: where its record begins, what is left of it without links, and what is asked about it."""

    at: int
    raw: bytes
    bare: bytes
    own: str
    response: str
    answers: frozenset[str]
    links: frozenset[str]
    target: str


@cache
def lines(name: str, raw: bytes) -> list[Line]:
    """The lines that are not blank."""
    at, found = 0, []
    for piece in raw.split(b"\n"):
        begin = at + len(piece) - len(piece.lstrip(b" \t\xef\xbb\xbf"))
        at += len(piece) + 1
        if piece.strip():
            piece = piece.rstrip(b"\r")
            row = next(iter(rows(piece)), {})
            message = row.get("message") if isinstance(row.get("message"), dict) else {}
            content = message.get("content") if isinstance(message.get("content"), list) else []
            blocks = [message, *content, *([row.get("payload")] if b'_output"' in piece else [])]
            keys = ("tool_use_id", "toolCallId", "call_id")
            answered = {block.get(key) for block in blocks if isinstance(block, dict) for key in keys}
            own = str(row.get("uuid") or row.get("id") or "")
            links = re.findall(rb'"([^"]+)"', b"".join(one.group() for one in LINKS[name].finditer(piece)))
            bare = LINKS[name].sub(b"", piece)
            response = str(message.get("id") or "")
            found.append(
                Line(begin, piece, bare, own, response, frozenset(filter(None, answered)),
                     frozenset(link.decode() for link in links),
                     str(row.get("targetId") or "-"))
            )  # fmt: skip
    return found


def chosen(log: Log) -> Iterator[int]:
    """The messages that are forgotten, one at a time: those of other branches, too."""
    total = len(log.messages)
    step = 1 if effort.WHOLE else -(-total // SAMPLE)
    return iter(range(1, total + 1, step))


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("name", "path"), SOUND, ids=name_of)
def test_one_message_forgotten(name: str, path: Path) -> None:
    """Its rows go, with those of its step; every other line is there in order, and differs in a link at most."""
    raw = path.read_bytes()
    for n in chosen(opened(raw)):
        log = opened(raw)
        try:
            op = log.forget(str(n), include_protected=True)
        except CtxkitError as error:
            assert error.code in (ExitCode.NO, ExitCode.USAGE)
            continue
        assert op is not None
        only_gone(name, log, raw, sorted(Names.parse(op.ids).numbers), anew=path.stem in ANEW, bound=path.stem in BOUND)


def only_gone(name: str, log: Log, raw: bytes, numbers: list[int], *, anew: bool = False, bound: bool = False) -> None:
    """What was written is the source without the rows of these messages."""
    try:
        session = log.session(name, keep_id=True, recount=False)
        made = list(lines(name, b"".join(session.pieces)))
    except NothingToSend:
        assert not list(log.names())
        return
    if session.repairs.made:  # of a call whose result, which stood before it, is gone
        made = [line for line in made if b'"[no result recorded]"' not in line.raw]
    source = lines(name, raw)
    if anew and any("of its program" in kind for kind in session.repairs.left_out):
        assert {line.bare for line in made} <= {line.bare for line in source}
        return
    messages = [log.messages[n - 1] for n in numbers]
    spans = {message.offset for message in messages} | {span[0] for message in messages for span in message.more}
    told = {line.at for line in source if line.at in spans and b'"compacted"' in line.raw}  # its list stays
    calls = {call for message in messages for call in message.calls}
    calls -= {call for message in log.messages if message not in messages for call in message.calls}
    responses = {line.response for line in source if line.at in spans} - {""}
    owned = {at for message in log.messages for at in (message.offset, *(span[0] for span in message.more))}
    first = min((message.offset for message in messages), default=0)  # what answers before it is asked is no pair
    gone = [line for line in source if line.at in spans or (line.at > first and line.answers & calls)]
    gone += [line for line in source if line.response in responses and line.at not in owned]  # never sent, but of it
    aims = {line.own for line in gone}
    gone += [line for line in source if line.target in aims]
    gone = [line for line in gone if line.at not in told]
    kept_rows = {line.bare for line in made}
    stay = [line for line in source if line not in gone]
    lone = [line for line in stay if line.answers and line.bare not in kept_rows]
    if len(lone) <= session.repairs.dropped:  # results without their call in the context: the API refuses them
        stay = [line for line in stay if line not in lone]
    if len(made) > len(stay) and any(mark in made[-1].raw for mark in MARKERS):
        made.pop()  # it says where to go on, and nothing else
    assert len(made) == len(stay), (numbers, len(made) - len(stay))
    missing = {link for line in source for link in line.links} - {line.own for line in source}
    more = 0
    for before, after in zip(stay, made, strict=True):
        if before.raw == after.raw:
            continue
        if name == "codex":
            shorter(before.raw, after.raw)
            continue
        kept = _THOUGHT.sub(b"", before.bare) if bound and before.at > first else before.bare
        assert kept == after.bare, (numbers, before.raw[:300], after.raw[:300])
        more += not before.links & (aims | missing)  # what hung on a row that is not there is bridged by time
    assert more <= JOINTS, (numbers, more)


def shorter(before: bytes, after: bytes) -> None:
    """A compaction lists less, or what it kept stands for the summary that went; nothing else of the row changes."""
    [old], [new] = rows(before), rows(after)
    assert old["type"] == new["type"] == "compacted"
    one, other = (row["payload"].pop("replacement_history", None) for row in (old, new))
    if one is None:
        assert isinstance(old["payload"].pop("message"), str) and new["payload"].pop("message") == ""
    else:
        rest = iter(one)
        assert len(other) < len(one) and all(item in rest for item in other)
    assert old == new
