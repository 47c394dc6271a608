"""Shared steps of the commands: open the log, resolve criteria, report, write.

A command that reads calls `opened`, prints, and calls `finish_reading`. A command that writes calls `write`.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ctxkit.api.log import Log
from ctxkit.cli.amounts import room, tokens
from ctxkit.cli.options import Assembling, Looking, Reading, RequestOptions, Selecting, Writing
from ctxkit.cli.terminal import streams
from ctxkit.cli.terminal.layout import count, home_short
from ctxkit.core.context import KNOWN, in_order
from ctxkit.core.log_name import COMPRESSED
from ctxkit.core.ops import Compact, Mark, Op, Protect, Trim, Unprotect, sealed
from ctxkit.core.roles import unknown
from ctxkit.core.select import Selection
from ctxkit.core.transcript import MAIN
from ctxkit.errors import (
    BadTools,
    CtxkitError,
    DamagedOp,
    DoesNotFit,
    ExitCode,
    Misfit,
    NoSuchLog,
    NoSuchOp,
    NothingMatched,
    NothingToSend,
    UnknownAgent,
    Usage,
    Warned,
    reason_of,
)
from ctxkit.logfile.append import check_id, strange_roles
from ctxkit.logfile.open import NOW
from ctxkit.settings.config import FLAG, Config
from ctxkit.store.folder import LOG_ENDINGS, SIDECAR, sidecar_name
from ctxkit.store.private import user_config
from ctxkit.store.source import Source
from ctxkit.when import with_zone

UNCHANGED = (ExitCode.NO, ExitCode.USAGE, ExitCode.REFUSED, ExitCode.CANNOT_CREATE)
"""Exit codes of failures before anything is appended. Errors of the append itself say what was written."""

_SAYS_SO = re.compile("nothing (was|changed|appended)|no message was")

WORDS, BODY = 1 << 20, 32 << 20
"""Most bytes of a file with text, and of one with tool definitions, which may be a whole request."""
PRINTED, CHANGED = ": nothing was printed", ": nothing was changed"
"""Ends of errors for a file that cannot be read."""
ALIKE = 0.7
"""How similar, of 1, the name of a file must be to be offered for one that is missing."""
LOOKS = frozenset({"check", "log", "recall", "scan", "show", "status", "why"})
"""Commands that read a log without the history that it goes on from, if that is missing."""
BARE = frozenset({"check", "scan"})
"""Of these the commands that so read any log; the others only one without ops."""
UNCOUNTED = "tokens: ctxkit status LOG counts them"
"""How to ask for what a change did to the context, where counting would take long."""
QUICK = 8 << 20
"""Bytes of the largest log whose changes have figures: with cached counts they take 3 ms a megabyte, of a command that
takes 90 to 170 ms.
"""
REPORTED = 10
"""Damaged places that are reported one by one; the others are only counted."""


def opened(
    log: str, reading: Reading, looking: Looking | None = None, *, command: str = "", report: bool = True,
    before: Callable[[Source], None] | None = None, devices: bool = False, thread: str | None = None,
    tolerant: bool = False, looks: bool = False,
) -> Log:  # fmt: skip
    """Open the log that the first argument names. Raises what `Log.open` raises, with a hint if a label was meant.

    `thread`: the thread that is asked for; if only an agent's log beside this one has it, that log is opened.
    `tolerant`: mistakes in config files are kept in `config.errors`; those in the environment are raised.
    `devices`: /dev/null is a log without messages, and /dev/fd/N, the shell's <(...), is read like standard input.
    `looks`: this call only looks, as the commands of LOOKS do.
    """
    streams.Streams.quiet = reading.quiet
    if not log:
        raise NoSuchLog("the name of the log is empty", "is a shell variable empty?")
    if streams.Streams.events is not None:
        streams.Streams.events.path, streams.Streams.events.log = log, None
    try:
        source = _stdin(command) if log == "-" else log
        if devices and (log == os.devnull or log.startswith("/dev/fd/")):
            source = _stream(log)
        with streams.progress(f"reading {'standard input' if log == '-' else os.path.basename(log)}") as step:
            found = Log.open(
                source, sidecar=reading.sidecar, conversation=reading.conversation, format=reading.from_,
                strict=reading.strict, progress=step, before=before, tolerant=tolerant and not reading.strict,
                partial="bare" if command in BARE else "look" if looks or command in LOOKS else "no", own=reading.own,
            )  # fmt: skip
    except NoSuchLog as error:
        if not os.path.lexists(log) and _is_next_argument(command, log):
            raise NoSuchLog(error.message, f"was a log on standard input meant? {with_dash(command, log)}") from error
        if not os.path.lexists(log) and os.path.lexists(log + COMPRESSED):
            raise NoSuchLog(error.message, f"it was compressed: {log}{COMPRESSED}") from error
        if os.path.isdir(sidecar_name(log)) and not os.path.lexists(log):
            raise NoSuchLog(error.message, f"its sidecar still exists: ctxkit snapshots {log}") from error
        if not os.path.lexists(log) and (near := near_path(log)):
            raise NoSuchLog(error.message, f"{near}?") from error
        raise
    if streams.Streams.events is not None:
        streams.Streams.events.log = found
    if wrong := [one for one in found.config.errors if one.message.partition(":")[0] in os.environ]:
        raise wrong[0]
    if thread is not None and (agents := found.agents()):
        beside = _agent_log(found, thread, agents, reading)
        if beside is not None:
            streams.say(f"{thread} has a log of its own: {beside}")
            return opened(str(beside), reading, looking, command=command, report=report, before=before)
    named = streams.Streams.sessions.get(log, (log, ""))[0]
    streams.opened_as("" if log == "-" else log if named == "picked" else named)
    if log in streams.Streams.sessions:
        from ctxkit.cli.session_names import report_session

        report_session(log, found.opening)
    found.meter, found.redactor = streams.Streams.meter, streams.Streams.redactor
    found.force = reading.force_replay
    set_zone(found.config, utc=reading.utc)
    found.now = typed(reading.now)
    found.at = looking.at if looking and looking.at != NOW else None
    for notice in found.opening.notices:
        streams.warn(notice)
    for notice in found.config.notices:
        streams.warn(Warned(notice, "config"))
    if report:
        _report(found)
    if report or command == "status":
        _check_chain(found, strict=reading.strict)
        _tell_left_behind(found)
    if log == "-" and command not in ("check", "export"):  # these say it in their own way
        warn_of_roles(found)
    return found


def _tell_left_behind(log: Log) -> None:
    """Say once if this is a copy of a log whose config stayed beside the other one."""
    path, beside, ops = log.opening.path, log.opening.sidecar, log.transcript.ops
    if log.native and ops and path is not None and beside is not None and not beside.config_path.exists():
        from ctxkit.settings.log_config import left_behind

        if words := left_behind(path, [op.body for op in ops]):
            streams.warn(Warned(words, "config"))


def warn_of_roles(log: Log) -> None:
    """Say which roles of a log in a pipe nobody knows."""
    for role in strange_roles(log):
        streams.warn(unknown(role))


def _check_chain(log: Log, *, strict: bool) -> None:
    """Warn of the first break of the chain of ops. Raises DamagedOp instead if `strict`.

    A break right after a damaged op is not reported: the replay reports that op.
    """
    found = log.breaks()
    if found and not strict:
        from ctxkit.core.op_fit import is_damaged

        damaged = {entry.number for entry in log.ledger.entries if not entry.void and is_damaged(entry)}
        found = [one for one in found if one.op - 1 not in damaged]
    if not found:
        return
    one, more = found[0], f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    text = f"op {one.op} ({one.name}) {one.text}{more}"
    if strict:
        raise DamagedOp(f"{log.opening.name}: {text}", "ctxkit check LOG explains; leave out --strict to go on")
    streams.warn(Warned(f"{text}: ctxkit check LOG explains", "chain-broken"))


def _agent_log(log: Log, thread: str, agents: dict[str, Path], reading: Reading) -> Path | None:
    """The log of an agent beside `log`; None if `log` has the thread itself. Raises UnknownAgent, Usage."""
    known = {message.thread for message in log.messages if message.thread} | {MAIN}
    if thread in known:
        return None
    if thread not in agents:
        have = ", ".join(sorted(known, key=in_order)[:KNOWN])
        others = ", ".join(sorted(agents, key=in_order)[:KNOWN])
        raise UnknownAgent(f"no thread {thread!r} in this log", f"it has {have}; beside it: {others}")
    if reading.sidecar is not None:
        text = f"{thread} has a log of its own, and --sidecar names the sidecar of {log.opening.name}"
        raise Usage(text, f"name its log: {agents[thread]}")
    return agents[thread]


def near_path(path: str) -> str:
    """The file in the same folder with the name most similar to a missing one; "" for none."""
    from difflib import get_close_matches

    folder, name = os.path.split(path)
    try:
        names = os.listdir(folder or os.curdir)
    except OSError:
        return ""
    stems = {os.path.splitext(one)[0].lower(): one for one in names if not one.endswith(SIDECAR)}
    near = get_close_matches(os.path.splitext(name)[0].lower(), stems, 1, ALIKE)
    return os.path.join(folder, stems[near[0]]) if near else ""


def _is_next_argument(command: str, word: str) -> bool:
    """Whether the word in LOG's place looks like the next argument: a label, an op, numbers, a duration."""
    if os.sep in word or word.endswith(LOG_ENDINGS):
        return False
    return command in ("mark", "rewind", "undo", "window", "add") or re.fullmatch(r"[0-9][0-9.,-]*", word) is not None


