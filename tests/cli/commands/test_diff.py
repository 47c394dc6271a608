"""diff: two states of a log, or two logs; exit 0 the same, 1 different, as diff(1)."""

from __future__ import annotations

import io
import os
import re
from pathlib import Path
from typing import Any

import pytest

from ctxkit.api.log import Log
from ctxkit.cli.commands.diff import as_json, brief, stat
from ctxkit.cli.commands.diff import lines as diff_lines
from ctxkit.cli.terminal.safe_text import cells
from ctxkit.cli.terminal.style import Styled
from ctxkit.core.compare.text_diff import words as word_diff
from tests import build
from tests.cli.runner import FOREIGN, SMALL, ctxkit, good, lines, message, process, shell, small
from tests.cli.screens import on_pty
from tests.shared import shared


def test_states_of_one_log(tmp_path: Path) -> None:
    """An op, a mark, now; one left out is now, both: what the newest op changed."""
    path = small(tmp_path, marks=["before"])
    good("forget", path, "2")
    path.write_bytes(path.read_bytes() + lines(message("user", "late", 20)))
    for words in (["before"], ["1", "now"], ["before", "now"], ["mark:before"]):
        ran = ctxkit("diff", path, *words)
        assert (ran.code, ran.err) == (1, "1 gone, 1 came; 10 messages the same\n")
        assert "-  2 user      first question\n               forgotten by op 2\n" in ran.text
        assert "+ 12 user      late\n" in ran.text
    ran = ctxkit("diff", path)
    assert ran.code == 1 and "before op 2 (forget)" in ran.text and "late" not in ran.text


def test_the_same(tmp_path: Path) -> None:
    """Nothing on stdout, exit 0, and in words what was compared."""
    path = small(tmp_path, marks=["a"])
    ran = good("diff", path, "1")
    assert (ran.out, ran.err) == (b"", "no difference between op 1 (mark a) and now: 11 messages the same\n")
    assert good("diff", path, path).err == "no difference: 11 messages the same\n"
    assert good("diff", path).err == "no difference: 11 messages the same\n"


def test_snapshots(tmp_path: Path) -> None:
    """Kept beside now, by id, description or file; of another log, too; a damaged one is refused, never 1."""
    path = small(tmp_path)
    key = good("snapshot", path, "-m", "kept").text.strip()
    good("forget", path, "2")
    [file] = (tmp_path / f"{path.name}.ctxkit" / "snapshots").iterdir()
    for word in ("kept", key[:6], "latest", "snapshot:kept", file):
        ran = ctxkit("diff", path, word)
        assert (ran.code, ran.err) == (1, "1 gone; 10 messages the same\n")
        assert f"chat.jsonl snapshot {key[:8]} (kept)\n+++ " in ran.text
        assert "-  2 user      first question\n               forgotten by op 1\n" in ran.text
    values = ctxkit("diff", path, "now", "kept", "--json").values
    assert values[0] == {"kind": "came", "a": None, "b": {"n": 2, "role": "user"}, "why": {
        "kind": "forget", "op": 1, "text": "forgotten by op 1"}}  # fmt: skip
    assert good("diff", path, "kept", "kept").out == b""
    other = tmp_path / "other.jsonl"
    other.write_bytes(lines(message("user", "hello", 1)))
    ran = ctxkit("diff", other, file, "now", "--stat", "--no-tokens")
    assert (ran.code, ran.text.split(":")[0]) == (1, "11 → 1 messages")
    assert ctxkit("diff", "-", file, stdin=path.read_bytes()).code == 1
    file.write_text(file.read_text().replace("first", "worst"))
    ran = ctxkit("diff", path, "kept")
    assert (ran.code, ran.out) == (65, b"") and "digest does not match" in ran.err


