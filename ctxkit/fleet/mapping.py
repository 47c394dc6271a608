"""A run of `fleet map`: one function over many files by an engine, with a ledger of what is done.

Pipeline: `sources.py` lists the files -> an engine (`engines/`) gives their rows -> here, in the order of the files.
The ledger is a file in a folder: its first line says what is done with every file, and each file is appended with its
rows once it is done. A run that was killed goes on with the files that are not there; rows of files that did not
change are taken from it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Self

from ctxkit.core.text.json_text import digest, dumps, loads
from ctxkit.core.text.redactor import Redactor
from ctxkit.errors import CannotCreate, ExitCode, ReadFailed, Usage, reason_of
from ctxkit.fleet.functions import FileRows, MapCall
from ctxkit.fleet.sources import SourceFile
from ctxkit.store.lock import lock
from ctxkit.store.private import make_private, refuse_links

Engine = Callable[[MapCall, Sequence[SourceFile]], Iterator[tuple[SourceFile, FileRows]]]
"""Runs a call over files: each with its answer, in order."""

VERSION = 2
"""Of the ledger's files."""
PATIENCE = 1.0
"""Seconds to wait for another run with the same ledger."""
PASSING = (ExitCode.BUG, ExitCode.NO_LOG, ExitCode.IO, ExitCode.TRY_AGAIN, ExitCode.PERMISSION)
"""Failures that a later run may not have: such files are done again."""


class DoneFile(NamedTuple):
    """Where the rows of a file are in the ledger, and what it was."""

    stamp: str
    code: int
    offset: int
    size: int


class DoneFiles:
    """What is done already, for one run at a time. A context manager. Raises Usage if the folder is the ledger of
    another call; CannotCreate, NoPermission, ReadFailed, Locked.
    """

    def __init__(self, folder: Path, call: MapCall) -> None:
        self.path = folder / "done.jsonl"
        self.done: dict[str, DoneFile] = {}
        refuse_links(folder, self.path)
        try:
            if folder.is_dir() and any(folder.iterdir()) and not self.path.exists():
                text = f"{folder} has other files, and is no ledger: nothing was done"
                raise Usage(text, "name a folder that is empty or not there")
            make_private(folder)
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            self._file = open(os.open(self.path, flags, 0o600), "r+b")  # noqa: SIM115  # closed by __exit__
            lock(self._file.fileno(), str(folder), PATIENCE)
            self._begin(_about(call))
            self._read()
        except OSError as error:
            raise CannotCreate(f"{folder}: cannot make a ledger: {reason_of(error)}") from error

    def _begin(self, about: dict[str, Any]) -> None:
        """Write the first line, or compare it with what this call would write."""
        line = dumps(about).encode("ascii") + b"\n"
        first = self._file.readline()
        if first == line:
            return
        if line.startswith(first):  # a new file, or that of a run that was killed here
            self._file.seek(0)
            self._file.write(line)
            return
        with suppress(ValueError):
            held = loads(first)
            other = [name for name in about if not isinstance(held, dict) or held.get(name) != about[name]]
            text = f"{self.path.parent} is the ledger of another call, which differs in its {', '.join(other)}"
            raise Usage(f"{text}: nothing was done", "the same call goes on; another one needs a folder of its own")
        raise Usage(f"{self.path} is no ledger: nothing was done", "name a folder that is empty or not there")

    def _read(self) -> None:
        """Read what is there, and cut off what a killed run left at the end."""
        file, size = self._file, os.fstat(self._file.fileno()).st_size
        whole = file.tell()
        with suppress(ValueError, KeyError, TypeError):
            while head := file.readline():
                about = loads(head)
                found = DoneFile(about["stamp"], about["code"], file.tell(), about["bytes"])
                if found.offset + found.size > size:
                    break
                self.done[about["file"]] = found
                whole = file.seek(found.size, os.SEEK_CUR)
        file.truncate(whole)
        file.seek(whole)

    def has(self, file: SourceFile) -> bool:
        """Whether a file is done, and did not change since."""
        done = self.done.get(file.name)
        return done is not None and bool(file.stamp) and done.stamp == file.stamp and done.code not in PASSING

    def rows(self, file: SourceFile) -> FileRows:
        """The rows of a file that is done. Raises ReadFailed."""
        done = self.done[file.name]
        try:
            return FileRows(os.pread(self._file.fileno(), done.size, done.offset), done.code)
        except OSError as error:
            raise ReadFailed(f"{self.path}: {reason_of(error)}") from error

    def add(self, file: SourceFile, answer: FileRows) -> None:
        """Keep a file as done. Raises CannotCreate."""
        head = {"file": file.name, "stamp": file.stamp, "code": answer.code, "bytes": len(answer.rows)}
        try:
            self._file.write(dumps(head).encode("ascii") + b"\n")
            start = self._file.tell()
            self._file.write(answer.rows)
            self._file.flush()
        except OSError as error:
            raise CannotCreate(f"{self.path}: cannot write: {reason_of(error)}") from error
        self.done[file.name] = DoneFile(file.stamp, answer.code, start, len(answer.rows))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def run(
    call: MapCall, files: Sequence[SourceFile], engine: Engine, ledger: DoneFiles | None = None
) -> Iterator[tuple[SourceFile, FileRows]]:
    """Each file with its rows, in order. With a ledger, rows come once all files are done."""
    if ledger is None:
        yield from engine(call, files)
        return
    with ledger:
        for file, answer in engine(call, [one for one in files if not ledger.has(one)]):
            ledger.add(file, answer)
        for file in files:
            yield file, ledger.rows(file)


def _about(call: MapCall) -> dict[str, Any]:
    """What the rows depend on besides the files."""
    options = Redactor().value(call.options)
    about = {
        "ledger": VERSION, "ctxkit": call.version, "function": call.function, "options": options,
        "module": _module(call),
    }  # fmt: skip
    if options is not call.options:  # what was typed is kept without its secrets, and still known again
        about["typed"] = digest(call.options)
    return about


def _module(call: MapCall) -> str:
    """A digest of the user's module, whose rows are of no use once it changed; "" for ctxkit's own functions."""
    if ":" not in call.function:
        return ""
    found = find_spec(call.function.partition(":")[0])
    if found is None or found.origin is None or not os.path.isfile(found.origin):
        return ""
    return hashlib.sha256(Path(found.origin).read_bytes()).hexdigest()
