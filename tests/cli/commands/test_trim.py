"""trim: the command, in files and pipes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from tests.cli.runner import SMALL, ctxkit, good, lines, ops, shown, small
from tests.cut.rank.test_episodes import GREEN, asks, edit, later, ran, says

FINISHED = lines(*asks("Begin."), *says("Yes."), *edit("a.py"), *ran(GREEN), *says("Done."), *later())
"""A session with a finished episode."""


def test_words(tmp_path: Path) -> None:
    """What it came to, by which counter, and what it costs; `why` has the reason; undo brings all back."""
    path = small(tmp_path)
    err = good("trim", path, "--max-tokens", "60").err
    assert "prompt cache: valid before message 3; " in err and "tokens uncached" in err
    assert "Trimmed (143 → " in err and "estimate for unknown model" in err
    assert ops(path)[-1]["budget"] == 60 and 3 not in shown(path)
    assert "too large for the remaining room" in good("why", path, "3").text
    good("undo", path)
    assert len(shown(path)) == 11


def test_the_op_says_what_was_counted(tmp_path: Path) -> None:
    """Tokens before and after by one counter, as it was said; the same in a pipe. Its undo counts nothing."""
    path = small(tmp_path)
    err = good("trim", path, "--max-tokens", "60").err
    op = ops(path)[-1]
    before, after = op["before"], op["after"]
    assert before["messages"] == 11 and after["messages"] == len(shown(path))
    assert f"Trimmed ({before['tokens']} → {after['tokens']} tokens, {op['counter']})" in err
    assert before["tokens"] > 60 >= after["tokens"]
    assert before["counter"] == after["counter"] == op["counter"]
    piped = good("trim", "-", "--max-tokens", "60", stdin=SMALL).out.splitlines()[-1]
    assert {key: json.loads(piped)[key] for key in ("before", "after")} == {"before": before, "after": after}
    good("undo", path)
    assert ops(path)[-1]["after"] == {"messages": 11} and ops(path)[-1]["before"] == {"messages": after["messages"]}


def test_percent_of_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `compact --target` takes it: of the limit, in the op as tokens; the same for a look. No limit: exit 78."""
    path = small(tmp_path)
    ran = ctxkit("trim", path, "--max-tokens", "30%")
    assert ran.code == 78 and "no limit is known" in ran.err
    monkeypatch.setenv("CTXKIT_LIMIT", "200")
    looked = good("show", path, "--max-tokens", "30%", "--oneline").err
    assert "to fit 60 (--max-tokens)" in looked
    assert "to fit 60 (--max-tokens)" in good("export", path, "--to", "openai", "--max-tokens", "30 %").err
    good("trim", path, "--max-tokens", "30%")
    assert ops(path)[-1]["budget"] == 60 >= ops(path)[-1]["after"]["tokens"]
    ran = ctxkit("trim", path, "--max-tokens", "130%")
    assert ran.code == 2 and "'130%' is not a number of tokens" in ran.err and "30% (of the limit)" in ran.err


def test_for_another_model(tmp_path: Path) -> None:
    """--model: its limit is the budget, and its tokens count."""
    path = small(tmp_path)
    assert ctxkit("trim", path).code == 78
    assert "fits" in good("trim", path, "--model", "gpt-4o").err
    good("trim", path, "--model", "gpt-4o", "--max-tokens", "60")
    assert "gpt-4o" in ops(path)[-1]["counter"] or "o200k_base" in ops(path)[-1]["counter"]


def test_a_summary_that_is_dropped_is_named(tmp_path: Path) -> None:
    """With what it told, and how it comes back; the op's reason and `why` say the same."""
    path = small(tmp_path)
    good("compact", path, "3-8", "--summary-file", "-", stdin=b"The cart is fixed. " * 9)
    err = good("trim", path, "--max-tokens", "32").err
    assert f"dropped: the summary 1.1 of 3-8; `ctxkit recall {path} 1.1 --apply` brings it back" in err, err
    [reason] = [text for name, text in ops(path)[-1]["reasons"].items() if not name.isdigit()]
    assert reason.startswith("a summary of 3-8, ")
    assert f"trimmed by op 2 ({ops(path)[-1]['ts']}): {reason}" in good("why", path, "1.1").text
    assert "summarized in 1.1, trimmed by op 2" in good("why", path, "4").text
    good("recall", path, "1.1", "--apply")
    assert "summarized in 1.1\n" in good("why", path, "4").text


def test_what_a_window_hides_counts(tmp_path: Path) -> None:
    """`before` and `after` are of the state before windows (replay 52), whatever the budget was for."""
    path = small(tmp_path)
    whole = ops_after(path, "trim", "--max-tokens", "100")[-1]["before"]["tokens"]
    path = small(tmp_path, name="windowed.jsonl")
    good("window", path, "1h")
    good("add", path, "--role", "user", "--ts", "2026-02-01T11:05:00Z", "x")
    op = ops_after(path, "trim", "--max-tokens", "60")[-1]
    assert op["before"]["messages"] == 12 and op["before"]["tokens"] > whole
    assert op["before"]["tokens"] - op["after"]["tokens"] < whole - 60


