"""ctxkit scan: find secrets in a log, in the files beside it, and in any text."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ctxkit.cli.log_access import opened
from ctxkit.cli.options import LogArgument, ManyLogs, Reading, takes
from ctxkit.cli.terminal import layout, streams
from ctxkit.cli.terminal.style import ERROR, Styled
from ctxkit.core.text.redaction import kinds as known_kinds
from ctxkit.errors import ExitCode, ManyConversations, UnknownFormat
from ctxkit.formats.unsupported import PACKED
from ctxkit.search.secret_scan import FoundSecret, in_text, secrets_in
from ctxkit.store.source import Source


@takes(ManyLogs, Reading)
def command(
    log: LogArgument = "-",
    *,
    kinds: bool = False,
    reading: Reading,
) -> int:
    """Find secrets (keys, tokens, passwords) in a log, its ops, its config and its snapshots.

    A log only grows: what is forgotten is out of the context and stays in the file. Each finding says where it is (the
    message by its number, and the text, argument or result in it), its kind, its first letters and its length, and
    whether it is in the context or only in the file. Secrets are known by how they are written; --kinds lists the
    kinds. A file that is no log is read as plain text, and a finding has its line: so it can run before a commit. Exit
    0: nothing was found; 1: something was found; from 65 on: not all was looked at. With -q the exit code alone tells.
    Nothing is changed, and no secret is printed.
    """
    if kinds:
        return _print_kinds(json=reading.json)
    held: list[Source] = []
    try:
        target = opened(log, reading, command="scan", report=False, before=held.append, tolerant=True)
    except (UnknownFormat, ManyConversations):
        data = b"".join(held[0].chunks()) if held else b""
        if not held or reading.from_ is not None or data.startswith(tuple(PACKED)):  # "0 secrets" would not be true
            raise
        return _report(log, list(in_text(data)), reading)
    target.redactor = None  # only what is printed is without secrets
    return _report(target.opening.name, list(secrets_in(target)), reading)


def _report(name: str, found: Sequence[FoundSecret], reading: Reading) -> int:
    """Print the findings, unless --quiet; the exit status."""
    status = int(ExitCode.NO if found else ExitCode.DONE)
    if reading.quiet:
        return status
    for one in found:
        place = one.file or name
        if reading.json:
            value = msgspec.to_builtins(one) | {"line": one.line or None, "message": one.message or None}
            streams.out_json({"log": name, **value, "file": place})
            continue
        where = f"message {one.message}" if one.message else f"line {one.line}" if one.line else ""
        words = ", ".join(filter(None, (where, one.where)))
        kept = "" if one.in_context is None else ", in the context" if one.in_context else ", only in the file"
        spans = [f"{words}: "] if words else []
        streams.out(Styled(place, "bold"), ": ", *spans, Styled(one.masked, ERROR), f" ({one.kind}){kept}", hang=2)
    if reading.json and not found:
        streams.out_json({"log": name, "secrets": 0})
    inside, apart = sum(one.in_context is True for one in found), sum(one.in_context is False for one in found)
    of = f": {inside:,} in the context, {apart:,} only in files" if inside or apart else ""
    streams.flush()
    streams.sum_up(f"{layout.count(len(found), 'secret')} found{of}")
    if found:
        streams.hint("revoke them: forget takes a message out of the context, and the file keeps it; --redact leaves "
                     "them out of what is exported")  # fmt: skip
    return status


def _print_kinds(*, json: bool) -> int:
    for one in known_kinds():
        if json:
            streams.out_json(one._asdict())
        else:
            maker = f" ({one.maker})" if one.maker else ""
            shape = f": {one.shape}" if one.shape else ""
            streams.out(Styled(one.name, "bold"), f": {one.what}{maker}{shape}", hang=2)
    return int(ExitCode.DONE)
