"""Usage: what a provider counted of a request and its reply, as programs record it beside the reply.

`measure/size.py` tells the size of a context by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import Any, Literal, NamedTuple

import msgspec

INCLUDED = (("input_tokens", "cached_input_tokens"), ("input", "cached"))
"""Where cached tokens are among those of the request (Codex, Gemini CLI): the keys of both."""
BESIDE = (
    "cache_read_input_tokens", "cacheRead", "cache_creation_input_tokens", "cacheWrite", "input_tokens", "input",
)  # fmt: skip
"""Else: the keys of what adds up to the request, in the order in which tokens are taken from them."""
REPLIES, PASSING = ("output_tokens", "output"), ("reasoning_output_tokens", "thoughts", "reasoning")
"""Of the reply, and of what of it passes, or stands beside it."""
TOTALS = ("total_tokens", "totalTokens", "total")
SIZE_ROLE = "_usage"
"""The role of a row of Kimi CLI that says how large the context is, with all messages above it."""
SHUTDOWN = "session.shutdown"
"""The type of a row of Copilot CLI that says the same at the end of a session."""
SESSION_TOTAL = "accumulated_total_tokens"
"""A key of the first row of Goose's sessions, which says the same beside it."""
LARGEST = 10**12
"""Tokens of a request at most: what says more is damaged, or made up."""
MARK, ESTIMATED = "ctxkit", "estimated"
"""In a usage that an export told anew: programs pass over the key."""
HAIR = 1e-6
"""Of a token: sums of many figures are that far off."""
Trust = Literal["exact", "calibrated", "range", "encoding", "guess"]


class RequestUsage(NamedTuple):
    """Tokens. `request`: of all that was sent, the cached part included; `reply`: of what came back, thinking included.

    A `reply` that was written while it streamed may be a fraction of the real one: `Calibration` finds out. `passing`:
    of the reply, reasoning that stays until the exchange is over; after the user's next message OpenAI's models no
    longer see it (recorded Codex sessions: the next request is smaller by just that). `estimated`: an export told it
    anew, for a context that is not the one that was counted. `whole`: `request` counts the message beside which it is
    recorded, too, though that is a reply.
    """

    request: int
    reply: int
    passing: int = 0
    estimated: bool = False
    whole: bool = False


class RequestCost(NamedTuple):
    """What of a request came from the provider's cache and went into it, in tokens, and what all of it cost, in
    dollars; None where no cost is recorded.
    """

    cached: int = 0
    written: int = 0
    cost: float | None = None


class Measured(msgspec.Struct, frozen=True):
    """A context's size in tokens. `known` of them the provider counted, up to message `at`; None where no usage is
    recorded. `estimated`: the rest, negative where ops took more out than came. `overhead`: what the provider counted
    beyond the log's messages: system prompt, tools, reminders. `error`: of a size told one request ahead, in percent,
    the median of this session so far. `trust`: exact (by the provider alone, and no record
    is missing), calibrated (by what the provider counted before), range (nothing was counted since the program's own
    compaction: the next request has `least` to `most`), encoding (by the model's own, without what a provider adds), or
    a guess. `corrected`: `known` is what an export made of what was counted. `once`: of the tokens, what the program
    sent once after its compaction without a row in the log, so that a resumed session has none of it.
    """

    tokens: int
    counter: str
    known: int | None = None
    at: int | None = None
    estimated: int = 0
    overhead: int | None = None
    error: float | None = None
    trust: Trust = "guess"
    corrected: bool = False
    least: int | None = None
    most: int | None = None
    once: int = 0

    @property
    def resumed(self) -> int:
        """The size of the same context in a session that is resumed from the log."""
        return self.tokens - self.once

    @property
    def is_counted(self) -> bool:
        """Whether a provider's counts are behind it, so that system prompt and tools are within."""
        return self.known is not None or self.overhead is not None


class Figures(msgspec.Struct, frozen=True):
    """What a command counted: tokens of the context `before` and `after` it, by one `counter`; the same for a look.

    `messages`: in the context before it; of these so many were `dropped` and `stubbed`, and so many more `came`.
    `budget`: tokens that had to fit; `limit`: of the model, as the command knew it; None: neither. `beyond`: tokens
    that a window or filter hides, on top of both figures; `left`: of `after`, where others are hidden then.
    """

    before: int
    after: int
    counter: str
    messages: int
    dropped: int = 0
    came: int = 0
    stubbed: int = 0
    budget: int | None = None
    limit: int | None = None
    beyond: int = 0
    left: int | None = None


