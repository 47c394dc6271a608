"""The kinds of secrets: what their file says, how shapes are read."""

from __future__ import annotations

import random
import re

import pytest

from ctxkit.core.text import secret_kinds
from ctxkit.core.text.secret_kinds import PART, compiled, in_words, kinds, marks, near, rules, table
from tests.canaries import written


def test_the_file() -> None:
    """Each kind has a name of its own, a maker, words, a shape and an https address; at least 120 have a shape."""
    found = kinds()
    assert len({kind.name for kind in found}) == len(found)
    assert all(all(kind) and kind.source.startswith("https://") for kind in found)
    assert sum(kind.maker != "any" for kind in found) >= 120
    assert {key for maker in table()["maker"] for key in maker} <= {"name", "source", "kinds", "named", "beside"}
    assert {key for rule in table()["rule"] for key in rule} == {
        "name", "what", "shape", "source", "marks", "pattern", "random", "within", "before", "sign",
    }  # fmt: skip
    assert all(one in {kind.name for kind in found} for kind in near("beside") for one in kind.words)


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ("ghp_{30 alnum}{crc32}", "ghp_, then 30 letters and digits, then a checksum of 6"),
        ("{32 hex}-us{1-2 digit}", "32 hexadecimal digits, then -us, then 1 to 2 digits"),
        ("datadog dd_api: {32 hex}", "32 hexadecimal digits, near datadog or dd_api"),
    ],
)
def test_in_words(shape: str, words: str) -> None:
    """As people read it."""
    assert in_words(shape) == words


def test_shapes_match_what_is_made_of_them() -> None:
    """Every shape of every kind, compiled, matches a value of it as a whole, and its marks are in small ASCII words."""
    chance = random.Random(34)
    for mark, shapes in marks().items():
        assert len(mark) >= 2 and mark.isascii() and not PART.search(mark)
        for _, shape in shapes:
            read = compiled(mark, shape)
            for _ in range(3):
                head, _, value = written(chance, shape).rpartition(mark)
                if not read.heads and head == "":
                    assert read.value.fullmatch(value) and (read.run.fullmatch(value) or not value), shape
    for mark_bytes in rules():
        assert mark_bytes and mark_bytes.isascii()


def test_patterns_are_bounded() -> None:
    """No rule repeats without an end, so that what a mark costs is bounded."""
    for some in rules().values():
        for rule in some:
            bare = re.sub(r"\[(?:\\.|[^\]\\])*\]|\\.", "", rule.compiled().pattern)
            assert not re.search(r"[+*]|\{\d+,\}", re.sub(r"([}+*?])\+", r"\1", bare)), rule.name


def test_nothing_is_read_before_it_is_needed() -> None:
    """The file is read and patterns are compiled where a text is looked through."""
    assert all(hasattr(one, "cache_clear") for one in (secret_kinds.table, marks, compiled, near, rules))
