"""Restating: a record as somebody wrote it, with other words in its results; every other key stays as it is.

Pipeline: what a trim shortened -> `restated` -> the message in the form that it came in. `form` is the format that read
it: chat (OpenAI's and Anthropic's messages alike), gemini, responses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ctxkit.formats.chat_parts import RESULT_ROLES
from ctxkit.formats.response_kinds import CALLS, KINDS

Json = dict[str, Any]

WORDLESS = frozenset(
    KINDS[name].tool for name in CALLS if KINDS[KINDS[name].answer].keys.get("output", dict) is dict
)  # fmt: skip
"""Tools of Responses whose results are no words, so that nothing can be shortened in them: a picture, a list."""


def restated(form: str, record: Mapping[str, Any], words: Sequence[str | None]) -> Json:
    """`record` with `words` in place of what its results say, in their order; None: one stays as it is.

    The record itself is not changed.
    """
    left = iter(words)
    if form == "gemini":
        return {**record, "parts": [_response(part, left) for part in record["parts"]]}
    if form == "responses":
        return {**record, "output": _output(record, next(left) or "")}
    content = record.get("content")
    if isinstance(content, list) and any(_is_result(block) for block in content):
        return {**record, "content": [_block(block, left) for block in content]}
    return {**record, "content": next(left)} if record.get("role") in RESULT_ROLES else dict(record)


def _is_result(block: Any) -> bool:
    return isinstance(block, Mapping) and block.get("type") == "tool_result"


def _block(block: Any, left: Iterator[str | None]) -> Any:
    words = next(left) if _is_result(block) else None
    return block if words is None else {**block, "content": words}


def _response(part: Any, left: Iterator[str | None]) -> Any:
    """A part of Gemini's; pictures beside the words of a response go with the words."""
    for key in ("functionResponse", "function_response"):
        if isinstance(part, Mapping) and isinstance(held := part.get(key), Mapping):
            words = next(left)
            if words is None:
                return part
            said = held.get("response")
            failed = isinstance(said, Mapping) and isinstance(said.get("error"), str) and "output" not in said
            rest = {name: one for name, one in held.items() if name not in ("response", "parts")}
            return {**part, key: {**rest, "response": {"error" if failed else "output": words}}}
    return part


def _output(item: Mapping[str, Any], words: str) -> Any:
    """What an answer of Responses holds: text, or what a shell printed."""
    output = item.get("output")
    if item.get("type") != "shell_call_output":
        return words
    last = output[-1] if isinstance(output, list) and output and isinstance(output[-1], Mapping) else {}
    return [{"stdout": words, "stderr": "", "outcome": last.get("outcome", {"type": "exit", "exit_code": 0})}]
