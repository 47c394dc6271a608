"""Reads the tasks that an agent keeps with tools, each in its newest state. Pure.

Some tools write the whole list again with each call (TodoWrite, update_plan), others create a task and change it by its
id (TaskCreate and TaskUpdate, Beads, Linear, Jira). A summary, a query, memory and `trim --strategy episodes` use it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ctxkit.core.derive.files import SCRIPTS
from ctxkit.core.item_names import Name
from ctxkit.cut.units.text_segments import LISTED, SegmentKind, TextSegment, flat

CALLS = 1000
"""How many of the newest calls are kept, for their results."""
MANY = 100
"""The most tasks of a list in a result."""
DONE = re.compile(r"(?:complete|done|cancel|delet|skip|close|fail|resolved|merged|duplicate)", re.I)
"""Matches states of tasks that nobody works on any more."""
TOOL = re.compile(r"^(?!task$).*(?:task(?!output|stop)|todo|issue|ticket|bead|linear|jira)", re.I)
"""Matches tools that keep tasks, each by its id. `Task` starts an agent."""
REMOVES = re.compile(
    r"(?:delete|remove|archive|close|complete)_?(?:jira_?|linear_?)?(?:task|todo|issue|ticket|bead)s?$", re.I
)
"""Matches tools after whose call nobody works on the task."""
IDS = ("taskId", "task_id", "issueId", "issue_id", "issueKey", "identifier", "key", "number", "id")
TEXTS = ("subject", "title", "summary", "content", "step", "task", "name")
STATES = ("status", "state")
"""Keys of a task's id, of its text and of its status, as TaskUpdate, Linear, Jira and others have them."""
CREATED = re.compile(
    r"\b(?:task|issue|ticket|bead)s? #?([\w-]*\d[\w-]*) created|\bcreated (?:task|issue|ticket|bead):? #?([\w-]+)", re.I
)
PRINTED = re.compile(r"^\W*#?([\w-]*\d[\w-]*)[.:]? \[(\w+)\] (.+)$", re.M)
"""Match the id of a created task, and a task in a list that is printed: `#3 [pending] Write the page`."""
BEADS = re.compile(
    r"\bbd\s+(create|update|close|done|reopen|delete)\s+(?:--title[= ])?(?:\"([^\"]+)\"|'([^']+)'|([\w.-]+))"
    r"(?:[^\n;&|]*?--(?:status[= ](\w+)|(claim)\b))?"
)
"""Matches a call of Beads, which keeps issues for agents."""
BD = re.compile(r"\bbd\s+\w")
BEAD = re.compile(r"^\W*([\w-]+-[\w.]+) · (.+?) +\[.* · (\w+)\]$|\bissue: ([\w-]+-[\w.]+) — (.+)$", re.M)
"""Matches what Beads prints of an issue: id, title and state, or id and title."""
STDIN = "write_stdin"
"""Codex's tool that reads on what a command prints."""
REMINDED = re.compile(r"\btask_reminder: (\{.*\})")
"""Matches Claude Code's reminder of all tasks, which also has what other agents of the session set."""
VERBS = {"close": "closed", "done": "closed", "delete": "deleted", "reopen": "open", "claim": "in_progress"}


class Task(NamedTuple):
    """A task. `name`: the message that says its state; `place`: of that segment; `id`: "" for a task of a list."""

    name: Name
    place: int
    id: str
    text: str
    status: str

    @property
    def line(self) -> str:
        """All of it on one line."""
        return flat(f"{self.id} [{self.status}] {self.text}")


class TaskList(NamedTuple):
    """A list of tasks, the message and the call that write it, and the list `before` that it replaces."""

    name: Name
    call: str
    tasks: list[Task]
    before: TaskList | None


class MadeCall(NamedTuple):
    """A call with its result. `name`, `place`: of its first segment; `given`: its arguments by their last keys."""

    name: Name
    place: int
    given: dict[str, str]
    result: TextSegment

    @property
    def script(self) -> str:
        """The script of a call of a shell."""
        return next((self.given[key] for key in SCRIPTS if key in self.given), "") if self.result.runs else ""


