"""Writes a context as a provider's request, or as chat lines.

Pipeline: context -> contents (read again from the file) -> the repairs of the log's own program, if it makes any -> the
target's writer. The output is valid for the target, whatever the ops did.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Collection, Container, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, cast

import msgspec

from ctxkit.content import thinking
from ctxkit.core import integrity
from ctxkit.core.context import windowed
from ctxkit.core.messages import Content, Part, Repairs, Result
from ctxkit.core.ops import Mark, Protect, Undo, Unprotect
from ctxkit.core.sets.sequences import LazySequence, Reiterable
from ctxkit.core.text.json_text import dumps
from ctxkit.errors import NothingToSend, Usage
from ctxkit.formats import targets
from ctxkit.formats.base import Prefix
from ctxkit.formats.bodies import NO_SIGNATURE, BodyOptions, BodyWriter, batches, written
from ctxkit.logfile.open import OpenLog
from ctxkit.logfile.read import Progress, proven_log
from ctxkit.store.spool import Spool
from ctxkit.tokens.reasoning import UNKNOWN, binds, has_gateway_name, reads, rule

if TYPE_CHECKING:
    from ctxkit.core.assembly import Assembly
    from ctxkit.formats.base import Format

_NO_CHANGE = (Mark, Protect, Unprotect, Undo)
"""Ops that do not change the context; what an undo voids is void already."""


THINKING = ("thinking", "redacted_thinking")
UNSENT = "has nothing in its context that its program would send to a model"
"""Why nothing of a context is exported."""


class Exported(msgspec.Struct):
    """An export. `spool`: the JSON values to print, a line each. `count`: messages in it, or what `unit` names.
    `refused`: why the provider would refuse its pictures or its size, in words.
    """

    spool: Spool
    repairs: Repairs
    count: int
    unit: str = "message"
    refused: list[str] = []

    @property
    def pieces(self) -> Iterable[bytes]:
        """The bytes to print; together they are whole lines."""
        return self.spool.pieces()

    @property
    def values(self) -> Iterable[dict[str, Any]]:
        """The JSON values."""
        return map(json.loads, self.spool.lines())


class ContextContents(LazySequence[Content]):
    """The messages of a context in full, each read when it is used. `progress` is called for each message during the
    first pass over all of them.
    """

    def __init__(self, log: OpenLog, progress: Progress | None = None) -> None:
        self._log, self._progress = log, progress
        self._names = log.listed()
        super().__init__(len(self._names), self._read)

    def __iter__(self) -> Iterator[Content]:
        for place, one in enumerate(self._log.entries(self._names), start=1):
            yield self._log.full(one)
            if self._progress is not None:
                self._progress(place, len(self._names))
        self._progress = None

    def _read(self, place: int) -> Content:
        [one] = self._log.entries([self._names[place]])
        return self._log.full(one)


def export(
    log: OpenLog, to: str, *, model: str = "", assembly: bool = True, status: str | None = None,
    keep_thinking: bool = False, with_tools: bool = False, tools: Container[str] = frozenset(),
    progress: Progress | None = None,
) -> Exported:  # fmt: skip
    """The context of `log` for the target `to` (`formats/targets.py`): chat lines or the body of a request.

    Raises NothingToSend for an empty context, Usage for another target. The other arguments are as in `Log.export`.
    """
    target = targets.no_session(to)
    context = ContextContents(log, progress)
    if not context:
        raise nothing(log)
    if target.kind == "lines":
        return _lines(log, context)
    repairs, contents = Repairs(), cast(Iterable[Content], context)
    # chat lines hold the log's own messages (replay 53); a request is what the log's program would send
    own = target.own_prefix
    asked = model or log.model
    unsigned = thinking.takes_words(asked, target.thinking, keep=keep_thinking and bool(asked))
    sent = None if log.native else log.opening.format.sent(context, log.answered, model, own=own, words=unsigned)
    if sent is not None:
        contents, repairs = sent
    unvoiced, voicing = contents, chain([repairs], iter(Repairs, None))  # iterated twice, counted once

    def voiced() -> Iterator[Content]:
        counted = next(voicing)
        kept = thinking.without_secret_ones(unvoiced, log.redactor, counted)
        return _voiced(log.opening.format, (one for one in kept if one is not None), counted)

    contents = Reiterable(voiced)
    put_in = False
    if assembly:
        from ctxkit.logfile.assembly_sources import assemble

        around, inner = assemble(log, status), contents
        put_in = thinking.is_put_in(log, around)
        if any(around):
            contents = Reiterable(lambda: _placed(around, inner))
    model = asked
    signs = not (unsigned and log.model) or reads(model, log.model)
    if target.thinking == "blocks" and not signs:
        signed = contents
        contents = Reiterable(lambda: thinking.without_signatures(signed))
    write = target.load()

    def options(as_sent: bool) -> BodyOptions:
        own = rule(model)
        demanded = own.need == "demanded"
        passes = own.turn and not thinking.is_unread(log.model, model)  # else none counts, and that is said
        return BodyOptions(
            model, as_sent, tools, unsigned=unsigned, padded=unsigned and demanded,
            signs=own.signs_calls or (keep_thinking and own is UNKNOWN),
            placeholder=NO_SIGNATURE if own.signs_calls and demanded else "",
            passing=f"of earlier turns will not count: {model} does not read them" if passes else "",
        )  # fmt: skip

    kept: Collection[str] | None = None
    why = NO_REQUEST
    if target.own_prefix:
        as_sent = sent is not None and untouched(log) and signs
        if with_tools:
            return _with_tools(log, write, context, contents, repairs, options(as_sent), put_in=put_in)
        if binds(model):
            kept = set()
            if keep_thinking and put_in:
                why = thinking.PUT_IN
            elif keep_thinking:
                kept, why = _kept_thinking(log, write, context, contents, as_sent=as_sent)
    else:
        as_sent = log.transcript.format == target.program and untouched(log)
        if target.thinking == "items" or (target.thinking == "fields" and has_gateway_name(model)):
            kept, why = _unrefused(log, context, model, put_in=put_in, keep=keep_thinking)
    unpruned, counts = contents, chain([repairs], iter(Repairs, None))  # iterated twice, counted once

    def chosen() -> Iterator[Content]:
        counted = next(counts)
        if target.thinking == "parts":
            return iter(unpruned)
        if target.thinking == "fields":
            left = unpruned if kept is None else thinking.pruned(unpruned, kept, why, counted)
            return thinking.for_chat(left, model, counted, keep=keep_thinking)
        return _with_thinking(unpruned, kept, why, log.model, model, counted)

    contents = Reiterable(chosen)
    body = write(contents, repairs, options(as_sent))
    spool = Spool(body.pieces())
    places, words = body.late()
    spool.put_in(array("q", (len(body.start) + place for place in places)), words)
    spool.write(b"\n")
    return Exported(spool, repairs, body.count, target.unit)


def _lines(log: OpenLog, contents: Sequence[Content]) -> Exported:
    """The log's own messages as chat lines."""
    from ctxkit.formats.chat_lines import lines

    portable: Sequence[Content | None] = contents
    repairs = Repairs()
    if not log.native:  # a log of ours goes on as it is, and to look for all answers costs the whole log
        portable, repairs = log.opening.format.portable(contents, log.answered)
    counts = chain([repairs], iter(Repairs, None))  # iterated twice, counted once

    def kept() -> Iterator[Content]:
        sound = thinking.without_secret_ones(portable, log.redactor, next(counts))
        return (one for one in sound if one is not None)

    paired = integrity.PairedContents(Reiterable(kept))
    found = Exported(Spool(), repairs, 0)
    for batch in batches(dumps(line).encode("ascii") + b"\n" for line in lines(paired.paired(repairs))):
        found.spool.write(b"".join(batch))
        found.count += len(batch)
    if not found.count:
        raise nothing(log, UNSENT)
    return found


