"""The tests of this room write config by hand, as if the user of this machine had accepted it."""

from __future__ import annotations

import pytest

from ctxkit.settings.said_config import VARIABLE


@pytest.fixture(autouse=True)
def _accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What counts in a folder that nobody accepted is tested in tests/test_cloned_folder.py."""
    monkeypatch.setenv(VARIABLE, "1")
