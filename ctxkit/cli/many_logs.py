"""Runs a command on many logs: one line, or one JSON line, for each, in the order in which they were named.

Pipeline: `options.py` (a command with the bundle ManyLogs, and more than one log) -> `search/log_files.py` finds the
files -> `fleet/pool.py` runs the command on each, `terminal/capture.py` keeps what it prints -> its `Form` makes the
line. A command needs no form: then its line is what it says of itself at its end, and a JSON line is its JSON with the
key `log`. A log at which it fails has a line, too, and never takes the others. The exit status is the highest of all.

Commands that write preview first: without --yes nothing is written. All their ops get one id, so that
`ctxkit undo LOG... ID` undoes what one call did, and nothing else.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import typer

from ctxkit.cli.flags import FLAGS
from ctxkit.cli.registry import COMMANDS
from ctxkit.cli.terminal import layout, streams
from ctxkit.cli.terminal.capture import Manner, captured
from ctxkit.cli.terminal.event_log import Kind
from ctxkit.cli.terminal.style import ERROR, WARNING, Line, Styled
from ctxkit.core.text.json_text import dumps
from ctxkit.core.text.utf8 import utf8
from ctxkit.errors import (
    CannotCreate,
    CtxkitError,
    ExitCode,
    NoSuchLog,
    UnknownFormat,
    Usage,
    reason_of,
)
from ctxkit.fleet.pool import Failure, processes, results
from ctxkit.logfile.tolerant import one_of_many
from ctxkit.search.log_files import LogFile, is_other, log_files, ruin
from ctxkit.store.folder import START, file_name, may_be_log
from ctxkit.store.opening import cannot_open
from ctxkit.store.private import make_private
from ctxkit.store.source import open_log

HINTS = 3
"""Hints that are printed; one for many logs is printed once."""
COLLECT = 32
"""Logs of one process after which what is in circles is freed."""


class LogCall(NamedTuple):
    """The call on one log. `words`: as if it had been typed for this log alone; `given`: the parsed options.

    `as_json`: JSON lines are asked for; `dry`: nothing is written.
    """

    command: str
    file: LogFile
    words: tuple[str, ...]
    given: dict[str, Any]
    manner: Manner
    as_json: bool
    dry: bool


class LogRun(NamedTuple):
    """What came of it: the `line` to print (more than one for a table, none with --quiet), and the reports.

    `status`: the exit status; `hints`: what to do. `other`: it is no log, but JSON of another shape with a log's name;
    `empty`: it has none.
    """

    line: bytes
    err: bytes
    status: int
    hints: Sequence[str] = ()
    other: bool = False
    empty: bool = False


class Ended(NamedTuple):
    """A run that ended without a failure, for a Form."""

    path: str
    out: bytes
    summary: Sequence[str | Styled]
    made: str

    @property
    def values(self) -> list[Any]:
        """Its result as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]


class Form:
    """What a command prints about one of many logs: by default its last report, as a line; and its JSON, with `log`."""

    json_inside = False
    """The command runs with --json also where lines for people are made."""
    reads_text = False
    """The command reads what is no log as text, below a folder too if its name is that of a log."""

    def refuse(self, given: Mapping[str, Any]) -> None:
        """Raises Usage for options that are for one log."""

    def prepare(self, given: dict[str, Any], file: LogFile) -> None:
        """Change the options for this log."""

    def silent(self, given: Mapping[str, Any]) -> bool:
        """Whether there are no lines for people, because the exit status is the answer."""
        return bool(given.get("quiet"))

    def lines(self, run: Ended) -> Iterator[Line]:
        """The line for people."""
        if run.summary:
            yield [Styled(run.path, "bold"), ": ", *run.summary]

    def value(self, run: Ended) -> dict[str, Any]:
        """The JSON of the log, without `log`."""
        found: dict[str, Any] = {}
        for one in run.values:
            found |= one
        return found


