"""Limits: how many tokens a context may have, and who says so. The one place where that is decided.

`context_limit` is asked by every command that needs a limit; its docstring tells the order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from ctxkit.core.transcript import Compaction
from ctxkit.logfile.open import OpenLog
from ctxkit.tokens.models import PROGRAMS, bare, limit, windows

REPLIES = 60
"""The newest replies that are looked at for the largest request."""
FAR = 0.7
"""Of a window: programs compact by themselves above that share of it, unless their user says otherwise."""


class ContextLimit(NamedTuple):
    """Tokens that a context may have, None where nobody knows; `origin`: who says so, in words."""

    tokens: int | None
    origin: str


def context_limit(
    log: OpenLog, asked: int | None = None, *, refused: int | None = None, look: bool = True
) -> ContextLimit:
    """The limit of a log's context. The first that is known counts:

    1. `asked`, by a flag or an argument; `refused`, where a provider named it as it refused the context.
    2. The config: a flag of the config, its environment variable, its files.
    3. What the log shows since its last change of model: the window that its program noted; of a model that comes with
       several windows the size of its compactions and requests.
    4. The table of models (`tokens/models.py`), by the log's program.

    3 and 4 are asked of the model of the config, else of the log's. `look` False: 1 and 2 alone, without a look into
    the log.
    """
    if asked is not None:
        return ContextLimit(asked, "flag")
    if refused is not None:
        return ContextLimit(refused, "refusal")
    config = log.config
    stated = ContextLimit(config["limit"], config.origin("limit"))
    if stated.tokens is not None or not look:
        return stated
    model = config["model"] or log.model
    own = bare(model) == bare(log.model)  # else what the log shows says nothing of it
    noted = log.noted_limit() if own else None
    if noted is not None:
        return ContextLimit(noted, f"the log, of model {model}")
    program = log.opening.format.name if own else ""
    known = limit(model, program)
    if known is None:
        return stated
    said = f"model {model}" + (f" in {PROGRAMS[program][0]}" if program in PROGRAMS else "")
    return _shown(log, known, said) if own else ContextLimit(known, said)


def _shown(log: OpenLog, known: int, said: str) -> ContextLimit:
    """What the log shows, where its model comes with several windows: the smallest that nothing is larger than."""
    sizes = windows(log.model)
    if len(sizes) < 2:  # nothing to choose
        return ContextLimit(known, said)
    compactions = _compactions(log)
    automatic = [one.tokens for one in compactions if one.automatic]
    largest = max([*_requests(log), *(one.tokens for one in compactions)], default=0)
    found = min((size for size in sizes if size >= largest), default=max(sizes))
    if automatic:
        known, said = found, f"an automatic compaction at {automatic[-1]:,} tokens"
    if largest > known or (automatic and largest > max(automatic)):
        known, said = found, f"a request of {largest:,} tokens"
    if automatic and automatic[-1] < FAR * known:
        said += f"; it compacted automatically at {automatic[-1]:,}: a threshold set by the user"
    return ContextLimit(known, said)


def _compactions(log: OpenLog) -> Sequence[Compaction]:
    """Those of the program, since the last change of model, oldest first."""
    transcript = log.state().transcript
    model = bare(log.model)
    return [one for one in transcript.compactions if one.row < transcript.rows and bare(one.model) == model]


def _requests(log: OpenLog) -> Iterator[int]:
    """Tokens of the newest requests that were counted, since the last change of model."""
    messages, model = log.state().messages, bare(log.model)
    replies = (n for n in reversed(log.own()) if messages[n - 1].role == "assistant")
    for n in islice(replies, REPLIES):
        usage, named = log.reply(n)
        if named and bare(named) != model:
            return
        if usage is not None:
            yield usage.request
