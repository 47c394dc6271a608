"""Shares add up, and files are told by what calls touch them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, get_args

import pytest

from ctxkit.api.log import Log
from ctxkit.core.derive.files import touches
from ctxkit.core.messages import Call
from ctxkit.core.ops import Trim
from ctxkit.measure.count import Counting
from ctxkit.measure.shares import BESIDES, STATED, By, Shares, Touched
from ctxkit.measure.size import Measuring
from tests.cli.runner import SMALL, lines, message
from tests.cut.test_trim import step
from tests.measure.test_size import chat
from tests.shared import transcripts


def edited() -> Log:
    """A file that is read, edited and read again, another one read once, and a command."""
    rows: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
    calls = [("Read", "a.py"), ("Read", "b.py"), ("Edit", "a.py"), ("Read", "a.py")]
    for n, (tool, path) in enumerate(calls):
        rows += step(n, tool, {"file_path": path}, f"text {n} " * 50)
    rows += step(9, "bash", {"command": "make"}, "ok")
    return Log.open(io.BytesIO(lines(*rows)), env={})


@pytest.mark.parametrize("kind", get_args(By))
def test_they_add_up(kind: By) -> None:
    """Each message is in one share, whatever they are shared out by; the largest come first, but for exchanges."""
    for log in (Log.open(io.BytesIO(SMALL), env={}), edited()):
        found = Shares(log).by(kind)
        assert sum(share.tokens for share in found) == Counting(log).of(log.names())
        assert sum(share.messages for share in found) == len(log.names())
        if kind != "exchange":
            assert [share.tokens for share in found] == sorted((share.tokens for share in found), reverse=True)


def test_they_add_up_to_what_was_counted() -> None:
    """Where shares of a provider's count are no whole numbers, the messages have all of it but the overhead."""
    log = Log.open(io.BytesIO(chat(*((100 + 31 * n, 17) for n in range(40)))), env={})
    shares, measuring = Shares(log), Measuring(Counting(log))
    assert any(held != int(held) for held in measuring.each(log.names()))
    assert sum(shares.tokens.values()) == int(sum(measuring.each(log.names())) + 1e-6)
    assert sum(shares.tokens.values()) <= measuring.of(log.names()).tokens


@pytest.mark.parametrize("requests", [(300, 1000, 900, 950), (900, 1000, 400, 450)])
def test_no_message_is_less_than_nothing(requests: tuple[int, ...]) -> None:
    """Where a request was smaller than the one before it, what left stood before it: of that, less is left; where it
    is smaller than what stood around the messages, none of it is left.
    """
    log = Log.open(io.BytesIO(chat(*((request, 20) for request in requests))), env={})
    measuring, shares = Measuring(Counting(log)), Shares(log)
    each, found = measuring.each(log.names()), list(shares.tokens.values())
    assert min(each) < 0
    assert min(found) == 0 and found[-1] == 20
    assert sum(found) == (int(sum(each) + 1e-6) if sum(each) > 0 else 5 + 45 + 20)
    assert sum(found) <= measuring.of(log.names()).tokens
    assert min(share.tokens for kind in get_args(By) for share in shares.by(kind)) >= 0


def test_what_they_are_called() -> None:
    """By role, tool of the call or result, opening message, path."""
    shares = Shares(edited())
    assert {share.what for share in shares.by("role")} == {"user", "assistant", "tool"}
    assert {share.what: share.messages for share in shares.by("tool")} == {
        "Read": 6,
        "Edit": 2,
        "bash": 2,
        "(no tool)": 1,
    }
    assert [(share.what, share.first) for share in shares.by("exchange")] == [("from 1", "1")]
    assert {share.what: share.messages for share in shares.by("server")} == {"(no MCP server)": 11}
    assert {share.what: share.messages for share in shares.by("file")} == {"a.py": 6, "b.py": 2, "(no file)": 3}


