"""salvage: a clean copy in a new file, private, and a report of every range that it does not have."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tests.cli.runner import FOREIGN, ROOT, SMALL, ctxkit, good, lines, message, shell

ROWS = SMALL.splitlines(keepends=True)
TORN = b"".join([ROWS[0], b'{"role":"us', *ROWS[1:4], b"\0" * 7, *ROWS[4:], b'{"ty'])


def log(folder: Path, raw: bytes = TORN, name: str = "chat.jsonl") -> Path:
    """A log with that in it."""
    path = folder / name
    path.write_bytes(raw)
    return path


def test_a_clean_copy(tmp_path: Path) -> None:
    """Whole, of the owner alone; the log is as it was; the report on standard error, a line a range."""
    path, new = log(tmp_path), tmp_path / "new.jsonl"
    os.umask(0)
    try:
        ran = good("salvage", path, "-o", new)
    finally:
        os.umask(0o022)
    assert ran.out == b"" and new.read_bytes() == SMALL and path.read_bytes() == TORN
    assert stat.S_IMODE(new.stat().st_mode) == 0o600
    at = len(ROWS[0])
    nul = at + 11 + sum(map(len, ROWS[1:4]))
    assert ran.err.splitlines() == [
        f"{path}:2: torn-prefix: bytes {at} to {at + 11}: not taken: 11 bytes of a record cut off before another",
        f"{path}:5: nul-block: bytes {nul} to {nul + 7}: not taken: 7 NUL bytes, {nul} to {nul + 7}",
        f"{path}:{len(ROWS) + 1}: torn-tail: bytes {len(TORN) - 4} to {len(TORN)}: not taken: the last 4 bytes are a "
        "record cut off",
        f"wrote {new}: {len(ROWS)} records, {len(SMALL):,} bytes; 22 bytes left out",
    ]
    assert ctxkit("check", path).code == 1 and good("check", new).err.endswith("nothing found\n")
    assert good("show", new).out == good("show", path).out
    assert sorted(os.listdir(tmp_path)) == ["chat.jsonl", "new.jsonl"]


def test_json(tmp_path: Path) -> None:
    """An object a range, and one of all."""
    ran = good("salvage", log(tmp_path), "-o", tmp_path / "new.jsonl", "--json", "-q")
    *ranges, found = ran.values
    assert [(one["code"], one["size"], one["line"], one["kind"]) for one in ranges] == [
        ("torn-prefix", 11, 2, "left"), ("nul-block", 7, 5, "left"), ("torn-tail", 4, len(ROWS) + 1, "left"),
    ]  # fmt: skip
    assert set(ranges[0]) == {"offset", "size", "line", "kind", "code", "text"}
    assert found == {"records": len(ROWS), "size": len(SMALL), "left": 22, "equal": False} and ran.err == ""


def test_never_over_a_file(tmp_path: Path) -> None:
    """Neither another one, nor a link, nor the log itself, by whatever name."""
    path, other = log(tmp_path), log(tmp_path, b"mine", "other")
    os.symlink("nowhere", tmp_path / "link")
    os.link(path, tmp_path / "again")
    for name in ("chat.jsonl", "other", "link", "again", "."):
        ran = ctxkit("salvage", path, "-o", tmp_path / name)
        assert (ran.code, ran.out) == (73, b"") and "exists already: nothing was written" in ran.err
    assert path.read_bytes() == TORN and other.read_bytes() == b"mine"
    assert not os.path.lexists(tmp_path / "nowhere")
    ran = shell("ctxkit salvage chat.jsonl -o - >>chat.jsonl", tmp_path)
    assert ran.code == 73 and path.read_bytes() == TORN
    ran = ctxkit("salvage", path, "-o", tmp_path / "none" / "new")
    assert ran.code == 73 and "mkdir -p" in ran.err


def test_in_a_pipe(tmp_path: Path) -> None:
    """From standard input to standard output."""
    ran = good("salvage", "-", "-o", "-", stdin=TORN)
    assert ran.out == SMALL and "standard input:2: torn-prefix: bytes " in ran.err
    assert ran.err.endswith("bytes; 22 bytes left out\n") and "wrote standard output: " in ran.err


def test_a_sound_log(tmp_path: Path) -> None:
    """An equal copy, and it says so."""
    new = tmp_path / "new.jsonl"
    ran = good("salvage", log(tmp_path, SMALL), "-o", new)
    assert new.read_bytes() == SMALL
    assert ran.err == f"wrote {new}: {len(ROWS)} records, {len(SMALL):,} bytes: nothing is damaged; the copy is equal\n"
    assert good("salvage", log(tmp_path, SMALL), "-o", tmp_path / "2", "--json").values[-1]["equal"] is True


def test_ops_of_a_sidecar(tmp_path: Path) -> None:
    """They stay; a copy of the sidecar gives them to the copy, where they fit."""
    rows = FOREIGN.splitlines(keepends=True)
    path, new = log(tmp_path, b'{"ty' + FOREIGN, "s.jsonl"), tmp_path / "new.jsonl"
    good("forget", path, "2")
    ran = good("salvage", path, "-o", new)
    ops = tmp_path / "s.jsonl.ctxkit" / "ops.jsonl"
    assert ran.err.splitlines()[-1] == f"its ops stay in {ops}: copy that folder to {new}.ctxkit to have them too"
    assert new.read_bytes() == FOREIGN and len(rows) > 2
    os.rename(tmp_path / "s.jsonl.ctxkit", tmp_path / "new.jsonl.ctxkit")
    assert good("show", new).out != good("show", path).out
    assert 2 not in [one["n"] for one in good("show", new, "--json").values if "n" in one]


def test_what_is_no_log(tmp_path: Path) -> None:
    """Refused, and nothing is written."""
    for raw in (b"buy milk\n", "UTF-16".encode("utf-16"), b'{"messages":[{"role":"user","content":"a"},]} so'):
        ran = ctxkit("salvage", log(tmp_path, raw), "-o", tmp_path / "new")
        assert ran.code == 65 and ran.out == b"" and not (tmp_path / "new").exists()
    assert "it is one JSON text, and damaged" in ran.err or "is one JSON text, and damaged" in ran.err


def test_what_only_a_tolerant_reader_takes(tmp_path: Path) -> None:
    """It is written so that every program takes it."""
    raw = lines(message("user", "a"), message("assistant", "b")).replace(b'"b"', b'"b\xff\t"')
    ran = good("salvage", "-", "-o", "-", stdin=raw)
    assert ran.out == raw.replace(b'"b\xff\t"', b'"b\\udcff\\u0009"')
    assert "bad-utf8: bytes " in ran.err and ": mended: " in ran.err and "0 bytes left out" in ran.err


def test_sound_json_that_cannot_be_read(tmp_path: Path) -> None:
    """What `check` names is not called undamaged: the copy is equal, and reads no better."""
    path = log(tmp_path, (ROOT / "fixtures/fuzz/found/codex-type-no-word.jsonl").read_bytes())
    assert "unreadable" in ctxkit("check", path).text
    said = good("salvage", path, "-o", tmp_path / "new.jsonl").err
    assert "nothing is damaged" not in said
    assert "every record is sound JSON; the copy is equal; 2 lines have findings that ctxkit check lists" in said
