"""Writes a context as the body of an OpenAI Responses request: `{"model"?, "input": [...]}`.

Pipeline: context -> `write`. From a Codex session the items go as Codex sends them; from other logs they are made. What
had to be changed is counted.
"""

from __future__ import annotations

from typing import Any

from ctxkit.core.integrity import repair
from ctxkit.core.messages import Content, Repairs
from ctxkit.errors import NothingToSend
from ctxkit.formats.response_items import Items, followed, permitted

PROGRAM = "codex"
"""The program whose own requests these are: what it sends, goes out as it sends it."""


def write(contents: list[Content], *, model: str = "", as_sent: bool = False) -> tuple[dict[str, Any], Repairs]:
    """The body, and what was changed to make it valid. Raises NothingToSend where no item is left.

    `as_sent`: the context is what the log's program sends; its reasoning stays where it is, also where nothing follows.
    """
    contents, repairs = repair(contents)
    made = Items(repairs)
    made.expect(contents)
    items = permitted([item for content in contents for item in made.of(content)], repairs)
    if not as_sent:
        items = followed(items, repairs)
    if not items:
        raise NothingToSend("nothing to send: the context has no item for responses")
    body: dict[str, Any] = {"model": model} if model else {}
    return body | {"input": items}, repairs
