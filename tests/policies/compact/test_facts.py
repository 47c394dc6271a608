"""Facts by class, and what a text keeps of them."""

from __future__ import annotations

from ctxkit.core.files import Touch
from ctxkit.policies.compact.facts import CLASSES, facts, kept
from ctxkit.policies.compact.source import Kind, Piece

EDIT = Touch("/work/app/src/a.py", "edit")
READ = Touch("/work/app/src/b.py", "read")
SAID = [
    Piece(1, Kind.USER, "Please fix the login. Thanks."),
    Piece(2, Kind.ASSISTANT, "I decided to use a lock here. Then I look on. The tests still need work."),
    Piece(2, Kind.INPUT, "/work/app/src/a.py", "Edit", "file_path", touches=(EDIT,)),
    Piece(2, Kind.INPUT, "def old(): ...", "Edit", "old_string"),
    Piece(2, Kind.INPUT, "def login(user):\n    return 1", "Edit", "new_string"),
    Piece(3, Kind.INPUT, "b.py", "Read", "file_path", touches=(READ,)),
    Piece(4, Kind.RESULT, "raise KeyError: a file says it", "Read", touches=(READ,)),
    Piece(5, Kind.INPUT, "make test", "Bash", "command"),
    Piece(6, Kind.RESULT, "running\nKeyError: 'user' in login\nok", "Bash"),
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
    def tasks(name: int, *texts: str) -> list[Piece]:
        return [Piece(name, Kind.INPUT, text, "TodoWrite", f"todos.{n}") for n, text in enumerate(texts)]

    said = [*tasks(1, "[pending] build", "[pending] test"), *tasks(2, "[completed] build", "[in_progress] test")]
    assert facts(said)["pending"] == ["[in_progress] test"]


def test_a_name_in_a_list_is_no_error() -> None:
    printed = Piece(1, Kind.RESULT, "    TemplateNotFoundError,\nAssertionError\nerror: it broke\nall is well", "Bash")
    assert facts([printed])["errors"] == ["AssertionError", "error: it broke"]