def with_dash(command: str, word: str) -> str:
    """The call as it was typed, with `-` inserted for LOG; `word` was in its place."""
    words = streams.Streams.words if streams.Streams.words[:1] == (command,) else (command, word)
    return shlex.join(["ctxkit", command, "-", *words[1:]])


def _stdin(command: str) -> Any:
    if sys.stdin is None:
        hint = f"name a log: ctxkit {command or 'COMMAND'} LOG"
        raise Usage("standard input is closed: there is no log to read", hint)
    if sys.stdin.isatty():
        hint = f"ctxkit {command or 'COMMAND'} LOG, where @ is the newest session of this project"
        raise Usage("no log was named, and standard input is a terminal", hint)
    return sys.stdin.buffer


def _stream(path: str) -> Any:
    try:
        return open(path, "rb")  # read to its end at once; a pipe has no other reader
    except OSError as error:
        raise NoSuchLog(f"{path}: {reason_of(error)}") from error


def _report(log: Log) -> None:
    """Report damaged places of the log and of its ops on stderr."""
    opening = log.opening
    beside = str(opening.sidecar.ops_path) if opening.sidecar else ""
    own = [*log.transcript.damage, *log.transcript.broken]
    for name, damage in ((opening.name, own), (beside, opening.sidecar_damage)):
        if damage:
            streams.event("warning", "damage")
        for one in damage[:REPORTED]:
            streams.say(f"{one.file or name}:{one.line}: {one.code}: {one.text}")
        if len(damage) > REPORTED:
            streams.say(f"{name}: {len(damage) - REPORTED} more damaged places: ctxkit check LOG")


