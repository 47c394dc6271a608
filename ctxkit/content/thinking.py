"""Chooses the thinking of a context that is sent, by the rule of its model (`tokens/reasoning.py`).

Some models bind their thinking to everything before it. Their provider refuses a request in which any of that changed,
or drops the thinking, so none is sent from the first change on. Others demand the thinking back, or have no field for
it. `export/request.py`, `export/session.py`, `measure/status.py` and `explain/explain.py` use this.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from ctxkit.core.assembly import NOTHING, Assembly
from ctxkit.core.item_names import Name
from ctxkit.core.messages import SIGNATURES, Call, Content, Image, Part, Repairs, Result, Text, Thinking
from ctxkit.core.roles import SYSTEM
from ctxkit.core.text.redactor import Redactor
from ctxkit.logfile.open import OpenLog
from ctxkit.tokens.reasoning import CHAT_FIELDS, CHUNK, DETAILS, GATEWAY, UNKNOWN, binds, has_gateway_name, reads, rule

PUT_IN = "what is put around the messages was not there"
"""Why thinking does not count in a request with more than the messages."""


class FirstChange(msgspec.Struct, frozen=True):
    """The first place where a context is not what preceded the log's thinking. `place`: in the context, from 0; `why`:
    what changed, in words.
    """

    place: int
    why: str


def first_change(log: OpenLog, shown: Sequence[Name] | None = None) -> FirstChange | None:
    """The first place at which the context of `log`, or the context `shown`, differs from what its program had sent;
    None if there is no difference.

    Ops, windows and filters change the context. So does the log's own program: a compaction that keeps messages puts
    its summary before them. A secret that is taken out of a message changes it too.
    """
    shown = log.listed() if shown is None else shown
    found = _by_ops(log, shown)
    if log.redactor is None:
        return found
    raw = log.raw()
    for place, one in enumerate(raw.entries(islice(shown, len(shown) if found is None else found.place))):
        if holds_secret(raw.full(one).parts, log.redactor):
            return FirstChange(place, f"message {log.state().label(one.name)} holds a secret")
    return found


def _by_ops(log: OpenLog, shown: Sequence[Name]) -> FirstChange | None:
    state, own = log.state(), log.own()
    stubs, kept = state.board.stubs, _kept_by_program(log, own)
    for place, name in enumerate(shown):
        before = own[place] if place < len(own) else 0
        if before == name and name not in stubs:
            if name == kept:
                return FirstChange(place, f"its program changed what stands before message {state.label(name)}")
            continue
        gone = before and before not in frozenset(shown)
        return FirstChange(place, f"message {state.label(before if gone else name)} changed")
    return None


def _kept_by_program(log: OpenLog, own: Sequence[int]) -> int:
    """The first message of the `own` context before which the log's program changed something later; 0: none.

    A compaction that kept nothing of the model changes nothing: all thinking came after it.
    """
    transcript = log.state().transcript
    if log.opening.format.edits:  # parts that a message got later are before the messages that came in between
        rows = transcript.messages
        for place, n in enumerate(own):
            if rows[n - 1].more and place + 1 < len(own):
                return own[place + 1]
    view = transcript.view
    if view is None:
        return 0
    thread = view.threads.get(log.lens_thread) if log.lens_thread is not None else None
    cuts = [(cut.row, min(cut.out)) for cut in (view if thread is None else thread).cuts if cut.out]
    if not cuts:
        return 0
    row_of = transcript.row_of
    last = max(row for row, _ in cuts)
    found = 0
    for n in own:
        if row_of[n - 1] < last and any(row > row_of[n - 1] and first < n for row, first in cuts):
            found = found or n
            if transcript.messages[n - 1].role == "assistant":
                return found
    return 0


def blocks(content: Content) -> list[Thinking]:
    """The blocks of thinking of a message."""
    return [part for part in content.parts if isinstance(part, Thinking)]


def is_bound(content: Content, model: str) -> bool:
    """Whether the thinking of a message is bound, by `model`, which goes on, or by the model that made it."""
    return binds(model) or any(binds(made) for made in _models(content))


def without(content: Content) -> Content:
    """The message without its thinking, and then also without its rows; the message itself if it has none."""
    rest: list[Part] = [part for part in content.parts if not isinstance(part, Thinking)]
    return content if len(rest) == len(content.parts) else Content(content.role, rest, content.name)


def holds_secret(parts: Iterable[Part], redactor: Redactor) -> bool:
    """Whether parts of a message hold a secret."""
    return redactor.finds(msgspec.to_builtins(list(parts)))


def without_secret_ones(
    contents: Iterable[Content | None], redactor: Redactor | None, repairs: Repairs
) -> Iterator[Content | None]:
    """Yields the contents without thinking that holds a secret and is signed: no provider takes it in other words.

    A message of nothing else becomes None. Reports to `repairs`.
    """
    for content in contents:
        signed = [] if content is None or redactor is None else [one for one in blocks(content) if signature(one)]
        gone = [one for one in signed if redactor is not None and holds_secret([one], redactor)]
        if content is None or not gone:
            yield content
            continue
        repairs.tell_of_thinking("left out: a secret is in it", len(gone))
        rest = [part for part in content.parts if not any(part is one for one in gone)]
        yield Content(content.role, rest, content.name) if rest else None


class UnsentThinking(msgspec.Struct, frozen=True):
    """Thinking of a context that does not go out. `count`: blocks per message; `why`: in words."""

    count: dict[Name, int]
    why: str

    @property
    def blocks(self) -> int:
        """The number of blocks in all messages."""
        return sum(self.count.values())

    def of(self, name: Name) -> str | None:
        """The unsent thinking of one message, in words; None if it has none."""
        return in_words(self.count[name], f"left out: {self.why}") if name in self.count else None


def change_in_request(log: OpenLog, shown: Sequence[Name] | None = None) -> FirstChange | None:
    """As `first_change`, for a request that ctxkit makes: also behind a call without a result. The log's program and
    ctxkit do not answer it in the same words.
    """
    shown = log.listed() if shown is None else shown
    change = first_change(log, shown)
    for place, name in enumerate(shown if change is None else shown[: change.place]):
        if any(call not in log.answered for call in _calls(log, name)):
            return FirstChange(place + 1, f"message {log.state().label(name)} has a call without a result")
    return change


def _calls(log: OpenLog, name: Name) -> Iterable[str]:
    """The ids of the calls of a message."""
    if isinstance(name, int):
        return log.messages[name - 1].calls
    [one] = log.entries([name])
    return [part.id for part in log.full(one).parts if isinstance(part, Call)]


def next_change(
    log: OpenLog, model: str, shown: Sequence[Name] | None = None, *, put_in: bool = False
) -> FirstChange | None:
    """The place from which on the thinking of a context does not count in the next request to `model`; None: all does.

    `put_in`: something is put around the messages that was not there.
    """
    if is_unread(log.model, model):
        return FirstChange(0, f"{model} is not known to read them")
    if not binds(model):
        return None
    if put_in:
        return FirstChange(0, PUT_IN)
    return (change_in_request if rule(model).bound == "dropped" else first_change)(log, shown)


def is_unread(made: str, model: str) -> bool:
    """Whether `model` is not known to read the thinking of the model `made`, which binds it."""
    return binds(made) and not reads(model, made)


def is_put_in(log: OpenLog, around: Assembly) -> bool:
    """Whether something stands around the messages that was not there when the log's model thought."""
    return bool(around.beside) or (bool(around.lead) and not log.native)