class StatusForm(Form):
    """`status`: its --short line; tables below the log's name."""

    def silent(self, given: Mapping[str, Any]) -> bool:
        return bool(given["quiet"]) and (given["fail_at"] is not None or given["fail_over"] is not None)

    def refuse(self, given: Mapping[str, Any]) -> None:
        if given["plot"] or given["svg"]:
            raise Usage("--plot and --svg draw one log, and several were named", "name one; --json has all figures")

    def prepare(self, given: dict[str, Any], file: LogFile) -> None:
        given["short"] = not _tables(given)


def _tables(given: Mapping[str, Any]) -> bool:
    return bool(given["by"] or given["largest"] or given["files"])


class CheckForm(Form):
    """`check`: how many messages, ops, problems and notes, and their kinds."""

    json_inside = True

    def refuse(self, given: Mapping[str, Any]) -> None:
        for flag in ("head", "accept"):
            if given[flag]:
                raise Usage(f"--{flag} is for one log, and several were named: nothing was changed", "name one")

    def lines(self, run: Ended) -> Iterator[Line]:
        kinds = Counter((one["code"], bool(one.get("note"))) for one in run.values if "code" in one)
        codes: Line = []
        for (code, note), n in sorted(kinds.items(), key=lambda kind: kind[0][1]):  # notes last, as in the count
            codes += [", " if codes else ": ", Styled(f"{code} × {n}" if n > 1 else code, WARNING if note else ERROR)]
        for line in super().lines(run):
            yield [*line, *codes]

    def value(self, run: Ended) -> dict[str, Any]:
        findings = [{k: v for k, v in one.items() if k != "log"} for one in run.values if "code" in one]
        found: dict[str, Any] = {"problems": sum(not one.get("note") for one in findings), "findings": findings}
        for one in run.values:
            found |= {} if "log" in one else one
        return found


class ToolsForm(Form):
    """`show --tools`: how many calls, how many failed, and of which tools."""

    json_inside = True

    def refuse(self, given: Mapping[str, Any]) -> None:
        if not given["tools"]:
            raise Usage("show prints one log, and several were named", "--tools: a line for each; or name one")

    def _tools(self, run: Ended) -> dict[str, dict[str, int]]:
        """The figures of each tool, the most used first."""
        found: dict[str, dict[str, int]] = {}
        for use in run.values:
            one = found.setdefault(use["tool"], {"calls": 0, "failed": 0, "tokens": 0})
            one["calls"] += 1
            one["failed"] += use["status"] == "failed"
            one["tokens"] += use["tokens"]
        return dict(sorted(found.items(), key=lambda item: -item[1]["calls"]))

    def lines(self, run: Ended) -> Iterator[Line]:
        said = [
            f"{tool} {one['calls']:,}" + (f" ({one['failed']:,} failed)" if one["failed"] else "")
            for tool, one in self._tools(run).items()
        ]
        for line in super().lines(run):
            yield [*line, f": {', '.join(said)}"] if said else line

    def value(self, run: Ended) -> dict[str, Any]:
        uses = run.values
        failed = sum(one["status"] == "failed" for one in uses)
        return {"calls": len(uses), "failed": failed, "tools": self._tools(run), "uses": uses}


class ExportForm(Form):
    """`export`: a file each in the folder of -o; else a JSON line each, with the request."""

    def refuse(self, given: Mapping[str, Any]) -> None:
        from ctxkit.formats.targets import TARGETS

        aim, output = TARGETS[given["to"].value], given["output"]
        if output in (None, "-") and aim.kind != "request":
            raise Usage(f"{aim.name} is a file for each log: nothing was written", "-o DIR: where they are written")
        if output and output != "-" and os.path.lexists(output) and not os.path.isdir(output):
            raise CannotCreate(f"{output}: not a folder, and a file for each log is asked for: nothing was written")

    def prepare(self, given: dict[str, Any], file: LogFile) -> None:
        if given["output"]:
            try:
                make_private(Path(os.path.dirname(given["output"]) or "."))
                if given["output"].endswith(os.sep):
                    make_private(Path(given["output"]))
            except OSError as error:
                raise CannotCreate(f"{given['output']}: {reason_of(error)}: nothing was written") from error

    def lines(self, run: Ended) -> Iterator[Line]:
        for line in super().lines(run):
            yield [*line, f" → {run.made}"]

    def value(self, run: Ended) -> dict[str, Any]:
        return {"written": run.made} if run.made else {"request": json.loads(run.out)}


