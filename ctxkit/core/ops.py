"""The ops: one class per op, with its fields as in the log (docs/log-format.md).

Pipeline: a decision makes an op, `stamp` adds its envelope, and `store` appends its line; `ledger` reads it back and
`replay` applies it. `Op` is the closed union of these classes: code that handles each op ends with `assert_never`, so
mypy names the place that misses one. Each class declares in `folded` which of its fields the replay reads; the others
are provenance, which is kept unchanged, whatever it holds.
"""

from __future__ import annotations

from functools import cache
from typing import Any, ClassVar, Protocol, TypeAlias, get_args

import msgspec

from ctxkit.core.item_names import Name, Names
from ctxkit.core.text.json_text import digest, finite
from ctxkit.core.times import spoken

VERSION = 1
"""Of an op that says no other."""
PARTS_VERSION = 2
"""Of a forget or trim that leaves parts out: an older ctxkit, which would leave out none, refuses it."""
SHORT_VERSION = 3
"""Of a forget or remember that writes a shortened summary again: an older ctxkit, which shows it whole, refuses."""
PLACE_VERSION = 2
"""Of a restore by which messages return to their places: an older ctxkit would put them at the end, so it refuses."""
SUM_DIGITS = 16
LARGEST = 2**53
"""Of a number in an op: what every program that reads JSON can hold."""

Index = int | tuple[int, int]
"""A part of a message: its place from 0; of a part inside a result the result's place, and its own in there."""


class LogPosition(msgspec.Struct, omit_defaults=True):
    """How far the log reached when the op was decided: messages, identity of the last one, non-op rows."""

    messages: int
    last: str | None = None
    rows: int | None = None


class Count(msgspec.Struct, omit_defaults=True):
    """The size of a context before window, filters and budget (replay 52)."""

    messages: int
    tokens: int | None = None
    counter: str | None = None


class Speaker(Protocol):
    """Writes names of messages, ops and snapshots as people read them; it knows the state."""

    def names(self, text: str) -> str:
        """Messages and items."""

    def op(self, key: Any) -> str:
        """The op with this id."""

    def snapshot(self, key: str) -> str:
        """The snapshot with this id."""


class Envelope(msgspec.Struct, tag_field="ctxkit", kw_only=True, omit_defaults=True):
    """The fields of every op. `id` is unique and made before the write; `ts` is ISO UTC; `prev` is the digest of
    the op before it (`core/chain.py`); `sum` detects damage of the rest.
    """

    folded: ClassVar[frozenset[str]]
    """The fields of this op that the replay reads, besides those of `ENVELOPE_FOLDED`."""
    brings_in: ClassVar[str] = ""
    """What of this op reaches the model, in words."""
    gone: ClassVar[str] = ""
    """What is said of a message that this op took out: `forgotten`; "" for an op that takes none out."""
    gone_by: ClassVar[str] = ""
    """The same before the op's number: `forgotten by` op 5."""

    at: LogPosition
    id: str = ""
    v: int = VERSION
    ts: str | None = None
    by: dict[str, Any] | None = None
    before: Count | None = None
    after: Count | None = None
    prev: str | None = None
    sum: str | None = None

    @property
    def name(self) -> str:
        """The command that a reader would type."""
        return str(self.__struct_config__.tag)

    @classmethod
    def about(cls, body: dict[str, Any], say: Speaker) -> str:
        """What an op applies to, in a few words, for a line of `ctxkit log`. Takes the JSON object, which may be
        damaged.
        """
        return _listed(_ids(body, say), _shortened(body, say))


class Clear(Envelope, tag="clear"):
    """A boundary: all messages and marks go, the preamble and `keep` stay; with `agent` only that agent's messages."""

    folded = frozenset({"agent", "keep"})
    gone = "cleared"
    gone_by = "cleared by"

    agent: str | None = None
    keep: str = ""

    @classmethod
    def about(cls, body: dict[str, Any], say: Speaker) -> str:
        """The agent."""
        return f"agent {body['agent']}" if body.get("agent") else ""


class Mark(Envelope, tag="mark"):
    """A position in the log."""

    folded = frozenset({"label"})

    label: str | None = None

    @classmethod
    def about(cls, body: dict[str, Any], say: Speaker) -> str:
        """The label."""
        return repr(body["label"]) if body.get("label") is not None else ""


class Rewind(Envelope, tag="rewind"):
    """Removes what entered after the mark with op id `to`."""

    folded = frozenset({"to"})
    gone = "rewound"
    gone_by = "rewound by"

    to: str
    label: str | None = None

    @classmethod
    def about(cls, body: dict[str, Any], say: Speaker) -> str:
        """The label."""
        return repr(body["label"]) if body.get("label") is not None else ""


