"""The text of a summary."""

from __future__ import annotations

from ctxkit.policies.compact.fragments import fragments
from ctxkit.policies.compact.source import Kind, Piece
from ctxkit.policies.compact.touched import touched
from ctxkit.policies.compact.wording import Words, outline
from tests.policies.compact.test_facts import SAID

WHOLE = """\
[messages 1-6 in short, word for word; #N is message N, … marks what is left out]

Files edited:
/work/app/src/a.py #2

Files read:
/work/app/src/b.py #3

Commands:
#5 make test

Errors:
#6 KeyError: 'user' in login

Decisions:
#2 I decided to use a lock here. Then I look on. The tests still need work.

Messages:
#1 user:
Please fix the login. Thanks.
#2 Edit:
def old(): ...
#2 Edit:
def login(user):
    return 1
#3 Read b.py:
b.py
#4 → Read b.py:
raise KeyError: a file says it
#6 → Bash:
running
…
ok"""


def test_all_of_it_in_words() -> None:
    assert Words(SAID, str).of([*fragments(SAID), *touched(SAID)]) == WHOLE


def test_what_it_lists() -> None:
    assert outline(WHOLE) == {
        "files edited": 1, "files read": 1, "commands": 1, "errors": 1, "decisions": 1, "messages": 6,
    }  # fmt: skip
    assert outline("any words") == {}


def test_sentences_of_one_line_stand_in_one_line() -> None:
    said = [Piece(7, Kind.USER, " ".join(f"This is sentence {n} of a long line." for n in range(12)))]
    some = fragments(said)
    text = Words(said, lambda name: f"x.{name}").of([some[0], some[1], some[4]])
    assert text.endswith(
        "#x.7 user:\nThis is sentence 0 of a long line. This is sentence 1 of a long line. … "
        "This is sentence 4 of a long line."
    )
