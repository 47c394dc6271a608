"""Summarizing: messages that a program holds, or a log, told in fewer words; the Python API beside `Log`.

`api/fit.py` opens them, `compact/plan.py` plans as it does for `ctxkit compact`; here the plan is carried out on the
messages themselves: what stays is what came in, a summary in the same form stands for the others. Nothing is appended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, Unpack, cast, overload

import msgspec
from msgspec import structs

from ctxkit.api.fit import Counted, Held, Row, expected, opened
from ctxkit.api.in_memory import InMemoryMessages, M
from ctxkit.compact.compact import CompactRequest, wish_of
from ctxkit.compact.plan import CompactionOutcome, CompactionPlan, load, whole
from ctxkit.core.strategies import MODEL, RULES, STRATEGIES
from ctxkit.errors import NothingChanges, NothingToSend, Usage
from ctxkit.llm.hooks import Hooks


class SummaryRequest(Counted, total=False):
    """`model`: else the one that the config or the messages name. `target`: percent of the tokens of all, `30` or
    `"30%"`, `budget`: so many tokens; neither: as the config says. `keep_last`: newest exchanges, `keep_steps`: newest
    steps that stay; neither: as many as their share has room for. `strategy`: `extract`, `truncate` or `llm`, which
    asks `summary_model` (else the config's `compact.model`; `fast`: its `compact.fast_model`); `fallback`: rules take
    over where that gives no summary; `hooks`: what is called meanwhile.
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


class Summarized(msgspec.Struct, Generic[M], frozen=True):
    """Messages with a summary in the place of old ones. Those that stay are the very ones that came in.

    `summary`: its text; None where nothing could be told in fewer words: then `messages` are as they came.
    `original_tokens`: of all that came in, `token_count`: of what is there now, `summary_tokens`: of the summary, all
    by `counter`; `target`: tokens that the messages were asked to have. `replaced`: indices in the list, from 0; of a
    log the numbers. `strategy`: by which it was made; `fallback`: where that is not the one that was asked for, which
    model gave none, and why.
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
    """`messages` with old ones summarized, as `ctxkit compact --force` would. Offline, by rules alone,
    unless the strategy is `llm`.

    Raises BadMessage, BadConfig, Usage; ModelFailed where a model fails and `fallback` is False; of a log what
    `Log.open` raises.
    """
    log, held = opened(messages, {**expected(options, SummaryRequest)})
    asked = {key: options.get(key) for key in ("target", "budget", "keep_last", "keep_steps", "strategy")}
    own = ("summary_model", "fast", "fallback", "hooks")
    model = {key.removeprefix("summary_"): value for key in own if (value := options.get(key)) is not None}
    if asked["strategy"] is None:
        asked["strategy"] = MODEL if {"model", "fast"} & model.keys() else RULES
    if asked["strategy"] in STRATEGIES and not load(asked["strategy"]).summarizes:
        raise Usage("a mask is not a summary: nothing was counted", "trim_conversation shortens results")
    wish = wish_of(log, CompactRequest(**cast(Any, {**asked, **model}), force=True))
    wish = structs.replace(wish, shortens=held is None)  # a list keeps its messages as they are
    found = CompactionPlan(log, whole(log, assembly=False), wish)
    made: CompactionOutcome | None = None
    if found.is_worth or found.stubs:
        try:
            made = found.condensed()
        except NothingChanges:
            made = None
    before, after = found.base, found.base.total if made is None else made.after + found.base.fixed
    kept: Sequence[Any] = _of_log(made.seen if made is not None else log) if held is None else _of_list(held, made)
    return cast("Summarized[M] | Summarized[Row]", Summarized(
        messages=list(kept), summary=None if made is None else made.op.text, original_tokens=before.total,
        token_count=after, summary_tokens=0 if made is None else made.summary,
        target=found.goal, counter=before.measured.counter if made is None else made.counter,
        replaced=() if made is None else tuple(_replaced(found, held, made)),
        strategy=found.strategy, fallback=found.failure or None,
    ))  # fmt: skip


def _replaced(
    found: CompactionPlan, held: InMemoryMessages[Any] | None, made: CompactionOutcome
) -> Sequence[int | str]:
    if held is None:
        return [found.state.label(name) for name in sorted(made.replaced, key=found.state.key)]
    return [place for place, n in enumerate(held.owner) if n in made.replaced]


def _of_list(held: InMemoryMessages[Any], made: CompactionOutcome | None) -> list[Mapping[str, Any]]:
    """What stays of a list, with the summary where the first message that it tells stood."""
    if made is None:
        return list(held.messages)
    found: list[Mapping[str, Any]] = []
    told = False
    for message, n in zip(held.messages, held.owner, strict=True):
        if n not in made.replaced:
            found.append(message)
        elif not told:
            found.append(_message(held.form, made.op.text or ""))
            told = True
    return found


def _message(form: str, text: str) -> dict[str, Any]:
    """A summary as a user's message of this form."""
    if form == "gemini":
        return {"role": "user", "parts": [{"text": text}]}
    if form == "responses":
        return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    return {"role": "user", "content": text}


def _of_log(seen: Any) -> list[Row]:
    """The context of a log as chat messages, as `ctxkit export --to chat` has it."""
    try:
        return list(seen.export("chat").values)
    except NothingToSend:
        return []
