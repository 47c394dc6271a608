"""A rolling context for LangChain and LangGraph."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest

from ctxkit import RollingContext
from tests.adapters.libraries import library

core = library("langchain_core")
if core:
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
    from langchain_core.runnables.history import RunnableWithMessageHistory

    from ctxkit.adapters.langchain import RollingChatMessageHistory, pre_model_hook

pytestmark = pytest.mark.filterwarnings("ignore")


def test_a_history() -> None:
    """A chain with this history gets what fits, and its answers are added."""
    context = RollingContext(900, reserve=400, model="gpt-4o")
    replies = (AIMessage(content=f"answer {n} " + "word " * 30) for n in range(20))
    seen: list[int] = []

    class Model(GenericFakeChatModel):
        def _generate(self, messages: Any, *args: Any, **options: Any) -> Any:
            seen.append(len(messages))
            return super()._generate(messages, *args, **options)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chain = RunnableWithMessageHistory(
            Model(messages=replies), lambda session_id: RollingChatMessageHistory(context)
        )
        for n in range(20):
            config: Any = {"configurable": {"session_id": "a"}}
            reply = chain.invoke([HumanMessage(content=f"question {n}")], config=config)
            assert reply.content.startswith(f"answer {n} ") and context.status().of == 2 * n + 2
    assert max(seen) < 39 and context.status().trims > 2  # not all of them went: what fits did
    history = RollingChatMessageHistory(context)
    assert context.tokens <= context.budget and isinstance(history.messages[-1], AIMessage)
    history.clear()
    assert history.messages == []


def test_messages_there_and_back() -> None:
    """Calls, results and usage are those of the messages."""
    context = RollingContext(900, reserve=400, model="gpt-4o")
    call = {"name": "look", "args": {"a": 1}, "id": "c1", "type": "tool_call"}
    usage: Any = {"input_tokens": 70, "output_tokens": 2, "total_tokens": 72}
    given = [
        SystemMessage(content="system"), HumanMessage(content="q"),
        AIMessage(content="", tool_calls=[call], usage_metadata=usage),
        ToolMessage(content="seen", tool_call_id="c1"), AIMessage(content="done"),
    ]  # fmt: skip
    history = RollingChatMessageHistory(context)
    history.add_messages(given)
    found = history.messages
    assert [(type(one), one.content or "") for one in found] == [(type(one), one.content) for one in given]
    assert found[2].tool_calls == [call] and found[3].tool_call_id == "c1"  # type: ignore[attr-defined]
    assert context.status().beside > 30


def test_a_hook_of_langgraph() -> None:
    """An agent of LangGraph with tools: the model gets what fits; the state keeps everything."""
    prebuilt = library("langgraph.prebuilt")
    from langchain_core.tools import tool

    seen: list[list[Any]] = []

    class Model(GenericFakeChatModel):
        def _generate(self, messages: Any, *args: Any, **options: Any) -> Any:
            seen.append(messages)
            return super()._generate(messages, *args, **options)

        def bind_tools(self, *args: Any, **options: Any) -> Any:
            return self

    @tool
    def look(n: int) -> str:
        """Looks."""
        return f"seen {n} " * 40

    def replies() -> Any:
        for n in range(15):
            yield AIMessage(
                content="", tool_calls=[{"name": "look", "args": {"n": n}, "id": f"c{n}", "type": "tool_call"}]
            )
        yield AIMessage(content="done")

    context = RollingContext(1500, reserve=500, model="gpt-4o", summarize=lambda rows: "what was before")
    agent = prebuilt.create_react_agent(Model(messages=replies()), [look], pre_model_hook=pre_model_hook(context))
    result = agent.invoke({"messages": [HumanMessage(content="look around")]}, config={"recursion_limit": 100})
    assert len(result["messages"]) == 32 and result["messages"][-1].content == "done"
    assert len(context.log.messages) == 31 and context.status().compacts > 0 and context.tokens <= context.budget
    assert max(map(len, seen)) < 20 and any(one.content == "what was before" for one in seen[-1])
    same = {id(one) for one in result["messages"]}
    assert sum(id(one) in same for one in seen[-1]) > len(seen[-1]) / 2
    for messages in seen:
        calls = [call["id"] for one in messages for call in getattr(one, "tool_calls", [])]
        assert calls == [one.tool_call_id for one in messages if isinstance(one, ToolMessage)]


def test_a_hook_with_a_checkpointer(tmp_path: Path) -> None:
    """Each run reads its messages from the store: none is added twice, also by a new process on the same log."""
    prebuilt = library("langgraph.prebuilt")
    memory = library("langgraph.checkpoint.memory")

    class Model(GenericFakeChatModel):
        def bind_tools(self, *args: Any, **options: Any) -> Any:
            return self

    saver = memory.InMemorySaver()
    config = {"configurable": {"thread_id": "1"}, "recursion_limit": 50}
    for run in range(6):
        context = RollingContext(1500, reserve=500, model="gpt-4o", log=tmp_path / "a.jsonl")
        model = Model(messages=iter([AIMessage(content=f"answer {n} " * 30) for n in range(2)]))
        agent = prebuilt.create_react_agent(model, [], pre_model_hook=pre_model_hook(context), checkpointer=saver)
        for _ in range(2):
            result = agent.invoke({"messages": [HumanMessage(content="go on " * 30)]}, config=config)
        assert len(result["messages"]) == 4 * (run + 1)
        assert len(context.log.messages) == 4 * (run + 1) - 1, "the newest answer comes with the next run"
    assert context.log.transcript.ops
