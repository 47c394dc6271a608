"""Many logs in one call: a line for each, in order; failures as lines; processes; previews; lists; interruptions."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from ctxkit.cli.flags import FLAGS
from ctxkit.cli.many_logs import listed_names, processes
from ctxkit.cli.options import ManyLogs
from ctxkit.cli.parser import command_parser
from ctxkit.cli.registry import COMMANDS
from ctxkit.search.log_files import LogFile, log_files
from tests.cli.runner import FOREIGN, PYTHON, SMALL, Ran, call, ctxkit, good, lines, message, process

TORN = b'{"role":"user","content":"thr'
MANY = [
    name for name in COMMANDS if "files_from" in {one.name for one in command_parser(name).params} and name != "fleet"
]


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two logs, a broken one, what is no log, and a folder with one more."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.jsonl").write_bytes(SMALL)
    (tmp_path / "b.jsonl").write_bytes(TORN)
    (tmp_path / "notes.txt").write_text("no log")
    (tmp_path / "package.json").write_text('{"name": "x"}')
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/c.jsonl").write_bytes(FOREIGN)
    return tmp_path


def test_which_commands_take_many() -> None:
    """Those of the table, and the writers for which one preview says it all."""
    assert MANY == [
        "show", "status", "recall", "sessions", "forget", "compact", "trim", "undo", "export", "check",
        "scan",
    ]  # fmt: skip
    for name in MANY:
        options = {one.name for one in command_parser(name).params}
        assert "files_from" in options and ("jobs" in options or name == "recall")
    assert {key for key in ManyLogs.__annotations__} <= FLAGS.keys()


def test_status(logs: Path) -> None:
    """A line for each log below the folder: its name, and what --short says of it alone."""
    ran = ctxkit("status", ".")
    alone = {name: ctxkit("status", name, "--short").text for name in ("a.jsonl", "b.jsonl", "sub/c.jsonl")}
    assert ran.text == "".join(f"{name}: {text}" for name, text in alone.items())
    assert (ran.code, ran.err) == (0, "3 logs\n")


def test_failures_name_the_log_once(logs: Path) -> None:
    """Also where it was named by a way round, as `find .` does; the line of a record follows the name."""
    ran = ctxkit("status", "./missing.jsonl", "././gone.jsonl", "notes.txt", "a.jsonl")
    assert [line.partition(" ")[0] for line in ran.text.splitlines()] == [
        "./missing.jsonl:", "././gone.jsonl:", "notes.txt:1:", "a.jsonl:",
    ]  # fmt: skip
    assert ran.text.splitlines()[:2] == ["./missing.jsonl: no such log", "././gone.jsonl: no such log"]


def test_status_json(logs: Path) -> None:
    """The JSON of each, as alone, on a line, with the name of the log; a missing one is a line, too, in its place."""
    ran = ctxkit("status", "sub/c.jsonl", "none.jsonl", "a.jsonl", "--json")
    c, missing, a = ran.values
    assert {k: v for k, v in a.items() if k != "log"} == {
        k: v for k, v in ctxkit("status", "a.jsonl", "--json").values[0].items() if k != "log"
    }
    assert (c["log"], a["log"]) == ("sub/c.jsonl", "a.jsonl")
    assert missing["log"] == "none.jsonl"
    assert missing["error"]["reason"] == "no-such-log"
    assert ran.code == missing["error"]["code"] == 66
    assert ran.err == "3 logs, 1 failed\n"


@pytest.mark.one_in(5)
@pytest.mark.parametrize("words", [["status", "."], ["check", ".", "--json"], ["show", ".", "--tools"],
                                   ["export", ".", "--to", "openai"], ["status", ".", "--files"]])  # fmt: skip
def test_jobs_change_nothing(logs: Path, words: list[str]) -> None:
    """One process, two, and more than there are logs print the same, with a broken log among them."""
    one, *more = (ctxkit(*words, "--jobs", str(jobs)) for jobs in (1, 2, 9))
    assert one.out
    assert [(ran.code, ran.out, ran.err) for ran in more] == [(one.code, one.out, one.err)] * 2


def test_check(logs: Path) -> None:
    """How many problems, and of which kinds; with --json all findings of a log in one line; with -q nothing."""
    ran = ctxkit("check", ".")
    assert ran.text.splitlines() == [
        "a.jsonl: 11 messages, 0 ops: nothing found",
        "b.jsonl: 0 messages, 0 ops: 1 problem found: torn-tail",
        "sub/c.jsonl: 3 messages, 0 ops: nothing found",
    ]
    assert (ran.code, ran.err) == (1, "3 logs, 1 with exit 1\n")
    found = {one["log"]: one for one in ctxkit("check", ".", "--json").values}
    assert {name: one["problems"] for name, one in found.items()} == {"a.jsonl": 0, "b.jsonl": 1, "sub/c.jsonl": 0}
    assert found["b.jsonl"]["findings"][0]["code"] == "torn-tail"
    quiet = ctxkit("check", ".", "-q")
    assert (quiet.code, quiet.out, quiet.err) == (1, b"", "")


def test_show_tools(logs: Path) -> None:
    """How many calls, of which tools; without --tools `show` prints one log."""
    assert ctxkit("show", "a.jsonl", "sub", "--tools").text.splitlines() == [
        "a.jsonl: 2 calls: Read 1, Bash 1",
        "sub/c.jsonl: 0 calls",
    ]
    [found] = ctxkit("show", ".", "a.jsonl", "--tools", "--json").values[:1]
    assert (found["log"], found["calls"], found["tools"]["Read"]["calls"]) == ("a.jsonl", 2, 1)
    assert found["uses"] == ctxkit("show", "a.jsonl", "--tools", "--json").values
    assert [one["calls"] for one in ctxkit("show", "a.jsonl", "sub", "--tools", "--json").values] == [2, 0]
    ran = ctxkit("show", "a.jsonl", "sub/c.jsonl")
    assert (ran.code, ran.out) == (2, b"")
    assert "show prints one log" in ran.err


def test_one_log_is_as_before(logs: Path) -> None:
    """One log, also with numbers of its messages, is no list; a folder that is to be shown is refused as no log."""
    (logs / "3").write_bytes(SMALL)
    assert ctxkit("show", "a.jsonl", "3", "--oneline").text.count("\n") == 1
    ran = ctxkit("show", "sub")
    assert (ran.code, ran.err) == (66, "ctxkit: sub: not a log: it is a directory\n")


def test_export_lines(logs: Path) -> None:
    """Without -o a line each, with the request of the log as it is alone."""
    ran = ctxkit("export", "a.jsonl", "none.jsonl", "sub", "--to", "openai")
    first, missing, last = ran.values
    assert first == {"log": "a.jsonl", "request": ctxkit("export", "a.jsonl", "--to", "openai").values[0]}
    assert (missing["error"]["code"], last["log"], ran.code) == (66, "sub/c.jsonl", 66)


def test_export_files(logs: Path) -> None:
    """With -o a file each, in the place that the log has below its folder; nothing is overwritten."""
    (logs / "sub/a.jsonl").write_bytes(SMALL)
    ran = ctxkit("export", "a.jsonl", "sub/a.jsonl", "sub", "--to", "openai", "-o", "out", "--jobs", "2")
    assert ran.text.splitlines() == [
        "a.jsonl: 11 messages → out/a.json",
        "sub/a.jsonl: 11 messages → out/a-2.json",
        "sub/c.jsonl: 4 messages → out/c.json",
    ]
    assert (logs / "out/a-2.json").read_bytes() == ctxkit("export", "a.jsonl", "--to", "openai").out
    again = ctxkit("export", "a.jsonl", "--files-from", "-", "--to", "openai", "-o", "out", stdin=b"sub\n")
    assert (again.code, "exists already" in again.text) == (73, True)
    made = ctxkit("export", ".", "--to", "claude-code", "-o", "new", "--json")
    assert len(list((logs / "new").iterdir())) == sum("written" in one for one in made.values) > 2
    ran = ctxkit("export", ".", "--to", "claude-code")
    assert (ran.code, ran.out) == (2, b"")


def compacted(folder: Path, *words: str) -> Ran:
    """Compact all logs below the folder."""
    return ctxkit("compact", str(folder), "--target", "1%", "--keep-last", "0", "--force", *words)


def test_writers_preview(logs: Path) -> None:
    """Without --yes nothing is written, every log has the line of what would be done, and the exit status is 2."""
    (logs / "d.jsonl").write_bytes(SMALL)
    ran = ctxkit("forget", "a.jsonl", "d.jsonl", "--tool", "Read")
    assert ran.text.splitlines() == [f"{name}.jsonl: would be: Forgot 3-4 (2 messages)." for name in "ad"]
    assert ran.code == 2
    assert "nothing was changed in 2 logs" in ran.err
    assert "--yes" in ran.err
    assert (logs / "a.jsonl").read_bytes() == SMALL
    asked = ctxkit("forget", "a.jsonl", "d.jsonl", "--tool", "Read", stdin=b"n\n", terminal=True)
    assert (asked.code, (logs / "a.jsonl").read_bytes()) == (1, SMALL)
    agreed = ctxkit("forget", "a.jsonl", "d.jsonl", "--tool", "Read", stdin=b"y\n", terminal=True)
    assert agreed.code == 0
    assert (logs / "d.jsonl").read_bytes() != SMALL


@pytest.mark.full("many compactions")
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_compact_and_undo(logs: Path, jobs: str) -> None:
    """A compact of all, and an undo of it in all by its id: every context is as before, and no other op is undone."""
    good = [logs / "a.jsonl", logs / "d.jsonl"]
    good[1].write_bytes(SMALL)
    ctxkit("mark", good[1], "here")
    before = [ctxkit("show", path).out for path in good]
    ran = compacted(logs, "--yes", "--jobs", jobs)
    assert "a.jsonl: Context condensed (" in ran.text
    assert " → " in ran.text
    assert [ctxkit("show", path).out == out for path, out in zip(good, before, strict=True)] == [False, False]
    ops = [ctxkit("log", path, "--json").values[-1] for path in good]
    assert ops[0]["id"] == ops[1]["id"]
    assert ops[0]["by"]["args"] == [
        "compact", str(good[0]), "--target", "1%", "--keep-last", "0", "--force", "--yes",
    ]  # fmt: skip
    assert ran.err.startswith(f"op id {ops[0]['id']} in all logs: ")
    undone = ctxkit("undo", str(logs), ops[0]["id"], "--yes", "--jobs", jobs)
    assert undone.text.count("Undid op") == 2
    assert undone.code == 1  # in the broken one there is no such op
    assert [ctxkit("show", path).out for path in good] == before
    assert ctxkit("log", good[1]).text.count("mark") == 1


def test_a_retry_of_many(logs: Path) -> None:
    """The same call with the same --op-id appends nothing twice."""
    for _ in range(2):
        ran = ctxkit("forget", "a.jsonl", "sub", "--last", "1", "--yes", "--op-id", "abc123")
        assert ran.code == 0, ran.err
    assert len(ctxkit("log", "a.jsonl", "--json").values) == 1


def test_fail_rules_name_the_log(logs: Path) -> None:
    """--fail-over names each log that is over; with -q nothing else is printed."""
    ran = ctxkit("status", ".", "--fail-over", "100", "-q")
    assert (ran.code, ran.out) == (1, b"")
    assert [line.split()[1] for line in ran.err.splitlines()] == ["a.jsonl:"]


def test_lists(logs: Path) -> None:
    """--files-from takes lines, or NUL bytes, from a file or standard input; a name may hold a newline; each once."""
    odd = logs / "two\nlines.jsonl"
    odd.write_bytes(SMALL)
    by_nul = ctxkit("status", "--files-from", "-", "--json", stdin=os.fsencode(odd) + b"\0a.jsonl\0a.jsonl\0")
    assert [one["log"] for one in by_nul.values] == [str(odd), "a.jsonl"]
    (logs / "list").write_bytes(b"sub\na.jsonl\n\n")
    listed = ctxkit("status", "b.jsonl", "--files-from", "list", "--json")
    assert [one["log"] for one in listed.values] == ["b.jsonl", "sub/c.jsonl", "a.jsonl"]
    assert ctxkit("status", str(odd), "a.jsonl").text.startswith(f"{odd.parent}/two␊lines.jsonl: ")
    assert ctxkit("status", "--files-from", "nowhere").code == 66
    empty = ctxkit("check", "--files-from", "-", stdin=b"")
    assert (empty.code, empty.out) == (66, b"")
    os.symlink("a.jsonl", logs / "link.jsonl")
    assert ctxkit("status", "a.jsonl", "link.jsonl").err == "1 log\n"


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A folder of two ruined files, a session that was interrupted, a healthy `.jsonl` of another shape, a log, and a
    log whose file is of another shape now.
    """
    folder = tmp_path / "logs"
    (folder / "lost.jsonl.ctxkit").mkdir(parents=True)
    (folder / "nul.jsonl").write_bytes(bytes(5000))
    (folder / "page.jsonl").write_bytes(b"<html>\n<body>\n</html>\n")
    (folder / "stopped.jsonl").write_bytes(
        lines(message("user", "go", 1), message("assistant", "", 2, tool_calls=[call("A", "c1")]))
        + lines(message("user", "No, wait.", 3))
    )
    (folder / "rows.jsonl").write_bytes(b'{"a":1}\n{"a":2}\n')
    (folder / "lost.jsonl").write_bytes(b'{"a":1}\n')
    (folder / "a.jsonl").write_bytes(SMALL)
    (folder / "empty.jsonl").write_bytes(b"")
    (folder / "notes.md").write_text("<p>no log</p>")
    return folder


