"""clear: what is decided. Rules one by one: tests/core/test_rules.py."""

from __future__ import annotations

import pytest

from ctxkit.changes.clear import SAID, clear
from ctxkit.core.ops import Clear
from ctxkit.errors import UnknownAgent
from tests import build


@pytest.mark.parametrize(
    ("spec", "agent", "keep_protected", "keep"),
    [
        ("1-3", None, False, ""),
        ("1 | 2 call=x | 3 result=x | 4 | protect 3", None, True, "2-3"),
        ("1 system | 2-4 | protect 1,3", None, True, "3"),
        ("1-4 | protect 2-3 | forget 3", None, True, "2"),
        ("1-4 | restore new:x | protect @1.1", None, True, "a1.1"),
        ("1 agent=frodo | 2 agent=frodo | 3 | protect 2", "frodo", True, "2"),
        ("1-3 | mark | forget 1-3", None, False, ""),
        ("1-3 | trim 1-3", None, False, ""),
    ],
)
def test_decides(spec: str, agent: str | None, keep_protected: bool, keep: str) -> None:
    """What is kept is resolved before the append, steps whole; marks or hidden messages alone are worth a clear."""
    decision = clear(build.state(spec), build.here(build.log(spec)), agent, keep_protected=keep_protected)
    assert isinstance(decision.op, Clear)
    assert (decision.op.agent, decision.op.keep) == (agent, keep)
    assert decision.said == SAID if agent is None else decision.said.startswith(f"Cleared the messages of {agent} ")


@pytest.mark.parametrize(
    ("spec", "agent", "keep_protected"),
    [
        ("1 system", None, False),
        ("1-3 | clear", None, False),
        ("1-3 | forget 1-3", None, False),
        ("1-3 | protect 1-3", None, True),
        ("1 agent=frodo | 2 | forget 1", "frodo", False),
    ],
)
def test_nothing_to_clear(spec: str, agent: str | None, keep_protected: bool) -> None:
    """The wished state holds already: nothing is appended (replay 50)."""
    decision = clear(build.state(spec), build.here(build.log(spec)), agent, keep_protected=keep_protected)
    assert decision.op is None
    assert decision.said == "Nothing to clear: nothing appended."


def test_unknown_agent() -> None:
    """Refused."""
    with pytest.raises(UnknownAgent):
        clear(build.state("1"), build.here(build.log("1")), "frodo")
