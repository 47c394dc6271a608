"""The command line as a whole: its commands, its help, and where errors end."""

from __future__ import annotations

import os
import subprocess
from itertools import compress, product
from pathlib import Path

import pytest

from ctxkit.cli import app
from ctxkit.cli.registry import COMMANDS
from ctxkit.errors import CtxkitError, ExitCode
from ctxkit.version import VERSION
from tests.cli.runner import PYTHON, SMALL, ctxkit, good, process, shell, small

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_help(name: str) -> None:
    """Help is a result: stdout, exit 0; `help` is --help, and -h is one screen of it."""
    ran = good(name, "--help")
    assert f"Usage: ctxkit {name} " in ran.text and ran.err == ""
    assert ran.out == good("help", name).out
    assert len(good(name, "-h").out) < len(ran.out)


def test_list() -> None:
    """With --help, and without a word in a pipe: the commands by groups; -h has their names."""
    ran = good()
    assert ran.out == good("--help").out == good("help").out
    assert set(COMMANDS) <= set(good("-h").text.replace(",", " ").split())
    words = " ".join(ran.text.split())
    for one in COMMANDS.values():
        assert f" {one.name} {one.summary} " in words, one.name


def test_version() -> None:
    """One line."""
    assert good("--version").text == good("-V").text == f"ctxkit {VERSION}\n"


@pytest.mark.parametrize(
    ("words", "call", "paged"),
    [
        ("show x", "show x", True), ("--no-pager log x", "log x", False),
        ("", "", True),
        ("show -q", "show -q", True), ("@", "show @", True), ("--no-pager @2 5", "show @2 5", False),
        ("./show", "show ./show", True), ("none.jsonl", "show none.jsonl", True), ("here.txt", "show here.txt", True),
        ("log", "log", True), ("nope", "nope", True), ("- x", "- x", True), ("-V", "-V", True),
        ("__complete zsh", "__complete zsh", True), ("--help", "--help", True),
    ],
)  # fmt: skip
def test_command_first(words: str, call: str, paged: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file in the command's place is shown, a command of that name counts first."""
    monkeypatch.chdir(tmp_path)
    for name in ("here.txt", "log", "show"):
        (tmp_path / name).write_bytes(b"")
    assert app.command_first(words.split()) == (call.split(), paged)


def test_a_file_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what stands behind it; one that is not there is no unknown command."""
    monkeypatch.chdir(tmp_path)
    small(tmp_path)
    assert good("chat.jsonl").out == good("show", "chat.jsonl").out
    assert good("chat.jsonl", "2", "--json").out == good("show", "chat.jsonl", "2", "--json").out != b""
    ran = ctxkit("caht.jsonl")
    assert ran.code == 66 and "hint: chat.jsonl?" in ran.err
    ran = ctxkit("-n", "mark", "chat.jsonl")
    assert ran.code == 2 and "hint: options stand behind the command; ctxkit --help" in ran.err


@pytest.mark.parametrize("words", [["show", "--nope"], ["--nope"], ["mark", "a", "b", "c"], ["export"], ["init"],
                                   ["show", "--last"], ["show", "--conversation", "x"]])  # fmt: skip
def test_usage(words: list[str]) -> None:
    """What the option parser refuses looks like every other error."""
    ran = ctxkit(*words, stdin=SMALL)
    assert (ran.code, ran.out) == (2, b"")
    first, second = ran.err.splitlines()
    assert first.startswith("ctxkit: ") and first[8].islower() | (first[8] in "'-") and not first.endswith(".")
    assert second.startswith("hint: ") and "--help" in second


def test_a_bug_is_no_traceback(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Exit 70, where it was, and not a word of the transcript; CTXKIT_DEBUG shows the rest."""
    from ctxkit.cli.commands import mark

    def broken(*args: object) -> None:
        raise ZeroDivisionError("secret \x1b]0;words")

    monkeypatch.setattr(mark, "write", broken)
    path = small(tmp_path)
    ran = ctxkit("mark", path)
    assert ran.code == ExitCode.BUG and "a bug: ZeroDivisionError at test_app.py:" in ran.err
    assert "secret" not in ran.err and "Traceback" not in ran.err
    monkeypatch.setenv("CTXKIT_DEBUG", "1")
    debug = ctxkit("mark", path).err
    assert "secret ␛]0;words" in debug and "\x1b" not in debug and "\nTraceback (most recent call last):\n" in debug


def test_quiet_does_not_stay(tmp_path: Path) -> None:
    """Each run begins anew, where several are made in one process."""
    path = small(tmp_path)
    assert good("mark", path, "-q").err == ""
    assert good("mark", path).err == "Checkpoint created.\n"


def test_every_error_is_rendered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any CtxkitError from anywhere: its message, its hint, its code."""

    def fail(name: str) -> object:
        raise CtxkitError("what happened", "what to do")

    monkeypatch.setattr(app, "command_parser", fail)
    ran = ctxkit("show")
    assert (ran.code, ran.err) == (70, "ctxkit: what happened\nhint: what to do\n")


def test_process(tmp_path: Path) -> None:
    """As a program: results on stdout, reports on stderr, exit status."""
    path = small(tmp_path)
    ran = process("mark", path, "a")
    assert ran == (0, b"", "Checkpoint created.\n")
    assert process("rewind", path, "b").code == 1


def test_module(tmp_path: Path) -> None:
    """`python -m ctxkit` is the same program."""
    ran = subprocess.run([PYTHON[0], "-m", "ctxkit", "--version"], cwd=ROOT, capture_output=True, check=True)
    assert ran.stdout.decode() == f"ctxkit {VERSION}\n"


def test_closed_descriptors(tmp_path: Path) -> None:
    """No combination of closed standard streams lets a word into the log; what needs no output is refused as well."""
    path = small(tmp_path)
    for closed in ((0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)):
        before = path.read_bytes()
        code = shell(
            f"ctxkit mark {path} " + " ".join(f"{fd}{'<' if fd == 0 else '>'}&-" for fd in closed), tmp_path
        ).code
        after = path.read_bytes()
        assert code == (74 if 1 in closed else 0)
        assert (after == before) if 1 in closed else after.startswith(before + b'{"ctxkit":"mark"')
        assert all(line.startswith(b"{") for line in after.splitlines())


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    """A path of any bytes is a path; it is shown escaped."""
    name = os.fsencode(tmp_path) + b"/a\xff\x1b.jsonl"
    with open(name, "wb") as file:
        file.write(SMALL)
    ran = subprocess.run([*PYTHON, "mark", name], capture_output=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, b"Checkpoint created.\n")
    ran = subprocess.run([*PYTHON, "show", name + b"x"], capture_output=True, check=False)
    assert ran.returncode == 66 and b"\x1b" not in ran.stderr and b"\\u{dcff}" in ran.stderr


@pytest.mark.parametrize("closed", [set(compress((0, 1, 2), which)) for which in product((0, 1), repeat=3)], ids=str)
def test_closed_descriptors_are_filled(closed: set[int]) -> None:
    """All eight cases: what was closed is told, and the next file that is opened gets a number above 2."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):
                os.dup2(null, fd)
            for fd in closed:
                os.close(fd)
            found = app.fill()
            after = os.open(os.devnull, os.O_RDONLY)
            right = found == closed and after > 2 and all(os.get_inheritable(fd) for fd in (0, 1, 2))
            status = 0 if right and app.fill() == frozenset() else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
