"""How shares and files look: a line each, with bars of what they hold; the machine form beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ctxkit.cli.ink import Ink
from ctxkit.cli.safe import cells, clip, safe
from ctxkit.shares import Share, Touched

Line = list[str | Ink]


def shares(found: Sequence[Share], width: int, total: int, *, numbered: bool = False) -> Iterator[Line]:
    """A line for each: tokens, percent of `total`, what, and of how many messages; `numbered`: which one."""
    most = max((len(f"{share.tokens:,}") for share in found), default=1)
    for share in found:
        figures = f"{share.tokens:>{most},}  {100 * share.tokens / max(1, total):3.0f} %"
        about = f"  {share.first} {share.what}" if numbered else f"  {share.what} ({share.messages:,})"
        yield [Ink(figures, "bold"), clip(safe(about, keep_newlines=False), max(0, width - cells(figures)))]


def files(found: Sequence[Touched], width: int) -> Iterator[Line]:
    """Two lines for each: tokens and path; who read and wrote it, and what of that is superseded."""
    most = max((len(f"{one.tokens:,}") for one in found), default=1)
    for one in found:
        yield [Ink(f"{one.tokens:>{most},}  ", "bold"), clip(safe(one.path, keep_newlines=False), width - most - 2)]
        said = (("read", one.reads), ("written", one.writes), ("superseded", one.superseded))
        parts = [f"{what} {','.join(labels)}" for what, labels in said if labels]
        yield [clip(" " * (most + 2) + "; ".join(parts), width)]
