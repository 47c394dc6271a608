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

    left = [one for one in claims.left_behind(os.environ, log) if one.why is None]
    return [claims.ended(claims.abnormal_end(one)) for one in left]