class Resummarized(msgspec.Struct, omit_defaults=True):
    """What happens to the summary `op` when one of its messages is forgotten: it gets another `text`, or it is kept.

    `short`: what is shown of the text as long as another op shortens the summary; `tells`: the names that the text was
    made from; "": unknown.
    """

    op: str
    text: str | None = None
    short: str | None = None
    tells: str = ""
    keep: bool = False


class Forget(Envelope, tag="forget"):
    """Removes the messages `ids`, with whole steps, and `planning`; of other messages only `parts`, by name.

    `answer`: a model's answer, if it chose; the `tool` with which it did. `cleans`: for a cleanup, which has only
    `planning`: the id of the forget or remember that it completes. A cleanup is void if that op is.
    """

    folded = frozenset({"ids", "parts", "planning", "summaries", "cleans"})
    brings_in = "the texts of `summaries`"
    gone = "forgotten"
    gone_by = "forgotten by"

    ids: str
    parts: dict[str, list[Index]] = {}
    planning: str = ""
    summaries: list[Resummarized] = []
    criteria: str | None = None
    closed: str = ""
    skipped: str = ""
    answer: dict[str, Any] | None = None
    cleans: str | None = None

    @classmethod
    def about(cls, body: dict[str, Any], say: Speaker) -> str:
        """The messages; for a cleanup, the op that it completes."""
        if body.get("cleans"):
            return f"{say.names(str(body.get('planning', '')))}, cleanup of {say.op(body['cleans'])}"
        return super().about(body, say)


class Remember(Forget, tag="remember"):
    """Keeps only what was chosen: `ids` are the others, which leave."""

    gone = "left out by remember"
    gone_by = "left out by the remember of"


class Recall(Envelope, tag="recall"):
    """Brings back messages that are out for any reason but a boundary."""

    folded = frozenset({"ids"})

    ids: str


class Protect(Envelope, tag="protect"):
    """From now on never compacted, trimmed, windowed out, or forgotten without force."""

    folded = frozenset({"ids"})

    ids: str


class Unprotect(Envelope, tag="unprotect"):
    """Removes the protection."""

    folded = frozenset({"ids"})

    ids: str


class Window(Envelope, tag="window"):
    """The time window in seconds: 0 = off, null = the default; for one agent if `agent` is given."""

    folded = frozenset({"seconds", "agent"})

    seconds: int | None
    agent: str | None = None
    asked: str | None = None

    @classmethod
    def about(cls, body: dict[str, Any], say: Speaker) -> str:
        """How far back the context reaches, and for which agent."""
        seconds = body.get("seconds")
        text = "default" if seconds is None else spoken(seconds) if isinstance(seconds, int) and seconds else "off"
        return f"{text} for {body['agent']}" if body.get("agent") else text


class Compact(Envelope, tag="compact"):
    """Replaces exactly `ids` by a summary `text` (or by nothing); `stubs` stay, shortened.

    `tells`: what `text` was made of beyond `ids`, which the program's own compaction had taken out. `budget`: the
    tokens, by the counter's base, that `text` was made for, so that it can be written again without some messages;
    `focus`: words of lines that counted more. `model`: who wrote it; `asked`: how many `requests` that took, and
    digests of `prompt`, `input` and `reply`; `fallback`: which model gave no summary, and why, if rules wrote it
    instead.
    """

    folded = frozenset({"ids", "text", "stubs", "tells"})
    brings_in = "its `text` and `stubs`"
    gone = "compacted"
    gone_by = "replaced by the summary of"

    ids: str
    text: str | None = None
    tells: str = ""
    stubs: dict[str, Any] = {}
    strategy: str | None = None
    model: str | None = None
    fallback: str | bool | None = None
    target: str | None = None
    budget: int | None = None
    focus: str | None = None
    asked: dict[str, Any] = {}

    @classmethod
    def about(cls, body: dict[str, Any], say: Speaker) -> str:
        """The messages, and the strategy."""
        strategy = body.get("strategy")
        return _listed(super().about(body, say), "" if strategy is None else str(strategy))


class Trim(Envelope, tag="trim"):
    """Drops `ids` and shortens `stubs` to fit a budget in tokens of `counter`; `parts`: as in forget."""

    folded = frozenset({"ids", "parts", "stubs"})
    brings_in = "its `stubs`"
    gone = "trimmed"
    gone_by = "trimmed by"

    ids: str
    parts: dict[str, list[Index]] = {}
    stubs: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    budget: int | None = None
    counter: str | None = None


