"""The readers' questions: what one who goes on with a session must know, answered from its condensed context alone.

`questions.json` was written from prefix and continuation of real sessions, before any condensed text was read. The
`old` questions were added after a first count had shown that nearly all others were answered, by one rule: what the
continuation uses and the prefix says at most three times, and not in its last 15 %.

`questions_fresh.json` was written later, before any condensed text of its cases was read, from sessions or pieces of
sessions that neither the questions above nor a tuning half use. Its questions have a `kind`, an `id`, and `at`, the
number of the first message that uses what is asked for, counted on from the prefix. `questions_unseen.json` is of the
same form. It was written after the code was changed to answer those, again before any condensed text or any of that
code was read, about cases that no other question is about.

A question has `keys`, patterns that the prefix has, and `used`, a pattern of what really came next. A key is found if
its pattern stands in the context. No model answers. The digests of the files are below: who changes a question,
changes them too.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent
DIGESTS = {
    "questions": "d4ad43ab9ef2c45d9fc291a8b7c86e05d46c26d215ddcf3e61d57cfc545e04f3",
    "questions_fresh": "f94d2c8198ed3ac9966c4902a305a18bf0aee7f2f21e8be8c5b5e1190b30da13",
    "questions_unseen": "7d12f77e90a28968df6fef61cd1a3b96b8005b01ac5915b3a98d9637d26ecfec",
}
PRESENT = ("state", "next", "open", "exact")
"""Kinds of questions about where the work stands."""
KINDS = ("goal", "decision", "reason", "constraint", *PRESENT)


class Question(NamedTuple):
    """A question with the patterns of its answer. `old`: the prefix says it at most three times, none of them late.

    Only fresh and unseen ones have a `kind`, an `id` and the number of the message they are needed `at`.
    """

    ask: str
    keys: list[str]
    used: str
    old: bool = False
    kind: str = ""
    id: str = ""
    at: int = 0


class Asked(NamedTuple):
    """The questions of one case: its name, how many messages its prefix has, and `tuned`, `reported`,
    `fresh` or `unseen`.
    """

    case: str
    cut: int
    half: str
    questions: list[Question]


def asked(name: str = "questions") -> list[Asked]:
    """All questions of a file. Raises ValueError if it is not what was committed."""
    raw = (FOLDER / f"{name}.json").read_bytes()
    if hashlib.sha256(raw).hexdigest() != DIGESTS[name]:
        raise ValueError(f"{name}.json is not the file of its digest: questions are written before they are scored")
    return [
        Asked(one["case"], one["cut"], one["half"], [Question(**some) for some in one["questions"]])
        for one in json.loads(raw)
    ]


def found(key: str, text: str) -> bool:
    """Whether a key stands in a text, whatever the case of its letters."""
    return re.search(key, text, re.I) is not None


def answered(questions: Sequence[Question], text: str) -> tuple[float, float]:
    """The share of the keys that a text has, each question counting once; and of the questions with all their keys."""
    shares = [sum(found(key, text) for key in one.keys) / len(one.keys) for one in questions]
    return sum(shares) / len(shares), sum(share == 1 for share in shares) / len(shares)
