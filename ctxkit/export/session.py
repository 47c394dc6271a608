"""Writes the context of a log as a session file that an agent can continue.

Pipeline: context -> `rewrite` of the log's own format, which keeps bytes, or `write` of another format, from contents.
A rewritten session is read again, and only used if its context is the one that was exported.
"""

from __future__ import annotations

import os
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, count, pairwise
from typing import TYPE_CHECKING, BinaryIO

import msgspec

from ctxkit.content import thinking
from ctxkit.core import integrity
from ctxkit.core.context import names
from ctxkit.core.integrity import NO_RESULT
from ctxkit.core.item_names import Name
from ctxkit.core.ledger import build
from ctxkit.core.messages import Call, Content, Part, Repairs, Result
from ctxkit.core.replay import fold
from ctxkit.core.sets.sequences import LazySequence, Reiterable
from ctxkit.core.times import iso
from ctxkit.errors import CtxkitError, Usage
from ctxkit.export.redacted import without_secrets
from ctxkit.export.request import UNSENT, ContextContents, joined, nothing
from ctxkit.formats import registry
from ctxkit.formats.base import Block, Edited, Format, MessageToWrite, NewSession, Row, SessionFormat, Written
from ctxkit.formats.bodies import batched, fingerprint
from ctxkit.formats.targets import SESSIONS
from ctxkit.logfile.read import blocks_of, limited, proven_log
from ctxkit.logfile.unpaired import left_alone
from ctxkit.measure.rewrite_usage import recounted
from ctxkit.store.source import ReadWindow
from ctxkit.store.spool import Spool

if TYPE_CHECKING:
    from ctxkit.logfile.open import OpenLog
    from ctxkit.logfile.read import Progress


def fresh() -> str:
    """A new id."""
    return str(uuid.UUID(bytes=os.urandom(16), version=4))


def from_id(identity: str) -> Callable[[], str]:
    """A source of ids: first `identity`, a UUID, then ids computed from it, the same ones every time."""
    numbers = count()
    space = uuid.UUID(identity)

    def unique() -> str:
        number = next(numbers)
        return str(uuid.UUID(bytes=uuid.uuid5(space, str(number)).bytes, version=4)) if number else identity

    return unique


def session(
    log: OpenLog, to: str, *, keep_id: bool = False, recount: bool | None = None, model: str = "",
    instructions: bool = False, cwd: str = "", unique: Callable[[], str] = fresh,
    progress: Progress | None = None,
) -> Written:  # fmt: skip
    """The context of `log` as a session file of format `to`; arguments as in `Log.session`.

    `unique` gives new ids, the session's first. `keep_id` and `recount` are only for a session of the log's own format.
    Raises NothingToSend, Usage.
    """
    target = registry.by_name(to) if to in SESSIONS else None
    if not isinstance(target, SessionFormat):
        raise Usage(f"no session of {to} can be written", f"there are: {', '.join(SESSIONS)}")
    own = log.opening.format.name == to
    if keep_id and not own:
        text = f"{log.opening.name} is not a session of {to}: it has no id to keep"
        raise Usage(text, "leave --keep-id out: the session gets a new one")
    if recount and not own:
        text = f"{log.opening.name} is not a session of {to}: its provider's count cannot be carried over"
        raise Usage(text, "leave --recount out")
    if not log.listed():
        raise nothing(log)
    stamp = iso(int(log.clock()))
    made = NewSession("" if keep_id else unique(), stamp, cwd or os.getcwd(), model or log.model, unique)
    if not own:
        portable, repairs = log.opening.format.portable(ContextContents(log, progress), log.answered)
        sent = portable
        if log.redactor is not None:
            sent = list(thinking.without_secret_ones(portable, log.redactor, repairs))
        context = _contents(log, sent, repairs, instructions=instructions)
        written = target.write(_foreign(context, made.model, repairs), made)
        written.pieces = without_secrets(Spool(batched(written.pieces)), log.redactor, repairs)
        written.repairs = joined(repairs, written.repairs)
        return written
    repairs = Repairs()
    edited = edited_of(log, repairs, progress)
    _drop_bound_thinking(log, edited, model or log.model, repairs)
    if not edited.context:
        raise nothing(log, "has only results without their calls in its context")
    written = target.rewrite(edited, made)
    if edited.changed or log.redactor is not None:
        written = _verified(log, target, edited, made, written, recount=recount is not False)
    written.repairs = joined(repairs, written.repairs)
    return written


