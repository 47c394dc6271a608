"""Every call of the append protocol fails in every way, and no promise is broken; a naive appender breaks many."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ctxkit.errors import WriteFailed
from ctxkit.store.durable_append import append_line, create_log
from ctxkit.store.sidecar import Sidecar
from ctxkit.store.source import open_log
from tests.effort import one_of
from tests.faults import Record, run_matrix, table

pytestmark = pytest.mark.torture

EVERY = 9
"""Of some hundred points of each start, evenly over calls and faults; all of them at night."""
LINE = b'{"ctxkit":"mark","v":1,"id":"b0123456789a","label":"a label of some length"}'


def is_ours(record: Record) -> bool:
    """The record that the operations of this module append."""
    return record.get("id") == "b0123456789a"


def append(log: Path) -> None:
    """Appends without having read."""
    append_line(log, LINE)


def append_after_reading(log: Path) -> None:
    """Appends as commands do: against what was seen, and with a look at what came since."""
    with open_log(log) as source:
        seen = source.seen
    with open(log, "ab") as other:
        other.write(b'\n{"role":"user","content":"from another program"}\n')
    append_line(log, LINE, seen, lambda source, start: None)


def create_and_append(log: Path) -> None:
    """A log that is not there yet."""
    fresh = log.with_name("fresh.jsonl")
    if not os.path.exists(fresh):
        create_log(fresh)
    append_line(fresh, LINE)


def append_to_sidecar(log: Path) -> None:
    """The ops of a log that another program owns."""
    Sidecar(log).append(LINE)


def naive(log: Path) -> None:
    """What everybody writes first: no look at the end, two writes, no look at what they return."""
    try:
        fd = os.open(log, os.O_WRONLY | os.O_APPEND)
        os.write(fd, LINE)
        os.write(fd, b"\n")
        os.close(fd)
    except OSError as error:
        raise WriteFailed(str(error)) from error


OPERATIONS: dict[str, tuple[Callable[[Path], None], Callable[[Path], Path]]] = {
    "append": (append, lambda log: log),
    "append to grown": (append_after_reading, lambda log: log),
    "create, append": (create_and_append, lambda log: log.with_name("fresh.jsonl")),
    "sidecar": (append_to_sidecar, lambda log: Sidecar(log).ops_path),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_no_fault_breaks_a_promise(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Killed, failing or cut short at any call: nothing acknowledged is lost, nothing old is changed."""
    operation, written = OPERATIONS[name]
    starts = None if name in ("append", "append to grown") else {"clean": b'{"role":"user","content":"one"}\n'}
    tallies = run_matrix(operation, is_ours, tmp_path, name=name, starts=starts, written=written, every=one_of(EVERY))
    print(table(tallies))
    assert [violation for tally in tallies for violation in tally.violations] == []
    assert sum(tally.fired for tally in tallies) > 0.9 * sum(tally.runs for tally in tallies)


@pytest.mark.full("the harness itself")
def test_the_harness_catches_a_naive_appender(tmp_path: Path) -> None:
    """Otherwise it would prove nothing: torn tails, short writes and kills between two writes must all be seen."""
    tallies = run_matrix(naive, is_ours, tmp_path, name="naive")
    print(table(tallies))
    found = [violation for tally in tallies for violation in tally.violations]
    assert len(found) > 20
    for words in ("acknowledged, and not there", "the second try is acknowledged, and not there"):
        assert any(words in violation for violation in found)
