"""Formats token shares and touched files for people, a line or more each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ctxkit.cli.terminal import streams
from ctxkit.cli.terminal.layout import ROOMY, count
from ctxkit.cli.terminal.safe_text import cells, clip, clip_start, safe
from ctxkit.cli.terminal.style import Line, Styled
from ctxkit.cli.terminal.wrap import wrapped
from ctxkit.core.times import seconds
from ctxkit.measure.shares import Share, Touched

MANY = 8
"""Messages of a list that is shown whole."""


def shares(
    found: Sequence[Share], width: int, total: int, *, numbered: bool = False, paths: bool = False
) -> Iterator[Line]:
    """Yield a line for each share: tokens, percent of `total`, its name, its messages.

    A share of no message has only its name. `numbered`: with the number of its first message. `paths`: names are paths,
    and long ones are cut at their start.
    """
    most = max((len(f"{share.tokens:,}") for share in found), default=1)
    for share in found:
        figures = f"{share.tokens:>{most},}  {100 * share.tokens / max(1, total):3.0f} %"
        held = count(share.messages, "message") if width >= 2 * ROOMY else f"{share.messages:,}"
        number, many = (
            (f"{share.first} " if share.first else "", "") if numbered else ("", f" ({held})" if share.messages else "")
        )
        room = max(1, width - cells(figures + number + many) - 2)
        what = safe(share.what, keep_newlines=False)
        what = clip_start(what, room) if paths else clip(what, room)
        yield [Styled(figures, "bold"), clip(f"  {number}{what}{many}", max(0, width - cells(figures)))]


def files(found: Sequence[Touched], width: int) -> Iterator[Line]:
    """Yield two lines or more for each file: tokens and path; the messages that read or changed it, which of them are
    superseded or out of the context, and the last one.
    """
    most = max((len(f"{one.tokens:,}") for one in found), default=1)
    for one in found:
        yield [
            Styled(f"{one.tokens:>{most},}  ", "bold"),
            clip_start(safe(one.path, keep_newlines=False), width - most - 2),
        ]
        other = [label for label in one.writes if label not in {*one.created, *one.deleted}]
        uses = (
            ("read", one.reads), ("created", one.created), ("written", other), ("deleted", one.deleted),
            ("superseded", one.superseded), ("out of the context", one.out if one.in_context else []),
        )  # fmt: skip
        parts = [] if one.in_context else ["out of the context"]
        parts += [f"{what} {_listed(labels)}" for what, labels in uses if labels]
        moment = seconds(one.time)
        parts.append(f"last {one.last}" + (f" at {streams.clock().time(moment)}" if moment is not None else ""))
        for line in wrapped(["; ".join(parts)], width - most - 2, 2, hard=True):
            yield [" " * (most + 2), *line]


def _listed(labels: Sequence[str]) -> str:
    """Return `2,4,9`; of many the first, the newest, and their number."""
    if len(labels) <= MANY:
        return ",".join(labels)
    return f"{labels[0]},…,{','.join(labels[-MANY // 2 :])} ({len(labels)} times)"
