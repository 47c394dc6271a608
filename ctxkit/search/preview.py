"""What a list of sessions tells of a file: whose log it is, what it is called, its last words, its state.

Pipeline: `logfile/read.py` reads the file, `core/derive/tail.py` finds its end; of its messages no more are read in
full than are told. Ops are not played, only looked at: a glance is of the log as its program has it. But where the last
exchange has no end, they are: perhaps somebody recovered. `search/sessions.py` gathers glances.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

import msgspec

from ctxkit.core.derive.synthetic_messages import kind, stopped
from ctxkit.core.derive.tail import Condition, condition, interrupted, newest_first, newest_shown
from ctxkit.core.derive.usage import usage
from ctxkit.core.ledger import Ledger, build
from ctxkit.core.messages import Call, Content, Message
from ctxkit.core.op_fit import faults
from ctxkit.core.text.json_text import loads
from ctxkit.core.times import written
from ctxkit.core.unreadable import is_unreadable
from ctxkit.errors import ManyConversations, UnknownFormat
from ctxkit.formats.session_folders import LAYOUTS, head
from ctxkit.logfile.read import AUTO, Opening, content_of, identity_of, read_source
from ctxkit.store.backwards import Backwards
from ctxkit.store.folder import START, may_be_log
from ctxkit.store.sidecar import Sidecar
from ctxkit.store.source import Source

TITLE, WORDS = 200, 500
"""Characters of a title and of last words that are kept."""
LOOKED_AT = 40
"""Messages at either end that are looked at for words."""
TORN = "torn-tail"
"""The damage of an append that was cut off, and of one that goes on just now."""
BRANCH = "gitBranch"
"""The key of rows that name the branch of their time."""
_COMMAND = "<command-"
"""How Claude Code begins what a command of its own said: a title only where nothing else is one."""


class LastWords(msgspec.Struct, frozen=True):
    """The last words of a session: who spoke, and how that begins."""

    role: str
    text: str


class SessionPreview(msgspec.Struct, frozen=True):
    """What a file says of itself. `time`: of its newest message, seconds since 1970, None where none has one.

    `messages`: all of them, on branches and in sidechains too; `conversations`: 1, or how many a file holds, of which
    the first is told. `damaged`: how many places. `folder`, `branch`: that it was begun in, and its newest git branch,
    "" where its program does not say. `tokens`: what the provider counted of the newest request and its reply, None
    where nothing is recorded or ops have changed the context since.
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


def glance(source: Source, name: str, format: str = AUTO, sidecar: Sidecar | None = None) -> SessionPreview | None:
    """What the log in `source` says; None where it is none, or holds neither a message nor an op.

    `format`: what it is read as; `sidecar`: whose ops are looked at, too. Raises NoPermission, ReadFailed,
    UpdatedElsewhere, Usage.
    """
    start = source.read(0, START)
    if not may_be_log(start):
        return None
    try:
        opening = read_source(name, source.path, source, sidecar, conversation=None, rows=None, format=format)
    except UnknownFormat:
        return None
    except ManyConversations:
        return _many(source)
    transcript = opening.transcript
    held = len(transcript.messages) + len(transcript.ops)
    if not held or (len(transcript.damage) > held and not _begins(start)):
        return None
    damage = [*transcript.damage, *opening.sidecar_damage]
    torn = sum(one.code == TORN for one in damage)
    ledger = build(transcript) if transcript.ops else None
    damaged = len(damage) - torn + (0 if ledger is None else _wrong_ops(opening, ledger))
    begun = head(opening.format.name, start)
    return SessionPreview(
        format=opening.format.name,
        title=title_of(opening),
        last=_last(opening),
        time=_time(opening),
        messages=len(transcript.messages),
        state=condition(damaged, torn=torn > 0, interrupted=_interrupted(opening, ledger)),
        damaged=damaged,
        folder=begun.folder,
        branch=_branch(opening) or begun.branch,
        tokens=_tokens(opening) if ledger is None else None,
    )


