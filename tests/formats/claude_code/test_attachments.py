"""Attachments: what stands for a file, a hook or a reminder in the context."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.formats.claude_code.attachments import SENT, blocks, is_sent
from ctxkit.formats.claude_code.rows import ClaudeRow

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}}


def words(body: Any) -> list[str]:
    """The texts of an attachment, without the reminder around them."""
    found = [b["text"] for b in blocks({"attachment": body})]
    assert all(text.startswith("<system-reminder>\n") and text.endswith("\n</system-reminder>") for text in found)
    return [text.removeprefix("<system-reminder>\n").removesuffix("\n</system-reminder>") for text in found]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            {"type": "hook_success", "hookName": "SessionStart:startup", "content": "HI"},
            "SessionStart:startup hook success: HI",
        ),
        (
            {"type": "hook_additional_context", "hookEvent": "Stop", "hookName": "Stop", "content": ["A", "B"]},
            "Stop hook additional context: A\nB",
        ),
        ({"type": "nested_memory", "path": "/x/C.md", "content": {"content": "MEM"}}, "Contents of /x/C.md:\n\nMEM"),
        ({"type": "critical_system_reminder", "content": "CRIT"}, "CRIT"),
        ({"type": "queued_command", "prompt": "Q"}, "The user sent a new message while you were working:\nQ"),
        ({"type": "output_style", "style": "Terse"}, 'output_style: {"style": "Terse"}'),
        ({"type": "hook_success", "content": {"odd": 1}}, 'hook_success: {"content": {"odd": 1}}'),
        ({"type": ["odd"]}, "attachment: {}"),
        (7, "attachment: {}"),
    ],
)
def test_words_of_attachments(body: Any, said: str) -> None:
    """Common kinds read like Claude Code's own words; the others, and odd shapes, keep their kind and content."""
    assert words(body) == [said]


def test_long_content_is_carried_whole() -> None:
    """Nothing is capped."""
    text = "line\n" * 50_000
    body = {"type": "file", "content": {"type": "text", "file": {"filePath": "/x", "content": text}}}
    assert words(body)[0].endswith(text)


def test_a_picture_that_was_attached_as_a_file_stays() -> None:
    """Its row holds it in another shape, and no words."""
    body = {
        "type": "file",
        "filename": "/x/i.png",
        "content": {"type": "image", "file": {"base64": "AA", "type": "image/png"}},
    }
    [said, picture] = blocks({"attachment": body})
    assert "Called the Read tool on /x/i.png" in said["text"] and "AA" not in said["text"]
    assert picture == IMAGE


def test_a_picture_of_a_queued_prompt_stays() -> None:
    """Words and pictures that the user sent while the agent ran."""
    body = {"type": "queued_command", "prompt": [{"type": "text", "text": "look"}, IMAGE]}
    text, image = blocks({"attachment": body})
    assert "look" in text["text"] and "base64" not in text["text"]
    assert image is IMAGE


@pytest.mark.parametrize(
    "rendered",
    [["A", "B"], [{"type": "text", "text": "A"}, "B"], [{"role": "user", "content": ["A", "B"]}]],
    ids=["texts", "blocks", "a message"],
)
def test_rendered_rows_are_verbatim(rendered: Any) -> None:
    """A row that holds what was sent is sent as it is, whatever its attachment says (p117)."""
    row = {"rendered": rendered, "attachment": {"type": "date_change", "newDate": "x"}}
    assert [b["text"] for b in blocks(row)] == ["A", "B"]


def test_which_kinds_count() -> None:
    """The kinds that are sent; part of the numbering, so a change here must be meant."""
    assert len(SENT) == 22
    assert is_sent(ClaudeRow(attachment={"type": "file"}))
    assert not is_sent(ClaudeRow(attachment={"type": "todo_reminder"}))
