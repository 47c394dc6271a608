"""Decides an edit: compares the offered blocks with the edited ones, and makes one op, or lists mistakes. Pure.

An unchanged message becomes a reference, any other a literal with its origin and original time. Messages of the context
that were not offered stay at their places.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ctxkit.core.decision import Decision
from ctxkit.core.item_names import Name, Names
from ctxkit.core.ops import CONTEXT, Edit, Item, LogPosition
from ctxkit.core.state import State
from ctxkit.core.text.json_text import canonical
from ctxkit.core.times import iso
from ctxkit.edit.draft import ROLES, DraftBlock, FoldedPart
from ctxkit.edit.parse import DraftMistake, Parsed
from ctxkit.edit.spelling import SIGN, line

UNCHANGED = "Nothing was changed: nothing appended."


class EditOffer(msgspec.Struct, frozen=True):
    """An edit's messages. `blocks`: the offered ones by label, in order; `names`: their names; `context`: the names
    of the context in order, offered or not; `arranged`: these and all others that could be offered.
    """

    blocks: dict[str, DraftBlock]
    names: dict[str, Name]
    context: Sequence[Name]
    arranged: Sequence[Name]

    @property
    def live(self) -> str:
        """Digest of the offered messages that are in the context, in order."""
        return live(block.label for block in self.blocks.values() if not block.out)


def live(labels: Iterable[str]) -> str:
    """Digest of these labels as a list, which is not kept in memory."""
    found, between = hashlib.sha256(b"["), b""
    for label in labels:
        found.update(between + canonical(label))
        between = b","
    found.update(b"]")
    return found.hexdigest()[:DIGITS]


DIGITS = 12
"""Digits of this digest."""
Literal = Callable[[Name | None, DraftBlock | None], dict[str, Any]]
"""Makes the record of a message: as it is shown (no block), as a block changes it, or (no name) a new one."""


def mistakes(parsed: Parsed, offer: Mapping[str, DraftBlock]) -> list[DraftMistake]:
    """The mistakes of a draft, in the order of its lines."""
    found = list(parsed.mistakes)
    places: dict[str, int] = {}
    for block, number in zip(parsed.blocks, parsed.lines, strict=True):
        if block.label and not block.out and places.setdefault(block.label, number) != number:
            text = f"message {block.label} occurs twice, also at line {places[block.label]}; without its number"
            found.append(DraftMistake(number, f"{text} it is a new one"))
            continue
        found += [DraftMistake(number, text) for text in _wrong(block, offer.get(block.label), parsed.told)]
    return sorted(found, key=lambda mistake: mistake.line)


def _wrong(block: DraftBlock, was: DraftBlock | None, told: bool) -> Iterator[str]:
    if block.label and was is None:
        yield f"the draft has no message {block.label}: a new one has no number"
        return
    roles = ROLES if was is None or was.role in ROLES else (*ROLES, was.role)
    if block.role not in roles:
        yield f"no role {block.role!r}: {', '.join(roles)}"
    if block.out:
        return
    if block.time and not told and (was is None or block.time != was.time):
        yield "the time of a message is not edited"
    folds = [piece for piece in block.pieces if isinstance(piece, FoldedPart)]
    parts = {piece.part for piece in was.pieces if isinstance(piece, FoldedPart)} if was is not None else set()
    for fold in folds:
        if fold.label != block.label:
            yield f"part {fold.label}/{fold.part} belongs below a line {SIGN} {fold.label}, which is missing here"
        elif fold.part not in parts:
            yield f"this message has no part {fold.label}/{fold.part}"
    if len({fold.part for fold in folds}) < len(folds):
        yield "a part occurs twice here"
    if was is None and not any(isinstance(piece, str) and piece.strip() for piece in block.pieces):
        yield "a new message without text"


class EditFigures(msgspec.Struct):
    """How many messages an edit changes, and how."""

    left: int = 0
    back: int = 0
    changed: int = 0
    new: int = 0
    moved: bool = False

    def __bool__(self) -> bool:
        return bool(self.left or self.back or self.changed or self.new or self.moved)

    @property
    def words(self) -> str:
        """`2 left out, 1 changed, other order`."""
        counted = (
            (self.left, "left out"), (self.back, "brought back"), (self.changed, "changed"), (self.new, "new")
        )  # fmt: skip
        return ", ".join([f"{count} {word}" for count, word in counted if count] + ["other order"] * self.moved)


def without_emptied(blocks: Sequence[DraftBlock], offer: Mapping[str, DraftBlock]) -> list[DraftBlock]:
    """The blocks; one whose words and parts were all taken away is out, as no model is sent an empty message."""

    def empty(block: DraftBlock) -> bool:
        return not any(isinstance(piece, FoldedPart) or piece.strip() for piece in block.pieces)

    return [
        msgspec.structs.replace(block, out=True)
        if empty(block) and block.label in offer and not empty(offer[block.label])
        else block
        for block in blocks
    ]


def decide(
    state: State, at: LogPosition, offer: EditOffer, blocks: Sequence[DraftBlock], literal: Literal, was: str = ""
) -> Decision:
    """The edit that makes the context what `blocks` say; no op if they change nothing.

    `was`: digest of the context when the draft was made; a window may have slid since.
    """
    kept = [block for block in blocks if not block.out]
    change = compared(offer, kept)
    ignored = list(_ignored(offer, kept))
    same = live(block.label for block in kept) == was
    if not change or (same and not change.changed and not change.new):
        return Decision(None, UNCHANGED, ignored)
    found = list(merged(offer, kept))
    items = [_item(state, name, _different(offer, block), literal) for name, block in found]
    op = Edit(at=at, items=items, shown=str(Names.of(offer.names.values())))
    said = f"{CONTEXT} {len(items):,} message{'s' * (len(items) != 1)} ({change.words})"
    numbers = {name for name, _ in found if isinstance(name, int)}
    return Decision(op, said, [*ignored, *_new_speakers(offer, kept), *_notes(state, offer, numbers)], settled=True)


def _new_speakers(offer: EditOffer, kept: Sequence[DraftBlock]) -> Iterator[str]:
    """A note on names that no message had: a person may have mistyped one."""
    known = {block.name for block in offer.blocks.values()} | {""}
    for name in dict.fromkeys(block.name for block in kept if not block.label and block.name not in known):
        yield f"a new speaker: {line(name)}, a user"


def compared(offer: EditOffer, kept: Sequence[DraftBlock]) -> EditFigures:
    """The changes to the offered messages."""
    before = [label for label, block in offer.blocks.items() if not block.out]
    after = [block.label for block in kept if block.label]
    stay = set(before) & set(after)
    return EditFigures(
        left=len(before) - len(stay), back=len(after) - len(stay), new=len(kept) - len(after),
        changed=sum(_different(offer, block) is not None for block in kept if block.label),
        moved=[label for label in before if label in stay] != [label for label in after if label in stay],
    )  # fmt: skip


def _different(offer: EditOffer, block: DraftBlock | None) -> DraftBlock | None:
    """The block if it is new or differs from the offered one; else None."""
    if block is None:
        return None
    was = offer.blocks.get(block.label)
    same = was is not None and (_content(was), was.role) == (_content(block), block.role)
    return None if same else block


def _content(block: DraftBlock) -> list[str | int]:
    """The texts and part numbers of a block, without the descriptions of parts."""
    return [piece.part if isinstance(piece, FoldedPart) else piece for piece in block.pieces]


def merged(offer: EditOffer, kept: Sequence[DraftBlock]) -> Iterator[tuple[Name | None, DraftBlock | None]]:
    """The kept messages, and between them those that were not offered, each before the first message after it."""
    offered = set(offer.names.values())
    waiting = [name for name in offer.context if name not in offered]
    places = {name: place for place, name in enumerate(offer.arranged)}
    place = 0
    for block in kept:
        name = offer.names.get(block.label)
        if name is not None:
            while place < len(waiting) and places[waiting[place]] < places[name]:
                yield waiting[place], None
                place += 1
        yield name, block
    yield from ((name, None) for name in waiting[place:])


def _item(state: State, name: Name | None, block: DraftBlock | None, literal: Literal) -> Item:
    if name is None:
        return Item(message=literal(None, block), ts=(block and block.time) or None)
    if isinstance(name, int) and block is None and name not in state.board.stubs:
        return Item(n=name)
    moment = state.original(name)
    origin = name if isinstance(name, int) else str(name)
    return Item(message=literal(name, block), origin=origin, ts=None if moment is None else iso(moment))


def _ignored(offer: EditOffer, kept: Sequence[DraftBlock]) -> Iterator[str]:
    """Notes on parts whose description was edited, which has no effect."""
    for block in kept:
        was = offer.blocks.get(block.label)
        words = {piece.part: piece.words for piece in was.pieces if isinstance(piece, FoldedPart)} if was else {}
        for piece in block.pieces:
            if isinstance(piece, FoldedPart) and piece.words.split() != words.get(piece.part, "").split():
                line = f"{SIGN}> {piece.label}/{piece.part}"
                yield f"the text of the line {line} is only a description: that part stays as it is"


def _notes(state: State, offer: EditOffer, numbers: set[int]) -> Iterator[str]:
    """A note on steps that were whole in the context, and of which the edit keeps a part."""
    now, before = Names.of(numbers), Names.of(offer.context)
    lost = (state.steps.close(now) - now) & before
    if lost:
        what = "a call without its result is sent with [no result recorded], a result without its call is not sent"
        yield f"a part of a step is left out: {state.brief(lost)}; {what}"
