"""What failed in the output of commands."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.derive.files import FileTouch
from ctxkit.cut.summarize.failures import HINT, SAYS, CommandRuns, failing, is_failing
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment


@pytest.mark.parametrize(
    "line",
    [
        "--- FAIL: TestLoad (0.00s)", "FAIL\texample.org/pkg\t0.1s", "    load_test.go:12: got 3, want 4",
        "    Error Trace:\tload_test.go:12", "    Error:      \tNot equal: ", "  expected: 12", "  actual  : 13",
        "panic: runtime error: index out of range", "src/load.go:12:3: undefined: rows",
        "E       assert 1 == 2", "FAILED tests/test_load.py::test_rows - assert 1 == 2",
        "Traceback (most recent call last):",
        "  ● rows › are merged", "  ✕ merges rows (3 ms)", "  × merges rows", "(fail) rows > merge [2.00ms]",
        " ❯ src/rows.test.ts:12:5", "Received: 13", "error: expect(received).toBe(expected)",
        "error[E0308]: mismatched types",
        "test rows::merge ... FAILED",
        "thread 'rows' panicked at src/rows.rs:12:5:",
        "src/rows.ts(3,4): error TS2345: no such thing", "src/rows.ts:3:4 - error TS2345: no such thing",
        "  12:3  error  'rows' is not defined  no-undef", "make: *** [Makefile:3: all] Error 2",
        r"C:\work\rows.cs:12:3: error CS0103", "3 failed, 12 passed in 1.2s",
        "  left: 12", " right: 21", "assertion `left == right` failed",
        "      at Object.<anonymous> (src/rows.test.ts:5:21)", "      at <anonymous> (/w/rows.test.ts:5:15)",
        "cat: rows.txt: No such file or directory",
        "Process exited with code 1", "Exit code 1",
        "[cause]: Error: rows.json must be a list", "[test] ERROR task failed",
    ],
)  # fmt: skip
def test_lines_of_many_runners(line: str) -> None:
    """The test, the place, what was expected and what came."""
    assert is_failing(line)


@pytest.mark.parametrize(
    "line",
    ["(pass) rows > keep the error: none is lost", "✓ logs an error: none", "--- PASS: TestError: none",
     "ok  \texample.org/pkg\t0.1s", "0 errors, 2 warnings", "12 passed, 0 failed", "rows.go: the rows",
     "return rows, err", "no issues found", "src/rows.go:12: func rows()", "12:30 we met", "see https://example.org:80/rows"],
)  # fmt: skip
def test_lines_that_say_nothing_failed(line: str) -> None:
    """Passed tests, figures of 0, and code that a search found."""
    assert not is_failing(line)


def pieces_of(command: str, output: str, name: int = 1) -> list[TextSegment]:
    """A command and its output."""
    return [
        TextSegment(name, SegmentKind.INPUT, command, "Bash", "command", call=f"c{name}"),
        TextSegment(name + 1, SegmentKind.RESULT, output, "Bash", call=f"c{name}"),
    ]


def ran(*runs: tuple[str, str]) -> CommandRuns:
    """Commands with their outputs, one after the other."""
    found = CommandRuns()
    for number, (command, output) in enumerate(runs):
        for place, piece in enumerate(pieces_of(command, output, 2 * number + 1), 2 * number):
            found.add(place, piece)
    return found


BAD, GOOD = "--- FAIL: TestA (0.00s)\n    a_test.go:3: got 1, want 2", "ok  \texample.org/pkg\t0.1s"


@pytest.mark.parametrize(
    ("runs", "open_runs", "green"),
    [
        ([("go test ./...", BAD)], [2], None),
        ([("go test ./...", BAD), ("go test ./... 2>&1 | tail -5", GOOD)], [], 4),  # flags and pipes are the same run
        ([("go test ./...", GOOD), ("go test ./...", BAD)], [4], 2),
        ([("go test ./...", BAD), ("go test -run TestB ./b", GOOD)], [2], 4),  # a part does not supersede the whole
        ([("go test -run TestA ./a", BAD), ("go test ./...", GOOD)], [], 4),  # the whole supersedes its parts
        ([("go test ./...", BAD), ("go build ./...", "")], [2], 4),  # another command
        ([("ls", BAD)], [], None),
        ([("go test ./...", BAD), ("git commit -m 'go test ./... passes; make it so'", "")], [2], None),
        ([("go test ./...", BAD), ("grep -rn 'npm test\\|go test ./...' .github", "")], [2], None),
        ([("go test ./...", BAD), ("go test ./... | grep -E '^(ok|PASS)'", "")], [2], None),  # nothing is known of it
        ([("go test ./...", BAD), ("go test ./... | grep -vE '^ok'", "(Bash completed with no output)")], [], 4),
        ([("go test ./...", BAD), ("go test ./... | grep -E '^(FAIL|---)'", "")], [], 4),
        (
            [("npm run build", "[ERROR] Error: no rows"), ("npm run build | Select-String -Pattern SUCCESS", "")],
            [2],
            None,
        ),
        ([("npm run build", "[ERROR] Error: no rows"), ("npm run build", "[SUCCESS] made")], [], 4),
        ([("go test -run 'TestA|TestB' ./a", BAD), ("go test -run 'TestC' ./a", GOOD)], [2], 4),
    ],
)
def test_newest_runs(runs: list[tuple[str, str]], open_runs: list[int], green: int | None) -> None:
    """What failed and was not superseded, by the message of its result; and the newest run that passed."""
    found = ran(*runs)
    assert [run.name for run in found.open] == open_runs
    assert (found.green.name if found.green is not None else None) == green


def test_a_failed_call_without_a_known_line() -> None:
    """Its first line is all that is known."""
    found = CommandRuns()
    found.add(0, TextSegment(1, SegmentKind.INPUT, "just deploy", "Bash", "command", call="c"))
    found.add(1, TextSegment(2, SegmentKind.RESULT, "\nrefused by the host\nmore", "Bash", failed=True, call="c"))
    assert [run.failing for run in found.open] == [("refused by the host",)]


NOTES = (
    "=== RUN   TestA\n    a_test.go:3: the rows: 12\n2026/01/01 connection error: refused\n--- PASS: TestA (0.00s)\n"
)


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        (f"{NOTES}PASS\nok  \texample.org/a\t0.1s", []),
        (f"{NOTES}--- FAIL: TestB (0.00s)\nFAIL", 3),
        (f"{NOTES}panic: no rows", 3),
        ("ValueError: a test logs this\n12 passed in 0.1s", []),
        ("ValueError: a test logs this\n1 failed, 12 passed in 0.1s", 2),
        ("error: of a test\n 12 pass\n 0 fail", []),
        ("thread 'a' logs an error: none\ntest result: ok. 3 passed; 0 failed", []),
        ("a_test.go:3: got 1, want 2 rows", 0),
        ("    a_test.go:3: got 1, want 2 rows", 1),
    ],
)
def test_what_a_run_that_passed_prints(output: str, lines: list[str] | int) -> None:
    """Notes and logged errors of tests that passed are no failures."""
    found = list(failing(output))
    assert found == lines if isinstance(lines, list) else len(found) == lines


def test_failing_lines() -> None:
    """Without blanks around, in order."""
    assert list(failing(f"running\n{BAD}\nok")) == ["--- FAIL: TestA (0.00s)", "a_test.go:3: got 1, want 2"]


def edited(place: int, path: str) -> TextSegment:
    return TextSegment(place, SegmentKind.INPUT, path, "Edit", "file_path", touches=(FileTouch(path, "edit"),))


@pytest.mark.parametrize(
    "script",
    [
        "git apply <<'EOF'\n+ # For now, just log it for debugging\nEOF", "patch -p1 x '\n+ just log it\n'",
        'git commit -m "docs: say it\n\nmarkdownlint-cli2 never matches dot-directories"', "cp $(npm root -g)/a b",
        "git diff -- package.json bun.lock scripts/publish.ts", "echo done; + just break",
    ],
)  # fmt: skip
def test_words_that_are_no_run(script: str) -> None:
    """A runner's name in a document, a message, an argument: nothing was run."""
    assert ran((script, "Error: none")).open == []


