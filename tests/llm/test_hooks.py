"""hooks: nothing is done where nobody says what."""

from __future__ import annotations

import subprocess
import sys
import time

from ctxkit.llm.hooks import Hooks


def test_defaults() -> None:
    """Nobody is told, and time is the machine's."""
    found = Hooks()
    assert (found.report, found.step, found.clock, found.sleep) == (None, None, time.monotonic, time.sleep)


def test_commands_that_may_ask_a_model_stay_light() -> None:
    """What makes a summary is loaded where one is made."""
    code = "import sys, ctxkit.cli.commands.snapshot; print('ctxkit.cut.summarize.ask_model' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