@pytest.mark.parametrize(
    ("tool", "of"),
    [("mcp__linear-server__create_issue", "linear-server"), ("mcp_github_search_code", "github"),
     ("developer__shell", "developer"), ("github-mcp-server-get_file", "github-mcp-server"), ("read_file", ""),
     ("mcp_run", ""), ("mcp__deepwiki", ""), ("__init__", "")],
)  # fmt: skip
def test_servers(tool: str, of: str) -> None:
    """By the name of the tool, as each program makes it."""
    rows = [{"role": "user", "content": "Go."}, *step(0, tool, {}, "text " * 50)]
    found = Shares(Log.open(io.BytesIO(lines(*rows)), env={})).by("server")
    assert [share.what for share in found][:1] == [of or "(no MCP server)"]


def test_servers_of_codex() -> None:
    """It keeps the server beside the name."""
    rows = [
        {"timestamp": "2026-06-18T04:03:44Z", "type": "session_meta", "payload": {"id": "a", "cwd": "/"}},
        *({"timestamp": "2026-06-18T04:03:45Z", "type": "response_item", "payload": payload} for payload in (
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go."}]},
            {"type": "function_call", "name": "_list", "namespace": "mcp__apps", "arguments": "{}", "call_id": "c"},
            {"type": "function_call_output", "call_id": "c", "output": "text " * 50},
        )),
    ]  # fmt: skip
    assert Shares(Log.open(io.BytesIO(lines(*rows)), env={})).by("server")[0].what == "apps"


def test_what_is_sent_besides() -> None:
    """Tools and a prompt that the config names are named; what a provider counted beyond them is one more share."""

    def besides(**config: str) -> dict[str, int]:
        log = Log.open(io.BytesIO(chat((1000, 20), (1200, 20))), env={})
        log.config.set_flags(config)
        return {one.what: one.tokens for one in Shares(log).besides(log.status().tokens)}

    [(what, all_of_it)] = besides().items()
    assert what == BESIDES
    assert besides(overhead="300") == {STATED: 300, BESIDES: all_of_it - 300}


def test_largest() -> None:
    """By their number."""
    found = Shares(edited()).largest(2)
    assert [share.what for share in found] == ["tool Read a.py", "tool Read b.py"]
    assert found[0].tokens >= found[1].tokens > 100


def test_files() -> None:
    """Newest touch first; a read is superseded by whatever touches the file later."""
    shares = Shares(edited())
    a, b = shares.files()
    assert (a.path, a.reads, a.writes, a.last, a.superseded) == ("a.py", ["2", "8"], ["6"], "8", ["2"])
    assert b == Touched("b.py", ["4"], [], [], [], "4", None, shares.tokens[4] + shares.tokens[5], [])
    assert a.tokens == sum(shares.tokens[n] for n in (2, 3, 6, 7, 8, 9))


def touched(*calls: tuple[str, dict[str, Any]]) -> list[Touched]:
    """The files of a log that makes these calls, one after the other: messages 2, 4, 6, ..."""
    rows: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
    for n, (tool, arguments) in enumerate(calls):
        rows += step(n, tool, arguments, f"text {n}")
    for minute, row in enumerate(rows):
        row["ts"] = f"2026-02-01T10:{minute:02}:00Z"
    return Shares(Log.open(io.BytesIO(lines(*rows)), env={})).files()


def test_created_edited_deleted() -> None:
    """What is written as a whole was created, where nothing touched it before."""
    a, b = touched(
        ("Write", {"file_path": "a"}), ("Write", {"file_path": "a"}), ("Edit", {"file_path": "a"}),
        ("Read", {"file_path": "b"}), ("Write", {"file_path": "b"}), ("Bash", {"command": "rm a"}),
    )  # fmt: skip
    assert (a.path, a.reads, a.writes, a.created, a.deleted) == ("a", [], ["2", "4", "6", "12"], ["2"], ["12"])
    assert (a.last, a.time) == ("12", "2026-02-01T10:11:00Z")
    assert (b.path, b.writes, b.created, b.superseded) == ("b", ["10"], [], ["8"])


