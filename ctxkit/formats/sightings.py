"""Sightings: what a file is that no format reads, in words for the error: its keys, and whose shape that is.

Pipeline: `formats/registry.py` and `reading.py` ask here when detection failed.
"""

from __future__ import annotations

from typing import Any

from ctxkit.core.jsontext import loads

_SHOWN_KEYS = 8
_SHAPES: tuple[tuple[frozenset[str], str], ...] = tuple(
    (frozenset(keys.split()), words)
    for keys, words in (
        ("mapping current_node", "an export of ChatGPT"),
        ("schema_version steps agent", "a trajectory in ATIF"),
        ("conversations", "conversations as of ShareGPT"),
        ("trajectory history", "a trajectory of SWE-agent"),
        ("trajectory environment", "a trajectory of SWE-agent"),
        ("messages_display", "few-shot text of tau-bench"),
        ("simulations tasks", "runs of tau2-bench"),
        ("instance_id history", "runs of OpenHands"),
        ("source action", "events of OpenHands"),
        ("source observation", "events of OpenHands"),
        ("eval samples", "a log of Inspect"),
        ("prompt completion", "prompts and completions, as fine-tuning had them before chats"),
        ("object data", "a page of a list, as an API gives it: what is in its data can be read"),
        ("type response", "an event of a stream of Responses: the response itself can be read"),
        ("choices", "an answer of a completion without messages, or pieces of one"),
        ("model input", "a request to Responses, or for embeddings"),
        ("contents", "a request to Gemini"),
    )
)
_BINARY = (
    (b"PK\x03\x04", "a zip archive, as logs of Inspect (.eval) are"),
    (b"SQLite format 3\0", "a SQLite database"),
)
"""How files begin that are no text."""


def of_record(record: dict[str, Any], what: str) -> str:
    """`its first record has the keys a, b, which looks like ...`; `what` has the keys."""
    keys = list(record)
    seen = ", ".join(keys[:_SHOWN_KEYS]) + (", …" if len(keys) > _SHOWN_KEYS else "")
    shape = _item(record) or next((words for names, words in _SHAPES if names <= record.keys()), "")
    return f"{what} the keys {seen or '(none)'}" + (f": it looks like {shape}" if shape else "")


def _item(record: dict[str, Any]) -> str:
    """What an item of Responses lacks to be one; "" for what is none."""
    from ctxkit.formats.response_kinds import KINDS

    kind = KINDS.get(str(record.get("type")))
    if kind is None or kind.side == "message":
        return ""
    lacking = [key for key, of in kind.keys.items() if of is not None and not isinstance(record.get(key), of)]
    return f"an item of Responses without a sound {', '.join(lacking)}" if lacking else ""


def of_file(raw: bytes) -> str | None:
    """What a file is that holds not one record on a line of its own; None where that cannot be told."""
    for start, words in _BINARY:
        if raw.startswith(start):
            return f"it is {words}"
    if raw.lstrip()[:1] not in (b"{", b"["):
        return None
    try:
        value = loads(raw)
    except ValueError:
        return None
    if isinstance(value, dict):
        return of_record(value, "it is one JSON object with")
    first = next((one for one in value if isinstance(one, dict)), None) if isinstance(value, list) else None
    if first is None:
        return None
    return of_record(first, f"it is a JSON array of {len(value)}, the first with")
