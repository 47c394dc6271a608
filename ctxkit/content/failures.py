"""Finds what failed in the output of commands: which run, and its lines of test, place, expected and got. Pure.

Lines are known by the runners that print them: go and testify, pytest, jest and vitest, bun, cargo, tsc, eslint, make.
A later run of the same command supersedes an earlier one; a run of a part supersedes only that part.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from ctxkit.content.identifiers import commands
from ctxkit.content.text_segments import SegmentKind, TextSegment
from ctxkit.core.item_names import Name

SHORTEST, LONGEST = 8, 300
"""Bounds of the length, in characters, of a line that says what failed."""
SAYS = re.compile(
    r"\b[A-Z]\w*(?:Error|Exception)\b(?!,\s*$)|\bError: |"
    r"\b(?:error|fatal|panic|FAILED|FAIL|Traceback|undefined reference|"
    r"cannot find|not found|No such file|command not found|Permission denied|assertion failed)\b[:! ]|"
    r"\bE(?:NOENT|ACCES|EXIST|ADDRINUSE|CONNREFUSED)\b|\bTS\d{4,5}\b|"
    r"(?:\b[Ee]xit(?:ed with)?|[Rr]eturn) (?:code|status):? [1-9]|"
    r"\bNot equal:|\berror\[E\d+\]: |panicked at |\bERROR task failed|\.\.\. FAILED"
)
"""Matches words about a failure anywhere in a line."""
HINT = re.compile(
    r"rror|ERROR|xception|atal|anic|FAIL|Trace|refer|find|found|No such|denied|assert|EN|EA|EE|EC|TS|code|status|Not eq"
)
"""Matches a part of whatever SAYS matches. Most lines have none, and the search for it takes a tenth of the time."""
BEGINS = re.compile(
    r"E  |error\b|ERROR\b|--- FAIL|FAIL(?:\s|$)|Error(?: Trace)?:|[✗✘✕×●] ?\S|\(fail\) |❯ \S+:\d+|"
    r"(?:expected|actual|received|got|want|left|right)\s*:\s*\S|"
    r"\d+:\d+\s+error\s|make(?:\[\d+\])?: \*\*\*|\d+ (?:failed|failures?|problems?)\b|"
    r"[^\s:(]+\.[A-Za-z]{1,4}[:(]\d+[:,]\d+\)?(?::| -| error| warning) ?\S|[A-Za-z]:\\[^\s:(]+[:(]\d+[:,]\d+\)?:? ?\S",
    re.I,
)
"""Matches the start of a line about a failure: its mark, its place, or what was expected and what came."""
PLACED = re.compile(r"\s{2,}[\w.-]+\.[A-Za-z]{1,4}:\d+: \S")
"""Matches an indented place, as go's tests print it."""
NONE = re.compile(r"\b(?:0|no) (?:errors?|failed|failures?|issues|problems?)\b|^ok\s|\(pass\) |^\s*[✓✔]|"
    r"--- PASS", re.I,
)  # fmt: skip
"""Matches a line that says that nothing failed."""
ZERO = re.compile(r"\b(?:0|no) (?:errors?|failed|failures?|fail|failing|problems?)\b", re.I)
"""Matches a count of failures that is zero."""
PASSED = re.compile(
    r"^(?:ok\s+\S|--- PASS|PASS\b|test result: ok|All checks passed|=+ .*\b\d+ passed|\d+ passed\b|"
    r"\s*(?:Tests:?\s.*\b\d+ passed|\d+ (?:pass|passing)\b))",
    re.M,
)
"""Matches the line of a runner that says that its tests passed."""
FAILED = re.compile(
    r"--- FAIL|^FAIL|\bFAILED\b|\bpanic|\(fail\) |\b[1-9]\d* (?:failed|failing|fail|failures?|errors?|problems?)\b|"
    r"^make(?:\[\d+\])?: \*\*\*|^npm (?:ERR!|error)|\berror(?: TS\d|\[E\d)|"
    r"\b[Ee]xit(?:ed with)? (?:code|status):? [1-9]",
    re.M,
)
"""Matches a line that says that something failed, whatever else passed."""
COLUMN = re.compile(r"\S+[:(]\d+[:,]\d+\)?(?::| -| error| warning)")
"""Matches the place of a compiler or a linter. A place without a column, in a run that passed, is a note of a test."""
RUNS = re.compile(
    r"\b(?:go (?:test|build|vet|run)|pytest|unittest|tox|jest|vitest|mocha|playwright test|cargo \w+|tsc|eslint|biome|"
    r"(?:bun|npm|pnpm|yarn|deno|mise|just|make|gradle|mvn|dotnet|mix|rake|bundle exec|swift|npx|uv run)\b[ \w:.-]*|"
    r"golangci-lint|ruff|mypy|pyright|clippy|rspec|phpunit|ctest|markdownlint\S*|pre-commit)\b"
)
"""Matches a command that tests, builds or checks."""
PART = re.compile(
    r"\s(?:-run|-k|-t|--filter|--grep|--test-name-pattern|-only)[ =]|::|_test\.\w+|\.test\.\w+|\btest_\w+\.py"
)
"""Matches a command that runs a part of the tests."""
QUOTED = re.compile(r"(?<!-c )(?<!-lc )(?<!-Command )(?:'[^'\n]*'|\"(?:[^\"\\\n]|\\.)*\")")
"""Matches a quoted argument: a pattern or a message, which is not run. What a shell is given with `-c` is."""
CHOSEN = re.compile(r"\|\s*(?:[ef]?grep|rg|Select-String|sls|findstr)\b(?P<words>[^|;&\n]*)", re.I)
"""Matches a filter behind a command that shows only the lines with its words."""
WRONG = re.compile(r"err|fail|panic|warn|not ok|\s-\w*v|--invert|-NotMatch|[✗✘✕×]|---", re.I)
"""Matches the words of a filter that shows what failed: it prints nothing if nothing did."""
SILENT = re.compile(r"\s*(?:\([^()\n]*no output\))?\s*", re.I)
"""Matches an output without a word."""
FLAGS = re.compile(r"\s(?:-{1,2}[\w-]+(?:[= ]\d+)?|2>&1|\d?>\s*\S+)(?=\s|$)")


