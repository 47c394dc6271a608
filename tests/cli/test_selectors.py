"""Selecting messages: the same flags mean the same in every command that takes them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from ctxkit.cli.options import Selecting
from ctxkit.cli.registry import COMMANDS
from ctxkit.core.item_names import Names
from tests.cli.runner import SMALL, ctxkit, good, lines, message, numbers, ops, shown, small

ALL = list(range(1, 14))
TABLE: list[tuple[str, list[int]]] = [
    # numbers
    ("3", [3]),
    ("3-5", [3, 4, 5]),
    ("10-", [10, 11, 12, 13]),
    ("3,5", [3, 5]),
    ("3,5-6 9", [3, 5, 6, 9]),
    ("5-5", [5]),
    # the newest
    ("--last 2", [12, 13]),
    ("--last 99", ALL),
    ("--last 1x", [12, 13]),
    ("--last 2x", [10, 11, 12, 13]),
    ("--last 1s", [13]),
    ("--last 4s", [7, 8, 9, 11, 13]),
    # what they are
    ("--role tool", [4, 8]),
    ("--role system", [1]),
    ("--tool Read", [3, 4]),
    ("--tool *", [3, 4, 7, 8]),
    ("--tool [RB]*", [3, 4, 7, 8]),
    ("--grep question", [2, 6, 10]),
    ("--grep ^first", [2]),
    ("--grep (?i)LAST", [11]),
    ("--grep Read", [3]),
    ("--grep a\\.py", [3, 8]),
    # when they came; the newest is of 12:11
    ("--since 1h", [12, 13]),
    ("--since 2026-02-01T10:09:00Z", [10, 11, 12, 13]),
    ("--since 2026-02-01T12:11:00+01:00", [12, 13]),
    ("--until 1h", list(range(1, 12))),
    ("--until 2026-02-01T10:02:00Z", [1, 2, 3]),
    ("--until 2h --since 130m", [2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
    # whose they are; without a name they are everybody's
    ("--agent frodo", list(range(1, 13))),
    ("--agent sam --since 1h", [13]),
    ("--thread t1", ALL),
    ("--agent frodo --thread t1", list(range(1, 13))),
    # marks: one after 5, two after 11
    ("--after-mark two", [12, 13]),
    ("--before-mark one", [1, 2, 3, 4, 5]),
    ("--after-mark one --before-mark two", [6, 7, 8, 9, 10, 11]),
    # what they are about: by their words, of which the stem counts
    ("--about questions", [2, 6, 10]),
    ("--about Third.QUESTION --top 1", [10]),
    ("--about question --role user --since 2026-02-01T10:05:00Z", [6, 10]),
    ("--about question --last 1", [10]),
    ("--about questions --invert", [n for n in ALL if n not in (2, 6, 10)]),
    # all of them must hold; then --last, then --invert
    ("--role user --grep question", [2, 6, 10]),
    ("--role user --grep third", [10]),
    ("2-6 --role assistant", [3, 5]),
    ("--role user --last 1", [12]),
    ("--role user --last 1x", [12]),
    ("--role tool --last 1s", [8]),
    ("--role user --last 1 --invert", [n for n in ALL if n != 12]),
    ("--role user --invert", [n for n in ALL if n not in (2, 6, 10, 12)]),
    ("--invert 2-6", [1, 7, 8, 9, 10, 11, 12, 13]),
]
STEPS = ({3, 4}, {7, 8})
NOTHING = [
    "--about zebra",
    "--role Tool",
    "--tool nope",
    "--grep zzz",
    "--since 2027-01-01",
    "--until 2h --since 1h",
    "1-13 --invert",
]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Thirteen messages, two of them two hours later and of agents; marks `one` after 5 and `two` after 11."""
    path = tmp_path / "chat.jsonl"
    records = SMALL.splitlines(keepends=True)
    path.write_bytes(b"".join(records[:5]))
    good("mark", path, "one")
    path.write_bytes(path.read_bytes() + b"".join(records[5:]))
    good("mark", path, "two")
    more = message("user", "extra", 130, agent="frodo"), message("assistant", "yes", 131, agent="sam", thread="t1")
    path.write_bytes(path.read_bytes() + lines(*more))
    return path


