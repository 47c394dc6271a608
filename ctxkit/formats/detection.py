"""Detects the format of a log by its first records.

Pipeline: `store` reads the first records of a log, `detect` names the format, whose reader then reads all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ctxkit.errors import UnknownFormat
from ctxkit.formats import chat_programs
from ctxkit.formats.base import Format
from ctxkit.formats.chat import FOREIGN
from ctxkit.formats.chat import FORMAT as CHAT
from ctxkit.formats.foreign_keys import dialect, is_foreign, is_message
from ctxkit.formats.registry import DETECTED, FAMILIES, by_name, fits

HEAD = 64
"""The number of first, and of last, records that are examined."""


def chosen(asked: str, head: Sequence[dict[str, Any]], tail: Sequence[dict[str, Any]] = ()) -> Format:
    """The format that `asked` names; for a provider's name or `auto`, the format detected by the log's records.

    A log with another program's keys is never native. Raises UnknownFormat, which names the keys that were found.
    """
    if asked not in ("auto", *FAMILIES):
        found = by_name(asked)
        return FOREIGN if found is CHAT and any(map(is_foreign, (*head[:HEAD], *tail))) else found
    found = detect(head, tail)
    if fits(asked, found.name):
        return found
    text = f"this is not a log of the format {asked}: it is of {found.name}"
    raise UnknownFormat(text, "without --from the format is recognized by content")


def detect(head: Sequence[dict[str, Any]], tail: Sequence[dict[str, Any]] = ()) -> Format:
    """The format of a log by its first records, without ops; without any record, native.

    `tail`: its last records, which may show that another program owns a log of chat messages. Raises UnknownFormat,
    which names the keys that were found.
    """
    head = [record for record in head[:HEAD] if not isinstance(record.get("ctxkit"), str)]
    if not head:
        return CHAT
    foreign = any(map(is_foreign, (*head, *tail)))
    is_chat = not foreign and is_message(head[0])
    if is_chat and not any("type" in record for record in head):
        return CHAT
    if foreign and (name := dialect(head)):
        return by_name(name)
    for one in map(by_name, FAMILIES["openai"][:2] if is_chat else DETECTED):
        if one.detect(head):
            return FOREIGN if one is CHAT and foreign else one
    from ctxkit.formats.unsupported import refused

    raise refused(head[0], "its first record has")


def of_program(name: str) -> Format | None:
    """The format of the rows of a program that keeps chat messages; None if they are like anybody's."""
    match name:
        case chat_programs.KIMI:
            from ctxkit.formats import kimi

            return kimi.FORMAT
        case chat_programs.GPTME:
            from ctxkit.formats import gptme

            return gptme.FORMAT
        case chat_programs.NANOBOT:
            from ctxkit.formats import nanobot

            return nanobot.FORMAT
    return None