class Item(msgspec.Struct, rename={"origin": "from"}, omit_defaults=True):
    """One message that an edit or restore puts in: number `n` of this log, or a literal `message`.

    `origin` (`from`): the number or item name that it was made from, or, for one from elsewhere, `{"log", "n"}`, and
    `{"snapshot"}` for the summary of one; `ts`: the original time, for display. `after`, in mode `place`: the name that
    it stands right behind, `.K` for item K of the same op, 0 for the start.
    """

    n: int | None = None
    message: dict[str, Any] | None = None
    origin: int | str | dict[str, Any] | None = None
    ts: Any = None
    protected: bool = False
    after: int | str | None = None


CONTEXT = "[PRIOR_CONTEXT_PROVIDED]"
"""How what an edit brought in is announced."""


class Edit(Envelope, tag="edit"):
    """A boundary, then exactly these items in order."""

    folded = frozenset({"items", "ts"})
    brings_in = "its literals"
    gone = "left out by an edit"
    gone_by = "left out by the edit of"

    items: list[Item]
    shown: str | None = None

    @classmethod
    def about(cls, body: dict[str, Any], say: Speaker) -> str:
        """How many messages the context has after it."""
        items = body.get("items")
        return f"{CONTEXT} {_count(items)}" if isinstance(items, list) else ""


class Restore(Envelope, tag="restore"):
    """A snapshot's messages: appended; numbers at their places (mode `place`); or (mode `replace`) after a boundary."""

    folded = frozenset({"items", "mode", "ts"})
    brings_in = "its literals"
    gone = "replaced by a restore"
    gone_by = "replaced by the restore of"

    items: list[Item]
    mode: str = "append"
    snapshot: dict[str, Any] | None = None
    skipped: str = ""

    @classmethod
    def about(cls, body: dict[str, Any], say: Speaker) -> str:
        """How many messages, and of which snapshot."""
        items, of = body.get("items"), body.get("snapshot")
        count = _count(items) if isinstance(items, list) else ""
        key = str(of.get("id", "")) if isinstance(of, dict) else ""
        return f"{count} of {say.snapshot(key)}" if key else count


class Undo(Envelope, tag="undo"):
    """Undoes the op with id `op`; if that is an undo, it is a redo."""

    folded = frozenset({"op"})

    op: str

    @classmethod
    def about(cls, body: dict[str, Any], say: Speaker) -> str:
        """The op that it undoes."""
        return say.op(body.get("op"))


class Interrupted(Envelope, tag="interrupted"):
    """A program's own line: the messages from the last user message on are dropped. It needs no envelope."""

    folded = frozenset()
    gone = "interrupted"
    gone_by = "interrupted at"

    at: LogPosition = msgspec.field(default_factory=lambda: LogPosition(messages=-1))


def _ids(body: dict[str, Any], say: Speaker) -> str:
    return say.names(str(body.get("ids", "")))


def _shortened(body: dict[str, Any], say: Speaker) -> str:
    """How many messages an op shortened, and from which it removed parts."""
    stubs, parts = body.get("stubs"), body.get("parts")
    short = f"{len(stubs)} shortened" if isinstance(stubs, dict) and stubs else ""
    return _listed(short, f"parts of {say.names(','.join(parts))}" if isinstance(parts, dict) and parts else "")


def _listed(*words: str) -> str:
    return ", ".join(filter(None, words))


def _count(items: list[Any]) -> str:
    return f"{len(items):,} message{'s' * (len(items) != 1)}"


Op: TypeAlias = (
    Forget | Remember | Rewind | Interrupted | Clear | Edit | Restore | Compact | Trim | Mark | Recall | Protect
    | Unprotect | Window | Undo
)  # fmt: skip
"""Every op there is; those that take messages out first, in the order in which `status` lists what is out."""

BY_NAME: dict[str, type[Op]] = {str(kind.__struct_config__.tag): kind for kind in get_args(Op)}

NEWEST: dict[type[Op], int] = {
    Forget: SHORT_VERSION, Remember: SHORT_VERSION, Trim: PARTS_VERSION, Restore: PLACE_VERSION,
}  # fmt: skip
"""The newest version of the ops that have more than one."""

ENVELOPE_FOLDED = frozenset({"at", "id", "v", "sum"})
"""The fields of the envelope that the replay reads."""

NAME_FIELDS = ("ids", "planning", "keep", "closed", "skipped")


def parse(body: dict[str, Any]) -> Op | None:
    """The op of a line's object; None for a name or version that this ctxkit does not know (replay 24).

    Provenance of an unknown shape is left out of the op; `body` still has it. Raises ValueError if a field that the
    replay reads is missing, has the wrong type, or holds no valid names.
    """
    kind = BY_NAME.get(body["ctxkit"])
    version = body.get("v", VERSION)
    newest = NEWEST.get(kind, VERSION) if kind is not None else VERSION
    if kind is None or (isinstance(version, int) and version > newest):
        return None
    try:
        return _converted(body, kind)
    except ValueError:
        odd = odd_provenance(body)
        if not odd:
            raise
        return _converted({key: value for key, value in body.items() if key not in odd}, kind)


