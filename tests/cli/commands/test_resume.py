"""ctxkit resume: what it prints, what it starts, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from ctxkit import Log
from tests.cli.runner import ctxkit, good, process
from tests.shared import HERE

GUIDE = HERE.parent / "fixtures/guide"
ID = "5e551011-0000-4000-8000-0000000000aa"


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the guide's logs, which this process is in, beside a home."""
    folder = tmp_path / "work"
    shutil.copytree(GUIDE, folder)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.chdir(folder)
    return folder


def test_the_line_is_the_result(work: Path) -> None:
    """Standard output is the line, and nothing else; reports say what was written, and what comes next."""
    good("forget", "session.jsonl", "6-7")
    ran = good("resume", "session.jsonl", "--cwd", ".", "--id", ID)
    assert ran.text == f"claude --resume {ID}\n"
    wrote, price, program, names = ran.err.splitlines()
    [path] = (work.parent / "home").glob(f".claude/projects/*/{ID}.jsonl")
    assert wrote == f"wrote 18 messages for Claude Code: ~/{path.relative_to(work.parent / 'home')}"
    assert (
        price.startswith("the next request sends 682 tokens") and "none of them cached; the newest message is" in price
    )
    assert program == "claude is not on PATH here" and names == "the new session: its messages are numbered anew"
    assert len(list(Log.open(path).entries())) == 18


def test_json(work: Path) -> None:
    """All that is said, as an object; what a dry run would write is not there."""
    [told] = good("resume", "chat.jsonl", "--to", "codex", "--json", "--id", ID).values
    assert told["command"] == ["codex", "resume", ID] and told["line"] == f"codex resume {ID}"
    assert (told["agent"], told["id"], told["cwd"], told["written"]) == ("codex", ID, str(work), True)
    assert (told["messages"], told["cached"], told["dollars"], told["model"]) == (14, 0, None, None)
    assert Path(told["path"]).is_file()
    [told] = good("resume", "chat.jsonl", "--to", "pi", "--json", "--dry-run", "--id", ID).values
    assert told["written"] is False and not Path(told["path"]).exists()


def test_dry_run(work: Path) -> None:
    """What would be written is said, and the line behind it; there is no result, and no folder."""
    ran = good("resume", "chat.jsonl", "--to", "pi", "-n")
    assert ran.out == b"" and not (work.parent / "home/.pi").exists()
    assert ran.err.startswith("Dry run, nothing was written. Without it: wrote ")
    assert ran.err.splitlines()[-1].startswith("then: pi --session ")


def test_a_dry_run_names_no_id_that_will_not_be(work: Path) -> None:
    """The real run makes an id of its own, unless one was given."""
    ran = good("resume", "session.jsonl", "--cwd", ".", "--force", "-n")
    assert ran.err.splitlines()[-1] == "then: claude --resume <new id>"
    [told] = good("resume", "session.jsonl", "--cwd", ".", "--force", "-n", "--json").values
    assert told["agent"] == "claude-code" and told["messages"] and not {"id", "path", "command", "line"} & told.keys()
    ran = good("resume", "session.jsonl", "--cwd", ".", "--force", "-n", "--id", ID)
    assert ran.err.splitlines()[-1] == f"then: claude --resume {ID}"


def test_a_session_that_is_as_it_was(work: Path) -> None:
    """It is gone on with under its own id."""
    good("resume", "session.jsonl", "--cwd", ".", "--id", ID)
    [path] = (work.parent / "home").glob(f".claude/projects/*/{ID}.jsonl")
    ran = good("resume", path)
    assert ran.text == f"claude --resume {ID}\n" and ran.err.startswith("nothing was cut: no op changed")
    assert [one.name for one in path.parent.iterdir()] == [path.name]
    assert good("resume", path, "--force").text != ran.text