@pytest.mark.parametrize(
    "script",
    [
        "cd web && CI=1 npm test", "timeout 60 go test ./...", "docker compose run --rm app pytest", "(go test ./...)",
        ".venv/bin/python -m pytest -q", "bash -lc 'cd a && go test ./...'", "out=$(go test ./...)",
        "/usr/local/go/bin/go test",
        "uv run pytest", "sudo -E env A=b make test", "coverage run -m pytest", "./gradlew test",
        "nice -n 19 cargo test",
        "cmd /c npm test", "if ! cargo test",
    ],
)  # fmt: skip
def test_what_stands_before_a_run(script: str) -> None:
    """Variables, other programs, shells, folders."""
    assert len(ran((script, BAD)).open) == 1


@pytest.mark.parametrize(
    ("first", "second", "is_open"),
    [
        ("cd web && npm run build", "cd api && npm run build", True),
        ("cd web && npm run build", "cd /work/app/web; npm run build", False),
        ("cd ./web && npm run build", "npm run build", False),
        ("npm run build", "cd api && npm run build", False),
        ("cd web && npm test", "cd api && npm run build", True),
        ("(cd 'web' && npm run build)", "cd web/ && npm run build", False),
        ("cd .. && npm run build", "cd api && npm run build", False),
    ],
)
def test_a_run_elsewhere_supersedes_nothing(first: str, second: str, is_open: bool) -> None:
    """Where both say where they run, and not where one does not: its shell may be in the same folder."""
    assert bool(ran((first, BAD), (second, GOOD)).open) is is_open


