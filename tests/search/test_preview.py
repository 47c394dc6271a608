"""What a list of sessions tells of a file."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit.api.log import Log
from ctxkit.search.preview import LOOKED_AT, TITLE, LastWords, SessionPreview, glance
from ctxkit.store.source import Source
from tests.cli.runner import SMALL, lines, message
from tests.damage.sessions import ALL, LAST, SAID
from tests.shared import transcripts


def told(raw: bytes) -> SessionPreview:
    """The glance at a log of these bytes."""
    found = glance(Source("log", raw), "log")
    assert found is not None
    return found


@pytest.mark.parametrize("name", ALL)
def test_every_format(name: str) -> None:
    """Whose it is, its first words, its last words, its time and size."""
    found = told(ALL[name].clean)
    assert (found.format, found.title, found.state, found.damaged) == (ALL[name].format, SAID[0], "clean", 0)
    assert found.last == LastWords("assistant", LAST)
    assert found.messages > 5 and found.conversations == 1


def test_the_time_is_that_of_the_newest_message() -> None:
    """Where none has one, there is none."""
    assert told(SMALL).time == 1769940600.0  # 2026-02-01T10:10:00Z
    assert told(lines(message("user", "hi"))).time is None
    assert told(lines(message("user", "hi", 1), message("assistant", "yes"))).time == 1769940060.0


@pytest.mark.parametrize(
    "raw",
    [b"", b"\n\n", b"buy milk\n", b"{}\n", b'{"name":"package","version":"1"}', b"[]", b"\x89PNG\r\n", b"[1,2]",
     b'{"type":"file-history-snapshot","snapshot":{}}\n', b'{"torn'],
)  # fmt: skip
def test_what_is_no_session(raw: bytes) -> None:
    """Files of other kinds, and logs without a message, are none."""
    assert glance(Source("log", raw), "log") is None


CODE = b'''"""How messages look."""

EXAMPLE = [
    {"role": "user", "content": "hi"},
{"role": "assistant", "content": "yes"}
]
print(EXAMPLE)
'''


def test_source_code_is_no_session() -> None:
    """Though there is a message in it; a session whose start is lost is one."""
    assert glance(Source("code", CODE), "code") is None
    found = told(b'le": "user"}\n' + SMALL)
    assert (found.messages, found.state) == (11, "damaged")
    assert told(b"{broken\n{broken\n{broken\n" + lines(message("user", "hi"))).state == "damaged"


def claude(*rows: dict[str, Any]) -> bytes:
    """A Claude Code session with one exchange, and these rows behind it."""
    words = [
        {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "s",
         "message": {"role": "user", "content": "hi"}},
        {"type": "assistant", "uuid": "u2", "parentUuid": "u1", "sessionId": "s",
         "message": {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "yes"}]}},
    ]  # fmt: skip
    return b"".join(json.dumps(row).encode() + b"\n" for row in [*words, *rows])


def pi(*names: str) -> bytes:
    """A pi session with one message and these names, one after the other."""
    rows: list[dict[str, Any]] = [
        {"type": "session", "version": 3, "id": "s", "cwd": "/x", "timestamp": "2026-02-01T10:00:00Z"},
        {"type": "message", "id": "a", "parentId": None, "message": {"role": "user", "content": "hi"}},
    ]
    rows += [{"type": "session_info", "id": f"n{i}", "parentId": "a", "name": name} for i, name in enumerate(names)]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


GEMINI = {"sessionId": "s", "projectHash": "p", "startTime": "2026-02-01T10:00:00Z"}
SAYS = {"id": "1", "type": "user", "timestamp": "2026-02-01T10:00:00Z", "content": "hi"}
OPENCODE = {
    "info": {"id": "ses_1", "title": "from the document", "projectID": "p"},
    "messages": [{"info": {"id": "m", "role": "user"}, "parts": [{"type": "text", "text": "hi"}]}],
}
CUSTOM = {"type": "custom-title", "customTitle": "the user's", "sessionId": "s"}


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (claude(), "hi"),
        (claude({**CUSTOM, "customTitle": "an old one"}, CUSTOM), "the user's"),
        (claude(CUSTOM, {"type": "ai-title", "aiTitle": "the model's"}), "the user's"),
        (claude({"type": "ai-title", "aiTitle": "the model's"}, {**CUSTOM, "customTitle": 7}), "the model's"),
        (claude({"type": "summary", "summary": "told", "leafUuid": "u2"}), "told"),
        (claude({"type": "summary", "summary": "of another file", "leafUuid": "u9"}), "hi"),
        (claude({"type": "summary", "summary": ["no text"], "leafUuid": "u2"}), "hi"),
        (claude({"type": "custom-title", "customTitle": " \n ", "sessionId": "s"}), "hi"),
        (pi(), "hi"), (pi("one", "two"), "two"), (pi("one", ""), "hi"),
        (lines(GEMINI, SAYS, {"$set": {"summary": "told"}}), "told"),
        (json.dumps({**GEMINI, "summary": "in its head", "messages": [SAYS]}).encode(), "in its head"),
        (lines(GEMINI, SAYS), "hi"), (json.dumps(OPENCODE).encode(), "from the document"),
    ],
)  # fmt: skip
def test_titles_of_programs(raw: bytes, expected: str) -> None:
    """The newest name that counts; else the first words."""
    assert told(raw).title == expected


@pytest.mark.parametrize(
    ("first", "expected"),
    [
        (["<system-reminder>be nice</system-reminder>", "then this"], "then this"),
        (["# AGENTS.md instructions for /x\n<INSTRUCTIONS>a</INSTRUCTIONS>", "go"], "go"),
        (["  two\n\n lines\t"], "two lines"), ([""], ""), (["<command-name>/init</command-name>", "so"], "so"),
        (["<command-name>/init</command-name>"], "<command-name>/init</command-name>"),
        (["x" * 5000], "x" * (TITLE - 1) + "…"), (["\ud800 half"], "? half"), ([""] * LOOKED_AT + ["late"], ""),
    ],
)  # fmt: skip
def test_titles_of_words(first: list[str], expected: str) -> None:
    """What somebody typed, on one line, cut, and such that it can be written down."""
    assert told(lines(*(message("user", words) for words in first))).title == expected


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([message("user", "a"), message("assistant", "b"), message("system", "c")], LastWords("assistant", "b")),
        ([message("user", "a"), message("assistant", " \n"), message("tool", "r")], LastWords("user", "a")),
        ([message("system", "c")], None),
        ([message("assistant", None, tool_calls=[{"id": "1", "function": {"name": "Read", "arguments": "{}"}}])],
         LastWords("assistant", "→ Read")),
    ],
)  # fmt: skip
def test_last_words(rows: list[dict[str, Any]], expected: LastWords | None) -> None:
    """Of the user or the assistant; a call where nobody said a word."""
    assert told(lines(*rows)).last == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (SMALL, ("clean", 0)),
        (SMALL + lines(message("user", "and?")), ("interrupted", 0)),
        (SMALL + b'{"role":"us', ("interrupted", 0)),
        (SMALL[:-1], ("clean", 0)),
        (SMALL.replace(b'"role": "tool"', b'"role": "tool', 1), ("damaged", 1)),
        (SMALL + b'{"ctxkit":"forget","id":"x"}\n', ("damaged", 1)),
    ],
)
def test_states(raw: bytes, expected: tuple[str, int]) -> None:
    """Interrupted: nobody answered, or the last append was cut off; damaged: what is wrong anywhere else."""
    found = told(raw)
    assert (found.state, found.damaged) == expected


def test_many_conversations() -> None:
    """Figures of all of them, the title of the first."""
    raw = lines(*({"messages": [message("user", f"question {i}"), message("assistant", "a")]} for i in range(3)))
    found = told(raw)
    assert (found.conversations, found.messages, found.title, found.last) == (3, 6, "question 0", None)
    assert (found.format, found.state) == ("messages", "clean")


REAL = transcripts("claude-code", "codex", "pi", "copilot-cli", "mini-swe-agent", "swe-agent", under=700_000)


@pytest.mark.parametrize("path", REAL, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_how_full_it_is(path: Path) -> None:
    """Without counting: near what `status` counts where the program recorded it, an estimate elsewhere; its limit."""
    found = told(path.read_bytes())
    tokens = Log.open(path, env={}).status().tokens
    size, near = (found.tokens, 1.1) if found.tokens is not None else (found.rough, 3)
    assert size is not None and 1 / near < size / (tokens.used or 1) < near
    assert found.limit == tokens.limit.value


def test_how_full_it_is_after_ops() -> None:
    """What the provider counted, less what an op took out; what is out of the context does not count."""
    rows = [message("user" if n % 2 else "assistant", "word " * 200) for n in range(1, 9)]
    whole = told(lines(*rows))
    assert whole.tokens is None and 1200 < (whole.rough or 0) < 2400
    log = Log.open(io.BytesIO(lines(*rows)), env={})
    log.forget("1-4")
    half = told(b"".join(log.copy_out()))
    assert half.tokens is None and (half.rough or 0) * 2 == pytest.approx(whole.rough, rel=0.1)
