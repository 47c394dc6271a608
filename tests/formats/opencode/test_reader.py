"""Which messages of an opencode export are in its context, and which numbers they get."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.core.messages import Text
from ctxkit.formats.opencode import FORMAT
from tests.formats import reading
from tests.formats.opencode import logs


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("user:a | say:b+c1 | user:c", [1, 2, 3]),
        # the context begins with the message that asked for a summary, once that is complete
        ("user:a | say:b | compact | summary:3 | user:c", [3, 4, 5]),
        ("user:a | say:b | compact | user:c", [1, 2, 3, 4]),
        ("user:a | compact | summary:2 | user:b | compact | summary:5 | user:c", [5, 6, 7]),
        # responses that failed are not sent; one that was stopped while it spoke is
        ("user:a | failed | user:b | aborted:half", [1, 3, 4]),
        ("user:a | say:b | user:c | say:d | revert:3", [1, 2]),
    ],
)
def test_context(spec: str, expected: list[int], indent: int | None, tmp_path: Path) -> None:
    """Compactions, errors and a revert count before any op of ours."""
    path = tmp_path / "export.json"
    path.write_text(json.dumps(logs.export(spec), indent=indent), encoding="utf-8")
    log = Log.open(path)
    assert log.opening.format.name == "opencode"
    assert [entry.name for entry in log.entries()] == expected


def test_ids_that_repeat() -> None:
    """A redacted export has one id for all: every call has its own result all the same."""
    found = reading.read(FORMAT, logs.raw("user:a | say:b+REDACTED+REDACTED | say:c+REDACTED"))
    calls = [key for message in found.messages for key in message.calls]
    assert len(set(calls)) == 3
    assert [key for message in found.messages for key in message.results] == calls


def test_numbers_do_not_depend_on_later_rows() -> None:
    """Whatever is appended, the messages before it keep their numbers, and so every op fits."""
    parts = ["user:a ", " say:b+c1 ", " compact ", " summary:3 ", " user:c ", " failed"]
    full = reading.read(FORMAT, logs.raw("|".join(parts))).messages
    for k in range(1, len(parts)):
        assert list(reading.read(FORMAT, logs.raw("|".join(parts[:k]))).messages) == list(full[:k])


ODD: list[object] = [
    1, None, "x", [], {}, [1], [{"type": 3}], [{"type": "tool", "state": 7}], float("nan"), 10**400,
    [{"type": "tool", "state": {"status": []}}],
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("field", ["info", "parts", "id", "time", "error", "summary", "parentID", "revert"])
def test_unexpected_shapes(field: str, odd: object, tmp_path: Path) -> None:
    """Whatever stands there is read, or opens no message; nothing ends the reading."""
    export: dict[str, Any] = logs.export("user:a | say:b+c1 | compact | summary:3 | user:last")
    for message in export["messages"][:4]:
        (message if field in message else message["info"])[field] = odd
    export["info"]["revert"] = odd
    path = tmp_path / "export.json"
    path.write_text(json.dumps(export), encoding="utf-8")
    log = Log.open(path)
    assert "last" in [part.text for entry in log.entries() for part in log.full(entry).parts if isinstance(part, Text)]
