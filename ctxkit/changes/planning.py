"""Finds the conversation about forgetting at the end of a log's context.

`changes/planning_exchanges.py` decides which exchanges belong to it; their text and calls are read here, from the
newest back, as far as needed. `search/about.py` does not rank it, and `changes/filter_context.py` proposes to forget
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ctxkit.changes.planning_exchanges import SCRIPT, Exchange, is_ours, planning
from ctxkit.core.context import entry
from ctxkit.core.derive.files import SHELL, script
from ctxkit.core.ended_ops import role_of
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Call, Text
from ctxkit.core.roles import ASSISTANT
from ctxkit.core.select import Planning, opens, tools_of

if TYPE_CHECKING:
    from ctxkit.logfile.open import OpenLog


def planning_of(log: OpenLog, shown: Sequence[Name], *, calling: bool = False) -> Planning:
    """The conversation about forgetting at the end of `shown`. `calling`: a call of filter_context is executed now."""
    return planning(exchanges(log, shown), calling=calling)


def exchanges(log: OpenLog, shown: Sequence[Name]) -> Iterator[Exchange]:
    """The exchanges of `shown`, newest first."""
    state, some = log.state(), list[Name]()
    for name in reversed(shown):
        some.append(name)
        if opens(state, name):
            yield _exchange(log, some[::-1])
            some = []


def _exchange(log: OpenLog, names: Sequence[Name]) -> Exchange:
    """Read from its end, until it is known whether other tools were called."""
    first, worked = len(names), False
    for place in reversed(range(len(names))):
        ours = uses(log, names[place])
        if ours is False:
            worked = True
            break
        first = place if ours else first
    answer = "" if worked else next((text for name in reversed(names[1:]) if (text := _model_text(log, name))), "")
    return Exchange(names, words_of(log, names[0]), answer, names[first:], worked)


def uses(log: OpenLog, name: Name) -> bool | None:
    """Whether all calls and results of a message are of filter_context; None if it has none."""
    state = log.state()
    tools = list(tools_of(state, name))
    if not tools:
        return False if isinstance(name, int) and state.messages[name - 1].results else None
    return all(is_ours(tool) or (SHELL.search(tool) is not None and _in_shell(log, name)) for tool in tools)


def _in_shell(log: OpenLog, name: Name) -> bool:
    """Whether all shells that a message calls, or whose results it has, run `ctxkit tool`."""
    state, ids = log.state(), None
    callers: list[Name] = [name]
    if isinstance(name, int) and (results := state.messages[name - 1].results):
        ids = set(results)
        callers += [n for call in results if (n := state.steps.caller(name, call)) is not None]
    calls = [part for one in callers for part in log.original(one).parts if isinstance(part, Call)]
    mine = [part for part in calls if SHELL.search(part.name) and (ids is None or part.id in ids)]
    return bool(mine) and all(SCRIPT.search(_script(part)) for part in mine)


def _script(call: Call) -> str:
    return script(call.arguments) if isinstance(call.arguments, dict) else str(call.arguments)


def words_of(log: OpenLog, name: Name) -> str:
    """The text of a message, without calls, results and thinking."""
    return "\n".join(part.text for part in log.full(entry(log.state(), name)).parts if isinstance(part, Text))


def _model_text(log: OpenLog, name: Name) -> str:
    """The text of a message of the model; "" for any other message."""
    state = log.state()
    role = role_of(state, name)
    return words_of(log, name).strip() if role in ASSISTANT else ""
