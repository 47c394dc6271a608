"""Touched: the files that calls name, as a summary lists them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ctxkit.content.identifiers import Identifier, IdentifierKind, short
from ctxkit.content.text_segments import SegmentKind, TextSegment
from ctxkit.core.item_names import Name, Names

NAMED = 3
"""Messages that a listed file names, the newest ones."""


class File(msgspec.Struct):
    """One file. `text`: its path as the newest call writes it; `edited`: whether any changed it, else it was read;
    `names`: the newest messages that touch it; `at`: how far back the newest is, from 0 to 1, in pieces; `often`: how
    many do.
    """

    text: str
    edited: bool
    names: list[Name]
    at: float
    often: int = 1

    @property
    def fact(self) -> tuple[str, str]:
        """What listing it keeps."""
        return ("files edited" if self.edited else "files read"), short(self.text)

    @property
    def keeps(self) -> tuple[Identifier | tuple[str, str], ...]:
        """The same, and the path as what may be needed."""
        return self.fact, Identifier(IdentifierKind.PATH, short(self.text))

    def told_by(self, told: Names) -> bool:
        """Whether the newest of its messages is one of these: else it stands in the context anyway."""
        return self.names[-1] in told


MOST = 8192
"""Files that are held, the newest ones; a summary has no room to list more."""


def touched(pieces: Sequence[TextSegment]) -> list[File]:
    """The files that these pieces' calls touch, the longest untouched ones first."""
    found: dict[str, File] = {}
    for place, piece in enumerate(pieces):
        for touch in piece.touches if piece.kind == SegmentKind.INPUT else ():
            known = found.pop(touch.path, None) or File(touch.path, edited=False, names=[], at=1.0, often=0)
            known.names = [*(name for name in known.names if name != piece.name), piece.name][-NAMED:]
            known.edited, known.often = known.edited or touch.how != "read", known.often + 1
            known.at = 1 - (place + 1) / len(pieces)
            found[touch.path] = known
            if len(found) > MOST:
                del found[next(iter(found))]
    return list(found.values())
