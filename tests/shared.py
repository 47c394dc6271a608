"""The folder of real transcripts and recorded requests, which is not part of the project."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

HERE = Path(__file__).resolve().parent
SHARED = Path(os.environ.get("CTXKIT_SHARED", HERE.parent.parent / "shared"))


def shared(name: str) -> Path:
    """The path of `name` in the shared folder; the test is skipped where it is missing."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} is not there (set CTXKIT_SHARED to the folder that holds it)")
    return path


def transcripts(*folders: str, under: int) -> list[Path]:
    """The real files of these formats that are smaller than so many bytes; none where the folder is not there."""
    found = (path for folder in folders for path in sorted((SHARED / "transcripts" / folder).glob("*")))
    return [path for path in found if path.stat().st_size < under]


def readers() -> set[str]:
    """The names of the loaded modules of tests that look into this folder, by themselves or by what they import."""
    modules = {name: vars(module).copy() for name, module in sys.modules.items() if name.startswith("tests.")}
    imported = {
        name: {one.__name__ if isinstance(one, ModuleType) else getattr(one, "__module__", "") for one in held.values()}
        for name, held in modules.items()
    }
    found = {name for name, held in modules.items() if held.get("SHARED") is SHARED} | {__name__}
    while more := {name for name in imported.keys() - found if imported[name] & found}:
        found |= more
    return found
