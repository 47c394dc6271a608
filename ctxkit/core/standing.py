"""Standing: for every message one word that says whether it is in the context, and if not, what took it out first.

Used by `status` (how many of each), `recall` (the state of a hit) and `show --explain`; `reasons` has the whole story
of one message. Reads a `State` through a `Lens`.
"""

from __future__ import annotations

from functools import cached_property
from itertools import chain

import msgspec

from ctxkit.core.context import NO_LENS, Lens, belongs, in_window, listed, protected_steps, shown_names, windowed
from ctxkit.core.effects import HIDING, Out
from ctxkit.core.names import Name, Names
from ctxkit.core.ranges import Ranges
from ctxkit.core.state import State

IN = "in"

WORDS: dict[str, str] = {
    IN: "in the context",
    "forget": "forgotten",
    "remember": "left out by remember",
    "rewind": "rewound",
    "interrupted": "interrupted",
    "clear": "cleared",
    "edit": "left out by an edit",
    "restore": "replaced by a restore",
    "compact": "compacted",
    "trim": "trimmed",
    "program": "taken out by the log's own program",
    "branch": "on another branch",
    "sidechain": "in a sidechain",
    "window": "out of the window",
    "newest": "beyond the newest that are shown",
    "filter": "of another agent or thread",
}
"""Kind -> how people say it, in the order in which they are listed."""


class Standing(msgspec.Struct, frozen=True):
    """Where a message stands. `kind`: a key of WORDS; `op`: the number of the op that took it out first, if one did."""

    kind: str
    op: int | None = None

    @property
    def words(self) -> str:
        """`forgotten by op 5`."""
        if self.op is None:
            return WORDS.get(self.kind, self.kind)
        said = WORDS.get(self.kind, self.kind)
        return f"{said} (op {self.op})" if " " in said else f"{said} by op {self.op}"


class Standings:
    """The standing of every message and item of `state`, seen through `lens`.

    Each has exactly one: what took it out first counts, absence before mere hiding, the program's own view and the
    lens last. So the figures of `tally` add up to all there are.
    """

    def __init__(self, state: State, lens: Lens = NO_LENS) -> None:
        self.state = state
        self.lens = lens

    @cached_property
    def visible(self) -> Names:
        """What is in the projected context."""
        lens = self.lens
        if lens.agent is None and lens.thread is None and lens.newest is None and not windowed(self.state, lens):
            return self.state.shown()  # no message is looked at
        found = listed(self.state, lens)
        return Names(Ranges.span(found[0], found[-1])) if isinstance(found, range) and found else Names.of(found)

    @cached_property
    def _outs(self) -> list[Out]:
        outs = self.state.board.outs
        return [*(o for o in outs if o.kind not in HIDING), *(o for o in outs if o.kind in HIDING)]

    @cached_property
    def _away(self) -> Ranges:
        """What the program's view leaves out; seen from a sidechain, the others are of another thread."""
        state = self.state
        return state.away - state.aside if self.lens.thread in state.threads else state.away

    @cached_property
    def _stages(self) -> list[tuple[str, Names]]:
        """What the lens lets through, step by step: a name that the first lets pass is hidden by a later one."""
        lens = self.lens
        state, timed = self.state, msgspec.structs.replace(lens, newest=None)
        shown = shown_names(state, lens.thread)
        passed = (name for name in shown if belongs(state, name, lens.agent, lens.thread))
        return [("filter", Names.of(passed)), ("window", Names.of(listed(state, timed)))]

    def of(self, name: Name) -> Standing:
        """The standing of one name."""
        if name in self.visible:
            return Standing(IN)
        for out in self._outs:
            if name in out.names:
                return Standing(out.kind, out.source if out.source > 0 else None)
        if isinstance(name, int) and name in self._away:
            return Standing(self.state.inactive_reason[name])
        return Standing(next((kind for kind, passed in self._stages if name not in passed), "newest"))

    def hidden(self, name: Name) -> list[str]:
        """What of the lens hides `name`, or would if no op did: `filter`, `window`; `newest` where these do not."""
        state, lens = self.state, self.lens
        found = [] if belongs(state, name, lens.agent, lens.thread) else ["filter"]
        if windowed(state, lens) and state.last is not None and not in_window(state, lens, name, self._kept_steps):
            found.append("window")
        return ["newest"] if not found and self.of(name).kind == "newest" else found

    @cached_property
    def _kept_steps(self) -> Names:
        return protected_steps(self.state)

    def tally(self) -> dict[str, int]:
        """How many names stand where: kinds in the order of WORDS, those without any left out."""
        found = {IN: len(self.visible)}
        rest = self.state.everything() - self.visible
        for out in self._outs:
            if out.names.meets(rest):
                here = out.names & rest
                found[out.kind] = found.get(out.kind, 0) + len(here)
                rest = rest - here
        for n in rest.numbers & self._away:
            kind = self.state.inactive_reason[n]
            found[kind] = found.get(kind, 0) + 1
        rest = Names(rest.numbers - self._away, rest.items)
        for kind, passed in self._stages if rest else ():
            hidden = rest - passed
            found[kind] = len(hidden)
            rest = rest - hidden
        found["newest"] = len(rest)
        order = dict.fromkeys(chain(WORDS, found))
        return {kind: found[kind] for kind in order if found.get(kind) or kind == IN}
