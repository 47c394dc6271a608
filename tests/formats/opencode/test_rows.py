"""opencode rows: what is decoded of a message, whatever shape it has."""

from __future__ import annotations

import msgspec
import pytest

from ctxkit.core.text.json_structs import shaped
from ctxkit.core.text.json_text import loads
from ctxkit.formats.opencode.rows import InfoHead, OpencodeRow, PartHead, StateHead, TimeHead


def test_heads() -> None:
    """Ids, times, and how far a call is; recovery makes the same of a line that is no strict JSON."""
    line = (
        b'{"info":{"id":"a","role":"user","cost":1,"time":{"created":5}},'
        b'"parts":[{"type":"tool","callID":"c","state":{"status":"error","x":1}},3,{"state":[]}]}'
    )
    strict = msgspec.json.decode(line, type=OpencodeRow)
    for row in (strict, shaped(loads(line.replace(b"1", b"NaN")), OpencodeRow)):
        assert isinstance(row.info, InfoHead)
        assert (row.info.id, row.info.role, row.info.time) == ("a", "user", TimeHead(5))
        assert row.parts == [PartHead("tool", None, "c", StateHead("error")), 3, PartHead(state=[])]


@pytest.mark.parametrize("raw", [b"null", b"3", b'"x"', b"[1]", b"1.5", b"true"])
def test_other_shapes(raw: bytes) -> None:
    """Whatever stands there, the line is read."""
    row = msgspec.json.decode(b'{"info":' + raw + b',"parts":' + raw + b"}", type=OpencodeRow)
    assert (row.info, row.parts) == (loads(raw), loads(raw))
