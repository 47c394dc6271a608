"""On a terminal: a hostile transcript does nothing to it, and questions are asked there and only there."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyte
import pytest

from tests.cli.runner import PYTHON, SMALL, call, ctxkit, good, lines, message, ops, small

FAMILIES = {
    "CSI": "\x1b[31m\x1b[2J\x1b[10A",
    "OSC title": "\x1b]0;pwned\x07",
    "OSC link": "\x1b]8;;http://evil\x1b\\x\x1b]8;;\x1b\\",
    "OSC clipboard": "\x1b]52;c;cm0gLXJm\x07",
    "DCS": "\x1bPq#0;2;0;0;0\x1b\\",
    "APC": "\x1b_Ga=T\x1b\\",
    "C1": "\x9b31m\x9d0;pwned\x9c",
    "reset": "\x1bc",
    "answer": "\x1b[6n\x1b[c",
    "unterminated": "\x1b]0;all of the rest",
    "CR": "good\rbad",
    "BS": "rm\x08\x08ls\x7f",
    "NUL": "a\x00b",
    "bidi": "\u202eabc\u2066d\u2069",
    "tags": "a\U000e0041\U000e007f",
    "zero width": "a\u200bb\ufeffc\u2060d\xade",
    "separators": "a\u2028b\u2029c\x85d",
    "lone surrogate": "a\ud83db",
    "fake line": "x\nctxkit: all is well\nhint: rm -rf",
}
ALL = " ".join(FAMILIES.values())
FORBIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


def hostile(bad: str) -> bytes:
    """A log with `bad` in every field that a command may print."""
    part = {"type": "text", "text": bad}
    odd = {"type": bad, "beam": bad}
    picture = {"type": "image_url", "image_url": {"url": f"data:{bad};base64,AAAA"}}
    first = [
        message("user", bad, 1, name=bad, agent=bad, thread=bad, model=bad),
        message("assistant", [part, odd, picture], 2, tool_calls=[call(bad, bad, **{bad: bad})]),
        message("tool", bad, 3, tool_call_id=bad),
        message("tool", bad, 4, tool_call_id=f"{bad} lost", name=bad),
        message(bad, bad, 5),
        {"role": "user", "content": bad, "ts": bad, bad: bad},
    ]
    at = {"messages": len(first), "rows": len(first)}

    def op(name: str, key: str, **more: object) -> dict[str, object]:
        return {"ctxkit": name, "v": 1, "id": key, "ts": bad, "at": at, "by": {"args": [bad], "version": bad}, **more}

    return (
        lines(
            *first,
            op("mark", f"m{bad}", label=bad),
            op("window", "w1", seconds=360000, agent=bad),
            op(f"odd {bad}", f"x{bad}", ids=bad),
            op("protect", "p1", ids="2"),
            op("forget", "f1", ids="6", criteria=bad),
            op(
                "edit",
                "e1",
                items=[{"n": 1}, {"message": {"role": bad, "content": bad, "name": bad}, "from": 2}, {"n": 3}],
            ),
        )
        + b"broken \x1b]0;x\x07\n"
    )


COMMANDS = ["show LOG", "show LOG --oneline", "show LOG --full", "show LOG --explain",
            "show LOG --at 4", "show LOG --agent BAD --thread BAD",
            "status LOG", "status LOG --short --limit 9", "status LOG --agent BAD --thread BAD",
            "status LOG --agent noBAD",
            "log LOG", "why LOG 1- 6.", "check LOG", "window LOG --agent BAD", "mark LOG BAD", "forget LOG 3",
            "forget LOG --grep . --yes", "remember LOG 3", "protect LOG 3", "unprotect LOG 1", "undo LOG", "redo LOG",
            "rewind LOG BAD", "rewind LOG none", "clear LOG --agent BAD", "export LOG --to chat", "add LOG hi",
            "show LOG --agent noBAD", "show LOG --thread noBAD", "undo LOG noBAD", "show LOG --at noBAD",
            "mark BAD", "show BAD", "show LOG BAD", "show LOG --grep (BAD", "show LOG --last BAD",
            "show LOG --since BAD", "window LOG BAD", "show LOG --now BAD", "show LOG --after-mark noBAD",
            "mark LOG --op-id BAD", "remarkBAD", "recall LOG -e BAD", "recall LOG --regex .", "recall LOG LOG -e BAD",
            "recall LOG BADno", "recall LOG a --state BAD", "recall LOG --regex (BAD", "recall LOG . --apply --yes",
            "recall LOG --apply --state out --yes", "recall LOG a --agent noBAD", "recall LOG BAD --apply --dry-run",
            "show LOG --optionBAD", "export LOG --to BAD", "init LOG --profile BAD", "show LOG --conversation BAD",
            "mark LOG a BAD", "diff LOG 5 now", "diff LOG 5 now --full", "diff LOG 1 BAD", "diff LOG BAD"]  # fmt: skip
"""Every human form of every command, and every error that repeats what was typed."""


def words(command: str, path: Path, bad: str) -> list[str]:
    """The call, with the log's path and the hostile text in it (a call cannot hold NUL, nor half of a surrogate)."""
    bad = bad.replace("\x00", "").replace("\ud83d", "")
    return [word.replace("LOG", str(path)).replace("BAD", bad) for word in command.split()]


