"""Resolves the name of a session, which begins with `@`, to the session.

Used by `cli/session_names.py` wherever a log is named. `@` is the newest session of this folder's project; `@2` the one
before; `@codex` the newest of an agent; anything else is the beginning of an id, or words of a title. A name that fits
several sessions is an error. Pipeline: `project_sessions.py` -> here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from ctxkit.errors import AmbiguousSession, NoSuchSession
from ctxkit.search.project_sessions import Project, SessionFile, all_files, project, project_sessions
from ctxkit.search.resumed import sources
from ctxkit.search.sessions import Step, find_files

SIGN = "@"
AGENTS = {
    "claude": "claude-code",
    "gemini": "gemini-cli",
    "copilot": "copilot-cli",
    "qwen": "qwen-code",
    **{name: name for name in ("codex", "pi", "cursor", "goose", "amp", "continue")},
    **{name: name for name in ("claude-code", "gemini-cli", "copilot-cli", "qwen-code")},
}
"""Name of an agent -> its format."""
TOGETHER = 60.0
"""If two sessions were written within this many seconds, a script cannot know which one is meant."""
SHORT = 8
"""The fewest characters of an id that are shown, and that are enough to name a session of another project."""
SURE = 4
"""A text of this many characters with a digit that begins an id is not also searched in titles."""
TITLE = 80
"""Characters of a title in a list of candidates."""
SHOWN = 5
"""The most candidates that an error lists."""
HINT = "ctxkit sessions --here lists them"


class NamedSession(NamedTuple):
    """The session of a name. `of`: the project; `rival`: if the name is a place in time, another session that was
    written within TOGETHER of it; a copy that `resume` or `watch` made of the other is none.
    """

    name: str
    file: SessionFile
    of: Project
    rival: SessionFile | None = None


def is_name(word: str) -> bool:
    """Whether an argument is the name of a session; else it is a path."""
    return word.startswith(SIGN)


def find_session(name: str, env: Mapping[str, str], *, progress: Step | None = None) -> NamedSession:
    """The session that `name` means, which includes the `@`. Raises NoSuchSession, AmbiguousSession, NoSuchLog."""
    here = project(env=env)
    text = name.removeprefix(SIGN).strip()
    format = AGENTS.get(text.lower())
    if not text or format or re.fullmatch(r"[0-9]{1,3}", text):
        return _by_place(name, int(text) if text.isdecimal() else 1, format, env, here)
    if text.lower() == "opencode":
        raise NoSuchSession(f"{name}: opencode keeps its sessions in a database", "opencode export ID >session.json")
    return NamedSession(name, _by_words(name, text, env, here, progress), here)


def _by_place(name: str, place: int, format: str | None, env: Mapping[str, str], here: Project) -> NamedSession:
    if place < 1:
        raise NoSuchSession(f"{name}: sessions are counted from 1, the newest", "@ is the newest, @2 the one before")
    found = list(islice(project_sessions(env, here, format), place + 1))
    if len(found) < place:
        agent = f" of {format}" if format else ""
        if not found:
            raise NoSuchSession(f"{name}: no session{agent} was begun in {here.folder}", ELSEWHERE)
        count = f"{len(found)} session{'s' * (len(found) > 1)}"
        raise NoSuchSession(f"{name}: {here.folder} has {count}", HINT)
    one = found[place - 1]
    made = sources(env)

    def is_copy(of: SessionFile, other: SessionFile) -> bool:
        return os.path.abspath(other.path) in made and made[os.path.abspath(other.path)] == os.path.abspath(of.path)

    near = (
        other
        for other in found
        if other != one
        and abs(other.modified - one.modified) <= TOGETHER * 1e9
        and not (is_copy(one, other) or is_copy(other, one))
    )
    return NamedSession(name, one, here, next(near, None))


ELSEWHERE = "ctxkit sessions lists those of all folders; a path names a log too"


def _by_words(name: str, typed: str, env: Mapping[str, str], here: Project, progress: Step | None) -> SessionFile:
    """The session by the beginning of its id, or by words of its title; last by an id in other projects."""
    own = list(project_sessions(env, here))
    wanted = typed.lower().split()
    found = _with_id(typed, own)
    if not (len(found) == 1 and re.fullmatch(r"\S*[0-9]\S*", typed) and len(typed) >= SURE):
        titles = titled(own, env, progress)
        titled_so = (one for one in own if all(word in titles.get(one.path, "").lower() for word in wanted))
        found += [one for one in titled_so if one not in found]
    if not found and len(typed) >= SHORT and len(wanted) == 1:
        found = _with_id(typed, all_files(env))
    if len(found) == 1:
        return found[0]
    if found:
        text = f"{name} fits {len(found)} sessions: nothing was done"
        raise AmbiguousSession(
            _lines(text, candidates(found, env)), "name one by its id or its path, or by more words of its title"
        )
    text = f"{name}: no session of {here.folder} has this id, or these words in its title"
    raise NoSuchSession(_lines(text, candidates(own, env)), HINT if own else ELSEWHERE)


def _lines(*texts: str | Sequence[str]) -> str:
    """A message of several lines; line ends inside a name or title are replaced, so that they start no line."""
    every = [line for text in texts for line in ([text] if isinstance(text, str) else text)]
    return "\n".join(line.replace("\n", "␊") for line in every)


def _with_id(typed: str, files: Iterable[SessionFile]) -> list[SessionFile]:
    """The session with exactly this id; without one, those whose ids begin so.

    Of Gemini CLI's sessions elsewhere only the beginning of the id is known.
    """
    found = [one for one in files if one.id.lower().startswith(typed.lower())]
    return [one for one in found if one.id == typed] or found


def titled(files: Sequence[SessionFile], env: Mapping[str, str], progress: Step | None = None) -> dict[str, str]:
    """Path -> title of each session. Files that did not change since the last time are not read again."""
    return {str(one.path): one.glance.title for one in find_files(files, env=env, progress=progress).sessions}


def short_ids(files: Sequence[SessionFile]) -> list[str]:
    """The shortest unique beginning of each id among these, of at least SHORT characters."""
    ids = [one.id for one in files]

    def alone(own: str, size: int) -> bool:
        return sum(one.startswith(own[:size]) for one in ids) == 1

    return [own[: next((size for size in range(SHORT, len(own)) if alone(own, size)), len(own))] for own in ids]


def candidates(files: Sequence[SessionFile], env: Mapping[str, str]) -> list[str]:
    """A line for each of the first SHOWN sessions: its name, its agent, its title; then the count of the others."""
    some = files[:SHOWN]
    titles = titled(some, env)
    names = [f"@{one}" for one in short_ids(files)[:SHOWN]]
    wide = max(map(len, names), default=0)
    lines = [
        f"  {name:{wide}}  {one.format}  {titles.get(one.path, '')[:TITLE]}".rstrip()
        for name, one in zip(names, some, strict=True)
    ]
    more = len(files) - len(some)
    return [*lines, *([f"  and {more} more"] if more else [])]