@pytest.mark.parametrize(
    "words",
    [
        "check DIR", "check DIR -q", "status DIR", "status DIR -q --fail-over 1m", "export DIR --to openai -o OUT",
        "compact DIR --target 50% --yes", "trim DIR --max-tokens 9k --yes", "show DIR --tools", "recall DIR wait",
        "sessions DIR",
    ],
)  # fmt: skip
def test_ruined(mixed: Path, words: str) -> None:
    """What is ruined, or has a sidecar and cannot be read, is a line and 65; looks print it and go on. A healthy file
    of another shape is counted; an interrupted call is no damage.
    """
    goes_on = words.startswith(("recall", "sessions"))
    ran = ctxkit(
        *(str(mixed.parent / word) if word == "OUT" else mixed if word == "DIR" else word for word in words.split())
    )
    assert ran.code == (0 if goes_on else 65), ran.err
    told = ran.text + ran.err
    for name, text in (
        ("nul", "it holds only NUL bytes: it is no log any more"),
        ("page", "it holds HTML or XML: it is no log any more"),
        ("lost", "its first record has the keys a"),
    )[: 2 if words.startswith("recall") else 3]:  # which opens no file that lacks the text
        assert sum(f"{name}.jsonl: " in line and text in line for line in told.splitlines()) == 1, (name, told)
    if goes_on:
        assert ctxkit(*(mixed if word == "DIR" else word for word in words.split())).err == ran.err, "by the index too"
    assert "rows.jsonl" not in told
    assert "notes.md" not in told
    assert ("1 file of JSON of another shape left out" in ran.err) == (not goes_on and "-q" not in words)


