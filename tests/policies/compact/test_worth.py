"""What lines are worth."""

from __future__ import annotations

from ctxkit.core.files import Touch
from ctxkit.policies.compact.fragments import fragments
from ctxkit.policies.compact.items import Item, Sort
from ctxkit.policies.compact.source import Kind, Piece
from ctxkit.policies.compact.worth import CLASSES, Worth, again

CODE = "    return compute_the_sum(of, these)"


def test_code_that_was_written_lately_is_written_again_sooner_than_what_was_printed() -> None:
    edit = Piece(1, Kind.INPUT, CODE, "Edit", "new_string")
    read = Piece(1, Kind.RESULT, CODE, "Read", touches=(Touch("a.py", "read"),))
    printed = Piece(1, Kind.RESULT, CODE, "Bash")
    assert again(edit, CODE, 0) > again(edit, CODE, 0.9) > again(read, CODE, 0.9) > again(printed, CODE, 0.9) > 0
    assert again(edit, "}", 0) == 0


def test_a_class_of_few_facts_is_worth_as_much_as_one_of_many() -> None:
    said = [Piece(1, Kind.INPUT, "def a():\ndef b():\ndef c():", "Write", "content"),
            Piece(2, Kind.ASSISTANT, "I decided it."),]  # fmt: skip
    worth = Worth(said, fragments(said), [])
    assert worth.of(("decisions", "I decided it.")) == CLASSES["decisions"]
    assert worth.of(("code", "def a():")) == CLASSES["code"] / 3


def test_an_item_that_a_person_named_is_worth_more_than_one_that_was_printed() -> None:
    said = [Piece(1, Kind.RESULT, "see printed_name"), Piece(2, Kind.USER, "use typed_name")]
    worth = Worth(said, fragments(said), [])
    typed, printed = (worth.of(Item(Sort.IDENTIFIER, name)) for name in ("typed_name", "printed_name"))
    assert typed > printed > 0
    assert worth.of("nothing") == 0
