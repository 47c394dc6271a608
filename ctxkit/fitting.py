"""Fitting: messages that a program holds, counted, and cut to fit a budget; the Python API beside `Log`.

`given.py` makes a log of them, `trimming.py` decides as it does for `ctxkit trim`; here the decision is carried out on
the messages themselves: what stays is what came in, what is shortened is a copy in the same form.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, BinaryIO, Generic, Literal, TypedDict, Unpack, cast, overload

import msgspec

from ctxkit.core.context import entry
from ctxkit.core.messages import Repairs, Result
from ctxkit.core.names import Name
from ctxkit.counting import Counting
from ctxkit.errors import BadConfig, BadMessage, DoesNotFit, NothingToSend, Usage
from ctxkit.formats.response_items import permitted
from ctxkit.formats.restating import WORDLESS, restated
from ctxkit.given import Given, M, System, given
from ctxkit.log import Log
from ctxkit.measuring import measure
from ctxkit.policies.trim import Plan
from ctxkit.stubs import stubbed
from ctxkit.trimming import Asked, Trimming, as_op

Held = Log | str | os.PathLike[str] | BinaryIO
"""A log: opened, its path, or a binary stream. Its context is looked at, and comes back as chat messages."""

Row = dict[str, Any]


class Counted(TypedDict, total=False):
    """What a count goes by. `counter`: as the config's key has it. `system`: the system prompt, where it is given apart
    from the messages; it counts, and stays.
    """

    counter: str
    system: System | None


class Options(Counted, total=False):
    """`model`: else the one that the config or the messages name. What may go is said as to `ctxkit trim`, and is as
    the config has it where it is left out. `keep`: newest
    exchanges that stay while anything older can go; `keep_results`: newest results that are not shortened;
    `exclude_tools`: tools whose results are not; `clear_at_least`: tokens to save at least, once anything is cut.
    """

    model: str
    keep: int | None
    keep_results: int | None
    exclude_tools: Iterable[str]
    clear_at_least: int


class Tokens(int):
    """A number of tokens, with the name of what counted it (docs/tokens.md says how far each can be trusted)."""

    counter: str

    def __new__(cls, tokens: int, counter: str) -> Tokens:
        """`tokens` by `counter`."""
        made = super().__new__(cls, tokens)
        made.counter = counter
        return made


class Cut(msgspec.Struct, frozen=True):
    """What was done to one message. `message`: its index in the list, from 0; of a log its number, as people write it.

    `reason`: as `ctxkit why` tells it.
    """

    message: int | str
    action: Literal["dropped", "stubbed"]
    reason: str


class Fitted(msgspec.Struct, Generic[M], frozen=True):
    """Messages that fit. Those that stay are the very ones that came in; a stubbed one is a copy with a shorter result.

    `truncated`: whether anything was cut. `token_count`, `tokens_before`, `budget`: tokens by `counter`. `limit`,
    `reserve`: what the budget was made of; None where it was given as it is. `cached_tokens_lost`: tokens of messages
    that stay behind the first cut: a provider's cache of them is worth nothing any more.
    """

    messages: list[M]
    truncated: bool
    dropped_count: int
    stubbed_count: int
    token_count: int
    tokens_before: int
    within_budget: bool
    budget: int
    limit: int | None
    reserve: int | None
    counter: str
    cached_tokens_lost: int
    cuts: tuple[Cut, ...]


def estimate_tokens(
    messages: Sequence[Mapping[str, Any]] | Held, model: str = "", **options: Unpack[Counted]
) -> Tokens:
    """Tokens of `messages` for `model`: their words, and 4 around each message (docs/tokens.md).

    Raises BadMessage, BadConfig, Usage; of a log what `Log.open` raises.
    """
    log, _ = opened(messages, {"model": model, **expected(options, Counted)})
    found = measure(Counting(log), log.listed())
    return Tokens(found.tokens, found.counter)


@overload
def enforce_context_limit(
    messages: Held, *, limit: int | None = None, reserve: int | None = None, **options: Unpack[Options]
) -> Fitted[Row]: ...
@overload
def enforce_context_limit(
    messages: Sequence[M], *, limit: int | None = None, reserve: int | None = None, **options: Unpack[Options]
) -> Fitted[M]: ...
def enforce_context_limit(
    messages: Sequence[M] | Held, *, limit: int | None = None, reserve: int | None = None, **options: Unpack[Options]
) -> Fitted[M] | Fitted[Row]:
    """`messages` cut to `limit` less `reserve` tokens: each the config's where it is left out, the limit else the
    model's. What fits comes back as it is.

    Raises DoesNotFit; BadConfig where no limit is known; BadMessage, Usage.
    """
    return _fitted(messages, None, options, {"limit": limit, "reserve": reserve})


@overload
def trim_conversation(messages: Held, max_tokens: int, **options: Unpack[Options]) -> Fitted[Row]: ...
@overload
def trim_conversation(messages: Sequence[M], max_tokens: int, **options: Unpack[Options]) -> Fitted[M]: ...
def trim_conversation(
    messages: Sequence[M] | Held, max_tokens: int, **options: Unpack[Options]
) -> Fitted[M] | Fitted[Row]:
    """`messages` cut to `max_tokens`, as `ctxkit trim` would. What fits comes back as it is.

    Raises DoesNotFit, BadMessage, Usage.
    """
    return _fitted(messages, max_tokens, options, {})


def expected(options: Mapping[str, Any], kind: Any) -> Mapping[str, Any]:
    """`options`. Raises TypeError for what is no key of `kind`, as a call does for a parameter that there is not."""
    for name in options:
        if name not in kind.__optional_keys__:
            known = ", ".join(sorted(kind.__optional_keys__))
            raise TypeError(f"unexpected keyword argument {name!r}; there are {known}")
    return options


def opened(
    messages: Sequence[M] | Held, options: Mapping[str, Any], *, windows: bool = False
) -> tuple[Log, Given[M] | None]:
    """The log that `messages` are, with what was given laid over its config; of a list, with what it came from.

    `windows`: as of `given`. Raises what that and `Log.open` raise; Usage for a value that no config takes.
    """
    held: Given[M] | None = None
    if isinstance(messages, Log):
        log = copy.copy(messages)  # what is done to it is not done to the caller's
    elif isinstance(messages, str | os.PathLike) or hasattr(messages, "read"):
        log = Log.open(cast(Any, messages))
    elif isinstance(messages, Mapping):
        hint = 'of a request: its "messages", with system=... where it has one'
        raise BadMessage(f"a dict, not a list of messages: its keys are {', '.join(map(str, messages))[:60]}", hint)
    else:
        held = given(list(messages), system=options.get("system"), windows=windows)
        log = held.log
    if held is None and options.get("system") is not None:
        raise Usage("system= is for a list of messages; a log has its own", "assembly.system in its config")
    try:
        asked = {key: options.get(key) for key in ("model", "counter", "limit", "reserve")}
        log.config = log.config.given({key: value for key, value in asked.items() if value not in (None, "")})
    except BadConfig as error:
        raise Usage(f"{error.message}: nothing was counted", error.hint) from error
    return log, held


def _fitted(
    messages: Sequence[M] | Held, budget: int | None, options: Options, asked: Mapping[str, int | None]
) -> Fitted[M] | Fitted[Row]:
    log, held = opened(messages, {**expected(options, Options), **asked})
    excluded = (*options.get("exclude_tools", ()), *(WORDLESS if held is not None and held.form == "responses" else ()))
    found = Trimming(log, Asked(
        budget, options.get("keep"), options.get("keep_results"), excluded, options.get("clear_at_least", 0),
        inputs=False, assembly=False,  # what comes back are the caller's messages, and nothing around them
    ))  # fmt: skip
    try:
        plan = found.plan()
    except DoesNotFit as error:
        raise DoesNotFit(error.message, "a larger budget, or less that may not go") from error
    except BadConfig as error:
        raise BadConfig("no limit is known: neither the config nor the model names one", "limit=N or model=") from error
    lost = found.lost(plan)
    kept: list[M] | list[Row] = _of_log(found, plan) if held is None else _of_list(held, plan)
    dropped = len(plan.dropped) if held is None else len(held.messages) - len(kept)
    return cast("Fitted[M] | Fitted[Row]", Fitted(
        messages=cast(Any, kept), truncated=lost is not None, dropped_count=dropped, stubbed_count=len(plan.stubs),
        token_count=found.after(plan), tokens_before=found.total,
        within_budget=found.after(plan) <= found.budget, budget=found.budget,
        limit=None if budget is not None else found.budget + log.config["reserve"],
        reserve=None if budget is not None else log.config["reserve"],
        counter=found.measured.counter, cached_tokens_lost=lost[1] if lost is not None else 0,
        cuts=tuple(_cuts(found, plan, held)),
    ))  # fmt: skip


def _of_list(held: Given[M], plan: Plan) -> list[M]:
    """What stays of a list, what is shortened in a copy."""
    gone, kept = set(plan.dropped), []
    for message, n in zip(held.messages, held.owner, strict=True):
        if n in plan.stubs:
            kept.append(cast(M, restated(held.form, message, _words(held.log, n, plan.stubs[n]))))
        elif n not in gone:
            kept.append(message)
    if held.form == "responses" and gone:
        return cast("list[M]", permitted(cast("list[Row]", kept), Repairs()))
    return kept


def _words(log: Log, name: Name, stub: Any) -> list[str | None]:
    """What the results of a message say when they are shortened; None for one that stays as it is."""
    before = log.full(entry(log.state(), name))
    pairs = zip(before.parts, stubbed(before, stub).parts, strict=True)
    return [None if after == one else str(after.content) for one, after in pairs if isinstance(after, Result)]


def _of_log(found: Trimming, plan: Plan) -> list[Row]:
    """The context of a log as chat messages, as `ctxkit export --to chat` has it."""
    op = as_op(found, plan)
    if op is not None:
        found.log.look_through(op)
    try:
        return list(found.log.export("chat").values)
    except NothingToSend:
        return []


def _cuts(found: Trimming, plan: Plan, held: Given[Any] | None) -> Iterable[Cut]:
    gone = set(plan.dropped)
    if held is None:
        named: Iterable[tuple[int | str, Name]] = ((found.state.label(name), name) for name in found.names)
    else:
        named = enumerate(held.owner)
    for place, name in named:
        if name in plan.reasons:
            yield Cut(place, "dropped" if name in gone else "stubbed", plan.reasons[name])
