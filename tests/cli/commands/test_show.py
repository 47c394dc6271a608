"""show: the context, for people and for programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.runner import SMALL, call, ctxkit, good, lines, message, small
from tests.cli.screens import on_pty
from tests.formats.claude_code.logs import assistant, boundary, log, user


def test_lines() -> None:
    """A header with number, role, time and lock; then the parts, indented; how many of how many on stderr."""
    ran = good("show", "-", "1-4", stdin=SMALL)
    assert ran.text == (
        "1  system  2026-02-01T10:00:00Z  🔒\n    be brief\n\n"
        "2  user  2026-02-01T10:01:00Z\n    first question\n\n"
        "3  assistant  2026-02-01T10:02:00Z\n    looking\n    → Read a.py\n\n"
        "4  tool  2026-02-01T10:03:00Z\n    ← print(1)\n\n"
    )
    assert ran.err == "4 of 11 messages\n"


@pytest.mark.parametrize("columns", [20, 40, 80])
def test_oneline(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """A line a message, never wider than the terminal."""
    monkeypatch.setenv("COLUMNS", str(columns))
    wide = SMALL + lines(message("user", "汉字 " * 100, 20), message("user", "e" + "\u0301" * 1000, 21))
    found = good("show", "-", "--oneline", stdin=wide).text.splitlines()
    assert len(found) == 13
    if columns > 30:
        from ctxkit.cli.terminal.safe_text import cells

        assert max(map(cells, found)) <= columns


def test_full() -> None:
    """Long results are cut, unless --full; what was cut is said."""
    raw = SMALL.replace(b"print(1)", b"\\n".join(b"line %d" % n for n in range(9)))
    short, full = good("show", "-", "4", stdin=raw).text, good("show", "-", "4", "--full", stdin=raw).text
    assert "← … 6 more lines (--full)" in short and "line 8" not in short
    assert "line 8" in full and "more lines" not in full


def test_parts() -> None:
    """Thinking, images, unknown parts and failed results each have their sign."""
    content = [
        {"type": "text", "text": "words"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "hologram", "beam": 3},
    ]
    text = good("show", "-", stdin=lines(message("user", content, name="ann"))).text
    assert "1  user (ann)\n" in text and "    words\n" in text
    assert "[image image/png 3 bytes]" in text and "[hologram]\n" in text
    assert '"beam"' in good("show", "-", "--full", stdin=lines(message("user", content))).text


def test_json() -> None:
    """An object per message: its number, role, time, flags, parts."""
    first, _, third = good("show", "-", "1-3", "--json", stdin=SMALL).values
    assert first == {"n": 1, "role": "system", "ts": "2026-02-01T10:00:00Z", "protected": True,
                     "parts": [{"type": "text", "text": "be brief"}]}  # fmt: skip
    assert [part["type"] for part in third["parts"]] == ["text", "call"]
    named = lines(message("user", "x", agent="a", thread="t", name="n"))
    value = good("show", "-", "--json", stdin=named).values[0]
    assert (value["agent"], value["thread"], value["name"], "ts" in value) == ("a", "t", "n", False)


def test_json_is_ascii() -> None:
    """No byte of a transcript acts on a terminal: everything beyond ASCII is escaped."""
    raw = lines(message("user", "\x1b]0;x\x07 ü \u202e \ud800"))
    out = good("show", "-", "--json", stdin=raw).out
    assert out.isascii() and b"\x1b" not in out


def test_numbers_stay(tmp_path: Path) -> None:
    """What `show` calls 5 is what `forget 5` takes out."""
    path = small(tmp_path)
    good("forget", path, "2")
    assert "5  assistant" in good("show", path).text
    assert good("show", path, "5-6", "--json").values[0]["n"] == 5


def test_empty_context(tmp_path: Path) -> None:
    """Nothing to show is no failure."""
    path = tmp_path / "e.jsonl"
    path.write_bytes(b"")
    ran = good("show", path)
    assert (ran.out, ran.err) == (b"", "0 of 0 messages\n")


def test_agents_and_threads() -> None:
    """The context of one agent: its own messages and everybody's; an unknown one is named with the known."""
    raw = lines(message("user", "a", 1), message("user", "b", 2, agent="sam"), message("user", "c", 3, agent="frodo"))
    assert [v["n"] for v in good("show", "-", "--agent", "sam", "--json", stdin=raw).values] == [1, 2]
    ran = ctxkit("show", "-", "--agent", "nobody", stdin=raw)
    assert (ran.code, ran.err) == (1, "ctxkit: no agent 'nobody' in this log\nhint: it has frodo, sam\n")


def test_tabs_and_line_breaks() -> None:
    """Code keeps its tabs; a line break in a tool's name does not make up a line."""
    raw = lines(message("user", "if x:\n\ty()"), message("assistant", None, tool_calls=[call("a\nb", "c1")]))
    text = good("show", "-", stdin=raw).text
    assert "\n    \ty()\n" in text and "→ a␊b\n" in text


