"""`--redact`: no secret of a log leaves it, by any way out, in any format."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.core import TyperOption

from ctxkit.cli.parser import command_parser
from ctxkit.cli.registry import COMMANDS
from ctxkit.formats.session_folders import slug
from ctxkit.formats.targets import TARGETS
from tests.canary_sessions import canary, filled
from tests.cli.runner import SMALL, ctxkit, good, lines, message
from tests.damage.sessions import ALL, Session
from tests.formats.claude_code import logs as claude_code
from tests.llm.test_client import OPENAI
from tests.stub import Says, pointed, stub

WAYS = {
    **{f"show {' '.join(words)}": ("show", *words) for words in (
        (), ("--full",), ("--json",), ("--oneline",), ("--words",), ("--tools",), ("--explain",), ("--tools", "--json"),
        ("--explain", "--json"), ("--grep", "question"), ("1-3", "--json"),
    )},
    "recall": ("recall", "question"),
    "recall --json": ("recall", "question", "--json"),
    "snapshot": ("snapshot",),
    "snapshot --json": ("snapshot", "--json", "-m", "a point"),
}  # fmt: skip


def _rich() -> bytes:
    """A session of Claude Code with more places than most."""
    thought = {"type": "thinking", "thinking": "it may be this", "signature": "c2lnbmF0dXJl"}
    beside: dict[str, Any] = {
        "cwd": "/home/ada/shop", "gitBranch": "main", "slug": "a-slug", "version": "2.1.0",
        "toolUseResult": {"stdout": "1", "file": "a.py"},
    }  # fmt: skip
    rows = [
        {"type": "summary", "summary": "A title", "leafUuid": "a2"},
        claude_code.user("u1", None, "first question", 1, **beside),
        claude_code.assistant("a1", "u1", [thought, claude_code.call("c1", "mcp__shop__find")], 2, **beside),
        claude_code.user("r1", "a1", [claude_code.result("c1", [{"type": "text", "text": "found"}])], 3, **beside),
        claude_code.assistant("a2", "r1", [thought, {"type": "text", "text": "an answer"}], 4, **beside),
        claude_code.other("attachment", "t1", "a2", 5, attachment={"type": "file", "filename": "a.py", "content": {
            "type": "text", "file": {"filePath": "/a.py", "content": "print(1)", "numLines": 1}}}, **beside),
        claude_code.other("system", "s1", "t1", 6, content="a notice", subtype="informational", **beside),
        claude_code.user("u2", "s1", [{"type": "text", "text": "second question"}], 7, **beside),
        claude_code.assistant("a3", "u2", "the last answer", 8, **beside),
        {"type": "custom-title", "customTitle": "Mending", "sessionId": "s"},
    ]  # fmt: skip
    return claude_code.log(*rows)


SESSIONS = {"rich": Session("claude-code", "5e551011-0000-4000-8000-000000000001.jsonl", _rich()), **ALL}


@pytest.fixture(params=SESSIONS)
def session(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Session, list[str]]:
    """A log with canaries in every place, also of its sidecar; they."""
    found = SESSIONS[request.param]
    data, made = filled(found)
    path = tmp_path / found.name
    path.write_bytes(data)
    more = [canary()]
    good("config", path, "set", "assembly.system", f"You are here. {more[0]}")
    return path, found, [*made, *more]


def _written(folder: Path) -> Iterator[tuple[Path, bytes]]:
    for one in folder.rglob("*"):
        if one.is_file():
            yield one, one.read_bytes()


def leaked(canaries: list[str], *said: bytes) -> list[str]:
    """The canaries of which eight letters in a row, so also a part that a cut left, are in what was said."""
    together = b"\n".join(said)
    pieces = ((one, one[start : start + 8].encode()) for one in canaries for start in range(4, len(one) - 7, 4))
    return [one for one, piece in pieces if piece in together]


@pytest.mark.one_in(4)
def test_no_way_out(session: tuple[Path, Session, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Show, recall, snapshot, export to all targets and resume: no canary in what they print, say or write; the log
    keeps its bytes.
    """
    path, found, canaries = session
    assert len(canaries) > 6
    before = path.read_bytes()
    form = ("--from", found.format)
    old = {name: data for name, data in _written(tmp_path)}
    for name, words in WAYS.items():
        ran = ctxkit(words[0], path, *words[1:], "--redact", *form)
        assert ran.code in (0, 1), (name, ran.err)
        assert leaked(canaries, ran.out, ran.err.encode()) == [], name
        assert ran.out, name
    for target in TARGETS:
        ran = ctxkit("export", path, "--to", target, "--redact", *form)
        assert ran.code == 0, (target, ran.err)
        assert leaked(canaries, ran.out, ran.err.encode()) == [], target
        assert "taken out" in ran.err
        for line in ran.out.splitlines():
            json.loads(line)
    for agent in ("claude-code", "codex", "pi", "gemini-cli"):
        ran = ctxkit("resume", path, "--to", agent, "--redact", "--cwd", tmp_path, *form)
        assert ran.code == 0, (agent, ran.err)
        assert leaked(canaries, ran.out, ran.err.encode()) == [], agent
    new = [data for name, data in _written(tmp_path) if old.get(name) != data]
    new += [data for _, data in _written(Path.home())]
    assert len(new) > 2 and leaked(canaries, *new) == []
    assert path.read_bytes() == before


