"""Executes one call of `filter_context`, by which a model forgets, on a log.

`changes/filter_schema.py` reads the call, `changes/forget.py` decides; the op is a `forget` or `remember`. The model
names messages by number, and can never remove protected ones.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from ctxkit.changes import forget_selection
from ctxkit.changes.cleanup_decision import TAKEN, taken
from ctxkit.changes.filter_schema import NAME, FilterRequest, Refused, definition, request
from ctxkit.changes.forget import ForgetRequest, leaving
from ctxkit.changes.planning import planning_of, uses
from ctxkit.core.context import entry
from ctxkit.core.decision import Decision
from ctxkit.core.item_names import NOTHING, Name, Names
from ctxkit.core.ops import Count, Forget, Remember
from ctxkit.core.select import Planning, Selection, parse_ids
from ctxkit.core.text.json_text import dumps
from ctxkit.core.text.message_words import texts
from ctxkit.core.text.utf8 import exact
from ctxkit.errors import CtxkitError, NothingChanges, NothingMatched, UnknownAgent, UnknownMessage, Usage
from ctxkit.logfile.commit import WritableLog
from ctxkit.store.sidecar import Sidecar

PREVIEW = 120
"""Characters of a message that are shown."""
PAGE, LARGEST_PAGE = 50, 8_000
"""The most messages on a page of a preview, and the most bytes of their rows, which bound the tokens of an answer."""
SPELLED = 1_000
"""The most characters of ids that are listed one by one."""
NOTES, LONGEST_NOTE = 10, 300
"""The most notes of an answer, and the most characters of one."""
CODES: dict[type[CtxkitError], str] = {
    UnknownMessage: "unknown_id", NothingChanges: "nothing_changes", NothingMatched: "nothing_matched",
    UnknownAgent: "nothing_matched", Usage: "bad_argument",
}  # fmt: skip
"""The errors that a model can correct, with their codes; all others are errors of the command."""


def filter_context_tool(provider: str) -> dict[str, Any]:
    """The definition of the tool `filter_context` for the `tools` of a request to openai, anthropic or gemini.

    Raises Usage for another provider.
    """
    try:
        return definition(provider)
    except KeyError:
        raise Usage(f"no provider {provider!r}", "openai, anthropic, gemini") from None


def filter_context(
    log: WritableLog, call: str | bytes | Mapping[str, Any], *, model: str | None = None
) -> dict[str, Any]:
    """Execute a model's call of `filter_context`: a preview, or an op that is appended. Returns the answer for the
    model.

    `call`: JSON, only its arguments or the call as OpenAI, Anthropic or Gemini give it. The same call (its id and
    arguments) sent again is not executed again. `model`: a model that finds the messages for the criteria by meaning;
    None: they are found by words. Mistakes that the calling model can correct are an answer with `error`; refusals by
    the log or the system are raised, as by `Log.forget`.
    """
    raw = call if isinstance(call, bytes) else _encoded(call)
    log.said, log.notes, log.ranked.scores = "", (), {}
    try:
        asked = request(raw)
        try:
            return _preview(log, asked, model) if asked.action == "preview" else _apply(log, asked)
        except tuple(CODES) as error:
            raise _refused(log, error) from error
    except Refused as refused:
        return refused.as_json()


def _encoded(call: str | Mapping[str, Any]) -> bytes:
    text = call if isinstance(call, str) else json.dumps(call)
    return exact(text)


def _refused(log: WritableLog, error: CtxkitError) -> Refused:
    code = next(code for kind, code in CODES.items() if isinstance(error, kind))
    hints = {
        "unknown_id": "ids are those that a preview gives",
        "bad_argument": 'ids such as "45" or "46-48"; last such as 5, 2x or 3s; criteria in words',
        "nothing_changes": "preview shows what is in the context",
        "nothing_matched": "other words, or other messages",
    }
    return Refused(code, error.message, hints.get(code, error.hint))


def _preview(log: WritableLog, asked: FilterRequest, model: str | None) -> dict[str, Any]:
    """A page of what an apply would forget, or keep, and the conversation about it. Nothing is appended."""
    planned = planning_of(log, log.names(), calling=True)
    warned: list[str] = []
    try:
        with _collecting(log, warned):
            chosen = _chosen(log, asked, model, planned)
        scores = log.ranked.scores
        decision = _decided(log, asked.mode, chosen)
        names, notes = _affected(log, asked.mode, chosen, decision), [*decision.notes, *_also(log, asked, decision)]
    except (NothingMatched, NothingChanges) as error:
        if asked.message_ids and not isinstance(error, NothingMatched):
            raise
        names, notes, scores = [], [error.message.removesuffix(": nothing was changed")], {}
    from ctxkit.measure.count import Counting  # imports sqlite3, which only counting needs
    from ctxkit.measure.size import Measuring

    measuring = Measuring(Counting(log))
    sizes = [round(size) for size in measuring.each(names)]
    rows = _page(_row(log, name, size, scores) for name, size in zip(names, sizes, strict=True))
    found: dict[str, Any] = {
        "matching_messages": rows,
        "message_count": len(names),
        "token_estimate": sum(sizes),
        "counter": measuring.name,
    }
    if rest := names[len(rows) :]:
        every = log.state().say(Names.of(names))
        spelled = f"; all of them: {every}" if len(every) <= LONGEST_NOTE // 2 else ""
        notes.append(f"{len(rows)} of {len(names)} are listed; next_message_ids gives the next page{spelled}")
        found["next_message_ids"] = _next(log, rest)
    if planned.names and names:
        found["planning_conversation_ids"] = _ids(log, planned.names)
    notes = [note if len(note) <= LONGEST_NOTE else f"{note[: LONGEST_NOTE - 1]}…" for note in (*warned, *notes)]
    return found | ({"notes": notes[:NOTES]} if notes else {})


def _chosen(log: WritableLog, asked: FilterRequest, model: str | None, planned: Planning) -> Names:
    """The messages of a preview, without the conversation about it. Raises NothingMatched, and what a selection
    raises.
    """
    apart, state = Names.of([*planned.names, *planned.unranked]), log.state()
    typed = parse_ids(state, asked.message_ids) if asked.message_ids else None
    shown = [name for name in log.names() if name not in apart]
    wanted = Selection(
        ids=asked.message_ids if asked.criteria is None else (), about=asked.criteria, role=asked.role,
        tool=asked.tool_name, last=asked.last, model=None if asked.criteria is None else model,
    )  # fmt: skip
    found = log.select(wanted, shown, leaves=asked.mode == "forget", request=planned)
    left = (found if typed is None else found & typed) - apart
    if not left:
        if found & apart:
            raise NothingMatched(
                f"{state.brief(found & apart)} is the conversation about this: planning_conversation_ids"
            )
        raise NothingMatched("nothing matched: no message of these ids fits all criteria")
    return left


@contextmanager
def _collecting(log: WritableLog, warned: list[str]) -> Iterator[None]:
    """Collects warnings in `warned`, so that the model gets them too."""
    warn = log.ranked.warn

    def both(text: str) -> None:
        warned.append(text)
        warn(text)

    log.ranked.warn = both
    try:
        yield
    finally:
        log.ranked.warn = warn


def _page(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The first rows, within bounds; at least one."""
    found, size = list[dict[str, Any]](), 0
    for row in rows:
        size += len(dumps(row)) + 2
        if found and (len(found) == PAGE or size > LARGEST_PAGE):
            break
        found.append(row)
    return found


