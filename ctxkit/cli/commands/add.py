"""ctxkit add: append a message."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ctxkit.api.log import Log
from ctxkit.cli.log_access import opened, set_own_zone, typed
from ctxkit.cli.options import Reading, UnpickedLog, takes
from ctxkit.cli.terminal import layout, streams
from ctxkit.core.roles import known, side, unknown
from ctxkit.core.times import iso, written
from ctxkit.errors import BadMessage, ContextFull, CtxkitError, ForeignLog, NoSuchLog, NothingMatched, Usage, Warned
from ctxkit.logfile import ownership
from ctxkit.logfile.append import EMPTY, require_message, require_sayable, strange_roles
from ctxkit.settings import said_config
from ctxkit.store.durable_append import create_log
from ctxkit.store.sidecar import Sidecar

SHAPE = (
    'a message is a line such as {"role":"user","content":"hi"}, '
    "or begins with one such as [2025-01-18 22:15:03] Sam: hi"
)

SHORTEST_SECRET = 12
"""Characters from which on a name is looked at: no mark of a maker with the least of its value is shorter."""


@takes(Reading)
def command(
    log: UnpickedLog = "-",
    text: Annotated[
        str | None, typer.Argument(metavar="[TEXT]", help="The text, or - for standard input (default, in a pipe).")
    ] = None,
    *,
    role: str = "user",
    agent: str | None = None,
    thread: str | None = None,
    name: str | None = None,
    model: str | None = None,
    ts: str | None = None,
    messages: bool = False,
    force: bool = False,
    enforce: bool = False,
    create: bool = False,
    dry_run: bool = False,
    reading: Reading,
) -> None:
    """Append a message to a log.

    A log that another program owns gets no messages (exit 65). In a pipe, `add - TEXT` copies the log and adds the
    message at the end. An unknown role and, without --force, an empty text are refused (exit 2); --messages takes
    rows as they are and says which roles are unknown. It also takes a conversation, a line `[TIME] NAME: TEXT` for each
    message; a name is a user's, but for that of --agent. --enforce refuses a user's message if the context would be
    full; answers and results are always added. If a model forgot messages with filter_context and this is its answer,
    the rest of that conversation leaves the context too, as with `ctxkit tool cleanup`.
    """
    words = _piped() if text is None and log != "-" else text
    if words is None:
        raise Usage("no text was given: nothing was added", "ctxkit add LOG 'the text', or a pipe: … | ctxkit add LOG")
    if log == "-" and text == "-":
        raise Usage("standard input cannot be both the log and the message", "name a log, or give the text")
    if ts is not None and written(ts) is None:
        raise Usage(f"--ts {ts!r} is not an ISO time: nothing was added", "2026-02-12T14:30:00Z")
    words = _stdin() if text == "-" else words
    fields = {"ts": ts, "name": name, "agent": agent, "thread": thread, "model": model}
    given = {key: value for key, value in fields.items() if value is not None}
    for key in given.keys() - {"ts"}:
        _refuse_secret(key, given[key])
    records = [
        {**one, **given}
        for one in (_records(words, agent, reading) if messages else [{"role": role, "content": words}])
    ]
    for record in records:  # check all before the first is added
        if messages:
            require_message(record)
        else:
            require_sayable(record, empty=force)
    if not (messages or force or words.strip() or side(role) == "tool"):  # nobody types a model's empty answer
        raise Usage("the text is empty: nothing was added", EMPTY)
    if create and log not in ("", "-") and not Path(log).exists():
        _create(Path(log), reading)
    target = _opened(log, reading)
    target.dry_run = dry_run
    strange = {record["role"] for record in records if not known(record["role"])}
    if log == "-":  # those of the log are said
        strange -= strange_roles(target).keys()
    if enforce and target.native:
        _enforce(target, records)
    cleaned, warned = list[str](), list[str]()
    for added, record in enumerate(records):
        record["ts"] = typed(ts) if ts is not None else record.get("ts", iso(int(target.clock())))
        try:
            target.add_message(record, as_it_is=True)
        except CtxkitError as error:
            if added and log != "-":
                error.message += f"; {added} of {len(records)} messages were added"
            raise
        if log != "-" and not dry_run:
            streams.Streams.done = f"{layout.count(added + 1, 'message')} added"
        cleaned += target.cleaned
        warned += target.warned
        if dry_run or reading.json:
            (streams.err_json if log == "-" else streams.out_json)(record)
    if log == "-":
        whole = target if dry_run else _cleaned_up(target)
        streams.out_bytes(whole.copy_out())
        cleaned += whole.cleaned
    streams.flush()
    if not records:
        raise NothingMatched("there is no message in what was given: nothing was added")
    streams.say(f"{'Would add' if dry_run else 'Added'} {_said(target, len(records))}.")
    for odd in sorted(strange):
        streams.warn(unknown(odd))
    for words in warned:
        streams.warn(words)
    for words in cleaned:
        streams.say(words)
    if target.config["checkpoint.auto"] and log != "-" and not dry_run:
        _checkpoint(target)


def _cleaned_up(target: Log) -> Log:
    """The stream with the new messages. If a model forgot messages in it, it is read again and cleaned up."""
    if not target.chosen_by_model:
        return target
    from io import BytesIO

    from ctxkit.changes.cleanup import clean_up

    found = Log.open(BytesIO(b"".join(target.copy_out())), format=target.opening.format.name)
    found.args = streams.Streams.words
    found.cleaned = [found.said for _ in clean_up(found)]
    return found


def _checkpoint(target: Log) -> None:
    """Make a checkpoint if the exchange is worth one. A failure is a warning, because the messages were added."""
    try:
        found = target.checkpoint(auto=True)
    except CtxkitError as error:
        streams.warn(Warned(f"no checkpoint was made: {error.message}", "checkpoint-failed"))
        return
    for warning in target.warned:
        streams.warn(warning)
    for words in (*target.notes, *([target.said] if found is not None else [])):
        streams.say(words)


def _enforce(target: Log, records: list[dict[str, Any]]) -> None:
    """Raises ContextFull. A log in a pipe is printed first, unchanged."""
    try:
        target.require_room(*records)
    except ContextFull:
        if target.opening.path is None:
            streams.out_bytes(target.copy_out())
            streams.flush()
        raise


def _refuse_secret(option: str, value: str) -> None:
    """Raise Usage for a name that looks like a secret: the text of a message is kept as it is, a name is typed."""
    if len(value) < SHORTEST_SECRET:
        return
    from ctxkit.core.text.redaction import find_secrets  # reads its rules

    if find_secrets(value):
        raise Usage(f"--{option} looks like a secret, and a log keeps it: nothing was added", "another name")


def _create(path: Path, reading: Reading) -> None:
    """A new log. In a folder in which programs keep their files, its sidecar says that it is the user's."""
    if not reading.own and (owner := ownership.program((), path)):
        raise ForeignLog(f"{path} is in a folder of {owner}: nothing was created", "if it is yours: --own")
    beside = Sidecar(path, Path(reading.sidecar) if reading.sidecar else None)
    create_log(path)
    if ownership.among_programs_files(path):
        said_config.own(beside, os.environ)


