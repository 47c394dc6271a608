"""Ranks the messages of many logs by a topic and prints the best by day and topic, for `recall --about`.

Pipeline: `log_search.py` walks the logs -> `search/across.py` ranks -> the logs with hits are opened again for what is
printed.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxkit.api.log import Log
from ctxkit.cli.log_access import opened, selection_of
from ctxkit.cli.log_search import LogSearch, Searching, exchange_of, set_view
from ctxkit.cli.options import Selecting
from ctxkit.cli.terminal import layout, search_view, streams
from ctxkit.core.visibility import Visibilities
from ctxkit.errors import NothingMatched
from ctxkit.search.full_search import Search, SearchHit

if TYPE_CHECKING:
    from ctxkit.search.across import AcrossLogs, RankedMessage, Topic

Hit = tuple["RankedMessage", SearchHit]


class Opened(NamedTuple):
    """A log that was ranked: how it is opened again, and its name."""

    place: str
    conversation: int | None
    name: str


class RankedSearch(LogSearch):
    """One ranking over all the logs."""

    across: AcrossLogs

    @staticmethod
    def fits(places: Sequence[str], searching: Searching, selecting: Selecting, *, here: bool) -> bool:
        """Whether logs are ranked together: several, or a folder, by words, and hits are printed."""
        several = here or len(places) > 1 or (places[0] != "-" and Path(places[0]).is_dir())
        return several and searching.topic and selecting.about_model is None

    def run(self) -> int:
        """Rank the messages of all places and print the best; the exit status."""
        from ctxkit.search.across import AcrossLogs  # brings sqlite3

        self.opened: list[Opened] = []
        self.criteria = Selecting()
        for key in Selecting.__annotations__:
            setattr(self.criteria, key, getattr(self.selecting, key))
        self.criteria.about = self.criteria.top = None
        with AcrossLogs() as self.across:
            with streams.progress("searching", "logs") as step:
                self.search_all(step)
            best = self.across.best(self.selecting.about or "", self.selecting.top)[: self.searching.limit]
        if not best:
            if self.failed:
                return self.failed
            where = "this project's sessions" if not self.typed or (self.typed == self.places and self.names) else ""
            where = where or ", ".join(self.places[:3]) + (", …" if len(self.places) > 3 else "")
            logs = layout.count(len(self.opened), "log")
            raise NothingMatched(f"nothing found: no message of {where} ({logs}) is about {self.selecting.about!r}")
        self._print(best, layout.count(len(self.opened), "log"))
        return self.failed

    def search_log(self, place: str) -> None:
        """Add the messages of one log to the ranking."""
        log = opened(place, self.reading, self.looking, command="recall")
        set_view(log, self.selecting)
        wanted = selection_of(log, None, self.criteria)
        numbers = range(1, log.state().count + 1)
        names: Any = numbers
        if wanted.criteria:
            try:
                names = [n for n in log.select(wanted, list(log.state().everything())) if isinstance(n, int)]
            except NothingMatched:
                names = []
        if self.kinds is not None:
            visibilities = Visibilities(log.state(), log.projection())
            names = [n for n in names if visibilities.of(n).kind in self.kinds]
        name = self.names.get(log.opening.name, log.opening.name)
        if log.opening.conversation is not None:
            name = f"{name}#{log.opening.conversation}"
        self.opened.append(Opened(place, log.opening.conversation, name))
        self.across.add(log, names)

    def _print(self, best: Sequence[RankedMessage], searched: str) -> None:
        """Print the best messages. `searched`: in how many logs they were found, in words."""
        from ctxkit.search.across import grouped

        logs = {place: (one.name, self._again(one)) for place, one in self._with_hits(best)}
        hits: dict[tuple[int, int], SearchHit] = {}
        for place, (_, log) in logs.items():
            search = Search(log, self.needle)
            for n in sorted(one.n for one in best if one.log == place):
                hit = search.message(n)
                if hit is not None:
                    hits[place, n] = hit
        found: list[Hit] = [(one, hits[one.log, one.n]) for one in best if (one.log, one.n) in hits]
        others = {place: (one.name, None) for place, one in enumerate(self.opened)}
        if self.reading.json:
            for rank, (one, hit) in enumerate(found, 1):
                log = logs[one.log][1]
                log.ranked.scores = {hit.name: one.percent}
                also = [others[place][0] for place in one.also]
                streams.out_json({"rank": rank, **search_view.as_json(log, hit), "also": also})
        else:
            days = grouped(found, lambda one: search_view.day_of(one[1]), _topic)
            topics = search_view.show_topics(days, logs, {place: name for place, (name, _) in others.items()})
            streams.flush()
            if not found:
                return
            first = found[0]
            named = shlex.quote(logs[first[0].log][0])
            streams.say(
                f"{layout.count(len(found), 'message')} in {layout.count(topics, 'topic')}, "
                f"{layout.count(len(days), 'day')}, of {searched}; % of the best"
            )
            shown = exchange_of(logs[first[0].log][1], first[1])
            streams.say(f"to read the best: ctxkit show {named} {shown}")

    def _with_hits(self, best: Sequence[RankedMessage]) -> list[tuple[int, Opened]]:
        return [(place, self.opened[place]) for place in sorted({one.log for one in best})]

    def _again(self, one: Opened) -> Log:
        """The log, opened again; what it had to report was reported."""
        reading = self.reading
        log = Log.open(one.place, sidecar=reading.sidecar, conversation=one.conversation, format=reading.from_)
        log.redactor = streams.Streams.redactor
        log.force, log.now = reading.force_replay, reading.now
        log.at = self.looking.at if self.looking.at != "now" else None
        set_view(log, self.selecting)
        return log


def _topic(one: Hit) -> Topic:
    from ctxkit.search.across import Topic

    return Topic(one[0].log, one[1].exchange, one[0].percent)
