"""What triggers a checkpoint: successful writes, commands that succeed again; words only where that is asked for."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.core.messages import Call, Content, Result, Text
from ctxkit.snapshots.trigger_events import (
    SPOKEN,
    TRIGGERS,
    USUAL,
    TriggerEvent,
    commands,
    failed,
    matters,
    newest_event,
    written,
)
from tests.shared import transcripts


def ran(name: str, arguments: Any, said: str = "ok", error: bool = False, key: str = "1") -> list[Content]:
    """A call and its result."""
    return [
        Content("assistant", [Call(key, name, arguments)]),
        Content("tool", [Result(key, said, error)]),
    ]


PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** End Patch"
WRITES = {
    "claude-code Write": ("Write", {"file_path": "/p/a.py", "content": "x"}),
    "claude-code Edit": ("Edit", {"file_path": "/p/a.py", "old_string": "x", "new_string": "y"}),
    "claude-code MultiEdit": ("MultiEdit", {"file_path": "/p/a.py", "edits": [{"old_string": "x"}]}),
    "claude-code NotebookEdit": ("NotebookEdit", {"notebook_path": "/p/a.py", "new_source": "x"}),
    "codex apply_patch": ("apply_patch", PATCH),
    "codex apply_patch function": ("apply_patch", {"input": PATCH}),
    "codex shell": ("shell", {"command": ["apply_patch", PATCH]}),
    "codex exec_command": ("exec_command", {"cmd": f"apply_patch <<'EOF'\n{PATCH}\nEOF"}),
    "pi write": ("write", {"path": "a.py", "content": "x"}),
    "pi edit": ("edit", {"path": "a.py", "oldText": "x", "newText": "y"}),
    "gemini write_file": ("write_file", {"file_path": "/p/a.py", "content": "x"}),
    "gemini replace": ("replace", {"file_path": "/p/a.py", "old_string": "x", "new_string": "y"}),
    "opencode write": ("write", {"filePath": "/p/a.py", "content": "x"}),
    "opencode edit": ("edit", {"filePath": "/p/a.py", "oldString": "x"}),
    "opencode patch": ("patch", {"patchText": PATCH}),
    "copilot create": ("create", {"path": "/p/a.py", "file_text": "x"}),
    "copilot edit": ("edit", {"path": "/p/a.py", "old_str": "x"}),
    "anthropic str_replace": ("str_replace_based_edit_tool", {"command": "str_replace", "path": "/p/a.py"}),
    "openhands": ("str_replace_editor", {"command": "create", "path": "/p/a.py"}),
}


@pytest.mark.parametrize("name", WRITES)
def test_tools_that_write(name: str) -> None:
    """Those of all programs; a call that failed wrote nothing."""
    tool, arguments = WRITES[name]
    assert matters(tool) and [path.rpartition("/")[2] for path in written(Call("1", tool, arguments))] == ["a.py"]
    assert newest_event(ran(tool, arguments)) == TriggerEvent("code", "a.py written")
    assert newest_event(ran(tool, arguments, "no such file", error=True)) is None
    assert newest_event(ran(tool, arguments)[:1]) is None


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Read", {"file_path": "/p/a.py"}), ("Grep", {"pattern": "x", "path": "/p"}), ("TodoWrite", {"todos": []}),
        ("Bash", {"command": "echo x > a.py"}), ("view", {"path": "a.py"}), ("WebFetch", {"url": "http://x"}),
        ("str_replace_editor", {"command": "view", "path": "/p/a.py"}), ("update_plan", {"plan": []}),
    ],
)  # fmt: skip
def test_tools_that_do_not(tool: str, arguments: Any) -> None:
    """Those that read, plan, and what a shell does by the way."""
    assert newest_event(ran(tool, arguments)) is None


@pytest.mark.parametrize(
    ("said", "error", "expected"),
    [
        ("fine", False, False), ("fine", True, True), ("Exit code 1\nboom", False, True),
        ("Exit code: 0\nWall time: 1 s\nOutput:\nx", False, False), ("Process exited with code 2\n", False, True),
        ("Chunk ID: x\nWall time: 1\nProcess exited with code 0\nOutput:\n", False, False),
        ("<returncode>1</returncode>\n<output>", False, True), ("<returncode>0</returncode>", False, False),
        ("long\n" * 400 + "\nCommand exited with code 1", False, True), ("a\n<exited with exit code 0>", False, False),
        ('{"output":"x","metadata":{"exit_code":1,"duration_seconds":0.1}}', False, True),
        ('{"output":"x","metadata":{"exit_code":0}}', False, False),
        ("<shellId: 1 completed with exit code 0>", False, False),
        ("apply_patch verification failed: no such line", False, True), ("<tool_use_error>x", False, True),
        ("Error: File not found", False, True), ("errors: none", False, False), ("", False, False),
        ("Exit code " + "9" * 5000, False, True), ("x exit code 1" * 100, False, True),
    ],
)  # fmt: skip
def test_failed(said: str, error: bool, expected: bool) -> None:
    """As tools say it: a flag, a status in the first or last lines, the first word."""
    assert failed(Result("1", said, error)) is expected
    assert failed(Result("1", [Text(said)], error)) is expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("pytest -q", ["pytest -q"]), ("cd /x && pytest  -q 2>&1", ["pytest -q"]), ("ls; cat a", []),
        ("make", ["make"]), ("npm test && npm run build", ["npm test", "npm run build"]), ("# why\nmake", ["make"]),
        ("cat <<'E' >a.py\nmake\nE\npython a.py", ["python a.py"]), ("", []),
        ("pytest | tail", []), ("a && pytest |& tee log", ["a", "tee log"]), ("make; date", ["date"]),
        ("make || true", []), ("cd x || exit 1; make", ["make"]), ("make &", []), ("make &>/dev/null", ["make"]),
        ("set -o pipefail; make | tee x", ["make", "tee x"]), ("set -euo pipefail\nmake|tail\na b", ["make", "a b"]),
        ("for i in a; do make; done", []), ('rg "a|make;x" && make', ["make"]), ("make # don't", ["make"]),
        ("make \\\n  all 2>&1", ["make all"]), ("a 'un", ["a 'un"]), ("rm -f x && make", ["make"]),
    ],
)  # fmt: skip
def test_commands(script: str, expected: list[str]) -> None:
    """Those whose status the call's status is, without what only shows or leads there."""
    assert commands(Call("1", "Bash", {"command": script})) == expected
    assert commands(Call("1", "shell", {"command": ["bash", "-lc", script]})) == expected


