"""Checks a context against the hashes of sent messages that Claude Code recorded with its requests.

How it records them: agents, Claude Code 13. Pipeline: `requests.py` (the records) and `histories.py` (the log's
messages, turn by turn) -> here -> `recovery/check.py`. A turn is built and hashed once; the next request continues
where its messages begin to differ. So the work grows with the log, not with its requests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ctxkit.core.messages import Repairs
from ctxkit.formats.base import ProofMismatch, Proofs, ProvenLog, UnprovedRequest
from ctxkit.formats.claude_code.blocks import SentPiece
from ctxkit.formats.claude_code.copies import covers, is_all_loose, is_loose, is_programs_own
from ctxkit.formats.claude_code.hashing import LOOSE, message_hash
from ctxkit.formats.claude_code.histories import AnsweredTurn, SentMismatch, ThreadHistory, Tree, turns_of
from ctxkit.formats.claude_code.placing import PlacedMessage, Style, turn
from ctxkit.formats.claude_code.requests import NotedRequest, ProofRow, Records
from ctxkit.formats.claude_code.session_rows import Changes, changed
from ctxkit.formats.claude_code.wire import plain_name
from ctxkit.formats.patching import Patch, patched

Json = dict[str, Any]
UNPLACED = "no answer to it is in the log, so that its place is not known"
_LISTS = 16
"""The number of requests whose hashes are kept, for later requests that continue them."""
_OVER_AGAIN = 20
"""How often all rows of a log may be read again for requests that do not agree turn by turn."""
_SPLITS = 8
_INSIDE = re.compile(r"claude-(3|opus-4($|-[0-7]($|-)|-2)|sonnet-4|haiku-4)")
_TAGGED = re.compile(r"claude-sonnet-5")


def prove(log: ProvenLog) -> Proofs:
    """Compares every request that the log records with the log's context at that point."""
    records = Records(log.blocks(ProofRow), log.read)
    proofs = Proofs(len(records.requests))
    for kept in records.damaged():
        words = f"its {kept.field} does not have the hash that it is kept under ({kept.hash[:12] or 'none'})"
        proofs.wrong.append(ProofMismatch(kept.line, "damaged-copy", words))
    prover = Prover(records)
    reported: set[str] = set()
    for request in records.requests:
        sent = prover.sent(request)
        if request.fault:
            proofs.unproved.append(UnprovedRequest(request.line, request.id, request.fault))
            continue
        history, more = prover.judge(request, sent)
        last = history.turns[-1] if history.turns else AnsweredTurn(0, 0, 0)
        if _agrees(last, more):
            proofs.proved += 1
            proofs.messages += len(sent)
            proofs.given += last.total + len(sent) - last.reached
        elif _is_open(request, last, more):
            proofs.unproved.append(UnprovedRequest(request.line, request.id, _why(request, last)))
        else:
            new = [*_unreported(last), *([more] if more is not None else [])]
            for one in new:
                if one.key not in reported:
                    reported.add(one.key)
                    words = f"request {request.id[:8]}: {one.text}"
                    proofs.wrong.append(ProofMismatch(request.line, "not-as-sent", words))
    return proofs


def upheld(log: ProvenLog, repairs: Repairs) -> Iterable[bytes] | None:
    """A session that ops changed, without the requests that its messages do not bear out any longer, and without the
    copies that only these name, which are counted; None if all of them stay.

    A request that begins with one of these names all its messages itself.
    """
    records = Records(log.blocks(ProofRow), log.read)
    prover = Prover(records)
    gone: set[str] = set()
    named: set[str] = set()
    patches: list[Patch] = []
    for request in records.requests:
        sent = prover.sent(request)
        if not request.fault:
            history, more = prover.judge(request, sent)
            last = history.turns[-1] if history.turns else AnsweredTurn(0, 0, 0)
            if not _agrees(last, more) and (_why(request, last) == UNPLACED or not _is_open(request, last, more)):
                gone.add(request.id)
                patches.append(Patch(request.span[0], 0, request.span[1], b""))
                continue
            if request.base in gone:
                whole: Changes = {("base",): None, ("keep",): 0, ("tail",): sent}
                patches.append(Patch(request.span[0], 0, request.span[1], changed(log.read(*request.span), whole)))
        named.update(sent or request.tail)
    if not gone:
        return None
    lost = [one.span for one in records.kept if one.field == "message" and one.hash not in named]
    repairs.leave_out("record of requests with other messages", len(gone) + len(lost))
    return patched(log.read, log.size, sorted([*patches, *(Patch(at, 0, size, b"") for at, size in lost)]))


def _agrees(last: AnsweredTurn, more: SentMismatch | None) -> bool:
    """Whether all of a request is what the log gives. `last`: its last turn; `more`: what was sent beyond that."""
    return last.missing_from is None and last.wrong_at is None and more is None


def _is_open(request: NotedRequest, last: AnsweredTurn, more: SentMismatch | None) -> bool:
    """Whether the log does not hold enough to judge a request that does not agree."""
    return (last.wrong_at or more) is None or request.answer < 0 or request.cut


