"""Counting: each message once, by its content; a second look decodes nothing."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from ctxkit.api.log import Log
from ctxkit.measure import count
from ctxkit.measure.count import PER_CALL, PER_MESSAGE, PER_RESULT, Counting
from ctxkit.tokens.pictures import UNKNOWN
from tests.cli.runner import SMALL, lines, message
from tests.tokens.test_encodings import MADE

O200K = {"CTXKIT_COUNTER": "o200k_base"}


def of(raw: bytes) -> Counting:
    return Counting(Log.open(io.BytesIO(raw), env=dict(O200K)))


def test_words_and_what_is_around_them() -> None:
    """The sum of the texts, a few tokens for each message."""
    found = of(lines(message("user", "hello world", 1), message("assistant", "漢字 and code()", 2)))
    expected = MADE["o200k_base"].counts(["hello world", "漢字 and code()"])
    assert list(found.counted([1, 2])) == [n + PER_MESSAGE for n in expected]
    assert found.of([1, 2, 2]) == sum(expected) + expected[1] + 3 * PER_MESSAGE
    assert found.of([]) == 0 and found.of_texts(["hello world"]) == 2 + PER_MESSAGE


def test_pictures_count_flat() -> None:
    """Their data is no text, wherever they stand."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 10_000}}
    found = of(lines({"role": "user", "content": [{"type": "text", "text": "hi"}, picture, picture]}))
    assert list(found.counted([1])) == [1 + PER_MESSAGE + 2 * UNKNOWN]


def test_calls_and_results_have_frames() -> None:
    """And what is only carried counts as its JSON; what no tokenizer sees in it, by its length."""
    call = {
        "role": "assistant",
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
    }
    found = of(lines(call, {"role": "tool", "tool_call_id": "c", "content": "hello world"}))
    [words] = MADE["o200k_base"].counts(["f\n{}"])
    assert list(found.counted([1, 2])) == [words + PER_MESSAGE + PER_CALL, 2 + PER_MESSAGE + PER_RESULT]
    carried = [{"type": "novel", "kind": ["hello"], "encrypted_content": "A" * 1000}]
    [told] = of(lines({"role": "user", "content": carried})).counted([1])
    [seen] = MADE["o200k_base"].counts(["type novel\n hello"])
    assert told == seen + PER_MESSAGE + 190


def test_a_second_look_reads_no_content(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Another process knows the counts by the bytes of the rows, not by the log's name."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first = Counting(Log.open(io.BytesIO(SMALL)))
    expected = list(first.counted(range(1, 12)))
    monkeypatch.setattr(Log, "full", None)
    monkeypatch.setattr("ctxkit.tokens.counter.Counter.anew", None)
    assert list(Counting(Log.open(io.BytesIO(SMALL))).counted(range(1, 12))) == expected


def test_what_ops_wrote_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A literal that an edit brought in, and a shortened message by its new words."""
    edit = {"ctxkit": "edit", "v": 1, "id": "e", "at": {"messages": 11}, 
            "items": [{"n": 1}, {"message": {"role": "user", "content": "brought in"}}, {"n": 10}]}  # fmt: skip
    log = Log.open(io.BytesIO(SMALL + lines(edit)), env=dict(O200K))
    names = log.names()
    found = dict(zip(names, Counting(log).counted(names), strict=True))
    [item] = [name for name in names if not isinstance(name, int)]
    assert found[item] == 3 + PER_MESSAGE


def test_many_are_counted_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few are looked up or held at a time."""
    expected = list(of(SMALL).counted(range(1, 12)))
    monkeypatch.setattr(count, "TOGETHER", 3)
    monkeypatch.setattr(count, "AT_ONCE", 1)
    monkeypatch.setattr(count, "REMEMBERED", 2)
    assert list(of(SMALL).counted(range(1, 12))) == expected


def test_the_model_is_the_configs_or_the_logs() -> None:
    """And the encoding is the model's."""
    log = Log.open(io.BytesIO(SMALL), env={"CTXKIT_MODEL": "gpt-4o"})
    assert (Counting(log).model, Counting(log).counter.name) == ("gpt-4o", "o200k_base")
