"""What a target cannot hold is counted: parts in are parts out and what was counted, whatever a context holds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxkit.core import integrity
from ctxkit.core.messages import Repairs
from ctxkit.errors import NothingToSend
from tests.effort import examples
from tests.lawful import as_bytes, opened
from tests.losses import Atom, atoms, left
from tests.whole import context

PIXELS = ("AAAA", "iVBORw0KGgo=", "no base64")
TYPES = ("image/png", "image/webp", "image/tiff")
WORDS = st.sampled_from(["one", "two words", " ", "x\ny"])
PICTURES = st.one_of(
    st.builds(
        lambda kind, data: {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}},
        st.sampled_from(TYPES), st.sampled_from(PIXELS),
    ),
    st.sampled_from(["https://x/a.png", "http://x/a.png", "file:///a.png"]).map(
        lambda url: {"type": "image_url", "image_url": {"url": url}}
    ),
)  # fmt: skip
TEXTS = WORDS.map(lambda words: {"type": "text", "text": words})
THOUGHTS = st.sampled_from(
    [{"type": "thinking", "thinking": "hm", "signature": "QUJD"}, {"type": "thinking", "thinking": "hm"},
     {"type": "thinking", "thinking": "", "signature": "QUJD"}, {"type": "redacted_thinking", "data": "QUJD"},
     {"type": "reasoning", "summary": [], "encrypted_content": "QUJD"}]
)  # fmt: skip
OTHERS = st.sampled_from(
    [{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "d"}},
     {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "x"}]},
     {"type": "unheard_of", "value": 1}, {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}]
)  # fmt: skip
ARGUMENTS = st.sampled_from(['{"a":1}', "{broken", "[1]", ""])


@st.composite
def steps(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A few messages of a native log, with every kind of part."""
    said = st.lists(st.one_of(TEXTS, PICTURES, OTHERS), min_size=1, max_size=3)
    role = draw(st.sampled_from(["user", "user", "system"]))
    asked = {"role": role, "content": draw(said if role == "user" else st.lists(TEXTS, min_size=1, max_size=2))}
    if draw(st.booleans()):
        asked["name"] = "ann"
    blocks = draw(st.lists(st.one_of(TEXTS, THOUGHTS, PICTURES, OTHERS), max_size=3))
    ids = [f"c{draw(st.uuids())}" for _ in range(draw(st.integers(0, 2)))]
    calls = [{"id": one, "type": "function", "function": {"name": "read", "arguments": draw(ARGUMENTS)}} for one in ids]
    answer: dict[str, Any] = {"role": "assistant", "content": [*blocks, {"type": "text", "text": "so"}]}
    results = [
        {"role": "tool", "tool_call_id": one, "content": draw(said), "is_error": draw(st.booleans())} for one in ids
    ]
    return [asked, {**answer, "tool_calls": calls} if calls else answer, *results]


def lost(first: list[Atom], expected: list[Atom]) -> int:
    """How many parts, pictures of results, flags and roles are not as they were."""
    total = 0
    rest = list(expected)
    for atom in first:
        if atom[0] == "result":
            other = next(one for one in rest if one[:2] == atom[:2])
            total += (atom[2] != other[2]) + sum(inner not in other[3] for inner in atom[3])
            rest.remove(other)
        elif atom in rest:
            rest.remove(atom)
        else:
            total += 1
    return total


NO_PARTS = ("empty message", "name of a speaker")


@pytest.mark.parametrize("to", ["claude-code", "codex", "pi", "chat"])
def test_nothing_is_lost_in_silence(to: str) -> None:
    """Each part is there, or is counted once; nothing is counted that is there."""

    @settings(max_examples=examples(250), suppress_health_check=list(HealthCheck))
    @given(st.lists(steps(), min_size=1, max_size=3))
    def written(drawn: list[list[dict[str, Any]]]) -> None:
        log = opened(as_bytes(record for step in drawn for record in step))
        contents, _ = integrity.repair(context(log))
        first = atoms(contents)
        expected = left(first, to)
        repairs: Repairs
        try:
            if to == "chat":
                made = log.export("chat")
                raw, repairs = as_bytes(made.values), made.repairs
            else:
                session = log.session(to)
                raw, repairs = b"".join(session.pieces), session.repairs
        except NothingToSend:
            assert not expected
            return
        assert atoms(integrity.repair(context(opened(raw)))[0]) == expected
        counted = {kind: count for kind, count in repairs.left_out.items() if kind not in NO_PARTS}
        role = sum(count for kind, count in counted.items() if kind.startswith("role of a system message"))
        changed = sum(count for kind, count in counted.items()) - role
        words = sum(atom[1] == "system" for atom in first if atom[0] in ("text", "image", "other"))
        assert changed <= lost(first, expected) <= changed + (words if role else 0), (counted, first, expected)

    written()
