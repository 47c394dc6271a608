"""A session after an op is read as the context that it was written from: of fixtures; `just reread` takes all files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.resume.exports import FIXTURES
from tests.resume.rereading import AGENTS, acts, difference

FOUND = {
    "claude-code": ("q20*", "q25*", "q26*", "q28*", "p77-*", "p123*"),
    "pi": ("aborted*", "context-edit-last*", "system-msg*", "role-system*"),
}
"""Sessions in which the law found differences: all that can be done to these, a sample of the others."""
OF_NO_MODEL = {("ids-of-another-model", "edit one: 4"), ("p123-tool-only-thinking-othermodel", "edit one: 4")}
"""An edited message does not say its model any more. Programs send ids and thinking of older messages by whether they
are of the newest one's model; the file names the session's."""
PATHS = [
    (agent, path)
    for agent in AGENTS
    for folder in (f"truth-{agent}", "programs")
    for path in sorted((FIXTURES / folder).glob("*.jsonl" if folder != "programs" else f"{agent}.jsonl"))
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("agent", "path"), PATHS, ids=lambda one: one.stem if isinstance(one, Path) else one)
def test_read_as_it_was_written(agent: str, path: Path) -> None:
    """Of every op, and of single messages."""
    known = path.parent.name == "programs" or any(path.match(glob) for glob in FOUND.get(agent, ()))
    listed = list(acts(path, 6 if known else 2))
    place = sum(path.stem.encode())  # another share of the ops for each file
    for at, (_, name, act) in enumerate(listed):
        if (path.stem, name) not in OF_NO_MODEL and (known or (at + place) % 8 == 0):
            assert not difference(agent, path, act), name
