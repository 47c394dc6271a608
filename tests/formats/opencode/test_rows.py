"""opencode rows: what is decoded of a message."""

from __future__ import annotations

from ctxkit.formats.heads import head, listed
from ctxkit.formats.opencode.rows import InfoHead, PartHead, StateHead


def test_heads() -> None:
    """Ids, and how far a call is, also where a line is no strict JSON."""
    assert head(b'{"id":"a","role":"user","cost":NaN}', InfoHead).role == "user"
    part = head(listed(b'[{"type":"tool","callID":"c","state":{"status":"error","x":NaN}}]')[0], PartHead)
    assert (part.callID, head(part.state, StateHead).status) == ("c", "error")
