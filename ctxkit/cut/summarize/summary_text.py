"""Lays out the text of a summary: lists for looking things up, then the lines in order of their messages. Pure.

Every line or heading names its message, so that `why N` and `recall` lead to the whole message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise

from ctxkit.core.board import LEFT_OUT
from ctxkit.core.item_names import Name, Names
from ctxkit.cut.shorten.summary_lines import EDITED, FILLED, HEADING, MESSAGES, OPENING, READ, SPEAKERS
from ctxkit.cut.summarize.left_out import listed
from ctxkit.cut.summarize.state_header import HEADER
from ctxkit.cut.units.segments import Fragment
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment
from ctxkit.cut.units.touched_files import File

Label = Callable[[Name], str]


class SummaryLayout:
    """The layout of a summary of the messages `covered`, from lines of the segments `pieces`.

    `label`: names a message; `heads`: place -> segment of the lines, without its text, which is read again from
    `pieces` if lines of it are left out.
    """

    def __init__(
        self, pieces: Sequence[TextSegment], label: Label, covered: Names,
        heads: Mapping[int, TextSegment] | None = None,
    ) -> None:  # fmt: skip
        self.pieces, self.label = pieces, label
        self.heads: Mapping[int, TextSegment] = heads or {}
        self._groups = grouped(self.heads)
        self.state: list[str] = []
        """The lines of the session's state."""
        self.mended: Mapping[int, Name] = {}
        """Place of the output of a run that failed -> the later run that passed."""
        names = listed(covered, label)
        self.opening = f"{OPENING}{names} in short, word for word; #N is message N, {LEFT_OUT} marks what is left out]"

    def heading(self, piece: TextSegment, place: int = -1) -> str:
        """The heading of a segment: `#12 user:`, `#13 Edit a.py:`, `#14 Bash $`, `#15 Bash failed →`; of a run that
        was mended `#15 Bash failed until #19 →`. `place`: its place among the segments.
        """
        speaker = SPEAKERS.get(piece.kind)
        if speaker is not None:
            return f"{self.tag(piece.name)} {speaker}:"
        words = [self.tag(piece.name), _flat(piece.tool) or "tool"]
        if piece.is_script:
            return " ".join([*words, "$"])
        file = _flat(piece.file).rpartition("/")[2] if piece.call else ""
        words += [file] if file and not piece.runs else []
        if place in self.mended:
            return " ".join([*words, f"failed until {self.tag(self.mended[place])} →"])
        if piece.kind == SegmentKind.RESULT:
            return " ".join([*words, *(["failed"] if piece.failed else []), "→"])
        return " ".join(words) + ":"

    def of(self, taken: Iterable[Fragment | File]) -> str:
        """The text of the summary, from the selected lines and files."""
        files: list[File] = []
        lines: list[Fragment] = []
        for one in taken:
            if isinstance(one, File):
                files.append(one)
            else:
                lines.append(one)
        lines.sort(key=lambda one: one.place)
        text = [self.opening, *_headed(HEADER, self.state)]
        for name, edited in ((EDITED, True), (READ, False)):
            text += _headed(name, [self._file(file) for file in files if file.edited == edited])
        text += _headed(MESSAGES, list(self._quoted(lines)))
        return "\n".join(text)

    def _file(self, file: File) -> str:
        return f"{file.line} {self.tag(file.names[-1])}"

    def _quoted(self, lines: Iterable[Fragment]) -> Iterator[str]:
        for group, members in groupby(lines, key=lambda one: self._groups[one.piece]):
            parts = groupby(members, key=lambda one: one.piece)
            quoted = [line for place, some in parts for line in self._quote(place, list(some))]
            head = self.heading(self.heads[group], group)
            if len(quoted) == 1:
                yield f"{head} {quoted[0].strip()}"
            else:
                yield head
                yield from (f" {line}" if HEADING.match(line) else line for line in quoted)

    def _quote(self, place: int, some: Sequence[Fragment]) -> Iterator[str]:
        """Yields the lines of one segment, with marks for gaps between them. A small gap is filled. A command has marks
        where its start or its end is left out, too: it would read as another one.
        """
        is_script = self.heads[place].is_script
        lines: list[str] = []
        if is_script or any(one.line == before.line for before, one in pairwise(some)):
            lines = [line for line in self.pieces[place].text.split("\n") if line.strip()]
        entries = by_line(some, lines)
        if is_script:
            first, last = some[0], some[-1]
            if first.line > 1 or first.part:
                entries[first.line] = f"{LEFT_OUT} {entries[first.line]}"
            if last.line < len(lines) or not lines[last.line - 1].rstrip().endswith(last.text.rstrip()):
                entries[last.line] = f"{entries[last.line]} {LEFT_OUT}"
        for number, before in zip(sorted(entries), [None, *sorted(entries)], strict=False):
            if before is not None and number > before + 1:
                between = [LEFT_OUT]
                if number - before <= FILLED:  # else they have more characters, which need not be read
                    lines = lines or [line for line in self.pieces[place].text.split("\n") if line.strip()]
                    between = lines[before : number - 1]
                yield from between if sum(map(len, between)) <= FILLED else [LEFT_OUT]
            yield entries[number]

    def tag(self, name: Name) -> str:
        """The mark of a message: `#12`."""
        return f"#{self.label(name)}"


def grouped(heads: Mapping[int, TextSegment]) -> dict[int, int]:
    """Place of a segment -> the first place with the same heading: arguments of one call share theirs."""
    first: dict[tuple[Name, str, bool], int] = {}
    return {
        place: first.setdefault((piece.name, piece.call, piece.is_script), place)
        if piece.kind == SegmentKind.INPUT and piece.call
        else place
        for place, piece in heads.items()
    }


def _flat(text: str) -> str:
    """A path or a name on one line, so that it cannot add lines to the summary."""
    return " ".join(text.split("\n")) if "\n" in text else text


def by_line(some: Sequence[Fragment], lines: Sequence[str]) -> dict[int, str]:
    """The lines of fragments of one segment, by number. `lines`: those of the segment that are not blank; needed where
    several fragments are of one line.
    """
    grouped_by_line = groupby(some, key=lambda one: one.line)
    return {number: _joined(list(parts), lines[number - 1] if lines else "") for number, parts in grouped_by_line}


def _joined(parts: Sequence[Fragment], line: str) -> str:
    """The selected parts of one line, with what stands between neighbours there."""
    words, at = parts[0].text, line.find(parts[0].text) + len(parts[0].text)
    for before, one in pairwise(parts):
        begins = line.find(one.text, at)
        words += line[at:begins] if one.part == before.part + 1 and begins >= 0 else f" {LEFT_OUT} "
        words, at = words + one.text, begins + len(one.text)
    return words


def _headed(name: str, lines: Sequence[str]) -> list[str]:
    return ["", f"{name}:", *lines] if lines else []


_LISTS = {f"{name}:": name.lower() for name in (EDITED, READ, MESSAGES)}


def outline(text: str) -> dict[str, int]:
    """Counts what a summary by `extract` has: listed files, commands, quoted messages."""
    found: dict[str, int] = {}
    name = ""
    for line in text.split("\n"):
        if name == MESSAGES.lower():
            heading = HEADING.match(line)
            found[name] += heading is not None
            if heading is not None and heading[1]:
                found["commands"] = found.get("commands", 0) + 1
        elif line in _LISTS:
            name = _LISTS[line]
            found[name] = 0
        elif name and line:
            found[name] += 1
    return found
