"""What commands have in common: opening the log they were given, resolving criteria, reporting, and writing.

A looking command: `opened`, print, `finish_reading`. A writing command: `write(log, ..., action)`.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ctxkit.api.log import Log
from ctxkit.cli.amounts import room, tokens
from ctxkit.cli.options import Assembling, Looking, Reading, RequestOptions, Selecting, Writing
from ctxkit.cli.terminal import streams
from ctxkit.core.context import KNOWN, in_order
from ctxkit.core.ops import Op, sealed
from ctxkit.core.select import Selection
from ctxkit.core.transcript import MAIN
from ctxkit.errors import BadTools, CtxkitError, DamagedOp, DoesNotFit, ExitCode, NoSuchLog, UnknownAgent, Usage
from ctxkit.logfile.append import check_id
from ctxkit.logfile.open import NOW
from ctxkit.store.config import Config
from ctxkit.store.folder import SIDECAR
from ctxkit.store.source import Source
from ctxkit.when import with_zone

UNCHANGED = (ExitCode.NO, ExitCode.USAGE, ExitCode.REFUSED, ExitCode.CANNOT_CREATE)
"""Failures of a writing command that come before anything is appended; the append's own say what they left."""

_SAYS_SO = re.compile("nothing (was|changed|appended)|no message was")

WORDS, BODY = 1 << 20, 32 << 20
"""Bytes of a file with words, and of one with tool definitions, which may be a whole request; more are a mistake."""
PRINTED, CHANGED = ": nothing was printed", ": nothing was changed"
"""What did not happen, where something that was named cannot be read."""
ALIKE = 0.7
"""How much the names of two files have in common, of 1, so that one may be meant by the other."""
REPORTED = 10
"""Damaged places that are named one by one; the rest is counted."""


def opened(
    log: str, reading: Reading, looking: Looking | None = None, *, command: str = "", report: bool = True,
    before: Callable[[Source], None] | None = None, devices: bool = False, thread: str | None = None,
    tolerant: bool = False,
) -> Log:  # fmt: skip
    """The log that the first argument names. Raises what `Log.open` raises, with a hint where a label was meant.

    `thread`: what is asked for; one that the log does not have may be an agent's log beside it, which is opened then.
    `tolerant`: mistakes of config files are kept in `config.errors`; those of the environment are raised.
    `devices`: /dev/null is a log without messages, and /dev/fd/N, the shell's <(...), is read as standard input is.
    """
    streams.Streams.quiet = reading.quiet
    if not log:
        raise NoSuchLog("the name of the log is empty", "is a shell variable empty?")
    try:
        source = _stdin(command) if log == "-" else log
        if devices and (log == os.devnull or log.startswith("/dev/fd/")):
            source = _stream(log)
        with streams.progress(f"reading {'standard input' if log == '-' else os.path.basename(log)}") as step:
            found = Log.open(
                source, sidecar=reading.sidecar, conversation=reading.conversation, format=reading.from_,
                strict=reading.strict, progress=step, before=before, tolerant=tolerant and not reading.strict,
            )  # fmt: skip
    except NoSuchLog as error:
        if not os.path.lexists(log) and _is_next_argument(command, log):
            raise NoSuchLog(error.message, f"was a log on standard input meant? {with_dash(command, log)}") from error
        if os.path.isdir(log + SIDECAR) and not os.path.lexists(log):
            raise NoSuchLog(error.message, f"its sidecar still exists: ctxkit snapshots {log}") from error
        if not os.path.lexists(log) and (near := near_path(log)):
            raise NoSuchLog(error.message, f"{near}?") from error
        raise
    if wrong := [one for one in found.config.errors if one.message.partition(":")[0] in os.environ]:
        raise wrong[0]
    if thread is not None and (agents := found.agents()):
        beside = _of_agent(found, thread, agents, reading)
        if beside is not None:
            streams.say(f"{thread} has a log of its own: {beside}")
            return opened(str(beside), reading, looking, command=command, report=report, before=before)
    if log in streams.Streams.sessions:
        from ctxkit.cli.session_names import told

        told(log, found.opening)
    found.meter = streams.Streams.meter
    found.force = reading.force_replay
    zoned(found.config, utc=reading.utc)
    found.now = typed(reading.now)
    found.at = looking.at if looking and looking.at != NOW else None
    for notice in (*found.opening.notices, *found.config.notices):
        streams.warn(notice)
    if report:
        _report(found)
    if report or command == "status":
        _linked(found, strict=reading.strict)
    return found


def _linked(log: Log, *, strict: bool) -> None:
    """Say where the chain of ops does not hold. Raises DamagedOp where that is not to be looked past."""
    found = log.breaks()
    if not found:
        return
    one, more = found[0], f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    text = f"op {one.op} ({one.name}) {one.text}{more}"
    if strict:
        raise DamagedOp(f"{log.opening.name}: {text}", "ctxkit check explains; leave out --strict to go on")
    streams.warn(f"{text}: ctxkit check explains")


