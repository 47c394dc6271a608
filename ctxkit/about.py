"""About: which messages of a log are about a text, by the words they have (`--about`).

Pipeline: `Log.select` resolves the other criteria (`core/select.py`) and ranks what they leave here; the words are
counted over all that is shown (`store/relevance.py`), so that a word is as rare as it is in the whole context.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from ctxkit.core.names import Name
from ctxkit.core.select import Selection
from ctxkit.core.topic import cut, terms
from ctxkit.errors import NothingMatched, Usage
from ctxkit.store.relevance import ranked
from ctxkit.store.words import available

if TYPE_CHECKING:
    from ctxkit.opened import OpenedLog


class About:
    """One question to one log. Its answers are put into `log.scores`."""

    def __init__(self, log: OpenedLog, asked: Selection) -> None:
        self.log = log
        self.asked = asked
        self.text = asked.about or ""

    def __call__(self, shown: Sequence[Name], chosen: Sequence[Name]) -> Collection[Name]:
        """Those of `chosen` that are about the text: the best ones. Raises NothingMatched where none is, Usage."""
        sought = terms(self.text)
        if not available():
            raise Usage("--about needs FTS5, which this SQLite was built without: nothing was selected", "--grep REGEX")
        found = ranked(map(self.log.text, shown), sought)
        among = set(chosen)
        scores = {shown[place]: score for place, score in sorted(found.items()) if shown[place] in among}
        self.log.scores = cut(scores, self.asked.top)
        if not self.log.scores:
            raise NothingMatched(f"no message is about {self.text!r}", "other words? ctxkit recall LOG TEXT searches")
        return self.log.scores.keys()