def selection_of(log: Log, numbers: Sequence[str] | None, selecting: Selecting) -> Selection:
    """The criteria with their times resolved. Raises BadTime."""
    since, until = times_of(log, selecting.since, selecting.until)
    if selecting.grep is not None:
        from ctxkit.cli.regex_timeout import RegexTimeout

        log.limit = RegexTimeout(selecting.grep)
    log.ranked.warn, log.ranked.tell, log.ranked.step = streams.warn, streams.say, _report_request
    return Selection(
        ids=tuple(numbers or ()), last=selecting.last, role=selecting.role, tool=selecting.tool, grep=selecting.grep,
        since=since, until=until, agent=selecting.agent, thread=selecting.thread,
        after_mark=selecting.after_mark, before_mark=selecting.before_mark, about=selecting.about, top=selecting.top,
        model=selecting.about_model, invert=selecting.invert,
    )  # fmt: skip


def times_of(log: Log, since: str | None, until: str | None) -> tuple[float | None, float | None]:
    """What --since and --until mean, in seconds. Raises BadTime."""
    if since is None and until is None:
        return None, None
    from ctxkit import when

    now, zone = log.reference(), streams.clock().zone
    first = None if since is None else when.moment(since, now, zone)
    return first, None if until is None else when.until(until, now, zone)


