"""A run of `fleet map`: one function over many files by an engine, with a ledger of what is done.

Pipeline: `sources.py` lists the files -> an engine (`engines/`) gives their rows -> here, in the order of the files.
The ledger is a folder: `call.json`, what is done with every file, and `shards/`, with a file of rows for each part of
the files (`hash(name) % shards`), which is there whole or not at all. A run that was killed goes on with the shards
that are not there; rows of files that did not change are taken from it.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from ctxkit.core.text.json_text import digest, dumps, loads
from ctxkit.core.text.redactor import Redactor
from ctxkit.core.text.utf8 import exact
from ctxkit.errors import CannotCreate, ExitCode, ReadFailed, Usage, reason_of
from ctxkit.fleet.functions import FileRows, MapCall
from ctxkit.fleet.sources import SourceFile
from ctxkit.store import atomic
from ctxkit.store.private import make_private, refuse_links

Engine = Callable[[MapCall, Sequence[SourceFile]], Iterator[tuple[SourceFile, FileRows]]]
"""Runs a call over files: each with its answer, in order."""

SHARDS = 64
"""Parts of a ledger, unless `--shards` says otherwise."""
MOST_SHARDS = 10_000
VERSION = 1
"""Of the ledger's files."""
PASSING = (ExitCode.BUG, ExitCode.NO_LOG, ExitCode.IO, ExitCode.TRY_AGAIN, ExitCode.PERMISSION)
"""Failures that a later run may not have: such files are done again."""


class DoneFile(NamedTuple):
    """Where the rows of a file are in its shard's file, and what it was."""

    stamp: str
    code: int
    offset: int
    size: int


class DoneShards:
    """What is done already. Raises Usage if the folder is the ledger of another call; CannotCreate, NoPermission."""

    def __init__(self, folder: Path, call: MapCall, shards: int = SHARDS) -> None:
        self.folder = folder
        self.shards = shards
        options = Redactor().value(call.options)
        about = {
            "ledger": VERSION, "ctxkit": call.version, "function": call.function, "options": options,
            "module": _module(call), "shards": shards,
        }  # fmt: skip
        for one in ("call.json", "shards"):
            refuse_links(folder, folder / one)
        if options is not call.options:  # what was typed is kept without its secrets, and still known again
            about["typed"] = digest(call.options)
        held = _json(folder / "call.json")
        if held is None:
            try:
                if folder.is_dir() and any(folder.iterdir()):
                    text = f"{folder} has other files, and is no ledger: nothing was done"
                    raise Usage(text, "name a folder that is empty or not there")
                make_private(folder / "shards")
            except OSError as error:
                raise CannotCreate(f"{folder}: cannot make a ledger: {reason_of(error)}") from error
            atomic.replace(folder / "call.json", dumps(about).encode("ascii") + b"\n")
        elif held != about:
            other = [name for name in about if not isinstance(held, dict) or held.get(name) != about[name]]
            text = f"{folder} is the ledger of another call, which differs in its {', '.join(other)}: nothing was done"
            raise Usage(text, "the same call goes on; another one needs a folder of its own")

    def shard(self, file: SourceFile) -> int:
        """The shard of a file, by its name alone."""
        digest = hashlib.sha256(exact(file.name)).digest()
        return int.from_bytes(digest[:8]) % self.shards

    def path(self, shard: int) -> Path:
        """The file of a shard."""
        return self.folder / "shards" / f"{shard:05}.jsonl"

    def done(self, shard: int) -> dict[str, DoneFile]:
        """The files of a shard that are done, by name; none if it is not there or is damaged."""
        found = dict[str, DoneFile]()
        try:
            with open(self.path(shard), "rb") as rows:
                while head := rows.readline():
                    about = loads(head)
                    found[about["file"]] = DoneFile(about["stamp"], about["code"], rows.tell(), about["bytes"])
                    rows.seek(about["bytes"], os.SEEK_CUR)
        except FileNotFoundError:
            return found
        except (ValueError, KeyError, TypeError):
            return {}
        except OSError as error:
            raise ReadFailed(f"{self.path(shard)}: {reason_of(error)}") from error
        return found

    def rows(self, shard: int, done: DoneFile) -> FileRows:
        """The rows of a file that is done. Raises ReadFailed."""
        try:
            with open(self.path(shard), "rb") as rows:
                rows.seek(done.offset)
                return FileRows(rows.read(done.size), done.code)
        except OSError as error:
            raise ReadFailed(f"{self.path(shard)}: {reason_of(error)}") from error

    def write(self, shard: int, files: Sequence[tuple[SourceFile, FileRows]]) -> None:
        """Write a shard as a whole. Raises CannotCreate, NoPermission."""
        refuse_links(self.folder, self.path(shard))
        pieces = []
        for file, answer in files:
            head = {"file": file.name, "stamp": file.stamp, "code": answer.code, "bytes": len(answer.rows)}
            pieces += [dumps(head).encode("ascii") + b"\n", answer.rows]
        atomic.replace(self.path(shard), b"".join(pieces))


def run(
    call: MapCall, files: Sequence[SourceFile], engine: Engine, ledger: DoneShards | None = None
) -> Iterator[tuple[SourceFile, FileRows]]:
    """Each file with its rows, in order. With a ledger, rows come once all shards are done."""
    if ledger is None:
        yield from engine(call, files)
        return
    places = _fill(call, files, engine, ledger)
    for file in files:
        shard, done = places[file.name]
        yield file, ledger.rows(shard, done)


def _fill(
    call: MapCall, files: Sequence[SourceFile], engine: Engine, ledger: DoneShards
) -> dict[str, tuple[int, DoneFile]]:
    """Do what is not done yet, shard by shard; where each file's rows are then."""
    shards: dict[int, list[SourceFile]] = {}
    for file in files:
        shards.setdefault(ledger.shard(file), []).append(file)
    held = {shard: ledger.done(shard) for shard in shards}
    todo = {shard: [one for one in some if not _is_done(one, held[shard])] for shard, some in shards.items()}
    answers = engine(call, [file for shard in shards for file in todo[shard]])
    for shard, some in shards.items():
        if not todo[shard] and len(held[shard]) == len(some):
            continue
        made = {file.name: answer for _, (file, answer) in zip(todo[shard], answers, strict=False)}
        whole = [(one, made.get(one.name) or ledger.rows(shard, held[shard][one.name])) for one in some]
        ledger.write(shard, whole)
        held[shard] = ledger.done(shard)
    return {file.name: (shard, held[shard][file.name]) for shard, some in shards.items() for file in some}


def _is_done(file: SourceFile, held: dict[str, DoneFile]) -> bool:
    done = held.get(file.name)
    return done is not None and bool(file.stamp) and done.stamp == file.stamp and done.code not in PASSING


def _json(path: Path) -> Any:
    """What a small file holds; None if there is none. Raises ReadFailed."""
    try:
        return loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValueError:
        return False
    except OSError as error:
        raise ReadFailed(f"{path}: {reason_of(error)}") from error


def _module(call: MapCall) -> str:
    """A digest of the user's module, whose rows are of no use once it changed; "" for ctxkit's own functions."""
    if ":" not in call.function:
        return ""
    found = find_spec(call.function.partition(":")[0])
    if found is None or found.origin is None or not os.path.isfile(found.origin):
        return ""
    return hashlib.sha256(Path(found.origin).read_bytes()).hexdigest()
