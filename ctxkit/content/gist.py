"""Gist: what a context is about, in two to four sentences: done, decided, asked last, unfinished. Made by rules. Pure.

Pipeline: `snapshots/snapshot.py` puts it into a snapshot's head, so that a list of snapshots says what each holds. The
facts are those that a compact keeps (`content/facts.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ctxkit.content.facts import SENTENCE, WORD, facts
from ctxkit.content.text_segments import SegmentKind, TextSegment

LONGEST = 600
"""Characters of a summary."""
FAILED = "(summary generation failed)"
"""What stands there where whoever was asked for one gave none."""
_DONE, _DECIDED, _ASKED, _LEFT = 180, 150, 120, 140
"""Characters of each sentence: with the blanks between them no more than LONGEST."""
_MARKS = re.compile(r"^\s*(?:#{1,6}|[-*+]|>|\d{1,2}[.)])(?:\s+|$)|\*\*", re.M)
"""What Markdown puts before a line, and around strong words."""
_NAMED = 3
"""Files and commands that are named; the others are counted."""


def gist(pieces: Sequence[TextSegment], count: int) -> str:
    """The summary of a context of `count` messages, which say `pieces`."""
    found = facts(pieces)
    said = [_done(found, count, summed=any(piece.kind == SegmentKind.SUMMARY for piece in pieces))]
    left = found["pending"][-1:]
    decided = [one for one in found["decisions"] if one not in left]  # a line may say both: it is told once
    if decided:
        said.append(_sentence("Decided: ", decided[-1], _DECIDED))
    asked = _asked(pieces)
    if asked:
        said.append(_sentence("Asked last: ", asked, _ASKED))
    waits = bool(pieces) and pieces[-1].kind == SegmentKind.USER
    if left:
        said.append(_sentence("Unfinished: ", left[0], _LEFT))
    else:
        said.append("The last message has no answer yet." if waits else "Nothing is noted as unfinished.")
    return " ".join(said)


def shortened(text: str) -> str:
    """Somebody's summary on one line, no longer than LONGEST: cut at the end of a sentence where there is one."""
    words = " ".join(text.split())
    if len(words) <= LONGEST:
        return words
    cut = words[: LONGEST - 1]
    ends = [found.end() for found in re.finditer(r"[.!?。！？](?=\s|$)", cut)]
    return cut[: ends[-1]] if ends and ends[-1] > LONGEST // 2 else f"{cut.rstrip()}…"


def _done(found: dict[str, list[str]], count: int, *, summed: bool) -> str:
    told: list[str] = []
    for verb, name in (("edited", "files edited"), ("read", "files read")):
        if found[name] and not (verb == "read" and told):
            told.append(f"{verb} {_listed(found[name])}")
    if found["commands"]:
        told.append(f"ran {_listed(found['commands'])}")
    if found["errors"]:
        errors = len(found["errors"])
        told.append(f"met {errors} error{'s' * (errors != 1)}")
    messages = f"{count} message{'s' * (count != 1)}"
    nothing = "a summary of what came before" if summed else "no file, command or error"
    return _sentence(f"{messages}: ", "; ".join(told) or nothing, _DONE)


def _listed(names: Sequence[str]) -> str:
    """The newest of them, and how many more."""
    some = [_clip(" ".join(name.split()), 40) for name in names[: -_NAMED - 1 : -1]]
    more = len(names) - len(some)
    return (
        f"{', '.join(some)} and {more} more" if more else " and ".join(filter(None, (", ".join(some[:-1]), some[-1])))
    )


def _asked(pieces: Sequence[TextSegment]) -> str:
    """The first sentence of the newest message of a person that says something; a word of thanks only if it is all."""
    for piece in reversed(pieces):
        if piece.kind == SegmentKind.USER:
            some = [one for one in SENTENCE.split(piece.text) if WORD.search(one)]
            if some:
                return next((one for one in some if len(one.split()) > 2), some[0])
    return ""


def _sentence(label: str, words: str, longest: int) -> str:
    """One sentence: its words have one end alone, and no Markdown."""
    words = _MARKS.sub("", words)
    text = re.sub(r"([.!?。！？]+)\s", r"; ", " ".join(words.split())).rstrip(" .!?。！？:;,")
    return f"{label}{_clip(text, longest - len(label) - 1)}."


def _clip(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"
