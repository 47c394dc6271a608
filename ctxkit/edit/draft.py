"""Writes a draft: messages as a text that people edit. `parse` gives exactly the same blocks back. Pure.

    %% 3 2026-02-12T09:00:10Z assistant (protected)
    I will look.
    %%> 3/2 call read_file {"path":"clock.py"}

    #%% 4 2026-02-12T09:00:20Z tool (forgotten by op 2)
    %%> 4/1 result def now(): ...

A line of the draft's own begins with %%; everything else is text, also lines with `#`. Blank lines at both ends of a
text do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from ctxkit.edit.spelling import SIGN, line, spelled, word

PREVIEW = 160
"""The most characters of the description of a part that is not text."""

ROLES = ("system", "developer", "user", "assistant")
"""The roles of a new message; not `tool`, because it would answer no call."""


class FoldedPart(msgspec.Struct, frozen=True):
    """A part that is not text: part `part` (from 1) of the message `label`. `words`: its description."""

    label: str
    part: int
    words: str = ""


Piece = str | FoldedPart


class DraftBlock(msgspec.Struct, frozen=True):
    """One message: `label`: its name ("" for a new one); `pieces`: its texts and parts in order.

    `out`: it is commented out, so it is not in the context. `time`: ISO, "" for none; `remark`: further information.
    `name`, `agent`: of its speaker, "" for none; a draft with numbers does not have them.
    """

    label: str
    role: str
    pieces: tuple[Piece, ...] = ()
    out: bool = False
    time: str = ""
    remark: str = ""
    name: str = ""
    agent: str = ""


class Base(msgspec.Struct, frozen=True):
    """The log that a draft was made of, so that it can be applied later: how far it reached, and what was shown.

    `last`: identity of its last message; `ops`: how many, `op`: id of the last one; `shown`: names, as ops write them;
    `live`: digest of those that were in the context, in order.
    """

    messages: int
    rows: int
    ops: int
    last: str
    op: str
    shown: str
    live: str


HEAD = """\
# The context of {name}. After the edit it holds what is below without a # in front.
#
# A line %% NUMBER TIME ROLE begins a message; its text follows, as it is.
#   take out    delete the message or all its text, or put a # in front of its %% line
#   bring back  take away the # in front of a %% line: one is enough
#   reorder     move messages, %% line and text together
#   change      the text (also of a result) or the role; %%> is a part without text, such as a call: keep, move, delete
#   add         a line %% user (or assistant, system, developer), and the text below
#
# {nothing} in front of a line of text that begins with %% makes it text; {escape} is a character that is not seen.
# Saved unchanged, nothing changes. With no message left the edit is cancelled. `ctxkit undo` undoes an edit.
"""


def draft(name: str, base: Base, blocks: Iterable[DraftBlock]) -> str:
    """The whole text for an editor."""
    return "".join(pieces(name, base, blocks))


def pieces(name: str, base: Base, blocks: Iterable[DraftBlock]) -> Iterator[str]:
    """The whole text in pieces."""
    yield HEAD.format(name=line(name), nothing=r"\u{}", escape=r"\u{1b}")
    yield based(base)
    for block in blocks:
        yield printed(block)


def based(base: Base) -> str:
    """The line %%=, which records the state of the log that the draft is of."""
    fields = {field: getattr(base, field) for field in Base.__struct_fields__}
    return f"{SIGN}= " + " ".join(f"{key}={word(f'={value}')[1:]}" for key, value in fields.items()) + "\n"


def printed(block: DraftBlock) -> str:
    """A blank line and the lines of one message."""
    remark = f"({line(block.remark)})" if block.remark else ""
    head = " ".join(filter(None, (SIGN, block.label, block.time, word(block.role), remark)))
    lines = ["", f"#{head}" if block.out else head]
    text = False
    for piece in block.pieces:
        if isinstance(piece, str):
            lines += [f"{SIGN}> text", spelled(piece)] if text else [spelled(piece)]
        else:
            lines.append(f"{SIGN}> {piece.label}/{piece.part}" + (f" {line(piece.words)}" if piece.words else ""))
        text = isinstance(piece, str)
    return "\n".join(lines) + "\n"
