"""ctxkit config: the settings of a log, or one's own: shown with their origins, set and unset."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from ctxkit.cli import io
from ctxkit.cli.origins import listed, near
from ctxkit.cli.params import JsonOption, LogArgument, QuietOption, SidecarOption, StrictOption
from ctxkit.configuring import Change, Configured, as_typed, overridden
from ctxkit.errors import CtxkitError, NoSuchLog, Usage
from ctxkit.store.config import Setting
from ctxkit.store.keys import written

ACTIONS = {"show": 0, "get": 1, "set": 2, "unset": 1}
"""Each with how many words follow it."""
HINT = "ctxkit config LOG show | get KEY | set KEY VALUE | unset KEY"


def command(
    log: LogArgument = "-",
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="show | get KEY | set KEY VALUE | unset KEY", help="Nothing: show."),
    ] = None,
    *,
    user: Annotated[bool, typer.Option("--user", help="Your own config, for all logs; no LOG is named.")] = False,
    only_set: Annotated[bool, typer.Option("--only-set", help="Show: only what is set somewhere.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check and say what would change; write nothing.")] = False,
    sidecar: SidecarOption = None,
    strict: StrictOption = False,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show, get, set or unset the settings of a log: those in its sidecar's config.toml, or, with --user, your own.

    `show` says where each value comes from: file and line, environment or default. `set` keeps comments, order and
    formatting of the file. The log itself is not read. - shows what holds for a log on standard input.
    """
    io.Streams.quiet = quiet
    given = list(words or [])
    if user and (log in ACTIONS or log == "-"):
        given = given if log == "-" else [log, *given]
    elif user:
        raise Usage(f"--user is the config of all logs: {log!r} is one too many", "ctxkit config --user set KEY VALUE")
    elif log in ACTIONS and not os.path.lexists(log):
        raise NoSuchLog(f"{log}: no such log: no log was named", f"{HINT}; - for none, --user for your own")
    action, rest = (given[0], given[1:]) if given else ("show", [])
    if action not in ACTIONS:
        raise Usage(f"config cannot {action!r}: nothing was changed", HINT)
    if len(rest) != ACTIONS[action]:
        more = "; a value with blanks stands in quotes" if len(rest) > ACTIONS[action] else ""
        raise Usage(
            f"`config {action}` takes {ACTIONS[action] or 'no'} words, not {len(rest)}: nothing was changed{more}", HINT
        )
    if not log:
        raise NoSuchLog("the name of the log is empty", "is a shell variable unset?")
    found = Configured(None if user else log, sidecar=sidecar, env=os.environ, strict=strict)
    if action == "show":
        _show(found, only_set=only_set, json=json)
    elif action == "get":
        _get(found, rest[0], json=json)
    else:
        change = (
            found.set(rest[0], rest[1], dry_run=dry_run) if action == "set" else found.unset(rest[0], dry_run=dry_run)
        )
        _notices(found)
        _say(change, dry_run=dry_run, json=json)


def _get(found: Configured, name: str, *, json: bool) -> None:
    setting = found.get(name)
    _notices(found)
    if json:
        io.out_json(_json(name, setting))
    else:
        io.out(as_typed(setting))


def _show(found: Configured, *, only_set: bool, json: bool) -> None:
    config = found.load(tolerant=True)
    _notices(found)
    rows = [(name, one) for name, one in config.every() if not (only_set and one.origin == "default")]
    if json:
        for name, setting in rows:
            io.out_json(_json(name, setting))
    else:
        for line in listed(rows):
            io.out(*line)
    io.flush()
    _fail(config.errors)


def _notices(found: Configured) -> None:
    for notice in found.notices:
        io.say(f"ctxkit: {notice}")


def _fail(errors: list[CtxkitError]) -> None:
    """All that is wrong, on stderr, and the exit status of the last."""
    for error in errors[:-1]:
        io.tell(f"ctxkit: {error.message}")
        io.tell(f"hint: {error.hint}") if error.hint else None
    if errors:
        raise errors[-1]


def _json(name: str, setting: Setting) -> dict[str, object]:
    plain = setting.written is None or isinstance(setting.written, str | int | float | list)
    return {
        "key": name,
        "value": setting.written if plain else as_typed(setting),
        "resolved": setting.value,
        "origin": setting.origin,
    }


def _say(change: Change, *, dry_run: bool, json: bool) -> None:
    said = (
        f"{change.key} = {written(change.after)}" if change.after is not None else f"{change.key} is not set any more"
    )
    if json:
        values = {"before": change.before, "after": change.after}
        io.out_json({"key": change.key, "file": str(change.file), **values, "dry_run": dry_run})
    io.flush()
    place = near(str(change.file))
    io.say(f"Dry run, nothing was written. Without it: {said} ({place})" if dry_run else f"{said} ({place})")
    for wrong in change.left:
        io.say(f"ctxkit: still wrong: {wrong}")
    variable = None if change.after is None else overridden(change.key, os.environ)
    if variable:
        io.say(f"ctxkit: {variable} is set and counts before it")
