"""Candidates are the possible values of a parameter, for completion in a shell.

A log is read within a deadline. A mark may have any name, but a value is offered only if one line of a terminal shows
it unchanged.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, NamedTuple

from ctxkit.cli.help.pages import Parameter
from ctxkit.cli.registry import COMMANDS
from ctxkit.cli.terminal.safe_text import clip, safe

LARGEST = 128 << 20
"""Bytes of the largest log that is read."""
DEADLINE = 1.0
"""Seconds that completion may take."""
MOST = 500
"""Candidates at most, and characters of each at most."""
TEXT = 60
"""Cells of a candidate's description."""


class Candidate(NamedTuple):
    """A value and its description."""

    value: str
    text: str = ""


class Completions(NamedTuple):
    """The completions of a word. If no candidate fits, `kind` "files" or "folders" makes the shell list those.

    `prefix`: the part of the word before the value, as `--to=`.
    """

    kind: str
    candidates: tuple[Candidate, ...] = ()
    prefix: str = ""


FILES, FOLDERS, NOTHING = Completions("files"), Completions("folders"), Completions("words")

_KIND = re.compile("[A-Z]+")
OR_A_LOG = ("A",)
"""Metavars of parameters that also take a log."""
OFFERED = 40
"""Sessions that are offered, the newest."""


class CompletionTimeout(BaseException):
    """The deadline is over. A BaseException, so that handlers of other errors do not catch it."""


def completions(candidates: Iterable[Candidate]) -> Completions:
    """Return the candidates that a terminal shows unchanged, at most `MOST`, each once."""
    kept: dict[str, Candidate] = {}
    for value, text in candidates:
        if value and len(value) <= MOST and safe(value, keep_newlines=False) == value:
            kept.setdefault(value, Candidate(value, clip(safe(text, keep_newlines=False), TEXT)))
    return Completions("words", tuple(kept.values())[:MOST])


@contextmanager
def deadline(seconds: float = DEADLINE) -> Iterator[None]:
    """Raise CompletionTimeout in the block after `seconds`."""

    def stop(*_: object) -> None:
        raise CompletionTimeout

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def for_parameter(parameter: Parameter, given: Mapping[str, str]) -> Completions:
    """Return the possible values of `parameter`; `given` has the values of the parameters before it.

    They follow from its choices, the words of its metavar (`set|off`), its key, or its metavar. Raises
    CompletionTimeout, and the errors of reading a log.
    """
    if parameter.choices:
        return completions(map(Candidate, parameter.choices))
    action = given.get(parameter.key, "")
    if "|" in parameter.metavar:
        return NOTHING if action else completions(map(Candidate, re.findall(r"[a-z]{2,}", parameter.metavar)))
    keys = parameter.key, (_KIND.search(parameter.metavar) or [""])[0]
    fixed = next((_FIXED[key] for key in keys if key in _FIXED), None)
    if fixed is not None:
        return fixed()
    sources = next((_OF_LOG[key] for key in keys if key in _OF_LOG), ())
    values = completions(_from_log(sources, given))
    return values._replace(kind="files") if keys[1] in OR_A_LOG else values


def _from_log(sources: Sequence[_Source], given: Mapping[str, str]) -> list[Candidate]:
    log = _open_log(given) if sources else None
    return [] if log is None else [one for source in sources for one in source(log)]


def _open_log(given: Mapping[str, str]) -> Any:
    """The log in `given`; None for standard input and for a log that is too large."""
    from ctxkit.api.log import Log

    name = given.get("log", "-")
    if name == "-":
        return None
    if name.startswith("@"):
        from ctxkit.search.naming import find_session

        name = find_session(name, os.environ).file.path
    if not os.path.lexists(name):  # the shell has not replaced a ~ or a $ yet
        name = os.path.expanduser(os.path.expandvars(name))
    if os.path.getsize(name) > LARGEST:
        return None
    number = given.get("conversation", "")
    chosen = int(number) if number.isdigit() else None
    return Log.open(name, sidecar=given.get("sidecar"), conversation=chosen, format=given.get("from_"))