def _voiced(program: Format, contents: Iterable[Content], repairs: Repairs) -> Iterator[Content]:
    """The contents in roles that a model accepts, without what is never sent."""
    return (one for content in contents if (one := program.with_known_role(content, repairs)) is not None)


def _placed(around: Assembly, contents: Iterable[Content]) -> Iterator[Content]:
    """The contents with the assembly around them."""
    placed = around.around(contents, lambda content: content.role)
    return (one if isinstance(one, Content) else one.content for one in placed)


def _with_thinking(
    contents: Iterable[Content], kept: Collection[str] | None, why: str, made: str, model: str, repairs: Repairs
) -> Iterator[Content]:
    """The contents with only the thinking whose signature is in `kept` (None: all). `made`: the log's own model."""
    unread = 0
    for content in contents if kept is None else thinking.pruned(contents, kept, why, repairs):
        unread += thinking.unread([content], made, model)
        yield content
    if unread:
        repairs.tell_of_thinking(f"will not count: {model} is not known to read them", unread)


def _unrefused(
    log: OpenLog, context: Sequence[Content], model: str, *, put_in: bool, keep: bool
) -> tuple[list[str] | None, str]:
    """The marks of the thinking that a request has that is not Anthropic's own (None: all), and why the rest is left
    out. Where a provider refuses what does not fit, none is sent without being asked for.
    """
    bound = rule(model).bound
    if not bound:
        return None, ""
    if bound == "refused" and not keep:
        return [], NO_REQUEST
    return ([], thinking.PUT_IN) if put_in else thinking.before_change(log, context)


