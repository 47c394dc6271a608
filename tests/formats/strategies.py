"""Random contents, sound and broken: what a writer may be handed after any op on any log."""

from __future__ import annotations

from hypothesis import strategies as st

from ctxkit.core.messages import Call, Content, Image, Other, Part, Result, Text, Thinking

WORDS = st.one_of(st.sampled_from(["", " ", "x", "x \n", "\ud83d", "é\u2028"]), st.text(max_size=8))
IDS = st.sampled_from(["A", "B", "toolu_1", "functions.f:0", "functions.f:1", "", "x" * 50, "x" * 49 + "é", "\ud800"])
NAMES = st.sampled_from(["read", "mcp.server/do it", "", "n" * 200])
ARGUMENTS = st.one_of(
    st.dictionaries(WORDS, st.one_of(WORDS, st.floats(), st.integers()), max_size=2),
    st.sampled_from([None, "", "{broken", [1], 5, float("nan")]),
)
THINKING = st.one_of(
    st.builds(lambda text: Thinking(text, {"type": "thinking", "thinking": text, "signature": "SIG"}), WORDS),
    st.builds(lambda text: Thinking(text, {"type": "thinking", "thinking": text, "signature": ""}), WORDS),
    st.builds(lambda text: Thinking(text, {"reasoning_content": text}), WORDS.filter(bool)),
    st.just(Thinking("", {"type": "redacted_thinking", "data": "abc"})),
    st.just(Thinking("why", {"type": "reasoning", "text": "why"})),
)
IMAGES = st.one_of(
    st.builds(
        Image, st.sampled_from(["image/png", "image/bmp", ""]), st.sampled_from(["iVBORw0KGgo=", "AAAA", "?", ""])
    ),
    st.builds(Image, st.just(""), st.just(""), st.sampled_from(["https://x/y.png", "file:///x", ""])),
)
OTHERS = st.sampled_from(
    [
        Other("unknown", {"value": 5}),
        Other("fallback", {"type": "fallback", "from": "a", "to": "b"}),
        Other("document", {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}}),
        Other("document", {"type": "document"}),
        Other("input_audio", {"type": "input_audio", "input_audio": {"data": "x", "format": "wav"}}),
        Other("server_tool_use", {"type": "server_tool_use", "id": "srvtoolu_s", "name": "web_search", "input": {}}),
        Other("web_search_tool_result", {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_s", "content": []}),
        Other("tool_reference", {"type": "tool_reference", "tool_name": "t"}),
    ]
)
TEXTS = st.builds(Text, WORDS)
INNER = st.one_of(WORDS, st.lists(st.one_of(TEXTS, IMAGES, OTHERS), max_size=2))
PARTS = st.one_of(
    TEXTS,
    THINKING,
    IMAGES,
    OTHERS,
    st.builds(Call, IDS, NAMES, ARGUMENTS),
    st.builds(Result, IDS, INNER, st.booleans()),
)
ROLES = st.sampled_from(["user", "assistant", "tool", "system", "developer", "ai", "exit", "function"])
NAMED = st.sampled_from([None, "frodo", "a b", ""])
CONTENTS = st.lists(st.builds(Content, ROLES, st.lists(PARTS, max_size=5), NAMED), max_size=8)

_SAID = st.sampled_from(["x", "two words", "é\u2028 — 会話", "line\nline", '"{[', "[image]"])
_PICTURE = st.sampled_from([Image("image/png", "iVBORw0KGgo="), Image("", "", "https://x/y.png")])
_REASONING = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "why"}], "encrypted_content": "E"}
_THOUGHTS = st.sampled_from(
    [
        Thinking("hm", {"type": "thinking", "thinking": "hm", "signature": "c2ln"}),
        Thinking("why", _REASONING),
        Thinking("so", {"text": "so", "thought": True}),
        Thinking("bare", {"reasoning_content": "bare"}),
    ]
)
_ARGUMENTS = st.dictionaries(_SAID, st.one_of(_SAID, st.integers(), st.booleans(), st.none()), max_size=2)
_MADE = st.builds(Call, st.sampled_from("abc"), st.sampled_from(["read", "run_it"]), _ARGUMENTS)
_INNER = st.one_of(
    _SAID, st.lists(st.one_of(st.builds(Text, _SAID), st.just(Image("image/png", "iVBORw0KGgo="))), min_size=1)
)
_ANSWER = st.builds(lambda key, inner, bad: Content("tool", [Result(key, inner, bad)]), st.sampled_from("abc"), _INNER,
                    st.booleans())  # fmt: skip


def _turn(parts: list[Part]) -> Content:
    """What the model says: calls come last, as Chat Completions has them there, and something after it thought."""
    parts = sorted(parts, key=lambda part: isinstance(part, Call))
    return Content("assistant", [*parts, *[Text("so")] * isinstance(parts[-1], Thinking)])


SOUND = st.lists(
    st.one_of(
        st.builds(lambda words: Content("system", [Text(words)]), _SAID),
        st.builds(Content, st.just("user"), st.lists(st.one_of(st.builds(Text, _SAID), _PICTURE), min_size=1)),
        st.builds(_turn, st.lists(st.one_of(st.builds(Text, _SAID), _THOUGHTS, _MADE), min_size=1, max_size=4)),
        _ANSWER,
    ),
    min_size=1,
    max_size=10,
)  # fmt: skip
"""Random contents of what every provider knows, in any order: pairs may be broken, and nothing else is."""
