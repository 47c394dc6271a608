"""Candidates: what can stand in a parameter's place, for completion in a shell.

Values of a log are read in bounded time, and what a log makes unreadable or unsafe is left out: a mark may be named
anything, but only what one line of a terminal shows as it is can be completed.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from itertools import islice
from typing import Any, NamedTuple

from ctxkit.cli.help.pages import Parameter
from ctxkit.cli.registry import COMMANDS
from ctxkit.cli.terminal.safe_text import clip, safe

LARGEST = 128 << 20
"""Bytes of a log that is looked into."""
DEADLINE = 1.0
"""Seconds that looking may take."""
MOST = 500
"""Candidates, the newest, and characters of one."""
TEXT = 60
"""Cells of a candidate's description."""


class Candidate(NamedTuple):
    """A word and what it means."""

    value: str
    text: str = ""


class Completions(NamedTuple):
    """What completes a word: `candidates`; without any that fits, `kind` "files" or "folders": the shell lists them.

    `prefix`: what of the word stands before the value: `--to=`.
    """

    kind: str
    candidates: tuple[Candidate, ...] = ()
    prefix: str = ""


FILES, FOLDERS, NOTHING = Completions("files"), Completions("folders"), Completions("words")


_KIND = re.compile("[A-Z]+")
OR_A_LOG = ("A",)
"""Metavars in whose place another log can stand, too."""
OFFERED = 40
"""Sessions that are completed, the newest."""


class CompletionTimeout(BaseException):
    """The deadline is over; no handler of other errors may hold it up."""


def found(candidates: Iterable[Candidate], prefix: str = "") -> Completions:
    """Those of `candidates` that can be shown as they are."""
    kept: dict[str, Candidate] = {}
    for value, text in candidates:
        if value and len(value) <= MOST and safe(value, keep_newlines=False) == value:
            kept.setdefault(value, Candidate(value, clip(safe(text, keep_newlines=False), TEXT)))
    return Completions("words", tuple(kept.values())[:MOST], prefix)


@contextmanager
def in_time(seconds: float = DEADLINE) -> Iterator[None]:
    """Raises CompletionTimeout inside when `seconds` are over."""

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
    """What can stand in the place of `parameter`, where `given` are the values of those before it.

    By its choices, the words of its metavar (`set|off`), its key, or its metavar. Raises CompletionTimeout, and what
    reading a log raises.
    """
    if parameter.choices:
        return found(map(Candidate, parameter.choices))
    said = given.get(parameter.key, "")
    if "|" in parameter.metavar and not said:
        return found(Candidate(word) for word in re.findall(r"[a-z]{2,}", parameter.metavar))
    if said and f"{said} KEY" in parameter.metavar:  # config LOG get KEY
        return _keys()
    if parameter.key == "value":  # config LOG set KEY VALUE
        return _values(given.get("key", ""))
    if "|" in parameter.metavar:
        return _values(said) if "VALUE" in parameter.metavar else NOTHING
    keys = parameter.key, (_KIND.search(parameter.metavar) or [""])[0]
    fixed = next((_FIXED[key] for key in keys if key in _FIXED), None)
    if fixed is not None:
        return fixed()
    sources = next((_OF_LOG[key] for key in keys if key in _OF_LOG), ())
    values = found(_from_log(sources, given))
    return values._replace(kind="files") if keys[1] in OR_A_LOG else values


def _from_log(sources: Sequence[_Source], given: Mapping[str, str]) -> list[Candidate]:
    log = _opened(given) if sources else None
    return [] if log is None else [one for source in sources for one in source(log)]


def _opened(given: Mapping[str, str]) -> Any:
    """The log that was named, unless it is standard input, missing, or too large."""
    from ctxkit.api.log import Log

    name = given.get("log", "-")
    if name == "-":
        return None
    if name.startswith("@"):
        from ctxkit.search.naming import find_session

        name = find_session(name, os.environ).file.path
    if not os.path.lexists(name):  # typed with a ~ or a $ that the shell has yet to replace
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
        yield Candidate(str(entry.number), f"{entry.name} {what(state, entry)}{' [undone]' if entry.void else ''}")


