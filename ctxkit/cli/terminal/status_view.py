"""Formats a `Status` for people: labelled rows, a bar, or one line for prompts. Nothing is printed here."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

import msgspec

from ctxkit.cli.terminal import streams
from ctxkit.cli.terminal.layout import count, home_short
from ctxkit.cli.terminal.rows import room, rows
from ctxkit.cli.terminal.safe_text import cells, clip, safe
from ctxkit.cli.terminal.style import WARNING, Line, Styled
from ctxkit.core.times import spoken, written
from ctxkit.core.transcript import CUT_OFF
from ctxkit.core.visibility import WORDS
from ctxkit.logfile.parameters import Around, Parameters, ValueWithOrigin
from ctxkit.measure.status import Budget, MarkStatus, NamedGroup, SkippedThinking, Status
from ctxkit.settings.config import FLAG

MARKS = 5
"""Marks that are listed, the newest."""
WIDEST = 40
"""Cells of the bar at most."""
SMALLEST = 0.1
"""Percent of error below which only `<0.1` is shown."""
FULL, EMPTY, RESERVED = "█", "░", "▒"


class Subagents(msgspec.Struct, frozen=True):
    """The logs of a session's own agents. `tokens`: of their contexts; `total`: with that of the session; `rough`:
    whether some of these are estimates by size.
    """

    logs: int
    tokens: int
    total: int
    rough: bool


def lines(found: Status, width: int, own: Subagents | None = None) -> Iterator[Line]:
    """Yield all rows, no line wider than `width`. `own`: the session's own agents, if it has any."""
    used = found.parameters
    for label, content in (
        ("log", _log(found)),
        ("tokens", list(budget_lines(found.tokens, room(width)))),
        ("subagents", [[_own_agents(own)]] if own is not None else []),
        ("messages", list(_messages(found))),
        ("compacted", [[_times(found.compactions)]] if found.compactions else []),
        ("filter", list(_filter(found))),
        ("window", list(windows(used))),
        ("now", [[now(used)]]),
        ("assembly", [[around(one)] for one in used.assembly or ()]),
        ("marks", _marks(found)),
        ("ops", _ops(found)),
        ("agents", [_named(one, found.colors.get(one.name)) for one in found.agents]),
        ("threads", [_named(one) for one in found.threads]),
        ("damage", list(_damage(found))),
        ("warnings", [[Styled(text, WARNING)] for text in found.warnings]),
        ("thinking", [[_unsent(found.thinking)]] if found.thinking is not None else []),
        ("sidecar", [[found.sidecar]] if found.sidecar is not None else []),
    ):
        yield from rows(label, content, width)


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")


def _filter(found: Status) -> Iterator[Line]:
    """The agent and the thread that the log is seen as."""
    used = found.parameters
    if used.agent is not None:
        color = found.colors.get(used.agent)
        yield ["agent ", used.agent if color is None else Styled(used.agent, color)]
    if used.thread is not None:
        yield [f"thread {used.thread}"]


def _seen(used: Parameters) -> ValueWithOrigin:
    """The window of the agent that the log is seen as, else the one for all."""
    return used.agents.get(used.agent or "", used.window)


def _unsent(found: SkippedThinking) -> str:
    """The thinking that its program does not send, and why."""
    are = "block is not sent: it is" if found.blocks == 1 else "blocks are not sent: they are"
    return f"{found.blocks:,} {are} bound to what came before, and {found.why}"


def short(found: Status, width: int) -> str:
    """Return one line of safe text: the longest form that fits into `width` cells."""
    tokens, inside = found.tokens, found.inside
    reach = [spoken(seconds)] if (seconds := _seen(found.parameters).value) else []
    damaged = [f"{found.damaged:,} damaged"] if found.damaged else []
    compacted = [f"compacted {_times(found.compactions)}"] if found.compactions else []
    forms = (
        [_figure(tokens, " / ", " tokens"), count(inside, "message"), *compacted, *reach, *damaged],
        [_figure(tokens, " / ", " tokens"), count(inside, "message"), *reach, *damaged],
        [_figure(tokens, "/", ""), f"{inside:,}", *reach, *damaged],
        [percent(tokens) or brief(tokens.used), f"{inside:,}", *reach, *damaged],
        [percent(tokens) or brief(tokens.used), brief(inside), *reach, *(f"!{found.damaged}" for _ in damaged)],
    )
    return _longest_that_fits([" · ".join(filter(None, form)) for form in forms], width)


def line(found: Status, width: int) -> Styled:
    """Return `short` for a status line, in the colour of the level; a session without messages is new."""
    if found.total:
        return Styled(short(found, width), found.tokens.level or "")
    size = found.tokens.limit.value
    room = [f"new session · {size:,} tokens", f"new session · {brief(size)}"] if size is not None else []
    return Styled(_longest_that_fits([*room, "new session", "new"], width), "dim")