def test_two_logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of any formats, one of them from a pipe; /dev/null and an empty file are logs without messages."""
    monkeypatch.setenv("COLUMNS", "300")  # a path of any length
    path = small(tmp_path)
    session = tmp_path / "session.jsonl"
    session.write_bytes(FOREIGN)
    same = lines(message("user", "hello"), message("assistant", "hi"), message("user", "more"))
    assert good("diff", session, "-", stdin=same).out == b""
    ran = ctxkit("diff", "-", path, stdin=FOREIGN)
    assert ran.code == 1 and ran.text.startswith(f"--- standard input\n+++ {path}\n")
    (tmp_path / "empty").touch()
    for nothing in ("/dev/null", tmp_path / "empty"):
        assert ctxkit("diff", nothing, path).err == "11 came; 0 messages the same\n"
        assert ctxkit("diff", path, nothing).err == "11 gone; 0 messages the same\n"
        good("diff", nothing, nothing)


def test_two_logs_of_which_one_grew(tmp_path: Path) -> None:
    """An old and a new version of one file: an op of the new one says why."""
    old, new = small(tmp_path), small(tmp_path, name="new.jsonl")
    good("forget", new, "2")
    ran = ctxkit("diff", old, new)
    assert (ran.code, ran.err) == (1, "1 gone; 10 messages the same\n") and "forgotten by op 1" in ran.text


def test_sidecar(tmp_path: Path) -> None:
    """Ops on another program's log."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(FOREIGN)
    good("forget", path, "1")
    path.write_bytes(
        FOREIGN + FOREIGN.splitlines(keepends=True)[-1].replace(b'"u3"', b'"u4"').replace(b'"u2"', b'"u3"')
    )
    ran = ctxkit("diff", path, "1^")
    assert ran.code == 1 and "forgotten by op 1" in ran.text and "1 gone, 1 came; 2 messages the same" in ran.err
    assert ctxkit("diff", path, "now", "1").code == 1


def test_process_substitution(tmp_path: Path) -> None:
    """What a shell gives for <(...) is a log like any other."""
    small(tmp_path)
    ran = shell("ctxkit diff <(head -n 3 chat.jsonl) <(cat chat.jsonl) -q | head -n 4", tmp_path)
    assert ran.code == 0 and ran.text.splitlines()[0].startswith("--- /dev/fd/"), ran.err


def test_filters(tmp_path: Path) -> None:
    """--agent, --thread and --now hold for both sides."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(message("user", "a", 1, agent="ada"), message("user", "b", 2, agent="bob")))
    good("mark", path)
    path.write_bytes(path.read_bytes() + lines(message("user", "c", 300, agent="ada"), message("user", "d", 301)))
    assert ctxkit("diff", path, "1", "--agent", "bob").err == "1 came; 1 message the same\n"
    good("window", path, "1h")
    assert "2 gone, 2 came" in ctxkit("diff", path, "1").err
    assert ctxkit("diff", path, "1", "--now", "2026-02-01T10:30:00Z").err == "2 came; 2 messages the same\n"
    assert ctxkit("diff", path, "1", "--agent", "eve").code == 2


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("LOG 99", 2, "'99' is not an op, a mark or a snapshot of LOG, and not a file"),
        ("LOG nowhere", 2, "has ops 1-1 (1^: before all), and the marks a"),
        ("LOG other.jsonl", 66, "other.jsonl: no such log"),
        ("LOG LOG now", 2, "one word too many"),
        ("- -", 2, "both logs are standard input"),
        ("LOG LOG --sidecar x", 2, "--sidecar is for one log"),
        ("LOG 1 now now", 2, "unexpected extra argument"),
        ("LOG --thread none", 2, "no thread 'none'"),
        ("LOG -U -1", 2, "-1"),
        ("1 now", 66, "ctxkit diff - 1 now"),
    ],
)
def test_errors(tmp_path: Path, words: str, code: int, said: str) -> None:
    """2 or more: 1 would say that something differs."""
    path = small(tmp_path, marks=["a"])
    ran = ctxkit("diff", *words.replace("LOG", str(path)).split())
    assert (ran.code, ran.out) == (code, b"") and said.replace("LOG", str(path)) in ran.err


def test_a_file_goes_before_a_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second word that is a file is a log; mark:LABEL, numbers and now never are."""
    monkeypatch.chdir(tmp_path)
    path = small(tmp_path, marks=["copy"])
    small(tmp_path, name="copy"), small(tmp_path, name="now"), small(tmp_path, name="1")
    good("forget", path, "2")
    assert "+++ copy" in ctxkit("diff", path, "copy").text
    for word in ("mark:copy", "1"):
        assert "op 1 (mark copy)" in ctxkit("diff", path, word).text
    assert good("diff", path, "now").out == b""
    assert "+++ ./now" in ctxkit("diff", path, "./now").text


