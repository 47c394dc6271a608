"""unprotect: protection goes."""

from __future__ import annotations

from pathlib import Path

from tests.cli.commands.test_protect import locked
from tests.cli.runner import ctxkit, good, small


def test_words(tmp_path: Path) -> None:
    """Steps whole; not protected: exit 0, nothing appended."""
    path = small(tmp_path)
    good("protect", path, "3")
    assert good("unprotect", path, "4").err.endswith("No longer protected: 3-4.\n")
    assert locked(path) == [1]
    before = path.read_bytes()
    assert good("unprotect", path, "4").err == "Not protected: 3-4. Nothing appended.\n"
    assert path.read_bytes() == before


def test_preamble(tmp_path: Path) -> None:
    """Only by --force; then a forget takes it."""
    path = small(tmp_path)
    assert ctxkit("unprotect", path, "1").code == 2
    good("unprotect", path, "1", "--force")
    assert locked(path) == []
    good("forget", path, "1")


def test_first_message(tmp_path: Path) -> None:
    """Its automatic protection can be taken, once."""
    path = small(tmp_path)
    assert good("unprotect", path, "2").err == "No longer protected: 2.\n"
    assert "Not protected" in good("unprotect", path, "2").err
