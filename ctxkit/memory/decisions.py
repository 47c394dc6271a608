"""Finds what a person decided in a session: rules and choices, sentence by sentence. Pure.

What was taken back counts no more, and of a document only what a person says before it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from ctxkit.core.item_names import Name
from ctxkit.cut.rank.facts import WORD, sentences
from ctxkit.cut.summarize.state_header import LONGEST, WITHDRAWN, asked
from ctxkit.cut.units.pasted import typed
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment

NEWEST = 6
"""The most decisions of a session: the newest ones."""
RULE = re.compile(
    r"(?:^[\W\d_]*|[,;:.!–—-]\s+|\(|"
    r"\b(?:please|you|we|and|but|so|then|or|just|also|always|bitte|aber|und|mais|et|y|pero) )"
    r"(?:do not|don['’]?t|never|always|only|make sure|be sure|avoid|keep|prefer|no need|"
    r"niemals|nie|immer|nur|keine?n?|nicht|ne \w+ (?:pas|jamais|plus|rien)|n['’]\w+ (?:pas|jamais|plus|rien)|jamais|"
    r"toujours|nunca|siempre|solo)\b|(?:^[\W\d_]*|\b(?:y|pero|please) )no \w+\b|\b(?:but|please) use \w|"
    r"^(?!(?:i|it|this|that|the|they|there)\b).*\b(?:without \w+ing\b|(?<!the )first(?: \([^()]*\))?\W*$)|"
    r"\bmust(?:n['’]t)?\b|\bshould(?:n['’]t| (?:not|never|always|only|first))\b|\bmake sure (?:you|to)\b|"
    r"\b(?:bitte|du|ihr|wir)\b.*\b(?:nicht|keine?n?)\b|\bil ne faut (?:pas|jamais)\b|"
    r"不要|必须|不能|不得|禁止|只能|只用|只要|しないで|ないでください|必ず",
    re.I,
)
"""Matches a sentence of the user that sets a rule, by words at its start, behind a mark or behind a word of address."""
TOLD = re.compile(
    r"\s*\||\s*\[[\w:. -]+\]\s|.*\?[\s\W]*$|.*\? = \W*(?:no answer|you (?:decide|choose|pick)|up to you|your c)|"
    r".*\bdo you (?:think|know|see)\b|(?:\W*\w+){1,4}\W*:\s*$|"
    r".*\b(?:whether|(?:question|point) is|things? (?:we|you) should|and only \w+s|"
    r"should be (?:good|fine|ok(?:ay)?))\b",
    re.S | re.I,
)
"""Matches a row of a table, a line of a log, a question, one that nobody answered, a heading, or what is only weighed:
they set no rule.
"""
WEIGHED = re.compile(
    r"\W*(?:(?:so|and|but|also|then|maybe|perhaps|yes|no|ok|i (?:think|guess|wonder)),? )*"
    r"(?:(?:should|shall)\b(?! (?:not|never|always|only))|(?:does|did|is|are|was|why|how|what|which|where|when|who) "
    r"(?:i|we|you|he|she|it|they|the|this|that|these|those|a|an|our|your|my)\b|"
    r"(?:could|can|would|will) (?:i|we|he|she|it|they|the|this|that|these|those|our|my)\b|do (?:i|we|you|they)\b|"
    r"(?:i|we) (?:do not|don['’]?t) (?:need|have|know|think|see|understand|care|mind|remember)\b|"
    r"(?:i think )?(?:i|we|you|it) (?:should|could) also\b)",
    re.I,
)
"""Matches the start of a question without its mark, of a thought, and of what somebody lacks: they set no rule."""
DOCUMENT = re.compile(r"^#{1,6} \S", re.M)
"""Matches a heading: below it stands a plan or a page, and no sentence of a person."""


def decisions(pieces: Sequence[TextSegment], decides: Callable[[str], bool]) -> list[tuple[Name, str]]:
    """The newest sentences of a person that `decides` accepts, each with its message, without what was taken back."""
    found: dict[str, Name] = {}
    before: Name | None = None
    for piece in pieces:
        text = asked(piece)
        if not text:
            continue
        if WITHDRAWN.match(text) is not None:
            found = {sentence: name for sentence, name in found.items() if name != before}
        is_answer = piece.kind == SegmentKind.RESULT or piece.tool != ""
        for sentence in text.split("\n") if is_answer else _said(text):
            if len(sentence) <= LONGEST and len(WORD.findall(sentence)) > 2 and decides(sentence):
                found.pop(sentence, None)
                found[sentence] = piece.name
        before = piece.name
    return [(name, sentence) for sentence, name in found.items()][-NEWEST:]


def _said(text: str) -> Iterable[str]:
    """The sentences that a user typed in a text; of a command to the program those of its arguments."""
    if text.startswith("/"):
        text = text.partition(" ")[2]
    return sentences(typed(DOCUMENT.split(text, maxsplit=1)[0]))


def is_rule(sentence: str) -> bool:
    """Whether a sentence of the user sets a rule."""
    stated = statement(sentence)
    asked, _, answer = stated.rpartition("? = ")
    return bool(RULE.search(stated) or RULE.search(answer) or re.search(r"\bshould\b", asked, re.I))


def statement(sentence: str) -> str:
    """What of a sentence of the user is no question and not only weighed: all, what stands behind a comma ("when it
    fails, do not retry"), or "".
    """
    if TOLD.match(sentence) is not None:
        return ""
    if "? = " not in sentence and WEIGHED.match(sentence) is not None:
        return statement(sentence.partition(",")[2].strip())
    return sentence
