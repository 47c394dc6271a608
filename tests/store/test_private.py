"""Folders of the user's own."""

from __future__ import annotations

import io
import os
import stat
import time
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.errors import CannotCreate
from ctxkit.store.index import settled
from ctxkit.store.private import make_private, refuse_links, user_cache, user_config
from tests.cli.runner import process


def modes(home: Path) -> set[int]:
    """The modes of all folders below one."""
    return {stat.S_IMODE(path.stat().st_mode) for path in home.rglob("*") if path.is_dir()}


def test_every_missing_folder_is_private(tmp_path: Path) -> None:
    """Those above the last one too, whatever the umask is; what is there stays as it is."""
    (tmp_path / "there").mkdir(mode=0o755)
    before = os.umask(0)
    try:
        make_private(tmp_path / "there/a/b")
        make_private(tmp_path / "there/a/b")
    finally:
        os.umask(before)
    assert modes(tmp_path / "there") == {0o700} and modes(tmp_path) == {0o755, 0o700}


def test_a_file_in_its_place(tmp_path: Path) -> None:
    """A file in the way is an error, and stays."""
    (tmp_path / "file").write_text("x")
    for folder in ("file", "file/below"):
        with pytest.raises(OSError, match=r"folder|directory"):
            make_private(tmp_path / folder)


def test_what_commands_make_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The caches and the user's config: no folder of theirs is open to others under umask 0."""
    for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "CTXKIT_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    (tmp_path / "home").mkdir()
    (tmp_path / "a.jsonl").write_text('{"role":"user","content":"hello there"}\n')
    while not settled(os.stat(tmp_path / "a.jsonl")):  # nothing is cached of a file that changed just now
        time.sleep(0.01)
    before = os.umask(0)
    try:
        assert process("status", str(tmp_path / "a.jsonl")).code == 0
        assert process("config", "--user", "set", "reserve", "100").code == 0
    finally:
        os.umask(before)
    assert (tmp_path / "home/.cache").is_dir() and (tmp_path / "home/.config").is_dir()
    assert modes(tmp_path / "home") == {0o700}


def test_links_below_a_named_folder(tmp_path: Path) -> None:
    """The named folder, and those above it, may be links; nothing below it may be one, also one that leads nowhere."""
    (tmp_path / "real/in").mkdir(parents=True)
    (tmp_path / "named").symlink_to("real")
    refuse_links(tmp_path / "named", tmp_path / "named/in/new")
    (tmp_path / "real/in/link").symlink_to("nowhere")
    for path in ("in/link", "in/link/x"):
        with pytest.raises(CannotCreate, match="in/link: a link"):
            refuse_links(tmp_path / "named", tmp_path / "named" / path)


@pytest.mark.parametrize(
    ("env", "path"),
    [
        ({"HOME": "/home/a"}, "/home/a/.cache/ctxkit"),
        ({"HOME": "/home/a", "XDG_CACHE_HOME": "/x"}, "/x/ctxkit"),
        ({"HOME": "/home/a", "XDG_CACHE_HOME": "relative"}, "/home/a/.cache/ctxkit"),
        ({"HOME": "relative"}, "/dev/null/.cache/ctxkit"),
    ],
)
def test_user_cache(env: dict[str, str], path: str) -> None:
    """Where counts are kept; never in the folder that one stands in."""
    assert user_cache(env) == Path(path)


def test_nobody_has_no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user whom the system does not know, without HOME: nothing of one's own is read or kept."""
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert user_config({}) == Path("/dev/null/.config/ctxkit/config.toml")
    assert Log.open(io.BytesIO(b'{"role":"user","content":"hi"}\n'), env={}).status().tokens.used


@pytest.mark.parametrize(
    ("env", "path"),
    [
        ({"HOME": "/home/a"}, "/home/a/.config/ctxkit/config.toml"),
        ({"HOME": "/home/a", "XDG_CONFIG_HOME": "/x"}, "/x/ctxkit/config.toml"),
        ({"HOME": "/home/a", "XDG_CONFIG_HOME": "relative"}, "/home/a/.config/ctxkit/config.toml"),
        ({"HOME": "/home/a", "XDG_CONFIG_HOME": ""}, "/home/a/.config/ctxkit/config.toml"),
    ],
)
def test_user_config(env: dict[str, str], path: str) -> None:
    """Where the user's own config is."""
    assert user_config(env) == Path(path)
