"""The table of commands. Help, man pages, completion, docs and tests read it.

A command is one file in `cli/commands/` with a function `command` (its docstring is the help), and one line here.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from importlib import import_module
from typing import Any, NamedTuple

from ctxkit.errors import Usage
from ctxkit.store.folder import LOG_ENDINGS


class CommandEntry(NamedTuple):
    """A command: its name, its group in `ctxkit --help`, and its line there."""

    name: str
    group: str
    summary: str

    @property
    def writes(self) -> bool:
        """Whether it writes to a log or beside it: a script's `@` that may mean two sessions is refused.

        One that does so with some of its options only, as `check --accept`, calls `options.refuse_doubtful` there.
        """
        return self.group == "change" or self.name in ("snapshot", "tool", "config", "resume")

    @property
    def module(self) -> str:
        """The module that holds the command."""
        return f"ctxkit.cli.commands.{self.name}"

    def load(self) -> Any:
        """The function of the command. Imports its module, and no other command's."""
        return import_module(self.module).command


GROUPS = {"look": "Look", "change": "Change", "keep": "Keep", "live": "Live", "set": "Set", "about": "About ctxkit"}
"""A group of commands -> its title."""

COMMANDS: dict[str, CommandEntry] = {
    entry.name: entry
    for entry in (
        CommandEntry("show", "look", "print the context"),
        CommandEntry("status", "look", "how full the context is, and what is in it and out of it"),
        CommandEntry("log", "look", "list the ops, newest last, with what each did"),
        CommandEntry("diff", "look", "compare two states of a log, or two logs"),
        CommandEntry("why", "look", "why a message is in the context or out of it"),
        CommandEntry("recall", "look", "search the whole log; bring messages back"),
        CommandEntry("sessions", "look", "list the sessions below folders, newest first"),
        CommandEntry("sql", "look", "questions about many logs in SQL, and ready ones"),
        CommandEntry("cat", "look", "print a log with its sidecar's ops, to start a pipe"),
        CommandEntry("init", "change", "create a log and its sidecar"),
        CommandEntry("add", "change", "append a message"),
        CommandEntry("mark", "change", "set a point to rewind to"),
        CommandEntry("rewind", "change", "drop the messages that came after a mark"),
        CommandEntry("forget", "change", "take messages out of the context; the bytes stay"),
        CommandEntry("remember", "change", "keep only these messages"),
        CommandEntry("clear", "change", "empty the context; nothing leaves the log"),
        CommandEntry("compact", "change", "replace old messages by a summary of them"),
        CommandEntry("trim", "change", "make the context fit a budget, by rules"),
        CommandEntry("edit", "change", "edit the whole history in an editor"),
        CommandEntry("restore", "change", "bring a snapshot back into the context"),
        CommandEntry("protect", "change", "keep messages from compact, trim, window and forget, or no longer"),
        CommandEntry("window", "change", "show or set how far back the context reaches"),
        CommandEntry("undo", "change", "undo an op, or the newest undo"),
        CommandEntry("export", "keep", "print the context as a provider's request or as a session file"),
        CommandEntry("resume", "keep", "write a new session, and print the line to type"),
        CommandEntry("snapshot", "keep", "save the context as a file, to come back to"),
        CommandEntry("snapshots", "keep", "list or delete snapshots and checkpoints"),
        CommandEntry("memory", "keep", "short notes of a project, across its sessions"),
        CommandEntry("fleet", "keep", "many logs as tables; a function over many logs"),
        CommandEntry("check", "keep", "find damage in the log and its ops"),
        CommandEntry("scan", "keep", "find secrets in a log and in the files beside it"),
        CommandEntry("recover", "keep", "after a crash: go back to a whole state, or write a clean copy"),
        CommandEntry("watch", "live", "follow logs while they grow: tokens, pace, what they wait for"),
        CommandEntry("metrics", "live", "figures of all sessions, for Prometheus"),
        CommandEntry("tool", "live", "let a model forget: print the tool's definition, execute its calls"),
        CommandEntry("config", "set", "show, get, set and unset the settings of a log, or your own"),
        CommandEntry("help", "about", "show examples, options and exit codes of a command"),
    )
}


