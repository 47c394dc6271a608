"""A run of `fleet map` with a ledger: what is done stays done, and the rows are those of a run that nothing ended."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ctxkit.errors import CannotCreate, ExitCode, Locked, Usage
from ctxkit.fleet.engines import local
from ctxkit.fleet.functions import FileRows, MapCall, call_of
from ctxkit.fleet.mapping import DoneFiles, run
from ctxkit.fleet.sources import SourceFile, listed
from tests.fleet.mixed import filled

OWN = "tests.fleet.own"


class Engine:
    """The local engine, which remembers what it did; it ends by an error at the file number `end`."""

    def __init__(self, end: int | None = None) -> None:
        self.end = end
        self.did: list[str] = []

    def __call__(self, call: MapCall, files: Sequence[SourceFile]) -> Iterator[tuple[SourceFile, FileRows]]:
        for n, (file, answer) in enumerate(local.run(call, files, 1)):
            if n == self.end:
                raise KeyboardInterrupt
            self.did.append(file.name)
            yield file, answer


def sources(folder: Path) -> list[SourceFile]:
    """The files of a folder."""
    return list(listed([str(folder)]))


def test_order(tmp_path: Path) -> None:
    """Rows come in the order of the files, with a ledger and without."""
    files, call = sources(filled(tmp_path / "logs", 12)), call_of("status", {})
    plain = list(run(call, files, Engine()))
    assert [file for file, _ in plain] == files
    assert list(run(call, files, Engine(), DoneFiles(tmp_path / "ledger", call))) == plain
    again = Engine()
    assert list(run(call, files, again, DoneFiles(tmp_path / "ledger", call))) == plain
    assert again.did == []


@pytest.mark.parametrize("end", [0, 1, 5, 13])  # of 14 files
def test_a_run_that_was_killed(tmp_path: Path, end: int) -> None:
    """The next one goes on with the files that are not there, and gives the same rows."""
    files, call = sources(filled(tmp_path / "logs", 12)), call_of("status", {})
    plain = list(run(call, files, Engine()))
    first, second = Engine(end), Engine()
    with pytest.raises(KeyboardInterrupt):
        list(run(call, files, first, DoneFiles(tmp_path / "ledger", call)))
    assert list(run(call, files, second, DoneFiles(tmp_path / "ledger", call))) == plain
    assert first.did + second.did == [file.name for file in files] and len(first.did) == end


def test_files_that_changed(tmp_path: Path) -> None:
    """A file that changed, and a new one, are done; the others are not; one that is gone has no rows."""
    folder, call = filled(tmp_path / "logs", 6), call_of("status", {})
    list(run(call, sources(folder), Engine(), DoneFiles(tmp_path / "ledger", call)))
    (folder / "001.jsonl").write_text('{"role":"user","content":"another"}\n')
    (folder / "new.jsonl").write_text('{"role":"user","content":"new"}\n')
    (folder / "002.jsonl").unlink()
    engine = Engine()
    found = list(run(call, sources(folder), engine, DoneFiles(tmp_path / "ledger", call)))
    assert sorted(Path(name).name for name in engine.did) == ["001.jsonl", "new.jsonl"]
    assert found == list(run(call, sources(folder), Engine()))


def test_failures_that_may_pass(tmp_path: Path) -> None:
    """A file whose process died is done again; one that is broken is not."""
    folder = filled(tmp_path / "logs", 2)
    call = call_of(f"{OWN}:killed", {"folder": str(tmp_path)})
    files = sources(folder)

    def broken(call: MapCall, files: Sequence[SourceFile]) -> Iterator[tuple[SourceFile, FileRows]]:
        for file in files:
            code = ExitCode.TRY_AGAIN if "000" in file.name else ExitCode.REFUSED
            yield file, FileRows(b"{}\n", int(code))

    list(run(call, files, broken, DoneFiles(tmp_path / "ledger", call)))
    engine = Engine()
    found = dict(run(call, files, engine, DoneFiles(tmp_path / "ledger", call)))
    assert [Path(name).name for name in engine.did] == ["000.jsonl"]
    assert found[files[1]] == FileRows(b"{}\n", int(ExitCode.REFUSED))


def test_a_source_without_a_stamp(tmp_path: Path) -> None:
    """Where nothing tells whether a file changed, it is done again."""
    files = [file for file in sources(filled(tmp_path / "logs", 2)) if file.name.endswith("1.jsonl")]
    bare = [SourceFile(file.name) for file in files]
    call, engine = call_of("status", {}), Engine()
    for _ in range(2):
        list(run(call, bare, engine, DoneFiles(tmp_path / "ledger", call)))
    assert len(engine.did) == 2


@pytest.mark.parametrize("damage", [b"", b"{torn", b'{"file": 1}\n', b"\xff\n", None])
def test_a_damaged_ledger(tmp_path: Path, damage: bytes | None) -> None:
    """What stands from there on is done again; None: it ends within the rows of the last file."""
    files, call = sources(filled(tmp_path / "logs", 4)), call_of("status", {})
    plain = list(run(call, files, Engine(), DoneFiles(tmp_path / "ledger", call)))
    path = tmp_path / "ledger/done.jsonl"
    first = path.read_bytes().partition(b"\n")[0] + b"\n"
    path.write_bytes(path.read_bytes()[:-3] if damage is None else first + damage)
    engine = Engine()
    assert list(run(call, files, engine, DoneFiles(tmp_path / "ledger", call))) == plain
    assert len(engine.did) == (len(files) if damage is not None else 1)
    assert list(run(call, files, Engine(0), DoneFiles(tmp_path / "ledger", call))) == plain


def test_one_run_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second one with the same ledger is refused."""
    monkeypatch.setattr("ctxkit.fleet.mapping.PATIENCE", 0.01)
    call = call_of("status", {})
    with DoneFiles(tmp_path / "ledger", call), pytest.raises(Locked):
        DoneFiles(tmp_path / "ledger", call)
    DoneFiles(tmp_path / "ledger", call)


