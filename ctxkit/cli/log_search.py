"""A search over logs and folders: its options, one log after the other, and what is printed of it.

Used by `recall`; the search within one log is `ctxkit/search/full_search.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ctxkit.api.log import Log
from ctxkit.cli.log_access import asked, criteria_text, opened, remark
from ctxkit.cli.options import Looking, Reading, Selecting
from ctxkit.cli.terminal import layout, search_view, streams
from ctxkit.core.text.search_pattern import Needle
from ctxkit.errors import (
    BadPattern,
    CtxkitError,
    ExitCode,
    ManyConversations,
    NothingMatched,
    UnknownAgent,
    UnknownFormat,
    Usage,
)
from ctxkit.logfile.tolerant import one_of_many
from ctxkit.search.full_search import Search, SearchHit, chosen, states
from ctxkit.store.folder import START, may_be_log, walk
from ctxkit.store.scan import Scan
from ctxkit.store.sidecar import Sidecar, user_cache
from ctxkit.store.source import open_log

if TYPE_CHECKING:
    from ctxkit.cli.regex_timeout import RegexTimeout
    from ctxkit.core.select import SearchLimit
    from ctxkit.search.prefilter import WordPrefilter


class Searching:
    """Searching and printing."""

    text: Annotated[
        list[str] | None,
        typer.Option(
            "-e", "--text", metavar="TEXT", help="The text to find; then all words are logs. Repeat for alternatives."
        ),
    ] = None
    regex: Annotated[bool, typer.Option("--regex", help="TEXT is a regular expression; ^ and $ are ends of lines.")] = (
        False
    )
    ignore_case: Annotated[bool, typer.Option("-i", "--ignore-case", help="Ignore case.")] = False
    state: Annotated[
        str | None, typer.Option(metavar="STATE,...", help="Only hits in this state: in, out, forgotten, rewound, ...")
    ] = None
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Stop after N hits.")] = None
    count: Annotated[bool, typer.Option("-c", "--count", help="Print only the number of hits of each log.")] = False
    files_with_matches: Annotated[
        bool, typer.Option("-l", "--files-with-matches", help="Print only the names of logs with hits.")
    ] = False
    null: Annotated[bool, typer.Option("-0", "--null", help="With -l: end each name with a NUL byte.")] = False

    topic = False
    """TEXT was made of what --about says: no text was given."""


class LogSearch:
    """One search over all the logs."""

    def __init__(
        self, places: list[str], searching: Searching, selecting: Selecting, looking: Looking, reading: Reading
    ) -> None:
        self.places = places
        self.searching = searching
        self.selecting = selecting
        self.looking = looking
        self.reading = reading
        self.needle = needle(searching)
        self.limit: SearchLimit | None = deadline(searching)
        """Bounds searches in all logs together."""
        self.kinds = states(searching.state) if searching.state is not None else None
        self.left = searching.limit
        self.many = len(places) > 1 or (places[0] != "-" and os.path.isdir(places[0]))
        self.totals = [0, 0, 0]
        self.gathered: int | None = None
        self.failed = ExitCode.NO
        self.lacking: WordPrefilter | None = None
        streams.Streams.quiet = reading.quiet
        if self.many and reading.sidecar is not None:
            raise Usage("--sidecar is for one log, and more were named", "search them one by one, or leave it out")
        if searching.count and searching.files_with_matches:
            raise Usage("-c and -l cannot be combined", "use only one of them")
        if searching.null and (not searching.files_with_matches or reading.json):
            raise Usage("-0 is for the names that -l prints, and not for --json", "recall FOLDER TEXT -l -0")

    def all(self) -> int:
        """Search all of them; the exit status."""
        with streams.progress("searching", "logs") as step:
            self.every(step)
        found, exchanges, days = self.totals
        names = self.searching.count or self.searching.files_with_matches
        if found and not names:
            more = " at least: --limit" if self.left == 0 else ""
            counted = f"{layout.count(exchanges, 'exchange')}, {layout.count(days, 'day')}"
            streams.flush()
            streams.say(f"{layout.count(found, 'hit')}{f' in {counted}' if exchanges else ''}{more}")
        if self.lacking is not None:
            streams.flush()  # whoever reads it has all of it before words are learnt
            self.lacking.learn()
        if not found and self.failed is ExitCode.NO and not names:
            where = ", ".join(self.places[:3]) + (", …" if len(self.places) > 3 else "")
            narrowed = self.kinds is not None or criteria_text(self.selecting) is not None
            stand = "is in no message that fits all criteria of" if narrowed else "is nowhere in"
            what = f"what is about {self.selecting.about!r}" if self.searching.topic else self.needle
            raise NothingMatched(f"nothing found: {what} {stand} {where}")
        return ExitCode.DONE if found else self.failed

    def every(self, step: Callable[[int, int], None] | None) -> None:
        """One place after the other; `step` is told how many are done."""
        for done, place in enumerate(self.places):
            if step is not None and done:
                step(done, len(self.places))
            if place != "-" and os.path.isdir(place):
                self.folder(Path(place))
            elif self.many:
                self.tried(place)
            else:
                self.single(place)
            if self.left == 0:
                break

    def folder(self, folder: Path) -> None:
        """Every log below it; what is none is passed over."""
        from ctxkit.search.prefilter import WordPrefilter  # brings sqlite3: only where folders are searched
        from ctxkit.store.words import WordIndex

        if self.lacking is None:
            self.lacking = WordPrefilter(self.needle, WordIndex(user_cache(os.environ)))
        self.lacking.enter(folder)
        with streams.progress(f"searching {folder}", "files") as step:
            for done, entry in enumerate(walk(folder)):
                if self.left == 0:
                    return
                if step is not None:
                    step(done, 0)
                lacks = False if entry.sidecar else self.lacking.of(entry)
                if lacks:
                    self.counted(str(entry.path), 0)
                elif lacks is False and not entry.sidecar:
                    self.file(entry.path)
        self.lacking.leave(whole=True)

    def file(self, path: Path) -> None:
        """A file below a folder."""
        try:
            with open_log(path) as source:
                if not may_be_log(source.read(0, START)):
                    return
                scan = self.scan()
                scan.start(source, beside=False)
                if not (scan.everywhere or scan.stretches() or Sidecar(path).may_hold_ops()):
                    self.counted(str(path), 0)
                    return
        except CtxkitError as error:
            self.report(str(path), error)
            return
        self.tried(str(path), inside=True)

    def single(self, place: str) -> None:
        """The only log: what is wrong with it is an error of the command."""
        try:
            self.one(place)
        except ManyConversations:
            if place == "-":  # a stream can be read once
                raise
            self.many = True
            self.conversations(place)

    def tried(self, place: str, *, inside: bool = False) -> None:
        """One of several logs: an error is reported, and the others are searched all the same."""
        try:
            self.one(place)
        except BadPattern:  # what is wrong is no log
            raise
        except UnknownFormat as error:
            if not inside:
                self.report(place, error)
        except UnknownAgent:  # of several logs, one that has it may come yet
            self.counted(place, 0)
        except ManyConversations as error:
            if place == "-":
                self.report(place, error)
            else:
                self.conversations(place)
        except CtxkitError as error:
            self.report(place, error)

    def conversations(self, place: str) -> None:
        """Each conversation of a file that holds many; what is counted is counted of the file."""
        number = 1
        self.gathered = 0
        while self.left != 0 and not (self.gathered and self.searching.files_with_matches):
            self.reading.conversation = number
            try:
                self.one(place)
            except Usage:
                if number == 1:
                    raise
                break  # there is no such conversation: that was the last
            except UnknownAgent:  # another one may have it
                pass
            except BadPattern:
                raise
            except CtxkitError as error:
                self.report(place, error)
            number += 1
        self.reading.conversation = None
        found, self.gathered = self.gathered, None
        self.counted(place, found)

    def report(self, place: str, error: CtxkitError) -> None:
        """Say what is wrong with one log, and which one it is."""
        streams.settle()
        text = error.message.partition("\n")[0] if isinstance(error, ManyConversations) else error.message
        streams.warn(text if place in text else f"{place}: {text}")
        self.failed = error.code if self.failed is ExitCode.NO else self.failed

    def scan(self) -> Scan:
        """A new scan for the traces of the text."""
        return Scan(self.needle.traces, fold=self.needle.ignore_case)

    def one(self, place: str) -> None:
        """Search one log and print what is found in it; of many, none ends the search."""
        if self.many:
            with one_of_many(place):
                self.searched(place)
        else:
            self.searched(place)

    def searched(self, place: str) -> None:
        """The same without a net."""
        scan = self.scan()
        beside = place != "-" and Sidecar(Path(place), _folder(self.reading)).may_hold_ops()
        early = not (beside or self.reading.sidecar or self.reading.conversation or criteria(self.selecting))
        try:
            log = opened(place, self.reading, self.looking, command="recall",
                         before=lambda source: scan.start(source, early=early))  # fmt: skip
        except NothingMatched:  # the bytes say so already
            self.counted(place, 0)
            return
        look(log, self.selecting)
        search = Search(log, self.needle, scan)
        hits = self.limited(self.kept(log, search))
        name = log.opening.name
        if self.searching.files_with_matches:
            self.counted(name, int(next(hits, None) is not None))
        elif self.searching.count:
            self.counted(name, sum(1 for _ in hits))
        else:
            if log.opening.conversation is not None:
                name = f"{name}#{log.opening.conversation}"
            self.printed(name, log, hits)
        for n in search.unreadable:
            streams.say(f"{name}: message {n} cannot be searched: nested too deeply")
        streams.settle()
        remark(log, name if self.many else "")

    def printed(self, name: str, log: Log, hits: Iterator[SearchHit]) -> None:
        """The hits of one log."""
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
            streams.out(search_view.title(name))
        found = search_view.show(log, _before(first, hits), among=name if self.many else "")
        self.totals = [a + b for a, b in zip(self.totals, found, strict=True)]

    def counted(self, name: str, count: int) -> None:
        """How many hits a log has, as grep -c prints it, or its name where it has any, as grep -l does."""
        if self.gathered is not None:
            self.gathered += count
            return
        self.totals[0] += count
        if self.searching.count:
            if self.reading.json:
                streams.out_json({"log": name, "count": count})
            else:
                streams.out(f"{name}:{count}" if self.many else str(count))
        elif self.searching.files_with_matches and count:
            if self.reading.json:
                streams.out_json({"log": name})
            elif self.searching.null:
                streams.out_bytes([os.fsencode(name) + b"\0"])
            else:
                streams.out(name)

    def kept(self, log: Log, search: Search) -> Iterator[SearchHit]:
        """The hits that the criteria and --state leave."""
        wanted = asked(log, None, self.selecting)
        if self.limit is not None:
            log.limit = self.limit
        elif self.selecting.grep is not None:
            self.limit = log.limit
        try:
            hits = search.hits()
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
        """As many as --limit leaves."""
        for hit in hits:
            if self.left == 0:
                return
            if self.left is not None:
                self.left -= 1
            yield hit


def needle(searching: Searching) -> Needle:
    """What was asked for. Raises Usage, BadPattern."""
    return Needle(*(searching.text or [""]), regex=searching.regex, ignore_case=searching.ignore_case)


def look(log: Log, selecting: Selecting) -> None:
    """See the log as `show` does with these criteria: where a message stands depends on the agent and the thread."""
    if not selecting.invert:
        log.lens_agent, log.lens_thread = selecting.agent, selecting.thread


def deadline(searching: Searching) -> RegexTimeout | None:
    """What bounds the matches of a regular expression in time, in all logs together."""
    if not searching.regex:
        return None
    from ctxkit.cli.regex_timeout import RegexTimeout

    return RegexTimeout(" or ".join(searching.text or ()), option="--regex")


def criteria(selecting: Selecting) -> bool:
    """Whether messages are chosen by what they are."""
    return any(getattr(selecting, key) for key in Selecting.__annotations__)


def _folder(reading: Reading) -> Path | None:
    return Path(reading.sidecar) if reading.sidecar else None


def _before(first: SearchHit, rest: Iterator[SearchHit]) -> Iterator[SearchHit]:
    yield first
    yield from rest
