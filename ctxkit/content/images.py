"""Checks the pictures of a context against the limits of its provider.

`content/image_selection.py` finds those that the provider refuses, `without` makes a view of the log without them, and
`export/fit_images.py` writes the rest. Nothing is appended.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from ctxkit.content.image_selection import ImageRefusal, Picture, refusals, too_many
from ctxkit.content.parts import may_hold_images, shown
from ctxkit.core.context import entry
from ctxkit.core.derive.image_size import ImageLimits, size_of_base64
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Content, Image, Part, Result
from ctxkit.core.ops import PARTS_VERSION, Forget, Index, LogPosition
from ctxkit.formats.bodies import image_type, is_url, speaker
from ctxkit.formats.targets import TARGETS
from ctxkit.tokens.image_limits import image_limits, maker

if TYPE_CHECKING:
    from ctxkit.logfile.commit import WritableLog
    from ctxkit.logfile.open import OpenLog

L = TypeVar("L", bound="WritableLog")

SHAPES = (("source", "anthropic"), ("image_url", "openai"), ("inlineData", "gemini"), ("fileData", "gemini"))
"""Key of a picture's record -> the provider that writes it."""
SHOWN = 5
"""The most messages that a refusal names."""


def encoded(some: Iterable[Picture]) -> int:
    """Bytes of these pictures in a request."""
    return sum(one.encoded for one in some)


def reasons(log: OpenLog) -> Iterator[tuple[Picture | None, str]]:
    """Yields why the log's own provider would refuse its context, each with the first picture that breaks the limit."""
    found = pictures(log)
    limits = own_limits(log, found)
    if found and limits is not None:
        for one in refusals(found, limits):
            yield (one.pictures[0] if one.pictures else None), refusal_text(one, limits, found)


def misnamed(log: OpenLog) -> Iterator[tuple[str, str]]:
    """The label of each message of the context with a picture that is not what it is called, and what is sent of it."""
    for name in log.listed():
        if may_hold_images(log, name):
            for _, image in _sent(log, name):
                kind, said = image_type(image), image.media_type or "a picture without a type"
                if image.data and kind != image.media_type:
                    told = "is no picture that a provider takes, and is left out"
                    if kind:
                        told = f"is {kind} by its bytes, and called that in a request"
                    yield log.state().label(name), f"what is called {said} {told}"


def excess(log: OpenLog) -> list[Picture]:
    """The pictures to leave out, so that the log's own provider takes the others."""
    found = pictures(log)
    limits = own_limits(log, found) if found else None
    if limits is None:
        return []
    over = encoded(found) - (limits.request or encoded(found))
    return too_many(found, limits, max(0, over))


def own_limits(log: OpenLog, found: Sequence[Picture]) -> ImageLimits | None:
    """The limits of the log's own provider: that of its program, else that of its model."""
    program = log.opening.format.name
    known = program in TARGETS and TARGETS[program].provider
    return limits_of(log, program if known else "", "", found)


def limits_of(log: OpenLog, to: str, model: str, found: Sequence[Picture]) -> ImageLimits | None:
    """The limits of a provider: of the export target `to`, else of the model, else of the shape of the pictures."""
    target = TARGETS.get(to)
    if target is not None and target.kind == "lines":
        return None
    model = model or str(log.config["model"]) or log.model
    made_by = maker(model)
    if target is not None and target.provider:
        return image_limits(made_by or target.provider if target.compatible else target.provider, model)
    shapes = (one.shape for one in found if one.shape)
    return image_limits(made_by or next(shapes, ""), model)


def refusal_text(one: ImageRefusal, limits: ImageLimits, found: Sequence[Picture]) -> str:
    """A refusal in words: `anthropic would refuse the request for 2 of the 9 images: more than 8,000 pixels …`."""
    labels = list(dict.fromkeys(picture.label for picture in one.pictures))
    named = ", ".join(labels[:SHOWN]) + (", …" if len(labels) > SHOWN else "")
    where = f" (message{'s' * (len(labels) != 1)} {named})" if labels else ""
    count, total = len(one.pictures), len(found)
    some = f"{count:,} of " * (count < total) + (f"the {total:,} images" if total > 1 else "the image")
    return f"{limits.provider} would refuse the request{f' for {some}' if count else ''}: {one.text}{where}"


def pictures(log: OpenLog) -> list[Picture]:
    """The pictures of a log's context that are sent, in order."""
    state, found = log.state(), []
    for name in log.listed():
        if may_hold_images(log, name):
            label, protected = state.label(name), state.protected(name)
            for place, image in _sent(log, name):
                found.append(_picture(name, label, place, image, protected=protected))
    return found


def _sent(log: OpenLog, name: Name) -> Iterator[tuple[Index | None, Image]]:
    """Yields the pictures of a message that are sent, each with its place, None if it cannot be left out."""
    content = log.full(entry(log.state(), name))
    if speaker(content) != "user":
        return
    places = iter([place for place, part in shown(log, name) if isinstance(part, Image) and _goes_out(part)])
    for image in _images(content):
        yield next(places, None), image


def _images(content: Content) -> Iterator[Image]:
    inner: list[Part] = []
    for part in content.parts:
        inner += part.content if isinstance(part, Result) and isinstance(part.content, list) else [part]
    yield from (part for part in inner if isinstance(part, Image) and _goes_out(part))


def _goes_out(image: Image) -> bool:
    """Whether it may be sent. Data need not be valid: some programs send any."""
    return bool(image.data) or is_url(image.url)


def _picture(name: Name, label: str, place: Index | None, image: Image, *, protected: bool) -> Picture:
    size = size_of_base64(image.data) if image.data else None
    shape = next((provider for key, provider in SHAPES if key in (image.raw or {})), "")
    return Picture(name, label, place, len(image.data), max(size) if size else 0, protected, shape)


def without(log: L, out: Sequence[Picture]) -> L:
    """A view of the log without these pictures."""
    if not out:
        return log
    seen = log.seen_at(log.state())
    at = log.here() if log.at is None else LogPosition(messages=log.state().count)
    seen.look_through(Forget(at=at, v=PARTS_VERSION, ids="", parts=parts_of(out)))
    return seen


def parts_of(out: Iterable[Picture]) -> dict[str, list[Index]]:
    """The pictures as the `parts` of an op."""
    parts: dict[str, list[Index]] = {}
    for one in out:
        if one.place is not None:
            parts.setdefault(str(one.name), []).append(one.place)
    return parts
