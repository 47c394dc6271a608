"""Messages that a program holds, read as a log in memory, so that all that works on logs works on them.

Pipeline: a list of dicts -> JSON lines -> `logfile/read.py`, as a log on standard input -> `api/fit.py`,
`api/prompt.py`. Which message came from which dict is kept, so that what goes back are the very dicts that came.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

import msgspec

from ctxkit.api.log import Log
from ctxkit.core.text.json_text import dumps, finite
from ctxkit.errors import BadMessage, UnknownFormat
from ctxkit.formats import detection
from ctxkit.logfile.read import NATIVE
from ctxkit.store.config import Setting
from ctxkit.store.source import Source

M = TypeVar("M", bound=Mapping[str, Any])
"""A message, in whatever form a program has it: what comes out is of the type that went in."""

System = str | Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""A system prompt that is given apart: words, Anthropic's list of blocks, Gemini's `{"parts": [...]}`."""

FORMS = {
    "chat": "a message needs a string `role`: OpenAI's and Anthropic's messages, rows of a chat log",
    "gemini": "a content needs a list of `parts`",
    "responses": "an item needs a `type` that goes to a model, or a `role`",
}
"""The formats that messages may be in, and what one of each needs."""

NAME = "the list"


class InMemoryMessages(Generic[M]):
    """Messages with the log that they are. `form`: a key of FORMS. `owner[i]`: the number of the message that
    `messages[i]` is, or is a part of.
    """

    def __init__(self, messages: Sequence[M], log: Log, form: str, sizes: Sequence[int], before: int) -> None:
        self.messages, self.log, self.form = messages, log, form
        owner = _owners(log, sizes)
        for i, n in enumerate(owner[before:]):
            if n is None:
                raise BadMessage(f"messages[{i}] is not a message: {_brief(messages[i])}", FORMS[form])
        self.owner: list[int] = [n for n in owner[before:] if n is not None]


def given(
    messages: Sequence[M], *, system: System | None = None, windows: bool = False, env: Mapping[str, str] | None = None
) -> InMemoryMessages[M]:
    """`messages`, with what `system` says before them, as a log. The config is that of a log on standard input:
    `ctxkit.toml` in the working folder and above, the environment (`env`), the user's own.

    `windows`: hide what windows of the config hide; else all of them are looked at. Raises BadMessage, which names the
    index of what is no message, and BadConfig.
    """
    for i, message in enumerate(messages):
        if not isinstance(message, Mapping):
            hint = "its model_dump(exclude_none=True) is one" if hasattr(message, "model_dump") else FORMS["chat"]
            raise BadMessage(f"messages[{i}] is not a dict: {_brief(message)}", hint)
        if isinstance(message.get("ctxkit"), str):
            raise BadMessage(f"messages[{i}] is an op of ctxkit, not a message", "a log with its ops: Log.open(path)")
    form = _form(messages)
    first = [] if system is None else [_system(form, system)]
    lines = list(_lines([*first, *messages], len(first)))
    source = Source(NAME, b"\n".join([*lines, b""]))
    log = Log.open(source, format=form, env=os.environ if env is None else env)
    if not windows:
        log.config = log.config.given({"window.default": "off"})
        log.config.agents.clear()
        log.config.settings["window.messages"] = Setting(None, "argument")
    return InMemoryMessages(messages, log, form, list(map(len, lines)), len(first))


def _form(messages: Sequence[Mapping[str, Any]]) -> str:
    """The format of a list: by its first message, and by those that say of what type they are."""
    if not messages:
        return NATIVE
    told = (one for one in messages[1:] if "type" in one)
    head = [dict(messages[0]), *(dict(one) for one, _ in zip(told, range(detection.HEAD - 1), strict=False))]
    head += map(dict, messages[1 : detection.HEAD - len(head) + 1])
    try:
        found = detection.detect(head).name
    except UnknownFormat as error:
        raise BadMessage(f"messages[0] is not a message: {error.message}", FORMS["chat"]) from error
    if found not in FORMS:
        text = f"messages[0] is not a message: this is a record of a {found} session"
        raise BadMessage(text, "Log.open(path) reads a session; its context is what it was to its program")
    return found


def _system(form: str, system: System) -> dict[str, Any]:
    if form != "gemini":
        return {"role": "system", "content": system}
    if isinstance(system, str):
        return {"role": "system", "parts": [{"text": system}]}
    return {"role": "system", "parts": system["parts"] if isinstance(system, Mapping) else system}


def _lines(records: Sequence[Mapping[str, Any]], before: int) -> Iterator[bytes]:
    encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode
    for i, record in enumerate(records):
        try:
            yield encode(record if type(record) is dict else dict(record))
        except (TypeError, ValueError, OverflowError, RecursionError):
            yield _spelt(record, i - before)


def _spelt(record: Mapping[str, Any], i: int) -> bytes:
    """What the fast way refuses: lone surrogates, numbers without end."""
    try:
        return dumps(finite(dict(record))).encode("ascii")
    except RecursionError as error:
        raise BadMessage(f"messages[{i}] is nested too deeply") from error
    except (TypeError, ValueError) as error:
        raise BadMessage(f"messages[{i}] is not JSON: {error}", "texts, numbers, lists and dicts are") from error


def _owners(log: Log, sizes: Sequence[int]) -> list[int | None]:
    """For each line the number of the message that it opens or is more of; None for what is no message."""
    owner: list[int | None] = [None] * len(sizes)
    for n, row in enumerate(log.transcript.row_of, start=1):
        owner[row] = n
    if None in owner:
        place = {offset: row for row, offset in enumerate(accumulate((size + 1 for size in sizes), initial=0))}
        for message in log.messages:
            for offset, _ in message.more:
                owner[place[offset]] = message.n
    return owner


def _brief(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:60]}…"
