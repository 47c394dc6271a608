"""Libraries that .ci/full installs for the fleet: missing, a test is skipped; with CTXKIT_FLEET=all it fails."""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest


def library(name: str) -> Any:
    """The library, or the end of the module's tests."""
    if os.environ.get("CTXKIT_FLEET") == "all":
        return importlib.import_module(name)
    return pytest.importorskip(name, reason=f"{name} is not installed: .ci/full has it")