NO_REQUEST = "the request does not have the system prompt and tools that they were made with"
"""Why a request leaves out thinking that its model binds to the request."""
HELD = "a secret is in their system prompt or tools"


def _with_tools(
    log: OpenLog, write: BodyWriter, context: Sequence[Content], contents: Iterable[Content], repairs: Repairs,
    options: BodyOptions, *, put_in: bool,
) -> Exported:  # fmt: skip
    """A request with the system prompt and the tools that the log records, and the messages as they were sent.

    `context`: its messages; `contents`: what is sent of them. If the model binds its thinking, only thinking that was
    made after the same bytes stays. Raises Usage if the log records no request.
    """
    model = options.model
    change = thinking.first_change(log) if binds(model) else None
    prefix = _recorded_request(log, context if change is None else islice(context, change.place))
    names = {str(tool.get("name")) for tool in prefix.tools or () if isinstance(tool, dict)}
    secret = log.redactor is not None and log.redactor.finds([prefix.system, prefix.tools])
    why = thinking.PUT_IN if put_in else HELD if secret else "the log does not record their request"
    why = why if put_in or secret or change is None else change.why
    fits = set(prefix.kept) if not (put_in or secret) else set[str]()
    choices: list[set[str] | None] = [fits, set()] if binds(model) else [None]
    for kept in choices:
        counts = chain([more := Repairs()], iter(Repairs, None))
        # B023: the lambda is used up within this round of the loop
        left = Reiterable(lambda: _with_thinking(contents, kept, why, log.model, model, next(counts)))  # noqa: B023
        body = write(left, more, msgspec.structs.replace(options, tools=names)).value
        if not kept or _restore_start(body, prefix, kept):
            break
    messages, words = body.pop("messages"), body.pop("system", "")
    own = [{"type": "text", "text": prefix.system}] if isinstance(prefix.system, str) else prefix.system
    system = [*own, *([{"type": "text", "text": words}] if words else [])]
    body |= ({"system": system} if system else {}) | ({"tools": prefix.tools} if prefix.tools else {})
    spool = Spool([written(body | {"messages": messages}), b"\n"])
    return Exported(spool, joined(repairs, more), len(messages))


def _recorded_request(log: OpenLog, contents: Iterable[Content]) -> Prefix:
    """The newest recorded request that one of `contents` answers. Raises Usage if the log records none."""
    found = log.opening.format.prefix(proven_log(log.opening), contents)
    if found is None:
        text = f"{log.opening.name} does not record the system prompt and tools of its requests: nothing was exported"
        raise Usage(text, "leave --with-tools out; Claude Code records them from 2.1.329 on")
    return found


def _restore_start(body: dict[str, Any], prefix: Prefix, kept: set[str]) -> bool:
    """Replace the messages before the answer to `prefix` by the messages of `prefix` itself; False if that is not
    possible.

    `kept`: signatures of the thinking that stays.
    """
    messages = body["messages"]
    place = next((at for at, one in enumerate(messages) if not prefix.answer.isdisjoint(_ids(one["content"]))), -1)
    start = [_with_kept_thinking(one, kept) for one in prefix.messages]
    if place < 0 or messages[place]["role"] != "assistant" or not all(one["content"] for one in start):
        return False
    body["messages"] = [*start, *messages[place:]]
    return True


def _ids(blocks: Any) -> Iterator[str]:
    """Signatures of thinking and ids of calls among the blocks of a message."""
    for block in blocks if isinstance(blocks, list) else ():
        found = block.get("signature") or block.get("data") or (block.get("id") if block["type"] == "tool_use" else "")
        if isinstance(found, str) and found:
            yield found


def _with_kept_thinking(message: dict[str, Any], kept: set[str]) -> dict[str, Any]:
    """A message without the thinking whose signature is not in `kept`."""
    content = message["content"]
    if not isinstance(content, list):
        return message
    rest = [one for one in content if one.get("type") not in THINKING or not kept.isdisjoint(_ids([one]))]
    return {**message, "content": rest}


