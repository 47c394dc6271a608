"""Sessions in which every text that a format has room for holds a secret: canaries, made anew at each run.

A canary is put behind one text of the records after the other, and stays where the session is still read as the same
messages. Words that a program reads itself (types, roles, ids of records, times) so stay as they are.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from typing import Any

from ctxkit import Log
from ctxkit.core.text.json_text import loads
from ctxkit.store.source import Source
from tests.damage.sessions import DOCUMENTS, Session


def canary() -> str:
    """A key of GitHub, as its programs write them."""
    return "ghp" + "_" + secrets.token_hex(18)


Place = tuple[str | int, ...]


def places(value: Any, path: Place = ()) -> Iterator[Place]:
    """The texts of a JSON value."""
    if isinstance(value, str):
        yield path
    elif isinstance(value, dict | list):
        for key, held in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(held, (*path, key))


def text_at(value: Any, path: Place) -> str:
    """The text at a place."""
    for key in path:
        value = value[key]
    return str(value)


def with_text(value: Any, path: Place, text: str) -> Any:
    """The value with another text at a place."""
    if not path:
        return text
    copied = value.copy()
    copied[path[0]] = with_text(value[path[0]], path[1:], text)
    return copied


def _read(data: bytes, format: str) -> list[Any] | None:
    try:
        log = Log.open(Source("session", data), format=format, env={})
        kinds = [[type(part) for part in log.content(one.n).parts] for one in log.messages]
        rows = [(one.role, one.key, one.calls, one.results, one.ts) for one in log.messages]
        return [log.opening.format.name, len(log.transcript.damage), *rows, *kinds, *log.listed()]
    except Exception:  # whatever a record with words in the place of an id does: the canary does not go there
        return None


def filled(session: Session, more: str = "") -> tuple[bytes, list[str]]:
    """A session with canaries in all its texts, and the canaries. `more`: what each text has besides."""
    document = session in DOCUMENTS.values()
    records = [loads(session.clean)] if document else [loads(line) for line in session.lines]

    def written() -> bytes:
        return b"".join(json.dumps(one).encode() + b"\n" for one in records)

    known = _read(written(), session.format)
    assert known
    made = []
    for at, record in enumerate(records):
        for path in places(record):
            one = canary()
            before = records[at]
            text = text_at(before, path)
            inner = loads(text.encode()) if text[:1] == "{" else None
            if isinstance(inner, dict):  # the arguments of a call
                said = json.dumps(inner | {"key": one, "nested": [{"words": f"say {one}"}]})
            else:
                said = f"{text} {one}{more}".strip()
            records[at] = with_text(before, path, said)
            if _read(written(), session.format) == known:
                made.append(one)
            else:
                records[at] = before
    return written(), made
