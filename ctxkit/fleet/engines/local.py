"""The engine of one machine: the pool of processes that `--jobs` uses too.

Pipeline: `mapping.py` gives the files and takes their rows, in the same order. A file whose process dies is tried again
alone (`pool.py`); if that one dies too, the file's row is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from ctxkit.errors import Unforeseen, WorkerKilled
from ctxkit.fleet.functions import FUNCTIONS, FileRows, MapCall, answer, failed
from ctxkit.fleet.pool import DIED, Failure, results
from ctxkit.fleet.sources import SourceFile


def run(call: MapCall, files: Iterable[SourceFile], jobs: int) -> Iterator[tuple[SourceFile, FileRows]]:
    """Each file with its rows, in order. `jobs`: processes; with 1 everything runs in this one, but for a
    function of the user's own, which may end its process and must not read what is typed here.

    Raises KeyboardInterrupt, and leaves no process behind.
    """
    for file, made, failure in results(partial(answer, call), files, jobs, apart=call.function not in FUNCTIONS):
        yield file, made or lost(file, failure)


def lost(file: SourceFile, failure: Failure | None) -> FileRows:
    """The row of a file whose process died twice, or at which something failed that is caught nowhere else: the same
    of every engine.
    """
    if failure is None or failure.reason == DIED:
        text = f"{file.name}: its process died twice: killed, or out of memory"
        return failed(file.name, WorkerKilled(text))
    return failed(file.name, Unforeseen(f"{file.name}: {failure.text}", failure.hint))
