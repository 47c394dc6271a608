"""The main job end to end: a real session, changed by commands and pipes, and what a model would be sent then."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.effort import some
from tests.shared import SHARED, shared
from tests.validators.anthropic_rules import problems

CTXKIT = [sys.executable, "-m", "ctxkit"]
ROOT = Path(__file__).resolve().parent.parent
OWNERS = {"claude-code": "Read", "codex": "*", "pi": "*"}
"""The programs whose sessions are tried, and the tools whose calls are forgotten."""
REAL = sorted(path for owner in OWNERS for path in (SHARED / "transcripts" / owner).glob("*.jsonl"))
SOME = [f"{path.parent.name}/{path.name}" for path in some(REAL, 3)]
CRITERIA = ["--tool", "Read", "--until", "10m"]


def ctxkit(*args: str, stdin: bytes = b"") -> tuple[int, bytes]:
    """Exit code and stdout of one real process."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*CTXKIT, *args], input=stdin, capture_output=True, env=env, check=False)
    assert b"Traceback" not in done.stderr
    return done.returncode, done.stdout


def both_ways(session: Path, criteria: Sequence[str] = CRITERIA) -> tuple[bytes, bytes, bytes, bytes]:
    """What `show` and `export --to anthropic` print after a forget and a mark: in a pipe, and on the file."""
    _, log = ctxkit("cat", str(session))
    _, forgotten = ctxkit("forget", "-", *criteria, stdin=log)
    _, marked = ctxkit("mark", "-", "before-refactor", stdin=forgotten)
    code, _ = ctxkit("forget", str(session), *criteria, "--yes")
    assert code in (0, 1)
    assert ctxkit("mark", str(session), "before-refactor")[0] == 0
    _, piped = ctxkit("show", "-", stdin=marked)
    _, filed = ctxkit("show", str(session))
    _, piped_body = ctxkit("export", "-", "--to", "anthropic", stdin=marked)
    _, filed_body = ctxkit("export", str(session), "--to", "anthropic")
    return piped, filed, piped_body, filed_body


def test_a_pipe_and_a_file_give_the_same_context(tmp_path: Path) -> None:
    """On our own small session, where reads are forgotten."""
    session = Path(shutil.copy(ROOT / "fixtures/guide/session.jsonl", tmp_path))
    before = session.read_bytes()
    piped, filed, piped_body, filed_body = both_ways(session)
    assert piped == filed
    assert piped_body == filed_body
    assert problems(json.loads(piped_body)) == []
    assert session.read_bytes() == before


@pytest.mark.parametrize("name", SOME or ["claude-code/(none)"])
def test_real_sessions_give_the_same_context_in_pipe_and_file(name: str, tmp_path: Path) -> None:
    """Every real session, and a push one of three: the same both ways, a valid request, not a byte changed."""
    session = Path(shutil.copy(shared("transcripts") / name, tmp_path))
    session.chmod(0o644)
    before = session.read_bytes()
    piped, filed, piped_body, filed_body = both_ways(
        session, ["--tool", OWNERS[name.partition("/")[0]], "--until", "10m"]
    )
    assert piped == filed
    assert piped_body == filed_body
    assert problems(json.loads(piped_body)) == []
    assert session.read_bytes() == before
