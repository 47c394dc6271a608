"""One record decoded as far as it can be."""

from __future__ import annotations

import pytest

from ctxkit.store.lenient import BrokenJson, Lenient, LenientValue


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ('{"a":1.5,"b":[true,null,"x"]}', ()),
        ('{"a":NaN}', ("nonfinite",)),
        ('{"a":-1e999}', ("nonfinite",)),
        ('{"a":"\x01"}', ("control-char",)),
        ('{"a":\t"x"\r}', ()),
        ('{"a":"\x00\x00"}', ("nul-block",)),
        ('{"a":"\udcff"}', ("bad-utf8",)),
        ('{"a":"\\udcff"}', ()),
        ('{"a":' + "9" * 4301 + "}", ("huge-number",)),
    ],
)
def test_notes(text: str, notes: tuple[str, ...]) -> None:
    """What was tolerated is noted, and only that."""
    found = Lenient().decode(text, 0)
    assert isinstance(found, LenientValue)
    assert (found.end, found.notes) == (len(text), notes)


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ('{"a":"xy', BrokenJson(5, open=True)),
        ('{"a":x}', BrokenJson(5)),
        ('{"a":1', BrokenJson(6)),
        ('{"a":' * 9999, BrokenJson(0, deep=True)),
    ],
)
def test_broken(text: str, broken: BrokenJson) -> None:
    """Where it failed, whether a string is open, whether it was too deep."""
    assert Lenient().decode(text, 0) == broken


def test_a_value_is_found_in_its_place() -> None:
    """Decoding begins at a place and tells where the value ends."""
    assert Lenient().decode('xx{"a":1}{"b":2}', 2) == LenientValue({"a": 1}, 9, ())