class Fit(NamedTuple):
    """What a look was made to fit: `budget` tokens, which `origin` asks for: `flag`, or a place of the config.

    `said`: what that took, in words, and `op` the id of the op that stands for it, which is in no log; none where it
    fitted as it was.
    """

    budget: int
    origin: str
    said: tuple[str, ...] = ()
    op: str = ""


class Overhead(msgspec.Struct, frozen=True):
    """Tokens. `assembled`: texts that config and caller put around the messages; `tools`: definitions, an estimate;
    `overhead`: as config or caller state it. `within`: how many of these the provider's count has in it already, so
    that the others are added.
    """

    assembled: int = 0
    tools: int = 0
    overhead: int = 0
    within: int = 0

    @property
    def added(self) -> int:
        """What comes on top of the messages as they are measured."""
        return self.assembled + self.tools + self.overhead - self.within


def whole(tokens: float) -> int:
    """A number of tokens, rounded up; none for less than nothing."""
    return max(0, ceil(tokens - HAIR))


def usage(rows: list[dict[str, Any]]) -> RequestUsage | None:
    """The usage that the rows of one message record, in whichever of the shapes below, from the last row that has one.

    A streamed reply repeats it in each of its rows, so it is taken once a message.
    """
    for row in reversed(rows):
        for found in _records(row):
            if (counted := _read(found)) is not None:
                return _from_first_step(row, counted)
    return None


def cost(rows: list[dict[str, Any]]) -> RequestCost:
    """What the rows of one message record beside `usage`: of the cache, and the cost."""
    found = [one for row in reversed(rows) for one in _records(row) if _read(one) is not None]
    return RequestCost(*_cache(found[0]) if found else (0, 0), _dollars(rows, found))


def _cache(found: dict[str, Any]) -> tuple[int, int]:
    """Tokens read from the cache, and tokens written to it, in the shapes of `_figures`."""
    details = found.get("prompt_tokens_details") or found.get("input_tokens_details")
    match found:
        case {"cache": {"read": read, "write": written}}:
            pair = read, written
        case {"cache_read_input_tokens": _} | {"cache_creation_input_tokens": _}:
            pair = found.get("cache_read_input_tokens"), found.get("cache_creation_input_tokens")
        case {"cacheReadInputTokens": read}:
            pair = read, found.get("cacheCreationInputTokens")
        case {"cacheRead": read}:
            pair = read, found.get("cacheWrite")
        case {"cached_input_tokens": read} | {"cached": read} | {"cachedContentTokenCount": read}:
            pair = read, 0
        case _:
            pair = details.get("cached_tokens") if isinstance(details, dict) else 0, 0
    return figure(pair[0]), figure(pair[1])


def _dollars(rows: list[dict[str, Any]], found: list[dict[str, Any]]) -> float | None:
    """The cost that a usage or a row notes: a number, or an object with the total."""
    for row in reversed(rows):
        for held in (*found, row, _at(row, "message"), _at(row, "info"), _at(row, "extra")):
            for key in ("cost", "costUSD", "total_cost_usd"):
                value = None if held is None else held.get(key)
                value = value.get("total") if isinstance(value, dict) else value
                if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < LARGEST:
                    return float(value)
    return None


def _from_first_step(row: dict[str, Any], last: RequestUsage) -> RequestUsage:
    """What was counted of a message of several requests (opencode): the first, and all that came back, with results."""
    parts = row.get("parts")
    tokens = (_at(part, "tokens") for part in parts if isinstance(part, dict)) if isinstance(parts, list) else ()
    first = next((step for one in tokens if one is not None and (step := _read(one)) is not None), last)
    return last._replace(request=first.request, reply=max(0, last.request + last.reply - first.request))


def window(rows: list[dict[str, Any]]) -> int | None:
    """How many tokens a request may have, where a program notes that beside what its provider counted (Codex)."""
    for row in reversed(rows):
        found = _at(row, "payload", "info")
        if found is not None and (size := figure(found.get("model_context_window"))):
            return size
    return None


