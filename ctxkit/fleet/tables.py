"""The five tables that logs become, and Scout's: the one declaration of their columns, with types and meaning.

`rows.py` makes the rows of one log, a dataset (`ingest.py`) and queries hold those of many. The schema of Arrow is made
from this; pyarrow is loaded only for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ctxkit.errors import Usage

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA = 2
"""Version of the tables. Raised with every column that changes its name, type or meaning, or is added."""
SCHEMA_KEY = "ctxkit_schema"
"""Where the version stands in the metadata of a Parquet file."""
INSTALL = "pip install 'ctxkit-cli[fleet]'"

Type = Literal["text", "int", "float", "bool", "time"]
"""`text`: UTF-8; `int`: 64 bits; `float`: 64 bits; `time`: microseconds in UTC, in rows a text of ISO 8601."""


class TableColumn(NamedTuple):
    """A column. `meaning`: what a cell says, in a sentence; where it may be null, it says when. `json`: the text is
    JSON. `secret`: `--redact` takes secrets out of it.
    """

    name: str
    type: Type
    meaning: str
    json: bool = False
    secret: bool = False


TABLES: dict[str, tuple[TableColumn, ...]] = {
    "transcripts": (
        TableColumn("transcript_id", "text",
                    "The transcript, the same in all tables: a digest of `source_uri` and of the conversation in it. "
                    "It stays the same while the source grows."),
        TableColumn("source_type", "text",
                    "The format: `claude-code`, `codex`, `chat`, … Null if the source could not be read."),
        TableColumn("source_id", "text",
                    "The name of the file without its ending: with most agents, the session's id."),
        TableColumn("source_uri", "text", "The path or URL of the source."),
        TableColumn("date", "time", "The time of the first message with one; null if none has one."),
        TableColumn("agent", "text", "The program that wrote the log; null for a `chat` log."),
        TableColumn("model", "text", "The model of the newest answer that names one, else null.", secret=True),
        TableColumn("message_count", "int", "Messages of the log, in the context or not."),
        TableColumn("total_tokens", "int",
                    "Tokens of all requests and answers that the log records, without those of history that it says it "
                    "copied from another session (forks of Claude Code and pi); null if it records none."),
        TableColumn("total_time", "float", "Seconds from the first message's time to the last's; null without times."),
        TableColumn("error", "text", "Why the source could not be read; else null.", secret=True),
        TableColumn("ctxkit_in_context", "int", "Messages in the context now."),
        TableColumn("ctxkit_tokens", "int", "Tokens of the context now, as `ctxkit status --no-assembly` counts them."),
        TableColumn("ctxkit_counter", "text", "What counted them."),
        TableColumn("ctxkit_trust", "text", "How sure they are: `exact`, `calibrated`, `range`, `encoding`, `guess`."),
        TableColumn("ctxkit_ops", "int", "Ops in force."),
        TableColumn("ctxkit_compactions", "int", "Compactions, by the program and by ctxkit."),
        TableColumn("ctxkit_damaged", "int", "Damaged places of the log and its ops."),
        TableColumn("ctxkit_end", "text",
                    "How the log ends: `clean`, or `interrupted` with a call or a question open."),
        TableColumn("ctxkit_title", "text",
                    "The session's title, or the beginning of its first question.", secret=True),
        TableColumn("ctxkit_conversation", "int", "Which conversation of a file with many; null for the others."),
        TableColumn("ctxkit_bytes", "int", "Bytes of the source."),
        TableColumn("ctxkit_sha256", "text", "SHA-256 of the source's bytes."),
    ),
    "messages": (
        TableColumn("transcript_id", "text", "The transcript."),
        TableColumn("n", "int", "The number of the message; null for one that an op brought in."),
        TableColumn("item", "text",
                    "The name of one that an op brought in (`7.1`: item 1 of op 7); null for the others."),
        TableColumn("role", "text", "`system`, `user`, `assistant`, `tool`, and others."),
        TableColumn("kind", "text",
                    "`system`; `prompt`, which a person typed; `synthetic`, in the user's role, but nobody typed it; "
                    "`reply`; `call`, a reply with calls of tools; `result`; `summary`; `item`, anything else that an "
                    "op brought in."),
        TableColumn("tool", "text",
                    "The tools that it calls or that it has results of, joined by commas; null for none.", secret=True),
        TableColumn("call_id", "text", "The ids of these calls, joined by commas; null for none.",
                    secret=True),
        TableColumn("error", "bool",
                    "Whether a result in it is marked as an error, or says that the command failed; null if it has no "
                    "result."),
        TableColumn("ts", "time", "Its time; null if it has none."),
        TableColumn("text", "text", "All its text: words, thinking, calls with their arguments, results.", secret=True),
        TableColumn("tokens", "int", "Tokens: of the form that is in the context, for others of the original."),
        TableColumn("bytes", "int", "Bytes of its rows in the log; of one that an op brought in, those of its text."),
        TableColumn("in_context", "bool", "Whether it is in the context."),
        TableColumn("shortened", "bool", "Whether an op shortened it or took parts out."),
        TableColumn("out_kind", "text",
                    "What took it out: the name of an op, `program`, `branch`, `sidechain`, `window`, …; null in the "
                    "context."),
        TableColumn("out_by_op", "int", "The op that took it out first, as in `ops`; null if no op did."),
        TableColumn("branch", "text",
                    "Why its program would not go on with it: `branch`, `sidechain`, `cut-off`, …; null on the active "
                    "path."),
        TableColumn("thread", "text", "Its sidechain; null for the main thread.", secret=True),
        TableColumn("agent", "text", "The agent that it names; null for none.", secret=True),
        TableColumn("sha256", "text",
                    "SHA-256 of its rows as they are in the log; of one that an op brought in, of its text."),
    ),
    "ops": (
        TableColumn("transcript_id", "text", "The transcript."),
        TableColumn("op", "int", "The number of the op; null for what the log's own program did."),
        TableColumn("id", "text", "The id of the op; null for what the program did.", secret=True),
        TableColumn("ts", "time", "Its time; null if it has none, and for what the program did."),
        TableColumn("n", "int", "Messages before it."),
        TableColumn("kind", "text",
                    "`forget`, `compact`, `undo`, …; `program` for a compaction or rewind of the log's own program."),
        TableColumn("label", "text",
                    "The label of a mark, or what the program did: `compacted by Codex at line 12`.", secret=True),
        TableColumn("ids", "text", "The messages that it names, as ranges; null for none."),
        TableColumn("before", "int", "Messages in the context before it; null if it does not say."),
        TableColumn("after", "int", "Messages in the context after it."),
        TableColumn("before_tokens", "int", "Tokens in the context before it, as it says."),
        TableColumn("after_tokens", "int", "Tokens in the context after it."),
        TableColumn("void", "bool", "Whether an undo voided it."),
        TableColumn("text", "text", "The summary of a compact; null for others.", secret=True),
        TableColumn("by", "text", "What made it: command line, version, model. In SQL `\"by\"`, in quotes.", json=True,
                    secret=True),
    ),
    "requests": (
        TableColumn("transcript_id", "text", "The transcript."),
        TableColumn("n", "int", "The answer: its number in `messages`; of one in parts, the first."),
        TableColumn("ts", "time", "Its time; null if it has none."),
        TableColumn("model", "text", "The model that it names, else that of the log.", secret=True),
        TableColumn("input", "int", "Tokens of the request, the cached ones included."),
        TableColumn("cached", "int", "Of these, read from the provider's cache."),
        TableColumn("cache_write", "int", "Of these, written to the cache."),
        TableColumn("output", "int", "Tokens of the answer, thinking included."),
        TableColumn("reasoning", "int", "Of these, reasoning, where it is counted apart."),
        TableColumn("cost", "float", "What it cost in dollars, if the log records it; else null."),
    ),
    "files": (
        TableColumn("transcript_id", "text", "The transcript."),
        TableColumn("path", "text", "The file, as the call names it.", secret=True),
        TableColumn("n", "int", "The message with the call."),
        TableColumn("touched", "text", "`read`, `edited`, `written`, `created` or `deleted`."),
        TableColumn("part", "text", "Which part was read, as it was asked for; null for all of it.", json=True,
                    secret=True),
        TableColumn("in_context", "bool", "Whether the message with the call is in the context."),
        TableColumn("outdated", "bool", "Whether a later call repeats this read, or made it outdated."),
        TableColumn("last", "bool", "Whether this is the newest touch of this file."),
        TableColumn("state", "text",
                    "What the newest touch that changed the file did to it: `edited`, `written`, `created` or "
                    "`deleted`; `read` if none changed it."),
    ),
}  # fmt: skip
"""Table -> its columns, in order."""

SCOUT = "scout"
_SHARED = (
    "transcript_id", "source_type", "source_id", "source_uri", "agent", "model", "message_count", "total_tokens",
    "total_time", "error",
)  # fmt: skip
SCOUT_COLUMNS = (
    *(one for one in TABLES["transcripts"] if one.name in _SHARED),
    TableColumn("date", "text", "The time of the first message with one, ISO 8601 in UTC; null if none has one."),
    TableColumn("messages", "text",
                "The conversation as Inspect's list of ChatMessage: the log's main thread, whole, whether it is in the "
                "context or not.", json=True, secret=True),
    TableColumn("events", "text",
                "Inspect's list of events: compactions and trims, without those that were undone.", json=True),
)  # fmt: skip
"""The columns of the table that Inspect Scout reads, of the types that it checks. A dataset has it if it was asked."""
COLUMNS = TABLES | {SCOUT: SCOUT_COLUMNS}
"""Table -> its columns, with Scout's."""


def schema(table: str) -> pa.Schema:
    """The Arrow schema of a table, with the version in its metadata. Raises Usage if pyarrow is not installed."""
    return _schema(table, arrow().timestamp("us", "UTC"))


def _schema(table: str, time: pa.DataType) -> pa.Schema:
    pa = arrow()
    types = {"text": pa.large_string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_(), "time": time}
    fields = [pa.field(one.name, types[one.type]) for one in COLUMNS[table]]
    return pa.schema(fields, metadata={SCHEMA_KEY: str(SCHEMA)})


def table(name: str, rows: Sequence[dict[str, Any]]) -> pa.Table:
    """Rows of `rows.rows` as an Arrow table of the schema of the table `name`. Raises Usage without pyarrow."""
    pa = arrow()
    return pa.Table.from_pylist(list(rows), schema=_schema(name, pa.large_string())).cast(schema(name))


def arrow() -> Any:
    """pyarrow. Raises Usage if it is not installed."""
    try:
        import pyarrow
    except ImportError as error:
        raise missing("pyarrow") from error
    return pyarrow


def missing(library: str) -> Usage:
    """The error for a library of the extra `fleet` that is not installed."""
    return Usage(f"this needs {library}, which is not installed: nothing was read", INSTALL)
