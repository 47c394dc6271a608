"""Which config files of folders this user said: by path and bytes, in the user's own state folder."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ctxkit.errors import BadConfig, CannotCreate
from ctxkit.settings.config import load
from ctxkit.settings.keys import KEYS
from ctxkit.settings.said_config import VARIABLE, accept_line, is_said, note, note_of, own, write
from ctxkit.store.sidecar import Sidecar

COUNTS = [
    "format", "now", "model", "limit", "reserve", "overhead", "counter", "budget.enforce", "status.yellow",
    "status.red", "window.default", "window.min", "window.max", "window.messages", "agents.NAME.window",
    "agents.NAME.color", "trim.keep_last", "trim.keep_results", "trim.exclude_tools", "trim.clear_inputs",
    "trim.strategy", "trim.summarize", "assembly.system", "assembly.docs", "assembly.status", "compact.target",
    "compact.strategy",
]  # fmt: skip
AUTO = "compact.auto = true\nlimit = 300\n"


def test_the_table() -> None:
    """What counts unsaid is how a context is shown, and what a typed trim or compact reads; nothing that acts."""
    assert [key.name for key in KEYS if key.unsaid] == COUNTS
    assert not any(key.unsaid for key in KEYS if key.trust == "never")


def test_by_path_and_bytes(tmp_path: Path) -> None:
    """A copy, another text and a damaged note are not said; the note is the user's alone, whatever the umask."""
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    file = tmp_path / "a" / "ctxkit.toml"
    before = os.umask(0)
    try:
        note(file, b"x = 1\n", env)
    finally:
        os.umask(before)
    assert is_said(file, b"x = 1\n", env) and not is_said(file, b"x = 2\n", env)
    assert not is_said(tmp_path / "b" / "ctxkit.toml", b"x = 1\n", env)
    assert is_said(tmp_path / "b" / "ctxkit.toml", b"x = 1\n", {VARIABLE: "1"})
    kept = note_of(file, env)
    assert [stat.S_IMODE(os.stat(one).st_mode) for one in (kept, kept.parent, kept.parent.parent)] == [
        0o600, 0o700, 0o700
    ]  # fmt: skip
    kept.write_bytes(b"")
    assert not is_said(file, b"x = 1\n", env)


def test_what_counts(tmp_path: Path) -> None:
    """Some keys where a command was typed, none for watch; all once the file is said; strictly it is an error."""
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    file = tmp_path / "ctxkit.toml"
    file.write_text(AUTO)
    typed, watch = load(None, tmp_path, env, None), load(None, tmp_path, env, None, unsaid="none")
    assert (typed["limit"], typed["compact.auto"]) == (300, False) and typed.notices == [
        f"{file}: ignored, not said by you on this machine: compact.auto; to accept: ctxkit config LOG accept"
    ]
    assert (watch["limit"], watch["compact.auto"]) == (None, False) and "compact.auto, limit; " in watch.notices[0]
    with pytest.raises(BadConfig) as caught:
        load(None, tmp_path, env, None, strict=True, accept="ctxkit config a accept")
    assert caught.value.hint == "ctxkit config a accept"
    note(file, file.read_bytes(), env)
    for unsaid in ("some", "none"):
        said = load(None, tmp_path, env, None, unsaid=unsaid)  # type: ignore[arg-type]
        assert (said["limit"], said["compact.auto"], said.notices) == (300, True, [])


def test_a_change_says_nothing_of_a_stranger_s_keys(tmp_path: Path) -> None:
    """Of a file that sets keys which nobody said, a change is written and not noted; of any other it is noted."""
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    beside = Sidecar(tmp_path / "log.jsonl")
    assert write(beside, "limit = 1\n", env) == ""
    assert write(beside, "limit = 2\n", env) == ""
    own(beside, env)
    assert is_said(beside.config_path, beside.config_path.read_bytes(), env)
    beside.config_path.write_text(AUTO)
    assert "was not accepted before" in write(beside, AUTO + "reserve = 1\n", env)
    assert not is_said(beside.config_path, beside.config_path.read_bytes(), env)


def test_where_no_note_can_be_kept(tmp_path: Path) -> None:
    """The config is written, and why it is not noted is returned; to accept it is an error."""
    (tmp_path / "state").write_text("a file")
    env = {"XDG_STATE_HOME": str(tmp_path / "state")}
    beside = Sidecar(tmp_path / "log.jsonl")
    assert "cannot create" in write(beside, "limit = 1\n", env)
    assert beside.config_path.read_text() == "limit = 1\n"
    with pytest.raises(CannotCreate):
        note(beside.config_path, b"", env)


def test_the_line_to_type() -> None:
    """Names as a shell takes them."""
    assert accept_line("a b", None) == "ctxkit config 'a b' accept"
    assert accept_line(None, "side") == "ctxkit config - accept --sidecar side"
