"""The net for one record: a surprise ends there, what is no surprise does not."""

from __future__ import annotations

import pytest

from ctxkit.core import unreadable
from ctxkit.core.messages import Content, Text
from ctxkit.core.unreadable import ODD_KINDS, SURPRISES, TOO_DEEP, attempt, is_unreadable, stand_in
from ctxkit.errors import BadPattern, CtxkitError


@pytest.mark.parametrize("error", [TypeError, KeyError, IndexError, AttributeError, OverflowError, UnicodeDecodeError])
def test_a_surprise_ends_here(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told to who listens."""
    heard: list[BaseException] = []
    monkeypatch.setattr(unreadable, "caught", heard.append)
    made = UnicodeDecodeError("utf-8", b"", 0, 1, "") if error is UnicodeDecodeError else error()

    def typed() -> str:
        raise made

    assert attempt(typed, "otherwise") == "otherwise"
    assert heard == [made]


@pytest.mark.parametrize("error", [BadPattern("slow"), AssertionError(), MemoryError(), OSError(), KeyboardInterrupt()])
def test_what_is_none_goes_on(error: BaseException) -> None:
    """Errors of ours, of the system, and checks that failed are no odd values."""

    def typed() -> str:
        raise error

    with pytest.raises(type(error)):
        attempt(typed, "")


def test_errors_of_ours_are_no_surprises() -> None:
    """Else a net would hide them."""
    assert not issubclass(CtxkitError, SURPRISES)


def test_a_stand_in_is_known() -> None:
    """A message that says the same words is none."""
    for words in (TOO_DEEP, ODD_KINDS):
        assert is_unreadable(stand_in("user", words))
        assert not is_unreadable(Content("user", [Text(words)], rows=[{"role": "user", "content": words}]))
