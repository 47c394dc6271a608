"""Reads the JSON that Claude Code gives its statusLine command, and opens the transcript that the JSON names.

`status --short` gets it on standard input instead of a log: one object with `transcript_path`, and without the keys
that records of logs have.
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
from ctxkit.core.text.utf8 import utf8
from ctxkit.errors import UnknownFormat
from ctxkit.settings.config import DEFAULT, Setting
from ctxkit.store.source import Source
from ctxkit.tokens.models import LARGE, MILLION, limit

KEY = "transcript_path"
LARGEST = 1 << 20
"""Most bytes of the JSON; usually it has some hundreds."""
RECORD = ("role", "type", "ctxkit", "messages", "payload")
"""Keys of records of logs, which the JSON does not have."""
ORIGIN = "statusLine"
PROGRAM = "claude-code"


class StatusLineInput(NamedTuple):
    """Its fields. `transcript`: a path, "" for none yet; `model`: an id, or ""; `size`: of the window, in tokens."""

    transcript: str
    model: str
    size: int | None


class _Found(Exception):  # stops `opened`: standard input is no log
    def __init__(self, given: StatusLineInput) -> None:
        super().__init__()
        self.given = given


def parsed(raw: bytes) -> StatusLineInput | None:
    """The fields of the JSON; None for a log. Raises UnknownFormat if the JSON is broken."""
    if utf8(f'"{KEY}"') not in raw or not raw.lstrip().startswith(b"{"):
        return None
    found = _object(raw)
    if found is None:
        if any(_object(line) is not None for line in raw.splitlines()):
            return None  # a log with the word in its text
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
    """The log, and whether Claude Code asks for its status line. A transcript that does not exist yet is empty.

    Raises UnknownFormat, and what `opened` raises.
    """
    try:
        return opened(log, reading, looking, command="status", report=False, thread=thread, before=_look), False
    except _Found as found:
        given = found.given
    streams.Streams.colour = allowed(os.environ, terminal=True)  # Claude Code shows colours, although this is a pipe
    if given.transcript and os.path.lexists(given.transcript):
        meant = opened(given.transcript, reading, looking, command="status", report=False, thread=thread)
    else:
        meant = Log.open(io.BytesIO(b""))
    if not meant.messages:
        given = given._replace(size=given.size or limit(given.model, PROGRAM))
    _set_model(meant, given)
    return meant, True


def _set_model(log: Log, given: StatusLineInput) -> None:
    """Set the limit, and the model if the transcript names none. The user's config has precedence.

    If the transcript names another model, the user has just switched: the provider's last count, which belongs to
    that model, is better than an estimate.
    """
    settings = log.config.settings
    for key, value in (("limit", given.size), ("model", "" if log.model else given.model)):
        if value and log.config.origin(key) == DEFAULT:
            settings[key] = Setting(value, ORIGIN)


def _look(source: Source) -> None:
    if source.size <= LARGEST and (found := parsed(source.read(0, source.size))) is not None:
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
