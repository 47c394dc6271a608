"""Lists the files that calls touch, for a summary. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from ctxkit.core.derive.files import FileTouch
from ctxkit.core.item_names import Name, Names
from ctxkit.cut.units.identifiers import Identifier, IdentifierKind, short
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment

NAMED = 3
"""How many of the newest messages a file keeps."""
AWAY = re.compile(r"(?:/private)?/(?:tmp|var/folders|dev)/|.*[\\/]Temp[\\/]")
"""Matches a path of what is thrown away."""
MISSING = re.compile(r"^.*(?:No such file or directory|cannot find the (?:file|path)).*$", re.M | re.I)
"""Matches the line in which a program of a shell says that a file is not there."""
SILENT = re.compile(r"(?:Chunk ID: [^\0]{0,200}\bOutput:)?\s*(?:\([\w ]*no output\))?\s*", re.I)
"""Matches an output without any words: that of Codex has a head, and Claude Code says so."""


class File(msgspec.Struct):
    """A file. `text`: its path, as calls write it; `edited`: a call changed it, else it was only read; `names`: the
    newest messages that change it, or else read it; `at`: how far back the newest touch is, as a share of all segments;
    `often`: how many times it is touched; `calls`: the ids of the calls that touch it.
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
    """The files that the calls of these segments touch, the longest untouched first; without those that are deleted
    since, those that are thrown away, and what a call that failed did not do.
    """
    found: dict[str, File] = {}
    before: dict[str, list[tuple[str, File | None]]] = {}
    for place, piece in enumerate(pieces):
        if piece.kind == SegmentKind.RESULT:
            undone = before.pop(piece.call, ())
            for path, known in reversed(undone):
                if not _was_touched(path, found.get(path), piece):
                    found.pop(path, None)
                    found.update({path: known} if known is not None else {})
        for touch in piece.touches if piece.kind == SegmentKind.INPUT else ():
            known = found.pop(touch.path, None)
            if piece.call:
                before.setdefault(piece.call, []).append((touch.path, known))
            if touch.how == "delete":
                for gone in [one for one in found if one.endswith(f"/{touch.path}") or touch.path.endswith(f"/{one}")]:
                    del found[gone]
            elif AWAY.match(touch.path) is None:
                found[touch.path] = _next(known, touch, piece, 1 - (place + 1) / len(pieces))
            if len(found) > MOST:
                del found[next(iter(found))]
    ends = {end for file in found.values() if file.edited for end in _ends(file.text)}
    return [file for file in found.values() if file.edited or file.text.removeprefix("./") not in ends]


def _was_touched(path: str, file: File | None, result: TextSegment) -> bool:
    """Whether a call did to a file what it was made for: a script that goes on says nothing of a file that is missing,
    but the program that reads it does, or prints nothing.
    """
    if not result.runs or file is None:
        return not result.failed
    name = path.rpartition("/")[2]
    if any(name in line for line in MISSING.findall(result.text)):
        return False
    return file.edited or SILENT.fullmatch(result.text) is None


def _ends(path: str) -> Iterator[str]:
    """Yields the ends of a path, by which calls in another folder name the same file."""
    while "/" in path:
        path = path.partition("/")[2]
        yield path


def _next(known: File | None, touch: FileTouch, piece: TextSegment, at: float) -> File:
    """The file after the next call that touches it."""
    edits, calls = touch.how != "read", known.calls if known is not None else set[str]()
    calls.update([piece.call] if piece.call else [])
    if known is None:
        return File(touch.path, edits, [piece.name], at, calls=calls)
    names = known.names if edits <= known.edited else []  # what only read it does not count beside an edit
    if edits or not known.edited:
        names = [*(one for one in names if one != piece.name), piece.name][-NAMED:]
    return File(touch.path, known.edited or edits, names, at, known.often + 1, calls)
