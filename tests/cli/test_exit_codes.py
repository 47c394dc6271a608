"""The table of exit codes: every command in every situation that concerns all of them.

Situations that take a real process (closed descriptors, permissions, signals) are transcripts in `errors/` and in
`terminal/test_streams.py`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxkit.cli.registry import COMMANDS
from ctxkit.errors import ExitCode
from tests.cli.runner import ctxkit
from tests.cli.test_errors import snapshot, world

LOGS = {
    "good": "chat.jsonl", "marked": "marked.jsonl", "foreign": "session.jsonl", "empty": "empty.jsonl",
    "missing": "no.jsonl", "folder": "logs", "text": "notes.txt", "other": "other.jsonl", "many": "many.json",
    "misfit": "misfit.jsonl", "damaged": "damaged.jsonl", "future": "future.jsonl", "config": "badly.jsonl",
    "fifo": "fifo", "dangling": "dangling.jsonl", "loop": "loop.jsonl", "unnamed": "",
}  # fmt: skip
"""Situation -> what is given as the log, of the files that `test_errors.world` makes."""

TABLE = """
                            good marked foreign empty missing folder text other many misfit damaged future config fifo dangling loop unnamed
show LOG                       0      0       0     0      66     66   65    65    2     65      65      0     78   66       66   66      66
status LOG --by agent          0      0       0     0      66     66   65    65    2     65      65      0     78   66       66   66      66
status LOG                     0      0       0     0      66     66   65    65    2      0       0      0     78   66       66   66      66
log LOG                        0      0       0     0      66     66   65    65    2     65      65      0     78   66       66   66      66
why LOG 2                      0      0       0     2      66     66   65    65    2     65      65      0     78   66       66   66      66
recall LOG a                   0      0       1     1      66      1   65    65    0     65      65      0     78   66       66   66      66
recall LOG 2 --apply           1      1       1     2      66     66   65    65    2     65      65      1     78   66       66   66      66
diff LOG                       0      0       0     0      66     66   65    65    2     65      65      0     78   66       66   66      66
cat LOG                        0      0       0     0      66     66   65    65    2      0       0      0     78   66       66   66      66
check LOG                      0      0       0     0      66     66   65    65    2      1       1      1      1   66       66   66      66
scan LOG                       0      0       0     0      66     66    0     0    0      0       0      0      0   66       66   66      66
recover LOG -o NEW             0      0       0     0      66     66   65    65    2      0       0      0     78   66       66   66      66
recover LOG                    0      0       1     0      66     66   65    65    2      1       1      0     78   66       66   66      66
recover LOG --yes              0      0       0     0      66     66   65    65    2     65      65      0     78   66       66   66      66
export LOG --to chat           0      0       0     1      66      2   65    65    2     65      65     65     78   66       66   66      66
resume LOG --to pi --cwd .     0      0       0     1      66     66   65    65    2     65      65     65     78   66       66   66      66
init LOG                      73     73      73    73       0     73   73    73   73     73      73     73     73   73        0   73      66
add LOG hi                     0      0      65     0      66     66   65    65    2      0       0      0     78   66       66   66      66
mark LOG x                     0      0       0     0      66     66   65    65    2     65      65      0     78   66       66   66      66
rewind LOG                     1      0       1     1      66     66   65    65    2     65      65      1     78   66       66   66      66
forget LOG 2                   0      0       0     2      66      2   65    65    2     65      65      0     78   66       66   66      66
remember LOG 2                 0      0       0     2      66     66   65    65    2     65      65      0     78   66       66   66      66
clear LOG                      0      0       0     0      66     66   65    65    2     65      65      0     78   66       66   66      66
protect LOG 2                  0      0       0     2      66     66   65    65    2     65      65      0     78   66       66   66      66
protect LOG 2 --off            0      0       0     2      66     66   65    65    2     65      65      0     78   66       66   66      66
compact LOG --force            0      0       0     0      66     66   65    65    2     65      65      0     78   66       66   66      66
trim LOG --max-tokens 1M       0      0       0     0      66     66   65    65    2     65      65      0     78   66       66   66      66
edit LOG --print               0      0       0     1      66     66   65    65    2     65      65      0     78   66       66   66      66
window LOG 8h                  0      0       0     0      66     66   65    65    2     65      65      0     78   66       66   66      66
undo LOG                       1      0       1     1      66     66   65    65    2     65      65      0     78   66       66   66      66
config LOG get now             0      0       0     0      66     66    0     0    0      0       0      0     78   66       66   66      66
snapshot LOG                   0      0       0     1      66     66   65    65    2     65      65      0     78   66       66   66      66
restore LOG latest             1      1       1     1      66     66   65    65    2      1       1      1     78   66       66   66      66
snapshot LOG --light           0      0       0     1      66     66   65    65    2     65      65      0     78   66       66   66      66
snapshots LOG                  0      0       0     0      66     66    0     0    0      0       0      0      0   66       66   66      66
tool call LOG -                0      0       0     0      66     66   65    65    2     65      65      0     78   66       66   66      66
watch LOG --once               0      0       0     0      66     66   65    65    2      0       0      0      0   66       66   66      66
undo LOG --redo                1      1       1     1      66     66   65    65    2      1       1      1     78   66       66   66      66
"""  # noqa: E501  # a table is read in columns
"""Rows: a call; columns: situations."""

HEAD, *ROWS = [line for line in TABLE.splitlines() if line]
CASES = [
    (row[:26].strip(), situation, int(code))
    for row in ROWS
    for situation, code in zip(HEAD.split(), row[26:].split(), strict=True)
]

NO_LOG = {"fleet", "help", "memory", "metrics", "sessions", "sql"}
"""Commands that take no log, or any number: to `sql` one that cannot be read is a row."""


@pytest.mark.covering("call", "situation", times=5)
@pytest.mark.parametrize(("call", "situation", "code"), CASES)
def test_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, situation: str, code: int) -> None:
    """The code, an error in words where it is one, nothing on stdout from 2 on, and no file changed but by a 0."""
    world(tmp_path)
    monkeypatch.chdir(tmp_path)
    before = snapshot(tmp_path)
    ran = ctxkit(*(LOGS[situation] if word == "LOG" else word for word in call.split()))
    assert ran.code == code, ran.said
    assert ran.code in set(ExitCode)
    if code > 1:
        assert ran.out == b"" and ran.said.splitlines()[-1].startswith(("ctxkit: ", "hint: "))
    if code:
        assert snapshot(tmp_path) == before


def test_every_command_has_its_row() -> None:
    """A new command cannot be forgotten."""
    assert {row.split()[0] for row in ROWS} | NO_LOG == set(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("words", [["--no-such-option"], ["LOG", "--conversation", "x"]])
def test_usage(name: str, words: list[str]) -> None:
    """An option that is not there, or cannot be read, is 2 for every command, and names --help."""
    ran = ctxkit(name, *words)
    assert (ran.code, ran.out) == (2, b"")
    assert f"{name} --help" in ran.err
