"""Tells what a person typed in a message from what stands there by somebody else: quotes, logs, chats, code. Pure.

By lines: what a line of its own begins with says what it is. A text that is pasted without any mark of it counts as
typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

WRAPPED = re.compile(r"<(current_datetime|system[_-]reminder|system_notification|ide_opened_file|ide_selection)>")
"""Matches the tag of what programs put before and behind what somebody typed."""
FENCE = re.compile(r"[ \t]*(?:[-*>]\s+|\d+[.)]\s+)?(`{3,}|~{3,})")
"""Matches the first and the last line of a block of code."""
TAG = re.compile(
    r"\s*<((?:article|code|conversation|data|diff|document|email|example|file|log|mail|output|page|paste|pasted|quote|"
    r"source|stderr|stdout|transcript)[\w-]*)(?:\s[^<>]*)?>\s*$"
)
"""Matches a line that is a tag alone, of what is shown; in others (<instructions>) people say what they want."""
CLOSED = re.compile(r"</([a-z][\w-]*)>")
LINE = re.compile(
    r"\s*>"  # a quote
    r"|\s*\"[\w. -]+\"\s*:"  # a key of JSON
    r"|\s*(?://|/\*|<!--)"  # a comment
    r"|\s*File \".*\", line \d|\s+at \S.*[(:]|\s*Traceback \(|\s*(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception)\b:"
    r"|\s*(?:error|fatal)(?:\[\w+\])?: "
    r"|\s*[\w.\\/-]+\.\w+[:(]\d+"  # of a compiler, or of grep
    r"|\s*\W?(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL|CRITICAL|TRACE|NOTICE)\b"
    r"|\s*[\[(]?(?:\d{4}-\d\d-\d\d[T ]|[A-Z][a-z]{2} +\d+ )?\d\d?:\d\d:\d\d"
    r"|\s*[\[(]?\d{4}-\d\d-\d\d[T ]\d\d:\d\d"
    r"|\s*(?:\"[^\"]*\"|“[^”]*”|„[^“]*“|«[^»]*»)\W*$"
)
"""Matches a line that nobody types: quoted, or printed by a program."""
BLOCK = re.compile(r"\s*(?:[$❯] \S|[\w.-]+@[\w.-]+:\S*[$#] |diff --git |@@ -|\*\*\* Begin Patch)")
"""Matches a line after which the lines up to an empty one are pasted too: a command with its output, a diff."""
FORWARDED = re.compile(r"\W{0,9}(?:-{2,9} ?(?:Original|Forwarded) Message ?-{2,9}|Begin forwarded message:)", re.I)
"""Matches a line below which all is another's."""
TURN = re.compile(
    r"\W*(?:human|user|assistant|ai|model|system|bot|chatgpt|claude)\b\W{0,3}:"
    r"|\s*[\[(][\d:.,/ T+Z-]{0,40}\d:\d\d[\d:.,/ T+Z-]{0,20}(?:[ap]m)?[\])]\s*[^:]{1,40}:\s"
    r"|\S.{0,38}\S\s+[\[(]?\d\d?:\d\d(?: ?[ap]m)?[\])]?\s*$",
    re.I,
)
"""Matches a line with which somebody's words begin in a chat: a role, `[time] Name:`, `Name 10:32 AM`."""


def typed(text: str) -> str:
    """The text with an empty line in the place of each line that is pasted."""
    return "\n".join(_typed(text.split("\n")))


def _typed(lines: list[str]) -> Iterator[str]:
    heads = [n for n, line in enumerate(lines) if TURN.match(line) is not None]
    turns = _turns(heads, lines)
    closed = {tag: n for n, line in enumerate(lines) for tag in CLOSED.findall(line)}
    ends, is_block = "", False
    """How the block ends that a line stands in; whether it is one that an empty line ends."""
    for n, line in enumerate(lines):
        if ends:
            is_end = line.strip().startswith(ends) and (ends[0] == "<" or not line.strip().strip(ends[0]))
            ends = "" if is_end else ends
            yield ""
            continue
        if FORWARDED.match(line) is not None:
            return
        is_block = line.strip() != "" and (is_block or BLOCK.match(line) is not None)
        if (fence := FENCE.match(line)) is not None:
            ends = fence[1]
        elif (tag := TAG.match(line)) is not None and closed.get(tag[1], 0) > n:
            ends = f"</{tag[1]}>"
        is_printed = LINE.match(line) is not None and (n or heads != [0])
        yield "" if ends or is_block or n in turns or is_printed else line


def _turns(heads: list[int], lines: list[str]) -> range:
    """The lines from the first turn of a chat to the end of the last turn's paragraph. A head on the first line alone
    is the person's own: programs put one in front of what was typed.
    """
    if not heads or heads == [0]:
        return range(0)
    end = heads[-1] + 1
    while end < len(lines) and lines[end].strip():
        end += 1
    return range(heads[0], end)
