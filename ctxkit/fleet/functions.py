"""The functions of `fleet map`: the bytes of one file and a call -> rows, and nothing else.

Pipeline: an engine (`engines/`) asks `answer` for each file, here or on another machine; the same bytes and the same
call give the same rows. A failure is a row too, so that no file takes the others.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import msgspec

from ctxkit.api.log import Log
from ctxkit.core import strategies
from ctxkit.core.item_names import Name, Names
from ctxkit.core.text.json_text import dumps, finite
from ctxkit.errors import (
    CtxkitError,
    ExitCode,
    FunctionFailed,
    ReadFailed,
    UnknownFormat,
    Usage,
    reason_of,
    short_name,
)
from ctxkit.fleet import rows as tables
from ctxkit.fleet.sources import SourceBytes, SourceFile, may_have_rows
from ctxkit.formats.targets import TARGETS
from ctxkit.logfile.read import AUTO, Opening
from ctxkit.logfile.tolerant import one_of_many
from ctxkit.measure.status import as_json
from ctxkit.settings.config import Config
from ctxkit.settings.keys import amount, key_of
from ctxkit.store.folder import START, may_be_log
from ctxkit.store.sidecar import HeldSidecar
from ctxkit.version import VERSION

Row = Mapping[str, Any]
MapFunction = Callable[[bytes, str, Mapping[str, str]], Iterable[Row]]
"""A function of the user's own: the bytes of a file, its name, what `--set` gave -> rows."""

SIGNATURE = "def f(data: bytes, name: str, config: Mapping[str, str]) -> Iterable[Mapping]"
LARGEST = 512
"""The most characters of an exception of a user's function that its row holds."""
_encode = msgspec.json.Encoder().encode
_OWN = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


class MapCall(msgspec.Struct, frozen=True):
    """What is done with every file; it goes to other processes and machines as it is.

    `function`: a key of FUNCTIONS, or `module:function`; `options`: what `--set` gave. `folder`: where `module` is
    looked up first, "" for nowhere. `version`: the ctxkit that asks.
    """

    function: str
    options: dict[str, str] = {}
    folder: str = ""
    version: str = VERSION


def call_of(function: str, options: Mapping[str, str], folder: str = "") -> MapCall:
    """The call of a command line, once everything of it that can be wrong was looked at. Raises Usage, BadConfig."""
    call = MapCall(function, dict(options), folder)
    built = FUNCTIONS.get(function)
    if built is None:
        if ":" not in function:
            known = ", ".join(FUNCTIONS)
            raise Usage(f"no such function: {function}", f"{known}, or module:function of your own")
        own(function, folder)
        return call
    if options.get("now") == "wall":
        raise Usage("--set now=wall: rows would not be the same twice", "last, or a time such as 2026-02-12T14:30:00Z")
    if built.verify is not None:
        built.verify(call)
    config_of(call)
    return call


# What ctxkit itself can do with a file


def status(log: Log, call: MapCall) -> Iterator[Row]:
    """A row per log: what `status --json` prints, without what the config puts around the messages."""
    yield as_json(log.status(assembly=False))


def check(log: Log, call: MapCall) -> Iterator[Row]:
    """A row per log: its findings, and how many of them are problems."""
    found = log.check(notes=True)
    problems = sum(not one.note for one in found)
    counts = {"messages": len(log.messages), "ops": len(log.ledger.entries), "problems": problems}
    yield {**counts, "findings": msgspec.to_builtins(found)}


def compact(log: Log, call: MapCall) -> Iterator[Row]:
    """A row per log: what a compact by rules would do, with its figures, and which messages would stay.

    Nothing is appended. Options: `target` (30%, or tokens), `strategy` (extract, mask, truncate).
    """
    target, strategy = call.options.get("target"), call.options.get("strategy", strategies.RULES)
    share, budget = (target, None) if target is None or target.endswith("%") else (None, _tokens(target))
    context = log.names()
    log.config = log.config.given(
        {"compact.cooldown": "off"}
    )  # what a compact would do, not whether it is time for one
    try:
        op = log.compact(target=share, budget=budget, strategy=strategy, force=True)
        said = log.said
    except CtxkitError as error:
        if error.code is not ExitCode.NO:
            raise
        op, said = None, error.message
    if op is None or log.compacted is None:
        yield {"replaced": "", "said": said, "context": _numbers(context)}
        return
    figures = log.compacted.as_json(None)
    del figures["op"], figures["seconds"]  # an id and a duration: not the same twice
    found = log.compacted.found
    yield {**figures, "said": said, "context": _numbers(found.seen.names()), "summary": found.op.text}


