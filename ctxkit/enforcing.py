"""Enforcing: whether there is room in the budget for what is to be added.

`add --enforce` asks here before anything is appended. What is full is what `trim` would cut: one sum, one budget.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ctxkit.errors import BadConfig, ContextFull
from ctxkit.formats.chat import content_of
from ctxkit.trimming import Asked, Trimming

if TYPE_CHECKING:
    from ctxkit.log import Log


def require_room(log: Log, records: Sequence[Mapping[str, Any]]) -> None:
    """Raises ContextFull where what the user says in `records`, with all before it, does not fit behind the context.

    What others say is not held back: a model has answered already, and a call needs its result. Raises BadConfig where
    no limit is known.
    """
    said = max((place for place, one in enumerate(records, start=1) if one.get("role") == "user"), default=0)
    if not said:
        return
    found = Trimming(log, Asked())
    try:
        budget = found.budget
    except BadConfig as error:
        text = "no limit is known to enforce: neither the config nor the log's model names one: nothing was added"
        raise BadConfig(text, "`limit` or `model` in the config (CTXKIT_LIMIT=N), or without --enforce") from error
    new = found.measuring.new(content_of(dict(one)) for one in records[:said])
    if found.total + new > budget:
        name = "-" if log.opening.path is None else shlex.quote(log.opening.name)
        what = "the message has" if said == 1 else f"{said} messages have"
        room = f"{found.total:,} of {budget:,} tokens are used and {what} {new:,} ({found.measured.counter})"
        raise ContextFull(
            f"Context full. Use ctxkit clear {name} to continue: {room}: nothing was added",
            f"ctxkit trim {name} makes room too, and keeps what is newest",
        )
