"""Facts by class, and what a text keeps of them."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.derive.files import FileTouch
from ctxkit.core.sets.sequences import Reiterable
from ctxkit.cut.rank import facts as facts_
from ctxkit.cut.rank.facts import CLASSES, SHARE, WORD, facts, kept, sentences
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment

EDIT = FileTouch("/work/app/src/a.py", "edit")
READ = FileTouch("/work/app/src/b.py", "read")
SAID = [
    TextSegment(1, SegmentKind.USER, "Please fix the login. Thanks."),
    TextSegment(2, SegmentKind.ASSISTANT, "I decided to use a lock here. Then I look on. The tests still need work."),
    TextSegment(2, SegmentKind.INPUT, "/work/app/src/a.py", "Edit", "file_path", touches=(EDIT,)),
    TextSegment(2, SegmentKind.INPUT, "def old(): ...", "Edit", "old_string"),
    TextSegment(2, SegmentKind.INPUT, "def login(user):\n    return 1", "Edit", "new_string"),
    TextSegment(3, SegmentKind.INPUT, "b.py", "Read", "file_path", touches=(READ,)),
    TextSegment(4, SegmentKind.RESULT, "raise KeyError: a file says it", "Read", touches=(READ,)),
    TextSegment(5, SegmentKind.INPUT, "make test", "Bash", "command"),
    TextSegment(6, SegmentKind.RESULT, "running\nKeyError: 'user' in login\nok", "Bash"),
]


def test_facts_by_class() -> None:
    assert facts(SAID) == {
        "files edited": ["app/src/a.py"], "files read": ["app/src/b.py"], "commands": ["make test"],
        "errors": ["KeyError: 'user' in login"], "decisions": ["I decided to use a lock here."],
        "pending": ["The tests still need work."], "user": ["Please fix the login."], "code": ["def login(user):"],
    }  # fmt: skip
    assert tuple(facts([])) == CLASSES


def test_a_file_that_was_read_and_edited_counts_as_edited() -> None:
    assert facts([*SAID, SAID[2]._replace(touches=(READ._replace(path=EDIT.path),))])["files read"] == ["app/src/b.py"]


def test_a_fact_is_kept_as_it_is_or_by_most_of_its_words_in_one_line() -> None:
    found = {"user": ["please fix the login of users today"]}
    assert kept(found, "x please fix the login of users today y") == {"user": (1, 1)}
    assert kept(found, "users: please fix login of today the") == {"user": (1, 1)}
    assert kept(found, "please fix the login of") == {"user": (0, 1)}
    assert kept(found, "please fix the\nlogin of users today") == {"user": (0, 1)}
    assert kept({"user": []}, "") == {"user": (0, 0)}


def test_a_task_that_is_not_done_is_pending_as_the_newest_list_has_it() -> None:
    def tasks(name: int, *texts: str) -> list[TextSegment]:
        return [TextSegment(name, SegmentKind.INPUT, text, "TodoWrite", f"todos.{n}") for n, text in enumerate(texts)]

    said = [*tasks(1, "[pending] build", "[pending] test"), *tasks(2, "[completed] build", "[in_progress] test")]
    assert facts(said)["pending"] == ["[in_progress] test"]


def test_a_name_in_a_list_is_no_error() -> None:
    printed = TextSegment(
        1, SegmentKind.RESULT, "    TemplateNotFoundError,\nAssertionError\nerror: it broke\nall is well", "Bash"
    )
    assert facts([printed])["errors"] == ["AssertionError", "error: it broke"]


SOME = st.lists(st.sampled_from(["a", "ab", "abc", "b", "bc", "é", "1", "12", " ", "-", ".", "\n"]), max_size=14).map(
    "".join
)


@given(st.lists(SOME, max_size=6), st.lists(SOME, max_size=6), st.integers(1, 20))
def test_what_is_kept_is_what_a_plain_search_finds(said: list[str], parts: list[str], page: int) -> None:
    """Each fact in the whole text, then in each of its lines."""
    text = "\n".join(parts)
    lines = [{*WORD.findall(line)} for line in text.split("\n")]

    def is_kept(fact: str) -> bool:
        words = {*WORD.findall(fact)}
        return fact in text or any(len(words & line) >= SHARE * len(words) for line in lines if words)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(facts_, "PAGE", page)
        assert (
            kept({"user": said}, parts) == kept({"user": said}, text) == {"user": (sum(map(is_kept, said)), len(said))}
        )


def test_facts_are_sought_without_each_being_held_against_each_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of few words, in another order in each line, none of which keeps a fact, and a number that stands nowhere else:
    twice as many of both are not four times the work; nor is the text held.
    """
    words = [f"word{n}" for n in range(12)]
    monkeypatch.setattr(facts_, "PAGE", 1 << 14)
    compared, peaks = [], []

    def lines(many: int) -> Iterator[str]:
        return (" ".join([str(n), *words[n % 5 : n % 5 + 5], "x" * 1000]) for n in range(many))

    for many in (500, 1000):
        count = 0

        class Counted(facts_._Sought):
            def seek(self, words: frozenset[str]) -> bool:
                nonlocal count
                count += 1
                return super().seek(words)

        monkeypatch.setattr(facts_, "_Sought", Counted)
        said = [" ".join([f"n{n}", *words[n % 5 : n % 5 + 6 : 2], *words[9:]]) for n in range(many)]
        tracemalloc.start()
        assert kept({"user": said}, Reiterable(lambda many=many: lines(many))) == {"user": (0, many)}
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        compared.append(count)
    assert compared[1] <= 2 * compared[0]
    assert peaks[1] - peaks[0] < 500 * 1000


def test_sentences_of_scripts_without_blanks() -> None:
    assert list(sentences("先读文件。再跑测试！好。")) == ["先读文件。", "再跑测试！", "好。"]
    assert list(sentences("One. Two! v1.2 is three.")) == ["One.", "Two!", "v1.2 is three."]
