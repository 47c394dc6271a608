"""Ranks a project's notes and the messages of its sessions together by a text, for `memory search`.

Pipeline: the notes are added to the ranking, then each session as `recall --here --about` adds it (`ranked_search.py`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ctxkit.cli.log_search import Searching
from ctxkit.cli.options import Looking, Reading, Selecting
from ctxkit.cli.ranked_search import Opened, RankedSearch
from ctxkit.cli.session_names import project_names
from ctxkit.cli.terminal import layout, memory_view, streams
from ctxkit.cli.terminal.layout import near
from ctxkit.cli.terminal.style import Styled
from ctxkit.core.derive.topic import traces
from ctxkit.errors import ExitCode, NoSuchSession, NothingMatched
from ctxkit.memory.memory import CheckedNote, Memory

if TYPE_CHECKING:
    from ctxkit.search.across import RankedMessage


class MemorySearch(RankedSearch):
    """One search in the notes and sessions of a project, and in other logs that notes were made from."""

    def __init__(
        self, memory: Memory, text: str, cwd: str | None, top: int | None, *, utc: bool, json: bool, quiet: bool
    ) -> None:
        searching, selecting, reading = Searching(), Selecting(), Reading()
        searching.text, searching.regex, searching.topic = [traces(text)], True, True
        selecting.about, selecting.top = text, top
        reading.utc, reading.json, reading.quiet = utc, json, quiet
        names: dict[str, str] = {}
        with suppress(NoSuchSession):
            names = project_names(cwd)
        self.memory, self.found = memory, memory.current()
        cited = {source.log for one in self.found for source in one.note.sources}
        others = sorted(path for path in cited - names.keys() if os.path.exists(path))
        places = [*names, *others]
        names |= {path: near(path) for path in others}
        super().__init__(places or [""], searching, selecting, Looking(), reading, names=names, many=True)
        self.places = places

    def run(self) -> int:
        """Rank the notes and messages, and print the best; the exit status."""
        from ctxkit.search.across import AcrossLogs  # brings sqlite3

        self.opened: list[Opened] = []
        self.criteria = Selecting()
        with AcrossLogs() as self.across:
            for one in self.found:
                self.across.add_text(one.note.text)
                self.opened.append(Opened("", None, f"note {one.number}"))
            with streams.progress("searching", "sessions") as step:
                self.search_all(step)
            best = self.across.best(self.selecting.about or "", self.selecting.top)
        noted = [one for one in best if one.log < len(self.found)]
        said = [one for one in best if one.log >= len(self.found)]
        sessions = layout.count(len(self.opened) - len(self.found), "session")
        if not best:
            text = f"what is about {self.selecting.about!r} is in no note and no session"
            raise NothingMatched(f"nothing found: {text} of {self.memory.project.folder} ({sessions})")
        self._print_notes(noted)
        if said:
            if noted and not self.reading.json:
                streams.out("")
            self._print(said, f"{sessions}; {layout.count(len(noted), 'note')} of {len(self.found):,}")
        else:
            streams.flush()
            streams.say(f"{layout.count(len(noted), 'note')} of {len(self.found):,}; no message of {sessions}")
        return ExitCode.DONE

    def _print_notes(self, noted: Sequence[RankedMessage]) -> None:
        notes: dict[int, CheckedNote] = dict(enumerate(self.found))
        if noted and not self.reading.json:
            streams.out(Styled("Notes", "bold"))
        for one in noted:
            if self.reading.json:
                streams.out_json({"score": one.percent, **memory_view.as_json(notes[one.log])})
            else:
                streams.out(*memory_view.line(notes[one.log], score=f"{one.percent} %"), hang=memory_view.HANG)