def _begins(start: bytes) -> bool:
    """Whether a file begins as a log does; what does not, and is damage for the most part, is source code and the like.

    There messages stand as examples.
    """
    return start.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n\0")[:1] in (b"{", b"[")


def _interrupted(opening: Opening, ledger: Ledger | None) -> bool:
    """Whether the last exchange has no end, and is in the context yet."""
    transcript = opening.transcript

    def ended(message: Message) -> bool:
        return not message.opens and message.n > 0 and stopped(_content(opening, message))

    if not interrupted(newest_first(transcript), ended):
        return False
    if ledger is None:
        return True
    from ctxkit.core.replay import fold  # few sessions need it

    return interrupted((message for _, message in newest_shown(fold(transcript, ledger, force=True))), ended)


def _wrong_ops(opening: Opening, ledger: Ledger) -> int:
    """How many ops in force cannot be read or do not fit, as `check` finds them."""
    transcript = opening.transcript

    def known(n: int) -> str:
        message = transcript.messages[n - 1]
        return identity_of(opening, message, lambda: _content(opening, message))

    wrong = (entry for entry in ledger.entries if not entry.void and faults(entry, transcript, known) is not None)
    return len(ledger.damage) + sum(1 for _ in wrong)


def _branch(opening: Opening) -> str:
    """The newest branch that rows name, where rows do."""
    layout = LAYOUTS.get(opening.format.name)
    if layout is None or (BRANCH,) not in layout.keys:
        return ""
    for line in Backwards(opening.laid_out).holding(f'"{BRANCH}"'.encode()):
        with suppress(ValueError):
            record = loads(line)
            if isinstance(record, dict) and isinstance(found := record.get(BRANCH), str):
                return _line(found, TITLE)
    return ""


def _tokens(opening: Opening) -> int | None:
    """What the provider counted of the newest reply that it counted, and of its request."""
    transcript = opening.transcript
    for message in islice(newest_first(transcript), LOOKED_AT):
        if message.role == "assistant":
            beside = transcript.counts.get(message.n)
            spans = [(message.offset, message.size), *message.more] if beside is None else [beside]
            rows = [loads(opening.laid_out.read(*span)) for span in spans]
            counted = usage([row for row in rows if isinstance(row, dict)])
            if counted is not None:
                return counted.request + counted.reply
    return None


def _many(source: Source) -> SessionPreview | None:
    """Of a file with many conversations, in figures."""
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
        title=_line(title, TITLE),
        last=None,
        time=None,
        messages=sum(one.count for one in some),
        state="damaged" if damaged else "interrupted" if torn else "clean",
        damaged=damaged,
        conversations=len(some),
    )


def _time(opening: Opening) -> float | None:
    """Of the newest message that has one: by the order of the file, as clocks lie."""
    messages = opening.transcript.messages
    backwards = (messages[i] for i in range(len(messages) - 1, -1, -1))
    return next((moment for message in backwards if (moment := written(message.ts)) is not None), None)


def title_of(opening: Opening) -> str:
    """What its program calls it, else how the first words begin that somebody typed."""
    lines = Backwards(opening.laid_out)

    def holding(literal: bytes) -> Iterator[dict[str, Any]]:
        for line in lines.holding(literal):
            try:
                record = loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                yield record

    return _line(opening.format.title(holding), TITLE) or _first(opening)


def _first(opening: Opening) -> str:
    view = opening.transcript.view
    messages = opening.transcript.messages
    ours = messages if view is None else (messages[n - 1] for n in view.order)
    commands = ""
    for message in islice((one for one in ours if one.opens), LOOKED_AT):
        content = _content(opening, message)
        words = _line(opening.format.typed(content), TITLE)
        if not words or kind(content) is not None:
            continue
        if not words.startswith(_COMMAND):
            return words
        commands = commands or words
    return commands


def _last(opening: Opening) -> LastWords | None:
    """The newest words of the user or the assistant; of none, the newest call."""
    called = None
    for message in islice(newest_first(opening.transcript), LOOKED_AT):
        if message.role in ("tool", "function", "system", "developer"):
            continue
        content = _content(opening, message)
        if content.role == "user" and kind(content) is not None:
            continue
        if words := _line(opening.format.typed(content), WORDS):
            return LastWords(_line(content.role, TITLE), words)
        if called is None and (names := _called(content)):
            called = LastWords(_line(content.role, TITLE), names)
    return called


def _content(opening: Opening, message: Message) -> Content:
    """The message in full, as `OpenLog.content`; what cannot be read says nothing."""
    found = content_of(opening, message)
    return Content(message.role, []) if is_unreadable(found) else found


def _called(content: Content) -> str:
    names = [part.name for part in content.parts if isinstance(part, Call)]
    return _line("→ " + ", ".join(names), WORDS) if names else ""


def _line(text: str, size: int) -> str:
    """The start of a text on one line, in characters that can be written down."""
    words = " ".join(text[: 4 * size].split())
    cut = words if len(words) <= size else f"{words[: size - 1]}…"
    return cut.encode("utf-8", "replace").decode("utf-8")