def closed(chosen: list[int]) -> set[int]:
    """With the whole of each step that is touched."""
    found = set(chosen)
    for step in STEPS:
        if step & found:
            found |= step
    return found


def show(log: Path, words: list[str], chosen: list[int]) -> None:
    """It prints these and no others."""
    assert numbers(good("show", log, "--json", *words)) == chosen


def explain(log: Path, words: list[str], chosen: list[int]) -> None:
    """These are said to be in the context; an agent or thread is a way to look, so the others are said to be out."""
    rows = [value for value in good("show", log, "--explain", "--json", *words).values if "n" in value]
    assert [value["n"] for value in rows if value["in_context"]] == chosen
    assert "--agent" in words or "--thread" in words or len(rows) == len(chosen)


def forget(log: Path, words: list[str], chosen: list[int]) -> None:
    """It takes them out with their steps, but not the system's."""
    gone = closed(chosen) - {1}
    ran = ctxkit("forget", log, *words, "--yes", "-q")
    assert (ran.code, set(shown(log))) == ((0, set(ALL) - gone) if gone else (1, set(ALL)))


def remember(log: Path, words: list[str], chosen: list[int]) -> None:
    """It leaves them and the system's."""
    ran = ctxkit("remember", log, *words, "--yes", "-q")
    assert ran.code == (1 if closed(chosen) | {1} == set(ALL) else 0)
    assert set(shown(log)) == closed(chosen) | {1}


def flagged(log: Path) -> set[int]:
    """What is protected."""
    return {value["n"] for value in good("show", log, "--json").values if value.get("protected")}


def protect(log: Path, words: list[str], chosen: list[int]) -> None:
    """It flags them."""
    good("protect", log, *words)
    assert flagged(log) == closed(chosen) | {1}


def unprotect(log: Path, words: list[str], chosen: list[int]) -> None:
    """It takes their flags away."""
    good("protect", log, "1-13")
    good("protect", log, *words, "--off", "--force")
    assert flagged(log) == set(ALL) - closed(chosen)


def recall(log: Path, words: list[str], chosen: list[int]) -> None:
    """It brings them back; criteria see what is out."""
    good("forget", log, "2-13")
    ran = ctxkit("recall", log, *words, "--apply", "--yes", "-q")
    assert (ran.code, set(shown(log))) == (1 if closed(chosen) <= {1} else 0, {1} | closed(chosen))


def search(log: Path, words: list[str], chosen: list[int]) -> None:
    """Criteria narrow its hits; words without a dash are logs to it."""
    plain = [word for before, word in zip(["", *words], words, strict=False) if not f"{before}{word}".startswith("--")]
    if not plain and words[0] != "--invert":
        hits = good("recall", log, "--json", "--regex", "-e", ".", *words).values
        assert [value["n"] for value in hits] == chosen


def compact(log: Path, words: list[str], chosen: list[int]) -> None:
    """It replaces those that may go, and no half of a step; fewer than three are not worth it."""
    may = {n for n in chosen if n > 2 and all(step <= set(chosen) for step in STEPS if n in step)}
    how = "--keep-last", "0", "--strategy", "truncate", "--target", "0%", "--dry-run"
    ran = ctxkit("compact", log, *how, "--json", *words)
    if ran.code:
        assert "would not be smaller" in ran.err and len(may) < 6
        return
    [found] = ran.values
    assert (found["op"] is None) == (len(may) < 3)
    assert found["op"] is None or set(Names.parse(found["op"]["ids"])) == may


def edit(log: Path, words: list[str], chosen: list[int]) -> None:
    """The draft holds them, whatever their state."""
    text = good("edit", log, "--print", *words).text
    assert [int(n) for n in re.findall(r"^#?%% (\d+) ", text, re.M)] == chosen


