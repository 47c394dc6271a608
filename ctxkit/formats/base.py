"""What a format is: how its rows are recognised, read into messages, and given back in full.

Pipeline: `store/jsonl.py` turns bytes into `Block`s of a format's `Row`; the format's `Reader` makes a
`Transcript` of them. A format is one file (or folder) and one line in `formats/registry.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import msgspec

from ctxkit.core.messages import Content, Message, Part, Repairs, Text
from ctxkit.core.transcript import Transcript


class Row(msgspec.Struct, gc=False):
    """One line, decoded as far as reading needs. Every format's row derives from this.

    Fields are `Any`, `msgspec.Raw` (default `msgspec.Raw(b"")`), or nested structs beside all else
    (`core/text/json_structs.py`), never narrower: what is of an unexpected type must not make a whole record
    unreadable. A string `ctxkit` makes the line an op.
    """

    ctxkit: Any = None


class Block(msgspec.Struct):
    """A run of whole records: `rows[i]` stands at `offsets[i]` (bytes in the log), `sizes[i]` long, on line `lines[i]`.

    `data` holds the bytes from `base` on, so that a record can be decoded in full while it is at hand.
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
        """The records `start` to `end`, without the latter."""
        kept = {name: getattr(self, name)[start:end] for name in ("rows", "offsets", "sizes", "lines")}
        return msgspec.structs.replace(self, **kept)


class Reader(Protocol):
    """Takes a log's rows in order. Stateful: `finish` may be called again after more was fed (a log that grew)."""

    def feed(self, block: Block) -> None:
        """Take the next rows."""

    def finish(self) -> Transcript:
        """The transcript of all that was fed; `damage` is left empty for the caller."""


class RecordLinks(NamedTuple):
    """What ties a record to others: its own id, that of the record it hangs on, its session's; "" for none."""

    id: str = ""
    parent: str = ""
    session: str = ""

    @classmethod
    def of(cls, id: Any = None, parent: Any = None, session: Any = None) -> RecordLinks:
        """The same of whatever stands in a record."""
        return cls(*(value if isinstance(value, str) else "" for value in (id, parent, session)))


class Format(Protocol):
    """One shape of transcript. A format derives from it, and says otherwise where its program does."""

    name: str
    native: bool
    """True where ctxkit itself may append messages and ops to the file."""
    edits: bool = False
    """True where further rows of a message say it anew, after others came."""
    row: type[Row]
    was_chat: bool = False
    """True where its files were taken for native logs before it was known: one that holds an op keeps its ops."""
    agents: tuple[str, str, str] | None = None
    """Where its program keeps what agents did, in files of their own: the folder in the one that is named like the log
    (without its ending), and what stands before and behind an agent's name."""

    def detect(self, head: Sequence[dict[str, Any]]) -> bool:
        """Whether the first records of a file (ops left out, at most 50) look like this format.

        What stands inside of objects in them may be undecoded (`msgspec.Raw`).
        """

    def reader(self) -> Reader:
        """A new reader."""

    def content(self, message: Message, rows: list[dict[str, Any]]) -> Content:
        """The message in full, from the JSON objects of its rows (the opening one first)."""

    def ties(self, record: dict[str, Any]) -> RecordLinks | None:
        """What ties a record to others, for `check`; None where nothing does. Ids that may stand twice are left out."""
        return None

    def recorded(self, message: Message, rows: list[dict[str, Any]]) -> Content:
        """The same for a search: the words that the rows hold, and no others, also those that are not shown."""
        return self.content(message, rows)

    def typed(self, content: Content) -> str:
        """The words of a message as somebody typed or a model said them, as far as the program keeps these apart."""
        return "\n".join(part.text for part in content.parts if isinstance(part, Text))

    def title(self, holding: Callable[[bytes], Iterator[dict[str, Any]]]) -> str:
        """What the program itself calls the session, as it last named it; "" where it does not.

        `holding(literal)`: the records in whose line these bytes stand, the newest first.
        """
        return ""

    def sent(
        self, contents: Sequence[Content], answered: frozenset[str], model: str
    ) -> tuple[Sequence[Content], Repairs] | None:
        """What the log's own program would send of a context; None where no program of its own stands behind it.

        `answered`: ids of calls whose result stands anywhere in the log; `model`: of the request, "" for the log's.
        What is given reads the `contents` again when it is asked for, and holds none of them.
        """
        return None

    def stands(self, content: Content) -> bool:
        """Whether a message stands in a request as the log has it; not where the program has its own words for it."""
        return True

    def handed(self, contents: Sequence[Content], answered: frozenset[str]) -> tuple[Sequence[Content | None], Repairs]:
        """A context as it goes on to another program's log: message by message, without what is sent to no model.

        None in place of what does not go on at all (failed responses, API errors). `answered`, and what is held: as of
        `sent`.
        """
        return contents, Repairs()

    def prefix(self, log: ProvenLog, contents: Iterable[Content]) -> Prefix | None:
        """The newest noted request that one of `contents` answers; None where no system prompt and tools are noted."""
        return None

    def voiced(self, content: Content, repairs: Repairs) -> Content | None:
        """A message in a role that models know; None for what is never sent. Both are counted."""
        return content

    def instructs(self, content: Content, part: Part) -> bool:
        """Whether a part of a message is what the program itself tells its model: how to work, with what, and where.

        Nobody typed it, and it is not true of another program.
        """
        return False

    def proofs(self, log: ProvenLog) -> Proofs | None:
        """What the program's own notes of its requests prove of the context; None where a log holds no such notes."""
        return None