def _first_copy(log: OpenLog, change: thinking.FirstChange) -> thinking.FirstChange:
    """The first message before a `change` whose calls are made a second time; the change itself if there is none."""
    made: set[str] = set()
    for name in log.listed()[: change.place]:
        calls = log.messages[name - 1].calls if isinstance(name, int) else ()
        if not made.isdisjoint(calls):
            first = next(at for at, one in enumerate(log.listed()) if _makes(log, one, calls))
            return thinking.FirstChange(first, f"message {log.state().label(name)} makes a call again")
        made.update(calls)
    return change


def _makes(log: OpenLog, name: Name, calls: tuple[str, ...]) -> bool:
    return isinstance(name, int) and not set(calls).isdisjoint(log.messages[name - 1].calls)


def _drop_bound_thinking(log: OpenLog, edited: Edited, model: str, repairs: Repairs) -> None:
    """Drop thinking that is bound to the messages before it, from the first change on, and messages of nothing else."""
    change = thinking.first_change(log)
    if change is None:
        return
    if edited.moved:  # a new chain makes each call of a copied history once
        change = _first_copy(log, change)
    before = set(log.listed()[: change.place])
    gone: set[int] = set()
    for at, kept in enumerate(edited.context):
        if kept.n in before or (kept.n and log.messages[kept.n - 1].role != "assistant"):
            continue
        content = kept.content or (log.content(kept.n) if kept.n else None)
        found = thinking.blocks(content) if content is not None else []
        secret = log.redactor is not None and thinking.holds_secret(found, log.redactor)
        if content is None or not found or not (secret or thinking.is_bound(content, model)):
            continue
        why = change.why if thinking.is_bound(content, model) else "a secret is in it"
        repairs.tell_of_thinking(f"left out: {why}", len(found))
        if len(found) == len(content.parts):
            gone.add(at)
        elif kept.content is not None or (log.messages[kept.n - 1].more and log.opening.format.edits):
            edited.context[at] = MessageToWrite(kept.n, thinking.without(content), kept.ts)
        else:
            kept.bare = True
    if gone:
        edited.gone |= {kept.n for at, kept in enumerate(edited.context) if at in gone and kept.n}
        edited.context[:] = [kept for at, kept in enumerate(edited.context) if at not in gone]


class _Timed(Content):
    """A message with its time, ISO. A message that is made from it has none."""

    ts: str | None = None


def _contents(
    log: OpenLog, portable: Sequence[Content | None], repairs: Repairs, *, instructions: bool
) -> Iterator[MessageToWrite]:
    """The context in full, with whole call-result pairs, each message with its time; an added message has the time of
    the one before it.

    `instructions`: keep the instructions of the log's program.
    """
    program = log.opening.format
    counts = chain([repairs], iter(Repairs, None))  # iterated twice, counted once

    def timed() -> Iterator[Content]:
        counted = next(counts)
        for one, name in zip(portable, log.listed(), strict=True):
            own = one if one is None or instructions else _without_instructions(program, one, counted)
            sent = None if own is None else program.with_known_role(own, counted)
            if sent is not None:
                yield _Timed(sent.role, sent.parts, sent.name, sent.rows, _time(log, name))

    when: str | None = None
    content = None
    for content in integrity.PairedContents(Reiterable(timed)).paired(repairs):
        when = content.ts if isinstance(content, _Timed) else when
        yield MessageToWrite(0, content, when)
    if content is None:
        raise nothing(log, UNSENT)


