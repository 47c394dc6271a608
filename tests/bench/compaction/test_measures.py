"""The measures, on a few lines each: what counts, what does not, and that none of them is a constant."""

from __future__ import annotations

import pytest

from ctxkit.cut.rank.facts import facts
from ctxkit.cut.units.identifiers import Identifier, IdentifierKind
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment
from tests.bench.compaction.measures import harmonic, scores
from tests.bench.compaction.needed import AHEAD, Needed, needed, stands_in

LINE = "the limit of load_rows is 70 in this release"
READ = TextSegment(1, SegmentKind.RESULT, f"one\n{LINE}\nsrc/app/rows.py")


def test_used_first_is_needed() -> None:
    """The agent uses what only the prefix has."""
    found = needed([READ], [TextSegment(2, SegmentKind.ASSISTANT, "I call load_rows in src/app/rows.py")])
    assert {item.text for item in found.items} == {"load_rows", "src/app/rows.py"}


@pytest.mark.parametrize("kind", [SegmentKind.RESULT, SegmentKind.USER, SegmentKind.NOTICE, SegmentKind.SUMMARY])
def test_shown_first_is_not_needed(kind: SegmentKind) -> None:
    """What a result, the user or the program shows again before the agent uses it is not needed, even if used later."""
    used = TextSegment(3, SegmentKind.ASSISTANT, f"load_rows\n{LINE}")
    assert needed([READ], [used]).items and needed([READ], [used]).lines
    shown = TextSegment(2, kind, f"see `load_rows` here\n{LINE}")
    assert needed([READ], [shown, used]) == Needed({}, frozenset())
    assert needed([READ], [shown, used, used]) == Needed({}, frozenset())
    assert needed([READ], [used, shown]).items


def test_seen_as_a_part_of_a_word_is_not_seen() -> None:
    """`load_rows_fast` shows nothing of `load_rows`."""
    shown = TextSegment(2, SegmentKind.RESULT, "load_rows_fast")
    assert needed([READ], [shown, TextSegment(3, SegmentKind.INPUT, "load_rows")]).items


def test_only_what_is_authored_soon_is_looked_at() -> None:
    """AHEAD messages of the agent count; results in between do not count as such."""
    talk = [TextSegment(n, SegmentKind.ASSISTANT, "on it") for n in range(2, AHEAD + 1)]
    results = [TextSegment(n + 500, SegmentKind.RESULT, "fine") for n in range(100)]
    used = TextSegment(900, SegmentKind.INPUT, "load_rows")
    assert needed([READ], [*talk, *results, used]).items
    assert not needed([READ], [*talk, *results, TextSegment(899, SegmentKind.ASSISTANT, "wait"), used]).items


def test_lines() -> None:
    """A line of 24 to 300 characters that is issued again, whatever stands before it; no word, no item, no part."""
    run, path = "pytest -q tests/rows/of/all.py", "/home/me/src/app/a_very_long_name_of_rows.py"
    said = f"{LINE}\nshort line\n{'x ' * 200}\n{path}"
    prefix = [
        TextSegment(1, SegmentKind.RESULT, f"    {said}"),
        TextSegment(2, SegmentKind.INPUT, run, "Bash", "command"),
    ]
    assert needed(prefix, [TextSegment(3, SegmentKind.INPUT, f"{said}\n{run}")]).lines == {LINE}
    assert needed(prefix, [TextSegment(3, SegmentKind.INPUT, f"and {LINE}")]).lines == frozenset()


@pytest.mark.parametrize(
    ("text", "item", "found"),
    [
        ("run load_rows.", "load_rows", True), ("(load_rows)", "load_rows", True), ("load_rows->x", "load_rows", True),
        ("preload_rows", "load_rows", False), ("load_rows2", "load_rows", False), ("x --limit 3", "--limit", True),
        ("--limit-rows", "--limit", False), ("---limit", "--limit", False), ("my-rows.py", "rows.py", False),
        ("a/rows.py", "rows.py", True), ("v1.2.3-beta", "v1.2.3", False), ("v1.2.3, so", "v1.2.3", True),
        ("preload_rows load_rows", "load_rows", True), ("", "load_rows", False),
    ],
)  # fmt: skip
def test_stands_in(text: str, item: str, found: bool) -> None:
    """An item stands by itself."""
    assert stands_in(text, item) is found


def asked() -> Needed:
    """A path, a command, an identifier, a line."""
    prefix = [READ, TextSegment(2, SegmentKind.INPUT, "pytest -q tests/rows", "Bash", "command")]
    text = f"load_rows src/app/rows.py\n{LINE}"
    return needed(prefix, [TextSegment(3, SegmentKind.INPUT, f"{text}\npytest -q tests/rows", "Bash", "command")])


@pytest.mark.parametrize(
    ("text", "frr", "ctx", "vlr"),
    [
        (f"{LINE}\nsrc/app/rows.py\npytest  -q tests/rows", 1, 1, 1),
        ("load_rows\nsrc/app/rows.py\npytest -q tests/rows", 1, 2 / 3, 0),  # a bare list of the items
        ("the limit of load_rows is 70\npytest -q tests/rows", 2 / 3, 2 / 3, 0),  # most words of the line
        ("limit of load_rows\n", 1 / 3, 0, 0),
        ("the limit of rows is 70 in this release\nload_rows", 1 / 3, 0, 0),  # the words, but not of one line
        (f"#7 … {LINE} …", 1 / 3, 1 / 3, 1),
        ("", 0, 0, 0),
    ],
)
def test_scores(text: str, frr: float, ctx: float, vlr: float) -> None:
    """FRR counts items, FRR_ctx items with their lines, VLR whole lines."""
    found = scores(asked(), {}, frozenset(), text)
    assert {item.text for item in asked().items} == {"load_rows", "src/app/rows.py", "pytest -q tests/rows"}
    assert (found["FRR"], found["FRR_ctx"], found["VLR"]) == (frr, ctx, vlr)
    assert found["H"] == harmonic(ctx, vlr)


def test_generic_items_do_not_count() -> None:
    """What many repositories have is left out, of both sides."""
    text = "src/app/rows.py pytest -q tests/rows"
    assert scores(asked(), {}, frozenset({Identifier(IdentifierKind.IDENTIFIER, "load_rows")}), text)["FRR"] == 1
    assert scores(asked(), {}, frozenset(), text)["FRR"] == 2 / 3


def test_nothing_to_measure() -> None:
    """A case that needs nothing has no share, rather than one of 0 or 1."""
    found = scores(Needed({}, frozenset()), facts([]), frozenset(), "words")
    assert set(found.values()) == {None}
    assert harmonic(None, 1.0) is None and harmonic(0.0, 0.0) == 0 and harmonic(0.5, 1.0) == pytest.approx(2 / 3)


def test_facts_by_class() -> None:
    """Facts of the prefix are looked for in the text, class by class."""
    found = facts([TextSegment(1, SegmentKind.ASSISTANT, "We decided to keep rows in memory. It is fine.")])
    assert scores(asked(), found, frozenset(), "decided to keep the rows in memory")["decisions"] == 1
    assert scores(asked(), found, frozenset(), "decided to go")["decisions"] == 0
