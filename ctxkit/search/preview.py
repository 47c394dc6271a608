"""The preview of a log in a list of sessions: its format, title, last words, and condition.

Pipeline: `logfile/read.py` reads the file, `core/derive/tail.py` finds its end; only messages that the preview shows
are read in full. Title and words are those of the log as its program has it; ops are checked, and replayed for the size
of the context and for whether the last exchange is unfinished. `search/sessions.py` collects previews.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any

import msgspec

from ctxkit.core.derive.synthetic_messages import kind, stopped
from ctxkit.core.derive.tail import Condition, condition, interrupted, newest_first, newest_shown
from ctxkit.core.derive.usage import usage
from ctxkit.core.ended_ops import in_force
from ctxkit.core.ledger import Ledger, build
from ctxkit.core.messages import Call, Content, Message
from ctxkit.core.op_fit import faults
from ctxkit.core.ops import Compact
from ctxkit.core.state import State
from ctxkit.core.text.json_text import loads
from ctxkit.core.text.utf8 import utf8
from ctxkit.core.times import written
from ctxkit.core.unreadable import is_unreadable
from ctxkit.errors import ManyConversations, UnknownFormat
from ctxkit.formats.session_folders import LAYOUTS, head
from ctxkit.logfile.read import AUTO, Opening, content_of, identity_of, read_source
from ctxkit.measure.limit import limit_at_hand
from ctxkit.store.backwards import Backwards
from ctxkit.store.folder import START, may_be_log
from ctxkit.store.index import stamp
from ctxkit.store.joined import JoinedSource
from ctxkit.store.sidecar import Sidecar
from ctxkit.store.source import Source

TITLE, WORDS = 200, 500
"""Characters of a title and of last words that are kept."""
LOOKED_AT = 40
"""Messages at either end that are searched for text."""
BYTES = {"claude-code": 10.0}
"""Bytes of rows per token, as measured on real sessions: Claude Code writes results twice, and much beside them."""
USUAL = 5.0
"""The same of the other formats."""
TORN = "torn-tail"
"""The damage of an append that was cut off, or is going on now."""
BRANCH = "gitBranch"
"""The key of rows with the git branch of their time."""
_COMMAND = "<command-"
"""How Claude Code begins the output of its own commands, which is a title only if there is no other."""


class LastWords(msgspec.Struct, frozen=True):
    """The last text of a session: its role and its beginning."""

    role: str
    text: str


class SessionPreview(msgspec.Struct, frozen=True):
    """The preview of a file. `time`: of its newest message, seconds since 1970, None if no message has one.

    `messages`: all of them, also on branches and in sidechains; `conversations`: how many a file has; of several, the
    title is that of the first with one. `damaged`: how many places. `folder`, `branch`: the folder that it was begun
    in, and its newest git branch, "" if its program does not record them. `tokens`: what the provider counted for the
    newest request and its reply; None if nothing is recorded, or messages or ops came since: then `rough` is an
    estimate by the size of the rows. `limit`: of the context, as its program or the table of models says. `compacts`:
    of each compact in force, its strategy, and whether rules took a model's place. `sub`: it is the log of an agent's
    own agent. `before`: the path and stamp of each file in which its history begins, "" for one
    that is missing.
    """

    format: str
    title: str
    last: LastWords | None
    time: float | None
    messages: int
    state: Condition
    damaged: int = 0
    conversations: int = 1
    folder: str = ""
    branch: str = ""
    tokens: int | None = None
    sub: bool = False
    before: tuple[tuple[str, str], ...] = ()
    rough: int | None = None
    limit: int | None = None
    compacts: tuple[tuple[str, bool], ...] = ()

    @property
    def holds(self) -> bool:
        """Whether the files before it are as they were when this was made."""
        return all(path and _stamp(path) == known for path, known in self.before)


def glance(
    source: Source, name: str, format: str = AUTO, sidecar: Sidecar | None = None, title: str = ""
) -> SessionPreview | None:
    """The preview of the log in `source`; None if it is not a log, or has neither messages nor ops.

    `format`: to read it as; `sidecar`: its ops are checked too; `title`: as in `title_of`. Raises NoPermission,
    ReadFailed, UpdatedElsewhere, Usage.
    """
    start = source.read(0, START)
    if not may_be_log(start):
        return None
    try:
        opening = read_source(name, source.path, source, sidecar, conversation=None, format=format, partial="bare")
    except UnknownFormat:
        return None
    except ManyConversations:
        return _many(source)
    transcript = opening.transcript
    held = len(transcript.messages) + len(transcript.ops)
    if not held or (len(transcript.damage) > held and not _begins(start)):
        return None
    damage = [*transcript.damage, *transcript.broken, *opening.sidecar_damage]
    torn = sum(one.code == TORN for one in damage)
    ledger = build(transcript) if transcript.ops else None
    damaged = len(damage) - torn + (0 if ledger is None else _wrong_ops(opening, ledger))
    begun = head(opening.format.name, start)
    state = None
    if ledger is not None:
        from ctxkit.core.replay import fold  # few sessions have ops

        state = fold(transcript, ledger, force=True)
    counted, behind = (None, 0) if transcript.missing else _tokens(opening)
    is_whole = counted is not None and state is None and not behind
    return SessionPreview(
        format=opening.format.name,
        title=title_of(opening, title),
        last=_last(opening),
        time=_time(opening),
        messages=len(transcript.messages),
        state=condition(damaged, torn=torn > 0, interrupted=_interrupted(opening, state)),
        damaged=damaged,
        folder=begun.folder,
        branch=_branch(opening) or begun.branch,
        tokens=counted if is_whole else None,
        rough=None if is_whole else _rough(opening, state, counted, behind),
        limit=limit_at_hand(opening, counted or 0),
        compacts=() if state is None else compacts(state),
        before=_before(opening),
        sub=begun.sub,
    )


def compacts(state: State) -> tuple[tuple[str, bool], ...]:
    """The compacts in force, as in `SessionPreview`."""
    return tuple(
        (one.op.strategy or "", bool(one.op.fallback)) for one in in_force(state) if isinstance(one.op, Compact)
    )


def _before(opening: Opening) -> tuple[tuple[str, str], ...]:
    if opening.transcript.missing:
        return (("", ""),)
    if not isinstance(opening.laid_out, JoinedSource):
        return ()
    return tuple((path, _stamp(path)) for path in opening.laid_out.others)


def _stamp(path: str) -> str:
    """The stamp of a file; "" if it is gone."""
    try:
        return stamp(os.stat(path))
    except OSError:
        return ""


def _begins(start: bytes) -> bool:
    """Whether a file begins like a log. A file that does not, and is mostly damage, is a text with example messages."""
    return start.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n\0")[:1] in (b"{", b"[")


def _interrupted(opening: Opening, state: State | None) -> bool:
    """Whether the last exchange is unfinished, and still in the context."""
    transcript = opening.transcript

    def ended(message: Message) -> bool:
        return not message.opens and message.n > 0 and stopped(_content(opening, message))

    if not interrupted(newest_first(transcript), ended):
        return False
    return state is None or interrupted((message for _, message in newest_shown(state)), ended)


def _wrong_ops(opening: Opening, ledger: Ledger) -> int:
    """How many ops in force cannot be read or do not fit, as in `check`."""
    transcript = opening.transcript

    def known(n: int) -> str:
        message = transcript.messages[n - 1]
        return identity_of(opening, message, lambda: _content(opening, message))

    wrong = (entry for entry in ledger.entries if not entry.void and faults(entry, transcript, known) is not None)
    return len(ledger.damage) + sum(1 for _ in wrong)


def _branch(opening: Opening) -> str:
    """The newest git branch that rows name; "" if rows of this format name none."""
    layout = LAYOUTS.get(opening.format.name)
    if layout is None or (BRANCH,) not in layout.keys:
        return ""
    rows = _rows(Backwards(opening.laid_out), utf8(f'"{BRANCH}"'))
    return next((one_line(found, TITLE) for row in rows if isinstance(found := row.get(BRANCH), str)), "")


def _rows(lines: Backwards, literal: bytes) -> Iterator[dict[str, Any]]:
    """The rows with these bytes that are JSON objects, the last one first."""
    for line in lines.holding(literal):
        try:
            row = loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            yield row


def _tokens(opening: Opening) -> tuple[int | None, int]:
    """What the provider counted for the newest counted reply and its request; the bytes of rows that came since."""
    transcript, behind = opening.transcript, 0
    for message in islice(newest_first(transcript), LOOKED_AT):
        if message.role == "assistant":
            beside = transcript.counts.get(message.n)
            spans = [(message.offset, message.size), *message.more] if beside is None else [beside]
            rows = [loads(opening.laid_out.read(*span)) for span in spans]
            counted = usage([row for row in rows if isinstance(row, dict)])
            if counted is not None:
                return counted.request + counted.reply, behind
        behind += message.bytes
    return None, 0


def _rough(opening: Opening, state: State | None, counted: int | None, behind: int) -> int:
    """An estimate of the context's tokens by the bytes of its rows: nothing is read or counted.

    `counted`: what the provider counted before ops changed the context (`state`), and before rows of `behind` bytes.
    """
    transcript, rate = opening.transcript, BYTES.get(opening.format.name, USUAL)
    messages, view = transcript.messages, transcript.view
    whole = opening.laid_out.size if view is None else sum(messages[n - 1].bytes for n in view.order)
    if state is None:
        return round(whole / rate) if counted is None else counted + round(behind / rate)
    shown = state.shown()
    held = sum(messages[n - 1].bytes for n in shown.numbers)
    held += sum(len(str(state.board.items[name].message.get("content", ""))) for name in shown.items)
    left = round(held / rate)
    return left if counted is None else max(left, counted + round((behind - whole + held) / rate))


def _many(source: Source) -> SessionPreview | None:
    """The preview of a file with many conversations: its counts."""
    from ctxkit.formats import containers

    found = containers.find(source.read(0, source.size))
    if found is None:  # it was one a moment ago
        return None
    some = found.conversations
    title = next((one.title for one in islice(some, LOOKED_AT) if one.title), "")
    torn = sum(one.code == TORN for one in found.damage)
    damaged = len(found.damage) - torn
    return SessionPreview(
        format=some[0].format,
        title=one_line(title, TITLE),
        last=None,
        time=None,
        messages=sum(one.count for one in some),
        state="damaged" if damaged else "interrupted" if torn else "clean",
        damaged=damaged,
        conversations=len(some),
    )


def _time(opening: Opening) -> float | None:
    """The time of the last message with one, in the order of the file, because clocks may be wrong."""
    messages = opening.transcript.messages
    backwards = (messages[i] for i in range(len(messages) - 1, -1, -1))
    return next((moment for message in backwards if (moment := written(message.ts)) is not None), None)


def title_of(opening: Opening, title: str = "") -> str:
    """The program's own title of the session, else `title`, else the beginning of the first typed text."""
    own = opening.format.title(partial(_rows, Backwards(opening.laid_out)))
    return one_line(own, TITLE) or title or _first(opening)