def test_numbers_that_are_out(tmp_path: Path) -> None:
    """Messages that are named are printed and say why they are out; criteria choose among them, or in the context."""
    path = small(tmp_path)
    good("forget", path, "6")
    ran = good("show", path, "6")
    assert ran.text.splitlines() == [
        "6  user  2026-02-01T10:05:00Z  out: forgotten by op 1", "    second question", "",
    ]  # fmt: skip
    assert ran.err.splitlines()[-1] == f"1 of these is out of the context: ctxkit why {path} 6 says what brings it back"
    rows = [row.split() for row in good("show", path, "10", "2", "6", "--oneline").text.splitlines()]
    assert [(row[0], "(out)" in row) for row in rows] == [("2", False), ("6", True), ("10", False)]
    found = good("show", path, "2", "6", "--json").values
    assert [one.get("in_context") for one in found] == [None, False]
    assert "ctxkit why" not in good("show", path, "2").err
    assert [one["n"] for one in good("show", path, "2-6", "--role", "user", "--json").values] == [2, 6]
    assert [one["n"] for one in good("show", path, "--role", "user", "--json").values] == [2, 10]


def test_words(tmp_path: Path) -> None:
    """What people and the model wrote, in full: no call, result or thinking; also of messages that are out."""
    path = tmp_path / "chat.jsonl"
    long = "\n".join(f"line {n}" for n in range(40))
    path.write_bytes(lines(message("system", "Be short."), message("user", "first", 1), message("user", "second", 2),
                           message("assistant", f"I look. {long}", 3, tool_calls=[call("run", "c1")]),
                           message("tool", "secret result", 4, tool_call_id="c1"),
                           message("assistant", None, 5, tool_calls=[call("run", "c2")]),
                           message("tool", "other", 6, tool_call_id="c2"),
                           message("assistant", "Done.", 7)))  # fmt: skip
    good("forget", path, "2")
    text = good("show", path, "--words").text
    assert [one["n"] for one in good("show", path, "--words", "--json").values] == [3, 4, 8]
    assert "line 39" in text and "Done." in text and "run" not in text and "result" not in text and "short" not in text
    assert [one["n"] for one in good("show", path, "1-5", "--words", "--json").values] == [2, 3, 4]
    assert ctxkit("show", path, "--words", "--tools").code == 2


def test_numbers_out_of_a_compacted_session(tmp_path: Path) -> None:
    """What Claude Code compacted away is dim on a terminal, and no divider stands before it or behind it."""
    rows = [user("a", None, "first", 1), assistant("b", "a", "second", 2), boundary("c", None, 3, trigger="auto"),
            user("d", "c", "the summary", 4, isCompactSummary=True)]  # fmt: skip
    path = tmp_path / "session.jsonl"
    path.write_bytes(log(*rows))
    ran = good("show", path, "1-2")
    assert [row for row in ran.text.splitlines() if "compacted by Claude Code at line 3" in row and "  out: " in row]
    assert "first" in ran.text and "second" in ran.text
    seen = on_pty(["show", str(path), "1-2"], 80, TERM="xterm", PAGER="cat")
    assert b"\x1b[2mfirst" in seen.raw and b"\xe2\x94\x80 compacted" not in seen.raw
    assert b"\xe2\x94\x80 compacted" in on_pty(["show", str(path)], 80, TERM="xterm", PAGER="cat").raw


def test_status_needs_the_whole_context(tmp_path: Path) -> None:
    """Where nothing is put around the messages, --status is refused, never ignored."""
    path = small(tmp_path)
    (tmp_path / "words").write_text("on the way")
    for words in (["show", path, "2"], ["show", path, "--role", "user"], ["export", path, "--to", "chat"]):
        ran = ctxkit(*words, "--status", tmp_path / "words")
        assert (ran.code, ran.out) == (2, b"") and "--status" in ran.err
    assert "on the way" in good("show", path, "--status", tmp_path / "words").text


