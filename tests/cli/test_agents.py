"""Agents and threads at the command line: who sees what, windows and clears of one agent, sidechains, assembly."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.runner import Ran, ctxkit, good, lines, message, numbers, shown
from tests.formats.claude_code.logs import assistant, call, result, user
from tests.formats.claude_code.logs import log as session_of

PARTY = lines(
    message("system", "be brief", 0),
    message("user", "to frodo", 10, agent="frodo", thread="ring"),
    message("assistant", "from frodo", 60, agent="frodo", thread="ring"),
    message("user", "to sam", 120, agent="sam", thread="ring"),
    message("user", "to all", 180),
    message("assistant", "frodo writes", 240, agent="frodo", thread="mail"),
    message("user", "sam again", 300, agent="sam", thread="garden"),
)
"""Two agents, three threads, five hours."""

SIDE = {"isSidechain": True}
SESSION = session_of(
    user("q1", None, "count the files", 1),
    assistant("a1", "q1", call("t1", "Task"), 2),
    user("s1", None, "you count files", 3, **SIDE),
    assistant("s2", "s1", call("c1"), 4, **SIDE),
    user("s3", "s2", [result("c1", "14")], 5, **SIDE),
    assistant("s4", "s3", "fourteen", 6, **SIDE),
    user("q2", "a1", [result("t1", "fourteen")], 7),
    assistant("a2", "q2", "There are fourteen.", 8),
)
"""A session whose agent called a subagent: 3-6 are its sidechain."""


@pytest.fixture
def party(tmp_path: Path) -> Path:
    """The log of two agents."""
    path = tmp_path / "party.jsonl"
    path.write_bytes(PARTY)
    return path


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """The session with a sidechain."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(SESSION)
    return path


def plain(path: Path, *args: str) -> list[int]:
    """The numbers that `show` prints, without what is assembled around them."""
    return shown(path, "--no-assembly", *args)


def chat(path: Path, *args: str) -> list[Any]:
    """The words of each message that `export --to chat` prints."""
    return [value["content"] for value in good("export", path, "--to", "chat", *args).values]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ([], [1, 2, 3, 4, 5, 6, 7]),
        (["--agent", "frodo"], [1, 2, 3, 5, 6]),
        (["--agent", "sam"], [1, 4, 5, 7]),
        (["--thread", "ring"], [1, 2, 3, 4, 5]),
        (["--agent", "sam", "--thread", "ring"], [1, 4, 5]),
        (["--agent", "frodo", "--invert"], [4, 7]),
        (["--thread", "ring", "--last", "2"], [4, 5]),
    ],
)
def test_show(party: Path, args: list[str], expected: list[int]) -> None:
    """An agent sees its own messages and those of nobody in particular; so does a thread; both together narrow."""
    assert plain(party, *args) == expected


@pytest.mark.parametrize("args", [["--agent", "frodo"], ["--thread", "ring"], ["--agent", "sam", "--thread", "ring"]])
def test_export_prints_what_show_prints(party: Path, args: list[str]) -> None:
    """The same messages, as chat lines."""
    words = [json.loads(line)["content"] for line in PARTY.splitlines()]
    assert chat(party, *args) == [words[n - 1] for n in plain(party, *args)]


@pytest.mark.parametrize("command", [["show"], ["export", "--to", "chat"], ["export", "--to", "anthropic"]])
@pytest.mark.parametrize("flag", ["--agent", "--thread"])
def test_unknown(party: Path, command: list[str], flag: str) -> None:
    """Exit 1, nothing printed, the known ones named."""
    ran = ctxkit(command[0], party, *command[1:], flag, "gollum")
    assert (ran.code, ran.out) == (1, b"")
    assert f"no {flag[2:]} 'gollum'" in ran.err
    assert ("it has frodo, sam" if flag == "--agent" else "it has garden, mail, ring") in ran.err


def test_an_agent_whose_context_is_empty(party: Path) -> None:
    """It is known, so an empty context is printed; there is nothing to send."""
    good("forget", party, "1-5")
    good("forget", party, "1-7", "--include-protected")
    assert numbers(good("show", party, "--json", "--agent", "frodo")) == []
    assert "nothing to send" in ctxkit("export", party, "--to", "openai", "--agent", "frodo").err


def test_windows_of_agents(party: Path) -> None:
    """First that speaks: op for the agent, op for all, config for the agent, default; show and export agree."""
    folder = party.with_name(party.name + ".ctxkit")
    folder.mkdir()
    (folder / "config.toml").write_text('[window]\ndefault = "4h"\n[agents.frodo]\nwindow = "2h"\n')
    assert plain(party) == [1, 4, 5, 6, 7]
    assert plain(party, "--agent", "frodo") == [1, 5, 6]
    good("window", party, "3h")
    assert plain(party) == [1, 5, 6, 7]
    good("window", party, "off", "--agent", "frodo")
    assert plain(party) == [1, 2, 3, 5, 6, 7]
    assert chat(party, "--agent", "frodo") == ["be brief", "to frodo", "from frodo", "to all", "frodo writes"]
    good("window", party, "reset", "--agent", "frodo")
    assert plain(party) == [1, 5, 6, 7]
    good("window", party, "reset")
    assert plain(party) == [1, 4, 5, 6, 7]


