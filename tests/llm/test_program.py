"""program: real programs, as users have them: shell and Python scripts that answer, fail, hang, and leave children."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ctxkit.errors import ModelFailed
from ctxkit.llm import program as programs
from ctxkit.llm.client import Answer, PendingRequest, ask, available, time_limit
from ctxkit.llm.program import ends_with_us, is_program, program
from tests.stub import KEY

ASKED = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is the cart?"}]


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., str]:
    """Writes a program, and names it as a model."""

    def write(text: str, *words: str, shell: bool = True) -> str:
        path = tmp_path / "model"
        path.write_text(f"#!{'/bin/sh' if shell else sys.executable}\n{text}\n", encoding="utf-8")
        path.chmod(0o700)
        return " ".join([f"cmd:{path}", *words])

    return write


def asked(model: str, seconds: float = 60, check: Callable[[str], str | None] | None = None) -> Answer:
    """The answer of a program."""
    return ask(model, ASKED, deadline=time.monotonic() + seconds, check=check)


def fails(model: str, seconds: float = 60) -> str:
    """Why a program gives none."""
    with pytest.raises(ModelFailed) as raised:
        asked(model, seconds)
    return raised.value.message


def test_the_prompt_comes_on_standard_input(script: Callable[..., str]) -> None:
    """Both texts, and the words behind the program as they are: no shell reads them."""
    answer = asked(script('echo "$#:$1:$2"; cat', "-p", "'a  $HOME;b'"))
    assert answer == "2:-p:a  $HOME;b\nBe brief.\n\nWhat is the cart?" and answer.ended is None and not answer.cut


def test_what_is_named_first(script: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The program, its file and the size, before it starts; secrets are taken out of all that it is given or named."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    told: list[PendingRequest] = []
    model = script("cat; touch started", "--key", KEY)
    words = [{"role": "user", "content": f"The key is {KEY}."}]
    answer = ask(model, words, deadline=time.monotonic() + 60, tell=told.append)
    [one] = told
    assert KEY not in answer and KEY not in one.model and one.model.startswith(model[:20])
    assert (one.host, one.bytes, one.redactions) == (model.removeprefix("cmd:").split()[0], len(answer.encode()), 1)


def test_it_runs_in_an_empty_folder_of_its_own(
    script: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not in that of the log, whose files an agent would obey; the folder is gone afterwards. No ctxkit in it asks."""
    (tmp_path / "CLAUDE.md").write_text("Obey.")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLAUDECODE", "1")
    answer = asked(script('cat >/dev/null; pwd; echo "$PWD"; ls -a | tr "\\n" " "; echo "$CTXKIT_OFFLINE,$CLAUDECODE"'))
    folder, named, rest = answer.strip().split("\n")
    assert folder == named != str(tmp_path) and rest == ". .. 1," and not Path(folder).exists()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("cat >/dev/null; echo 'not logged in' >&2; exit 3", "exit code 3, not logged in"),
        (f"cat >/dev/null; printf 'a\\033[2Jb %s\\n' ghp_{'a1' * 18} >&2; exit 1", "exit code 1, a[2Jb ghp_…[red"),
        ("exit 3", "exit code 3"),
        ("kill -9 $$", "signal 9"),
        ("cat >/dev/null", "it is empty"),
        ("cat >/dev/null; echo '   '", "it is empty"),
        ("cat >/dev/null; printf 'caf\\351'", "its output is not UTF-8 from byte 3 on"),
        ("exec cat /dev/zero", "it printed more than 8,388,608 bytes"),
    ],
)  # fmt: skip
def test_it_fails(script: Callable[..., str], text: str, why: str) -> None:
    """Each with its reason, on one line and without secrets."""
    said = fails(script(text))
    assert said.startswith("cmd:/") and f"gave no answer that can be used: {why}" in said
    assert "a1a1" not in said and "\x1b" not in said


@pytest.mark.parametrize(
    ("model", "why"),
    [
        ("cmd:no-such-program -p", "there is no program 'no-such-program'"), ("cmd:", "it names no program"),
        ("cmd:cat 'a", "No closing quotation"), ("cmd:/", "there is no program '/'"),
    ],
)  # fmt: skip
def test_nothing_to_run(model: str, why: str) -> None:
    """Said before anything is sent."""
    assert fails(model) == f"{model} was not asked: {why}"


def test_a_file_that_is_no_program(tmp_path: Path) -> None:
    """Its first line names an interpreter that is not there."""
    path = tmp_path / "model"
    path.write_text("#!/no/such/interpreter\n")
    path.chmod(0o700)
    assert fails(f"cmd:{path}") == f"cmd:{path} was not asked: {path}: No such file or directory"


def test_time(script: Callable[..., str], tmp_path: Path) -> None:
    """It is ended with what it started, if the time is over."""
    said = fails(script(f"sleep 1000 & echo $! >{tmp_path}/child; sleep 1000"), seconds=2)
    assert said.endswith("the time is over")
    assert not alive(int((tmp_path / "child").read_text()))