def test_the_folder_of_an_argument() -> None:
    """As Codex gives it, before or behind the command; a folder in the script is below it."""

    def run(name: int, output: str, folder: str, script: str = "npm run build") -> list[TextSegment]:
        call = f"c{name}"
        return [
            TextSegment(name, SegmentKind.INPUT, script, "exec_command", "cmd", call=call),
            TextSegment(name, SegmentKind.INPUT, folder, "exec_command", "workdir", call=call),
            TextSegment(name + 1, SegmentKind.RESULT, output, "exec_command", call=call),
        ]

    for second, is_open in (
        (run(3, GOOD, "/app/api"), True),
        (run(3, GOOD, "/app/web"), False),
        (run(3, GOOD, "/app", "cd web\nnpm run build"), False),
    ):
        runs = CommandRuns()
        for place, piece in enumerate([*run(1, BAD, "/app/web"), *second]):
            runs.add(place, piece)
        assert bool(runs.open) is is_open


@pytest.mark.parametrize(
    ("first", "second", "output", "is_mended"),
    [
        ("go test ./...", "go test ./...", GOOD, True),
        ("go test ./... -v", "go test ./...", GOOD, True),
        ("cargo test merge", "cargo test", GOOD, False),
        ("cargo test merge", "cargo test lock", GOOD, False),
        ("cd front && npm test", "cd back && npm test", GOOD, False),
        ("python -m unittest tests.a", "python -m unittest tests.b", GOOD, False),
        ("pytest tests; ruff check .", "ruff check .", "All checks passed!", False),
        ("npm run lint && npm test", "npm test", GOOD, False),
        ("npm run lint && npm test 2>&1 | tail -25", "npm run lint && npm test 2>&1 | tail -5", GOOD, True),
        ("npm run lint", "gofmt -w a.go && npm run lint | tail -1 && npm test | tail -2", GOOD, True),
        ("go build ./...", "go build ./...", "aborted by user after 3.2s", False),
        ("make build", "make build -n", "cc -o x", False),
        ("cargo build", "cargo build --help", "Usage: cargo build", False),
    ],
)
def test_a_failure_is_mended_by_the_same_command(first: str, second: str, output: str, is_mended: bool) -> None:
    """One that ran alone, in the same folder, with the same words; not by a run that ran nothing, or did not end."""
    assert bool(ran((first, BAD), (second, output)).mended) is is_mended


