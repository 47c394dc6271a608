"""The sandbox of the docs: a line shows the same in this process and by a shell, and leaves nothing in this process."""

from __future__ import annotations

import gc
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.docs.inline_calls import Call, call
from tests.docs.sandbox import make, run, short_folder


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ctxkit", Call({}, [], [])),
        ("ctxkit show a.jsonl 3-6,8 --grep 'a b|$c'", Call({}, ["show", "a.jsonl", "3-6,8", "--grep", "a b|$c"], [])),
        ('ctxkit sql . "select 1\n  from \'x\'"', Call({}, ["sql", ".", "select 1\n  from 'x'"], [])),
        (
            "A=1 B='c d' ctxkit check a 2>>e >f",
            Call({"A": "1", "B": "c d"}, ["check", "a"], [(2, ">>", "e"), (1, ">", "f")]),
        ),
        ("ctxkit check a > f 2>&1", Call({}, ["check", "a"], [(1, ">", "f"), (2, "", "")])),
        ("ctxkit mark x <chat.jsonl", Call({}, ["mark", "x"], [(0, "<", "chat.jsonl")])),
    ],
)  # fmt: skip
def test_calls(line: str, expected: Call) -> None:
    """Words, variables and redirections as a shell takes them."""
    assert call(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "echo ctxkit", "ctxkit show $LOG", 'ctxkit show "$LOG"', "ctxkit show *.jsonl", "ctxkit show ~/a",
        "ctxkit show a; b", "ctxkit show a | cat", "ctxkit show a && b", "ctxkit show `b`", "ctxkit show a\\ b",
        "ctxkit show {a,b}", "ctxkit show a # b", "ctxkit show a &", "ctxkit show 'a", "ctxkit show a\nctxkit show b",
        "ctxkit show a >&3", "ctxkit show a 3>f", "A=$(b) ctxkit show", "ctxkitten", "ctxkit resume @ --run",
        "ctxkit watch a",
    ],
)  # fmt: skip
def test_no_calls(line: str) -> None:
    """What only a shell understands, and what must not be run in this process."""
    assert call(line) is None


LINES = (
    "ctxkit status no.jsonl",
    "echo $?",
    "ctxkit check chat.jsonl",
    "echo $?",
    "false",
    "echo $?",
    "ctxkit forget chat.jsonl 99",
    "mkdir old && cd old",
    "ctxkit show ../chat.jsonl 1 --oneline",
    "cd ..",
    "export CTXKIT_LIMIT=4000",
    "ctxkit status chat.jsonl --short",
    "CTXKIT_LIMIT=5000 ctxkit status chat.jsonl --short",
    "unset CTXKIT_LIMIT",
    "ctxkit status chat.jsonl --short",
    "ctxkit mark chat.jsonl here",
    "ctxkit add chat.jsonl 'Now.'",
    "ctxkit resume session.jsonl --to codex --cwd . --force",
    "TZ=Asia/Tokyo ctxkit show chat.jsonl --since '2026-02-12 01:20:00' --until '2026-02-12 01:20' --oneline",
    "umask 077",
    "ctxkit export chat.jsonl --to openai >made.json",
    "stat -c %a made.json",
    "ctxkit show chat.jsonl 99 --oneline >both.txt 2>&1",
    "ctxkit check no.jsonl 2>>both.txt",
    "cat both.txt",
    "ctxkit show - 1-2 --oneline <chat.jsonl",
    "EDITOR=false ctxkit edit chat.jsonl",
    "ctxkit() { echo \"mine: $*\"; }",
    "ctxkit status chat.jsonl",
    "unset -f ctxkit",
    "ctxkit log chat.jsonl --json",
    "ctxkit",
)  # fmt: skip


def test_the_state_of_the_shell_is_kept() -> None:
    """Status, folder, variables, umask, functions, clock and ids: the same as where each line goes to the shell."""
    shown = []
    for by_shell in (False, True):
        with short_folder() as folder:
            shown.append(run(make(folder), LINES, by_shell=by_shell))
    assert shown[0] == shown[1]
    said = dict(zip(LINES, shown[0], strict=True))
    assert said["stat -c %a made.json"] == ("600\n", 0)
    assert said["ctxkit status chat.jsonl"] == ("mine: status chat.jsonl\n", 0)
    codes = [text for line, (text, _) in zip(LINES, shown[0], strict=True) if line == "echo $?"]
    assert codes == ["66\n", "0\n", "1\n"]
    assert "2026-02-12T15:15:00Z" in said["ctxkit log chat.jsonl --json"][0]


def test_nothing_is_left_in_this_process(tmp_path: Path) -> None:
    """Variables, folder, umask, streams, descriptors, clock and handlers are those of before."""

    def state() -> list[object]:
        gc.collect()  # else a file that an earlier test left open is closed in between
        umask = os.umask(0)
        os.umask(umask)
        return [
            dict(os.environ), os.getcwd(), umask, sys.stdin, sys.stdout, sys.stderr, [*sys.path], [*sys.argv],
            *(os.fstat(fd)[:3] for fd in range(3)), len(os.listdir("/dev/fd")),
            time.time, os.urandom, os.fsync, os.execv, time.localtime(0).tm_hour,
            *(signal.getsignal(number) for number in signal.valid_signals()),
        ]  # fmt: skip

    work = make(tmp_path)
    before = state()
    run(
        work,
        ["TZ=Asia/Tokyo EDITOR=true ctxkit edit chat.jsonl", "ctxkit show chat.jsonl --grep user", "ctxkit nothing"],
    )
    assert state() == before
