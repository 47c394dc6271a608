"""Finds what failed in the output of commands: which run, and its lines of test, place, expected and got. Pure.

Lines are known by the runners that print them: go and testify, pytest, jest and vitest, bun, cargo, tsc, eslint, make.
A later run of the same command supersedes an earlier one; a run of a part supersedes only that part. Where every file
that a failure names was edited since, a run of another command that checks as much supersedes it, too.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from typing import NamedTuple

from ctxkit.core.item_names import Name
from ctxkit.cut.units.identifiers import commands, without_documents
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment

SHORTEST, LONGEST = 8, 300
"""Bounds of the length, in characters, of a line that says what failed."""
SAYS = re.compile(
    r"\b[A-Z]\w*(?:Error|Exception)\b(?!,\s*$)|\bError: |"
    r"\b(?:error|fatal|panic|FAILED|FAIL|Traceback|undefined reference|"
    r"cannot find|not found|No such file|command not found|Permission denied|assertion failed)\b[:! ]|"
    r"\bE(?:NOENT|ACCES|EXIST|ADDRINUSE|CONNREFUSED)\b|\bTS\d{4,5}\b|"
    r"(?:\b[Ee]xit(?:ed with)?|[Rr]eturn) (?:code|status):? [1-9]|"
    r"\bNot equal:|^assertion .*\bfailed\b|\berror\[E\d+\]: |panicked at |\bERROR task failed|\.\.\. FAILED|"
    r"rejected because "
)
"""Matches words about a failure anywhere in a line."""
HINT = re.compile(
    r"rror|ERROR|xception|fatal|anic|FAIL|Traceb|ed ref|ot f|No such|denied|assert|ected b|E[NAEC]|TS\d|code:? [1-9]|"
    r"status:? [1-9]|Not eq"
)
"""Matches a part of whatever SAYS matches. Most lines have none, and the search for it takes a tenth of the time."""
BEGINS = re.compile(
    r"\s*(?:\[[\w:.-]+\] +)?(?:"  # the name of a task that a runner puts before each line
    r"E  |error\b|ERROR\b|--- FAIL|FAIL(?:\s|$)|Error(?: Trace)?:|[✗✘✕×●] ?\S|\(fail\) |❯ \S+:\d+|"
    r"(?:expected|actual|received|got|want|left|right)\s*:\s*\S|"
    r"\d+:\d+\s+error\s|make(?:\[\d+\])?: \*\*\*|\d+ (?:failed|failures?|problems?)\b|"
    r"(?:at )?[^\s:(]+\.[A-Za-z]{1,4}[:(]\d+[:,]\d+\)?(?::| -| error| warning| lint/| format) ?\S|"
    r"[A-Za-z]:\\[^\s:(]+[:(]\d+[:,]\d+\)?:? ?\S|"
    r"at (?:\S[^()]* \()?[^\s()]+\.(?:test|spec)\.[cm]?[jt]sx?:\d+:\d+\)?\s*$)|"
    r"\s{2,}[\w.-]+\.[A-Za-z]{1,4}:\d+: \S",  # a note of a test of go
    re.I,
)
"""Matches the start of a line about a failure: its mark, its place, or what was expected and what came."""
NONE = re.compile(
    r"\b(?:0|no) (?:errors?|failed|failures?|fail|failing|issues|problems?)\b|^ok\s|\(pass\) |^\s*[✓✔]|--- PASS", re.I
)
"""Matches what says that nothing failed."""
PASSED = re.compile(
    r"^(?:ok\s+\S|--- PASS|PASS\b|test result: ok|All checks passed|=+ .*\b\d+ passed|\d+ passed\b|"
    r"\s*(?:Tests:?\s.*\b\d+ passed|\d+ (?:pass|passing)\b))",
    re.M,
)
"""Matches the line of a runner that says that its tests passed."""
FAILED = re.compile(
    r"--- FAIL|^FAIL|\bFAILED\b|\bpanic|\(fail\) |"
    r"(?:^|[^\w\s]|\s\s|\b[Ff]ound|\bwith)\s*[1-9]\d* (?:failed|failing|fail|failures?|errors?|problems?)\b|"
    r"^make(?:\[\d+\])?: \*\*\*|^npm (?:ERR!|error)|\berror(?: TS\d|\[E\d)|"
    r"\b[Ee]xit(?:ed with)? (?:code|status):? [1-9]",
    re.M,
)
"""Matches a line that says that something failed, whatever else passed."""
RUNS = re.compile(
    r"\b(?:go (?:test|build|vet|run)|pytest|unittest|tox|jest|vitest|mocha|playwright test|cargo \w+|tsc|eslint|biome|"
    r"(?:bun|npm|pnpm|yarn|deno|mise|just|make|gradlew?|mvnw?|dotnet|mix|rake|bundle exec|swift|npx|uv run)\b[ \w:.-]*|"
    r"git (?:push|pull|merge|rebase)|golangci-lint|ruff|mypy|pyright|clippy|rspec|phpunit|ctest|markdownlint\S*|"
    r"pre-commit)\b"
)
"""Matches a command that tests, builds or checks, or that brings work together."""
CARRIERS = (
    r"(?:[({!&'\"]\s*|\w+=\$\(|[\w:$]+=\S*\s+|(?:-{1,2}\w\S*|/[ck])\s+|[\d.]+[smh]?\s+|"
    r"(?:if|while|until|time|exec|command|call|sudo|env|nohup|nice|stdbuf|g?timeout|xvfb-run|winpty|wsl|xargs|npx|pnpx|"
    r"bunx|uvx|(?:uv|poetry|pipenv|pdm|hatch|rye|coverage) run|bundle exec|dotenv|cross-env|(?:ba|z)?sh|"
    r"cmd(?:\.exe)?|pwsh|powershell(?:\.exe)?|\S*python[\d.]*|node)\s+){0,16}?"
)
LEAD = re.compile(
    rf"{CARRIERS}(?:(?:docker|podman|kubectl|ssh|nix|conda|direnv)\s.*?\s)?{CARRIERS}(?:[^\s'\"]*[/\\])?(?={RUNS.pattern})"
)
"""Matches what may stand before such a command. Elsewhere in a line its words are prose or arguments."""
SORTS = {
    "test": re.compile(r"\b(?:tests?|specs?|pytest|unittest|tox|jest|vitest|mocha|rspec|phpunit|ctest|e2e)\b"),
    "lint": re.compile(r"lint|\b(?:biome|ruff|clippy|fmt|format|pre-commit)\b"),
    "build": re.compile(r"\b(?:build|vet|tsc|tsgo|typecheck|type-check|compile|mypy|pyright|cargo check)\b"),
}
ALL = re.compile(r"\b(?:check|checks|ci|verify|validate|all|precommit|prepush)\b|^(?:make|just|mise|rake)$")
"""Matches commands that test, check a style or build; or do, by their name, all of it. Others install or start."""
FILE = re.compile(r"[\w./\\@~-]*?([\w.@-]+\.[A-Za-z]{1,4})[:(]\d")
"""Matches the place of a failure; its group is the name of the file."""
PACKAGE = re.compile(r"^FAIL\s+(\S+/)?([\w.-]+)(?:\s|$)")
"""Matches go's line of a package that failed."""
SESSION = re.compile(r"^Process (?:running with session ID|exited with code) (\d+)", re.M)
"""How Codex says that a command goes on, or how it ended."""
MISTAKE = re.compile(
    r"not found|No such file or directory|[Uu]nknown (?:flag|option|command)|unrecognized argument|"
    r"no task \S+ found|cannot find main module|[Mm]issing script|Run with --verbose"
)
"""Matches a failure to run at all: the command was wrong. The next run of the same program supersedes it."""
EXIT = re.compile(
    r"(?:Exit code|Process exited with code):? \d+|(?:\[\S+\] )?ERROR task failed|"
    r"error: script .* exited with code \d+|\W*Some (?:errors|warnings) were emitted.*"
)
"""Matches a line that says only that a run failed."""
DENIED = re.compile(
    r"\s*(?:Error: |\[|<tool_use_error>)*(?:The user (?:doesn['’]t want|rejected|denied|declined)|"
    r"User (?:did not allow|denied|rejected|cancell?ed)|(?:exec command|command|patch|tool call|tool use) rejected|"
    r"Operation Cancelled|Request interrupted|Sibling tool call|Cancelled: |Permission (?:to use|for) |"
    r"Claude requested permissions|\S+ is temporarily unavailable, so auto mode|PreToolUse:|Operation stopped by hook)"
    r"(?:.*?(?:the user said|feedback):\s*(?:<feedback>\s*)?(?P<said>.*))?",
    re.S,
)
"""Matches the result of a call that was not made, as somebody or a program did not allow it; `said`: what that person
said about it. Claude Code, Codex, Gemini, opencode, Cline and Copilot write so.
"""
PART = re.compile(
    r"\s(?:-run|-k|-t|--filter|--grep|--test-name-pattern|-only)[ =]|::|_test\.\w+|\.test\.\w+|\btest_\w+\.py"
)
"""Matches a command that runs a part of the tests."""
QUOTED = re.compile(r"(?<!-c )(?<!-lc )(?<!-Command )(?<![\w\\])(?:'[^']*'|\"(?:[^\"\\]|\\.)*\")", re.S)
"""Matches a quoted argument: a pattern or a message, which is not run. What a shell is given with `-c` is."""
HIDES = re.compile(
    r"\|\s*(?:[ef]?grep|rg|Select-String|sls|findstr)\b"
    r"(?![^|;&\n]*(?:err|fail|panic|warn|not ok|\s-\w*v|--invert|-NotMatch|[✗✘✕×]|---))",
    re.I,
)
"""Matches a filter behind a command that shows only lines with words that do not say what failed."""
NAMED_PASS, NAMED_FAIL = re.compile(r"--- PASS: (\S+)"), re.compile(r"--- FAIL: (\S+)")
"""Match go's lines of a test."""
COUNTED = re.compile(r"\|\s*(?:wc\b|grep -\w*c)")
"""Matches what prints only a number: nobody knows whether that many failed or passed."""
INSTALLS = re.compile(
    r"\b(?:npm|pnpm|yarn|bun|uv|pip|poetry|cargo|mise|bundle)\b.* (?:add|ci|i|install|remove|rm|un\w+|up\w+)\b"
)
"""Matches what installs packages: it checks nothing, and is mended by hand."""
DRY = re.compile(r"\s(?:--help|--version|--dry-run|--list(?:-tests)?|--collect-only|-n(?!\s+\d)|-h)(?=\s|$)")
"""Matches a command that only says what it would do, as `make -n` does. `pytest -n 4` has a number behind it."""
ABORTED = re.compile(
    r"\W*(?:(?:the )?(?:command|operation|request|process|run|execution) )?(?:was )?"
    r"(?:abort(?:ed|ing)(?! \(core)|interrupted|cancell?ed|killed|timed? ?out|SIGINT|SIGTERM)\b|"
    r"Exit code 1(?:30|43)$",
    re.I,
)
"""Matches the first or last line of an output of a run that did not end by itself."""
FOLDER = re.compile(r"(?:^|[;&(\n'\"]\s*)(?:cd|pushd)\s+(?:--\s+)?[\"']?(?:\./|~/)?([\w/@][\w./@+-]*)")
"""Matches a change of the folder in a script."""
FLAGS = re.compile(r"\s(?:-{1,2}[\w-]+(?:[= ]\d+)?|2>&1|\d?>\s*\S+)(?=\s|$)")


