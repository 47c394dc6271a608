"""Edits of real files: one kind of each, on a small file of each format; `just edits` makes all of all of them."""

from __future__ import annotations

import pytest

from tests import edits
from tests.edits import CHANGES, FOLDERS, Wrong, chosen, run
from tests.trims import OWN, Case

LARGEST = 200_000
"""Bytes of a file that the suite takes: the whole lot is minutes."""


@pytest.mark.parametrize("name", [*FOLDERS, "own"])
def test_files(name: str) -> None:
    """The context is what the draft says, valid for every provider; unchanged is no op, and undo takes it back."""
    found = [Case(path, None) for path in OWN] if name == "own" else chosen([name], LARGEST)
    for case in [one for one in found if (one.path in OWN) == (name == "own")][:1]:
        run(case, ("reordered", "much"))


@pytest.mark.parametrize("change", CHANGES)
def test_every_change(change: str) -> None:
    """On a session of ours."""
    run(Case(OWN[-1], None), (change,))


def test_what_is_wrong_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks can fail: other words than the draft has, a message that no provider takes."""
    case = Case(OWN[-1], None)
    with monkeypatch.context() as other:
        other.setattr(edits, "SAID", "said")
        other.setattr(edits, "_held", lambda block, had: [])
        with pytest.raises(Wrong, match=r"message .*: .* holds .*said"):
            run(case, ("changed",))
    monkeypatch.setitem(edits.RULES, "openai", lambda body: ["no"])
    with pytest.raises(Wrong, match="openai: no"):
        run(case, ("added",))