def _report_request(request: int, of: int) -> None:
    """Report which of several requests to a model runs now, on a terminal."""
    if of > 1 and streams.Streams.err_columns:
        streams.say(f"Looking through the context… {request}/{of}")


def set_zone(config: Config, *, utc: bool) -> None:
    """Set the zone in which times are typed and shown. CTXKIT_NOW counts as typed."""
    streams.Streams.utc, streams.Streams.zone = utc, config["time.zone"]
    setting = config.settings["now"]
    if setting.origin == "CTXKIT_NOW":
        config.settings["now"] = setting._replace(value=typed(setting.value))


def typed(text: str | None) -> str | None:
    """A typed time in UTC, unless it names its zone. Other text stays as it is, and is refused where it is used."""
    return text if text is None or text in ("last", "wall") else with_zone(text, streams.clock().zone)


def set_own_zone(*, utc: bool = False) -> None:
    """Set the zone from the user's own config, if no log is opened."""
    from ctxkit.settings.config import load_user

    set_zone(load_user(os.environ), utc=utc)


def now_of(log: Log) -> str:
    """The time that windows count from, in words and in the user's zone."""
    return log.now_name(streams.clock().whole)


def criteria_text(selecting: Selecting) -> str | None:
    """The criteria as typed, for the op's provenance."""
    words = []
    for key in Selecting.__annotations__:
        value = getattr(selecting, key)
        if value is True:
            words.append(f"--{key.replace('_', '-')}")
        elif value is not None and value is not False:
            words.append(f"--{key.replace('_', '-')} {shlex.quote(value) if key == 'about' else value}")
    return " ".join(words) or None


def assembly_of(log: Log, asked: Assembling, agent: str | None) -> tuple[bool, str | None]:
    """Whether text is put around the context, and the text of --status; --memory adds the project's notes to it, and
    --agent-config the keys of `agent` to the config.

    Raises NothingToSend if there are none, and what `words_given` and `read_archetype` raise.
    """
    if asked.agent_config is not None:
        from ctxkit.settings.archetypes import read_archetype

        if agent is None:
            raise Usage("--agent-config says who one agent is, and none is named: nothing was printed", "--agent NAME")
        _, values = read_archetype(asked.agent_config, user_config(os.environ), after=": nothing was printed")
        log.config = log.config.given({f"agents.{agent}.{word}": value for word, value in values.items()})
    if asked.memory:
        if asked.no_assembly:
            raise Usage("--memory and --no-assembly cannot be combined", "use only one of them")
        _add_memory(log)
    if asked.status is None or asked.no_assembly:
        if asked.status is not None:
            raise Usage("--status and --no-assembly cannot be combined", "use only one of them")
        return not asked.no_assembly, None
    return True, words_given(log, "--status", asked.status)


def _add_memory(log: Log) -> None:
    """Put the notes of this folder's project before the context of `log`. Raises NothingToSend if there are none."""
    from ctxkit.memory.memory import Memory

    memory = Memory()
    log.memory = memory.text(int(log.config["memory.tokens"]), model=log.model)
    if not log.memory:
        text = f"{memory.project.folder} has no notes, or none that fits into memory.tokens: nothing was printed"
        raise NothingToSend(text, "ctxkit memory extract makes some; leave --memory out to go without")
    noted = sum(line.startswith("- ") for line in log.memory.splitlines())
    streams.say(f"with {count(noted, 'note')} of {home_short(memory.project.folder)}")


def set_overhead(log: Log, request_options: RequestOptions, *, after: str = PRINTED) -> None:
    """Set what is sent besides messages, if options name it. `after`: as in `words_given`. Raises Usage, BadTools."""
    stated = tokens("--overhead", request_options.overhead)
    if stated is not None:
        log.config.set_flags({"overhead": str(stated)})
    if request_options.tools_file is not None:
        from ctxkit.logfile.assembly_sources import tools_in

        words = words_given(
            log, "--tools-file", request_options.tools_file, after=after, refused=BadTools, largest=BODY
        )
        log.tools = tools_in(words, f"--tools-file {request_options.tools_file}", after)