class CommandRun(NamedTuple):
    """One run of a command. `name`: the message of the result, `place`: the place of its segment; `failing`: the lines
    about failures, none if it passed; `folder`: where it ran, "" if nothing says it; `script`: all commands that
    test, build or check which ran with it, without flags; `together`: these as they stand there, since any of them may
    be the one that failed.
    """

    name: Name
    place: int
    command: str
    failing: tuple[str, ...]
    folder: str = ""
    script: frozenset[str] = frozenset()
    together: str = ""

    @property
    def files(self) -> frozenset[str]:
        """The names of the files that its failures name."""
        return frozenset(found[1] for line in self.failing for found in FILE.finditer(line))


class _Asked(NamedTuple):
    """Commands of a script that run. `is_hidden`: a filter may hide how they end; `failing`: their failures so far."""

    commands: tuple[str, ...]
    is_hidden: bool
    folder: str
    failing: tuple[str, ...] = ()


class CommandRuns:
    """The newest run of each command that tests, builds or checks. `green`: the newest of them that passed."""

    def __init__(self) -> None:
        self._asked: dict[str, _Asked] = {}
        """Call -> what it runs."""
        self._running: dict[str, _Asked] = {}
        """Session of Codex -> what goes on in it."""
        self._goes_on: dict[str, str] = {}
        """Call -> the session that it looks at."""
        self._folders: dict[str, str] = {}
        """Call -> the folder that an argument of it names."""
        self._newest: dict[tuple[str, str], CommandRun] = {}
        """By command and folder."""
        self._edited: dict[str, int] = {}
        """Name of a file -> the place of its newest edit."""
        self.green: CommandRun | None = None
        self._again: dict[int, list[int]] = {}
        """Place of a run that failed -> the runs before that it failed again for."""
        self.mended: dict[int, Name] = {}
        """Place of a run that failed -> the later run that passed in its place."""

    def add(self, place: int, piece: TextSegment) -> None:
        """Takes the next segment."""
        for touch in piece.touches if piece.kind == SegmentKind.INPUT else ():
            if touch.how != "read":
                self._edited[_base(touch.path)] = place
        if piece.kind == SegmentKind.INPUT and piece.argument in ("workdir", "cwd", "working_directory") and piece.call:
            self._folders[piece.call] = piece.text
        elif piece.kind == SegmentKind.INPUT and piece.argument == "session_id" and piece.text in self._running:
            self._goes_on[piece.call] = piece.text
        elif piece.is_script and RUNS.search(piece.text):
            ran = list(_ran(piece.text))
            if ran and DRY.search(ran[-1]) is None and COUNTED.search(piece.text) is None:
                moved = FOLDER.findall(piece.text.partition(ran[-1])[0])
                self._asked[piece.call] = _Asked(
                    tuple(ran), HIDES.search(piece.text) is not None, moved[-1] if moved else ""
                )
        elif piece.kind == SegmentKind.RESULT:
            folder = self._folders.pop(piece.call, "")
            session = self._goes_on.pop(piece.call, None)
            if session is not None and session in self._running:
                self._ended(place, piece, self._running.pop(session))
            elif piece.call in self._asked:
                asked = self._asked.pop(piece.call)
                self._ended(place, piece, asked._replace(folder=posixpath.join(folder, asked.folder)))

    def _ended(self, place: int, piece: TextSegment, asked: _Asked) -> None:
        """Takes an output: of the whole run, or of its next part. What was not allowed, or stopped, says nothing."""
        if DENIED.match(piece.text) or _is_aborted(piece.text):
            return
        if asked.is_hidden and not piece.failed and (not piece.text.strip() or "no output)" in piece.text[:LONGEST]):
            return
        state = SESSION.search(piece.text)
        is_running = state is not None and "running" in state[0]
        is_zero = state is not None and state[0].endswith("code 0") and FAILED.search(NONE.sub("", piece.text)) is None
        found = tuple(failing(piece.text, passed=is_zero))
        lines = (*asked.failing, *found)
        if state is not None and is_running:
            self._running[state[1]] = asked._replace(failing=lines)
            return
        *others, command = asked.commands
        if is_zero and "|" not in command:
            lines = found
        self._pass(frozenset(NAMED_PASS.findall(piece.text)))
        script = frozenset(map(_bare, asked.commands))
        run = CommandRun(piece.name, place, command, _without_exits(lines), asked.folder, script)
        run = run._replace(together="; ".join(asked.commands))
        if piece.failed and not run.failing:
            run = run._replace(failing=(piece.text.strip().split("\n")[0][:LONGEST],))
        for one in others if not run.failing else ():  # all of it passed
            self._take(run._replace(command=one))
        self._take(run)

    def _pass(self, tests: frozenset[str]) -> None:
        """Forgets the runs of which only these tests failed, which passed now, whatever the command."""
        for key, run in list(self._newest.items()) if tests else ():
            failed = {found[1] for line in run.failing if (found := NAMED_FAIL.search(line)) is not None}
            if failed and failed <= tests:
                del self._newest[key]

    def _take(self, run: CommandRun) -> None:
        key, words, is_part = _key(run.command), _words(run.command), PART.search(run.command) is not None
        is_whole = not (run.failing or is_part or _scope(run.command))
        for other, held in list(self._newest.items()):
            if _is_elsewhere(held, run):
                continue
            known, _ = other
            is_within = known == key or (not is_part and (known.startswith(f"{words} ") or known == words))
            is_mended = is_within and ((known == key and is_part) or run.failing or _covers(run, held))
            if (
                is_mended
                or (_words(held.command) == words and _is_mistaken(held))
                or (is_whole and held.failing and self._checks_as_much(held, run))
            ):
                self._drop(other, run)
        if run.failing or (key, run.folder) not in self._newest:
            self._newest[key, run.folder] = run
        if not run.failing and _checks(run.command):
            self.green = run

    def _checks_as_much(self, run: CommandRun, green: CommandRun) -> bool:
        """Whether a run of another command that passed on everything says that a failure is mended: it checks the same,
        and the failure was the command's, or its files were edited. What builds or looks at the style needs no edit.
        """
        needed, checked = sort(run.command), _checks(green.command)
        is_same = needed in ("build", "lint") and sort(green.command) in (needed, "all")
        return needed in checked and (is_same or _is_mistaken(run) or self.was_edited(run))

    def _drop(self, key: tuple[str, str], later: CommandRun) -> None:
        """Forgets a run for a later one. Only a later one of the same command is said to mend it."""
        run = self._newest.pop(key)
        before = [*self._again.pop(run.place, ()), *([run.place] if run.failing else [])]
        if later.failing:
            self._again.setdefault(later.place, []).extend(before)
            return
        if run.folder == later.folder and run.script <= later.script and not _is_mistaken(run):
            self.mended.update(dict.fromkeys(before, later.name))

    def was_edited(self, run: CommandRun) -> bool:
        """Whether all files that the failures of a run name were edited since."""
        return bool(run.files) and all(self._edited.get(file, -1) > run.place for file in run.files)

    @property
    def open(self) -> list[CommandRun]:
        """The runs that failed and that no later run supersedes, in order."""
        return [run for run in self._newest.values() if run.failing]