RUNS: dict[str, list[Callable[[Path, list[str], list[int]], None]]] = {
    "show": [show, explain], "forget": [forget], "remember": [remember], "protect": [protect, unprotect],
    "recall": [recall, search], "compact": [compact], "edit": [edit],
}  # fmt: skip
"""Every command that takes selectors, and what they come to in it."""


def test_every_command_with_selectors_is_here() -> None:
    """A new one is not forgotten."""
    bundles = {name: getattr(one.load(), "bundles", ()) for name, one in COMMANDS.items()}
    assert {name for name, taken in bundles.items() if Selecting in taken} == RUNS.keys()


@pytest.mark.covering("words", "run", times=2)
@pytest.mark.parametrize("run", [run for runs in RUNS.values() for run in runs])
@pytest.mark.parametrize(("words", "chosen"), TABLE)
def test_table(log: Path, words: str, chosen: list[int], run: Callable[[Path, list[str], list[int]], None]) -> None:
    """The same flags mean the same in each."""
    run(log, words.split(), chosen)


WHOLE = [
    ["show"], ["show", "--explain"], ["forget", "--yes"], ["remember", "--yes"], ["protect"], ["protect", "--off"],
    ["recall", "--apply", "--yes"],
]  # fmt: skip
"""The same commands with what else they need."""


@pytest.mark.parametrize("words", NOTHING)
@pytest.mark.parametrize("command", WHOLE)
def test_nothing_matches(log: Path, command: list[str], words: str) -> None:
    """An empty selection is a no, and nothing is appended."""
    before = log.read_bytes()
    ran = ctxkit(command[0], log, *words.split(), *command[1:])
    assert (ran.code, ran.out, log.read_bytes()) == (1, b"", before)
    assert "nothing matched" in ran.err or "no message is about" in ran.err


@pytest.mark.parametrize("words", ["0", "0-3", "14", "12-14", "1,99", "14-"])
@pytest.mark.parametrize("command", [*([one[0], *(w for w in one[1:] if w != "--yes")] for one in WHOLE), ["why"]])
def test_numbers_that_are_not_there(log: Path, command: list[str], words: str) -> None:
    """A number that the log does not have is an error of its own, in a range too; nothing on stdout."""
    ran = ctxkit(command[0], log, words, *command[1:])
    assert (ran.code, ran.out) == (2, b"")
    assert "there is no message" in ran.err and "messages 1-13" in ran.err


@pytest.mark.parametrize("words", ["x", "1-2-3", "-", "1.x", "..", "1;2", "٣", "1" * 40])
def test_words_that_are_no_numbers(log: Path, words: str) -> None:
    """Whatever else is typed is refused; digits of other scripts are no digits."""
    ran = ctxkit("forget", log, words)
    assert ran.code == 2 and "Traceback" not in ran.err


def test_items_of_an_op(tmp_path: Path) -> None:
    """`2.1` names what op 2 brought in, by its number or its id; `2.` is all of it."""
    path = small(tmp_path, marks=["a"])
    at = ops(path)[0]["at"]
    items = [{"message": {"role": "user", "content": "one"}}, {"message": {"role": "user", "content": "two"}}, {"n": 5}]
    path.write_bytes(path.read_bytes() + lines({"ctxkit": "edit", "v": 1, "id": "e1", "at": at, "items": items}))
    labels = [value.get("item", value.get("n")) for value in good("show", path, "--json").values]
    assert labels == ["2.1", "2.2", 5]
    for words in ("2.1", "e1.1"):
        assert [value["parts"][0]["text"] for value in good("show", path, words, "--json").values] == ["one"]
    assert len(good("show", path, "2.", "--json").values) == 2
    good("forget", path, "2.2")
    assert [value.get("item", value.get("n")) for value in good("show", path, "--json").values] == ["2.1", 5]
    assert ops(path)[-1]["ids"] == "e1.2"
    assert ctxkit("forget", path, "2.9").code == 2
