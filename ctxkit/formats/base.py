"""What a format is: how its records are recognised, read into messages, and read again in full.

Pipeline: `store/jsonl.py` turns bytes into `Block`s of a format's `Row`; the format's `Reader` makes a `Transcript` of
them. A format is one file (or folder) and one line in `formats/registry.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import msgspec

from ctxkit.core.messages import Content, Message, Part, Repairs, Text
from ctxkit.core.transcript import Transcript


class Row(msgspec.Struct, gc=False):
    """One line, decoded as far as reading needs. Every format's row derives from this.

    Fields are `Any`, `msgspec.Raw` (default `msgspec.Raw(b"")`), or unions of nested structs with all other types
    (`core/text/json_structs.py`), never narrower: a value of an unexpected type must not make the record unreadable. A
    line with a string under `ctxkit` is an op.
    """

    ctxkit: Any = None


class Block(msgspec.Struct):
    """Consecutive whole records.

    `rows[i]` starts at byte `offsets[i]` of the log, is `sizes[i]` bytes long, and is on line `lines[i]`. `data` holds
    the bytes from `base` on, so that a record can be decoded in full.
    """

    rows: Sequence[Any]
    offsets: Sequence[int]
    sizes: Sequence[int]
    lines: Sequence[int]
    data: bytes
    base: int

    def raw(self, i: int) -> bytes:
        """The bytes of record i."""
        start = self.offsets[i] - self.base
        return self.data[start : start + self.sizes[i]]

    def part(self, start: int, end: int) -> Block:
        """The records from `start` to before `end`."""
        kept = {name: getattr(self, name)[start:end] for name in ("rows", "offsets", "sizes", "lines")}
        return msgspec.structs.replace(self, **kept)


class Reader(Protocol):
    """Takes a log's rows in order. It keeps its state: after `finish`, more may be fed (a log that grew)."""

    def feed(self, block: Block) -> None:
        """Take the next rows."""

    def finish(self) -> Transcript:
        """The transcript of all that was fed; `damage` is filled by the caller."""


class RecordLinks(NamedTuple):
    """The ids that link a record to others: its own, its parent's, its session's, and that of the session of which
    this one is a fork; "" for none.
    """

    id: str = ""
    parent: str = ""
    session: str = ""
    origin: str = ""

    @classmethod
    def of(cls, id: Any = None, parent: Any = None, session: Any = None, origin: Any = None) -> RecordLinks:
        """The links from values of any type; what is not text counts as none."""
        return cls(*(value if isinstance(value, str) else "" for value in (id, parent, session, origin)))


class Inherited(NamedTuple):
    """What a log goes on from: the rows before row `rows` of a history, up to byte `end` of the file of `thread`.

    -1 for a number, or "", that the log should have named and did not.
    """

    thread: str
    rows: int
    end: int


UNKNOWN = Inherited("", -1, -1)
"""It goes on from something that cannot be read."""


