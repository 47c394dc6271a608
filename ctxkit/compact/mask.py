"""mask: results of tools are replaced by a line that says how much there was; calls and words stay. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ctxkit.core.names import Name


class Masked(NamedTuple):
    """A message whose results can be masked: `stub` stands for its content then, and `saves` tokens."""

    name: Name
    stub: Any
    saves: int


def mask(some: Iterable[Masked], need: int) -> dict[Name, Any]:
    """The stubs that save `need` tokens, the oldest first: all of them where they do not save so much."""
    found: dict[Name, Any] = {}
    saved = 0
    for one in some:
        if saved >= need:
            break
        if one.saves > 0:
            found[one.name] = one.stub
            saved += one.saves
    return found


def masked(tool: str, text: str, pictures: int = 0, *, failed: bool = False) -> str:
    """What a result says then: `[Read: 40 lines left out]`."""
    lines = text.count("\n") + (not text.endswith("\n")) if text else 0
    parts = [f"{lines:,} line{'s' * (lines != 1)}"] if lines or not pictures else []
    if pictures:
        parts.append(f"{pictures:,} picture{'s' * (pictures != 1)}")
    return f"[{tool or 'result'}{' failed' * failed}: {' and '.join(parts)} left out]"
