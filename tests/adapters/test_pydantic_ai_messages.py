"""Messages of pydantic-ai there and back."""

from __future__ import annotations

from typing import Any

from ctxkit import RollingContext
from ctxkit.api.rolling import ShownMessage
from tests.adapters.libraries import library
from tests.pictures import png
from tests.trims import RULES

pydantic_ai = library("pydantic_ai")
if pydantic_ai:
    from pydantic_ai import messages as ai

    from ctxkit.adapters.pydantic_ai import history_processor
    from ctxkit.adapters.pydantic_ai_messages import made, rows_of

LIMIT: dict[str, Any] = {"limit": 3000, "reserve": 300, "model": "gpt-4o"}


def talk(turns: int) -> list[Any]:
    """A history with long calls and results."""
    found: list[Any] = [ai.ModelRequest(parts=[ai.SystemPromptPart("help"), ai.UserPromptPart("go")])]
    for n in range(turns):
        arguments = {"path": "/a", "content": f"word {n} " * 60}
        call = ai.ToolCallPart("write", arguments, tool_call_id=f"c{n}")
        found.append(ai.ModelResponse(parts=[ai.ThinkingPart("hm"), ai.TextPart(f"next {n}"), call]))
        found.append(ai.ModelRequest(parts=[ai.ToolReturnPart("write", f"done {n} " * 60, tool_call_id=f"c{n}")]))
    return found


def test_pictures_count_as_pictures() -> None:
    """Their bytes are no text; other files are named."""
    picture = ai.BinaryContent(png(800, 600, padding=300_000), media_type="image/png")
    other = ai.BinaryContent(b"%PDF" * 10_000, media_type="application/pdf")
    part = ai.UserPromptPart(["see", picture, ai.ImageUrl("https://example.org/a.png"), other])
    [row] = rows_of(part)
    assert [one["type"] for one in row["content"]] == ["text", "image_url", "image_url", "text"]
    context = RollingContext(**{**LIMIT, "limit": 8000})
    request = ai.ModelRequest(parts=[part])
    assert history_processor(context)([request]) == [request]
    assert 700 < context.tokens < 4000 and not list(RULES["openai"](context.request("openai")))


def test_a_log_that_was_loaded() -> None:
    """What only the log has comes as responses, calls and results; a history read from a store is not added again."""
    context = RollingContext(**LIMIT)
    full = talk(3)
    history_processor(context)(full)
    count = len(context.log.messages)
    again = ai.ModelMessagesTypeAdapter.validate_json(ai.ModelMessagesTypeAdapter.dump_json(full))
    assert history_processor(context)(again) == again and len(context.log.messages) == count
    new = ai.ModelRequest(parts=[ai.UserPromptPart("and now?")])
    given = history_processor(context)([new])
    assert given[-1].parts[-1] is new.parts[0] and len(context.log.messages) == count + 1
    assert [type(one) for one in given] == [type(one) for one in full]
    calls = [part for one in given for part in one.parts if isinstance(part, ai.ToolCallPart)]
    results = [part for one in given for part in one.parts if isinstance(part, ai.ToolReturnPart)]
    assert (
        [(one.tool_name, one.tool_call_id) for one in calls]
        == [(one.tool_name, one.tool_call_id) for one in results]
        == [("write", f"c{n}") for n in range(3)]
    )
    assert calls[0].args_as_dict()["path"] == "/a" and "done 0" in str(results[0].content)


def test_shortened_messages() -> None:
    """A response whose arguments or words are shortened stays a response with its calls."""
    [_, response, *_] = talk(1)
    [row] = rows_of(response)
    row["tool_calls"][0]["function"]["arguments"] = '{"path": "…"}'
    found = made(ShownMessage(2, row, True), response)
    assert [type(part) for part in found.parts] == [type(part) for part in response.parts]
    assert found.parts[-1].args_as_dict() == {"path": "…"} and response.parts[-1].args_as_dict()["path"] == "/a"
    found = made(ShownMessage(2, row | {"content": "short"}, True), response)
    assert found.text == "short" and found.tool_calls[0].tool_call_id == "c0"
    found = made(ShownMessage(2, row | {"tool_calls": []}, True), response)
    assert found.text == "next 0" and not found.tool_calls
