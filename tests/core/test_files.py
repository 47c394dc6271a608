"""Which files a call touches, by the tools that agents have."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.files import Touch, touches
from ctxkit.core.messages import Call

PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** Add File: b.md\n+z\n*** End Patch"


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("Read", {"file_path": "/a.py", "limit": 5}, [("/a.py", "read")]),
        ("Edit", {"file_path": "/a.py", "old_string": "x", "new_string": "y"}, [("/a.py", "write")]),
        ("MultiEdit", {"file_path": "/a.py"}, [("/a.py", "write")]),
        ("NotebookEdit", {"notebook_path": "n.ipynb"}, [("n.ipynb", "write")]),
        ("read_file", {"absolute_path": "a"}, [("a", "read")]), ("write_file", {"path": "a"}, [("a", "write")]),
        ("str_replace_editor", {"command": "view", "path": "/r"}, [("/r", "read")]),
        ("str_replace_editor", {"command": "create", "path": "/r"}, [("/r", "write")]),
        ("apply_patch", {"input": PATCH}, [("src/a.py", "write"), ("b.md", "write")]), ("apply_patch", PATCH, [
            ("src/a.py", "write"), ("b.md", "write"),
        ]),
        ("view_image", {"path": "p.png"}, [("p.png", "read")]),
        ("Bash", {"command": "cat a.py"}, []), ("Grep", {"pattern": "x", "path": "."}, []), ("Read", {}, []),
        ("Read", {"file_path": 5}, []), ("Read", "not JSON", []), ("Read", None, []), ("Read", {"file_path": ""}, []),
    ],
)  # fmt: skip
def test_touches(tool: str, arguments: Any, expected: list[tuple[str, str]]) -> None:
    """Path and action; nothing for what is in no table."""
    assert list(touches(Call("c", tool, arguments))) == [Touch(*one) for one in expected]  # type: ignore[arg-type]