def fit(
    log: Log, max_tokens: str | None, request_options: RequestOptions, *, assembly: bool, status: str | None
) -> None:
    """Trim the context if `fitting` has a budget. `assembly`, `status`: as in `Log.fit`. Raises what the two raise."""
    asked = fitting(log, max_tokens, request_options)
    if asked is not None:
        log.fit(asked[0], assembly=assembly, status=status, origin=asked[1])


def fitting(log: Log, max_tokens: str | None, request_options: RequestOptions) -> tuple[int | str | None, str] | None:
    """The budget of --max-tokens (`off`: no trim), else None, the config's budget, if `budget.enforce` is set.

    The second value is the origin of the budget: `flag`, or that of `budget.enforce`. Also sets what is sent besides
    messages. Raises BadTools, and Usage, also if that is given without a budget.
    """
    enforced = log.config["budget.enforce"]
    if (
        max_tokens is None
        and not enforced
        and (request_options.tools_file is not None or request_options.overhead is not None)
    ):
        text = "--tools-file and --overhead reduce the budget of the messages, but no budget is given"
        raise Usage(f"{text}: nothing was printed", "--max-tokens N")
    set_overhead(log, request_options)
    if max_tokens is not None:
        return None if max_tokens == "off" else (room("--max-tokens", max_tokens, "off"), FLAG)
    return (None, log.config.origin("budget.enforce")) if enforced else None


def words_given(
    log: Log, option: str, file: str, *, after: str = PRINTED, refused: type[CtxkitError] = Usage, largest: int = WORDS
) -> str:
    """The text of the file that an option names, or of standard input for -. Raises Usage, `refused`, NoSuchLog.

    `after`: the end of an error; `refused`: the error if the file is no text; `largest`: its most bytes.
    """
    from ctxkit.logfile.assembly_sources import words_of
    from ctxkit.settings.named_files import decoded

    if file != "-":
        return words_of(file, option, after, refused, largest)
    taken = "the log" if log.opening.path is None else streams.Streams.stdin_use
    if taken:
        text = f"standard input cannot be both {taken} and the {option.lstrip('-').removesuffix('-file')}"
        raise Usage(text, f"name a log, or a file for {option}" if taken == "the log" else f"a file for {option}")
    if sys.stdin is None:
        raise Usage(f"{option} -: standard input is closed{after}", "a file with text, or -")
    streams.Streams.stdin_use = f"the {option.lstrip('-')}"
    try:
        return decoded(_stdin("").read(largest + 1), largest)
    except ValueError as error:
        raise refused(f"{option} -: {error}{after}", "a file with text, or -") from error


def scored(log: Log) -> dict[str, int]:
    """Label of each message that --about ranked -> its score."""
    return {log.state().label(name): score for name, score in log.ranked.scores.items()}


def finish_reading(log: Log, summary: str = "") -> None:
    """Flush the result, then print warnings of the replay and a closing line on stderr."""
    streams.flush()
    warn_of_replay(log)
    for line in log.fitted.said if log.fitted is not None else ():
        streams.say(line)
    if summary:
        streams.sum_up(summary)
    if log.redactor is not None and log.hides and log.redactor.count:
        streams.say(f"{count(log.redactor.count, 'secret')} taken out")


def warn_of_replay(log: Log, among: str = "") -> None:
    """Print warnings of the replay. `among`: the log's name, if several are read."""
    for warnings, reason in ((log.state().warnings, "replay"), (log.noticed, "notice")):
        for warning in warnings:
            streams.warn(Warned(f"{among}: {warning}" if among else warning, reason))


def add_source(error: CtxkitError, command: str, path: Path, *words: str) -> None:
    """Let the hint name the session from which `ctxkit resume` made this one: `ctxkit COMMAND SOURCE WORDS`."""
    from ctxkit.cli.session_names import made_from

    if source := made_from(path):
        call = shlex.join(["ctxkit", command, source, *words])
        error.hint = "; ".join(filter(None, (f"ctxkit resume made it from {source}: {call}", error.hint)))


