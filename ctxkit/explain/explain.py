"""show --explain: explains for every message of a log, and every item of its ops, whether it is in the context.

Reads an opened log through its projection; its further parameters are in `logfile/parameters.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from ctxkit.core.ended_ops import role_of
from ctxkit.core.item_names import Name, Names
from ctxkit.core.ledger import LedgerEntry
from ctxkit.core.reasons import Reason, Reasons
from ctxkit.core.visibility import IN, Visibilities, Visibility
from ctxkit.logfile.open import OpenLog


class Explained(msgspec.Struct, frozen=True):
    """One message or item. `visibility`: `in`, or the first reason that it is out; `reasons`: all reasons."""

    name: Name
    label: str
    role: str
    visibility: Visibility
    reasons: list[Reason]
    protected: bool
    stub: bool

    @property
    def visible(self) -> bool:
        """Whether it is in the context."""
        return self.visibility.kind == IN


def explained(log: OpenLog, chosen: Names | None = None) -> Iterator[Explained]:
    """All of `log`, or only the `chosen`, in the order of the context. Raises UnknownAgent, BadTime."""
    state = log.state()
    visibilities = Visibilities(state, log.projection())
    reasons = Reasons(visibilities)
    fitted = state.ledger.by_id.get(log.fitted.op) if log.fitted is not None else None
    for name in everything(log):
        if chosen is None or name in chosen:
            role = role_of(state, name)
            where, why = visibilities.of(name), reasons.of(name)
            if fitted is not None and log.fitted is not None:
                where = Visibility(where.kind) if where.op == fitted.number else where
                why = list(dict.fromkeys(_of_look(one, name, fitted, log.fitted.budget) for one in why))
            yield Explained(name, state.label(name), role, where, why, state.protected(name), name in state.board.stubs)


def _of_look(reason: Reason, name: Name, fitted: LedgerEntry, budget: int) -> Reason:
    """The reason; for a trim that was only made to fit a budget (`fitted`) one that names no op."""
    words = fitted.body.get("reasons", {}).get(str(name), "")
    if reason.op != fitted.number and not (reason.kind == "stub" and str(name) in fitted.body.get("stubs", {})):
        return reason
    if fitted.name == "compact" and reason.kind != "stub":  # `trim.summarize`
        words = "a summary of what was left out" if not isinstance(name, int) else "summarized"
        back = "ctxkit show LOG --max-tokens off"
        return Reason(reason.kind, None, f"{words}, to fit {budget:,} tokens", back, f"{words}, to fit")
    how = "shortened" if reason.kind == "stub" else "trimmed"
    text = f"{how} to fit {budget:,} tokens: {words}"
    return Reason(reason.kind, None, text, "ctxkit show LOG --max-tokens off", f"{how} to fit ({words})")


def everything(log: OpenLog) -> list[Name]:
    """All numbers and items, in the order of the context, also those outside it."""
    state = log.state()
    names = state.everything()
    return sorted((*names.numbers, *names.items), key=state.key)
