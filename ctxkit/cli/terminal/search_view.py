"""Formats the hits of a search for `recall`: by day and exchange, each with its state; or as JSON.

No line is wider than the terminal. An excerpt is cut so that the match is visible.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import PurePath
from typing import Any

from ctxkit.api.log import Log
from ctxkit.cli.terminal import layout, message_view, streams
from ctxkit.cli.terminal.safe_text import cells, clip, clip_start, safe
from ctxkit.cli.terminal.style import Line, Span, Styled, text_of, with_text
from ctxkit.cli.terminal.wrap import wrapped
from ctxkit.core.times import iso
from ctxkit.core.visibility import IN
from ctxkit.search.across import RankedMessage, Topic
from ctxkit.search.full_search import Excerpt, SearchHit

FOUND = "bold red"
SIGNS = {"thinking": "~ ", "call": "→ ", "result": "← ", "image": "[image] ", "other": "[other] "}


def as_json(log: Log, hit: SearchHit) -> dict[str, Any]:
    """Return a hit as an object."""
    plain, numbered = isinstance(hit.name, int), not log.transcript.missing
    first = hit.excerpts[0]
    score = {"score": log.ranked.scores[hit.name]} if hit.name in log.ranked.scores else {}
    return {
        "log": log.opening.name,
        "conversation": log.opening.conversation,
        "n": hit.name if plain and numbered else None,
        "item": None if plain else hit.label,
        "role": hit.role,
        "ts": iso(hit.moment) if hit.moment is not None else None,
        "day": hit.day,
        "exchange": hit.exchange or None if numbered else None,
        "state": hit.visibility.kind,
        "op": hit.visibility.op,
        "words": hit.state,
        "by": hit.by,
        **score,
        "excerpt": first.text,
        "matches": [list(span) for span in first.spans],
        "part": first.part,
        "line": first.line,
        "lines": hit.lines,
        "more": [{"excerpt": e.text, "matches": [list(s) for s in e.spans], "part": e.part, "line": e.line}
                 for e in hit.excerpts[1:]],
    }  # fmt: skip


def title(name: str) -> Styled:
    """Return the line above the hits of a log, if several logs are searched."""
    return Styled(clip(safe(name, keep_newlines=False), layout.wrap_width()), "bold")


def show(log: Log, hits: Iterable[SearchHit], *, among: str = "") -> tuple[int, int, int]:
    """Print hits; return the numbers of hits, exchanges and days. `among`: the log's name, if several are searched.

    A day is printed when it is complete.
    """
    tag = f"{PurePath(among).name}:" if among else ""
    total, exchanges, days = 0, 0, 0
    for day, group in groupby(hits, day_of):
        of_day = list(group)
        days += 1
        streams.out(*_fit([Styled(day or "no time", "bold")], f"  {layout.count(len(of_day), 'hit')}"))
        for (exchange, by), some in groupby(of_day, lambda hit: (hit.exchange, hit.by)):
            of_exchange = list(some)
            total += len(of_exchange)
            exchanges += 1
            streams.out(*_exchange(log, exchange, by, len(of_exchange)))
            for hit in of_exchange:
                for line in _lines(hit, tag):
                    streams.out(*line)
    return total, exchanges, days


def day_of(hit: SearchHit) -> str | None:
    """The day of a hit in the user's zone, as it is printed; None without a time."""
    return None if hit.moment is None else streams.clock().day(hit.moment)


