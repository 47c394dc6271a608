"""Makes notes of a session by rules: what it was about, what a person decided, what is open, which files were edited.

A decision is what a person said (`decisions.py`): a rule, or a choice. What the model
says is no decision, and what it announces is no task: open work is what stands open among its tasks
(`tasks.py`). The gist is that of a snapshot (`gist.py`), or a model's. Secrets are replaced, as
before anything is sent to a model. The same session gives the same notes, with the same ids.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from ctxkit.core.item_names import Name
from ctxkit.core.messages import Call, Content
from ctxkit.core.roles import side
from ctxkit.core.state import PREAMBLE_ROLES
from ctxkit.core.text.json_text import digest
from ctxkit.core.text.redaction import redact
from ctxkit.core.visibility import IN, Visibilities
from ctxkit.cut.rank.facts import WORD
from ctxkit.cut.summarize.gist import MARKS, gist, shortened
from ctxkit.cut.summarize.state_header import SessionState
from ctxkit.cut.units.identifiers import short
from ctxkit.cut.units.pasted import typed
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment, all_pieces
from ctxkit.cut.units.touched_files import touched
from ctxkit.logfile.open import OpenLog
from ctxkit.memory.decisions import decisions, is_rule, statement
from ctxkit.memory.notes import RULES, SUMS, MemoryNote, NoteSource
from ctxkit.memory.sources import source_of

OPEN_WORK, FILES = 5, 12
"""The most open tasks and files that are noted of a session."""
TYPED = 1000
"""The most characters that a person typed in a message; longer ones are mostly pasted unmarked, or a program's."""
CHOICE = re.compile(
    r"\b(?:decided (?:to|on|for|against|that)|let['’]?s (?:use|go with|keep|take|stick)|go(?:ing)? with|opt(?:ed)? for|"
    r"(?:we|I)(?:['’]ll| will) use|(?:we|I)(?:['’]d| would)? (?:chose|prefer|agreed)|stick (?:to|with)|instead of|"
    r"rather than)\b",
    re.I,
)
"""Matches a sentence of a person with a choice."""
THOUGHT = re.compile(
    r"\b(?:wonder|whether|maybe|perhaps|probably|theoretically|ideally|i (?:think|feel|guess|believe|assume))\b", re.I
)
"""Matches a sentence in which a person only thinks about something."""
READ = 4_000_000
"""Characters of the newest messages that are read."""
REMEMBERED = frozenset({IN, "compact", "trim", "window", "newest", "program"})
"""Visibilities of messages that are noted: in the context, or summarized, shortened or too old for it. What was
forgotten, rewound or cleared, and other branches, are not.
"""
SPOKEN = frozenset({SegmentKind.USER, SegmentKind.ASSISTANT, SegmentKind.INPUT})
"""Kinds of segments without which there is nothing to note."""
FEWEST = 5
"""The fewest words of a decision that is noted."""
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
    contents = dict(found)

    def note(kind: str, text: str, of: Sequence[int], made: str = RULES, said: str = "", name: str = "") -> MemoryNote:
        source = source_of(log, of)
        words = redact(plain(text))[0]
        return MemoryNote(note_id(source, kind, words, said), words, kind, made, (source,), said, name)

    asked = "" if ask is None else shortened(ask(numbers, pieces))
    notes = [note("gist", asked or gist(_without_the_model(pieces), len(found)), numbers, model if asked else RULES)]
    said = [_typed(piece) for piece in pieces]
    for message, sentence in decisions(said, _decides):
        number = int(str(message))
        name = (contents[number].name or "") if side(contents[number].role) == "user" else ""  # else a tool's
        notes.append(note("decision", sentence, [number], said="user", name=" ".join(redact(name)[0].split())))
    for task in [task for task in SessionState(said).tasks if WORD.search(task.text)][:OPEN_WORK]:
        number = int(str(task.name))
        by_model = any(isinstance(part, Call) for part in contents[number].parts)
        notes.append(note("open", task.text, [number], said="assistant" if by_model else "tool"))
    edited = [file for file in touched(pieces) if file.edited][::-1]
    if edited:
        names = ", ".join(short(file.text) for file in edited[:FILES])
        more = f" and {len(edited) - FILES} more" if len(edited) > FILES else ""
        held = {int(str(name)) for file in edited[:FILES] for name in file.names}
        notes.append(note("files", f"Edited: {names}{more}.", sorted(held)))
    return list({one.id: one for one in notes}.values())


def _decides(sentence: str) -> bool:
    """Whether a person's sentence can be read alone, and sets a rule or makes a choice."""
    if not says_something(sentence) or THOUGHT.search(sentence) is not None:
        return False
    return is_rule(sentence) or CHOICE.search(statement(sentence)) is not None


def _typed(piece: TextSegment) -> TextSegment:
    """A segment; a text that nobody types counts as a program's."""
    is_long = piece.kind == SegmentKind.USER and len(piece.text) > TYPED and len(typed(piece.text).strip()) > TYPED
    return piece._replace(kind=SegmentKind.NOTICE) if is_long else piece


def _without_the_model(pieces: Sequence[TextSegment]) -> list[TextSegment]:
    """The segments without the model's words, in which a gist would look for decisions and unfinished work."""
    return [piece._replace(text="") if piece.kind == SegmentKind.ASSISTANT else piece for piece in pieces]


def plain(text: str) -> str:
    """A text on one line, without Markdown's marks and the bars of a table."""
    return " ".join(MARKS.sub("", text).replace("|", " ").split())


def says_something(text: str) -> bool:
    """Whether a line can be read alone: it is no heading, and has some words."""
    words = plain(text)
    return len(WORD.findall(words)) >= FEWEST and not words.endswith(":") and not text.lstrip().startswith("#")


def note_id(source: NoteSource, kind: str, text: str, said: str = "") -> str:
    """The id of a note that rules made: the same session, words and speaker give the same; for one that sums up also
    the same messages, so that it is made anew when one of them was forgotten.
    """
    of = [source.n] if kind in SUMS else []
    return f"r{digest([source.session or source.log, kind, text, *of, *filter(None, [said])], 15)}"


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
