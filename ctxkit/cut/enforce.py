"""Enforces a budget: makes a view that fits it, and checks whether a new message fits.

`show` and `export` use the view, for --max-tokens or the config's `budget.enforce`; `add --enforce` checks before
anything is appended. Both use the sum and the budget of `trim`: a context is full if `trim` would cut it.
"""

from __future__ import annotations

import copy
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import structs

from ctxkit.core.derive.usage import Figures, Fit
from ctxkit.cut.trim import Trimming, TrimRequest, decide
from ctxkit.errors import BadConfig, ContextFull, DoesNotFit
from ctxkit.formats.chat import content_of
from ctxkit.measure.limit import context_limit
from ctxkit.settings.config import ARGUMENT, FLAG

if TYPE_CHECKING:
    from ctxkit.logfile.commit import WritableLog

LIMIT = "`limit` or `model` in the config (CTXKIT_LIMIT=N)"
"""The hint if no limit is known."""


def fit(log: WritableLog, asked: TrimRequest, origin: str, budget: int | None = None) -> Figures:
    """Makes the view of `Log.fit`, and returns what was counted. `budget`: the budget to report, if `asked` has a
    smaller one.

    Raises DoesNotFit; BadConfig if no limit is known.
    """
    if asked.budget is None and context_limit(log).tokens is None:
        text = f"budget.enforce ({origin}) needs a limit, and neither the config nor the log's model names one"
        raise BadConfig(f"{text}: nothing was printed", f"{LIMIT}; or use --max-tokens N, or off")
    try:
        decision, figures = decide(log, asked)
    except (BadConfig, DoesNotFit) as error:
        error.message = error.message.replace("nothing was changed", "nothing was printed")
        raise
    budget = budget or figures.budget or 0
    said: tuple[str, ...] = ()
    op = ""
    if decision.op is not None:
        op = log.look_through(decision.op)
        for_whom = {FLAG: "--max-tokens", ARGUMENT: "enforce"}.get(origin, f"budget.enforce, {origin}")
        said = *decision.notes, f"{decision.said.removesuffix('.')}, to fit {budget:,} ({for_whom})."
    else:
        log.noticed += decision.notes
    log.fitted = Fit(budget, origin, said, op)
    return figures


def require_room(log: WritableLog, records: Sequence[Mapping[str, Any]]) -> None:
    """Raises ContextFull if the user's messages in `records`, with all before them, do not fit after the context.

    A message of an agent that the config gives a limit or a model must fit into that agent's context. Other messages
    are always accepted: a model has already answered, and a call needs its result. Raises BadConfig if no limit is
    known.
    """
    limited = {name for name, own in log.config.agents.items() if "limit" in own or "model" in own}
    agents = [name if (name := one.get("agent")) in limited else None for one in records]
    for agent in dict.fromkeys(filter(None, agents)):
        seen = copy.copy(log)
        seen.lens_agent = agent
        _require_room(seen, [one for one in records if one.get("agent") in (None, agent)])
    if None in agents or not agents:
        _require_room(log, records)


def _require_room(log: WritableLog, records: Sequence[Mapping[str, Any]]) -> None:
    said = max((place for place, one in enumerate(records, start=1) if one.get("role") == "user"), default=0)
    if not said:
        return
    found = Trimming(log, TrimRequest())
    if found.limit is None:
        text = "no limit is known to enforce: neither the config nor the log's model names one: nothing was added"
        raise BadConfig(text, f"{LIMIT}; or leave --enforce out")
    try:
        budget = found.budget
    except BadConfig as error:  # the reserve takes all of the limit
        text = error.message.replace("nothing was changed", "nothing was added")
        raise BadConfig(text, "set a smaller `reserve` in the config, or leave --enforce out") from error
    new = found.measuring.new(content_of(dict(one)) for one in records[:said])
    full = found.total + new > budget
    figures = found.figures()
    log.tell(figures if full else structs.replace(figures, after=figures.after + new, came=said))
    if full:
        name = "-" if log.opening.path is None else shlex.quote(log.opening.name)
        what = "the message has" if said == 1 else f"{said} messages have"
        room = f"{found.total:,} of {budget:,} tokens are used and {what} {new:,} ({found.measured.counter})"
        hint = f"ctxkit trim {name} makes room too, and keeps the newest messages"
        if new + found.fixed > budget:
            hint = "it would not even fit into an empty context: shorten it"
        raise ContextFull(f"Context full. Use ctxkit clear {name} to continue: {room}: nothing was added", hint)
