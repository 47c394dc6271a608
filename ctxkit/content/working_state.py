"""Reads the present of a session from its calls: tasks, the newest search, the working tree, ids. Pure.

Each call is read once, when its result is there. What a later call replaces is gone: a search by the next one, a list
of changed files by a commit, a task's state by the next one that is said of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from ctxkit.content.identifiers import IdentifierKind, placed
from ctxkit.content.text_segments import SegmentKind, TextSegment
from ctxkit.core.item_names import Name, Names
from ctxkit.core.text.redaction import redact

OPEN_CALLS = 1000
"""How many calls wait for their results."""
PLACES, CHANGED, IDS = 25, 30, 12
"""The most places of a search, changed files, and ids that are listed: more are no list that somebody works through."""
QUERY = 60
"""The most characters of what a search looks for."""
TASK_TOOL = re.compile(r"task(?!output)|todo|issue|ticket|plan|bead|linear|jira", re.I)
"""Matches tools that keep tasks, each by its id."""
TASK_IDS = ("taskId", "task_id", "issueId", "issue_id", "issueKey", "identifier", "key", "id")
TEXTS = ("subject", "title", "summary", "content", "step", "task", "name")
STATES = ("status", "state")
"""Keys of a task's id, of its words and of its state, as TaskUpdate, Linear, Jira and others have them."""
CREATED = re.compile(
    r"\b(?:task|issue|ticket|bead)s? #?([\w-]*\d[\w-]*) created|\bcreated (?:task|issue|ticket|bead):? #?([\w-]+)", re.I
)
LISTED = re.compile(r"^\W*#?([\w-]*\d[\w-]*)[.:]? \[(\w+)\] (.+)$", re.M)
"""Matches a created task, and a task in a list: `#3 [pending] Write the page`."""
BEADS = re.compile(
    r"\bbd\s+(create|update|close|done|reopen)\s+(?:\"([^\"]+)\"|'([^']+)'|([\w.-]+))(?:.*?--status[= ](\w+))?"
)
"""Matches a call of Beads, which keeps issues for agents."""
SEARCH_TOOL = re.compile(r"^(?!.*(?:web|tool)).*(?:grep|search|glob|find(?!ing))", re.I)
SEARCH = re.compile(r"^(?:\w+=\S* )*(?:(?:git )?grep|rg|ag|ack|find|fd)\b")
LOOKS_FOR = ("pattern", "query", "regex", "glob")
PLACE = re.compile(r"^(?:\./)?((?:[A-Za-z]:)?[\w@.+/\\-]*[\w-]\.[A-Za-z]\w{0,7})(?::(\d+)[:-]|:?\s*$)", re.M)
"""Matches the place of a hit: its file, and its line."""
BESIDE = re.compile(r"^\S*/[^\s:]*(?=[:\n]|$)", re.M)
"""Matches a line of a search that names a file, also without an ending."""
STATUS = re.compile(r"\bgit (?:-C \S+ )?status\b")
CHANGES = re.compile(
    r"\bgit (?:-C \S+ )?(add|am|apply|checkout|cherry-pick|clean|commit|merge|mv|pull|push|rebase|reset|"
    r"restore|revert|rm|stash|switch)\b(?: --amend)?"
)
"""Matches what makes a printed `git status` old."""
STAYS = frozenset({"add", "apply", "clean", "mv", "push", "restore", "rm", "stash"})
"""Those of them that leave the last commit as it is."""
BRANCH = re.compile(r"^(?:On branch |## )([\w./-]+?)(?:\.\.\.|$)", re.M)
MOVED = re.compile(r"\bgit (?:-C \S+ )?(?:checkout|switch) (?:-[bcBC] )?([\w./-]+)\s*(?:$|[;&|])")
COMMITTED = re.compile(r"^\[([\w./-]+)(?: \([\w-]+\))? ([0-9a-f]{7,40})\] (.*)$", re.M)
"""Matches what `git commit` prints: branch, hash, message."""
PUSHED = re.compile(r"\b[0-9a-f]{7,40}\.{2,3}([0-9a-f]{7,40})\s+(\S+) -> ")
"""Matches what `git push` prints: the newest hash, the branch."""
PULL = re.compile(r"https://[\w.-]+/[\w./-]+/(?:pull|merge_requests)/\d+")
MARKED = re.compile(r"^\s*(?:([ MADRCU?!]{2}) |(modified|new file|deleted|renamed):\s+)(\S.*)$", re.M)
UNTRACKED = re.compile(r"^Untracked files:\n(?:  \(.*\n)?((?:\t\S.*\n?)+)", re.M)
LONG_NUMBER = re.compile(r"(?<![\w.-])\d{8,20}(?![\w.-])")
AROUND = 100
"""Characters around an id in which a secret is looked for, whose part it may be: alone nobody would know it for one."""
LARGE = 6000
"""The most characters of an output whose ids are kept: longer ones are listings and logs."""


