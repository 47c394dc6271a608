"""Describes a file that no format reads, for the error: what it looks like, and what to do.

Pipeline: `formats/detection.py` and `logfile/read.py` ask here when detection failed, `logfile/read.py` also for the
first bytes of every file that does not begin as JSON.
"""

from __future__ import annotations

import re
from typing import Any

from ctxkit.core.text.json_text import loads
from ctxkit.core.text.utf8 import utf8
from ctxkit.errors import UnknownFormat
from ctxkit.formats import registry

BEGINNING = 1 << 16
"""Bytes of a file that is not JSON in which a program's signs are searched."""
_SHOWN_KEYS = 8
_SHAPES: tuple[tuple[frozenset[str], str, str], ...] = tuple(
    (frozenset(keys.split()), words, hint)
    for keys, words, hint in (
        ("mapping current_node", "an export of ChatGPT", ""),
        ("uuid chat_messages", "an export of Claude.ai", ""),
        ("chat user_id share_id", "an export of Open WebUI", "the list below chat.messages can be read"),
        ("run_type inputs", "runs of LangSmith", "the messages in a run's inputs can be read"),
        ("conversation_id history valid_history_range", "a conversation of Kiro CLI", ""),
        ("messages updated_at cumulative_token_usage", "a thread of Zed", ""),
        ("zed version messages", "a text thread of Zed", ""),
        ("schema_version steps agent", "a trajectory in ATIF", "the agent's own session file may be one that is read"),
        ("conversations", "conversations as of ShareGPT", ""),
        ("trajectory history", "a trajectory of SWE-agent", ""),
        ("trajectory environment", "a trajectory of SWE-agent", ""),
        ("messages_display", "few-shot text of tau-bench", ""),
        ("simulations tasks", "runs of tau2-bench", ""),
        ("instance_id history", "runs of OpenHands", ""),
        ("source action", "events of OpenHands", ""),
        ("source observation", "events of OpenHands", ""),
        ("eval samples", "a log of Inspect", "the messages of one sample, as a file of their own, can be read"),
        ("requests responderUsername", "a chat session of VS Code (Copilot)", "Copilot CLI's sessions can be read"),
        ("kind v", "a chat session of VS Code (Copilot), as a log of changes", "Copilot CLI's sessions can be read"),
        ("history workspaceDirectory", "a session of Kiro", "the text of its replies is in other files"),
        ("executionId chat", "an execution of Kiro", ""),
        ("ts type say", "what Cline, Roo or Kilo showed", "api_conversation_history.json beside it can be read"),
        ("ts type ask", "what Cline, Roo or Kilo showed", "api_conversation_history.json beside it can be read"),
        ("composerId", "a composer of Cursor", "transcripts of its agents (*.jsonl) can be read"),
        ("chat_metadata", "a chat of SillyTavern", ""),
        ("prompt response conversation_id", "a log of llm", ""),
        ("prompt completion", "prompts and completions, as fine-tuning had them before chats", ""),
        ("object data", "a page of a list, as an API gives it", "what is in its data can be read"),
        ("type response", "an event of a stream of Responses", "the response itself can be read"),
        ("choices", "an answer of a completion without messages, or pieces of one", ""),
        ("model input", "a request to Responses, or for embeddings", ""),
        ("contents", "a request to Gemini", ""),
    )
)
"""Keys of a record -> what it looks like, what to do."""
PACKED = {
    b"PK\x03\x04": ("a zip archive, as logs of Inspect (.eval) are", "unzip it: the messages of a sample can be read"),
    b"\x1f\x8b": ("compressed by gzip", "gunzip it first"),
    b"\x28\xb5\x2f\xfd": ("compressed by zstd", "unzstd it first"),
    b"BZh": ("compressed by bzip2", "bunzip2 it first"),
    b"\xfd7zXZ\x00": ("compressed by xz", "unxz it first"),
}
"""First bytes of files whose text cannot be seen -> what they look like, what to do."""
_STARTS = {**PACKED, b"# aider chat started at": ("a chat history of aider", "")}
"""First bytes of unsupported files -> what they look like, what to do."""
_CONVERSATION = re.compile(rb"\[[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][^\]\n]*\] ?[^:\n]+:")
_SQLITE = b"SQLite format 3\0"
_TABLE = re.compile(rb"CREATE (?:VIRTUAL )?TABLE (?:IF NOT EXISTS )?[\"'`\[]?(\w+)", re.IGNORECASE)
_DATABASES: tuple[tuple[frozenset[bytes], str, str], ...] = tuple(
    (frozenset(utf8(tables).split()), words, hint)
    for tables, words, hint in (
        ("session message part", "the database of opencode", "opencode export SESSION >session.json can be read"),
        ("goose_db_version sessions messages", "the database of Crush", ""),
        ("schema_version sessions messages", "the database of Goose", "sessions of Goose before 1.10 can be read"),
        ("threads", "the threads of Zed", ""),
        ("cursorDiskKV", "the database of Cursor", "transcripts of its agents (*.jsonl) can be read"),
        ("conversations responses", "the database of llm", ""),
    )
)
"""Tables of a SQLite database -> what it looks like, what to do."""