def test_clear_of_one_agent(party: Path) -> None:
    """All its threads go, nothing of the others; what it says next is in again; the window holds beside it."""
    good("mark", party, "m")
    good("clear", party, "--agent", "frodo")
    assert plain(party) == [1, 4, 5, 7]
    assert chat(party, "--agent", "frodo") == ["be brief", "to all"]
    good("add", party, "later", "--agent", "frodo", "--thread", "ring", "--ts", "2026-02-01T16:00:00Z")
    assert plain(party, "--thread", "ring") == [1, 4, 5, 8]
    good("window", party, "3h")
    assert plain(party) == [1, 7, 8]
    good("rewind", party, "m")
    assert plain(party) == [1, 7]


def test_thread_status(party: Path) -> None:
    """The whole context and one thread both tell of all threads; an agent is told of its own."""

    def told(*args: str) -> list[str]:
        [one] = [v for v in good("show", party, "--json", *args).values if v.get("assembled") == "status"]
        assert one["role"] == "user" and "n" not in one
        return [line.split(":")[0] for line in str(one["parts"][0]["text"]).split("\n")]

    assert told() == told("--thread", "mail") == ["Threads", "- garden", "- mail", "- ring"]
    assert told("--agent", "frodo") == ["Threads", "- mail", "- ring"]
    assert [v for v in good("show", party, "--json", "--last", "2").values if "assembled" in v] == []
    assert [v for v in good("show", party, "--json", "--no-assembly").values if "assembled" in v] == []


def test_status_of_the_caller(party: Path, tmp_path: Path) -> None:
    """From a file or standard input, behind the threads, in what is shown and sent."""
    (tmp_path / "s").write_text("cpu 3 %\n")
    ran = good("show", party, "--status", tmp_path / "s")
    assert "\n    cpu 3 %\n" in ran.text and ran.err == "7 of 7 messages; assembled: status\n"
    [body] = good("export", party, "--to", "openai", "--status", "-", stdin=b"disk full\n").values
    assert body["messages"][1]["content"].endswith("\n\ndisk full") and body["messages"][0]["role"] == "system"


def test_assembled_lines_are_marked(party: Path) -> None:
    """A + where others have a number; the places are those of the request."""
    rows = good("show", party, "--oneline").text.split("\n")
    assert rows[0].split()[:2] == ["1", "system"] and rows[1].split()[:4] == ["+", "user", "Threads:", "3"]


def refused(*args: Any, stdin: bytes = b"") -> Ran:
    """A call that is a usage error."""
    ran = ctxkit(*args, stdin=stdin)
    assert (ran.code, ran.out) == (2, b"")
    return ran


def test_what_does_not_go_together(party: Path) -> None:
    """One standard input is one thing; two switches that cannot be combined."""
    assert "both the log and the status" in refused("show", "-", "--status", "-", stdin=PARTY).err
    assert "cannot be combined" in refused("show", party, "--status", "-", "--no-assembly").err
    assert "not text" in refused("show", party, "--status", "-", stdin=b"\xff").err


def test_sidechains(session: Path) -> None:
    """The context is the main thread; a sidechain is shown and sent alone, and is a valid request."""
    assert shown(session) == shown(session, "--thread", "main") == [1, 2, 7, 8]
    assert shown(session, "--thread", "sidechain-1") == [3, 4, 5, 6]
    [body] = good("export", session, "--to", "anthropic", "--thread", "sidechain-1").values
    assert [m["role"] for m in body["messages"]] == ["user", "assistant", "user", "assistant"]
    assert body["messages"][0]["content"][0]["text"] == "you count files"
    ran = ctxkit("show", session, "--thread", "sidechain-2")
    assert ran.code == 1 and "it has main, sidechain-1" in ran.err
    assert "in the sidechain sidechain-1" in good("why", session, "4").text


def test_ops_on_a_sidechain(session: Path) -> None:
    """By number or by criteria, with its pairs, and back again; the main thread stays as it is."""
    good("forget", session, "4")
    assert shown(session, "--thread", "sidechain-1") == [3, 6]
    assert "nothing visible" not in good("undo", session).err
    good("forget", session, "--thread", "sidechain-1", "--role", "assistant", "--yes")
    assert shown(session, "--thread", "sidechain-1") == [3]
    assert shown(session) == [1, 2, 7, 8]
    good("protect", session, "3")
    good("window", session, "1h")
    assert shown(session, "--thread", "sidechain-1", "--now", "2026-02-01T00:00:00Z") == [3]
    good("clear", session)
    assert shown(session, "--thread", "sidechain-1") == shown(session) == []


def test_sidechains_in_a_pipe(session: Path) -> None:
    """A pipe knows them too."""
    piped = good("forget", "-", "--thread", "sidechain-1", "--tool", "Bash", stdin=SESSION)
    assert numbers(good("show", "-", "--json", "--thread", "sidechain-1", stdin=piped.out)) == [3, 6]