def test_children_that_outlive_it(script: Callable[..., str], tmp_path: Path) -> None:
    """One that holds the pipe is not waited for, and ends too; what the program printed is the answer."""
    answer = asked(script(f"cat >/dev/null; sleep 1000 & echo $! >{tmp_path}/child; echo Fine."))
    assert answer == "Fine.\n" and not alive(int((tmp_path / "child").read_text()))


def alive(pid: int) -> bool:
    """Whether a process runs, soon after it was killed."""
    for _ in range(200):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1]
        except OSError:
            return False
        if state == "Z":
            return False
        time.sleep(0.05)
    return True


def test_a_large_prompt_that_is_not_read(script: Callable[..., str]) -> None:
    """A program that answers without reading blocks nobody; one that reads gets all of it."""
    words = [{"role": "user", "content": "word " * 200_000}]
    deadline = time.monotonic() + 60
    assert ask(script("echo Fine."), words, deadline=deadline) == "Fine.\n"
    assert ask(script("wc -c"), words, deadline=deadline).strip() == "1000000"


def test_interrupted(script: Callable[..., str], tmp_path: Path) -> None:
    """What a tick raises ends the program."""

    def tick() -> None:
        if (tmp_path / "child").exists():
            raise KeyboardInterrupt

    model = script(f"echo $$ >{tmp_path}/new; mv {tmp_path}/new {tmp_path}/child; sleep 1000")
    with pytest.raises(KeyboardInterrupt):
        ask(model, ASKED, deadline=time.monotonic() + 60, tick=tick)
    assert not alive(int((tmp_path / "child").read_text()))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_ended_by_a_signal(number: signal.Signals, script: Callable[..., str], tmp_path: Path) -> None:
    """What ends ctxkit ends the program first, also one that ignores the signal."""
    model = script(f"trap '' TERM HUP; echo $$ >{tmp_path}/new; mv {tmp_path}/new {tmp_path}/child; sleep 1000")
    code = "import sys, time; from ctxkit.llm.client import ask; "
    code += "ask(sys.argv[1], [{'role': 'user', 'content': 'hi'}], deadline=time.monotonic() + 60)"
    with subprocess.Popen([sys.executable, "-c", code, model], env={**os.environ, "TMPDIR": str(tmp_path)}) as asking:
        while not (tmp_path / "child").exists():
            time.sleep(0.02)
        asking.send_signal(number)
        assert asking.wait() == 128 + number
    assert not alive(int((tmp_path / "child").read_text())) and not list(tmp_path.glob("ctxkit-model-*"))


def test_signals_of_the_caller_stay() -> None:
    """A handler that the program has is called as before; without one all is as before when the block ends."""
    called: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: called.append(number))
    try:
        with ends_with_us(1 << 30):
            os.kill(os.getpid(), signal.SIGTERM)
            assert signal.getsignal(signal.SIGHUP) is not signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)
    assert called == [signal.SIGTERM] and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL


def test_it_is_asked_once(script: Callable[..., str], tmp_path: Path) -> None:
    """An answer that the check refuses is not asked for again: an agent may take minutes, and money."""
    model = script(f"cat >/dev/null; echo x >>{tmp_path}/runs; echo No.")
    with pytest.raises(ModelFailed, match="it refuses"):
        asked(model, check=lambda answer: "it refuses")
    assert (tmp_path / "runs").read_text() == "x\n"


def test_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """No litellm; not if ctxkit is told to stay offline. It has a time limit of its own."""
    monkeypatch.setitem(sys.modules, "litellm", None)
    assert available() and not available("cmd:cat") and is_program("cmd:cat") and not is_program("openai/cmd:x")
    monkeypatch.setenv("CTXKIT_OFFLINE", "1")
    assert fails("cmd:cat") == "no model can be asked: CTXKIT_OFFLINE is set"
    limits = {"compact.program_timeout": 300, "compact.timeout": 60}
    assert (time_limit(limits, "cmd:cat"), time_limit(limits, "openai/x")) == (300.0, 60.0)


def test_agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As their makers name the form for scripts: with what they need to start in an empty folder, and nothing twice."""
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("claude", "codex", "gemini", "llm"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o700)
    for words, given in (
        ("claude -p", ("-p",)), ("llm", ()), ("gemini -p", ("-p", "")), ("gemini -m x -p", ("-m", "x", "-p", "")),
        ("gemini -p ''", ("-p", "")), ("codex exec -", ("exec", "--skip-git-repo-check", "-")),
        ("codex exec --skip-git-repo-check -", ("exec", "--skip-git-repo-check", "-")), ("codex", ()),
    ):  # fmt: skip
        assert program(f"cmd:{words}").argv[1:] == given


def test_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program is found on the PATH, in the home folder, or from the folder where the user is."""
    path = tmp_path / "model"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o700)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("./model", "~/model", str(path)):
        assert program(f"cmd:{name} -p").argv == (str(path), "-p")
    assert os.path.isabs(program("cmd:sh").path) and programs.PREFIX == "cmd:"
