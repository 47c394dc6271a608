"""Which cases a push runs, and which are left to `.ci/full` (`pytest -m full`).

Three marks decide it; docs/contributing.md has a table of them, which is written from the marks:

- `full(why)`: the whole test is left to the full run, for the reason that is given.
- `one_in(n, first=0)`: a push runs every n-th case of a test's table.
- `covering(*names, times=1)`: of a product of parameters a push runs so many cases that each value of each of these
  parameters is met `times` times; with `pairs=True`, of three and more, that each pair of values of two of them is met.

How much of a search inside a test is run stands in `tests/effort.py`.

A choice depends on the cases' names alone: it is the same in every process and on every machine.
"""

from __future__ import annotations

import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

import pytest

Value = tuple[str, str]
"""The name of a parameter, and the value as text."""


def left_out(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """The items that a push does not run by the marks `one_in` and `covering` of their functions."""
    tables: dict[tuple[Any, ...], list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("one_in") or item.get_closest_marker("covering"):
            tables.setdefault((item.path, item.parent, getattr(item, "originalname", item.name)), []).append(item)
    for table in tables.values():
        kept = set(map(id, chosen(table)))
        yield from (item for item in table if id(item) not in kept)


def chosen(table: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The cases of one test function that a push runs."""
    stride, product = table[0].get_closest_marker("one_in"), table[0].get_closest_marker("covering")
    if stride is not None:
        return list(table[stride.kwargs.get("first", 0) :: stride.args[0]])
    assert product is not None
    rows = [[(name, _text(item.callspec.params[name])) for name in product.args] for item in table]  # type: ignore[attr-defined]
    numbers = covering(rows, times=product.kwargs.get("times", 1), pairs=product.kwargs.get("pairs", False))
    return [table[number] for number in numbers]


def _text(value: object) -> str:
    """The value as text that is the same in every process."""
    return re.sub(r" at 0x[0-9a-f]+", "", getattr(value, "__qualname__", None) or repr(value))


def covering(rows: Sequence[Sequence[Value]], *, times: int = 1, pairs: bool = False) -> list[int]:
    """The numbers of rows that together meet each value `times` times, or with `pairs` each pair of values.

    Rows are tried in an order of their own, as shuffled, so that the values of one parameter meet different ones of
    the others. A row is taken if at least one of its values (pairs) is still met too seldom.
    """
    order = sorted(range(len(rows)), key=lambda number: (zlib.crc32(repr(rows[number]).encode()), number))
    wanted = [list(combinations(row, 2 if pairs else 1)) for row in rows]
    met: Counter[tuple[Value, ...]] = Counter()
    taken: dict[int, None] = {}
    for least in range(times):  # once each, then twice
        for enough in (all, any):  # first the rows of which every value is still missing
            for number in order:
                if number not in taken and enough(met[one] <= least for one in wanted[number]):
                    taken[number] = None
                    met.update(wanted[number])
    return sorted(taken)
