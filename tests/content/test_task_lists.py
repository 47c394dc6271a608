"""Task lists of agents: each task in its newest state."""

from __future__ import annotations

from typing import Any

import pytest

from ctxkit.content.task_lists import tasks
from ctxkit.core.messages import Call, Content, Result, Text

State = list[tuple[str, str]]


def listed(
    *states: State, tool: str = "TodoWrite", key: str = "todos", task: str = "content"
) -> list[tuple[int, Content]]:
    """Messages that write a list again and again."""
    made = [[{task: text, "status": status} for text, status in state] for state in states]
    return [(n, Content("assistant", [Call(f"c{n}", tool, {key: one})])) for n, one in enumerate(made, start=1)]


def open_ones(messages: list[tuple[int, Content]]) -> list[tuple[Any, str]]:
    """The open tasks, each with the message that says so."""
    return [(task.name, task.text) for task in tasks(messages) if task.is_open]


@pytest.mark.parametrize(("tool", "key", "task"), [("TodoWrite", "todos", "content"), ("update_plan", "plan", "step")])
def test_the_newest_list(tool: str, key: str, task: str) -> None:
    """What was open is open no more once it is done, cancelled or gone from the list."""
    first = [("one", "in_progress"), ("two", "pending"), ("three", "pending")]
    second = [("one", "completed"), ("two", "cancelled"), ("four", "pending")]

    def found(*states: State) -> list[tuple[Any, str]]:
        return open_ones(listed(*states, tool=tool, key=key, task=task))

    assert found(first) == [(1, "one"), (1, "two"), (1, "three")]
    assert found(first, second) == [(2, "four")]
    assert found(first, []) == [] == found([])


@pytest.mark.parametrize("in_parts", [False, True])
def test_tasks_with_numbers(in_parts: bool) -> None:
    """Created by one call and changed by others, as Claude Code does; the result says the number."""
    made: list[tuple[str, dict[str, Any], str]] = [
        ("TaskCreate", {"subject": "one"}, "Task #1 created successfully: one"),
        ("TaskCreate", {"subject": "two"}, "Task #2 created successfully: two"),
        ("TaskCreate", {"subject": "three"}, "error"),
        ("TaskUpdate", {"taskId": "1", "status": "in_progress"}, "Updated task #1 status"),
        ("TaskUpdate", {"taskId": "2", "status": "in_progress", "subject": "two again"}, "Updated task #2"),
        ("TaskUpdate", {"taskId": "1", "status": "completed"}, "Updated task #1 status"),
        ("TaskUpdate", {"taskId": "9", "status": "pending", "subject": "of no list"}, "error"),
    ]
    messages = []
    for n, (tool, arguments, said) in enumerate(made):
        messages.append((2 * n, Content("assistant", [Call(f"c{n}", tool, arguments)])))
        messages.append((2 * n + 1, Content("tool", [Result(f"c{n}", [Text(said)] if in_parts else said)])))
    assert open_ones(messages) == [(8, "two again")]
    assert open_ones(messages[:6]) == [(1, "one"), (3, "two")]


@pytest.mark.parametrize("arguments", ["text", None, {"todos": "x"}, {"todos": [1, {"status": 2, "content": "x"}]}, {}])
def test_what_is_no_list(arguments: object) -> None:
    """Arguments of any other shape have no task."""
    assert tasks([(1, Content("assistant", [Call("c", "TodoWrite", arguments)]))]) == []