def plain(text: str) -> str:
    """`text` without the colours that ctxkit puts around words of its own choice: on, text, off."""
    return re.sub("\x1b\\[[0-9;]+m([^\x1b]*)\x1b\\[0m", r"\1", text)


def bad_characters(text: str) -> list[str]:
    """What may not reach a terminal."""
    return [c for c in text if unicodedata.category(c) in FORBIDDEN and c not in "\n\t"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("bad", [*FAMILIES.values(), ALL], ids=[*FAMILIES, "all of them"])
def test_pipe(tmp_path: Path, command: str, bad: str) -> None:
    """Nothing on stdout or stderr but text, and no line that the transcript made up."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(hostile(bad))
    ran = ctxkit(*words(command, path, bad))
    assert bad_characters(ran.out.decode("utf-8")) == [] and bad_characters(ran.err) == []
    assert "a bug" not in ran.err, ran.err
    assert "\nctxkit: all is well" not in "\n" + ran.err and "\nhint: rm" not in ran.err


def test_file_name(tmp_path: Path) -> None:
    """The name of a log, its sidecar and its link are text of others too."""
    bad = ALL.replace("\x00", "").replace("\ud83d", "").replace("/", "")[:80]
    path = tmp_path / bad
    path.write_bytes(SMALL + b"broken\n")
    (tmp_path / f"{bad}.ctxkit").mkdir()
    (tmp_path / f"{bad}.ctxkit" / "config.toml").write_text("odd = 1\n")
    for args in (["show", path], ["check", path], ["mark", path], ["init", path], ["show", tmp_path / f"no{bad}"]):
        ran = ctxkit(*args)
        assert bad_characters(ran.out.decode()) == [] and bad_characters(ran.err) == []


class Seen(NamedTuple):
    """What a terminal got."""

    code: int
    raw: bytes


def on_pty(args: list[str], columns: int, answer: bytes = b"", lines_: int = 200) -> Seen:
    """Run a command with all three streams on a terminal of so many columns; `answer` is typed at a question."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", lines_, columns, 0, 0))
    env = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
    with subprocess.Popen(
        [*PYTHON, *args], stdin=side, stdout=side, stderr=side, env=env, start_new_session=True
    ) as run:
        os.close(side)
        raw = b""
        for piece in _pieces(main):
            raw += piece
            if answer and b"[y/N]" in raw:
                os.write(main, answer)
                answer = b""
        code = run.wait(30)
    os.close(main)
    return Seen(code, raw)


def _pieces(fd: int) -> Iterator[bytes]:
    while select.select([fd], [], [], 30)[0]:
        try:
            piece = os.read(fd, 65536)
        except OSError:  # how a terminal says that nobody writes to it any more
            return
        if not piece:
            return
        yield piece


@pytest.mark.parametrize("columns", [80, 20])
@pytest.mark.parametrize("command", ["show LOG", "show LOG --oneline", "show LOG --explain", "status LOG",
                                     "status LOG --short", "log LOG",
                                     "why LOG 1- 6.", "check LOG",
                                     "rewind LOG BAD", "forget LOG --grep . --yes", "undo LOG noBAD",
                                     "diff LOG 5", "diff LOG 5 --full"])  # fmt: skip
