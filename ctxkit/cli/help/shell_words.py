"""Words of a bash command line: split and unquoted for completion, and candidates quoted for insertion.

Nothing is expanded or run: a `$` or a backquote is an ordinary character. zsh and fish split words and quote candidates
themselves.
"""

from __future__ import annotations

import re
from typing import NamedTuple

BREAKS = " \t\n\"'><=;|&(:"
"""Characters that end a word for the line editor of bash; the default of COMP_WORDBREAKS."""

LEADING_BREAKS = "@"
"""Characters that break a word and belong to the part after it: in bash an @ begins a host name."""

REDIRECTS = ("<", ">")

_PIECE = r"""\\.|'[^']*'|"(?:[^"\\]|\\.)*"|[^\s'"\\<>]"""
_WORD = re.compile(rf"(?:{_PIECE})+|[<>]", re.S)
_QUOTED = re.compile(r"""\\(.)|'([^']*)'|"((?:[^"\\]|\\.)*)\"""", re.S)
_SPECIAL = re.compile(r"[^\w@%+,./:=^~-]")
"""Characters that bash interprets outside quotes; no letter of any script is among them."""


class ShellWord(NamedTuple):
    """The word that is being typed: `text` without quotes.

    The line editor keeps its beginning, `typed` on the line and `kept` without quotes. `redirects`: whether it is the
    file of a redirection.
    """

    text: str
    typed: str
    kept: str
    redirects: bool


def split(line: str, breaks: str = BREAKS) -> tuple[list[str], ShellWord] | None:
    """Return the complete words of `line`, without quotes and redirections, and the word that it ends in; None inside
    quotes.
    """
    if _WORD.sub("", line).strip():  # a quote that is open
        return None
    found = list(_WORD.finditer(line))
    raw = found.pop()[0] if found and found[-1].end() == len(line) else ""
    before = [one[0] for one in found]
    redirects = raw in REDIRECTS or before[-1:] in (["<"], [">"])
    files = {at + 1 for at, word in enumerate(before) if word in REDIRECTS}
    words = [_unquoted(word) for at, word in enumerate(before) if word not in REDIRECTS and at not in files]
    raw = "" if raw in REDIRECTS else raw
    start = 0
    for piece in re.finditer(_PIECE, raw, re.S):
        if piece[0] in breaks:
            start = piece.start() if piece[0] in LEADING_BREAKS else piece.end()
    return words, ShellWord(_unquoted(raw), raw[:start], _unquoted(raw[:start]), redirects)


def _unquoted(raw: str) -> str:
    def inside(quoted: re.Match[str]) -> str:
        return quoted[1] or quoted[2] or re.sub(r'\\(["\\$`])', r"\1", quoted[3] or "")

    return _QUOTED.sub(inside, raw)


def insertion(value: str, word: ShellWord) -> str | None:
    """Return the text that bash inserts after what it keeps of `word`, so that the word becomes `value`; None if
    `value` does not begin with its text.
    """
    if not value.startswith(word.text):
        return None
    quoted = _SPECIAL.sub(r"\\\g<0>", value[len(word.kept) :])
    return "\\" + quoted if quoted.startswith("~") and not word.kept else quoted