def test_what_runs_nothing_or_did_not_end_supersedes_nothing() -> None:
    for second, output in (("make build -n", "cc"), ("make build --help", "usage"), ("make build", "Interrupted")):
        assert ran(("make build", BAD), (second, output)).open
    assert ran(("pytest -q", BAD), ("pytest -n 4", GOOD)).open == []


def test_all_failures_before_a_pass_are_mended() -> None:
    """Also those that failed again before it."""
    assert ran(*[("go test ./...", BAD)] * 3, ("go test ./...", GOOD)).mended == {1: 8, 3: 8, 5: 8}


def test_before_a_run_takes_linear_time() -> None:
    """Whatever a script has."""
    began = time.process_time()
    for some in ("(" * 190, "docker " * 27, "a=b " * 47, "env " * 47, "-a " * 63, "'\"" * 95):
        for _ in range(20):
            ran((f"{some}\ngo test", ""))
    assert time.process_time() - began < 2


def test_a_pass_elsewhere() -> None:
    """A run of other packages or files says nothing about what failed."""
    failed = "--- FAIL: TestA (0.00s)\nFAIL\texample.org/rows\t0.1s"
    assert [one.name for one in ran(("go test ./...", failed), ("go test ./svg/", GOOD)).open] == [2]
    assert ran(("go test ./...", failed), ("go test ./rows/", GOOD)).open == []
    lint = "docs/a.md:3:81 error MD013/line-length Line length [Expected: 80; Actual: 90]"
    assert [one.name for one in ran(("markdownlint docs/a.md", lint), ("markdownlint /tmp/b.md", "")).open] == [2]
    assert ran(("markdownlint docs/a.md", lint), ("markdownlint docs/", "")).open == []


@pytest.mark.parametrize(
    ("command", "output", "path", "later", "is_open"),
    [
        ("go build ./...", "cli/resume.go:3:4: undefined: id", "cli/resume.go", "mise run test", False),
        ("go build ./...", "cli/resume.go:3:4: undefined: id", "cli/other.go", "mise run test", True),
        ("go build ./...", "cli/resume.go:3:4: undefined: id", "cli/resume.go", "mise run lint", True),
        ("npx tsc --noEmit", "src/a.ts(3,4): error TS2345: no", "src/a.ts", "npm run check", False),
        ("go test ./...", "--- FAIL: A\n    rows_test.go:3: got 1, want 2", "rows_test.go", "go build ./...", True),
        ("npx tsc --noEmit", "src/a.ts(3,4): error TS2345: no", "src/a.ts", "npm install", True),
    ],
)
def test_another_command_that_checks_as_much(command: str, output: str, path: str, later: str, is_open: bool) -> None:
    """Supersedes a failure, if every file that it names was edited in between."""
    found = ran((command, output))
    found.add(10, edited(10, path))
    for place, piece in enumerate(pieces_of(later, "made"), 11):
        found.add(place, piece)
    assert bool(found.open) is is_open


def test_a_test_that_passes_by_its_name() -> None:
    """Also where another pattern chose it; not where another one failed too."""
    part = ("go test -run TestA ./a", BAD)
    assert not ran(part, ("go test -run Test ./a -v", f"--- PASS: TestA (0.00s)\n{GOOD}")).open
    both = ("go test -run 'TestA|TestB' ./a", f"{BAD}\n--- FAIL: TestB (0.00s)")
    assert ran(both, ("go test -run Test ./a -v", f"--- PASS: TestA (0.00s)\n{GOOD}")).open


def test_an_install_is_no_green_run() -> None:
    """Nor is a program that is started: neither says that the work is right."""
    assert ran(("npm install", "added 3 packages"), ("go run . serve", "up"), ("npm view x", "1.2")).green is None


def test_a_wrong_command() -> None:
    """The next run of the same program supersedes it, whatever it runs."""
    wrong = "ERROR: file or directory not found: test/ansi/"
    assert ran(("pytest test/ansi/ -x", wrong), ("pytest test/test_ansi.py", "3 passed in 0.1s")).open == []


