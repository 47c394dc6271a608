"""Which exports there are, and what becomes of each before an agent sees it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ctxkit import Log
from tests.resume.blocks import Block
from tests.resume.compare import Compared
from tests.resume.contexts import context
from tests.resume.edits import EDITS
from tests.resume.exports import NOTHING, Export, exports, judge, sessions
from tests.shared import HERE

FIXTURES = HERE.parent / "fixtures"


def test_all_edits_and_all_other_formats() -> None:
    """Each session after each edit, and each session of another format as it is."""
    found = list(exports("pi", "*"))
    own = [export for export in found if export.own]
    assert {export.what for export in own} == set(EDITS)
    assert len(own) == len(EDITS) * len(sessions("pi"))
    assert {export.what for export in found if not export.own} == {
        "from claude-code", "from codex", "from chat", "from gemini-cli", "from qwen-code", "from opencode"
    }  # fmt: skip


def test_a_part_of_them() -> None:
    """By the name of the session, and by what is done to it."""
    [one] = exports("codex", "thinking", "from*")
    assert (one.path.stem, one.what, one.own) == ("thinking", "from pi", False)
    assert [export.what for export in exports("codex", "no-base", "re*")] == ["rewind", "remember", "recall"]


def sent(session: bytes, ours: Callable[[], list[Block]], _: Callable[[list[Block]], str]) -> Compared:
    """Instead of an agent: the session is one, and we have something of it."""
    assert session.startswith(b'{"')
    return Compared(len(ours()), "")


def source(path: Path) -> list[Block]:
    """Instead of an agent that resumes the session as it is."""
    raise AssertionError(path)


def test_an_export_is_judged() -> None:
    """What was written, beside the context that it was written from, or, from another format, its own."""
    own, other = exports("codex", "no-base", "forget"), exports("pi", "no-base", "from codex")
    whole = len(context("codex", FIXTURES / "truth-codex/no-base.jsonl"))
    for agent, export, blocks in (("codex", *own, whole - 1), ("pi", *other, whole)):
        assert isinstance(export, Export)
        assert judge(agent, export, sent, source) == Compared(blocks, "")


def test_an_edit_that_has_nothing_to_do_is_left_out() -> None:
    """A session without parallel calls has no part in their figures."""
    [export] = exports("codex", "no-base", "forget of one result")
    assert judge("codex", export, sent, source) is None


def test_nothing_left_to_send_is_counted() -> None:
    """A session of which an op leaves nothing is not written."""
    [export] = exports("codex", "no-base", "nothing")
    export.edit = _forget_all
    found = judge("codex", export, sent, source)
    assert found is not None and (found.blocks, found.ruled) == (0, {NOTHING: 1})


def _forget_all(copy: Path) -> Log | None:
    log = EDITS["nothing"](copy)
    assert log is not None
    log.forget(log.names(), include_protected=True)
    return EDITS["nothing"](copy)
