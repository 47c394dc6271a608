"""Every command on sessions of every format: with a name that nobody should give a file, and with damage in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ctxkit.cli.registry import COMMANDS
from tests.cli.hostile import bad_characters
from tests.cli.runner import Ran, ctxkit, process
from tests.damage.rows import NULS, damaged, lines
from tests.damage.sessions import ALL, LINES, Session

NAME = os.fsdecode(b"- new\nline \x1b[31m\xff \xe2\x80\xae\xc3\xbc $(id) 'x' .jsonl")
CALLS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # command: options, and what stands behind the log; in an order in which each finds something to do
    "show": ((), ()), "status": ((), ()),
    "why": ((), ("2",)), "recall": (("--json",), ("question",)),
    "cat": ((), ()), "check": ((), ()), "scan": ((), ()), "export": (("--to", "anthropic"), ()), "config": ((), ()),
    "resume": (("--to", "codex", "--cwd", ".", "--dry-run"), ()), "sessions": (("--grep", "."), ()),
    "init": ((), ()), "add": (("--role", "user"), ("more",)),
    "snapshot": (("-m", "here"), ()), "snapshots": ((), ()), "restore": (("--replace",), ("latest",)),
    "mark": ((), ("here",)), "forget": ((), ("3",)), "edit": (("--print",), ()),
    "protect": ((), ("4",)), "remember": ((), ("1-6",)), "window": ((), ("8h",)),
    "undo": ((), ()), "rewind": ((), ("here",)), "clear": ((), ()), "log": ((), ()),
    "diff": ((), ()), "compact": (("--force", "--keep-last", "0"), ()), "trim": (("--max-tokens", "60"), ()),
    "recover": (("--yes",), ()), "tool": (("call",), ("-",)),
    "watch": (("--once",), ()), "metrics": ((), ()), "memory": (("extract",), ()),
    "fleet": (("ingest", "-o", "out"), ()), "sql": ((), ("from messages",)),
}  # fmt: skip
ALSO = {
    "add": {0, 65},
    "diff": {0, 1},
    "init": {73},
    "rewind": {0, 1},
    "trim": {0, 1},
    "compact": {0, 1},
}
"""Exit codes other than 0: it differs; a log of another program gets no message; a log is there; no more can go."""


def test_all_commands_are_called() -> None:
    """Those that take a log."""
    assert set(CALLS) == set(COMMANDS) - {"help"}


def run(command: str, name: str) -> Ran:
    """One command; `--` ends the options, so that a name may begin as one."""
    options, words = CALLS[command]
    return ctxkit(command, *options, "--", name, *words)


def fill(folder: Path, session: Session, raw: bytes) -> str:
    """The session in a folder of its own, under the name."""
    folder.mkdir()
    (folder / NAME).write_bytes(raw)
    return NAME


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ALL)
def test_a_hostile_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Line ends, escapes, no UTF-8, a leading dash, marks that turn text around: a name, which is shown safely."""
    fill(tmp_path / "x", ALL[name], ALL[name].clean)
    monkeypatch.chdir(tmp_path / "x")
    for command in CALLS:
        ran = run(command, NAME)
        assert ran.code in ALSO.get(command, {0}), (command, ran.err)
        assert (bad_characters(ran.err), "ctxkit: a bug" in ran.err) == ([], False)
        assert command in ("cat", "export") or bad_characters(ran.out.decode()) == []
    own, beside = name == "chat", set(os.listdir()) - {NAME, "out"}  # `out` is the dataset that `fleet` made
    assert beside == {f"{NAME}.ctxkit"} or (own and not beside)
    raw = (tmp_path / "x" / NAME).read_bytes()
    assert raw == ALL[name].clean or (own and raw.startswith(ALL[name].clean))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", LINES)
def test_damage_changes_no_exit_code(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """But that of `check`: what is whole is worked on."""
    rows = LINES[name].lines
    raw = lines(b"\xef\xbb\xbf" + rows[0], rows[1], NULS, *rows[2:5], b"# so", rows[5] + rows[6], *rows[7:]) + b'{"ty'
    codes = {}
    for kind, content in (("clean", LINES[name].clean), ("damaged", raw)):
        fill(tmp_path / kind, LINES[name], content)
        monkeypatch.chdir(tmp_path / kind)
        codes[kind] = {command: run(command, NAME).code for command in CALLS}
    assert codes["damaged"] == {**codes["clean"], "check": 1}
    assert (tmp_path / "damaged" / NAME).read_bytes().startswith(raw)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ALL)
