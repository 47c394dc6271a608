"""Changing one key of a file: nothing else changes, and what cannot be changed safely is not changed."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.settings.tomledit import CannotEdit, toml, with_key, without_key

WINDOW = ("window", "default")

SET: list[tuple[str, tuple[str, ...], Any, str]] = [
    ("", ("model",), "m", 'model = "m"\n'),
    ("", WINDOW, "8h", '[window]\ndefault = "8h"\n'),
    ("# c\n", WINDOW, "8h", '# c\n\n[window]\ndefault = "8h"\n'),
    ("model = 'x' # hi", ("model",), "y", 'model = "y" # hi'),
    ("model = 'x' # hi", WINDOW, "8h", "model = 'x' # hi\n\n[window]\ndefault = \"8h\"\n"),
    ("# a\n[window]\n# b\n\n[trim]\n# c\n", ("model",), "m", '# a\nmodel = "m"\n\n[window]\n# b\n\n[trim]\n# c\n'),
    ("[window]\nmin = '1h'\n# b\n", WINDOW, "8h", "[window]\nmin = '1h'\n# b\ndefault = \"8h\"\n"),
    ('[window]\n# default = "off"  # why\nmin = 1\n', WINDOW, "8h", '[window]\ndefault = "8h"  # why\nmin = 1\n'),
    ('[window]\n#default=5\n', WINDOW, "8h", '[window]\ndefault = "8h"\n'),
    ('[trim]\n# default = "off"\n', WINDOW, "8h", '[trim]\n# default = "off"\n\n[window]\ndefault = "8h"\n'),
    ("[window]\n# [other]\n# default = 1\n", WINDOW, "8h", '[window]\n# [other]\n# default = 1\ndefault = "8h"\n'),
    ("window.min = '1h'\n", WINDOW, "8h", "window.min = '1h'\nwindow.default = \"8h\"\n"),
    ("window = { min = '1h' }\n", WINDOW, "8h", "window = { min = '1h', default = \"8h\"}\n"),
    ("", ("agents", 'a."b c', "window"), "8h", '[agents."a.\\"b c"]\nwindow = "8h"\n'),
    ("x = '''\n# model = 1\n'''\n", ("model",), "m", "x = '''\n# model = 1\n'''\nmodel = \"m\"\n"),
    ("[trim]\nx = [\n 'a', # why\n]\n", ("trim", "x"), ["b"], '[trim]\nx = ["b"]\n'),
]  # fmt: skip


@pytest.mark.parametrize(("text", "path", "value", "after"), SET)
def test_set(text: str, path: tuple[str, ...], value: Any, after: str) -> None:
    """In place where it is, or was left commented out; else at the end of its table."""
    made = with_key(text, path, value)
    assert tomllib.loads(made) == tomllib.loads(after)
    assert made == after


UNSET: list[tuple[str, tuple[str, ...], str]] = [
    ('[window]\ndefault = "8h"  # ours\n# x\n', WINDOW, "[window]\n# x\n"),
    ('[window]\ndefault = "8h"\nmin = "1h"\n', WINDOW, '[window]\nmin = "1h"\n'),
    ('[window]\ndefault = "8h"\n', WINDOW, "[window]\n"),
    ('a = 1\n[agents.frodo]\nwindow = "8h"\n', ("agents", "frodo", "window"), "a = 1\n"),
    ('[agents.frodo]\n# why\nwindow = "8h"\n', ("agents", "frodo", "window"), "[agents.frodo]\n# why\n"),
    ("[windw]\ndefault = 1\n[trim]\n", ("windw", "default"), "[trim]\n"),
    ("[nothing]\n", ("nothing",), ""),
    ("window = { default = 1, min = 2 }\n", WINDOW, "window = {  min = 2 }\n"),
    ("window.default = 1\nmodel = 'x'\n", WINDOW, "model = 'x'\n"),
]


@pytest.mark.parametrize(("text", "path", "after"), UNSET)
def test_unset(text: str, path: tuple[str, ...], after: str) -> None:
    """The line goes; so does the header of an agent of whom nothing is left, and of a table that nobody knows."""
    assert without_key(text, path) == after


@pytest.mark.parametrize("text", ["window = 5\n", "[[window]]\na = 1\n"])
def test_what_is_no_table_is_not_changed(text: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(CannotEdit):
        with_key(text, WINDOW, "8h")


TEXTS = st.lists(
    st.sampled_from(
        ["# c", "", "model = 'x'", "[window]", "# default = '8h'  # c", "default = 1 # c",
         "min = '''\n# default = 1\n'''",
         "[agents.a]", "window = '8h'", "window.default = 2", "window = { min = 1 }", "[trim]", "x = [\n1, # c\n2]",
         "\t# [window]", "[ 'window' ]", '["agents"."a.b"]', "[[many]]", "[window.deep]"]
    ), max_size=9,
).map("\n".join)  # fmt: skip
PATHS = st.sampled_from([("model",), WINDOW, ("agents", "a", "window"), ("agents", "a.b", "window"), ("window",)])
VALUES = st.one_of(st.booleans(), st.integers(-5, 5), st.text(max_size=4), st.lists(st.text(max_size=3), max_size=2))


def at(table: Any, path: tuple[str, ...]) -> Any:
    """The value of a path; None where it is not there."""
    for part in path:
        table = table.get(part) if isinstance(table, dict) else None
    return table


@given(TEXTS, PATHS, VALUES)
def test_any_file(text: str, path: tuple[str, ...], value: Any) -> None:
    """Of any TOML: the key has the value, no comment is gone, unset it is gone; or nothing is done."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    try:
        made = with_key(text, path, value)
        assert at(tomllib.loads(made), path) == value
        if not isinstance(at(tomllib.loads(text), path), dict):
            assert made.count("#") >= text.count("#") - text.count("# default = '8h'") - text.count("\n1, #")
        gone = without_key(made, path)
        assert at(tomllib.loads(gone), path) is None
    except CannotEdit:
        return


@given(VALUES)
def test_values(value: Any) -> None:
    """Whatever is in a text, it stays one value."""
    assert tomllib.loads(f"x = {toml(value)}") == {"x": value}