def test_scan_reads_what_is_no_log_as_text(mixed: Path) -> None:
    """Below a folder as by its name: a key in a ruined log is found; that it is ruined says `check`."""
    key = "ghp_" + "a1" * 18
    (mixed / "page.jsonl").write_text(f"<html>{key}</html>")
    (mixed / "rows.jsonl").write_text('{"step": 1, "loss": 0.5}\n')
    ran = ctxkit("scan", mixed, "-q")
    assert ran.code == ctxkit("scan", mixed / "page.jsonl", "-q").code == 1
    assert f"{mixed}/page.jsonl: line 1: ghp_…[36] (github-token)" in ctxkit("scan", mixed).text
    assert ctxkit("scan", mixed / "nul.jsonl").code == ctxkit("scan", mixed / "rows.jsonl").code == 0


@pytest.mark.parametrize("command", ["check", "scan", "status"])
@pytest.mark.parametrize(("text", "said"), [("", "1 empty file"), ('{"step": 1}\n', "1 file of JSON of another shape")])
def test_only_what_is_no_log(tmp_path: Path, command: str, text: str, said: str) -> None:
    """A folder with an empty file, or with healthy JSON of another shape, passes, as it does beside logs."""
    (tmp_path / "one.jsonl").write_text(text)
    ran = ctxkit(command, tmp_path)
    assert ran.code == 0 and (said in ran.err or (command == "scan" and "0 secrets found" in ran.text + ran.err))
    (tmp_path / "one.jsonl").rename(tmp_path / "one.txt")
    assert ctxkit(command, tmp_path).code == (0 if command == "scan" and text else 66)