def _kept_thinking(
    log: OpenLog, write: BodyWriter, context: Sequence[Content], contents: Iterable[Content], *, as_sent: bool
) -> tuple[set[str], str]:
    """The signatures of the thinking before the first change, and why the rest is left out.

    `context`: its messages; `contents`: what is sent of them. A message that the writer has to change counts as a
    change too.
    """
    names, label = log.listed(), log.state().label
    change = thinking.first_change(log)
    end, why = (len(context), "nobody signed them") if change is None else (change.place, change.why)
    known = log.opening.format
    odd = next((place for place, content in enumerate(context[:end]) if not known.sent_verbatim(content)), end)
    if odd < end:
        end, why = odd, f"message {label(names[odd])} is written and placed by its program"
    body = write(contents, Repairs(), BodyOptions(as_sent=as_sent)).value
    place = thinking.first_difference(known.portable(context[:end], log.answered)[0], body)
    if place < end:
        end, why = place, f"message {label(names[place])} cannot be sent as it is"
    return {thinking.signature(part) for content in context[:end] for part in thinking.blocks(content)} - {""}, why


def nothing(log: OpenLog, why: str = "") -> NothingToSend:
    """The error for a log with an empty context, or with nothing in it to export (`why`)."""
    if why:
        return NothingToSend(f"nothing to send: {log.opening.name} {why}", "ctxkit why LOG N explains it")
    total = len(log.messages)
    held = f"has no messages: all {total} are out of its context" if total else "has no messages"
    hint = "" if log.opening.path is not None else "a pipe begins with -: ctxkit add - TEXT <LOG | ctxkit export -"
    return NothingToSend(
        f"nothing to send: {log.opening.name} {held}", "ctxkit why LOG N explains it" if total else hint
    )


def untouched(log: OpenLog) -> bool:
    """Whether the context is the log's own: no op and no parameter of the projection changes it."""
    ledger = log.state().ledger
    projection = log.projection()
    filtered = projection.agent is not None or not log.state().main(projection.thread) or projection.newest is not None
    changes = (entry for entry in ledger.entries if not entry.void and not isinstance(entry.op, _NO_CHANGE))
    return not filtered and not windowed(log.state(), projection) and not any(changes)


def outdated(log: OpenLog, to: str) -> int | None:
    """The tokens that the newest reply of a session records, if they are of another context: the provider counted the
    reply, and later ops changed the context. None if there is no such figure, or if `to` is not the log's format.
    """
    if log.opening.format.name != to or untouched(log):
        return None
    messages = log.state().messages
    replies = (n for n in reversed(log.listed()) if isinstance(n, int) and messages[n - 1].role == "assistant")
    newest = next(replies, None)
    counted = None if newest is None else log.usage(newest)
    return None if counted is None else counted.request + counted.reply


def repair_notes(repairs: Repairs) -> Iterator[str]:
    """What an export changed, in words."""
    if repairs.made:
        yield f"{repairs.made} call{'s' * (repairs.made != 1)} without a result: answered by one that says so"
    if repairs.dropped:
        yield f"{repairs.dropped} result{'s' * (repairs.dropped != 1)} without a call: left out"
    for kind, count in sorted(repairs.left_out.items()):
        if kind.startswith("record "):
            yield f"left behind: {count:,} record{'s' * (count != 1)}{kind.removeprefix('record')}"
        else:
            yield f"not sent: {count} × {kind}"
    for kind, count in sorted(repairs.added.items()):
        yield f"added: {count} × {kind}"
    for what, count in repairs.thinking.items():
        yield thinking.in_words(count, what)
    if repairs.secrets:
        yield f"{repairs.secrets:,} secret{'s' * (repairs.secrets != 1)} taken out"


def joined(one: Repairs, other: Repairs) -> Repairs:
    """The repairs of both."""
    both = Repairs(one.made + other.made, one.dropped + other.dropped, secrets=one.secrets + other.secrets)
    for repairs in (one, other):
        for kind, count in repairs.left_out.items():
            both.leave_out(kind, count)
        for kind, count in repairs.added.items():
            both.put_in(kind, count)
        for what, count in repairs.thinking.items():
            both.tell_of_thinking(what, count)
    return both


def parts_json(content: Content) -> list[dict[str, Any]]:
    """The parts of a message as JSON objects with a `type`, without their raw form."""
    return [_part(part) for part in content.parts]


def _part(part: Part) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(part)
    raw = found.pop("raw", None)
    if isinstance(part, Result) and not isinstance(part.content, str):
        found["content"] = [_part(inner) for inner in part.content]
    if part.__class__.__name__ == "Other":
        found["raw"] = raw
    return found
