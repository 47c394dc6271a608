"""Names that commands have elsewhere lead to what they are called here."""

from __future__ import annotations

import pytest

from ctxkit.cli.registry import COMMANDS
from ctxkit.cli.wrong_names import COMMAND_OF, MEANT, OTHERWISE, meant
from tests.cli.runner import ctxkit


def test_the_table() -> None:
    """Each leads to a command that there is; none is a command, and none stands twice."""
    assert MEANT.keys() <= COMMANDS.keys()
    names = [name for group in MEANT.values() for name in group]
    assert len(names) == len(set(names)) and not (set(names) | OTHERWISE.keys()) & COMMANDS.keys()
    assert not COMMAND_OF.keys() & OTHERWISE.keys()


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("ls", "ctxkit sessions?"), ("list", "ctxkit sessions?"), ("search", "ctxkit recall?"),
        ("grep", "ctxkit recall?"), ("view", "ctxkit show?"), ("tokens", "ctxkit status?"),
        ("count", "ctxkit status?"), ("prune", "ctxkit forget?"), ("delete", "ctxkit forget?"),
        ("drop", "ctxkit forget?"), ("rm", "ctxkit forget?"), ("pin", "ctxkit protect?"), ("info", "ctxkit status?"),
        ("version", "ctxkit --version?"), ("SHOW", "ctxkit show?"), ("shwo", "ctxkit show?"), ("qqq", ""),
        ("salvage", "ctxkit recover LOG -o NEW?"),
        ("checkpoint", "ctxkit snapshot --light?"),
        ("agents", "ctxkit status --by agent?"), ("redo", "ctxkit undo --redo?"),
        ("unprotect", "ctxkit protect --off?"), ("completion", "ctxkit help --completion SHELL?"),
    ],
)  # fmt: skip
def test_meant(typed: str, hint: str) -> None:
    """By the table, by the case of letters, by spelling; else nothing."""
    assert meant(typed, COMMANDS) == hint
    ran = ctxkit(typed)
    assert ran.code == 2 and (hint or "--help lists them") in ran.err
    assert ctxkit("help", typed).code == 2