def _next(log: WritableLog, rest: Sequence[Name]) -> list[str]:
    """The ids of messages that are not listed yet; if they are many, a range from the first on, which gives the same
    messages with the same other arguments.
    """
    every = log.state().say(Names.of(rest)).split(",")
    if sum(map(len, every)) <= SPELLED:
        return every
    items = [log.state().label(name) for name in rest if not isinstance(name, int)]
    return [f"{rest[0]}-", *items] if isinstance(rest[0], int) else items


def _ids(log: WritableLog, names: Sequence[Name]) -> list[str]:
    """Ids of the conversation about forgetting: from its first message on, if nothing else comes after it."""
    numbers = [name for name in names if isinstance(name, int)]
    after = [n for n in log.names() if isinstance(n, int) and n >= min(numbers, default=0)]
    if len(numbers) == len(names) and numbers == after:
        return [f"{numbers[0]}-"]
    return log.state().say(Names.of(names)).split(",")


def _apply(log: WritableLog, asked: FilterRequest) -> dict[str, Any]:
    """The op, appended; or, for a repeated call, what it did before."""
    kept = log.op_id
    if asked.key and kept is None:
        log.op_id = f"call-{asked.key}"
    known = log.op_id is not None and log.op_id in log.ledger.by_id
    before = log.state()

    def decide() -> Decision:
        chosen = log.select(Selection(ids=asked.message_ids))
        decision = _decided(log, asked.mode, chosen, asked)
        if isinstance(decision.op, Forget):
            decision.op = msgspec.structs.replace(decision.op, answer=_answer(log, asked, decision.op))
            from ctxkit.measure.size import change  # imports sqlite3, which only counting needs

            log.tell(change(log, log.state_with(decision.op)))
        return decision

    try:
        op = log.commit(asked.mode, decide)
    finally:
        log.op_id = kept  # the id was only for this call
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
    if taken(op) and not log.dry_run:
        found["cleanup"] = shlex.join(["ctxkit", "tool", "cleanup", *_where(log), op.id])
    notes = list(log.notes)
    if known:
        undone = log.ledger.by_id[op.id].void
        notes = [f"this call was executed before{', and undone since' * undone}: nothing was done again"]
    return found | ({"notes": notes} if notes else {})


