"""How the calls of a context look: a row each, under columns where there is room; and the machine form.

`show --calls` prints them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ctxkit.cli.terminal.layout import spaced
from ctxkit.cli.terminal.message_view import named
from ctxkit.cli.terminal.safe_text import cells, clip, clip_start, safe
from ctxkit.cli.terminal.style import Styled
from ctxkit.core.state import State
from ctxkit.measure.tool_uses import ToolUse

WIDE = 56
"""Columns from which on a call has one line."""
TOOL = 16
"""Cells that the name of a tool takes at most, where targets stand beside it."""
LEAST = 8
"""Cells that a tool's name and a target have at least."""
HEAD = ("n", "tool", "status", "tokens", "seconds", "target")
RIGHT = (0, 3, 4)
"""Columns of figures."""


def rows(state: State, found: Sequence[ToolUse], width: int) -> Iterator[list[str | Styled]]:
    """The head and a row for each call, none wider than `width`; below 56 columns three lines each, without a head."""
    table = [_fields(state, use) for use in found]
    if width < WIDE:
        for use, (number, tool, ended, tokens, seconds, target) in zip(found, table, strict=True):
            room = max(1, width - cells(number) - cells(ended) - 4)
            yield spaced(Styled(number, "bold"), Styled(clip(tool, room), "magenta"), Styled(ended, _style(use)))
            yield ["  ", _fitting(target, width - 2)]
            yield [Styled(clip(f"  {tokens} tokens" + (f", {seconds} s" if seconds else ""), width), "dim")]
        return
    sizes = [max((cells(row[i]) for row in [HEAD, *table]), default=1) for i in range(len(HEAD) - 1)]
    sizes[1] = min(sizes[1], TOOL)
    sizes[1] = max(LEAST, min(sizes[1], width - (sum(sizes) - sizes[1]) - 2 * len(sizes) - LEAST))
    head: list[ToolUse | None] = [None]
    for one, row in zip([*head, *found], [HEAD, *table], strict=True):
        styles = ["dim"] * 5 if one is None else ["bold", "magenta", _style(one), "", "dim"]
        spans: list[str | Styled] = []
        for i, (size, style) in enumerate(zip(sizes, styles, strict=True)):
            made = clip(row[i], size)
            pad = " " * (size - cells(made))
            spans += [Styled(pad + made if i in RIGHT else made + pad, style), "  "]
        used = sum(sizes) + 2 * len(sizes)
        target = _fitting(row[-1], max(1, width - used))
        yield [*spans, Styled(target, "dim") if one is None else target]


def _fitting(target: str, width: int) -> str:
    """A target in `width` cells: of a path the end, which tells more."""
    return clip_start(target, width) if target.startswith(("/", "~/")) and " " not in target else clip(target, width)


def _fields(state: State, use: ToolUse) -> tuple[str, ...]:
    """Its cells, safe, one line each."""
    seconds = "" if use.seconds is None else f"{use.seconds:,.1f}"
    tool, target = (safe(text, keep_newlines=False) for text in (use.tool, use.target))
    return state.label(use.name), tool, said(use), f"{round(use.tokens):,}", seconds, target


def said(use: ToolUse) -> str:
    """How it ended: `done`, `exit 0`, `failed`, `open`."""
    if use.answer is None:
        return "open"
    if use.status is not None:
        return f"exit {use.status}"
    return "failed" if use.failed else "done"


def _style(use: ToolUse) -> str:
    return "red" if use.failed else "yellow" if use.answer is None else "green"


def as_json(state: State, use: ToolUse) -> dict[str, Any]:
    """`n` (or `item`), `tool`, `target`, `status` (done, failed, open), `exit`, `result`, `tokens`, `seconds`."""
    status = "open" if use.answer is None else "failed" if use.failed else "done"
    answer = None if use.answer is None else named(use.answer, state.label(use.answer))
    return {
        **named(use.name, state.label(use.name)), "tool": use.tool, "target": use.target, "status": status,
        "exit": use.status, "result": None if answer is None else next(iter(answer.values())),
        "tokens": round(use.tokens), "seconds": None if use.seconds is None else round(use.seconds, 3),
    }  # fmt: skip
