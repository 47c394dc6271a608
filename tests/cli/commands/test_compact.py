"""compact: the command, in files and pipes."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.cli.terminal.safe_text import cells
from ctxkit.core.strategies import OFFLINE
from tests.cli.runner import PYTHON, SMALL, ctxkit, good, lines, ops, process, shown, small
from tests.cli.screens import on_pty
from tests.cut.test_trim import run

KEYS = {
    "op",
    "strategy",
    "replaced",
    "messages",
    "shortened",
    "tokens",
    "percent",
    "target",
    "floor",
    "kept",
    "seconds",
}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """One user message and twenty steps."""
    path = tmp_path / "run.jsonl"
    path.write_bytes(run())
    return path


def session() -> bytes:
    """A Claude Code session of twelve messages."""
    rows, before = [], None
    for n in range(12):
        role = "assistant" if n % 2 else "user"
        words: Any = [{"type": "text", "text": f"answer {n} " * 40}] if n % 2 else f"question {n} " * 40
        held = {"role": role, "content": words, **({"id": f"m{n}", "model": "claude-x"} if n % 2 else {})}
        rows.append({"type": role, "uuid": f"u{n}", "parentUuid": before, "sessionId": "s",
                     "timestamp": f"2026-02-01T10:{n:02}:00Z", "message": held})  # fmt: skip
        before = f"u{n}"
    return lines(*rows)


def bare(op: dict[str, Any]) -> dict[str, Any]:
    """What of an op is the same in a file and in a pipe (law 3)."""
    return {key: value for key, value in op.items() if key not in ("id", "ts", "by", "prev", "sum")}


def test_words(log: Path) -> None:
    """What it came to, by which counter and strategy, what it costs; undo brings all back."""
    ran = good("compact", log, "--target", "30%")
    shortened, told, *_ = ran.said.splitlines()
    assert ran.out == b"" and told.startswith("extract: 30 messages (3-32) summarized in ")
    assert shortened.startswith("shortened: 1 message (34): ")
    assert "prompt cache: valid before message 3; " in ran.said
    op = ops(log)[-1]
    before, after = op["before"]["tokens"], op["after"]["tokens"]
    assert ran.said.splitlines()[-1] == f"Context condensed ({before:,} → {after:,} tokens)"
    assert after <= 0.3 * before and op["before"]["counter"] in ran.said
    good("undo", log)
    assert shown(log) == list(range(1, 43))


def test_the_summary_stands_where_the_first_message_stood(log: Path) -> None:
    """After system and first message; then the newest steps, pairs whole."""
    good("compact", log, "--target", "30%")
    values = good("show", log, "--json").values
    assert [value.get("n", value.get("item")) for value in values] == [1, 2, "1.1", *range(33, 43)]
    assert values[2]["role"] == "user" and values[2]["tells"] == "3-32"


def test_show_prints_one_line(log: Path) -> None:
    """`--full` opens it; every fragment carries its number, which leads back."""
    good("compact", log, "--target", "30%")
    short, whole = good("show", log, "3-", "1.1").text, good("show", log, "1.1", "--full").text
    assert good("show", log, "1.1", "--full").text == whole
    [header] = [line for line in short.splitlines() if line.startswith("1.1")]
    assert re.search(r"summary of 3-32 \(extract\): .*\d+ commands?", header)
    assert "Messages:" not in short and "Messages:" in whole
    assert "summary of 3-32" in good("show", log, "--oneline").text
    number = re.search(r"#(\d+)", whole)
    assert number is not None and "summarized in 1.1" in good("why", log, number[1]).text
    assert "compacted" in good("recall", log, "result 7 result 7").text
    assert "3-32, 1 shortened, extract" in good("log", log).text


def test_json(log: Path) -> None:
    """The keys of its page, nothing else; the op as it is in the log."""
    [found] = good("compact", log, "--target", "30%", "--json").values
    assert found.keys() == KEYS and found["op"] == ops(log)[-1]
    assert found["tokens"]["before"] == found["op"]["before"]["tokens"]
    assert found["tokens"]["after"] == found["op"]["after"]["tokens"] and found["tokens"]["summary"] > 0
    assert found["replaced"] == "3-32" and found["messages"] == 30 and found["target"]["reached"] is True
    assert found["target"]["percent"] == 30 and found["floor"] is None
    assert found["kept"]["commands"] == {"kept": 15, "of": 15} and list(found["kept"])[:2] == [
        "files edited", "files read"
    ]  # fmt: skip
    piped = good("compact", "-", "--target", "30%", "--json", stdin=run())
    assert json.loads(piped.err.splitlines()[-2])["replaced"] == "3-32"
    [again] = good("compact", log, "--keep-last", "9", "--target", "9%", "--op-id", found["op"]["id"], "--json").values
    assert again["op"] == found["op"] and "there already" in again["said"]


def test_json_of_nothing(tmp_path: Path) -> None:
    """`op` is null, and `said` says why."""
    [found] = good("compact", small(tmp_path), "--force", "--keep-last", "9", "--json").values
    assert found == {"op": None, "said": found["said"]} and "nothing to condense" in found["said"]


@pytest.mark.parametrize("strategy", OFFLINE)
def test_file_and_pipe_agree(log: Path, strategy: str) -> None:
    """The same op behind the same bytes (law 3)."""
    raw = log.read_bytes()
    words = "--target", "40%", "--strategy", strategy
    good("compact", log, *words)
    piped = good("compact", "-", *words, stdin=raw).out
    assert piped.startswith(raw) and piped.count(b"\n") == raw.count(b"\n") + 1
    assert bare(json.loads(piped.splitlines()[-1])) == bare(ops(log)[-1])


def test_dry_run(log: Path) -> None:
    """Prints the op; appends nothing. In a pipe the log goes through as it is."""
    raw = log.read_bytes()
    ran = good("compact", log, "--target", "30%", "--dry-run")
    assert ran.values[0]["ids"] == "3-32" and "Dry run, nothing was appended. Without it: Context condensed" in ran.err
    [found] = good("compact", log, "--target", "30%", "--dry-run", "--json").values
    assert found.keys() == KEYS and log.read_bytes() == raw
    assert good("compact", "-", "--target", "30%", "--dry-run", stdin=raw).out == raw


def test_quiet(log: Path) -> None:
    """Nothing is said; it is done."""
    ran = good("compact", log, "--target", "30%", "-q")
    assert (ran.out, ran.err) == (b"", "") and len(ops(log)) == 1


def test_bare(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below the threshold: says so, exit 0; full: acts; no limit: 78."""
    assert ctxkit("compact", log).code == 78
    monkeypatch.setenv("CTXKIT_LIMIT", "100000")
    ran = good("compact", log)
    assert "below the threshold of 80 %: nothing was changed" in ran.err and ops(log) == []
    assert good("compact", "-", stdin=log.read_bytes()).out == log.read_bytes()
    monkeypatch.setenv("CTXKIT_LIMIT", "35000")
    good("compact", log)
    assert len(ops(log)) == 1


