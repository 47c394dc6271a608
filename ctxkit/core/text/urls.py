"""URLs in a text without their users, passwords and signatures, which errors and datasets must not tell. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

_USER = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+:/{1,2})(?:([^/\s]*)@|([^/\s@:]+:(?!\d+(?:[/\s]|$))[^@\n]*)@)")
"""User and password of a URL: up to the last @ before its path, and where the password itself has a slash or a blank up
to its @. A port is no password. A URL that was taken for a path has one slash."""
_PARAMETER = re.compile(
    r"([?&#;](?:[a-z0-9_-]{0,40}(?:key|keyid|accessid|token|secret|signature|credential|password)|sig|pass|pwd)=)"
    r"([^&#\s\"'<>]+)",
    re.I,
)
"""A parameter that lets whoever has the URL in: `sig` of Azure, `X-Amz-Signature`, `X-Goog-Credential`, tokens."""


def without_users(text: str, also: Iterable[str] = ()) -> str:
    """A text without users, passwords and signatures of URLs: libraries repeat a URL in their own errors.

    `also`: words that go wherever they stand alone, such as what `secrets_of` found in the URL that is spoken of.
    """
    for one in sorted(set(also) - {""}, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(one)}(?!\w)", "…", text)
    return _PARAMETER.sub(r"\1…", _USER.sub(r"\1…@", text)) if ":/" in text else text


def secrets_of(url: str) -> list[str]:
    """What is secret in a URL, as it stands there: its user with the password, the password alone, its signatures."""
    user = _USER.match(url)
    given = "" if user is None else user[2] or user[3] or ""
    name, colon, password = given.partition(":")
    return [given, password if colon else name, *(one[2] for one in _PARAMETER.finditer(url))]
