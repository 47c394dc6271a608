"""The folders that a session names: which one it ran in, and what they are called now."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.export.folders import Moves, folder_of, moved

CLAUDE = {
    "type": "user",
    "uuid": "1",
    "parentUuid": None,
    "sessionId": "s",
    "message": {"role": "user", "content": "a"},
}
META, TURN = (b'{"type":"%s","payload":{"cwd":"%%s"}}' % kind for kind in (b"session_meta", b"turn_context"))


@pytest.mark.parametrize(
    ("pairs", "folder", "now"),
    [
        ([("/a/b", "/c")], "/a/b", "/c"),
        ([("/a/b", "/c")], "/a/b/d/e", "/c/d/e"),
        ([("/a/b", "/c")], "/a/bb", "/a/bb"),
        ([("/a/b/", "/c/")], "/a/b/d", "/c/d"),
        ([("/a", "/x"), ("/a/b", "/y")], "/a/b/d", "/y/d"),
        ([("/a/b", "/x"), ("/a/b", "/y")], "/a/b", "/x"),
        ([("/", "/root")], "/a/b", "/root/a/b"),
        ([("/a", "/")], "/a/b", "/b"),
        ([("D:\\shop", "/home/ada/shop")], "D:\\shop\\src\\x", "/home/ada/shop/src/x"),
        ([("D:\\", "/mnt/d")], "D:\\shop", "/mnt/d/shop"),
        ([], "/a", "/a"),
    ],
)
def test_moves(pairs: list[tuple[str, str]], folder: str, now: str) -> None:
    """Whole names of folders, the longest beginning first; Windows' separators become those of the new place."""
    assert Moves(pairs).of(folder) == now


def log_of(path: Path, *records: dict[str, Any]) -> Log:
    """A log of these records."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(one) + "\n" for one in records))
    return Log.open(path)


def test_the_folder_of_a_session(tmp_path: Path) -> None:
    """The first that is named; of several the one that its file is kept under. A chat log names none."""
    rows = [CLAUDE | {"cwd": "/a/first"}, CLAUDE | {"uuid": "2", "parentUuid": "1", "cwd": "/a/second"}]
    assert folder_of(log_of(tmp_path / "s.jsonl", CLAUDE, *rows)) == "/a/first"
    assert folder_of(log_of(tmp_path / "-a-second/s.jsonl", *rows)) == "/a/second"
    assert folder_of(log_of(tmp_path / "-a-third/s.jsonl", *rows)) == "/a/first"
    assert folder_of(log_of(tmp_path / "odd.jsonl", CLAUDE | {"cwd": 7}, CLAUDE)) == ""
    assert folder_of(log_of(tmp_path / "c.jsonl", {"role": "user", "content": "a", "cwd": "/a"})) == ""
    meta = {"type": "session_meta", "payload": {"id": "s", "cwd": "/a/codex", "model_provider": "openai"}}
    event = {"type": "event_msg", "payload": {"type": "exec_command_end", "cwd": "/a/other"}}
    said = {"type": "response_item", "payload": {"type": "message", "role": "user", "content": []}}
    assert folder_of(log_of(tmp_path / "x.jsonl", event, meta, said)) == "/a/codex"
    head = {"type": "session", "version": 3, "id": "s", "cwd": "/a/pi"}
    entry = {"type": "message", "id": "1", "parentId": None, "message": {"role": "user", "content": "a"}}
    assert folder_of(log_of(tmp_path / "p.jsonl", head, entry)) == "/a/pi"


@pytest.mark.parametrize(
    ("format", "before", "after"),
    [
        ("claude-code", b'{"cwd": "/old/x", "a": "/old/x"}', b'{"cwd": "/new/x", "a": "/old/x"}'),
        ("claude-code", b'{"message": {"cwd": "/old"}, "cwd":"/other"}', None),
        ("claude-code", b'{"cwd": "/old", torn', None),
        ("claude-code", b'["cwd", "/old"]', None),
        ("claude-code", b'{"cwd": ["/old"]}', None),
        ("codex", META % b"/old", META % b"/new"),
        ("codex", TURN % b"/old", TURN % b"/new"),
        ("codex", b'{"type":"event_msg","payload":{"cwd":"/old"}}', None),
        ("codex", b'{"type":"session_meta","payload":"/old","cwd":"/old"}', None),
        ("pi", b'{"type":"session","cwd":"/old"}', b'{"type":"session","cwd":"/new"}'),
        ("pi", b'{"type":"custom","cwd":"/old"}', None),
    ],
)  # fmt: skip
def test_moved(format: str, before: bytes, after: bytes | None) -> None:
    """The rows that say where the program ran are changed, in that place alone; no line is lost, and none is joined."""
    [*pieces] = moved([b"first\n" + before[:9], before[9:] + b"\nlast\n"], format, Moves([("/old", "/new")]))
    assert b"".join(pieces) == b"first\n" + (after or before) + b"\nlast\n"


@pytest.mark.parametrize("named", ["work", ".", "../work", "~/work"])
def test_a_relative_folder_is_none(named: str, tmp_path: Path) -> None:
    """It would count from wherever the command runs; the first one that is absolute counts, also Windows' own."""
    assert folder_of(log_of(tmp_path / "a.jsonl", {**CLAUDE, "cwd": named})) == ""
    rows = ({**CLAUDE, "cwd": named}, {**CLAUDE, "uuid": "2", "parentUuid": "1", "cwd": "D:\\shop"})
    assert folder_of(log_of(tmp_path / "b.jsonl", *rows)) == "D:\\shop"
