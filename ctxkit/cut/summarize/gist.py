"""Summarizes a context in two to four sentences, by rules: done, decided, asked last, unfinished. Pure.

`snapshots/snapshot.py` writes the gist into the head of a snapshot, for the list of snapshots. Its facts are those that
a compact keeps (`cut/rank/facts.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ctxkit.cut.rank.facts import SENTENCE, WORD, facts
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment

LONGEST = 600
"""The most characters of a gist."""
FAILED = "(summary generation failed)"
"""The gist if the model that was asked for one gave none."""
_DONE, _DECIDED, _ASKED, _LEFT = 180, 150, 120, 140
"""The most characters of each sentence. With the spaces between them they fit into LONGEST."""
MARKS = re.compile(r"^\s*(?:#{1,6}|[-*+]|>|\d{1,2}[.)])(?:\s+|$)|\*\*", re.M)
"""Markdown's marks before a line and around strong words."""
_NAMED = 3
"""How many files or commands are named; the others are counted."""


def gist(pieces: Sequence[TextSegment], count: int) -> str:
    """Summarizes a context of `count` messages with the segments `pieces`."""
    found = facts(pieces)
    sentences = [_done(found, count, pieces)]
    left = found["pending"][-1:]
    decided = [one for one in found["decisions"] if one not in left]  # a line may be both
    if decided:
        sentences.append(_sentence("Decided: ", decided[-1], _DECIDED))
    asked = _asked(pieces)
    if asked:
        sentences.append(_sentence("Asked last: ", asked, _ASKED))
    waits = bool(pieces) and pieces[-1].kind == SegmentKind.USER
    if left:
        sentences.append(_sentence("Unfinished: ", left[0], _LEFT))
    else:
        sentences.append("The last message has no answer yet." if waits else "Nothing is noted as unfinished.")
    return " ".join(sentences)


def shortened(text: str) -> str:
    """A given summary on one line of at most LONGEST characters, cut at the end of a sentence if there is one."""
    words = " ".join(text.split())
    if len(words) <= LONGEST:
        return words
    cut = words[: LONGEST - 1]
    ends = [found.end() for found in re.finditer(r"[.!?。！？](?=\s|$)", cut)]
    return cut[: ends[-1]] if ends and ends[-1] > LONGEST // 2 else f"{cut.rstrip()}…"


def _done(found: dict[str, list[str]], count: int, pieces: Sequence[TextSegment]) -> str:
    done: list[str] = []
    for verb, name in (("edited", "files edited"), ("read", "files read")):
        if found[name] and not (verb == "read" and done):
            done.append(f"{verb} {_listed(found[name])}")
    if found["commands"]:
        done.append(f"ran {_listed(found['commands'])}")
    if found["errors"]:
        errors = len(found["errors"])
        done.append(f"met {errors} error{'s' * (errors != 1)}")
    messages = f"{count} message{'s' * (count != 1)}"
    return _sentence(f"{messages}: ", "; ".join(done) or _else(pieces), _DONE)


def _else(pieces: Sequence[TextSegment]) -> str:
    """What was done where no fact says it: the scripts of the calls, or their tools."""
    scripts = dict.fromkeys(piece.text.strip().partition("\n")[0] for piece in pieces if piece.is_script)
    scripts.pop("", None)
    if scripts:
        return f"ran {_listed(list(scripts))}"
    tools = dict.fromkeys(piece.tool for piece in pieces if piece.kind in (SegmentKind.INPUT, SegmentKind.RESULT))
    tools.pop("", None)
    if tools:
        return f"called {_listed(list(tools))}"
    summed = any(piece.kind == SegmentKind.SUMMARY for piece in pieces)
    return "a summary of what came before" if summed else "no file, command or error"


def _listed(names: Sequence[str]) -> str:
    """The newest of the names, and how many more there are."""
    some = [_clip(" ".join(name.split()), 40) for name in names[: -_NAMED - 1 : -1]]
    more = len(names) - len(some)
    return (
        f"{', '.join(some)} and {more} more" if more else " and ".join(filter(None, (", ".join(some[:-1]), some[-1])))
    )


def _asked(pieces: Sequence[TextSegment]) -> str:
    """The first sentence of a person's newest message with words; if possible, one of more than two words."""
    for piece in reversed(pieces):
        if piece.kind == SegmentKind.USER:
            some = [one for one in SENTENCE.split(piece.text) if WORD.search(one)]
            if some:
                return next((one for one in some if len(one.split()) > 2), some[0])
    return ""


def _sentence(label: str, words: str, longest: int) -> str:
    """Makes one sentence of `words`, without Markdown, and with no full stop inside."""
    words = MARKS.sub("", words)
    text = re.sub(r"([.!?。！？]+)\s", r"; ", " ".join(words.split())).rstrip(" .!?。！？:;,")
    return f"{label}{_clip(text, longest - len(label) - 1)}."


def _clip(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"
