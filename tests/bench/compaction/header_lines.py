"""Lines of the state at the head of a summary, with the right answer: what each should say at a place of a session.

`header_lines.toml` was written from the sessions by hand, before the code was run on them. A case has these keys:

- `session`: the file, below the shared transcripts; `cut`: how many of its messages there are.
- `line`: which line is asked for, a key of `LINES`; `trap`: what makes it hard, or `ordinary`.
- `says`: words that the line must have; none: there is nothing right to say. `never`: words that it must not have.
- `room`: tokens of the state, `ROOM` unless given.

The digest of the file is below: who changes a case, changes it too.
"""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path
from typing import NamedTuple

PATH = Path(__file__).with_name("header_lines.toml")
DIGEST = "4f0f33f6a8ccb3f40d8934420f9d1697150e1369351e2be981b3cfa6b82067b8"
ROOM = 600
"""Tokens: the state's share of a summary of 5,000."""
LINES = {
    "request": "Last request: ",
    "tasks": "Open tasks: ",
    "failing": "Failing: ",
    "edited": "Edited since ",
    "rules": "The user's rule: ",
}
"""How the lines begin that are asked for."""


class HeaderLine(NamedTuple):
    """A case. An empty `says` without `never` asks for silence."""

    id: str
    session: str
    cut: int
    line: str
    trap: str
    says: list[str]
    never: list[str]
    room: int


def cases() -> list[HeaderLine]:
    """All cases. Raises ValueError if the file is not what was committed."""
    raw = PATH.read_bytes()
    if hashlib.sha256(raw).hexdigest() != DIGEST:
        raise ValueError(f"{PATH.name} is not the file of its digest: answers are written before they are compared")
    return [HeaderLine(**{"never": [], "room": ROOM, **one}) for one in tomllib.loads(raw.decode())["case"]]
