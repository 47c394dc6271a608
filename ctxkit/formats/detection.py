"""Which format a log has, by its first records.

Pipeline: `store` reads the first records of a log, `detect` names the format whose reader then takes all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ctxkit.errors import UnknownFormat
from ctxkit.formats.base import Format
from ctxkit.formats.chat import FOREIGN
from ctxkit.formats.chat import FORMAT as CHAT
from ctxkit.formats.foreign_keys import dialect, is_foreign, is_message
from ctxkit.formats.registry import DETECTED, FAMILIES, by_name, fits

HEAD = 64
"""How many of the first records are looked at, and of the last."""


def chosen(asked: str, head: Sequence[dict[str, Any]], tail: Sequence[dict[str, Any]] = ()) -> Format:
    """The format that `asked` names; of a provider's or `auto`, by the log's first records, and its last.

    A log that carries another program's keys is never native, whatever it is read as. Raises UnknownFormat, which says
    what was seen.
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
    """The format of a log from its first records, ops left out; none at all is a native log.

    `tail`: its last records, which can show that a log of chat messages is another program's. Raises UnknownFormat,
    which says what was seen.
    """
    head = [record for record in head[:HEAD] if not isinstance(record.get("ctxkit"), str)]
    if not head:
        return CHAT
    foreign = any(map(is_foreign, (*head, *tail)))
    at_once = not foreign and is_message(head[0])
    if at_once and not any("type" in record for record in head):
        return CHAT
    if foreign and (told := dialect(head)):
        return by_name(told)
    for one in map(by_name, FAMILIES["openai"][:2]) if at_once else _formats():
        if one.detect(head):
            return FOREIGN if one is CHAT and foreign else one
    from ctxkit.formats.unsupported import refused

    raise refused(head[0], "its first record has")


def _formats() -> Iterator[Format]:
    return (by_name(name) for name in DETECTED)
