"""Programs whose own session files are chat messages, a line each: by what such a file is known to be theirs.

Pipeline: `formats/foreign_keys.py` looks at rows, `logfile/ownership.py` also at the file's place. docs/formats.md has
the table. Pure.

A key that rows of OpenAI or of ctxkit may have (`timestamp`, `name`, `id`) says nothing, nor does one that bots of all
kinds write (`message_id`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ctxkit.core.text.utf8 import utf8


class ProgramFolder(NamedTuple):
    """Where a program keeps its sessions: below the folder that `variable` names, else below `folder` in the home.

    `variable`: "" for none; `folder`: "" if only the variable names one; `inside`: the folder of the sessions in it.
    """

    variable: str
    folder: str
    inside: str


class ChatProgram(NamedTuple):
    """A program, and what only its files have.

    `files`: patterns of the names of its files; `companion`: a file beside these; `says`: what is found in the
    companion's text where it is the program's (a regular expression). `folders`: all below them is the program's.
    `keys`: sets of keys; a row that has all of one set is the program's. `roles`: roles that no model has. `source`:
    the package in which this was seen.
    """

    name: str
    files: tuple[str, ...]
    companion: str
    says: str
    folders: tuple[ProgramFolder, ...]
    keys: tuple[frozenset[str], ...]
    roles: frozenset[str]
    source: str


KIMI, GPTME, NANOBOT = "Kimi CLI", "gptme", "nanobot"

PROGRAMS = (
    ChatProgram(
        "Mistral Vibe",
        ("messages.jsonl",),
        "meta.json",
        r'"session_id"\s*:',
        (ProgramFolder("VIBE_HOME", ".vibe", "logs/session"),),
        (
            frozenset({"message_id", "injected"}),
            frozenset({"reasoning_message_id"}),
            frozenset({"user_display_content"}),
            frozenset({"context_boundary"}),
        ),
        frozenset(),
        "PyPI mistral-vibe 3.0.3",
    ),
    ChatProgram(
        KIMI,
        ("context.jsonl", "context_*.jsonl"),
        "wire.jsonl",
        r'"protocol_version"\s*:',
        (ProgramFolder("KIMI_SHARE_DIR", ".kimi", "sessions"),),
        (),
        frozenset({"_system_prompt", "_checkpoint", "_usage"}),
        "PyPI kimi-cli 1.52.0",
    ),
    ChatProgram(
        GPTME,
        ("conversation.jsonl",),
        "config.toml",
        r"^\[chat\]",
        (
            ProgramFolder("GPTME_LOGS_HOME", "", ""),
            ProgramFolder("XDG_DATA_HOME", ".local/share", "gptme/logs"),
            ProgramFolder("", "Library/Application Support", "gptme/logs"),
        ),
        (frozenset({"file_hashes"}), frozenset({"ui_only"}), frozenset({"ephemeral_ttl"})),
        frozenset(),
        "PyPI gptme 0.35.1",
    ),
    ChatProgram(
        NANOBOT,
        ("*.jsonl",),
        ".workspace",
        r"\A/.*\s*\Z",
        (ProgramFolder("", ".nanobot", "sessions"), ProgramFolder("", ".nanobot", "workspace/sessions")),
        (frozenset({"_type", "last_consolidated"}),),
        frozenset(),
        "PyPI nanobot-ai 0.3.5",
    ),
)

MARKS = frozenset(min(keys) for one in PROGRAMS for keys in one.keys)
"""One key of each set: a row without any of these is no row of such a program, if its role is not."""
TRACES = tuple(sorted(utf8(f'"{word}"') for word in MARKS.union(*(one.roles for one in PROGRAMS))))
"""Bytes that occur in rows of these programs: each row for which `of_row` finds one has at least one of them."""


def of_row(record: Mapping[str, Any]) -> str:
    """The name of the program that wrote a row, by its keys and role; "" if nothing shows one."""
    role = record.get("role")
    for one in PROGRAMS:
        if (isinstance(role, str) and role in one.roles) or any(keys <= record.keys() for keys in one.keys):
            return one.name
    return ""
