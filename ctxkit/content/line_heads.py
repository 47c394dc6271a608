"""Finds the heads that a line needs to be understood: the file and hunk of a line of a diff, the head of a list. Pure.

Read are unified diffs, as `git diff` prints them, patches of Codex's `apply_patch`, and lists in prose.
"""

from __future__ import annotations

import re
from enum import IntEnum

from ctxkit.core.derive.files import BEGIN

Heads = tuple[tuple[int, str], ...]
"""The heads of a line, the outermost first: the number of each among the lines that are not blank, and its text."""
HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
FILE = re.compile(r"diff --git |diff --c[co]|Index: |\*\*\* (?:Update|Add|Delete) File: ")
NAMED = re.compile(
    r"index [\da-f,]+\.\.|--- |\+\+\+ |={60}|(?:new|deleted|old) (?:file )?mode |(?:similarity|rename|copy) "
)
"""Matches lines between a file's head and its first hunk, which say no more than the head does."""
AROUND = ("*** Begin Patch", "*** End Patch", "*** Move to: ", "*** End of File")
"""Lines of a patch that belong to no file's lines."""
LONGEST, FARTHEST = 80, 240
"""The most characters of the head of a list, and of a head of a diff: `diff --git` has a path twice."""
ITEM = re.compile(r"(\s*)(?:[-*+•–]|\d{1,3}[.)]|[a-zA-Z]\)|\[[ xX]\])\s+\S")
"""Matches an item of a list."""
HEAD = re.compile(r"#{1,6} .*\S|\*\*.*\S\*\*|.*[:：]\**")
"""Matches a line that may stand above a list."""


class DiffLine(IntEnum):
    """What a line of a text is to a diff."""

    NONE = 0
    """It stands in no diff."""
    NOISE = 1
    """It repeats what the file's head says."""
    FILE = 2
    HUNK = 3
    OLD = 4
    NEW = 5
    SAME = 6


SIGNS = {"-": DiffLine.OLD, "+": DiffLine.NEW, " ": DiffLine.SAME, "": DiffLine.SAME, "\t": DiffLine.SAME}


class LineHeads:
    """Reads the lines of a text in order, for their heads. `is_prose`: it may have lists; `is_change`: it is the
    argument of a call, whose file its heading names if it is one.
    """

    def __init__(self, text: str, *, is_prose: bool = False, is_change: bool = False) -> None:
        self._is_diff = "\n@@" in text or text.startswith("@@") or BEGIN in text
        self._is_prose = is_prose
        self._is_patch = BEGIN in text
        files = sum(map(text.count, ("\n*** Update File", "\n*** Add File", "\n*** Delete File")))
        self._named = is_change and max(files, f"\n{text}".count("\ndiff --git"), f"\n{text}".count("\n+++ ")) < 2
        """The heading of the text names the only file."""
        self._left: tuple[int, int] | None = None
        """Lines of the hunk that are still to come: old and new; None: outside of one, or nobody counts them."""
        self._is_open = False
        """Lines of a patch follow, which nobody counts."""
        self._is_named = True
        """Lines that only name a file may follow."""
        self._file: Heads = ()
        self._hunk: Heads = ()
        self._items: list[tuple[int, Heads]] = []
        """The items above a line and the line above them: how far each is indented, and it as a head."""

    @property
    def is_needed(self) -> bool:
        """Whether any line may have a head."""
        return self._is_diff or self._is_prose

    def read(self, line: str, number: int) -> tuple[DiffLine, Heads]:
        """What a line is to a diff, and its heads. `number`: as `Heads` has it; of a blank line any.

        A line that may be a head is its own last head.
        """
        if self._is_diff and (kind := self._diff(line)) != DiffLine.NONE:
            own: Heads = ((number, line.rstrip()),) if len(line) <= FARTHEST else ()
            if kind == DiffLine.FILE:
                self._file, self._hunk = () if self._named else own, ()
                return kind, self._file
            if kind == DiffLine.HUNK:
                self._hunk = own
            return kind, (*self._file, *self._hunk) if kind != DiffLine.NOISE else ()
        return DiffLine.NONE, self._list(line, number) if self._is_prose else ()

    def _diff(self, line: str) -> DiffLine:
        """What a line is to a diff."""
        line = line.removesuffix("\r")
        first = line[:1]
        if first == "\\" and line.startswith("\\ No newline"):
            return DiffLine.NOISE
        if self._left is not None:
            old, new = self._left
            kind = SIGNS.get(first, DiffLine.NONE)
            old -= kind in (DiffLine.OLD, DiffLine.SAME)
            new -= kind in (DiffLine.NEW, DiffLine.SAME)
            self._left = (old, new) if kind != DiffLine.NONE and (old > 0 or new > 0) else None
            if kind != DiffLine.NONE:
                return kind
        is_named, self._is_named = self._is_named, False
        if first == "@" and (found := HUNK.match(line)) is not None:
            self._left, self._is_open = (int(found[1] or 1), int(found[2] or 1)), False
            return DiffLine.HUNK
        if self._is_patch and line.startswith(AROUND):
            self._is_open = self._is_open and not line.startswith(AROUND[:2])
            return DiffLine.NOISE
        if self._is_open and (kind := SIGNS.get(first, DiffLine.NONE)) != DiffLine.NONE:
            return kind
        if self._is_open and first == "@" and line.startswith("@@"):
            return DiffLine.HUNK if line[2:].strip() else DiffLine.NOISE
        self._is_open = False
        if first in "di*I" and FILE.match(line) is not None:
            self._is_open = self._is_patch and first == "*"
            self._is_named = not self._is_open
            return DiffLine.FILE
        if first == "-" and line.startswith("--- ") and self._file and not is_named:  # of another file, if +++ follows
            self._is_named = True
            return DiffLine.NONE
        if is_named and first == "+" and line.startswith("+++ ") and not self._has(line[4:]):
            self._is_named = True
            return DiffLine.FILE
        self._is_named = is_named and NAMED.match(line) is not None
        return DiffLine.NOISE if self._is_named else DiffLine.NONE

    def _has(self, path: str) -> bool:
        """Whether the head of the file, or the heading of the text, names this path."""
        path = path.partition("\t")[0].removeprefix("b/").strip()
        return self._named or path == "/dev/null" or any(path in head for _, head in self._file)

    def _list(self, line: str, number: int) -> Heads:
        """The head of a line of prose: the line above its list, or the item that it is indented under."""
        if not line.strip():
            return ()
        own: Heads = ((number, line.rstrip()),) if len(line) <= LONGEST else ()
        indent = len(line) - len(line.lstrip())
        if (found := ITEM.match(line)) is not None:
            while self._items and self._items[-1][0] >= len(found[1]):
                self._items.pop()
            heads = self._items[-1][1] if self._items else ()
            if line.rstrip().endswith((":", "：")):
                self._items.append((len(found[1]), own))
            return heads
        if self._items and indent > max(self._items[-1][0], 0):
            return ()
        self._items = []
        if HEAD.fullmatch(line.strip()) is not None:
            self._items = [(-1, own)]
            return own
        return ()
