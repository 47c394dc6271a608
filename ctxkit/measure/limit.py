"""Decides the limit of a log's context in tokens, and says where it comes from. No other module decides it.

Every command that needs a limit calls `context_limit`. Its docstring has the order of the sources.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import NamedTuple

from ctxkit.core.derive.usage import window
from ctxkit.core.text.json_text import loads
from ctxkit.core.transcript import Compaction
from ctxkit.logfile.open import OpenLog
from ctxkit.logfile.read import Opening
from ctxkit.settings.config import FLAG, Config
from ctxkit.tokens.models import PROGRAMS, bare, limit, windows

REPLIES = 60
"""How many of the newest replies are searched for the largest request."""
FAR = 0.7
"""Share of a window above which programs compact automatically, unless their user sets another threshold."""


class ContextLimit(NamedTuple):
    """Tokens that a context may have, None if unknown. `origin`: where the limit comes from, in words."""

    tokens: int | None
    origin: str


def context_limit(
    log: OpenLog, asked: int | None = None, *, refused: int | None = None, look: bool = True
) -> ContextLimit:
    """The limit of a log's context. The first known of these is taken:

    1. `asked`, from a flag or an argument; `refused`, from a provider's refusal of the context.
    2. The config: its flag, its variable, its files; in a status line, the window that Claude Code states.
    3. The log, since its last change of model: the window that its program recorded; if the model has several windows,
       the size of compactions and requests.
    4. The table of models (`tokens/models.py`), for the log's program.

    3 and 4 use the model of the config, else the log's. `look` False: only 1 and 2; the log is not read.
    """
    if asked is not None:
        return ContextLimit(asked, FLAG)
    if refused is not None:
        return ContextLimit(refused, "refusal")
    config = log.config
    stated = ContextLimit(config["limit"], config.origin("limit"))
    if stated.tokens is not None or not look:
        return stated
    model = config["model"] or log.model
    own = bare(model) == bare(log.model)  # else the log has no information about the model
    noted = log.noted_limit() if own else None
    if noted is not None:
        return ContextLimit(noted, f"the log, of model {model}")
    program = log.opening.format.name if own else ""
    known = limit(model, program)
    if known is None:
        return stated
    said = f"model {model}" + (f" in {PROGRAMS[program][0]}" if program in PROGRAMS else "")
    return _by_log(log, known, said, PROGRAMS.get(program, ("its program",))[0]) if own else ContextLimit(known, said)


def limit_at_hand(opening: Opening, counted: int) -> int | None:
    """The limit for a list of many logs, without config: the window that its program recorded, else the table of
    models. Of a model with several windows, that which its newest request (`counted`) and its compactions fit.
    """
    transcript = opening.transcript
    if transcript.counts:
        with suppress(ValueError):
            row = loads(opening.laid_out.read(*transcript.counts[max(transcript.counts)]))
            if isinstance(row, dict) and (noted := window([row])) is not None:
                return noted
    model = transcript.model
    known = limit(model, opening.format.name)
    if known is None or len(sizes := windows(model)) < 2:
        return known
    largest = max([counted, *(one.tokens for one in transcript.compactions if bare(one.model) == bare(model))])
    return known if largest <= known else min((size for size in sizes if size >= largest), default=max(sizes))


def with_config(config: Config, at_hand: int | None) -> int | None:
    """The limit of a log in such a list, once its config is read."""
    stated: int | None = config["limit"]
    return at_hand if stated is None else stated


def _by_log(log: OpenLog, known: int, said: str, program: str) -> ContextLimit:
    """The limit by the log: of the model's windows, the smallest that no request or compaction exceeds.

    `program`: how the log's program is called.
    """
    sizes = windows(log.model)
    if len(sizes) < 2:
        return ContextLimit(known, said)
    compactions = _compactions(log)
    automatic = [one.tokens for one in compactions if one.automatic]
    largest = max([*_requests(log), *(one.tokens for one in compactions)], default=0)
    found = min((size for size in sizes if size >= largest), default=max(sizes))
    by_itself = f"{program} compacted by itself at {automatic[-1]:,} tokens" if automatic else ""
    if automatic:
        known, said = found, by_itself
    if largest > known or (automatic and largest > max(automatic)):
        known, said = found, f"a request had {largest:,} tokens"
    if automatic and automatic[-1] < FAR * known:
        said = f"{said if said == by_itself else f'{said}; {by_itself}'}: a threshold set by the user"
    return ContextLimit(known, said)


def _compactions(log: OpenLog) -> Sequence[Compaction]:
    """The program's compactions since the last change of model, oldest first."""
    transcript = log.state().transcript
    model = bare(log.model)
    return [one for one in transcript.compactions if one.row < transcript.rows and bare(one.model) == model]


def _requests(log: OpenLog) -> Iterator[int]:
    """Yields the tokens of the newest counted requests since the last change of model."""
    messages, model = log.state().messages, bare(log.model)
    replies = (n for n in reversed(log.own()) if messages[n - 1].role == "assistant")
    for n in islice(replies, REPLIES):
        usage, named = log.reply(n)
        if named and bare(named) != model:
            return
        if usage is not None:
            yield usage.request