class ScanForm(Form):
    """`scan`: all its lines, with the sum of each log below them."""

    reads_text = True

    def lines(self, run: Ended) -> Iterator[Line]:
        for line in run.out.decode("utf-8", "replace").splitlines():
            yield [line]
        yield from super().lines(run)

    def value(self, run: Ended) -> dict[str, Any]:
        return {"secrets": [{k: v for k, v in one.items() if k != "log"} for one in run.values if "kind" in one]}


FORMS: dict[str, Form] = {
    "status": StatusForm(), "check": CheckForm(), "show": ToolsForm(), "export": ExportForm(), "scan": ScanForm(),
}  # fmt: skip
"""The forms of commands that have one of their own; the others have `Form`."""
PLAIN = Form()


def fits(name: str, given: Mapping[str, Any], logs: Sequence[str]) -> bool:
    """Whether a call is one on many logs. Raises Usage where it names many, and takes one with these options."""
    form = FORMS.get(name, PLAIN)
    if name == "show" and len(logs) == 1 and given["files_from"] is None and not given["tools"]:
        return False  # a folder is no log, says `show`
    form.refuse(given)
    return True


def run(name: str, logs: Mapping[str, str], rest: Sequence[str], kinds: Sequence[str], given: dict[str, Any]) -> int:
    """Run the command on each of the logs, and those that --files-from lists; return the highest exit status.

    `logs`: what was typed -> its path; `rest`: what was named besides logs; `kinds`: the name of the parameter for it.
    Raises Usage, NoSuchLog for a list that cannot be read, and without a log.
    """
    streams.Streams.quiet = bool(given.get("quiet"))
    streams.Streams.pager = None
    listed, jobs = given.pop("files_from"), given.pop("jobs")
    _refuse(name, logs, listed, rest, kinds, given)
    writes = "op_id" in given
    places = list(logs.values())
    places += [] if listed is None else listed_names(listed)
    files = log_files(places)
    if not files:
        where = ", ".join(list(logs)[:3]) or f"the list {listed}"
        text = f"no logs below {where}: nothing was done" if logs else f"{where} is empty: nothing was done"
        raise NoSuchLog(text, "ctxkit sessions lists the logs of this project" if logs else "")
    if name == "export" and not given["output"] and any(streams.same_as_stdout(Path(one.path)) for one in files):
        text = "standard output is one of the logs itself: nothing was written"
        raise CannotCreate(text, "write to another file; >> would append the exports to the log itself")
    words = _words_without(list(logs))
    beside = {kinds[0]: next(iter(rest), None)} if kinds else {}
    if kinds == ["numbers"]:
        beside = {"numbers": None}
    as_json = (name == "export" and not given["output"]) or bool(given.get("json"))
    calls = partial(_calls, name, files, words, {**given, **beside}, as_json)
    looking = processes(jobs, len(files), sum(one.size for one in files))
    if not writes or given["dry_run"]:
        return max(_all(name, calls(), len(files), looking))
    if not given["yes"]:
        none = _preview(name, calls(dry=True), len(files), looking, given)
        if none is not None:
            return none
    if given["op_id"] is None:
        from ctxkit.logfile.append import new_id

        given["op_id"] = new_id()
        calls = partial(_calls, name, files, words, {**given, **beside}, as_json)
    again = f"again with --op-id {given['op_id']} goes on after an interruption"
    undo = f"; ctxkit undo LOG... {given['op_id']} undoes it" if name != "undo" else ""
    if name != "undo" or not rest:  # else a second call undoes nothing more
        streams.say(f"op id {given['op_id']} in all logs: {again}{undo}")  # first: a killed run says nothing at its end
    return max(_all(name, calls(), len(files), min(jobs or 1, len(files))))


