"""truncate: the last resort. Messages are replaced by a line that says which; it can be told again without some."""

from __future__ import annotations

from ctxkit.core.names import Names


def left_out(names: Names) -> str:
    """The whole text of the strategy `truncate` (REPLAY 42)."""
    return f"[messages {str(names).replace(',', ', ')} left out]"