class ProofMismatch(msgspec.Struct):
    """Something that was noted of what was sent, and that the log does not bear out. `code` is stable."""

    line: int
    code: str
    text: str


class UnprovedRequest(msgspec.Struct):
    """A request of which the log does not hold enough to say what was sent. `line`: where it is noted."""

    line: int
    request: str
    text: str


class Proofs(msgspec.Struct):
    """What a log's own notes of its requests say of its context.

    `requests`: how many are noted; `proved`: for how many every message is what was sent; `messages`: how many these
    hold, a message once per request; `given`: as many of them hold words that the log has nowhere else but in a copy
    of what was sent.
    """

    requests: int = 0
    proved: int = 0
    messages: int = 0
    given: int = 0
    wrong: list[ProofMismatch] = []
    unproved: list[UnprovedRequest] = []


class ProvenLog(msgspec.Struct):
    """A log that is proved: `size` bytes, of which `read(offset, size)` gives any, `blocks(row_type)` the records."""

    size: int
    read: Callable[[int, int], bytes]
    blocks: Callable[[type[Row]], Iterable[Block]]


class Prefix(msgspec.Struct):
    """A request as its program noted it. `system`, `tools`: as sent, with the `messages`, where the log holds them all.

    `kept`: signatures of thinking that was made behind the same bytes, in order; `answer`: signatures and ids of calls
    of the answer that the request got, which stands right behind the messages.
    """

    system: Any
    tools: Any
    messages: list[dict[str, Any]] = []
    kept: list[str] = []
    answer: set[str] = set()


class NewSession(msgspec.Struct):
    """What a session file says of itself, all of it injected.

    `id`: its session's id, "" = the log's own is kept. `time`: ISO, UTC, for what has none. `cwd`: the folder that its
    program runs in. `model`: who is said to have spoken where nothing says it. `fresh`: a new id (uuid4) at each call.
    """

    id: str
    time: str
    cwd: str
    model: str
    fresh: Callable[[], str]


class MessageToWrite(msgspec.Struct):
    """A message of the context that is written.

    `n`: its number in the log, 0 for what ctxkit brought in (a summary, an edit's literal, a result that was made up).
    `content` is None where it stands as the log has it; else it is what it says now. `ts`: its time, ISO, if known.
    `bare`: it goes without its thinking, which is bound to what stood before it.
    """

    n: int
    content: Content | None = None
    ts: str | None = None
    bare: bool = False


class Edited(msgspec.Struct):
    """A session's log, and what ops made of it: what a `rewrite` works on.

    `context`: the messages in order; pairs that ops broke are whole again. `gone`: numbers that ops took out: their
    rows are left out, whatever branch they are on. `moved`: the context is not in the log's own order, or holds what
    its program would not send: the chain is to be written anew. Without ops `context` is the log's own and `gone`
    empty. `size`: bytes of the log that count; `read(offset, size)` gives them, `blocks(row_type)` its records.
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
        """Whether anything but ids is to be changed."""
        return bool(self.gone) or self.moved or any(kept.content is not None or kept.bare for kept in self.context)


class Written(msgspec.Struct):
    """A session file: `pieces` are its bytes, whole lines all together; where they are made as they are asked for,
    `repairs`, `count` and `keys` are known when all are. `refused`: as of `Exported`.

    `id`: its session's id; `name`: what its program calls the file; `count`: messages in the context. `keys`: the
    `Message.key` of each message of its context in order, of which reading it must give one list; none: its words.
    `said`: bytes of what its messages say, as JSON, where that was counted as they were written; else 0.
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
    """A format whose files another program goes on with, and that ctxkit writes."""

    def write(self, context: Iterable[MessageToWrite], session: NewSession) -> Written:
        """A new session from contents of whatever format (`n` says nothing); calls and results are paired already."""

    def rewrite(self, edited: Edited, session: NewSession) -> Written:
        """The session of a log of this format after ops: every record that is kept keeps its bytes, but for ids."""
