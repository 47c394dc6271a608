"""Compacts a log in a process of its own, so that the watcher goes on meanwhile.

Pipeline: `watch/watcher.py` -> `BackgroundCompaction` starts `python -m ctxkit.watch.compaction`, which does what
`ctxkit compact` does: it plans without the log's lock, and takes the lock to check the plan and append the op. Its
output is the resulting event, one line of JSON.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

import ctxkit
from ctxkit.api.log import Log
from ctxkit.core.strategies import MODEL, RULES, asks_model
from ctxkit.core.text.json_text import dumps, loads
from ctxkit.errors import (
    CannotCreate,
    CoolingDown,
    CtxkitError,
    ExitCode,
    NothingChanges,
    WriteFailed,
    reason_of,
    short_name,
)
from ctxkit.logfile.append import new_id
from ctxkit.logfile.tolerant import one_of_many
from ctxkit.search.resumed import note
from ctxkit.settings.config import Config
from ctxkit.watch.events import CompactionDone, CompactionFailed, CompactionSkipped, SkipReason, as_json
from ctxkit.watch.full_reading import whose_turn

ARGS = ("watch", "--compact")
"""The arguments that the op records."""
LARGEST = 1 << 20
"""Bytes of the process's answer that are read at most."""
BACKGROUND = 5
"""The niceness of the process."""
UNSEEN = "the running agent does not see this: it goes on with the whole context"


class CompactionTask(msgspec.Struct, frozen=True):
    """The task of the process: the log, the strategy, the id of the op."""

    log: str
    strategy: str
    op: str


CompactionEnd = CompactionDone | CompactionFailed | CompactionSkipped
"""The result of a compaction. The watcher sets its `time`."""


def strategy_of(config: Config, *, asked: bool) -> str | None:
    """The strategy for automatic compactions of a log; None if there are none. `asked`: `--compact` was given.

    A model is asked only if `compact.auto` is llm, which counts only in the user's own config.
    """
    auto = config["compact.auto"]
    if auto == MODEL:
        return MODEL
    if not auto and not asked:
        return None
    named = str(config["compact.strategy"])
    return RULES if asks_model(named) else named