def _refuse(
    name: str, logs: Mapping[str, str], listed: str | None, rest: Sequence[str], kinds: Sequence[str],
    given: Mapping[str, Any],
) -> None:  # fmt: skip
    """Raises Usage for what is of one log alone."""
    if "-" in logs:
        text = "- is one log on standard input, and several were named: nothing was done"
        raise Usage(text, "--files-from - reads their names there")
    if "" in logs:
        raise Usage("the name of a log is empty: nothing was done", "is a shell variable empty?")
    if rest and kinds == ["numbers"]:
        what = f"{rest[0]} names messages of one log, and several were named: nothing was done"
        raise Usage(what, f"name one; or choose by criteria: ctxkit {name} --help")
    if given.get("sidecar") is not None:
        raise Usage("--sidecar is for one log, and several were named: nothing was done", "leave it out")
    for key, value in given.items():
        flag = FLAGS.get(key.rstrip("_"))
        if value == "-" and flag is not None and flag.metavar == "FILE" and key != "output":
            text = f"{flag.name} - can be read once, and several logs were named: nothing was done"
            raise Usage(text, f"a file for {flag.name}")
    if listed == "":
        raise Usage("--files-from: the name of the list is empty", "is a shell variable empty?")


def listed_names(file: str) -> list[str]:
    """The names that a list has, a line each; by NUL bytes if there is one in it. `-`: standard input.

    Raises NoSuchLog, and Usage for a terminal.
    """
    if file == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise Usage("--files-from - reads standard input, and no list comes there", "find DIR -print0 | ctxkit …")
        found = sys.stdin.buffer.read()
    else:
        try:
            found = Path(file).read_bytes()
        except OSError as error:
            raise NoSuchLog(f"--files-from {file}: {reason_of(error)}: nothing was done") from error
    names = found.split(b"\0" if b"\0" in found else b"\n")
    return [file_name(os.fsdecode(one)) for one in names if one]


def _words_without(logs: Sequence[str]) -> list[str]:
    """The words of the call without the logs and what names them: what an op says it was made by, in each log."""
    kept: list[str] = []
    left, typed = list(logs), list(streams.Streams.words[1:])
    while typed:
        word = typed.pop(0)
        flag, equals, _ = word.partition("=")
        if flag in ("--files-from", "--jobs"):
            del typed[: not equals]
        elif word in left and not _takes_value(kept[-1:]):
            left.remove(word)
        else:
            kept.append(word)
    return kept


def _takes_value(before: Sequence[str]) -> bool:
    """Whether the word before is an option that waits for its value."""
    return any(flag.metavar and before[0] in flag.names.split() for flag in FLAGS.values()) if before else False


def _calls(
    name: str, files: Sequence[LogFile], words: Sequence[str], given: Mapping[str, Any], as_json: bool,
    *, dry: bool = False,
) -> Iterator[LogCall]:  # fmt: skip
    """The call on each file."""
    manner, outputs = Manner.now(), _outputs(files, given) if name == "export" and given["output"] else {}
    form = FORMS.get(name, PLAIN)
    for file in files:
        mine = dict(given)
        if dry:
            mine["dry_run"] = True
        if "yes" in mine:
            mine["yes"] = True
        if file.path in outputs:
            mine["output"] = outputs[file.path]
        if "json" in mine:
            mine["json"] = (as_json and name != "export") or form.json_inside
        yield LogCall(name, file, (name, file.path, *words), mine, manner, as_json, bool(mine.get("dry_run")))


def _outputs(files: Sequence[LogFile], given: Mapping[str, Any]) -> dict[str, str]:
    """Path of a log -> the file for it in the folder of -o; a session gets its name by itself.

    Below a folder the place in it stays; of two that would have one name the second is called `name-2`.
    """
    from ctxkit.formats.targets import TARGETS

    aim, folder = TARGETS[given["to"].value], given["output"]
    if aim.kind == "session":
        return {file.path: os.path.join(folder, "") for file in files}
    found: dict[str, str] = {}
    taken: set[str] = set()
    ending = ".json" if aim.kind == "request" else ".jsonl"
    for file in files:
        inside = os.path.relpath(file.path, file.folder) if file.folder else os.path.basename(file.path)
        stem, number = os.path.splitext(inside)[0], 1
        name = stem
        while name in taken:
            number += 1
            name = f"{stem}-{number}"
        taken.add(name)
        found[file.path] = os.path.join(folder, name + ending)
    return found


