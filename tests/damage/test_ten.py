"""Ten kinds of damage that users reported: the files that show them, and the same done to a session of every format."""

from __future__ import annotations

import io
from itertools import product
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.formats import registry
from ctxkit.formats.base import SessionFormat
from tests.cli.runner import ctxkit
from tests.damage.rows import TEN, damaged
from tests.damage.sessions import LINES, STRUCK, sent, told
from tests.effort import some
from tests.shared import SHARED, shared

FOLDER = "transcripts/derived-corrupt"
FILES: dict[str, tuple[str, ...]] = {
    # file: what check finds in it
    "01-torn-last-line": ("torn-tail",),
    "02-truncated-splice-midfile": ("torn-prefix",),
    "03-missing-newline-between-records": ("glued",),
    "04-nul-run": ("nul-block",),
    "05-no-final-newline": (),
    "06-crlf-bom": (),
    "07-blank-and-comment-lines": ("not-json",),
    "08-u2028-lone-surrogate": ("reused-id",),
    "09-invalid-utf8": ("bad-utf8",),
    "10-duplicate-lines": ("reused-id",) * 40,
}
READ = ("torn-tail", "torn-prefix", "glued", "nul-block", "not-json", "bad-utf8")
"""What reading reports, on standard error of each command; `check` finds the rest."""
CALLS = (
    ["show"], ["show", "--json"], ["status"], ["log"], ["why", "3"], ["recall", "the"], ["diff"], ["cat"],
    ["export", "--to", "chat"], ["export", "--to", "openai"], ["export", "--to", "responses"],
    ["export", "--to", "anthropic"], ["export", "--to", "gemini"], ["export", "--to", "claude-code"],
    ["export", "--to", "codex"], ["export", "--to", "pi"], ["config"], ["mark", "here"], ["forget", "3"],
    ["protect", "4"], ["undo"], ["undo", "--redo"], ["window", "8h"], ["rewind", "here"],
)  # fmt: skip
"""Calls that end with 0 on whatever of a log is whole."""


def test_all_files_are_in_the_table() -> None:
    """A file more is a row more."""
    assert {path.stem for path in shared(FOLDER).glob("*.jsonl")} == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_files(name: str, tmp_path: Path) -> None:
    """All messages are read; commands end with 0 and say what is damaged, `check` with 1; not a byte is changed."""
    raw = (shared(FOLDER) / f"{name}.jsonl").read_bytes()
    path = tmp_path / f"{name}.jsonl"
    path.write_bytes(raw)
    log = Log.open(path)
    assert len(log.names()) == 20
    assert tuple(one.code for one in log.check(notes=True)) == FILES[name]
    clean = told(Log.open(shared(FOLDER) / "05-no-final-newline.jsonl"))
    odd = ["lone \ud83d surrogate"] if name.startswith("08") else []
    assert [words for kind, words in sent(log) if (kind, words) not in clean] == odd
    assert b"".join(log.session("claude-code", keep_id=True).pieces) == raw
    assert ctxkit("check", path).code == bool(log.check()) == (bool(FILES[name]) and not name.startswith("10"))
    for call in CALLS:
        ran = ctxkit(call[0], path, *call[1:])
        assert ran.code == 0, (call, ran.err)
        reported = [code for code in READ if f": {code}: " in ran.err]
        assert call[0] in ("config", "status") or reported == [code for code in READ if code in FILES[name]]
    assert path.read_bytes() == raw


@pytest.mark.one_in(4, first=1)
@pytest.mark.parametrize("name", LINES)
@pytest.mark.parametrize("row", TEN)
def test_every_format(row: str, name: str, tmp_path: Path) -> None:
    """The same of a session of every format."""
    expected = TEN[row]
    path = tmp_path / LINES[name].name
    path.write_bytes(raw := damaged(row, name))
    log = Log.open(path)
    clean = [
        (kind, words.replace(STRUCK, expected.becomes)) for kind, words in told(Log.open(io.BytesIO(LINES[name].clean)))
    ]
    clean = [one for one in clean if not (expected.lost and expected.lost in one[1])]
    assert tuple(one.code for one in log.transcript.damage) == expected.codes
    assert log.transcript.format == name
    assert set(told(log)) == set(clean)
    if row.startswith("10"):
        once = name in ("claude-code", "pi", "gemini-cli")  # others have no ids that tell a copy from a second word
        assert sent(log) == clean if once else len(sent(log)) >= len(clean)
    else:
        assert told(log) == clean
    if isinstance(registry.by_name(name), SessionFormat):
        assert b"".join(log.session(name, keep_id=True).pieces) == raw
    assert (ctxkit("check", path).code, ctxkit("status", path).code) == (bool(log.check()), 0)
    assert ctxkit("forget", path, str(max(log.names()))).code == 0
    assert path.read_bytes()[: len(raw)] == raw


@pytest.mark.skipif(not (SHARED / "transcripts/codex").exists(), reason="no transcripts")
@pytest.mark.parametrize(
    ("row", "file"), some([*product(TEN, ("codex/08-agentv-small.jsonl", "pi/02-large-session.jsonl"))], 3)
)
def test_real_sessions(row: str, file: str, tmp_path: Path) -> None:
    """The same of a session of Codex and of pi as their programs wrote them."""
    rows = shared(f"transcripts/{file}").read_bytes().rstrip(b"\n").split(b"\n")
    path = tmp_path / "s.jsonl"
    at = next(
        i
        for i, line in enumerate(rows)
        if b'"role":"assistant"' in line and b'"text":"' in line and b"toolCall" not in line and i > len(rows) // 2
    )
    word = STRUCK.encode()
    rows[at] = rows[at].replace(b'"text":"', b'"text":"' + word + b" ", 1)
    assert word in rows[at]
    clean = Log.open(io.BytesIO(b"\n".join(rows)))
    path.write_bytes(raw := TEN[row].made(rows, at))
    log = Log.open(path)
    assert tuple(one.code for one in log.transcript.damage) == TEN[row].codes
    lost = {one for one in told(clean) if STRUCK in one[1]}
    assert set(told(clean)) - set(told(log)) <= lost
    assert b"".join(log.session(clean.transcript.format, keep_id=True).pieces) == raw
    assert (ctxkit("show", path).code, ctxkit("check", path).code) == (0, bool(log.check()))