def test_names_after_it(work: Path) -> None:
    """`@` is the new session then, and says so; the list has the names, and which session it was made from."""
    good("resume", "session.jsonl", "--cwd", ".", "--id", ID)
    [path] = (work.parent / "home").glob(f".claude/projects/*/{ID}.jsonl")
    os.utime(path, (path.stat().st_mtime - 90,) * 2)
    good("forget", "@", "6-7")
    os.utime(path, (path.stat().st_mtime - 90,) * 2)
    ran = good("resume", "@")
    assert "@ is the new session now, and @2 the one that it was made from" in ran.err
    new, old = good("sessions", "--here", "--json").values
    assert (new["name"], old["name"]) == ("@", "@2") and old["path"] == new["resumed_from"] == str(path)
    assert old["resumed_from"] == str(work / "session.jsonl")
    text = good("sessions", "--here").text
    assert (
        text.startswith("@   2026-")
        and "\n\n@2  2026-" in text
        and re.search(rf"\n    resumed from @\d \({path}\)\n", text)
    )
    assert "@ is the new session now; its messages are numbered anew\n" in good("resume", "@2", "--force").err


def test_title_and_source(work: Path) -> None:
    """The new session keeps the title, also if its first message was cut; `undo` and `recall` name the source."""
    good("resume", "chat.jsonl", "--to", "codex", "--id", ID)
    [path] = (work.parent / "home").rglob(f"*{ID}.jsonl")
    title = good("sessions", path, "--json").values[0]["title"]
    good("forget", path, "1-2")
    [new] = good("resume", path, "--json").values
    assert good("show", new["path"], "2").text != good("show", path, "2").text
    [told] = good("sessions", new["path"], "--json").values
    assert title and told["title"] == title
    assert [one["title"] for one in good("sessions", "--here", "--json").values] == [title, title]
    for words in (["undo"], ["recall", "zebra"]):
        ran = ctxkit(words[0], new["path"], *words[1:])
        assert ran.code in (1, 2) and f"ctxkit resume made it from @2: ctxkit {words[0]} @2" in ran.err, ran.err


def test_a_budget_that_is_kept(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the config asks for it the session is cut as an export is; the log is not."""
    monkeypatch.setenv("CTXKIT_BUDGET_ENFORCE", "true")
    monkeypatch.setenv("CTXKIT_LIMIT", "300")
    monkeypatch.setenv("CTXKIT_RESERVE", "0")
    [told] = good("resume", "chat.jsonl", "--to", "pi", "--json").values
    assert told["messages"] < 14 and told["tokens"] <= 300
    assert len(list(Log.open("chat.jsonl").entries())) == 14


def test_from_a_pipe(work: Path) -> None:
    """A log with the ops of a pipe in it."""
    ran = good("resume", "-", "--to", "pi", "--json", stdin=(work / "chat.jsonl").read_bytes())
    assert ran.values[0]["messages"] == 14
    assert ctxkit("resume", "-", "--run", stdin=b"").code == 2


@pytest.mark.parametrize("flag", ["--dry-run", "--json"])
def test_run_stands_alone(work: Path, flag: str) -> None:
    """What starts an agent has no result of its own."""
    ran = ctxkit("resume", "chat.jsonl", "--to", "pi", "--run", flag)
    assert ran.code == 2 and f"--run and {flag} do not go together" in ran.err


def test_run(work: Path) -> None:
    """The agent is started in the folder of the session; without a program nothing is written."""
    refused = ctxkit("resume", "session.jsonl", "--cwd", "..", "--run")
    assert refused.code == 2 and "claude, which starts Claude Code, is not on PATH: nothing was written" in refused.err
    assert not (work.parent / "home/.claude").exists()
    program = work.parent / "bin/claude"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$0 $* in $PWD"\nexit 7\n')
    program.chmod(0o755)
    ran = process("resume", "session.jsonl", "--cwd", "..", "--run", "--id", ID, env=dict(os.environ))
    assert (ran.code, ran.text) == (7, f"{program} --resume {ID} in {work.parent}\n")
    assert "not on PATH" not in ran.err


def test_what_is_no_move(work: Path) -> None:
    """Two folders with = between them."""
    for text in ("x", "=x", "x="):
        ran = ctxkit("resume", "session.jsonl", "--map", text)
        assert ran.code == 2 and f"--map {text}: not of the form OLD=NEW" in ran.err


def test_ops_that_are_not_known(work: Path) -> None:
    """A newer ctxkit may have hidden something: nothing is written without it, as by `export`."""
    with open("chat.jsonl", "a") as log:
        at = {"messages": 14, "rows": 14}
        log.write(json.dumps({"ctxkit": "frobnicate", "v": 1, "id": "x1", "at": at}) + "\n")
    assert ctxkit("resume", "chat.jsonl", "--to", "pi").code == 65
    assert not (work.parent / "home").exists()