class Format(Protocol):
    """One shape of transcript. A format derives from it and overrides what its program does differently."""

    name: str
    native: bool
    """True if ctxkit itself may append messages and ops to the file."""
    edits: bool = False
    """True if later rows may change an earlier message."""
    row: type[Row]
    was_chat: bool = False
    """True if its files were read as native logs before the format was added. A file with ops stays one."""
    leaves: frozenset[str] = frozenset()
    """What its program does not mend, so that the session cannot go on, as codes of `check`: it sends a call without a
    result (`no-result`) or a result without a call (`no-call`), and its provider refuses the request; or it refuses a
    file with records of another session itself (`other-session`). Source: docs/agents.md."""
    pairs: bool = True
    """Whether its program takes the results of a step together, also from behind words of the user's, the first of each
    call alone. False if it leaves each where it stands."""
    program: str = ""
    """The program of `formats/chat_programs.py` whose rows these are; its files were read as plain chat messages
    before the format was added, perhaps with other numbers."""
    agents: tuple[str, str, str] | None = None
    """Where the program keeps its agents' logs, or None: the folder, inside the one named like the log (without its
    ending), and what a file's name has before and after the agent's name. There may be folders in it."""

    def detect(self, head: Sequence[dict[str, Any]]) -> bool:
        """Whether the first records of a file (without ops, at most 50) have this format.

        Objects inside of them may be undecoded (`msgspec.Raw`).
        """

    def reader(self) -> Reader:
        """A new reader."""

    def content(self, message: Message, rows: list[dict[str, Any]]) -> Content:
        """The message in full, from the JSON objects of its rows (the opening one first)."""

    def links(self, record: dict[str, Any]) -> RecordLinks | None:
        """What links a record to others, for `check`; None if nothing does. Ids that may occur twice are left out."""
        return None

    inherits: re.Pattern[bytes] | None = None
    """Bytes of a first row that says that the history begins in another file, also if it is damaged; None if no file of
    the format goes on from another."""

    def inherited(self, first: dict[str, Any]) -> Inherited | None:
        """What a file with this first row goes on from, where its history begins in another file (replay 70)."""
        return None

    def history_files(self, beside: Path, thread: str) -> Sequence[Path]:
        """The files that may hold a thread, found from a file or folder of the same program; the likeliest first.

        Raises OSError if there is none where it could look, and it could not look everywhere.
        """
        return ()

    def misfit(self, base: Inherited, first: bytes, last: bytes) -> str:
        """Why a file with this first row, and `last` as the last one before `base.end`, is not what `base` names; "" if
        it is.
        """
        return ""

    def alone(self, first: bytes) -> bytes:
        """The first row of a file, without what `inherited` reads from it: that of a file with the whole history."""
        return first

    def begins(self, row: Any) -> bool:
        """Whether a file whose history begins in another one is read from this row on, wherever it stands."""
        return False

    def unopened(self, first: dict[str, Any], last: dict[str, Any]) -> tuple[str, bool] | None:
        """Why its program does not open a file with these rows, and whether it is for the last one; None if it does."""
        return None

    def is_newest(self, path: Path) -> bool:
        """Whether its program would go on with this file of a session, of which there may be others beside it."""
        return True

    def recorded(self, message: Message, rows: list[dict[str, Any]]) -> Content:
        """The message as a search reads it: only the words that the rows hold, also those that are not shown."""
        return self.content(message, rows)

    def typed(self, content: Content) -> str:
        """The words that somebody typed or a model wrote, if the program keeps these apart."""
        return "\n".join(part.text for part in content.parts if isinstance(part, Text))

    def title(self, holding: Callable[[bytes], Iterator[dict[str, Any]]]) -> str:
        """The newest name that the program itself gave the session; "" if it has none.

        `holding(literal)`: the records whose line contains these bytes, the newest first.
        """
        return ""

    def sent(
        self, contents: Sequence[Content], answered: frozenset[str], model: str, *, own: bool = True,
        words: bool = False,
    ) -> tuple[Sequence[Content], Repairs] | None:  # fmt: skip
        """What the log's own program would send of a context; None if there is no such program.

        `answered`: ids of all calls that have a result anywhere in the log. `model`: of the request, "" for the log's.
        `own`: for the program's own provider; for another one stays, for its writer, what the program has words for.
        `words`: the request has a place for thinking of any model, so the words of all of it stay thinking.
        The returned sequence reads `contents` again when it is used, and keeps none of them.
        """
        return None

    def sent_verbatim(self, content: Content) -> bool:
        """Whether a request holds the message as the log has it, and not in the program's own words."""
        return True

    def portable(
        self, contents: Sequence[Content], answered: frozenset[str]
    ) -> tuple[Sequence[Content | None], Repairs]:
        """A context for another program's log, message by message, without what is sent to no model.

        None stands for a message that is left out (failed responses, API errors). `answered`, and what is kept: as in
        `sent`.
        """
        return contents, Repairs()

    def prefix(self, log: ProvenLog, contents: Iterable[Content]) -> Prefix | None:
        """The newest recorded request that one of `contents` answers; None if no requests are recorded in full."""
        return None

    def with_known_role(self, content: Content, repairs: Repairs) -> Content | None:
        """A message in a role that models know, or None if it is never sent. `repairs` counts both."""
        return content

    def instructs(self, content: Content, part: Part) -> bool:
        """Whether a part of a message is the program's own instruction to its model (tools, rules, environment).

        Nobody typed it, and it is wrong for another program.
        """
        return False

    def proofs(self, log: ProvenLog) -> Proofs | None:
        """Whether the program's own records of its requests agree with the context; None if the log holds none."""
        return None

    def upheld(self, log: ProvenLog, repairs: Repairs) -> Iterable[bytes] | None:
        """A session that ops changed, without the program's records of requests that it does not bear out any longer,
        which are counted; None if all stay.
        """
        return None


