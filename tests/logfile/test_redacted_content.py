"""Messages without the secrets in them: every kind of part, and only where there is one."""

from __future__ import annotations

import json

import msgspec
import pytest

from ctxkit.core.messages import Call, Content, Image, Other, Part, Result, Text, Thinking
from ctxkit.core.text.redactor import Redactor
from ctxkit.logfile.redacted_content import redacted
from tests.canary_sessions import canary

ONE = canary()
PARTS: list[tuple[Part, Part]] = [
    (Text("say {}"), Text("say {}")),
    (Thinking("hm {}", {"thinking": "hm {}", "signature": "c2ln"}), Thinking("hm {}", {"thinking": "hm {}"})),
    (Call("c1", "get_{}", {"key": "{}"}), Call("c1", "redacted-1", {"key": "{}"})),
    (Call("c1", "get", '{"key": "{}', {"input": "{}"}), Call("c1", "get", '{"key": "{}', {"input": "{}"})),
    (Result("c1", "out {}"), Result("c1", "out {}")),
    (Result("c1", [Text("out {}")], raw={"content": "{}"}), Result("c1", [Text("out {}")], raw={"content": "{}"})),
    (Image(url="https://x.test/{}"), Image(url="https://x.test/{}")),
    (Other("document", {"title": "{}"}), Other("document", {"title": "{}"})),
]


def _with(part: Part, words: str) -> Part:
    text = json.dumps(msgspec.to_builtins(part), ensure_ascii=False).replace("{}", words)
    return msgspec.convert(json.loads(text), type(part))


@pytest.mark.parametrize(("part", "left"), PARTS)
def test_parts(part: Part, left: Part) -> None:
    """A secret in it is replaced, and counted once; thinking in other words is no longer signed."""
    redactor = Redactor()
    held = Content("user", [_with(part, ONE)], None, [{"text": ONE}])
    for _ in range(2):
        made = redacted(1, held, redactor)
        assert made.parts == [_with(left, "ghp_…[redacted 36]")] and made.rows == [{"text": "ghp_…[redacted 36]"}]
    names = sum(isinstance(one, Call) and "{}" in one.name for one in [part])
    assert redactor.count == 1 + names


@pytest.mark.parametrize("part", [part for part, _ in PARTS])
def test_without_one(part: Part) -> None:
    """A message without a secret is the same object."""
    held = Content("user", [_with(part, "words")], "ada", [{"text": "words"}])
    assert redacted(1, held, Redactor()) is held


def test_the_name() -> None:
    """Of the speaker."""
    made = redacted(1, Content("user", [Text("x")], ONE), Redactor())
    assert made.name == "ghp_…[redacted 36]" and made.parts == [Text("x")]
