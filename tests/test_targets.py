"""What a target leaves: what was found by hand, and a few real files; `python -m tests.targets` takes all of them."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.errors import NothingChanges
from tests.compacts import Case
from tests.effort import some
from tests.shared import shared
from tests.targets import FINDINGS, Seen, giant, made, opened, read, says, sweep, talk, user
from tests.trims import MODEL

TARGETS = (2, 7, 8, 20, 50, 90, 99)
FILES = ("claude-code/06-omp-model-fallback.jsonl", "swe-agent/03-ctf-web.traj")


def holds(seen: Seen) -> None:
    """A smaller target never leaves more, and what is left is what was asked for, where there is room."""
    assert not seen.rises() and not seen.far(), (seen.rises(), seen.far())


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", FINDINGS)
def test_what_was_found(name: str) -> None:
    """Monotone and continuous, with a giant message wherever it stands."""
    holds(sweep(FINDINGS[name](), some(TARGETS, 2, [*FINDINGS].index(name))))


@pytest.mark.covering("place", "short", "target", pairs=True)
@pytest.mark.parametrize("target", [8, 29, 60, 98])
@pytest.mark.parametrize("lines", [True, False])
@pytest.mark.parametrize("short", [3, 40])
@pytest.mark.parametrize("place", [0, 2, 5])
def test_a_giant_among_short_messages(place: int, short: int, lines: bool, target: int) -> None:
    """Shortened as far as was asked, also where the others are too short for a summary; what is in the way is named."""
    log = giant(place, lines, short)
    seen = sweep(log, (target, target + 1))
    holds(seen)
    assert any("the messages that stay (1" in note for note in log.notes) or seen.left[-1].after <= seen.left[-1].goal


@pytest.mark.parametrize("repeats", [1000, 4000])
def test_more_room_takes_no_lines(repeats: int) -> None:
    """A long result with hardly a line worth telling does not take the room of all older lines once it fits whole."""
    long = {"role": "tool", "tool_call_id": "c90", "content": "again and again\n" * repeats}
    reads = [row for n in range(20) for row in read(n, 300)]
    rows = [user(50), *reads, read(90, 3)[0], long, *read(91, 30), *read(92, 30)]
    lines = {line for row in reads if row["role"] == "tool" for line in row["content"].split("\n")}
    found = []
    for target in (50, 60, 65, 70, 80, 95):
        log = made(*rows)
        op = log.compact(target=target)
        assert op is not None
        log.look_through(op)
        said = "\n".join(str(log.full(one)) for one in log.entries())
        found.append(sum(line in said for line in lines))
    assert found == sorted(found) and found[-1] == found[-2] > 0.99 * len(lines)


CHAINS = {
    "a giant first": ([user(6000), *talk(9)], (3, 6)),
    "a newest message of each": (
        [user(50), *talk(6), user(6000, 50), *talk(8), user(5000, 51), *talk(8, 400)],
        (8, 17),
    ),
    "a newest result of each": ([user(50), *talk(6), *read(3, 6000), *talk(8), *read(4, 5000), *talk(8)], (9, 19)),
    "a giant behind few": ([user(50), says(50), user(6000, 4), says(400), user(30), says(30)], (3, 4)),
}
"""Messages, and where an earlier compact came."""


@pytest.mark.parametrize("target", [25, 50])
@pytest.mark.parametrize("name", CHAINS)
def test_a_chain_of_three_is_the_single_one(name: str, target: int, tmp_path: Path) -> None:
    """Stubs of an earlier compact are made anew from the originals, as summaries are: also where there is more room."""
    rows, cuts = CHAINS[name]
    found = []
    for ends in (cuts, ()):
        path = tmp_path / f"{len(ends)}.jsonl"
        for start, end in pairwise((0, *ends, len(rows))):
            with path.open("ab") as file:
                file.writelines(json.dumps(row).encode() + b"\n" for row in rows[start:end])
            log = Log.open(path, env={"CTXKIT_MODEL": MODEL})
            assert log.compact(target=target) is not None
        log = Log.open(path, env={"CTXKIT_MODEL": MODEL})
        found.append([log.text(name) for name in log.names()])
    assert found[0] == found[1]


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_real_files(name: str) -> None:
    """The same of real sessions."""
    holds(sweep(opened(Case(shared(f"transcripts/{name}"))), some((1, 2, 3, *TARGETS), 2)))


def appends_nothing(log: Log, target: int) -> bool:
    """Whether a compact to the same target again changes nothing: it counts from the originals, as the first did."""
    log.dry_run = False
    log.config = log.config.given({"compact.cooldown": "off"})
    try:
        log.compact(target=target)
    except NothingChanges:
        return True
    try:
        return log.compact(target=target) is None
    except NothingChanges:
        return True


@pytest.mark.one_in(3, first=1)
@pytest.mark.slow
@pytest.mark.parametrize("name", FINDINGS)
def test_twice_the_same_target(name: str) -> None:
    """What a target leaves is all that it comes to: nobody gets less by asking again."""
    assert appends_nothing(FINDINGS[name](), 1)


@pytest.mark.slow
@pytest.mark.parametrize("target", [1, 12])
@pytest.mark.parametrize("name", [*FILES, "claude-code/09-omp-tiny-broken-pairs.jsonl"])
def test_twice_on_real_files(name: str, target: int) -> None:
    """The same of real sessions."""
    assert appends_nothing(opened(Case(shared(f"transcripts/{name}"))), target)


def test_what_is_wrong_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """The law can fail: a compact that asks for other targets is far off, and leaves more for less."""
    compact = Log.compact
    monkeypatch.setattr(Log, "compact", lambda log, target, **asked: compact(log, target=100 - target, **asked))
    seen = sweep(FINDINGS["giant only, one line"](), (20, 50, 90))
    assert len(seen.rises()) == 2 and len(seen.far()) == 2
