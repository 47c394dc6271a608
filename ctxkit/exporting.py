"""Export: a context as the messages of a provider's request, or as chat lines.

Pipeline: context -> contents (read again from the file) -> the log's own program's repairs, where it has them -> the
target's writer. What is emitted is valid for the target, whatever the ops did.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from ctxkit import thinking
from ctxkit.core import integrity
from ctxkit.core.context import windowed
from ctxkit.core.jsontext import dumps
from ctxkit.core.messages import Content, Part, Repairs, Result
from ctxkit.core.ops import Mark, Protect, Undo, Unprotect
from ctxkit.errors import NothingToSend
from ctxkit.opened import OpenedLog
from ctxkit.reading import Progress
from ctxkit.tokens.preserved import binds

_NO_CHANGE = (Mark, Protect, Unprotect, Undo)
"""Ops that leave the context as it is; an undone op is void by itself."""


UNSENT = "has nothing in its context that its program sends to a model"
"""Why nothing of a context goes out."""


class Exported(msgspec.Struct):
    """`values`: the JSON values to print, a line each. `count`: messages sent, or whatever `unit` says. `refused`: why
    the provider would refuse it for its pictures or its size, in words.
    """

    values: Iterable[dict[str, Any]]
    repairs: Repairs
    count: int
    unit: str = "message"
    refused: list[str] = []

    @property
    def pieces(self) -> Iterable[bytes]:
        """The bytes that are printed, whole lines all together."""
        return (dumps(value).encode("ascii") + b"\n" for value in self.values)


def export(
    log: OpenedLog, to: str, *, model: str = "", assembly: bool = True, status: str | None = None,
    keep_thinking: bool = False, progress: Progress | None = None,
) -> Exported:  # fmt: skip
    """The context of `log` for `to` (chat, openai, responses, anthropic, gemini).

    Raises NothingToSend where there is nothing. `assembly`, `status`, `keep_thinking`, `progress`: as of `Log.export`.
    """
    contents = list(_contents(log, progress))
    if not contents:
        raise nothing(log)
    stood = contents
    # chat lines hold the log's own messages (REPLAY 53); a request is what the log's program would send
    sent = log.opening.format.sent(contents, log.answered, model) if to != "chat" else None
    contents, repairs = sent or (contents, Repairs())
    put_in = False
    if to != "chat" and assembly:
        around = log.assembled(status)
        put_in = around.status is not None or (bool(around.lead) and not log.native)  # a caller's own system prompt
        placed = around.around(contents, lambda content: content.role)
        contents = [one if isinstance(one, Content) else one.content for one in placed]
    model = model or log.model
    if to == "chat":
        from ctxkit.formats.chat_lines import lines

        handed, repairs = log.opening.format.handed(contents, log.answered)
        contents, more = integrity.repair([one for one in handed if one is not None])
        if not contents:
            raise nothing(log, UNSENT)
        return Exported(lines(contents), joined(repairs, more), len(contents))
    if to == "openai":
        from ctxkit.formats import openai

        body, more = openai.write(contents, model=model)
    elif to == "responses":
        from ctxkit.formats import responses

        as_sent = log.transcript.format == responses.PROGRAM and untouched(log)
        body, more = responses.write(contents, model=model, as_sent=as_sent)
        return Exported([body], joined(repairs, more), len(body["input"]), "item")
    elif to == "gemini":
        from ctxkit.formats import gemini

        body, more = gemini.write(contents, model=model)
    else:
        from ctxkit.formats import anthropic

        as_sent = sent is not None and untouched(log)
        if binds(model):
            kept, why = set[str](), NO_REQUEST
            if keep_thinking and put_in:
                why = "what is put around the messages was not there"
            elif keep_thinking:
                kept, why = _kept_thinking(log, stood, contents, as_sent=as_sent)
            contents = list(thinking.pruned(contents, kept, why, repairs))
        if unread := thinking.unread(contents, log.model, model):
            repairs.tell_of_thinking(f"will not count: {model} is not known to read them", unread)
        body, more = anthropic.write(contents, model=model, as_sent=as_sent)
    return Exported([body], joined(repairs, more), len(body["contents" if to == "gemini" else "messages"]))


NO_REQUEST = "the request has not the system prompt and tools that they were made with"
"""Why a request has no thinking of a model that binds it."""


def _kept_thinking(
    log: OpenedLog, stood: list[Content], contents: list[Content], *, as_sent: bool
) -> tuple[set[str], str]:
    """The signatures of the thinking that stands before the first change, and why the rest goes.

    `stood`: the context; `contents`: what a request is made of. What the writer has to change of it is a change, too.
    """
    from ctxkit.formats import anthropic

    names, label = log.listed(), log.state().label
    change = thinking.first_change(log)
    end, why = (len(stood), "nobody signed them") if change is None else (change.place, change.why)
    known = log.opening.format
    odd = next((place for place, content in enumerate(stood[:end]) if not known.stands(content)), end)
    if odd < end:
        end, why = odd, f"message {label(names[odd])} is worded and placed by its program"
    body, _ = anthropic.write(contents, as_sent=as_sent)
    place = thinking.departure(known.handed(stood[:end], log.answered)[0], body)
    if place < end:
        end, why = place, f"message {label(names[place])} cannot be sent as it is"
    return {thinking.signature(part) for content in stood[:end] for part in thinking.blocks(content)} - {""}, why


def nothing(log: OpenedLog, why: str = "") -> NothingToSend:
    """The error of a log whose context is empty, or holds nothing that goes out (`why`)."""
    if why:
        return NothingToSend(f"nothing to send: {log.opening.name} {why}", "ctxkit why LOG N says why")
    total = len(log.messages)
    held = f"has no messages: all {total} are out of its context" if total else "has no messages"
    return NothingToSend(f"nothing to send: {log.opening.name} {held}", "ctxkit why LOG N says why" if total else "")


def _contents(log: OpenedLog, progress: Progress | None) -> Iterator[Content]:
    """All that is in the context, in full."""
    total = len(log.listed())
    for place, entry in enumerate(log.entries(), start=1):
        yield log.full(entry)
        if progress is not None:
            progress(place, total)


def untouched(log: OpenedLog) -> bool:
    """Whether the context is the log's own: no op and no parameter of the projection has a say in it."""
    ledger = log.state().ledger
    lens = log.lens()
    filtered = lens.agent is not None or not log.state().main(lens.thread) or lens.newest is not None
    changes = (entry for entry in ledger.entries if not entry.void and not isinstance(entry.op, _NO_CHANGE))
    return not filtered and not windowed(log.state(), lens) and not any(changes)


