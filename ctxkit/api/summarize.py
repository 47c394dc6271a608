"""Summarizes messages in memory, or the context of a log; the Python API beside `Log`.

`api/fit.py` opens them, `cut/compact_plan.py` plans as for `ctxkit compact`, and the plan is carried out here: messages
that stay are the same objects, a summary in the same form replaces the others. Nothing is appended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, Unpack, cast, overload

import msgspec
from msgspec import structs

from ctxkit.api.fit import Counted, Held, Row, expected, opened
from ctxkit.api.in_memory import InMemoryMessages, M, chat_rows, summary_message
from ctxkit.api.log import Log
from ctxkit.api.rolling_summary import OwnWords, Summarizer
from ctxkit.core.strategies import GIVEN, MODEL, RULES, STRATEGIES
from ctxkit.cut.compact import CompactRequest, goal_of
from ctxkit.cut.compact_plan import CompactionOutcome, CompactionPlan, load, plan_compact, whole
from ctxkit.errors import NothingChanges, Usage
from ctxkit.llm.hooks import Hooks


class SummaryRequest(Counted, total=False):
    """How to summarize. `model`: by default the one that the config or the messages name. `target`: percent of all
    tokens, `30` or `"30%"`, `budget`: the same in tokens; neither: the config's. `keep_last`, `keep_steps`: this many
    newest exchanges or steps stay; neither: as many as fit their share. `strategy`: `extract`, `truncate` or `llm`,
    which asks `summary_model` (default: the config's `compact.model`; with `fast` its `compact.fast_model`);
    `fallback`: use rules if the model gives no summary; `hooks`: called meanwhile. `summarize`: your own function, in
    place of a strategy: called with chat messages, it returns a text (it may be async).
    """

    model: str
    target: float | str | None
    budget: int | None
    keep_last: int | None
    keep_steps: int | None
    strategy: str
    summary_model: str | None
    fast: bool
    fallback: bool
    hooks: Hooks
    summarize: Summarizer


class Summarized(msgspec.Struct, Generic[M], frozen=True):
    """Messages with a summary in place of old ones. Those that stay are the same objects.

    `summary`: its text; None if no summary would be shorter: then `messages` are unchanged. `original_tokens`: tokens
    before, `token_count`: now, `summary_tokens`: of the summary, all by `counter`; `target`: the tokens to reach.
    `replaced`: indices in the list, from 0; in a log the numbers. `strategy`: the one that was used; `fallback`: if it
    is not the requested one, which model failed, and why.
    """

    messages: list[M]
    summary: str | None
    original_tokens: int
    token_count: int
    summary_tokens: int
    target: int
    counter: str
    replaced: tuple[int | str, ...]
    strategy: str
    fallback: str | None = None


@overload
def summarize_context(messages: Held, **options: Unpack[SummaryRequest]) -> Summarized[Row]: ...
@overload
def summarize_context(messages: Sequence[M], **options: Unpack[SummaryRequest]) -> Summarized[M]: ...
def summarize_context(
    messages: Sequence[M] | Held, **options: Unpack[SummaryRequest]
) -> Summarized[M] | Summarized[Row]:
    """Summarizes old `messages`, as `ctxkit compact --force` would. Rules do it, offline, unless the strategy is `llm`.

    Raises BadMessage, BadConfig, Usage; ModelFailed if a model fails and `fallback` is False; for a log what `Log.open`
    raises.
    """
    log, held = opened(messages, {**expected(options, SummaryRequest)})
    asked = {key: options.get(key) for key in ("target", "budget", "keep_last", "keep_steps", "strategy")}
    own = ("summary_model", "fast", "fallback", "hooks")
    model = {key.removeprefix("summary_"): value for key in own if (value := options.get(key)) is not None}
    write = options.get("summarize")
    if write is not None and (model or asked["strategy"] is not None):
        raise Usage("summarize= needs no strategy and no model: nothing was counted", "use only one of them")
    if asked["strategy"] is None:
        asked["strategy"] = MODEL if {"model", "fast"} & model.keys() else RULES
    if asked["strategy"] in STRATEGIES and not load(asked["strategy"]).summarizes:
        raise Usage("a mask is not a summary: nothing was counted", "trim_conversation shortens results")
    goal = goal_of(log, CompactRequest(**cast(Any, {**asked, **model}), force=True))
    goal = structs.replace(goal, shortens=held is None)  # a list keeps its messages as they are
    if write is not None:
        goal = structs.replace(goal, strategy=GIVEN)
    found = plan_compact(log, whole(log, assembly=False), goal)
    made: CompactionOutcome | None = None
    if found.is_worth or found.stubs:
        try:
            made = found.carry_out() if write is None else _by(found, write)
            found = made.made_by
        except NothingChanges:
            made = None
    before, after = found.base, found.base.total if made is None else made.after + found.base.fixed
    kept: Sequence[Any] = (
        chat_rows(cast(Log, made.seen) if made is not None else log) if held is None else _of_list(held, made)
    )
    return cast("Summarized[M] | Summarized[Row]", Summarized(
        messages=list(kept), summary=None if made is None else made.op.text, original_tokens=before.total,
        token_count=after, summary_tokens=0 if made is None else made.summary,
        target=found.goal, counter=before.measured.counter if made is None else made.counter,
        replaced=() if made is None else tuple(_replaced(found, held, made)),
        strategy=found.strategy, fallback=found.failure or None,
    ))  # fmt: skip


def _by(found: CompactionPlan, summarize: Summarizer) -> CompactionOutcome:
    """The result with a summary by the caller's function. Raises NothingChanges if nothing would be smaller."""
    log = found.log
    write = OwnWords(summarize, found.base.counting.counter.counts)
    contents = [log.original(name) for name in sorted(found.ids, key=found.state.key)]
    return found.smaller(found.outcome(found.ids, write(contents, found.base_room()) if found.is_worth else None))


def _replaced(
    found: CompactionPlan, held: InMemoryMessages[Any] | None, made: CompactionOutcome
) -> Sequence[int | str]:
    if held is None:
        return [found.state.label(name) for name in sorted(made.replaced, key=found.state.key)]
    return [place for place, n in enumerate(held.owner) if n in made.replaced]


def _of_list(held: InMemoryMessages[Any], made: CompactionOutcome | None) -> list[Mapping[str, Any]]:
    """The messages of a list that stay, with the summary in place of the first message that it covers."""
    if made is None:
        return list(held.messages)
    found: list[Mapping[str, Any]] = []
    summarized = False
    for message, n in zip(held.messages, held.owner, strict=True):
        if n not in made.replaced:
            found.append(message)
        elif not summarized:
            found.append(summary_message(held.form, made.op.text or ""))
            summarized = True
    return found
