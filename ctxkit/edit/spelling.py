"""Spelling: any text as lines that every editor shows and keeps, and back. Pure.

Pipeline: `draft.py` writes with it, `parse.py` reads with it. What cannot be seen is written `\\u{1b}`; `\\u{}` stands
for nothing: in front of a line that would read as one of the draft's own, and where an empty line counts.
"""

from __future__ import annotations

import re

from ctxkit.core.text.invisible import UNSEEN

SIGN = "%%"
"""What the draft's own lines begin with, behind blanks and number signs."""
NOTHING = r"\u{}"

OWN = re.compile(rf"([ \t#]*){SIGN}")
_LOOK_ALIKE = re.compile(rf"^(?=[ \t#]*{SIGN})", re.MULTILINE)
_HIDDEN = re.compile(rf"[{UNSEEN}]|\\(?=u\{{)")
_IN_A_WORD = re.compile(rf"[{UNSEEN}\s()]|\\(?=u\{{)|\A[0-9]")
_SPELLED = re.compile(r"\\u\{([0-9a-fA-F]{0,6})\}")
_LAST = 0x10FFFF


def spelled(text: str) -> str:
    """A text as lines of a draft: no line of it reads as one of the draft's own, and its ends are not blank."""
    lines = _LOOK_ALIKE.sub(_nothing, _HIDDEN.sub(_code, text))
    if not lines or lines.startswith("\n"):
        lines = NOTHING + lines
    return lines + NOTHING if lines.endswith("\n") else lines


def line(text: str) -> str:
    """A text as a part of one line."""
    return _HIDDEN.sub(_code, text).replace("\n", r"\u{a}").replace("\t", r"\u{9}")


def word(text: str) -> str:
    """A text as one word that does not begin with a digit."""
    return _IN_A_WORD.sub(_code, text) or NOTHING


def read(text: str) -> str:
    """What was spelled so."""
    return _SPELLED.sub(_character, text) if "\\u{" in text else text


def _nothing(_: re.Match[str]) -> str:
    return NOTHING


def _code(found: re.Match[str]) -> str:
    return f"\\u{{{ord(found[0]):x}}}"


def _character(found: re.Match[str]) -> str:
    if not found[1]:
        return ""
    code = int(found[1], 16)
    return chr(code) if code <= _LAST else found[0]
