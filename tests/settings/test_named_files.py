"""The files that a setting names: listed or told why not, and their texts."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from ctxkit.errors import NoPermission
from ctxkit.settings.keys import key_of
from ctxkit.settings.named_files import LARGEST, configured_files, decoded, missing
from tests.cli.runner import ctxkit, good, small


def test_decoded() -> None:
    """Text as it stands there, but for its mark of byte order and the kind of its line ends."""
    assert decoded("\ufeffä\r\nb\n\n".encode()) == "ä\nb"
    with pytest.raises(ValueError, match="larger"):
        decoded(b"x" * (LARGEST + 1))


@pytest.mark.parametrize("where", ["docs", "docs/in"])
def test_a_folder_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """The one that was named is refused with its name, one below it is left out and told: neither reads as empty."""
    (tmp_path / "docs/in").mkdir(parents=True)
    (tmp_path / "docs/a.md").write_text("words")
    (tmp_path / "docs/in/b.md").write_text("more words")
    scandir = os.scandir

    def locked(path: object) -> object:
        if str(path).rstrip("/") == str(tmp_path / where):
            raise PermissionError(errno.EACCES, "Permission denied")
        return scandir(path)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "scandir", locked)
    if where == "docs":
        with pytest.raises(NoPermission, match="the folder cannot be listed: permission denied"):
            configured_files(tmp_path, "docs", several=True)
        assert list(missing(tmp_path, key_of("assembly.docs"), ["docs"])) == [
            "docs: the folder cannot be listed: permission denied"
        ]
        return
    found = configured_files(tmp_path, "docs", several=True)
    assert [name for name, _ in found.files] == ["docs/a.md"]
    text = "docs/in: the folder cannot be listed: permission denied"
    assert found.left_out == [f"{text}: left out"]
    assert list(missing(tmp_path, key_of("assembly.docs"), ["docs"])) == []
    assert list(missing(tmp_path, key_of("assembly.docs"), ["docs"], below=True)) == [text]
    path = small(tmp_path)
    good("config", path, "set", "assembly.docs", "docs")
    ran = ctxkit("check", path)
    assert ran.code == 1 and f"assembly.docs: {text}" in ran.text, ran
