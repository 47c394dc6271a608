"""Random kills of a loop of commands with a live writer: a few of the 300 that `just crashes` plays."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from ctxkit.store import durable_append
from tests.cli.runner import Ran, ctxkit
from tests.killing import rounds
from tests.killing.__main__ import figures, rate
from tests.killing.rounds import Place, play
from tests.killing.writer import rows, whole

pytestmark = pytest.mark.torture

ROUNDS = 12


def test_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that must never happen does; what is recovered is counted, and one may fail here, of 300 fifteen."""
    monkeypatch.setattr(rounds, "LONGEST", 0.2)
    monkeypatch.setattr(durable_append, "PATIENCE", 40)  # other tests may have the processors
    found = []
    for seed in range(ROUNDS):
        folder = tmp_path / str(seed)
        folder.mkdir()
        found.append(play(seed, folder, native=seed % 2 == 0))
    assert [one for one in found if one.violations] == []
    assert rate(found) > 0.9, [one.reason for one in found]
    assert sum(one.written for one in found) > ROUNDS and sum(one.ran for one in found) > 0
    assert "100.0%" in figures(found)[0] or "not recovered" in figures(found)[-1]


def cut_off(folder: Path, count: int, *, native: bool) -> Place:
    """A round whose writer was killed behind `count` rows of its first new exchange."""
    place = Place(folder, 4, native=native)
    last = place.start[-1]
    made = rows(Random(place.seed + 1), native=native, first=last.n + 1, exchange=last.exchange + 1)
    with place.log.open("ab") as log, (folder / "notes" / "rows").open("wb") as journal:
        for row in (next(made) for _ in range(count)):
            log.write(row.raw.encode() + b"\n")
            journal.write(json.dumps(row).encode() + b"\n")
    return place


@pytest.mark.parametrize("native", [True, False])
def test_the_judge_sees_what_was_not_recovered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, native: bool) -> None:
    """A recover that does nothing, and one that takes too much: neither passes."""
    (tmp_path / "good").mkdir()
    assert cut_off(tmp_path / "good", 1, native=native).judged([]).reason == ""

    def nothing(*args: Any, **more: Any) -> Ran:
        return Ran(0, b'{"op":null}', "") if args[0] == "recover" else ctxkit(*args, **more)

    def too_much(*args: Any, **more: Any) -> Ran:
        if args[0] == "recover":
            ctxkit("forget", args[1], "--last", "2x", "--yes")
            return nothing(*args)
        return ctxkit(*args, **more)

    for name, broken, said in (("no", nothing, "question without"), ("much", too_much, "whole exchanges left")):
        monkeypatch.setattr(rounds, "ctxkit", broken)
        (tmp_path / name).mkdir()
        assert said in cut_off(tmp_path / name, 1, native=native).judged([]).reason


def test_the_judge_sees_violations(tmp_path: Path) -> None:
    """Bytes that were changed, records that were lost, files that were left behind."""
    place = cut_off(tmp_path, 2, native=False)
    raw = place.log.read_bytes()
    place.log.write_bytes(raw[:-9] + raw[-8:] + b'{"ctxkit":"mark"}\n')
    (tmp_path / "tmp" / "draft").write_text("private")
    wrong = "\n".join(place.judged([0]).violations)
    for said in ("ended by itself", "not there in one piece", "another program's log", "left behind"):
        assert said in wrong
    place.log.write_bytes(raw[1:])
    assert "the start of the log was changed" in place.judged([]).violations


def test_a_short_write_is_no_whole_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The writer knows nothing of a row that it could not write."""
    monkeypatch.setattr("os.write", lambda fd, piece: len(piece) - 1)
    with pytest.raises(OSError, match="short"):
        whole(1, b"row")
