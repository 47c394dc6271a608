"""Items by pattern."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.cut.units.identifiers import (
    AT_ONCE,
    KINDS,
    PATTERN,
    PLAIN,
    Identifier,
    IdentifierKind,
    commands,
    items,
    named,
)
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see /home/me/work/src/core/a.py now", {Identifier(IdentifierKind.PATH, "src/core/a.py")}),
        ("read/write of upload/refresh", set()),
        ("open main.rs, not e.g. this.", {Identifier(IdentifierKind.PATH, "main.rs")}),
        ("at https://example.org/a?b=1.", {Identifier(IdentifierKind.URL, "https://example.org/a?b=1")}),
        (
            "fixed in 4fc8f30 by #123 (ABC-12), v1.2.3",
            {
                Identifier(IdentifierKind.NUMBER, "4fc8f30"),
                Identifier(IdentifierKind.NUMBER, "#123"),
                Identifier(IdentifierKind.NUMBER, "ABC-12"),
                Identifier(IdentifierKind.NUMBER, "v1.2.3"),
            },
        ),
        (
            "KeyError, ENOENT and TS2345",
            {
                Identifier(IdentifierKind.ERROR, "KeyError"),
                Identifier(IdentifierKind.ERROR, "ENOENT"),
                Identifier(IdentifierKind.ERROR, "TS2345"),
            },
        ),
        (
            "set max_tokens, maxTokens, MaxTokens and MAX_TOKENS by --max-tokens",
            {
                Identifier(IdentifierKind.IDENTIFIER, one)
                for one in ("max_tokens", "maxTokens", "MaxTokens", "MAX_TOKENS", "--max-tokens")
            },
        ),
        ("plain words of 2026 say nothing, and 12345 neither", set()),
    ],
)
def test_items_of_a_text(text: str, found: set[Identifier]) -> None:
    assert set(named(text)) == found


_TRICKY = [
    "http://a.b", "https://x", "localhost:8080", "5:8080", "8080", "deadbee1", "deadbeef", "v1.2", "1.2.3",
    "#12", "AB-12", "TS2345", "ENOENT", "E", "KeyError", "Error", "--flag", "a.py", "src/a", "~/b", "../c",
    "snake_case", "camelCase", "TwoWords", "word", "Word", "CAPS", "é", "café", "_", "__x__", ".", ":", "/", "-",
    "@", "+", "&", "#", "~", "\\", "'", " ", "\n", "\t", "(", ")", "[", "]", "{", "}", ",", ";", "=", "<", ">",
    "|", "`", "*", "%", "^", "$", "!", "?", "0", "1", "a",
]  # fmt: skip


BEFORE_3_11_5 = re.compile(f"{PLAIN.removesuffix(f'{AT_ONCE})')}+)|{KINDS}")


@given(st.lists(st.sampled_from(_TRICKY) | st.characters(), max_size=14).map("".join))
def test_plain_words_that_are_skipped_have_no_item(text: str) -> None:
    """The search that looks at each letter finds the same; so does the pattern for Python before 3.11.5."""
    each = [(found[0], found.lastgroup, found.start()) for found in re.finditer(KINDS, text)]
    for pattern in (PATTERN, BEFORE_3_11_5):
        quick = [(found[0], found.lastgroup, found.start()) for found in pattern.finditer(text)]
        assert [found for found in quick if found[1]] == each


def test_commands_are_pieces_of_a_script_without_bare_looks_and_documents() -> None:
    script = "cd src && make test 2>&1 | tail -3\nls -la; cat <<'EOF' > a.txt\nrm -rf everything\nEOF\ngit status -s"
    assert list(commands(script)) == ["make test 2>&1", "git status -s"]


def test_only_a_shell_has_commands() -> None:
    shell = TextSegment(1, SegmentKind.INPUT, "make test", "Bash", "command")
    assert Identifier(IdentifierKind.COMMAND, "make test") in items(shell)
    assert items(shell._replace(tool="Write", key="content")) == set()
    assert items(shell._replace(key="description")) == set()


@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("tee a <<A <<B\nmake test\nB\nmake it\nA\nmake all", ["tee a <<A <<B", "make all"]),
        ("tee a <<-EOF\nmake test\n\tEOF\nmake all", ["tee a <<-EOF", "make all"]),
        ("tee a <<A\nmake it\nA\ntee b <<'A'\nmake all\nA", ["tee a <<A", "tee b <<'A'"]),
        ("tee a <<NEVER\nmake all", ["tee a <<NEVER", "make all"]),
    ],
)
def test_a_document_ends_where_its_word_stands_alone(script: str, found: list[str]) -> None:
    assert list(commands(script)) == found


@pytest.mark.parametrize("script", ["tee <<A\n" * 2000, "tee <<A\n" + "\n" * 2000])
def test_each_line_of_a_script_is_looked_at_once(monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    looks = 0

    def counted(*given: Any) -> int:
        nonlocal looks
        looks += 1
        return bisect_right(*given)

    monkeypatch.setattr("ctxkit.cut.units.identifiers.bisect_right", counted)
    assert list(commands(script))
    assert looks <= script.count("<<")
