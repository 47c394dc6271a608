"""Writes a context as the body of an OpenAI Responses request: `{"model"?, "input": [...]}`.

Pipeline: context -> `write`. From a Codex session the items go as Codex sends them; from other logs they are made. What
had to be changed is counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ctxkit.core.integrity import PairedContents
from ctxkit.core.messages import Content, Repairs
from ctxkit.formats.bodies import Body, BodyOptions, written
from ctxkit.formats.response_items import Items, followed, permitted


def write(contents: Iterable[Content], *, model: str = "", as_sent: bool = False) -> tuple[dict[str, Any], Repairs]:
    """The body, and what was changed to make it valid. Raises NothingToSend where no item is left."""
    repairs = Repairs()
    return body(contents, repairs, BodyOptions(model, as_sent)).value, repairs


def body(contents: Iterable[Content], repairs: Repairs, options: BodyOptions) -> Body:
    """The same piece by piece; `contents` are gone through twice, a third time where calls ask for it, and not held.

    As it is sent, reasoning stays where it is, also where nothing follows.
    """
    made = Items(repairs)
    paired = PairedContents(contents)
    made.expect(paired)
    items = permitted((item for content in paired.told(repairs) for item in made.of(content)), repairs)
    if not options.as_sent:
        items = followed(items, repairs)
    empty = "nothing to send: the context has no item for responses"
    return Body({"model": options.model} if options.model else {}, "input", map(written, items), empty)