def test_error_resolution() -> None:
    """A command that failed and later succeeded, by itself or among others; another one is none."""
    red = ran("Bash", {"command": "cd /x && pytest -q 2>&1"}, "Exit code 1")
    green = ran("Bash", {"command": "pytest -q 2>&1 && make lint"}, "Exit code 0")
    assert newest_event([*red, *green]) == TriggerEvent("error_resolution", "pytest -q succeeds again")
    assert newest_event([*green, *red]) is None and newest_event(green) is None
    assert newest_event([*red, *ran("Bash", {"command": "pytest tests"}, "")]) is None
    assert newest_event([*red, *ran("Bash", {"command": "pytest -q | tail"}, "1 failed")]) is None
    stopped = ran("Bash", {"command": "pytest -q"}, "The user doesn't want to proceed with this tool use.", error=True)
    assert newest_event([*stopped, *green]) is None
    assert newest_event([*red, *green], ("code",)) is None
    write = ran("Write", {"file_path": "a.py"})
    assert newest_event([*red, *green, *write]) == TriggerEvent("code", "a.py written")
    assert newest_event([*red, *write, *green]) == TriggerEvent("error_resolution", "pytest -q succeeds again")


def test_words() -> None:
    """Only where they are asked for, and only the model's."""
    said = [Content("assistant", [Text("Well.\nI decided to use SQLite.")])]
    reached = [Content("assistant", [Text("All tests pass now, and it has been merged.")])]
    assert newest_event([*said, *reached]) is None and {"decision", "milestone"} == SPOKEN
    assert newest_event(said, [*USUAL, "decision"]) == TriggerEvent("decision", "I decided to use SQLite.")
    found = newest_event([*said, *reached], TRIGGERS)
    assert found is not None and found.tag == "milestone"
    assert newest_event([Content("user", [Text("I decided to use SQLite.")])], TRIGGERS) is None


def test_hostile() -> None:
    """Whatever stands in arguments and results; names with line breaks become one line."""
    for arguments in (None, [], 7, "\ud800", {"command": {}}, {"file_path": 3}, {"command": ["a", 1]}):
        for tool in ("Bash", "Write", "", "\x1b"):
            newest_event(ran(tool, arguments))
    found = newest_event(ran("Write", {"file_path": "/x/" + "a\nb" * 100}))
    assert found is not None and "\n" not in found.said and len(found.said) <= 60


EXPECTED = {"claude-code": set(USUAL), "codex": {"code"}, "pi": {"code"}, "copilot-cli": {"code"}}


@pytest.mark.parametrize("folder", EXPECTED)
def test_real_sessions(folder: str) -> None:
    """Both occur in sessions of these programs, and what is found is told by its call."""
    found: Counter[str] = Counter()
    some = transcripts(folder, under=1 << 20)
    if not some:
        pytest.skip("no transcripts are there")
    for path in some[:6]:
        log = Log.open(path)
        contents = [log.content(n) for n in range(1, min(len(log.messages), 600) + 1)]
        for tag in USUAL:
            event = newest_event(contents, (tag,))
            found[tag] += event is not None
    assert EXPECTED[folder] <= {tag for tag, count in found.items() if count}, (folder, found)
