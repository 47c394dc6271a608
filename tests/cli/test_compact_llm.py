"""compact --strategy llm and snapshot --summary-model: the commands, on a provider on loopback."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ctxkit.cli.terminal.safe_text import cells
from tests.cli.runner import PYTHON, ROOT, ctxkit, good, lines, ops
from tests.cut.summarize.test_ask_model import CANARY, STORY, clean, log_of
from tests.llm.test_client import ANTHROPIC, OPENAI
from tests.stub import KEY, Says, env, pointed, stub

HOOKED = f"""
import os, sys
def hook(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        with open(os.environ["CONNECTS"], "a") as file:
            print(event, args[1] if event == "socket.connect" else args[0], file=file)
sys.addaudithook(hook)
sys.path.insert(0, {str(ROOT)!r})
from ctxkit.cli.app import main
main()
"""
"""The command, which notes where it connects to and which names it looks up."""


def test_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is sent is said first; then as with any strategy. Nothing on standard output."""
    path = log_of(tmp_path)
    with stub(Says(STORY)) as made:
        pointed(made, monkeypatch)
        ran = good("compact", path, "--target", "40%", "--strategy", "llm", "--summary-model", OPENAI)
        assert ran.out == b""
        first, second, *_, last = ran.said.splitlines()
        sent = rf"sending [\d,]+ bytes to {OPENAI} at {made.host}, 12 secrets taken out"
        assert re.fullmatch(sent, first) and second.startswith("llm: 30 messages (3-32) summarized in ")
        assert last.startswith("Context condensed (")
    assert ops(path)[-1]["model"] == OPENAI and "fallback" not in ops(path)[-1]
    assert "summary of 3-32 (llm)" in good("show", path).text and STORY[:30] in good("show", path, "--full").text
    assert "3-32, llm" in good("log", path).text
    good("undo", path)
    clean(tmp_path)


def test_fallback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One warning line, exit 0, and the op says it; --no-fallback: 69, and nothing is appended."""
    path = log_of(tmp_path)
    raw = path.read_bytes()
    monkeypatch.setenv("CTXKIT_COMPACT_FAST_MODEL", ANTHROPIC)
    with stub(Says("BOOM", 401)) as made:
        pointed(made, monkeypatch)
        ran = ctxkit("compact", path, "--target", "40%", "--fast", "--no-fallback")
        assert ran.code == 69 and path.read_bytes() == raw
        why = f"{ANTHROPIC} gave no answer that can be used: AuthenticationError, status 401"
        assert f"ctxkit: {why}: nothing was changed\nhint: set the provider's key" in ran.err
        ran = good("compact", path, "--target", "40%", "--fast")
        assert [line for line in ran.err.splitlines() if line.startswith("ctxkit: ")] == [
            f"ctxkit: {why}: rules made the summary"
        ]
        assert ops(path)[-1]["fallback"] == why and ops(path)[-1]["strategy"] == "extract"
        piped = ctxkit("compact", "-", "--target", "40%", "--fast", "--no-fallback", stdin=raw)
        assert (piped.code, piped.out) == (69, b"")
    clean(tmp_path)


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["--strategy", "llm"], 78, "no model is named"), (["--fast"], 78, "set compact.fast_model NAME"),
        (["--summary-model", "m", "--fast"], 2, "two models"),
        (["--strategy", "mask", "--summary-model", "m"], 2, "asks no model"),
    ],
)  # fmt: skip
def test_which_model(tmp_path: Path, words: list[str], code: int, says: str) -> None:
    """Said before anything is counted or sent."""
    path = log_of(tmp_path)
    ran = ctxkit("compact", path, "--target", "40%", *words)
    assert ran.code == code and says in ran.err and ops(path) == []


def test_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CTXKIT_OFFLINE: nothing is sent, rules make the summary."""
    monkeypatch.setenv("CTXKIT_OFFLINE", "1")
    path = log_of(tmp_path)
    ran = good("compact", path, "--target", "40%", "--summary-model", OPENAI)
    assert "ctxkit: no model can be asked: CTXKIT_OFFLINE is set: rules made the summary" in ran.err.splitlines()
    assert len(ops(path)) == 1


def test_a_log_that_changed_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the model was asked: 75, nothing is appended, and its words are kept and named."""
    path = log_of(tmp_path)

    def answer(text: str, body: object) -> Says:
        good("forget", path, "4")
        return Says(STORY)

    with stub(answer) as made:
        pointed(made, monkeypatch)
        before = sys.stdout, sys.stderr
        ran = ctxkit("compact", path, "--target", "40%", "--summary-model", OPENAI)
        assert (sys.stdout, sys.stderr) == before
    assert ran.code == 75 and "the summary is kept: try again with --summary-file " in ran.err
    [kept] = (tmp_path / "log.jsonl.ctxkit").glob("summary-*.txt")
    assert STORY[:30] in kept.read_text() and kept.stat().st_mode & 0o777 == 0o600 and len(ops(path)) == 1


def test_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal alone, and gone in the end."""
    path = log_of(tmp_path)
    monkeypatch.setattr("ctxkit.cli.terminal.progress.AFTER", 0.0)
    with stub(Says(STORY, wait=0.3)) as made:
        pointed(made, monkeypatch)
        ran = ctxkit("compact", path, "--target", "40%", "--summary-model", OPENAI, "--dry-run", terminal=True)
        assert "Condensing context… 1/1" in ran.err and max(map(cells, re.split(r"[\r\n]", ran.err))) <= 80
        ran = ctxkit("compact", path, "--target", "40%", "--summary-model", OPENAI, "--dry-run")
        assert "Condensing" not in ran.err
    assert ops(path) == []


def test_snapshot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The id alone on standard output; where the model fails, a warning, and the snapshot all the same."""
    path = log_of(tmp_path)
    with stub(Says("The cart was mended."), Says("BOOM", 401)) as made:
        pointed(made, monkeypatch)
        ran = good("snapshot", path, "--summary-model", OPENAI)
        assert ran.out.count(b"\n") == 1 and ran.err.startswith("sending ")
        assert "The cart was mended." in good("snapshots", path, "--json").text
        ran = good("snapshot", path, "--summary-model", OPENAI, "-m", "again")
    warnings = [line for line in ran.err.splitlines() if line.startswith("ctxkit: ")]
    assert len(warnings) == 1 and "status 401: the snapshot was taken, and its summary says so" in warnings[0]
    assert "(summary generation failed)" in good("snapshots", path, "--json").text
    clean(tmp_path)


def test_it_connects_to_the_model_s_host_alone(tmp_path: Path) -> None:
    """A real command: nothing else is looked up or connected to; standard output is empty; no word of the log, no key
    anywhere but in the log itself.
    """
    path = log_of(tmp_path)
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / ".env").write_text(
        "HTTP_PROXY=http://127.0.0.1:1\nhttp_proxy=http://127.0.0.1:1\n"
    )  # a cloned folder's
    with stub(Says("BOOM", 429), Says(STORY)) as made:
        noted = {
            "CONNECTS": str(tmp_path / "connects"),
            "HOME": str(home),
            "TMPDIR": str(home),
            "PATH": os.environ["PATH"],
        }
        ran = subprocess.run(
            [sys.executable, "-c", HOOKED, "compact", str(path), "--target", "40%", "--summary-model", OPENAI],
            env={**noted, **env(made)}, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        host, port = made.host.split(":")
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr
    connects = set((tmp_path / "connects").read_text().splitlines())
    assert connects <= {f"socket.connect ('{host}', {port})", f"socket.getaddrinfo {host}"} and connects
    assert KEY not in ran.stderr and CANARY not in ran.stderr and "BOOM" not in ran.stderr
    assert ran.stderr.startswith("sending ") and ops(path)[-1]["strategy"] == "llm"
    clean(tmp_path)
    assert not [file for file in home.rglob("*") if file.is_file() and CANARY.encode() in file.read_bytes()]


def test_interrupted(tmp_path: Path) -> None:
    """Ctrl-C while the model is waited for: 130, no traceback, the log as it was, nothing beside it."""
    path = log_of(tmp_path)
    raw = path.read_bytes()
    with stub(Says(STORY, wait=60)) as made:
        child = subprocess.Popen(
            [*PYTHON, "compact", str(path), "--target", "40%", "--summary-model", OPENAI],
            env={**os.environ, **env(made)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        for _ in range(2000):
            if made.requests or child.poll() is not None:
                break
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=100)
    assert made.requests and (child.returncode, out) == (130, "") and "Traceback" not in err and STORY not in err
    assert path.read_bytes() == raw and sorted(one.name for one in tmp_path.iterdir()) == ["log.jsonl"]


def test_without_a_model_nothing_is_loaded(tmp_path: Path) -> None:
    """litellm and what it brings are imported only where a model is asked."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(lines(*({"role": "user", "content": f"{n} " * 80} for n in range(9))))
    code = f"""
import sys; sys.path.insert(0, {str(ROOT)!r})
from ctxkit.cli import app
for words in (["compact", {str(path)!r}, "--target", "50%"], ["snapshot", {str(path)!r}], ["status", {str(path)!r}]):
    app.run(words)
print(sorted({{"litellm", "tenacity", "httpx", "openai"}} & set(sys.modules)), file=sys.stderr)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stderr.splitlines()[-1] == "[]", ran.stderr


def test_a_program_wherever_a_model_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`compact`, `snapshot` and `--about-model` ask it; it is named first, with its file; no key is needed."""
    monkeypatch.setitem(sys.modules, "litellm", None)
    program = tmp_path / "story-model"
    program.write_text(
        '#!/bin/sh\nif grep -q \'"handles"\'; then echo \'{"handles": ["m1"], "reason": "x"}\'; '
        "else echo 'The cart was mended.'; fi\n"
    )
    program.chmod(0o700)
    path = log_of(tmp_path)
    model = f"cmd:{program} -q"
    named = rf"sending [\d,]+ bytes to {re.escape(model)} at {re.escape(str(program))}, \d+ secrets? taken out"
    ran = good("forget", path, "--about", "step", "--about-model", model, "--yes")
    assert re.match(named, ran.err) and ops(path)[-1]["answer"]["model"] == model
    ran = good("compact", path, "--target", "40%", "--summary-model", model)
    assert re.match(named, ran.err) and ops(path)[-1]["model"] == model
    assert "> The cart was mended." in ops(path)[-1]["text"]
    ran = good("snapshot", path, "--summary-model", model)
    assert re.match(named, ran.err) and "The cart was mended." in good("snapshots", path, "--json").text


def test_a_program_of_a_folder_s_own_config_never_runs(tmp_path: Path) -> None:
    """Only the user's own config, flags and environment name one."""
    path = log_of(tmp_path)
    evil = f'"cmd:touch {tmp_path}/ran"'
    text = f'[compact]\nmodel = {evil}\nfast_model = {evil}\nstrategy = "llm"\n'
    (tmp_path / "ctxkit.toml").write_text(text)
    for words in (["--strategy", "llm"], ["--fast"], []):
        ran = ctxkit("compact", path, "--target", "40%", *words)
        assert ran.code == (78 if words else 0) and "ignored" in ran.err
    assert not (tmp_path / "ran").exists() and ops(path)[-1]["strategy"] == "extract"
