"""A choice among sessions, as it stands: what was typed, which ones fit, which one is under the cursor; and its look.

Pure: `picker.py` has the terminal. What is drawn is never wider or higher than the screen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Literal

from ctxkit.cli.terminal import streams
from ctxkit.cli.terminal.layout import ROOMY
from ctxkit.cli.terminal.safe_text import cells, clip, clip_start, safe
from ctxkit.cli.terminal.session_list import UNTITLED, Line, facts, fitted
from ctxkit.cli.terminal.style import Styled
from ctxkit.cli.terminal.wrap import wrapped
from ctxkit.search.sessions import Session
from ctxkit.when import Clock

Outcome = Literal["", "taken", "left", "broken"]
"""What a key led to: nothing yet, a choice, none, an interrupt."""

LOW = 10
"""Lines of a screen from which on there is a preview."""
PREVIEW = 8
"""Lines of a preview, at most."""


class PickerState:
    """Of some sessions, newest first. `rows`: lines of the list as it was drawn last."""

    def __init__(self, sessions: Sequence[Session]) -> None:
        self._all = sessions
        self._words = [_words(one) for one in sessions]
        self._fitting = list(range(len(sessions)))
        self._at = 0
        self._top = 0
        self.query = ""
        self.rows = 1

    @property
    def chosen(self) -> Session | None:
        """What is under the cursor; None where nothing fits."""
        return self._all[self._fitting[self._at]] if self._fitting else None

    def press(self, key: str) -> Outcome:
        """A key; what it led to."""
        match key:
            case "enter":
                return "taken" if self._fitting else ""
            case "escape":
                return "left"
            case "break":
                return "broken"
            case "up" | "down" | "page up" | "page down" | "home" | "end":
                self._move(key)
            case "backspace":
                self._ask(self.query[:-1])
            case "clear":
                self._ask("")
            case "word":
                self._ask(self.query.rstrip().rpartition(" ")[0])
            case _ if len(key) == 1:
                self._ask(self.query + key)
        return ""

    def _move(self, key: str) -> None:
        last = len(self._fitting) - 1
        page = max(1, self.rows)
        to = {
            "up": self._at - 1, "down": self._at + 1, "page up": self._at - page, "page down": self._at + page,
            "home": 0, "end": last,
        }[key]  # fmt: skip
        self._at = max(0, min(last, to))

    def _ask(self, query: str) -> None:
        """Filter anew; the cursor stays on its session, where that still fits."""
        held = self._fitting[self._at] if self._fitting else -1
        narrower = query.startswith(self.query)
        wanted = query.lower().split()
        among = self._fitting if narrower else range(len(self._all))
        self._fitting = [i for i in among if all(word in self._words[i] for word in wanted)]
        self._at = self._fitting.index(held) if held in self._fitting else 0
        self.query = query

    def lines(self, columns: int, rows: int) -> list[Line]:
        """The screen, from its top: what was typed, those that fit, what is known of the one under the cursor."""
        count = f" {len(self._fitting):,}/{len(self._all):,}"
        room = columns - len(count) - 3
        asked = clip_start(safe(self.query, keep_newlines=False), room)
        head: Line = [Styled("> ", "cyan"), asked, "_", " " * max(0, room - cells(asked)), Styled(count, "dim")]
        if room < 4:
            head = [clip_start(f"> {safe(self.query, keep_newlines=False)}_", columns)]
        shown = list(islice(self._preview(columns), PREVIEW)) if rows >= LOW else []
        self.rows = max(1, rows - 1 - len(shown))
        self._top = min(max(self._top, self._at - self.rows + 1), self._at)
        listed = self._fitting[self._top : self._top + self.rows]
        drawn = [self._row(i, columns, here=self._top + k == self._at) for k, i in enumerate(listed)]
        return [head, *drawn, *([[]] * (self.rows - len(drawn))), *shown][:rows]

    def _row(self, i: int, columns: int, *, here: bool) -> Line:
        one = self._all[i]
        clock = _clock()
        stamp = clock.bare(one.time) if columns >= ROOMY else clock.day(one.time)
        start = f"{'>' if here else ' '} {stamp} "
        title = fitted(one.glance.title or UNTITLED, columns - len(start))
        if columns <= len(start):
            return [Styled(clip(start, columns), "bold" if here else "")]
        return [Styled(start, "bold cyan" if here else "dim"), Styled(title, "bold" if here else "")]

    def _preview(self, columns: int) -> Iterator[Line]:
        """A rule, figures, the path, the last words."""
        yield [Styled("─" * columns, "dim")]
        one = self.chosen
        if one is None:
            yield [clip("nothing fits", columns)]
            return
        time = _clock().whole(int(one.time))
        yield from islice(wrapped([time, "  ", *facts(one)], columns, 0, hard=True), 2)
        yield [Styled(clip_start(safe(str(one.path), keep_newlines=False), columns), "dim")]
        if one.glance.last is not None:
            last = one.glance.last
            said = f"{safe(last.role, keep_newlines=False)}: {safe(last.text, keep_newlines=False)}"
            yield from wrapped([said], columns, 0, hard=True)


def _clock() -> Clock:
    """The list is drawn on a terminal, wherever the path goes that is printed."""
    return Clock(streams.clock().zone, exact=streams.Streams.utc)


def _words(one: Session) -> str:
    """What a session is found by."""
    last = "" if one.glance.last is None else one.glance.last.text
    return (
        f"{_clock().bare(one.time)}\n{one.glance.title}\n{last}\n{one.path}\n{one.glance.format}\n{one.state}".lower()
    )
