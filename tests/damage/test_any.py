"""Damage that nobody thought of: bytes flipped, cut, put in, values of another kind; nothing fails, all is valid."""

from __future__ import annotations

import io
import random
import re
from collections.abc import Iterator

import pytest

from ctxkit import Log
from ctxkit.core.text.json_text import dumps
from ctxkit.errors import NothingToSend, UnknownFormat
from ctxkit.formats.targets import SESSIONS
from tests.damage.sessions import ALL, told
from tests.validators import anthropic_rules, openai_rules, responses_rules

EACH = 8
"""Damaged sessions of every format."""
ODD = (
    b"NaN", b"1e400", b'"\\ud800"', b"null", b"[]", b"{}", b"5", b'"x"', b"true", b'""', b"\xff", b"\0\0\0", b"\n",
    b"}{", b'"', b'{"a":1,"a":2}', b"7" * 5000, b'{"a":' * 300 + b"1" + b"}" * 300, b"[[1]]", b'"\\u0000"', b"[null]",
    b'[{"type":"text"}]', b'{"type":null}', b'{"type":[]}',
)  # fmt: skip
VALUE = re.compile(rb': ("(?:[^"\\]|\\.)*"|\[\]|\{\}|null|true|false|-?\d+)')
TYPES = re.compile(rb'"(type|role|status|kind)": "[^"]*"')
RULES = {"openai": openai_rules.problems, "anthropic": anthropic_rules.problems, "responses": responses_rules.problems}


def damaged(raw: bytes, chance: random.Random) -> bytes:
    """One to three changes."""
    for _ in range(chance.choice((1, 1, 2, 3))):
        at = chance.randrange(len(raw) + 1)
        values = list(VALUE.finditer(raw))
        match chance.randrange(6):
            case 0:
                raw = raw[:at] + bytes(byte ^ (1 << chance.randrange(8)) for byte in raw[at : at + 1]) + raw[at + 1 :]
            case 1:
                raw = raw[:at] + raw[at + chance.randrange(1, 60) :]
            case 2:
                raw = raw[:at] + chance.choice(ODD) + raw[at:]
            case _ if values:
                one = chance.choice(values)
                raw = raw[: one.start(1)] + chance.choice(ODD) + raw[one.end(1) :]
    return raw


def works(raw: bytes) -> bool:
    """Every way through a log, with an op and without; False where it is refused as no log."""
    try:
        log = Log.open(io.BytesIO(raw))
    except UnknownFormat:
        return False
    told(log)
    log.check()
    log.status()
    leaves(log)
    names = [name for name in log.names() if isinstance(name, int)]
    if names:
        log.forget(str(names[len(names) // 2]), include_protected=True)
        leaves(log)
    return True


def leaves(log: Log) -> None:
    """All that can be written of it."""
    for to in ("chat", "gemini", *RULES):
        try:
            for value in log.export(to, model="claude-opus-4-6", assembly=False).values:
                dumps(value)
                assert to not in RULES or RULES[to](value) == []
        except NothingToSend:
            continue
    for to in SESSIONS:
        try:
            b"".join(log.session(to).pieces)
        except NothingToSend:
            continue


@pytest.mark.one_in(3, first=1)
@pytest.mark.parametrize("name", ALL)
def test_any_damage(name: str) -> None:
    """The same in every run."""
    chance = random.Random(name)
    assert sum([works(damaged(ALL[name].clean, chance)) for _ in range(EACH)]) > 0


def odd_types(raw: bytes) -> Iterator[bytes]:
    """Each of the fields that say what a part is, as a list and as an object."""
    seen: set[bytes] = set()
    for found in TYPES.finditer(raw):
        if found[0] not in seen:
            seen.add(found[0])
            yield raw[: found.start()] + b'"%s": []' % found[1] + raw[found.end() :]
            yield raw[: found.start()] + b'"%s": {}' % found[1] + raw[found.end() :]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ALL)
def test_kinds_that_are_no_words(name: str) -> None:
    """A type, role or status that is a list, which no table can be asked for."""
    for raw in odd_types(ALL[name].clean):
        works(raw)