@pytest.mark.parametrize(
    "words",
    [["--target", "50"], ["--target", "15k"], ["--force"], ["3-20"], ["--tool", "bash"], ["--summary-file", "FILE"]],
)
def test_what_asks_for_it(log: Path, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether the context is full or not."""
    monkeypatch.setenv("CTXKIT_LIMIT", "1M")
    text = log.with_name("words.txt")
    text.write_text("We mended it.")
    good("compact", log, *(str(text) if word == "FILE" else word for word in words))
    assert len(ops(log)) == 1


def test_keep(log: Path) -> None:
    """Steps and exchanges that are asked for stay, whatever their size."""
    good("compact", log, "--force", "--keep-steps", "5")
    assert ops(log)[-1]["ids"] == "3-32"
    good("undo", log)
    assert "nothing to condense" in good("compact", log, "--force", "--keep-last", "1").err
    more = lines({"role": "user", "content": "and now?"}, {"role": "assistant", "content": "now " * 500})
    log.write_bytes(run() + more)
    good("compact", log, "--force", "--keep-last", "1", "--target", "1%")
    assert ops(log)[-1]["ids"] == "3-42"


def test_floor(log: Path) -> None:
    """What cannot be reached is said, and done as far as it goes."""
    good("protect", log, "3-30")
    ran = good("compact", log, "--target", "10%", "--json")
    [found] = ran.values
    assert found["target"]["reached"] is False and found["floor"] == found["tokens"]["after"]
    assert f"the target of 10 % cannot be reached: {found['percent']:g} %, {found['floor']:,} tokens" in ran.err


def test_would_not_be_smaller(tmp_path: Path) -> None:
    """Exit 1, nothing appended; in a pipe the log goes through."""
    path = small(tmp_path)
    text = tmp_path / "long.txt"
    text.write_text("word " * 900)
    ran = ctxkit("compact", path, "--summary-file", text)
    assert ran.code == 1 and "would not be smaller" in ran.err and path.read_bytes() == SMALL
    assert ctxkit("compact", "-", "--summary-file", text, stdin=SMALL).out == SMALL


def test_a_summary_of_any_program(log: Path) -> None:
    """On standard input; empty or no text: refused."""
    good("compact", log, "--summary-file", "-", stdin="Alles läuft.".encode())
    assert "Alles läuft." in good("show", log, "--full").text and ops(log)[-1]["strategy"] == "given"
    good("undo", log)
    for raw in (b"", b" \n", b"\xff\xfe\x00"):
        ran = ctxkit("compact", log, "--summary-file", "-", stdin=raw)
        assert ran.code in (2, 65) and "nothing was changed" in ran.err, ran
    ran = ctxkit("compact", log, "--summary-file", "-", stdin=None)
    assert ran.code == 2 and "standard input is closed" in ran.err


def test_closed_input() -> None:
    """There is no log to read."""
    ran = ctxkit("compact", "-", "--force", stdin=None)
    assert ran.code == 2 and ran.out == b"" and "standard input is closed" in ran.err


def test_cooldown(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """75 with the seconds left, also with --force, also in a pipe, where nothing comes out; not after an undo, and not
    where somebody asks for something else. The same target again is reached: 1 within the cooldown, and after it.
    """
    good("compact", log, "--target", "60%")
    raw = log.read_bytes()
    for cooldown in ("30s", "off"):
        monkeypatch.setenv("CTXKIT_COMPACT_COOLDOWN", cooldown)
        ran = ctxkit("compact", log, "--target", "60%")
        assert ran.code == 1 and "the target is reached already" in ran.err, ran
    monkeypatch.delenv("CTXKIT_COMPACT_COOLDOWN")
    for words in (["--force"], ["--force", "--target", "60%"], []):
        ran = ctxkit("compact", log, *words)
        assert ran.code == 75 and re.search(r": (2\d|30) s of the cooldown are left", ran.err), ran
    piped = ctxkit("compact", "-", "--force", stdin=raw)
    assert piped.code == 75 and piped.out == b"" and log.read_bytes() == raw
    for words in (["--target", "20%"], ["30-39"], ["--role", "tool", "--target", "0.1k"]):
        assert ctxkit("compact", "-", *words, stdin=raw).code == 0, words
    good("undo", log)
    good("compact", log, "--target", "60%")


def test_two_processes_at_once(log: Path) -> None:
    """One appends; the other is told so. Its plan was made before: it waits for its summary on a pipe."""
    waiting = subprocess.Popen(
        [*PYTHON, "compact", str(log), "--summary-file", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env={**os.environ, "CTXKIT_COMPACT_COOLDOWN": "off"},
    )  # fmt: skip
    while log.name not in " ".join(_open_files(waiting.pid)):
        assert waiting.poll() is None
    raw = log.read_bytes()
    assert process("compact", log, "--target", "50%").code == 0
    after = log.read_bytes()
    _, err = waiting.communicate(b"Too late.", timeout=60)
    assert (waiting.returncode, log.read_bytes()) == (75, after), err
    assert b"changed the messages that this one names" in err and after.startswith(raw)
    beside = log.with_name(f"{log.name}.ctxkit").iterdir()
    [kept] = [path for path in beside if path.is_file()]  # the words are nowhere else any more
    assert kept.read_text() == "Too late." and f"--summary-file {kept}".encode() in err
    assert kept.stat().st_mode & 0o77 == 0


def _open_files(pid: int) -> list[str]:
    """What a process has open and has read: its log stays open once it is."""
    folder = Path(f"/proc/{pid}/fd")
    try:
        return [os.readlink(one) for one in folder.iterdir()]
    except OSError:
        return []


@pytest.mark.one_in(2)
@pytest.mark.parametrize("owner", ["chat", "claude-code"])
def test_two_processes_race(tmp_path: Path, owner: str) -> None:
    """However they meet: one of them compacts, and there is one op, also in a sidecar. The other ends with 75 where it
    was at work meanwhile, with 1 where it came later: the target is reached.
    """
    log = tmp_path / "log.jsonl"
    log.write_bytes(run() if owner == "chat" else session())
    command = [*PYTHON, "compact", str(log), "--target", "40%"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    ended = sorted((one.communicate(timeout=60), one.returncode)[1] for one in both)
    assert ended in ([0, 75], [0, 1])
    assert len(ops(log if owner == "chat" else Path(f"{log}.ctxkit/ops.jsonl"))) == 1


def test_undo_and_rewind_bring_the_originals_back(log: Path) -> None:
    """Byte for byte."""
    good("mark", log, "here")
    before = good("export", log, "--to", "openai").out
    good("compact", log, "--target", "30%")
    assert good("export", log, "--to", "openai").out != before
    good("undo", log)
    assert good("export", log, "--to", "openai").out == before
    good("compact", log, "--target", "30%")
    good("rewind", log, "here")
    assert good("export", log, "--to", "openai").out == before


def test_a_forget_never_leaks(log: Path) -> None:
    """What is forgotten inside the range is in no word of the context."""
    log.write_bytes(run().replace(b"make 7", b"make secret7"))
    good("compact", log, "--target", "40%")
    assert "secret7" in good("show", log, "--full").text
    good("forget", log, "17-18")
    assert "secret7" not in good("show", log, "--full").text


def test_a_narrow_terminal(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """20 columns: nothing is wider, and nothing is lost."""
    monkeypatch.chdir(log.parent)
    for words, code in ((["compact", log.name, "--target", "30%"], 0), (["show", log.name, "--oneline"], 0),
                        (["show", log.name, "1.1"], 0), (["compact", log.name, "--force"], 75)):  # fmt: skip
        seen = on_pty(words, 20)
        said = re.sub(r"\x1b\[[0-9;]*m", "", seen.raw.decode()).replace("\r", "")
        assert seen.code == code and max(map(cells, said.split("\n"))) <= 20, said


def test_a_session_of_another_program(tmp_path: Path) -> None:
    """Its file is not touched; the op is in the sidecar; the context agrees with that of a pipe."""
    path = tmp_path / "session.jsonl"
    raw = session()
    path.write_bytes(raw)
    good("compact", path, "--target", "50%")
    assert path.read_bytes() == raw and len(ops(Path(f"{path}.ctxkit/ops.jsonl"))) == 1
    piped = good("compact", "-", "--target", "50%", stdin=raw).out
    assert good("export", "-", "--to", "chat", stdin=piped).out == good("export", path, "--to", "chat").out
    found = Log.open(path)
    assert [name if isinstance(name, int) else "s" for name in found.names()][:2] == [1, "s"]
