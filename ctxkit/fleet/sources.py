"""Where logs come from: files and folders here, and URLs (`s3://`, `gs://`, `memory://`, `file://`) by fsspec.

Pipeline: places -> `listed` -> `SourceFile.read` -> `rows.py`. A log and its sidecar are one source: if either changes,
the source did. fsspec is loaded only for URLs.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import msgspec

from ctxkit.core.log_name import plain_name
from ctxkit.core.text.urls import secrets_of, without_users
from ctxkit.errors import CtxkitError, MissingHistory, NoPermission, NoSuchLog, ReadFailed, Usage, reason_of
from ctxkit.fleet.rows import CONFIG
from ctxkit.fleet.tables import missing
from ctxkit.logfile.history import goes_on, joined
from ctxkit.store.folder import LOG_ENDINGS, is_sidecar, sidecar_name, walk
from ctxkit.store.opening import cannot_open
from ctxkit.store.sidecar import Sidecar
from ctxkit.store.source import open_log, plain_bytes

CHECKS = ("ETag", "etag", "md5Hash", "checksum", "mtime", "LastModified", "last_modified", "updated", "created")
"""What file systems say of a file that changes with its content, the surest first."""


class SourceBytes(NamedTuple):
    """The bytes of a log, and those of the files of its sidecar that count, by name, as `rows.rows` takes them."""

    data: bytes
    sidecar: dict[str, bytes]


class SourceFile(msgspec.Struct, frozen=True, order=True):
    """A file that may be a log. `name`: its absolute path or URL, the `source_uri` of its transcripts, without a user
    and password; `size`: bytes; `url`: the URL to open, if `name` is not.

    `stamp`: changes when the file or its sidecar does; "" if nothing tells. `beside`: names of the files of its sidecar
    that count; `named`: it was named itself, and not found in a folder; `error`: why it cannot be read, "" if it can;
    `time`: when it was changed, in nanoseconds, 0 if nothing tells.
    """

    name: str
    size: int = 0
    stamp: str = ""
    beside: tuple[str, ...] = ()
    named: bool = False
    error: str = ""
    url: str = ""
    time: int = 0

    def read(self) -> SourceBytes:
        """Its bytes. Raises NoSuchLog, NoPermission, ReadFailed; Usage if a library for the URL is not installed."""
        if self.error:
            raise ReadFailed(self.error)
        if is_url(self.name):
            fs, path = file_system(self.url or self.name)
            with named_errors(self.name):
                held = {name: fs.cat_file(f"{sidecar_name(path)}/{name}") for name in self.beside}
                data = fs.cat_file(path)
            return SourceBytes(plain_bytes(data, self.name), held)
        folder = Path(sidecar_name(os.path.realpath(self.name)))
        held = {name: _bytes(folder / name) for name in self.beside}
        return SourceBytes(_bytes(Path(self.name)), held)


def may_have_rows(file: SourceFile) -> bool:
    """Whether somebody would look for the rows of a file, even if it is no log: by its name it is one."""
    return file.named or file.name.endswith(LOG_ENDINGS)


def is_url(place: str) -> bool:
    """Whether a place is a URL of another file system; `file://` is of this one."""
    return "://" in place and not place.startswith("file://")


def local(place: str) -> str:
    """The absolute path of a place that is no URL, or one of `file://`."""
    return os.path.abspath(unquote(urlsplit(place).path) if place.startswith("file://") else place)


def listed(places: Iterable[str]) -> Iterator[SourceFile]:
    """The files below these places, each once. Nothing of a file is read.

    A file below a folder that cannot be looked at has an `error`. Raises NoSuchLog, NoPermission for a place that does
    not exist or cannot be read, ReadFailed for a failing connection, Usage if a library for a URL is not installed.
    """
    seen: set[str] = set()
    for place in places:
        if not place:
            raise NoSuchLog("the name of the log is empty", "is a shell variable empty?")
        for one in _remote(place) if is_url(place) else _local(local(place)):
            if one.name not in seen:
                seen.add(one.name)
                yield one


def holds(place: str, name: str) -> bool:
    """Whether a source is a place, or below it."""
    whole = without_users(place).rstrip("/") if is_url(place) else local(place)
    return name == whole or name.startswith(whole.rstrip("/") + "/")


def before(name: str) -> tuple[str, ...]:
    """The files in which the history of a local log begins, each with its stamp, or why they cannot be read; () for a
    log that is whole. It changes when one of them does.
    """
    if is_url(name):
        return ()
    try:
        with open_log(Path(name)) as source:
            format = goes_on(source)
            whole = None if format is None else joined(Path(name), source, format)
            others = () if whole is None else whole.others
        return tuple(f"{path} {_stamp(os.stat(path))}" for path in others)
    except MissingHistory as error:
        return (error.message,)
    except (CtxkitError, OSError):  # reading it says why
        return ()


def _local(place: str) -> Iterator[SourceFile]:
    named = os.path.isfile(place)
    if not named and not (place and os.path.isdir(place)):
        with open_log(place):  # raises: it is missing, or a device, a pipe, a socket
            return
    try:
        for entry in walk(Path(place)):
            if entry.sidecar:
                continue
            name = str(entry.path)
            if entry.found is None:
                why = "" if entry.error is None else reason_of(entry.error)
                yield SourceFile(name, named=named, error=f"cannot be read: {why}")
                continue
            stamp, beside = [_stamp(entry.found)], list[str]()
            try:
                for file in () if entry.alone else _beside(name):
                    beside.append(file.name)
                    stamp.append(f"{file.name} {_stamp(os.stat(file))}")
            except (CtxkitError, OSError) as error:
                why = error.message if isinstance(error, CtxkitError) else reason_of(error)
                yield SourceFile(name, named=named, error=f"its sidecar cannot be read: {why}")
                continue
            size, time = entry.found.st_size, entry.found.st_mtime_ns
            yield SourceFile(name, size, "; ".join(stamp), tuple(beside), named, time=time)
    except OSError as error:
        raise cannot_open(Path(place), error) from error


def _beside(name: str) -> list[Path]:
    """The files of a log's sidecar that count; none of a sidecar that is ignored."""
    sidecar = Sidecar(Path(name))
    if sidecar.ignored or not sidecar.folder.is_dir():
        return []
    sidecar.ops_size()  # raises for a link that leads out
    return [sidecar.folder / one for one in sorted(os.listdir(sidecar.folder)) if _counts(one)]


