"""ctxkit resume: the edited session where its agent looks for it, and the line that goes on with it."""

from __future__ import annotations

import os
import shutil
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from ctxkit.api.log import Log
from ctxkit.cli.log_access import finish_reading, fitting, opened
from ctxkit.cli.options import LogArgument, Looking, Reading, RequestOptions, takes
from ctxkit.cli.terminal import layout, streams
from ctxkit.errors import Usage
from ctxkit.export.agents import AGENTS
from ctxkit.export.resume import Destination, Resumption, destination
from ctxkit.formats.base import Written
from ctxkit.measure.next_request import NextRequest, next_request

if TYPE_CHECKING:
    AgentName: TypeAlias = StrEnum
else:  # typer takes the words of an option from an enum
    AgentName = StrEnum("AgentName", [(name, name) for name in AGENTS])


@takes(Looking, Reading)
def command(
    log: LogArgument = "-",
    *,
    to: Annotated[AgentName | None, typer.Option("--to", help="The agent; the log's own if left out.")] = None,
    cwd: Annotated[str, typer.Option(metavar="DIR", help="The folder to go on in, where its own has moved.")] = "",
    moves: Annotated[
        list[str] | None,
        typer.Option("--map", metavar="OLD=NEW", help="Folders below OLD are below NEW now; can be repeated."),
    ] = None,
    id: Annotated[str, typer.Option(metavar="UUID", help="The new session's id; a random one if left out.")] = "",
    copy: Annotated[bool, typer.Option("--copy", help="A new session too where the old one is as it was.")] = False,
    run: Annotated[bool, typer.Option("--run", help="Start the agent instead of printing the line.")] = False,
    dry_run: Annotated[bool, typer.Option("-n", "--dry-run", help="Write nothing; say what would be written.")] = False,
    looking: Looking,
    reading: Reading,
) -> None:
    """Write the context as a new session where its agent looks for it, and print the line that goes on with it.

    The session gets a new id, and the log is never written: a session before and one after. It is written as
    `ctxkit export --to` writes it ({agents}): records that stay keep their bytes, and replies say how
    large their requests are now. Where no op changed the context, and the file is where its agent looks, nothing is
    written: the line goes on with the session as it is (--copy: with a copy).

    --cwd and --map say where the folders of the session are now, on another machine or after a move. They change the
    folders that the records name, and where the file is put. What was said in messages stays as it was said, paths in
    it too: thinking is bound to it, and the agent finds the new folder in its own system prompt.

    What the next request will be is said on stderr: its tokens, how many of them the provider has in its cache, how old
    the newest message is, and the list price where litellm's table is installed and has the model.
    """
    if run and (log == "-" or dry_run or reading.json):
        what = "--dry-run" if dry_run else "--json" if reading.json else "a log from standard input"
        raise Usage(f"--run and {what} do not go together: nothing was written", "without --run the line is printed")
    pairs = [_pair(text) for text in moves or ()]
    target = opened(log, reading, looking, command="resume")
    target.opening.reader.release()  # nothing is appended
    target.known_ops()
    aim = destination(
        target, "" if to is None else to.value, cwd=cwd, moves=pairs, id=id, copy=copy, env=os.environ
    )  # fmt: skip
    program = shutil.which(aim.agent.program)
    if run and program is None:
        text = f"{aim.agent.program}, which starts {aim.agent.title}, is not on PATH: nothing was written"
        raise Usage(text, "without --run the session is written, and the line is printed")
    target, written = _written(target, aim)
    made = aim.resumption(written)
    price = next_request(target, own=aim.own, stays=aim.stays)
    if not dry_run:
        made.write()
    _report(made, written, price, dry_run=dry_run, program=program)
    if reading.json:
        streams.out_json(_as_json(made, written, price, dry_run=dry_run))
    elif not dry_run and not run:
        streams.out(made.line)
    finish_reading(target)
    if run and program is not None:
        streams.flush()
        os.chdir(made.cwd)
        os.execv(program, made.command)  # noqa: S606  # no shell; it takes this process's place


command.__doc__ = (command.__doc__ or "").format(agents=", ".join(AGENTS))


def _pair(text: str) -> tuple[str, str]:
    """What --map says. Raises Usage."""
    old, mark, new = text.partition("=")
    if not (old and mark and new):
        raise Usage(f"--map {text}: no OLD=NEW: nothing was written", "--map /home/me/old=/home/me/new")
    return old, os.path.realpath(new)


def _written(log: Log, aim: Destination) -> tuple[Log, Written]:
    """The session, made to fit where the config's `budget.enforce` asks for that; and the log as it was looked at."""

    def made(log: Log) -> Written:
        with streams.progress(f"writing a session of {aim.agent.title}", "messages") as step:
            return log.session(aim.agent.format, **aim.options, progress=step)

    room = None if aim.ready else fitting(log, None, RequestOptions())
    if room is None:
        return log, made(log)
    from ctxkit.api.log import summarize_dropped
    from ctxkit.export.fit_budget import within
    from ctxkit.trim.trim import TrimRequest

    asked = TrimRequest(room[0], assembly=False, status=None, summarize=summarize_dropped)
    return within(log, asked, made, room[1], recounted=aim.own)


def _report(made: Resumption, written: Written, price: NextRequest, *, dry_run: bool, program: str | None) -> None:
    from ctxkit.export.request import told

    title = AGENTS[made.agent].title
    if made.written is None:
        streams.say(f"no op changed its context: {title} goes on with {made.path} as it is; --copy writes another")
    else:
        what = f"{made.path}: {layout.count(written.count, 'message')}, for {title}"
        streams.say(f"Dry run, nothing was written. Without it: wrote {what}" if dry_run else f"wrote {what}")
        for line in told(written.repairs):
            streams.say(line)
    for line in written.refused:
        streams.warn(f"{line}; ctxkit forget LOG --images leaves them out")
    streams.say(price.said)
    if dry_run:
        streams.say(f"then: {made.line}")
    elif program is None:
        streams.say(f"{made.command[0]} is not on PATH here")


def _as_json(made: Resumption, written: Written, price: NextRequest, *, dry_run: bool) -> dict[str, object]:
    return {
        "agent": made.agent, "id": made.id, "path": str(made.path), "cwd": made.cwd, "command": made.command,
        "line": made.line, "written": made.written is not None and not dry_run, "messages": written.count,
        "tokens": price.tokens, "counter": price.counter, "cached": price.cached, "idle": price.idle,
        "cache_lives": price.lives, "dollars": price.dollars, "model": price.model or None,
    }  # fmt: skip