class CommandRun(NamedTuple):
    """One run of a command. `name`: the message of the result, `place`: the place of its segment; `failing`: the lines
    about failures, none if it passed.
    """

    name: Name
    place: int
    command: str
    failing: tuple[str, ...]


class CommandRuns:
    """The newest run of each command that tests, builds or checks. `green`: the place of the newest that passed."""

    def __init__(self) -> None:
        self._asked: dict[str, tuple[str, bool]] = {}
        """Call -> its command, and whether a filter may hide how it ended."""
        self._newest: dict[str, CommandRun] = {}
        self.green: CommandRun | None = None

    def add(self, place: int, piece: TextSegment) -> None:
        """Takes the next segment."""
        if piece.is_script and RUNS.search(piece.text):
            ran = list(_ran(piece.text))
            if ran:
                self._asked[piece.call] = ran[-1], _hides(piece.text)
        elif piece.kind == SegmentKind.RESULT and piece.call in self._asked:
            command, is_hidden = self._asked.pop(piece.call)
            if is_hidden and not piece.failed and SILENT.fullmatch(piece.text):
                return
            run = CommandRun(piece.name, place, command, tuple(failing(piece.text)))
            if piece.failed and not run.failing:
                run = run._replace(failing=tuple(_first(piece.text)))
            self._take(run)

    def _take(self, run: CommandRun) -> None:
        key, words = _key(run.command), _words(run.command)
        is_part = PART.search(run.command) is not None
        if not is_part:  # the whole supersedes its parts
            for other in [one for one in self._newest if one.startswith(f"{words} ") or one == words]:
                del self._newest[other]
        self._newest.pop(key, None)
        self._newest[key] = run
        if not run.failing:
            self.green = run

    @property
    def open(self) -> list[CommandRun]:
        """The runs that failed and that no later run supersedes, in order."""
        return [run for run in self._newest.values() if run.failing]


def failing(text: str) -> Iterable[str]:
    """Yields the lines of an output that say what failed."""
    passed = is_passed(text)
    for line in text.split("\n"):
        if is_failing(line, passed=passed):
            yield line.strip()


def is_passed(text: str) -> bool:
    """Whether an output says that tests passed, and nothing that failed."""
    return PASSED.search(text) is not None and FAILED.search(ZERO.sub("", text)) is None


def is_failing(line: str, *, passed: bool = False) -> bool:
    """Whether a line of an output says what failed. `passed`: the output says that all passed, so that its errors are
    those that its tests log, and only a compiler's place counts.
    """
    words = line.strip()
    if not SHORTEST <= len(words) <= LONGEST or (passed and COLUMN.match(words) is None):
        return False
    says = BEGINS.match(words) or (HINT.search(words) and SAYS.search(words)) or PLACED.match(line)
    return says is not None and NONE.search(words) is None


def _ran(script: str) -> Iterable[str]:
    """Yields the commands of a script that test, build or check."""
    hidden: list[str] = []

    def hide(found: re.Match[str]) -> str:
        hidden.append(found[0])
        return f'"\0{len(hidden) - 1}\0"'

    for one in commands(QUOTED.sub(hide, script)):
        if RUNS.search(one):
            yield " ".join(re.sub(r'"\0(\d+)\0"', lambda found: hidden[int(found[1])], one).split())


def _hides(script: str) -> bool:
    """Whether a filter shows only lines with words that do not say what failed."""
    return any(WRONG.search(found["words"]) is None for found in CHOSEN.finditer(script))


def _first(text: str) -> Iterable[str]:
    """Yields the first line of an output: all that is known of a failure without a line about it."""
    for line in text.split("\n"):
        if line.strip():
            yield line.strip()[:LONGEST]
            return


def _words(command: str) -> str:
    """The program and what it runs, without arguments: `go test`, `npm run build`."""
    found = RUNS.search(command)
    return " ".join(found[0].split()[:3]) if found is not None else command


def _key(command: str) -> str:
    """By what runs of the same command are known: without flags; a run of a part by all of its words."""
    return " ".join(command.split()) if PART.search(command) else _words(FLAGS.sub(" ", f" {command} "))
