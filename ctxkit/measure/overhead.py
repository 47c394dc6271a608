"""What a request has besides a log's messages, in tokens: assembled texts, definitions of tools, overhead.

One sum for `status`, `trim` and `show/export --max-tokens`: what one calls too full the others cut. What the provider
counted has all of it already, so that it is not added twice.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from contextlib import suppress

from ctxkit.core.assembly import Assembled
from ctxkit.core.derive.usage import Measured, Overhead
from ctxkit.errors import BadConfig, NoPermission, ReadFailed
from ctxkit.logfile.assembly_sources import assemble, configured_tools
from ctxkit.logfile.open import OpenLog
from ctxkit.measure.count import Counting
from ctxkit.tokens.models import named
from ctxkit.tokens.tools import Tool, told


def beside(
    counting: Counting, texts: Iterable[Assembled], tools: Sequence[Tool], measured: Measured, *, whole: bool = False
) -> Overhead:
    """What stands around messages of the size `measured`.

    Where a provider counted, tools and overhead are within its count, and assembled texts as far as what it counted
    beyond the messages goes; all of it where its count is of the `whole` request as it is now.
    """
    assembled = counting.of_texts(one.text for one in texts)
    defined, stated = tokens_of(counting, tools), int(counting.log.config["overhead"])
    if not measured.is_counted:
        return Overhead(assembled, defined, stated)
    held = assembled if whole else min(assembled, measured.overhead or 0)
    return Overhead(assembled, defined, stated, defined + stated + held)


def added(counting: Counting, measured: Measured) -> int:
    """What comes on top of messages of the size `measured`, as config has it; a file of it that is missing has none."""
    log = copy.copy(counting.log)
    log.noticed = []
    texts: Iterable[Assembled] = ()
    tools: Sequence[Tool] = ()
    with suppress(BadConfig, NoPermission, ReadFailed):
        texts = assemble(log)
    with suppress(BadConfig, NoPermission, ReadFailed):
        tools = tools_of(log)
    return beside(counting, texts, tools, measured).added


def tokens_of(counting: Counting, tools: Sequence[Tool]) -> int:
    """Tokens of tool definitions, as the model that is counted for is shown them: an estimate."""
    texts, more = told(tools, named(counting.model).family)
    return counting.of_texts(texts) + more


def tools_of(log: OpenLog) -> Sequence[Tool]:
    """The definitions that are sent with a log's context: the caller's, else those of the config.

    Raises BadConfig for a file of the config that is missing or holds none; NoPermission, ReadFailed.
    """
    return configured_tools(log) if log.tools is None else log.tools
