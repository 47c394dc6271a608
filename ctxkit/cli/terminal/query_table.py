"""Formats the result of a query: a table for people, TSV, CSV and JSON for programs.

Pipeline: `fleet/database.py` -> here -> `cli/sql_run.py`. Every text passes `safe()` before it is in a table or TSV.
"""

from __future__ import annotations

import base64
import csv
import io
import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import chain, islice
from typing import Any

from ctxkit.cli.terminal.safe_text import cells, clip, safe
from ctxkit.cli.terminal.style import Line, Styled
from ctxkit.core.text.json_text import dumps
from ctxkit.core.text.utf8 import utf8
from ctxkit.when import standard

SAMPLE = 500
"""Rows that decide how wide the columns are."""
LEAST = 8
"""Cells of a column of texts at least, if it is cut."""
GAP = 2
LONGEST = 1000
"""Characters of a text that are looked at for a table."""
PIECE = 1 << 20
"""Characters of a line that are printed at once."""
DECIMALS = 4


def plain(value: Any) -> Any:
    """A value of a result as JSON has it: numbers, texts, lists and objects; times as ISO 8601, bytes as base64."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in value.items()}
    if hasattr(value, "nanoseconds"):
        return interval(value.months, value.days, value.nanoseconds)
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return standard(value)


def interval(months: int, days: int, nanoseconds: int) -> str:
    """A span of time as DuckDB writes it: `1 year 2 months 3 days 04:05:06.5`."""
    years = int(months / 12)  # toward zero: both parts have the sign of the whole
    named = ((years, "year"), (months - 12 * years, "month"), (days, "day"))
    said = [f"{number} {unit}{'s' * (abs(number) != 1)}" for number, unit in named if number]
    if nanoseconds or not said:
        seconds, rest = divmod(abs(nanoseconds) // 1000, 10**6)
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        fraction = f".{rest:06}".rstrip("0").rstrip(".")
        said.append(("-" if nanoseconds < 0 else "") + clock + fraction)
    return " ".join(said)


def text_of(value: Any) -> str:
    """A value as one text, for TSV and CSV: "" for null, `true`, the shortest form of a number, JSON for lists."""
    if type(value) in (str, int):  # nearly all values
        return str(value)
    found = plain(value)
    if found is None:
        return ""
    if isinstance(found, str):
        return found
    return dumps(found)


def as_tsv(values: Iterable[Any]) -> Iterator[bytes]:
    r"""A line of TSV, in pieces if a text is long, since each step copies it.

    Tab, line feed, carriage return and backslash in a text are `\t`, `\n`, `\r` and `\\`.
    Other control characters are made visible, as for people: it is what a pipe gets unasked, and `less` may follow.
    """
    fields = [text_of(value) for value in values]
    if sum(map(len, fields)) <= PIECE:
        yield utf8("\t".join(safe(field.translate(_ESCAPES)) for field in fields) + "\n")
        return
    for place, field in enumerate(fields):
        if place:
            yield b"\t"
        size = PIECE if field.isascii() else max(len(field), 1)  # what is visible in others goes by their neighbours
        for start in range(0, len(field), size):
            yield utf8(safe(field[start : start + size].translate(_ESCAPES)))
    yield b"\n"


_ESCAPES = {9: r"\t", 10: r"\n", 13: r"\r", 92: r"\\"}


def as_csv(values: Iterable[Any]) -> bytes:
    """A line of CSV, as RFC 4180 has it, but ended by a line feed alone."""
    made = io.StringIO()
    csv.writer(made, lineterminator="\n").writerow([text_of(value) for value in values])
    return utf8(made.getvalue())


def as_json(names: Sequence[str], values: Iterable[Any]) -> bytes:
    """A line of ASCII JSON: an object of the columns."""
    return (dumps(dict(zip(names, map(plain, values), strict=True))) + "\n").encode("ascii")


class Table:
    """A table for people in `width` cells. `left_out`: the columns for which there was no room, once it is laid out."""

    def __init__(self, names: Sequence[str], rows: Iterator[Sequence[Any]], width: int) -> None:
        self.left_out: Sequence[str] = ()
        first = list(islice(rows, SAMPLE))
        self._first, self._rest = [self._row(row) for row in first], rows
        self._right = [_is_number([row[k] for row in first]) for k in range(len(names))]
        self._head = [safe(name, keep_newlines=False) for name in names]
        natural = [max(map(cells, (head, *(row[k] for row in self._first)))) for k, head in enumerate(self._head)]
        self._sizes = self._fitted(natural, width)
        self._room = len(self._sizes) > 1 or sum(natural[:1]) <= width
        self.left_out = names[len(self._sizes) :]

    def lines(self) -> Iterator[Line]:
        """The head and a line for each row."""
        yield self._line(self._head, "dim")
        for row in chain(self._first, map(self._row, self._rest)):
            yield self._line(row)

    def _line(self, row: Sequence[str], style: str = "") -> Line:
        made = []
        for k, size in enumerate(self._sizes):
            whole = self._right[k] and self._room  # a number with its end cut off is another number
            text = row[k] if whole else clip(row[k], size)
            pad = " " * (size - cells(text))
            made.append(pad + text if self._right[k] else text + pad)
        text = (" " * GAP).join(made).rstrip(" ")
        return [Styled(text, style) if style else text]

    @staticmethod
    def _row(row: Sequence[Any]) -> list[str]:
        return [_cell(value) for value in row]

    def _fitted(self, natural: Sequence[int], width: int) -> list[int]:
        """The sizes of the columns that fit: texts are cut, the widest first; then the last columns are left out."""
        sizes = list(natural)
        while sizes:
            over = sum(sizes) + GAP * (len(sizes) - 1) - width
            if over <= 0:
                return sizes
            widest = max((k for k in range(len(sizes)) if not self._right[k]), key=sizes.__getitem__, default=None)
            if widest is not None and sizes[widest] > LEAST:
                others = [size for k, size in enumerate(sizes) if k != widest and not self._right[k]]
                floor = max([LEAST, *(size for size in others if size < sizes[widest])])
                sizes[widest] = max(floor, sizes[widest] - over) if floor < sizes[widest] else sizes[widest] - 1
            elif len(sizes) > 1:
                sizes = list(natural[: len(sizes) - 1])
            else:
                return [max(1, width)]
        return sizes


def _cell(value: Any) -> str:
    if isinstance(value, float) and math.isfinite(value):
        if value and abs(value) < 10**-DECIMALS:
            return f"{value:.3g}"
        return f"{value:.{DECIMALS}f}".rstrip("0").rstrip(".")
    text = text_of(value)
    return safe(text if len(text) <= LONGEST else text[:LONGEST], keep_newlines=False)


def _is_number(values: Iterable[Any]) -> bool:
    known = [value for value in values if value is not None]
    return bool(known) and all(isinstance(one, int | float | Decimal) and not isinstance(one, bool) for one in known)