class ProofMismatch(msgspec.Struct):
    """A record of what was sent that disagrees with the log. `code` never changes."""

    line: int
    code: str
    text: str


class UnprovedRequest(msgspec.Struct):
    """A request that cannot be checked, since the log does not hold enough. `line`: of its record."""

    line: int
    request: str
    text: str


class Proofs(msgspec.Struct):
    """The result of comparing a log's own records of its requests with its context.

    `requests`: recorded requests; `proved`: those of which every message agrees; `messages`: messages of these, counted
    once per request; `given`: those of them with words that the log has only in a copy of what was sent.
    """

    requests: int = 0
    proved: int = 0
    messages: int = 0
    given: int = 0
    wrong: list[ProofMismatch] = []
    unproved: list[UnprovedRequest] = []


class ProvenLog(msgspec.Struct):
    """A log to be proved: `size` in bytes; `read(offset, size)` gives bytes, `blocks(row_type)` the records."""

    size: int
    read: Callable[[int, int], bytes]
    blocks: Callable[[type[Row]], Iterable[Block]]


class Prefix(msgspec.Struct):
    """A request as its program recorded it. `system`, `tools`: as sent; `messages`: if the log holds them all.

    `kept`: signatures of thinking that was made after the same bytes, in order. `answer`: signatures and ids of calls
    of the response to the request, which comes directly after the messages.
    """

    system: Any
    tools: Any
    messages: list[dict[str, Any]] = []
    kept: list[str] = []
    answer: set[str] = set()


class NewSession(msgspec.Struct):
    """What a session file says about itself; the caller gives all of it.

    `id`: the session's id, "" = the log's own. `time`: ISO, UTC, for messages without one. `cwd`: the folder that the
    program runs in. `model`: for messages that name none. `fresh`: makes a new id (uuid4) at each call.
    """

    id: str
    time: str
    cwd: str
    model: str
    fresh: Callable[[], str]


class MessageToWrite(msgspec.Struct):
    """A message of the context that is written.

    `n`: its number in the log, 0 if ctxkit made it (a summary, an edit's literal, an invented result). `content`: None
    if unchanged, else the new content. `ts`: its time, ISO, if known. `bare`: write it without its thinking, which is
    bound to what came before it.
    """

    n: int
    content: Content | None = None
    ts: str | None = None
    bare: bool = False


class Edited(msgspec.Struct):
    """A session's log and the context after ops: the input of `rewrite`.

    `context`: the messages in order; calls and results are paired. `gone`: numbers that ops took out: their rows are
    left out, on every branch. `moved`: the context is not in the log's order, or holds what its program would not send,
    so the chain is written anew. Without ops, `context` is the log's own and `gone` is empty. `size`: bytes of the log
    that count; `read(offset, size)` gives bytes, `blocks(row_type)` the records.
    """

    transcript: Transcript
    context: list[MessageToWrite]
    gone: frozenset[int]
    moved: bool
    size: int
    read: Callable[[int, int], bytes]
    blocks: Callable[[type[Row]], Iterator[Block]]

    @property
    def changed(self) -> bool:
        """Whether anything besides ids changes."""
        return bool(self.gone) or self.moved or any(kept.content is not None or kept.bare for kept in self.context)


class Written(msgspec.Struct):
    """A session file.

    `pieces`: its bytes, which are whole lines together. If they are made as they are read, `repairs`, `count` and
    `keys` are complete only after the last piece. `refused`: as in `Exported`.

    `id`: the session's id; `name`: the file's name in its program; `count`: messages in the context. `keys`: lists of
    `Message.key`s in order; reading the context must give one of these lists; none: its words are compared instead.
    `said`: bytes of the messages as JSON if counted while writing, else 0.
    """

    id: str
    name: str
    pieces: Iterable[bytes]
    repairs: Repairs
    count: int
    keys: list[list[str]] = []
    refused: list[str] = []
    said: int = 0


@runtime_checkable
class SessionFormat(Format, Protocol):
    """A format whose session files ctxkit writes, so that its program can continue them."""

    def write(self, context: Iterable[MessageToWrite], session: NewSession) -> Written:
        """A new session from contents of any format (`n` is ignored); calls and results are paired already."""

    def rewrite(self, edited: Edited, session: NewSession) -> Written:
        """The session of a log of this format after ops: every kept record keeps its bytes, except ids."""