def test_pty(tmp_path: Path, columns: int, command: str) -> None:
    """A terminal shows text: no title, no answer on stdin, the cursor never goes up or back over what stands there."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(hostile(ALL))
    seen = on_pty(words(command, path, ALL), columns)
    text = plain(seen.raw.decode("utf-8").replace("\r\n", "\n"))
    assert text and bad_characters(text) == [] and "a bug" not in text
    screen = pyte.HistoryScreen(columns, 200)
    answers: list[str] = []
    screen.write_process_input = answers.append
    stream = pyte.Stream(screen)
    row = 0
    for line in text.split("\n"):
        stream.feed(line + "\r\n")
        assert screen.cursor.y >= row
        row = min(screen.cursor.y, 150)
        if screen.cursor.y > 150:
            screen.reset()
            row = 0
    assert (screen.title, screen.icon_name, answers) == ("", "", [])


@pytest.mark.parametrize("columns", [80, 20])
def test_oneline_does_not_wrap(tmp_path: Path, columns: int) -> None:
    """A line a message, on a terminal of any width."""
    path = small(tmp_path)
    text = plain(on_pty(["show", str(path), "--oneline", "-q"], columns).raw.decode().replace("\r\n", "\n"))
    found = text.splitlines()
    assert len(found) == 11
    assert all(len(line) <= columns for line in found)


@pytest.mark.parametrize(("answer", "code", "gone"), [(b"y\n", 0, True), (b"n\n", 1, False), (b"\n", 1, False),
                                                      (b"\x04", 1, False)])  # fmt: skip
@pytest.mark.parametrize("command", ["forget", "remember"])
def test_question(tmp_path: Path, command: str, answer: bytes, code: int, gone: bool) -> None:
    """Messages chosen by criteria are previewed and asked about; only a yes takes them out."""
    path = small(tmp_path)
    seen = on_pty([command, str(path), "--role", "user"], 80, answer)
    assert b"Leaving the context:" in seen.raw and b"Take these out of the context? [y/N]" in seen.raw
    assert (seen.code, path.read_bytes() != SMALL) == (code, gone)


def test_no_question(tmp_path: Path) -> None:
    """Numbers, --yes and --dry-run never ask, on a terminal neither."""
    path = small(tmp_path)
    for args in (["2"], ["--role", "user", "--yes"], ["--role", "tool", "--dry-run"]):
        assert b"[y/N]" not in on_pty(["forget", str(path), *args], 80).raw


def test_interrupted_question(tmp_path: Path) -> None:
    """Ctrl-C at the question: exit 130, nothing changed."""
    path = small(tmp_path)
    main, side = pty.openpty()
    with subprocess.Popen(
        [*PYTHON, "forget", str(path), "--role", "user"], stdin=side, stdout=side, stderr=side,
        start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    ) as run:  # fmt: skip
        os.close(side)
        raw = b""
        for piece in _pieces(main):
            raw += piece
            if b"[y/N]" in raw and b"^C" not in raw:
                os.write(main, b"\x03")
        assert run.wait(30) == 130
    os.close(main)
    assert "ctxkit: interrupted" in plain(raw.decode()) and b"Traceback" not in raw
    assert path.read_bytes() == SMALL


def test_standard_input_is_a_terminal(tmp_path: Path) -> None:
    """No log, and nobody piping one: it says so at once, it does not wait for typing."""
    seen = on_pty(["show"], 80)
    assert seen.code == 2 and b"no log was named, and standard input is a terminal" in seen.raw


def test_labels_in_the_log(tmp_path: Path) -> None:
    """A label is shown as it must be typed in a program: quoted, escapes visible, on one line."""
    path = small(tmp_path, marks=[])
    good("mark", path, ALL.replace("\ud83d", ""))
    text = good("log", path).text
    assert len(text.splitlines()) == 1 and "\\x1b]0;pwned\\x07" in text
    ran = ctxkit("rewind", path, "none")
    assert "\\x1b]0;pwned\\x07" in ran.err and len(ran.err.splitlines()) == 2
    assert json.loads(path.read_bytes().splitlines()[-1])["label"] == ops(path)[-1]["label"]
    assert re.search(r"\\u202e", text)
