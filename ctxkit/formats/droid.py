"""The Factory Droid format: sessions under `~/.factory/sessions/<project>/<id>.jsonl`.

Pipeline: `formats/registry.py` lists `FORMAT`. The first row describes the session; rows of type `message` hold
messages in the form of Anthropic's API. The rows look like pi's, whose calls and results have other kinds. The reading
follows public reports.
"""

from __future__ import annotations

from ctxkit.formats.chat_dialects import Dialect
from ctxkit.formats.foreign_keys import Json


def put(row: Json) -> Json | None:
    """A row as a chat message."""
    message = row.get("message")
    if row.get("type") != "message" or not isinstance(message, dict) or not isinstance(message.get("role"), str):
        return None
    return message | ({"ts": row["timestamp"]} if "timestamp" in row else {})


FORMAT = Dialect("droid", put)
