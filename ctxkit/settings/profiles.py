"""The text of a new sidecar's config.toml: every key with its comment; those of the profile are set.

Pipeline: `init` writes it; `tomledit.py` fills in its commented-out lines when a key is set.
"""

from __future__ import annotations

from typing import Any

from ctxkit.errors import Usage
from ctxkit.settings.keys import KEYS, OWNED_LINE

PROFILES: dict[str, dict[str, str]] = {
    "session": {},
    "persona": {"now": "wall", "window.default": "8h"},
    "bot": {"now": "wall", "window.default": "24h"},
}


def profile(name: str) -> str:
    """The text of a new sidecar's config.toml.

    `session` sets nothing; `persona` and `bot` have windows (8h, 24h) that slide with the clock. Raises Usage.
    """
    if name not in PROFILES:
        raise Usage(f"no profile {name!r}", f"profiles: {', '.join(PROFILES)}")
    about = f"# ctxkit config of the log beside this folder, profile {name}. Uncomment a line to change it."
    lines = [about, OWNED_LINE]
    table = ""
    for key in KEYS:
        if key.trust == "never":
            continue
        head, _, leaf = key.name.rpartition(".")
        if head != table:
            table = head
            lines += ["", f"{'# ' if 'NAME' in head else ''}[{head}]"]
        given = PROFILES[name].get(key.name)
        lines.append(f"{'' if given else '# '}{leaf} = {shown(given or key.shown())}  # {key.comment}")
    never = ", ".join(key.name for key in KEYS if key.trust == "never")
    return "\n".join([*lines, "", f"# Only in the user config, the environment or flags: {never}", ""])


def shown(value: Any) -> str:
    """A default or example as TOML; those of the table have no characters that need escaping."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)