def names_log(word: str) -> bool:
    """Whether a word, where something else may stand too, names a log or a folder; a log need not exist."""
    if word.startswith("-") or word == COMPLETE:
        return False
    return word.startswith("@") or os.sep in word or word.endswith(LOG_ENDINGS) or os.path.lexists(word)


COMPLETE = "__complete"
"""The command that completion scripts call: `cli/help/completion.py`."""


def unknown(name: str) -> Usage:
    """The error for an unknown command; its hint names the command that was probably meant."""
    return Usage(f"no such command: {name}", meant(name, COMMANDS) or "ctxkit --help lists them")


MEANT = {
    "add": ("append", "push", "say", "send", "write"),
    "check": ("doctor", "fsck", "validate", "verify"),
    "clear": ("empty", "reset", "wipe"),
    "compact": ("compress", "condense", "summarise", "summarize"),
    "config": ("configure", "settings"),
    "diff": ("compare",),
    "edit": ("vi", "vim", "nano", "open"),
    "export": ("convert", "dump"),
    "fleet": ("dataset", "ingest", "parquet"),
    "forget": ("delete", "del", "drop", "exclude", "hide", "prune", "remove", "rm"),
    "help": ("man",),
    "init": ("create", "new"),
    "log": ("history", "ops"),
    "mark": ("bookmark", "label", "tag"),
    "memory": ("memo", "note", "notes"),
    "protect": ("keep", "pin"),
    "recall": ("ack", "find", "grep", "rg", "search"),
    "recover": ("fix", "repair"),
    "restore": ("checkout", "load"),
    "rewind": ("back", "revert", "rollback"),
    "scan": ("leaks", "secrets"),
    "sessions": ("browse", "list", "ls", "pick", "projects"),
    "show": ("context", "less", "print", "read", "view"),
    "snapshot": ("backup", "save"),
    "snapshots": ("backups", "checkpoints"),
    "status": ("count", "info", "size", "stat", "stats", "tokens", "usage", "wc"),
    "trim": ("crop", "cut", "fit", "shorten", "shrink", "truncate"),
    "why": ("blame", "explain"),
}
"""Command -> its names in other programs."""
OTHERWISE = {
    "import": "nothing is imported: ctxkit show FILE reads a session of any program as it is",
    "version": "ctxkit --version?",
    "upgrade": "by what it was installed with: pipx upgrade ctxkit",
    "update": "by what it was installed with: pipx upgrade ctxkit",
    "unforget": "ctxkit undo, or ctxkit recall --apply?",
    "fork": "ctxkit export --to claude-code -o NEW.jsonl, or of another agent?",
    "branch": "ctxkit export --to claude-code -o NEW.jsonl, or of another agent?",
    "checkpoint": "ctxkit snapshot --light?",
    "agents": "ctxkit status --by agent?",
    "completion": "ctxkit help --completion SHELL?",
    "redo": "ctxkit undo --redo?",
    "salvage": "ctxkit recover LOG -o NEW?",
    "unpin": "ctxkit protect --off?",
    "unprotect": "ctxkit protect --off?",
}
"""Name -> the hint, where no single command does it."""
COMMAND_OF = {name: command for command, names in MEANT.items() for name in names}


def meant(name: str, commands: Collection[str]) -> str:
    """A hint: the command with this name in other programs, else one with a similar name; "" for neither."""
    from difflib import get_close_matches

    small = name.lower()
    if small in commands and small != name:
        return f"ctxkit {small}?"
    if small in OTHERWISE:
        return OTHERWISE[small]
    if small in COMMAND_OF:
        return f"ctxkit {COMMAND_OF[small]}?"
    near = get_close_matches(small, commands, 1)
    return f"ctxkit {near[0]}?" if near else ""