DONE = re.compile(r"(?:complete|done|cancel|delet|skip|close|fail|resolved|merged|duplicate)", re.I)
"""Matches states of tasks that nobody works on any more."""


class _Task(msgspec.Struct):
    name: Name
    text: str = ""
    state: str = "pending"


class _Call(NamedTuple):
    name: Name
    tool: str
    given: Mapping[str, str]
    script: str
    result: str
    failed: bool


class _Line(NamedTuple):
    """What is said of the present, and by which message."""

    name: Name
    text: str


class WorkingState:
    """The present of a session. Holds only what is newest."""

    def __init__(self) -> None:
        self._given: dict[str, tuple[str, dict[str, str]]] = {}
        """Call -> its tool, and its arguments by their paths."""
        self._tasks: dict[str, _Task] = {}
        self._search: _Line | None = None
        self._looked = ""
        """What that search looks for."""
        self._branch: _Line | None = None
        self._commit: _Line | None = None
        self._pull: _Line | None = None
        self._changed: _Line | None = None
        self._ids: dict[str, _Line] = {}
        """Id -> the message that has it, and what stands around it."""

    def add(self, piece: TextSegment) -> None:
        """Takes the next segment."""
        if piece.kind == SegmentKind.INPUT and piece.call:
            _, given = self._given.setdefault(piece.call, (piece.tool, {}))
            given[piece.key] = piece.text
            if piece.is_script and (verbs := {found[1] for found in CHANGES.finditer(piece.text)}):
                self._changed = None  # at once: many of these print nothing
                self._commit = self._commit if verbs <= STAYS else None
            if len(self._given) > OPEN_CALLS:
                del self._given[next(iter(self._given))]
        elif piece.kind == SegmentKind.RESULT:
            tool, given = self._given.pop(piece.call, (piece.tool, {}))
            script = (
                next((given[key] for key in ("command", "cmd", "script") if key in given), "") if piece.runs else ""
            )
            self._take(_Call(piece.name, tool, given, script, piece.text, piece.failed))

    def _take(self, call: _Call) -> None:
        if not call.failed:
            self._take_tasks(call)
            self._take_tree(call)
        found = self._take_search(call) or CHANGES.search(call.script) is not None
        if not (found or call.failed) and (call.script or call.tool.startswith("mcp")) and len(call.result) <= LARGE:
            for one, at in _ids(call.result):
                self._ids.pop(one, None)
                self._ids[one] = _Line(call.name, call.result[max(0, at - AROUND) : at + len(one) + AROUND])

    def _take_tasks(self, call: _Call) -> None:
        for beads in BEADS.finditer(call.script):
            self._take_beads(call, beads)
        if TASK_TOOL.search(call.tool) is None:
            return
        text = next((call.given[key] for key in TEXTS if key in call.given), "")
        state = next((call.given[key] for key in STATES if key in call.given), "")
        number = next((call.given[key] for key in TASK_IDS if key in call.given), "")
        if (created := CREATED.search(call.result)) is not None:
            number = created[1] or created[2]
        for task in _objects(call.result):
            self._set(call.name, *task)
        for listed in LISTED.finditer(call.result):
            self._set(call.name, listed[1], listed[3].strip(), listed[2])
        if number and (text or state):
            self._set(call.name, number, text, state)

    def _take_beads(self, call: _Call, beads: re.Match[str]) -> None:
        verb, words = beads[1], beads[2] or beads[3] or beads[4]
        if verb == "create":
            if (created := CREATED.search(call.result)) is not None:
                self._set(call.name, created[1] or created[2], words, "open")
        else:
            self._set(call.name, words, "", "closed" if verb in ("close", "done") else beads[5] or "open")

    def _set(self, name: Name, number: str, text: str, state: str) -> None:
        task = self._tasks.setdefault(number, _Task(name))
        task.name, task.text, task.state = name, text or task.text, state or task.state

    def _take_search(self, call: _Call) -> bool:
        ran = [SEARCH.match(one) is not None for one in _commands(call.script)]
        is_search = SEARCH_TOOL.search(call.tool) is not None or (bool(ran) and all(ran))
        if not (is_search or any(ran)):
            return False
        self._search = None  # a later one is the newest, also where nothing can be said of it
        if not is_search or call.failed:
            return is_search
        places: dict[str, list[str]] = {}
        for hit in PLACE.finditer(call.result):
            lines = places.setdefault(hit[1], [])
            if hit[2] and hit[2] not in lines:
                lines.append(hit[2])
        if len(places) > 0 and sum(max(1, len(lines)) for lines in places.values()) <= PLACES:
            looked = next((call.given[key] for key in LOOKS_FOR if key in call.given), call.script)
            said = ", ".join(f"{path}:{','.join(lines)}" if lines else path for path, lines in places.items())
            others = {one.removeprefix("./") for one in BESIDE.findall(call.result)} - places.keys()
            said += f" and {len(others)} other" if others else ""
            self._search, self._looked = _Line(call.name, said), _flat(looked)
        return True

    def _take_tree(self, call: _Call) -> None:
        if not call.script and not call.tool.startswith("mcp"):
            return
        if (moved := MOVED.search(call.script)) is not None and "." not in moved[1].rpartition("/")[2]:
            self._branch = _Line(call.name, moved[1])
        if (made := [*COMMITTED.finditer(call.result)]) and "commit" in call.script:
            self._branch = _Line(call.name, made[-1][1])
            self._commit = _Line(call.name, f"{made[-1][2]} {_flat(made[-1][3])}")
        if (pushed := [*PUSHED.finditer(call.result)]) and "push" in call.script:
            told = self._commit.text if self._commit is not None else ""
            if not told.startswith(pushed[-1][1]):
                self._commit = _Line(call.name, f"{pushed[-1][1]} {pushed[-1][2]}")
        pulls = PULL.findall(call.result)
        if pulls and "pr create" in call.script:
            self._pull = _Line(call.name, pulls[-1])
        if STATUS.search(call.script) is not None:
            if (branch := BRANCH.search(call.result)) is not None:
                self._branch = _Line(call.name, branch[1])
            files = [f"{mark or word} {path}".strip() for mark, word, path in MARKED.findall(call.result)]
            files += [f"?? {path.strip()}" for block in UNTRACKED.findall(call.result) for path in block.splitlines()]
            self._changed = _Line(call.name, ", ".join(files)) if 0 < len(files) <= CHANGED else None

    def lines(self, covered: Names, tag: Callable[[Name], str]) -> Iterator[list[str]]:
        """Yields the parts that messages of `covered` say, each as its lines."""
        tasks = [(number, task) for number, task in self._tasks.items() if task.text and task.name in covered]
        if any(DONE.match(task.state) is None for _, task in tasks):
            rows = [
                f"{number} [{task.state}] {_flat(task.text)}" for number, task in tasks if not DONE.match(task.state)
            ]
            name = next(task.name for _, task in reversed(tasks) if not DONE.match(task.state))
            yield [f"Open tasks: {tag(name)} {rows[0]}", *(f"  {row}" for row in rows[1:])]
        if self._search is not None and self._search.name in covered:
            looked = redact(self._looked)[0]
            looked = f"{looked[:QUERY]}{' …' * (len(looked) > QUERY)}"
            yield [f"Found last: {tag(self._search.name)} {looked} → {self._search.text}"]
        known = {"branch ": self._branch, "last commit ": self._commit, "": self._pull, "git status: ": self._changed}
        said = ((word, line) for word, line in known.items() if line is not None and line.name in covered)
        tree = [f"{word}{line.text} {tag(line.name)}" for word, line in said]
        if tree:
            yield [f"Working tree: {'; '.join(tree)}"]
        ids = [one for one, line in self._ids.items() if line.name in covered][-IDS:]
        ids = [one for one in reversed(ids) if one in redact(self._ids[one].text)[0]]
        if ids:
            yield [f"Newest ids: {', '.join(f'{one} {tag(self._ids[one].name)}' for one in ids)}"]


