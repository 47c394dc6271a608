"""URLs in a text without their users and passwords, which errors and datasets must not tell. Pure."""

from __future__ import annotations

import re

_USER = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+:/{1,2})(?:[^/\s]*@|[^/\s@:]+:(?!\d+(?:[/\s]|$))[^@\s]*@)")
"""User and password of a URL: up to the last @ before its path, and where the password itself has a slash up to its @.
A port is no password. A URL that was taken for a path has one slash."""


def without_users(text: str) -> str:
    """A text without users and passwords of URLs: libraries repeat a URL in their own errors."""
    return _USER.sub(r"\1…@", text) if ":/" in text else text
