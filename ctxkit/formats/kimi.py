"""The format of Kimi CLI: `context.jsonl` of a session, `~/.kimi/sessions/<hash of the folder>/<id>/`.

Pipeline: `logfile/read.py` knows whose a log of chat messages is -> here; it has the name of these.

Beside chat messages it has rows of its own: `_system_prompt` is the system prompt, `_checkpoint` a place to go back to,
`_usage` the size of the context up to there, as the provider counted it. Read as its own loader does (PyPI kimi-cli
1.52.0, `soul/context.py`).
"""

from __future__ import annotations

from ctxkit.core.derive.usage import SIZE_ROLE
from ctxkit.core.messages import Span
from ctxkit.core.text.json_text import loads
from ctxkit.core.text.utf8 import utf8
from ctxkit.core.transcript import Transcript
from ctxkit.formats.base import Block
from ctxkit.formats.chat_dialects import Dialect, DialectReader
from ctxkit.formats.chat_programs import KIMI
from ctxkit.formats.foreign_keys import Json

_PROMPT = "_system_prompt"


def put(row: Json) -> Json | None:
    """A row as a chat message; None for a checkpoint, a usage, and what its loader would pass over."""
    role, content = row.get("role"), row.get("content")
    if role == _PROMPT:
        return row | {"role": "system"}
    if not isinstance(role, str) or role.startswith("_"):
        return None
    if isinstance(content, list):
        return row | {"content": [_part(one) for one in content]}
    return row


def _part(part: object) -> object:
    """A part in the form of Anthropic's API, where it is of Kimi's own kind."""
    if isinstance(part, dict) and part.get("type") == "think":
        rest = {key: value for key, value in part.items() if key not in ("type", "think", "encrypted")}
        signed = {"signature": part["encrypted"]} if part.get("encrypted") else {}
        return rest | {"type": "thinking", "thinking": part.get("think")} | signed
    return part


class KimiReader(DialectReader):
    """A Reader (formats/base.py). Also notes which `_usage` says the size of the context up to which message."""

    def __init__(self) -> None:
        super().__init__(FORMAT.name, put)
        self._counts: dict[int, Span] = {}

    def feed(self, block: Block) -> None:
        """Take the next rows."""
        start = 0
        for i in range(len(block.rows)):
            if utf8(f'"{SIZE_ROLE}"') in (raw := block.raw(i)) and _is_size(raw):
                super().feed(block.part(start, i))
                start = i
                if len(self._messages):
                    self._counts[len(self._messages)] = (block.offsets[i], block.sizes[i])
        super().feed(block.part(start, len(block.rows)))

    def finish(self) -> Transcript:
        """The transcript of all that was fed."""
        transcript = super().finish()
        transcript.counts = dict(self._counts)
        return transcript


def _is_size(raw: bytes) -> bool:
    try:
        row = loads(raw)
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and row.get("role") == SIZE_ROLE


class KimiFormat(Dialect):
    """A Format (formats/base.py)."""

    def reader(self) -> KimiReader:
        """A new reader."""
        return KimiReader()


FORMAT = KimiFormat("chat", put, program=KIMI)
