"""ctxkit status: how full the context is, and what is in it and out of it."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

from ctxkit.api.log import Log
from ctxkit.cli.abnormal_ends import abnormal_ends
from ctxkit.cli.amounts import tokens as tokens_of
from ctxkit.cli.log_access import finish_reading, opened, set_overhead
from ctxkit.cli.options import LogArgument, Looking, ManyLogs, Reading, RequestOptions, takes
from ctxkit.cli.terminal import error_report, layout, status_view, streams
from ctxkit.cli.terminal.layout import ROOMY, count
from ctxkit.cli.terminal.safe_text import cells, clip, clip_start, safe
from ctxkit.cli.terminal.status_view import Subagents
from ctxkit.cli.terminal.style import Line, Styled, allowed
from ctxkit.cli.terminal.wrap import wrapped
from ctxkit.core.derive.usage import figure
from ctxkit.core.text.utf8 import utf8
from ctxkit.core.times import seconds
from ctxkit.errors import BadConfig, CtxkitError, ExitCode, OverBudget, UnknownFormat, Usage
from ctxkit.formats import registry
from ctxkit.logfile.history import object_of
from ctxkit.measure.status import Budget, Status, as_json
from ctxkit.settings.config import DEFAULT, Setting
from ctxkit.store.source import Source
from ctxkit.tokens.models import LARGE, MILLION, limit

if TYPE_CHECKING:
    from ctxkit.measure.shares import By, Share, Touched

SAID = 200
"""Characters of a message's text that --largest shows at most."""


class ShareKind(StrEnum):
    """What the tokens are told by: shares of the context, or the context that each agent has."""

    role = "role"
    tool = "tool"
    server = "server"
    exchange = "exchange"
    file = "file"
    agent = "agent"


class TablesAsked(NamedTuple):
    """The tables that were asked for."""

    by: ShareKind | None
    largest: int | None
    files: bool
    only_context: bool

    @property
    def some(self) -> bool:
        """Whether there is one."""
        return self.by is not None or self.largest is not None or self.files


@takes(ManyLogs, RequestOptions, Looking, Reading)
def command(
    log: LogArgument = "-",
    *,
    short: bool = False,
    no_tokens: bool = False,
    no_assembly: bool = False,
    by: ShareKind | None = None,
    largest: int | None = None,
    files: bool = False,
    only_context: bool = False,
    plot: bool = False,
    svg: bool = False,
    fail_at: str | None = None,
    fail_over: str | None = None,
    context_limit: str | None = None,
    model: str | None = None,
    agent: str | None = None,
    thread: str | None = None,
    request_options: RequestOptions,
    looking: Looking,
    reading: Reading,
) -> int:
    """Show how full the context is, which messages are in it and out of it and why, and whether the log is sound.

    It prints tokens (with the name of their counter) and their share of the limit, window and now, live marks, ops,
    agents, threads, damage and warnings. Damage does not change the exit code; use `ctxkit check` for that. --by,
    --largest and --files print what uses the tokens instead; --plot draws them over the session. --json prints one
    object.

    --by agent lists the agents that messages of the log name, then those that the config alone names
    (`agents.NAME.…`), with what each has in its context: tokens of its limit, messages, window, texts. An agent has its
    own messages and those of no agent in its context, and around them its own system prompt and documents, if the
    config has some for it, else those of the log.

    Exit 0; 1 if P % of the limit or more (--fail-at P%), or more than N tokens (--fail-over N), are used: for CI; 78 if
    no limit is known for --fail-at, and --fail-over is not broken.
    """
    bounds = _bounds(fail_at, fail_over)
    asked = TablesAsked(by, largest, files, only_context)
    bounded, of_agents = bounds != (None, None), by is ShareKind.agent
    filtered = bool(agent or thread or no_assembly or context_limit)
    _refuse(asked, short=short, drawn=plot or svg, uncounted=no_tokens, bounded=bounded, filtered=filtered)
    tables = asked.some
    target, claude = _target(log, reading, looking, thread, short=short and not of_agents, report=of_agents)
    target.lens_agent, target.lens_thread = agent, thread
    set_overhead(target, request_options)
    if model:
        target.config.set_flags({"model": model})
    if of_agents:
        return _agents(target, json=reading.json)
    limit = tokens_of("--context-limit", context_limit)
    found = target.status(tokens=not no_tokens, limit=limit, assembly=not no_assembly)
    partial = no_assembly or agent or thread or looking.at or reading.now
    if found.tokens.used is not None and not (partial or context_limit or model):
        from ctxkit.search.file_cache import note_tokens  # brings sqlite3: only where tokens are counted

        note_tokens(target, found.tokens)
    if not short and target.opening.path is not None:
        for ended in abnormal_ends(target.opening.path):
            streams.warn(ended)
    own = _subagents(target, found.tokens) if not (short or partial or tables) else None
    broken = list(_broken(found, *bounds))
    if plot or svg:
        _plot(target, found.tokens, svg=svg, json=reading.json)
    elif tables:
        _tables(target, found.tokens, asked, json=reading.json)
    elif reading.json:
        failed = {"failed": msgspec.to_builtins(broken)} if bounded else {}
        streams.out_json(as_json(found) | {"subagents": msgspec.to_builtins(own)} | failed)
    elif short:
        text = status_view.short(found, layout.width())
        brief = status_view.line(found, layout.width()) if claude else Styled(text, found.tokens.level or "")
        (streams.sum_up if streams.Streams.among else streams.out)(brief)
    elif not (reading.quiet and bounded):  # the exit code is the answer
        for line in status_view.lines(found, layout.wrap_width(), own):
            streams.out(*line)
    if bounds[0] is not None and not found.total:
        streams.warn(f"{found.log} has no message: nothing is used")
    codes = [error_report.fail(_error(found, one)) for one in broken]
    return ExitCode.NO if ExitCode.NO in codes else max(codes, default=0)