def _unreported(last: AnsweredTurn) -> list[SentMismatch]:
    """The mismatches up to a turn that were not reported yet, in order."""
    found = []
    turn = last.wrong_at
    while turn is not None and not turn.reported and turn.wrong is not None:
        turn.reported = True
        found.append(turn.wrong)
        turn = turn.earlier
    return found[::-1]


def _why(request: NotedRequest, last: AnsweredTurn) -> str:
    if request.cut:
        return "what was sent was cut down"
    if last.missing_from is not None:
        return last.missing_from.missing
    return UNPLACED


class Prover:
    """Compares the log's histories with its recorded requests. `keep`: compared messages are kept by their hashes."""

    def __init__(self, records: Records, *, keep: bool = False) -> None:
        self.records = records
        self.kept: dict[str, Json] | None = {} if keep else None
        self.tree = Tree(records)
        self.histories: dict[tuple[str, str], ThreadHistory] = {}
        self.styles: dict[str, Style] = {}
        self.known: dict[str, NotedRequest] = {}
        self.lists: dict[str, list[str]] = {}
        self.budget = _OVER_AGAIN * (len(records.reader.links) + 100)

    def sent(self, request: NotedRequest) -> list[str]:
        """The hashes of all messages of a request. If they cannot be determined, its `fault` is set to the reason."""
        steps = [request]
        while not steps[-1].fault and steps[-1].base and steps[-1].base not in self.lists:
            base = self.known.get(steps[-1].base)
            if base is None:
                steps[-1].fault = f"its base {steps[-1].base[:8]} is not in the log before it"
                break
            steps.append(base)
        hashes: list[str] = []
        for step in reversed(steps):
            hashes = self.lists.get(step.base, hashes) if step.base else []
            if step.fault:
                request.fault = step.fault if step is request else f"its base: {step.fault}"
                break
            if step.keep > len(hashes):
                step.fault = f"it shares {step.keep} messages with a base that has {len(hashes)}"
                request.fault = step.fault if step is request else f"its base: {step.fault}"
                break
            hashes = hashes[: step.keep] + step.tail
        self.known[request.id] = request
        if not request.fault:
            self.lists.pop(request.id, None)
            self.lists[request.id] = hashes
            if len(self.lists) > _LISTS:
                del self.lists[next(iter(self.lists))]
        return hashes

    def message(self, hash: str) -> Json | None:
        """The message with this hash, if it was compared as equal or a copy exists; else None."""
        found = (self.kept or {}).get(hash) or self.records.blob(hash)
        if found is None or not isinstance(found.get("content"), list):
            return found
        return {**found, "content": [{k: v for k, v in block.items() if k != LOOSE} for block in found["content"]]}

    def judge(self, request: NotedRequest, sent: list[str]) -> tuple[ThreadHistory, SentMismatch | None]:
        """The history of a request, its turns compared with what was sent, and the first mismatch after them."""
        history = self._history(request)
        history.move(request)
        history.keep(len(history.path), _common(history, request, sent))
        history.sent, history.request = sent, request.id
        style = self._style(request.model)
        new = self._best(history, history.open(), style)
        if not all(one.good for one in new) or self._unlogged(sent, [*history.turns[-1:], *new]):
            new = self._rebuilt(history, request.model, style, new)
        history.add(new)
        return history, self._unlogged(sent, history.turns)

    def _history(self, request: NotedRequest) -> ThreadHistory:
        threads = self.records.reader.links.threads
        side = request.answer in threads
        key = threads.get(request.answer, ""), plain_name(request.model)
        if key not in self.histories:
            side = side or self.records.reader.tree.side
            self.histories[key] = ThreadHistory(self.tree, self.tree.chains[side], request.model)
        return self.histories[key]

    def _style(self, model: str) -> Style:
        guess = Style.INSIDE if _INSIDE.search(model) else Style.TAGGED if _TAGGED.search(model) else Style.BARE
        return self.styles.get(model, guess)

    def _rebuilt(self, history: ThreadHistory, model: str, style: Style, new: list[AnsweredTurn]) -> list[AnsweredTurn]:
        """The turns of the whole history at once, by the styles that are still possible; `new` if no better."""
        before = history.turns
        if before and (before[-1].wrong_at or before[-1].missing_from):
            return new
        if self.budget < 0:
            return [
                AnsweredTurn(0, len(history.path), len(history.sent), missing="there was too much to go through again")
            ]
        styles = [style, *(one for one in Style if one is not style and model not in self.styles)]
        for other in styles:
            self.budget -= len(history.path)
            history.turns = []
            whole = self._best(history, history.open(), other)
            if all(one.good for one in whole) and self._unlogged(history.sent, whole) is None:
                self.styles[model] = other
                return whole
        history.turns = before
        return new

    def _best(self, history: ThreadHistory, pieces: list[SentPiece], style: Style) -> list[AnsweredTurn]:
        """The turns of the pieces: those that equal what was sent, if there are any."""
        first: list[AnsweredTurn] = []
        for unanswered in (False, True):
            sendable = history.sendable_pieces(pieces, unanswered=unanswered)
            found = list(self._turns(history, sendable, style))
            if all(one.good for one in found):
                return found
            first = first or found
        return first

    def _turns(self, history: ThreadHistory, sendable: list[SentPiece], style: Style) -> Iterator[AnsweredTurn]:
        """The pieces turn by turn. After two wrong turns in a row, the rest counts as one wrong turn."""
        start, at = (history.turns[-1].end, history.turns[-1].reached) if history.turns else (0, 0)
        turns = turns_of(sendable)
        bad = 0
        for i, pieces in enumerate(turns):
            end = _start(turns[i + 1], start) if i + 1 < len(turns) else len(history.path)
            found = self._split(history.sent, pieces, AnsweredTurn(start, end, at), style)
            bad = bad + 1 if found.wrong is not None else 0
            if bad > 1:
                yield AnsweredTurn(start, len(history.path), at, wrong=found.wrong)
                return
            yield found
            start, at = end, found.reached

    def _split(self, sent: list[str], pieces: list[SentPiece], here: AnsweredTurn, style: Style) -> AnsweredTurn:
        """A turn in the form that was sent, if one fits.

        It is tried as one turn; as two, of a session that was resumed after an unanswered prompt; and without
        reminders.
        """
        found = self._compared(sent, turn(pieces, style), here)
        if found.good:
            return found
        prompts = [i for i, p in enumerate(pieces) if i and p.role == "user" and p.kind == "row" and not _results(p)]
        for i in prompts[-_SPLITS:]:
            one = self._compared(sent, turn(pieces[:i], style), here)
            if one.good:
                other = self._compared(sent, turn(pieces[i:], style), one)
                if other.good:
                    return other
        bare = [piece for piece in pieces if piece.kind != "reminder"]
        if len(bare) < len(pieces):
            without = self._compared(sent, turn(bare, style), here)
            beyond = self.records.blob(sent[without.reached]) if without.reached < len(sent) else None
            if without.good and without.given == here.given and (beyond is None or beyond.get("role") != "system"):
                n = next(piece.n for piece in pieces if piece.kind == "reminder")
                without.missing = f"it was sent without attachments of the log (from message {n} on)"
                return without
        return found

    def _compared(self, sent: list[str], placed: list[PlacedMessage], here: AnsweredTurn) -> AnsweredTurn:
        """The turn of these messages, compared with what was sent from `here.reached` on."""
        at, given, wrong, missing = here.reached, here.given, None, ""
        for message in placed:
            own = message_hash(message.json)
            while at < len(sent) and sent[at] != own:
                copy = self.records.blob(sent[at])
                if copy is None or covers(copy, message) or not is_programs_own(copy):
                    break
                at, given = at + 1, given + 1
            if at < len(sent) and sent[at] == own:
                if self.kept is not None:
                    self.kept[own] = message.json
                at += 1
                continue
            copy = self.records.blob(sent[at]) if at < len(sent) else None
            if copy is not None and covers(copy, message):
                at, given = at + 1, given + 1
            elif is_all_loose(message):
                continue
            elif copy is None and is_loose(message) and at < len(sent):
                missing = missing or f"message {at + 1} holds words of Claude Code's own that are not in the log"
                at += 1
            else:
                wrong = wrong or _wrong(sent, at, own, message)
                at = min(at + 1, len(sent))
        return AnsweredTurn(here.start, here.end, at, given, wrong, missing)

    def _unlogged(self, sent: list[str], turns: list[AnsweredTurn]) -> SentMismatch | None:
        """The first message sent after the last turn that is neither in the log nor the program's own."""
        for at in range(turns[-1].reached if turns else 0, len(sent)):
            copy = self.records.blob(sent[at])
            if copy is None or not is_programs_own(copy):
                words = f"message {at + 1} of {len(sent)}, sent as {sent[at][:12]}, is not in the log's context"
                return SentMismatch(f"{sent[at]} ", words)
        return None


def _common(history: ThreadHistory, request: NotedRequest, sent: list[str]) -> int:
    """How many messages a request shares with the one before it."""
    if request.base and request.base == history.request:
        return request.keep
    for at, (one, other) in enumerate(zip(history.sent, sent, strict=False)):
        if one != other:
            return at
    return min(len(history.sent), len(sent))


def _start(pieces: list[SentPiece], default: int) -> int:
    """The place on the path where a turn begins."""
    return min((piece.place for piece in pieces if piece.place >= 0), default=default)


def _results(piece: SentPiece) -> bool:
    return any(block.get("type") == "tool_result" for block in piece.blocks)


def _wrong(sent: list[str], at: int, own: str, message: PlacedMessage) -> SentMismatch:
    key = f"{sent[at] if at < len(sent) else ''} {own}"
    ours = f"message {message.n} of the log ({message.role}) gives {own[:12]}"
    if at >= len(sent):
        return SentMismatch(key, f"{len(sent)} messages were sent; {ours} beyond them")
    return SentMismatch(key, f"message {at + 1} of {len(sent)} was sent as {sent[at][:12]}, {ours}")
