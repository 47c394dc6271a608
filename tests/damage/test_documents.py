"""Sessions that are one JSON text, damaged: what is whole is read, what is not is reported."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from ctxkit import Log
from ctxkit.errors import ManyConversations, UnknownFormat
from tests.damage.sessions import DOCUMENTS, LAST, STRUCK, told

DEEP = b'{"a":' * 100_000 + b"1" + b"}" * 100_000


class Row(NamedTuple):
    """As in `rows.py`, on the bytes of the whole text. `lost`: the message with these words is; all behind it too
    where `behind` says so.
    """

    made: Callable[[bytes], bytes]
    codes: tuple[str, ...] = ()
    becomes: str = STRUCK
    lost: str = ""
    behind: bool = False


def instead(words: bytes) -> Callable[[bytes], bytes]:
    """Other bytes in the place of the struck words."""
    return lambda raw: raw.replace(STRUCK.encode(), words)


def beside(words: bytes) -> Callable[[bytes], bytes]:
    """A field more in the object that holds the struck words."""
    return lambda raw: re.sub(rb'\{([^{}]*)"%s"' % STRUCK.encode(), lambda m: b'{"x":' + words + b"," + m[0][1:], raw)


def closing(raw: bytes) -> bytes:
    """The text with a comma before the bracket that closes its list of messages."""
    at = raw.rindex(b"]")
    return raw[:at] + b"," + raw[at:]


ROWS: dict[str, Row] = {
    "F01 cut in the last message": Row(
        lambda raw: raw[: raw.rindex(LAST.encode()) + 4], ("torn-tail",), STRUCK, LAST),
    "F01 cut in the middle": Row(
        lambda raw: raw[: raw.index(STRUCK.encode()) + 4], ("torn-tail",), STRUCK, STRUCK, True),
    "F01 not closed": Row(lambda raw: raw.rstrip()[:-1], ("torn-tail",)),
    "F05 NUL head": Row(lambda raw: b"\0" * 99 + raw, ("nul-block",)),
    "F05 NUL tail": Row(lambda raw: raw + b"\0" * 99, ("nul-block",)),
    "F06 words behind it": Row(lambda raw: raw + b"\n# so\n", ("not-json",)),
    "F07 line ends in a string": Row(instead(b"second\nquestion"), ("broken-line",), "second\nquestion"),
    "F09 BOM": Row(lambda raw: b"\xef\xbb\xbf" + raw),
    "F10 CRLF": Row(lambda raw: raw.replace(b"\n", b"\r\n")),
    "J01 NaN": Row(beside(b"NaN"), ("nonfinite",)),
    "J03 2^53+1": Row(beside(b"9007199254740993")),
    "J04 2^64": Row(beside(b"18446744073709551616")),
    "J07 lone surrogate": Row(instead(b"second \\ud800"), (), "second \ud800"),
    "J08 bad UTF-8": Row(instead(b"second \xff"), ("bad-utf8",), "second \udcff"),
    "J09 CESU-8": Row(instead(b"second \xed\xa0\x80"), ("bad-utf8",), "second \udced\udca0\udc80"),
    "J10 TAB": Row(instead(b"second\tone"), ("control-char",), "second\tone"),
    "J11 NUL escaped": Row(instead(b"second \\u0000"), (), "second \0"),
    "J13 depth 100,000": Row(beside(DEEP), ("too-deep",), STRUCK, STRUCK),
    "J14 U+2028": Row(instead("second \u2028\x85".encode()), (), "second \u2028\x85"),
    "J16 trailing comma": Row(closing, ("not-json",)),
}  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("row", ROWS)
def test_what_is_whole_is_read(row: str, name: str) -> None:
    """In order, as the same format; what is damaged is reported once, by its code, and `check` tells of it."""
    made, codes, becomes, lost, behind = ROWS[row]
    clean = told(Log.open(io.BytesIO(DOCUMENTS[name].clean)))
    if lost:
        at = next(i for i, (_, words) in enumerate(clean) if words == lost)
        clean = clean[:at] if behind else clean[:at] + clean[at + 1 :]
    log = Log.open(io.BytesIO(made(DOCUMENTS[name].clean)))
    assert log.transcript.format == DOCUMENTS[name].format
    assert told(log) == [(kind, words.replace(STRUCK, becomes)) for kind, words in clean]
    assert tuple(one.code for one in log.transcript.damage) == codes
    assert [one.code for one in log.check()] == list(codes)


@pytest.mark.parametrize("name", DOCUMENTS)
@pytest.mark.parametrize("row", ["F01 cut in the middle", "F05 NUL head", "F06 words behind it"])
def test_ops_go_to_the_sidecar(row: str, name: str, tmp_path: Path) -> None:
    """Not into the file, though it looks little like what it was."""
    path = tmp_path / DOCUMENTS[name].name
    path.write_bytes(raw := ROWS[row].made(DOCUMENTS[name].clean))
    log = Log.open(path)
    log.forget("2")
    assert path.read_bytes() == raw
    assert 2 not in Log.open(path).names()


@pytest.mark.parametrize("name", DOCUMENTS)
def test_two_in_a_file(name: str) -> None:
    """Glued or not, each can be chosen."""
    raw = DOCUMENTS[name].clean.rstrip()
    for between, codes in ((b"", ["glued"]), (b"\n", [])):
        with pytest.raises(ManyConversations):
            Log.open(io.BytesIO(raw + between + raw))
        log = Log.open(io.BytesIO(raw + between + raw), conversation=2)
        assert told(log) == told(Log.open(io.BytesIO(raw)))
        assert [one.code for one in log.transcript.damage] == codes


@pytest.mark.parametrize("name", DOCUMENTS)
def test_utf_16(name: str) -> None:
    """One clear report."""
    with pytest.raises(UnknownFormat, match="UTF-16"):
        Log.open(io.BytesIO(DOCUMENTS[name].clean.decode().encode("utf-16")))
