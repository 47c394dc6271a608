"""check: what is wrong with a log, its ops, its pairs, and what stands beside it; fsck for a transcript.

Damage comes from reading and `recovery/records.py`, misfits from `core/op_fit.py`, pairs from `core/steps.py`, proofs
from the log's format: what its program noted of the requests that it sent, beside the context that the log gives; and
what stands beside the log from `recovery/beside.py`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

from ctxkit.core.findings import Finding
from ctxkit.core.ledger import LedgerEntry
from ctxkit.core.op_fit import adrift, dangling, faults
from ctxkit.core.ops import odd_provenance
from ctxkit.errors import DamagedOp, Misfit
from ctxkit.formats.base import Proofs, ProvenLog
from ctxkit.logfile.chain_head import findings as chain
from ctxkit.logfile.open import OpenLog
from ctxkit.logfile.read import blocks_of
from ctxkit.recovery.beside import surroundings
from ctxkit.recovery.records import soundness
from ctxkit.store.accepted import accepted


def check(log: OpenLog, proved: Proofs | None = None, *, notes: bool = False) -> list[Finding]:
    """Everything that is wrong, in the order: lines, ops, messages, requests, what stands beside the log. Reads every
    op, void ones too, and every snapshot.

    `proved`: what `proofs` says of the log, where that is known already; `notes`: also what is no fault.
    """
    requests = (proofs(log) if proved is None else proved).wrong
    wrong = [Finding(f"line {one.line}", one.code, one.text, one.line) for one in requests]
    beside = [one for one in surroundings(log) if notes or not one.note]
    linked = [one for one in chain(log) if notes or not one.note]
    ops = [one for one in _ops(log) if notes or not one.note]
    return [*_lines(log), *ops, *linked, *_pairs(log), *_images(log), *wrong, *beside]


def damage(log: OpenLog) -> list[Finding]:
    """What of it is damage: of lines, and of ops in force. The list of sessions counts the same."""
    lines = [one for one in _lines(log, close=False)]
    return [*lines, *(one for one in _ops(log) if one.code in ("misfit", "damaged-op"))]


def unanswered(log: OpenLog) -> Iterator[Finding]:
    """The calls without a result, but for those of a last step."""
    return (one for one in _pairs(log) if one.code == "no-result")


def proofs(log: OpenLog) -> Proofs:
    """What the program's own notes of its requests prove of the log's own context, before any op."""
    source = log.opening.laid_out
    noted = ProvenLog(source.size, source.read, lambda row: blocks_of(log.opening, row))
    return log.opening.format.proofs(noted) or Proofs()


def _lines(log: OpenLog, *, close: bool = True) -> Iterator[Finding]:
    """`close`: with what only a close look finds."""
    for one in (*log.transcript.damage, *log.ledger.damage, *(soundness(log) if close else ())):
        yield Finding(f"line {one.line}", one.code, one.text, one.line, one.offset)
    for one in log.opening.sidecar_damage:
        yield Finding(f"ops.jsonl line {one.line}", one.code, one.text, one.line, one.offset)


def refused(log: OpenLog) -> list[LedgerEntry]:
    """The ops in force for which the log is refused: damaged, misfit, or of a target that is not there."""
    entries = log.ledger.entries
    astray = adrift(entries)
    every = (entry for entry in entries if not entry.void)
    return [one for one in every if one.number in astray or faults(one, log.transcript, log.identity)]


def undone_damage(log: OpenLog) -> list[str]:
    """The keys of ops that are damaged or misfit, and undone: they do no harm, and nothing but accepting them helps."""
    every = [entry for entry in log.ledger.entries if entry.void and faults(entry, log.transcript, log.identity)]
    return [key for entry in every if (key := _void_key(entry))]


def _void_key(entry: LedgerEntry) -> str:
    """What an undone op with a fault is accepted by: all that it holds; "" for what nothing can be told by."""
    try:
        text = json.dumps(entry.body, sort_keys=True)
    except RecursionError:
        return ""
    return f"void:{hashlib.sha256(text.encode('ascii')).hexdigest()}"


def _ops(log: OpenLog) -> Iterator[Finding]:
    earlier: dict[str, LedgerEntry] = {}
    known = accepted(log.opening.sidecar)
    for entry in log.ledger.entries:
        where = f"op {entry.number}"
        fault = faults(entry, log.transcript, log.identity)
        missing = dangling(entry, earlier)
        if entry.id:
            earlier[entry.id] = entry
        if fault is not None:
            kind, text = fault
            code = "misfit" if kind.__name__ == "Misfit" else "damaged-op"
            is_known = entry.void and _void_key(entry) in known
            said = f"{entry.name} {text}" + (" (accepted)" if is_known else "")
            yield Finding(where, code if not entry.void else f"{code}-void", said, note=is_known)
        elif missing:
            yield Finding(where, "dangling-op", f"{entry.name} {missing}")
        elif entry.op is None:
            yield Finding(where, "unknown-op", f"{entry.name!r} is not known to this ctxkit")
        elif odd := odd_provenance(entry.body):
            fields = ", ".join(f"`{field}`" for field in odd)
            text = f"{entry.name} has values of an unknown shape in fields that the replay does not read: {fields}"
            yield Finding(where, "odd-field", text, note=True)


def _images(log: OpenLog) -> Iterator[Finding]:
    """Pictures for which the provider would refuse a request of the context."""
    from ctxkit.content.images import wrong  # brings the writers

    try:
        log.state()
    except (Misfit, DamagedOp):  # which is a finding already, and there is no context
        return
    for first, text in wrong(log):
        where = "context" if first is None else f"message {first.label}"
        yield Finding(where, "refused-images", text)


def _pairs(log: OpenLog) -> Iterator[Finding]:
    """Calls without a result (those of a last step may still be running) and results without a call."""
    messages = log.messages
    if not messages:
        return
    paired: dict[str, int] = {}
    talk = max((m.n for m in messages if m.opens or m.role == "assistant"), default=0)
    orphans: list[tuple[int, str]] = []
    for message in messages:
        own = set(message.calls)  # some formats keep a call and its result in one message
        for call in message.results:
            if call in paired:
                del paired[call]
            elif call in own:
                own.remove(call)
            else:
                orphans.append((message.n, call))
        paired.update({call: message.n for call in message.calls if call in own})
    for call, n in paired.items():
        if n < talk:
            yield Finding(f"message {n}", "no-result", f"call {call} has no result")
    for n, call in orphans:
        yield Finding(f"message {n}", "no-call", f"a result for {call}, which no earlier message calls")
