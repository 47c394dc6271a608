"""status on a terminal, in a pipe, and for programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxkit.cli.terminal.safe_text import cells
from tests.cli.hostile import ALL, hostile
from tests.cli.runner import SMALL, ctxkit, good, lines, message, process, small
from tests.cli.screens import on_pty

KEYS = ["log", "model", "tokens", "parameters", "total", "items", "inside", "out", "marks", "ops", "void", "agents",
        "threads", "damaged", "damage", "warnings", "sidecar", "thinking"]  # fmt: skip


def test_pipe(tmp_path: Path) -> None:
    """Everything on stdout, nothing on stderr, no colour."""
    path = small(tmp_path, marks=["start"])
    good("forget", path, "2-5")
    good("window", path, "8h")
    ran = good("status", path, "--limit", "100")
    assert ran.err == "" and b"\x1b" not in ran.out
    for words in ("11 messages", "7 in the context", "4 forgotten", "start: op 1, after message 11, 0 since",
                  "8h (op 3)", "last (2026-02-01T10:10:00Z), default", "3 in force",
                  "(estimate for unknown model, o200k_base × 1.25)",
                  "reserved 4,096", "limit from --limit"):  # fmt: skip
        assert words in ran.text, words


def test_without_a_limit(tmp_path: Path) -> None:
    """No percent; how to give one."""
    text = good("status", small(tmp_path)).text
    assert "%" not in text and "--limit N" in text


def test_json_keys(tmp_path: Path) -> None:
    """The same, whatever the log holds."""
    for raw in (b"", SMALL, hostile("x")):
        [value] = good("status", "-", "--json", stdin=raw).values
        assert list(value) == KEYS
        assert list(value["tokens"]) == [
            "used", "counter", "limit", "reserve", "available", "over", "percent", "level",
            "measured", "beside",
        ]  # fmt: skip


def test_no_tokens(tmp_path: Path) -> None:
    """Not counted, and said so."""
    path = small(tmp_path)
    assert "not counted" in good("status", path, "--no-tokens", "--limit", "100").text
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


@pytest.mark.parametrize("columns", [80, 40, 20])
@pytest.mark.parametrize("flags", [["--limit", "30"], ["--short", "--limit", "30"], []], ids=" ".join)
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
    full = ["status", path, "--limit", "34"]
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
    [value] = good("status", "-", "--limit", typed, "--json", stdin=SMALL).values
    assert value["tokens"]["limit"]["value"] == limit


def test_no_limit_at_all() -> None:
    """Anything else is a usage error."""
    for typed in ("12q", "1.5", "0", "k"):
        assert ctxkit("status", "-", "--limit", typed, stdin=SMALL).code == 2, typed


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
    [value] = good("status", "-", "--limit", "250", "--json", stdin=SMALL).values
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
    assert ran.err == "tokens: estimate for unknown model, o200k_base × 1.25\n" and "log " not in ran.text
    [value] = good("status", path, *words, "--json").values
    assert list(value) == ["by", "largest", "files", "beyond", "counter"]
    assert ctxkit("status", path, *words, "--no-tokens").code == 2


@pytest.mark.parametrize(
    ("words", "code"),
    [(["--fail-over", "143"], 0), (["--fail-over", "142"], 1), (["--limit", "1000", "--fail-at", "14%"], 1),
     (["--limit", "1000", "--fail-at", "15"], 0), (["--fail-at", "85%"], 78), (["--fail-at", "full"], 2)],
)  # fmt: skip
def test_assertions(tmp_path: Path, words: list[str], code: int) -> None:
    """For CI: 1 where more is used; the overview is printed all the same; 78 where no limit is known."""
    ran = ctxkit("status", small(tmp_path), *words)
    assert ran.code == code and (code == 2 or "143" in ran.text)
    assert code != 1 or "are used" in ran.err


TOOLS = b'[{"name": "weather", "description": "Tells it.", "input_schema": {"type": "object", "properties": {}}}]'


def test_what_is_sent_besides(tmp_path: Path) -> None:
    """Tools and overhead count, from flags, config or standard input; within a provider's count they are told only."""
    path, tools = small(tmp_path), tmp_path / "tools.json"
    tools.write_bytes(TOOLS)
    [plain] = good("status", path, "--json").values
    [found] = good("status", path, "--json", "--tools", tools, "--overhead", "12k").values
    beside = found["tokens"]["beside"]
    assert beside["overhead"] == 12_000 and beside["tools"] > 10 and beside["within"] == 0
    assert found["tokens"]["used"] == plain["tokens"]["used"] + 12_000 + beside["tools"]
    assert good("status", path, "--json", "--tools", "-", "--overhead", "12000", stdin=TOOLS).values == [found]
    (tmp_path / "ctxkit.toml").write_text('tools = "tools.json"\noverhead = 12000\n')
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
