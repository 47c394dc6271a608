"""protect and unprotect: what is decided. Rules one by one: tests/core/test_rules.py."""

from __future__ import annotations

import pytest

from ctxkit.changes.protect import protect, unprotect
from ctxkit.core.item_names import Names
from ctxkit.errors import Usage
from tests import build


@pytest.mark.parametrize(
    ("spec", "chosen", "ids", "said"),
    [
        ("1-4", "2-3", "2-3", "Protected 2-3."),
        ("1 | 2 call=x | 3 result=x", "3", "2-3", "Protected 2-3."),
        ("1-4 | protect 2", "2-3", "2-3", "Protected 2-3."),
        ("1-4 | protect 2", "2", None, "Already protected: 2. Nothing appended."),
        ("1 system | 2", "1", None, "Already protected: 1. Nothing appended."),
        ("1-4 | forget 2", "2", "2", "Protected 2."),
        ("1-4 | restore new:x", "a1.1", "a1.1", "Protected 1.1."),
    ],
)
def test_protect(spec: str, chosen: str, ids: str | None, said: str) -> None:
    """Steps whole; nothing to append where all are protected already (replay 50)."""
    decision = protect(build.state(spec), build.here(build.log(spec)), Names.parse(chosen))
    assert getattr(decision.op, "ids", None) == ids
    assert decision.said == said


@pytest.mark.parametrize(
    ("spec", "chosen", "ids", "said"),
    [
        ("1-4 | protect 2-3", "3", "3", "No longer protected: 3."),
        ("1-4", "2", None, "Not protected: 2. Nothing appended."),
        ("1-4", "1", "1", "No longer protected: 1."),
        ("1-4 | unprotect 1", "1", None, "Not protected: 1. Nothing appended."),
        ("1 | 2 call=x | 3 result=x | protect 2-3", "3", "2-3", "No longer protected: 2-3."),
    ],
)
def test_unprotect(spec: str, chosen: str, ids: str | None, said: str) -> None:
    """The automatic flag of the first message too."""
    decision = unprotect(build.state(spec), build.here(build.log(spec)), Names.parse(chosen))
    assert getattr(decision.op, "ids", None) == ids
    assert decision.said == said


@pytest.mark.parametrize("spec", ["1 system | 2", "1 system | 2 | edit 1:changed"])
def test_the_preamble_needs_force(spec: str) -> None:
    """Also what an edit made of it (replay 29)."""
    chosen = Names.parse("a1.1" if "edit" in spec else "1")
    state, at = build.state(spec), build.here(build.log(spec))
    with pytest.raises(Usage, match="is part of the system preamble"):
        unprotect(state, at, chosen)
    assert unprotect(state, at, chosen, force=True).op is not None


def test_only_what_is_not_seen_is_said_to_be_told() -> None:
    """A message that was recalled beside its summary is in sight (replay 43)."""
    spec = "1-6 | compact 2-4 | recall 3"
    decision = protect(build.state(spec), build.here(build.log(spec)), Names.parse("2-3"))
    assert decision.notes == ["2 stays in the summary 1.1; `ctxkit recall LOG 2 --apply` shows it beside"]
