"""Where programs keep their sessions, and what the start of one says."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxkit.formats import registry
from ctxkit.formats.session_folders import LAYOUTS, SessionHead, head, session_id
from tests.homes import PROGRAMS, rows

KEY = "3f2a91c0-1111-4222-8333-444455556666"
SILENT = ("gemini-cli", "cursor")
"""Programs whose sessions do not say where they were begun."""


def test_every_program_that_has_a_home() -> None:
    """None that `sessions` looks through is without a layout, and the made-up homes have each."""
    assert set(LAYOUTS) == set(registry.HOMES) == set(PROGRAMS)


@pytest.mark.parametrize("format", PROGRAMS)
def test_head(format: str) -> None:
    """The folder and the id, from the whole and from a piece that ends within the first record."""
    path, raw = PROGRAMS[format](Path("/home/u"), "/home/u/my shop", KEY, "hi")
    found = head(format, raw)
    assert found.folder == ("" if format in SILENT else "/home/u/my shop")
    assert found.branch in ("", "main") and found.id in ("", KEY) and not found.sub
    if format not in SILENT and len(raw) > 700:
        assert head(format, raw[:700]).folder == found.folder
    assert session_id(format, str(path)) == (KEY[:8] if format == "gemini-cli" else KEY)


@pytest.mark.parametrize(
    ("format", "raw", "expected"),
    [
        ("claude-code", b"", SessionHead()),
        ("claude-code", b'{"cwd":7}\n[1]\nnull\n\xff{"cwd":"/a"}\n{"cwd":"/b"}', SessionHead("/b")),
        ("claude-code", rows({"message": {"content": [{"input": {"cwd": "/x"}}]}, "cwd": "/y"}), SessionHead("/y")),
        ("claude-code", rows({"text": 'no "cwd":"/x" here'}), SessionHead()),
        ("claude-code", rows({"cwd": "/y", "isSidechain": True, "agentId": "a"}), SessionHead("/y", sub=True)),
        ("codex", rows({"payload": {"cwd": "/y", "source": {"subagent": {}}}}), SessionHead("/y", sub=True)),
        ("codex", b'{"payload":{"cwd":"/y","source":{"subagent":"review"},"x":"' + b"x" * 2000,
         SessionHead("/y", sub=True)),
        ("gemini-cli", rows({"sessionId": "s", "kind": "subagent"}), SessionHead("", "", "s", sub=True)),
        ("goose", rows({"working_dir": "/y \\ \u00e9"}), SessionHead("/y \\ \u00e9")),
        ("chat", rows({"cwd": "/y"}), SessionHead()),
    ],
)  # fmt: skip
def test_odd_heads(format: str, raw: bytes, expected: SessionHead) -> None:
    """Only what stands in its own place counts; damage and other kinds of values say nothing."""
    assert head(format, raw) == expected
