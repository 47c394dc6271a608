"""Searches logs and folders one by one and prints the hits, for `recall`.

`ctxkit/search/full_search.py` searches within one log.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from ctxkit.api.log import Log
from ctxkit.cli.log_access import add_source, criteria_text, opened, selection_of, warn_of_replay
from ctxkit.cli.options import Looking, Reading, Selecting
from ctxkit.cli.terminal import layout, search_view, streams
from ctxkit.core.item_names import Names
from ctxkit.core.text.search_pattern import Needle
from ctxkit.core.visibility import IN
from ctxkit.errors import (
    BadPattern,
    CtxkitError,
    ExitCode,
    ManyConversations,
    MissingHistory,
    NothingMatched,
    UnknownAgent,
    UnknownFormat,
    Usage,
)
from ctxkit.logfile.history import goes_on, joined
from ctxkit.logfile.tolerant import one_of_many
from ctxkit.search.full_search import Search, SearchHit, chosen, states
from ctxkit.search.log_files import is_other, ruin
from ctxkit.search.project_sessions import names_in_order, project, project_sessions
from ctxkit.store.folder import START, file_name, may_be_log, walk
from ctxkit.store.joined import JoinedSource
from ctxkit.store.opening import cannot_open
from ctxkit.store.private import user_cache
from ctxkit.store.scan import Scan
from ctxkit.store.sidecar import Sidecar
from ctxkit.store.source import Source, open_log

if TYPE_CHECKING:
    from ctxkit.cli.regex_timeout import RegexTimeout
    from ctxkit.core.select import SearchLimit
    from ctxkit.search.prefilter import WordPrefilter


MANY = re.compile("[0-9]+(-[0-9]*)?(,[0-9]+(-[0-9]*)?)*")
"""A text that looks like the numbers of messages."""
NAMED = 9
"""How many other sessions a hint names."""


class Searching:
    """Searching and printing."""

    text: list[str] | None = None
    regex: bool = False
    ignore_case: bool = False
    state: str | None = None
    limit: int | None = None

    topic = False
    """TEXT was made from --about, because no text was given."""


class LogSearch:
    """One search over all the logs."""

    def __init__(
        self, places: list[str], searching: Searching, selecting: Selecting, looking: Looking, reading: Reading,
        typed: Sequence[str] = (), names: Mapping[str, str] | None = None, many: bool = False,
    ) -> None:  # fmt: skip
        self.typed = typed or places
        """The places as they were typed: `@2`."""
        self.names = names or {}
        """Path -> name of a session: `@2`."""
        self.logs = 0
        """How many logs were found below folders."""
        self.places = places
        self.searching = searching
        self.selecting = selecting
        self.looking = looking
        self.reading = reading
        self.needle = needle(searching)
        self.limit: SearchLimit | None = time_limit(searching)
        """Of the searches in all logs together."""
        self.kinds = states(searching.state) if searching.state is not None else None
        self.left = searching.limit
        self.many = many or len(places) > 1 or (places[0] != "-" and os.path.isdir(places[0]))
        self.totals = [0, 0, 0, 0]
        """Hits, exchanges and days, and the logs that these are of."""
        self.first_away = ""
        """How to read and to bring back the first hit that is out of the context, in lines; with
        --about the best of the first log with one.
        """
        self.failed = ExitCode.DONE
        """The highest code of the logs that could not be searched."""
        self.prefilter: WordPrefilter | None = None
        if self.many and reading.sidecar is not None:
            raise Usage("--sidecar is for one log, and more were named", "search them one by one, or leave it out")

    def run(self) -> int:
        """Search all places and print the hits; the exit status."""
        with streams.progress("searching", "logs") as step:
            self.search_all(step)
        found, exchanges, days, logs = self.totals
        if found:
            more = " (there may be more: --limit)" if self.left == 0 else ""
            counted = layout.count(exchanges, "exchange")
            if logs < 2:  # two may have hits of one day
                counted += f", {layout.count(days, 'day')}"
            order = "; in the order of the log, not of how well they fit" if self.selecting.about else ""
            streams.flush()
            streams.say(f"{layout.count(found, 'hit')}{f' in {counted}' if exchanges else ''}{more}{order}")
            if away := self.first_away:
                for line in away.splitlines():
                    streams.say(line)
        if self.prefilter is not None:
            streams.flush()  # print everything before the index is updated
            self.prefilter.learn()
        if not found and not self.failed:
            where = ", ".join(self.names.get(place, place) for place in self.places[:3])
            where += f" and {len(self.places) - 3} more" if len(self.places) > 3 else ""
            if not self.logs and all(map(os.path.isdir, self.places)):
                hint = "ctxkit recall @ @2 TEXT searches this project's sessions"
                raise NothingMatched(f"nothing found: no logs below {where}", hint)
            narrowed = self.kinds is not None or criteria_text(self.selecting) is not None
            if self.searching.topic:
                text = f"no message of {where} is about {self.selecting.about!r}"
            elif narrowed:
                text = f"no message of {where} has {self.needle} and fits all criteria"
            else:
                text = f"{self.needle} is nowhere in {where}"
            hint = "" if narrowed or self.searching.topic else self._other_ways()
            error = NothingMatched(f"nothing found: {text}", hint)
            if not self.many and self.places[0] != "-":
                add_source(error, "recall", Path(self.places[0]), *(self.searching.text or [])[:1])
            raise error
        return max(self.failed, ExitCode.DONE if found else ExitCode.NO)

    def _other_ways(self) -> str:
        """How else to search for what was not found."""
        if len(self.typed) == 1 and MANY.fullmatch(text := (self.searching.text or [""])[0]):
            log = shlex.quote(self.typed[0])
            return f"to bring messages back: add --apply; to read them: ctxkit show {log} {text}"
        texts = self.searching.text or []
        cased = any(text.lower() != text.upper() for text in texts)
        case = "-i ignores case" if cased and not self.searching.ignore_case else ""
        about = "--about 'TOPIC' finds messages by their words" if any(len(text.split()) > 1 for text in texts) else ""
        return "; ".join(filter(None, (self._other_sessions(), case, about)))

    def _other_sessions(self) -> str:
        """The command that searches the other sessions of this project, if a session was named by @."""
        if not all(word.startswith("@") for word in self.typed):
            return ""
        here = project(env=os.environ)
        all_names = names_in_order(project_sessions(os.environ, here))
        names = [name for path, name in all_names.items() if path not in self.places]
        if len(names) in (0, len(all_names)):
            return ""
        text = shlex.join((self.searching.text or [""])[:1])
        others = layout.count(len(names), "other session")
        return f"{others} of this project: ctxkit recall {' '.join(names[:NAMED])} {text}"

    def search_all(self, step: Callable[[int, int], None] | None) -> None:
        """Search one place after the other; `step` gets the number that is done, and of how many."""
        for done, place in enumerate(self.places):
            if step is not None and done:
                step(done, len(self.places))
            if place != "-" and os.path.isdir(place):
                self.search_folder(Path(place))
            elif self.many:
                self.search_one_of_many(place)
            else:
                self.search_only(place)
            if self.left == 0:
                break

    def search_folder(self, folder: Path) -> None:
        """Search every log below a folder; other files are skipped."""
        with streams.progress(f"searching {folder}", "files") as step:
            for done, (path, lacks) in enumerate(self.entries(folder)):
                if self.left == 0:
                    return
                if step is not None:
                    step(done, 0)
                if lacks:
                    self.logs += ".git" not in path.parts  # texts there may look like logs
                else:
                    self.search_file(path)

    def entries(self, folder: Path) -> Iterator[tuple[Path, bool]]:
        """The files below a folder that may be logs, each with whether it is known to lack the text."""
        from ctxkit.search.prefilter import WordPrefilter  # brings sqlite3: only where folders are searched
        from ctxkit.store.words import WordIndex

        if self.prefilter is None:
            self.prefilter = WordPrefilter(self.needle, WordIndex(user_cache(os.environ)))
        self.prefilter.enter(folder)
        for entry in walk(folder):
            lacks = None if entry.sidecar else self.prefilter.of(entry)
            if lacks is None and not entry.sidecar and is_other(str(entry.path)):
                lacks = False  # it is named, if it was a log
            if lacks is not None:
                yield entry.path, lacks
        self.prefilter.leave()

    def search_file(self, path: Path) -> None:
        """Search a file below a folder, if it is a log."""
        try:
            with open_log(path) as source:
                start = source.read(0, START)
                if self.name_ruin(str(path), start) or not may_be_log(start):
                    return
                self.logs += ".git" not in path.parts
                if not (self.may_hold(path, source) or Sidecar(path).may_hold_ops()):
                    return
        except CtxkitError as error:
            self.report(str(path), _shut(path) or error)
            return
        self.search_one_of_many(file_name(path), inside=True)

    def name_ruin(self, path: str, start: bytes, error: UnknownFormat | None = None) -> bool:
        """Name a file below a folder if it was a log; the search goes on, and ends as without it."""
        found = ruin(path, start, error) if error is not None or not may_be_log(start) else None
        if found is not None:
            streams.flush_unless_paged()
            streams.warn(found.message, found)
        return found is not None

    def may_hold(self, path: Path, source: Source) -> bool:
        """Whether a file, or one in which its history begins and that is not searched itself, has traces of the text.

        True too if such a file is missing: whoever opens the log is told.
        """
        scan = self.scan()
        scan.start(source, beside=False)
        if scan.everywhere or scan.stretches():
            return True
        format = goes_on(source)
        try:
            whole = joined(path, source, format) if format is not None else None
        except MissingHistory:
            return True
        if whole is None or (self.kinds is None and self.searched_elsewhere(whole)):
            return False
        scan = self.scan()
        scan.start(whole, beside=False)
        return bool(scan.stretches())

    def search_only(self, place: str) -> None:
        """Search the only log. Its errors are errors of the command."""
        try:
            self.one(place)
        except ManyConversations:
            if place == "-":  # a stream can be read once
                raise
            self.many = True
            self.conversations(place)

    def search_one_of_many(self, place: str, *, inside: bool = False) -> None:
        """Search one of several logs. Its errors are reported, and the other logs are searched too."""
        try:
            self.one(place)
        except BadPattern:  # the pattern is wrong, not the log
            raise
        except UnknownFormat as error:
            if not inside:
                self.report(place, error)
            else:
                with open_log(place) as source:
                    self.name_ruin(place, source.read(0, START), error)
        except UnknownAgent:  # another log may have the agent or thread
            pass
        except ManyConversations as error:
            if place == "-":
                self.report(place, error)
            else:
                self.conversations(place)
        except CtxkitError as error:
            self.report(place, error)

    def conversations(self, place: str) -> None:
        """Search each conversation of a file that holds many."""
        number = 1
        while self.left != 0:
            self.reading.conversation = number
            try:
                self.one(place)
            except Usage:
                if number == 1:
                    raise
                break  # there is no such conversation: that was the last
            except UnknownAgent:  # another conversation may have the agent or thread
                pass
            except BadPattern:
                raise
            except CtxkitError as error:
                self.report(place, error)
            number += 1
        self.reading.conversation = None

    def report(self, place: str, error: CtxkitError) -> None:
        """Report the error of one of several logs."""
        streams.flush_unless_paged()
        text = error.message.partition("\n")[0] if isinstance(error, ManyConversations) else error.message
        streams.warn(text if place in text else f"{place}: {text}", error)
        self.failed = max(self.failed, error.code)

    def scan(self) -> Scan:
        """A new scan for the traces of the text."""
        return Scan(self.needle.traces, fold=self.needle.ignore_case)

    def one(self, place: str) -> None:
        """Search one log and print its hits. One of many never ends the search by an unexpected error."""
        if self.many:
            with one_of_many(place):
                self.search_log(place)
        else:
            self.search_log(place)

    def search_log(self, place: str) -> None:
        """Search one log and print its hits."""
        scan = self.scan()
        beside = place != "-" and Sidecar(Path(place), _folder(self.reading)).may_hold_ops()
        early = not (beside or self.reading.sidecar or self.reading.conversation or criteria(self.selecting))
        try:
            log = opened(place, self.reading, self.looking, command="recall",
                         before=lambda source: scan.start(source, early=early and goes_on(source) is None))  # fmt: skip
        except NothingMatched:  # its bytes cannot hold the text
            return
        set_view(log, self.selecting)
        search = Search(log, self.needle, scan)
        hits = self.limited(self.matching(log, search))
        name = log.opening.name
        if log.opening.conversation is not None:
            name = f"{name}#{log.opening.conversation}"
        self.printed(name, log, hits)
        for n in search.unreadable:
            streams.say(f"{name}: message {n} cannot be searched: nested too deeply")
        streams.flush_unless_paged()
        warn_of_replay(log, name if self.many else "")

    def printed(self, name: str, log: Log, hits: Iterator[SearchHit]) -> None:
        """Print the hits of one log."""
        if self.reading.json:
            for hit in hits:
                streams.out_json(search_view.as_json(log, hit))
                self.totals[0] += 1
            return
        first = next(hits, None)
        if first is None:
            return
        if self.many:
            if self.totals[0]:
                streams.out("")
            streams.out(search_view.title(f"{self.names[name]}  {name}" if name in self.names else name))
        among = self.names.get(name, name) if self.many else ""
        found = search_view.show(log, self._keep_away(log, chain([first], hits)), among=among)
        self.totals = [a + b for a, b in zip(self.totals, (*found, 1), strict=True)]

    def _keep_away(self, log: Log, hits: Iterator[SearchHit]) -> Iterator[SearchHit]:
        """Yield the hits, and set `first_away`."""
        best: SearchHit | None = None
        scores = log.ranked.scores
        for hit in hits:
            away = hit.visibility.kind != IN and not hit.by and log.opening.conversation is None
            better = best is None or scores.get(hit.name, 0) > scores.get(best.name, 0)
            best = hit if away and better and not self.first_away else best
            yield hit
        if best is not None:
            path = str(log.opening.path or "-")
            self.first_away = ways_back(log, best, shlex.quote(self.names.get(path, path)))

    def searched_elsewhere(self, whole: Source) -> bool:
        """Whether the files in which a history begins (replay 70) are all searched too."""
        if not isinstance(whole, JoinedSource):
            return False
        places = [Path(os.path.realpath(place)) for place in self.places if place != "-"]
        others = (Path(os.path.realpath(path)) for path in whole.others)
        return all(any(place == path or place in path.parents for place in places) for path in others)

    def matching(self, log: Log, search: Search) -> Iterator[SearchHit]:
        """The hits that fit the criteria and --state."""
        wanted = selection_of(log, None, self.selecting)
        if self.limit is not None:
            log.limit = self.limit
        elif self.selecting.grep is not None:
            self.limit = log.limit
        try:
            hits = search.hits()
            alike = self.many and self.kinds is None  # else what ops decided counts, which each log does by itself
            if alike and self.searched_elsewhere(log.opening.laid_out):
                inherited = log.transcript.inherited
                hits = (hit for hit in hits if not (isinstance(hit.name, int) and hit.name <= inherited))
            if self.kinds is not None:
                kinds = self.kinds
                hits = (hit for hit in hits if hit.visibility.kind in kinds)
            if not wanted.criteria:
                yield from hits
                return
            held = list(hits)
            try:
                names = log.select(wanted, [*dict.fromkeys(name for name in chosen(log, held))])
            except NothingMatched:
                return
            yield from (hit for hit in held if hit.name in names)
        finally:
            log.limit.stop()

    def limited(self, hits: Iterator[SearchHit]) -> Iterator[SearchHit]:
        """The hits that --limit allows."""
        for hit in hits:
            if self.left == 0:
                return
            if self.left is not None:
                self.left -= 1
            yield hit


def ways_back(log: Log, hit: SearchHit, typed: str) -> str:
    """How to read a hit and to bring it back, alone or with its exchange, in two lines; each way has its price.

    `typed`: the log, as it is to be typed.
    """
    exchange = exchange_of(log, hit)
    step = log.state().steps.close(Names.of([hit.name]))
    if any(out.boundary for out in log.state().board.holding(step)):  # no recall crosses a clear or an edit
        return f"to read: ctxkit show {typed} {exchange}\nto bring back: ctxkit why {typed} {hit.label} tells how"
    back = f"to bring back: ctxkit recall {typed} {hit.label} --apply{_price(log, hit.label)}"
    whole = "" if exchange == hit.label else f"; with its exchange {exchange}{_price(log, exchange)}"
    return f"to read: ctxkit show {typed} {exchange}\n{back}{whole}"


def _price(log: Log, names: str) -> str:
    """The tokens that these messages, and the steps that they are of, add to the context; "" if counting takes long."""
    from ctxkit.measure.size import size_at_hand  # imports sqlite3

    state = log.state()
    coming = state.steps.close(Names.parse(names)) - Names.of(log.listed())
    size = size_at_hand(log, sorted(coming, key=state.key))
    return "" if size is None else f" ({'about ' * size.rough}{size.tokens:,} tokens)"


def exchange_of(log: Log, hit: SearchHit) -> str:
    """The messages of the hit's exchange, `173-185`; of a hit in none its own name."""
    if not hit.exchange or not isinstance(hit.name, int):
        return hit.label
    messages = log.state().messages
    opening = (n for n in range(hit.exchange + 1, len(messages) + 1) if messages[n - 1].opens)
    last = next(opening, len(messages) + 1) - 1
    return f"{hit.exchange}-{last}" if hit.exchange < last and hit.name <= last else hit.label


