"""What the request bodies of all providers share: whose words, ids, names, arguments, and text that they take.

Pipeline: `core/integrity.py` has paired calls and results; `formats/anthropic.py` and `formats/openai.py` write bodies
with these, as `formats/gemini.py` does. Limits are the providers' published ones.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from typing import Any, TypeVar

from ctxkit.core.integrity import ASSISTANT_ROLES
from ctxkit.core.messages import Call, Content, Image, Other, Part, Repairs, Result

NO_CONTENT = "(no content)"
"""What stands where the first message has to be the user's and is not."""

SYSTEM_ROLES = frozenset({"system", "developer"})
IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
"""What both providers take."""

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NOT_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_BYTES = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_LINK = re.compile(r"https?://[^\s\x00-\x1f\x7f]+")
_SURROGATE = re.compile("[\ud800-\udfff]")

T = TypeVar("T")


def speaker(content: Content) -> str:
    """Whose words a content is to a provider: "system", "assistant", or "user" (tools answer as the user's side)."""
    if any(isinstance(part, Call) for part in content.parts):
        return "assistant"
    if any(isinstance(part, Result) for part in content.parts):
        return "user"
    if content.role in SYSTEM_ROLES:
        return "system"
    return "assistant" if content.role in ASSISTANT_ROLES else "user"


class Ids:
    """Call ids as a provider takes them: characters, length, and unique in the whole body. Same id, same new id."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._used: set[str] = set()
        self._now: dict[str, str] = {}

    def call(self, identity: str) -> str:
        """The new id of a call; its answers then get the same."""
        new = identity
        if not _ID.fullmatch(new) or len(new) > self._longest:
            kept = _NOT_NAME.sub("_", identity)[: self._longest - 9]
            new = f"{kept}_{hashlib.sha256(identity.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
        base, n = new, 1
        while new in self._used:
            n += 1
            new = f"{base[: self._longest - 1 - len(str(n))]}_{n}"
        self._used.add(new)
        self._now[identity] = new
        return new

    def answer(self, identity: str) -> str:
        """The id for an answer: that of the newest call with this id. KeyError where none was: repair comes first."""
        return self._now[identity]


def tool_name(name: str, longest: int, repairs: Repairs, *, first_letter: bool = False) -> str:
    """The name of a tool as a provider takes it: letters, digits, `_` and `-`, at most `longest`.

    `first_letter`: it has to begin with a letter or `_`.
    """
    fits = not first_letter or name[:1] == "_" or name[:1].isalpha()
    if fits and _ID.fullmatch(name) and len(name) <= longest:
        return name
    repairs.leave_out("character in a tool's name")
    plain = _NOT_NAME.sub("_", name) or "unnamed"
    return (f"_{plain}" if first_letter and not (plain[0] == "_" or plain[0].isalpha()) else plain)[:longest]


def signature_of(raw: dict[str, Any] | None) -> Any:
    """The thought signature that Gemini put on a part, in its own form or in OpenAI's; None for none."""
    match raw:
        case {"extra_content": {"google": {"thought_signature": found}}}:
            return found
        case {"thoughtSignature": found} | {"thought_signature": found}:
            return found
    return None


def unsaid_name(content: Content, repairs: Repairs) -> None:
    """Counts the name of a speaker that has no place; a tool's is that of its call."""
    if content.name and not all(isinstance(part, Result) for part in content.parts):
        repairs.leave_out("name of a speaker")


def arguments(call: Call) -> dict[str, Any]:
    """The arguments of a call as an object: what is none is wrapped as `_raw`; nothing at all is no arguments."""
    if isinstance(call.arguments, dict):
        return call.arguments
    if call.arguments is None or (isinstance(call.arguments, str) and not call.arguments.strip()):
        return {}
    return {"_raw": call.arguments}


def is_base64(image: Image) -> bool:
    """Whether the picture stands in the message itself, in a kind that providers take."""
    return image.media_type in IMAGE_TYPES and _BASE64.fullmatch(image.data) is not None and _is_whole(image.data)


def is_base64_text(value: Any) -> bool:
    """Whether this is bytes as JSON has them: base64, of either alphabet."""
    return isinstance(value, str) and _BYTES.fullmatch(value) is not None and _is_whole(value)


def _is_whole(data: str) -> bool:
    """Whether base64 ends where bytes end; what was cut in the middle of one is refused."""
    last = data.rstrip("=")[-4:].replace("-", "+").replace("_", "/")
    rest = len(data.rstrip("=")) % 4
    if rest == 0:
        return not data.endswith("=")
    end = last[-rest:] + "=" * (4 - rest)
    return rest != 1 and base64.b64encode(base64.b64decode(end)).decode("ascii") == end


def is_url(url: str, *, secure: bool = False) -> bool:
    """Whether a provider can fetch from there; `secure`: it does so by https only."""
    return _LINK.fullmatch(url) is not None and not (secure and url.startswith("http://"))


def kind_of(part: Part) -> str:
    """What a part is called in the counts."""
    return part.kind if isinstance(part, Other) else type(part).__name__.lower()


def clean(value: T, replace_surrogates: bool = True) -> T:
    """The same JSON value without NaN and infinities (null) and lone surrogates (U+FFFD), which no API takes."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        if not replace_surrogates or not _SURROGATE.search(text):
            return value
    except ValueError:
        pass
    cleaned: T = _clean(value, replace_surrogates)
    return cleaned


def _clean(value: Any, replace: bool) -> Any:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value) if replace else value
    if isinstance(value, dict):
        return {_clean(key, replace): _clean(item, replace) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item, replace) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
