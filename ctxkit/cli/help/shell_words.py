"""A line as bash shows it to its completion, and back: its words without quotes, and candidates quoted to fit behind.

Nothing is ever expanded or run: a `$` or a backquote is a character like others. zsh and fish take words apart, and
quote candidates, themselves.
"""

from __future__ import annotations

import re
from typing import NamedTuple

BREAKS = " \t\n\"'><=;|&(:"
"""What ends a word for bash's line editor, unless COMP_WORDBREAKS says otherwise."""

STAYS = "@"
"""What breaks a word, and is a part of the word behind it: bash has it begin names of hosts."""

_SPECIAL = re.compile(r"[^\w@%+,./:=^~-]")
"""What bash would act on outside of quotes; letters of all scripts are none of it."""


class ShellWord(NamedTuple):
    """The word that is being typed. `start`: how much of `raw` the line editor keeps, which stands for `kept`.

    `text` is the word without quotes, `quote` the one that is open at its end, `redirects`: it names a file after `<`.
    """

    raw: str
    text: str
    start: int
    kept: str
    quote: str
    redirects: bool


def split(line: str, breaks: str = BREAKS) -> tuple[list[str], ShellWord]:
    """The whole words of `line`, without quotes and redirections, and the piece of a word that it ends in."""
    words: list[str] = []
    i, redirects = 0, False
    while True:
        while i < len(line) and line[i] in " \t\n":
            i += 1
        if i < len(line) and line[i] in "<>":
            i += 1
            redirects = True
            continue
        i, piece = _word(line, i, breaks, redirects=redirects)
        if i == len(line):
            return words, piece
        if not redirects:
            words.append(piece.text)
        redirects = False


def _word(line: str, i: int, breaks: str, *, redirects: bool) -> tuple[int, ShellWord]:
    """The word that begins at `i`, and where it ends."""
    begin, text, quote = i, "", ""
    start, kept = 0, ""
    while i < len(line):
        c = line[i]
        if quote:
            escapes = c == "\\" and quote == '"' and line[i + 1 : i + 2] in ('"', "\\", "$", "`")
            if escapes:
                i += 1
                text += line[i]
            elif c == quote:
                quote = ""
            else:
                text += c
        elif c in " \t\n<>":
            break
        elif c in "'\"":
            quote = c
            opened, before = i + 1 - begin, text
        elif c == "\\":
            i += 1
            text += line[i : i + 1]
        else:
            if c in breaks and c in STAYS:
                start, kept = i - begin, text
            text += c
            if c in breaks and c not in STAYS:
                start, kept = i + 1 - begin, text
        i += 1
    if quote:
        start, kept = opened, before
    return min(i, len(line)), ShellWord(line[begin:i], text, start, kept, quote, redirects)


def fitted(value: str, piece: ShellWord) -> str | None:
    """What bash shall put in place of what it does not keep of `piece`, so that the word becomes `value`.

    None where it does not begin like `piece`, or cannot be written inside the quotes that are open.
    """
    if not value.startswith(piece.text):
        return None
    rest = value[len(piece.kept) :]
    if piece.quote == "'":
        return None if "'" in rest else rest
    if piece.quote == '"':
        escaped = re.sub(r'([\\"$`])', r"\\\1", rest)
        closed = escaped + '"' * rest.endswith('"')  # the line editor closes it, unless it ends like that
        return None if "!" in rest else closed
    quoted = _SPECIAL.sub(r"\\\g<0>", rest)
    return "\\" + quoted if rest.startswith("~") and not piece.kept else quoted
