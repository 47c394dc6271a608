"""Copy names: how programs that synchronise files name the version that lost, beside the one that stayed.

Syncthing, Dropbox, Nextcloud, Seafile, Resilio, Box and rclone say in the name that there was a conflict. iCloud,
Google Drive and OneDrive add a number or the name of a computer, which somebody may have typed as well: only what a
file holds can tell then. Used by `recovery/beside.py`.
"""

from __future__ import annotations

import re

_WORD = "confli|konfli|конфликт|冲突|衝突|競合|충돌"
"""How a conflict is called: the languages in which these programs have it in their names."""
_SAID = re.compile(
    rf"""[ _.-]?\((?:[^()]|\([^()]*\))*(?:{_WORD})(?:[^()]|\([^()]*\))*\)  # Dropbox, Nextcloud, Seafile, Box, Unison
    | [ _.-]?\[[^\[\]]*(?:{_WORD})[^\[\]]*\]
    | \.sync-conflict-\d{{8}}-\d{{6}}(?:-\w+)?                              # Syncthing
    | _conflict-\d{{8}}-\d{{6}}                                             # ownCloud
    | [._]conflict(?:ed)?(?:-?\d+)?                                         # Resilio, rclone""",
    re.VERBOSE | re.IGNORECASE,
)
_NUMBER = re.compile(r" ?\(\d{1,3}\)| \d{1,3}")
_COMPUTER = re.compile(
    r"-((?:DESKTOP|LAPTOP|WIN)-[A-Z0-9]{4,}|[A-Z][A-Z0-9-]{2,14}|[\w-]*(?:MacBook|iMac|Mac-?mini)[\w-]*)"
)

SAID, MAYBE = "said", "maybe"
"""What a name says: that it is a copy, or that it may be one."""


def copy_of(name: str, original: str, host: str = "") -> str:
    """Whether `name` is one that a conflict copy of the file `original` gets: SAID, MAYBE, "" for neither.

    `host`: the name of this computer.
    """
    stem, dot, extension = original.rpartition(".")
    between = _between(name, stem, dot + extension) if stem else _between(name, original, "")
    if between and _SAID.fullmatch(between):
        return SAID
    behind = _between(name, original, "")
    if behind and _SAID.fullmatch(behind):
        return SAID
    if not between:
        return ""
    ours = bool(host) and between.casefold() == f"-{host.casefold()}"
    return MAYBE if ours or _NUMBER.fullmatch(between) or _COMPUTER.fullmatch(between) else ""


def _between(name: str, start: str, end: str) -> str:
    """What stands between the two, "" where the name does not begin and end so."""
    if len(name) <= len(start) + len(end) or not (name.startswith(start) and name.endswith(end)):
        return ""
    return name[len(start) : len(name) - len(end)]
