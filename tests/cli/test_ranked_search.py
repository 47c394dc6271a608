"""recall --about over several logs and over a project's sessions: one ranking, by day and topic."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.runner import ctxkit, good, lines, message, process
from tests.homes import repository, session

A = lines(
    message("user", "which port does the server use?", 1),
    message("assistant", "the port is 8080, set in server.toml", 2),
    message("user", "thanks", 3),
)
B = lines(
    message("user", "now the schema", ts="2026-02-02T10:01:00Z"),
    message("assistant", "the schema has two tables; the port is not in it", ts="2026-02-02T10:02:00Z"),
)


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two logs, which is the working folder."""
    (tmp_path / "a.jsonl").write_bytes(A)
    (tmp_path / "b.jsonl").write_bytes(B)
    (tmp_path / "note.md").write_text("port")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_by_day_and_topic(logs: Path) -> None:
    """The best day first; each topic with its log, number and first words; each message with its score and state."""
    ran = good("recall", ".", "--about", "server port")
    assert [line for line in ran.text.splitlines() if not line.startswith("      ")] == [
        "2026-02-01Z  1 topic, 2 messages",
        "  a.jsonl#1 which port does the server use?  2 messages",
        "    1  user  2026-02-01T10:01:00Z  100 %  in the context",
        "    2  assistant  2026-02-01T10:02:00Z  88 %  in the context",
        "2026-02-02Z  1 topic, 1 message",
        "  b.jsonl#1 now the schema  1 message",
        "    2  assistant  2026-02-02T10:02:00Z  28 %  in the context",
    ]
    counted = "3 messages in 2 topics, 2 days, of 2 logs; % of the best"
    assert ran.err == f"{counted}\nto read the best: ctxkit show a.jsonl 1-2\n"
    assert good("recall", "a.jsonl", "b.jsonl", "--about", "server port").text == ran.text


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("", [("a.jsonl", 1), ("a.jsonl", 2), ("b.jsonl", 2)]),
        ("--top 1", [("a.jsonl", 1)]),
        ("--limit 2", [("a.jsonl", 1), ("a.jsonl", 2)]),
        ("--role assistant", [("a.jsonl", 2), ("b.jsonl", 2)]),
        ("--state forgotten", [("a.jsonl", 2)]),
        ("--since 2026-02-02", [("b.jsonl", 2)]),
    ],
)
def test_narrowed(logs: Path, words: str, found: list[tuple[str, int]]) -> None:
    """Criteria choose what is ranked, --top and --limit how much is listed."""
    good("forget", "a.jsonl", "2")
    ran = good("recall", ".", "--about", "server port", *words.split(), "--json")
    assert [(one["log"], one["n"]) for one in ran.values] == found
    assert [one["rank"] for one in ran.values] == list(range(1, len(found) + 1))
    assert ran.values[0]["score"] == 100


def test_nothing(logs: Path) -> None:
    """It is said where was searched."""
    ran = ctxkit("recall", ".", "--about", "zebra")
    assert ran.code == 1 and "no message of . (2 logs) is about 'zebra'" in ran.err
    ran = ctxkit("recall", "a.jsonl", "@", "--about", "zebra")
    assert ran.code != 0 and "no session" in ran.err


def test_a_text_beside_a_topic(logs: Path) -> None:
    """It is searched in each log."""
    assert good("recall", ".", "8080", "--about", "port", "--json").values[0]["n"] == 2


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two sessions of a project, and one of another."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(repository(tmp_path / "shop"))
    session(tmp_path, "claude-code", tmp_path / "shop", "3f2a91c0-0000-4000-8000-000000000001", "The login", at=400)
    session(tmp_path, "codex", tmp_path / "shop", "019ed99c-d00d-7613-b2e7-d2f512f78afd", "Which port?", at=200)
    session(tmp_path, "claude-code", tmp_path / "other", "77777777-0000-4000-8000-000000000007", "A port", at=500)
    return tmp_path


def test_here(home: Path) -> None:
    """--here searches this project's sessions, by text and by topic, and names them as other commands take them."""
    ran = good("recall", "--here", "--about", "the port")
    assert "  @2#1 Which port?  1 message\n" in ran.text and "of 2 logs; % of the best\n" in ran.err
    assert "ctxkit show @2 1" in ran.err
    assert "Which port?" in good("show", "@2", "1").text
    ran = good("recall", "--here", "Which")
    assert ran.text.startswith(f"@2  {home}/.codex/")
    assert [one["n"] for one in good("recall", "--here", "-e", "Which", "--json").values] == [1]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--here"], 2, "which text is searched?"),
        (["--here", "@", "x"], 2, "--here searches this project's sessions, and a log was named too"),
        (["--here", "x", "--apply"], 2, "--here names many: nothing was changed"),
        (["--here", "--about", "zebra"], 1, "no message of this project's sessions (2 logs)"),
    ],
)
def test_refused(home: Path, words: list[str], code: int, said: str) -> None:
    """Each mistake in words."""
    ran = ctxkit("recall", *words)
    assert (ran.code, said in ran.err) == (code, True), ran.err


def test_no_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project without sessions is an error that names it."""
    monkeypatch.chdir(tmp_path)
    ran = ctxkit("recall", "--here", "--about", "port")
    assert ran.code != 0 and f"no session was begun in {tmp_path}" in ran.err


def test_the_same_in_every_process(logs: Path) -> None:
    """Same logs, same bytes."""
    assert len({process("recall", ".", "--about", "server port").out for _ in range(3)}) == 1
