"""Pictures, documents and sounds as Gemini takes them: their bytes in the request, or a link that it can fetch.

Pipeline: `formats/gemini.py` asks for parts that are no text, call, response or thinking. None: it cannot be sent.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from ctxkit.core.derive.image_size import type_of_base64
from ctxkit.core.messages import Image, Other, Part
from ctxkit.formats.bodies import is_base64_text, is_url

_IMAGES = frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"})
_IN_RESPONSES = frozenset({"image/png", "image/jpeg", "image/webp", "application/pdf"})
_SOUNDS = {"wav": "audio/wav", "mp3": "audio/mp3"}
_ENDINGS = {
    "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "webp": "image/webp", "heic": "image/heic",
    "heif": "image/heif", "pdf": "application/pdf",
}  # fmt: skip

Json = dict[str, Any]


def media_of(part: Part, *, in_response: bool = False) -> Json | None:
    """The bytes of a picture, a document or a sound, if the message holds them and Gemini takes their kind."""
    kind, data = _bytes_of(part)
    allowed = _IN_RESPONSES if in_response else _IMAGES | {"application/pdf", *_SOUNDS.values()}
    if kind not in allowed or not is_base64_text(data):
        return None
    return {"inlineData": {"mimeType": kind, "data": data}}


def file_of(part: Part) -> Json | None:
    """A link to a picture or a document, if its name shows its kind. A plain text document becomes text."""
    match part:
        case Image(data="", url=url) | Other("document", {"source": {"type": "url", "url": str() as url}}):
            kind = _ENDINGS.get(urlsplit(url).path.rpartition(".")[2].lower()) if is_url(url) else None
            return {"fileData": {"fileUri": url, "mimeType": kind}} if kind else None
        case Other("document", {"source": {"type": "text", "data": str() as words}}) if words.strip():
            return {"text": words}
    return None


def _bytes_of(part: Part) -> tuple[str, Any]:
    """Media type and base64 data; ("", None) if there are none."""
    match part:
        case Image():
            return type_of_base64(part.data), part.data
        case Other("document", {"source": {"type": "base64", "media_type": str() as kind, "data": data}}):
            return kind, data
        case Other("input_audio", {"input_audio": {"format": str() as kind, "data": data}}):
            return _SOUNDS.get(kind, ""), data
        case Other("file", {"file": {"file_data": str() as link}}) | Other("input_file", {"file_data": str() as link}):
            head, _, data = link.partition(";base64,")
            return head.removeprefix("data:"), data
    return "", None
