"""Records in the user's index which sessions `resume` and `watch` made, from which, and the title of that one.

Both record it, lists of sessions show it, and `undo` and `recall` name the source of `@`. The index may be deleted at
any time; nothing else depends on it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from ctxkit.core.text.utf8 import utf8
from ctxkit.store.index import Index
from ctxkit.store.private import user_cache

KIND = "resumed"


class Origin(NamedTuple):
    """The path of the session from which one was made, and the title that it had."""

    source: str
    title: str = ""


def note(path: Path, source: Path, env: Mapping[str, str], title: str = "", *, unasked: bool = False) -> None:
    """Record that the session `path` was made from `source`, if the cache can be written.

    `unasked`: `watch` made it by itself, so nobody goes on with it as long as it has the size that it has now.
    """
    value = b"\0".join((os.fsencode(source), utf8(title)))
    stamp = str(os.stat(path).st_size) if unasked else ""
    Index(user_cache(env)).put(KIND, {os.fsencode(path): (stamp, value)})


def untouched(sizes: Mapping[str, int], env: Mapping[str, str]) -> dict[str, str]:
    """Of files with these sizes those that `watch` made by itself, and that nobody went on with -> their sources."""
    rows = Index(user_cache(env)).below(KIND, b"/")
    named = ((os.fsdecode(path), stamp, value) for path, (stamp, value) in rows.items())
    return {path: _origin(value).source for path, stamp, value in named if stamp and stamp == str(sizes.get(path))}


def origins(env: Mapping[str, str]) -> dict[str, Origin]:
    """Path of each resumed session -> the session from which it was made."""
    rows = Index(user_cache(env)).below(KIND, b"/")
    return {os.fsdecode(path): _origin(value) for path, (_, value) in rows.items()}


def origin(path: str, env: Mapping[str, str]) -> Origin | None:
    """The session from which that at `path` was made; None if `ctxkit resume` did not make it, or it is not known."""
    return origins(env).get(path)


def sources(env: Mapping[str, str]) -> dict[str, str]:
    """Path of each resumed session -> path of its source."""
    return {path: one.source for path, one in origins(env).items()}


def _origin(value: bytes) -> Origin:
    source, _, title = value.partition(b"\0")
    return Origin(os.fsdecode(source), title.decode("utf-8", "replace"))
