"""ctxkit config: show, set, unset and accept the settings of a log, or your own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from math import isfinite
from typing import Annotated, Any

import typer

from ctxkit.cli.log_access import set_own_zone, typed
from ctxkit.cli.options import UnpickedLog, takes
from ctxkit.cli.terminal import error_report, streams
from ctxkit.cli.terminal.layout import near, wrap_width
from ctxkit.cli.terminal.safe_text import cells, clip, clip_start, safe
from ctxkit.cli.terminal.style import Line, Styled
from ctxkit.cli.terminal.wrap import USUAL
from ctxkit.errors import CtxkitError, NoSuchLog, Usage, Warned
from ctxkit.settings.config import DEFAULT, Setting
from ctxkit.settings.keys import written
from ctxkit.settings.log_config import ConfigChange, Configured, overridden

ACTIONS: dict[str, tuple[str, ...]] = {
    "show": (), "get": ("KEY",), "set": ("KEY", "VALUE"), "unset": ("KEY",), "accept": (),
}  # fmt: skip
"""Action -> the words that follow it."""
HINT = "ctxkit config LOG show | get KEY | set KEY VALUE | unset KEY | accept"


@takes()
def command(
    log: UnpickedLog = "-",
    action: Annotated[
        str | None,
        typer.Argument(metavar="[show|get|set|unset|accept]", help="What to do (default: show).", show_default=False),
    ] = None,
    key: Annotated[str | None, typer.Argument(metavar="[KEY]", help="A key, such as window.default.")] = None,
    value: Annotated[
        str | None, typer.Argument(metavar="[VALUE]", help="The value: 8h, 85%, true, or a list a,b.")
    ] = None,
    *,
    user: bool = False,
    only_set: bool = False,
    dry_run: bool = False,
    sidecar: str | None = None,
    strict: bool = False,
    json: bool = False,
    quiet: bool = False,
) -> None:
    """Show, get, set, unset or accept the settings of a log: those in its sidecar's config.toml, or, with --user, your
    own.

    `show` says where each value comes from: file and line, environment or default. `set` keeps the comments, order and
    formatting of the file. `accept` lets the config files of the log's folder count in full until they change; where
    you did not write them with ctxkit on this machine, some of their keys have no effect. The log itself is not read.
    - shows the settings for a log on standard input.
    """
    given = [word for word in (action, key, value) if word is not None]
    if user and (log in ACTIONS or log == "-"):
        given = given if log == "-" else [log, *given]
    elif user:
        raise Usage(
            f"--user is the config of all logs, so no log is named: {log!r} is one word too many",
            "ctxkit config --user set KEY VALUE",
        )
    elif log in ACTIONS and not os.path.lexists(log):
        raise NoSuchLog(f"{log}: no such log: no log was named", f"{HINT}; - for none, --user for your own")
    asked, *rest = given or ["show"]
    if asked not in ACTIONS:
        raise Usage(f"config cannot {asked!r}: nothing was changed", HINT)
    if len(rest) != len(ACTIONS[asked]):
        wanted = " and ".join(ACTIONS[asked]) or "no further word"
        raise Usage(f"`config {asked}` takes {wanted}: nothing was changed", HINT)
    if not log:
        raise NoSuchLog("the name of the log is empty", "is a shell variable empty?")
    if os.path.isdir(log) and not user:
        raise NoSuchLog(f"{log}: it is a folder; name a log, or edit its ctxkit.toml, which is for all its logs", HINT)
    found = Configured(None if user else log, sidecar=sidecar, env=os.environ, strict=strict)
    if asked == "show":
        _show(found, only_set=only_set, json=json)
    elif asked == "get":
        _get(found, rest[0], json=json)
    elif asked == "accept":
        _accept(found, dry_run=dry_run, json=json)
    else:
        if asked == "set" and rest[0] == "now":  # the stored time is the same in every zone
            set_own_zone()
            rest[1] = str(typed(rest[1]))
        done = found.set(*rest, dry_run=dry_run) if asked == "set" else found.unset(*rest, dry_run=dry_run)
        _notices(found)
        _say(done, dry_run=dry_run, json=json)


def _get(found: Configured, name: str, *, json: bool) -> None:
    setting = found.get(name)
    _notices(found)
    if json:
        streams.out_json(_json(name, setting))
    else:
        streams.out(setting.typed)


def _accept(found: Configured, *, dry_run: bool, json: bool) -> None:
    accepted = found.accept(dry_run=dry_run)
    _notices(found)
    for file, keys in accepted:
        if json:
            streams.out_json(
                {"file": str(file), "keys": {name: _plain(value) for name, value in keys.items()}, "dry_run": dry_run}
            )
        streams.flush()
        place = near(str(file))
        count = f"{len(keys)} key{'' if len(keys) == 1 else 's'}"
        done = "dry run, nothing was written; would accept" if dry_run else "accepted until the file changes:"
        streams.say(f"{place}: {done} {count}")
        for name, value in keys.items():
            streams.say(f"  {name} = {written(value)}")


def _show(found: Configured, *, only_set: bool, json: bool) -> None:
    config = found.load(tolerant=True)
    _notices(found)
    rows = [(name, one) for name, one in config.every() if not (only_set and one.origin == DEFAULT)]
    if json:
        for name, setting in rows:
            streams.out_json(_json(name, setting))
    else:
        for line in listed(rows):
            streams.out(*line)
    streams.flush()
    _fail(config.errors)


def _notices(found: Configured) -> None:
    for notice in found.notices:
        streams.warn(Warned(notice, "config"))


def _fail(errors: list[CtxkitError]) -> None:
    """Print all errors on stderr; the last one is raised, for its exit status."""
    for error in errors[:-1]:
        error_report.fail(error)
    if errors:
        raise errors[-1]


def _json(name: str, setting: Setting) -> dict[str, object]:
    return {
        "key": name,
        "value": _plain(setting.written),
        "resolved": setting.value,
        "origin": setting.origin,
    }


def _plain(value: Any) -> Any:
    """A value of a config file for JSON; times and invalid values as text."""
    plain = value is None or isinstance(value, str | int) or (isinstance(value, float) and isfinite(value))
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return value
    return value if plain else written(value)


def _say(change: ConfigChange, *, dry_run: bool, json: bool) -> None:
    said = (
        f"{change.key} = {written(change.after)}" if change.after is not None else f"{change.key} is not set any more"
    )
    if json:
        values = {"before": _plain(change.before), "after": _plain(change.after)}
        streams.out_json({"key": change.key, "file": str(change.file), **values, "dry_run": dry_run})
    streams.flush()
    place = near(str(change.file))
    streams.say(f"Dry run, nothing was written. Without it: {said} ({place})" if dry_run else f"{said} ({place})")
    for wrong in change.left:
        streams.say(f"ctxkit: still wrong: {wrong}")
    variable = None if change.after is None else overridden(change.key, os.environ)
    if variable:
        streams.say(f"ctxkit: {variable} is set and takes precedence")


def listed(rows: list[tuple[str, Setting]]) -> Iterator[Line]:
    """Yield a line for each key: name, value, origin; if it is too wide, the origin has a line of its own."""
    columns = wrap_width()
    texts = [(safe(name, keep_newlines=False), safe(one.typed, keep_newlines=False), one) for name, one in rows]
    named = max((cells(name) for name, _, _ in texts if cells(name) <= max(columns // 2, 24)), default=0) + 2
    valued = max((cells(value) for _, value, _ in texts if cells(value) <= min(columns, USUAL) // 3), default=0) + 2
    for name, value, setting in texts:
        origin = safe(near(setting.origin), keep_newlines=False)
        style = "dim" if setting.origin == DEFAULT else ""
        wide = named + max(cells(value) + 2, valued)
        start = f"{name}{' ' * (named - cells(name))}{value}"
        if cells(name) < named and wide + cells(origin) <= columns:
            yield [Styled(f"{start}{' ' * (wide - named - cells(value))}{origin}", style)]
            continue
        if cells(name) < named and cells(start) <= columns:
            yield [Styled(start.rstrip(), style)]
        else:
            yield [Styled(clip(name, columns), style)]
            yield [Styled("  " + clip(value, columns - 2), style)]
        yield [Styled(f"  {clip_start(origin, columns - 2)}", "dim")]
