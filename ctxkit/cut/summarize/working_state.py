"""Reads the present of a session from its calls: the newest search, the working tree. Pure.

Each call is read once, when its result is there. What a later call replaces is gone: a search by the next one, a list
of changed files by a commit. Its tasks are in `tasks.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from ctxkit.core.item_names import Name, Names
from ctxkit.core.text.redaction import redact
from ctxkit.cut.summarize.tasks import MadeCall
from ctxkit.cut.units.text_segments import TextSegment, flat

PLACES, CHANGED = 25, 30
"""The most places of a search, and changed files, that are listed: more are no list that somebody works through."""
QUERY = 60
"""The most characters of what a search looks for."""
SEARCH_TOOL = re.compile(r"^(?!.*(?:web|tool)).*(?:grep|search|glob|find(?!ing))", re.I)
SEARCH = re.compile(r"^(?:\w+=\S* )*(?:(?:git )?grep|rg|ag|ack|find|fd)\b")
LOOKS_FOR = ("pattern", "query", "regex", "glob")
PLACE = re.compile(r"^(?:\./)?((?:[A-Za-z]:)?[\w@.+/\\-]*[\w-]\.[A-Za-z]\w{0,7})(?::(\d+)[:-]|:?\s*$)", re.M)
"""Matches the place of a hit: its file, and its line."""
STATUS = re.compile(r"\bgit (?:-C \S+ )?status\b")
CHANGES = re.compile(
    r"\bgit (?:-C \S+ )?(add|am|apply|checkout|cherry-pick|clean|commit|merge|mv|pull|push|rebase|reset|"
    r"restore|revert|rm|stash|switch)\b(?: --amend)?"
)
"""Matches what makes a printed `git status` old."""
STAYS = frozenset({"add", "apply", "clean", "mv", "push", "restore", "rm", "stash"})
"""Those of them that leave the last commit as it is."""
GIT = re.compile(r"(?:^|[;&|(\n]\s*)git\b")
MOVES = re.compile(r"\bgit -C (\S+)|(?:^|[;&\n]\s*)cd (\S+)(?=\s*(?:&&|;|\n))")
"""Matches the folder in which a script runs git."""
FOLDERS = ("workdir", "cwd", "working_directory")
"""Arguments of shells that name it."""
BRANCH = re.compile(r"^(?:On branch |## )([\w./-]+?)(?:\.\.\.|$)", re.M)
MOVED = re.compile(r"\bgit (?:-C \S+ )?(?:checkout|switch) (?:-[bcBC] )?([\w./-]+)\s*(?:$|[;&|])")
COMMITTED = re.compile(r"^\[([\w./-]+)(?: \([\w-]+\))? ([0-9a-f]{7,40})\] (.*)$", re.M)
"""Matches what `git commit` prints: branch, hash, message."""
PUSHED = re.compile(r"\b[0-9a-f]{7,40}\.{2,3}([0-9a-f]{7,40})\s+(\S+) -> ")
"""Matches what `git push` prints: the newest hash, the branch."""
PULL = re.compile(r"https://[\w.-]+/[\w./-]+/(?:pull|merge_requests)/\d+")
MARKED = re.compile(r"^\s*(?:([ MADRCU?!]{2}) |(modified|new file|deleted|renamed):\s+)(\S.*)$", re.M)
UNTRACKED = re.compile(r"^Untracked files:\n(?:  \(.*\n)?((?:\t\S.*\n?)+)", re.M)


class _Line(NamedTuple):
    """What is said of the present, and by which message."""

    name: Name
    text: str


class WorkingState:
    """The present of a session. Holds only what is newest."""

    def __init__(self) -> None:
        self._search: _Line | None = None
        self._looked = ""
        """What that search looks for."""
        self._files = frozenset[str]()
        """The names of the files in which it found something."""
        self._folder = ""
        """Where git ran last, "" if nothing says it: what is known is of this checkout."""
        self._branch: _Line | None = None
        self._commit: _Line | None = None
        self._pull: _Line | None = None
        self._changed: _Line | None = None

    def starts(self, script: str) -> None:
        """Takes the next script, before its output: many that change the tree print nothing."""
        if verbs := {found[1] for found in CHANGES.finditer(script)}:
            self._changed = None
            self._commit = self._commit if verbs <= STAYS else None

    def edits(self, path: str) -> None:
        """Takes it that a file is changed: what `git status` printed before is not all of it, and the places that a
        search found in the file may be others.
        """
        self._changed = None
        if path.replace("\\", "/").rpartition("/")[2] in self._files:
            self._search = None

    def _goes_to(self, folder: str) -> None:
        """Takes it that git runs in this folder: what is known of another checkout would be taken for its state."""
        if folder != self._folder:
            self._folder = folder
            self._branch = self._commit = self._pull = self._changed = None

    def add(self, call: MadeCall) -> None:
        """Takes the next call."""
        piece = call.result
        self._take_search(call, piece)
        if call.script and not piece.failed:
            self._take_tree(call, piece)

    def _take_search(self, call: MadeCall, piece: TextSegment) -> None:
        ran = [SEARCH.match(one) is not None for one in _commands(call.script)]
        is_search = SEARCH_TOOL.search(piece.tool) is not None or (bool(ran) and all(ran))
        if not (is_search or any(ran)):
            return
        self._search = None  # a later one is the newest, also where nothing can be said of it
        if not is_search or piece.failed:
            return
        places: dict[str, list[str]] = {}
        for hit in PLACE.finditer(piece.text):
            lines = places.setdefault(hit[1], [])
            if hit[2] and hit[2] not in lines:
                lines.append(hit[2])
        if len(places) > 0 and sum(max(1, len(lines)) for lines in places.values()) <= PLACES:
            looked = next((call.given[key] for key in LOOKS_FOR if key in call.given), call.script)
            said = ", ".join(f"{path}:{','.join(lines)}" if lines else path for path, lines in places.items())
            self._search, self._looked = _Line(piece.name, said), flat(looked)
            self._files = frozenset(path.replace("\\", "/").rpartition("/")[2] for path in places)

    def _take_tree(self, call: MadeCall, piece: TextSegment) -> None:
        script = call.script
        if GIT.search(script) is not None:
            self._goes_to(_folder(call))
        if (moved := MOVED.search(script)) is not None and "." not in moved[1].rpartition("/")[2]:
            self._branch = _Line(piece.name, moved[1])
        if (made := [*COMMITTED.finditer(piece.text)]) and "commit" in script:
            self._branch = _Line(piece.name, made[-1][1])
            self._commit = _Line(piece.name, f"{made[-1][2]} {flat(made[-1][3])}")
        if (pushed := [*PUSHED.finditer(piece.text)]) and "push" in script:
            told = self._commit.text if self._commit is not None else ""
            if not told.startswith(pushed[-1][1]):
                self._commit = _Line(piece.name, f"{pushed[-1][1]} {pushed[-1][2]}")
        pulls = PULL.findall(piece.text)
        if pulls and "pr create" in script:
            self._pull = _Line(piece.name, pulls[-1])
        if STATUS.search(script) is not None:
            if (branch := BRANCH.search(piece.text)) is not None:
                self._branch = _Line(piece.name, branch[1])
            files = [f"{mark or word} {path}".strip() for mark, word, path in MARKED.findall(piece.text)]
            files += [f"?? {path.strip()}" for block in UNTRACKED.findall(piece.text) for path in block.splitlines()]
            self._changed = _Line(piece.name, ", ".join(files)) if 0 < len(files) <= CHANGED else None

    def lines(self, covered: Names, tag: Callable[[Name], str]) -> Iterator[list[str]]:
        """Yields the parts that messages of `covered` say, each as its lines."""
        if self._search is not None and self._search.name in covered:
            looked = redact(self._looked)[0]
            looked = f"{looked[:QUERY]}{' …' * (len(looked) > QUERY)}"
            yield [f"Found last: {tag(self._search.name)} {looked} → {self._search.text}"]
        known = {"branch ": self._branch, "last commit ": self._commit, "": self._pull}
        said = ((word, line) for word, line in known.items() if line is not None and line.name in covered)
        tree = [f"{word}{line.text} {tag(line.name)}" for word, line in said]
        if tree:
            where = f"Working tree {flat(self._folder)}" if self._folder else "Working tree"
            yield [f"{where}: {'; '.join(tree)}"]
        if self._changed is not None and self._changed.name in covered:
            yield [f"Git status: {self._changed.text} {tag(self._changed.name)}"]


def _folder(call: MadeCall) -> str:
    """The folder in which a script runs git, as it is written; "" if nothing says it."""
    moves = [move[1] or move[2] for move in MOVES.finditer(call.script)]
    return moves[-1] if moves else next((call.given[key] for key in FOLDERS if key in call.given), "")


def _commands(script: str) -> list[str]:
    """The first commands of the pipes of a script, but for changes of the folder."""
    found = [one.strip() for one in re.split(r"&&|\|\||[;\n]", script)]
    return [one for one in found if one and not one.startswith(("cd ", "echo ", "#"))]
