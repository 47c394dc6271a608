"""Runs one function over many items, in this process or in several, and gives the results in the items' order.

Used by the command line for many logs (`--jobs`), and by whatever else runs the same function over many files. The
engine is `concurrent.futures` with spawned processes. What a caller may rely on:

- The results come in the order of the items, one each, whatever the number of processes.
- An item at which the function fails is a result with a `Failure`; it never takes the others. The same holds if the
  process that works on it dies: items that were waiting with it are tried again, each alone in a new process, twice.
- Ctrl-C raises KeyboardInterrupt here, and leaves no process behind; nor does the death of this process.
- Few items are read ahead, and few results wait: both may be generators of any length.

The function is one of a module's top level (or a partial of one), so that a spawned process can import it; items and
results can be pickled. `closing(results(…))` ends the processes where a caller leaves the loop early.
"""

from __future__ import annotations

import os
import signal
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from ctxkit.errors import CtxkitError, ExitCode, reason_of, short_name

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor
    from types import FrameType

I = TypeVar("I")  # noqa: E741  # an item
O = TypeVar("O")  # noqa: E741  # what the function makes of it

AHEAD = 4
"""Items that are given out ahead for each process."""
ALONE = 2
"""How often an item is tried alone: the first time may be the first at all, if another one ended the pool."""
PATIENCE = 2.0
"""Seconds that a process has to end by itself, once it is told to."""
SAFE = "PYTHONSAFEPATH"
"""Set while a process is started: Python imports from the current folder first, which may be a stranger's clone."""
DIED = "process-died"
"""The reason of a failure whose process ended without an answer."""


class Failure(NamedTuple):
    """Why the function failed at an item. `reason`: the short name of the error, `bug`, `io` or `process-died`.

    `text` and `hint`: as of a CtxkitError. `code`: the exit status that it stands for.
    """

    reason: str
    text: str
    hint: str
    code: int

    @classmethod
    def of(cls, error: Exception) -> Failure:
        """The failure that an exception is."""
        if isinstance(error, CtxkitError):
            return cls(short_name(type(error)), error.message, error.hint, int(error.code))
        if isinstance(error, OSError):
            text = f"{error.filename}: {reason_of(error)}" if error.filename else reason_of(error)
            return cls("io", text, "", int(ExitCode.IO))
        at = traceback.extract_tb(error.__traceback__)
        where = f" at {os.path.basename(at[-1].filename)}:{at[-1].lineno}" if at else ""
        return cls("bug", f"a bug: {type(error).__name__}{where}", "please report it", int(ExitCode.BUG))


class ItemResult(NamedTuple, Generic[I, O]):
    """What came of an item: a `value`, or a `failure` and no value."""

    item: I
    value: O | None
    failure: Failure | None