def test_every_form_of_status(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of whole sessions and of damaged ones, under that name, before and after ops."""
    for kind, raw in (("clean", ALL[name].clean), ("damaged", ALL[name].clean + b'\xff{"ty')):
        fill(tmp_path / kind, ALL[name], raw)
        monkeypatch.chdir(tmp_path / kind)
        for _ in range(2):
            for form in (["--plot"], ["--svg"], ["--plot", "--json"], ["--files"], ["--by", "file"], ["--short"]):
                ran = ctxkit("status", *form, "--", NAME)
                assert (ran.code, bad_characters(ran.out.decode()), bad_characters(ran.err)) == (0, [], []), form
            for command in ("mark", "forget", "trim", "rewind"):
                run(command, NAME)


@pytest.mark.parametrize("name", LINES)
def test_a_link(name: str, tmp_path: Path) -> None:
    """F13: it is followed, and stays a link; the ops are beside the target."""
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / LINES[name].name
    target.write_bytes(damaged("F04 glued", name))
    link = tmp_path / "link.jsonl"
    link.symlink_to(target)
    assert ctxkit("forget", link, str(len(LINES[name].lines) // 2)).code == 0
    assert link.is_symlink()
    assert set(os.listdir(tmp_path)) == {"link.jsonl", "there"}
    assert name == "chat" or (tmp_path / "there" / f"{LINES[name].name}.ctxkit" / "ops.jsonl").exists()


@pytest.mark.parametrize("name", LINES)
def test_utf_16(name: str, tmp_path: Path) -> None:
    """F11: one report, what to do, and exit 65."""
    path = tmp_path / LINES[name].name
    path.write_bytes(LINES[name].clean.decode().encode("utf-16"))
    ran = ctxkit("show", path)
    assert (ran.code, ran.out) == (65, b"")
    assert ran.err.count("\n") == 1
    assert "UTF-16" in ran.err
    assert "iconv" in ran.err


def test_only_nuls(tmp_path: Path) -> None:
    """F05: what was a log is none any more, for every command; nothing is changed."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\0" * 5000)
    for words in (("show",), ("status",), ("check",), ("export", "--to", "openai"), ("add", "hi"), ("forget", "1")):
        ran = ctxkit(words[0], path, *words[1:])
        assert (ran.code, ran.out) == (65, b"") and "it holds only NUL bytes" in ran.err, words
    assert path.read_bytes() == b"\0" * 5000


@pytest.mark.parametrize("raw", [b"", b"\n\n", b"\xef\xbb\xbf", b'{"ty'])
def test_nothing_in_it(raw: bytes, tmp_path: Path) -> None:
    """F08: no message, and no failure; nothing is deleted."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(raw)
    assert [ctxkit(command, path).code for command in ("show", "status", "log")] == [0, 0, 0]
    assert ctxkit("check", path).code == int(len(raw.strip(b"\n\xef\xbb\xbf")) > 0)
    assert ctxkit("export", path, "--to", "openai").code == 1
    assert path.read_bytes() == raw


@pytest.mark.parametrize(
    ("row", "words", "code"),
    [
        ("F03 record behind a torn one", ("show",), 0),
        ("F03 record behind a torn one", ("check",), 1),
        ("F03 record behind a torn one", ("forget", "2"), 0),
        ("F05 NUL tail", ("add", "hi"), 65),
        ("", ("show",), 66),
    ],
)
def test_processes(row: str, words: tuple[str, ...], code: int, tmp_path: Path) -> None:
    """The same as a process, one for each exit code that damage has."""
    path = tmp_path / "s.jsonl"
    if row:
        path.write_bytes(damaged(row, "codex"))
    ran = process(words[0], path, *words[1:])
    assert (ran.code, "Traceback" in ran.err) == (code, False)
