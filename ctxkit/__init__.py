"""ctxkit: Unix commands for the context of LLM conversations, over an append-only log.

The public API: `from ctxkit import Log`, `enforce_context_limit`, the errors. Names are imported when they are used, so
`import ctxkit` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxkit.version import VERSION as __version__

if TYPE_CHECKING:
    from ctxkit.changes.filter_context import filter_context, filter_context_tool
    from ctxkit.core.select import Selection
    from ctxkit.errors import BadConfig, BadMessage, BadTools, CtxkitError, DoesNotFit, ExitCode, NothingToSend
    from ctxkit.fitting import Cut, Fitted, Tokens, enforce_context_limit, estimate_tokens, trim_conversation
    from ctxkit.log import Log
    from ctxkit.prompting import Prompt, build_final_prompt
    from ctxkit.search.sessions import Found, Session, find_sessions
    from ctxkit.summarizing import Summarized, summarize_context

_WHERE = {
    "Log": "ctxkit.log",
    "Selection": "ctxkit.core.select",
    "estimate_tokens": "ctxkit.fitting",
    "enforce_context_limit": "ctxkit.fitting",
    "trim_conversation": "ctxkit.fitting",
    "Tokens": "ctxkit.fitting",
    "Fitted": "ctxkit.fitting",
    "Cut": "ctxkit.fitting",
    "build_final_prompt": "ctxkit.prompting",
    "Prompt": "ctxkit.prompting",
    "summarize_context": "ctxkit.summarizing",
    "Summarized": "ctxkit.summarizing",
    "filter_context": "ctxkit.changes.filter_context",
    "filter_context_tool": "ctxkit.changes.filter_context",
    "find_sessions": "ctxkit.search.sessions",
    "Found": "ctxkit.search.sessions",
    "Session": "ctxkit.search.sessions",
    "CtxkitError": "ctxkit.errors",
    "DoesNotFit": "ctxkit.errors",
    "BadMessage": "ctxkit.errors",
    "BadTools": "ctxkit.errors",
    "NothingToSend": "ctxkit.errors",
    "BadConfig": "ctxkit.errors",
    "ExitCode": "ctxkit.errors",
}

__all__ = [
    "BadConfig",
    "BadMessage",
    "BadTools",
    "CtxkitError",
    "Cut",
    "DoesNotFit",
    "ExitCode",
    "Fitted",
    "Found",
    "Log",
    "NothingToSend",
    "Prompt",
    "Selection",
    "Session",
    "Summarized",
    "Tokens",
    "__version__",
    "build_final_prompt",
    "enforce_context_limit",
    "estimate_tokens",
    "filter_context",
    "filter_context_tool",
    "find_sessions",
    "summarize_context",
    "trim_conversation",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _WHERE:
        raise AttributeError(f"module 'ctxkit' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    """The public names, also those that were not used yet."""
    return sorted({*globals(), *__all__})