def _of_agent(log: Log, thread: str, agents: dict[str, Path], reading: Reading) -> Path | None:
    """The log of an agent beside `log`, where that has no such thread itself. Raises UnknownAgent, Usage."""
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
    """What is there and called almost like a path that is not; "" for nothing."""
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
    """Whether what stands in LOG's place looks like what comes after it: a label, an op, numbers, a duration."""
    if os.sep in word or word.endswith((".jsonl", ".json")):
        return False
    return command in ("mark", "rewind", "undo", "window", "add") or re.fullmatch(r"[0-9][0-9.,-]*", word) is not None


def with_dash(command: str, word: str) -> str:
    """The call as it was typed, with `-` in LOG's place; `word` is what stood there."""
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
        raise NoSuchLog(f"{path}: {(error.strerror or str(error)).lower()}") from error


def _report(log: Log) -> None:
    """Damage, once each, on stderr."""
    opening = log.opening
    beside = str(opening.sidecar.ops_path) if opening.sidecar else ""
    for name, damage in ((opening.name, log.transcript.damage), (beside, opening.sidecar_damage)):
        for one in damage[:REPORTED]:
            streams.say(f"{name}:{one.line}: {one.code}: {one.text}")
        if len(damage) > REPORTED:
            streams.say(f"{name}: {len(damage) - REPORTED} more damaged places: ctxkit check")


def asked(log: Log, numbers: Sequence[str] | None, selecting: Selecting) -> Selection:
    """The criteria with their times resolved. Raises BadTime."""
    times: dict[str, float | None] = {"since": None, "until": None}
    for key in times:
        text = getattr(selecting, key)
        if text is not None:
            from ctxkit import when

            read = when.moment if key == "since" else when.until
            times[key] = read(text, log.reference(), streams.clock().zone)
    if selecting.grep is not None:
        from ctxkit.cli.regex_timeout import RegexTimeout

        log.limit = RegexTimeout(selecting.grep)
    model = selecting.model if selecting.about is not None or "model" not in getattr(selecting, "own", ()) else None
    log.ranked.warn, log.ranked.tell, log.ranked.step = streams.warn, streams.say, _looks_through
    return Selection(
        ids=tuple(numbers or ()), last=selecting.last, role=selecting.role, tool=selecting.tool, grep=selecting.grep,
        since=times["since"], until=times["until"], agent=selecting.agent, thread=selecting.thread,
        after_mark=selecting.after_mark, before_mark=selecting.before_mark, about=selecting.about, top=selecting.top,
        model=model, invert=selecting.invert,
    )  # fmt: skip


def _looks_through(request: int, of: int) -> None:
    """A model is asked: on a terminal, where it takes more than one request, it is said how far that is."""
    if of > 1 and streams.Streams.err_columns:
        streams.say(f"Looking through the context… {request}/{of}")


def zoned(config: Config, *, utc: bool) -> None:
    """Take up the zone that times are typed and shown in; CTXKIT_NOW is typed, too."""
    streams.Streams.utc, streams.Streams.zone = utc, config["time.zone"]
    setting = config.settings["now"]
    if setting.origin == "CTXKIT_NOW":
        config.settings["now"] = setting._replace(value=typed(setting.value))


def typed(text: str | None) -> str | None:
    """A time as it was typed, in UTC where it names no zone; anything else as it is: it is refused where it is used."""
    return text if text is None or text in ("last", "wall") else with_zone(text, streams.clock().zone)


def zoned_alone(*, utc: bool = False) -> None:
    """The same where no log is opened: the zone is a setting of the user's own."""
    from ctxkit.store.config import load
    from ctxkit.store.sidecar import user_config

    zoned(load(None, None, os.environ, user_config(os.environ), tolerant=True), utc=utc)


def now_of(log: Log) -> str:
    """What windows count from, in words, as the user's clock has it."""
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


def assembly_of(log: Log, asked: Assembling) -> tuple[bool, str | None]:
    """Whether anything is put around the context, and the caller's words for it. Raises Usage and what they raise."""
    if asked.status is None or asked.no_assembly:
        if asked.status is not None:
            raise Usage("--status and --no-assembly cannot be combined", "use only one of them")
        return not asked.no_assembly, None
    return True, words_given(log, "--status", asked.status)


def send(log: Log, request_options: RequestOptions, *, after: str = PRINTED) -> None:
    """Lay what is sent besides messages over the config. `after` as of `words_given`. Raises Usage, BadTools."""
    stated = tokens("--overhead", request_options.overhead)
    if stated is not None:
        log.config.set_flags({"overhead": str(stated)})
    if request_options.tools is not None:
        from ctxkit.logfile.assembly_sources import tools_in

        words = words_given(log, "--tools", request_options.tools, after=after, refused=BadTools, largest=BODY)
        log.tools = tools_in(words, f"--tools {request_options.tools}", after)