def test_a_budget_that_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The config trims each look, and says so; flags go before it; --explain tells of it; nothing is appended."""
    whole = good("show", "-", "--oneline", stdin=SMALL)
    monkeypatch.setenv("CTXKIT_BUDGET_ENFORCE", "true")
    assert ctxkit("show", "-", stdin=SMALL).code == 78
    assert good("show", "-", "--oneline", "--max-tokens", "off", stdin=SMALL) == whole
    monkeypatch.setenv("CTXKIT_LIMIT", "4170")
    ran = good("show", "-", "--oneline", stdin=SMALL)
    assert 0 < len(ran.text.splitlines()) < len(whole.text.splitlines())
    assert "dropped, to fit 74 (budget.enforce, CTXKIT_BUDGET_ENFORCE).\n" in ran.err
    assert good("show", "-", "--oneline", "--max-tokens", "74", stdin=SMALL).text == ran.text
    assert good("show", "-", "--oneline", "--max-tokens", "off", stdin=SMALL) == whole
    assert good("show", "-", "--oneline", "--at", "now", stdin=SMALL).text == ran.text
    told = good("show", "-", "--explain", "--json", stdin=SMALL)
    *all_of_them, used = told.values
    assert used["parameters"]["budget"] == {"value": 74, "origin": "CTXKIT_BUDGET_ENFORCE"}
    out = [one for one in all_of_them if not one["in_context"]]
    assert out and {one["standing"] for one in out} == {"trim"} and {one["op"] for one in out} == {None}
    assert {one["reasons"][0]["back"] for one in out} == {"ctxkit show LOG --max-tokens off"}
    assert "budget    74 tokens (CTXKIT_BUDGET_ENFORCE)" in good("show", "-", "--explain", stdin=SMALL).text
    number = str(out[0]["n"])
    assert "--max-tokens off shows everything" in good("show", "-", number, stdin=SMALL).err
    assert "budget    none" in good("show", "-", "--explain", "--max-tokens", "off", stdin=SMALL).text


def test_a_past_state_can_be_made_to_fit(tmp_path: Path) -> None:
    """With the ops until then, and no others."""
    path = small(tmp_path)
    good("forget", path, "2")
    good("undo", path)
    for at, gone in (("1", True), ("2", False)):
        ran = good("show", path, "--oneline", "--at", at, "--max-tokens", "90")
        assert "to fit 90 (--max-tokens)" in ran.err and ("first question" not in ran.text) == gone


def test_what_a_person_typed() -> None:
    """--role human: neither results, nor what a program wrote in the user's name."""
    raw = SMALL + lines(message("user", "<system-reminder>x</system-reminder>", 20), message("user", "typed last", 21))
    found = good("show", "-", "--role", "human", "--json", stdin=raw).values
    assert [one["parts"][0]["text"] for one in found][-1] == "typed last" and {one["role"] for one in found} == {"user"}
    assert all("reminder" not in one["parts"][0]["text"] for one in found)
    assert len(found) < len(good("show", "-", "--role", "user", "--json", stdin=raw).values)


@pytest.mark.parametrize("words", [["--tools"], ["--tools", "-q"]])
def test_calls(words: list[str]) -> None:
    """A row per call; what was --calls."""
    ran = good("show", "-", *words, stdin=SMALL)
    assert ran.text.split("\n")[0].split() == ["n", "tool", "status", "tokens", "seconds", "target"]
    assert "Read      done" in ran.text and ran.text.count("\n") == 3
    first = good("show", "-", "--tools", "--json", stdin=SMALL).values[0]
    assert (first["n"], first["tool"], first["target"], first["result"]) == (3, "Read", "a.py", 4)
    assert ctxkit("show", "-", "--tools", "no-such-file", stdin=SMALL).code == 2


def test_follow_refuses(tmp_path: Path) -> None:
    """What cannot grow, or is no look at the end."""
    assert ctxkit("show", "-", "-f", stdin=SMALL).code == 2
    path = small(tmp_path, marks=["a"])
    for more in (["--at", "1"], ["--explain"], ["--tools"], ["--max-tokens", "90"]):
        assert ctxkit("show", path, "-f", *more).code == 2


def test_follow(tmp_path: Path) -> None:
    """What is there, then what comes, an op included; Ctrl-C ends it well."""
    import pexpect

    from tests.cli.terminal.test_pager import spawn

    path = small(tmp_path)
    run = spawn(["show", str(path), "-f"])
    run.expect_exact("third")
    good("add", path, "now this")
    run.expect_exact("now this")
    good("mark", path, "here")
    run.expect_exact("mark 'here'")
    run.sendintr()
    run.expect(pexpect.EOF)
    run.close()
    assert run.exitstatus == 0


def test_follow_in_a_pipe(tmp_path: Path) -> None:
    """Each message once, as it comes."""
    import subprocess

    from tests.cli.runner import PYTHON

    path = small(tmp_path)
    with subprocess.Popen(
        [*PYTHON, "show", str(path), "-f", "--json", "--role", "user"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as run:
        assert run.stdout is not None
        there = len(good("show", path, "--role", "user", "--json").values)
        for _ in range(there):
            run.stdout.readline()
        good("add", path, "now this")
        assert b"now this" in run.stdout.readline()
        run.terminate()


@pytest.mark.parametrize(
    "words",
    [
        "restore chat.jsonl 1 --summary",
        "compact chat.jsonl --force --keep-last 0",
        "forget chat.jsonl 3",
        "clear chat.jsonl",
    ],
)
def test_how_many_of_how_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    """What ops brought in counts on both sides, as `status` counts it: never 2 of 1 message."""
    monkeypatch.chdir(tmp_path)
    path = small(tmp_path)
    if "restore" in words:
        path.write_bytes(lines(message("user", "hi")))
        good("snapshot", path, "-m", "first", stdin=None)
        words = words.replace(" 1 ", f" {next(tmp_path.rglob('snapshots/*.json')).stem} ")
    good(*words.split())
    [told] = good("status", path, "--json").values
    total = told["total"]
    assert good("show", path).err.startswith(f"{told['inside']} of {total} message{'s' * (total != 1)}")