def _refuse(asked: TablesAsked, *, short: bool, drawn: bool, uncounted: bool, bounded: bool, filtered: bool) -> None:
    """Raises Usage for options that cannot be combined."""
    if uncounted and (bounded or asked.some or drawn):
        raise Usage("--no-tokens counts nothing, so there is nothing to show or compare", "leave it out")
    if asked.only_context and not asked.files:
        raise Usage("--only-context is for --files; everything else shows only the context anyway", "add --files")
    if drawn and (asked.some or short):
        raise Usage(
            "--plot and --svg cannot be combined with other output", "leave --short, --by, --largest and --files out"
        )
    if asked.by is ShareKind.agent and (asked.largest is not None or asked.files or bounded or filtered):
        text = "--by agent lists all that each agent has, and cannot be combined with other output, filters or limits"
        raise Usage(text, "status --agent NAME takes them for one")


def _subagents(target: Log, tokens: Budget) -> Subagents | None:
    """The tokens of the session's own agents, as a list of sessions has them; None without any."""
    path = target.opening.path
    if path is None or tokens.used is None or registry.by_name(target.opening.format.name).agents is None:
        return None
    from ctxkit.search.sessions import ROUGH, subagents

    used = [one.used for one in subagents(path, target.opening.format.name, os.environ)]
    if not used:
        return None
    known = [one for one in used if one is not None]
    held = sum(one.count for one in known)
    return Subagents(len(used), held, tokens.used + held, any(one.counter == ROUGH for one in known))


def _target(
    log: str, reading: Reading, looking: Looking, thread: str | None, *, short: bool, report: bool
) -> tuple[Log, bool]:
    """The log, and whether Claude Code asks for its status line. `report`: whether damage of the log is reported."""
    if short and log == "-":
        return from_status_line(log, reading, looking, thread)
    return opened(log, reading, looking, command="status", report=report, thread=thread), False


def _agents(target: Log, *, json: bool) -> int:
    """Print the agents, with what each has in its context."""
    from ctxkit.cli.terminal import agents_view

    target.looks = True
    found, trouble = target.agent_contexts()
    if json:
        streams.out_json({"by": msgspec.to_builtins(found)})
    else:
        for line in agents_view.lines(found, layout.wrap_width()):
            streams.out(*line)
    for text in trouble:
        streams.warn(text)
    finish_reading(target, layout.count(len(found), "agent"))
    return ExitCode.DONE