def _foreign(context: Iterable[MessageToWrite], model: str, repairs: Repairs) -> Iterator[MessageToWrite]:
    """The messages without bound thinking, because another program sends another system prompt and other tools."""
    for kept in context:
        found = thinking.blocks(kept.content) if kept.content is not None else []
        if kept.content is not None and found and thinking.is_bound(kept.content, model):
            repairs.tell_of_thinking("left out: another program sends a different system prompt and tools", len(found))
            kept.content = thinking.without(kept.content)
        yield kept


def _without_instructions(program: Format, content: Content, repairs: Repairs) -> Content | None:
    """A message without the instructions that its program put into it; None if nothing else is in it."""
    rest = [part for part in content.parts if not program.instructs(content, part)]
    if len(rest) == len(content.parts):
        return content
    repairs.leave_out(
        f"instructions of {program.name} (--with-instructions keeps them)", len(content.parts) - len(rest)
    )
    return Content(content.role, rest, content.name) if rest else None


def _time(log: OpenLog, name: Name) -> str | None:
    moment = log.state().original(name)
    return None if moment is None else iso(moment)


def _verified(
    log: OpenLog, target: SessionFormat, edited: Edited, made: NewSession, written: Written, *, recount: bool
) -> Written:
    """`written` if it is read back as its context; else the same written as a new chain, if that is.

    Secrets are taken out between, so that what its program proves of the session is proved of what is in it.
    """
    entries = list(_entries(log))
    alone = {one.call for one in left_alone(log.opening.format, _in_full(log, entries), log.answered)}  # see `_mended`
    answered = _answered(_ids(log, kept) for kept in entries) - alone
    for attempt in (written, None):
        if attempt is None:
            attempt = target.rewrite(msgspec.structs.replace(edited, moved=True), made)
        spool = Spool(attempt.pieces)
        written_as = [] if attempt.keys else list(_in_full(log, edited.context))
        read = _read_as(spool.stream, attempt.keys, written_as, answered)
        if read is not None:
            if log.redactor is not None:
                spool = Spool(without_secrets(spool, log.redactor, attempt.repairs))
                read = _opened(spool.stream)
            upheld = target.upheld(proven_log(read.opening), attempt.repairs)
            if upheld is not None:
                spool = Spool(upheld)
                read = _opened(spool.stream)
            attempt.pieces = recounted(log, edited.context, spool.stream, read) if recount else spool
            return attempt
    raise CtxkitError("the session would be read as a different context: nothing was written")


def _answered(ids: Iterable[tuple[tuple[str, ...], tuple[str, ...]]]) -> set[str]:
    """The calls that have a result, of messages' calls and results."""
    made: set[str] = set()
    told: set[str] = set()
    for calls, results in ids:
        made.update(calls)
        told.update(results)
    return made & told


def _entries(log: OpenLog) -> Iterator[MessageToWrite]:
    """The context as the ops left it, before any repair: content only of what is not a whole message of the log."""
    for entry in log.entries():
        n = entry.name if isinstance(entry.name, int) and entry.stub is None else 0
        yield MessageToWrite(n, None if n else log.full(entry))


def _opened(stream: BinaryIO) -> OpenLog:
    from ctxkit.logfile.open import OpenLog

    stream.seek(0)
    return OpenLog.open(stream, env={})


def _read_as(stream: BinaryIO, keys: list[list[str]], contents: list[Content], answered: set[str]) -> OpenLog | None:
    """A session if it has messages with the listed keys, or without keys, if it has these contents; and if each of the
    `answered` calls that is in it has its result. Else None.
    """
    log = _opened(stream)
    state = fold(log.transcript, build(log.transcript))
    found = [name for name in names(state) if isinstance(name, int)]
    messages = [state.messages[n - 1] for n in found]
    calls = {call for message in messages for call in message.calls}
    if not answered & calls <= _answered((message.calls, message.results) for message in messages):
        return None
    if keys:
        return log if [message.key for message in messages] in keys else None
    read = [one for n in found for one in fingerprint(log.content(n))]
    return log if read == [one for content in contents for one in fingerprint(content)] else None