def provenance(kind: type[Op]) -> frozenset[str]:
    """The fields of an op that the replay does not read."""
    return frozenset(kind.__struct_fields__) - kind.folded - ENVELOPE_FOLDED


def odd_provenance(body: dict[str, Any]) -> list[str]:
    """The provenance fields of a line's object whose values have an unknown shape."""
    found = []
    for name, shape in _provenance_types(BY_NAME[body["ctxkit"]]).items():
        if name in body:
            try:
                _check(name, msgspec.convert(body[name], shape))
            except ValueError:
                found.append(name)
    return found


@cache
def _provenance_types(kind: type[Op]) -> dict[str, Any]:
    """The type of each field of an op that the replay does not read, in their order."""
    unread = provenance(kind)
    return {field.name: field.type for field in msgspec.structs.fields(kind) if field.name in unread}


def _converted(body: dict[str, Any], kind: type[Op]) -> Op:
    """The op, every field of it checked. Raises ValueError."""
    try:
        op = msgspec.convert(body, kind)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
    for field in op.__struct_fields__:
        _check(field, getattr(op, field))
    for name in getattr(op, "stubs", ()):
        Names.parse(name)
    for name, places in getattr(op, "parts", {}).items():
        if op.v < PARTS_VERSION:
            raise ValueError(f"`parts` need `v` {PARTS_VERSION}")
        if Names.parse(name).single is None or any(min(path(place)) < 0 for place in places):
            raise ValueError(f"{name!r}: {places} are not parts of a message")
    if op.v < SHORT_VERSION and any(retold.short is not None for retold in getattr(op, "summaries", ())):
        raise ValueError(f"`short` needs `v` {SHORT_VERSION}")
    if isinstance(op, Restore) and op.mode == "place" and op.v < PLACE_VERSION:
        raise ValueError(f"mode `place` needs `v` {PLACE_VERSION}")
    for item in getattr(op, "items", ()):
        if (item.n is None) == (item.message is None):
            raise ValueError("an item is either a number `n` or a `message`")
        if isinstance(item.origin, str):
            Names.parse(item.origin)
        if isinstance(item.after, str) and behind(item.after, "op") is None:
            raise ValueError(f"{item.after!r} is not the name of one message")
    return op


def _check(field: str, value: object) -> None:
    """Raises ValueError for a number that is too large, and for invalid names."""
    if isinstance(value, int | float):
        if not -LARGEST < value < LARGEST:
            raise ValueError(f"`{field}` is a number beyond all bounds")
    elif isinstance(value, LogPosition | Count):
        for inner in value.__struct_fields__:
            _check(inner, getattr(value, inner))
    elif field in NAME_FIELDS and isinstance(value, str):
        Names.parse(value)


def behind(after: int | str, op: str) -> Name | None:
    """The name in an item's `after`; `op`: the id of the op that the item is of. None if it is no single name.
    Raises ValueError for what is no name.
    """
    if isinstance(after, int):
        return after
    return Names.parse(op + after if after.startswith(".") else after).single


def path(place: Index) -> tuple[int, ...]:
    """A place as a path: from the message to the part, one or two steps."""
    return place if isinstance(place, tuple) else (place,)


def to_body(op: Op) -> dict[str, Any]:
    """The JSON object of an op without its `sum`, keys in reading order."""
    found: dict[str, Any] = msgspec.to_builtins(op)
    found.pop("sum", None)
    head = ("ctxkit", "v", "id", "ts", "at")
    tail = ("before", "after", "by", "prev")
    body: dict[str, Any] = {"v": op.v}
    body = {key: {**body, **found}[key] for key in head if key in found or key == "v"}
    body.update({key: value for key, value in found.items() if key not in head and key not in tail})
    body.update({key: found[key] for key in tail if key in found})
    return body


def checksum(body: dict[str, Any]) -> str:
    """Digest of an op's canonical JSON, `sum` left out."""
    return digest({key: value for key, value in body.items() if key != "sum"}, SUM_DIGITS)


def sealed(op: Op) -> dict[str, Any]:
    """The JSON object to append: the op with its `sum`. Values of a record that are not JSON become null."""
    body = to_body(op)
    try:
        body["sum"] = checksum(body)
    except ValueError:  # NaN, or an infinity
        body = finite(body)
        body["sum"] = checksum(body)
    return body
