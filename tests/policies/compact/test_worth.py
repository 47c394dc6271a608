"""What lines are worth."""

from __future__ import annotations

from ctxkit.core.files import Touch
from ctxkit.policies.compact.fragments import Fragment, fragments
from ctxkit.policies.compact.items import Item, Sort
from ctxkit.policies.compact.source import Kind, Piece
from ctxkit.policies.compact.touched import touched
from ctxkit.policies.compact.worth import CLASSES, Worth, again


def line(text: str, at: float) -> Fragment:
    return Fragment(0, 0, 0, text, at)


CODE = "    return compute_the_sum(of, these)"


def test_code_that_was_written_lately_is_written_again_sooner_than_what_was_printed() -> None:
    edit = Piece(1, Kind.INPUT, CODE, "Edit", "new_string")
    read = Piece(1, Kind.RESULT, CODE, "Read", touches=(Touch("a.py", "read"),))
    printed = Piece(1, Kind.RESULT, CODE, "Bash")
    new, old = line(CODE, 0), line(CODE, 0.9)
    assert again(edit, new) > again(edit, old) > again(read, old) > again(printed, old) > 0
    assert again(edit, line("}", 0)) == 0


def test_a_file_that_was_touched_lately_counts_more() -> None:
    def edit(name: int, path: str, words: str) -> list[Piece]:
        touch = Touch(path, "edit")
        return [
            Piece(name, Kind.INPUT, path, "Edit", "file_path", touches=(touch,), call=f"c{name}"),
            Piece(name, Kind.INPUT, words, "Edit", "new_string", call=f"c{name}"),
        ]

    rest = [Piece(n, Kind.RESULT, "words") for n in range(3, 9)]
    said = [*edit(1, "one.py", "one_name"), *edit(2, "two.py", "two_name"), *rest, *edit(9, "one.py", "x")]
    worth = Worth(said, fragments(said), touched(said))
    assert worth.of(Item(Sort.IDENTIFIER, "one_name")) > worth.of(Item(Sort.IDENTIFIER, "two_name"))


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
