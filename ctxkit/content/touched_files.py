"""Lists the files that calls touch, for a summary. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ctxkit.content.identifiers import Identifier, IdentifierKind, short
from ctxkit.content.text_segments import SegmentKind, TextSegment
from ctxkit.core.item_names import Name, Names

NAMED = 3
"""How many of the newest messages a file keeps."""


class File(msgspec.Struct):
    """A file. `text`: its path, as calls write it; `edited`: a call changed it, else it was only read; `names`: the
    newest messages that touch it; `at`: how far back the newest is, as a share of all segments; `often`: how many times
    it is touched; `calls`: the ids of the calls that touch it.
    """

    text: str
    edited: bool
    names: list[Name]
    at: float
    often: int = 1
    calls: set[str] = set()

    @property
    def line(self) -> str:
        """What a list says of it, but for the messages."""
        return " ".join(self.text.split("\n"))

    @property
    def fact(self) -> tuple[str, str]:
        """The fact that a list with the file keeps."""
        return ("files edited" if self.edited else "files read"), short(self.text)

    @property
    def keeps(self) -> tuple[Identifier | tuple[str, str], ...]:
        """The fact, and the path as an identifier."""
        return self.fact, Identifier(IdentifierKind.PATH, short(self.text))

    def is_last_in(self, names: Names) -> bool:
        """Whether its newest message is one of `names`."""
        return self.names[-1] in names


MOST = 8192
"""How many files are kept, the newest ones. A summary has no room for more."""


def touched(pieces: Sequence[TextSegment]) -> list[File]:
    """The files that the calls of these segments touch, the longest untouched first."""
    found: dict[str, File] = {}
    for place, piece in enumerate(pieces):
        for touch in piece.touches if piece.kind == SegmentKind.INPUT else ():
            known = found.pop(touch.path, None) or File(touch.path, edited=False, names=[], at=1.0, often=0)
            known.names = [*(name for name in known.names if name != piece.name), piece.name][-NAMED:]
            known.edited, known.often = known.edited or touch.how != "read", known.often + 1
            known.calls.update([piece.call] if piece.call else [])
            known.at = 1 - (place + 1) / len(pieces)
            found[touch.path] = known
            if len(found) > MOST:
                del found[next(iter(found))]
    return list(found.values())