def unsent(log: OpenLog, around: Assembly = NOTHING) -> UnsentThinking | None:
    """The thinking that does not go out with this context, or is not read, with what stands `around` it, to the model
    of the config, else the log's own; None if there is none.

    Reads only messages after the first change, and only if the model binds its thinking.
    """
    change = next_change(log, log.config["model"] or log.model, put_in=is_put_in(log, around))
    if change is None:
        return None
    behind = (one for one in islice(log.entries(), change.place, None) if one.role == "assistant")
    count = {one.name: found for one in behind if (found := len(blocks(log.full(one))))}
    return UnsentThinking(count, change.why) if count else None


def in_words(count: int, what: str) -> str:
    """`3 thinking blocks` and what happens to them."""
    return f"{count} thinking block{'s' * (count != 1)} {what}"


def pruned(contents: Iterable[Content], kept: Collection[str], why: str, repairs: Repairs) -> Iterator[Content]:
    """Yields the contents of a request without the thinking from the first block on with a mark not in `kept`.

    In a list of marks each stands for one block, in its order. Reports what it leaves out to `repairs`. A message
    without other parts is left out whole.
    """
    left = iter(kept) if isinstance(kept, list) else kept
    pruning = False
    for content in contents:
        rest: list[Part] = []
        for part in content.parts:
            pruning = pruning or (isinstance(part, Thinking) and mark(part) not in left)
            if pruning and isinstance(part, Thinking):
                repairs.tell_of_thinking(f"left out: {why}")
            else:
                rest.append(part)
        if len(rest) == len(content.parts):
            yield content
        elif rest:
            yield Content(content.role, rest, content.name)


