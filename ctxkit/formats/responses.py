"""Writes a context as the body of an OpenAI Responses request: `{"model"?, "input": [...]}`.

Pipeline: context -> `body`. Items of a Codex session are written as Codex sends them; from other logs they are made.
Every change is counted in `Repairs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ctxkit.core.integrity import PairedContents
from ctxkit.core.messages import Content, Repairs
from ctxkit.formats.bodies import Body, BodyOptions, written
from ctxkit.formats.response_items import Items, followed, permitted


def body(contents: Iterable[Content], repairs: Repairs, options: BodyOptions) -> Body:
    """The body of the request; `contents` are iterated twice, or three times if calls need it, and not kept.

    With `as_sent`, reasoning stays even if nothing follows it.
    """
    made = Items(repairs)
    paired = PairedContents(contents)
    made.expect(paired)
    items = permitted((item for content in paired.paired(repairs) for item in made.of(content)), repairs)
    if not options.as_sent:
        items = followed(items, repairs)
    if options.passing:
        items = _of_earlier_turns(items, options.passing, repairs)
    empty = "nothing to send: the context has no item for responses"
    return Body({"model": options.model} if options.model else {}, "input", map(written, items), empty)


def _of_earlier_turns(items: Iterable[dict[str, Any]], why: str, repairs: Repairs) -> Iterator[dict[str, Any]]:
    """The items; reports `why` for the reasoning among them that stands before the last message of a person."""
    over = now = 0
    for item in items:
        if item.get("role") == "user":
            over, now = over + now, 0
        now += item.get("type") == "reasoning"
        yield item
    if over:
        repairs.tell_of_thinking(why, over)