SENDING = {
    "compact": ("compact", "LOG", "--force", "--keep-last", "0", "--target", "50%", "--summary-model", OPENAI, "--yes"),
    "snapshot": ("snapshot", "LOG", "--summary-model", OPENAI),
    "memory": ("memory", "extract", "LOG", "--summary-model", OPENAI),
    "forget": ("forget", "LOG", "--about", "question", "--about-model", OPENAI, "--yes"),
    "compact about": ("compact", "LOG", "--force", "--target", "50%", "--focus", "WORDS", "--summary-model",
                      OPENAI, "--yes"),
}  # fmt: skip


@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", SENDING)
def test_what_is_sent(session: tuple[Path, Session, list[str]], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever ctxkit itself sends to a model has none, without being asked."""
    path, found, _ = session
    data, canaries = filled(found, " and so the cart of the shop was mended again." * 12)
    path.write_bytes(data)
    typed = canary()
    with stub(Says('{"handles": ["m1"], "reason": "it is"}')) as made:
        pointed(made, monkeypatch)
        words = (str(path) if word == "LOG" else word.replace("WORDS", f"say {typed}") for word in SENDING[name])
        form = () if name == "memory" else ("--from", found.format)
        ran = ctxkit(*words, *form)
        assert ran.code in (0, 1), ran.err
    assert leaked([*canaries, typed], made.sent.encode()) == []
    assert made.requests or "shortened: " in ran.err, ran.err


@pytest.fixture
def talk(tmp_path: Path) -> tuple[Path, str]:
    """A log with one secret, in its second message, and it."""
    one, path = canary(), tmp_path / "chat.jsonl"
    path.write_bytes(lines(message("user", "hello"), message("assistant", f"it is {one}"), message("user", "thanks")))
    return path, one


def test_a_snapshot_comes_back_without(talk: tuple[Path, str]) -> None:
    """What is restored is what the snapshot holds, not the message of the log; the others are those of the log."""
    path, one = talk
    ran = good("snapshot", path, "--redact")
    assert "1 secret taken out" in ran.err
    good("restore", path, "latest", "--replace", "--yes")
    shown = good("show", path).text
    assert "it is ghp_…[redacted 36]" in shown and one[-12:] not in shown and "hello" in shown
    assert one.encode() in path.read_bytes()


def test_sql(talk: tuple[Path, str], tmp_path: Path) -> None:
    """In texts and names of sources."""
    path, one = talk
    path = path.rename(tmp_path / f"{canary()}.jsonl")
    for query in ("select * from messages", "select * from transcripts", "select * from ops"):
        ran = good("sql", path, query, "--redact", "--json")
        assert leaked([one, path.stem], ran.out, ran.err.encode()) == []
    rows = good("sql", path, "select text from messages", "--redact", "--json").values
    assert any("it is ghp_…[redacted 36]" in str(row["text"]) for row in rows)


def test_many_logs(talk: tuple[Path, str], tmp_path: Path) -> None:
    """Each of many, in other processes too."""
    path, one = talk
    other = tmp_path / "other.jsonl"
    other.write_bytes(path.read_bytes())
    ran = good("export", path, other, "--to", "openai", "--redact", "-o", tmp_path / "out", "--jobs", "2")
    found = good("recall", path, other, "it is", "--redact")
    made = [one.read_bytes() for one in (tmp_path / "out").iterdir()]
    assert len(made) == 2 and b"redacted 36" in found.out
    assert leaked([one], *made, ran.out, ran.err.encode(), found.out, found.err.encode()) == []


def test_a_session_in_place_is_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`resume --redact` never continues the file with the secrets in it."""
    one = canary()
    folder = Path.home() / ".claude/projects" / slug(str(tmp_path))
    folder.mkdir(parents=True)
    path = folder / "5e551011-0000-4000-8000-000000000002.jsonl"
    asked = claude_code.user("u1", None, f"my key is {one}", 1, cwd=str(tmp_path))
    path.write_bytes(claude_code.log(asked, claude_code.assistant("a1", "u1", "ok", 2)))
    monkeypatch.chdir(tmp_path)
    ran = good("resume", path, "--redact")
    assert path.stem not in ran.text and "1 secret taken out" in ran.err
    [new] = set(folder.iterdir()) - {path}
    assert one[-12:].encode() not in new.read_bytes()


def test_apply_is_no_way_out(talk: tuple[Path, str]) -> None:
    """`recall --apply` changes the log's context, and takes nothing out of it."""
    assert ctxkit("recall", talk[0], "it is", "--apply", "--redact").code == 2


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_reports_do_not_repeat_a_typed_secret(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a word, as an option, as the value of every option: whatever is refused, or named to be typed again."""
    monkeypatch.chdir(tmp_path)
    key = canary()
    flags = [one.opts[0] for one in command_parser(command).params if isinstance(one, TyperOption) and not one.is_flag]
    calls = [(f"--{key}",), (key,), ("log", key), ("log", "log", key), ("log", "-m", "x", f"--{key}")]
    calls += [("log", flag, key) for flag in flags]
    for words in calls[:1] if command == "watch" else calls:
        Path("log").write_bytes(SMALL)
        assert leaked([key], ctxkit(command, *words).err.encode()) == [], words
