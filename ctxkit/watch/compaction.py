"""Compacts a log in a process of its own, so that the watcher goes on meanwhile.

Pipeline: `watch/watcher.py` -> `BackgroundCompaction` starts `python -m ctxkit.watch.compaction LOG STRATEGY OP`, which
does what `ctxkit compact` does: it plans without the log's lock, and takes the lock to check the plan and append the
op. Its output is the resulting event as JSON. It ends when its standard input does, because its watcher is gone then.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

import ctxkit
from ctxkit.api.log import Log
from ctxkit.core.strategies import MODEL, RULES, asks_model
from ctxkit.core.text.json_text import dumps, loads
from ctxkit.errors import (
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
from ctxkit.watch.turns import whose_turn

ARGS = ("watch", "--compact")
"""The arguments that the op records."""
LARGEST = 1 << 20
"""Bytes of the process's answer that are read at most."""
BACKGROUND = 5
"""The niceness of the process."""
UNSEEN = "the running agent does not see this: it goes on with the whole context"


CompactionEnd = CompactionDone | CompactionFailed | CompactionSkipped
"""The result of a compaction."""


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
    """A running compaction of one log. Raises OSError if no process can be started."""

    def __init__(self, log: Path, strategy: str, env: Mapping[str, str]) -> None:
        self.op = new_id()
        self._began = time.monotonic()
        self._log, self._answer = str(log), b""
        here = os.path.dirname(os.path.dirname(os.path.abspath(ctxkit.__file__)))
        known = [here, *filter(None, env.get("PYTHONPATH", "").split(os.pathsep))]
        self._run = subprocess.Popen(  # noqa: S603  # our own program
            [sys.executable, "-P", "-m", "ctxkit.watch.compaction", self._log, strategy, self.op],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=None if env.get("CTXKIT_DEBUG") else subprocess.DEVNULL,  # a terminal shows panels
            env={**env, "PYTHONPATH": os.pathsep.join(known)}, start_new_session=True,
        )  # fmt: skip
        assert self._run.stdout is not None, "a pipe"  # noqa: S101  # for mypy
        self._output = self._run.stdout
        os.set_blocking(self._output.fileno(), False)

    def stop(self) -> None:
        """End the process: nothing is appended after this."""
        self._run.terminate()

    def end(self) -> CompactionEnd | None:
        """The result; None as long as the process runs."""
        ended = self._run.poll() is not None
        while piece := self._output.read(LARGEST):  # also before the end: a pipe that is full would stop it
            self._answer = (self._answer + piece)[-LARGEST:]
        if not ended:
            return None
        self._run.communicate()  # closes the pipes
        try:
            found: CompactionEnd = msgspec.convert(loads(self._answer), CompactionEnd)
        except (msgspec.ValidationError, ValueError):
            text = f"the process of the compaction ended with status {self._run.returncode}"
            found = failed(self._log, CtxkitError(text))
        if isinstance(found, CompactionSkipped):
            return found
        return msgspec.structs.replace(found, seconds=round(time.monotonic() - self._began, 3))


def compact(path: str, strategy: str, op_id: str) -> CompactionEnd:
    """Compact a log as it is now, if its context is full and no call waits for its result."""

    def skipped(reason: SkipReason, detail: str = "") -> CompactionSkipped:
        return CompactionSkipped(log=path, reason=reason, detail=detail)

    try:
        log = Log.open(path, tolerant=True, unsaid="none")
        log.args, log.op_id = ARGS, op_id
        if whose_turn(log.transcript).pending:
            return skipped("open call")
        op = log.compact(strategy=strategy)
        done = log.compacted
        if op is None or done is None:
            full = done is None and "below the threshold" in log.said
            return skipped("not full" if full else "nothing to condense", log.said)
        made = done.found
        fallback = made.op.fallback
        found = CompactionDone(
            log=path, op=op.id, before=made.before, after=made.after, strategy=made.op.strategy or strategy,
            fallback=fallback if isinstance(fallback, str) else None, note="; ".join(log.warned) or None,
        )  # fmt: skip
        return found if log.native else _resumable(log, found)
    except CoolingDown as error:
        return skipped("cooldown", error.message)
    except NothingChanges as error:
        return skipped("nothing to condense", error.message)
    except CtxkitError as error:
        return failed(path, error)
    except OSError as error:
        return failed(path, WriteFailed(f"{path}: {reason_of(error)}"))


def failed(path: str, error: CtxkitError) -> CompactionFailed:
    """The end of a compaction by an error."""
    text = f"{error.message}; {error.hint}" if error.hint else error.message
    name = "bug" if type(error) is CtxkitError else short_name(type(error))
    return CompactionFailed(log=path, code=int(error.code), error=name, reason=text)


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
    """Run the process."""
    os.nice(BACKGROUND)
    path, strategy, op_id = sys.argv[1:]
    threading.Thread(target=_end_with_watcher, daemon=True).start()
    try:
        with one_of_many(path):  # a bug of ours is reported like an error
            end = compact(path, strategy, op_id)
    except CtxkitError as error:
        end = failed(path, error)
    sys.stdout.buffer.write(dumps(as_json(end)).encode("ascii"))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
