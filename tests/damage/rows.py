"""The rows of damage: what each does to the bytes of a clean session, and what is expected to come of it.

Ids and expectations are those of the failure catalogue that docs/reliability.md lists. A row is applied to a session by
`damaged`; it strikes at the record that holds `sessions.STRUCK`, or at the last one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from tests.damage.sessions import LAST, LINES, STRUCK, Session

NULS = b"\0" * 4096
DEEP = b'{"a":' * 100_000


class Row(NamedTuple):
    """`made`: lines and the place of the struck one -> bytes. `codes`: what is reported, each once, in order.

    `lost`: words of the parts that cannot be read any more; `becomes`: what the struck words read as. `closer`: what
    only `check` sees, which looks at every field of every record.
    """

    says: str
    made: Callable[[list[bytes], int], bytes]
    codes: tuple[str, ...] = ()
    lost: str = ""
    becomes: str = STRUCK
    closer: tuple[str, ...] = ()


def lines(*pieces: bytes) -> bytes:
    """Pieces, each on a line."""
    return b"".join(piece + b"\n" for piece in pieces)


def put(made: Callable[[bytes], bytes]) -> Callable[[list[bytes], int], bytes]:
    """A row that changes the struck line alone; what it becomes may hold line ends."""
    return lambda rows, at: lines(*rows[:at], made(rows[at]), *rows[at + 1 :])


def instead(words: bytes) -> Callable[[list[bytes], int], bytes]:
    """A row that puts other bytes in the place of the words of the struck record."""
    return put(lambda row: row.replace(STRUCK.encode(), words))


def field(text: bytes) -> Callable[[list[bytes], int], bytes]:
    """A row that puts a field first in the struck record."""
    return put(lambda row: b"{" + text + b"," + row[1:])


def cut(row: bytes) -> bytes:
    """The first half of a record, up to the middle of its words."""
    return row[: row.index(STRUCK.encode()) + 6]


def joined(rows: list[bytes], at: int, between: bytes) -> bytes:
    """The struck line and the next on one line."""
    return lines(*rows[:at], rows[at] + between + rows[at + 1], *rows[at + 2 :])


FILES: dict[str, Row] = {
    "F01 torn tail": Row(
        "the last line is cut off", lambda rows, _: lines(*rows)[:-12], ("torn-tail",), LAST),
    "F01 fragment of a new record": Row(
        "a few bytes of one more", lambda rows, _: lines(*rows) + b'{"ty', ("torn-tail",)),
    "F02 no line end": Row("the last record is whole", lambda rows, _: lines(*rows)[:-1]),
    "F03 record behind a torn one": Row(
        "one line", lambda rows, at: lines(*rows[:at], cut(rows[at]) + rows[at + 1], *rows[at + 2 :]),
        ("torn-prefix",), STRUCK),
    "F03 torn one put in": Row(
        "one line", lambda rows, at: lines(*rows[:at], cut(rows[at]) + rows[at], *rows[at + 1 :]), ("torn-prefix",)),
    "F04 glued": Row("no line end between two", lambda rows, at: joined(rows, at, b""), ("glued",)),
    "F04 all glued": Row("no line end at all", lambda rows, _: b"".join(rows), ("glued",)),
    "F05 NULs between": Row(
        "a run of NUL bytes, as a line", lambda rows, at: lines(*rows[:at], NULS, *rows[at:]), ("nul-block",)),
    "F05 NULs before": Row("on the line", put(lambda row: NULS + row), ("nul-block",)),
    "F05 NULs behind": Row("padding", put(lambda row: row + NULS), ("nul-block",)),
    "F05 NULs within": Row(
        "in a string", instead(b"second\0\0\0question"), ("nul-block",), "", "second\0\0\0question"),
    "F05 NULs over it": Row(
        "the record's end is gone", put(lambda row: cut(row) + NULS), ("torn-line", "nul-block"), STRUCK),
    "F05 NUL tail": Row("143 KB of it", lambda rows, _: lines(*rows) + b"\0" * 143_000, ("nul-block",)),
    "F06 no JSON": Row("a bad line in the middle", put(lambda row: b"# not a record"), ("not-json",), STRUCK),
    "F06 cut off": Row("half a record in the middle", put(cut), ("torn-line",), STRUCK),
    "F07 line ends in a string": Row(
        "a record over lines", instead(b"second\nquestion\n\nthere"), ("broken-line",), "",
        "second\nquestion\n\nthere"),
    "F08 blank lines": Row("among the others", lambda rows, at: lines(*rows[:at], b"", b" \t", *rows[at:], b"", b"")),
    "F09 BOM at the start": Row("of the file", lambda rows, _: b"\xef\xbb\xbf" + lines(*rows)),
    "F09 BOM in the middle": Row("of two files in one", put(lambda row: b"\xef\xbb\xbf" + row)),
    "F10 CRLF": Row("line ends", lambda rows, _: lines(*(row + b"\r" for row in rows))),
    "F10 lone CR": Row("for a line end", lambda rows, at: joined(rows, at, b"\r"), ("glued",)),
    "F27 no times": Row("of any record", lambda rows, _: re.sub(rb'"(ts|timestamp)": "[^"]*", ', b"", lines(*rows))),
    "F27 odd times": Row(
        "not a time", lambda rows, _: re.sub(rb'"(ts|timestamp)": "[^"]*"', rb'"\1": "yesterday"', lines(*rows))),
    "F27 times that run backwards": Row(
        "a clock set back", lambda rows, at: lines(
            *rows[:at], *(re.sub(rb'"2026-', b'"1970-', row) for row in rows[at:]))),
    "C09 no object": Row(
        "JSON, but no object", lambda rows, at: lines(*rows[:at], b"[1]", b"5", b'"x"', b"null", *rows[at:]),
        ("not-an-object",) * 4),
}  # fmt: skip
"""Rows about files and lines (F), and those about records (C) that do the same to every format."""

JSON: dict[str, Row] = {
    "J01 NaN": Row("a number that JSON does not have", field(b'"x":[NaN,-Infinity]'), ("nonfinite",)),
    "J02 1e400": Row("beyond all bounds", field(b'"x":1e400'), closer=("nonfinite",)),
    "J03 2^53+1": Row("exact", field(b'"x":9007199254740993')),
    "J04 2^64": Row("exact", field(b'"x":18446744073709551616')),
    "J05 5000 digits": Row("read as text", field(b'"x":' + b"7" * 5000), closer=("huge-number",)),
    "J06 duplicate keys": Row("the last one counts", field(b'"x":1,"x":2'), closer=("dup-key",)),
    "J07 lone surrogate": Row("escaped", instead(b"second \\ud800 question"), (), "", "second \ud800 question"),
    "J08 bad UTF-8": Row(
        "raw bytes", instead(b"second \xff question"), ("bad-utf8",), "", "second \udcff question"),
    "J08 overlong": Row(
        "raw bytes", instead(b"second \xc0\xaf question"), ("bad-utf8",), "", "second \udcc0\udcaf question"),
    "J09 CESU-8": Row(
        "a surrogate as bytes", instead(b"second \xed\xa0\x80 question"), ("bad-utf8",), "",
        "second \udced\udca0\udc80 question"),
    "J10 TAB": Row("raw, in a string", instead(b"second\tquestion"), ("control-char",), "", "second\tquestion"),
    "J10 NUL": Row("raw, in a string", instead(b"second\0question"), ("control-char",), "", "second\0question"),
    "J11 NUL escaped": Row("in a string", instead(b"second \\u0000 question"), (), "", "second \0 question"),
    "J12 depth 1000": Row(
        "read where it can be", field(b'"x":' + b'{"a":' * 1000 + b"1" + b"}" * 1000), ("too-deep",), STRUCK),
    "J13 depth 100,000": Row("not read", field(b'"x":' + DEEP + b"1" + b"}" * 100_000), ("too-deep",), STRUCK),
    "J14 U+2028": Row(
        "raw line separators", instead("second\u2028\u2029\x85question".encode()), (), "",
        "second\u2028\u2029\x85question"),
    "J15 BOM": Row("F09", put(lambda row: b"\xef\xbb\xbf" + row)),
    "J16 trailing comma": Row("behind a record", put(lambda row: row + b","), ("not-json",)),
    "J16 trailing comma within": Row("a record", put(lambda row: row[:-1] + b",}"), ("torn-line",), STRUCK),
    "J16 single quotes": Row("a record", put(lambda row: row.replace(b'"', b"'")), ("torn-line",), STRUCK),
    "J16 a comment": Row("behind a record", put(lambda row: row + b" // so"), ("not-json",)),
    "J17 numbers as written": Row("1.0, 1E5, 17 digits", field(b'"x":[1.0,1E5,0.1000000000000000055511151231257827]')),
    "J18 keys": Row("of all kinds", field(b'"__proto__":{"role":"user"},"../x":1,"":2')),
    "J18 a key of 1 MB": Row("", field(b'"' + b"k" * (1 << 20) + b'":1')),
    "J18 many keys": Row("20,000", field(b",".join(b'"k%d":%d' % (i, i) for i in range(20_000)))),
}  # fmt: skip
"""Rows about JSON inside of a record (J)."""

TEN: dict[str, Row] = {
    "01 torn last line": Row("", lambda rows, _: lines(*rows) + rows[-1][:-9], ("torn-tail",)),
    "02 cut off and spliced": FILES["F03 record behind a torn one"],
    "03 no line end between records": FILES["F04 glued"],
    "04 NUL run": FILES["F05 NULs before"],
    "05 no final line end": FILES["F02 no line end"],
    "06 CRLF and BOM": Row("", lambda rows, _: b"\xef\xbb\xbf" + lines(*(row + b"\r" for row in rows))),
    "07 blank and comment lines": Row(
        "", lambda rows, at: lines(b"# a comment", *rows[:at], b"", b"  ", *rows[at:], b""), ("not-json",)),
    "08 U+2028 and a lone surrogate": Row(
        "", instead("\u2028\u2029\x85\\ud83d".encode()), (), "", "\u2028\u2029\x85\ud83d"),
    "09 invalid UTF-8": Row("", instead(b"\xff\xfe"), ("bad-utf8",), "", "\udcff\udcfe"),
    "10 every line twice": Row("", lambda rows, _: lines(*(row for row in rows for _ in (0, 1)))),
}  # fmt: skip
"""What ten kinds of damage that users reported make of a session."""

ALL = FILES | JSON


def damaged(row: str, session: Session | str) -> bytes:
    """The bytes of a session of a record a line after a row."""
    found = LINES[session] if isinstance(session, str) else session
    struck = next(i for i, line in enumerate(found.lines) if STRUCK.encode() in line)
    return (ALL | TEN)[row].made(found.lines, struck)
