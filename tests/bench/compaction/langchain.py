"""langchain's `trim_messages`, as its documentation has it: the newest that fit, from a message of the user on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ctxkit.core.messages import Call, Result, Text
from tests.bench.compaction.baselines import Compacted
from tests.bench.compaction.ready import Ready


def trimmed(case: Ready, budget: int) -> Compacted:
    """The messages that it keeps."""
    try:
        from langchain_core import messages as kinds
    except ImportError:
        return "langchain_core is not installed"
    made = [one for number in range(len(case.contents)) for one in _made(case, number, kinds)]

    def count(some: Sequence[Any]) -> int:
        return sum(case.tokens[number] for number in {int(message.id or 0) for message in some})

    kept = kinds.trim_messages(
        made, max_tokens=budget, token_counter=count, strategy="last", include_system=True, start_on="human"
    )
    return [case.contents[number] for number in sorted({int(message.id or 0) for message in kept})]


def _made(case: Ready, number: int, kinds: Any) -> list[Any]:
    """A message as langchain has it; its id is its place."""
    content = case.contents[number]
    words = "\n".join(part.text for part in content.parts if isinstance(part, Text))
    results = [part for part in content.parts if isinstance(part, Result)]
    found = [kinds.ToolMessage(json.dumps(str(one.content)), tool_call_id=one.id, id=str(number)) for one in results]
    if content.role == "assistant":
        calls = [part for part in content.parts if isinstance(part, Call)]
        listed = [{"id": one.id, "name": one.name, "args": {}} for one in calls]
        found.append(kinds.AIMessage(words, tool_calls=listed, id=str(number)))
    elif words:
        found.append(kinds.HumanMessage(words, id=str(number)))
    return found
