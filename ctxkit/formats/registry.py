"""The registry of formats: their names, descriptions, and where programs keep their sessions.

A new format is a file (or folder) and one entry here; `detection.py` finds the format of a log.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, cast

from ctxkit.errors import Usage
from ctxkit.formats.base import Format

CONTAINED = "messages"
"""Chat messages in something bigger, which `formats/containers.py` finds."""


class SessionFolder(NamedTuple):
    """Where a program keeps its sessions.

    `variable`: the environment variable with its folder, "" for none; `folder`: the default, below the home; `inside`:
    the folder of the sessions in it; `retired`: the one of sessions that the user archived, side by side, "" for none.
    """

    variable: str
    folder: str
    inside: str
    retired: str = ""

    def path(self, env: Mapping[str, str]) -> Path:
        """The folder of the sessions in the environment `env`."""
        home = env.get("HOME") or os.path.expanduser("~")
        return Path(env.get(self.variable, "") or os.path.join(home, self.folder), self.inside)


class FormatEntry(NamedTuple):
    """A format that can be read, or a provider's name, which stands for all its formats.

    `what`: a description; `kept`, `lost`: which of its own information is kept when it is read, and which is not.
    `module`: holds its `FORMAT`; imported when first needed. `home`: where its program keeps its sessions. `detected`:
    recognized by its first records; else another module finds it. `shapes`: of a provider, the formats of its logs.
    """

    name: str
    what: str
    kept: str
    lost: str
    module: str = ""
    home: SessionFolder | None = None
    detected: bool = True
    shapes: tuple[str, ...] = ()


FORMATS: dict[str, FormatEntry] = {
    entry.name: entry
    for entry in (
        FormatEntry(
            "claude-code",
            "a session file of Claude Code",
            "branches, sidechains, compactions, thinking, attachments",
            "the wording of old reminders",
            "ctxkit.formats.claude_code",
            home=SessionFolder("CLAUDE_CONFIG_DIR", ".claude", "projects"),
        ),
        FormatEntry(
            "codex",
            "a rollout file of Codex",
            "compactions, rollbacks, reasoning",
            "events, which say most things a second time",
            "ctxkit.formats.codex",
            home=SessionFolder("CODEX_HOME", ".codex", "sessions", "archived_sessions"),
        ),
        FormatEntry(
            "pi",
            "a session file of pi, versions 1 to 3",
            "branches, compactions, context edits, labels as marks",
            "costs",
            "ctxkit.formats.pi",
            home=SessionFolder("PI_CODING_AGENT_DIR", ".pi/agent", "sessions"),
        ),
        FormatEntry(
            "gemini-cli",
            "a session file of Gemini CLI, `.jsonl` or `.json`",
            "updates, rewinds, calls with their results",
            "notices; thoughts are shown, not sent",
            "ctxkit.formats.gemini_cli",
            home=SessionFolder("", ".gemini", "tmp"),
        ),
        FormatEntry(
            "copilot-cli",
            "`events.jsonl` of a session of Copilot CLI",
            "compactions, rewinds, subagents, system prompts",
            "hooks, permissions, truncations",
            "ctxkit.formats.copilot_cli",
            home=SessionFolder("", ".copilot", "session-state"),
        ),
        FormatEntry(
            "opencode",
            "what `opencode export` prints",
            "compactions, a revert, calls with their results",
            "steps, snapshots, patches; a revert within a message",
            "ctxkit.formats.opencode",
        ),
        FormatEntry(
            "qwen-code",
            "a session file of Qwen Code",
            "branches, compressions, calls with their results",
            "telemetry, commands",
            "ctxkit.formats.qwen_code",
            home=SessionFolder("", ".qwen", "projects"),
        ),
        FormatEntry(
            "cursor",
            "a transcript of an agent of Cursor",
            "words and calls",
            "how a turn ended; Cursor writes no results",
            "ctxkit.formats.cursor",
            home=SessionFolder("", ".cursor", "projects"),
        ),
        FormatEntry(
            "goose",
            "a session file of Goose before 1.10",
            "all of the messages",
            "figures of the session",
            "ctxkit.formats.goose",
            home=SessionFolder("", ".local/share/goose", "sessions"),
        ),
        FormatEntry(
            "droid",
            "a session file of Factory Droid",
            "all of the messages, calls with their results",
            "compactions: the whole history is read; settings, todos",
            "ctxkit.formats.droid",
        ),
        FormatEntry(
            "amp",
            "a thread of Amp",
            "all of the messages, results",
            "everything around them",
            "ctxkit.formats.amp",
            home=SessionFolder("", ".local/share/amp", "threads"),
        ),
        FormatEntry(
            "continue",
            "a session of Continue",
            "messages, results of calls",
            "context items, logs of prompts",
            "ctxkit.formats.continue_dev",
            home=SessionFolder("CONTINUE_GLOBAL_DIR", ".continue", "sessions"),
        ),
        FormatEntry(
            "claude-history",
            "`history.jsonl` of Claude Code, the prompts of all its sessions",
            "prompts, pasted texts, the session of each as its thread",
            "pictures, and pasted texts over 1,024 characters, which it keeps elsewhere",
            "ctxkit.formats.claude_history",
        ),
        FormatEntry(
            "responses",
            "items of OpenAI's Responses: a line each, an array, a request, a response",
            "all items, instructions",
            "tools and settings of the request",
            "ctxkit.formats.response_log",
        ),
        FormatEntry(
            "gemini",
            "contents of Gemini: a request, a response, an array, a line each",
            "all contents, the system instruction",
            "tools and settings of the request",
            "ctxkit.formats.gemini_log",
        ),
        FormatEntry("chat", "a chat message per line, ctxkit's own log", "all", "nothing", "ctxkit.formats.chat"),
        FormatEntry(
            CONTAINED,
            "chat messages inside of something bigger",
            "all of the messages",
            "everything around them",
            "ctxkit.formats.containers",
            detected=False,
        ),
        FormatEntry(
            "openai",
            "whatever OpenAI's APIs take and give: chat messages, fine-tuning, batches, Responses",
            "as `chat`, `messages` and `responses`",
            "tools and settings; answers that were not preferred",
            shapes=("responses", "chat", CONTAINED),
        ),
        FormatEntry(
            "anthropic",
            "what Anthropic's Messages API takes and gives: requests, responses, messages, batches",
            "as `chat` and `messages`",
            "tools and settings",
            shapes=("chat", CONTAINED),
        ),
    )
}
"""Name -> format, in the order of detection. (opencode keeps a database.)"""

DETECTED = tuple(name for name, entry in FORMATS.items() if entry.module and entry.detected)
"""The formats that are recognized by a log's first records."""
FAMILIES = {name: entry.shapes for name, entry in FORMATS.items() if entry.shapes}
"""Provider -> its formats."""
HOMES = {name: entry.home for name, entry in FORMATS.items() if entry.home is not None}
"""Formats whose programs keep their sessions in a folder."""


def by_name(name: str) -> Format:
    """The format with that name. Raises Usage for any other name."""
    require_known(name)
    if name not in FORMATS or name in FAMILIES:
        raise Usage(f"{name} is not the name of one format", f"there are: {', '.join(DETECTED)}")
    return cast(Format, import_module(FORMATS[name].module).FORMAT)


def require_known(name: str) -> None:
    """Raises Usage for a name that is neither a format nor `auto`."""
    if name not in (*names(), "auto"):
        raise Usage(f"no format is called {name}", f"there are: auto, {', '.join(names())}")


def names() -> tuple[str, ...]:
    """All formats that can be read, ctxkit's own first."""
    return ("chat", CONTAINED, *(name for name in DETECTED if name != "chat"), *FAMILIES)


def fits(asked: str, found: str) -> bool:
    """Whether `asked` names the format `found`: by its name, its provider's name, or `auto`."""
    return asked in ("auto", found) or found in FAMILIES.get(asked, ())


def hint() -> str:
    """The hint for an unknown format: all names."""
    return f"formats: {', '.join(names())}; --from FORMAT reads it as one of them"
