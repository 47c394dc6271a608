"""The rows of gptme: chat messages with a time, some of which it only shows to its user.

Pipeline: `logfile/read.py` knows whose a log of chat messages is -> here.

Source: PyPI gptme 0.35.1,
`logmanager/manager.py` (`prepare_messages`) and `message.py`.
"""

from __future__ import annotations

from ctxkit.formats.chat_dialects import Dialect
from ctxkit.formats.chat_programs import GPTME
from ctxkit.formats.foreign_keys import Json


def timed(row: Json) -> Json:
    """The row with its time where chat messages have it."""
    moment = row.get("timestamp")
    return row | {"ts": moment} if isinstance(moment, str) and "ts" not in row else row


def hides(row: Json) -> bool:
    """Whether a row is a notice to the user, which no model gets."""
    return row.get("ui_only") is True


FORMAT = Dialect("chat", timed, hides=hides, program=GPTME)
