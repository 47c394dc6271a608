"""Archetypes: files with the keys of an agent (`system`, `docs`, `model`, `limit`, `window`, `color`).

Pipeline: --agent-config of `init`, `show` and `export` reads one here. `init` writes its keys into the user's own
config, by `log_config.py`; the others take them for this one time. An archetype may be a stranger's: the files that it
names must be in its own folder, also whenever they are read, and it cannot name a program.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath
from typing import Any

from ctxkit.errors import BadConfig, NoSuchLog
from ctxkit.settings.keys import AGENT_KEYS, FILE, Key, require
from ctxkit.settings.named_files import INSIDE, missing
from ctxkit.settings.tomlread import leads_out, read

FOLDER = "archetypes"
"""The folder beside the user's config in which an archetype is found by its name alone."""
UNCHANGED = ": nothing was changed"


def read_archetype(name: str, user: Path, after: str = UNCHANGED) -> tuple[Path, dict[str, Any]]:
    """The file of an archetype, and its keys, with paths made absolute; `user`: the user's config file; `after`: the
    end of an error.

    `name`: a path, or the name of a file in the folder `archetypes` beside the user's config. Raises NoSuchLog,
    NoPermission, ReadFailed; BadConfig for an unknown key, a wrong value, and a path that is missing or leads out.
    """
    file = Path(name)
    kept = user.parent / FOLDER / f"{name}.toml"
    if not file.exists() and not PurePosixPath(name).parent.name and kept.exists():
        file = kept
    found = read(file)
    if found is None:
        hint = f"a TOML file with {', '.join(AGENT_KEYS)}; by its name alone it is looked for in {kept.parent}"
        raise NoSuchLog(f"--agent-config {name}: no such file{after}", hint)
    made = {}
    for word, value in found.table().items():
        place = f"{found.place(word)}: "
        key = AGENT_KEYS.get(word)
        if key is None:
            raise BadConfig(f"{place}unknown key {word[:80]}{after}", f"its keys: {', '.join(AGENT_KEYS)}")
        require(key, word, value, place, after)
        made[word] = _absolute(key, value, Path(os.path.realpath(file.parent)), place, after)
    if not made:
        raise BadConfig(f"{file}: it sets nothing{after}", f"its keys: {', '.join(AGENT_KEYS)}")
    return file, made


def _absolute(key: Key, value: Any, folder: Path, place: str, after: str) -> Any:
    """The value with paths from `folder` made absolute. Raises BadConfig."""
    paths = key.paths(value)
    for path in paths:
        known = folder / path
        while not known.exists() and known != folder:  # what comes before a pattern
            known = known.parent
        if ".." in PurePosixPath(path).parts or leads_out(folder / path, folder) or leads_out(known, folder):
            text = f"{place}{path}: a path that leads out of the folder of the archetype{after}"
            raise BadConfig(text, f"set it yourself: ctxkit config --user set agents.NAME.{key.name.split('.')[-1]} …")
    found = [f"{folder}{INSIDE}{os.path.relpath(folder / path, folder)}" for path in paths]
    wrong = "; ".join(missing(folder, key, found))
    if wrong:
        raise BadConfig(f"{place}{wrong}{after}", "paths are relative to the archetype")
    if not paths:
        return value
    return found if key.several else f"{FILE}{found[0]}"
