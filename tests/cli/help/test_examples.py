"""Examples: one table feeds help, pages and tests."""

from __future__ import annotations

import pytest

from ctxkit.cli.help.examples import EXAMPLES
from ctxkit.cli.registry import COMMANDS


def test_every_command_has_examples() -> None:
    """And nothing else has."""
    assert set(EXAMPLES) == set(COMMANDS)
    assert all(EXAMPLES.values())


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_are_of_their_command(name: str) -> None:
    """Each line calls it, says what for, and fits a terminal."""
    for line, note in EXAMPLES[name]:
        assert f"ctxkit {name}" in line and note and len(line) <= 100