def test_json_and_stat(tmp_path: Path) -> None:
    """An object per difference and a summary; figures with the counter's name, messages alone without tokens."""
    path = small(tmp_path, marks=["a"])
    good("forget", path, "2")
    ran = ctxkit("diff", path, "1", "--json")
    assert ran.code == 1 and [value["kind"] for value in ran.values] == ["gone", "summary"]
    [summary] = ctxkit("diff", path, "1", "--json", "--stat").values
    assert summary["tokens"]["before"] - summary["tokens"]["gone"] == summary["tokens"]["after"]
    text = ctxkit("diff", path, "1", "--stat").text
    assert text.startswith("11 → 10 messages: 1 gone,") and "(estimate for unknown model, o200k_base × 1.25)" in text
    assert "tokens" not in ctxkit("diff", path, "1", "--stat", "--no-tokens").text


@pytest.mark.parametrize("columns", [80, 20])
def test_on_a_terminal(tmp_path: Path, columns: int) -> None:
    """Coloured, and no line wider than the terminal."""
    path = small(tmp_path, marks=["a"])
    good("forget", path, "2,5")
    seen = on_pty(["diff", str(path), "1", "-q"], columns)
    text = seen.raw.decode().replace("\r\n", "\n")
    assert seen.code == 1 and "\x1b[31m-  2" in text
    assert all(len(line) <= columns for line in re.sub("\x1b\\[[0-9;]*m", "", text).splitlines())