def _first(opening: Opening) -> str:
    view = opening.transcript.view
    messages = opening.transcript.messages
    ours = messages if view is None else (messages[n - 1] for n in view.order)
    commands = ""
    for message in islice((one for one in ours if one.opens), LOOKED_AT):
        content = _content(opening, message)
        words = one_line(opening.format.typed(content), TITLE)
        if not words or kind(content) is not None:
            continue
        if not words.startswith(_COMMAND):
            return words
        commands = commands or words
    return commands


def _last(opening: Opening) -> LastWords | None:
    """The newest text of the user or the assistant; if there is none, the newest calls."""
    called = None
    for message in islice(newest_first(opening.transcript), LOOKED_AT):
        if message.role in ("tool", "function", "system", "developer"):
            continue
        content = _content(opening, message)
        if content.role == "user" and kind(content) is not None:
            continue
        if words := one_line(opening.format.typed(content), WORDS):
            return LastWords(one_line(content.role, TITLE), words)
        if called is None and (names := [part.name for part in content.parts if isinstance(part, Call)]):
            called = LastWords(one_line(content.role, TITLE), one_line("→ " + ", ".join(names), WORDS))
    return called


def _content(opening: Opening, message: Message) -> Content:
    """The message in full; empty if it cannot be read."""
    found = content_of(opening, message)
    return Content(message.role, []) if is_unreadable(found) else found


def one_line(text: str, size: int) -> str:
    """The start of a text on one line, without lone surrogates."""
    words = " ".join(text[: 4 * size].split())
    cut = words if len(words) <= size else f"{words[: size - 1]}…"
    return utf8(cut).decode("utf-8")
