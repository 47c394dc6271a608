"""Reads the task lists that agents keep, each task in its newest state. Pure.

Some programs write the whole list again with each call (TodoWrite, update_plan), others create a task and change it by
its number (TaskCreate, TaskUpdate).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from ctxkit.content.text_segments import TASKS
from ctxkit.core.item_names import Name
from ctxkit.core.messages import Call, Content, Result, Text

CREATED = re.compile(r"Task #(\w+) created")
"""Matches the result of a call that creates a task, with the task's number."""
DONE = frozenset({"completed", "done", "cancelled", "canceled", "deleted", "skipped", "failed"})
"""States of tasks that nobody works on any more."""


class ListedTask(msgspec.Struct):
    """A task. `name`: the message that says its state."""

    name: Name
    text: str
    status: str

    @property
    def is_open(self) -> bool:
        """Whether it is still to be done."""
        return self.status not in DONE


def tasks(messages: Iterable[tuple[Name, Content]]) -> list[ListedTask]:
    """The tasks of these messages, in the order of their lists; those of lists that were replaced are gone."""
    lists: dict[str, list[ListedTask]] = {}
    single: dict[str, ListedTask] = {}
    created: dict[str, str] = {}
    for name, content in messages:
        for part in content.parts:
            if isinstance(part, Result) and part.id in created:
                if (number := CREATED.search(_text(part))) is not None:
                    single[number[1]] = ListedTask(name, created[part.id], "pending")
            elif isinstance(part, Call) and isinstance(part.arguments, dict):
                given = part.arguments
                listed = next((value for value in given.values() if isinstance(value, list)), None)
                found = [(task, one["status"]) for one in listed or () if (task := _task(one))]
                if found or (listed == [] and part.name in lists):
                    lists[part.name] = [ListedTask(name, text, status) for text, status in found]
                elif (known := single.get(str(given.get("taskId")))) is not None:
                    _change(known, name, given)
                elif part.id and isinstance(subject := given.get("subject"), str):
                    created[part.id] = subject
    return [task for some in (*lists.values(), list(single.values())) for task in some]


def _change(task: ListedTask, name: Name, given: dict[str, Any]) -> None:
    if isinstance(status := given.get("status"), str):
        task.name, task.status = name, status
    if isinstance(subject := given.get("subject"), str):
        task.text = subject


def _task(value: Any) -> str:
    if not isinstance(value, dict) or not isinstance(value.get("status"), str):
        return ""
    return next((value[key] for key in TASKS if isinstance(value.get(key), str)), "")


def _text(part: Result) -> str:
    if isinstance(part.content, str):
        return part.content
    return "\n".join(one.text for one in part.content if isinstance(one, Text))
