"""Which Python a program gets, and what is said where there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ctxkit.formats.chat_programs import PROGRAMS
from tests.loaders import __main__ as main
from tests.loaders import install


def test_the_programs_of_the_table() -> None:
    """Each is judged by its own loader, in the version that the table names."""
    assert {(one.program, f"PyPI {one.package} {one.version}") for one in install.PACKED} == {
        (one.name, one.source) for one in PROGRAMS
    }
    for one in install.PACKED:
        assert (main.PROBES / f"{one.probe}.py").is_file()


def test_the_first_python_that_is_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that does not start, as a shim of pyenv may, is passed over; none is an error that says what is missing."""
    broken = tmp_path / "python3.12"
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    monkeypatch.setattr(install, "pythons", lambda: iter([str(broken), sys.executable]))
    assert install.python((3, 11)) == sys.executable
    with pytest.raises(install.NoPythonError, match="no Python 4"):
        install.python((4, 0))


def test_what_could_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a Python it is named, and no failure; a program that cannot be installed is one."""
    monkeypatch.setattr(sys, "argv", ["loaders", "--cache", str(tmp_path), "--only", "mistral-vibe"])
    monkeypatch.setattr(install, "pythons", lambda: iter(()))
    assert main.main() == 0
    assert "not run: no Python 3.12" in capsys.readouterr().out
    monkeypatch.setattr(install, "python", lambda oldest: sys.executable)
    monkeypatch.setattr(install, "_pip", lambda python, *words: "ERROR: no network")
    assert main.main() == 1
    assert "not installed: ERROR: no network" in capsys.readouterr().out
