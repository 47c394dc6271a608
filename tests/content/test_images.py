"""The pictures of a context, and whose limits hold for them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ctxkit.api.log import Log
from ctxkit.content.images import encoded, excess, limits_of, own_limits, reasons
from ctxkit.content.images import pictures as pictures_of
from ctxkit.formats.targets import REQUESTS, SESSIONS
from ctxkit.recovery.check import check
from tests import pictures

SMALL = pictures.block(pictures.png(10, 10))
WIDE = pictures.block(pictures.png(9000, 9))


def test_pictures_of_a_context(tmp_path: Path) -> None:
    """In order, with their sizes; none of a message that left."""
    log = Log.open(pictures.chat(tmp_path / "log.jsonl", [SMALL, WIDE]))
    found = pictures_of(log)
    assert [one.side for one in found] == [10, 9000]
    assert encoded(found) == sum(len(one["source"]["data"]) for one in (SMALL, WIDE))
    log.forget(sorted({int(str(one.name)) for one in found}), include_protected=True)
    assert pictures_of(log) == []


def test_what_the_provider_refuses(tmp_path: Path) -> None:
    """The picture that is too wide is named, and is the one to leave out."""
    log = Log.open(pictures.chat(tmp_path / "log.jsonl", [SMALL, WIDE]))
    [(first, text)] = reasons(log)
    [out] = excess(log)
    assert first == out and out.side == 9000 and "8,000 pixels" in text


@pytest.mark.parametrize(
    ("to", "model", "provider"),
    [
        ("anthropic", "", "anthropic"),
        ("codex", "", "openai"),
        ("openai", "claude-opus-4-5", "anthropic"),
        ("pi", "gemini-2.5-pro", "gemini"),
        ("pi", "", "anthropic"),  # by the shape of the pictures
    ],
)
def test_whose_limits_hold(to: str, model: str, provider: str, tmp_path: Path) -> None:
    """The target's, else those of whoever makes the model, else by the shape of the pictures; chat lines have none."""
    log = Log.open(pictures.chat(tmp_path / "log.jsonl", [SMALL]))
    found = pictures_of(log)
    limits = limits_of(log, to, model, found)
    assert limits is not None and limits.provider == provider
    assert limits_of(log, "chat", model, found) is None
    own = own_limits(log, found)
    assert own is not None and own.provider == "anthropic"


BYTES = {
    "image/png": pictures.png(2, 2), "image/jpeg": pictures.jpeg(2, 2), "image/gif": pictures.gif(2, 2),
    "image/webp": pictures.webp(2, 2), "": b"words, and no picture",
}  # fmt: skip
"""A picture of each kind that providers take, and none."""
CALLED = re.compile(
    r"data:(?P<link>[^;\"]*);base64,(?P<a>[^\"]*)"
    r"|\"(?:media_type|mimeType)\":\"(?P<first>[^\"]*)\",\"data\":\"(?P<b>[^\"]*)\""
    r"|\"data\":\"(?P<c>[^\"]*)\",\"mimeType\":\"(?P<last>[^\"]*)\""
)
"""Type and data of a picture, in whatever form a target has them."""


@pytest.mark.parametrize("to", [*REQUESTS, *SESSIONS])
@pytest.mark.parametrize("write", [pictures.chat, pictures.in_results])
def test_every_target_says_what_the_bytes_are(to: str, write: Any, tmp_path: Path) -> None:
    """Whatever a picture is called: with its true type, or left out and said."""
    wrong = [pictures.block(raw, said) for raw in BYTES.values() for said in ("image/png", "image/jpeg", "image/bmp")]
    log = Log.open(write(tmp_path / "log.jsonl", wrong))
    if to == log.opening.format.name:  # rows that stay keep their bytes
        return
    made = log.session(to) if to in SESSIONS else log.export(to)
    sent = b"".join(made.pieces).decode()
    found = [
        (one["link"] or one["first"] or one["last"], one["a"] or one["b"] or one["c"]) for one in CALLED.finditer(sent)
    ]
    kinds = {pictures.base64_of(raw): kind for kind, raw in BYTES.items()}
    assert [(kind, data) for kind, data in found if kinds[data] != kind or not kind] == []
    assert len(found) == 3 * len({kind for kind, _ in found})
    assert found or made.repairs.left_out
    assert sum(made.repairs.left_out.values()) >= len(wrong) - len(found)


def test_check_notes_what_a_picture_is_not(tmp_path: Path) -> None:
    """With the message, what it is called and what is sent of it; a note, no fault."""
    odd = [pictures.block(pictures.jpeg(2, 2), "image/png"), pictures.block(b"no picture", "image/png"), SMALL]
    log = Log.open(pictures.chat(tmp_path / "log.jsonl", odd))
    assert log.check() == []
    first, second = [one for one in check(log, notes=True) if one.code == "misnamed-image"]
    assert (
        first.note and first.text == "what is called image/png is image/jpeg by its bytes, and called that in a request"
    )
    assert second.text == "what is called image/png is no picture that a provider takes, and is left out"
