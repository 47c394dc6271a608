"""protect: what no rule may take away."""

from __future__ import annotations

from pathlib import Path

from tests.cli.runner import good, ops, small


def locked(path: Path) -> list[int]:
    """The numbers that carry a lock."""
    return [value["n"] for value in good("show", path, "--json").values if value.get("protected")]


def test_words(tmp_path: Path) -> None:
    """Steps whole; the context shows a lock."""
    path = small(tmp_path)
    ran = good("protect", path, "4")
    assert ran.err == "also taken, since a call and its result stay together: 3\nProtected 3-4.\n"
    assert ops(path)[0]["ids"] == "3-4" and locked(path) == [1, 3, 4]
    assert good("show", path, "3", "--oneline").text.count("🔒") == 1


def test_again(tmp_path: Path) -> None:
    """Protected already: exit 0, nothing appended."""
    path = small(tmp_path)
    good("protect", path, "5")
    before = path.read_bytes()
    assert good("protect", path, "5").err == "Already protected: 5. Nothing appended.\n"
    assert path.read_bytes() == before


def test_by_criteria_never_asks(tmp_path: Path) -> None:
    """It takes nothing away, so nobody need be asked."""
    path = small(tmp_path)
    good("protect", path, "--role", "user")
    assert locked(path) == [1, 2, 6, 10]
