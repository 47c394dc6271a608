"""Text of a log as bytes. It may hold half a surrogate, for which UTF-8 has no bytes: JSON can write one.

Used wherever text that somebody else wrote leaves Python: only here it is encoded, so that no half stops a command.
"""

from __future__ import annotations


def utf8(text: str) -> bytes:
    """The text for a reader or another program; half a surrogate is `?`."""
    return text.encode("utf-8", "replace")


def exact(text: str) -> bytes:
    """The text for an identity or a size: other texts have other bytes, which are no UTF-8 if it has a half."""
    return text.encode("utf-8", "surrogatepass")


def sound(text: str) -> str:
    """The text without halves: two that belong together are joined, a lone one becomes U+FFFD, as tiktoken does."""
    return text if is_sound(text) else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def is_sound(text: str) -> bool:
    """Whether UTF-8 has bytes for all of it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