def _opened(log: str, reading: Reading) -> Log:
    try:
        return opened(log, reading, command="add")
    except NoSuchLog as error:
        if "; ctxkit init" in error.hint:
            raise NoSuchLog(error.message, f"ctxkit add --create {log} …, or ctxkit init {log}") from error
        raise


def _said(target: Log, added: int) -> str:
    count = len(target.messages)
    if added == 1 and target.opening.path is not None and not target.dry_run:
        return f"message {count}"
    return layout.count(added, "message")


def _piped() -> str | None:
    """The text of standard input if that is a pipe or file with text in it; else None."""
    return None if sys.stdin is None or sys.stdin.isatty() else _stdin() or None


def _stdin() -> str:
    if sys.stdin is None:
        raise Usage("standard input is closed: nothing was added", "give the text: ctxkit add LOG 'the words'")
    text = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    return text.removesuffix("\n")


def _records(text: str, agent: str | None, reading: Reading) -> list[dict[str, Any]]:
    from ctxkit.edit.plain import is_conversation

    if is_conversation(text):
        return _told(text, agent, reading)
    found: list[dict[str, Any]] = []
    for line, words in enumerate(text.split("\n"), start=1):
        if not words.strip():
            continue
        try:
            record = json.loads(words)
        except (ValueError, RecursionError) as error:
            raise BadMessage(f"--messages, line {line}: not JSON ({error}): nothing was added", SHAPE) from error
        if not isinstance(record, dict) or not isinstance(record.get("role"), str):
            raise BadMessage(f"--messages, line {line}: a message needs a string `role`: nothing was added", SHAPE)
        found.append(record)
    return found


def _told(text: str, agent: str | None, reading: Reading) -> list[dict[str, Any]]:
    """The messages of a conversation. The lines of `agent` are its replies, those of other names are users'."""
    from ctxkit.edit.plain import parse_plain, with_times

    set_own_zone(utc=reading.utc)
    parsed = parse_plain(with_times(text, lambda time: typed(time) or time), {}, [agent] if agent else [], told=True)
    for mistake in parsed.mistakes:
        raise BadMessage(f"--messages, line {mistake.line}: {mistake.text}: nothing was added", SHAPE)
    return [
        {"role": block.role, "content": "".join(piece for piece in block.pieces if isinstance(piece, str))}
        | ({"name": block.name} if block.name else {})
        | ({"ts": block.time} if block.time else {})
        for block in parsed.blocks
        if not block.out
    ]
