"""Wording: the text of a summary, from what was taken: lists of what is looked up, then the messages in order.

Every line or heading names its message, so that `why N` and `recall` lead back to the whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from ctxkit.core.names import Name, Names
from ctxkit.policies.compact.fragments import Fragment
from ctxkit.policies.compact.source import Kind, Piece
from ctxkit.policies.compact.touched import File

EDITED, READ, MESSAGES = "Files edited", "Files read", "Messages"
SECTIONS = {"commands": "Commands", "errors": "Errors", "decisions": "Decisions", "pending": "Pending"}
"""Class of facts -> the list that its lines stand in."""
LEFT_OUT = "…"
SAYS = {Kind.USER: "user", Kind.ASSISTANT: "assistant", Kind.SUMMARY: "earlier summary", Kind.NOTICE: "notice"}

Label = Callable[[Name], str]


def section(one: Fragment) -> str | None:
    """The list that a line stands in; None: it stands among the messages."""
    return next((SECTIONS[name] for name, _ in one.facts if name in SECTIONS), None)


def heading(piece: Piece, label: Label) -> str:
    """Whose words follow."""
    says = SAYS.get(piece.kind)
    if says is None:
        path = next((touch.path.rpartition("/")[2] for touch in piece.touches), "")
        says = " ".join(filter(None, ["→" if piece.kind == Kind.RESULT else "", piece.tool or "tool", path]))
    return f"#{label(piece.name)} {says}:"


class Words:
    """Words what was taken of these pieces. `label`: how messages are named."""

    def __init__(self, pieces: Sequence[Piece], label: Label) -> None:
        self.pieces, self.label = pieces, label
        told = str(Names.of({piece.name for piece in pieces})).replace(",", ", ")
        self.opening = f"[messages {told} in short, word for word; #N is message N, {LEFT_OUT} marks what is left out]"

    def of(self, taken: Iterable[Fragment | File]) -> str:
        """The summary."""
        files: list[File] = []
        lists: dict[str, list[Fragment]] = {name: [] for name in SECTIONS.values()}
        rest: list[Fragment] = []
        for one in taken:
            if isinstance(one, File):
                files.append(one)
            else:
                lists.get(section(one) or "", rest).append(one)
        lines = [self.opening]
        for name, edited in ((EDITED, True), (READ, False)):
            lines += _headed(name, [self._file(file) for file in files if file.edited == edited])
        for name, some in lists.items():
            lines += _headed(name, [self._listed(one) for one in sorted(some, key=_place)])
        lines += _headed(MESSAGES, list(self._quoted(sorted(rest, key=_place))))
        return "\n".join(lines)

    def _file(self, file: File) -> str:
        return " ".join([file.path, *(f"#{self.label(name)}" for name in file.names)])

    def _listed(self, one: Fragment) -> str:
        return f"#{self.label(self.pieces[one.piece].name)} {one.text.strip()}"

    def _quoted(self, some: Iterable[Fragment]) -> Iterator[str]:
        before: Fragment | None = None
        line: list[str] = []
        for one in some:
            same = before is not None and before.piece == one.piece
            if before is not None and same and before.line == one.line:
                line += [one.text] if one.part == before.part + 1 else [LEFT_OUT, one.text]
            else:
                if line:
                    yield " ".join(line)
                if not same:
                    yield heading(self.pieces[one.piece], self.label)
                elif before is not None and one.line > before.line + 1:
                    yield LEFT_OUT
                line = [one.text]
            before = one
        if line:
            yield " ".join(line)


def _headed(name: str, lines: Sequence[str]) -> list[str]:
    return ["", f"{name}:", *lines] if lines else []


def _place(one: Fragment) -> tuple[int, int, int]:
    return one.place


_HEADS = {f"{name}:": name.lower() for name in (EDITED, READ, *SECTIONS.values(), MESSAGES)}
_SPOKEN = re.compile(r"#[\d.]+ .*:$")


def outline(text: str) -> dict[str, int]:
    """What a summary by `extract` lists, by section in lower case; of the messages, how many headings they have."""
    found: dict[str, int] = {}
    name = ""
    for line in text.split("\n"):
        if line in _HEADS and name != MESSAGES.lower():
            name = _HEADS[line]
            found[name] = 0
        elif name and line and (name != MESSAGES.lower() or _SPOKEN.match(line)):
            found[name] += 1
    return found
