"""How a call ended, as agents write it around what a command printed: its exit status, its seconds, and its own words.

By patterns at the head and the end of a result's text. Pure. `show` and its list of calls print it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_HEAD, _TAIL = 600, 200
"""Characters of a result in which its program's words stand."""
_CODEX = re.compile(
    r"\A(?:Chunk ID: \S*\n)?(?:Exit code: (?P<code>-?\d{1,10})\n)?Wall time: (?P<seconds>[\d.]{1,20}) seconds\n"
    r"(?:Process (?:exited with code (?P<exited>-?\d{1,10})|running with session ID \S+)\n)?"
    r"(?:Original token count: \d+\n)?(?:Total output lines: \d+\n)?Output:\n?"
)
_HEADS = (
    _CODEX,
    re.compile(r"\AExit code (?P<code>-?\d{1,10})(?:\n|\Z)"),  # Claude Code
    re.compile(r"\A<returncode>(?P<code>-?\d{1,10})</returncode>\n?(?:<output>\n?)?"),  # mini-swe-agent
)
_TAILS = (
    re.compile(r"\n*<shellId: \S+ completed with exit code (?P<code>-?\d{1,10})>\s*\Z"),  # Copilot CLI
    re.compile(r"\n*<?(?:Command |Process )?exited with (?:exit )?code (?P<code>-?\d{1,10})>?\s*\Z"),  # pi
)


class Outcome(NamedTuple):
    """`status`: the exit status, None where nothing says it; `seconds`: as noted; `text`: what is left, the output."""

    status: int | None
    seconds: float | None
    text: str


def outcome(text: str) -> Outcome:
    """What a result's text says of how its call ended. O(1), but for the copy of the text."""
    status: int | None = None
    seconds: float | None = None
    head, start, end = text[:_HEAD], 0, len(text)
    for pattern in _HEADS:
        if (found := pattern.match(head)) is not None:
            told = found.groupdict()
            code = told.get("code") or told.get("exited")
            status = None if code is None else int(code)
            seconds = _number(told.get("seconds"))
            start = found.end()
            break
    tail = max(start, end - _TAIL)
    if status is None:
        for pattern in _TAILS:
            if (found := pattern.search(text[tail:])) is not None:
                status, end = int(found["code"]), tail + found.start()
                break
    elif text.startswith("<returncode>"):
        end -= len(text[tail:]) - len(text[tail:].removesuffix("</output>"))
    return Outcome(status, seconds, text[start:end])


def _number(written: str | None) -> float | None:
    try:
        return None if written is None else float(written)
    except ValueError:
        return None
