"""The table of formats: each name is that format, and names of providers stand for several."""

from __future__ import annotations

import pytest

from ctxkit.errors import Usage
from ctxkit.formats import registry


def test_every_name_in_the_registry_is_that_format() -> None:
    """And an unknown one is a usage error."""
    for name in registry.DETECTED:
        assert registry.by_name(name).name == name
    for name in ("nonsense", "auto", "openai", ""):
        with pytest.raises(Usage):
            registry.by_name(name)


@pytest.mark.parametrize(
    ("asked", "found", "expected"),
    [
        ("auto", "messages", True), ("messages", "messages", True), ("openai", "responses", True),
        ("anthropic", "messages", True), ("anthropic", "responses", False), ("chat", "messages", False),
    ],
)  # fmt: skip
def test_fits(asked: str, found: str, expected: bool) -> None:
    """A container's format against the one that was asked for."""
    assert registry.fits(asked, found) is expected