def test_what_is_read_in_parts() -> None:
    """A part is superseded by the same part, by the whole file, and by a change; the whole by no part."""
    [one] = touched(
        ("Read", {"file_path": "a", "offset": 1}), ("Read", {"file_path": "a", "offset": 9}),
        ("Read", {"file_path": "a", "offset": 1}), ("Bash", {"command": "cat a | grep x"}),
    )  # fmt: skip
    assert (one.reads, one.superseded) == (["2", "4", "6", "8"], ["2"])
    [one] = touched(("Read", {"file_path": "a"}), ("Read", {"file_path": "a", "offset": 9}))
    assert one.superseded == []
    [one] = touched(
        ("Bash", {"command": "sed -n 1,9p a"}), ("Bash", {"command": "cat a; make"}), ("bash", {"cmd": "cat a"})
    )
    assert one.superseded == ["2"], "what make said stands nowhere else"
    [one] = touched(("Read", {"file_path": "a", "offset": 9}), ("Edit", {"file_path": "a"}))
    assert one.superseded == ["2"]


def test_they_are_parts_of_what_the_provider_counted() -> None:
    """Where it counted, each message has its part of that; the rest is system prompt and tools."""
    reply = message("assistant", "Hello.") | {"usage": {"prompt_tokens": 9000, "completion_tokens": 5}}
    log = Log.open(io.BytesIO(lines(message("user", "words " * 500), reply)), env={})
    shares, found = Shares(log), log.status().tokens
    assert found.measured is not None and found.measured.overhead is not None
    assert abs(sum(shares.tokens.values()) + found.measured.overhead - (found.used or 0)) <= 2
    assert "as in this session" in shares.counter


def test_files_out_of_the_context() -> None:
    """All of the log, those out of the context marked; of the context alone where that is asked for."""
    log = edited()
    log.look_through(log.plan_forget([2, 4]).op or pytest.fail("nothing to forget"))
    a, b = Shares(log).files()
    assert (a.path, a.reads, a.writes, a.out, a.in_context) == ("a.py", ["2", "8"], ["6"], ["2"], True)
    assert (b.path, b.out, b.in_context, b.tokens) == ("b.py", ["4"], False, 0)
    [only] = Shares(log).files(only_context=True)
    assert (only.path, only.reads, only.out, only.in_context) == ("a.py", ["8"], [], True)
    assert only.tokens == a.tokens


def test_files_of_calls_that_were_shortened() -> None:
    """What an op left of a call says nothing of what it did."""
    log = edited()
    log.look_through(Trim(at=log.here(), ids="", stubs={"6": "gone"}))
    assert [one.path for one in Shares(log).files()] == ["a.py", "b.py"]
    assert Shares(log).files()[0].writes == ["6"]


REAL = transcripts("claude-code", "codex", "pi", "copilot-cli", "swe-agent", "mini-swe-agent", under=1_500_000)


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_every_file_of_every_call_is_listed(path: Path) -> None:
    """By a count of its own, over every message of the log; in the context are those that the context has."""
    log = Log.open(path, env={})
    listed = Shares(log).files()
    held = {one.path for one in Shares(log).files(only_context=True)}
    parts = [part for n in range(1, len(log.messages) + 1) for part in log.content(n).parts]
    named = {touch.path for part in parts if isinstance(part, Call) for touch in touches(part)}
    assert {one.path for one in listed} == named
    assert {one.path for one in listed if one.in_context} == held


@pytest.mark.parametrize("path", REAL, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_all_that_is_sent(path: Path) -> None:
    """The shares with what is sent besides them are all that `status` counts, with a row for what is no message."""
    log = Log.open(path, env={})
    shares, counted = Shares(log), log.status().tokens
    besides = shares.besides(counted)
    assert sum(shares.tokens.values()) + sum(one.tokens for one in besides) == max(
        counted.used or 0, sum(shares.tokens.values())
    )
    assert all(one.tokens > 0 and not one.messages for one in besides)
