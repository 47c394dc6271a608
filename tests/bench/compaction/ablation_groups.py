"""The groups of rules that an ablation takes out: module, name, and what stands there instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

Change = tuple[str, Any]
NEVER = re.compile(r"(?!)")


def no_part(word: str) -> Callable[[Any], Any]:
    """Takes parts of the state out that begin with `word`."""

    def change(entries: Any) -> Any:
        def kept(self: Any, *args: Any) -> Any:
            return (part for part in entries(self, *args) if not part.lines[0].startswith(word))

        return kept

    return change


S, H, F, G = "cut.rank.scoring:", "cut.summarize.state_header:", "cut.summarize.failures:", "cut.units.segments:"
FACTS, TEXT, C = "cut.rank.facts:", "cut.summarize.summary_text:", "cut.rank.candidates:"
GROUPS: dict[str, list[Change]] = {
    "class weights": [(S + "CLASSES", {})],
    "items over facts": [(S + "ITEMS", 1.0), (S + "WORDS", 1.0)],
    "items 4, words 4": [(S + "ITEMS", 4.0)],
    "events by length": [(S + "EVENTS", frozenset()), (S + "QUOTED", frozenset())],
    "ease": [(S + "EASE", 0.01)],
    "said by place": [(S + "PLACED", 1.0)],
    "shortness": [(S + "SHORTNESS", 0.0)],
    "often": [(S + "OFTEN", 0.0)],
    "named by calls or people": [(S + "NAMED", 1.0)],
    "again by argument": [(S + "AGAIN", {})],
    "again by kind": [
        (S + "AGAIN", {}), (S + "ARGUMENT", 1.0), (S + "ANSWER", 1.0), (S + "READ", 1.0), (S + "WRITTEN", 1.0),
        (S + "PRINTED", 1.0), (S + "TYPED", 1.0),
    ],
    "active": [(S + "ACTIVE", 1.0)],
    "recency of items": [(S + "RECENCY", 0.0)],
    "length of lines": [(S + "LENGTH", 1e9)],
    "all weights": [],
    "no words": [(S + "WORDS", 0.0)],
    "state": [("cut.summarize.extraction:SHARE", 0.0)],
    "state: request": [(H + "SessionState.entries", no_part("Last request"))],
    "state: tasks": [(H + "SessionState.entries", no_part("Open tasks"))],
    "state: failing": [(H + "SessionState.entries", no_part("Failing"))],
    "state: said": [(H + "SessionState.entries", no_part("Said last"))],
    "state: edited": [(H + "SessionState.entries", no_part("Edited"))],
    "state: rules": [(H + "SessionState.entries", no_part("The user's rule"))],
    "decides": [(FACTS + "DECIDES", NEVER)],
    "pends": [(FACTS + "PENDS", NEVER)],
    "defines": [(FACTS + "DEFINES", NEVER)],
    "failures: says": [(F + "HINT", NEVER)],
    "failures: begins": [(F + "BEGINS", NEVER)],
    "failures: got listed": [(F + name, NEVER) for name in ("GOT", "LISTED")],
    "failures: passed": [(F + "PASSED", NEVER)],
    "failures: superseded by others": [(F + "CommandRuns._checks_as_much", lambda old: lambda self, *a: False)],
    "failures: mended": [(F + "CommandRuns._drop", lambda old: lambda self, key, later, **k: self._newest.pop(key))],
    "typed and pasted": [(G + "TYPED", 10**9)],
    "listings": [(G + "LISTING", NEVER), (G + "LISTED", NEVER)],
    "noise": [(G + "NOISE", NEVER)],
    "alike": [(G + "ALIKE", NEVER)],
    "ends of answers": [(G + "_ends", lambda old: lambda text: ())],
    "index": [(TEXT + "SummaryLayout._index", lambda old: lambda self, lines: ())],
    "filled gaps": [(TEXT + "FILLED", 0)],
    "unnumbered": [("cut.units.text_segments:_unnumbered", lambda old: lambda text: text)],
    "tail": [(C + "TAIL", 0.0)],
    "tail 0.3": [(C + "TAIL", 0.3)],
}  # fmt: skip
GROUPS["all weights"] = [
    change for name in (
        "class weights", "events by length", "ease", "said by place", "shortness", "often", "named by calls or people",
        "again by kind", "active", "recency of items", "length of lines",
    ) for change in GROUPS[name]
]  # fmt: skip
