"""The table of what nobody typed: instructions, memory, summaries, outputs, notices; and what people type."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxkit.core.derive.synthetic_messages import SyntheticKind, begins, kind, may_be, stopped
from ctxkit.core.messages import Content, Image, Part, Result, Text

AGENTS = "# AGENTS.md instructions for /home/me/work\n\n<INSTRUCTIONS>\nUse tabs.\n</INSTRUCTIONS>"
WHERE = "<environment_context>\n  <cwd>/home/me</cwd>\n</environment_context>"
MEMORY = "<system-reminder>\nContents of /home/me/CLAUDE.md (project instructions):\n\nUse tabs.\n</system-reminder>"
TABLE: list[tuple[list[str], SyntheticKind | None]] = [
    ([AGENTS], SyntheticKind.INSTRUCTION),
    ([AGENTS, WHERE], SyntheticKind.INSTRUCTION),
    ([AGENTS + "\n\n" + WHERE], SyntheticKind.INSTRUCTION),
    (["# AGENTS.md instructions for /home/me\n\nUse tabs."], SyntheticKind.INSTRUCTION),
    (["\n<user_instructions>\nUse tabs.\n</user_instructions>\n"], SyntheticKind.INSTRUCTION),
    ([MEMORY], SyntheticKind.INSTRUCTION),
    (["<system-reminder>\nAs you answer the user's questions, you can use the following context:\n# claudeMd\n"
      "</system-reminder>"], SyntheticKind.INSTRUCTION),
    (["Instructions from: /home/me/AGENTS.md\nUse tabs."], SyntheticKind.INSTRUCTION),
    (["--- Context from: GEMINI.md ---\nUse tabs."], SyntheticKind.INSTRUCTION),
    (["This session is being continued from a previous conversation that ran out of context."], SyntheticKind.SUMMARY),
    (["<turn_aborted>\nThe user interrupted.\n</turn_aborted>"], SyntheticKind.NOTICE),
    ([WHERE, "<turn_aborted>\nx\n</turn_aborted>"], SyntheticKind.INSTRUCTION),
    (["<system-reminder>\nThe date has changed.\n</system-reminder>"], SyntheticKind.NOTICE),
    (["<returncode>0</returncode>\n<output>\nok\n</output>"], SyntheticKind.OBSERVATION),
    (["[Request interrupted by user for tool use]"], SyntheticKind.NOTICE),
    (["<system_notification>\nShell command done.\n</system_notification>"], SyntheticKind.NOTICE),
    (["<current_datetime>2026-06-24</current_datetime>\n\n<system_reminder>x</system_reminder>"], SyntheticKind.NOTICE),
    (["<ide_opened_file>The user opened a.py.</ide_opened_file>"], SyntheticKind.NOTICE),
    (["<ide_selection>a.py</ide_selection>"], SyntheticKind.NOTICE),
    (["<ide_selection>a.py</ide_selection>", "Mend it."], None),
    (["Mend the parser."], None),
    ([AGENTS, "Mend the parser."], None),
    ([AGENTS + "\n\nMend the parser."], None),
    ([MEMORY + "\nMend the parser."], None),
    (["<environment_context> is never closed here"], None),
    (["What does AGENTS.md say?"], None),
    (["# AGENTS.md\nwrite one, please"], None),
    (["Contents of the box: apples"], None),
    ([""], None),
    ([], None),
]  # fmt: skip


def message(texts: list[str], **row: Any) -> Content:
    return Content("user", [Text(text) for text in texts], rows=[row] if row else [])


@pytest.mark.parametrize(("texts", "expected"), TABLE, ids=lambda one: str(one)[:50])
def test_table(texts: list[str], expected: SyntheticKind | None) -> None:
    """All words of a message must be of the table: one that somebody typed to as well is what they typed."""
    assert kind(message(texts)) == expected


@pytest.mark.parametrize("texts", [texts for texts, expected in TABLE if expected is not None], ids=str)
def test_a_quick_no_is_right(texts: list[str]) -> None:
    """In every way that JSON writes them, no such record is passed over."""
    assert all(map(begins, texts[:1]))
    for record in ({"role": "user", "content": texts[0]}, {"content": [{"type": "text", "text": texts[0]}]}):
        for raw in (json.dumps(record), json.dumps(record, separators=(",", ":")), json.dumps(record, indent=1)):
            assert may_be(raw.encode()) and may_be(_escaped(raw))


def _escaped(raw: str) -> bytes:
    """As Go writes it."""
    return raw.replace("<", "\\u003c").replace(">", "\\u003E").encode()


def test_a_quick_no() -> None:
    """Ordinary words are not decoded for it."""
    assert not may_be(b'{"role":"user","content":"Mend the parser, please: a < b in <b>bold</b>"}')
    assert not begins("Mend the parser.")


@pytest.mark.parametrize(
    ("attachment", "expected"),
    [
        ("nested_memory", SyntheticKind.INSTRUCTION),
        ("task_reminder", SyntheticKind.NOTICE),
        ("edited_text_file", SyntheticKind.NOTICE),
    ],
)
def test_attachments(attachment: str, expected: SyntheticKind) -> None:
    """Claude Code's, by their kind, whatever their words."""
    assert kind(message(["x"], type="attachment", attachment={"type": attachment})) == expected
    assert may_be(json.dumps({"type": "attachment", "attachment": {"type": attachment}}).encode())


@pytest.mark.parametrize("part", [Image(url="https://example.com/a.png"), Result("c1", "ok")])
def test_pictures_and_results(part: Part) -> None:
    """A picture is somebody's, and a result is a result."""
    assert kind(Content("user", [Text(MEMORY), part])) is None


def test_letters_whose_lower_case_is_longer() -> None:
    """What follows stands where it stands, whatever is before it."""
    context = "<environment_context>İİ</environment_context>"
    assert kind(Content("user", [Text(context)])) is SyntheticKind.INSTRUCTION
    assert kind(Content("user", [Text(f"{context}ab")])) is None


@pytest.mark.full("a megabyte of notices")
def test_as_many_as_there_are() -> None:
    """Each is looked at once: were all that follows copied for each, this would not end."""
    assert kind(Content("user", [Text("<system-reminder>x</system-reminder>\n" * 200_000)])) is SyntheticKind.NOTICE


@pytest.mark.parametrize(
    ("words", "expected"),
    [("[Request interrupted by user]", True), ("\n[Request interrupted by user for tool use]", True),
     ("<turn_aborted>\nThe user did.\n</turn_aborted>", True), ("<bash-input>ls</bash-input>", False), ("hello", False),
     ("<turn_aborted>x</turn_aborted> go on", False)],
)  # fmt: skip
def test_stopped(words: str, expected: bool) -> None:
    """What agents note where their user stops a turn; words that somebody typed behind that are a question."""
    assert stopped(Content("user", [Text(words)])) == expected
