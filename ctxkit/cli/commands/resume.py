"""ctxkit resume: write the edited session where its agent looks for it, and print the line that resumes it."""

from __future__ import annotations

import os
import shutil
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from ctxkit.api.log import Log
from ctxkit.cli.log_access import finish_reading, fitting, opened
from ctxkit.cli.options import LogArgument, Looking, Reading, RequestOptions, takes
from ctxkit.cli.terminal import layout, streams
from ctxkit.cli.terminal.layout import home_short
from ctxkit.errors import Usage
from ctxkit.export.agents import AGENTS
from ctxkit.export.resume import Destination, Resumption, destination
from ctxkit.formats.base import Written
from ctxkit.measure.next_request import NextRequest, next_request
from ctxkit.search.preview import title_of
from ctxkit.search.resumed import note, origin

if TYPE_CHECKING:
    AgentName: TypeAlias = StrEnum
else:  # typer reads the choices from an enum
    AgentName = StrEnum("AgentName", [(name, name) for name in AGENTS])


@takes(Looking, Reading)
def command(
    log: LogArgument = "-",
    *,
    to: AgentName | None = None,
    cwd: str = "",
    map_: list[str] | None = None,
    id: str = "",
    force: bool = False,
    run: bool = False,
    dry_run: bool = False,
    redact: bool = False,
    looking: Looking,
    reading: Reading,
) -> None:
    """Write the context as a new session where its agent looks for it, and print the command that resumes it.

    The new session has a new id; the log is never changed. It is written as `ctxkit export --to` writes it
    ({agents}): records that stay keep their bytes, and the token figures in replies are
    corrected. If no op changed the context, and the file is already where the agent looks, nothing is written, and the
    command resumes the session as it is (--force: a copy).

    --cwd and --map say where the folders of the session are now, after a move or on another machine. They change the
    folders that records name, and where the file is put. The text of messages stays as it is, with the old paths in it,
    because thinking is bound to it; the agent finds the new folder in its own system prompt.

    --redact leaves out all that looks like a secret, and thinking that is bound to what had one.

    stderr says what the next request will be: its tokens, how many of them are in the provider's cache, how old the
    newest message is, and the list price, if litellm's table is installed and has the model.
    """
    if run and (log == "-" or dry_run or reading.json):
        what = "--dry-run" if dry_run else "--json" if reading.json else "a log from standard input"
        raise Usage(f"--run and {what} do not go together: nothing was written", "without --run the line is printed")
    kept = origin(os.path.abspath(log), os.environ) if log != "-" else None
    title = kept.title if kept is not None else ""
    typed = next((word for word in streams.Streams.words if word.startswith("@")), "")
    pairs = [_pair(text) for text in map_ or ()]
    target = opened(log, reading, looking, command="resume")
    target.opening.reader.release()  # nothing is appended
    target.known_ops()
    aim = destination(
        target, "" if to is None else to.value, cwd=cwd, moves=pairs, id=id, copy=force or redact, env=os.environ
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
        if made.written is not None and aim.source is not None:
            told = title_of(target.opening, title)
            kept_title = told if target.redactor is None else target.redactor.text_of(told)
            note(made.path, aim.source, os.environ, kept_title)
    unknown = dry_run and not id and made.written is not None  # the real run makes another id
    _report(made, written, price, dry_run=dry_run, new_id=unknown)
    if reading.json:
        streams.out_json(_as_json(made, written, price, dry_run=dry_run, new_id=unknown))
    elif not dry_run and not run:
        streams.out(made.line)
    finish_reading(target.raw())
    if not dry_run:
        if program is None:
            streams.say(f"{made.command[0]} is not on PATH here")
        anew = made.written is not None and written.count != len(target.messages)
        if made.written is not None and (words := _names("" if cwd or map_ else typed, anew=anew)):
            streams.say(words)
    if run and program is not None:
        streams.flush()
        os.chdir(made.cwd)
        os.execv(program, made.command)  # noqa: S606  # no shell; it takes this process's place


command.__doc__ = (command.__doc__ or "").format(agents=", ".join(AGENTS))


def _pair(text: str) -> tuple[str, str]:
    """The old and the new folder of --map. Raises Usage."""
    old, mark, new = text.partition("=")
    if not (old and mark and new):
        raise Usage(f"--map {text}: not of the form OLD=NEW: nothing was written", "--map /home/me/old=/home/me/new")
    return old, os.path.realpath(new)


def _written(log: Log, aim: Destination) -> tuple[Log, Written]:
    """The session, trimmed if the config sets `budget.enforce`, and the log from which it was made."""

    def made(log: Log) -> Written:
        with streams.progress(f"writing a session of {aim.agent.title}", "messages") as step:
            return log.session(aim.agent.format, **aim.options, progress=step)

    room = None if aim.ready else fitting(log, None, RequestOptions())
    if room is None:
        return log, made(log)
    from ctxkit.api.log import summarize_dropped
    from ctxkit.cut.trim import TrimRequest
    from ctxkit.export.fit_budget import within

    asked = TrimRequest(room[0], assembly=False, status=None, summarize=summarize_dropped)
    return within(log, asked, made, room[1], recounted=aim.own)


def _report(made: Resumption, written: Written, price: NextRequest, *, dry_run: bool, new_id: bool) -> None:
    from ctxkit.export.request import repair_notes

    title, place = AGENTS[made.agent].title, home_short(str(made.path))
    if made.written is None:
        streams.say(f"nothing was cut: no op changed this session, so {title} goes on with {place} as it is")
        streams.say("--force writes a new session all the same")
    else:
        what = f"{layout.count(written.count, 'message')} for {title}: {place}"
        streams.say(f"Dry run, nothing was written. Without it: wrote {what}" if dry_run else f"wrote {what}")
        for line in repair_notes(written.repairs):
            streams.say(line)
    for line in written.refused:
        streams.warn(f"{line}; ctxkit forget LOG --images leaves them out")
    streams.say(price.said)
    if dry_run:
        streams.say(f"then: {made.line.replace(made.id, '<new id>') if new_id else made.line}")


def _names(typed: str, *, anew: bool) -> str:
    """What names mean in the new session; "" if nothing is different. `typed`: the name of the log, if its names are
    those of the same project; `anew`: its messages have other numbers.
    """
    numbers = "its messages are numbered anew" if anew else ""
    if not typed:
        return f"the new session: {numbers}" if numbers else ""
    words = f"@ is the new session now{', and @2 the one that it was made from' if typed == '@' else ''}"
    return f"{words}; {numbers}" if numbers else words


def _as_json(
    made: Resumption, written: Written, price: NextRequest, *, dry_run: bool, new_id: bool
) -> dict[str, object]:
    """`new_id`: without an id and what holds it, because the real run makes another one."""
    told = {} if new_id else {"id": made.id, "path": str(made.path), "command": made.command, "line": made.line}
    return {
        "agent": made.agent, **told, "cwd": made.cwd, "written": made.written is not None and not dry_run,
        "messages": written.count, "tokens": price.tokens, "counter": price.counter, "cached": price.cached,
        "idle": price.idle, "cache_lives": price.lives, "dollars": price.dollars, "model": price.model or None,
    }  # fmt: skip
