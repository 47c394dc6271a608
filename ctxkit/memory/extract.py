"""Makes notes of a session by rules: what it was about, what was decided, what is open, which files were edited.

What is taken is what a compact would keep: its facts (`content/facts.py`) and its choice of lines
(`compact/extraction.py`); the gist is that of a snapshot (`content/gist.py`), or a model's. Secrets are replaced, as
before anything is sent to a model. The same session gives the same notes, with the same ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ctxkit.compact.extraction import Extraction
from ctxkit.content.facts import DECIDES, WORD
from ctxkit.content.gist import MARKS, gist, shortened
from ctxkit.content.identifiers import short
from ctxkit.content.segments import Fragment
from ctxkit.content.text_segments import SegmentKind, TextSegment, all_pieces
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Content
from ctxkit.core.state import PREAMBLE_ROLES
from ctxkit.core.text.json_text import digest
from ctxkit.core.text.redaction import redact
from ctxkit.core.visibility import IN, Visibilities
from ctxkit.logfile.open import OpenLog
from ctxkit.memory.notes import RULES, SUMS, MemoryNote, NoteSource
from ctxkit.memory.sources import source_of

DECISIONS, OPEN_WORK, FILES = 8, 5, 12
"""The most decisions, open tasks and files that are noted of a session."""
BUDGET = 4000
"""Tokens of the lines from which decisions are taken."""
READ = 4_000_000
"""Characters of the newest messages that are read."""
REMEMBERED = frozenset({IN, "compact", "trim", "window", "newest", "program"})
"""Visibilities of messages that are noted: in the context, or summarized, shortened or too old for it. What was
forgotten, rewound or cleared, and other branches, are not.
"""
SPOKEN = frozenset({SegmentKind.USER, SegmentKind.ASSISTANT, SegmentKind.INPUT})
"""Kinds of segments without which there is nothing to note."""
FEWEST = 5
"""The fewest words of a decision or an open task that is noted."""
Gist = Callable[[Sequence[Name], Sequence[TextSegment]], str]
"""Writes a few sentences on messages with these texts; returns "" if that fails."""


def notes_of(log: OpenLog, ask: Gist | None = None, model: str = "") -> list[MemoryNote]:
    """The notes of a session; none if it has no words. `ask`: writes the gist instead of the rules, as `model`.

    Raises Usage for a stream, and what reading messages raises.
    """
    found = list(_newest(log))
    if not found:
        return []
    pieces = all_pieces(found)
    if not any(piece.kind in SPOKEN for piece in pieces):
        return []
    numbers = [int(str(name)) for name, _ in found]

    def note(kind: str, text: str, of: Sequence[int], made: str = RULES) -> MemoryNote:
        source = source_of(log, of)
        words = redact(plain(text))[0]
        return MemoryNote(note_id(source, kind, words), words, kind, made, (source,))

    asked = "" if ask is None else shortened(ask(numbers, pieces))
    notes = [note("gist", asked or gist(pieces, len(found)), numbers, model if asked else RULES)]
    extraction = Extraction(pieces, lambda some: [len(text) // 4 + 1 for text in some])
    decided: list[tuple[Fragment, str]] = []
    left: list[tuple[Fragment, str]] = []
    for one in extraction.best(BUDGET):
        if isinstance(one, Fragment) and says_something(one.text):
            spoken = extraction.heads[one.piece].kind
            chosen = [text for name, text in one.facts if name == "decisions"]
            if spoken == SegmentKind.USER and DECIDES.search(one.text):
                chosen = [one.text]
            decided += [(one, " ".join(chosen))] if chosen else []
            open_ = [text for name, text in one.facts if name == "pending" and text not in chosen]
            left += [(one, " ".join(open_))] if open_ else []
    left = sorted(left, key=_place)[-OPEN_WORK:]  # the newest, because old tasks are mostly done
    for kind, some in (("decision", decided[:DECISIONS]), ("open", left)):
        for one, words in sorted(some, key=_place):
            notes.append(note(kind, words, [int(str(extraction.heads[one.piece].name))]))
    edited = [file for file in extraction.files if file.edited][::-1]
    if edited:
        names = ", ".join(short(file.text) for file in edited[:FILES])
        more = f" and {len(edited) - FILES} more" if len(edited) > FILES else ""
        touched = {int(str(name)) for file in edited[:FILES] for name in file.names}
        notes.append(note("files", f"Edited: {names}{more}.", sorted(touched)))
    return list({one.id: one for one in notes}.values())


def _place(one: tuple[Fragment, str]) -> tuple[int, int, int]:
    return one[0].place


def plain(text: str) -> str:
    """A text on one line, without Markdown's marks and the bars of a table."""
    return " ".join(MARKS.sub("", text).replace("|", " ").split())


def says_something(text: str) -> bool:
    """Whether a line can be read alone: it is no heading, and has some words."""
    words = plain(text)
    return len(WORD.findall(words)) >= FEWEST and not words.endswith(":") and not text.lstrip().startswith("#")


def note_id(source: NoteSource, kind: str, text: str) -> str:
    """The id of a note that rules made: the same session and words give the same; for one that sums up also the same
    messages, so that it is made anew when one of them was forgotten.
    """
    of = [source.n] if kind in SUMS else []
    return f"r{digest([source.session or source.log, kind, text, *of], 15)}"


def _newest(log: OpenLog) -> Iterator[tuple[int, Content]]:
    """The newest messages that are remembered, in order, up to READ characters."""
    state = log.state()
    visibilities = Visibilities(state, log.projection())
    found: list[tuple[int, Content]] = []
    size = 0
    for n in range(state.count, 0, -1):
        role = state.messages[n - 1].role
        if role not in PREAMBLE_ROLES and visibilities.of(n).kind in REMEMBERED:
            found.append((n, log.recorded(n)))
            size += state.messages[n - 1].size
            if size > READ:
                break
    return reversed(found)