def test_colours(tmp_path: Path) -> None:
    """None in a pipe, none with NO_COLOR, some where they are forced."""
    path = small(tmp_path, marks=["a"])
    good("forget", path, "2")
    assert b"\x1b" not in process("diff", path, "1").out
    assert b"\x1b[31m" in process("diff", path, "1", env={"CLICOLOR_FORCE": "1"}).out
    assert b"\x1b" not in process("diff", path, "1", env={"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}).out


@pytest.mark.parametrize("name", ["claude-code/37-agentv-small.jsonl", "claude-code/35-entire-cjk.jsonl"])
def test_real_sessions(tmp_path: Path, name: str) -> None:
    """A session against its own beginning, against itself, and against another one."""
    path = shared(f"transcripts/{name}")
    raw = path.read_bytes().splitlines(keepends=True)
    start = tmp_path / "start.jsonl"
    start.write_bytes(b"".join(raw[: 3 * len(raw) // 4]))
    assert good("diff", path, path).out == b""
    ran = ctxkit("diff", start, path, "--json")
    assert ran.code in (0, 1) and ran.values[-1]["same"] > 0
    mirrored = ctxkit("diff", path, start, "--json").values[-1]
    assert (mirrored["gone"], mirrored["same"]) == (ran.values[-1]["came"], ran.values[-1]["same"])
    os.environ["COLUMNS"] = "20"
    assert all(len(line) <= 20 for line in ctxkit("diff", start, path).text.splitlines() if line.isascii())


def test_across_formats(tmp_path: Path) -> None:
    """A session and its export: the same words."""
    path = shared("transcripts/claude-code/37-agentv-small.jsonl")
    exported = good("export", path, "--to", "chat").out
    ran = ctxkit("diff", path, "-", "--json", stdin=exported)
    assert ran.values[-1]["same"] > ran.values[-1]["gone"]


def test_which_log_is_wrong(tmp_path: Path) -> None:
    """An op that does not fit, or is not known, is said of the log that has it."""
    good_one, cut = small(tmp_path, marks=["a"]), tmp_path / "cut.jsonl"
    cut.write_bytes(b"".join(good_one.read_bytes().splitlines(keepends=True)[3:]))
    ran = ctxkit("diff", good_one, cut)
    assert ran.code == 65 and f"ctxkit: {cut}: op 1 (mark, line 9) does not fit" in ran.err
    cut.write_bytes(lines(message("user", "x"), {"ctxkit": "frobnicate", "v": 1, "id": "x1", "at": {"messages": 1}}))
    assert f"ctxkit: {cut}: op 1 is a 'frobnicate'" in ctxkit("diff", good_one, cut).err


def test_a_folder(tmp_path: Path) -> None:
    """Is no log and no state: said as of any log that is a directory."""
    path = small(tmp_path)
    for words in ([tmp_path], ["1", tmp_path]):
        good("mark", path, "a")
        ran = ctxkit("diff", path, *words)
        assert (ran.code, ran.out) == (66, b"") and f"{tmp_path}: not a log: it is a directory" in ran.err


def test_labels(tmp_path: Path) -> None:
    """As diff(1) has them: names for the headings, for scripts that compare temporary files."""
    path = small(tmp_path)
    good("forget", path, "2")
    ran = ctxkit("diff", path, "-", "--label", "old", "--label", "new\x1b", stdin=SMALL)
    assert ran.text.startswith("--- old\n+++ new␛\n")
    assert ctxkit("diff", path, "-", "--label", "old", stdin=SMALL).text.startswith("--- old\n+++ standard input\n")
    values = ctxkit("diff", path, "-", "--label", "old", "--json", stdin=SMALL).values
    assert (values[-1]["a"]["log"], values[-1]["b"]["log"]) == ("old", "-")
    assert ctxkit("diff", path, *["--label", "x"] * 3).code == 2


NAMES = ("x", "x")


def log(spec: str) -> Log:
    """A log in memory."""
    return Log.open(io.BytesIO(build.lines(spec)))


def shown(spec: str, *states: str, around: int = 1, full: bool = False) -> list[str]:
    """The lines without their header."""
    found = [plain(line) for line in diff_lines(log(spec).diff(*states), NAMES, around=around, full=full)]
    assert [line[:3] for line in found[:2]] in ([], ["---", "+++"])
    return found[2:]


def plain(spans: tuple[str | Styled, ...]) -> str:
    """A line without its colours."""
    return "".join(span if isinstance(span, str) else span.text for span in spans)


def test_signs_and_reasons() -> None:
    """Gone and came, with the messages around them; runs that are the same are counted."""
    assert shown("1-8 | mark | forget 5 | 9", "1") == [
        "  3 messages the same",
        "  4 assistant m4",
        "- 5 user      m5",
        "              forgotten by op 2",
        "  6 assistant m6",
        "  7 user      m7",
        "  8 assistant m8",
        "+ 9 user      m9",
    ]
    text = shown("1-9 | mark | forget 5", "1")
    assert text[2:4] == ["- 5 user      m5", "              forgotten by op 2"]
    assert shown("1-9 | mark | forget 5", "now", "1")[2:4] == [
        "+ 5 user      m5",
        "              was forgotten by op 2",
    ]


@pytest.mark.parametrize(
    ("around", "expected"),
    [(0, ["  4 messages the same", "-", "  4 messages the same"]),
     (2, ["  2 messages the same", "  3 user      m3", "  4 assistant m4", "-", "  6 assistant m6", "  7 user      m7",
          "  2 messages the same"]),
     (9, [*(f"  {n} {'user     ' if n % 2 else 'assistant'} m{n}" for n in (1, 2, 3, 4)), "-",
          *(f"  {n} {'user     ' if n % 2 else 'assistant'} m{n}" for n in (6, 7, 8, 9))])],
)  # fmt: skip
def test_around(around: int, expected: list[str]) -> None:
    """As many messages as asked for; a single one is not worth counting."""
    found = shown("1-9 | mark | forget 5", "1", around=around)
    assert [line[:1] if line.startswith("-") else line for line in found if "forgotten" not in line] == expected


def test_changed_and_moved() -> None:
    """An edit shows its words; what stands elsewhere says where it stood."""
    assert "~ 2→1.2 user      [-m2-]{+other+}" in shown("1-4 | edit 1,2:other,3-4", "1^", "1")
    found = shown("1-6 | edit 1,4-6,2-3", "1^", "1")
    assert "> 2 assistant m2" in found and any("moved: was after 1" in line for line in found)
    found = shown("1-4 | edit 4,1-3", "1^", "1")
    assert any("moved: was after 3" in line for line in found)
    found = shown("1-6 | edit 4-6,1:x,2-3", "1^", "1")
    assert any("edited" in line and "moved" in line for line in found)


def test_full() -> None:
    """Line by line, nothing shortened."""
    found = shown("1-4 | edit 1,2:one+two,3-4", "1^", "1", full=True)
    assert [line for line in found if line[0] in "~-+"] == ["~ 2→1.2 user", "-     m2", "+     one two"]
    assert len([line for line in shown("1-300 | mark | forget 2-299", "1", full=True) if line[0] == "-"]) == 2 * 298


def test_long_runs() -> None:
    """Both ends of a long run, and how many there are between."""
    found = [line for line in shown("1-300 | mark | forget 2-299", "1") if line.startswith("-")]
    assert len(found) == 101 and "198 more messages" in found[50]


def test_what_is_not_shown_differs() -> None:
    """Two logs whose message differs in no word."""
    one = log("1-2")
    spec = build.lines("1-2").replace(b'"m2"', b'"m2","name":"bob"')
    found = [plain(line) for line in diff_lines(one.diff(Log.open(io.BytesIO(spec))), NAMES, around=0, full=False)]
    assert any("the same words; other parts differ" in line for line in found)


@pytest.mark.parametrize("columns", [20, 21, 39, 40, 80])
@pytest.mark.parametrize(
    "spec",
    ["1-9 | mark | forget 5 | edit 1,2:other+words+and+more+of+them,9,3-4,7",
     "1-9 | compact 2-5 text=a+summary+\u4f60\u597d\u4f60\u597d\u4f60\u597d\u4f60\u597d\u4f60\u597d+that+is+long",
     "1-1200 | mark | trim 3 stubs={\"4\":\"cut\"} | forget 7-1100"],
)  # fmt: skip
def test_width(monkeypatch: pytest.MonkeyPatch, columns: int, spec: str) -> None:
    """No line is wider than the terminal, figures neither."""
    monkeypatch.setenv("COLUMNS", str(columns))
    found = log(spec).diff("1^")
    every = [plain(line) for line in (*diff_lines(found, NAMES, around=1, full=False), *stat(found, tokens=True))]
    assert [line for line in every if cells(line) > columns] == []


def test_title() -> None:
    """Of a long path the end."""
    found = log("1-4 | forget 2").diff("1^")
    first = plain(next(diff_lines(found, ("/some/where/" * 9 + "chat.jsonl",) * 2, around=1, full=False)))
    assert first.startswith("--- …") and first.endswith("/chat.jsonl before op 1 (forget)") and cells(first) == 80


def test_brief() -> None:
    """From the first change on; long pieces are shortened in the middle; the rest is left out at the width."""
    old = "one two three four five six seven eight nine ten eleven twelve " * 3 + "end"
    text = plain(brief(word_diff(old, old.replace("ten", "10", 1)), 60))
    assert text.startswith(" …") and "[-ten-]{+10+}" in text and cells(text) <= 60
    text = plain(brief(word_diff("x" + "a " * 200, "x" + "b " * 200), 60))
    assert "…" in text and "[-" in text and "{+" in text and cells(text) <= 60
    assert plain(brief([], 10)) == ""


def test_safe() -> None:
    """What acts on a terminal is shown, before it is cut."""
    found = shown("1-2 | edit 1,2:\x1b]0;x\x07\u202e,new:\u202e\u202e", "1^", "1")
    assert all(c not in "".join(found) for c in "\x1b\x07\u202e")


def test_stat() -> None:
    """Figures that name their counter."""
    found = [plain(line) for line in stat(log("1-4 | mark | forget 2").diff("1"), tokens=True)]
    assert found == [
        "4 → 3 messages: 1 gone, 0 came, 0 changed, 0 moved, 3 the same",
        "32 → 24 tokens: 8 gone, 0 came (estimate for unknown model, o200k_base × 1.25)",
    ]


def test_json() -> None:
    """An object per difference, then the summary."""

    def values(spec: str, **asked: Any) -> list[dict[str, Any]]:
        found = log(spec).diff("1^")
        return list(as_json(found, NAMES, **{"full": False, "tokens": False, "differences": True, **asked}))

    gone, came, summary = values("1-4 | compact 2 text=s")
    assert gone["why"] == {"kind": "compact", "op": 1, "text": "replaced by the summary of op 1"}
    assert (came["kind"], came["a"], came["b"]) == ("came", None, {"item": "1.1", "role": "user"})
    assert (summary["kind"], summary["same"], summary["gone"], summary["differs"]) == ("summary", 3, 1, True)
    changed, _ = values("1-4 | edit 1,2:x,3-4", full=True)
    assert (changed["how"], changed["moved"], changed["a"]["n"], changed["b"]["item"]) == (
        "edited", False, 2, "1.2",
    )  # fmt: skip
    assert changed["b"]["parts"] == [{"type": "text", "text": "x"}]
    [only] = values("1-4 | forget 2", differences=False, tokens=True)
    assert only["tokens"]["counter"] == "estimate for unknown model, o200k_base × 1.25"