def _voidable(log: Any) -> Iterator[Candidate]:
    """The ops that undo takes by itself: in force, and no undo."""
    void = {str(entry.number) for entry in log.ledger.entries if entry.void or entry.name == "undo"}
    return (one for one in _ops(log) if one.value not in void)


def _named(field: str) -> _Source:
    def source(log: Any) -> Iterator[Candidate]:
        return (Candidate(str(name)) for name in sorted({getattr(m, field) for m in log.messages} - {None}))

    return source


def _kept(log: Any) -> Iterator[Candidate]:
    yield Candidate("latest", "the newest")
    for head in log.snapshots():
        yield Candidate(head.short, f"{head.timestamp} {head.description}")


def _now(log: Any) -> Iterator[Candidate]:
    yield Candidate("now", "the context as it is")


_OF_LOG: dict[str, tuple[_Source, ...]] = {
    "LABEL": (_marks,),
    "op": (_voidable,),
    "OP": (_ops, _now),
    "snapshot": (_kept,),
    "ids": (_kept,),
    "agent": (_named("agent"),),
    "thread": (_named("thread"),),
    "ROLE": (_named("role"),),
    "A": (_marks, _ops, _now),
    "B": (_marks, _ops, _now),
}
"""Name or metavar of a parameter -> what a log has for it."""


def _keys() -> Completions:
    from ctxkit.store.keys import KEYS

    return found(Candidate(key.name, key.comment) for key in KEYS)


def commands() -> Completions:
    """The commands, each with its line."""
    return found(Candidate(one.name, one.summary) for one in COMMANDS.values())


def session_names() -> Completions:
    """`@`, and the sessions of this project, newest first, each with its title; in time for a person that types."""
    from ctxkit.search.naming import AGENTS, short_ids, titled
    from ctxkit.search.project_sessions import project, project_sessions

    with closing(project_sessions(os.environ, project())) as files:
        some = list(islice(files, OFFERED))
    titles: dict[str, str] = {}
    with suppress(CompletionTimeout):  # names are there without titles
        titles = titled(some, os.environ)
    agents = [name for name, format in AGENTS.items() if name != format or "-" not in name]
    of = {name: next((one for one in some if one.format == AGENTS[name]), None) for name in agents}
    places = [(f"@{i}" if i > 1 else "@", one) for i, one in enumerate(some[:9], 1)]
    names = [*places, *((f"@{name}", one) for name, one in of.items() if one is not None)]
    names += [(f"@{key}", one) for key, one in zip(short_ids(some), some, strict=True)]
    return found(Candidate(name, f"{one.format}  {titles.get(one.path, '')}".strip()) for name, one in names)


def _profiles() -> Completions:
    from ctxkit.store.profiles import PROFILES

    settings = {name: ", ".join(f"{key} = {value}" for key, value in keys.items()) for name, keys in PROFILES.items()}
    return found(Candidate(name, text) for name, text in settings.items())


def _values(name: str) -> Completions:
    from ctxkit.store.keys import KEYS

    key = next((key for key in KEYS if key.name == name), None)
    choices = () if key is None else ("true", "false") if key.kind == "switch" else key.choices
    return found(map(Candidate, choices))


def _formats() -> tuple[str, ...]:
    from ctxkit.formats.registry import names

    return ("auto", *names())


def _states() -> Completions:
    from ctxkit.search.full_search import state_words

    return found(map(Candidate, state_words()))


def _points() -> Completions:
    from ctxkit.recovery.recover import ENDS

    return found([*(Candidate(*one) for one in ENDS.items()), Candidate("checkpoint", "the newest checkpoint")])


_FIXED: dict[str, Callable[[], Completions]] = {
    "log": lambda: FILES,
    "LOG": lambda: FILES,
    "FILE": lambda: FILES,
    "PATH": lambda: FILES,
    "DIR": lambda: FOLDERS,
    "key": _keys,
    "KEY": _keys,
    "chosen": _profiles,
    "COMMAND": commands,
    "from_": lambda: found(map(Candidate, _formats())),
    "format": lambda: found(map(Candidate, _formats())),
    "STATE": _states,
    "POINT": _points,
    "now": lambda: found([Candidate("last", "the newest message"), Candidate("wall", "the clock")]),
}
"""Name or metavar of a parameter -> what does not depend on a log."""
