"""Decisions of a person: which sentences set a rule, and which are taken back."""

from __future__ import annotations

import pytest

from ctxkit.cut.units.text_segments import SegmentKind, TextSegment
from ctxkit.memory.decisions import NEWEST, decisions, is_rule
from tests.cut.summarize.test_state_header import model, user


def found(*said: TextSegment) -> list[tuple[object, str]]:
    return decisions(said, is_rule)


@pytest.mark.parametrize(
    "said",
    [
        "Never touch the lock file.", "- Don't touch the lock file", "Please do not rename it.",
        "Load it, but don't print the rows.", "Use Decimal, never float.", "You must keep the order.",
        "Mend it without renaming the table.", "Keep the order of rows.", "Bitte nicht umbenennen.",
        "Ändere die Datei, aber nicht den Test.", "Ne touchez pas au fichier.", "No toques el archivo.",
        "不要修改 这个 文件 。", "必ず テスト を 実行 する 。",
    ],
)  # fmt: skip
def test_a_rule(said: str) -> None:
    """At the start of a sentence, behind a mark, or behind a word of address; in several languages."""
    assert [name for name, _ in found(user(1, said), model(2, "Yes."), user(3, "Load it."))] == [1]


@pytest.mark.parametrize(
    "said",
    [
        "I don't know why it fails.", "It never worked on my machine.", "The parser does not keep the order.",
        "The rows are always empty here.", "| never | always | don't |", "Why don't you look at the log?",
        "This is the only problem left.", "The file is read-only for me.", "It fails without printing anything.",
        "Das geht hier nicht mehr.", "So we don't need the old reader any more.", "Should the parser always do it",
        "can we make the detail full page always, so that it opens",
        "also should the tool send the prompt",
        "But that's just for now, do you think that we must change it", "The easiest thing should be done first.",
        "I think we should also keep the lines there",
    ],
)  # fmt: skip
def test_no_rule(said: str) -> None:
    """Inside a sentence, in a question, and in a table."""
    assert found(user(1, said), model(2, "Yes."), user(3, "Load it.")) == []


@pytest.mark.parametrize(
    "said",
    [
        "The question is if it should have two colours.", "We must decide whether it should be blue.", "The doc must:",
        "The box takes a newline and only displays the first line.", "Let me try, then we should be good to go.",
    ],
)  # fmt: skip
def test_what_is_weighed(said: str) -> None:
    """Nor is a heading, or what is wrong, a rule."""
    assert found(user(1, said), model(2, "Yes."), user(3, "Print it.")) == []


@pytest.mark.parametrize(
    "said",
    [
        "When you commit, never use --no-verify.", "When the build fails, do not retry it.",
        "Where the file exists, never overwrite it.", "Do the migration, but never drop a table.",
        "I don't care about speed, but never drop a row.", "I don't need tests, never write any.",
        "Would you please never push to main.", "Can you please only use pnpm.",
    ],
)  # fmt: skip
def test_behind_what_is_weighed(said: str) -> None:
    """Behind a comma, or asked for politely."""
    assert found(user(1, said), model(2, "Yes."), user(3, "Load the rows now, all.")) == [(1, said)]


def test_what_is_taken_back() -> None:
    """The message before counts no more; a request that only begins alike takes nothing back."""
    said = [user(1, "Never touch the lock file."), model(2, "Yes.")]
    assert found(*said, user(3, "Scratch that, print it.")) == []
    assert len(found(*said, user(3, "Forget the last commit, mend it."))) == 1


def test_nothing_of_a_document() -> None:
    """Bullets of a plan, lines of a log, and questions that nobody answered."""
    said = [
        user(1, "Do this plan, and never push.\n\n# Plan\n- Never touch the lock.\n- Keep the order of rows."),
        user(2, "It prints this now:\n[API] Never seen this row.\n12:00:01 only one row"),
        TextSegment(3, SegmentKind.USER, '"Should it?"="(No answer provided)" "Must it?"="You decide"', "ask_user"),
        model(4, "Yes."),
        user(9, "Print them."),
    ]
    assert found(*said) == [(1, "Do this plan, and never push.")]


def test_the_newest() -> None:
    """So many are kept; one that is said again counts where it was said last."""
    said = [user(n, f"Never touch file number {n}.") for n in range(1, 9)]
    assert [name for name, _ in found(*said)] == [3, 4, 5, 6, 7, 8] and NEWEST == 6
    assert found(*said, user(9, "Never touch file number 5."))[-1] == (9, "Never touch file number 5.")
