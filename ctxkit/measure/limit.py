"""Limits: how many tokens a context may have, and who says so. The one place where that is decided.

What the user sets comes first; then what the log shows since its last change of model: the window that its program
notes, the size of its requests and of its compactions; then the table of models, by the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ctxkit.core.transcript import Compaction
from ctxkit.logfile.open import OpenedLog
from ctxkit.tokens.models import PROGRAMS, bare, limit, windows

REPLIES = 60
"""The newest replies that are looked at for the largest request."""
FAR = 0.7
"""Of a window: programs compact by themselves above that share of it, unless their user says otherwise."""


class Limit(NamedTuple):
    """Tokens that a context may have, None where nobody knows; `origin`: who says so, in words."""

    tokens: int | None
    origin: str


def context_limit(log: OpenedLog, asked: int | None = None) -> Limit:
    """The limit of a log's context: `asked`, else the config's, else what the log shows, else what the table says."""
    stated = stated_limit(log, asked)
    if stated.tokens is not None:
        return stated
    config = log.config
    model = config["model"] or log.model
    own = bare(model) == bare(log.model)  # else what the log shows says nothing of it
    noted = log.noted_limit() if own else None
    if noted is not None:
        return Limit(noted, f"the log, of model {model}")
    program = log.opening.format.name if own else ""
    known = limit(model, program)
    if known is None:
        return stated
    said = f"model {model}" + (f" in {PROGRAMS[program][0]}" if program in PROGRAMS else "")
    return _shown(log, known, said) if own else Limit(known, said)


def stated_limit(log: OpenedLog, asked: int | None = None) -> Limit:
    """What the user says of it, without a look into the log."""
    if asked is not None:
        return Limit(asked, "flag")
    return Limit(log.config["limit"], log.config.origin("limit"))


def _shown(log: OpenedLog, known: int, said: str) -> Limit:
    """What the log shows, where its model comes with several windows: the smallest that nothing is larger than."""
    sizes = windows(log.model)
    if len(sizes) < 2:  # nothing to choose
        return Limit(known, said)
    compactions = _compactions(log)
    automatic = [one.tokens for one in compactions if one.automatic]
    largest = max([*_requests(log), *(one.tokens for one in compactions)], default=0)
    found = min((size for size in sizes if size >= largest), default=max(sizes))
    if automatic:
        known, said = found, f"an automatic compaction at {automatic[-1]:,} tokens"
    if largest > known or (automatic and largest > max(automatic)):
        known, said = found, f"a request of {largest:,} tokens"
    if automatic and automatic[-1] < FAR * known:
        said += f"; it compacted at {automatic[-1]:,} by itself: a threshold of your own"
    return Limit(known, said)


def _compactions(log: OpenedLog) -> Sequence[Compaction]:
    """Those of the program, since the last change of model, oldest first."""
    transcript = log.state().transcript
    model = bare(log.model)
    return [one for one in transcript.compactions if one.row < transcript.rows and bare(one.model) == model]


def _requests(log: OpenedLog) -> Iterator[int]:
    """Tokens of the newest requests that were counted, since the last change of model."""
    messages, model = log.state().messages, bare(log.model)
    replies = (n for n in reversed(log.own()) if messages[n - 1].role == "assistant")
    for n in islice(replies, REPLIES):
        usage, named = log.reply(n)
        if named and bare(named) != model:
            return
        if usage is not None:
            yield usage.request
