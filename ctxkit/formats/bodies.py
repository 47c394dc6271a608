"""What the request bodies of all providers share: speakers, ids, tool names, arguments, pictures, valid JSON.

Pipeline: `core/integrity.py` has paired calls and results; `formats/anthropic.py`, `formats/openai.py` and
`formats/gemini.py` write bodies with these functions. Limits are the providers' published ones.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import msgspec

from ctxkit.core.derive.image_size import type_of_base64
from ctxkit.core.messages import Call, Content, Image, Other, Part, Repairs, Result, Text
from ctxkit.core.roles import side
from ctxkit.core.text.json_text import dumps
from ctxkit.core.text.utf8 import exact
from ctxkit.errors import NothingToSend

NO_CONTENT = "(no content)"
"""The text of a user message that is added where the provider requires one first."""

IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
"""Kinds of pictures that both OpenAI and Anthropic take."""

_ID = re.compile(r"[a-zA-Z0-9_-]+")
_NUMBER = re.compile(r"_\d+$")
_NOT_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_BYTES = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_LINK = re.compile(r"https?://[^\s\x00-\x1f\x7f]+")
_SURROGATE = re.compile("[\ud800-\udfff]")

PIECE = 1 << 16
"""Approximate number of bytes of a body that are written at once."""

T = TypeVar("T")


class BodyOptions(msgspec.Struct, frozen=True):
    """What a request body is written for.

    `model`: of the request, "" for none. `as_sent`: the context is what the log's own program would send to this
    provider, so thinking and the order of blocks stay. `tools`: names of the tools that the request defines.
    `unsigned`: the provider takes blocks of thinking without a signature; `padded`: it refuses calls without any, and
    takes an empty one. `signs`: calls have the signatures that their model put on them; `placeholder`: what stands for
    one that is missing. `passing`: why reasoning before the last message of a person does not count, in words.
    """

    model: str = ""
    as_sent: bool = False
    tools: Container[str] = frozenset()
    unsigned: bool = False
    padded: bool = False
    signs: bool = False
    placeholder: str = ""
    passing: str = ""


class Body(msgspec.Struct):
    """The body of a request, made piece by piece: `head`, then under `key` a list of `items`, each as JSON.

    `late`: bytes that are inserted once all items are made, and where: offsets from the start of the first item.
    `count`: items made so far. Raises NothingToSend with the text `empty` if there is no item.
    """

    head: dict[str, Any]
    key: str
    items: Iterable[bytes]
    empty: str
    late: Callable[[], tuple[Sequence[int], bytes]] = lambda: ((), b"")
    count: int = 0

    @property
    def start(self) -> bytes:
        """The bytes before the first item."""
        head = written(self.head)[:-1] + b"," * bool(self.head)
        return head + b'"' + self.key.encode("ascii") + b'":['

    def pieces(self) -> Iterator[bytes]:
        """The bytes of the body without `late`, many items at a time."""
        for batch in batches(self.items):
            yield (b"," if self.count else self.start) + b",".join(batch)
            self.count += len(batch)
        if not self.count:
            raise NothingToSend(self.empty)
        yield b"]}"

    @property
    def value(self) -> dict[str, Any]:
        """The body as an object."""
        made = bytearray(b"".join(self.pieces()))
        places, words = self.late()
        for place in reversed(places):
            at = len(self.start) + place
            made[at:at] = words
        found: dict[str, Any] = json.loads(made)
        return found


BodyWriter = Callable[[Iterable[Content], Repairs, BodyOptions], Body]
"""Writes the body of a request piece by piece; the contents are iterated twice and not kept."""


def batches(items: Iterable[bytes]) -> Iterator[list[bytes]]:
    """The items in lists of about `PIECE` bytes."""
    batch: list[bytes] = []
    held = 0
    for item in items:
        batch.append(item)
        held += len(item)
        if held >= PIECE:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def batched(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The same bytes in larger pieces."""
    return map(b"".join, batches(pieces))


def written(value: Any) -> bytes:
    """`value` as JSON in ASCII, made valid by `clean`."""
    try:
        text = dumps(value)
    except ValueError:
        text = dumps(clean(value))
    else:
        if "\\ud" in text:  # perhaps a lone surrogate
            text = dumps(clean(value))
    return text.encode("ascii")


def speaker(content: Content) -> str:
    """The role of a content for a provider: "system", "assistant", or "user" (also for tool results)."""
    if any(isinstance(part, Call) for part in content.parts):
        return "assistant"
    if any(isinstance(part, Result) for part in content.parts):
        return "user"
    found = side(content.role)
    return found if found in ("system", "assistant") else "user"


def fingerprint(content: Content) -> Iterator[tuple[str, str, str]]:
    """What every format keeps of a content: role and text, and the ids of calls and results, in order."""
    role = "assistant" if speaker(content) == "assistant" else "user"
    for part in sorted(content.parts, key=lambda part: not isinstance(part, Result)):
        match part:
            case Text(text=words) if words:
                yield role, "text", words
            case Call(id=identity, name=name):
                yield role, identity, name
            case Result(id=identity):
                yield role, identity, "result"


