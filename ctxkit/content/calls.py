"""The calls of a context: the messages that make or answer them, their tools, and the files that they touch.

`measure/shares.py` and `cut/trim.py` use it. Content is read once, and only if files are asked for.
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
    """The calls of the messages `names` of a log. `whole`: of the original messages, not as ops shortened them."""

    def __init__(self, log: OpenLog, names: Sequence[Name], *, whole: bool = False) -> None:
        self.log, self.state, self.names, self.whole = log, log.state(), names, whole

    @cached_property
    def _made(self) -> dict[int, Message]:
        """The messages of the context by number: a native log holds columns, and each is made only once. Of a long log
        that left the context they are made one by one, so that it costs nothing.
        """
        if 2 * len(self.names) > self.state.count:
            return {message.n: message for message in self.state.messages}
        return {n: self.state.messages[n - 1] for n in self.names if isinstance(n, int)}

    def message(self, n: int) -> Message:
        """Message n of the log."""
        return self._made.get(n) or self.state.messages[n - 1]

    def callers(self, name: Name) -> list[int]:
        """The messages with the calls that message `name` makes or answers."""
        if not isinstance(name, int):
            return []
        message = self.message(name)
        answered = (self.state.steps.caller(name, call) for call in message.results)
        return [*([name] if message.calls else []), *dict.fromkeys(n for n in answered if n is not None)]

    def tools(self, name: Name) -> set[str]:
        """The tools of the calls that message `name` makes or answers."""
        return {tool for n in self.callers(name) for tool in self.message(n).tools}

    def files(self, name: Name) -> list[FileTouch]:
        """The files that the calls of message `name`, or those that it answers, touch."""
        return [touch for n in self.callers(name) for touch in self.touched.get(n, ())]

    @cached_property
    def touched(self) -> dict[Name, list[FileTouch]]:
        """Message -> the files that its calls touch, in order of the context; without messages that touch none."""
        found: dict[Name, list[FileTouch]] = {}
        for name in self.names:
            if isinstance(name, int) and self.message(name).calls:
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
        """Message -> its place among `names`."""
        return {name: n for n, name in enumerate(self.names)}

    @cached_property
    def _newest(self) -> dict[tuple[str, str | None], Name]:
        """Path and part -> the newest message that reads it. Part None: that reads all of it, or writes it."""
        return {
            (touch.path, (touch.part or None) if touch.how == "read" else None): name
            for name, some in self.touched.items() for touch in some
        }  # fmt: skip

    def outdated(self, name: Name, touch: FileTouch) -> Name | None:
        """The newest message that repeats or outdates the read `touch` of message `name`; None if there is none."""
        if touch.how != "read" or touch.mixed:
            return None
        later = [found for part in {None, touch.part} if (found := self._newest.get((touch.path, part))) is not None]
        newest = max(later, key=self.place.__getitem__, default=name)
        return newest if self.place[newest] > self.place[name] else None
