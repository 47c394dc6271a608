"""The version."""

from __future__ import annotations

import re
from importlib import metadata

import pytest

from ctxkit.version import VERSION


def test_is_a_version() -> None:
    """The constant looks like a version."""
    assert re.fullmatch(r"\d+\.\d+\.\d+([ab]\d+|rc\d+|\.dev\d+)?", VERSION)


def test_installed_distribution_says_the_same() -> None:
    """What pip shows is what `--version` prints."""
    try:
        installed = metadata.version("ctxkit-cli")
    except metadata.PackageNotFoundError:
        pytest.skip("ctxkit-cli is not installed here")
    assert installed == VERSION
