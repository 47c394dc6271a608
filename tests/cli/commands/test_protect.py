"""protect: what no rule may take away; --off: protection goes."""

from __future__ import annotations

from pathlib import Path

from tests.cli.runner import ctxkit, good, ops, small


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


def test_off(tmp_path: Path) -> None:
    """Steps whole; not protected: exit 0, nothing appended."""
    path = small(tmp_path)
    good("protect", path, "3")
    assert good("protect", path, "4", "--off").err.endswith("No longer protected: 3-4.\n")
    assert locked(path) == [1]
    before = path.read_bytes()
    assert good("protect", path, "4", "--off").err == "Not protected: 3-4. Nothing appended.\n"
    assert path.read_bytes() == before


def test_off_for_the_preamble(tmp_path: Path) -> None:
    """Only by --force; then a forget takes it."""
    path = small(tmp_path)
    assert ctxkit("protect", path, "1", "--off").code == 2
    good("protect", path, "1", "--force", "--off")
    assert locked(path) == []
    good("forget", path, "1")


def test_force_is_for_off(tmp_path: Path) -> None:
    """Nothing has to be forced to protect."""
    path = small(tmp_path)
    ran = ctxkit("protect", path, "5", "--force")
    assert ran.code == 2 and "--force belongs to --off: nothing was changed" in ran.err


def test_off_for_the_first_message(tmp_path: Path) -> None:
    """Its automatic protection can be taken, once."""
    path = small(tmp_path)
    assert good("protect", path, "2", "--off").err == "No longer protected: 2.\n"
    assert "Not protected" in good("protect", path, "2", "--off").err