def cores() -> int:
    """How many processors this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)  # not on macOS
    return len(allowed(0)) if allowed else os.cpu_count() or 1


EACH_PROCESS = 100, 8 << 20
"""Logs, and bytes of logs, for which another process is worth its start, unless --jobs says how many."""


def processes(jobs: int | None, logs: int, size: int) -> int:
    """How many processes work: as many as `jobs` says, else as many as so many logs of so many bytes are worth."""
    each, much = EACH_PROCESS
    return max(1, min(jobs or min(cores(), logs // each + size // much), logs))


def results(
    function: Callable[[I], O], items: Iterable[I], jobs: int = 1, *, apart: bool = False
) -> Generator[ItemResult[I, O]]:
    """The result of each item, in order. `jobs`: processes; with 1 everything runs in this one, unless `apart`.

    Raises only what reading `items` raises, and KeyboardInterrupt.
    """
    if jobs <= 1 and not apart:
        for item in items:
            yield ItemResult(item, *attempt(function, item))
    else:
        yield from _spread(function, iter(items), jobs)


def attempt(function: Callable[[I], O], item: I) -> tuple[O | None, Failure | None]:
    """The value of the function, or why it failed."""
    try:
        return function(item), None
    except Exception as error:
        if os.environ.get("CTXKIT_DEBUG"):
            traceback.print_exc()
        return None, Failure.of(error)


class _Task(Generic[I, O]):
    """An item that was given out."""

    def __init__(self, item: I) -> None:
        self.item = item
        self.future: Future[tuple[O | None, Failure | None]] | None = None
        self.done: tuple[O | None, Failure | None] | None = None


def _spread(function: Callable[[I], O], items: Iterator[I], jobs: int) -> Iterator[ItemResult[I, O]]:
    from concurrent.futures.process import BrokenProcessPool

    waiting: deque[_Task[I, O]] = deque()
    workers, more = _Workers(jobs), True
    try:
        while more or waiting:
            while more and len(waiting) < jobs * AHEAD:
                try:
                    task: _Task[I, O] = _Task(next(items))
                except StopIteration:
                    more = False
                    break
                waiting.append(task)
                with suppress(BrokenProcessPool):  # told below, by what was given out before
                    task.future = workers.submit(function, task.item)
            if not waiting:
                return
            first = waiting[0]
            try:
                if first.done is None and first.future is None:
                    raise BrokenProcessPool
                if first.done is None and first.future is not None:
                    first.done = first.future.result()
            except BrokenProcessPool:
                workers.end()
                _each_alone(function, waiting)
                workers = _Workers(jobs)
                continue
            except Exception as error:  # the item or its result cannot be pickled
                first.done = None, Failure.of(error)
            waiting.popleft()
            yield ItemResult(first.item, *(first.done or (None, None)))
    finally:
        workers.end()


def _each_alone(function: Callable[[I], O], waiting: Iterable[_Task[I, O]]) -> None:
    """Run what has no result, each in a process of its own: one at which it dies twice has failed."""
    from concurrent.futures.process import BrokenProcessPool

    alone: _Workers | None = None
    try:
        for task in waiting:
            future = task.future
            if task.done is not None or (future is not None and future.done() and future.exception() is None):
                continue
            for _ in range(ALONE):
                alone = alone or _Workers(1)
                try:
                    task.done = alone.submit(function, task.item).result()
                    break
                except BrokenProcessPool:
                    text = "the process that worked on it ended without an answer: killed, or out of memory"
                    task.done = None, Failure(DIED, text, "", int(ExitCode.BUG))
                    alone.end()
                    alone = None
                except Exception as error:
                    task.done = None, Failure.of(error)
                    break
    finally:
        if alone is not None:
            alone.end()


class _Workers:
    """Some processes that work."""

    def __init__(self, jobs: int) -> None:
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        self._others = set(multiprocessing.active_children())
        safe = os.environ.get(SAFE)
        with _safely():  # it starts one to look after the others
            self._pool: ProcessPoolExecutor | None = ProcessPoolExecutor(
                jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_begin, initargs=(safe,)
            )

    def submit(self, function: Callable[[I], O], item: I) -> Future[tuple[O | None, Failure | None]]:
        """Give an item out. A process that is started for it cannot get SIGINT before it has a handler."""
        if self._pool is None:
            raise ValueError("the pool has ended")
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            with _safely():
                return self._pool.submit(_attempt_here, function, item)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def end(self) -> None:
        """End the processes, whatever they do, and wait until they are gone."""
        import multiprocessing
        import time

        pool, self._pool = self._pool, None
        if pool is None:
            return
        mine = set(multiprocessing.active_children()) - self._others
        for one in mine:
            one.terminate()
        last = time.monotonic() + PATIENCE
        for one in mine:
            one.join(max(0.0, last - time.monotonic()))
            if one.is_alive():
                one.kill()
        pool.shutdown(wait=True, cancel_futures=True)


def _attempt_here(function: Callable[[I], O], item: I) -> tuple[O | None, Failure | None]:
    """In a process of the pool: as `attempt`; once it is told to end, it ends when what it did is put right."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        return attempt(function, item)
    except SystemExit as stop:
        os._exit(stop.code if isinstance(stop.code, int) else 1)


@contextmanager
def _safely() -> Iterator[None]:
    """Start processes that import nothing from the current folder."""
    safe = os.environ.get(SAFE)
    os.environ[SAFE] = "1"
    try:
        yield
    finally:
        _put_back(safe)


def _put_back(safe: str | None) -> None:
    """Set SAFE to what it was."""
    if safe is None:
        os.environ.pop(SAFE, None)
    else:
        os.environ[SAFE] = safe


def _begin(safe: str | None = None) -> None:
    """Set up a process of the pool: Ctrl-C is for its parent, which tells it to end; without a parent it ends, too.

    `safe`: what SAFE was for the parent; programs that are started from here get that.
    """
    import multiprocessing
    import threading

    _put_back(safe)
    signal.signal(signal.SIGINT, _pass)  # a handler, not SIG_IGN: a program that is started from here has neither
    signal.signal(signal.SIGTERM, _leave)  # the pool prints what is raised in here
    parent = multiprocessing.parent_process()
    if parent is not None:  # its thread takes no signal, for only the main one runs handlers
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})


def _pass(number: int, frame: FrameType | None) -> None:
    pass


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(128 + number)  # before its first item there is nothing to put right


def _stop(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, _pass)  # once: the pool tells all to end where one has ended
    raise SystemExit(128 + number)


def _end_with(parent: Any) -> None:
    """End this process after its parent."""
    import time

    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE)
    os._exit(128 + signal.SIGTERM)
