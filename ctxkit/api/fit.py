"""Counts messages in memory, and cuts them to fit a budget; the Python API beside `Log`.

`api/in_memory.py` makes a log of them, `cut/trim.py` decides as for `ctxkit trim`, and the decision is carried out
here: messages that stay are the same objects, shortened ones are copies in the same form.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, Generic, Literal, TypedDict, Unpack, cast, overload

import msgspec

from ctxkit.api.in_memory import InMemoryMessages, M, System, chat_rows, from_messages, summary_message
from ctxkit.api.log import Log, summarize_dropped
from ctxkit.api.rolling_summary import OwnWords, Summarizer
from ctxkit.core.assembly import NOTHING
from ctxkit.core.context import entry
from ctxkit.core.item_names import Name, Names
from ctxkit.core.text.json_text import dumps, loads
from ctxkit.cut.trim import Trimming, TrimRequest, TrimSummary, as_op
from ctxkit.cut.trim_plan import TrimPlan
from ctxkit.errors import BadConfig, BadMessage, BadTools, DoesNotFit, Usage
from ctxkit.formats.rewrite_text import WORDLESS, RecordRewriter
from ctxkit.logfile.stubs import stubbed, with_arguments
from ctxkit.measure.count import Counting
from ctxkit.measure.overhead import beside, tools_of
from ctxkit.measure.size import measure
from ctxkit.settings.config import Config
from ctxkit.tokens.counter import OwnCounter, TokenCounter
from ctxkit.tokens.tools import Tool, definitions

Held = Log | str | os.PathLike[str] | BinaryIO
"""A log: opened, its path, or a binary stream. Its context is read, and returned as chat messages."""

Row = dict[str, Any]


class Counted(TypedDict, total=False):
    """What is counted besides the messages, and how. `counter`: as in the config. `system`: the system prompt, if it is
    separate from the messages; it counts, and stays. `tools`: definitions as a provider takes them; `overhead`: further
    tokens of a request.
    """

    counter: str | TokenCounter | Callable[[str], int]
    system: System | None
    tools: Sequence[Mapping[str, Any]] | None
    overhead: int


class Options(Counted, total=False):
    """What a trim may cut; defaults are the config's, and `model` may also be named by the messages. `keep`: newest
    exchanges that go after all older ones; `keep_results`: newest results that are not shortened for their age;
    `exclude_tools`: tools whose results are not shortened; `clear_at_least`: tokens to save, if anything is cut;
    `clear_inputs`: the arguments of old calls are shortened too. `summarize`: a function that writes a summary of what
    is dropped: called with chat messages, it returns a text (it may be async).
    """

    model: str
    keep: int | None
    keep_results: int | None
    exclude_tools: Iterable[str]
    clear_at_least: int
    clear_inputs: bool | None
    summarize: Summarizer


class Tokens(int):
    """A number of tokens, with the name of what counted it (docs/tokens.md says how far each can be trusted)."""

    counter: str

    def __new__(cls, tokens: int, counter: str) -> Tokens:
        """`tokens` by `counter`."""
        made = super().__new__(cls, tokens)
        made.counter = counter
        return made


class Cut(msgspec.Struct, frozen=True):
    """What was done to one message. `message`: its index in the list, from 0; in a log its number, as people write it.

    `reason`: as `ctxkit why` gives it.
    """

    message: int | str
    action: Literal["dropped", "stubbed"]
    reason: str


class Fitted(msgspec.Struct, Generic[M], frozen=True):
    """Messages that fit. Those that stay are the same objects; a stubbed one is a copy with a shorter result.

    `truncated`: whether anything was cut. `token_count`, `tokens_before`, `budget`: tokens by `counter`. `limit`,
    `reserve`: the budget is their difference; None if the caller gave the budget. `cached_tokens_lost`: tokens from the
    first cut on, which a provider has to cache again. `summary`: the text that the caller's function wrote of what was
    dropped, which is a message; else None.
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
    summary: str | None = None


