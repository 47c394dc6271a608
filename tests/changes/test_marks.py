"""mark and rewind: what is decided. Rules one by one: tests/core/test_rules.py."""

from __future__ import annotations

import pytest

from ctxkit.changes.marks import find, mark, rewind
from ctxkit.core.ops import Rewind
from ctxkit.errors import NoMark
from tests import build


def test_mark() -> None:
    """A label is kept verbatim; the words are the specification's."""
    at = build.here(build.log("1-3"))
    decision = mark(at, " Ä \n")
    assert decision.op is not None
    assert (decision.op.name, decision.op.at, decision.said) == ("mark", at, "Checkpoint created.")
    assert getattr(decision.op, "label", "") == " Ä \n"


@pytest.mark.parametrize(
    ("label", "to"),
    [(None, "a4"), ("a", "a3"), ("b", "a2")],
)
def test_find(label: str | None, to: str) -> None:
    """The newest, or the newest of that label."""
    state = build.state("1 | mark a | 2 | mark b | 3 | mark a | 4 | mark | 5")
    assert find(state, label).op == to


@pytest.mark.parametrize(
    ("spec", "label", "hint"),
    [
        ("1-3", None, "set one first"),
        ("1-3 | mark", "a", "no labelled mark"),
        ("1-3 | mark b | mark c", "a", "marks that can be reached: 'b', 'c'"),
        ("1-3 | mark a | undo @1", "a", "no labelled mark"),
    ],
)
def test_no_mark(spec: str, label: str | None, hint: str) -> None:
    """Refused, and what there is is named."""
    with pytest.raises(NoMark) as caught:
        find(build.state(spec), label)
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("spec", "appends"),
    [
        ("1-3 | mark", False),
        ("1-3 | mark | 4", True),
        ("1-3 | mark | 4 | rewind", False),
        ("1-3 | mark | 4 | forget 4", False),
        ("1-3 | mark | compact 1-2", True),
        ("1-3 | mark | compact 1-2 | rewind", False),
        ("1-3 | mark | compact 1-2 | undo @2", False),
        ("1-3 | compact 1-2 | mark", False),
        ("1-3 | mark | trim 1", True),
        ("1-3 | mark | restore 1", True),
        ("1-3 | mark | forget 1 | protect 2 | window 60", False),
        ("1-3 | mark a | mark b", True),
    ],
)
def test_at_the_mark_already(spec: str, appends: bool) -> None:
    """Nothing is appended where a rewind would change nothing (replay 50)."""
    state = build.state(spec)
    decision = rewind(state, build.here(build.log(spec)), "a" if "mark a" in spec else None)
    assert isinstance(decision.op, Rewind) == appends
    rewound = "Rewound to 'a'." if "mark a" in spec else "Rewound to last checkpoint."
    assert decision.said == (rewound if appends else "Already at the checkpoint: nothing appended.")


@pytest.mark.parametrize("label", ["a", "b"])
def test_a_label_is_named(label: str) -> None:
    """The last one too: what was asked for is what is said."""
    spec = "1-3 | mark a | 4 | mark b | 5"
    assert rewind(build.state(spec), build.here(build.log(spec)), label).said == f"Rewound to '{label}'."
