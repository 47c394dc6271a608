"""An export without secrets: thinking behind the first of them leaves, calls stay paired, the rest keeps its bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.core.messages import Repairs
from ctxkit.core.text.redactor import Redactor
from ctxkit.export.redacted import without_secrets
from ctxkit.export.request import repair_notes
from tests.canary_sessions import canary
from tests.formats.claude_code.logs import assistant, call, log, result, user
from tests.formats.claude_code.sessions import opened, problems, rows

BOUND, FREE = "claude-opus-5-5", "claude-opus-4-6"


def _thought(words: str, signed: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": words, "signature": signed}


def _talk(model: str, secrets: dict[str, str]) -> Log:
    """Four exchanges with thinking; `secrets`: what stands at places of it."""
    made, parent = [], None
    for place in "1234":
        said = f"question {place} {secrets.get(f'u{place}', '')}".strip()
        thought = _thought(f"hm {secrets.get(f't{place}', '')}".strip(), f"c2ln{place}")
        made += [
            user(f"u{place}", parent, said),
            assistant(f"a{place}", f"u{place}", [thought, call(f"c{place}")], model=model),
            user(f"r{place}", f"a{place}", [result(f"c{place}", f"out {secrets.get(f'r{place}', '')}".strip())]),
            assistant(f"e{place}", f"r{place}", [_thought("so", f"c29{place}"), {"type": "text", "text": "ok"}],
                      model=model),
        ]  # fmt: skip
        parent = f"e{place}"
    found = opened(log(*made))
    found.redactor = Redactor()
    return found


def _signed(data: bytes) -> list[str]:
    """The signatures of the thinking in a session."""
    blocks = [block for row in rows(data) for block in row["message"]["content"] if isinstance(block, dict)]
    return [block["signature"] for block in blocks if block["type"] == "thinking"]


ALL = ["c2ln1", "c291", "c2ln2", "c292", "c2ln3", "c293", "c2ln4", "c294"]


@pytest.mark.parametrize(
    ("model", "places", "left", "said"),
    [
        (BOUND, {}, ALL, []),
        (BOUND, {"u3": "{}"}, ALL[:4], ["4 thinking blocks left out: message 9 holds a secret", "1 secret taken out"]),
        (BOUND, {"u3": "{}", "r2": "{}"}, ALL[:3],
         ["5 thinking blocks left out: message 7 holds a secret", "2 secrets taken out"]),
        (BOUND, {"t2": "{}"}, ALL[:2], ["6 thinking blocks left out: message 6 holds a secret"]),
        (FREE, {"u3": "{}"}, ALL, ["1 secret taken out"]),
        (FREE, {"t2": "{}"}, [*ALL[:2], *ALL[3:]], ["1 thinking block left out: a secret is in it"]),
    ],
)  # fmt: skip
def test_a_session(model: str, places: dict[str, str], left: list[str], said: list[str]) -> None:
    """In its own format: what a provider binds stays up to the first secret; of models that bind nothing only signed
    thinking with a secret in it leaves. It is read again as the same messages.
    """
    one = canary()
    talk = _talk(model, {place: form.format(one) for place, form in places.items()})
    made = talk.session("claude-code")
    data = b"".join(made.pieces)
    assert one[-12:].encode() not in data and problems(data) == []
    assert _signed(data) == left
    assert list(repair_notes(made.repairs)) == said
    assert [m.calls for m in opened(data).messages] == [m.calls for m in talk.messages]


@pytest.mark.parametrize(("model", "left"), [(BOUND, ALL[:4]), (FREE, ALL)])
def test_a_request(model: str, left: list[str]) -> None:
    """With --keep-thinking: what stands before the first secret."""
    one = canary()
    talk = _talk(model, {"u3": one})
    made = talk.export("anthropic", model=model, keep_thinking=True)
    [body] = made.values
    blocks = [block for message in body["messages"] for block in message["content"]]
    assert [block["signature"] for block in blocks if block["type"] == "thinking"] == left
    assert one[-12:] not in json.dumps(body)
    assert [b["id"] for b in blocks if b["type"] == "tool_use"] == [
        b["tool_use_id"] for b in blocks if b["type"] == "tool_result"
    ]
    assert "1 secret taken out" in list(repair_notes(made.repairs))


def test_a_signed_thought_with_a_secret() -> None:
    """It leaves a request and another program's session, whatever model it is of."""
    for to in ("anthropic", "pi", "chat"):
        one = canary()
        talk = _talk(FREE, {"t2": one})
        made = talk.session(to) if to == "pi" else talk.export(to, model=FREE, keep_thinking=to == "anthropic")
        data = b"".join(made.pieces)
        assert one[-12:].encode() not in data and b"c2ln2" not in data and b"c2ln3" in data, to
        assert "1 thinking block left out: a secret is in it" in list(repair_notes(made.repairs))


def test_nothing_to_take_out() -> None:
    """A session without secrets keeps its bytes."""
    plain, clean = _talk(BOUND, {}), _talk(BOUND, {})
    plain.redactor = None
    kept = [b"".join(one.session("claude-code", keep_id=True).pieces) for one in (plain, clean)]
    assert kept[0] == kept[1]


def test_lines() -> None:
    """Lines of JSON; what was taken out is counted."""
    one, repairs = canary(), Repairs()
    pieces = [b'{"a":1}\n{"b":', json.dumps(one).encode(), b"}\n"]
    assert without_secrets(pieces, None, repairs) is pieces
    made = b"".join(without_secrets(pieces, Redactor(), repairs))
    assert made.startswith(b'{"a":1}\n') and repairs.secrets == 1 and one[-12:].encode() not in made