def _numbers(names: Iterable[Name]) -> str:
    """The numbers of messages, as ranges."""
    return str(Names.of(names).numbers)


def _tokens(text: str) -> int:
    found = amount(text)
    if not isinstance(found, int) or found <= 0:
        raise Usage(f"--set target={text}: neither a share nor tokens", "30%, or 20000, or 20k")
    return found


def _verify_compact(call: MapCall) -> None:
    strategy, target = call.options.get("strategy", strategies.RULES), call.options.get("target", "1%")
    if strategy not in strategies.OFFLINE:
        text = f"--set strategy={strategy}: fleet map compacts by rules"
        raise Usage(text, f"one of {', '.join(strategies.OFFLINE)}")
    if not target.endswith("%"):
        _tokens(target)


def export(log: Log, call: MapCall) -> Iterator[Row]:
    """The context for a provider. Options: `to` (required), `model`.

    For a request a row per log with its `body`; for chat lines a row per message.
    """
    to = call.options["to"]
    log.known_ops()
    made = log.export(to, model=call.options.get("model", ""), assembly=False)
    if TARGETS[to].kind == "lines":
        yield from ({"to": to, "message": value} for value in made.values)
        return
    repairs = msgspec.to_builtins(made.repairs)
    yield from ({"to": to, "repairs": repairs, "refused": made.refused, "body": body} for body in made.values)


def _verify_export(call: MapCall) -> None:
    to = call.options.get("to", "")
    fitting = [one.name for one in TARGETS.values() if one.kind != "session"]
    if to not in fitting:
        text = f"--set to={to}: not for fleet map" if to else "export needs --set to=TARGET"
        raise Usage(text, f"one of {', '.join(fitting)}")


class BuiltIn(msgspec.Struct, frozen=True):
    """A function that ctxkit has. `rows`: None for those of `fleet ingest`, which are made from the bytes.

    `options`: what it takes with `--set`, besides keys of the config; `verify`: raises Usage for wrong ones.
    """

    rows: Callable[[Log, MapCall], Iterator[Row]] | None
    options: tuple[str, ...] = ()
    verify: Callable[[MapCall], None] | None = None


FUNCTIONS: dict[str, BuiltIn] = {
    "status": BuiltIn(status),
    "check": BuiltIn(check),
    "compact": BuiltIn(compact, ("target", "strategy"), _verify_compact),
    "export": BuiltIn(export, ("to", "model"), _verify_export),
    "ingest": BuiltIn(None),
}
"""Name -> function, in the order of help."""


# A function of the user's own


def own(name: str, folder: str) -> MapFunction:
    """The user's function `module:function`, looked up as `python -m` looks up a module. Raises Usage.

    `folder` is on the path only while the module is imported, so that nothing else is imported from there.
    """
    if not _OWN.fullmatch(name):
        raise Usage(f"{name}: not a module:function", _without_py(name) or "package.module:function")
    module, _, attribute = name.partition(":")
    try:
        with _on_path(folder), contextlib.redirect_stdout(sys.stderr):
            found = getattr(import_module(module), attribute)
    except (Exception, SystemExit) as error:  # a user's module may raise anything
        text = f"{name}: cannot be imported: {_words(error)}"
        hint = _without_py(name) or "run it in the folder of the module, or set PYTHONPATH"
        raise Usage(text, hint) from error
    if not callable(found):
        raise Usage(f"{name}: not a function", SIGNATURE)
    return found  # type: ignore[no-any-return]


def _without_py(name: str) -> str:
    """A hint for a name that names a file, and not its module: `mine.py:f`; "" for any other."""
    file, _, attribute = name.partition(":")
    written = f"{os.path.basename(file).removesuffix('.py')}:{attribute}"
    return f"{written}, without .py" if file.endswith(".py") and _OWN.fullmatch(written) else ""


@contextmanager
def _on_path(folder: str) -> Iterator[None]:
    added = [folder] if folder and folder not in sys.path else []
    sys.path[:0] = added
    try:
        yield
    finally:
        for one in added:
            sys.path.remove(one)


