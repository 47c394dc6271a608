"""The formats that there are: their names, what is said of each, and where programs keep their sessions.

A new format is a file (or folder) and one line here; `detection.py` tells which one a log has.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from ctxkit.errors import Usage
from ctxkit.formats.base import Format

REGISTRY: dict[str, str] = {
    "claude-code": "ctxkit.formats.claude_code",
    "codex": "ctxkit.formats.codex",
    "pi": "ctxkit.formats.pi",
    "gemini-cli": "ctxkit.formats.gemini_cli",
    "copilot-cli": "ctxkit.formats.copilot_cli",
    "opencode": "ctxkit.formats.opencode",
    "qwen-code": "ctxkit.formats.qwen_code",
    "cursor": "ctxkit.formats.cursor",
    "goose": "ctxkit.formats.goose",
    "amp": "ctxkit.formats.amp",
    "continue": "ctxkit.formats.continue_dev",
    "responses": "ctxkit.formats.response_log",
    "gemini": "ctxkit.formats.gemini_log",
    "chat": "ctxkit.formats.chat",
}
"""Name -> the module whose `FORMAT` it is, in the order in which they are asked. Imported when first needed."""

CONTAINED = "messages"
"""Chat messages in something bigger, which `formats/containers.py` finds."""

FAMILIES: dict[str, tuple[str, ...]] = {"openai": ("responses", "chat", CONTAINED), "anthropic": ("chat", CONTAINED)}
"""Names of providers, which stand for every shape that theirs has: the formats that a log of theirs may be of."""

ABOUT: dict[str, tuple[str, str, str]] = {
    "chat": ("a chat message per line, ctxkit's own log", "all", "nothing"),
    CONTAINED: ("chat messages inside of something bigger", "all of the messages", "what stands around them"),
    "claude-code": (
        "a session file of Claude Code",
        "branches, sidechains, compactions, thinking, attachments",
        "the wording of old reminders",
    ),
    "codex": (
        "a rollout file of Codex",
        "compactions, rollbacks, reasoning",
        "events, which say most things a second time",
    ),
    "pi": ("a session file of pi, versions 1 to 3", "branches, compactions, context edits, labels as marks", "costs"),
    "gemini-cli": (
        "a session file of Gemini CLI, `.jsonl` or `.json`",
        "updates, rewinds, calls with their results",
        "notices; thoughts are shown, not sent",
    ),
    "copilot-cli": (
        "`events.jsonl` of a session of Copilot CLI",
        "compactions, rewinds, subagents, system prompts",
        "hooks, permissions, truncations",
    ),
    "opencode": (
        "what `opencode export` prints",
        "compactions, a revert, calls with their results",
        "steps, snapshots, patches; a revert within a message",
    ),
    "qwen-code": (
        "a session file of Qwen Code",
        "branches, compressions, calls with their results",
        "telemetry, commands",
    ),
    "cursor": ("a transcript of an agent of Cursor", "words and calls", "how a turn ended; Cursor writes no results"),
    "goose": ("a session file of Goose before 1.10", "all of the messages", "figures of the session"),
    "amp": ("a thread of Amp", "all of the messages, results", "what stands around them"),
    "continue": ("a session of Continue", "messages, results of calls", "context items, logs of prompts"),
    "responses": (
        "items of OpenAI's Responses: a line each, an array, a request, a response",
        "all items, instructions",
        "tools and settings of the request",
    ),
    "gemini": (
        "contents of Gemini: a request, a response, an array, a line each",
        "all contents, the system instruction",
        "tools and settings of the request",
    ),
    "openai": (
        "whatever OpenAI's APIs take and give: chat messages, fine-tuning, batches, Responses",
        "as `chat`, `messages` and `responses`",
        "tools and settings; answers that were not preferred",
    ),
    "anthropic": (
        "what Anthropic's Messages API takes and gives: requests, responses, messages, batches",
        "as `chat` and `messages`",
        "tools and settings",
    ),
}
"""Name -> what it is, what of its own is kept, what is not: the table of docs/formats.md."""

HOMES: dict[str, tuple[str, str, str]] = {
    "claude-code": ("CLAUDE_CONFIG_DIR", ".claude", "projects"),
    "codex": ("CODEX_HOME", ".codex", "sessions"),
    "pi": ("PI_CODING_AGENT_DIR", ".pi/agent", "sessions"),
    "gemini-cli": ("", ".gemini", "tmp"),
    "copilot-cli": ("", ".copilot", "session-state"),
    "qwen-code": ("", ".qwen", "projects"),
    "cursor": ("", ".cursor", "projects"),
    "goose": ("", ".local/share/goose", "sessions"),
    "amp": ("", ".local/share/amp", "threads"),
    "continue": ("CONTINUE_GLOBAL_DIR", ".continue", "sessions"),
}
"""Name -> where its program keeps its sessions: the variable that names its folder ("" for none), that folder else,
below the home, and the folder of the sessions in it. (opencode keeps a database.)
"""


def by_name(name: str) -> Format:
    """The format with that name. Raises Usage for a name that is not in the registry."""
    known(name)
    if name == CONTAINED:
        return cast(Format, import_module("ctxkit.formats.containers").FORMAT)
    return cast(Format, import_module(REGISTRY[name]).FORMAT)


def known(name: str) -> None:
    """Raises Usage for what is neither the name of a format nor `auto`."""
    if name not in (*names(), "auto"):
        raise Usage(f"no format is called {name}", f"there are: auto, {', '.join(names())}")


def names() -> tuple[str, ...]:
    """All formats that can be read, ours first."""
    return ("chat", CONTAINED, *(name for name in REGISTRY if name != "chat"), *FAMILIES)


def fits(asked: str, found: str) -> bool:
    """Whether a log of the format `found` is what `asked` names: it, a provider's name for it, or `auto`."""
    return asked in ("auto", found) or found in FAMILIES.get(asked, ())


def hint() -> str:
    """What to do where no format was told."""
    return f"formats: {', '.join(names())}; --from FORMAT reads it as one of them"
