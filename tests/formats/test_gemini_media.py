"""Pictures, documents and sounds: what Gemini takes, and what not."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.core.messages import Image, Other, Part, Text
from ctxkit.formats.gemini_media import file_of, media_of


def document(**source: Any) -> Other:
    return Other("document", {"type": "document", "source": source})


def link(url: str, kind: str) -> dict[str, Any]:
    return {"fileData": {"fileUri": url, "mimeType": kind}}


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        (Image("image/png", "iVBORw0KGgo="), "image/png"),
        (Image("image/gif", "R0lGODlh"), None),
        (Image("image/png", "?"), None),
        (Image("image/png", ""), None),
        (document(type="base64", media_type="application/pdf", data="AAAA"), "application/pdf"),
        (document(type="base64", media_type="application/zip", data="AAAA"), None),
        (Other("input_audio", {"input_audio": {"format": "mp3", "data": "AAAA"}}), "audio/mp3"),
        (Other("input_audio", {"input_audio": {"format": "ogg", "data": "AAAA"}}), None),
        (Other("file", {"file": {"file_data": "data:application/pdf;base64,AAAA"}}), "application/pdf"),
        (Other("file", {"file": {"file_id": "x"}}), None),
        (Text("AAAA"), None),
    ],
)
def test_bytes(part: Part, kind: str | None) -> None:
    """Of the kinds that are taken, in base64."""
    data = part.data if isinstance(part, Image) else "AAAA"
    assert media_of(part) == (kind and {"inlineData": {"mimeType": kind, "data": data}})


def test_bytes_in_a_response() -> None:
    """Fewer kinds are taken there."""
    assert media_of(Image("image/heic", "AAAAGGZ0eXBoZWlj")) and not media_of(
        Image("image/heic", "AAAAGGZ0eXBoZWlj"), in_response=True
    )
    assert media_of(Image("image/webp", "UklGRgAAAABXRUJQ"), in_response=True)


@pytest.mark.parametrize(
    ("part", "sent"),
    [
        (Image(url="https://x/a.PNG?size=2"), link("https://x/a.PNG?size=2", "image/png")),
        (Image(url="https://x/a"), None),
        (Image(url="file:///a.png"), None),
        (document(type="url", url="http://x/a.pdf"), link("http://x/a.pdf", "application/pdf")),
        (document(type="text", media_type="text/plain", data="words"), {"text": "words"}),
        (document(type="text", media_type="text/plain", data=" "), None),
        (document(type="file", file_id="x"), None),
    ],
)
def test_links(part: Part, sent: dict[str, Any] | None) -> None:
    """A link needs a kind, which its name tells; a document of plain text is text."""
    assert file_of(part) == sent