def _all(name: str, calls: Iterator[LogCall], of: int, jobs: int) -> list[int]:
    """Run all calls, print what comes of each, and sum up; return the exit status of each log."""
    statuses: list[int] = []
    others = empties = 0
    hints: dict[str, None] = {}
    with closing(results(run_one, calls, jobs)) as found, streams.progress(name, "logs") as step:
        for done, one in enumerate(found):
            if step is not None:
                step(done, of)
            made = one.value
            if one.failure is not None:
                made = _failed(one.item, one.failure)
            if made is None:  # no log
                continue
            if made.other or made.empty:
                others, empties = others + made.other, empties + made.empty
                continue
            if made.err:
                streams.err_made(made.err)
            streams.out_made(made.line)
            statuses.append(made.status)
            if not one.item.as_json:
                hints |= dict.fromkeys(made.hints)
    streams.flush()
    others_left = f"{layout.count(others, 'file')} of JSON of another shape left out"
    if not statuses and (others or empties):
        empty = [f"{layout.count(empties, 'empty file')} left out"] if empties else []
        streams.say(", ".join([*([others_left] if others else []), *empty]))
        return [ExitCode.DONE]
    if not statuses:
        raise NoSuchLog("none of the files is a log: nothing was done", "ctxkit sessions DIR lists what is found")
    for hint in list(hints)[:HINTS]:
        streams.hint(hint)
    no, failed = statuses.count(ExitCode.NO), sum(status > ExitCode.NO for status in statuses)
    notes = [f"{no:,} with exit 1"] * bool(no) + [f"{failed:,} failed"] * bool(failed) + [others_left] * bool(others)
    streams.say(", ".join([layout.count(len(statuses), "log"), *notes]))
    return statuses


def _preview(name: str, calls: Iterator[LogCall], of: int, jobs: int, given: Mapping[str, Any]) -> int | None:
    """Print what would be done, and ask; return the exit status if there is nothing to do.

    Raises Usage if nobody can be asked, NothingChanges on a no.
    """
    if given.get("summary_model") or given.get("fast") or given.get("strategy") == "llm" or given.get("about_model"):
        text = f"a model would be asked for each of {layout.count(of, 'log')}: nothing was sent or changed"
        raise Usage(text, "--yes; --dry-run asks it too, and writes nothing")
    statuses = _all(name, calls, of, jobs)
    if min(statuses) > ExitCode.DONE:
        return max(statuses)
    what = f"nothing was changed in {layout.count(len(statuses), 'log')}"
    if not streams.on_terminal():
        raise Usage(f"{what}, and there is no terminal to ask on", "use --yes")
    if not streams.ask(f"{name.capitalize()} as above?"):
        from ctxkit.errors import NothingChanges

        raise NothingChanges("not confirmed: nothing was changed")
    return None


_runs = 0


def run_one(call: LogCall) -> LogRun | None:
    """Run the command on one log, in this process; None for a file below a folder that nobody takes for a log."""
    global _runs
    _runs += 1
    if _runs % COLLECT == 0 or (_runs == 1 and multiprocessing.parent_process() is not None):
        import gc

        if multiprocessing.parent_process() is not None:
            gc.disable()  # as in the program itself
        gc.collect()
    if call.file.error is not None:
        return _failed(call, Failure.of(cannot_open(Path(call.file.path), call.file.error)))
    path, form = call.file.path, FORMS.get(call.command, PLAIN)
    failure: Failure | None = None
    status: int | None = 0
    start = b""
    with captured(call.words, call.manner) as printed:
        try:
            with one_of_many(path):
                if call.file.folder:
                    with open_log(path) as source:
                        start = source.read(0, START)
                    if not may_be_log(start) and not (form.reads_text and is_other(path)):
                        return _no_log(call, ruin(path, start), start)
                status = _metered(call, form)
                streams.flush()
        except UnknownFormat as error:
            if call.file.folder:
                return _no_log(call, ruin(path, start, error), start)
            failure = _of(error)
        except CtxkitError as error:
            failure = _of(error)
        except typer.Exit as stop:
            status = int(stop.exit_code)
        summary, made, hints = streams.Streams.summary, streams.Streams.made, streams.Streams.hints
    err = _named(printed.err, path, call.manner)
    if failure is not None:
        return _failed(call, failure, err)
    ended = Ended(path, printed.out, summary, made)
    with captured(call.words, call.manner) as line:
        _print(call, form, ended)
    return LogRun(line.out, err, int(status or 0), hints)