def _counts(name: str) -> bool:
    """Whether a file of a sidecar says what is in the context."""
    return name == CONFIG or (name.startswith("ops.") and name.endswith(".jsonl"))


def _stamp(found: os.stat_result) -> str:
    return f"{found.st_size} {found.st_mtime_ns}"


def _bytes(path: Path) -> bytes:
    with open_log(path) as source:
        return source.read(0, source.size)


def _remote(place: str) -> Iterator[SourceFile]:
    fs, path = file_system(place)
    with named_errors(place):
        found: dict[str, dict[str, Any]] = fs.find(path, detail=True)
        if not found:
            raise NoSuchLog(f"{without_users(place)}: nothing is there")
    whole = {_url(fs, name): info for name, info in found.items()}
    beside: dict[str, list[str]] = {}
    files = []
    for url in sorted(whole):
        parts = url.split("/")
        at = next((k for k, part in enumerate(parts) if is_sidecar(part)), None)
        if at is None:
            if (plain := plain_name(url)) == url or plain not in whole:
                files.append(url)
        elif at == len(parts) - 2 and _counts(parts[-1]):
            beside.setdefault("/".join(parts[: at + 1]), []).append(parts[-1])
    for url in files:
        folder = sidecar_name(url)
        some = beside.get(folder, [])
        marks = [_mark(whole[url]), *(f"{one} {_mark(whole[f'{folder}/{one}'])}" for one in some)]
        stamp = "; ".join(marks) if all(marks) else ""
        name = without_users(url)
        size, named = int(whole[url].get("size") or 0), len(found) == 1
        yield SourceFile(name, size, stamp, tuple(some), named=named, url=url if url != name else "")


def _mark(info: dict[str, Any]) -> str:
    """What says that a remote file did not change; "" if nothing does."""
    told = next((info[key] for key in CHECKS if info.get(key)), None)
    return "" if told is None else f"{info.get('size')} {told}"


def _url(fs: Any, name: str) -> str:
    found: str = fs.unstrip_protocol(name)
    return found


def file_system(url: str) -> tuple[Any, str]:
    """The file system of a URL and the path in it. Raises Usage if a library for it is not installed."""
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise missing("fsspec") from error
    try:
        fs, path = url_to_fs(url)
    except ImportError as error:
        text = f"{without_users(url)}: {_told(url, error)}"
        raise Usage(text, "install the library that fsspec names, such as s3fs for s3://") from error
    except ValueError as error:
        text = f"{without_users(url)}: {_told(url, error)}"
        raise Usage(text, "fsspec knows s3://, gs://, memory:// and others") from error
    except Exception as error:  # some file systems ask their server, or need more than a URL, when they are made
        raise _failed(url, error, "read") from error
    return fs, path


def _told(url: str, error: Exception) -> str:
    """What a library says of a URL, without what is secret in it, which may stand alone, and decoded."""
    secrets = secrets_of(url)
    return without_users(str(error), [*secrets, *map(unquote, secrets)])


def _failed(url: str, error: Exception, what: str) -> ReadFailed:
    text = " ".join(_told(url, error).split()) or type(error).__name__
    return ReadFailed(f"{without_users(url)}: could not be {what}: {text}")


@contextmanager
def named_errors(url: str, what: str = "read") -> Iterator[None]:
    """Turns what fsspec and the libraries below it raise into errors that name the URL, without its user and password.

    `what`: what could not be done, read or written.

    Raises NoSuchLog, NoPermission, ReadFailed.
    """
    try:
        yield
    except CtxkitError:
        raise
    except FileNotFoundError as error:
        raise NoSuchLog(f"{without_users(url)}: nothing is there") from error
    except PermissionError as error:
        raise NoPermission(f"{without_users(url)}: permission denied") from error
    except Exception as error:  # each store has errors of its own
        raise _failed(url, error, what) from error


def join(place: str, *names: str) -> str:
    """A path or URL below another."""
    return posixpath.join(place, *names) if is_url(place) else os.path.join(place, *names)
