"""The built wheel, as a user gets it."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.full("builds and installs the wheel")
@pytest.mark.slow
def test_wheel_in_an_empty_environment() -> None:
    """Installed with its runtime dependencies alone, the wheel runs three commands."""
    run = subprocess.run(
        ["sh", str(ROOT / "tests/smoke.sh")],
        # the real home: pip's own configuration says where packages come from
        env={**os.environ, "PYTHON": sys.executable, "HOME": pwd.getpwuid(os.getuid()).pw_dir},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert [line.split(":")[0] for line in run.stdout.splitlines()[-2:]] == ["show", "mark"]