def _no_log(call: LogCall, error: UnknownFormat | None, start: bytes) -> LogRun | None:
    """What comes of a file below a folder that is no log. `error`: from `ruin`."""
    if error is not None:
        return _failed(call, _of(error))
    bare = not start.strip()
    return LogRun(b"", b"", 0, other=not bare, empty=bare) if is_other(call.file.path) else None


def _metered(call: LogCall, form: Form) -> int | None:
    """Run the command; its figures go to the token log, if one is kept."""
    given = dict(call.given)
    form.prepare(given, call.file)
    command: Callable[..., int | None] = COMMANDS[call.command].load().for_one
    path = os.environ.get("CTXKIT_LOG")
    if not path or path == os.devnull:
        return command(log=call.file.path, **given)
    from ctxkit.cli.token_meter import metered

    return metered(call.command, path, lambda: int(command(log=call.file.path, **given) or 0))


def _of(error: CtxkitError) -> Failure:
    """The failure, with the log in place of the LOG of the commands that its hint names."""
    found = Failure.of(error)
    return found._replace(hint=streams.with_log(found.hint))


def _print(call: LogCall, form: Form, ended: Ended) -> None:
    """Print the line of a log."""
    path = ended.path
    if call.as_json:
        if call.command == "export" and not ended.made:  # the request keeps its bytes
            head = dumps({"log": path})[:-1].encode("ascii")
            streams.out_bytes([head, b',"request":', ended.out.strip(), b"}\n"])
        elif ended.out or ended.made or not form.silent(call.given):
            streams.out_json({"log": path} | {k: v for k, v in form.value(ended).items() if k != "log"})
    elif form.silent(call.given):
        return
    elif call.command == "status" and _tables(call.given):
        streams.out(Styled(path, "bold"))
        streams.out_bytes([ended.out, b"\n"])
    else:
        for line in form.lines(ended):
            streams.out(*line)


def _named(err: bytes, path: str, manner: Manner) -> bytes:
    """Reports of one of many logs: each line names it."""
    if manner.events is not None or not err:
        return err
    from ctxkit.cli.terminal.safe_text import safe

    name = utf8(safe(path).replace("\n", "␊"))
    return b"".join(line if name in line else name + b": " + line for line in err.splitlines(keepends=True))


def _failed(call: LogCall, failure: Failure, err: bytes = b"") -> LogRun:
    """The line of a log at which the command failed."""
    path = call.file.path
    with captured(call.words, call.manner) as printed:
        if streams.Streams.events is not None:
            streams.Streams.events.path = path
            kind: Kind = "compaction" if call.command == "compact" else "warning"  # the command goes on
            streams.event(kind, failure.reason, failure.code)
        if call.as_json:
            error = {"reason": failure.reason, "text": failure.text, "hint": failure.hint, "code": failure.code}
            streams.out_json({"log": path, "error": error})
        else:
            text = failure.text.partition("\n")[0].removesuffix(":")  # what it lists is left out
            streams.out(Styled(path, "bold"), *_after(path, text))
    if not call.as_json and FORMS.get(call.command, PLAIN).silent(call.given):  # as of one log: errors alone
        return LogRun(b"", err + printed.err + printed.out, failure.code, (failure.hint,) if failure.hint else ())
    return LogRun(printed.out, err + printed.err, failure.code, (failure.hint,) if failure.hint else ())


def _after(path: str, text: str) -> Line:
    """What an error says, behind the name of the log, without a name that it says itself; a line's number follows it
    as it does there.
    """
    for name in (path, os.path.normpath(path)):
        if text.startswith(f"{name}:"):
            return [":", Styled(text.removeprefix(f"{name}:"), ERROR)]
        if text.startswith(f"{name} "):
            return [": ", Styled(text.removeprefix(f"{name} "), ERROR)]
    return [": ", Styled(text, ERROR)]
