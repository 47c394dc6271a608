"""protect and unprotect: flags that compact, trim, window, remember and an unforced forget respect."""

from __future__ import annotations

from ctxkit.core.names import Names
from ctxkit.core.ops import At, Protect, Unprotect
from ctxkit.core.state import State
from ctxkit.errors import Usage
from ctxkit.policies.decision import Decision


def protect(state: State, at: At, chosen: Names) -> Decision:
    """Protects `chosen` with their steps whole; all protected already: nothing to append."""
    names = state.steps.close(chosen)
    new = [name for name in names if not state.protected(name)]
    if not new:
        return Decision(None, f"Already protected: {_list(state, names)}. Nothing appended.")
    notes = _closed(state, names - chosen)
    told = [(item.name, item.tells & names) for item in state.board.items.values() if item.summary]
    for name, inside in told:
        if inside:
            notes.append(
                f"{_list(state, inside)} stays told by the summary {state.label(name)}; "
                f"`ctxkit recall LOG {inside} --apply` shows it beside"
            )
    return Decision(Protect(at=at, ids=str(names)), f"Protected {_list(state, names)}.", notes)


def unprotect(state: State, at: At, chosen: Names, *, force: bool = False) -> Decision:
    """Takes protection from `chosen` with their steps, the automatic one too; the preamble needs `force` (Usage)."""
    names = state.steps.close(chosen)
    system = [name for name in names if state.is_preamble(name) and state.protected(name)]
    if system and not force:
        raise Usage(
            f"{_list(state, Names.of(system))} belongs to the system preamble: nothing was changed",
            "say --force to take its protection all the same",
        )
    if not any(state.guarded(name) for name in names):
        return Decision(None, f"Not protected: {_list(state, names)}. Nothing appended.")
    notes = _closed(state, names - chosen)
    return Decision(Unprotect(at=at, ids=str(names)), f"No longer protected: {_list(state, names)}.", notes)


def _closed(state: State, added: Names) -> list[str]:
    return [f"taken along, a step is never split: {_list(state, added)}"] if added else []


def _list(state: State, names: Names) -> str:
    items = (state.label(name) for name in sorted(names.items))
    return ",".join(filter(None, (str(names.numbers), *items)))