def estimate_tokens(
    messages: Sequence[Mapping[str, Any]] | Held, model: str = "", **options: Unpack[Counted]
) -> Tokens:
    """Tokens of `messages` for `model`, and of what is sent with them; docs/tokens.md says what is counted, and how.

    Raises BadMessage, BadConfig, Usage; for a log what `Log.open` raises.
    """
    log, _ = opened(messages, {"model": model, **expected(options, Counted)})
    counting = Counting(log)
    found = measure(counting, log.listed())
    return Tokens(found.tokens + beside(counting, NOTHING, tools_of(log), found).added, found.counter)


def shorten_result(
    text: str, max_tokens: int, *, model: str = "", query: str = "", tool: str = "", failed: bool = False
) -> str:
    """One result of a tool in at most `max_tokens` tokens for `model`: the lines that keep most, in order, failures
    first; … marks what is left out. Whole if it fits, "" if not one line does.

    `query`: of lines that are worth the same, those with its words come first. `tool`: whose result it is; `failed`: it
    is an error. Raises Usage.
    """
    if not isinstance(text, str) or type(max_tokens) is not int or max_tokens < 1:
        raise Usage("shorten_result takes a text and a number of tokens above 0", "shorten_result(text, 500)")
    for name, value in (("model", model), ("query", query), ("tool", tool)):
        if not isinstance(value, str):
            raise Usage(f"{name} of shorten_result is a text, not of type {type(value).__name__}", f'{name}="..."')
    from ctxkit.cut.shorten.shorten_text import lines_of
    from ctxkit.tokens.counter import AUTO, counter

    one = counter(AUTO, model)
    if one.tokens(one.counts([text])[0]) <= max_tokens:
        return text
    return lines_of(text, int(max_tokens / one.factor), one.counts, tool=tool, failed=failed, query=query) or ""


@overload
def enforce_context_limit(
    messages: Held, max_input_tokens: int | None = None, *, limit: int | None = None, reserve: int | None = None,
    **options: Unpack[Options],
) -> Fitted[Row]: ...  # fmt: skip
@overload
def enforce_context_limit(
    messages: Sequence[M], max_input_tokens: int | None = None, *, limit: int | None = None,
    reserve: int | None = None, **options: Unpack[Options],
) -> Fitted[M]: ...  # fmt: skip
def enforce_context_limit(
    messages: Sequence[M] | Held, max_input_tokens: int | None = None, *, limit: int | None = None,
    reserve: int | None = None, **options: Unpack[Options],
) -> Fitted[M] | Fitted[Row]:  # fmt: skip
    """Cuts `messages` to `max_input_tokens`, else to `limit` less `reserve` tokens. Messages that fit already are
    returned unchanged.

    The defaults are the config's; without a limit there, it is the model's. Raises DoesNotFit; BadConfig if no limit is
    known; BadMessage; Usage, also for both a number of tokens and a limit or reserve.
    """
    if max_input_tokens is not None and (limit, reserve) != (None, None):
        text = "max_input_tokens is what is left of a limit after the reserve: nothing was changed"
        raise Usage(text, "either max_input_tokens, or limit and reserve")
    return _fitted(messages, max_input_tokens, options, {"limit": limit, "reserve": reserve})


@overload
def trim_conversation(messages: Held, max_tokens: int, **options: Unpack[Options]) -> Fitted[Row]: ...
@overload
def trim_conversation(messages: Sequence[M], max_tokens: int, **options: Unpack[Options]) -> Fitted[M]: ...
def trim_conversation(
    messages: Sequence[M] | Held, max_tokens: int, **options: Unpack[Options]
) -> Fitted[M] | Fitted[Row]:
    """Cuts `messages` to `max_tokens`, as `ctxkit trim` would. Messages that fit already are returned unchanged.

    Raises DoesNotFit, BadMessage, Usage.
    """
    return _fitted(messages, max_tokens, options, {})


def expected(options: Mapping[str, Any], kind: Any) -> Mapping[str, Any]:
    """Returns `options`. Raises TypeError for a key that `kind` does not have, as a call does for a parameter."""
    for name in options:
        if name not in kind.__optional_keys__:
            known = ", ".join(sorted(kind.__optional_keys__))
            raise TypeError(f"unexpected keyword argument {name!r}; there are {known}")
    return options


