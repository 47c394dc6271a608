"""Which files a call touches, by the tools that agents have."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from ctxkit.core.derive.files import FileTouch, How, touches
from ctxkit.core.messages import Call

PATCH = (
    "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** Add File: b.md\n+z\n*** Delete File: c\n*** End Patch"
)
PATCHED = [("src/a.py", "edit"), ("b.md", "create"), ("c", "delete")]
UNIFIED = "--- a/x.py\t2026\n+++ b/x.py\t2026\n@@ -1 +1 @@\n-a\n+b\n"


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        # Claude Code
        ("Read", {"file_path": "/a.py"}, [("/a.py", "read")]),
        ("Read", {"file_path": "/a.py", "limit": 5, "offset": None}, [("/a.py", "read", '{"limit": 5}')]),
        ("Edit", {"file_path": "/a.py", "old_string": "x", "new_string": "y"}, [("/a.py", "edit")]),
        ("MultiEdit", {"file_path": "/a.py", "edits": [{"old_string": "x"}]}, [("/a.py", "edit")]),
        ("Write", {"file_path": "/a.py", "content": PATCH}, [("/a.py", "write")]),
        ("NotebookEdit", {"notebook_path": "n.ipynb", "edit_mode": "delete"}, [("n.ipynb", "edit")]),
        ("NotebookRead", {"notebook_path": "n.ipynb"}, [("n.ipynb", "read")]),
        ("Bash", {"command": "cat a.py", "description": "x"}, [("a.py", "read")]),
        ("Bash", {"command": f"apply_patch <<'EOF'\n{PATCH}\nEOF"}, PATCHED),
        ("Bash", {"command": f"cat > how.md <<'EOF'\n{PATCH.partition(chr(10))[2]}\nEOF"}, [("how.md", "write")]),
        ("PowerShell", {"command": "cat a.py"}, []),
        ("BashOutput", {"bash_id": "1"}, []), ("TodoWrite", {"todos": [{"content": "x"}]}, []),
        ("Task", {"prompt": PATCH}, []), ("Grep", {"pattern": "x", "path": "."}, []), ("LS", {"path": "/"}, []),
        # the tools of Anthropic's API, and of what has them
        ("str_replace_editor", {"command": "view", "path": "/r"}, [("/r", "read")]),
        ("str_replace_based_edit_tool", {"command": "view", "path": "/r", "view_range": [1, 9]},
         [("/r", "read", '{"view_range": [1, 9]}')]),
        ("str_replace_editor", {"command": "create", "path": "/r"}, [("/r", "create")]),
        ("str_replace_editor", {"command": "str_replace", "path": "/r"}, [("/r", "edit")]),
        # Codex
        ("apply_patch", {"input": PATCH}, PATCHED), ("apply_patch", PATCH, PATCHED),
        ("apply_patch", {"input": PATCH.replace("@@", "*** Move to: d.py\n@@")}, [
            ("src/a.py", "edit"), ("d.py", "write"), *PATCHED[1:],
        ]),
        ("shell", {"command": ["apply_patch", PATCH]}, PATCHED),
        ("shell", {"command": ["bash", "-lc", "sed -n '1,9p' a.py"]}, [("a.py", "read", "sed -n 1,9p")]),
        ("shell", {"command": ["cat", "my file"]}, [("my file", "read")]),
        ("local_shell", {"command": ["cat", 5]}, []), ("shell", {"command": []}, []),
        ("exec_command", {"cmd": "nl -ba a.py", "workdir": "/w"}, [("a.py", "read")]),
        ("container.exec", {"cmd": ["bash", "-lc", "cat a"]}, [("a", "read")]),
        ("view_image", {"path": "p.png"}, [("p.png", "read")]), ("write_stdin", {"chars": "cat a.py"}, []),
        # pi, Copilot CLI, opencode
        ("read", {"path": "a"}, [("a", "read")]), ("edit", {"path": "a"}, [("a", "edit")]),
        ("write", {"path": "a"}, [("a", "write")]), ("view", {"path": "/d"}, [("/d", "read")]),
        ("create", {"path": "a", "file_text": "x"}, [("a", "create")]), ("bash", {"command": "view a"}, []),
        ("read", {"filePath": "/a", "offset": 3}, [("/a", "read", '{"offset": 3}')]),
        ("patch", {"patchText": PATCH}, PATCHED), ("read_bash", {"shellId": "3"}, []),
        # Gemini CLI
        ("read_file", {"absolute_path": "a"}, [("a", "read")]), ("write_file", {"file_path": "a"}, [("a", "write")]),
        ("replace", {"file_path": "a", "old_string": "x"}, [("a", "edit")]),
        ("read_many_files", {"paths": ["a", "b/*.py", "c"]}, [("a", "read"), ("c", "read")]),
        ("run_shell_command", {"command": "cat a"}, [("a", "read")]), ("list_directory", {"path": "/d"}, []),
        ("search_file_content", {"pattern": "x", "path": "/d"}, []), ("save_memory", {"fact": "x"}, []),
        # editors, MCP servers
        ("read_file", {"target_file": "a", "start_line": 1}, [("a", "read", '{"start_line": 1}')]),
        ("edit_file", {"target_file": "a"}, [("a", "edit")]), ("delete_file", {"target_file": "a"}, [("a", "delete")]),
        ("apply_diff", {"path": "a", "diff": "<<<"}, [("a", "edit")]),
        ("write_to_file", {"path": "a"}, [("a", "write")]), ("insert_content", {"path": "a"}, [("a", "edit")]),
        ("read_file", {"files": [{"path": "a"}, {"path": "b"}, 5]}, [("a", "read"), ("b", "read")]),
        ("multi_replace_string_in_file", {"replacements": [{"filePath": "a"}, {"filePath": "a"}]}, [("a", "edit")]),
        ("mcp__fs__move_file", {"source": "a", "destination": "b"}, [("a", "delete"), ("b", "write")]),
        ("mcp__fs__read_multiple_files", {"paths": ["a", "b"]}, [("a", "read"), ("b", "read")]),
        ("mcp__git__apply", {"patch": UNIFIED}, []), ("git_apply_patch", {"patch": UNIFIED}, [("x.py", "edit")]),
        ("create_file", {"filePath": "a"}, [("a", "create")]), ("open", {"path": "a", "line_number": 5}, [
            ("a", "read", '{"line_number": 5}'),
        ]),
        ("mcp__tracker__create_comment", {"issueId": "1", "body": "read a.py"}, []), ("navigate", {"url": "x"}, []),
        # what is no call that anyone could run
        ("Read", {}, []), ("Read", {"file_path": 5}, []), ("Read", "not JSON", []), ("Read", None, []),
        ("Read", {"file_path": ""}, []), ("move_file", {"source": "a"}, []), ("Bash", {"command": None}, []),
    ],
)  # fmt: skip
def test_touches(tool: str, arguments: Any, expected: list[tuple[Any, ...]]) -> None:
    """Path, what is done to it, and which part; nothing for what is in no table."""
    assert list(touches(Call("c", tool, arguments))) == [FileTouch(*one) for one in expected]


def test_action() -> None:
    """Whatever is no read changes the file."""
    assert [FileTouch("a", how).action for how in get_args(How)] == ["read", *["write"] * 4]


def test_a_patch_of_blanks() -> None:
    """They are looked at once: tried from each of them on, this would not end."""
    path = f"a{' ' * 1_000_000}b"
    patch = f"*** Begin Patch\n*** Update File: {path}\n*** Add File: c \t\r\n"
    assert list(touches(Call("c1", "apply_patch", {"input": patch}))) == [
        FileTouch(path, "edit"),
        FileTouch("c", "create"),
    ]