def outdated(log: OpenedLog, to: str) -> bool:
    """Whether a session of `log` for its own program has counts of a provider that are of another context: its newest
    reply was counted, and something was taken out or brought in.
    """
    if log.opening.format.name != to or untouched(log):
        return False
    messages = log.state().messages
    replies = (n for n in reversed(log.listed()) if isinstance(n, int) and messages[n - 1].role == "assistant")
    newest = next(replies, None)
    return newest is not None and log.usage(newest) is not None


def told(repairs: Repairs) -> Iterator[str]:
    """What was changed on the way out, in words."""
    if repairs.made:
        yield f"{repairs.made} call{'s' * (repairs.made != 1)} without a result: answered by one that says so"
    if repairs.dropped:
        yield f"{repairs.dropped} result{'s' * (repairs.dropped != 1)} without a call: left out"
    for kind, count in sorted(repairs.left_out.items()):
        yield f"not sent: {count} × {kind}"
    for kind, count in sorted(repairs.added.items()):
        yield f"added: {count} × {kind}"
    for what, count in repairs.thinking.items():
        yield thinking.told(count, what)


def joined(one: Repairs, other: Repairs) -> Repairs:
    """What both changed."""
    both = Repairs(one.made + other.made, one.dropped + other.dropped)
    for repairs in (one, other):
        for kind, count in repairs.left_out.items():
            both.leave_out(kind, count)
        for kind, count in repairs.added.items():
            both.put_in(kind, count)
        for what, count in repairs.thinking.items():
            both.tell_of_thinking(what, count)
    return both


def parts_json(content: Content) -> list[dict[str, Any]]:
    """The parts of a message in their machine form: `type` and what the type holds; the raw part left out."""
    return [_part(part) for part in content.parts]


def _part(part: Part) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(part)
    raw = found.pop("raw", None)
    if isinstance(part, Result) and not isinstance(part.content, str):
        found["content"] = [_part(inner) for inner in part.content]
    if part.__class__.__name__ == "Other":
        found["raw"] = raw
    return found
