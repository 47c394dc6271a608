"""What a person typed, and what was pasted, by the kinds of pasted text."""

from __future__ import annotations

import pytest

from ctxkit.cut.units.pasted import typed

RULE = "We decided to never use Kafka in production."
PASTED = {
    "code": f"```\n{RULE}\n```", "code with a language": f"```md\nA page.\n\n{RULE}\n```",
    "code in tildes": f"~~~~\n```\n{RULE}\n~~~~", "code without an end": f"```text\n{RULE}",
    "code in a list": f"- ```\n  {RULE}\n  ```",
    "a quote": f"> {RULE}", "a quote of a quote": f">> {RULE}\n> Yes.", "a quoted line": f'"{RULE}"',
    "a quoted line of French": f"« {RULE} »",
    "a log": f"2026-03-01 10:00:00,123 INFO {RULE}", "a log of UTC": f"2026-03-01T10:00:00Z {RULE}",
    "a log of syslog": f"Mar  1 10:00:00 host app[7]: {RULE}", "a log with a level": f"[WARN] cache: {RULE}",
    "a log with times": f"10:00:00.123 {RULE}",
    "a traceback": f'Traceback (most recent call last):\n  File "a.py", line 3, in f\nValueError: {RULE}',
    "a compiler": f"src/a.c:12:3: {RULE}", "grep": f"docs/rules.md:7:{RULE}", "an error": f"error[E0308]: {RULE}",
    "a command with its output": f"$ cat rules.md\n{RULE}", "a prompt": f"ann@host:~/x$ cat rules\n{RULE}",
    "a diff": f"diff --git a/r.md b/r.md\n@@ -1 +1 @@\n-Use it.\n+{RULE}",
    "JSON": f'{{\n  "rule": "{RULE}"\n}}', "a comment": f"// {RULE}",
    "a tag": f"<document>\n{RULE}\n</document>", "a tag with more": f'<file path="a.md">\n\n{RULE}\n\n</file>',
    "a chat of roles": f"Human: What about queues?\nAssistant: {RULE}",
    "one turn": f"Look at this:\nUser: {RULE}", "turns of paragraphs": f"User: Hm.\n\n{RULE}\n\nAssistant: Good.",
    "turns in bold": f"**User:** Hm.\n**Assistant:** {RULE}",
    "a chat with times": f"[2026-03-01 10:00:00] Frodo: Hm.\n[2026-03-01 10:01:00] Sam: {RULE}",
    "a chat with short times": f"[10:32] Bob: Hm.\n[10:33 AM] Ann Lee: {RULE}",
    "a chat of Slack": f"Bob Ray  10:32 AM\n{RULE}\nAnn Lee  10:33 AM\nYes.",
    "a forwarded mail": f"-----Original Message-----\nFrom: Bob\n\nHello,\n\n{RULE}",
}  # fmt: skip
"""Kinds of pasted text, each with a sentence that is a rule and a choice."""
OWN = "Please always keep the older names instead of new ones."
TYPED = [
    RULE, f"1. {RULE}\n2. {OWN}", f"- {RULE}\n    - {OWN}", f"Note: {RULE}", f"Rules:\n{RULE}", f"# Rules\n\n{RULE}",
    f"User: {RULE}", f"[2026-03-01 10:00:00] Frodo: {RULE}", f"At 10:30 we met. {RULE}", f"`a.py`: {RULE}",
    f"Never say \"no\" to it. {RULE}", f"Use a < b. {RULE}", f"<b>{RULE}", f"In a.py:12 it fails. {RULE}",
    f"INFOs are noise. {RULE}", f"<instructions>\n{RULE}\n</instructions>", f"<document>\n{RULE}",
]  # fmt: skip
"""What a person types."""


@pytest.mark.parametrize("kind", PASTED)
def test_what_is_pasted(kind: str) -> None:
    """It goes, and what stands above and below it stays."""
    assert RULE not in typed(PASTED[kind])
    assert typed(f"{OWN}\n\n{PASTED[kind]}").startswith(OWN) and RULE not in typed(f"{OWN}\n\n{PASTED[kind]}")
    if kind not in ("code without an end", "a forwarded mail"):
        assert typed(f"{PASTED[kind]}\n\n{OWN}").endswith(OWN)


@pytest.mark.parametrize("text", TYPED)
def test_what_is_typed(text: str) -> None:
    """It stays as it is."""
    assert typed(text) == text
