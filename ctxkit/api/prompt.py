"""Builds the request that would be sent, from a log or from messages in memory; the Python API beside `Log`.

Pipeline: `api/fit.py` opens it -> the config's `budget.enforce` fits it -> `export/request.py` assembles and writes the
body for the provider. Nothing is sent, and nothing is appended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Unpack

import msgspec

from ctxkit.api.fit import Held, Options, as_arguments, expected, opened, trim_request
from ctxkit.api.log import Log
from ctxkit.errors import DoesNotFit, Usage
from ctxkit.export.fit_budget import within
from ctxkit.export.request import Exported, repair_notes
from ctxkit.formats import targets
from ctxkit.measure.status import budget
from ctxkit.settings.config import ARGUMENT

Row = dict[str, Any]
To = Literal["openai", "responses", "anthropic", "gemini", "chat"]


class Prompt(msgspec.Struct, frozen=True):
    """A request. `body`: as the provider `to` takes it; `messages`: its messages. `token_count`: of the whole request,
    by `counter`; `within_budget`: whether it is at most `budget`, which is `limit` less `reserve`; None if no limit is
    known.

    `truncated`, `dropped_count`, `stubbed_count`: what was cut, if it was made to fit; `notes`: what was left out or
    added, in words.
    """

    to: To
    body: Row
    messages: list[Row]
    token_count: int
    within_budget: bool | None
    budget: int | None
    limit: int | None
    reserve: int
    counter: str
    truncated: bool
    dropped_count: int
    stubbed_count: int
    notes: tuple[str, ...]


def build_final_prompt(
    messages: Sequence[Mapping[str, Any]] | Held, config: Mapping[str, Any] | None = None, *,
    to: To = "openai", enforce: bool | None = None,
    limit: int | None = None, reserve: int | None = None, assembly: bool = True, status: str | None = None,
    keep_thinking: bool = False, fit_images: bool | None = None, **options: Unpack[Options],
) -> Prompt:  # fmt: skip
    """The request that `ctxkit export --to` would print for a log, or for `messages`: the config's system prompt, docs
    and thread status, and the context within its windows, made valid for the provider.

    `config`: settings over the config's: key -> value, as in a config file. `enforce`: make it fit the budget; None: if
    a limit is given, else as the config's `budget.enforce` says. With False a request above a given limit is refused.
    `assembly`, `status`, `keep_thinking`, `fit_images`: as in `Log.export`; by default pictures are fitted if the
    context is. Raises DoesNotFit, NothingToSend, UnknownOp; BadConfig if it is to fit and no limit is known;
    BadMessage, BadTools, Usage; for a log what `Log.open` raises.
    """
    target = targets.no_session(to)
    if not isinstance(config, Mapping | None):
        raise Usage(f"config: a {type(config).__name__}, not a mapping: nothing was counted", '{"trim.keep_last": 3}')
    asked = {**expected(options, Options), "limit": limit, "reserve": reserve}
    log, held = opened(messages, asked, windows=True, config=config)
    log.known_ops()
    placed = assembly and target.takes_system

    def made(seen: Log) -> Exported:
        return seen.export(
            to, model=options.get("model", ""), assembly=placed, status=status, keep_thinking=keep_thinking,
            fit_images=fits if fit_images is None else fit_images,
        )  # fmt: skip

    is_given = log.config.origin("limit") == ARGUMENT
    fits = (is_given or log.config["budget.enforce"]) if enforce is None else enforce
    if fits:
        if options.get("summarize") is not None:
            log.config = log.config.given({"trim.summarize": True})
        origin = ARGUMENT if enforce or is_given else log.config.origin("budget.enforce")
        with as_arguments():
            log, exported = within(log, trim_request(None, options, held, assembly=placed, status=status), made, origin)
    else:
        exported = made(log)
    cut = log.figures if log.fitted is not None else None
    bodies = list(exported.values)
    body: Row = {target.key: bodies} if target.kind == "lines" else bodies[0]
    counted = budget(log, log.assembled(status) if placed else None, trouble=[])
    known = counted.limit.value
    used, counter = (cut.after, cut.counter) if cut is not None else (counted.used or 0, counted.counter or "")
    if is_given and known is not None and used > known - counted.reserve:
        text = f"{used:,} tokens do not fit into {known - counted.reserve:,} ({counter}): nothing was cut"
        raise DoesNotFit(text, "enforce=True, or a larger limit")
    return Prompt(
        to=to, body=body, messages=body[target.key], token_count=used,
        within_budget=None if known is None else used <= known - counted.reserve,
        budget=None if known is None else known - counted.reserve, limit=known, reserve=counted.reserve,
        counter=counter, truncated=log.fitted is not None and bool(log.fitted.op),
        dropped_count=cut.dropped if cut else 0, stubbed_count=cut.stubbed if cut else 0,
        notes=tuple(_notes(log, [*repair_notes(exported.repairs), *exported.refused])),
    )  # fmt: skip


def _notes(log: Log, repaired: Iterable[str]) -> Iterator[str]:
    yield from log.fitted.said if log.fitted is not None else ()
    yield from repaired
    yield from (*log.state().warnings, *log.noticed)