def test_watch_of_ruined_files(mixed: Path) -> None:
    """A line each, in the words of the other commands, and the healthy ones are followed; alone they are an error."""
    names = ("nul", "page", "stopped", "a", "empty")
    ran = good("watch", "--once", *(mixed / f"{name}.jsonl" for name in names))
    assert [line.partition("Z ")[2].partition(": ")[0] for line in ran.text.splitlines()] == [
        str(mixed / f"{name}.jsonl") for name in names[2:]
    ]
    assert ran.err.splitlines() == [
        f"ctxkit: {mixed}/nul.jsonl: it holds only NUL bytes: it is no log any more",
        f"ctxkit: {mixed}/page.jsonl: it holds HTML or XML: it is no log any more",
    ]
    assert ctxkit("watch", "--once", mixed / "nul.jsonl", mixed / "page.jsonl").code == 65


@pytest.mark.parametrize("name", ["nul", "page", "lost", "stopped", "a"])
def test_a_log_and_its_folder_end_alike(mixed: Path, tmp_path: Path, name: str) -> None:
    """`check` judges a file as it judges the folder that holds it; with -q nothing is printed but errors."""
    folder = tmp_path / "one"
    folder.mkdir()
    for path in mixed.glob(f"{name}.jsonl*"):
        path.rename(folder / path.name)
    alone, below = (ctxkit("check", "-q", place) for place in (folder / f"{name}.jsonl", folder))
    assert (alone.code, alone.text, below.text) == (below.code, "", "")
    assert alone.code == (65 if name in ("nul", "page", "lost") else 0)
    assert (alone.code == 0) == (not alone.err) == (not below.err)


