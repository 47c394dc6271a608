"""Ranks come from installed packages alone, and are what tiktoken publishes."""

from __future__ import annotations

import gzip
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxkit.tokens import ranks


@pytest.mark.parametrize(("name", "size"), [("o200k_base", 199_998), ("cl100k_base", 100_256)])
def test_described_without_network(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No socket is opened, and nothing but the name of tiktoken's own declaration is needed."""
    monkeypatch.setattr(socket, "socket", None)
    found = ranks.described(name)
    assert (found["name"], len(found["mergeable_ranks"])) == (name, size)
    assert ranks.carried(name) and not ranks.carried("r50k_base")


def test_a_wrong_hash_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One changed byte, and the file counts as missing."""

    def files(name: str, url: str) -> Iterator[Path]:
        bad = tmp_path / "bad.gz"
        bad.write_bytes(gzip.compress(b"IQ== 0\n"))
        yield bad

    monkeypatch.setattr(ranks, "_files", files)
    with pytest.raises(ranks.NoRanksError, match="no installed package"):
        ranks.described("o200k_base")


def test_the_first_good_file_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain file as well as a packed one."""
    real = list(ranks._files("cl100k_base", ranks.PUBLISHED + "cl100k_base" + ranks.SUFFIX))
    plain = tmp_path / "plain"
    plain.write_bytes(gzip.decompress(real[0].read_bytes()))
    bad = tmp_path / "bad"
    bad.write_bytes(b"x")
    monkeypatch.setattr(ranks, "_files", lambda name, url: iter([bad, plain]))
    assert ranks.described("cl100k_base")["mergeable_ranks"][b"!"] == 0