def test_a_run_that_goes_on() -> None:
    """Codex says so, and how it ended: until then it did not fail, whatever it logs."""
    found = ran(("bun run test", "Process running with session ID 7\nOutput:\n(pass) a\nfatal: no such repository: x"))
    assert found.open == []
    look = TextSegment(3, SegmentKind.INPUT, "7", "write_stdin", "session_id", call="d")
    found.add(3, look)
    found.add(
        4,
        TextSegment(
            4, SegmentKind.RESULT, "Process running with session ID 7\n(fail) rows > merge", "write_stdin", call="d"
        ),
    )
    found.add(5, look._replace(name=5, call="e"))
    end = TextSegment(6, SegmentKind.RESULT, "Process exited with code 1\n 1 fail", "write_stdin", call="e")
    found.add(6, end)
    assert "(fail) rows > merge" in found.open[0].failing
    found.add(7, TextSegment(7, SegmentKind.INPUT, "bun run test", "Bash", "command", call="f"))
    found.add(8, end._replace(name=8, text="Process exited with code 0\nfatal: a test logs this", call="f"))
    assert found.open == []
    assert found.green is not None


def test_says_more_than_that_it_failed() -> None:
    """The line with the code is left out where others say why."""
    assert ran(("go vet ./...", f"Exit code 1\n{BAD}")).open[0].failing[0] == "--- FAIL: TestA (0.00s)"
    assert ran(("go vet ./...", "Exit code 1")).open[0].failing == ("Exit code 1",)


@given(st.from_regex(SAYS))
def test_whatever_says_that_something_failed_has_a_hint(line: str) -> None:
    """A line without a hint is not searched any further."""
    assert HINT.search(line)


@pytest.mark.parametrize(
    ("first", "output", "second", "passed", "is_open"),
    [
        ("npx tsc src/a.ts", "src/a.ts(3,4): error TS1343: no", "npm run build | tail -5", "made", False),
        ("npx tsc", "src/a.ts(3,4): error TS1343: no", "cd web && npm test", "3 passed", True),
        ("npm run test:unit", BAD, "npm run test:e2e", GOOD, True),
        ("golangci-lint run", "command not found: golangci-lint", "mise exec -- golangci-lint run", "0 issues.", False),
        ("mise run lint:full", "mise ERROR no task lint:full found", "mise run lint", "0 issues.", False),
        ("pnpm --filter web build", "src/a.ts(3,4): error TS1343: no", "pnpm --filter web build", "✓ built", False),
        ("git push", "! [rejected] main\nhint: Updates were rejected because the remote", "npm run build", "", True),
        ("git push origin main", "hint: Updates were rejected because the remote", "git push", "a..b main", False),
    ],
)
def test_mended_under_another_name(first: str, output: str, second: str, passed: str, is_open: bool) -> None:
    """A build by a build, a style by a look at it, a wrong command by any that checks the same; else by itself."""
    assert bool(ran((first, output), (second, passed)).open) is is_open


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        ("[lint:go] cmd/a.go:160:21: must not be called (noctx)\n[lint:go] ERROR task failed", 1),
        (" at web/src/A.tsx:61:2 lint/correctness/useIt  FIXABLE  ━━━\n\n  × Some errors were emitted.", 1),
        ('./src/a.ts:27:8 lint/style/useImportType  FIXABLE  ━━━\nerror: script "lint" exited with code 1', 1),
        ("  ● Rows › merge\n\n    Nest can't resolve dependencies of the Guard (?, Reflector).\n\n    Solutions:", 2),
        ("[10:34:39] Task 2 failed: 84 |\nerror: Item 3 failed\n 12 pass\n 0 fail\n", 0),
    ],
)
def test_what_runners_put_around_a_failure(output: str, lines: int) -> None:
    """A name before each line, a place without a colon behind it, a reason in any words; logs of tests that passed."""
    found = ran(("npm run lint", output)).open
    assert [len(run.failing) for run in found] == ([lines] if lines else [])
