"""The rows of nanobot: chat messages with a time, the first of which it may have archived into its memory.

Pipeline: `logfile/read.py` knows whose a log of chat messages is -> here. The row `"_type": "metadata"` says how many
messages are archived; they stay in the file and are not sent.

Source: PyPI nanobot-ai 0.3.5, `session/manager.py`
(`_archive_offset`, `get_history`). Not followed: the summary that it may keep in that row's metadata.
"""

from __future__ import annotations

from ctxkit.core.text.json_text import dumps
from ctxkit.core.text.utf8 import utf8
from ctxkit.core.transcript import Transcript
from ctxkit.formats.base import Block
from ctxkit.formats.chat_dialects import Dialect, DialectReader, record_of
from ctxkit.formats.chat_programs import NANOBOT
from ctxkit.formats.foreign_keys import Json
from ctxkit.formats.gptme import timed

_COUNTS = ("last_archived", "last_consolidated")
"""Names of the count, the newer one first."""
_METADATA = utf8(dumps("metadata"))


def hides(row: Json) -> bool:
    """Whether a row is a command of the user's to the program, which no model gets."""
    return bool(row.get("_command"))


class NanobotReader(DialectReader):
    """A Reader (formats/base.py). Also notes how many messages are archived."""

    def __init__(self) -> None:
        super().__init__(FORMAT.name, timed, hides)
        self._archived = 0

    def feed(self, block: Block) -> None:
        """Take the next rows."""
        for i in range(len(block.rows)):
            if _METADATA in (raw := block.raw(i)):
                row = record_of(raw) or {}
                if row.get("_type") == "metadata":
                    self._archived = next((row[key] for key in _COUNTS if type(row.get(key)) is int), 0)
        super().feed(block)

    def finish(self) -> Transcript:
        """The transcript of all that was fed."""
        if 0 < self._archived <= len(self._messages):
            self._hidden = sorted({*self._hidden, *range(1, self._archived + 1)})
        return super().finish()


class _Nanobot(Dialect):
    """A Format (formats/base.py)."""

    def reader(self) -> NanobotReader:
        """A new reader."""
        return NanobotReader()


FORMAT = _Nanobot("chat", timed, program=NANOBOT)
