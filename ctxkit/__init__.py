"""ctxkit: Unix commands for the context of LLM conversations, over an append-only log.

The public API: `from ctxkit import Log`, `Selection`, the errors. Names are imported when they are used, so `import
ctxkit` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxkit.version import VERSION as __version__

if TYPE_CHECKING:
    from ctxkit.core.select import Selection
    from ctxkit.errors import CtxkitError, ExitCode
    from ctxkit.log import Log

_WHERE = {
    "Log": "ctxkit.log",
    "Selection": "ctxkit.core.select",
    "CtxkitError": "ctxkit.errors",
    "ExitCode": "ctxkit.errors",
}

__all__ = ["CtxkitError", "ExitCode", "Log", "Selection", "__version__"]


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _WHERE:
        raise AttributeError(f"module 'ctxkit' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_WHERE[name]), name)
