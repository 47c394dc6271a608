"""The strategy `mask`: each result of a tool is replaced by a line with its length. Nothing is summarized."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import ceil
from typing import Any, NamedTuple

from ctxkit.core.board import shortening
from ctxkit.core.context import entry
from ctxkit.core.derive.synthetic_messages import SyntheticKind
from ctxkit.core.item_names import Name
from ctxkit.cut.compact_plan import CompactionOutcome, CompactionPlan, Strategy
from ctxkit.cut.shorten.shorten import without_results
from ctxkit.logfile.stubs import stubbed


class Masked(NamedTuple):
    """A message with results that can be masked: `stub` replaces its content, and `saves` tokens."""

    name: Name
    stub: Any
    saves: int


class Mask(Strategy):
    """Masks the oldest results, as many as it takes."""

    summarizes = False
    shortens = False
    nothing = (
        "no result that could be masked is longer than the line in its place: nothing was changed",
        "--strategy extract also summarizes text",
    )

    def make(self, plan: CompactionPlan) -> CompactionOutcome:
        """Masks results until the goal is reached."""
        return plan.smaller(plan.outcome(masks=mask(maskable(plan), plan.whole - plan.goal)))

    def note(self, plan: CompactionPlan, made: CompactionOutcome, replaced: str) -> str:
        """The note on the messages with masked results."""
        return f"mask: {replaced}, their results replaced by their lengths; {made.counter}"

    def floor(self, plan: CompactionPlan, made: CompactionOutcome, least: str) -> str:
        """The note if masking all results does not reach the target."""
        return f"{least} of mask; --strategy extract leaves less"


def maskable(plan: CompactionPlan) -> Iterator[Masked]:
    """Yields the messages with results that can be masked, the oldest first: not those that are shortened."""
    tools: dict[str, str] = {}
    stubs = plan.state.board.stubs
    for name in plan.going:
        if not isinstance(name, int):
            continue
        message = plan.state.messages[name - 1]
        tools.update(zip(message.calls, message.tools, strict=False))
        observed = plan.ranking.kinds.get(name) == SyntheticKind.OBSERVATION
        if (message.results or observed) and shortening(stubs.get(name)) is None:
            content = plan.log.full(entry(plan.state, name))
            stub = without_results(content, tools, observed=observed)
            size = ceil(plan.base.measuring.replacement(name, stubbed(content, stub)))
            yield Masked(name, stub, plan.tokens[name] - size)


def mask(some: Iterable[Masked], need: int) -> dict[Name, Any]:
    """The stubs that save `need` tokens, the oldest first; all of them if they save less."""
    found: dict[Name, Any] = {}
    for one in some:
        if need <= 0:
            break
        if one.saves > 0:
            found[one.name] = one.stub
            need -= one.saves
    return found


STRATEGY = Mask()