def _tables(target: Log, tokens: Budget, asked: TablesAsked, *, json: bool) -> None:
    """Print the tables of what uses the tokens, and the counter's name."""
    from ctxkit.cli.terminal.message_view import one_line
    from ctxkit.core.context import entry
    from ctxkit.measure.shares import Share, Shares

    shares = Shares(target)
    kinds = shares.by(cast("By", asked.by.value)) if asked.by is not None else None  # agents have a list of their own
    most = shares.largest(asked.largest) if asked.largest is not None else None
    held = shares.files(only_context=asked.only_context) if asked.files else None
    beyond = (tokens.used or 0) - sum(shares.tokens.values())
    besides = shares.besides(tokens) if kinds or most else []
    if json:
        streams.out_json(
            msgspec.to_builtins(
                {
                    "by": kinds, "largest": most, "files": held, "beyond": beyond, "besides": besides,
                    "counter": shares.counter,
                }
            )
        )  # fmt: skip
        return
    if most:
        said = (one_line(target.full(entry(shares.state, name)), SAID) for name in shares.largest_names(len(most)))
        most = [_with_text(one, text) for one, text in zip(most, said, strict=True)]
    width, total = layout.width(), sum(shares.tokens.values()) + max(0, beyond)
    if kinds:
        kinds = [*kinds, *besides]
    if most:
        most = sorted([*most, *besides], key=lambda share: -share.tokens)
        left = len(shares.names) - sum(share.messages for share in most)
        rest = max(0, total - sum(share.tokens for share in most))
        most += [Share(f"({layout.count(left, 'other message')})", 0, rest, "")] * bool(left)
    whole = layout.wrap_width()  # where a program reads it, a path is never cut, and a file has two lines
    paths = asked.by is ShareKind.file
    for lines in (
        share_lines(kinds or (), whole if paths else width, total, paths=paths),
        share_lines(most or (), width, total, numbered=True),
        file_lines(held or (), whole),
    ):  # fmt: skip
        for line in lines:
            streams.out(*line)
    streams.flush()
    if asked.files and not held:
        streams.note(f"no call in the {'context' if asked.only_context else 'log'} reads or writes a file")
    whole_of = f"; % of the {total:,} tokens of the context" if kinds or most else ""
    streams.note(f"tokens: {shares.counter}{whole_of}")


def _with_text(one: Share, text: str) -> Share:
    """A share with the beginning of its message. The text of a call names its tool and file already."""
    what = one.what.partition(" ")[0] if text.startswith("→ ") else one.what
    return msgspec.structs.replace(one, what=f"{what}: {text}")


def _plot(target: Log, tokens: Budget, *, svg: bool, json: bool) -> None:
    """Print the tokens over the session, in the form that was asked for."""
    from ctxkit.measure.timeline import plotted

    around = (tokens.used or 0) - (tokens.measured.tokens if tokens.measured is not None else 0)
    course = plotted(target, around=around, limit=tokens.limit.value)
    if json:
        streams.out_json(msgspec.to_builtins(course))
        return
    from ctxkit.cli.terminal import timeline_chart

    if svg:
        path = target.opening.path
        name = path.name if path is not None else target.opening.name
        streams.out_bytes([utf8(timeline_chart.svg(course, name))])
    else:
        config = target.config
        levels = {"yellow": config["status.yellow"], "red": config["status.red"]}
        for line in timeline_chart.lines(course, layout.width(), **levels):
            streams.out(*line)


