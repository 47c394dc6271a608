"""show --explain: for every message of a log, and every item of its ops, whether it is in the context, and why.

Reads an opened log through its lens; what the projection used besides is in `parameters.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ctxkit.core.names import Name, Names
from ctxkit.core.reasons import Reason, Reasons
from ctxkit.core.standing import IN, Standing, Standings
from ctxkit.opened import OpenedLog


class Explained(msgspec.Struct, frozen=True):
    """One message or item. `standing`: what took it out first, or `in`; `reasons`: everything that concerns it."""

    name: Name
    label: str
    role: str
    standing: Standing
    reasons: list[Reason]
    protected: bool
    stub: bool

    @property
    def visible(self) -> bool:
        """Whether it is in the context."""
        return self.standing.kind == IN


def explained(log: OpenedLog, chosen: Names | None = None) -> Iterator[Explained]:
    """All of `log`, or only the `chosen`, in the order of the context. Raises UnknownAgent, BadTime."""
    state = log.state()
    standings = Standings(state, log.lens())
    reasons = Reasons(standings)
    for name in everything(log):
        if chosen is None or name in chosen:
            role = state.messages[name - 1].role if isinstance(name, int) else state.board.items[name].role
            yield Explained(
                name, state.label(name), role, standings.of(name), reasons.of(name),
                state.protected(name), name in state.board.stubs,
            )  # fmt: skip


def everything(log: OpenedLog) -> list[Name]:
    """All numbers and items, each where it stands or would stand."""
    state = log.state()
    names = state.everything()
    return sorted((*names.numbers, *names.items), key=state.key)
