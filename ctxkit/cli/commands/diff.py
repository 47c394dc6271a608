"""ctxkit diff: what differs between two contexts."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from ctxkit.api.log import Log
from ctxkit.cli.log_access import opened
from ctxkit.cli.options import LogArgument, Reading, session_path, takes
from ctxkit.cli.terminal import layout, message_view, streams
from ctxkit.cli.terminal.safe_text import cells, clip, clip_start, safe
from ctxkit.cli.terminal.style import Span, Styled, text_of, with_text
from ctxkit.cli.terminal.wrap import wrapped
from ctxkit.core.compare import text_diff
from ctxkit.core.compare.contexts import CAME, CHANGED, GONE, MOVED, SAME, Hunk
from ctxkit.core.messages import Content
from ctxkit.errors import CtxkitError, ExitCode, NoSuchLog, Usage, Warned
from ctxkit.explain.diff import Diff, Why
from ctxkit.explain.revisions import MARK, SNAPSHOT, ComparedState
from ctxkit.logfile.chain_head import parting
from ctxkit.store.folder import LOG_ENDINGS
from ctxkit.store.snapshot_files import is_snapshot

State = Annotated[
    str | None,
    typer.Argument(metavar="[A]", help="A state: an op (3; 3^: before it), a mark, a snapshot, now; or another log."),
]


@takes(Reading)
def command(
    log: LogArgument = "-",
    a: State = None,
    b: Annotated[str | None, typer.Argument(metavar="[B]", help="The other state (default: now).")] = None,
    *,
    agent: str | None = None,
    thread: str | None = None,
    unified: int = 1,
    full: bool = False,
    stat_: bool = False,
    no_tokens: bool = False,
    label: list[str] | None = None,
    reading: Reading,
) -> int:
    """Compare two contexts, message by message: two states of one log, or two logs of any format.

    `diff LOG A B` takes ops, marks, snapshots and now. Without B it compares with now; without A it shows what the
    newest op changed. If the second word is a file (or -), it is a log, unless it holds a snapshot: `diff LOG1 LOG2`.
    Signs: - gone, + came, ~ changed, > moved. Exit 0: the same, 1: different. --json prints an object per run of
    differences, then a summary.
    """
    if a is not None:
        a = session_path(a)
    if label and len(label) > 2:
        raise Usage("--label is given more than twice", "once for A, once more for B")
    two = a is not None and _is_log(a)
    try:
        found = _compared(log, a, b, agent, thread, reading)
    except CtxkitError as error:
        if error.code is ExitCode.NO:  # 1 means: they differ
            raise Usage(error.message, error.hint) from error
        raise
    own = (log, a if two and a is not None else log)
    given = label or []
    names = (given[0] if given else own[0], given[1] if len(given) > 1 else own[1])
    counter = not no_tokens and stat_
    if reading.json:
        for value in as_json(found, names, full=full, tokens=counter, differences=not stat_):
            streams.out_json(value)
    else:
        for spans in stat(found, tokens=counter) if stat_ else lines(found, names, around=unified, full=full):
            streams.out(*spans)
    streams.flush()
    sides = zip(names, (found.a, found.b), strict=True)
    warnings = [(name, warning) for name, side in sides for warning in side.state.warnings]
    for name, warning in dict.fromkeys(warnings):
        among = "standard input" if name == "-" else name
        streams.warn(Warned(f"{among}: {warning}" if names[0] != names[1] else warning, "replay"))
    if not found.one_log and (parted := parting(found.a.log, found.b.log)):
        streams.say(parted)
    streams.say(_summary(found))
    return int(ExitCode.NO) if found.differs else int(ExitCode.DONE)


def _compared(log: str, a: str | None, b: str | None, agent: str | None, thread: str | None, reading: Reading) -> Diff:
    if a is None or not _is_log(a):
        one = _opened(log, reading, agent, thread)
        try:
            return one.diff(a, b)
        except Usage as error:
            folder = next(
                (word for word in (a, b) if word and "not a file" in error.message and os.path.isdir(word)), None
            )
            if folder is not None:
                raise NoSuchLog(f"{folder}: not a log: it is a directory", error.hint) from error
            missing = next((word for word in (a, b) if word and word.endswith(LOG_ENDINGS)), None)
            if missing is None or "not a file" not in error.message:
                raise
            raise NoSuchLog(f"{missing}: no such log", f"{error.hint}") from error
    if b is not None:
        raise Usage(f"{a} is a log, and {b} one word too many", "diff LOG A B, or diff LOG1 LOG2; marks: mark:LABEL")
    if log == a == "-":
        raise Usage("both logs are standard input", "one of them can be: ctxkit diff old.jsonl -")
    if reading.sidecar is not None:
        raise Usage("--sidecar is for one log, and two were named", "compare states of one: ctxkit diff LOG 3 now")
    return _opened(log, reading, agent, thread).diff(_opened(a, reading, agent, thread))


def _is_log(word: str) -> bool:
    """Whether a word is a log and not a state: -, or a file that is no snapshot. `./now` is a file, `now` a state."""
    if word == "now" or word.startswith((MARK, SNAPSHOT)) or (word.isascii() and word.isdigit()):
        return False
    return word == "-" or (os.path.lexists(word) and not os.path.isdir(word) and not is_snapshot(Path(word)))


def _opened(log: str, reading: Reading, agent: str | None, thread: str | None) -> Log:
    found = opened(log, reading, command="diff", devices=True)
    found.lens_agent, found.lens_thread = agent, thread
    return found


def _summary(found: Diff) -> str:
    counts = found.counts
    same = f"{layout.count(counts['same'], 'message')} the same"
    if not found.differs:
        between = f" between {found.a.title} and {found.b.title}" if found.a.title != found.b.title else ""
        return f"no difference{between}: {same}"
    words = [f"{count:,} {kind}" for kind, count in counts.items() if count and kind != "same"]
    return f"{', '.join(words)}; {same}"


Line = tuple[Span, ...]

LONG = 100
"""Messages of a run of gone or new messages that are listed; of a longer run both ends, unless --full."""

LOOKED_AT = 100_000
"""Characters of a message that are compared word by word."""

SIGNS = {GONE: "-", CAME: "+", CHANGED: "~", MOVED: ">", SAME: " "}
STYLES = {GONE: "red", CAME: "green", CHANGED: "yellow", MOVED: "cyan"}


def lines(diff: Diff, names: tuple[str, str], *, around: int, full: bool) -> Iterator[Line]:
    """Yield the differences, in the order of the second context."""
    if not diff.differs:
        return
    page = _Page(diff, full=full)
    for sign, name, side in (("---", names[0], diff.a), ("+++", names[1], diff.b)):
        yield page.title(sign, "standard input" if name == "-" else name, side.title)
    run: list[Hunk] = []
    started = False
    for hunk in diff.hunks:
        if hunk.kind == SAME:
            run.append(hunk)
            continue
        yield from page.same(run, around if started else 0, around)
        run, started = [], True
        yield from page.difference(hunk)
    yield from page.same(run, around, 0)


class _Page:
    """Makes the lines of a `Diff` in one width."""

    def __init__(self, diff: Diff, *, full: bool) -> None:
        self.diff, self.full = diff, full
        self.width = layout.width()
        self._role = 9 if self.width >= layout.ROOMY else 4
        self._label = len(str(max(diff.a.state.count, diff.b.state.count)))

    def title(self, sign: str, name: str, state: str) -> Line:
        """Return the title of one side; a long path is cut at its start, so that the state stays."""
        end = f" {safe(state, keep_newlines=False)}" if state else ""
        columns = layout.wrap_width()
        name, room = safe(name, keep_newlines=False), max(6, columns - 4 - cells(end))
        return (Styled(clip(f"{sign} {clip_start(name, room)}{end}", columns), "bold"),)

    def same(self, run: list[Hunk], head: int, tail: int) -> Iterator[Line]:
        """Yield the first `head` and the last `tail` equal messages, and the count of the others."""
        total = sum(hunk.count for hunk in run)
        if total <= head + tail + 1:
            head, tail = total, 0
        yield from (self._message(SAME, self.diff.b, place) for place in _first(run, head))
        if total > head + tail:
            yield (Styled(clip(f"  {layout.count(total - head - tail, 'message')} the same", self.width), "dim"),)
        yield from (self._message(SAME, self.diff.b, place) for place in _last(run, tail))

    def difference(self, hunk: Hunk) -> Iterator[Line]:
        """Yield the lines of a hunk with differences."""
        if hunk.kind == CHANGED:
            yield from self._changed(hunk)
        elif hunk.kind == MOVED:
            yield from (self._message(MOVED, self.diff.b, hunk.b + k) for k in range(hunk.count))
            was = f"after {self.diff.a.label(hunk.a - 1)}" if hunk.a else "at the start"
            yield self._note(f"moved: was {was}")
        else:
            for part, why in self.diff.parts(hunk):
                yield from self._run(part)
                yield from self._because(part, why)

    def _run(self, hunk: Hunk) -> Iterator[Line]:
        side, start = (self.diff.a, hunk.a) if hunk.kind == GONE else (self.diff.b, hunk.b)
        cut = not self.full and hunk.count > LONG
        for k in range(LONG // 2 if cut else hunk.count):
            yield from self._whole(hunk.kind, side, start + k)
        if cut:
            more = f"{SIGNS[hunk.kind]} … {hunk.count - LONG:,} more messages (--full)"
            yield (Styled(clip(more, self.width), STYLES[hunk.kind]),)
            for k in range(hunk.count - LONG // 2, hunk.count):
                yield from self._whole(hunk.kind, side, start + k)

    def _because(self, hunk: Hunk, why: Why) -> Iterator[Line]:
        if hunk.kind == GONE and why.text:
            yield self._note(why.text)
        elif hunk.kind == CAME and why.text and why.kind not in ("later", "undone", "dropped"):
            yield self._note(f"was {why.text}")

    def _whole(self, kind: str, side: ComparedState, place: int) -> Iterator[Line]:
        if not self.full:
            yield self._message(kind, side, place)
            return
        content = side.content(place)
        yield (Styled(self._start(kind, side.label(place), content.role).rstrip(), STYLES[kind]),)
        yield from self._indented(kind, message_view.body(content, full=True))

    def _message(self, kind: str, side: ComparedState, place: int) -> Line:
        content = side.content(place)
        start = self._start(kind, side.label(place), content.role)
        text = safe(message_view.one_line(content, 4 * self.width), keep_newlines=False)
        line = clip(f"{start} {clip(text, max(0, self.width - cells(start) - 1))}".rstrip(), self.width)
        return (line,) if kind == SAME else (Styled(line, STYLES[kind]),)

    def _start(self, kind: str, label: str, role: str) -> str:
        role = clip(safe(role, keep_newlines=False)[: self._role], self._role)
        return clip(f"{SIGNS[kind]} {label:>{self._label}} {role}{' ' * (self._role - cells(role))}", self.width)

    def _note(self, text: str) -> Line:
        indent = min(self._label + self._role + 4, self.width // 4)
        return (Styled(clip(" " * indent + safe(text, keep_newlines=False), self.width), "dim"),)

    def _indented(self, kind: str, body: Iterable[str]) -> Iterator[Line]:
        for line in body:
            text = f"{SIGNS[kind]}     {line}".rstrip()
            yield (Styled(text, STYLES[kind]),) if kind in STYLES else (text,)

    def _changed(self, hunk: Hunk) -> Iterator[Line]:
        old, new = self.diff.a.content(hunk.a), self.diff.b.content(hunk.b)
        labels = dict.fromkeys((self.diff.a.label(hunk.a), self.diff.b.label(hunk.b)))
        roles = dict.fromkeys((old.role, new.role))
        if self.diff.of_snapshots and roles.keys() == {"tool", "user"}:  # a copy of results is a chat record
            roles = {new.role: None}
        start = self._start(CHANGED, "→".join(labels), new.role)
        notes = [self.diff.how(hunk)]
        notes += [f"role {' → '.join(roles)}"] if len(roles) == 2 else []
        notes += [f"moved: was after {self.diff.a.label(hunk.a - 1)}" if hunk.a else "moved"] if hunk.moved else []
        if self.full:
            yield (Styled(start.rstrip(), STYLES[CHANGED]),)
            for kind, line in text_diff.lines(_body(old), _body(new)):
                yield from self._indented(kind, [line])
        else:
            found = text_diff.words(_flat(old), _flat(new))
            if all(kind == text_diff.SAME for kind, _ in found):
                notes.append("the same words; other parts differ")
            yield (Styled(start, STYLES[CHANGED]), *brief(found, self.width - cells(start)))
        if any(notes):
            yield self._note(", ".join(filter(None, notes)))


def brief(found: Iterable[text_diff.Edit], columns: int) -> Line:
    """Return edits on one line of `columns` cells, from the first change on; long texts lose their middle."""
    spans: list[Span] = []
    room, changed = columns, False
    longest = max(6, columns // 3)
    for kind, text in found:
        text = " ".join(safe(text, keep_newlines=False).split(" "))
        if kind == text_diff.SAME:
            text = _shortened(text, longest // 2, start=not changed)
            span: Span = text if changed else f" {text.lstrip()}"
        else:
            changed = True
            text = _shortened(text, longest)
            marked = f"[-{text}-]" if kind == GONE else f"{{+{text}+}}"
            span = Styled(marked if spans else f" {marked}", STYLES[kind])
        whole = text_of(span)
        shown = clip(whole, room)
        room -= cells(shown)
        spans.append(with_text(span, shown))
        if shown != whole or room <= 0:
            break
    return tuple(spans)


def _shortened(text: str, columns: int, *, start: bool = False) -> str:
    """Cut a text to about `columns` characters: at its start with `start`, else in its middle."""
    if len(text) <= columns:
        return text
    if start:
        return "…" + text[-columns:]
    half = max(columns // 2, 1)
    return f"{text[:half]}…{text[-half:]}"


def _body(content: Content) -> list[str]:
    return list(message_view.body(content, full=True))


def _flat(content: Content) -> str:
    return " ".join("\n".join(_body(content))[:LOOKED_AT].split())


def _first(run: list[Hunk], count: int) -> Iterator[int]:
    for hunk in run:
        yield from range(hunk.b, hunk.b + min(count, hunk.count))
        count -= min(count, hunk.count)


def _last(run: list[Hunk], count: int) -> Iterator[int]:
    found: list[int] = []
    for hunk in reversed(run):
        size = min(count - len(found), hunk.count)
        found += reversed(range(hunk.b + hunk.count - size, hunk.b + hunk.count))
    return iter(found[::-1])


def stat(diff: Diff, *, tokens: bool) -> Iterator[Line]:
    """Yield the figures: messages, and tokens with the name of the counter."""
    counts = diff.counts
    parts = [f"{len(diff.a.order):,} → {len(diff.b.order):,} messages:"]
    parts += [f"{counts[kind]:,} {kind}," for kind in (GONE, CAME, CHANGED, MOVED)]
    yield from map(tuple, wrapped([" ".join([*parts, f"{counts[SAME]:,} the same"])], layout.wrap_width(), 0))
    if tokens:
        found = diff.tokens()
        parts = [f"{found['before']:,} → {found['after']:,} tokens:", f"{found[GONE]:,} gone,", f"{found[CAME]:,} came"]
        yield from map(tuple, wrapped([" ".join([*parts, f"({diff.counter})"])], layout.wrap_width(), 0))


def as_json(
    diff: Diff, names: tuple[str, str], *, full: bool, tokens: bool, differences: bool
) -> Iterator[dict[str, Any]]:
    """Yield an object per difference, then a summary; docs/commands/diff.md explains the keys."""
    for hunk in diff.hunks if differences else ():
        if hunk.kind in (GONE, CAME):
            for part, why in diff.parts(hunk):
                reason = {"kind": why.kind, "op": why.op, "text": why.text} if why.text else None
                for k in range(part.count):
                    yield {**_one(diff, part, k, full=full), "why": reason}
        elif hunk.kind != SAME:
            yield from (_one(diff, hunk, k, full=full) for k in range(hunk.count))
    sides = [{"log": name, "state": side.title or None, "messages": len(side.order)}
             for name, side in zip(names, (diff.a, diff.b), strict=True)]  # fmt: skip
    summary: dict[str, Any] = {"kind": "summary", "differs": diff.differs, "a": sides[0], "b": sides[1], **diff.counts}
    if tokens:
        summary["tokens"] = {**diff.tokens(), "counter": diff.counter}
    yield summary


def _one(diff: Diff, hunk: Hunk, k: int, *, full: bool) -> dict[str, Any]:
    from ctxkit.export.request import parts_json

    found: dict[str, Any] = {"kind": hunk.kind, "a": None, "b": None}
    for key, side, start, absent in (("a", diff.a, hunk.a, CAME), ("b", diff.b, hunk.b, GONE)):
        if hunk.kind != absent:
            entry = side.entry(start + k)
            found[key] = {**message_view.named(side.name(start + k), side.label(start + k)), "role": entry.role}
            if full:
                found[key]["parts"] = parts_json(side.content(start + k))
    if hunk.kind == CHANGED:
        found |= {"how": diff.how(hunk), "moved": hunk.moved}
    return found
