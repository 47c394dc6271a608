"""The text of a summary, from what was taken: what is looked up first, then the messages in order. Pure.

Every line or heading names its message, so that `why N` and `recall` lead back to the whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise

from ctxkit.compact.left_out import these
from ctxkit.compact.segments import Fragment
from ctxkit.content.text_segments import SegmentKind, TextSegment
from ctxkit.content.touched_files import File
from ctxkit.core.item_names import Name, Names

EDITED, READ, MESSAGES = "Files edited", "Files read", "Messages"
INDEX = {"decisions": "Decisions", "pending": "Pending", "errors": "Errors"}
"""Class of facts -> the line that says which messages hold some."""
LEFT_OUT = "…"
FILLED = 40
"""Characters: so little between two lines stands there instead of a mark."""
SPOKEN = re.compile(r"#[\d.]+ (\S+ \$)?")
"""How a heading begins. A quoted line that begins so is indented: nobody's words pass for those of somebody else."""
SAYS = {
    SegmentKind.USER: "user",
    SegmentKind.ASSISTANT: "assistant",
    SegmentKind.SUMMARY: "earlier summary",
    SegmentKind.NOTICE: "notice",
}

Label = Callable[[Name], str]


class SummaryLayout:
    """Words what was taken of these pieces. `told`: the messages that it tells; `label`: how they are named; `heads`:
    the pieces of the lines without their texts, by their places: each is read again where lines of it are left out.
    """

    def __init__(
        self, pieces: Sequence[TextSegment], label: Label, told: Names, heads: Mapping[int, TextSegment] | None = None
    ) -> None:
        self.pieces, self.label = pieces, label
        self.heads: Mapping[int, TextSegment] = heads or {}
        names = these(told, label)
        self.opening = f"[messages {names} in short, word for word; #N is message N, {LEFT_OUT} marks what is left out]"

    def heading(self, piece: TextSegment) -> str:
        """Whose words follow: `#12 user:`, `#13 Edit a.py:`, `#14 Bash $`, `#15 Bash failed →`."""
        says = SAYS.get(piece.kind)
        if says is not None:
            return f"{self._tag(piece.name)} {says}:"
        words = [self._tag(piece.name), _flat(piece.tool) or "tool"]
        if piece.is_script:
            return " ".join([*words, "$"])
        file = _flat(piece.file).rpartition("/")[2] if piece.call else ""
        words += [file] if file and not piece.runs else []
        if piece.kind == SegmentKind.RESULT:
            return " ".join([*words, *(["failed"] if piece.failed else []), "→"])
        return " ".join(words) + ":"

    def of(self, taken: Iterable[Fragment | File]) -> str:
        """The summary."""
        files: list[File] = []
        lines: list[Fragment] = []
        for one in taken:
            if isinstance(one, File):
                files.append(one)
            else:
                lines.append(one)
        lines.sort(key=lambda one: one.place)
        text = [self.opening]
        for name, edited in ((EDITED, True), (READ, False)):
            text += _headed(name, [self._file(file) for file in files if file.edited == edited])
        index = [*self._index(lines)]
        text += ["", *index] if index else []
        text += _headed(MESSAGES, list(self._quoted(lines)))
        return "\n".join(text)

    def _file(self, file: File) -> str:
        return " ".join([_flat(file.text), *map(self._tag, file.names)])

    def _index(self, lines: Sequence[Fragment]) -> Iterator[str]:
        """For each class, which messages hold some of it."""
        for kind, name in INDEX.items():
            held = dict.fromkeys(
                self.heads[one.piece].name for one in lines if any(fact[0] == kind for fact in one.facts)
            )
            if held:
                yield " ".join([f"{name}:", *map(self._tag, held)])

    def _quoted(self, lines: Iterable[Fragment]) -> Iterator[str]:
        for place, some in groupby(lines, key=lambda one: one.piece):
            quoted = list(self._quote(place, list(some)))
            head = self.heading(self.heads[place])
            if len(quoted) == 1:
                yield f"{head} {quoted[0].strip()}"
            else:
                yield head
                yield from (f" {line}" if SPOKEN.match(line) else line for line in quoted)

    def _quote(self, place: int, some: Sequence[Fragment]) -> Iterator[str]:
        """Lines of one piece, with marks for what is left out between them; a gap of less than a mark is filled."""
        lines: list[str] = []
        for (number, parts), before in zip(_by_line(some), [None, *_by_line(some)], strict=False):
            if before is not None and number > before[0] + 1:
                lines = lines or [line for line in self.pieces[place].text.split("\n") if line.strip()]
                between = lines[before[0] : number - 1]
                yield from between if sum(map(len, between)) <= FILLED else [LEFT_OUT]
            yield _joined(parts)

    def _tag(self, name: Name) -> str:
        return f"#{self.label(name)}"


def _flat(text: str) -> str:
    """A path or a name as one line: what a call names has no say in what follows."""
    return " ".join(text.split("\n")) if "\n" in text else text


def _by_line(some: Sequence[Fragment]) -> list[tuple[int, list[Fragment]]]:
    return [(number, list(parts)) for number, parts in groupby(some, key=lambda one: one.line)]


def _joined(parts: Sequence[Fragment]) -> str:
    """What was taken of one line."""
    words = [parts[0].text]
    for before, one in pairwise(parts):
        words += [one.text] if one.part == before.part + 1 else [LEFT_OUT, one.text]
    return " ".join(words)


def _headed(name: str, lines: Sequence[str]) -> list[str]:
    return ["", f"{name}:", *lines] if lines else []


_LISTS = {f"{name}:": name.lower() for name in (EDITED, READ, MESSAGES)}
_INDEX = re.compile(rf"({'|'.join(INDEX.values())}): (#[\d.]+(?: #[\d.]+)*)")


def outline(text: str) -> dict[str, int]:
    """What a summary by `extract` tells: listed files, messages with decisions, errors and so on, quoted ones."""
    found: dict[str, int] = {}
    name = ""
    for line in text.split("\n"):
        if name == MESSAGES.lower():
            spoken = SPOKEN.match(line)
            found[name] += spoken is not None
            if spoken is not None and spoken[1]:
                found["commands"] = found.get("commands", 0) + 1
        elif line in _LISTS:
            name = _LISTS[line]
            found[name] = 0
        elif (index := _INDEX.fullmatch(line)) is not None:
            found[index[1].lower()] = len(index[2].split())
        elif name and line:
            found[name] += 1
    return found