def write(
    log: str, reading: Reading, writing: Writing, command: str, action: Callable[[Log], Op | None], *,
    thread: str | None = None, report: Callable[[Log, Mapping[str, Any] | None], Any] | None = None,
    damage: bool = True,
) -> None:  # fmt: skip
    """Run a writing command: decide, append, report. In a pipe, print the log with the op at its end.

    In a pipe the whole log is printed on exit 0 and 1, and nothing on 2 and above. If the op id is in the log already
    (a retry), nothing is appended, and that op is printed. `report` makes what --json prints from the op's body, or
    from None without an op. `damage`: whether damage of the log is reported.
    """
    target = opened(log, reading, command=command, thread=thread, report=damage)
    target.args = streams.Streams.words
    target.dry_run = writing.dry_run
    target.op_id = writing.op_id
    piped = target.opening.path is None
    try:
        repeated = writing.op_id is not None and writing.op_id in target.ledger.by_id
        if writing.op_id is not None and not repeated:
            check_id(writing.op_id)
        before = None if reading.quiet or reading.json or piped else _as_it_was(target)
        op = action(target)
    except CtxkitError as error:
        if piped and error.code is ExitCode.NO and not isinstance(error, DoesNotFit):
            streams.out_bytes(target.copy_out())
            streams.flush()
        if (
            isinstance(error, NoSuchOp | NothingMatched)
            and target.opening.path is not None
            and not target.ledger.entries
        ):
            add_source(error, command, target.opening.path)
        if error.code in UNCHANGED and not _SAYS_SO.search(error.message):
            error.message += ": nothing was changed"
        raise
    for warning in target.state().warnings:
        streams.warn(Warned(warning, "replay"))
    for warning in target.warned:
        streams.warn(warning)
    for note in target.notes:
        streams.note(note)
    if op is not None and not (repeated or writing.dry_run or piped):
        streams.Streams.done = target.said
    if piped:
        streams.out_bytes(target.copy_out())
    out_json = streams.err_json if piped else streams.out_json
    body = None if op is None else target.ledger.by_id[op.id].body if repeated else sealed(op)
    scores = {"scores": scored(target)} if target.ranked.scores else {}
    if reading.json and report is not None:
        out_json(report(target, body) | scores)
    elif body is not None and (
        reading.json or ((repeated or (writing.dry_run and not streams.Streams.columns)) and not streams.Streams.among)
    ):
        out_json(body | scores)  # on a terminal the report below says what a dry run would do
    elif reading.json:
        out_json({"op": None, "said": target.said})
    streams.flush()
    dry = writing.dry_run and op is not None and not repeated
    if dry:
        said = "would be" if streams.Streams.among else "Dry run, nothing was appended. Without it"
        streams.sum_up(f"{said}: {target.said}")
    else:
        streams.sum_up(target.said)
    if op is not None and before is not None and not repeated:
        with suppress(CtxkitError):  # the change is on disk: what fails here does not undo it
            _tell_change(before, target.with_op(op) if dry else target, op)


def _as_it_was(log: Log) -> Log | None:
    """The log as it is before a change; None if its ops do not fit."""
    try:
        return log.seen_at(log.state())
    except (DamagedOp, Misfit):
        return None


def _tell_change(before: Log, after: Log, op: Op) -> None:
    """Say what an op did to the context, in tokens and as a share of the limit; nothing if the context is the same."""
    if isinstance(op, Mark | Protect | Unprotect):
        return
    told = after.figures if isinstance(op, Compact | Trim) else None
    if told is None and after.opening.laid_out.size > QUICK:
        streams.note(UNCOUNTED)
        return
    if list(before.listed()) == list(after.listed()) and before.state().board.stubs == after.state().board.stubs:
        return
    from ctxkit.measure.limit import context_limit
    from ctxkit.measure.size import SizeAtHand, moved  # imports sqlite3

    sizes = moved(before, after) if told is None else [SizeAtHand(n, rough=False) for n in (told.before, told.after)]
    if sizes is None:
        streams.note(UNCOUNTED)
        return
    first, then = sizes
    limit = context_limit(after).tokens
    share = "" if limit is None else f"{100 * then.tokens // limit or '<1'} % of {limit:,}"
    nearly = "about " * (then.rough and not first.rough)
    figures = f"{first.tokens:,} → {nearly}{then.tokens:,} tokens"
    if figures in after.said:
        if share:
            streams.note(share)
    else:
        whole = "whole request: " if isinstance(op, Compact) else "about " * first.rough
        streams.note(f"{whole}{figures}{f' ({share})' if share else ''}")