def test_what_slides_in_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `window.messages` older messages come in for what leaves; the op counts what is left of the whole state."""
    path = small(tmp_path)
    monkeypatch.setenv("CTXKIT_WINDOW_MESSAGES", "8")
    ran = good("trim", path, "--max-tokens", "70", "--clear-at-least", "0.05k")
    monkeypatch.delenv("CTXKIT_WINDOW_MESSAGES")
    op = ops(path)[-1]
    status = Log.open(path, env={}).status()
    assert (op["after"]["tokens"], op["after"]["messages"]) == (status.tokens.used, status.inside), ran.err


def ops_after(path: Path, *words: str) -> list[dict[str, Any]]:
    good(words[0], path, *words[1:])
    return ops(path)


def test_fits(tmp_path: Path) -> None:
    """Exit 0, nothing appended."""
    path = small(tmp_path)
    assert "it fits, nothing was changed" in good("trim", path, "--max-tokens", "10k").err
    assert path.read_bytes() == SMALL


def test_cannot_fit() -> None:
    """Exit 1; in a pipe nothing comes out."""
    ran = ctxkit("trim", "-", "--max-tokens", "5", stdin=SMALL)
    assert ran.code == 1 and ran.out == b"" and "do not fit into 5" in ran.err and "hint:" in ran.err


def test_pipe_and_file_agree(tmp_path: Path) -> None:
    """The same op, behind the same bytes."""
    path = small(tmp_path)
    good("trim", path, "--max-tokens", "60")
    piped = good("trim", "-", "--max-tokens", "60", stdin=SMALL).out
    assert piped.startswith(SMALL)
    keep = ("ids", "stubs", "reasons", "budget", "counter")
    other = tmp_path / "other.jsonl"
    other.write_bytes(piped)
    first, second = ({key: ops(one)[-1].get(key) for key in keep} for one in (path, other))
    assert first == second


def test_a_limit_is_needed(tmp_path: Path) -> None:
    """Of the config, the model, or the flag: 78 with the flag to give."""
    ran = ctxkit("trim", small(tmp_path))
    assert ran.code == 78 and "--max-tokens N" in ran.err


def test_overflow(tmp_path: Path) -> None:
    """A provider's words, from a file or standard input; others are refused."""
    path, told = small(tmp_path), tmp_path / "error.txt"
    told.write_text("prompt is too long: 9000 tokens > 8000 maximum")
    assert "9,00" in good("trim", path, "--overflow", told, "--dry-run").err
    ran = ctxkit("trim", path, "--overflow", "-", stdin=b"it rains")
    assert ran.code == 65 and "not a provider's error about" in ran.err
    assert ctxkit("trim", "-", "--overflow", "-", stdin=SMALL).code == 2


@pytest.mark.parametrize("command", [["show"], ["export", "--to", "chat"]])
def test_a_look_that_fits(tmp_path: Path, command: list[str]) -> None:
    """`--max-tokens` on what looks: nothing is appended; what cannot fit prints nothing."""
    path = small(tmp_path)
    whole, less = (good(*command, path, *words).out for words in ([], ["--max-tokens", "60"]))
    assert 0 < len(less) < len(whole) and path.read_bytes() == SMALL
    ran = ctxkit(*command, path, "--max-tokens", "5")
    assert ran.code == 1 and ran.out == b""


@pytest.mark.parametrize("command", [["trim"], ["show"], ["export", "--to", "openai"]])
def test_what_is_sent_besides_has_its_room(tmp_path: Path, command: list[str]) -> None:
    """Tools, overhead and assembled texts are of the budget; where they are larger than it, nothing fits."""
    path = small(tmp_path)
    (tmp_path / "ctxkit.toml").write_text('[assembly]\nsystem = "' + "word " * 100 + '"\n')
    ran = ctxkit(*command, path, "--max-tokens", "160", "--overhead", "60")
    assert ran.code == 1 and ran.out == b"" and "sent besides messages" in ran.err
    good(*command, path, "--max-tokens", "160", "--overhead", "60", "--no-assembly")
    good(*command, path, "--max-tokens", "160") if command != ["trim"] else None


def test_status_agrees(tmp_path: Path) -> None:
    """Right after a trim, status says that it fits, with all that stands around."""
    path = small(tmp_path)
    (tmp_path / "ctxkit.toml").write_text('overhead = 20\n[assembly]\nsystem = "' + "word " * 10 + '"\n')
    good("trim", path, "--max-tokens", "100")
    [found] = good("status", path, "--json").values
    assert 0 < found["tokens"]["used"] <= 100 and found["tokens"]["beside"]["assembled"] > 10


def test_strategy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By flag and by config the same; `oldest` is the default; another word is refused and nothing is appended."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(FINISHED)
    budget = Log.open(path).status().tokens.used - 30
    finished = "finished, its effect is in the files"
    good("trim", path, "--max-tokens", budget, "--strategy", "episodes")
    by_flag = ops(path)[-1]["reasons"]
    assert finished in by_flag.values() and finished in good("why", path, next(iter(by_flag))).text
    good("undo", path)
    good("trim", path, "--max-tokens", budget)
    assert finished not in ops(path)[-1]["reasons"].values()
    good("undo", path)
    wrong = ctxkit("trim", path, "--max-tokens", budget, "--strategy", "newest")
    assert wrong.code == 2 and "'newest' is not a strategy of trim" in wrong.err and "undo" in ops(path)[-1]["ctxkit"]
    monkeypatch.setenv("CTXKIT_TRIM_STRATEGY", "episodes")
    good("trim", path, "--max-tokens", budget)
    assert ops(path)[-1]["reasons"] == by_flag
