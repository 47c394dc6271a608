"""The preview of forget and remember by criteria, and the question."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ctxkit.measure.count import Counting
from tests.cli.runner import SMALL, ctxkit, good, lines, message, ops, shown, small

PREVIEW = """Leaving the context:
        2     1  first question
        6     1  second question
       10     1  third question
3 of 11 messages, 24 tokens (estimate for unknown model, o200k_base × 1.25)
prompt cache: valid before message 2; the next request sends 111 tokens uncached
"""


def test_preview(tmp_path: Path) -> None:
    """A line per range with its start, then counts, tokens with the counter's name, and the cached prefix."""
    path = small(tmp_path)
    assert good("forget", path, "--role", "user", "--yes").said == PREVIEW + "Forgot 2,6,10 (3 messages).\n"


def test_ranges(tmp_path: Path) -> None:
    """Neighbours are one line."""
    path = small(tmp_path)
    err = good("forget", path, "--tool", "*", "--yes").err
    assert "      3-4     2  looking → Read" in err and "      7-8     2  running → Bash" in err


def test_remember_previews_what_leaves(tmp_path: Path) -> None:
    """Not what stays."""
    path = small(tmp_path)
    err = good("remember", path, "--last", "1x", "--yes").err
    assert "      2-9     8  first question" in err and "8 of 11 messages" in err


@pytest.mark.parametrize("words", [["--role", "user"], ["--last", "2"], ["2-3", "--invert"], ["--grep", "q"]])
@pytest.mark.parametrize("command", ["forget", "remember"])
def test_a_script_needs_yes(tmp_path: Path, command: str, words: list[str]) -> None:
    """Nobody can be asked: exit 2, nothing changed; the preview is there for the log of the script."""
    path = small(tmp_path)
    ran = ctxkit(command, path, *words)
    assert (ran.code, ran.out, path.read_bytes()) == (2, b"", SMALL)
    assert "Leaving the context:" in ran.err and ran.err.endswith("hint: use --yes\n")


@pytest.mark.parametrize("words", [["2"], ["2-5"], ["2", "5,9"]])
@pytest.mark.parametrize("terminal", [False, True])
def test_numbers_never_ask(tmp_path: Path, words: list[str], terminal: bool) -> None:
    """Who names a number has looked at it."""
    path = small(tmp_path)
    ran = ctxkit("forget", path, *words, terminal=terminal)
    assert ran.code == 0 and "[y/N]" not in ran.err and "Leaving" not in ran.err


@pytest.mark.parametrize("command", ["forget", "remember"])
def test_pipes_never_ask(command: str) -> None:
    """Also with criteria, also where stderr is a terminal."""
    ran = good(command, "-", "--role", "user", stdin=SMALL)
    assert ran.out.startswith(SMALL) and len(ran.out) > len(SMALL) and "[y/N]" not in ran.err


def test_dry_run_does_not_ask(tmp_path: Path) -> None:
    """It shows the preview and the op."""
    path = small(tmp_path)
    ran = good("forget", path, "--role", "user", "--dry-run")
    assert ran.err.startswith(PREVIEW) and ran.values[0]["ids"] == "2,6,10" and path.read_bytes() == SMALL


@pytest.mark.parametrize("columns", [20, 80])
def test_fits_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """Its lines do not wrap; many ranges are counted."""
    monkeypatch.setenv("COLUMNS", str(columns))
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines(*(message(("user", "assistant")[n % 2], "words " * 40, n) for n in range(60))))
    err = good("forget", path, "--role", "user", "--yes").err
    listed = [line for line in err.splitlines() if " words" in line]
    assert len(listed) == 20 and "… 10 more ranges" in err
    assert max(map(len, listed)) <= columns
    assert len(shown(path)) == 30


def test_the_preview_is_what_status_shows_less(tmp_path: Path) -> None:
    """With and without what a provider counted."""
    rows = [message(role, f"{role} {n} " * 50) for n in range(6) for role in ("user", "assistant")]
    counted = [*rows[:-1], rows[-1] | {"usage": {"prompt_tokens": 9000, "completion_tokens": 80}}]
    for n, some in enumerate((rows, counted)):
        path = tmp_path / f"{n}.jsonl"
        path.write_bytes(lines(*some))
        used = good("status", path, "--json").values[0]["tokens"]["used"]
        err = good("forget", path, "--role", "assistant", "--yes").err
        less = used - good("status", path, "--json").values[0]["tokens"]["used"]
        found = re.search(r"6 of 12 messages, ([\d,]+) tokens", err)
        assert found is not None and abs(int(found[1].replace(",", "")) - less) <= 1, err


def test_what_a_summary_tells_is_not_counted_as_context(tmp_path: Path) -> None:
    """A forget of a summary takes what it tells along: told beside, and no part of the messages and tokens that go."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines(*(message(("user", "assistant")[n % 2], f"words {n} " * 60, n) for n in range(8))))
    good("compact", path, "3-6", "--summary-file", "-", stdin=b"The cat sat.")
    used = good("status", path, "--json").values[0]["tokens"]["used"]
    err = good("forget", path, "--grep", "cat sat", "--yes").err
    less = used - good("status", path, "--json").values[0]["tokens"]["used"]
    assert f"\n1 of 5 messages, and 4 that are not shown, {less} tokens (" in err


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Whatever counts the tokens of a log, as soon as it is made."""
    made: list[object] = []
    real = Counting.__init__
    monkeypatch.setattr(Counting, "__init__", lambda self, *a, **k: [made.append(self), real(self, *a, **k)][-1])
    return made


UNSEEN = (
    ("forget", "--tool", "Read", "--yes"), ("forget", "--grep", "question", "--yes"), ("forget", "2"),
    ("remember", "--last", "1x", "--yes"), ("recall", "third", "--apply", "--yes"),
    ("protect", "--role", "user"), ("protect", "--role", "user", "--off"), ("clear",), ("mark",),
    ("rewind", "a"), ("undo",), ("window", "2h"), ("restore", "latest", "--replace", "--yes"), ("snapshot", "--light"),
)  # fmt: skip
"""What writes without a figure in it."""
OWN = {"id", "ts", "by", "prev", "sum", "op", "snapshot", "mark"}
"""Keys in which two ops that do the same differ."""


@pytest.mark.parametrize("flag", ["-q", "--json"])
@pytest.mark.parametrize("words", UNSEEN, ids=" ".join)
def test_nothing_is_counted_for_nobody(
    tmp_path: Path, counted: list[object], words: tuple[str, ...], flag: str
) -> None:
    """Where no preview is seen, none is made; the op is the same as with one."""
    written = []
    for told in ([flag], []):
        path = small(tmp_path, marks=["a"], name=f"{len(told)}.jsonl")
        for earlier in (("protect", "6"), ("snapshot", "-m", "kept"), ("forget", "10")):
            good(earlier[0], path, *earlier[1:], "-q")
        counted.clear()
        good(words[0], path, *words[1:], *told)
        assert not (told and counted), "tokens were counted"
        written.append([{key: one[key] for key in one.keys() - OWN} for one in ops(path)][3:])
    assert written[0] == written[1]
    assert counted or words[0] not in ("forget", "remember", "recall", "clear", "undo")


def test_nothing_is_counted_in_a_pipe(counted: list[object]) -> None:
    """It never asks, and shows none."""
    ran = good("forget", "-", "--tool", "Read", stdin=SMALL)
    assert "Leaving" not in ran.err and ran.out.startswith(SMALL) and not counted