def _bounds(fail_at: str | None, fail_over: str | None) -> tuple[float | None, int | None]:
    """The percentage of --fail-at and the tokens of --fail-over. Raises Usage."""
    percent = None
    if fail_at is not None:
        found = re.fullmatch(r"(\d{1,3}(?:\.\d+)?) ?%?", fail_at, re.ASCII)
        if found is None:
            raise Usage(f"--fail-at {fail_at!r} is not a percentage", "85%, or 85")
        percent = float(found[1])
        if percent > 100:
            raise Usage(f"--fail-at {fail_at}: it is at most 100 %", "85%, or --fail-over N for tokens")
        if 0 < percent < 1 and "%" not in fail_at:
            text = f"--fail-at {fail_at} is less than 1 %"
            raise Usage(text, f"{100 * percent:g}% if that was meant, or {percent:g}%")
    return percent, tokens_of("--fail-over", fail_over)


class BrokenRule(msgspec.Struct, frozen=True):
    """A rule that is broken: `fail-at` in percent of the limit, `fail-over` in tokens. `found`: None if no limit is
    known.
    """

    rule: str
    allowed: float
    found: float | None


def _broken(found: Status, percent: float | None, over: int | None) -> Iterator[BrokenRule]:
    """The rules that are broken. A log without messages breaks none for want of a limit: nothing is used."""
    used, limit = found.tokens.used or 0, found.tokens.limit.value
    if percent is not None and (100 * used >= percent * limit if limit else found.total):
        yield BrokenRule("fail-at", percent, found.tokens.percent)
    if over is not None and used > over:
        yield BrokenRule("fail-over", over, used)


def _error(found: Status, broken: BrokenRule) -> CtxkitError:
    """The error that tells of a broken rule."""
    tokens = found.tokens
    if broken.rule == "fail-over":
        return OverBudget(f"{found.log}: {tokens.used:,} tokens are used, more than {broken.allowed:,}")
    if tokens.limit.value is None:
        text = "no limit is known: neither the config nor the log's model names one, so --fail-at cannot be checked"
        return BadConfig(f"{found.log}: {text}", "--context-limit N, or --fail-over N alone")
    share = f"{broken.found:g} % of {tokens.limit.value:,} tokens are used, {broken.allowed:g} % or more"
    return OverBudget(f"{found.log}: {share}")


MANY = 8
"""Messages of a list that is shown whole."""


def share_lines(
    found: Sequence[Share], width: int, total: int, *, numbered: bool = False, paths: bool = False
) -> Iterator[Line]:
    """Yield a line for each share: tokens, percent of `total`, its name, its messages.

    A share of no message has only its name. `numbered`: with the number of its first message. `paths`: names are paths,
    and long ones are cut at their start.
    """
    most = max((len(f"{share.tokens:,}") for share in found), default=1)
    for share in found:
        figures = f"{share.tokens:>{most},}  {100 * share.tokens / max(1, total):3.0f} %"
        held = count(share.messages, "message") if width >= 2 * ROOMY else f"{share.messages:,}"
        number, many = (
            (f"{share.first} " if share.first else "", "") if numbered else ("", f" ({held})" if share.messages else "")
        )
        room = max(1, width - cells(figures + number + many) - 2)
        what = safe(share.what, keep_newlines=False)
        what = clip_start(what, room) if paths else clip(what, room)
        yield [Styled(figures, "bold"), clip(f"  {number}{what}{many}", max(0, width - cells(figures)))]


def file_lines(found: Sequence[Touched], width: int) -> Iterator[Line]:
    """Yield two lines or more for each file: tokens and path; the messages that read or changed it, which of them are
    superseded or out of the context, and the last one.
    """
    most = max((len(f"{one.tokens:,}") for one in found), default=1)
    for one in found:
        yield [
            Styled(f"{one.tokens:>{most},}  ", "bold"),
            clip_start(safe(one.path, keep_newlines=False), width - most - 2),
        ]
        other = [label for label in one.writes if label not in {*one.created, *one.deleted}]
        uses = (
            ("read", one.reads), ("created", one.created), ("written", other), ("deleted", one.deleted),
            ("superseded", one.superseded), ("out of the context", one.out if one.in_context else []),
        )  # fmt: skip
        parts = [] if one.in_context else ["out of the context"]
        parts += [f"{what} {_listed(labels)}" for what, labels in uses if labels]
        moment = seconds(one.time)
        parts.append(f"last {one.last}" + (f" at {streams.clock().time(moment)}" if moment is not None else ""))
        for line in wrapped(["; ".join(parts)], width - most - 2, 2, hard=True):
            yield [" " * (most + 2), *line]