def test_notes_are_named(mixed: Path) -> None:
    """A line of check over a folder names the kinds of its notes as of its problems."""
    assert "stopped.jsonl: 3 messages, 0 ops: nothing found, 1 note: no-result" in ctxkit("check", mixed).text


def test_listed_names(tmp_path: Path) -> None:
    """A NUL byte in a list says that names end with one; a name that is no text is kept."""
    file = tmp_path / "list"
    for content, names in ((b"a\nb\n", ["a", "b"]), (b"a\nb\0c", ["a\nb", "c"]), (b"\xff\n", [os.fsdecode(b"\xff")])):
        file.write_bytes(content)
        assert listed_names(str(file)) == names


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check", ".", "--head", "1:x"], "--head is for one log"),
        (["check", ".", "--accept"], "--accept is for one log"),
        (["status", ".", "--plot"], "--plot and --svg draw one log"),
        (["forget", ".", "3"], "3 names messages of one log"),
        (["status", ".", "--sidecar", "x"], "--sidecar is for one log"),
        (["export", ".", "--to", "openai", "--status", "-"], "--status - can be read once"),
        (["compact", ".", "--summary-model", "openai/x"], "a model would be asked for each"),
        (["undo", ".", "3", "4"], "unexpected extra argument: 4"),
        (["status", "a.jsonl", ""], "the name of a log is empty"),
        (["status", ".", "--jobs", "0"], "it is at least 1"),
        (["status", ".", "--jobs", "-1"], "it is at least 1"),
    ],
)
def test_what_is_of_one_log(logs: Path, words: list[str], said: str) -> None:
    """Options that are of one log are refused before anything is done."""
    ran = ctxkit(*words)
    assert (ran.code, ran.out) == (2, b"")
    assert said in ran.err


def test_standard_input_is_no_one_of_many(logs: Path) -> None:
    """`-` among several is refused: its log could be read once."""
    ran = ctxkit("status", "-", "a.jsonl", stdin=SMALL)
    assert ran.code == 2
    assert "- is one log on standard input" in ran.err


