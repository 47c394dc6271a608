"""How calls ended, as agents write it around what commands print."""

from __future__ import annotations

import pytest

from ctxkit.core.derive.outcome import outcome

CODEX = "Chunk ID: a7875a\nWall time: 0.2500 seconds\nProcess exited with code {}\nOriginal token count: 3\nOutput:\n"
OUTCOMES = {
    "codex": (CODEX.format(0) + "hello\n", (0, 0.25, "hello\n")),
    "codex, failed": (CODEX.format(127), (127, 0.25, "")),
    "codex, runs on": (
        "Chunk ID: 1\nWall time: 1 seconds\nProcess running with session ID 7\nOutput:\nx",
        (None, 1.0, "x"),
    ),
    "codex, a patch": ("Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.", (0, 0.0, "Success.")),
    "Claude Code": ("Exit code 2\nno such file", (2, None, "no such file")),
    "mini-swe-agent": ("<returncode>1</returncode>\n<output>\nbad\n</output>", (1, None, "bad\n")),
    "Copilot CLI": ("ok\n<shellId: 0 completed with exit code 0>", (0, None, "ok")),
    "pi": ("npm ERR!\n\nCommand exited with code 1", (1, None, "npm ERR!")),
    "no command": ("print(1)\nexit code 3 stands in the text\nand goes on", (None, None, None)),
    "too far down": ("x\n" * 400 + "Exit code 2\n" + "y\n" * 400, (None, None, None)),
    "no number": ("Chunk ID: 1\nWall time: 1.2.3 seconds\nOutput:\n", (None, None, "")),
}


@pytest.mark.parametrize(("text", "expected"), OUTCOMES.values(), ids=OUTCOMES)
def test_outcome(text: str, expected: tuple[int | None, float | None, str | None]) -> None:
    """Status and seconds where they are written, and the output without them; else the text as it is."""
    found = outcome(text)
    assert found == (*expected[:2], text if expected[2] is None else expected[2])