def _listed(labels: Sequence[str]) -> str:
    """Return `2,4,9`; of many the first, the newest, and their number."""
    if len(labels) <= MANY:
        return ",".join(labels)
    return f"{labels[0]},…,{','.join(labels[-MANY // 2 :])} ({len(labels)} times)"


KEY = "transcript_path"
"""The key of the JSON by which it is known."""
LARGEST = 1 << 20
"""Most bytes of the JSON; usually it has some hundreds."""
RECORD = ("role", "type", "ctxkit", "messages", "payload")
"""Keys of records of logs, which the JSON does not have."""
ORIGIN = "statusLine"
PROGRAM = "claude-code"


class StatusLineInput(NamedTuple):
    """The fields of the JSON that Claude Code gives its statusLine command.

    `transcript`: a path, "" for none yet; `model`: an id, or ""; `size`: of the window, in tokens.
    """

    transcript: str
    model: str
    size: int | None


class _Found(Exception):  # stops `opened`: standard input is no log
    def __init__(self, given: StatusLineInput) -> None:
        super().__init__()
        self.given = given


def status_line(raw: bytes) -> StatusLineInput | None:
    """The fields of the JSON; None for a log. Raises UnknownFormat if the JSON is broken."""
    if utf8(f'"{KEY}"') not in raw or not raw.lstrip().startswith(b"{"):
        return None
    found = object_of(raw)
    if found is None:
        if any(object_of(line) is not None for line in raw.splitlines()):
            return None  # a log with the word in its text
        text = f"standard input is not JSON, though it has the {KEY} that Claude Code gives a statusLine"
        raise UnknownFormat(text, "one object, as Claude Code writes it")
    if KEY not in found or any(key in found for key in RECORD):
        return None
    path, model, window = found[KEY], _under(found, "model"), _under(found, "context_window")
    name, size = model.get("id"), window.get("context_window_size")
    name = name if isinstance(name, str) else ""
    size = figure(size) or (MILLION if name.endswith(LARGE) else None)
    transcript = os.path.expanduser(path) if isinstance(path, str) and "\0" not in path else ""
    return StatusLineInput(transcript, name.removesuffix(LARGE), size)


def from_status_line(log: str, reading: Reading, looking: Looking, thread: str | None) -> tuple[Log, bool]:
    """The log, and whether Claude Code asks for its status line. A transcript that does not exist yet is empty.

    Raises UnknownFormat, and what `opened` raises.
    """
    try:
        return opened(log, reading, looking, command="status", report=False, thread=thread, before=_look), False
    except _Found as found:
        given = found.given
    streams.Streams.colour = allowed(os.environ, terminal=True)  # Claude Code shows colours, although this is a pipe
    if given.transcript and os.path.lexists(given.transcript):
        meant = opened(given.transcript, reading, looking, command="status", report=False, thread=thread)
    else:
        meant = Log.open(io.BytesIO(b""))
    if not meant.messages:
        given = given._replace(size=given.size or limit(given.model, PROGRAM))
    _set_model(meant, given)
    return meant, True


def _set_model(log: Log, given: StatusLineInput) -> None:
    """Set the limit, and the model if the transcript names none. The user's config has precedence.

    If the transcript names another model, the user has just switched: the provider's last count, which belongs to
    that model, is better than an estimate.
    """
    settings = log.config.settings
    for key, value in (("limit", given.size), ("model", "" if log.model else given.model)):
        if value and log.config.origin(key) == DEFAULT:
            settings[key] = Setting(value, ORIGIN)


def _look(source: Source) -> None:
    if source.size <= LARGEST and (found := status_line(source.read(0, source.size))) is not None:
        raise _Found(found)


def _under(found: dict[str, Any], key: str) -> dict[str, Any]:
    value = found.get(key)
    return value if isinstance(value, dict) else {}
