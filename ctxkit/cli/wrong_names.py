"""Hints for unknown commands, by the names that commands have in other programs."""

from __future__ import annotations

from collections.abc import Collection

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
    "checkpoint": "ctxkit snapshot --light?",
    "agents": "ctxkit status --by agent?",
    "completion": "ctxkit help --completion SHELL?",
    "redo": "ctxkit undo --redo?",
    "salvage": "ctxkit recover LOG -o NEW?",
    "unpin": "ctxkit protect --off?",
    "unprotect": "ctxkit protect --off?",
    "unforget": "ctxkit undo, or ctxkit recall --apply?",
    "fork": "ctxkit export --to claude-code -o NEW.jsonl, or of another agent?",
    "branch": "ctxkit export --to claude-code -o NEW.jsonl, or of another agent?",
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