def failing(text: str, *, passed: bool = False) -> Iterable[str]:
    """Yields the lines of an output that say what failed; below the name of a test of jest also its reason, in the
    words of any library. `passed`: it is known that nothing did.
    """
    passed = passed or is_passed(text)
    is_named = False
    for line in text.split("\n"):
        words = line.strip()
        if is_failing(line, passed=passed) or (is_named and SHORTEST <= len(words) <= LONGEST):
            is_named = words.startswith("●")
            yield words


def is_passed(text: str) -> bool:
    """Whether an output says that tests passed, and nothing that failed."""
    return PASSED.search(text) is not None and FAILED.search(NONE.sub("", text)) is None


def is_failing(line: str, *, passed: bool = False) -> bool:
    """Whether a line of an output says what failed. `passed`: the output says that all passed, so that its errors are
    those that its tests log.
    """
    words = line.strip()
    if passed or not SHORTEST <= len(words) <= LONGEST:
        return False
    says = BEGINS.match(line) or (HINT.search(words) and SAYS.search(words))
    return says is not None and NONE.search(words) is None


def _ran(script: str) -> Iterable[str]:
    """Yields the commands of a script that test, build or check."""
    hidden: list[str] = []

    def hide(found: re.Match[str]) -> str:
        hidden.append(found[0])
        return f'"\0{len(hidden) - 1}\0"'

    for one in commands(QUOTED.sub(hide, without_documents(script))):
        if LEAD.match(one) and INSTALLS.search(one) is None:
            yield " ".join(re.sub(r'"\0(\d+)\0"', lambda found: hidden[int(found[1])], one).split())