def opened(
    messages: Sequence[M] | Held,
    options: Mapping[str, Any],
    *,
    windows: bool = False,
    config: Mapping[str, Any] | None = None,
) -> tuple[Log, InMemoryMessages[M] | None]:
    """`messages` as a log, with `config` and `options` laid over its config; for a list also the `InMemoryMessages`.

    `windows`: as in `from_messages`. Raises what that and `Log.open` raise; Usage for a value that no config takes.
    """
    held: InMemoryMessages[M] | None = None
    if isinstance(messages, Log):
        log = copy.copy(messages)  # the caller's log is not changed
    elif isinstance(messages, str | os.PathLike) or hasattr(messages, "read"):
        log = Log.open(cast(Any, messages))
    elif isinstance(messages, Mapping):
        hint = 'of a request: its "messages", with system=... where it has one'
        raise BadMessage(f"a dict, not a list of messages: its keys are {', '.join(map(str, messages))[:60]}", hint)
    else:
        held = from_messages(list(messages), system=options.get("system"), windows=windows)
        log = held.log
    asked = {key: options.get(key) for key in ("model", "counter", "limit", "reserve", "overhead")}
    if (own := asked["counter"]) is not None and not isinstance(own, str):
        log.own_counter = OwnCounter(own)
        del asked["counter"]
    if held is None and options.get("system") is not None:
        if not (windows and isinstance(options["system"], str)):
            raise Usage("system= is for a list of messages; a log has its own", "assembly.system in its config")
        asked["assembly.system"] = options["system"]
    given = {key: value for key, value in asked.items() if value not in (None, "")}
    log.config = configured(log, {**(config or {}), **given}, "counted")
    if options.get("tools") is not None:
        log.tools = defined(options["tools"], "counted")
    return log, held


def configured(log: Log, asked: Mapping[str, Any], done: str) -> Config:
    """The config of a log with what was asked for. Raises Usage: nothing was `done`."""
    try:
        return log.config.given(dict(asked))
    except BadConfig as error:
        raise Usage(f"{error.message}: nothing was {done}", error.hint) from error


def defined(tools: Sequence[Mapping[str, Any]], done: str) -> Sequence[Tool]:
    """A caller's definitions of tools. Raises BadTools: nothing was `done`."""
    try:
        given = tools if isinstance(tools, Sequence | Mapping) else list(tools)
        return definitions(loads(dumps(given).encode("ascii")))
    except (TypeError, ValueError, RecursionError) as error:
        raise BadTools(f"tools: {error}: nothing was {done}", "definitions as a provider takes them") from error


def _fitted(
    messages: Sequence[M] | Held, budget: int | None, options: Options, asked: Mapping[str, int | None]
) -> Fitted[M] | Fitted[Row]:
    log, held = opened(messages, {**expected(options, Options), **asked})
    found = Trimming(log, trim_request(budget, options, held, assembly=False))  # messages alone are returned
    with as_arguments():
        plan = found.plan()
        one = None
        if plan.dropped and (own := options.get("summarize")) is not None:
            one = _own(found, own)
    if one is not None:
        plan = _with_summary(one)
    op = as_op(found, plan) if one is None else one.op
    lost = found.lost(op)
    if held is None:
        if op is not None:
            log.look_through(op)
        kept: list[M] | list[Row] = chat_rows(log)
        cuts = [_cut(found.state.label(name), name, plan) for name in found.names if name in plan.reasons]
    else:
        kept, cuts = _of_list(held, plan, None if one is None else one.op.text)
    actions = [cut.action for cut in cuts]
    whole, after = budget is not None, found.after(plan) if one is None else one.figures.after
    return cast("Fitted[M] | Fitted[Row]", Fitted(
        messages=cast(Any, kept), truncated=lost is not None, dropped_count=actions.count("dropped"),
        stubbed_count=actions.count("stubbed"), token_count=after, tokens_before=found.total,
        within_budget=after <= found.budget, budget=found.budget,
        limit=None if whole else found.limit, reserve=None if whole else log.config["reserve"],
        counter=found.then.counter, cached_tokens_lost=lost.tokens if lost is not None else 0, cuts=tuple(cuts),
        summary=None if one is None else one.op.text,
    ))  # fmt: skip


