"""Commands that write a whole context hold none of it: their memory does not grow with the words of a log."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bench.runs import once
from tests.cli.runner import ROOT, call, lines, message

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
SIZE = 40
"""MB of words, in messages of 20 KB."""
SHARE = 0.4
"""Of the size, that memory may grow by: what is read and written at once, and no list of messages, turns or lines."""
WHOLE = [
    *(("export", "--to", to) for to in ("chat", "openai", "responses", "anthropic", "gemini", "codex", "claude-code",
                                        "pi")),
    ("edit", "--print"), ("checkpoint", "-m", "kept"), ("snapshot",),
]  # fmt: skip


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The same messages with few words and with many."""
    folder = tmp_path_factory.mktemp("streaming")
    found = []
    for name, words in (("few", 1), ("many", 20_000)):
        path = folder / f"{name}.jsonl"
        text = ("some words, " * words)[:words]
        with path.open("wb") as file:
            for k in range(SIZE * 1_000_000 // 20_000 // 4):
                file.write(lines(
                    message("user", f"{k} {text}"), message("assistant", text, tool_calls=[call("Read", f"c{k}")]),
                    message("tool", text, tool_call_id=f"c{k}"), message("assistant", text),
                ))  # fmt: skip
        once((sys.executable, "-m", "ctxkit", "status", str(path)), ENVIRONMENT)  # what counts takes memory of its own
        found.append(path)
    return found[0], found[1]


@pytest.mark.skipif(sys.platform == "darwin", reason="memory is told in pages that were touched, not in those held")
@pytest.mark.parametrize("words", WHOLE, ids=" ".join)
def test_memory_does_not_grow_with_the_words(logs: tuple[Path, Path], words: tuple[str, ...]) -> None:
    """The peak on a log with many words, less that on the same with few."""
    few, many = (once((sys.executable, "-m", "ctxkit", words[0], str(path), *words[1:]), ENVIRONMENT) for path in logs)
    assert many.peak - few.peak < SHARE * SIZE


@pytest.mark.skipif(sys.platform == "darwin", reason="memory is told in pages that were touched, not in those held")
def test_a_snapshot_comes_back_message_by_message(logs: tuple[Path, Path]) -> None:
    """The peak of a restore follows the number of messages, too."""
    peaks = []
    for path in logs:
        once((sys.executable, "-m", "ctxkit", "snapshot", str(path)), ENVIRONMENT)
        back = (sys.executable, "-m", "ctxkit", "restore", str(path), "latest", "--replace")
        peaks.append(once(back, ENVIRONMENT).peak)
    assert peaks[1] - peaks[0] < SHARE * SIZE


def test_nothing_is_printed_where_the_log_fails_midway(tmp_path: Path) -> None:
    """A body that cannot be written to its end is not begun: here, for want of room for what waits."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(*(message("user", "words " * 200_000) for _ in range(16))))
    ran = subprocess.run(
        ["bash", "-c", 'ulimit -f 4096; exec "$@"', "-", sys.executable, "-m", "ctxkit", "export", str(path), "--to",
         "openai"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, check=False,
        timeout=60,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (74, b"")
    assert b"cannot keep the result in a temporary file" in ran.stderr and b"nothing was written" in ran.stderr