WITHOUT_OVERRIDE = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all"]
"""Runs a command of root without the right to read everything."""


def test_unreadable(logs: Path) -> None:
    """A file and a folder that may not be read, and a log that may not be written, are lines; the others are done."""
    root = os.geteuid() == 0
    if root and shutil.which(WITHOUT_OVERRIDE[0]) is None:
        pytest.skip("root reads everything, and there is no setpriv")
    (logs / "d.jsonl").write_bytes(SMALL)
    (logs / "a.jsonl").chmod(0)
    (logs / "d.jsonl").chmod(0o444)
    (logs / "sub").chmod(0)
    try:
        call = [*(WITHOUT_OVERRIDE if root else ()), *PYTHON]
        for jobs in ("1", "2"):
            ran = subprocess.run([*call, "status", ".", "--jobs", jobs], capture_output=True, text=True, check=False)
            assert ran.returncode == 77, ran.stderr
            lines = ran.stdout.splitlines()
            assert [lines[0], lines[-1]] == ["a.jsonl: permission denied", "sub: permission denied"]
            assert len(lines) == 4
        words = ["forget", "d.jsonl", "sub", "--last", "1", "--yes"]
        ran = subprocess.run([*call, *words], capture_output=True, text=True, check=False)
        assert ran.returncode == 77
        assert "d.jsonl: permission denied: nothing was written" in ran.stdout
    finally:
        (logs / "sub").chmod(0o755)
    assert (logs / "d.jsonl").read_bytes() == SMALL


def test_what_is_no_file(logs: Path) -> None:
    """A pipe, a device, a link to nowhere: a line that says so, and nothing waits; in a folder pipes are left out."""
    os.mkfifo(logs / "pipe.jsonl")
    os.symlink("gone", logs / "link.jsonl")
    ran = ctxkit("status", "pipe.jsonl", "/dev/zero", "link.jsonl", "a.jsonl/x", "a.jsonl")
    found = [line.split(": ", 1)[1] for line in ran.text.splitlines()]
    assert found[:2] == ["not a log: it is a pipe", "not a log: it is a device"]
    assert [one.partition(":")[0] for one in found[2:4]] == ["no such log"] * 2
    assert (ran.code, len(found)) == (66, 5)
    assert "pipe" not in ctxkit("status", ".").text


def test_names_that_mean_something_else(logs: Path) -> None:
    """A file called `-` is not standard input, and one called `@` no session: in folders, lists, and for recall."""
    folder = logs / "odd"
    folder.mkdir()
    for name in ("-", "@", "-x.jsonl", " y .jsonl"):
        (folder / name).write_bytes(SMALL)
    os.chdir(folder)
    whole = [" y .jsonl", "./-", "-x.jsonl", "./@"]
    assert [one["log"] for one in ctxkit("status", ".", "--json", stdin=FOREIGN).values] == whole
    listed = ctxkit("status", "--files-from", "-", "--json", stdin=b"-\n@\n-x.jsonl\n")
    assert [(one["log"], "error" in one) for one in listed.values] == [(n, False) for n in ("./-", "./@", "-x.jsonl")]
    there = b'{"role":"user","content":"elsewhere"}\n'
    assert ctxkit("recall", ".", "elsewhere", stdin=there).code == 1
    hits = ctxkit("recall", ".", "--regex", ".", "--json", stdin=there).values
    assert list(dict.fromkeys(hit["log"] for hit in hits)) == [" y .jsonl", "-", "-x.jsonl", "@"]
    assert ctxkit("forget", ".", "--last", "1", "--yes", stdin=there).code == 0
    assert (folder / "-").read_bytes() != SMALL


