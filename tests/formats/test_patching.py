"""Patches of a log's bytes."""

from __future__ import annotations

import pytest

from ctxkit.formats.patching import Patch, patched

LOG = b"{1}\n\n{2}{3}\r\nnoise\n{4}"


def at(piece: bytes) -> int:
    """Where it stands."""
    return LOG.index(piece)


@pytest.mark.parametrize(
    ("patches", "made"),
    [
        ([], LOG),
        ([Patch(at(b"{1}"), 1, 3, b"")], b"\n{2}{3}\r\nnoise\n{4}"),
        ([Patch(at(b"{2}"), 1, 3, b"")], b"{1}\n\n{3}\r\nnoise\n{4}"),
        ([Patch(at(b"{3}"), 1, 3, b"")], b"{1}\n\n{2}\r\nnoise\n{4}"),
        ([Patch(at(b"{2}"), 1, 3, b""), Patch(at(b"{3}"), 1, 3, b"")], b"{1}\n\nnoise\n{4}"),
        ([Patch(at(b"{4}"), 1, 3, b"")], b"{1}\n\n{2}{3}\r\nnoise\n"),
        ([Patch(at(b"{3}"), 1, 3, b"{five}")], b"{1}\n\n{2}{five}\r\nnoise\n{4}"),
        ([Patch(len(LOG), 0, 0, b"{5}\n"), Patch(len(LOG), 1, 0, b"{6}\n")], LOG + b"\n{5}\n{6}\n"),
        ([Patch(at(b"{2}"), 0, 0, b"{5}\n"), Patch(at(b"{2}"), 9, 3, b"")], b"{1}\n\n{5}\n{3}\r\nnoise\n{4}"),
        ([Patch(at(b"{3}"), 0, 0, b"{5}\n")], b"{1}\n\n{2}\n{5}\n{3}\r\nnoise\n{4}"),
    ],
)
def test_patches(patches: list[Patch], made: bytes) -> None:
    """A record goes with its line, one among others on its line alone; what comes in is a line of its own."""
    assert b"".join(patched(lambda offset, size: LOG[offset : offset + size], len(LOG), sorted(patches))) == made
