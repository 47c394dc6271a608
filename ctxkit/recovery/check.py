"""check: finds what is wrong with a log, its ops, its call-result pairs, and the files beside it.

Damage is found by reading and `recovery/records.py`, ops that do not fit by `core/op_fit.py`, calls and results without
a partner by `logfile/unpaired.py`, files beside the log by `recovery/beside.py`. The log's format compares the requests
that the program recorded with the context of the log.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from itertools import chain

from ctxkit.core.findings import Finding
from ctxkit.core.ledger import LedgerEntry
from ctxkit.core.op_fit import adrift, dangling, faults
from ctxkit.core.ops import odd_provenance
from ctxkit.core.roles import unknown
from ctxkit.errors import DamagedOp, Misfit
from ctxkit.formats.base import Proofs
from ctxkit.logfile.append import strange_roles
from ctxkit.logfile.chain_head import findings as links
from ctxkit.logfile.open import OpenLog
from ctxkit.logfile.read import proven_log
from ctxkit.logfile.unpaired import sent_alone, unpaired
from ctxkit.recovery.beside import surroundings
from ctxkit.recovery.records import soundness
from ctxkit.store.accepted import accepted
from ctxkit.store.joined import JoinedSource


def check(log: OpenLog, proved: Proofs | None = None, *, notes: bool = False) -> list[Finding]:
    """Everything that is wrong, in the order: lines, ops, messages, requests, files beside the log.

    Reads every op, also void ones, and every snapshot. `proved`: the result of `proofs`, if the caller has it already;
    `notes`: also notes, which are no faults.
    """
    requests = (proofs(log) if proved is None else proved).wrong
    wrong = [Finding(f"line {one.line}", one.code, one.text, one.line) for one in requests]
    found = chain.from_iterable(
        (
            _lines(log),
            _inherited(log),
            _ops(log),
            links(log),
            _pairs(log),
            _roles(log),
            _images(log),
            wrong,
            surroundings(log),
        )
    )
    return [one for one in found if notes or not one.note]


def _inherited(log: OpenLog) -> Iterator[Finding]:
    """Which messages stand in other files, in which the history begins."""
    if log.transcript.inherited and isinstance(log.opening.laid_out, JoinedSource):
        files = ", ".join(log.opening.laid_out.others)
        yield Finding(f"messages 1-{log.transcript.inherited}", "inherited", f"they stand in {files}", note=True)


def damage(log: OpenLog) -> list[Finding]:
    """The damage of lines and of ops in force, as the list of sessions counts it."""
    return [*_lines(log, close=False), *(one for one in _ops(log) if one.code in ("misfit", "damaged-op"))]


def unanswered(log: OpenLog) -> Iterator[Finding]:
    """The calls without a result, except those of a last step."""
    return (
        Finding(f"message {one.n}", one.code, one.text) for one in unpaired(log.messages) if one.code == "no-result"
    )


def proofs(log: OpenLog) -> Proofs:
    """Compares the requests that the program recorded with the log's own context, before any op."""
    return log.opening.format.proofs(proven_log(log.opening)) or Proofs()


def _lines(log: OpenLog, *, close: bool = True) -> Iterator[Finding]:
    """Damage of lines. `close`: also what only `recovery/records.py` finds."""
    broken = log.transcript.broken
    if close:
        broken = [*(one for one in broken if one.code == "missing-history"), *soundness(log)]
    for one in sorted((*log.transcript.damage, *log.ledger.damage, *broken), key=lambda one: (one.file, one.line)):
        yield Finding(one.place, one.code, one.text, one.line, one.offset, one.note)
    for one in log.opening.sidecar_damage:
        yield Finding(f"ops.jsonl line {one.line}", one.code, one.text, one.line, one.offset)


def refused(log: OpenLog) -> list[LedgerEntry]:
    """The ops in force for which the log is refused: damaged, not fitting, or of a missing target."""
    entries = log.ledger.entries
    astray = adrift(entries)
    every = (entry for entry in entries if not entry.void)
    return [one for one in every if one.number in astray or faults(one, log.transcript, log.identity)]


def undone_damage(log: OpenLog) -> list[str]:
    """The keys of undone ops that are damaged or do not fit: they do no harm, and can only be accepted."""
    every = [entry for entry in log.ledger.entries if entry.void and faults(entry, log.transcript, log.identity)]
    return [key for entry in every if (key := _void_key(entry))]


def _void_key(entry: LedgerEntry) -> str:
    """The key by which an undone op with a fault is accepted: a digest of the op; "" if it cannot be digested."""
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
        if log.opening.owner and not log.opening.own and not entry.line.sidecar:
            text = f"{entry.name} stands in a file of {log.opening.owner}, which may fail to read it"
            text += "; if it is yours: --own"
            yield Finding(f"line {entry.line.line}", "op-in-session", text)
        fault = faults(entry, log.transcript, log.identity)
        missing = dangling(entry, earlier)
        if entry.id:
            earlier[entry.id] = entry
        if fault is not None:
            kind, text = fault
            code = "misfit" if kind.__name__ == "Misfit" else "damaged-op"
            is_known = entry.void and _void_key(entry) in known
            words = f"{entry.name} {text}" + (" (accepted)" if is_known else "")
            yield Finding(where, code if not entry.void else f"{code}-void", words, note=is_known)
        elif missing:
            yield Finding(where, "dangling-op", f"{entry.name} {missing}")
        elif entry.op is None:
            yield Finding(where, "unknown-op", f"{entry.name!r} is not known to this ctxkit")
        elif odd := odd_provenance(entry.body):
            fields = ", ".join(f"`{field}`" for field in odd)
            text = f"{entry.name} has values of an unknown shape in fields that the replay does not read: {fields}"
            yield Finding(where, "odd-field", text, note=True)


def _roles(log: OpenLog) -> Iterator[Finding]:
    """Roles of which providers know nothing."""
    for role, numbers in strange_roles(log).items():
        where = f"message{'s' * (len(numbers) != 1)} {numbers}"
        yield Finding(where, "unknown-role", unknown(role), note=True)


def _images(log: OpenLog) -> Iterator[Finding]:
    """Pictures for which the provider would refuse a request of the context, and those that are called what they are
    not.
    """
    from ctxkit.content.images import misnamed, reasons  # imports the writers

    try:
        log.state()
    except (Misfit, DamagedOp):  # this is a finding already, and there is no context
        return
    for first, text in reasons(log):
        where = "context" if first is None else f"message {first.label}"
        yield Finding(where, "refused-images", text)
    for label, text in misnamed(log):
        yield Finding(f"message {label}", "misnamed-image", text, note=True)


def _pairs(log: OpenLog) -> Iterator[Finding]:
    """What the log's program sends of its context and the provider refuses; then, as notes, all other calls without a
    result and results without a call.
    """
    try:
        stopping = sent_alone(log)
    except (Misfit, DamagedOp):  # this is a finding already, and there is no context
        stopping = []
    for one in stopping:
        words = f"{one.text}: its program sends it so, and the provider refuses the request"
        yield Finding(f"message {one.n}", one.code, words)
    told = {(one.n, one.code, one.call) for one in stopping}
    for one in unpaired(log.messages, last=True):
        if (one.n, one.code.replace("open-call", "no-result"), one.call) not in told:
            yield Finding(f"message {one.n}", one.code, one.text, note=True)
