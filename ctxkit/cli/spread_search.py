"""Searches many logs in several processes, for `recall` with --jobs: what is printed is the same.

Pipeline: `log_search.py` finds the files -> `fleet/pool.py` -> a search of `log_search.py` in each, whose print
`terminal/capture.py` keeps -> here it is printed in order, and the hits are added up. One process searches where the
next log depends on the last (--limit), where all are ranked together (--about), and on a terminal, whose width counts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from ctxkit.cli.log_search import LogSearch, Searching
from ctxkit.cli.options import Looking, Reading, Selecting
from ctxkit.cli.terminal import streams
from ctxkit.cli.terminal.capture import Manner, captured
from ctxkit.errors import BadPattern, CtxkitError, ExitCode, short_name
from ctxkit.fleet.pool import Failure, processes, results
from ctxkit.store.folder import file_name


class SearchOptions(NamedTuple):
    """What every process needs. `names`: path -> name of a session."""

    searching: Searching
    selecting: Selecting
    looking: Looking
    reading: Reading
    names: dict[str, str]
    manner: Manner


class FileSearch(NamedTuple):
    """A file to search. `inside`: it was found below a folder; `lacks`: it is known to lack the text."""

    path: str
    inside: bool
    lacks: bool
    size: int
    asked: SearchOptions


class FileHits(NamedTuple):
    """What was printed about a file, and what `LogSearch` counts."""

    out: bytes
    err: bytes
    totals: list[int]
    first_away: str
    failed: ExitCode
    logs: int


class SpreadSearch(LogSearch):
    """A search in as many processes as were asked for (`jobs`), or are worth it (None)."""

    jobs: int | None = None

    def search_all(self, step: Callable[[int, int], None] | None) -> None:
        """Search all places, and print what the processes printed, in order."""
        names = dict(self.names)
        asked = SearchOptions(self.searching, self.selecting, self.looking, self.reading, names, Manner.now())
        files = list(self._files(asked))
        jobs = processes(self.jobs, len(files), sum(one.size for one in files if not one.lacks))
        if jobs == 1:
            for done, file in enumerate(files):
                if step is not None and done:
                    step(done, len(files))
                _search(self, file)
            return
        with closing(results(search_one, files, jobs)) as found:
            for done, one in enumerate(found):
                if step is not None and done:
                    step(done, len(files))
                if one.failure is not None:
                    self._failed(one.item, one.failure)
                elif one.value is not None:
                    self._add(one.value)

    def _failed(self, file: FileSearch, failure: Failure) -> None:
        if failure.reason == short_name(BadPattern):
            raise BadPattern(failure.text, failure.hint)
        error = CtxkitError(failure.text, failure.hint)
        error.code = ExitCode(failure.code)
        self.report(file.path, error)

    def _add(self, part: FileHits) -> None:
        between = not (self.reading.json or self.searching.count or self.searching.files_with_matches)
        if part.out and between and self.totals[0]:
            streams.out("")
        streams.out_made(part.out)
        if part.err:
            streams.err_made(part.err)
        self.totals = [a + b for a, b in zip(self.totals, part.totals, strict=True)]
        self.first_away = self.first_away or part.first_away
        self.failed = max(self.failed, part.failed)
        self.logs += part.logs

    def _files(self, asked: SearchOptions) -> Iterator[FileSearch]:
        for place in self.places:
            if place == "-" or not os.path.isdir(place):
                size = os.path.getsize(place) if os.path.isfile(place) else 0
                yield FileSearch(place, False, False, size, asked)
                continue
            for entry, lacks in self.entries(Path(place)):
                size = 0 if entry.found is None else entry.found.st_size
                yield FileSearch(file_name(entry.path), True, lacks, size, asked)


def _search(search: LogSearch, file: FileSearch) -> None:
    if file.lacks:
        search.pass_over(Path(file.path))
    elif file.inside:
        search.search_file(Path(file.path))
    else:
        search.search_one_of_many(file.path)


def search_one(file: FileSearch) -> FileHits:
    """Search one file in this process. Raises BadPattern."""
    asked, path = file.asked, file.path
    names = {path: asked.names[path]} if path in asked.names else {}
    with captured(("recall", path), asked.manner) as printed:
        search = LogSearch(
            [path], asked.searching, asked.selecting, asked.looking, asked.reading, names=names, many=True
        )
        _search(search, file)
        streams.flush()
    return FileHits(printed.out, printed.err, search.totals, search.first_away, search.failed, search.logs)
