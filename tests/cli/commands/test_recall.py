"""recall: searching logs and folders, what is printed, and bringing messages back."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from ctxkit.cli import regex_timeout
from tests.cli.hostile import ALL, bad_characters
from tests.cli.runner import FOREIGN, PYTHON, SMALL, ctxkit, good, lines, message, ops, shown, small
from tests.cli.screens import on_pty
from tests.cli.test_agents import SESSION


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The small log, 6-8 forgotten."""
    path = small(tmp_path)
    good("forget", path, "6-8")
    return path


def test_hits(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By day and exchange, each with its state and the line; what was never counted is priced roughly."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    ran = good("recall", log, "question")
    assert ran.text.splitlines() == [
        "2026-02-01Z  3 hits",
        "  2 first question  1 hit",
        "    2  user  2026-02-01T10:01:00Z  in the context",
        "      first question",
        "  6 second question  1 hit",
        "    6  user  2026-02-01T10:05:00Z  forgotten by op 1",
        "      second question",
        "  10 third question  1 hit",
        "    10  user  2026-02-01T10:09:00Z  in the context",
        "      third question",
    ]
    read = f"to read: ctxkit show {log} 6-9\n"
    back = f"to bring back: ctxkit recall {log} 6 --apply (about 8 tokens); with its exchange 6-9 (about 48 tokens)\n"
    assert ran.err == f"3 hits in 3 exchanges, 1 day\n{read}{back}"
    good("recall", log, "6", "--apply")
    assert good("recall", log, "question").err == "3 hits in 3 exchanges, 1 day\n"


def test_the_best_hit_is_suggested(tmp_path: Path) -> None:
    """With --about, which knows how well they fit; their order stays that of the log."""
    texts = ["their server has a port open", "walks", "server port", "rain", "snow"]
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(*(message("user", text, n) for n, text in enumerate([*texts, "wind", "ice"], 1))))
    good("forget", path, "1-4")
    ran = good("recall", path, "--about", "what's the port of the server?")
    assert [one in ran.text for one in texts[:3]] == [True, False, True] and f"recall {path} 3 --apply" in ran.err


def test_numbers_without_apply(log: Path) -> None:
    """Numbers are a text to find; where it is nowhere, the hint says what may be meant."""
    ran = ctxkit("recall", log, "173-184")
    hint = f"hint: to bring messages back: add --apply; to read them: ctxkit show {log} 173-184\n"
    assert ran.code == 1 and ran.err.endswith(hint)