def _longest_that_fits(texts: list[str], width: int) -> str:
    return next((text for text in texts if cells(text) <= width), clip(safe(texts[-1]), width))


def _figure(tokens: Budget, slash: str, unit: str) -> str:
    if tokens.used is None:
        return ""
    if tokens.percent is None:
        return _amount(tokens, unit, unit)
    return f"{_amount(tokens, '')}{slash}{tokens.limit.value:,}{unit} ({percent(tokens)})"


def percent(tokens: Budget) -> str:
    """Return `42 %`, rounded down so that the colour and the figure agree; "" without a limit."""
    if tokens.percent is None:
        return ""
    return "<1 %" if tokens.percent < 1 and tokens.used else f"{int(tokens.percent):,} %"


def brief(number: int | None) -> str:
    """Return a number in at most five cells: 999, 1.2k, 45k, 3.1M; "" for None."""
    if number is None:
        return ""
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}" if number < 10 * size else f"{number // size}{unit}"
    return str(number)


def bar(tokens: Budget, size: int) -> str:
    """Return a bar of `size` cells for the used tokens; its last cells are the reserve."""
    filled = min(size, round((tokens.percent or 0) * size / 100))
    reserved = ceil(size * tokens.reserve / tokens.limit.value) if tokens.limit.value else 0
    reserved = min(size - filled, reserved)
    return FULL * filled + EMPTY * (size - filled - reserved) + RESERVED * reserved


def _log(found: Status) -> list[Line]:
    used = found.parameters
    format = f"format {used.format}" + (f", a session of {used.owner}" if used.owner else "")
    more = [f"model {found.model}"] if found.model else []
    more += [f"conversation {used.conversation}"] if used.conversation is not None else []
    more += [f"as it was {'before' if used.before else 'at'} op {used.at}"] if used.at is not None else []
    return [[Styled(home_short(found.log), "bold")], [", ".join([format, *more])]]


def budget_lines(tokens: Budget, width: int) -> Iterator[Line]:
    """Yield the bar and the figures of a context beside its limit."""
    if tokens.used is None:
        yield ["not counted (--no-tokens)"]
        return
    if tokens.percent is None or tokens.level is None or tokens.limit.value is None:
        yield [Styled(_amount(tokens), "bold"), f" ({tokens.counter})"]
        yield from _trust(tokens)
        yield from _overhead(tokens)
        yield ["no limit is known: --context-limit N, or `limit` in the config"]
        return
    style, share = tokens.level, percent(tokens)
    yield [Styled(bar(tokens, min(WIDEST, width - len(share) - 1)), style), " ", Styled(share, f"bold {style}")]
    yield [Styled(_amount(tokens), f"bold {style}"), f" of {tokens.limit.value:,} ({tokens.counter})"]
    yield from _trust(tokens)
    left = f"over by {tokens.over:,}" if tokens.over else f"available {tokens.available:,}"
    yield [f"used {tokens.used:,} · reserved {tokens.reserve:,} · ", Styled(left, "red") if tokens.over else left]
    yield from _overhead(tokens)
    yield [f"limit {tokens.limit.value:,}: {_limit_origin(tokens.limit)}"]


def _trust(tokens: Budget) -> Iterator[Line]:
    """The source of the count, and the error of our estimates in a session with counts of the provider."""
    found = tokens.measured
    if found is None or not found.tokens:
        return
    if not found.is_counted:
        own = "by the model's own encoding; no reply in this log has the provider's count"
        yield [own if found.trust == "encoding" else "a guess: no reply in this log has the provider's count"]
        return
    parts = ["exact: counted by the provider"]
    if found.known is None:
        parts = ["a range, as measured on other sessions: the provider has counted nothing since the compaction"]
    elif found.trust != "exact" and not found.estimated and not found.corrected:
        parts = ["counted by the provider, maybe with records that are missing now"]
    elif found.trust != "exact":
        source = "as an export corrected it" if found.corrected else "counted by the provider"
        change = f"{'−' if found.estimated < 0 else '+'}{abs(found.estimated):,}"
        parts = [f"{found.known:,} {source}, {change} since then (estimated)"]
    if found.error is not None:
        off = f"{found.error:.1f}" if found.error >= SMALLEST else f"<{SMALLEST}"
        parts.append(f"our estimates in this session were off by {off} % (median)")
    yield [" · ".join(parts)]
    if found.once:
        sent = "are typical after a compaction" if found.known is None else "were sent once, after the compaction"
        yield [f"{found.once:,} of these {sent}, and stand in no row: {found.resumed:,} when resumed"]


def _amount(tokens: Budget, unit: str = " tokens", exact: str = "") -> str:
    """The tokens that are used: `31,204`, or `about 31,000 tokens (24,000 to 38,000)` where only a range is known.

    `unit`: after a figure with a range; `exact`: after one without.
    """
    found = tokens.measured
    if tokens.used is None or found is None or found.least is None or found.most is None:
        return f"{tokens.used:,}{exact}"
    more = tokens.used - found.tokens
    return f"about {_rounded(tokens.used)}{unit} ({_rounded(found.least + more)} to {_rounded(found.most + more)})"


def _rounded(number: int) -> str:
    return f"{round(number, -3 if number >= 10_000 else -2):,}"


def _overhead(tokens: Budget) -> Iterator[Line]:
    """The tokens that are sent besides the messages, and how many of them the provider's count includes."""
    one = tokens.beside
    if one is None or not one.assembled + one.tools + one.overhead:
        return
    words = [f"{what} {n:,}" for what, n in (("assembled", one.assembled), ("overhead", one.overhead)) if n]
    words += [f"tools {one.tools:,} (estimate)"] * bool(one.tools)
    within = f": {one.within:,} within the provider's count" if one.within else ""
    yield [f"besides messages {' · '.join(words)}{within}"]


def _limit_origin(held: ValueWithOrigin) -> str:
    return "--context-limit" if held.origin == FLAG else held.origin


def _own_agents(own: Subagents) -> str:
    about = "~" if own.rough else ""
    return f"{own.logs:,}: {about}{own.tokens:,} tokens, with this session {about}{own.total:,}"


def _messages(found: Status) -> Iterator[Line]:
    brought = f", {found.items:,} of them brought in by ops" if found.items else ""
    yield [count(found.total, "message") + brought]
    yield [Styled(f"{found.inside:,}", "bold"), f" {WORDS['in']}"]
    for kind, number in found.out.items():
        before = f" before line {found.cut_before:,}" if kind == CUT_OFF and found.cut_before else ""
        yield [f"{number:,} {_words(kind, found.parameters.format)}{before}"]


def _words(kind: str, format: str) -> str:
    """A state in words; with the name of the log's program, if that removed the messages."""
    if kind == "program":
        from ctxkit.export.agents import AGENTS  # imported only for sessions that their program cut

        if format in AGENTS:
            return f"compacted away or rewound by {AGENTS[format].title}"
    if kind == "branch":
        return f"{WORDS[kind]}: the session went on from an earlier message"
    return WORDS.get(kind, kind)


def windows(used: Parameters) -> Iterator[Line]:
    """Yield the windows in force, each with its origin."""
    yield [window(used.window)]
    for agent, held in used.agents.items():
        yield [f"{agent}: {window(held)}"]
    if used.newest.value is not None:
        yield [f"newest {count(used.newest.value, 'message')} ({used.newest.origin})"]


def window(held: ValueWithOrigin) -> str:
    """Return `8h (op 3)`: a window and its origin."""
    return f"{spoken(held.value) if held.value else 'off'} ({held.origin})"


def now(used: Parameters) -> str:
    """Return `last (2026-02-12T09:10:00Z), default`; the time is in the zone of the user."""
    moment = written(used.now.time)
    time = "" if moment is None else streams.clock().whole(moment)
    more = f"{used.now.name} ({time})" if time else used.now.name
    name = time if used.now.time == used.now.name else more
    return f"{name}, {'--now' if used.now.origin == 'flag' else used.now.origin}"


def around(one: Around) -> str:
    """Return an assembled text around the messages: `docs (notes.md)`."""
    return f"{one.kind} ({one.source})" if one.source else one.kind


def _marks(found: Status) -> list[Line]:
    """The newest marks, and the number of older ones."""
    older = len(found.marks) - MARKS
    more: list[Line] = [[f"{older:,} older: {streams.with_log('ctxkit log LOG')}"]] if older > 0 else []
    newest: list[Line] = [[_mark(mark)] for mark in found.marks[-MARKS:]]
    return [*more, *newest]


def _mark(mark: MarkStatus) -> str:
    place = f"op {mark.op}, after message {mark.position:,}, {mark.since:,} since"
    return place if mark.label is None else f"{mark.label}: {place}"


def _ops(found: Status) -> list[Line]:
    if not found.ops and not found.void:
        return []
    void = f", {found.void:,} undone" if found.void else ""
    return [[f"{found.ops:,} in force{void}"]]


def _named(one: NamedGroup, color: str | None = None) -> Line:
    moment = written(one.last)
    last = "" if moment is None else f", last {streams.clock().time(moment)}"
    figures = f": {count(one.messages, 'message')}, {one.in_context:,} in the context{last}"
    return [one.name + figures] if color is None else [Styled(one.name, color), figures]


def _damage(found: Status) -> Iterator[Line]:
    if found.damaged:
        yield [Styled(f"{count(found.damaged, 'place')}, {streams.with_log('ctxkit check LOG')} names all", WARNING)]
    for one in found.damage:
        yield [f"{one.where}: {one.code}: {one.text}"]