def _own_lines(call: MapCall, name: str, data: bytes) -> bytes:
    function = own(call.function, call.folder)
    lines = []
    try:
        with contextlib.redirect_stdout(sys.stderr):  # standard output has rows alone
            for row in function(data, name, dict(call.options)):
                if not isinstance(row, Mapping):
                    raise TypeError(f"a row is a {type(row).__name__}, not a mapping")
                lines.append(_json({"log": name, **row}))
    except (Exception, SystemExit, KeyboardInterrupt) as error:  # whatever it raises is about this file
        text = f"{name}: {call.function}: {_words(error)}"
        raise FunctionFailed(text, "call it with this file alone") from error
    return b"".join(lines)


def _words(error: BaseException) -> str:
    text = f"{type(error).__name__}: {error}"
    return text if len(text) <= LARGEST else f"{text[:LARGEST]}…"


# One file


class FileRows(NamedTuple):
    """The rows of a file as JSON lines. `code`: the exit status that its worst failure stands for, 0 for none."""

    rows: bytes
    code: int = 0


def answer(call: MapCall, file: SourceFile) -> FileRows:
    """The rows of one file, each with the file's name in `log`. A failure is a row with `error`.

    A file that was found in a folder, is no log and is not called JSON has no rows.
    """
    try:
        with one_of_many(file.name):
            if call.version != VERSION:
                text = f"{file.name}: ctxkit {call.version} asks, and a worker has {VERSION}"
                raise Usage(text, "install the same version everywhere")
            held = file.read()
            if not may_have_rows(file) and not may_be_log(held.data[:START]):
                return FileRows(b"")
            if call.function not in FUNCTIONS:
                return FileRows(_own_lines(call, file.name, held.data))
            return _answer(call, file, held)
    except UnknownFormat as error:
        return failed(file.name, error) if may_have_rows(file) else FileRows(b"")
    except CtxkitError as error:
        return failed(file.name, error)
    except OSError as error:
        return failed(file.name, ReadFailed(f"{file.name}: {reason_of(error)}"))


def failed(name: str, error: CtxkitError) -> FileRows:
    """The row of a file that failed."""
    return FileRows(_line({"log": name, **_told(error)}), int(error.code))


def _told(error: CtxkitError) -> Row:
    code = int(error.code)
    return {"error": {"reason": short_name(type(error)), "text": error.message, "hint": error.hint, "code": code}}


def _line(row: Row) -> bytes:
    try:
        return _encode(row) + b"\n"
    except (TypeError, ValueError, OverflowError, RecursionError):  # lone surrogates; else it raises again
        return _json(row)


def _json(row: Row) -> bytes:
    """A row as the standard library writes it: a set, whose order is another one each time, is no JSON."""
    return dumps(finite(dict(row))).encode("ascii") + b"\n"


def _answer(call: MapCall, file: SourceFile, held: SourceBytes) -> FileRows:
    built = FUNCTIONS[call.function]
    if built.rows is None:
        return _tables(call, file, held)
    beside = HeldSidecar(held.sidecar)
    config = config_of(call, beside)
    lines, worst = list[bytes](), 0
    for number, opening in tables.conversations(held.data, file.name, beside, config["format"]):
        about = {"log": file.name} | ({} if number is None else {"conversation": number})
        try:
            if not isinstance(opening, Opening):
                raise opening
            log = Log(opening, config, clock=lambda: 0.0)
            log.dry_run = True
            lines += [_line({**about, **row}) for row in built.rows(log, call)]
        except CtxkitError as error:
            if number is None:
                raise
            lines.append(_line({**about, **_told(error)}))
            worst = max(worst, int(error.code))
    return FileRows(b"".join(lines), worst)


def _tables(call: MapCall, file: SourceFile, held: SourceBytes) -> FileRows:
    """What `fleet ingest` makes of the file: a row for each row, with its `table`."""
    keys = {name: key_of(name).typed(text) for name, text in call.options.items()}
    form = str(keys.pop("format", AUTO))
    made = tables.rows(held.data, file.name, sidecar=held.sidecar, format=form, config=keys)
    lines = [_line({"log": file.name, "table": table, **row}) for table, some in made.items() for row in some]
    return FileRows(b"".join(lines))


def config_of(call: MapCall, beside: HeldSidecar | None = None) -> Config:
    """The config: the log's own in its sidecar, and `--set` before it. Raises BadConfig."""
    config = tables.own_config(beside or HeldSidecar({}))
    built = FUNCTIONS.get(call.function)
    config.set_flags({} if built is None else {k: text for k, text in call.options.items() if k not in built.options})
    return config