def edited_of(log: OpenLog, repairs: Repairs, progress: Progress | None = None) -> Edited:
    """The context after ops and parameters; pairs that they broke are repaired, and counted in `repairs`."""
    state, projection = log.state(), log.projection()
    own = log.own()
    shown = list(log.listed())
    context: list[MessageToWrite] = []
    for place, entry in enumerate(log.entries(), start=1):
        n = entry.name if isinstance(entry.name, int) else 0
        unchanged = n and entry.stub is None
        context.append(MessageToWrite(n, None if unchanged else log.full(entry), _time(log, entry.name)))
        if progress is not None:
            progress(place, len(shown))
    seen = {name for name in shown if isinstance(name, int)}
    gone = {n for out in state.board.outs if out.source > 0 for n in out.names.numbers} - seen
    gone |= set(own) - seen
    side = projection.thread is not None and not state.main(projection.thread)
    moved = side or not _in_order([n for name in shown if (n := _number(name))], own)
    reordered = _results_after_calls(log, context)
    moved = moved or reordered != context
    context = _paired(log, reordered, own, gone, repairs)
    rows = _rows_at(log)
    source = log.opening.laid_out

    def blocks(row_type: type[Row]) -> Iterator[Block]:
        return limited(blocks_of(log.opening, row_type), rows)

    size = source.size
    if rows is not None:
        ends = [block.offsets[-1] + block.sizes[-1] for block in blocks(Row) if block.rows]
        size = min(ends[-1] + 1, source.size) if ends else 0
    return Edited(state.transcript, context, frozenset(gone), moved, size, ReadWindow(source).read, blocks)


def _number(name: Name) -> int:
    return name if isinstance(name, int) else 0


def _in_order(shown: list[int], own: Sequence[int]) -> bool:
    """Whether all of `shown` are in `own`, in its order."""
    rest = iter(own)
    return all(n in rest for n in shown)


def _rows_at(log: OpenLog) -> int | None:
    """How many rows the log had at the op whose state is shown; None: all rows."""
    if log.at is None:
        return None
    place = log.looked_at().place
    return place if place < log.transcript.rows else None


def _paired(
    log: OpenLog, context: list[MessageToWrite], own: Sequence[int], gone: set[int], repairs: Repairs
) -> list[MessageToWrite]:
    """`context` without results whose call is not in it, and with a result added for each call that lost its own.

    Pairs that were broken in the log's `own` context already are left to its program, but for those that it sends
    though the provider refuses them.
    """
    plain = [MessageToWrite(n) for n in own]
    if all(kept.content is None for kept in context) and [kept.n for kept in context] == [kept.n for kept in plain]:
        return _mended(log, context, gone, repairs)
    open_before, lost_before = _broken(log, plain)
    unanswered, _ = _broken(log, context)
    made: set[str] = set()
    found: list[MessageToWrite | None] = list(context)
    last: dict[str, int] = {}
    for at, kept in enumerate(context):
        calls, results = _ids(log, kept)
        made.update(calls)  # of some programs one row holds calls and their results
        orphans = {r for r in results if r not in made and (r not in lost_before or not kept.n)}
        if orphans:
            repairs.dropped += len(orphans)
            found[at] = _without(log, kept, orphans, gone)
        last.update(dict.fromkeys(calls, at))
    missing: dict[int, list[str]] = {}
    for call in unanswered:
        if call not in open_before or context[last[call]].content is not None:
            missing.setdefault(last[call], []).append(call)
            repairs.made += 1
    done: list[MessageToWrite] = []
    for at, one in enumerate(found):
        if one is not None:
            done.append(one)
        done += [_no_result(call) for call in missing.get(at, ())]
    return _mended(log, done, gone, repairs)


