"""Blocks of Anthropic's further kinds (documents, search results, its own tools), which go out whole or not at all.

Pipeline: `formats/anthropic.py` asks `carried` for what is neither words, a call, a result, thinking nor a picture.
"""

from __future__ import annotations

import re
from typing import Any

from ctxkit.formats.bodies import is_base64_text, is_url

_Shape = dict[str, type]
_SERVER_ID = re.compile(r"srvtoolu_[a-zA-Z0-9_]+")
_DOCUMENTS: dict[str, _Shape] = {
    "document": {"source": dict},
    "search_result": {"source": str, "title": str, "content": list},
}
USER_KINDS: dict[str, _Shape] = _DOCUMENTS
RESULT_KINDS: dict[str, _Shape] = _DOCUMENTS | {"tool_reference": {"tool_name": str}}
SERVER_CALLS: dict[str, _Shape] = {
    "server_tool_use": {"id": str, "name": str, "input": dict},
}
SERVER_ANSWERS: dict[str, _Shape] = {
    f"{kind}_tool_result": {"tool_use_id": str, "content": object}
    for kind in (
        "web_search",
        "web_fetch",
        "code_execution",
        "bash_code_execution",
        "text_editor_code_execution",
    )
}
SERVER_KINDS: dict[str, _Shape] = SERVER_CALLS | SERVER_ANSWERS
"""Blocks that are carried as they stand, and what they must hold to be that."""
_MAY_HOLD: dict[str, _Shape] = {
    "document": {"title": str, "context": str, "citations": dict},
    "search_result": {"citations": dict},
    "server_tool_use": {"caller": dict},
}


def carried(raw: dict[str, Any], kinds: dict[str, _Shape]) -> dict[str, Any] | None:
    """The block of another kind as it stands, if it is whole. Hints for the cache are no content and do not go on."""
    must = kinds.get(str(raw.get("type")))
    if must is None or not all(isinstance(raw.get(key), of) and raw.get(key) is not None for key, of in must.items()):
        return None
    if raw["type"] == "document" and not _is_source(raw["source"]):
        return None
    if kinds is SERVER_KINDS and not _SERVER_ID.fullmatch(raw.get("id", raw.get("tool_use_id", ""))):
        return None
    if raw["type"] == "search_result" and not (raw["content"] and all(_is_words(one) for one in raw["content"])):
        return None
    may = _MAY_HOLD.get(raw["type"], {})
    return {key: raw[key] for key in raw if key == "type" or key in must or isinstance(raw[key], may.get(key, ()))}


def _is_source(source: dict[str, Any]) -> bool:
    """Whether a document stands where the provider takes one from."""
    match source:
        case {"type": "base64", "media_type": "application/pdf", "data": data, **more}:
            return not more and is_base64_text(data)
        case {"type": "text", "media_type": "text/plain", "data": str() as words, **more}:
            return not more and bool(words.strip())
        case {"type": "url", "url": str() as url, **more}:
            return not more and is_url(url, secure=True)
        case {"type": "file", "file_id": str() as identity, **more}:
            return not more and bool(identity)
        case {"type": "content", "content": str() as words, **more}:
            return not more and bool(words.strip())
        case {"type": "content", "content": [*blocks], **more}:
            return not more and bool(blocks) and all(_is_words(block) for block in blocks)
    return False


def _is_words(block: Any) -> bool:
    """Whether it is a text block with words in it and nothing else."""
    match block:
        case {"type": "text", "text": str() as words, **more}:
            return bool(words.strip()) and not more
    return False
