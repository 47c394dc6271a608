"""Folders of the user: where the home and the state are; created only for their owner, as `~/.cache/ctxkit` is.

And folders that the user names to be written into: a link that lies in one may be somebody else's.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ctxkit.errors import CannotCreate


def make_private(folder: Path) -> None:
    """Create a folder and the missing ones above it, mode 0700 with any umask. Raises OSError.

    `mkdir(parents=True, mode=0o700)` would create those above with the umask's mode, which may be open to all.
    """
    for one in (*reversed(folder.parents), folder):
        if not os.path.isdir(one):
            with suppress(FileExistsError):  # another process was faster; anything but a folder is found below
                os.mkdir(one, 0o700)
    if not os.path.isdir(folder):
        raise NotADirectoryError(f"{folder} is not a folder")


def refuse_links(named: Path, path: Path) -> None:
    """Raises CannotCreate if `path` or a folder between it and `named` is a link.

    `named` is what the user typed, and may be one; below it, whoever may write there can let one lead anywhere.
    """
    for one in (path, *path.parents):
        if one == named:
            return
        if os.path.islink(one):
            text = f"{one}: a link, which is not followed below the folder that was named: nothing was written there"
            raise CannotCreate(text, "put the folder or file itself in its place, or name where it leads")


def user_config(env: Mapping[str, str]) -> Path:
    """The user's own config file, which may not exist: `$XDG_CONFIG_HOME/ctxkit/config.toml`, else under ~/.config."""
    return _users(env, "XDG_CONFIG_HOME", ".config") / "config.toml"


def user_cache(env: Mapping[str, str]) -> Path:
    """The folder of caches, which may not exist: `$XDG_CACHE_HOME/ctxkit`, else under ~/.cache."""
    return _users(env, "XDG_CACHE_HOME", ".cache")


def user_data(env: Mapping[str, str]) -> Path:
    """The folder of the user's own data, which may not exist: `$XDG_DATA_HOME/ctxkit`, else under ~/.local/share."""
    return _users(env, "XDG_DATA_HOME", ".local/share")


def user_state(env: Mapping[str, str]) -> Path:
    """The folder of what a run leaves for the next one, which may not exist: `$XDG_STATE_HOME/ctxkit`, else under
    ~/.local/state.
    """
    return _users(env, "XDG_STATE_HOME", ".local/state")


def _users(env: Mapping[str, str], variable: str, default: str) -> Path:
    """A relative folder in the variable is ignored, as the specification demands."""
    given = env.get(variable, "")
    return (Path(given) if os.path.isabs(given) else home(env) / default) / "ctxkit"


def home(env: Mapping[str, str]) -> Path:
    """The user's home; without one (a container's nameless user) a path at which nothing can be created."""
    found = env.get("HOME") or os.path.expanduser("~")
    return Path(found if os.path.isabs(found) else os.devnull)