def total(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The sum over all requests so far, where a program notes it beside each (Codex); None elsewhere. A row with the
    sum of the row before it repeats that: Codex writes one when a turn is interrupted.
    """
    for row in reversed(rows):
        found = _at(_at(row, "payload", "info"), "total_token_usage")
        if found is not None:
            return found
    return None


def reply_id(rows: list[dict[str, Any]]) -> str | None:
    """The provider's id of a reply, if its rows name one: a reply in several parts has one usage for all."""
    for row in rows:
        found = (_at(row, "message") or {}).get("id")
        if isinstance(found, str) and found:
            return found
    return None


def retell(row: dict[str, Any], now: RequestUsage) -> None:
    """Makes the usage in a row say that its request had so many tokens, cached ones among them, and its reply; a row
    that has none gets one.
    """
    found = [(one, counted) for one in _records(row) if (counted := _figures(one)) is not None]
    if not found:
        row["usage"] = {"input_tokens": now.request, "output_tokens": now.reply, MARK: ESTIMATED}
    for one, counted in found:
        _retell(one, counted, now)


def _retell(found: dict[str, Any], counted: RequestUsage, now: RequestUsage) -> None:
    left = now.request - counted.request
    included = next((pair for pair in INCLUDED if pair[1] in found), None)
    if included is not None:
        whole_request, cached = included
        found[whole_request], found[cached] = now.request, min(figure(found[cached]), now.request)
    else:
        for key in BESIDE:
            if key in found:
                had = figure(found[key])
                found[key] = max(0, had + left)
                left -= found[key] - had
    if now.reply != counted.reply:
        for key in REPLIES:
            if key in found:
                found[key] = now.reply
        for key in PASSING:
            if key in found:
                found[key] = now.passing
    for key in TOTALS:
        if key in found:
            beside = figure(found[key]) - counted.request - counted.reply if counted.request else 0
            found[key] = max(0, now.request + now.reply + beside)
    found.pop("iterations", None)  # of calls within the one that was counted
    found[MARK] = ESTIMATED


def _records(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The objects of a row that may be a usage."""
    if row.get("role") == SIZE_ROLE or SESSION_TOTAL in row:
        yield row
    if row.get("type") == SHUTDOWN and (data := _at(row, "data")) is not None:
        yield data
    holders = (_at(row, "message"), row, _at(row, "info"), _at(row, "extra", "response"), _at(row, "payload", "info"))
    for held in holders:
        for key in ("usage", "last_token_usage", "tokens", "usageMetadata"):
            found = _at(held, key)
            if found is not None:
                yield found


def figure(value: Any) -> int:
    """A number of tokens as a program noted it; 0 for what can be none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= LARGEST else 0


def _read(found: dict[str, Any]) -> RequestUsage | None:
    told = _figures(found)
    return told if told is not None and told.request else None


def _figures(found: dict[str, Any]) -> RequestUsage | None:
    """What a usage says, in whichever of these shapes; None where it has none of them."""
    passing = 0
    match found:
        case {"prompt_tokens": request, "completion_tokens": reply}:  # OpenAI's chat completions, and many others
            parts = [request], [reply]
        case {"cached_input_tokens": _, "input_tokens": request, "output_tokens": reply}:  # Codex: cached among input
            parts = [request], [reply]
            passing = found.get("reasoning_output_tokens", 0)
        case {"input_tokens": new, "output_tokens": reply}:  # Anthropic: cached beside input
            cached = [found.get("cache_creation_input_tokens", 0), found.get("cache_read_input_tokens", 0)]
            parts = [new, *cached], [reply]
        case {"input": new, "cacheRead": read, "cacheWrite": written, "output": reply}:  # pi
            parts = [new, read, written], [reply]
        case {"input": new, "output": reply, "cache": {"read": read, "write": written}}:  # opencode
            parts = [new, read, written], [reply, found.get("reasoning", 0)]
        case {"input": request, "output": reply, "total": _}:  # Gemini CLI: cached among input
            parts = [request], [reply, found.get("thoughts", 0)]
        case {"promptTokenCount": request, "totalTokenCount": both}:  # Gemini's API, Qwen Code: cached among prompt
            parts = [request], [figure(both) - figure(request)]
        case {"promptTokenCount": request, "candidatesTokenCount": reply}:
            parts = [request], [reply, found.get("thoughtsTokenCount", 0)]
        case {"inputTokens": new, "outputTokens": reply}:  # Amp: cached beside input
            parts = [new, found.get("cacheReadInputTokens", 0), found.get("cacheCreationInputTokens", 0)], [reply]
        case (
            {"role": "_usage", "token_count": size}  # Kimi CLI
            | {"currentTokens": size}  # Copilot CLI, at the end of a session
            | {"accumulated_total_tokens": _, "total_tokens": size}  # Goose, of its session
        ):
            return RequestUsage(figure(size), 0, whole=True)
        case _:
            return None
    request, reply, passing = (sum(map(figure, part)) for part in (*parts, [passing]))
    return RequestUsage(request, reply, min(passing, reply), found.get(MARK) == ESTIMATED)


def _at(value: Any, *keys: str) -> dict[str, Any] | None:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else None
