"""The rooms of the command line: commands use help and terminal, help uses terminal, and terminal uses neither."""

from __future__ import annotations

import pytest

from tests.test_architecture import MODULES, dotted, ours, under

MAY_USE = {
    "cli.terminal": {"cli.terminal"},
}
"""A room -> what of the command line it may import, wherever the import is."""


@pytest.mark.parametrize("room", MAY_USE)
def test_arrows(room: str) -> None:
    """A room uses what stands below it."""
    for path in MODULES:
        for name in ours(path) if under(dotted(path), room) else ():
            used = not under(name, "cli") or any(under(name, one) for one in MAY_USE[room])
            assert used, f"{dotted(path)} imports {name}"
