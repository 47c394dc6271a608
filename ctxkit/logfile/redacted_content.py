"""Messages without the secrets in them, where a log is shown without: texts, calls, results, thinking and their rows.

Pipeline: `logfile/open.py` reads a message -> here -> whoever prints or keeps it. An export takes secrets out of what
it has written instead (`export/redacted.py`), where all that goes out stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, cast

from ctxkit.core.messages import SIGNATURES, Call, Content, Image, Other, Part, Result, Text, Thinking
from ctxkit.core.text.redactor import Redactor

T = TypeVar("T", bound=dict[str, Any] | None)


def redacted(key: object, content: Content, redactor: Redactor) -> Content:
    """A message without secrets; itself if it has none. `key`: what it is the content of, so that it is counted once.

    Thinking in other words than the provider signed is no longer signed.
    """
    with redactor.counted_once(key):
        parts = _parts(content.parts, redactor)
        name = None if content.name is None else redactor.text(content.name)
    with redactor.uncounted():
        rows = redactor.value(content.rows)
    if (
        name == content.name
        and rows is content.rows
        and all(made is one for made, one in zip(parts, content.parts, strict=True))
    ):
        return content
    return Content(content.role, parts, name, rows)


def _parts(parts: Sequence[Part], redactor: Redactor) -> list[Part]:
    return [_part(part, redactor) for part in parts]


def _part(part: Part, redactor: Redactor) -> Part:
    """A part without secrets; itself if it has none. What is beside its text, as its provider wrote it, says the same
    again, and is not counted.
    """
    match part:
        case Text(text=text):
            made = redactor.value(text)
            return part if made is text else Text(made)
        case Thinking(text=text, raw=raw):
            said, beside = redactor.value(text), _beside(raw, redactor)
            if said is text and beside is raw:
                return part
            return Thinking(said, {key: one for key, one in beside.items() if key not in SIGNATURES})
        case Call(id=id, name=name, arguments=arguments, raw=beside):
            found = redactor.value({"id": id, "name": name, "arguments": arguments})
            held = _beside(beside, redactor)
            same = held is beside and found == {"id": id, "name": name, "arguments": arguments}
            return part if same else Call(found["id"], found["name"], found["arguments"], held)
        case Result(id=id, content=inner, is_error=is_error, raw=beside):
            told: str | list[Part] = redactor.value(inner) if isinstance(inner, str) else _parts(inner, redactor)
            known, held = redactor.value({"id": id})["id"], _beside(beside, redactor)
            same = known == id and held is beside and told == inner
            return part if same else Result(known, told, is_error, held)
        case Image(url=url, raw=beside):
            held, place = _beside(beside, redactor), redactor.value(url)
            return part if held is beside and place is url else Image(part.media_type, part.data, place, held)
        case Other(kind=kind, raw=beside):
            held = redactor.value(beside)
            return part if held is beside else Other(kind, held)


def _beside(raw: T, redactor: Redactor) -> T:
    with redactor.uncounted():
        return cast(T, redactor.value(raw))
