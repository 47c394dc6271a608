"""Each edit changes what it says, on any session."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.resume.contexts import context_of
from tests.resume.edits import EDITS
from tests.shared import HERE

SESSION = HERE.parent / "fixtures/truth-claude-code/p77-model-switch-thinking.jsonl"


@pytest.mark.parametrize(("name", "same"), [("nothing", True), ("forget", False), ("undone compact", True)])
def test_an_edit_changes_the_context_or_not(name: str, same: bool, tmp_path: Path) -> None:
    """An undone op leaves what was there."""
    copies = [Path(shutil.copyfile(SESSION, tmp_path / f"{n}.jsonl")) for n in range(2)]
    before, after = (
        context_of("claude-code", EDITS[edit](copy)) for edit, copy in zip(("nothing", name), copies, strict=True)
    )
    assert (before == after) is same


def test_a_rewind_leaves_the_first_half(tmp_path: Path) -> None:
    """The file is whole again, its second half is out of the context."""
    copy = Path(shutil.copyfile(SESSION, tmp_path / "s.jsonl"))
    log = EDITS["rewind"](copy)
    assert copy.read_bytes() == SESSION.read_bytes()
    assert 0 < len(list(log.entries())) < len(log.messages)
