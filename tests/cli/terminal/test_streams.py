"""Standard streams: results and reports, and every way in which they fail."""

from __future__ import annotations

import errno
import io
import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ctxkit.cli.terminal import streams
from ctxkit.core.text.json_text import loads
from tests.cli.runner import SMALL, ctxkit, good, small


class Broken(io.RawIOBase):
    """A stream that cannot be written."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code

    def writable(self) -> bool:
        return True

    def write(self, piece: object) -> int:
        raise OSError(self.code, os.strerror(self.code))


def test_one_line_stays_one_line(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Nothing in a name or label can make up a line of its own, on either stream."""
    streams.begin(())
    streams.out("a\nb\x1b\tc")
    streams.say("a\nctxkit: b")
    streams.flush()
    assert capfdbinary.readouterr() == ("a␊b␛\tc\n".encode(), "a␊ctxkit: b\n".encode())


def test_json_is_ascii(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """A machine line acts on no terminal."""
    streams.out_json({"a": "\x1b\u202eü"})
    streams.flush()
    out = capfdbinary.readouterr().out
    assert out.isascii() and loads(out) == {"a": "\x1b\u202eü"}


def test_quiet(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Reports are silenced, errors are not."""
    streams.Streams.quiet = True
    streams.say("report")
    streams.say_always("error")
    streams.begin(())
    assert capfdbinary.readouterr().err == b"error\n"


def test_nobody_to_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed or broken stderr is no reason to fail."""
    for stream in (None, io.TextIOWrapper(io.BufferedWriter(Broken(errno.EIO)))):
        monkeypatch.setattr(sys, "stderr", stream)
        streams.say("hello")
        if stream is not None:
            monkeypatch.setattr(stream, "close", lambda: None)


class Slow(io.RawIOBase):
    """A file that takes three bytes at a time, as a bare descriptor may."""

    def __init__(self) -> None:
        super().__init__()
        self.taken = b""

    def write(self, piece: object) -> int:
        self.taken += bytes(memoryview(piece)[:3])
        return min(3, len(memoryview(piece)))


def test_short_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a byte is lost where the stream takes a part only (PYTHONUNBUFFERED makes stdout such a stream)."""
    slow = Slow()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=slow))
    streams.out_bytes([b"0123456789", b"", b"abc"])
    assert slow.taken == b"0123456789abc"
    monkeypatch.setattr(slow, "write", lambda piece: None)
    with pytest.raises(BlockingIOError):
        streams.out("x")


def test_on_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question needs both stdin and stderr to be terminals."""
    monkeypatch.setattr(sys, "stdin", None)
    assert not streams.on_terminal()


@pytest.mark.parametrize(("answer", "yes"), [(b"y\n", True), (b"YES\n", True), (b" yes \n", True), (b"n\n", False),
                                             (b"\n", False), (b"", False), (b"yess\n", False)])  # fmt: skip
def test_ask(tmp_path: Path, answer: bytes, yes: bool) -> None:
    """Only a yes is a yes; no answer is none."""
    path = small(tmp_path)
    ran = ctxkit("forget", path, "--role", "user", stdin=answer, terminal=True)
    assert "[y/N]" in ran.err
    assert (ran.code == 0, path.read_bytes() == SMALL) == (yes, not yes)


def test_bytes_on_a_terminal(tmp_path: Path) -> None:
    """What a pipe gets as it is, a terminal gets as text: also what is cut within a character."""
    raw = b'{"role":"user","content":"\xe2\x80\xaeabc \xc2\x9b31m \x1b]0;x\x07 \xff \xc3\xbc"}\n'
    path = tmp_path / "log"
    path.write_bytes(raw)
    assert good("cat", path).out == raw
    text = ctxkit("cat", path, screen=True).text
    assert text == '{"role":"user","content":"\\u{202e}abc \\u{9b}31m ␛]0;x␇ \\xff ü"}\n'
    assert ctxkit("mark", "-", "-q", stdin=raw, screen=True).text.startswith(text)
    streams.begin(())
    assert b"".join(streams._visible([b"\xc3", b"\xbc\xe2", b"\x80"])) == "ü\\xe2\\x80".encode()


def test_commands_in_messages_name_the_log(tmp_path: Path) -> None:
    """As it was typed, in quotes where a shell needs them; with several logs or a stream LOG stays; results too."""
    path = tmp_path / "two words.jsonl"
    path.write_bytes(SMALL)
    assert f"ctxkit mark '{path}' [LABEL]" in ctxkit("rewind", path).err
    assert "ctxkit mark LOG [LABEL]" in ctxkit("rewind", "-", stdin=SMALL).err
    good("forget", path, "2")
    assert f"back with: ctxkit recall '{path}' 2 --apply" in good("why", path, "2").text
    other = small(tmp_path)
    streams.begin(["why"])
    assert streams.with_log("ctxkit why LOG 2") == "ctxkit why LOG 2"
    streams.opened_as(str(other))
    assert streams.with_log("`ctxkit why LOG 2`, LOG") == f"`ctxkit why {other} 2`, LOG"
    streams.opened_as("@2")
    assert streams.with_log("ctxkit why LOG 2") == "ctxkit why LOG 2"
