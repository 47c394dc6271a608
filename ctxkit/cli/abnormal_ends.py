"""Reports sessions whose watcher was killed. `status`, `sessions` and `ctxkit` alone print them.

A session that seems to be at work is left out.
"""

from __future__ import annotations

import os
from pathlib import Path

from ctxkit.store.private import user_state


def abnormal_ends(log: Path | None = None) -> list[str]:
    """A line per session, of one log or of all: when it ended, the checkpoint, the command to type."""
    if not (user_state(os.environ) / "watch").is_dir():  # no watcher ever ran: import nothing
        return []
    from ctxkit.watch import claims

    ends = map(claims.abnormal_end, claims.left_behind(os.environ, log))
    return [claims.ended(one) for one in ends if one.at_work is None]