def test_sidecars_are_no_logs(logs: Path) -> None:
    """`find` and patterns of the shell name files of sidecars too: they belong to their logs, and get no op."""
    assert ctxkit("mark", "sub/c.jsonl", "here").code == 0
    ops = "sub/c.jsonl.ctxkit/ops.jsonl"
    before = Path(ops).read_bytes()
    listed = f"a.jsonl\nsub/c.jsonl\n{ops}\n".encode()
    for command, words in (("status", []), ("check", []), ("recall", [".", "--regex"])):
        rows = ctxkit(command, "--files-from", "-", "--json", *words, stdin=listed).values
        assert list(dict.fromkeys(row["log"] for row in rows)) == ["a.jsonl", "sub/c.jsonl"], command
    assert len(ctxkit("sessions", "--files-from", "-", "--json", stdin=listed).values) == 2
    assert ctxkit("status", "sub/c.jsonl", "sub/c.jsonl.ctxkit", "a.jsonl").err == "2 logs\n"
    assert ctxkit("forget", "--files-from", "-", "--last", "1", "--yes", stdin=listed).code == 0
    assert Path(ops).read_bytes().startswith(before)
    assert Path(ops).read_bytes().count(b"\n") == before.count(b"\n") + 1
    assert ctxkit("status", ops, "--files-from", "-", stdin=ops.encode()).err == "1 log\n", "nothing else was meant"


