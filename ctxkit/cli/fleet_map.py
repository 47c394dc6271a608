"""Runs `fleet map`: prints the rows of one function over many files, and says what came of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from ctxkit.cli.fleet_cluster import resources
from ctxkit.cli.options import ForCluster, ForMap, session_path
from ctxkit.cli.terminal import layout, streams
from ctxkit.core.text.json_text import loads
from ctxkit.core.text.urls import without_users
from ctxkit.errors import CtxkitError, ExitCode, NothingMatched, Usage
from ctxkit.fleet.engines import local
from ctxkit.fleet.engines import ray as cluster
from ctxkit.fleet.functions import FUNCTIONS, FileRows, call_of
from ctxkit.fleet.mapping import MOST_SHARDS, SHARDS, DoneShards, Engine, run
from ctxkit.fleet.pool import cores
from ctxkit.fleet.sources import SourceFile, listed
from ctxkit.store.atomic import create

NAMED = 20
"""Failures that are told one by one; all are rows."""
HINT = "ctxkit fleet map FUNCTION PATH|URL..."


def main(
    words: Sequence[str],
    asked: ForMap,
    where: ForCluster,
    *,
    output: str | None = None,
    shards: int | None = None,
    jobs: int | None = None,
) -> int:
    """Print the rows, and return the exit status: the highest of all failures.

    Raises Usage, NothingMatched, CannotCreate, ClusterFailed, and what a function's options raise.
    """
    if not words:
        raise Usage("which function?", f"{HINT}; functions: {', '.join(FUNCTIONS)}, or module:function of your own")
    folder = "" if sys.flags.safe_path else os.getcwd()  # asked here: a process of the pool always has that flag
    call = call_of(words[0], _options(asked.set or ()), folder)
    if not words[1:]:
        raise Usage("which logs?", HINT)
    if output == "":
        raise Usage("-o needs the name of a file")
    if shards is not None and asked.ledger is None:
        raise Usage("--shards is for a ledger", "--ledger DIR")
    if (shards or 0) > MOST_SHARDS:
        raise Usage(f"--shards {shards:,}: at most {MOST_SHARDS:,}")
    engine = _engine(where, jobs or cores())
    with streams.progress("looking for logs", "files") as step:
        files = list(_files(words[1:], step))
    if not files:
        raise NothingMatched(f"no file in {layout.count(len(words) - 1, 'place')}", "name files or folders with logs")
    ledger = None if asked.ledger is None else DoneShards(Path(asked.ledger), call, shards or SHARDS)
    found = _Found(len(files))
    with streams.progress("mapping", "files") as step:
        pieces = found.pieces(run(call, files, engine, ledger), step)
        if output in (None, "-"):
            streams.out_bytes(pieces)
        else:
            create(str(output), pieces)
    streams.flush()
    found.tell()
    return found.worst


def _options(given: Iterable[str]) -> dict[str, str]:
    """The values of --set, by name."""
    found = dict[str, str]()
    for one in given:
        name, equals, text = one.partition("=")
        if not equals or not name:
            raise Usage(f"--set {one}: not KEY=VALUE", "--set to=openai")
        if found.setdefault(name, text) != text:
            raise Usage(f"--set {name} is given twice", "give each once")
    return found


def _engine(asked: ForCluster, jobs: int) -> Engine:
    found = resources(asked)
    return partial(local.run, jobs=jobs) if found is None else partial(cluster.run, jobs=jobs, resources=found)


def _files(words: Sequence[str], step: Callable[[int, int], None] | None) -> Iterator[SourceFile]:
    """The files of all places, each once; a place that is not there is a file with an error."""
    seen = set[str]()
    for word in words:
        place = session_path(word)
        try:
            for file in listed([place]):
                if file.name not in seen:
                    seen.add(file.name)
                    yield file
                    if step is not None:
                        step(len(seen), 0)
        except CtxkitError as error:
            if isinstance(error, Usage):
                raise
            if place not in seen:
                seen.add(place)
                yield SourceFile(without_users(place), named=True, error=error.message)


class _Found:
    """What came of a run: counts, and failures."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.files = self.rows = self.failed = self.worst = 0

    def pieces(
        self, answers: Iterator[tuple[SourceFile, FileRows]], step: Callable[[int, int], None] | None
    ) -> Iterator[bytes]:
        """The rows, which are counted on the way."""
        for at, (file, answer) in enumerate(answers, start=1):
            self.files += bool(answer.rows)
            self.rows += answer.rows.count(b"\n")
            if answer.code:
                self.failed += 1
                self.worst = max(self.worst, answer.code)
                if self.failed <= NAMED:
                    streams.warn(_failure(file, answer.rows))
            if step is not None:
                step(at, self.total)
            if answer.rows:
                yield answer.rows

    def tell(self) -> None:
        """The counts, on stderr."""
        if self.failed > NAMED:
            streams.warn(f"and {self.failed - NAMED:,} more failed: their rows have `error`")
        none = self.total - self.files
        beside = f"; {layout.count(none, 'file')} without rows" if none else ""
        failed = f", {self.failed:,} failed" if self.failed else ""
        streams.say(f"{layout.count(self.rows, 'row')} of {layout.count(self.files, 'file')}{failed}{beside}")
        if not self.worst and not self.rows:
            self.worst = int(ExitCode.NO)


def _failure(file: SourceFile, rows: bytes) -> str:
    """The words of the first failure in a file's rows."""
    for line in rows.splitlines():
        told = loads(line).get("error")
        if isinstance(told, dict):
            text = str(told.get("text"))
            return text if file.name in text else f"{file.name}: {text}"
    return f"{file.name}: failed"