def test_another_call(tmp_path: Path) -> None:
    """A ledger is of one call: its function, its options; the error says what differs."""
    folder = tmp_path / "ledger"
    DoneFiles(folder, call_of("status", {}))
    before = (folder / "done.jsonl").read_bytes()
    for call, differs in ((call_of("check", {}), "function"), (call_of("status", {"limit": "5k"}), "options")):
        with pytest.raises(Usage, match=f"which differs in its {differs}: nothing was done"):
            DoneFiles(folder, call)
    (folder / "done.jsonl").write_text("mine")
    with pytest.raises(Usage, match="is no ledger"):
        DoneFiles(folder, call_of("status", {}))
    (folder / "done.jsonl").write_bytes(before)
    DoneFiles(folder, call_of("status", {}))


def test_a_module_that_changed(tmp_path: Path) -> None:
    """Rows of a function whose module changed since are of no use."""
    module, call = tmp_path / "module_of_a_ledger.py", "module_of_a_ledger:f"
    module.write_text("def f(data, name, config):\n    return []\n")
    try:
        DoneFiles(tmp_path / "ledger", call_of(call, {}, str(tmp_path)))
        module.write_text("def f(data, name, config):\n    return [{}]\n")
        with pytest.raises(Usage, match="which differs in its module: nothing was done"):
            DoneFiles(tmp_path / "ledger", call_of(call, {}, str(tmp_path)))
    finally:
        sys.modules.pop("module_of_a_ledger", None)


def test_folders_that_are_no_ledger(tmp_path: Path) -> None:
    """A folder with other files is refused, and one that cannot be made is an error."""
    (tmp_path / "file").write_text("mine")
    with pytest.raises(Usage, match="is no ledger: nothing was done"):
        DoneFiles(tmp_path, call_of("status", {}))
    with pytest.raises(CannotCreate):
        DoneFiles(tmp_path / "file" / "below", call_of("status", {}))
    assert os.listdir(tmp_path) == ["file"]


def test_a_ledger_is_its_user_s_alone(tmp_path: Path) -> None:
    """With any umask, the folders above it too: it holds rows of transcripts."""
    before = os.umask(0)
    try:
        DoneFiles(tmp_path / "new/ledger", call_of("status", {}))
    finally:
        os.umask(before)
    made = (tmp_path / "new", tmp_path / "new/ledger", *(tmp_path / "new/ledger").iterdir())
    assert [stat.S_IMODE(one.stat().st_mode) for one in made] == [0o700, 0o700, 0o600]