@contextmanager
def as_arguments() -> Iterator[None]:
    """Rewords errors of a trim: the hints name arguments instead of command line options."""
    try:
        yield
    except DoesNotFit as error:
        hint = "fewer protected messages, a larger budget, a smaller task, or a new session"
        raise DoesNotFit(error.message, hint) from error
    except BadConfig as error:
        if "needs a limit" in error.message or error.message.startswith("no limit"):
            text = "no limit is known: neither the config nor the model names one"
            raise BadConfig(text, "limit=N, or model= a known one") from error
        if error.message.startswith("the reserve"):
            raise BadConfig(error.message, "reserve=N, below the limit") from error
        raise


def trim_request(
    budget: int | None,
    options: Options,
    held: InMemoryMessages[Any] | None,
    *,
    assembly: bool,
    status: str | None = None,
) -> TrimRequest:
    """The options as a request for a trim. `assembly`, `status`: as in `Log.export`."""
    named, own = options.get("exclude_tools", ()), options.get("summarize")
    exempt = [*([named] if isinstance(named, str) else named)]
    if held is not None and held.form == "responses":
        exempt += WORDLESS
    return TrimRequest(
        budget, options.get("keep"), options.get("keep_results"), tuple(exempt),
        options.get("clear_at_least", 0), options.get("clear_inputs"), assembly=assembly, status=status,
        summarize=summarize_dropped if own is None else lambda found: _own(found, own),
    )  # fmt: skip


def _own(found: Trimming, summarize: Summarizer) -> TrimSummary | None:
    return summarize_dropped(found, OwnWords(summarize, found.counting.counter.counts))


def _with_summary(one: TrimSummary) -> TrimPlan:
    """The plan that an op with a summary carries out."""
    dropped, stubs = (
        list(Names.parse(one.op.ids)),
        {Names.parse(key).single or 0: one.op.stubs[key] for key in one.op.stubs},
    )
    reasons = dict.fromkeys(dropped, "summarized") | dict.fromkeys(stubs, "no room was left")
    return TrimPlan(one.figures.after, dropped, stubs, reasons)


def _of_list(held: InMemoryMessages[M], plan: TrimPlan, summary: str | None) -> tuple[list[M], list[Cut]]:
    """The messages of a list that stay, with copies of those that are shortened, and `summary` where the first one
    stood that is dropped; and the cuts.
    """
    gone = set(plan.dropped)
    rewritten: dict[int, RecordRewriter] = {}
    kept, cuts = [], []
    for place, (message, n) in enumerate(zip(held.messages, held.owner, strict=True)):
        if n in gone:
            if summary is not None:
                kept.append((place, cast(M, summary_message(held.form, summary))))
                summary = None
            cuts.append(_cut(place, n, plan))
            continue
        now = message
        if n in plan.stubs:
            made = rewritten.get(n) or rewritten.setdefault(n, _rewriter(held.log, n, plan.stubs[n]))
            now = cast(M, made.record(held.form, message))
        if now is not message:
            cuts.append(_cut(place, n, plan))
        kept.append((place, now))
    asked = {one["id"] for one, n in zip(held.messages, held.owner, strict=True) if n in gone and _asks_approval(one)}
    void = {place for place, one in kept if asked and str(one.get("approval_request_id")) in asked}
    cuts += [Cut(place, "dropped", "what it permits is gone") for place in void]
    return [one for place, one in kept if place not in void], sorted(cuts, key=lambda cut: int(cut.message))


def _asks_approval(item: Mapping[str, Any]) -> bool:
    """Whether this item of Responses asks for an approval; without it the answer to it makes no sense."""
    return item.get("type") == "mcp_approval_request" and isinstance(item.get("id"), str)


def _cut(message: int | str, name: Name, plan: TrimPlan) -> Cut:
    return Cut(message, "stubbed" if name in plan.stubs else "dropped", plan.reasons[name])


def _rewriter(log: Log, name: Name, stub: Any) -> RecordRewriter:
    before = log.full(entry(log.state(), name))
    return RecordRewriter(before, stubbed(before, stub), with_arguments)
