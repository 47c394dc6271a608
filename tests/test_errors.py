"""Exit codes and errors."""

from __future__ import annotations

import pytest

from ctxkit import errors
from ctxkit.errors import MEANING, CtxkitError, ExitCode

LEAVES = CtxkitError.__subclasses__()


def test_codes_are_those_of_the_table() -> None:
    """The codes that scripts rely on, each with its meaning for the man pages."""
    assert [int(code) for code in ExitCode] == [0, 1, 2, 65, 66, 69, 70, 73, 74, 75, 77, 78]
    assert set(MEANING) == set(ExitCode)
    assert all(MEANING.values())


@pytest.mark.parametrize("kind", LEAVES, ids=lambda kind: kind.__name__)
def test_one_class_per_cause(kind: type[CtxkitError]) -> None:
    """Every cause has its own code (not that of a bug), says what it means, and keeps message and hint."""
    assert kind.code not in (ExitCode.DONE, ExitCode.BUG)
    assert kind.__doc__
    assert not kind.__subclasses__()
    error = kind("chat.jsonl: no", "try again")
    assert (str(error), error.message, error.hint) == ("chat.jsonl: no", "chat.jsonl: no", "try again")
    assert kind("x").hint == ""


def test_every_failing_code_has_a_class() -> None:
    """A code that nothing raises is a promise that nobody keeps."""
    raised = {kind.code for kind in LEAVES}
    assert set(ExitCode) - raised <= {ExitCode.DONE, ExitCode.BUG}


def test_all_errors_are_found_here() -> None:
    """No error class is defined elsewhere."""
    assert {kind.__module__ for kind in LEAVES} == {errors.__name__}