def test_a_folder_without_logs(tmp_path: Path) -> None:
    """It is said, with where sessions are."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("[core]\n")
    ctxkit("recall", tmp_path, "zebra")  # the index learns the files
    ran = ctxkit("recall", tmp_path, "zebra")
    assert ran.code == 1 and f"no logs below {tmp_path}\nhint: ctxkit recall @ @2 TEXT searches" in ran.err


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("question", [2, 6, 10]), ("Question", []), ("-i Question", [2, 6, 10]), ("--regex ^s.*n$", [6]),
        ("question --state out", [6]), ("question --state forgotten", [6]), ("question --state in", [2, 10]),
        ("question --limit 2", [2, 6]), ("question --last 1", [10]), ("question --until 2026-02-01T10:02:00Z", [2]),
        ("a.py", [3, 8]), ("a.py --tool Read", [3]), ("e --role tool", []), ("print --role tool", [4]),
        ("question --at 1", [2, 6, 10]), ("question --last 1 --invert", [2, 6]),
    ],
)  # fmt: skip
def test_what_is_found(log: Path, words: str, found: list[int]) -> None:
    """Literal unless it is said otherwise; criteria narrow the hits; exit 1 where none is left."""
    text, *options = words.split() if not words.startswith("-") else [words.split()[1], words.split()[0],
                                                                         *words.split()[2:]]  # fmt: skip
    ran = ctxkit("recall", log, text, *options, "--json")
    assert [value["n"] for value in ran.values] == found
    assert ran.code == (0 if found else 1)


def test_json(log: Path) -> None:
    """Stable keys."""
    [value] = good("recall", log, "second", "--json").values
    assert value == {
        "log": str(log), "conversation": None,
        "n": 6, "item": None, "role": "user", "ts": "2026-02-01T10:05:00Z", "day": "2026-02-01",
        "exchange": 6, "state": "forget", "op": 1, "words": "forgotten by op 1", "by": None,
        "excerpt": "second question", "matches": [[0, 6]], "part": "text", "line": 1, "lines": 1, "more": [],
    }  # fmt: skip


def test_standard_input(log: Path) -> None:
    """`-`, or nothing beside -e."""
    for words in (["-", "first"], ["-e", "first"], ["-", "-e", "first"]):
        assert [value["n"] for value in good("recall", *words, "--json", stdin=SMALL).values] == [2]


@pytest.mark.parametrize("words", [[], ["LOG"], ["LOG", ""], ["LOG", "x", "--yes"], ["LOG", "(", "--regex"],
                                   ["LOG", "x", "--state", "lost"], ["LOG", "x", "--since", "soon"]])  # fmt: skip
def test_usage(log: Path, words: list[str]) -> None:
    """What cannot be meant ends with 2, and nothing on stdout."""
    ran = ctxkit("recall", *(str(log) if word == "LOG" else word for word in words))
    assert (ran.code, ran.out) == (2, b""), ran.err


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Logs at several depths, and what is none."""
    root = tmp_path / "logs"
    (root / "b").mkdir(parents=True)
    (root / "a.jsonl").write_bytes(SMALL)
    (root / "b" / "session.jsonl").write_bytes(FOREIGN)
    (root / "b" / "damaged.jsonl").write_bytes(SMALL + b"broken\n")
    (root / "notes.txt").write_text("first question\n")
    (root / "other.jsonl").write_text('{"event":"first question"}\n')
    (root / "many.json").write_text(json.dumps([{"messages": [message("user", f"first {i}")]} for i in range(3)]))
    os.symlink(root, root / "b" / "loop")
    good("forget", root / "b" / "session.jsonl", "1")
    good("forget", root / "a.jsonl", "2")
    return root


def test_folders(folder: Path) -> None:
    """Every log below, in order; what is no log is passed over, damage is reported, sidecars are no logs."""
    ran = good("recall", folder, "first", "--json")
    names = [Path(value["log"]).relative_to(folder).as_posix() for value in ran.values]
    assert names == ["a.jsonl", "b/damaged.jsonl", *["many.json"] * 3]
    assert [value["conversation"] for value in ran.values] == [None, None, 1, 2, 3]
    assert ran.values[0]["words"] == "forgotten by op 1"
    assert "damaged.jsonl:12: not-json" in ran.err and "other.jsonl" not in ran.err and "notes" not in ran.err
    [value] = good("recall", folder, "hello", "--json").values
    assert value["words"] == "forgotten by op 1"