class BackgroundCompaction:
    """A running compaction of one log. `ended` is called in another thread with the result.

    Raises OSError, RuntimeError if no process or no thread can be started.
    """

    def __init__(
        self, log: Path, strategy: str, ended: Callable[[CompactionEnd], None], env: Mapping[str, str]
    ) -> None:
        self.op = new_id()
        self.began = time.monotonic()
        self._log = str(log)
        here = os.path.dirname(os.path.dirname(os.path.abspath(ctxkit.__file__)))
        known = [here, *filter(None, env.get("PYTHONPATH", "").split(os.pathsep))]
        self._run = subprocess.Popen(
            [sys.executable, "-P", "-m", "ctxkit.watch.compaction"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=None if env.get("CTXKIT_DEBUG") else subprocess.DEVNULL,  # a terminal shows panels
            env={**env, "PYTHONPATH": os.pathsep.join(known)}, start_new_session=True,
        )  # fmt: skip
        task = dumps(msgspec.to_builtins(CompactionTask(self._log, strategy, self.op))).encode("ascii")
        self._thread = threading.Thread(target=self._wait, args=(task, ended), daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the process: nothing is appended after this."""
        self._run.terminate()

    def join(self) -> None:
        """Wait for the end."""
        self._thread.join()

    def _wait(self, task: bytes, ended: Callable[[CompactionEnd], None]) -> None:
        pipe, said = self._run.stdin, self._run.stdout
        assert pipe is not None and said is not None, "pipes"  # noqa: S101  # for mypy
        with suppress(OSError):  # it has ended
            pipe.write(task + b"\n")
            pipe.flush()
        answer = said.read()  # standard input stays open until then: its end tells that the watcher is gone
        self._run.wait()
        with suppress(OSError):
            pipe.close()
        said.close()
        took = round(time.monotonic() - self.began, 3)
        try:
            found = msgspec.convert(loads(answer[-LARGEST:]), CompactionEnd)
        except (msgspec.ValidationError, ValueError):
            text = f"the process of the compaction ended with status {self._run.returncode}"
            found = _failed(CtxkitError(text))
        if not isinstance(found, CompactionSkipped):
            found = msgspec.structs.replace(found, seconds=took)
        ended(msgspec.structs.replace(found, log=self._log))


def compact(task: CompactionTask) -> CompactionEnd:
    """Compact a log as it is now, if its context is full and no call waits for its result."""
    try:
        log = Log.open(task.log, tolerant=True, unsaid="none")
        log.args, log.op_id = ARGS, task.op
        if whose_turn(log.transcript).pending:
            return _skipped(task, "open call")
        op = log.compact(strategy=task.strategy)
        done = log.compacted
        if op is None or done is None:
            full = done is None and "below the threshold" in log.said
            return _skipped(task, "not full" if full else "nothing to condense", log.said)
        made = done.found
        fallback = made.op.fallback
        found = CompactionDone(
            log="", time="", op=op.id, before=made.before, after=made.after,
            strategy=made.op.strategy or task.strategy, seconds=0.0,
            fallback=fallback if isinstance(fallback, str) else None, note="; ".join(log.warned) or None,
        )  # fmt: skip
        return found if log.native else _resumable(log, found)
    except CoolingDown as error:
        return _skipped(task, "cooldown", error.message)
    except NothingChanges as error:
        return _skipped(task, "nothing to condense", error.message)
    except CtxkitError as error:
        return _failed(error)
    except OSError as error:
        return _failed(WriteFailed(f"{task.log}: {reason_of(error)}"))


def not_started(log: Path, reason: str) -> CompactionFailed:
    """The end of a compaction whose process could not be started."""
    error = CannotCreate(f"its process could not be started: {reason}")
    return msgspec.structs.replace(_failed(error), log=str(log))


def _failed(error: CtxkitError) -> CompactionFailed:
    text = f"{error.message}; {error.hint}" if error.hint else error.message
    name = "bug" if type(error) is CtxkitError else short_name(type(error))
    return CompactionFailed(log="", time="", code=int(error.code), error=name, reason=text, seconds=0.0)


def _skipped(task: CompactionTask, reason: SkipReason, detail: str = "") -> CompactionSkipped:
    return CompactionSkipped(log="", time="", reason=reason, detail=detail)


def _resumable(log: Log, found: CompactionDone) -> CompactionDone:
    """Write the condensed session where its agent finds it; the running agent goes on with the whole context."""
    try:
        made = log.resume()
        if made.written is not None and log.opening.path is not None:
            note(made.path, log.opening.path.resolve(), os.environ, unasked=True)
        found = msgspec.structs.replace(found, resume=made.line)
        notes = [UNSEEN]
    except CtxkitError as error:
        notes = [UNSEEN, f"no session to go on with was written: {error.message}"]
    return msgspec.structs.replace(found, note="; ".join([*notes, *filter(None, [found.note])]))


def _end_with_watcher() -> None:
    """End this process when the watcher is gone, so that nothing is appended after it was killed."""
    os.read(0, 1)
    os._exit(ExitCode.BUG)


def main() -> None:
    """Run the process: a task on standard input, the result on standard output."""
    os.nice(BACKGROUND)
    task = msgspec.convert(loads(sys.stdin.buffer.readline()), CompactionTask)
    threading.Thread(target=_end_with_watcher, daemon=True).start()
    try:
        with one_of_many(task.log):  # a bug of ours is reported like an error
            end = compact(task)
    except CtxkitError as error:
        end = _failed(error)
    sys.stdout.buffer.write(dumps(as_json(end)).encode("ascii"))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