class Ids:
    """Call ids that a provider accepts: by characters and length, and unique in the body. Same id, same new id.

    Not `numbered`: no id is another one with `_` and a number behind it. Claude Code takes that for a copy of the
    other call, and leaves out its result.
    """

    def __init__(self, longest: int, *, numbered: bool = True) -> None:
        self._longest = longest
        self._used: set[str] = set()
        self._stems: set[str] | None = None if numbered else set()
        """The used ids without the number behind them."""
        self._now: dict[str, str] = {}

    def call(self, identity: str) -> str:
        """The new id of a call; its results then get the same."""
        new = identity
        if not _ID.fullmatch(new) or len(new) > self._longest:
            kept = _NOT_NAME.sub("_", identity)[: self._longest - 9]
            new = f"{kept}_{hashlib.sha256(exact(identity)).hexdigest()[:8]}"
        base, n = new, 1
        while self._is_taken(new):
            n += 1
            new = f"{base[: self._longest - 1 - len(str(n))]}-{n}"
        self._used.add(new)
        if self._stems is not None:
            self._stems.add(_NUMBER.sub("", new))
        self._now[identity] = new
        return new

    def _is_taken(self, new: str) -> bool:
        if self._stems is None or new in self._used:
            return new in self._used
        return new in self._stems or _NUMBER.sub("", new) in self._used

    def answer(self, identity: str) -> str:
        """The id for a result: that of the newest call with this id. KeyError without one: repair comes first."""
        return self._now[identity]


def tool_name(name: str, longest: int, repairs: Repairs, *, first_letter: bool = False) -> str:
    """The name of a tool, valid for a provider: letters, digits, `_` and `-`, at most `longest`.

    `first_letter`: it must begin with a letter or `_`.
    """
    fits = not first_letter or name[:1] == "_" or name[:1].isalpha()
    if fits and _ID.fullmatch(name) and len(name) <= longest:
        return name
    repairs.leave_out("character in a tool's name")
    plain = _NOT_NAME.sub("_", name) or "unnamed"
    return (f"_{plain}" if first_letter and not (plain[0] == "_" or plain[0].isalpha()) else plain)[:longest]


NO_SIGNATURE = "skip_thought_signature_validator"
"""The signature that Gemini's provider documents for calls of a history without signatures."""


def signature_of(raw: dict[str, Any] | None) -> Any:
    """The thought signature that Gemini put on a part, in its own form or in OpenAI's; None for none."""
    match raw:
        case {"extra_content": {"google": {"thought_signature": found}}}:
            return found
        case {"thoughtSignature": found} | {"thought_signature": found}:
            return found
    return None


def count_lost_name(content: Content, repairs: Repairs) -> None:
    """Counts a speaker's name that the target cannot hold. A tool's name is in its call."""
    if content.name and not all(isinstance(part, Result) for part in content.parts):
        repairs.leave_out("name of a speaker")


def arguments(call: Call) -> dict[str, Any]:
    """The arguments of a call as an object; another value is wrapped as `_raw`; null or a blank text is none."""
    if isinstance(call.arguments, dict):
        return call.arguments
    if call.arguments is None or (isinstance(call.arguments, str) and not call.arguments.strip()):
        return {}
    return {"_raw": call.arguments}


def image_type(image: Image) -> str:
    """The media type of a picture whose data the message holds, by its bytes, whatever it is called: providers refuse
    another. "" for what is no picture of a kind that they take, or whose base64 is cut.
    """
    kind = type_of_base64(image.data)
    sound = kind in IMAGE_TYPES and _BASE64.fullmatch(image.data) is not None and _is_whole(image.data)
    return kind if sound else ""


def is_base64_text(value: Any) -> bool:
    """Whether it is base64 text of either alphabet."""
    return isinstance(value, str) and _BYTES.fullmatch(value) is not None and _is_whole(value)


def _is_whole(data: str) -> bool:
    """Whether base64 ends at the end of a byte. Cut base64 is refused."""
    last = data.rstrip("=")[-4:].replace("-", "+").replace("_", "/")
    rest = len(data.rstrip("=")) % 4
    if rest == 0:
        return not data.endswith("=")
    end = last[-rest:] + "=" * (4 - rest)
    return rest != 1 and base64.b64encode(base64.b64decode(end)).decode("ascii") == end


def is_url(url: str, *, secure: bool = False) -> bool:
    """Whether a provider can fetch from this URL; `secure`: by https only."""
    return _LINK.fullmatch(url) is not None and not (secure and url.startswith("http://"))


def kind_of(part: Part) -> str:
    """The name of a part's kind in the counts of repairs."""
    return part.kind if isinstance(part, Other) else type(part).__name__.lower()


def placeholder(part: Part) -> str:
    """The text for a part that the target cannot hold: its kind, or the tool that a search found."""
    if isinstance(part, Other) and isinstance(name := part.raw.get("tool_name"), str):
        return f"[tool found: {name}]"
    return f"[{kind_of(part)}]"


def clean(value: T, replace_surrogates: bool = True) -> T:
    """The same JSON value with null for NaN and infinities, and U+FFFD for lone surrogates: no API takes these."""
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
