"""Writing a context with the pictures that its provider takes.

Pipeline: a log -> `content/images.py` says which pictures the provider refuses -> what is written, without these where
that is asked. Nothing is appended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from ctxkit.content.image_selection import Picture, refusals, too_many
from ctxkit.content.images import encoded, limits_of, pictures, without, words
from ctxkit.core.derive.image_size import ImageLimits
from ctxkit.export.request import Exported, export
from ctxkit.formats.base import Written
from ctxkit.formats.targets import REQUESTS, TARGETS

if TYPE_CHECKING:
    from ctxkit.logfile.commit import WritableLog
    from ctxkit.logfile.open import OpenLog

L = TypeVar("L", bound="WritableLog")
T = TypeVar("T", bound=Exported | Written)

REQUEST_OF = {TARGETS[name].provider: name for name in REQUESTS}
"""Provider -> the target whose body says how large a request of a session is: the last that it takes."""
WIDEST = 3
"""Bytes of a body that a byte of a log can become at most: a character of four is escaped as twelve."""
LEFT_OUT = "image beyond what the provider takes"
TRIES = 8


def fitted(log: L, to: str, model: str, make: Callable[[L], T], *, fit: bool) -> T:
    """What `make` writes of `log`, which says why the provider would refuse it; with `fit` the provider takes it."""
    found = pictures(log)
    limits = limits_of(log, to, model, found)
    if limits is None or not (found or _may_be_large(log, limits)):
        return make(log)
    out = too_many(found, limits) if fit else []
    for _ in range(TRIES):
        seen = without(log, out)
        made = make(seen)
        size = _request(seen, made, model, limits, found)
        over = size - (limits.request or size)
        if not fit or over <= 0 or len(more := too_many(found, limits, over + encoded(out))) <= len(out):
            break
        out = more
    if out:
        made.repairs.leave_out(LEFT_OUT, len(out))
    gone = set(map(id, out))
    rest = [one for one in found if id(one) not in gone]
    made.refused = [words(one, limits, rest) for one in refusals(rest, limits, size)]
    return made


def _may_be_large(log: OpenLog, limits: ImageLimits) -> bool:
    """Whether the request may be larger than the provider takes, by the size of the rows alone."""
    if limits.request is None or log.opening.source.size * WIDEST < limits.request:
        return False
    messages = log.state().messages
    size = sum(messages[name - 1].bytes for name in log.listed() if isinstance(name, int))
    return size * WIDEST > limits.request


def _request(
    log: WritableLog, made: Exported | Written, model: str, limits: ImageLimits, found: Sequence[Picture]
) -> int:
    """Bytes of the request; 0 where it is small in any case. Of a session: of what its program would send. Without
    pictures none can be left out, and what its messages say is near enough.
    """
    if not _may_be_large(log, limits):
        return 0
    if isinstance(made, Written):
        if made.said and not found:
            return made.said
        made = export(log, REQUEST_OF.get(limits.provider, "anthropic"), model=model)
    return sum(map(len, made.pieces))