def _mended(log: OpenLog, context: list[MessageToWrite], gone: set[int], repairs: Repairs) -> list[MessageToWrite]:
    """`context` without results, and with results for calls, that its program would send alone to be refused.

    A result that stands too late for its program goes behind its call, if that has no other.
    """
    contents = _in_full(log, context)
    wrong = left_alone(log.opening.format, contents, log.answered)
    if not wrong:
        return context
    results, calls = defaultdict[int, set[str]](set), defaultdict[int, list[MessageToWrite]](list)
    counted = Counter(call for kept in context for call in _ids(log, kept)[1])
    sent, _ = log.opening.format.portable(contents, log.answered)  # without responses that failed, and their calls
    asked = {call: at for at, one in enumerate(sent) if one is not None for call in _calls(one)}
    for one in wrong:
        if one.code != "no-call":
            calls[one.at].append(_no_result(one.call))
            repairs.made += 1
            continue
        results[one.at].add(one.call)
        if counted[one.call] == 1 and asked.get(one.call, one.at) < one.at:
            late: list[Part] = [
                part for part in contents[one.at].parts if isinstance(part, Result) and part.id == one.call
            ]
            calls[asked[one.call]].append(MessageToWrite(0, Content("tool", late), context[one.at].ts))
            repairs.put_in("result behind its call, which stood later")
        else:
            repairs.dropped += 1
    done: list[MessageToWrite] = []
    for at, kept in enumerate(context):
        rest = _without(log, kept, results[at], gone) if at in results else kept
        done += [] if rest is None else [rest]
        done += calls.get(at, [])
    return done


def _in_full(log: OpenLog, context: Sequence[MessageToWrite]) -> Sequence[Content]:
    """The messages that are written, in full; none is kept."""
    return LazySequence(len(context), lambda at: context[at].content or log.content(context[at].n))


def _calls(content: Content) -> Iterator[str]:
    """The ids of the calls in a message."""
    return (part.id for part in content.parts if isinstance(part, Call))


def _no_result(call: str) -> MessageToWrite:
    return MessageToWrite(0, Content("tool", [Result(call, NO_RESULT, True)]))


def _broken(log: OpenLog, context: list[MessageToWrite]) -> tuple[list[str], set[str]]:
    """Ids of calls without a result, in order, and ids of results without a call before them.

    A result before its call, as a program may have written it, counts as its result.
    """
    waiting: dict[str, None] = {}
    made: set[str] = set()
    lost: set[str] = set()
    for kept in context:
        calls, results = _ids(log, kept)
        lost.update(result for result in results if result not in made and result not in calls)
        for result in results:
            waiting.pop(result, None)
        asked = (call for call in calls if call not in results and (call in made or call not in lost))
        waiting.update(dict.fromkeys(asked))
        made.update(calls)
    return list(waiting), lost


def _results_after_calls(log: OpenLog, context: list[MessageToWrite]) -> list[MessageToWrite]:
    """`context` with results that an op put before their call moved after it, as they are sent."""
    if all(kept.n for kept in context) and all(a.n < b.n for a, b in pairwise(context)):
        return context
    made: dict[str, int] = {}
    for at, kept in enumerate(context):
        for call in _ids(log, kept)[0]:
            made.setdefault(call, at)  # of two calls with one id the first may be what a result answers
    behind: dict[int, list[MessageToWrite]] = {}
    stay: list[tuple[int, MessageToWrite]] = []
    for at, kept in enumerate(context):
        calls, results = _ids(log, kept)
        places = [made.get(result, -1) for result in results]
        if results and not calls and min(places) > at:
            behind.setdefault(max(places), []).append(kept)
        else:
            stay.append((at, kept))
    return [one for at, kept in stay for one in (kept, *behind.get(at, ()))]


def _ids(log: OpenLog, kept: MessageToWrite) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The ids of the calls that a message makes, and of those that it answers."""
    if kept.content is None:
        message = log.messages[kept.n - 1]
        return message.calls, message.results
    parts = kept.content.parts
    return (
        tuple(part.id for part in parts if isinstance(part, Call)),
        tuple(part.id for part in parts if isinstance(part, Result)),
    )


def _without(log: OpenLog, kept: MessageToWrite, orphans: set[str], gone: set[int]) -> MessageToWrite | None:
    """The message without some of its results; None, and its number in `gone`, if nothing is left."""
    content = kept.content or log.content(kept.n)
    rest = [part for part in content.parts if not (isinstance(part, Result) and part.id in orphans)]
    if rest:
        return MessageToWrite(kept.n, Content(content.role, rest, content.name), kept.ts)
    if kept.n:
        gone.add(kept.n)
    return None