def _is_aborted(text: str) -> bool:
    """Whether an output is of a run that did not end by itself."""
    lines = text.strip().split("\n")
    return any(ABORTED.match(line) for line in (lines[0], lines[-1])) and not is_passed(text)


def _words(command: str) -> str:
    """The program and what it runs, without arguments: `go test`, `npm run build`."""
    found = RUNS.search(command)
    return " ".join([word for word in found[0].split() if word[0] != "-"][:3]) if found is not None else command


def _bare(command: str) -> str:
    """A command without flags, and without what filters its output."""
    return " ".join(FLAGS.sub(" ", f" {command.partition('|')[0]} ").split())


def _key(command: str) -> str:
    """By what runs of the same command are known: without flags; a run of a part by all of its words."""
    return " ".join(command.split()) if PART.search(command) else _words(FLAGS.sub(" ", f" {command} "))


def _without_exits(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The lines without those that say only that it failed, if others say more."""
    return tuple(line for line in lines if EXIT.fullmatch(line) is None) or lines


def _is_mistaken(run: CommandRun) -> bool:
    """Whether a run failed only because its command was wrong."""
    return bool(run.failing) and all(MISTAKE.search(line) or EXIT.fullmatch(line) for line in run.failing)


def _is_elsewhere(run: CommandRun, other: CommandRun) -> bool:
    """Whether it is known that two runs were in different folders."""
    one, two = (posixpath.normpath(folder.replace("\\", "/")) for folder in (run.folder, other.folder))
    return bool(run.folder and other.folder) and not (f"/{one}".endswith(f"/{two}") or f"/{two}".endswith(f"/{one}"))


def _base(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2]


def sort(command: str) -> str:
    """What a command checks that a failure of it says: `test`, `lint`, `all`, or else `build`; of git the command."""
    words = _words(command)
    other = "all" if ALL.search(words) else words if words.startswith("git ") else "build"
    return next((name for name, one in SORTS.items() if one.search(words)), other)


def _checks(command: str) -> frozenset[str]:
    """What a command that passed has checked; nothing if it installs or starts something."""
    words = _words(command)
    if ALL.search(words):
        return frozenset({*SORTS, "all"})
    found = frozenset(name for name, one in SORTS.items() if one.search(words))
    return found | {"build"} if "test" in found else found


def _scope(command: str) -> frozenset[str]:
    """The paths that a command is given; none if it runs on everything."""
    found = set[str]()
    words = FLAGS.sub(" ", f" {command} ").split() if "=" in command or ">" in command else command.split()
    for word in words:
        path = word.strip("'\"()").replace("\\", "/")
        if word.startswith(("-", "$", ">", "2>")) or ("/" not in path and not path.endswith(".")):
            continue
        path = path.removeprefix("./").removesuffix("...").rstrip("/.")
        if not path:
            return frozenset()
        found.add(path)
    return frozenset(found)


def _covers(run: CommandRun, other: CommandRun) -> bool:
    """Whether what a run checked has all that failed in another one of the same command: packages, files, or else what
    this one was given.
    """
    scope = _scope(run.command)
    if not scope:
        return True
    packages = [f"{found[1] or ''}{found[2]}" for line in other.failing if (found := PACKAGE.match(line)) is not None]
    places = [found[0].rstrip("0123456789").rstrip(":(") for line in other.failing for found in FILE.finditer(line)]
    failed = packages or places or [*_scope(other.command)]
    paths = [f"/{path}/".replace("\\", "/").replace("/./", "/") for path in failed]
    return bool(paths) and all(any(f"/{one}/" in path for one in scope) for path in paths)
