"""Calls of a context: which messages make or answer them, with which tools, and which files they touch.

Used by `measure/shares.py` and `trim/trim.py`; content is read once, and only where files are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from ctxkit.core.context import entry
from ctxkit.core.derive.files import Action, FileTouch, touches
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Call, Message
from ctxkit.logfile.open import OpenLog


class Calls:
    """Those of the messages `names` of a log. `whole`: as they were made, whatever an op shortened them to."""

    def __init__(self, log: OpenLog, names: Sequence[Name], *, whole: bool = False) -> None:
        self.log, self.state, self.names, self.whole = log, log.state(), names, whole

    @cached_property
    def messages(self) -> list[Message]:
        """All messages of the log, each made once: those of a native log are columns."""
        return list(self.state.messages)

    def callers(self, name: Name) -> list[int]:
        """The messages whose calls a message makes or answers."""
        if not isinstance(name, int):
            return []
        message = self.messages[name - 1]
        answered = (self.state.steps.caller(name, call) for call in message.results)
        return [*([name] if message.calls else []), *dict.fromkeys(n for n in answered if n is not None)]

    def tools(self, name: Name) -> set[str]:
        """The tools of these calls."""
        return {tool for n in self.callers(name) for tool in self.messages[n - 1].tools}

    def files(self, name: Name) -> list[FileTouch]:
        """What these calls do to files."""
        return [touch for n in self.callers(name) for touch in self.touched.get(n, ())]

    @cached_property
    def touched(self) -> dict[Name, list[FileTouch]]:
        """Message with calls -> the files that they touch, in order of the context; only where there are any."""
        found: dict[Name, list[FileTouch]] = {}
        for name in self.names:
            if isinstance(name, int) and self.messages[name - 1].calls:
                content = self.log.original(name) if self.whole else self.log.full(entry(self.state, name))
                some = [touch for part in content.parts if isinstance(part, Call) for touch in touches(part)]
                if some:
                    found[name] = some
        return found

    @cached_property
    def by_path(self) -> dict[str, list[tuple[Name, Action]]]:
        """Path -> the messages that touch it, and how, in order of the context."""
        found: dict[str, list[tuple[Name, Action]]] = {}
        for name, some in self.touched.items():
            for touch in some:
                found.setdefault(touch.path, []).append((name, touch.action))
        return found

    @cached_property
    def place(self) -> dict[Name, int]:
        """Where each message stands among all."""
        return {name: n for n, name in enumerate(self.names)}

    @cached_property
    def _newest(self) -> dict[tuple[str, str | None], Name]:
        """Path and part -> the newest message that reads it; None for the part: that reads all of it, or writes it."""
        return {
            (touch.path, (touch.part or None) if touch.how == "read" else None): name
            for name, some in self.touched.items() for touch in some
        }  # fmt: skip

    def outdated(self, name: Name, touch: FileTouch) -> Name | None:
        """The newest message that shows again what `touch`, by message `name`, read, or makes it old."""
        if touch.how != "read" or touch.mixed:
            return None
        later = [found for part in {None, touch.part} if (found := self._newest.get((touch.path, part))) is not None]
        newest = max(later, key=self.place.__getitem__, default=name)
        return newest if self.place[newest] > self.place[name] else None