def test_several_logs_can_be_told_apart(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A title for each, and its name before every number."""
    monkeypatch.setenv("COLUMNS", "300")  # a path of any length
    text = good("recall", folder / "a.jsonl", folder / "b", "first").text
    assert f"{folder / 'a.jsonl'}\n2026-02-01Z  1 hit\n" in text
    assert "    a.jsonl:2  user" in text and "    damaged.jsonl:2  user" in text


def test_logs_of_a_folder(folder: Path) -> None:
    """Each hit names its log; logs without one are not named."""
    log = str(folder / "a.jsonl")
    assert [hit["log"] for hit in good("recall", log, "question", "--json").values] == [log] * 3
    hits = good("recall", folder, "question", "--json").values
    assert {hit["log"] for hit in hits} == {log, str(folder / "b/damaged.jsonl")}
    hits = good("recall", log, folder / "b/session.jsonl", "question", "--json").values
    assert [hit["log"] for hit in hits] == [log] * 3


def test_a_log_that_cannot_be_read(folder: Path) -> None:
    """Is reported, the others are searched; its code is the answer, with hits and without."""
    bad = folder / "none.jsonl"
    ran = ctxkit("recall", bad, folder / "a.jsonl", "first")
    assert ran.code == 66 and "none.jsonl: no such log" in ran.err and ran.out
    assert ctxkit("recall", bad, folder / "a.jsonl", "zebra").code == 66


def test_a_sentence_is_a_topic(tmp_path: Path) -> None:
    """A sentence that is nowhere as it stands is searched by its words, which is said; scripts' exact searches not."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(lines(message("user", "The database schema has three tables.", 1), message("user", "Thanks.", 2)))
    question = "what did we discuss about database schema?"
    ran = good("recall", path, question)
    assert "three tables" in ran.text and "Thanks" not in ran.text
    assert ran.err.startswith(f"{question!r} is nowhere as it stands: searched by its words, as with --about\n")
    for words in (["recall", path, question, "--regex"], ["recall", path, "zebras over mountains"]):
        assert ctxkit(*words).code == 1
    assert "--about" not in ctxkit("recall", path, "zebras over mountains").err.splitlines()[-1]


def test_nothing_found(log: Path) -> None:
    """Exit 1, and which log."""
    ran = ctxkit("recall", log, "zebra")
    assert (ran.code, ran.out) == (1, b"") and "'zebra' is nowhere in" in ran.err
    assert ran.err.endswith("hint: -i ignores case\n")
    hint = "hint: -i ignores case; --about 'TOPIC' finds messages by their words\n"
    assert ctxkit("recall", log, "zebra crossing").err.endswith(hint)
    assert "hint" not in ctxkit("recall", log, "-i", "zebra").err


@pytest.mark.one_in(3)
@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(.*a){25}$"])
def test_evil_patterns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str) -> None:
    """Too slow: exit 2 and which pattern, nothing changed."""
    monkeypatch.setattr(regex_timeout.RegexTimeout.__init__, "__defaults__", (0.2,))
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(message("user", "a" * 5000 + "!")))
    for more in ([], ["--apply", "--yes"]):
        ran = ctxkit("recall", path, pattern, "--regex", *more)
        assert (ran.code, ran.out) == (2, b"")
        assert f"--regex {pattern!r}: pattern too slow" in ran.err