def refused(record: dict[str, Any], what: str) -> UnknownFormat:
    """The error for a file: `what` introduces the keys of this record ("its first record has")."""
    return _error(*_of_record(record, what))


def seen(record: dict[str, Any], what: str) -> str:
    """The description of a record as part of a sentence."""
    words, _, keys = _of_record(record, what)
    return f"{keys}: it looks like {words}" if words else keys


def refused_file(raw: bytes) -> UnknownFormat | None:
    """The error for a file without a record on a single line; None if it cannot be described."""
    if raw.lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        value = loads(raw)
    except ValueError:
        return None
    if isinstance(value, dict):
        return refused(value, "it is one JSON object with")
    first = next((one for one in value if isinstance(one, dict)), None) if isinstance(value, list) else None
    return None if first is None else refused(first, f"it is a JSON array of {len(value)}, the first with")


def way_in(start: bytes) -> str:
    """How a text without records, with this start, becomes a log; "" if it is no conversation of people."""
    return "ctxkit add NEW.jsonl --create --messages - <FILE" if _CONVERSATION.match(start.lstrip()) else ""


def refused_start(start: bytes, name: str = "") -> UnknownFormat | None:
    """The error for a file with this start, whatever follows; None if it may be a log."""
    if start.startswith(_SQLITE):
        tables = frozenset(_TABLE.findall(start))
        shapes = ((words, hint) for those, words, hint in _DATABASES if those <= tables)
        words, hint = next(shapes, ("a database", ""))
        return _error(words, hint, "it is a SQLite database")
    begins = start.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    for sign, (words, hint) in _STARTS.items():
        if begins.startswith(sign):
            return _error(words, hint, "")
    if name.endswith(".pb") and begins[:1] not in (b"{", b"["):
        return _error("a conversation of Windsurf", "", "protobuf, by its name")
    return None


def _of_record(record: dict[str, Any], what: str) -> tuple[str, str, str]:
    """What a record looks like ("" if unknown), what to do, and its keys."""
    keys = list(record)
    seen = ", ".join(keys[:_SHOWN_KEYS]) + (", …" if len(keys) > _SHOWN_KEYS else "")
    seen = f"{what} the keys {seen or '(none)'}"
    if record.get("kind") == "checkpoint" and "prefix" in record:
        return "a checkpoint, which refers to messages of its log and holds none", _CHECKPOINT, seen
    if item := _item(record):
        return item, "", seen
    if "v" in record and record.get("kind") not in (0, 1, 2):
        record = {key: value for key, value in record.items() if key != "v"}
    return next(((words, hint, seen) for names, words, hint in _SHAPES if names <= record.keys()), ("", "", seen))


_CHECKPOINT = "ctxkit diff LOG FILE compares it with its log; ctxkit restore LOG FILE brings it back"


def _error(words: str, hint: str, seen: str) -> UnknownFormat:
    """The error for a described file."""
    if not words:
        return UnknownFormat(f"this is not a format that ctxkit reads: {seen}", registry.hint())
    text = f"this looks like {words}, which ctxkit does not read"
    return UnknownFormat(f"{text}: {seen}" if seen else text, hint or f"it reads: {', '.join(registry.names())}")


def _item(record: dict[str, Any]) -> str:
    """What an incomplete item of Responses lacks; "" for any other record."""
    from ctxkit.formats.response_kinds import KINDS

    kind = KINDS.get(str(record.get("type")))
    if kind is None or kind.side == "message":
        return ""
    lacking = [key for key, of in kind.keys.items() if of is not None and not isinstance(record.get(key), of)]
    return f"an item of Responses without a sound {', '.join(lacking)}" if lacking else ""
