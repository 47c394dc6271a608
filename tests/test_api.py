"""The public Python API is small, typed, and cheap to import."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

import ctxkit
from ctxkit import CtxkitError, Log
from tests.build import lines


def test_every_public_name_is_there() -> None:
    """What `__all__` promises can be imported."""
    for name in ctxkit.__all__:
        assert getattr(ctxkit, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    """As for any module."""
    with pytest.raises(AttributeError):
        _ = ctxkit.nothing


def test_importing_costs_nothing() -> None:
    """`import ctxkit` loads neither msgspec nor typer."""
    code = "import ctxkit, sys; print([m for m in ('msgspec', 'typer', 'ctxkit.api.log') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_commands_are_methods(tmp_path: Path) -> None:
    """A log is opened, changed and read again without any command line."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines("1-6"))
    log = Log.open(path)
    log.mark("here")
    op = log.forget("3-4")
    assert op is not None and op.name == "forget"
    assert log.names() == [1, 2, 5, 6]
    log.undo()
    assert log.names() == [1, 2, 3, 4, 5, 6]
    assert Log.open(path).names() == log.names()


def test_a_stream_is_copied_out_with_its_ops() -> None:
    """The pipe mode of the API."""
    raw = lines("1-4")
    log = Log.open(io.BytesIO(raw))
    log.forget([2])
    out = b"".join(log.copy_out())
    assert out.startswith(raw)
    assert out.count(b"\n") == 5


def test_refusals_are_one_class(tmp_path: Path) -> None:
    """Whatever is expected to fail is a CtxkitError with an exit code."""
    with pytest.raises(CtxkitError) as caught:
        Log.open(tmp_path / "missing.jsonl")
    assert int(caught.value.code) == 66