def _where(log: WritableLog) -> list[str]:
    """The command-line words that name this log."""
    opening = log.opening
    found = ["-" if opening.path is None else opening.name]
    if opening.conversation is not None:
        found += ["--conversation", str(opening.conversation)]
    beside = opening.sidecar
    if beside is not None and opening.path is not None and beside.folder != Sidecar(opening.path).folder:
        found += ["--sidecar", str(beside.folder)]
    return found


def _decided(log: WritableLog, mode: str, chosen: Names, asked: FilterRequest | None = None) -> Decision:
    """The decision of a forget or remember. Raises Refused if a protected message is named."""
    plan = forget_selection.forget if mode == "forget" else forget_selection.remember
    numbers = Selection(ids=(log.state().say(chosen),))
    planning, kept = (Selection(), NOTHING) if asked is None else _given(log, asked)
    if asked is not None and mode == "forget":
        exempt = leaving(log.state(), ForgetRequest(chosen=chosen)).skipped
        if exempt:
            text = f"{log.state().brief(exempt)} {'is' if len(exempt) == 1 else 'are'} protected: nothing was changed"
            raise Refused("protected", text, "leave these out")
    decision = plan(log, numbers, planning, {"criteria": None if asked is None else asked.criteria})
    if kept:
        note = f"not taken along, since other tools were called: {log.state().brief(kept)}"
        decision.notes = [*decision.notes, note]
    return decision


def _answer(log: WritableLog, asked: FilterRequest, op: Forget) -> dict[str, Any]:
    """The op's `answer`: the tool; and the part of the conversation about it that a remember takes out among `ids`."""
    given = _given(log, asked)[0]
    among = NOTHING if given.empty else parse_ids(log.state(), given.ids) & Names.parse(op.ids)
    return {"tool": NAME, TAKEN: str(among)} if isinstance(op, Remember) and among else {"tool": NAME}


def _given(log: WritableLog, asked: FilterRequest) -> tuple[Selection, Names]:
    """The conversation about it that is forgotten with an apply; and the part that stays because other tools were
    called there.
    """
    if not asked.planning_conversation_ids:
        return Selection(), NOTHING
    state = log.state()
    named = state.steps.close(parse_ids(state, asked.planning_conversation_ids))
    worked = Names.of(name for name in named & state.present() if uses(log, name) is False)
    left = named - worked
    return (Selection() if not left else Selection(ids=(state.say(left),))), worked


def _affected(log: WritableLog, mode: str, chosen: Names, decision: Decision) -> list[Name]:
    """The messages that a preview lists: those that would leave; for a remember the chosen ones, with whole steps."""
    state = log.state()
    if mode == "remember" or not isinstance(decision.op, Forget):
        names = state.steps.close(chosen) & state.present()
    else:
        names = Names.parse(decision.op.ids) & state.present()
    return [*sorted(names.numbers), *sorted(names.items, key=state.key)]


def _also(log: WritableLog, asked: FilterRequest, decision: Decision) -> list[str]:
    """The note of a preview of a remember about all other messages."""
    if asked.mode == "forget" or not isinstance(decision.op, Forget):
        return []
    count = len(Names.parse(decision.op.ids) & log.state().present())
    return [f"everything else ({count} message{'s' * (count != 1)}) would be forgotten"]


def _row(log: WritableLog, name: Name, size: int, scores: Mapping[Name, int]) -> dict[str, Any]:
    state = log.state()
    one = entry(state, name)
    words = _brief([t.text for t in texts(log.full(one))])
    row = {"id": state.label(name), "role": one.role[:PREVIEW], "tokens": size, "preview": words}
    if name in scores:
        row["score"] = scores[name]
    summary = next((item.name for item in state.board.tellers(Names.of([name])) if item.name in state.present()), None)
    return row if summary is None else row | {"summary": state.label(summary)}


def _brief(words: Sequence[str]) -> str:
    text = " ".join(" ".join(words)[: 20 * PREVIEW].split())
    return text if len(text) <= PREVIEW else text[: PREVIEW - 1] + "…"


def _size(count: Count | None) -> dict[str, Any]:
    return {} if count is None else msgspec.to_builtins(count)
