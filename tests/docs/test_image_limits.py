"""docs/formats.md: what providers take of pictures, as the table of the code has it."""

from __future__ import annotations

from ctxkit.core.derive.image_size import ImageLimits
from ctxkit.tokens.image_limits import TABLE
from tests.docs.pages import DOCS, settle, with_part

PAGE = DOCS / "formats.md"


def _size(size: int | None) -> str:
    return "" if size is None else f"{size // 1_000_000} MB" if size % 1_000_000 == 0 else f"{size:,} bytes"


def _row(name: str, limits: ImageLimits) -> str:
    side = "" if limits.side is None else f"{limits.side:,} px; {limits.side_of_many:,} px in more than {limits.many}"
    most = "" if limits.most is None else f"{limits.most:,}"
    alone = _size(limits.decoded) or (f"{_size(limits.encoded)} of base64" if limits.encoded else "")
    together = "; ".join(filter(None, (_size(limits.request), limits.images and f"{_size(limits.images)} of pictures")))
    return f"| {name} | {most} | {side} | {alone} | {together} | {limits.source} |"


def table() -> str:
    """The table as Markdown."""
    head = "| provider | pictures | a side | a picture | the request | source, and when it was read |"
    return "\n".join([head, "|---|---:|---|---|---|---|", *(_row(name, limits) for name, limits in TABLE.items())])


def test_image_limits(update: bool) -> None:
    """The page says what the code goes by."""
    settle(PAGE, with_part(PAGE.read_text(encoding="utf-8"), "image-limits", table()), update=update)
