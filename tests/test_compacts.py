"""Compaction of real files: a few of the smaller ones of each format; `python -m tests.compacts` takes all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxkit import Log
from tests.compacts import Case, Wrong, cases, one, run
from tests.shared import shared
from tests.trims import FOLDERS, OWN

LARGEST = 700_000
"""Bytes of a file that the suite takes: the whole lot is minutes."""
GUIDE = Path(__file__).parent.parent / "fixtures/guide/session.jsonl"


@pytest.mark.slow
@pytest.mark.parametrize("name", FOLDERS[:-1])
def test_files(name: str) -> None:
    """The target met or its floor said, valid for every provider, read again as it is, the same twice, undone."""
    shared(f"transcripts/{name}")
    found = list(cases([name], LARGEST, 2))
    if not found:
        pytest.skip(f"there is no file of {name} that ctxkit reads and that is small enough")
    for case in found[:2]:
        run(case, (25,))
    run(found[-1], (10, 60), ("extract",))


@pytest.mark.parametrize(
    "path", [path for path in OWN if path.name != "requests.json"], ids=lambda path: str(path.name)
)
def test_files_of_ours(path: Path) -> None:
    """Formats that no folder has, and the guide's."""
    run(Case(path), (10, 40))


@pytest.mark.parametrize("name", ["size", "floor", "undo", "twice"])
def test_what_is_wrong_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The checks can fail: sizes that differ, a floor that is not said, an undo that does nothing, another summary."""
    case = Case(GUIDE)
    log, whole = case.open(), case.open()
    compact = Log.compact
    made: list[int] = []

    def wrong(log: Log, *args: object, **asked: object) -> object:
        op = compact(log, *args, **asked)  # type: ignore[arg-type]  # passes on what it was given
        made.append(1)
        if name == "floor":
            log.notes = [*log.notes, "the target cannot be reached"]
        if name == "twice" and len(made) == 2 and op is not None:
            op.text = f"{op.text}!"  # type: ignore[union-attr]  # a compact has one
        return op

    one(case, log, whole, 40, "extract")
    monkeypatch.setattr(Log, "compact", wrong)
    if name == "size":
        monkeypatch.setattr(Log, "status", lambda log, **asked: whole_status(whole))
    if name == "undo":
        monkeypatch.setattr(Log, "undo", lambda log: None)
    with pytest.raises(Wrong):
        one(case, log, whole, 40, "extract")


STATUS = Log.status


def whole_status(log: Log) -> object:
    """That of the whole log."""
    return STATUS(log, assembly=False)
