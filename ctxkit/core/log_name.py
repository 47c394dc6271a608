"""Pure. The names of a log whose program compresses it, as Codex does with rollouts that were not used for long."""

from __future__ import annotations

COMPRESSED = ".zst"
"""What is added to the name of a compressed file."""


def plain_name(name: str) -> str:
    """The name, or the path, that a file has when it is not compressed. Under both it is the same log."""
    return name.removesuffix(COMPRESSED)
