"""Replaces results of tools by one line each, with the tokens that this saves.

`cut/compact_plan.py` gives the messages, `cut/strategies/mask.py` the tokens to save.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple

from ctxkit.core.board import shortening
from ctxkit.core.context import entry
from ctxkit.core.derive.synthetic_messages import SyntheticKind
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Content, Image, Result
from ctxkit.cut.rank.ranking import Ranking
from ctxkit.logfile.open import words
from ctxkit.logfile.stubs import of_result, stubbed
from ctxkit.measure.size import Measuring


class Masked(NamedTuple):
    """A message with results that can be masked: `stub` replaces its content, and `saves` tokens."""

    name: Name
    stub: Any
    saves: int


def mask(some: Iterable[Masked], need: int) -> dict[Name, Any]:
    """The stubs that save `need` tokens, the oldest first; all of them if they save less."""
    found: dict[Name, Any] = {}
    saved = 0
    for one in some:
        if saved >= need:
            break
        if one.saves > 0:
            found[one.name] = one.stub
            saved += one.saves
    return found


def maskable(
    ranking: Ranking, measuring: Measuring, going: Sequence[int], tokens: Mapping[Name, int]
) -> Iterator[Masked]:
    """Yields those of the messages `going`, in order, that have results and are not shortened yet."""
    log = ranking.log
    state = log.state()
    tools: dict[str, str] = {}
    for name in going:
        message = state.messages[name - 1]
        tools.update(zip(message.calls, message.tools, strict=False))
        observed = ranking.kinds.get(name) == SyntheticKind.OBSERVATION
        if shortening(state.board.stubs.get(name)) is not None or not (message.results or observed):
            continue
        content = log.full(entry(state, name))
        stub = _masked(content, tools, observed=observed)
        yield Masked(name, stub, tokens[name] - ceil(measuring.replacement(name, stubbed(content, stub))))


def _masked(content: Content, tools: dict[str, str], *, observed: bool) -> Any:
    """The stub of a message with masked results; `observed`: its words are the output, and are masked."""
    if observed:
        return masked("output", "\n".join(words(content)))
    stubs = []
    for part in content.parts:
        if isinstance(part, Result):
            inner = part.content if isinstance(part.content, list) else []
            text = "\n".join(words(Content("tool", [part])))
            pictures = sum(isinstance(one, Image) for one in inner)
            stubs.append(of_result(part, masked(tools.get(part.id, ""), text, pictures, failed=part.is_error)))
    return stubs[0]["content"] if len(stubs) == 1 and len(content.parts) == 1 else stubs


def masked(tool: str, text: str, pictures: int = 0, *, failed: bool = False) -> str:
    """The line that replaces a result: `[Read: 40 lines left out]`."""
    lines = text.count("\n") + (not text.endswith("\n")) if text else 0
    parts = [f"{lines:,} line{'s' * (lines != 1)}"] if lines or not pictures else []
    if pictures:
        parts.append(f"{pictures:,} picture{'s' * (pictures != 1)}")
    return f"[{tool or 'result'}{' failed' * failed}: {' and '.join(parts)} left out]"
