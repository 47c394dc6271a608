"""Names of logs, plain and compressed."""

from __future__ import annotations

import pytest

from ctxkit.core.log_name import plain_name


@pytest.mark.parametrize(
    ("name", "plain"), [("a.jsonl", "a.jsonl"), ("d.zst/a.jsonl.zst", "d.zst/a.jsonl"), ("a.zst.jsonl", "a.zst.jsonl")]
)
def test_plain_name(name: str, plain: str) -> None:
    """Only the end of a name counts."""
    assert plain_name(name) == plain