def fit(
    log: Log, max_tokens: str | None, request_options: RequestOptions, *, assembly: bool, status: str | None
) -> None:
    """Make the context fit as `fitting` says. `assembly`, `status`: as of `Log.fit`. Raises what that raises, Usage."""
    asked = fitting(log, max_tokens, request_options)
    if asked is not None:
        log.fit(asked[0], assembly=assembly, status=status, origin=asked[1])


def fitting(log: Log, max_tokens: str | None, request_options: RequestOptions) -> tuple[int | str | None, str] | None:
    """What --max-tokens says, else the budget (None) where the config asks for that, and who asks; `off`: neither.

    What is sent besides messages is laid over the config. Raises Usage where it is named for nothing, BadTools.
    """
    enforced = log.config["budget.enforce"]
    if (
        max_tokens is None
        and not enforced
        and (request_options.tools is not None or request_options.overhead is not None)
    ):
        text = "--tools and --overhead reduce the budget of the messages, but no budget is given"
        raise Usage(f"{text}: nothing was printed", "--max-tokens N")
    send(log, request_options)
    if max_tokens is not None:
        return None if max_tokens == "off" else (room("--max-tokens", max_tokens, "off"), "flag")
    return (None, log.config.origin("budget.enforce")) if enforced else None


def words_given(
    log: Log, option: str, file: str, *, after: str = PRINTED, refused: type[CtxkitError] = Usage, largest: int = WORDS
) -> str:
    """The text that an option names: of a file, or of standard input for -. Raises Usage and what they raise.

    `after`: what did not happen where it fails; `refused`: the error for what is no text; `largest`: its bytes.
    """
    from ctxkit.logfile.assembly_sources import decoded, words_of

    if file != "-":
        return words_of(file, option, after, refused, largest)
    taken = "the log" if log.opening.path is None else streams.Streams.taken
    if taken:
        text = f"standard input cannot be both {taken} and the {option.lstrip('-')}"
        raise Usage(text, f"name a log, or a file for {option}" if taken == "the log" else f"a file for {option}")
    if sys.stdin is None:
        raise Usage(f"{option} -: standard input is closed{after}", "a file with text, or -")
    streams.Streams.taken = f"the {option.lstrip('-')}"
    try:
        return decoded(_stdin("").read(largest + 1), largest)
    except ValueError as error:
        raise refused(f"{option} -: {error}{after}", "a file with text, or -") from error


def scored(log: Log) -> dict[str, int]:
    """How much each message that was selected is about what was asked for, as people write its name."""
    return {log.state().label(name): score for name, score in log.ranked.scores.items()}


def finish_reading(log: Log, summary: str = "") -> None:
    """Warnings of the replay, and a closing line, on stderr; the result goes out first, as a terminal shows both."""
    streams.flush()
    remark(log)
    for line in log.fitted.said if log.fitted is not None else ():
        streams.say(line)
    if summary:
        streams.say(summary)


def remark(log: Log, among: str = "") -> None:
    """Warnings of the replay. `among`: the log's name, where several are read."""
    for warning in (*log.state().warnings, *log.noticed):
        streams.warn(f"{among}: {warning}" if among else warning)


def write(
    log: str, reading: Reading, writing: Writing, command: str, action: Callable[[Log], Op | None], *,
    thread: str | None = None, report: Callable[[Log, Mapping[str, Any] | None], Any] | None = None,
    damage: bool = True,
) -> None:  # fmt: skip
    """Run one writing command: decide, append, report; in a pipe, copy the log out with the op behind it.

    In a pipe the log comes out whole on exit 0 and 1, and nothing on 2 and above. An op id that is
    there already: nothing is decided or appended, and the op is printed (a retry). `report` makes
    what --json prints of the op's body, None where there is no op; `damage`: the log's is told.
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
        op = action(target)
    except CtxkitError as error:
        if piped and error.code is ExitCode.NO and not isinstance(error, DoesNotFit):
            streams.out_bytes(target.copy_out())
            streams.flush()
        if error.code in UNCHANGED and not _SAYS_SO.search(error.message):
            error.message += ": nothing was changed"
        raise
    for warning in target.state().warnings:
        streams.warn(warning)
    for warning in target.warned:
        streams.warn(warning)
    for note in target.notes:
        streams.say(note)
    if op is not None and not (repeated or writing.dry_run or piped):
        streams.Streams.done = target.said
    if piped:
        streams.out_bytes(target.copy_out())
    body = None if op is None else target.ledger.by_id[op.id].body if repeated else sealed(op)
    scores = {"scores": scored(target)} if target.ranked.scores else {}
    if reading.json and report is not None:
        (streams.err_json if piped else streams.out_json)(report(target, body) | scores)
    elif body is not None and (writing.dry_run or reading.json or repeated):
        (streams.err_json if piped else streams.out_json)(body | scores)
    elif reading.json:
        (streams.err_json if piped else streams.out_json)({"op": None, "said": target.said})
    streams.flush()
    dry = writing.dry_run and op is not None and not repeated
    streams.say(f"Dry run, nothing was appended. Without it: {target.said}" if dry else target.said)
