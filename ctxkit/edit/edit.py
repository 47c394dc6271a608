"""Makes a draft of a log's messages, and one op of the edited draft.

Pipeline: log -> `Editing.text` -> an editor -> `Editing.decide` -> `Log.commit`. `edit/draft.py` defines drafts; here
their blocks are read from the log, and changed messages become literals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, Self

from ctxkit.core.context import entry
from ctxkit.core.decision import Decision
from ctxkit.core.item_names import Name, Names
from ctxkit.core.messages import Call, Content, Image, Other, Part, Result, Text, Thinking
from ctxkit.core.ops import LogPosition, Op, Undo
from ctxkit.core.select import Selection
from ctxkit.core.sets.ranges import Ranges
from ctxkit.core.sets.runs import order
from ctxkit.core.state import State
from ctxkit.core.text.json_text import spelled
from ctxkit.core.times import iso
from ctxkit.core.visibility import IN, Visibilities
from ctxkit.edit import plain as plainly
from ctxkit.edit.arrange import arranged
from ctxkit.edit.decide import EditOffer, decide, live, mistakes, without_emptied
from ctxkit.edit.draft import PREVIEW, Base, DraftBlock, FoldedPart, Piece, based, pieces
from ctxkit.edit.parse import Parsed, base_of, parse
from ctxkit.errors import BadDraft, NothingChanges, NothingMatched, UpdatedElsewhere, Usage
from ctxkit.formats.chat_lines import lines
from ctxkit.logfile.commit import WritableLog

HARMLESS = frozenset({"mark", "protect", "unprotect", "window"})
"""Ops that do not change what a draft shows."""
CAME = "were added meanwhile: they stay after the edit"
CANCELLED = "no message is left in the draft: the edit is cancelled, nothing was changed"


class Editing:
    """One edit of `log`: offers the messages `names`, in the state of the log at `base` (None: now).

    `plain`: the draft is a plain one (`edit/plain.py`); `told`: a conversation.
    """

    def __init__(
        self, log: WritableLog, names: Names, base: Base | None = None, *, plain: bool = False, told: bool = False
    ) -> None:
        self.log = log
        self._plain = plain
        self._told = told
        state, projection = log.state(), log.projection()
        self.state = state
        self.at = log.here() if base is None else LogPosition(base.messages, base.last, base.rows)
        self._context = [name for name in order(state, projection) if self._had(name)]
        self._visibilities = Visibilities(state, projection)
        self._shown, self._chosen = Names.of(self._context), names
        self._every = arranged(state, self._context, filter(self._had, editable(state)))
        self._base = base

    @classmethod
    def of(cls, log: WritableLog, asked: Selection, *, only_context: bool, plain: bool = False) -> Self:
        """An edit of the selected messages. Raises NothingMatched, Usage, and what a selection raises."""
        state = log.state()
        if asked.thread in state.threads:
            text = f"thread {asked.thread} is a sidechain, and an edit is of the main thread: nothing was changed"
            raise Usage(text, "forget and remember take --thread")
        every = order(state, log.projection()) if only_context else editable(state)
        if asked.empty:
            names = Names.of(every)
        else:
            ordered = list(every) if only_context else sorted(every, key=state.key)
            chosen = log.select(asked, ordered)
            names = Names.of(name for name in ordered if name in chosen)
        if not names:
            raise NothingMatched("there is no message to edit: nothing was changed")
        return cls(log, names, plain=plain)

    @cached_property
    def offer(self) -> EditOffer:
        """The offered messages, all in memory."""
        blocks = [(name, self._block(name)) for name in self._offered()]
        named = {block.label: name for name, block in blocks}
        return EditOffer({block.label: block for _, block in blocks}, named, self._context, self._every)

    def _offered(self) -> Iterator[Name]:
        return (name for name in self._every if name in self._chosen)

    @cached_property
    def base(self) -> Base:
        """The state of the log that the draft is of."""
        if self._base is not None:
            return self._base
        ops, shown = self.log.ledger.entries, Names.of(self._offered())
        inside = live(self.state.label(name) for name in self._offered() if name in self._shown)
        return Base(
            self.at.messages, self.at.rows or 0, len(ops), self.at.last or "", ops[-1].id if ops else "", str(shown),
            inside,
        )  # fmt: skip

    @property
    def text(self) -> str:
        """The draft."""
        return "".join(self.pieces())

    def pieces(self) -> Iterator[str]:
        """The draft in pieces; at most one message is in memory."""
        name, blocks = self.log.opening.name, map(self._block, self._offered())
        if not self._plain:
            return pieces(name, self.base, blocks)
        return plainly.pieces(name, self.base, blocks, plainly.keys(map(self._timed, self._offered())))

    @property
    def based(self) -> str:
        """The line %%= of the draft, without its end."""
        return (plainly.plainly_based if self._plain else based)(self.base).rstrip("\n")

    def parsed(self, text: str) -> Parsed:
        """The edited draft in `text`."""
        if not self._plain:
            return parse(text)
        return plainly.parse_plain(text, self.offer.blocks, self.log.config.agents, told=self._told)

    def _timed(self, name: Name) -> tuple[str, str]:
        """The label and the time of a message, as in its block."""
        moment = self.state.original(name)
        return self.state.label(name), "" if moment is None else iso(moment)

    def decide(self, parsed: Parsed) -> Decision:
        """The decision for a draft. Raises BadDraft with all its mistakes; NothingChanges if no message is left."""
        wrong = mistakes(parsed, self.offer.blocks)
        if wrong:
            error = BadDraft("the draft has mistakes: nothing was changed")
            error.mistakes = tuple((mistake.line, mistake.text) for mistake in wrong)
            error.name("draft")
            raise error
        as_it_was = bool(parsed.blocks) and self.base.live == live(())  # the context was empty, and still is
        blocks = without_emptied(parsed.blocks, self.offer.blocks)
        if all(block.out for block in blocks) and not as_it_was:
            raise NothingChanges(CANCELLED, "ctxkit clear empties the context")
        decision = decide(self.state, self.at, self.offer, blocks, self._literal, self.base.live)
        if decision.op is not None:
            decision.notes += self._came(self.log)
        return decision

    def recheck(self, op: Op) -> None:
        """Called if the log has grown: adds a note; raises UpdatedElsewhere if other ops came."""
        now = self.log.afresh()
        require_same_ops(now, self.base)
        self.log.notes = [*(note for note in self.log.notes if not note.endswith(CAME)), *self._came(now)]

    def _came(self, log: WritableLog) -> list[str]:
        first, last = self.at.messages + 1, len(log.messages)
        if last < first:
            return []
        count = last - first + 1
        return [f"{count} message{'s' * (count != 1)} ({Ranges.span(first, last)}) {CAME}"]

    def _had(self, name: Name) -> bool:
        return not isinstance(name, int) or name <= self.at.messages

    def _block(self, name: Name) -> DraftBlock:
        state, label, found = self.state, self.state.label(name), entry(self.state, name)
        content, moment = self.log.full(found), self.state.original(name)
        remarks, own = [content.name or ""], {"agent": "", "thread": ""}
        for key in own:
            value = getattr(found.message, key) if found.message else found.item and found.item.message.get(key)
            own[key] = value if isinstance(value, str) else ""
            remarks.append(f"{key} {value}" if isinstance(value, str) else "")
        if found.item is not None:
            tells = f"tells {state.brief(found.item.tells)}" if found.item.tells else ""
            remarks.append(tells or (f"from {state.label(found.item.origin)}" if found.item.origin is not None else ""))
        remarks += ["shortened" if found.stub is not None else "", "protected" if found.protected else ""]
        visibility = self._visibilities.of(name)
        if visibility.kind != IN:
            remarks.append(visibility.words)
        return DraftBlock(
            label, content.role, tuple(_pieces(label, content)), name not in self._shown,
            "" if moment is None else iso(moment), "; ".join(filter(None, remarks)), content.name or "", own["agent"],
        )  # fmt: skip

    def _literal(self, name: Name | None, block: DraftBlock | None) -> dict[str, Any]:
        """The record of a message: as it is shown (no block), as the block changes it, or (no name) a new one."""
        if name is None:
            new = block or DraftBlock("", "user")
            content = Content(new.role, _parts(new, []), new.name or None)
            return next(lines([content])) | ({"agent": new.agent} if new.agent else {})
        found = entry(self.state, name)
        if found.item is not None and block is None and found.stub is None:
            return found.item.message
        content = self.log.full(found)
        if block is not None:
            content = Content(block.role, _parts(block, content.parts), content.name, content.rows)
        record = next(lines([content]))
        if found.message is not None:
            own = {"agent": found.message.agent, "thread": found.message.thread}
            record = {**{key: value for key, value in own.items() if value is not None}, **record}
        return record


def editable(state: State) -> Iterator[Name]:
    """All messages and items except those of sidechains."""
    return (name for name in state.everything() if state.aside_in(name) is None)


class Applying:
    """Applies the text of an edited draft, perhaps much later."""

    def __init__(self, log: WritableLog, text: str) -> None:
        self.log = log
        self._text = text
        self.editing: Editing | None = None

    def decide(self) -> Decision:
        """The decision for the draft. Raises BadDraft, NothingChanges, UpdatedElsewhere."""
        log, base = self.log, base_of(self._text)
        if base is not None:
            require_same_ops(log, base)
            self.editing = Editing(log, _names(base), base, plain=plainly.is_plain(self._text))
        elif plainly.is_conversation(self._text):
            self.editing = Editing(log, Names.of(editable(log.state())), plain=True, told=True)
        else:
            if not self._text.strip():
                raise NothingChanges(CANCELLED, "ctxkit clear empties the context")
            text = "the line %%= is missing, so the draft's log is unknown: nothing was changed"
            raise BadDraft(
                text, "a draft of `ctxkit edit LOG --print`, or a conversation: [2025-01-18 22:15:03] NAME: TEXT"
            )
        return self.editing.decide(self.editing.parsed(self._text))

    def recheck(self, op: Op) -> None:
        """Check again after the log has grown, as `Editing.recheck`."""
        if self.editing is not None:
            self.editing.recheck(op)


def _names(base: Base) -> Names:
    try:
        return Names.parse(base.shown)
    except ValueError as error:
        raise BadDraft(f"the draft's line %%= was changed: {error}: nothing was changed") from error


def require_same_ops(log: WritableLog, base: Base) -> None:
    """Raises BadDraft if the draft is of another log; UpdatedElsewhere if other ops were appended since."""
    name, ops = log.opening.name, log.ledger.entries
    known = 0 <= base.messages <= len(log.messages) and 0 <= base.ops <= len(ops) and base.rows >= 0
    known = known and (log.identity(base.messages) if base.messages else "") == base.last
    known = known and (ops[base.ops - 1].id if base.ops else "") == base.op
    if not known:
        hint = f"ctxkit edit {name} --print makes a draft of it"
        raise BadDraft(f"the draft is not of {name}, or the log was changed: nothing was changed", hint)
    since = ops[base.ops :]
    undone = {one.id for one in since}
    since = [
        one for one in since
        if not (one.void or one.name in HARMLESS or (isinstance(one.op, Undo) and one.op.op in undone))
    ]  # fmt: skip
    if since:
        what = f"{since[0].name} (op {since[0].number})"
        text = f"updated elsewhere: {what} was appended to {name} since the draft was made: nothing was changed"
        raise UpdatedElsewhere(text, f"make another draft; or ctxkit undo {name} {since[0].number}")


def _pieces(label: str, content: Content) -> Iterable[Piece]:
    for number, part in enumerate(content.parts, start=1):
        yield part.text if isinstance(part, Text) else FoldedPart(label, number, _words(part))


def _words(part: Part) -> str:
    """The description of a part that is not text, on one line."""
    match part:
        case Thinking(text=text):
            found = f"thinking {text}"
        case Call(name=name, arguments=arguments):
            found = f"call {name} {arguments if isinstance(arguments, str) else spelled(arguments)}"
        case Result(content=inner, is_error=is_error):
            result = inner if isinstance(inner, str) else " ".join(_texts(inner))
            found = f"{'failed' if is_error else 'result'} ({len(result):,} characters) {result}"
        case Image(media_type=kind, data=data, url=url):
            found = f"image {kind} {len(data) * 3 // 4:,} bytes" if data else f"image {url}"
        case Other(kind=kind):
            found = kind
        case Text(text=text):
            found = text
    short = " ".join(found[: 2 * PREVIEW].split())
    return f"{short[:PREVIEW]}…" if len(short) > PREVIEW or len(found) > 2 * PREVIEW else short


def _texts(parts: Iterable[Part]) -> Iterable[str]:
    return (part.text if isinstance(part, Text) else _words(part) for part in parts)


def _parts(block: DraftBlock, was: list[Part]) -> list[Part]:
    """The parts of a message as a block has them; a text in place of a message's only result becomes its content."""
    results = [part for part in was if isinstance(part, Result)]
    folds = [piece.part for piece in block.pieces if isinstance(piece, FoldedPart)]
    if len(results) == len(was) == 1 and not folds and block.pieces:
        text = "\n".join(piece for piece in block.pieces if isinstance(piece, str))
        return [Result(results[0].id, text, results[0].is_error)]

    return [Text(piece) if isinstance(piece, str) else was[piece.part - 1] for piece in block.pieces]
