"""Counts the tokens of a request besides a log's messages: assembled texts, tool definitions, overhead.

`status`, `trim` and `show/export --max-tokens` use this one sum, so they agree on what is too full. A provider's count
includes these tokens, so they are not added to it again.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import islice

from ctxkit.core.assembly import NOTHING, Assembled, Assembly
from ctxkit.core.derive.usage import Measured, Overhead
from ctxkit.core.text.json_text import loads
from ctxkit.core.text.utf8 import utf8
from ctxkit.errors import BadConfig, NoPermission, ReadFailed
from ctxkit.logfile.assembly_sources import assemble, configured_tools
from ctxkit.logfile.open import OpenLog
from ctxkit.logfile.read import proven_log
from ctxkit.measure.count import Counting
from ctxkit.tokens.models import named
from ctxkit.tokens.tools import Tool, definitions, rendered

UNCOUNTED, GIVEN = "uncounted", "beside"
"""Keys in the `meta` of a reply's row written by a rolling context: tokens that a provider counted beyond its count,
and tokens of what it was given to send besides the messages: tools, notes.
"""
MOST = 10**15
"""The most tokens that a row may state there."""
REPLIES = 60
"""How many of the newest replies are searched for them."""


def noted(log: OpenLog, n: int) -> tuple[int, int] | None:
    """The tokens `UNCOUNTED` and `GIVEN` that the row of message n states; None if it states neither."""
    message = log.messages[n - 1]
    if message.role != "assistant":
        return None
    raw = log.opening.laid_out.read(message.offset, message.size)
    if utf8(UNCOUNTED) not in raw and utf8(GIVEN) not in raw:
        return None
    with suppress(ValueError):
        row = loads(raw)
        meta = row.get("meta") if isinstance(row, dict) else None
        stated = [meta.get(key) if isinstance(meta, dict) else None for key in (UNCOUNTED, GIVEN)]
        uncounted, given = (
            one if isinstance(one, int) and not isinstance(one, bool) and 0 <= one <= MOST else None for one in stated
        )
        if uncounted is not None or given is not None:
            return uncounted or 0, given or 0
    return None


def _of_rolling(log: OpenLog) -> int:
    """What the newest rolling context on this log counts besides the messages, and the config does not name."""
    if not log.native or log.is_list or log.estimates:  # the object adds it itself
        return 0
    newest = (n for n in range(len(log.messages), 0, -1) if log.messages[n - 1].role == "assistant")
    return next((sum(found) for n in islice(newest, REPLIES) if (found := noted(log, n)) is not None), 0)


def beside(
    counting: Counting, texts: Iterable[Assembled], tools: Sequence[Tool], measured: Measured, *, whole: bool = False
) -> Overhead:
    """Counts what surrounds messages of the size `measured`.

    If a provider counted, its count includes tools and overhead, and assembled texts up to the size of what it counted
    beyond the messages; all of them if its count is of the `whole` request as it is now. If no provider counted, and
    no tools and overhead are named, those of the newest request that the program recorded are counted; also what a
    rolling context noted.
    """
    assembled = counting.of_texts(one.text for one in texts)
    defined, stated = tokens_of(counting, tools), int(counting.log.config["overhead"])
    if not measured.is_counted:
        if not (defined or stated):
            defined, stated = recorded(counting)
        stated += _of_rolling(counting.log)
        return Overhead(assembled, defined, stated)
    held = assembled if whole else min(assembled, measured.overhead or 0)
    return Overhead(assembled, defined, stated, defined + stated + held)


def added(counting: Counting, measured: Measured) -> int:
    """Tokens to add to messages of the size `measured`, by the config. A missing file of the config counts nothing."""
    log = copy.copy(counting.log)
    log.noticed = []
    texts = configured(log)
    tools: Sequence[Tool] = ()
    with suppress(BadConfig, NoPermission, ReadFailed):
        tools = tools_of(log)
    return beside(counting, texts, tools, measured).added


def configured(log: OpenLog) -> Assembly:
    """What config puts around the context of `log`; nothing if a file of it is missing."""
    log = copy.copy(log)
    log.noticed = []
    with suppress(BadConfig, NoPermission, ReadFailed):
        return assemble(log)
    return NOTHING


def tokens_of(counting: Counting, tools: Sequence[Tool]) -> int:
    """Estimates the tokens of tool definitions for the counted model."""
    texts, more = rendered(tools, named(counting.model).family)
    return counting.of_texts(texts) + more


def recorded(counting: Counting) -> tuple[int, int]:
    """Estimates the tokens of the tools, and of the system prompt, in the newest request that the program recorded."""
    opening = counting.log.opening
    found = opening.format.prefix(proven_log(opening), ())
    if found is None:
        return 0, 0
    blocks = found.system if isinstance(found.system, list) else [{"text": found.system}]
    texts = [one["text"] for one in blocks if isinstance(one, dict) and isinstance(one.get("text"), str)]
    try:
        tools = definitions(found.tools) if found.tools else []
    except ValueError:  # not the shape of tools: they are no part of the sum
        tools = []
    return tokens_of(counting, tools), counting.of_texts(texts)


def tools_of(log: OpenLog) -> Sequence[Tool]:
    """The tool definitions that are sent with a log's context: the caller's, else those of the config.

    Raises BadConfig if a file of the config is missing or has none; NoPermission, ReadFailed.
    """
    return configured_tools(log) if log.tools is None else log.tools