def test_vanished(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is gone, or a folder now, when its turn comes: a line each, and the others as ever."""

    def listed(places: Sequence[str]) -> list[LogFile]:
        found = log_files(places)
        (logs / "a.jsonl").unlink()
        (logs / "b.jsonl").unlink()
        (logs / "b.jsonl").mkdir()
        return found

    monkeypatch.setattr("ctxkit.cli.many_logs.log_files", listed)
    ran = ctxkit("status", ".", "--json")
    assert [(one["log"], one.get("error", {}).get("code")) for one in ran.values] == [
        ("a.jsonl", 66), ("b.jsonl", 66), ("sub/c.jsonl", None),
    ]  # fmt: skip
    assert ran.code == 66


def test_locked(logs: Path) -> None:
    """A log that another program has locked is a line (75), after some seconds; the others are written."""
    (logs / "d.jsonl").write_bytes(SMALL)
    fd = os.open(logs / "a.jsonl", os.O_RDWR)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        ran = ctxkit("forget", "a.jsonl", "d.jsonl", "--last", "1", "--yes")
    finally:
        os.close(fd)
    assert ran.code == 75
    assert ran.text.startswith("a.jsonl: is locked by pid ")
    assert ((logs / "a.jsonl").read_bytes(), (logs / "d.jsonl").read_bytes() == SMALL) == (SMALL, False)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_killed_writer(tmp_path: Path, jobs: str) -> None:
    """It says its op id first; the same call with it does what is left, so that each log has one op; undo takes all."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for n in range(60):
        (folder / f"{n:02}.jsonl").write_bytes(SMALL)
    words = ["forget", str(folder), "--last", "1", "--yes", "--jobs", jobs]
    run = subprocess.Popen([*PYTHON, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    assert run.stdout is not None and run.stderr is not None
    said = run.stderr.readline().decode()
    id = said.split()[2]
    assert said.startswith(f"op id {id} in all logs: ")
    run.stdout.readline()
    os.killpg(run.pid, signal.SIGKILL)
    run.communicate(timeout=60)
    gone(run.pid)
    before = [path.read_bytes().count(b'"ctxkit"') for path in sorted(folder.glob("*.jsonl"))]
    assert set(before) == {0, 1}
    again = ctxkit(*words, "--op-id", id)
    assert (again.code, again.text.count("is there already")) == (0, sum(before))
    assert {path.read_bytes().count(b'"ctxkit"') for path in folder.glob("*.jsonl")} == {1}
    assert ctxkit("undo", str(folder), id, "--yes").text.count("Undid op 1") == 60


def test_nothing_to_do(logs: Path) -> None:
    """A preview in which no log would change ends with that (1), and asks nothing."""
    (logs / "b.jsonl").unlink()
    ran = ctxkit("undo", ".")
    assert (ran.code, ran.err) == (1, "2 logs, 2 with exit 1\n")
    assert ctxkit("undo", ".", stdin=b"y\n", terminal=True).code == 1


def test_hints_are_collected(logs: Path) -> None:
    """One for all logs is printed once, at the end; what an error lists is left out of its line."""
    ran = ctxkit("status", "a.jsonl", "sub", "--fail-at", "50")
    assert (ran.code, ran.err.count("hint: ")) == (78, 1)
    (logs / "two.jsonl").write_text('{"messages":[{"role":"user","content":"x"}]}\n' * 2)
    ran = ctxkit("status", "two.jsonl", "a.jsonl")
    assert ran.text.splitlines()[0] == "two.jsonl: holds 2 conversations and none is chosen"
    assert "hint: --conversation N, 1 to 2\n" in ran.err


def test_agents_logs_are_left_out(logs: Path) -> None:
    """As in `sessions`: the logs of a session's own agents are not listed beside it."""
    agents = logs / "s/subagents"
    agents.mkdir(parents=True)
    (logs / "s.jsonl").write_bytes(FOREIGN)
    (agents / "agent-x.jsonl").write_bytes(FOREIGN)
    assert [line.partition(": ")[0] for line in ctxkit("status", ".").text.splitlines()][-2:] == [
        "s.jsonl",
        "sub/c.jsonl",
    ]
    assert len(ctxkit("status", "s").text.splitlines()) == 1


def test_thirty_with_a_broken_one(tmp_path: Path) -> None:
    """Thirty logs, one of them no log at all: its line is in its place, and all others are as they are alone."""
    for n in range(30):
        (tmp_path / f"{n:02}.jsonl").write_bytes(b"\x00\x01 nothing" if n == 17 else SMALL)
    paths = [str(tmp_path / f"{n:02}.jsonl") for n in range(30)]
    ran = process("status", "--json", "--jobs", "2", *paths)
    assert [one["log"] for one in ran.values] == paths
    assert ["error" in one for one in ran.values] == [n == 17 for n in range(30)]
    assert ran.code == ran.values[17]["error"]["code"] == 65


def test_a_reader_that_leaves(tmp_path: Path) -> None:
    """`| head -1` ends the run without noise, and without processes that stay."""
    for n in range(40):
        (tmp_path / f"{n}.jsonl").write_bytes(SMALL * 20)
    run = subprocess.Popen(
        [*PYTHON, "export", str(tmp_path), "--to", "openai", "--jobs", "2"], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert run.stdout is not None and run.stderr is not None
    run.stdout.readline()
    run.stdout.close()
    assert run.wait(60) == 141
    assert b"Traceback" not in run.stderr.read()
    gone(run.pid)


def gone(group: int) -> None:
    """Wait until no process of the group is left."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    raise AssertionError("a process stayed")


@pytest.mark.parametrize("to_group", [True, False])
def test_interrupted(tmp_path: Path, to_group: bool) -> None:
    """Ctrl-C ends all processes, says so once, and the exit status is 130; what was printed are whole lines."""
    for n in range(400):
        (tmp_path / f"{n:03}.jsonl").write_bytes(SMALL * 40)
    run = subprocess.Popen(
        [*PYTHON, "export", str(tmp_path), "--to", "openai", "--jobs", "2"], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert run.stdout is not None and run.stderr is not None
    first = run.stdout.readline()
    (os.killpg if to_group else os.kill)(run.pid, signal.SIGINT)
    rest, err = run.communicate(timeout=60)
    assert (run.returncode, err) == (130, b"ctxkit: interrupted\n")
    assert len(rest.splitlines()) < 399
    assert [json.loads(line)["log"] for line in first.splitlines()] == [str(tmp_path / "000.jsonl")]
    gone(run.pid)


def test_processes() -> None:
    """As many as are asked for, at most one for each log; without --jobs one more for much to read alone."""
    assert [processes(jobs, 3, 0) for jobs in (None, 1, 2, 9)] == [1, 1, 2, 3]
    assert processes(None, 10, 1 << 40) >= 1


def test_events(logs: Path) -> None:
    """With --log-format json reports are lines of JSON, from other processes too."""
    for jobs in ("1", "2"):
        ran = ctxkit("status", "a.jsonl", "none.jsonl", "--jobs", jobs, "--log-format", "json")
        events = [json.loads(line) for line in ran.err.splitlines()]
        assert [(one["event"], one["reason"], one["code"]) for one in events] == [("warning", "no-such-log", 66)]
    ran = ctxkit("compact", "a.jsonl", "none.jsonl", "--yes", "--log-format", "json")
    assert json.loads(ran.err.splitlines()[-1])["event"] == "compaction"
