"""Claude Code's statusLine: the JSON that it gives a command on standard input, and the transcript that this names.

`status --short` tells it from a log by what it is: one object with `transcript_path`, and nothing that a record of a
log has.
"""

from __future__ import annotations

import io
import os
from typing import Any, NamedTuple

from ctxkit.api.log import Log
from ctxkit.cli.log_access import opened
from ctxkit.cli.options import Looking, Reading
from ctxkit.cli.terminal import streams
from ctxkit.cli.terminal.style import allowed
from ctxkit.core.derive.usage import figure
from ctxkit.core.text.json_text import loads
from ctxkit.errors import UnknownFormat
from ctxkit.store.config import Setting
from ctxkit.store.source import Source
from ctxkit.tokens.models import LARGE, MILLION, limit

KEY = "transcript_path"
LARGEST = 1 << 20
"""Bytes of it at most; it has some hundreds."""
RECORD = ("role", "type", "ctxkit", "messages", "payload")
"""What records of logs have, and it has not."""
ORIGIN = "statusLine"
PROGRAM = "claude-code"


class StatusLineInput(NamedTuple):
    """What it says. `transcript`: a path, "" for none yet; `model`: its id, or ""; `size`: of its window, in tokens."""

    transcript: str
    model: str
    size: int | None


class _Found(Exception):  # what was given is no log: nothing of it is read on
    def __init__(self, told: StatusLineInput) -> None:
        super().__init__()
        self.told = told


def told(raw: bytes) -> StatusLineInput | None:
    """What these bytes tell; None for a log. Raises UnknownFormat for such an object that is broken."""
    if f'"{KEY}"'.encode() not in raw or not raw.lstrip().startswith(b"{"):
        return None
    found = _object(raw)
    if found is None:
        if any(_object(line) is not None for line in raw.splitlines()):
            return None  # a log, that has the word in its text
        text = f"standard input is not JSON, though it has the {KEY} that Claude Code gives a statusLine"
        raise UnknownFormat(text, "one object, as Claude Code writes it")
    if KEY not in found or any(key in found for key in RECORD):
        return None
    path, model, window = found[KEY], _under(found, "model"), _under(found, "context_window")
    name, size = model.get("id"), window.get("context_window_size")
    name = name if isinstance(name, str) else ""
    size = figure(size) or (MILLION if name.endswith(LARGE) else None)
    transcript = os.path.expanduser(path) if isinstance(path, str) and "\0" not in path else ""
    return StatusLineInput(transcript, name.removesuffix(LARGE), size)


def target(log: str, reading: Reading, looking: Looking, thread: str | None) -> tuple[Log, bool]:
    """The log that is meant, and whether Claude Code asks. One that is not there yet is empty.

    Raises UnknownFormat, and what `opened` raises.
    """
    try:
        return opened(log, reading, looking, command="status", report=False, thread=thread, before=_look), False
    except _Found as found:
        said = found.told
    streams.Streams.colour = allowed(os.environ, terminal=True)  # Claude Code shows them, though this is a pipe
    if said.transcript and os.path.lexists(said.transcript):
        meant = opened(said.transcript, reading, looking, command="status", report=False, thread=thread)
    else:
        meant = Log.open(io.BytesIO(b""))
    if not meant.messages:
        said = said._replace(size=said.size or limit(said.model, PROGRAM))
    _settle(meant, said)
    return meant, True


def _settle(log: Log, said: StatusLineInput) -> None:
    """The window's size counts as the model's; the model, where the transcript names none. The user's config is first.

    Where it names another one, somebody has just switched: what the provider counted last is nearer than an estimate.
    """
    settings = log.config.settings
    for key, value in (("limit", said.size), ("model", "" if log.model else said.model)):
        if value and log.config.origin(key) == "default":
            settings[key] = Setting(value, ORIGIN)


def _look(source: Source) -> None:
    if source.size <= LARGEST and (found := told(source.read(0, source.size))) is not None:
        raise _Found(found)


def _object(raw: bytes) -> dict[str, Any] | None:
    try:
        found = loads(raw)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _under(found: dict[str, Any], key: str) -> dict[str, Any]:
    value = found.get(key)
    return value if isinstance(value, dict) else {}
