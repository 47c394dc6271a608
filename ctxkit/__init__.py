"""ctxkit: Unix commands for the context of LLM conversations, over an append-only log.

The public API: `from ctxkit import Log`, `enforce_context_limit`, the errors. Names are imported when they are used, so
`import ctxkit` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxkit.version import VERSION as __version__

if TYPE_CHECKING:
    from ctxkit.api.fit import (
        Cut,
        Fitted,
        Tokens,
        enforce_context_limit,
        estimate_tokens,
        shorten_result,
        trim_conversation,
    )
    from ctxkit.api.log import Log
    from ctxkit.api.prompt import Prompt, build_final_prompt
    from ctxkit.api.rolling import (
        AsyncRollingContext,
        ContextCut,
        ContextFile,
        RecalledMessage,
        RollingContext,
        RollingStatus,
        ShownMessage,
    )
    from ctxkit.api.summarize import Summarized, summarize_context
    from ctxkit.changes.filter_context import filter_context, filter_context_tool
    from ctxkit.core.select import Selection
    from ctxkit.errors import BadConfig, BadMessage, BadTools, CtxkitError, DoesNotFit, ExitCode, NothingToSend
    from ctxkit.llm.hooks import Hooks
    from ctxkit.memory.memory import Memory
    from ctxkit.search.sessions import Found, Session, find_sessions

_WHERE = {
    "Log": "ctxkit.api.log",
    "Selection": "ctxkit.core.select",
    "estimate_tokens": "ctxkit.api.fit",
    "shorten_result": "ctxkit.api.fit",
    "enforce_context_limit": "ctxkit.api.fit",
    "trim_conversation": "ctxkit.api.fit",
    "Tokens": "ctxkit.api.fit",
    "Fitted": "ctxkit.api.fit",
    "Cut": "ctxkit.api.fit",
    "build_final_prompt": "ctxkit.api.prompt",
    "Prompt": "ctxkit.api.prompt",
    "RollingContext": "ctxkit.api.rolling",
    "AsyncRollingContext": "ctxkit.api.rolling",
    "ContextCut": "ctxkit.api.rolling",
    "ContextFile": "ctxkit.api.rolling",
    "RecalledMessage": "ctxkit.api.rolling",
    "RollingStatus": "ctxkit.api.rolling",
    "ShownMessage": "ctxkit.api.rolling",
    "summarize_context": "ctxkit.api.summarize",
    "Summarized": "ctxkit.api.summarize",
    "filter_context": "ctxkit.changes.filter_context",
    "filter_context_tool": "ctxkit.changes.filter_context",
    "Hooks": "ctxkit.llm.hooks",
    "Memory": "ctxkit.memory.memory",
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
    "AsyncRollingContext",
    "BadConfig",
    "BadMessage",
    "BadTools",
    "ContextCut",
    "ContextFile",
    "CtxkitError",
    "Cut",
    "DoesNotFit",
    "ExitCode",
    "Fitted",
    "Found",
    "Hooks",
    "Log",
    "Memory",
    "NothingToSend",
    "Prompt",
    "RecalledMessage",
    "RollingContext",
    "RollingStatus",
    "Selection",
    "Session",
    "ShownMessage",
    "Summarized",
    "Tokens",
    "__version__",
    "build_final_prompt",
    "enforce_context_limit",
    "estimate_tokens",
    "filter_context",
    "filter_context_tool",
    "find_sessions",
    "shorten_result",
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