def _commands(script: str) -> list[str]:
    """The first commands of the pipes of a script, but for changes of the folder."""
    found = [one.strip() for one in re.split(r"&&|\|\||[;\n]", script)]
    return [one for one in found if one and not one.startswith(("cd ", "echo ", "#"))]


def _objects(text: str) -> Iterator[tuple[str, str, str]]:
    """Yields id, words and state of each task in a result that is JSON."""
    if text[:1] not in ("{", "["):
        return
    try:
        waiting: list[Any] = [json.loads(text)]
    except (ValueError, RecursionError):
        return
    while waiting:
        one = waiting.pop(0)
        if isinstance(one, list):
            waiting += one[:100]
        elif isinstance(one, dict):
            number = next((str(one[key]) for key in TASK_IDS if isinstance(one.get(key), str | int)), "")
            words = next((one[key] for key in TEXTS if isinstance(one.get(key), str)), "")
            state = next((one[key] for key in STATES if key in one), "")
            state = state.get("name", "") if isinstance(state, dict) else state
            if number and words and isinstance(state, str) and state:
                yield number, words, state
            waiting += [held for held in one.values() if isinstance(held, dict | list)]


def _ids(text: str) -> Iterator[tuple[str, int]]:
    """Yields what names something in an output, each with its place."""
    for found, at in placed(text):
        if text.startswith("..", at + len(found.text)):  # `old..new`: what was before
            continue
        if found.kind == IdentifierKind.NUMBER and "." not in found.text and len(found.text) < 40:
            yield found.text, at
    yield from ((found[0], found.start()) for found in LONG_NUMBER.finditer(text))


def _flat(text: str) -> str:
    return " ".join(text.split())