_Source = Callable[[Any], Iterable[Candidate]]


def _marks(log: Any) -> Iterator[Candidate]:
    state = log.state()
    for mark in reversed(state.marks):
        if mark.label is not None:
            yield Candidate(mark.label, f"mark after message {mark.position}")


def _ops(log: Any) -> Iterator[Candidate]:
    from ctxkit.cli.terminal.op_view import what

    state = log.state()
    for entry in reversed(state.ledger.entries):
        yield Candidate(
            str(entry.number), f"{state.ledger.name_of(entry)} {what(state, entry)}{' [undone]' if entry.void else ''}"
        )


def _voidable(log: Any) -> Iterator[Candidate]:
    """The ops that undo accepts: in force, and no undo."""
    void = {str(entry.number) for entry in log.ledger.entries if entry.void or entry.name == "undo"}
    return (one for one in _ops(log) if one.value not in void)


def _named(field: str) -> _Source:
    def source(log: Any) -> Iterator[Candidate]:
        return (Candidate(str(name)) for name in sorted({getattr(m, field) for m in log.messages} - {None}))

    return source


def _tools(log: Any) -> Iterator[Candidate]:
    """The tools that the log calls."""
    return map(Candidate, sorted({tool for message in log.messages for tool in message.tools}))


def _snapshots(log: Any) -> Iterator[Candidate]:
    yield Candidate("latest", "the newest")
    for head in log.snapshots():
        yield Candidate(head.short, f"{head.timestamp} {head.description}")


def _now(log: Any) -> Iterator[Candidate]:
    yield Candidate("now", "the current context")


_OF_LOG: dict[str, tuple[_Source, ...]] = {
    "LABEL": (_marks,),
    "op": (_voidable,),
    "OP": (_ops, _now),
    "snapshot": (_snapshots,),
    "ids": (_snapshots,),
    "agent": (_named("agent"),),
    "thread": (_named("thread"),),
    "ROLE": (_named("role"),),
    "tool": (_tools,),
    "exclude_tool": (_tools,),
    "A": (_marks, _ops, _now),
    "B": (_marks, _ops, _now),
}
"""Name or metavar of a parameter -> its values in a log."""


def _keys() -> Completions:
    from ctxkit.settings.keys import KEYS

    return completions(Candidate(key.name, key.comment) for key in KEYS)


def commands() -> Completions:
    """Return the commands, each with its summary."""
    return completions(Candidate(one.name, one.summary) for one in COMMANDS.values())


def session_names() -> Completions:
    """Return `@` and the names of this project's sessions, newest first, each with its title if time allows."""
    from ctxkit.search.naming import AGENTS, short_ids, titled
    from ctxkit.search.project_sessions import project, project_sessions

    some = list(islice(project_sessions(os.environ, project()), OFFERED))
    titles: dict[str, str] = {}
    with suppress(CompletionTimeout):  # names are useful without titles
        titles = titled(some, os.environ)
    agents = [name for name, format in AGENTS.items() if name != format or "-" not in name]
    of = {name: next((one for one in some if one.format == AGENTS[name]), None) for name in agents}
    places = [(f"@{i}" if i > 1 else "@", one) for i, one in enumerate(some[:9], 1)]
    names = [*places, *((f"@{name}", one) for name, one in of.items() if one is not None)]
    names += [(f"@{key}", one) for key, one in zip(short_ids(some), some, strict=True)]
    return completions(Candidate(name, f"{one.format}  {titles.get(one.path, '')}".strip()) for name, one in names)


_FIXED: dict[str, Callable[[], Completions]] = {
    "log": lambda: FILES,
    "LOG": lambda: FILES,
    "FILE": lambda: FILES,
    "PATH": lambda: FILES,
    "DIR": lambda: FOLDERS,
    "key": _keys,
    "KEY": _keys,
    "COMMAND": commands,
}
"""Name or metavar of a parameter -> its values, if they do not depend on a log."""
