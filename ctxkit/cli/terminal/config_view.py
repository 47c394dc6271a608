"""Formats settings: name, value and origin in columns, or below each other on a narrow terminal."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ctxkit.cli.terminal.layout import wrap_width
from ctxkit.cli.terminal.safe_text import cells, clip, clip_start, safe
from ctxkit.cli.terminal.style import Line, Styled
from ctxkit.cli.terminal.wrap import USUAL
from ctxkit.settings.config import DEFAULT, Setting


def listed(rows: list[tuple[str, Setting]]) -> Iterator[Line]:
    """Yield a line for each key: name, value, origin; if it is too wide, the origin has a line of its own."""
    columns = wrap_width()
    texts = [(safe(name, keep_newlines=False), safe(one.typed, keep_newlines=False), one) for name, one in rows]
    named = max((cells(name) for name, _, _ in texts if cells(name) <= max(columns // 2, 24)), default=0) + 2
    valued = max((cells(value) for _, value, _ in texts if cells(value) <= min(columns, USUAL) // 3), default=0) + 2
    for name, value, setting in texts:
        origin = safe(near(setting.origin), keep_newlines=False)
        style = "dim" if setting.origin == DEFAULT else ""
        wide = named + max(cells(value) + 2, valued)
        start = f"{name}{' ' * (named - cells(name))}{value}"
        if cells(name) < named and wide + cells(origin) <= columns:
            yield [Styled(f"{start}{' ' * (wide - named - cells(value))}{origin}", style)]
            continue
        if cells(name) < named and cells(start) <= columns:
            yield [Styled(start.rstrip(), style)]
        else:
            yield [Styled(clip(name, columns), style)]
            yield [Styled("  " + clip(value, columns - 2), style)]
        yield [Styled(f"  {clip_start(origin, columns - 2)}", "dim")]


def near(origin: str) -> str:
    """Return an origin relative to the working folder, if it is a file there."""
    try:
        return origin.removeprefix(os.path.join(os.getcwd(), ""))
    except OSError:  # the working folder is gone
        return origin
