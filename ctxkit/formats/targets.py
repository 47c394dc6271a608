"""Export targets: what a context can be written as, one entry each.

`export`, its help and completion, the limits of pictures, docs, tests and benchmarks read them here. A new target is a
module of `formats/` with a function `body`, and an entry; for a session, a format that writes (`SessionFormat`), and an
entry.
"""

from __future__ import annotations

from importlib import import_module
from typing import Literal, Protocol, cast

import msgspec

from ctxkit.errors import Usage
from ctxkit.formats.bodies import BodyWriter


class ExportTarget(msgspec.Struct, frozen=True):
    """One thing that a context can be written as.

    `what`: a description. `kind`: chat lines, the body of a provider's request, or a session file that a program
    continues. `writer`: for a request, the module whose `body` writes it; a session is written by the format of the
    same name. `key`: the key of the messages in a body; `unit`: the name of one of them. `program`: the program that
    itself sends such requests: its log is sent as it would send it. `provider`: whose limits apply, "" for those of the
    model's maker; `compatible`: other providers take it, too, with their own limits. `own_prefix`: it can have the
    system prompt and the tools of the log's own requests. `thinking`: as what a request holds thinking: fields of
    messages, items, or blocks and parts of their content.
    """

    name: str
    what: str
    kind: Literal["lines", "request", "session"]
    writer: str = ""
    key: str = "messages"
    unit: str = "message"
    program: str = ""
    provider: str = ""
    compatible: bool = False
    own_prefix: bool = False
    thinking: Literal["fields", "items", "blocks", "parts", ""] = ""

    @property
    def takes_system(self) -> bool:
        """Whether it includes the assembly: a system prompt, docs, the status of threads."""
        return self.kind == "request"

    def load(self) -> BodyWriter:
        """The function that writes the body of a request. Only its module is imported."""
        return cast(_Writer, import_module(self.writer)).body


class _Writer(Protocol):
    body: BodyWriter


TARGETS: dict[str, ExportTarget] = {
    target.name: target
    for target in (
        ExportTarget("chat", "JSON lines, a message each", "lines"),
        ExportTarget(
            "openai", "chat completions", "request", "ctxkit.formats.openai", provider="openai", compatible=True,
            thinking="fields",
        ),
        ExportTarget(
            "responses", "OpenAI's Responses", "request", "ctxkit.formats.responses", key="input", unit="item",
            program="codex", provider="openai", compatible=True, thinking="items",
        ),
        ExportTarget(
            "anthropic", "Messages", "request", "ctxkit.formats.anthropic", provider="anthropic", own_prefix=True,
            thinking="blocks",
        ),
        ExportTarget(
            "gemini", "generateContent", "request", "ctxkit.formats.gemini", key="contents", provider="gemini",
            thinking="parts",
        ),
        ExportTarget("claude-code", "a session of Claude Code", "session", provider="anthropic"),
        ExportTarget("codex", "a session of Codex", "session", provider="openai"),
        ExportTarget("pi", "a session of pi", "session"),
        ExportTarget("gemini-cli", "a session of Gemini CLI", "session", provider="gemini"),
    )
}  # fmt: skip
"""Name -> target, in the order of help."""

REQUESTS = tuple(target.name for target in TARGETS.values() if target.kind == "request")
OWN_PREFIX = tuple(target.name for target in TARGETS.values() if target.own_prefix)
SESSIONS = tuple(target.name for target in TARGETS.values() if target.kind == "session")


def by_name(name: str) -> ExportTarget:
    """The target with that name. Raises Usage if there is none."""
    if name not in TARGETS:
        raise Usage(f"no export target is called {name}: nothing was written", f"there are: {', '.join(TARGETS)}")
    return TARGETS[name]


def no_session(name: str) -> ExportTarget:
    """The target with that name, chat lines or a request. Raises Usage also for a session."""
    target = by_name(name)
    if target.kind == "session":
        raise Usage(f"{name} is a session file, not a request: nothing was written", "Log.session writes it")
    return target


def described(names: tuple[str, ...]) -> str:
    """A list for messages: `openai (chat completions), responses (OpenAI's Responses)`."""
    return ", ".join(f"{name} ({TARGETS[name].what})" for name in names)
