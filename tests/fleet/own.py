"""Functions of a user's own for the tests of `fleet map`: `tests.fleet.own:NAME`."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

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