def _exchange(
    log: Log, opener: int, by: int | None, count: int, *, among: str = "", what: str = "hit"
) -> Iterator[Span]:
    """The line above the hits of an exchange: `  8 Now add a refresh endpoint …  2 hits`; `among`: put before it."""
    if by is not None:
        words = f"in the words of op {by} ({log.state().ledger.entries[by - 1].name})"
        head = "  "
    elif opener:
        words, head = "", f"  {log.state().label(opener)} "
    else:
        words, head = "before the first exchange", "  "
    if among:
        number = f"#{log.state().label(opener)}" if opener else ""
        head = clip(f"  {safe(among, keep_newlines=False)}{number} ", layout.width() // 2)
    tail = f"  {layout.count(count, what)}"
    room = layout.width() - cells(head) - cells(tail)
    if opener and by is None:
        words = safe(message_view.one_line(log.content(opener), max(room, 8) * 2), keep_newlines=False)
    yield from _fit([head, Styled(clip(words, max(room, 1)), "cyan")], tail)


def show_topics(
    days: Sequence[tuple[str | None, Sequence[tuple[Topic, Sequence[tuple[RankedMessage, SearchHit]]]]]],
    logs: Mapping[int, tuple[str, Log]],
    names: Mapping[int, str],
) -> int:
    """Print ranked hits by day and topic; return the number of topics.

    `logs`: place of a log with hits -> its name and the log; `names`: place of any log -> its name.
    """
    topics = 0
    for day, some in days:
        counts = layout.count(sum(len(hits) for _, hits in some), "message")
        streams.out(*_fit([Styled(day or "no time", "bold")], f"  {layout.count(len(some), 'topic')}, {counts}"))
        for topic, hits in some:
            topics += 1
            name, log = logs[topic.log]
            streams.out(*_exchange(log, topic.exchange, None, len(hits), among=name, what="message"))
            for ranked, hit in hits:
                for line in _lines(hit, "", score=f"{ranked.percent} %"):
                    streams.out(*line)
                if ranked.also:
                    others = ", ".join(names[place] for place in ranked.also)
                    streams.out(clip(safe(f"      also in {others}", keep_newlines=False), layout.width()))
    return topics


def _lines(hit: SearchHit, tag: str, score: str = "") -> Iterator[Line]:
    """The head of a hit and its excerpts."""
    wide, room = layout.width(), layout.wrap_width()
    indent = 4 if wide >= layout.ROOMY else 1
    when = streams.clock().time(hit.moment) if hit.moment is not None else ""
    label = clip(safe(tag, keep_newlines=False) if wide >= layout.ROOMY else "", room // 2) + hit.label
    head = "  ".join(filter(None, (label, hit.role, when, score)))
    style = "green" if hit.visibility.kind == IN else "yellow"
    if indent + cells(safe(head)) + 2 + cells(hit.state) <= room:
        yield [" " * indent + head, Styled(f"  {hit.state}", style)]
        indent += 2 if wide >= layout.ROOMY else 1
    else:
        state = Styled(f"  {safe(hit.state, keep_newlines=False)}", style)
        words: Line = [" " * indent + safe(head, keep_newlines=False), state]
        indent += 2 if wide >= layout.ROOMY else 1
        yield from wrapped(words, wide, indent, hard=True)
    for one in hit.excerpts:
        yield [" " * indent, *excerpt(one, wide - indent)]
    if hit.lines > len(hit.excerpts):
        more = f"{' ' * indent}… {layout.count(hit.lines - len(hit.excerpts), 'more line')}"
        yield [clip(more, wide)]


def _fit(spans: Sequence[Span], tail: Span) -> Line:
    """The spans and the tail on one line, cut at its end."""
    room = layout.width()
    fitted: Line = []
    for span in (*spans, tail):
        words = clip(safe(text_of(span), keep_newlines=False), room)
        room -= cells(words)
        fitted.append(with_text(span, words))
        if room <= 0:
            break
    return fitted


def excerpt(one: Excerpt, width: int) -> Line:
    """Return a match with the text around it in `width` cells; the text before it gets a third of the rest."""
    sign = SIGNS.get(one.part, "") + (f"{one.label}: " if one.label else "")
    sign = clip(_flat(sign), width // 3)
    width -= cells(sign)
    start, end = one.spans[0]
    found = clip(_flat(one.text[start:end]), width)
    room = width - cells(found)
    after: list[tuple[str, bool]] = []
    seen = 0
    for a, b, mark in _rest(one):
        after.append((_flat(one.text[a:b]), mark))
        seen += cells(after[-1][0])
        if seen > room:  # a line may have a million matches
            break
    before = _flat(one.text[:start]).lstrip()
    left = clip_start(f"…{before}" if one.before else before, max(room // 3, room - seen))
    room -= cells(left)
    spans: Line = [sign, left, Styled(found, FOUND)]
    for text, mark in after:
        part = clip(text, room)
        room -= cells(part)
        spans.append(Styled(part, FOUND) if mark else part)
        if part != text or room <= 0:
            return spans
    return [*spans, "…"] if one.after else spans


def _rest(one: Excerpt) -> Iterator[tuple[int, int, bool]]:
    """The parts after the first match: start, end, and whether the part is a match."""
    at = one.spans[0][1]
    for start, end in one.spans[1:]:
        yield at, start, False
        yield start, end, True
        at = end
    yield at, len(one.text), False


def _flat(text: str) -> str:
    return safe(text, keep_newlines=False).replace("\t", " ")