class TaskReader:
    """The tasks of a session. Reads segments in order; holds the newest lists, and the tasks with ids. A call that
    failed says nothing.
    """

    def __init__(self) -> None:
        self.lists: dict[str, TaskList] = {}
        """Tool -> the newest list that it writes."""
        self._single: dict[str, Task] = {}
        """Id -> its task."""
        self._calls: dict[str, MadeCall] = {}

    @property
    def open(self) -> list[Task]:
        """The open tasks: those of lists, in their order, then those with ids."""
        listed = (task for one in self.lists.values() for task in one.tasks)
        return [task for task in (*listed, *self._single.values()) if task.text and not DONE.match(task.status)]

    def add(self, place: int, piece: TextSegment) -> MadeCall | None:
        """Takes the next segment, which is at `place`. Returns the call that it is the result of."""
        call = self._calls.get(piece.call)
        if piece.kind == SegmentKind.INPUT:
            if call is None or call.name != piece.name:
                call = self._calls[piece.call] = MadeCall(piece.name, place, {}, piece)
                if len(self._calls) > CALLS:
                    del self._calls[next(iter(self._calls))]
            call.given.setdefault(piece.argument, piece.text)
            self._take_listed(place, piece)
        elif piece.kind == SegmentKind.RESULT:
            call = (call or MadeCall(piece.name, place, {}, piece))._replace(result=piece)
            self._take_result(call, place)
            return call
        elif piece.kind == SegmentKind.NOTICE and (reminded := REMINDED.search(piece.text)) is not None:
            for one in _objects(reminded[1]):
                self._set(piece.name, place, *one)
        return None

    def _take_listed(self, place: int, piece: TextSegment) -> None:
        if not piece.is_task or (found := LISTED.match(piece.text)) is None:
            return
        known = self.lists.get(piece.tool)
        if known is None or (known.name, known.call) != (piece.name, piece.call):
            before = known and known._replace(before=None)
            self.lists[piece.tool] = known = TaskList(piece.name, piece.call, [], before)
        known.tasks.append(Task(piece.name, place, "", found[2], found[1]))

    def _take_result(self, call: MadeCall, place: int) -> None:
        piece = call.result
        known = self.lists.get(piece.tool)
        is_list = known is not None and known.call == piece.call
        if known is not None and (piece.failed if is_list else not call.given and not piece.failed):
            before = known.before if is_list else None  # a call without arguments writes an empty list
            self.lists[piece.tool] = before or TaskList(piece.name, piece.call, [], None)
        elif (piece.runs or piece.tool == STDIN) and not piece.failed:
            self._take_beads(call, place)
        elif TOOL.search(piece.tool) is not None and not is_list and not piece.failed:
            self._take_call(call, place)

    def _take_call(self, call: MadeCall, place: int) -> None:
        piece = call.result
        number, text, status = (_first(call.given, keys) for keys in (IDS, TEXTS, STATES))
        removed = "deleted" if REMOVES.search(piece.tool) else ""
        if (created := CREATED.search(piece.text)) is not None:
            number, status = created[1] or created[2], status or "pending"
        printed = [(one[1], one[3].strip(), one[2]) for one in PRINTED.finditer(piece.text)]
        found = [*printed, *_objects(piece.text)]
        for one, words, state in found:
            self._set(piece.name, place, one, words or text, removed or state or status)
        if not found and number and (text or status or removed):
            self._set(call.name, call.place, number, text, removed or status)

    def _take_beads(self, call: MadeCall, place: int) -> None:
        created = CREATED.finditer(call.result.text)
        for verb, *some, status, claim in BEADS.findall(call.script):
            words = next(filter(None, some), "")
            if verb != "create":
                self._set(call.name, call.place, words, "", VERBS.get(verb, VERBS.get(claim, status)))
            elif (made := next(created, None)) is not None:
                self._set(call.name, call.place, made[1] or made[2], words, "open")
        if "--json" in call.script and BD.search(call.script) is not None:
            for one in _objects(call.result.text.rpartition("Output:\n")[2]):
                self._set(call.result.name, place, *one)
        for shown in BEAD.finditer(call.result.text):
            number, text = shown[1] or shown[4], shown[2] or shown[5]
            state = (shown[3] or "").lower() or ("" if number in self._single else "open")
            self._set(call.result.name, place, number, text, state)

    def _set(self, name: Name, place: int, number: str, text: str, status: str) -> None:
        number = number.lstrip("#")
        known = self._single.get(number, Task(name, place, number, "", "pending"))
        told = known._replace(text=text or known.text, status=status or known.status)
        if told != known or number not in self._single:  # a call that says nothing new tells nothing
            self._single[number] = told._replace(name=name, place=place)


def is_open(line: str) -> bool:
    """Whether a line of a task of a list (`TextSegment.is_task`) says that it is still to be done."""
    return (found := LISTED.match(line)) is not None and DONE.match(found[1]) is None


def _first(values: Mapping[str, Any], keys: Sequence[str]) -> str:
    """The first of these values that is there, as text; of a status with a name its name."""
    found = next((values[key] for key in keys if isinstance(values.get(key), str | int | dict)), "")
    return str(found.get("name", "") if isinstance(found, dict) else found)


def _objects(text: str) -> list[tuple[str, str, str]]:
    """Id, text and status of each task in a result that is JSON; if it has none, the id that the result itself has."""
    try:
        root = json.loads(text) if text[:1] in ("{", "[") else None
    except (ValueError, RecursionError):
        root = None
    found: list[tuple[str, str, str]] = []
    waiting = [root]
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, dict):
            fields = {**one, **(one["fields"] if isinstance(one.get("fields"), dict) else {})}  # as Jira has them
            task = _first(fields, IDS), _first(fields, TEXTS), _first(fields, STATES)
            if all(task):
                found.append(task)
            waiting += [held for held in one.values() if isinstance(held, list) or not all(task)]
        elif isinstance(one, list):
            waiting += one[:MANY]
    return found or ([(number, "", "")] if isinstance(root, dict) and (number := _first(root, IDS)) else [])
