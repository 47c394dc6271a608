"""sessions: what is listed, how, and what is said of the rest."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ctxkit.cli import regex_timeout
from ctxkit.store import index
from tests.cli.hostile import ALL, bad_characters
from tests.cli.runner import FOREIGN, PYTHON, SMALL, Ran, ctxkit, good, lines, message, process
from tests.cli.screens import on_pty
from tests.homes import PROGRAMS, repository, session

HOSTILE = os.fsdecode(b"new\nline \x1b]0;pwned\x07 \xff \xe2\x80\xae $(id) 'x'.jsonl")


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A folder with three sessions: native, of Claude Code, and one without an answer."""
    folder = tmp_path / "logs"
    (folder / "deep/er").mkdir(parents=True)
    (folder / "chat.jsonl").write_bytes(SMALL)
    (folder / "deep/claude.jsonl").write_bytes(FOREIGN)
    (folder / "deep/er/open.jsonl").write_bytes(lines(message("user", "is anybody there", 30)))
    return folder


def names(ran: Ran) -> list[str]:
    """The file names of the JSON lines."""
    return [Path(value["path"]).name for value in ran.values]


def test_list(logs: Path) -> None:
    """Newest first, some lines each; how many is a report."""
    ran = good("sessions", logs)
    assert ran.text == (
        "2026-02-01T10:30:00Z  is anybody there\n    user: is anybody there\n"
        "    chat  1 message  ~16 tokens  interrupted\n"
        f"    {logs}/deep/er/open.jsonl\n\n"
        "2026-02-01T10:10:00Z  first question\n    assistant: last answer\n    chat  11 messages  ~219 tokens\n"
        f"    {logs}/chat.jsonl\n\n"
        "2026-02-01T10:02:00Z  hello\n    user: more\n    claude-code  3 messages  ~53 tokens  interrupted\n"
        f"    {logs}/deep/claude.jsonl\n"
    )
    assert ran.err == "3 sessions\n"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("", "open chat claude"), ("--limit 1", "open"), ("--format chat", "open chat"),
        ("--format anthropic", "open chat"), ("--grep print", "chat"), ("--grep hel+o", "claude"),
        ("--grep deep", "open claude"), ("--grep ^more$", "claude"), ("--since 2026-02-01T10:10:00Z", "open chat"),
        ("--since 25m", "open chat"), ("--grep question --limit 1", "chat"),
    ],
)  # fmt: skip
def test_what_is_listed(logs: Path, words: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that is asked for holds; durations count from now."""
    monkeypatch.setenv("CTXKIT_NOW", "2026-02-01T10:31:00Z")
    assert names(good("sessions", logs, *words.split(), "--json")) == [f"{name}.jsonl" for name in expected.split()]


def test_json(logs: Path) -> None:
    """An object each, all keys always there."""
    [found] = good("sessions", logs / "chat.jsonl", "--json").values
    assert found == {
        "path": f"{logs}/chat.jsonl", "format": "chat", "title": "first question",
        "last": {"role": "assistant", "text": "last answer"}, "time": "2026-02-01T10:10:00Z", "size": len(SMALL),
        "messages": 11, "conversations": 1, "tokens": 219, "counter": "estimate by size", "checkpoints": 0,
        "state": "clean",
        "damaged": 0, "thread": None, "sidecar": None, "project": None, "branch": None,
        "name": None, "resumed_from": None,
    }  # fmt: skip


def test_paths_alone(logs: Path) -> None:
    """With -0 as they are, bytes that are no text included."""
    (logs / HOSTILE).write_bytes(lines(message("user", "x", 40)))
    found = good("sessions", logs, "-0").out.split(b"\0")
    assert found[0] == os.fsencode(logs / HOSTILE) and len(found) == 5 and found[-1] == b""
    assert ctxkit("sessions", logs, "-0", "--json").code == 2


def test_hostile_names_and_words(tmp_path: Path) -> None:
    """Whatever a file is called and says, a terminal shows it and obeys none of it."""
    folder = tmp_path / "d\x1b[31m"
    folder.mkdir()
    (folder / HOSTILE).write_bytes(lines(message("user", ALL), message("assistant", ALL)))
    (folder / f"{HOSTILE}.gone.ctxkit").mkdir()
    (folder / "broken\x1b[1m\nctxkit: all is well").symlink_to("nowhere")
    for options in ((), ("--grep", "."), ("--grep", "\x1b")):
        ran = ctxkit("sessions", folder, *options)
        assert ran.code == 66  # of the link
        assert (bad_characters(ran.text), bad_characters(ran.err)) == ([], [])
        assert "\nctxkit: all is well" not in ran.text + ran.err
    for columns in (20, 80):
        seen = on_pty(["--no-pager", "sessions", str(folder)], columns)
        assert seen.code == 66 and b"\x1b]0;" not in seen.raw and b"\x1b[31m" not in seen.raw


def test_sidecars_whose_log_is_gone(logs: Path) -> None:
    """Are named, and stay."""
    (logs / "gone.jsonl.ctxkit").mkdir()
    ran = good("sessions", logs, "--json")
    assert ran.err == f"{logs}/gone.jsonl.ctxkit: a sidecar whose log is gone\n3 sessions\n"
    assert (logs / "gone.jsonl.ctxkit").is_dir()
    assert good("sessions", logs, "--json", "-q").err == ""


def test_a_folder_of_the_name_alone(logs: Path) -> None:
    """A folder `.ctxkit` is the sidecar of nothing, and what is in it is listed."""
    (logs / ".ctxkit").mkdir()
    (logs / ".ctxkit/a.jsonl").write_bytes((logs / "chat.jsonl").read_bytes())
    assert good("sessions", logs, "--json").err == "4 sessions\n"


@pytest.mark.needs("setpriv")
def test_what_cannot_be_read(logs: Path) -> None:
    """A file, a folder: said, and the others are listed; exit by what failed."""
    (logs / "chat.jsonl").chmod(0)
    (logs / "deep/er").chmod(0)
    before = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    ran = process("sessions", str(logs), "--json", before=before)
    assert (ran.code, names(ran)) == (77, ["claude.jsonl"])
    assert f"ctxkit: {logs}/chat.jsonl: permission denied\n" in ran.err
    assert f"ctxkit: {logs}/deep/er: permission denied\n" in ran.err
    assert process("sessions", str(logs / "deep/er"), before=before).code == 77
    (logs / "deep/claude.jsonl").unlink()
    assert process("sessions", str(logs), before=before).code == 77


def test_a_conversation_a_line_whose_first_is_torn(tmp_path: Path) -> None:
    """The others are listed, shown and searched, and the torn line is told with its place."""
    path = tmp_path / "batch.jsonl"
    talks = [{"messages": [{"role": "user", "content": f"question {n}"}]} for n in (1, 2, 3)]
    path.write_bytes(lines(*talks)[9:])
    [told] = good("sessions", tmp_path, "--json").values
    assert (told["conversations"], told["messages"], told["state"], told["damaged"]) == (2, 2, "damaged", 1)
    ran = ctxkit("show", path, "--conversation", "1")
    assert ran.code == 0 and "question 2" in ran.text and f"{path}:1: not-json" in ran.err
    assert ctxkit("check", path, "--conversation", "1").code == 1
    assert good("sessions", tmp_path, "--grep", "question 3", "--json").values == [told]


def test_nothing_is_there(tmp_path: Path, logs: Path) -> None:
    """Exit 1, and which folder it was; a folder that is missing is exit 66."""
    empty = tmp_path / "empty"
    empty.mkdir()
    ran = ctxkit("sessions", empty)
    assert (ran.code, ran.out) == (1, b"") and ran.err.splitlines() == [
        f"ctxkit: nothing found: no session in {empty}",
        "hint: ctxkit sessions --here lists the agents' sessions of this project",
    ]
    assert "of 3 sessions none fits" in ctxkit("sessions", logs, "--grep", "zebra").err
    assert ctxkit("sessions", tmp_path / "none").code == 66
    assert ctxkit("sessions", "").code == 2
    ran = ctxkit("sessions")
    assert ran.code == 1 and ".claude/projects" in ran.err and "hint: ctxkit sessions DIR" in ran.err


def test_default_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the agents that are there."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".claude/projects/-src").mkdir(parents=True)
    (tmp_path / ".claude/projects/-src/a.jsonl").write_bytes(FOREIGN)
    assert names(good("sessions", "--json")) == ["a.jsonl"]


@pytest.mark.parametrize("words", ["--format nope", "--grep (", "--since yesterweek", "--limit 0"])
def test_usage(logs: Path, words: str) -> None:
    """What cannot be understood is refused before anything is read."""
    ran = ctxkit("sessions", logs, *words.split())
    assert (ran.code, ran.out) == (2, b"")


def test_a_pattern_that_runs_away(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ends the command."""
    monkeypatch.setattr(regex_timeout.RegexTimeout.__init__, "__defaults__", (0.05,))
    (logs / "evil.jsonl").write_bytes(lines(message("user", "title", 50), message("user", "a" * 40 + "!", 51)))
    ran = ctxkit("sessions", logs, "--grep", "(a+)+$")
    assert ran.code == 2 and "pattern too slow" in ran.err


def test_nothing_is_written(logs: Path) -> None:
    """Neither beside the logs nor in them."""
    before = sorted((path, path.stat().st_mtime_ns) for path in logs.rglob("*"))
    good("sessions", logs, "--grep", "question")
    assert sorted((path, path.stat().st_mtime_ns) for path in logs.rglob("*")) == before


def test_a_reader_that_leaves(logs: Path) -> None:
    """Is no error."""
    line = f"{' '.join(map(repr, PYTHON))} sessions {logs} | head -n 1; exit ${{PIPESTATUS[0]}}"
    ran = subprocess.run(["bash", "-c", line], capture_output=True, timeout=60, check=False)
    assert (ran.returncode, ran.stderr.decode()) in {(0, "3 sessions\n"), (141, ""), (0, "")}


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    """Nothing is found in it, as a relative path or through it, and nothing fails otherwise."""
    folder = tmp_path / "gone"
    script = f"mkdir {folder}; cd {folder}; rmdir {folder}; {' '.join(map(repr, PYTHON))}"
    for words in ("sessions .", f"sessions {tmp_path}", "recall . zebra", "sessions . --since 2d"):
        done = subprocess.run(["bash", "-c", f"{script} {words}"], capture_output=True, timeout=60, check=False)
        assert done.returncode == 1 and b"bug" not in done.stderr, done.stderr


def test_several_at_once(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one index, and none at the start: each lists all, and what they leave is sound."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for n in range(60):
        (logs / f"{n}.jsonl").write_bytes(lines(message("user", f"question {n}", n)))
    running = [
        subprocess.Popen([*PYTHON, *words, str(logs), *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for words, more in ((["sessions", "--json"], []), (["recall"], ["question"]))
        for _ in range(3)
    ]
    told = [run.communicate(timeout=120) for run in running]
    assert [run.returncode for run in running] == [0] * 6, told
    assert len({out for out, _ in told[:3]}) == 1 and len({out for out, _ in told[3:]}) == 1
    assert good("sessions", logs, "--json").out == told[0][0]
    assert good("recall", logs, "question").out == told[3][0]


def test_snapshots_are_counted(logs: Path) -> None:
    """Those that the command of that name takes."""
    for n in range(2):
        good("snapshot", logs / "chat.jsonl", "-m", f"try {n}")
    [found] = good("sessions", logs / "chat.jsonl", "--json").values
    assert found["checkpoints"] == len(good("snapshots", logs / "chat.jsonl", "--json").values) == 2
    assert "2 checkpoints" in good("sessions", logs / "chat.jsonl").text


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session of each program in a project, one in a folder below it, and one elsewhere."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(repository(tmp_path / "shop"))
    for format in PROGRAMS:
        session(tmp_path, format, tmp_path / "shop")
    session(tmp_path, "claude-code", tmp_path / "shop/src", "5e550000-0000-4000-8000-000000000001", "In a folder below")
    session(tmp_path, "claude-code", tmp_path / "other", "5e550000-0000-4000-8000-000000000002", "Elsewhere")
    return tmp_path


def test_here(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of this project alone, with the folder and the branch that they were begun in."""
    found = {value["format"]: value for value in good("sessions", "--here", "--json").values if "3f2a" in value["path"]}
    assert len(found) == len(PROGRAMS)
    assert {value["project"] for value in found.values()} == {str(home / "shop")}
    assert {name for name, value in found.items() if value["branch"] == "main"} == {
        "claude-code", "codex", "copilot-cli", "qwen-code"
    }  # fmt: skip
    ran = good("sessions", "--here", "--grep", "In a folder")
    assert "1 message  ~28 tokens  interrupted  ~/shop/src  main\n" in ran.text and ran.err == "1 session\n"
    assert len(good("sessions", "--json").values) == len(good("sessions", "--here", "--json").values) + 1
    assert "exclude" in ctxkit("sessions", "--here", home).err or ctxkit("sessions", "--here", home).code == 2
    monkeypatch.chdir(repository(home / "empty"))
    ran = ctxkit("sessions", "--here")
    assert ran.code == 1 and f"no session in the project {home}/empty" in ran.err
    assert "ctxkit resume NAME --cwd ." in ran.err, "as of a project that was moved"


def test_agents_of_an_agent_here(home: Path) -> None:
    """Are listed where they are asked for."""
    [path] = home.glob(".claude/projects/*shop/3f2a*.jsonl")
    beside = path.with_suffix("") / "subagents/agent-1.jsonl"
    beside.parent.mkdir(parents=True)
    beside.write_bytes(path.read_bytes().replace(b"Where is", b"Sub"))
    plain = len(good("sessions", "--here", "--json").values)
    assert len(good("sessions", "--here", "--all", "--json").values) == plain + 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--sort time", "open chat claude"), ("--sort size", "chat claude open"),
        ("--until 2026-02-01T10:10", "chat claude"),
        ("--until 10m", "chat claude"), ("--since 2026-02-01T10:05 --until 15m", "chat"),
        ("--sort size --limit 1", "chat"), ("--sort tokens", "chat claude open"),
    ],
)  # fmt: skip
def test_order_and_bounds(logs: Path, words: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By time, by size, by tokens, estimated where nobody counted; until is a bound of its own."""
    monkeypatch.setenv("CTXKIT_NOW", "2026-02-01T10:31:00Z")
    monkeypatch.setattr(index, "JUST_NOW", 0)
    good("status", logs / "chat.jsonl")
    ran = good("sessions", logs, "--json", *words.split())
    assert [Path(value["path"]).stem for value in ran.values] == expected.split()


def test_tokens_that_a_program_noted(tmp_path: Path) -> None:
    """Are told without counting, until an op changes the context; what `status` counted is told before them."""
    usage = {"input_tokens": 900, "output_tokens": 34, "cache_read_input_tokens": 300}
    said = {"id": "m9", "role": "assistant", "model": "claude-sonnet-4-5", "usage": usage, "content": []}
    row = {"type": "assistant", "uuid": "u9", "parentUuid": "u3", "sessionId": "s", "timestamp": "2026-02-01T10:03:00Z"}
    path = tmp_path / "s.jsonl"
    path.write_bytes(FOREIGN + lines(row | {"message": said}))
    [value] = good("sessions", path, "--json").values
    assert (value["tokens"], value["counter"]) == (1234, "provider")
    assert "1,234 tokens" in good("sessions", path).text
    good("forget", path, "1")
    [value] = good("sessions", path, "--json").values
    assert value["counter"] == "estimate by size" and 1100 < value["tokens"] < 1234


def test_verify_names_damage_also_without_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agents deleted all of their sessions: the copies are all there is, and damaged ones are named."""
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".claude/projects/-work-shop"
    folder.mkdir(parents=True)
    session = folder / "3f2a91c0-7d15-4b6e-9a52-0c8e61d4b7f3.jsonl"
    session.write_bytes((Path(__file__).resolve().parents[3] / "fixtures/guide/session.jsonl").read_bytes())
    archive = tmp_path / "archive"
    good("sessions", "--archive", str(archive))
    session.unlink()
    [copy] = archive.rglob(session.name)
    whole = copy.read_bytes()
    done = ctxkit("sessions", "--archive", str(archive), "--verify")
    assert done.code == 0 and "nothing damaged" in done.err
    copy.chmod(0o600)
    copy.write_bytes(whole.replace(b"cart", b"cost", 1))
    done = ctxkit("sessions", "--archive", str(archive), "--verify")
    assert done.code == 1 and session.stem.encode() in done.out and "1 damaged" in done.err


def test_several_processes(
    logs: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files that the index does not know are read by several processes, and listed as by one."""
    (logs / "torn.jsonl").write_bytes(b'{"role":"user","content":"question')
    long_ago = 1_700_000_000
    for path in logs.iterdir():
        os.utime(path, (long_ago, long_ago))
    runs = []
    for jobs in ("1", "2"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        runs.append(ctxkit("sessions", logs, "--json", "--jobs", jobs))
    assert runs[0] == runs[1]


def test_logs_of_a_list(logs: Path) -> None:
    """Only they are listed; an empty list is no folder."""
    first, second = sorted(map(str, logs.rglob("*.jsonl")))[:2]
    rows = good("sessions", "--files-from", "-", "--json", stdin=f"{first}\n{second}\n".encode()).values
    assert {row["path"] for row in rows} == {first, second}
    assert ctxkit("sessions", "--files-from", "-", stdin=b"").code == 1
