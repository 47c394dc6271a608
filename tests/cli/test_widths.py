"""Every human command on terminals of 20 to 200 columns: nothing that is laid out is wider, nothing is lost."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from ctxkit import Log
from ctxkit.cli.terminal.safe_text import cells
from tests.cli.hostile import plain
from tests.cli.runner import SMALL, ctxkit, good, lines, message
from tests.cli.screens import all_on_pty
from tests.effort import some

COLUMNS = (20, 40, 80, 200)

OPS = ["mark a", "forget 3-4", "protect 6", "window 8h", "rewind a", "undo", "window 2h --agent bob", "add more",
       "recall 3 --apply", "mark b"]  # fmt: skip

WRAPPED = [
    "log chat.jsonl", "log chat.jsonl --tokens", "why chat.jsonl 1- 10.", "check chat.jsonl", "window chat.jsonl",
    "window chat.jsonl --agent bob",
    "show chat.jsonl --explain", "help show", "--help", "show chat.jsonl --at 99",
    "rewind chat.jsonl none", "forget chat.jsonl 999", "undo chat.jsonl zz", "show chat.jsonl --agent nobody", "shwo",
    "show chat.jsonl --last x", "show missing.jsonl", "config chat.jsonl get limt", "window chat.jsonl soon",
    "diff chat.jsonl 1 now --stat", "mark chat.jsonl b", "undo chat.jsonl", "config chat.jsonl set limit many",
    "recall chat.jsonl nowhere-at-all", "export chat.jsonl --to opnai", "why chat.jsonl", "compact chat.jsonl",
    "compact chat.jsonl --target 9M", "snapshots chat.jsonl", "snapshots chat.jsonl nothing-so-called",
    "snapshots chat.jsonl --rm before --dry-run", "snapshots chat.jsonl --prune",
    "checkpoint chat.jsonl --also decision",
    "recover chat.jsonl --point step", "recover chat.jsonl --point nowhere",
    "restore chat.jsonl nothing-so-called", "restore chat.jsonl before --dry-run", "restore chat.jsonl",
]  # fmt: skip
"""Where a line is too long it goes on below: the same words at any width."""
FITTED = [
    "status chat.jsonl --context-limit 60", "status chat.jsonl", "config chat.jsonl",
    "diff chat.jsonl 1 now", "recall chat.jsonl question", "recall chat.jsonl other.jsonl -i a",
    "show chat.jsonl --oneline", "forget chat.jsonl --role user --yes", "recall chat.jsonl --about question",
]  # fmt: skip
"""Lists: a text may be cut, a figure or a state may not."""
SHORT = "status chat.jsonl --short --context-limit 60"
FIGURE = re.compile(r"\d[\d,.]*")


@pytest.fixture(scope="module")
def screens(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, str]]:
    """What a terminal of so many columns got of each call."""
    found = {}
    for columns, letter in zip(COLUMNS, "abcd", strict=True):
        folder = tmp_path_factory.mktemp(letter, numbered=False)  # its path has the same figures for all
        found[columns] = _made(folder, columns)
    return found


def _made(folder: Path, columns: int) -> dict[str, str]:
    path = folder / "chat.jsonl"
    path.write_bytes(SMALL + lines(message("user", "a question for bob", 70, agent="bob", thread="t1")) + b"broken\n")
    (folder / "other.jsonl").write_bytes(SMALL)
    for n, words in enumerate(OPS):
        name, *rest = words.split()
        good(name, path, *rest, *(["--op-id", f"op{n}"] if name != "add" else ["--ts", "2026-02-01T11:20:00Z"]))
    Log.open(path, clock=lambda: 1_769_950_000.0).snapshot("before", tags=["release", "a-long-tag-for-a-narrow-one"])
    calls = [*WRAPPED, *FITTED, SHORT]
    texts = all_on_pty([call.split() for call in calls], folder, columns, cwd=folder, PAGER="cat", HOME=str(folder))
    return {call: plain(text) for call, text in zip(calls, texts, strict=True)}


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("call", [*WRAPPED, *FITTED])
def test_nothing_is_wider(screens: dict[int, dict[str, str]], call: str, columns: int) -> None:
    """Than the terminal; but a path, an option or a time that alone is longer stays whole, as one copies it."""
    wide = [line for line in screens[columns][call].split("\n") if cells(line) > columns]
    assert [line for line in wide if " " in line.strip()] == []
    assert len(wide) <= 1


@pytest.mark.parametrize("columns", COLUMNS[:-1])
@pytest.mark.parametrize("call", WRAPPED)
def test_nothing_is_lost(screens: dict[int, dict[str, str]], call: str, columns: int) -> None:
    """The same words as at 200 columns."""
    assert _words(screens[columns][call]) == _words(screens[200][call]) != ""


def _words(text: str) -> str:
    """Without blanks, breaks, backslashes at the end of a command's line, and the times and digests of ops."""
    return re.sub(r"20\d\d-\d\d-\d\d\d\d:\d\d:\d\d([+-]\d\d:\d\d)?|[0-9a-f]{64}", "", re.sub(r"\s|\\", "", text))


@pytest.mark.parametrize("columns", COLUMNS[:-1])
@pytest.mark.parametrize("call", FITTED)
def test_no_figure_is_lost(screens: dict[int, dict[str, str]], call: str, columns: int) -> None:
    """Every number (of messages, ops, tokens) and every state of the list at 200 columns is there."""
    narrow, roomy = screens[columns][call], screens[200][call]
    assert sorted(FIGURE.findall(narrow)) == sorted(FIGURE.findall(roomy)) != []
    for state in ("in the context", "forgotten by op 2", "undone", "default", "over by", "gone", "came", "bytes/4"):
        assert _words(narrow).count(_words(state)) == _words(roomy).count(_words(state)), state


def test_short_status_is_one_line(screens: dict[int, dict[str, str]]) -> None:
    """The longest form that fits: damage is told at any width."""
    for columns in COLUMNS:
        [line] = screens[columns][SHORT].splitlines()
        assert cells(line) <= columns and "1" in line.split("·")[-1]


LONG = {
    "zalgo": "a" + "\u0301" * 1_000_000,
    "one line": "x" * 1_000_000,
    "words": "word " * 200_000,
    "wide": "深" * 500_000,
    "emoji": "\U0001f468\u200d\U0001f469" * 200_000,
}


ON_LONG = (
    "show LOG --oneline", "show LOG --explain", "status LOG", "why LOG 1-", "check LOG", "recall LOG -e a",
    "recall LOG -e 深", "forget LOG --role user --dry-run", "diff LOG LOG", "show LOG",
)  # fmt: skip


@pytest.mark.one_in(5)
@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_long_texts_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """A million marks on a letter, a line of a megabyte, wide characters: cut to the width, in bounded time."""
    monkeypatch.setenv("COLUMNS", "20")
    path = tmp_path / "log"
    path.write_bytes(lines(*(message(role, text, n) for n, role in enumerate(("user", "assistant")))))
    started = time.process_time()
    for call in some(ON_LONG, 3, [*LONG.values()].index(text)):
        words = [str(path) if word == "LOG" else word for word in call.split()]
        found = ctxkit(*words, screen=True, terminal=True)
        assert found.code in (0, 1), found.err[:200]
        if call not in ("show LOG", "forget LOG --role user --dry-run"):
            assert max(map(cells, plain(found.text).split("\n"))) <= 20, call
    assert time.process_time() - started < 60  # a guard against hanging
