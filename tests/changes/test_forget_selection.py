"""What forget and remember are asked for, resolved to names of a log."""

from __future__ import annotations

import io
import json

import pytest

from ctxkit.api.log import Log
from ctxkit.changes import forget_selection
from ctxkit.core.item_names import Names
from ctxkit.core.ops import Forget, Remember
from ctxkit.errors import UnknownMessage, Usage


def opened() -> Log:
    """Three questions and their answers."""
    rows = [{"role": role, "content": f"{role} {n}"} for n in range(3) for role in ("user", "assistant")]
    return Log.open(io.BytesIO("".join(json.dumps(row) + "\n" for row in rows).encode()))


def test_numbers_and_criteria() -> None:
    """Numbers, a range and criteria say the same names; nothing is appended."""
    log = opened()
    by_number = forget_selection.wish(log, ["3-4"], (), {})
    by_words = forget_selection.wish(log, (), (), {"grep": "1$"})
    assert by_number.chosen == by_words.chosen == Names.of([3, 4])
    assert forget_selection.wish(log, ["3"], ["5-6"], {}).planning == Names.of([5, 6])
    op = forget_selection.forget(log, ["3-4"], (), {"criteria": "by hand"}).op
    assert isinstance(op, Forget) and op.ids == "3-4" and op.criteria == "by hand"
    kept = forget_selection.remember(log, ["3-4"], (), {}).op
    assert isinstance(kept, Remember) and log.ledger.entries == []


def test_what_cannot_be() -> None:
    """A message that is not there; planning beside parts, whose messages stay."""
    log = opened()
    with pytest.raises(UnknownMessage):
        forget_selection.forget(log, ["9"], (), {})
    with pytest.raises(Usage):
        forget_selection.forget(log, ["1"], ["2"], {"images": True})