def needle(searching: Searching) -> Needle:
    """The text to search for. Raises Usage, BadPattern."""
    return Needle(*(searching.text or [""]), regex=searching.regex, ignore_case=searching.ignore_case)


def set_view(log: Log, selecting: Selecting) -> None:
    """View the log as `show` does: whether a message is in the context depends on the agent and the thread."""
    if not selecting.invert:
        log.lens_agent, log.lens_thread = selecting.agent, selecting.thread


def time_limit(searching: Searching) -> RegexTimeout | None:
    """The time limit of a regular expression, for all logs together."""
    if not searching.regex:
        return None
    from ctxkit.cli.regex_timeout import RegexTimeout

    return RegexTimeout(" or ".join(searching.text or ()), option="--regex")


def criteria(selecting: Selecting) -> bool:
    """Whether messages are chosen by criteria."""
    return any(getattr(selecting, key) for key in Selecting.__annotations__)


def _folder(reading: Reading) -> Path | None:
    return Path(reading.sidecar) if reading.sidecar else None


def _shut(path: Path) -> CtxkitError | None:
    """Why a folder that was found below another cannot be looked into; None for a file."""
    try:
        os.listdir(path)
    except NotADirectoryError:
        return None
    except OSError as error:
        return cannot_open(path, error)
    return None
