"""Filtering: one call of `filter_context`, by which a model forgets, executed on a log.

`policies/filter.py` reads the call, `policies/forget.py` decides, the op is one of `forget` or `remember`. The model
names messages by number, and never reaches what is protected.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ctxkit.core.context import entry
from ctxkit.core.names import Name, Names
from ctxkit.core.ops import Count, Forget
from ctxkit.core.select import Selection, opens, tools_of
from ctxkit.core.texts import texts
from ctxkit.errors import CtxkitError, NothingChanges, NothingMatched, UnknownAgent, UnknownMessage, Usage
from ctxkit.log import Log
from ctxkit.policies.decision import Decision
from ctxkit.policies.filter import NAME, Refused, Request, definition, request
from ctxkit.policies.forget import Wish, leaving

PREVIEW = 120
"""Characters of a message that are shown."""
LISTED = 200
"""Messages that a preview lists; the others are counted."""
CODES: dict[type[CtxkitError], str] = {
    UnknownMessage: "unknown_id", NothingChanges: "nothing_changes", NothingMatched: "nothing_matched",
    UnknownAgent: "nothing_matched", Usage: "bad_argument",
}  # fmt: skip
"""What a model can do something about; everything else is an error of the command."""


def filter_context_tool(provider: str) -> dict[str, Any]:
    """The definition of the tool `filter_context` for the `tools` of a request to openai, anthropic or gemini.

    Raises Usage for another provider.
    """
    try:
        return definition(provider)
    except KeyError:
        raise Usage(f"no provider {provider!r}", "openai, anthropic, gemini") from None


def filter_context(log: Log, call: str | bytes | Mapping[str, Any]) -> dict[str, Any]:
    """Execute a model's call of `filter_context`: a preview, or an op that is appended, and what the model is answered.

    `call`: JSON, its arguments alone or the call as OpenAI, Anthropic or Gemini give it. The same call (its id and its
    arguments) sent again is not executed again. What the model can do something about is an answer with `error`;
    raised is what the log or the system refuses, as by `Log.forget`.
    """
    raw = call if isinstance(call, bytes) else _encoded(call)
    log.said, log.notes, log.ranked.scores = "", (), {}
    try:
        asked = request(raw)
        try:
            return _preview(log, asked) if asked.action == "preview" else _apply(log, asked)
        except tuple(CODES) as error:
            raise _refused(log, error) from error
    except Refused as refused:
        return refused.as_json()


def _encoded(call: str | Mapping[str, Any]) -> bytes:
    text = call if isinstance(call, str) else json.dumps(call)
    return text.encode("utf-8", "surrogatepass")


def _refused(log: Log, error: CtxkitError) -> Refused:
    code = next(code for kind, code in CODES.items() if isinstance(error, kind))
    hints = {
        "unknown_id": "ids are those that a preview gives",
        "bad_argument": 'ids such as "45" or "46-48"; last such as 5, 2x or 3s; criteria in words',
        "nothing_changes": "preview shows what is in the context",
        "nothing_matched": "other words, or other messages",
    }
    return Refused(code, error.message, hints.get(code, error.hint))


def _preview(log: Log, asked: Request) -> dict[str, Any]:
    """What an apply would forget, or keep. Nothing is appended."""
    state, planning = log.state(), _planning(log)
    try:
        chosen = log.select(
            Selection(
                ids=asked.message_ids, about=asked.criteria, role=asked.role, tool=asked.tool_name, last=asked.last
            ),
            [name for name in log.names() if planning is None or state.key(name) < state.key(planning)],
        )
        scores = log.ranked.scores
        decision = _decided(log, asked.mode, chosen)
        names, notes = _affected(log, asked.mode, chosen, decision), [*decision.notes, *_also(log, asked, decision)]
    except (NothingMatched, NothingChanges) as error:
        if asked.message_ids:
            raise
        names, notes, scores = [], [error.message.removesuffix(": nothing was changed")], {}
    from ctxkit.counting import Counting  # brings sqlite3: only where tokens are counted
    from ctxkit.measuring import Measuring

    measuring = Measuring(Counting(log))
    found: dict[str, Any] = {
        "matching_messages": [_row(log, name, scores) for name in names[:LISTED]],
        "message_count": len(names),
        "token_estimate": round(sum(measuring.each(names))),
        "counter": measuring.name,
    }
    if len(names) > LISTED:
        notes.append(f"the first {LISTED} are listed; all of them: {state.say(Names.of(names))}")
    if planning is not None and names:
        found["planning_conversation_ids"] = [f"{state.label(planning)}-"]
    return found | ({"notes": notes} if notes else {})


def _apply(log: Log, asked: Request) -> dict[str, Any]:
    """The op, appended; or, of the same call before, what it did."""
    if asked.key and log.op_id is None:
        log.op_id = f"call-{asked.key}"
    known = log.op_id is not None and log.op_id in log.ledger.by_id
    before = log.state()

    def decide() -> Decision:
        chosen = log.select(Selection(ids=asked.message_ids))
        decision = _decided(log, asked.mode, chosen, asked)
        if decision.op is not None:
            from ctxkit.measuring import change  # brings sqlite3: only where tokens are counted

            log.tell(change(log, log.state_with(decision.op)))
        return decision

    op = log.commit(asked.mode, decide)
    if not isinstance(op, Forget):
        raise NothingChanges("nothing is left to do")
    if known:
        before = log.seen_at(f"{op.id}^").state()
    left = (Names.parse(op.ids) | Names.parse(op.planning)) & before.present()
    found = {
        "filter_event_id": op.id,
        "messages_filtered": len(left),
        "context_before": _size(op.before),
        "context_after": _size(op.after),
    }
    notes = list(log.notes)
    if known:
        undone = log.ledger.by_id[op.id].void
        notes = [f"this call was executed before{', and undone since' * undone}: nothing was done again"]
    return found | ({"notes": notes} if notes else {})


def _decided(log: Log, mode: str, chosen: Names, asked: Request | None = None) -> Decision:
    """What `forget` or `remember` would append. Raises Refused for what is protected, where it was named."""
    plan = log.plan_forget if mode == "forget" else log.plan_remember
    numbers = Selection(ids=(log.state().say(chosen),))
    planning = Selection(ids=asked.planning_conversation_ids) if asked is not None else Selection()
    if asked is not None and mode == "forget":
        spared = leaving(log.state(), Wish(chosen=chosen)).skipped
        if spared:
            text = f"protected: {log.state().brief(spared)}: nothing was changed"
            raise Refused("protected", text, "leave these out")
    return plan(numbers, planning=planning, criteria=None if asked is None else asked.criteria)


def _affected(log: Log, mode: str, chosen: Names, decision: Decision) -> list[Name]:
    """What a preview lists: those that would leave; of a remember those that were asked for, steps whole."""
    state = log.state()
    if mode == "remember" or not isinstance(decision.op, Forget):
        names = state.steps.close(chosen) & state.present()
    else:
        names = Names.parse(decision.op.ids) & state.present()
    return sorted(names, key=state.key)


def _also(log: Log, asked: Request, decision: Decision) -> list[str]:
    """What a preview of a remember says of all the others."""
    if asked.mode == "forget" or not isinstance(decision.op, Forget):
        return []
    count = len(Names.parse(decision.op.ids) & log.state().present())
    return [f"everything else ({count} message{'s' * (count != 1)}) would be forgotten"]


def _planning(log: Log) -> Name | None:
    """The message that began the conversation about this, where the log has it: the user's newest, if nothing came
    after it yet, or a call of this tool did.
    """
    state, shown = log.state(), log.names()
    at = max((place for place, name in enumerate(shown) if opens(state, name)), default=None)
    if at is None:
        return None
    later = shown[at + 1 :]
    called = any(NAME in tools_of(state, name) for name in later)
    return shown[at] if called or not later else None


def _row(log: Log, name: Name, scores: Mapping[Name, int]) -> dict[str, Any]:
    one = entry(log.state(), name)
    score = {"score": scores[name]} if name in scores else {}
    return {"id": log.state().label(name), "role": one.role, "preview": _brief([t.text for t in texts(log.full(one))]),
            **score}  # fmt: skip


def _brief(words: Sequence[str]) -> str:
    text = " ".join(" ".join(words)[: 20 * PREVIEW].split())
    return text if len(text) <= PREVIEW else text[: PREVIEW - 1] + "…"


def _size(count: Count | None) -> dict[str, Any]:
    return {} if count is None else msgspec.to_builtins(count)
