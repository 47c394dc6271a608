"""The tests of this room write config by hand, as if the user of this machine had accepted it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ctxkit.settings.said_config import VARIABLE
from ctxkit.watch.places import Places
from tests.watch.running import Watched


@pytest.fixture(autouse=True)
def _accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts in a folder that nobody accepted is tested in tests/test_cloned_folder.py."""
    monkeypatch.setenv(VARIABLE, "1")


@pytest.fixture
def watched() -> Iterator[Callable[..., Watched]]:
    """Makes watchers that end with the test."""
    made: list[Watched] = []

    def make(*logs: Path, places: Places | None = None, **given: bool) -> Watched:
        made.append(Watched(*logs, places=places, **given))
        return made[-1]

    yield make
    for one in made:
        one.end()
