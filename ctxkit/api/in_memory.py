"""Reads a list of messages as a log in memory, so that everything that works on logs works on it.

Pipeline: a list of dicts -> JSON lines -> `logfile/read.py`, as a log on standard input -> `api/fit.py`,
`api/prompt.py`. Each dict keeps the number of its message, so that the caller gets the same dicts back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

import msgspec

from ctxkit.api.log import Log
from ctxkit.core.text.json_text import dumps, finite
from ctxkit.errors import BadMessage, NothingToSend, UnknownFormat
from ctxkit.formats import detection
from ctxkit.logfile.read import NATIVE
from ctxkit.store.source import GrowingSource, Source

M = TypeVar("M", bound=Mapping[str, Any])
"""The type of a caller's messages; results have the same type."""

System = str | Mapping[str, Any] | Sequence[Mapping[str, Any]]
"""A system prompt separate from the messages: text, Anthropic's list of blocks, Gemini's `{"parts": [...]}`."""

FORMS = {
    "chat": "a message needs a string `role`: OpenAI's and Anthropic's messages, rows of a chat log",
    "gemini": "a content needs a list of `parts`",
    "responses": "an item needs a `type` that goes to a model, or a `role`",
}
"""The formats that messages may have, and what a message of each needs."""

NAME = "the list"
IN_MEMORY = "a log in memory"


def in_memory(lines: Iterable[bytes] = ()) -> Log:
    """A native log in memory that grows as a file does, with these lines."""
    source = GrowingSource(IN_MEMORY)
    for line in lines:
        source.append(line)
    return Log.open(source.now(), format=NATIVE)


def chat_rows(log: Log) -> list[dict[str, Any]]:
    """The context of a log as the chat messages of `ctxkit export --to chat`; none for an empty one."""
    try:
        return list(log.export("chat").values)
    except NothingToSend:
        return []


class InMemoryMessages(Generic[M]):
    """A list of messages, and the log made of it. `form`: a key of FORMS. `owner[i]`: the number of the log's message
    that `messages[i]` is, or is a part of.
    """

    def __init__(self, messages: Sequence[M], log: Log, form: str, sizes: Sequence[int], before: int) -> None:
        self.messages, self.log, self.form = messages, log, form
        owner = _owners(log, sizes)
        for i, n in enumerate(owner[before:]):
            if n is None:
                raise BadMessage(f"messages[{i}] is not a message: {_brief(messages[i])}", FORMS[form])
        self.owner: list[int] = [n for n in owner[before:] if n is not None]


def from_messages(messages: Sequence[M], *, system: System | None = None, windows: bool = False) -> InMemoryMessages[M]:
    """`messages`, after a message for `system`, as a log. The config is that of a log on standard input:
    `ctxkit.toml` in the working folder and above, the environment, the user's own.

    `windows`: whether the windows of the config apply. Raises BadMessage, which names the index of an item that is not
    a message, and BadConfig.
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
    log = Log.open(source, format=form)
    log.is_list = True
    if not windows:
        log.config = log.config.without_windows()
    return InMemoryMessages(messages, log, form, list(map(len, lines)), len(first))


def _form(messages: Sequence[Mapping[str, Any]]) -> str:
    """The format of a list, detected from its first message, then those with a `type`, then others."""
    if not messages:
        return NATIVE
    typed = (one for one in messages[1:] if "type" in one)
    head = [dict(messages[0]), *(dict(one) for one, _ in zip(typed, range(detection.HEAD - 1), strict=False))]
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
            yield _encoded(record, i - before)


def _encoded(record: Mapping[str, Any], i: int) -> bytes:
    """A record that the fast encoder refuses: with lone surrogates, infinity or NaN."""
    try:
        return dumps(finite(dict(record))).encode("ascii")
    except RecursionError as error:
        raise BadMessage(f"messages[{i}] is nested too deeply") from error
    except (TypeError, ValueError) as error:
        raise BadMessage(f"messages[{i}] is not JSON: {error}", "texts, numbers, lists and dicts are") from error


def _owners(log: Log, sizes: Sequence[int]) -> list[int | None]:
    """For each line the number of the message that it begins or continues; None for a line of no message."""
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


def summary_message(form: str, text: str) -> dict[str, Any]:
    """A summary as a user's message of this form."""
    if form == "gemini":
        return {"role": "user", "parts": [{"text": text}]}
    if form == "responses":
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    return {"role": "user", "content": text}