def test_ends_with_its_reader(tmp_path: Path) -> None:
    """`| head -1`."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(*(message("user", f"question {i}", i) for i in range(800))))
    with subprocess.Popen([*PYTHON, "recall", str(path), "question"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as run:  # fmt: skip
        assert run.stdout is not None and run.stderr is not None
        assert run.stdout.readline() == b"2026-02-01Z  800 hits\n"
        run.stdout.close()
        assert run.wait(60) == 141
        assert run.stderr.read() == b""


@pytest.mark.parametrize("columns", [80, 20])
def test_on_a_terminal(tmp_path: Path, columns: int) -> None:
    """Nothing wider than it, nothing that acts on it; what was found is in colour, and in sight."""
    path = tmp_path / "chat.jsonl"
    text = "before " * 40 + "zebra " + ALL + " after" * 40
    path.write_bytes(lines(message("user", text, 1), message("assistant", "日本 zebra " * 9, 2, agent=ALL)))
    seen = on_pty(["recall", str(path), "zebra"], columns)
    assert seen.code == 0 and b"\x1b[1;31mzebra\x1b[0m" in seen.raw
    plain = seen.raw.decode().replace("\r\n", "\n")
    for code in ("1;31", "0", "1", "36", "32", "33"):
        plain = plain.replace(f"\x1b[{code}m", "")
    assert bad_characters(plain) == []
    from ctxkit.cli.terminal.safe_text import cells

    assert [line for line in plain.splitlines() if cells(line) > columns and "hits in" not in line] == []


def test_apply_by_number(log: Path) -> None:
    """They come back, steps whole, without a question."""
    ran = good("recall", log, "8", "--apply")
    assert ran.said == "also taken, since a call and its result stay together: 7\nRecalled 7-8 (2 messages).\n"
    assert 7 in shown(log) and 6 not in shown(log)
    assert ops(log)[-1]["ids"] == "7-8"
    ran = good("recall", log, "6", "2-4", "--apply")
    assert ran.said == "Recalled 6 (1 message).\n"


def test_apply_by_text(log: Path) -> None:
    """Previewed; a script says --yes; what is in the context already is left alone."""
    ran = ctxkit("recall", log, "question", "--apply")
    assert ran.code == 2 and "use --yes" in ran.err and len(ops(log)) == 1
    ran = good("recall", log, "question", "--apply", "--yes")
    assert "Coming back into the context:\n        6     1  second question\n" in ran.err
    assert ops(log)[-1]["ids"] == "6" and 6 in shown(log)
    assert ctxkit("recall", log, "question", "--apply", "--yes").code == 1


def test_apply_by_criteria(log: Path) -> None:
    """Criteria see all there is."""
    good("recall", log, "--apply", "--state", "forgotten", "--role", "tool", "--yes")
    assert ops(log)[-1]["ids"] == "7-8"


def test_numbers_and_text(log: Path) -> None:
    """A number is a number; -e makes it text."""
    assert "Recalled 6" in good("recall", log, "6", "--apply", "--dry-run").err
    assert ctxkit("recall", log, "-e", "6", "--apply", "--dry-run").code == 1
    assert good("recall", log, "6-8", "-e", "second", "--apply", "--yes", "--dry-run").values[0]["ids"] == "6"


def test_apply_across_a_boundary(log: Path) -> None:
    """Exit 1: which op it is, and what takes it back."""
    good("clear", log)
    ran = ctxkit("recall", log, "6", "--apply")
    assert ran.code == 1 and "left out by the clear (op 2)" in ran.err
    assert ran.err.endswith(f"hint: undo that first: ctxkit undo {log} 2\n")


def test_apply_and_the_window(log: Path) -> None:
    """A message keeps its time (replay 39)."""
    log.write_bytes(log.read_bytes() + lines(message("user", "late", 300)))
    good("window", log, "1h")
    ran = good("recall", log, "6", "--apply")
    assert f"the window hides 6, which keeps its time: use `ctxkit window {log} off` or --now TIME" in ran.err
    again = ctxkit("recall", log, "6", "--apply")
    assert (again.code, "no op keeps 6 out" in again.err, "the window hides 6" in again.err) == (1, True, True)
    assert "out of the context" in good("why", log, "6").text, "recall and why tell one story"


def test_a_question(log: Path) -> None:
    """On a terminal it is asked, and no is no."""
    seen = on_pty(["recall", str(log), "second", "--apply"], 80, b"n\n")
    assert seen.code == 1 and b"Bring these back? [y/N]" in seen.raw
    assert len(ops(log)) == 1
    assert on_pty(["recall", str(log), "second", "--apply"], 80, b"y\n").code == 0
    assert 6 in shown(log)


def test_a_session(tmp_path: Path) -> None:
    """Ops of a log that another program owns go beside it, and its words are found there."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(FOREIGN)
    good("forget", path, "1")
    good("recall", path, "hello", "--apply", "--yes")
    assert path.read_bytes() == FOREIGN
    assert shown(path) == [1, 2, 3]


def test_apply_looks_at_the_log_as_it_is(log: Path) -> None:
    """An op has one place, the end: --at is refused, not ignored."""
    ran = ctxkit("recall", log, "6", "--apply", "--at", "1")
    assert (ran.code, ran.out) == (2, b"") and "--at" in ran.err and len(ops(log)) == 1


def test_apply_in_a_sidechain(tmp_path: Path) -> None:
    """What was taken out of a sidechain comes back, and with --thread nothing needs to say where it is seen."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(SESSION)
    good("forget", path, "6")
    good("recall", path, "--apply", "--thread", "sidechain-1", "--state", "in,forgotten", "--yes", "--dry-run")
    ran = good("recall", path, "6", "--apply", "--thread", "sidechain-1", "--yes")
    assert "Recalled 6 (1 message)." in ran.err and "in a sidechain" not in ran.err
    assert shown(path, "--thread", "sidechain-1") == [3, 4, 5, 6]