def first_difference(before: Iterable[Content | None], body: Mapping[str, Any]) -> int:
    """The place of the first message of `before` that is not, unchanged, in the `body` of a request to Anthropic; the
    number of messages if all are. A None is a message that is not sent.
    """
    sent = (one for message in body["messages"] for block in message["content"] for one in _block_keys(block))
    place = 0
    for place, content in enumerate(before):
        for part in content.parts if content is not None and content.role not in SYSTEM else ():
            key = _part_key(part)
            if key is not None and key != next(sent, None):
                return place
    return place + 1


def _part_key(part: Part) -> tuple[Any, ...] | None:
    """A part as a key that equals the key of its block in a request; None if it is never sent."""
    match part:
        case Text(text=words):
            return ("text", words.strip()) if words.strip() else None
        case Thinking():
            return "thinking", signature(part)
        case Call(id=key, name=name, arguments=given):
            return "call", key, name, given
        case Result(id=key, content=content):
            inner = [Text(content)] if isinstance(content, str) else content
            return "result", key, [one for one in map(_part_key, inner) if one is not None]
        case Image(data=data, url=url):
            return "image", data or url
    return part.kind, None


def _block_keys(block: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Yields the key of a block of a request, as `_part_key`; nothing for blank text."""
    match block:
        case {"type": "text", "text": str() as words}:
            if words.strip():
                yield "text", words.strip()
        case {"type": "thinking" | "redacted_thinking"}:
            yield "thinking", signature(Thinking("", dict(block)))
        case {"type": "tool_use", "id": key, "name": name, "input": given}:
            yield "call", key, name, given
        case {"type": "tool_result", "tool_use_id": key}:
            content = block.get("content", "")
            inner = [{"type": "text", "text": content}] if isinstance(content, str) else content
            yield "result", key, [one for part in inner for one in _block_keys(part)]
        case {"type": "image", "source": {"data": found} | {"url": found}}:
            yield "image", found
        case {"type": kind}:
            yield kind, None


def signature(part: Thinking) -> str:
    """The signature of a block of thinking, or what it was encrypted to; "" if it has neither."""
    found = next((part.raw[key] for key in SIGNATURES if part.raw.get(key)), "")
    return found if isinstance(found, str) else ""


def mark(part: Thinking) -> str:
    """What a block of thinking is known by: its signature, else its words."""
    return signature(part) or part.text


def before_change(log: OpenLog, context: Sequence[Content]) -> tuple[list[str] | None, str]:
    """The marks of the thinking that is sent behind what it was made behind, in order (None: all), and why the rest is
    not. `context`: the messages of the log's context.
    """
    change = change_in_request(log)
    if change is None:
        return None, ""
    return [mark(part) for content in islice(context, change.place) for part in blocks(content)], change.why


def for_chat(contents: Iterable[Content], model: str, repairs: Repairs, *, keep: bool) -> Iterator[Content]:
    """Yields the contents with the thinking that a chat completion of `model` has, each under the keys of its message.

    `keep`: also thinking that the provider takes, but does not need. A message with calls gets an empty one where it
    has none and the provider would refuse it. Reports to `repairs` what is left out, and what goes to an unknown model.
    """
    own, unsaid = rule(model), 0
    known = own is not UNKNOWN
    fields = own.fields if keep or not known or own.need != "taken" else ()
    through = GATEWAY.fields if has_gateway_name(model) else ()
    made = fields[0] if known and fields and fields[0] != DETAILS else ""
    unasked = " (--keep-thinking keeps it)" * (bool(own.fields) and not fields)
    for content in contents:
        parts: list[Part] = []
        for part in content.parts:
            if not isinstance(part, Thinking):
                parts.append(part)
            elif (found := _in_field(part, (*fields, *through), made)) and found in parts:
                repairs.leave_out("thinking that its message has already")  # a history that was copied into the log
            elif found:
                unsaid += not known and not found.raw.keys() <= set(through)
                parts.append(found)
            else:
                repairs.leave_out(f"thinking{unasked}")
        thoughts = any(isinstance(part, Thinking) for part in parts)
        if made and own.need == "demanded" and not thoughts and any(isinstance(part, Call) for part in parts):
            repairs.put_in(f"empty {made} beside calls")
            parts.insert(0, Thinking("", {made: ""}))
        yield Content(content.role, parts, content.name, content.rows)
    if unsaid:
        what = f"nothing is known of {model}" if model else "the request names no model"
        repairs.tell_of_thinking(f"sent as the log has it: {what}", unsaid)


def _in_field(part: Thinking, fields: Sequence[str], made: str) -> Thinking | None:
    """The thinking under those of its keys that are `fields` of a chat message, else its words in the field `made`, ""
    for none; None if there is no place for it.
    """
    if kept := {key: part.raw[key] for key in part.raw if key in CHAT_FIELDS and key in fields}:
        return Thinking(part.text, kept)
    if not made or not part.text:
        return None
    if made != CHUNK:
        return Thinking(part.text, {made: part.text})
    if isinstance(part.raw.get("thinking"), list):
        return part
    return Thinking(part.text, {"type": "thinking", "thinking": [{"type": "text", "text": part.text}]})


def takes_words(model: str, place: str, *, keep: bool) -> bool:
    """Whether a request has the words of thinking of any model, by the rule of its own. `place`: what of it holds
    thinking: "fields" of a chat completion, or "blocks" in Anthropic's form for another provider.
    """
    own = rule(model)
    if place == "fields" and (own is UNKNOWN or own.fields[:1] == (DETAILS,)):
        return False
    return place in ("fields", "blocks") and bool(own.fields) and (keep or own.need in ("demanded", "wanted"))


def without_signatures(contents: Iterable[Content]) -> Iterator[Content]:
    """Yields the contents with the words of their thinking alone: for another provider than that which signed it."""
    for content in contents:
        parts = [Thinking(part.text, {}) if isinstance(part, Thinking) else part for part in content.parts]
        yield Content(content.role, parts, content.name, content.rows)


def unread(contents: Iterable[Content], made: str, model: str) -> int:
    """Counts the blocks of thinking, of models that bind it, that `model` is not known to read. `made`: the model that
    made the blocks of messages that name none.
    """
    found = 0
    for content in contents:
        if any(is_unread(maker, model) for maker in _models(content) or [made]):
            found += sum(bool(signature(part)) for part in blocks(content))
    return found


def _models(content: Content) -> list[str]:
    """The models that the rows of a message name."""
    found = []
    for row in content.rows:
        inner = row.get("message")
        model = (inner if isinstance(inner, dict) else row).get("model")
        if isinstance(model, str) and model:
            found.append(model)
    return found
