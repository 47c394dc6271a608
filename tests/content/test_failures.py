"""What failed in the output of commands."""

from __future__ import annotations

import pytest

from ctxkit.content.failures import CommandRuns, failing, is_failing
from ctxkit.content.text_segments import SegmentKind, TextSegment


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


def ran(*runs: tuple[str, str]) -> CommandRuns:
    """Commands with their outputs, one after the other."""
    found = CommandRuns()
    for number, (command, output) in enumerate(runs):
        call = f"c{number}"
        found.add(2 * number, TextSegment(2 * number + 1, SegmentKind.INPUT, command, "Bash", "command", call=call))
        found.add(2 * number + 1, TextSegment(2 * number + 2, SegmentKind.RESULT, output, "Bash", call=call))
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
        (f"{NOTES}ok  \texample.org/a\t0.1s\nsrc/a.go:12:3: unreachable code", ["src/a.go:12:3: unreachable code"]),
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
