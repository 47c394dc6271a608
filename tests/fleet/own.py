"""Functions of a user's own for the tests of `fleet map`: `tests.fleet.own:NAME`; files whose reading does more."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ctxkit.fleet.sources import SourceBytes, SourceFile

Config = Mapping[str, str]
Rows = Iterable[Mapping[str, Any]]


def lines(data: bytes, name: str, config: Config) -> Rows:
    """A row with the lines of a file; what it prints is no row."""
    print("counting", name)
    return [{"lines": data.count(b"\n"), "unit": config.get("unit", "line")}]


def none(data: bytes, name: str, config: Config) -> Rows:
    """No rows."""
    return []


def wrong(data: bytes, name: str, config: Config) -> Iterator[Any]:
    """What `kind` says is done after a first row."""
    yield {"first": 1}
    match config["kind"]:
        case "raise":
            raise ValueError("not like this")
        case "exit":
            raise SystemExit(3)
        case "interrupt":
            raise KeyboardInterrupt
        case "text":
            yield "a text"
        case "set":
            yield {"one": {1, 2}}


def killed(data: bytes, name: str, config: Config) -> Rows:
    """Its process is killed at files with `always` in their name, and once at those with `once`."""
    if "always" in name:
        os.kill(os.getpid(), signal.SIGKILL)
    first = Path(config["folder"]) / Path(name).name
    if "once" in name and not first.exists():
        first.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return [{"bytes": len(data)}]


def slow(data: bytes, name: str, config: Config) -> Rows:
    """Leaves the number of its process in `folder`, and takes its time."""
    (Path(config["folder"]) / str(os.getpid())).touch()
    time.sleep(float(config["seconds"]))
    return [{"bytes": len(data)}]


class SlowSource(SourceFile, frozen=True):
    """A file that takes its time, and leaves the number of the process that reads it in the folder `seen`."""

    seen: str = ""

    @classmethod
    def of(cls, file: SourceFile, seen: str) -> SourceFile:
        """The same file."""
        return cls(**msgspec.structs.asdict(file), seen=seen)

    def read(self) -> SourceBytes:
        """Its bytes."""
        (Path(self.seen) / str(os.getpid())).touch()
        time.sleep(0.2)
        return super().read()


class DeadlySource(SourceFile, frozen=True):
    """A file at which its process is killed."""

    @classmethod
    def of(cls, file: SourceFile) -> SourceFile:
        """The same file."""
        return cls(**msgspec.structs.asdict(file))

    def read(self) -> SourceBytes:
        """Nothing: nobody is left to read it."""
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError
