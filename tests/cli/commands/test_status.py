"""status on a terminal, in a pipe, and for programs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ctxkit.cli.commands import status
from ctxkit.cli.commands.status import StatusLineInput, status_line
from ctxkit.cli.terminal.safe_text import cells
from ctxkit.cli.terminal.style import Line, Styled
from ctxkit.measure.shares import Share, Touched
from tests import homes
from tests.cli.hostile import ALL, hostile
from tests.cli.runner import FOREIGN, ROOT, SMALL, call, ctxkit, good, lines, message, process, small
from tests.cli.screens import on_pty
from tests.docs.sandbox import make, run
from tests.test_startup import FORBIDDEN, PROGRAM

KEYS = ["log", "model", "tokens", "parameters", "total", "items", "inside", "out", "marks", "ops", "void", "agents",
        "threads", "damaged", "damage", "warnings", "sidecar", "thinking", "cut_before",
        "compactions", "colors"]  # fmt: skip


def test_pipe(tmp_path: Path) -> None:
    """Everything on stdout, nothing on stderr, no colour."""
    path = small(tmp_path, marks=["start"])
    good("forget", path, "2-5")
    good("window", path, "8h")
    ran = good("status", path, "--context-limit", "100")
    assert ran.err == "" and b"\x1b" not in ran.out
    for words in ("11 messages", "7 in the context", "4 forgotten", "start: op 1, after message 11, 0 since",
                  "8h (op 3)", "last (2026-02-01T10:10:00Z), default", "3 in force",
                  "(estimate for unknown model, o200k_base × 1.25)",
                  "reserved 4,096", ": --context-limit"):  # fmt: skip
        assert words in ran.text, words


def test_without_a_limit(tmp_path: Path) -> None:
    """No percent; how to give one."""
    text = good("status", small(tmp_path)).text
    assert "%" not in text and "--context-limit N" in text


def test_compactions(tmp_path: Path) -> None:
    """How often it was compacted, by ops in force and by the program; in the short form where it fits."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(*(message(("user", "assistant")[n % 2], "many words " * 40, n) for n in range(14))))
    (tmp_path / "words.txt").write_text("a summary")

    def times() -> tuple[str | int, ...]:
        short, whole = (" ".join(good("status", path, *args).text.split()) for args in (("--short",), ()))
        counted: int = good("status", path, "--json").values[0]["compactions"]
        found = [re.search("compacted (once|twice)", text) for text in (short, whole)]
        return *(one[1] if one else "" for one in found), counted

    assert times() == ("", "", 0)
    good("compact", path, "2-5", "--force", "--summary-file", tmp_path / "words.txt")
    assert times() == ("once", "once", 1)
    good("compact", path, "8-11", "--force", "--summary-file", tmp_path / "words.txt")
    assert times() == ("twice", "twice", 2)
    good("undo", path)
    assert times() == ("once", "once", 1)


def test_json_keys(tmp_path: Path) -> None:
    """The same, whatever the log holds."""
    for raw in (b"", SMALL, hostile("x")):
        [value] = good("status", "-", "--json", stdin=raw).values
        assert list(value) == [*KEYS, "subagents"]
        assert list(value["tokens"]) == [
            "used", "counter", "limit", "reserve", "available", "over", "percent", "level",
            "measured", "beside",
        ]  # fmt: skip


BROKEN = FOREIGN + lines(
    {"type": "user", "uuid": "z", "parentUuid": "gone", "timestamp": "2026-03-01T00:00:00Z", "sessionId": "s",
     "message": {"role": "user", "content": "go on"}}
)  # fmt: skip


def test_a_missing_record(tmp_path: Path) -> None:
    """status, --short, --json and sessions count it, and show says it on standard error; the exit codes stay."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(BROKEN)
    line = len(BROKEN.splitlines())
    told = f"line {line}: missing-parent: a record before it is missing (its parent, gone)"
    text = " ".join(good("status", path).text.split())
    assert "damage 1 place" in text and told in text
    assert f"cut off by a missing record before line {line}" in text and "branch" not in text
    assert good("status", path, "--short").text.endswith("1 damaged\n")
    [value] = good("status", path, "--json").values
    assert value["damaged"] == 1 and value["damage"][0]["code"] == "missing-parent" and value["cut_before"] == line
    assert list(value["out"]) == ["cut-off"]
    assert f"{path}:{line}: missing-parent: " in good("show", path).err
    [listed] = good("sessions", tmp_path, "--json").values
    assert (listed["state"], listed["damaged"]) == ("damaged", 1)
    assert f"before line {line} is missing" in good("why", path, "1").text


def test_a_call_without_its_result(tmp_path: Path) -> None:
    """Nobody sends it so: it is no damage, and a note of `check`."""
    path = tmp_path / "x.jsonl"
    asks = message("assistant", "", 2, tool_calls=[call("A", "c1")])
    path.write_bytes(lines(message("user", "go", 1), asks))
    assert good("status", path, "--json").values[0]["damaged"] == 0
    path.write_bytes(lines(message("user", "go", 1), asks, message("user", "well?", 3)))
    assert good("status", path, "--json").values[0]["damaged"] == 0
    assert "message 2: no-result: note: call c1 has no result" in good("check", path).text


def test_no_tokens(tmp_path: Path) -> None:
    """Not counted, and said so."""
    path = small(tmp_path)
    assert "not counted" in good("status", path, "--no-tokens", "--context-limit", "100").text
    assert good("status", path, "--no-tokens", "--short").text == "11 messages\n"
    [value] = good("status", path, "--no-tokens", "--json").values
    assert value["tokens"]["used"] is None and value["tokens"]["counter"] is None


def test_looking_back_and_through(tmp_path: Path) -> None:
    """--at, --now, --agent."""
    path = small(tmp_path)
    good("forget", path, "2-5")
    path.write_bytes(
        path.read_bytes() + lines(message("user", "hi", 20, agent="sam"), message("user", "x", 21, agent="bo"))
    )
    good("window", path, "1h")
    assert good("status", path, "--at", "1", "--json").values[0]["out"] == {"forget": 4}
    [value] = good("status", path, "--agent", "sam", "--json").values
    assert value["out"] == {"forget": 4, "filter": 1} and value["parameters"]["agent"] == "sam"
    [late] = good("status", path, "--now", "2026-03-01T00:00:00Z", "--json").values
    assert (late["inside"], late["out"]) == (1, {"forget": 4, "window": 8})
    ran = ctxkit("status", path, "--agent", "nobody")
    assert (ran.code, ran.out) == (1, b"") and "no agent 'nobody'" in ran.err


def test_damage_is_no_failure() -> None:
    """`check` asserts; status tells."""
    ran = good("status", "-", stdin=SMALL + b"broken\n")
    assert "1 place" in ran.text and "line 12: not-json" in ran.text and ran.err == ""


@pytest.mark.covering("columns", "flags", "kind", pairs=True)
@pytest.mark.parametrize("columns", [80, 40, 20])
@pytest.mark.parametrize("flags", [["--context-limit", "30"], ["--short", "--context-limit", "30"], []], ids=" ".join)
@pytest.mark.parametrize("kind", ["small", "hostile"])
def test_no_line_is_wider_than_the_terminal(tmp_path: Path, columns: int, flags: list[str], kind: str) -> None:
    """At 80 columns and at 20."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(SMALL if kind == "small" else hostile(ALL))
    seen = on_pty(["status", str(path), *flags], columns)
    assert seen.code == 0
    found = _uncoloured(seen.raw.decode("utf-8")).split("\r\n")
    assert all(cells(line) <= columns for line in found), found
    assert len([line for line in found if line]) == 1 or "--short" not in flags


def _uncoloured(text: str) -> str:
    import re

    return re.sub("\x1b\\[[0-9;]*m", "", text)


def test_colour_is_asked_for(tmp_path: Path) -> None:
    """A red bar where it is full; none with NO_COLOR."""
    path = small(tmp_path)
    full = ["status", path, "--context-limit", "34"]
    assert b"\x1b[31m\xe2\x96\x88" in process(*full, env={"CLICOLOR_FORCE": "1"}).out
    assert b"\x1b" not in process(*full, env={"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}).out


def test_right_before_an_op_and_now(tmp_path: Path) -> None:
    """--at takes what `diff` takes."""
    path = small(tmp_path)
    good("forget", path, "2-5")
    for command in (["status"], ["show", "--explain"]):
        [*_, value] = good(command[0], path, *command[1:], "--at", "1^", "--json").values
        assert (value["parameters"]["at"], value["parameters"]["before"]) == (1, True)
        assert "before op 1" in good(command[0], path, *command[1:], "--at", "1^").text
        assert good(command[0], path, *command[1:], "--at", "now").out == good(command[0], path, *command[1:]).out
    assert good("status", path, "--at", "1^", "--json").values[0]["inside"] == 11


def test_trouble_is_told(tmp_path: Path) -> None:
    """Ops that do not fit, and a missing file: status says what is wrong, where others refuse."""
    path = small(tmp_path)
    bad = {"ctxkit": "forget", "v": 1, "id": "f", "at": {"messages": 11, "last": "no"}, "ids": "2"}
    path.write_bytes(path.read_bytes() + lines(bad))
    assert ctxkit("show", path).code == 65
    [value] = good("status", path, "--json").values
    told, refused = value["warnings"]
    assert told.startswith("op 1 (forget) does not fit") and told.endswith(": applied all the same")
    assert refused.startswith("other commands refuse this log: ") and "undo LOG f --force-replay" in refused
    assert value["out"] == {"forget": 1} and len(value["parameters"]["forced"]) == 1
    path = small(tmp_path)
    (tmp_path / "gone.md").write_text("words")
    good("config", path, "set", "assembly.docs", "gone.md")
    (tmp_path / "gone.md").unlink()
    [value] = good("status", path, "--json").values
    assert any("gone.md: no such file" in text for text in value["warnings"])
    assert value["parameters"]["assembly"] is None
    (tmp_path / "gone.md").mkdir()
    ran = ctxkit("export", path, "--to", "openai", "--model", "m")
    assert ran.code == 78 and "gone.md: no file there: nothing was printed" in ran.err


@pytest.mark.parametrize(("typed", "limit"), [("128k", 128_000), ("1.5M", 1_500_000), ("200", 200)])
def test_limits_as_they_are_typed(typed: str, limit: int) -> None:
    """128k is 128,000."""
    [value] = good("status", "-", "--context-limit", typed, "--json", stdin=SMALL).values
    assert value["tokens"]["limit"]["value"] == limit


def test_no_limit_at_all() -> None:
    """Anything else is a usage error."""
    for typed in ("12q", "1.5", "0", "k"):
        assert ctxkit("status", "-", "--context-limit", typed, stdin=SMALL).code == 2, typed


def test_the_main_thread_has_a_name(tmp_path: Path) -> None:
    """Where there are sidechains, as --thread takes it."""
    row = {"type": "user", "uuid": "u1", "parentUuid": None, "sessionId": "s", "timestamp": "2026-02-01T10:00:00Z",
           "message": {"role": "user", "content": "hello"}}  # fmt: skip
    side = {**row, "uuid": "x1", "isSidechain": True, "message": {"role": "user", "content": "look"}}
    [value] = good("status", "-", "--json", stdin=lines(row, side)).values
    assert [(one["name"], one["messages"], one["in_context"]) for one in value["threads"]] == [
        ("main", 1, 1), ("sidechain-1", 1, 0),
    ]  # fmt: skip


def test_no_room_for_the_reply() -> None:
    """Nothing is over below the limit: percent and colour go by the limit, what is available by the reserve, too."""
    [value] = good("status", "-", "--context-limit", "250", "--json", stdin=SMALL).values
    found = value["tokens"]
    assert found["percent"] < 70 and (found["available"], found["over"], found["level"]) == (0, 0, "green")


def test_the_pager_option_goes_first() -> None:
    """Said where it is typed behind the command."""
    assert "write it before the command: ctxkit --no-pager" in ctxkit("show", "x", "--no-pager").err


@pytest.mark.parametrize("words", [["--by", "role"], ["--by", "tool"], ["--largest", "2"], ["--files"]])
def test_what_holds_the_tokens(tmp_path: Path, words: list[str]) -> None:
    """Instead of the overview, the counter's name beside it; the machine form has the same keys always."""
    path = small(tmp_path)
    ran = good("status", path, *words)
    whole = "" if words == ["--files"] else "; % of the 143 tokens of the context"
    assert ran.err == f"tokens: estimate for unknown model, o200k_base × 1.25{whole}\n" and "log " not in ran.text
    [value] = good("status", path, *words, "--json").values
    assert list(value) == ["by", "largest", "files", "beyond", "besides", "counter"]
    assert ctxkit("status", path, *words, "--no-tokens").code == 2


@pytest.mark.parametrize(
    "words", [("LOG", "--largest"), ("--largest", "LOG"), ("LOG", "--largest", "2"), ("LOG", "--largest=2")]
)
def test_the_list_of_the_largest_adds_up(tmp_path: Path, words: tuple[str, ...]) -> None:
    """What is sent besides messages has its rows, what is not listed is the last one; without a number it is 10."""
    rows = [message("user" if n % 2 else "assistant", f"word {n} " * n) for n in range(1, 16)]
    rows[-2] |= {"usage": {"prompt_tokens": 900, "completion_tokens": 5}}
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(*rows))
    ran = good("status", *(path if word == "LOG" else word for word in words), "--overhead", "300")
    listed = [int(line.split()[0].replace(",", "")) for line in ran.text.splitlines()]
    most = 2 if words[-1].endswith("2") else 10
    assert len(listed) == most + 3 and f"({15 - most} other messages)" in ran.text.splitlines()[-1]
    assert f"of the {sum(listed):,} tokens" in ran.err
    assert "besides messages: system prompt, tools" in ran.text and "(overhead," in ran.text


@pytest.mark.parametrize(
    ("words", "code"),
    [(["--fail-over", "143"], 0), (["--fail-over", "142"], 1), (["--context-limit", "1000", "--fail-at", "14%"], 1),
     (["--context-limit", "1000", "--fail-at", "15"], 0), (["--fail-at", "85%"], 78), (["--fail-at", "full"], 2)],
)  # fmt: skip
def test_assertions(tmp_path: Path, words: list[str], code: int) -> None:
    """For CI: 1 where more is used; the overview is printed all the same; 78 where no limit is known."""
    ran = ctxkit("status", small(tmp_path), *words)
    assert ran.code == code and (code == 2 or "143" in ran.text)
    assert code != 1 or "are used" in ran.err
    if code < 2:  # the exit code says it
        assert ctxkit("status", small(tmp_path), *words, "-q").out == b""


def test_all_broken_rules_are_told(tmp_path: Path) -> None:
    """A line for each, with the file; `failed` names them for programs. Exactly P % fails, exactly N does not."""
    path = small(tmp_path)
    words = ["--context-limit", "1000", "--fail-at", "14%", "--fail-over", "142"]
    ran = ctxkit("status", path, *words, "-q")
    assert (ran.code, ran.out) == (1, b"")
    assert ran.err == (
        f"ctxkit: {path}: 14.3 % of 1,000 tokens are used, 14 % or more\n"
        f"ctxkit: {path}: 143 tokens are used, more than 142\n"
    )
    ran = ctxkit("status", path, *words, "--json", "-q")
    assert ran.code == 1 and ran.values[0]["failed"] == [
        {"rule": "fail-at", "allowed": 14.0, "found": 14.3},
        {"rule": "fail-over", "allowed": 142, "found": 143},
    ]
    [value] = good(
        "status", path, "--context-limit", "1000", "--fail-at", "14.4%", "--fail-over", "143", "--json"
    ).values
    assert value["failed"] == []
    assert ctxkit("status", path, "--context-limit", "286", "--fail-at", "50%").code == 1


def test_a_share_without_a_limit(tmp_path: Path) -> None:
    """The message names the file, and the other rule is judged all the same; where nothing is used, none is broken."""
    path = small(tmp_path)
    ran = ctxkit("status", path, "--fail-at", "85%", "--fail-over", "142", "-q")
    assert ran.code == 1 and f"ctxkit: {path}: no limit is known" in ran.err
    assert f"ctxkit: {path}: 143 tokens are used, more than 142\n" in ran.err
    assert ctxkit("status", path, "--fail-at", "85%", "--fail-over", "1,143").code == 78
    path.write_bytes(b"")
    ran = ctxkit("status", path, "--fail-at", "85%", "--fail-over", "142")
    assert (ran.code, ran.err) == (0, f"ctxkit: {path} has no message: nothing is used\n")


@pytest.mark.parametrize(
    ("typed", "hint"),
    [("150%", "--fail-over N"), ("101", "--fail-over N"), ("0.5", "50% if that was meant, or 0.5%")],
)
def test_shares_that_nobody_means(typed: str, hint: str) -> None:
    """More than all of the limit, and half a percent without its sign, are refused, with what may be meant."""
    ran = ctxkit("status", "-", "--context-limit", "1000", "--fail-at", typed, stdin=SMALL)
    assert ran.code == 2 and hint in ran.err
    assert ctxkit("status", "-", "--context-limit", "1000", "--fail-at", "0.5%", stdin=SMALL).code == 1


def test_for_another_model(tmp_path: Path) -> None:
    """--model: how many tokens for it, and of its limit; nothing is kept of that."""
    path = small(tmp_path)
    [plain] = good("status", path, "--json").values
    [found] = good("status", path, "--json", "--model", "gpt-4o").values
    assert found["tokens"]["limit"]["value"] == 128_000 and plain["tokens"]["limit"]["value"] is None
    assert found["tokens"]["counter"] != plain["tokens"]["counter"]
    assert good("status", path, "--json").values == [plain]


TOOLS = b'[{"name": "weather", "description": "Tells it.", "input_schema": {"type": "object", "properties": {}}}]'


def test_what_is_sent_besides(tmp_path: Path) -> None:
    """Tools and overhead count, from flags, config or standard input; within a provider's count they are told only."""
    path, tools = small(tmp_path), tmp_path / "tools.json"
    tools.write_bytes(TOOLS)
    [plain] = good("status", path, "--json").values
    [found] = good("status", path, "--json", "--tools-file", tools, "--overhead", "12k").values
    beside = found["tokens"]["beside"]
    assert beside["overhead"] == 12_000 and beside["tools"] > 10 and beside["within"] == 0
    assert found["tokens"]["used"] == plain["tokens"]["used"] + 12_000 + beside["tools"]
    assert good("status", path, "--json", "--tools-file", "-", "--overhead", "12000", stdin=TOOLS).values == [found]
    (tmp_path / "ctxkit.toml").write_text('tools = "tools.json"\noverhead = 12000\n')
    good("config", path, "accept")
    [same] = good("status", path, "--json").values
    assert same["tokens"]["used"] == found["tokens"]["used"]
    text = good("status", path).text
    assert "besides messages overhead 12,000 · tools" in text and "(estimate)" in text
    (tmp_path / "tools.json").unlink()
    [missing] = good("status", path, "--json").values
    assert missing["tokens"]["beside"]["tools"] == 0
    assert any("no such file: no tools are counted" in one for one in missing["warnings"])


def test_the_providers_count_has_it_all(tmp_path: Path) -> None:
    """Never counted twice, and it is said."""
    reply = message("assistant", "Hello.") | {"usage": {"prompt_tokens": 900, "completion_tokens": 5}}
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(message("user", "Hi."), reply))
    ran = good("status", path, "--overhead", "12k", "--json")
    [found] = ran.values
    assert found["tokens"]["used"] == 905 and found["tokens"]["beside"]["within"] == 12_000
    assert "12,000 within the provider's count" in good("status", path, "--overhead", "12k").text
    assert "are not added" in good("trim", path, "--overhead", "12k", "--max-tokens", "1k").err


def test_no_file_is_said(tmp_path: Path) -> None:
    """Where no call touches a file there is nothing to print, which is said."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines({"role": "user", "content": "Hello."}))
    ran = good("status", path, "--files")
    assert (ran.out, ran.err.splitlines()[0]) == (b"", "no call in the log reads or writes a file")
    assert "no call in the context" in good("status", path, "--files", "--only-context").err
    assert ctxkit("status", path, "--only-context").code == 2


def test_a_session_with_its_subagents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says what they hold, and the sum; an estimate is marked. Other logs have none."""
    monkeypatch.setenv("HOME", str(tmp_path))
    path = homes.session(tmp_path, "claude-code", tmp_path / "shop")
    assert good("status", path, "--json").values[0]["subagents"] is None
    folder = path.with_suffix("") / "subagents"
    (folder / "workflows" / "wf_1").mkdir(parents=True)
    used = {"usage": {"input_tokens": 900, "output_tokens": 34}, "id": "m", "model": "claude-opus-4-6"}
    row = {"type": "assistant", "uuid": "u2", "parentUuid": None, "sessionId": "s", "isSidechain": True}
    row |= {"message": {"role": "assistant", "content": [{"type": "text", "text": "done"}], **used}}
    for place in ("agent-a1.jsonl", "workflows/wf_1/agent-b2.jsonl"):
        (folder / place).write_bytes(lines(row))
    [told] = good("status", path, "--json").values
    both = told["tokens"]["used"] + 2 * 934
    assert told["subagents"] == {"logs": 2, "tokens": 1868, "total": both, "rough": False}
    assert f"subagents 2: 1,868 tokens, with this session {both:,}" in good("status", path).text
    (folder / "agent-c3.jsonl").write_bytes(lines({**row, "message": {"role": "assistant", "content": "done"}}))
    assert re.search(r"subagents 3: ~1,\d{3} tokens, with this session ~", good("status", path).text)
    assert good("status", folder / "agent-a1.jsonl", "--json").values[0]["subagents"] is None


SHARES = [Share("Bash\x1b[31m and a very long name of a tool " * 3, 12, 250_000, "3"), Share("漢字", 1, 5, "9")]
MANY = [str(n) for n in range(100, 140)]
FILES = [
    Touched("a/" * 60 + "漢字.py", MANY, [], [], [], "139", "2026-02-01T10:11:00Z", 1234, MANY[:8]),
    Touched("b", ["8"], ["7", "9", "11"], ["7"], ["11"], "11", None, 1, [], ["7", "8"]),
    Touched("c", ["5"], [], [], [], "5", None, 0, [], ["5"], False),
]


def text(line: Line) -> str:
    return "".join(span.text if isinstance(span, Styled) else span for span in line)


@pytest.mark.parametrize("width", [20, 40, 80])
def test_no_line_is_wider(width: int) -> None:
    """However long names and paths are; nothing acts on the terminal."""
    found = [*status.share_lines(SHARES, width, 500_000), *status.share_lines(SHARES, width, 500_000, numbered=True)]
    found += status.share_lines([Share("a/" * 60 + "漢字.py", 9, 250_000, "3"), *SHARES], width, 500_000, paths=True)
    for line in map(text, [*found, *status.file_lines(FILES, width)]):
        assert cells(line) <= width and "\x1b" not in line


def test_words() -> None:
    """Tokens, percent of the whole, messages or the number of one."""
    assert text(list(status.share_lines(SHARES, 80, 500_000))[1]) == "      5    0 %  漢字 (1 message)"
    assert text(list(status.share_lines(SHARES, 80, 500_000, numbered=True))[1]) == "      5    0 %  9 漢字"
    assert [text(line) for line in status.file_lines(FILES, 60)] == [
        "1,234  …/" + "a/" * 22 + "漢字.py", "       read 100,…,136,137,138,139 (40 times); superseded",
        "         100,101,102,103,104,105,106,107; last 139 at", "         2026-02-01T10:11:00Z",
        "    1  b", "       read 8; created 7; written 9; deleted 11; out of the", "         context 7,8; last 11",
        "    0  c", "       out of the context; read 5; last 5",
    ]  # fmt: skip


def test_paths_show_their_end() -> None:
    """Files of one folder can be told apart, and so can how many messages each has."""
    found = [Share(f"/home/ada/shop/of/many/things/{name}.py", 9, 250_000, "3") for name in ("cart", "card")]
    assert [text(line) for line in status.share_lines(found, 40, 500_000, paths=True)] == [
        "250,000   50 %  …many/things/cart.py (9)", "250,000   50 %  …many/things/card.py (9)",
    ]  # fmt: skip


REPLY: dict[str, Any] = {
    "type": "assistant", "uuid": "u4", "parentUuid": "u3", "sessionId": "s", "timestamp": "2026-02-01T10:03:00Z",
    "message": {"id": "m2", "role": "assistant", "model": "claude-opus-4-5", "content": [],
                "usage": {"input_tokens": 10, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 100_000,
                          "output_tokens": 990}},
}  # fmt: skip
"""A reply whose tokens the provider counted."""


def asked(path: object = "/no/such/session.jsonl", **more: Any) -> bytes:
    """What Claude Code gives, with the fields of its documentation."""
    whole = {
        "hook_event_name": "Status", "session_id": "s", "transcript_path": path, "cwd": "/src", "version": "2.1.40",
        "model": {"id": "claude-opus-4-5", "display_name": "Opus 4.5"}, "workspace": {"current_dir": "/src"},
        "output_style": {"name": "default"}, "cost": {"total_cost_usd": 0.4}, "exceeds_200k_tokens": False, **more,
    }  # fmt: skip
    return json.dumps(whole).encode()


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, StatusLineInput("/t", "claude-opus-4-5", None)),
        (
            {"context_window": {"context_window_size": 9, "current_usage": None}},
            StatusLineInput("/t", "claude-opus-4-5", 9),
        ),
        ({"model": {"id": "claude-opus-4-5[1m]"}}, StatusLineInput("/t", "claude-opus-4-5", 1_000_000)),
        ({"model": {"id": "nobody-knows"}}, StatusLineInput("/t", "nobody-knows", None)),
        ({"model": None, "context_window": []}, StatusLineInput("/t", "", None)),
        ({"model": {"id": 5}, "context_window": {"context_window_size": "x"}}, StatusLineInput("/t", "", None)),
        ({"model": {}, "context_window": {"context_window_size": 0}}, StatusLineInput("/t", "", None)),
        ({"model": {}, "context_window": {"context_window_size": True}}, StatusLineInput("/t", "", None)),
        ({"model": {}, "context_window": {"context_window_size": 10**400}}, StatusLineInput("/t", "", None)),
        ({"transcript_path": None}, StatusLineInput("", "claude-opus-4-5", None)),
        ({"transcript_path": "~nobody\0/x"}, StatusLineInput("", "claude-opus-4-5", None)),
    ],
)  # fmt: skip
def test_told(more: dict[str, Any], expected: StatusLineInput) -> None:
    """Every field may be missing or odd; it may be laid out over many lines."""
    raw = asked("/t", **more)
    assert status_line(raw) == status_line(json.dumps(json.loads(raw), indent=2).encode() + b"\n") == expected


@pytest.mark.parametrize(
    "log",
    [
        SMALL, FOREIGN, b"", b"hello", b"[1]", b'{"session_id":"s"}',
        lines({"role": "user", "content": "hello", "transcript_path": "/x"}),
        lines({"role": "user", "content": '{"transcript_path": "/x"}'}),
        lines({"type": "user", "transcript_path": "/x", "message": {"role": "user", "content": "hi"}}),
        lines({"messages": [], "transcript_path": "/x"}),
        asked() + b"\n" + asked(), SMALL + b'{"transcript_path": "/x', b'{"transcript_path": "/x\n' + SMALL,
    ],
)  # fmt: skip
def test_a_log_is_a_log(log: bytes) -> None:
    """Also one whose text has the word, whose first line is damaged, or whose last one is torn."""
    assert status_line(log) is None


def test_the_transcript_is_read(tmp_path: Path) -> None:
    """One line: what the provider counted, of the size that Claude Code says, in the colour of its level."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(FOREIGN + lines(REPLY))
    tight = asked(str(path), context_window={"context_window_size": 140_000})
    ran = good("status", "--short", stdin=tight)
    assert ran.text == "\x1b[33m101,000 / 140,000 tokens (72 %) · 4 messages\x1b[0m\n" and ran.err == ""
    assert ran.out == good("status", "--short", "-", stdin=tight).out
    wide = asked(str(path), context_window={"context_window_size": 1_000_000})
    assert (
        good("status", "--short", stdin=wide).text == "\x1b[32m101,000 / 1,000,000 tokens (10 %) · 4 messages\x1b[0m\n"
    )
    [value] = good("status", "--short", "--json", stdin=wide).values
    assert value["tokens"]["limit"] == {"value": 1_000_000, "origin": "statusLine"} and value["log"] == str(path)


def test_what_the_user_set_is_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """--context-limit, then the config; and the transcript's model stays, so that what was counted counts."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(FOREIGN + lines(REPLY))
    other = asked(str(path), model={"id": "claude-opus-5"})
    assert "101,000 / 200,000" in good("status", "--short", stdin=other).text
    assert "101,000 / 300,000" in good("status", "--short", "--context-limit", "300k", stdin=other).text
    monkeypatch.setenv("CTXKIT_LIMIT", "400000")
    assert "101,000 / 400,000" in good("status", "--short", stdin=other).text


def test_a_session_that_has_not_begun(tmp_path: Path) -> None:
    """No transcript yet, or an empty one: said in few words, exit 0."""
    empty = tmp_path / "s.jsonl"
    empty.write_bytes(b"")
    for path in ("/no/such/session.jsonl", str(empty), "", None):
        ran = good("status", "--short", stdin=asked(path, model={"id": "claude-opus-4-6"}))
        assert ran.text == "\x1b[2mnew session · 200,000 tokens\x1b[0m\n" and ran.err == "", path


@pytest.mark.parametrize("columns", [80, 40, 28, 20])
def test_narrow(tmp_path: Path, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never wider than COLUMNS, which Claude Code may set."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(FOREIGN + lines(REPLY))
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("NO_COLOR", "1")
    for raw in (asked(str(path)), asked()):
        [line] = good("status", "--short", stdin=raw).text.splitlines()
        assert 0 < cells(line) <= columns


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"CLICOLOR": "0"}, {"TERM": "dumb"}])
def test_no_colour(tmp_path: Path, env: dict[str, str]) -> None:
    """Where none is wanted; a log in a pipe has none anyway."""
    assert b"\x1b" not in process("status", "--short", stdin=asked(), env=env).out
    assert b"\x1b" not in process("status", "--short", stdin=SMALL).out


def test_what_is_broken_is_said() -> None:
    """Not a log with nothing in it; and without --short it is what it is: no log."""
    ran = ctxkit("status", "--short", stdin=asked()[:-5])
    assert (ran.code, ran.out) == (65, b"") and "transcript_path" in ran.err and ran.err.count("\n") == 2
    assert ctxkit("status", stdin=asked()).code == 65
    assert ctxkit("status", "--short", stdin=asked("/")).code == 66, "a folder is no transcript"


def test_it_starts_quickly(tmp_path: Path) -> None:
    """Run at each turn: the second time nothing slow is imported."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(FOREIGN + lines(REPLY))
    for _ in range(2):
        ran = subprocess.run(
            [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{PROGRAM}", "status", "--short"],
            input=asked(str(path)), capture_output=True, cwd=tmp_path, timeout=60, check=True,
        )  # fmt: skip
    loaded = set(ran.stderr.decode().split())
    assert "ctxkit.cli.commands.status" in loaded and not (FORBIDDEN - {"ctxkit.formats.claude_code"}) & loaded


def test_the_settings_in_the_docs(tmp_path: Path) -> None:
    """The block for Claude Code's settings.json, run as Claude Code runs it."""
    pages = [ROOT / "docs" / name for name in ("guide.md", "commands/status.md")]
    blocks = [text for page in pages for text in re.findall("```json\n(.*?)```", page.read_text("utf-8"), re.S)]
    found = [json.loads(text)["statusLine"] for text in blocks if "statusLine" in text]
    assert len(found) == 2 and found[0] == found[1]
    work = make(tmp_path)
    (work / "asked.json").write_bytes(asked(str(work / "session.jsonl")))
    [(shown, code)] = run(work, [f"sh -c {found[0]['command']!r} <asked.json"])
    assert found[0]["type"] == "command" and code == 0 and "/ 200,000 tokens" in shown and shown.count("\n") == 1


PARTY = lines(
    message("user", "to frodo", 0, agent="frodo"),
    message("user", "to sam", 1, agent="sam"),
    message("user", "to all", 2),
)


@pytest.fixture
def party(tmp_path: Path) -> Path:
    """A log of two agents, one of which has keys in the user's own config, and one more there."""
    path = tmp_path / "party.jsonl"
    path.write_bytes(PARTY)
    for key, value in (
        ("frodo.limit", "10k"),
        ("frodo.color", "cyan"),
        ("frodo.system", "Be Frodo."),
        ("merry.window", "2h"),
    ):
        good("config", "--user", "set", f"agents.{key}", value)
    return path


def test_of_each_agent(party: Path) -> None:
    """The name, then tokens, messages, window and texts; a blank line between two."""
    ran = good("status", party, "--by", "agent")
    blocks = [block.split("\n") for block in ran.text.rstrip("\n").split("\n\n")]
    assert [block[0] for block in blocks] == ["frodo", "sam", "merry"]
    assert any(" of 10,000 (" in line for line in blocks[0]) and "assembly  system: 10 tokens" in blocks[0]
    assert "messages  2 in the context, 1 of them its own; 1 of its own in the log, last" in " ".join(blocks[0])
    assert "messages  1 in the context; none of its own in the log" in blocks[2]
    assert any(line.startswith("window    2h") for line in blocks[2])
    assert ran.err.rstrip().endswith("3 agents")


def test_of_each_agent_as_json(party: Path) -> None:
    """A list with an object per agent, with every figure of its bar."""
    [value] = good("status", party, "--by", "agent", "--json").values
    frodo, sam, merry = value["by"]
    assert (frodo["name"], frodo["color"], frodo["tokens"]["limit"]["value"]) == ("frodo", "cyan", 10_000)
    assert frodo["assembled"] == [{"kind": "system", "source": "", "tokens": 10}] and sam["assembled"] == []
    assert (merry["messages"], merry["inside"], merry["configured"], sam["configured"]) == (0, 1, True, False)


def test_of_one_agent_agrees(party: Path) -> None:
    """`status --agent` has the same bar, and the agent's name in its colour on a terminal."""
    [found] = good("status", party, "--by", "agent", "--json").values
    for one in found["by"]:
        [value] = good("status", party, "--agent", one["name"], "--json").values
        assert value["tokens"] == one["tokens"] and value["inside"] == one["inside"]
        assert value["colors"] == {"frodo": "cyan"}


def test_an_agent_of_the_config_is_known(party: Path) -> None:
    """It sees what is for all, though no message names it; one that nobody names is not known."""
    assert [value["n"] for value in good("show", party, "--agent", "merry", "--json", "--no-assembly").values] == [3]
    assert ctxkit("show", party, "--agent", "gollum").code == 1


def test_colours_of_agents(party: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of an agent has its colour, here and in `status`."""
    monkeypatch.setenv("CLICOLOR_FORCE", "1")
    assert good("status", party, "--by", "agent").text.startswith("\x1b[1;36mfrodo\x1b[0m\n")
    assert "agent \x1b[36mfrodo\x1b[0m\n" in good("status", party, "--agent", "frodo").text
    assert "\x1b[36mfrodo\x1b[0m: 1 message" in good("status", party).text


def test_no_agents(tmp_path: Path) -> None:
    """A log without agents: nothing is printed, and the closing line says so."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(message("user", "hello", 0)))
    ran = good("status", path, "--by", "agent")
    assert (ran.out, ran.err) == (b"", "0 agents\n")


def test_agents_of_many_logs(party: Path) -> None:
    """The blocks below the name of each log; with --json an object per log."""
    other = party.with_name("other.jsonl")
    other.write_bytes(PARTY)
    text = good("status", party, other, "--by", "agent").text
    assert text.count("\nfrodo\n") == 2 and f"{other}\n" in text
    found = good("status", party, other, "--by", "agent", "--json").values
    assert [[one["name"] for one in value["by"]] for value in found] == [["frodo", "sam", "merry"]] * 2


@pytest.mark.parametrize("more", ["--largest", "--files", "--agent sam", "--fail-at 80%", "--no-tokens", "--plot"])
def test_agents_alone(party: Path, more: str) -> None:
    """Nothing else can be asked with them."""
    assert ctxkit("status", party, "--by", "agent", *more.split()).code == 2


def test_a_missing_document_of_an_agent_is_left_out(party: Path) -> None:
    """It is named, and the rest is listed."""
    good("config", "--user", "set", "agents.sam.docs", "gone.md")
    ran = good("status", party, "--by", "agent")
    assert "agents.sam.docs: gone.md: no such file: left out" in ran.err and "sam\n" in ran.text


IN_A_FOLDER = """[agents.sam]
system = "file:sam.txt"
docs = ["plants.md"]
"""


@pytest.mark.parametrize("file", ["ctxkit.toml", "bot.jsonl.ctxkit/config.toml"])
@pytest.mark.parametrize("command", [("export", "--to", "openai", "--model", "m"), ("show", "--json", "--full")])
def test_a_bots_own_folder(tmp_path: Path, file: str, command: tuple[str, ...]) -> None:
    """It says who its agents are once the user accepted it, and not before; a file that leads out never counts."""
    path, config = tmp_path / "bot.jsonl", tmp_path / file
    path.write_bytes(PARTY)
    (tmp_path / "plants.md").write_text("Water the roses.")
    (tmp_path / "sam.txt").write_text("You are Sam.")
    config.parent.mkdir(exist_ok=True)
    config.write_text(IN_A_FOLDER)
    name, *more = command
    asked = [name, path, "--agent", "sam", *more]
    before = good(*asked)
    assert "You are Sam." not in before.text and "to accept: ctxkit config" in before.err
    good("config", path, "accept")
    assert all(text in good(*asked).text for text in ("You are Sam.", "Water the roses."))
    frodo = good(name, path, "--agent", "frodo", *more).text
    assert "You are Sam." not in frodo
    config.write_text(IN_A_FOLDER.replace("file:sam.txt", "file:../sam.txt"))
    good("config", path, "accept")
    ran = good(*asked)
    assert "Water the roses." in ran.text and "agents.sam.system counts only from" in ran.err


@pytest.mark.parametrize("command", [("export", "--to", "openai", "--model", "m"), ("show", "--json", "--full")])
def test_agent_config(tmp_path: Path, command: tuple[str, ...]) -> None:
    """--agent-config says who the agent is for one time, before all config; nothing is set."""
    path, kind = tmp_path / "bot.jsonl", tmp_path / "kinds" / "gardener.toml"
    path.write_bytes(PARTY)
    kind.parent.mkdir()
    (kind.parent / "plants.md").write_text("Water the roses.")
    kind.write_text('system = "You are a gardener."\ndocs = ["plants.md"]\n')
    good("config", "--user", "set", "agents.sam.system", "You are a cook.")
    name, *more = command
    text = good(name, path, "--agent", "sam", "--agent-config", kind, *more).text
    assert "You are a gardener." in text and "Water the roses." in text and "cook" not in text
    assert "You are a cook." in good(name, path, "--agent", "sam", *more).text
    for words, code in (
        (["--agent-config", kind], 2), (["--agent", "sam", "--agent-config", tmp_path / "gone.toml"], 66),
        (["--agent", "sam", "--agent-config", path], 78),
    ):  # fmt: skip
        ran = ctxkit(name, path, *words, *more)
        assert ran.code == code and not ran.out, ran.err
