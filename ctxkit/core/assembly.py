"""Assembly: what stands around the messages of a context: a system prompt, documents, notes, the status of the threads.

Pipeline: context -> assembly -> `integrity`, the formats. It is no part of the log: it has no number, and no op can
name it. Texts come from outside (`logfile/assembly_sources.py`); the thread status is made here, from what is in the
context alone: same log, same bytes, and nothing that was taken out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import msgspec

from ctxkit.core.context import Projection, names
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Content, Text
from ctxkit.core.select import opens
from ctxkit.core.state import PREAMBLE_ROLES, State
from ctxkit.core.times import iso

T = TypeVar("T")

BEGINNING = 80
"""Characters of a thread's last user message that its status quotes."""


class Assembled(msgspec.Struct, frozen=True):
    """A message that is not in the log. `kind`: system, docs, memory or status; `source`: the file it was read from,
    or "".
    """

    kind: str
    role: str
    text: str
    source: str = ""

    @property
    def content(self) -> Content:
        """As a message in full."""
        return Content(self.role, [Text(self.text)])


class AssemblySources(msgspec.Struct, frozen=True):
    """What is read for an assembly: the texts that lead, those after the status of the threads, and their file; the
    `notes` of the project.
    """

    lead: tuple[Assembled, ...]
    words: tuple[str, ...]
    source: str
    notes: Assembled | None = None


class Assembly(msgspec.Struct, frozen=True):
    """What is assembled: `lead` stands before everything, `notes` and `status` after the system preamble of the
    context. Notes are words of other sessions, so they are no part of the system's.
    """

    lead: tuple[Assembled, ...] = ()
    status: Assembled | None = None
    notes: Assembled | None = None

    def __iter__(self) -> Iterator[Assembled]:
        yield from self.lead
        yield from self.beside

    @property
    def beside(self) -> tuple[Assembled, ...]:
        """What stands in the user's role right before the conversation."""
        return tuple(one for one in (self.notes, self.status) if one is not None)

    def around(self, messages: Iterable[T], role: Callable[[T], str]) -> Iterator[T | Assembled]:
        """The messages with what is assembled in its places, so that all of the system's words lead."""
        yield from self.lead
        beside = self.beside
        for message in messages:
            if beside and role(message) not in PREAMBLE_ROLES:
                yield from beside
                beside = ()
            yield message
        yield from beside


NOTHING = Assembly()


class Thread(msgspec.Struct):
    """A thread of the context. `last`: its newest time, in seconds; `asked`: its last user message, if it has one."""

    name: str
    messages: int = 0
    last: float | None = None
    speaker: str = ""
    calls: set[str] = set()
    asked: Name | None = None

    @property
    def waiting(self) -> str:
        """For whom: the last call without a result, the user once the model has spoken, else the model."""
        if self.calls:
            return "a tool"
        return "the user" if self.speaker == "assistant" else "the model"


def threads(state: State, projection: Projection) -> list[Thread]:
    """The threads of the context, the one that spoke last first; those of one agent, where `projection` names one.

    A message without a thread is in none, a summary in those of what it tells. Another program's sidechains are not in
    the context, so they are not among them.
    """
    found: dict[str, Thread] = {}
    for name in names(state, msgspec.structs.replace(projection, thread=None)):
        for thread in _threads_of(state, name):
            _take(state, found.setdefault(thread, Thread(thread)), name)
    return sorted(found.values(), key=lambda thread: -1e18 if thread.last is None else thread.last, reverse=True)


def status(state: State, projection: Projection, text: Callable[[Name], str]) -> str:
    """The status of the threads in words; "" where there are not two. `text`: all words of a message."""
    found = threads(state, projection)
    if len(found) < 2:
        return ""
    return "\n".join([f"Threads: {len(found)} active", *(_line(thread, text) for thread in found)])


def _threads_of(state: State, name: Name) -> list[str]:
    if isinstance(name, int):
        own = state.messages[name - 1].thread
        return [] if own is None else [own]
    item = state.board.items[name]
    if item.summary:
        known = state.told_threads.get(name)
        if known is None or known[0] is not item:
            told = dict.fromkeys(thread for told in item.tells for thread in _threads_of(state, told))
            known = state.told_threads[name] = item, list(told)
        return known[1]
    own = item.message.get("thread")
    return [own] if isinstance(own, str) else []


def _take(state: State, thread: Thread, name: Name) -> None:
    thread.messages += 1
    moment = state.original(name)
    if moment is not None and (thread.last is None or moment > thread.last):
        thread.last = moment
    if isinstance(name, int):
        message = state.messages[name - 1]
        role, calls, results = message.role, set(message.calls), set(message.results)
    else:
        item = state.board.items[name]
        if item.summary:
            return
        role, calls = item.role, _calls(item.message.get("tool_calls"))
        results = {str(item.message.get("tool_call_id"))}
    if role in PREAMBLE_ROLES:
        return
    if opens(state, name):
        thread.asked = name
        thread.calls = set()
    thread.calls = (calls if role == "assistant" else thread.calls) - results
    thread.speaker = role


def _calls(made: object) -> set[str]:
    if not isinstance(made, list):
        return set()
    return {call["id"] for call in made if isinstance(call, dict) and isinstance(call.get("id"), str)}


def _line(thread: Thread, text: Callable[[Name], str]) -> str:
    last = "no time" if thread.last is None else iso(thread.last)
    count = f"{thread.messages} message{'s' * (thread.messages != 1)}"
    words = _flat(text(thread.asked)) if thread.asked is not None else ""
    asked = f'"{words[:BEGINNING]}{"…" * (len(words) > BEGINNING)}"' if words else "nothing"
    return f"- {_flat(thread.name)}: last {last}, {count}, waiting for {thread.waiting}, user's last words: {asked}"


def _flat(text: str) -> str:
    """On one line, so that no text can pass for a line of the status."""
    return " ".join(text.split())
