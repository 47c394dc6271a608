"""Unreadable: a record whose values are of kinds that its format never has; what stands for it, and which errors tell.

Readers and formats look at values as their program writes them. Where one is of another kind (a list for a name), the
error ends at the record, not at the log: `logfile/tolerant.py` is the net.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ctxkit.core.messages import Content, Text

Typed = TypeVar("Typed")

SURPRISES = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)
"""What code raises that meets a value of a kind that it does not expect. Errors of ours are none of these."""
TOO_DEEP = "[unreadable: nested too deeply]"
"""What stands for a message whose record cannot be decoded in full; the record itself stays in the log."""
ODD_KINDS = "[unreadable: values of kinds that its format never has]"
"""What stands for a message whose record was decoded, and holds what its format cannot be asked for."""


def attempt(typed: Callable[[], Typed], otherwise: Typed) -> Typed:
    """What a record is as its format sees it; `otherwise` where its values are of other kinds."""
    try:
        return typed()
    except SURPRISES as error:
        caught(error)
        return otherwise


def caught(error: BaseException) -> None:
    """Told of every surprise that ends at a record; tests listen here."""


def unforeseen(error: BaseException) -> None:
    """Told of every bug of ours that ends at a file among many; tests listen here."""


def stand_in(role: str, words: str) -> Content:
    """What stands for a message."""
    return Content(role, [Text(words)])


def is_unreadable(content: Content) -> bool:
    """Whether this only stands for a message."""
    return content.parts in ([Text(TOO_DEEP)], [Text(ODD_KINDS)]) and not content.rows
