"""Tasks of agents: each in its newest state, whichever tool keeps it and whoever asks."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit import Log
from ctxkit.core.item_names import Name, Names
from ctxkit.core.messages import Call, Content, Result, Text
from ctxkit.cut.summarize.state_header import SessionState
from ctxkit.cut.summarize.tasks import Task, TaskReader
from ctxkit.cut.units.text_segments import SegmentKind, TextSegment, all_pieces
from ctxkit.memory.extract import notes_of
from tests.cli.runner import lines
from tests.cut.rank import test_episodes as episodes
from tests.cut.test_trim import step

Step = tuple[str, Any, str]
"""A tool, its arguments, and its result, which is a failure if it begins so."""


def messages(*steps: Step, in_parts: bool = False) -> list[tuple[Name, Content]]:
    """Messages of these steps. Step n is messages 2n - 1 and 2n."""
    found: list[tuple[Name, Content]] = []
    for n, (tool, arguments, said) in enumerate(steps, start=1):
        result = Result(f"c{n}", [Text(said)] if in_parts else said, is_error=said.startswith("Error"))
        found.append((2 * n - 1, Content("assistant", [Call(f"c{n}", tool, arguments)])))
        found.append((2 * n, Content("tool", [result])))
    return found


def open_tasks(*steps: Step, in_parts: bool = False) -> list[Task]:
    """The open tasks behind these steps."""
    reader = TaskReader()
    for place, piece in enumerate(all_pieces(messages(*steps, in_parts=in_parts))):
        reader.add(place, piece)
    return reader.open


def told(*steps: Step) -> list[tuple[Name, str, str, str]]:
    """Message, id, text and status of the open tasks."""
    return [(task.name, task.id, task.text, task.status) for task in open_tasks(*steps)]


def todo(**tasks: str) -> Step:
    """A list of Claude Code: text and status of each task."""
    return "TodoWrite", {"todos": [{"content": text, "status": status} for text, status in tasks.items()]}, "ok"


def plan(**tasks: str) -> Step:
    """A list of Codex."""
    return "update_plan", {"plan": [{"step": text, "status": status} for text, status in tasks.items()]}, "Plan updated"


def create(number: int, text: str) -> Step:
    """A task of Claude Code with a number."""
    return "TaskCreate", {"subject": text, "description": "d"}, f"Task #{number} created successfully: {text}"


def update(number: int, said: str = "Updated task", **changes: str) -> Step:
    """A change of one."""
    return "TaskUpdate", {"taskId": f"{number}", **changes}, said


def bash(command: str, result: str) -> Step:
    """A call of a shell."""
    return "Bash", {"command": command}, result


LINEAR = (
    '[{"id":"u1","identifier":"ABC-7","title":"Ship","state":{"id":"s1","name":"Todo"},'
    '"project":{"id":"p1","name":"Site","state":"started"}},'
    '{"id":"u2","identifier":"ABC-8","title":"Old","state":{"name":"Done"}}]'
)
JIRA = '{"issues":[{"id":"10","key":"J-1","fields":{"summary":"Pay","status":{"name":"In Progress"}}}]}'
TOOLS: list[tuple[str, list[Step], list[tuple[Name, str, str, str]]]] = [
    ("a list", [todo(a="in_progress", b="pending")], [(1, "", "a", "in_progress"), (1, "", "b", "pending")]),
    ("done, cancelled, gone", [todo(a="x", b="x", c="x"), todo(a="completed", b="cancelled", d="pending")],
     [(3, "", "d", "pending")]),
    ("any status", [todo(a="blocked", b="not-started")], [(1, "", "a", "blocked"), (1, "", "b", "not-started")]),
    ("an empty list", [todo(a="pending"), todo()], []),
    ("a list that failed", [todo(a="pending"), (*todo(b="pending")[:2], "Error: no")], [(1, "", "a", "pending")]),
    ("only one, that failed", [(*todo(b="pending")[:2], "Error: no")], []),
    ("lists of two tools", [todo(a="pending"), plan(b="pending"), plan(c="pending")],
     [(1, "", "a", "pending"), (5, "", "c", "pending")]),
    ("a program that reads", [todo(a="pending"), ("Read", {"file_path": "a"}, "ok"), ("Glob", {}, "ok")],
     [(1, "", "a", "pending")]),
    ("with numbers", [create(1, "a"), create(2, "b")], [(1, "1", "a", "pending"), (3, "2", "b", "pending")]),
    ("status changed", [create(1, "a"), update(1, status="in_progress")], [(3, "1", "a", "in_progress")]),
    ("done", [create(1, "a"), update(1, status="in_progress"), update(1, status="completed")], []),
    ("deleted", [create(1, "a"), update(1, status="deleted")], []),
    ("renamed", [create(1, "a"), update(1, subject="b")], [(3, "1", "b", "pending")]),
    ("renamed with its status", [create(1, "a"), update(1, status="in_progress", subject="b")],
     [(3, "1", "b", "in_progress")]),
    ("a change that failed", [create(1, "a"), update(1, "Error: no", status="completed")], [(1, "1", "a", "pending")]),
    ("a number that is given again", [create(1, "a"), update(1, status="completed"), create(1, "b")],
     [(5, "1", "b", "pending")]),
    ("of no list", [update(9, status="pending")], []),
    ("a list that is printed", [create(1, "a"), ("TaskList", {}, "#1 [completed] a\n#2 [in_progress] b")],
     [(4, "2", "b", "in_progress")]),
    ("an agent", [("Task", {"name": "a", "prompt": "b"}, "1. [todo] c\nTask #4 created")], []),
    ("Beads", [bash('bd create "a"', "Created issue: s-1"), bash("bd update s-1 --status in_progress", "ok")],
     [(3, "s-1", "a", "in_progress")]),
    ("Beads, two of them", [bash('bd create --title="a" -p 1 && bd create \'b\'', "Created issue: s-1\n"
                            "Created issue: s-2"), bash("bd close s-1", "ok")], [(1, "s-2", "b", "open")]),
    ("Beads, kept", [bash('bd create "a"', "Created issue: s-1"), bash("bd update s-1 --status blocked", "ok"),
                     bash("bd update s-1 --priority 1", "ok")], [(3, "s-1", "a", "blocked")]),
    ("Beads, deleted", [bash('bd create "a"', "Created issue: s-1"), bash("bd delete s-1", "ok")], []),
    ("Beads, claimed", [bash('bd create "a"', "Created issue: s-1"), bash("bd update s-1 --claim --json", "ok")],
     [(3, "s-1", "a", "in_progress")]),
    ("Beads, closed by another", [bash('bd create "a"', "Created issue: s-1"),
     bash("bd show s-1", "✓ s-1 · a   [● P2 · CLOSED]\nOwner: B")], []),
    ("Beads, read on", [bash("bd update s-1 --claim", "…"), ("write_stdin", {"session_id": "1"},
     "✓ Updated issue: s-1 — Pay")], [(4, "s-1", "Pay", "in_progress")]),
    ("Beads, as JSON", [bash("bd list --json", 'Exit code: 0\nOutput:\n[{"id":"s-2","title":"Ship","status":"open"},'
     '{"id":"s-3","title":"Old","status":"closed"}]'), bash("cat a.json", '[{"id":"x","title":"y","status":"open"}]')],
     [(2, "s-2", "Ship", "open")]),
    ("Linear", [("mcp__linear__list_issues", {}, LINEAR)], [(2, "ABC-7", "Ship", "Todo")]),
    ("Linear, by its other id", [("mcp__linear__list_issues", {}, LINEAR), ("mcp__linear__update_issue", {"id": "u1",
     "state": "Done"}, '{"id":"u1","identifier":"ABC-7","title":"Ship","state":{"name":"Done"}}')], []),
    ("Linear, deleted", [("mcp__linear__list_issues", {}, LINEAR),
     ("mcp__linear__delete_issue", {"id": "ABC-7"}, "ok")], []),
    ("a comment that is deleted", [("mcp__linear__list_issues", {}, LINEAR), ("mcp__linear__delete_issue_comment",
     {"id": "c9", "issueId": "ABC-7"}, "ok")], [(2, "ABC-7", "Ship", "Todo")]),
    ("Jira", [("mcp__jira__search_issues", {"jql": "x"}, JIRA)], [(2, "J-1", "Pay", "In Progress")]),
    ("Jira, made", [("createJiraIssue", {"summary": "Pay", "projectKey": "J"}, '{"id":"10","key":"J-1","self":"u"}')],
     [(2, "J-1", "Pay", "pending")]),
    ("GitHub", [("create_issue", {"title": "Pay"}, '{"id":98,"number":4,"title":"Pay","state":"open"}')],
     [(2, "4", "Pay", "open")]),
]  # fmt: skip


@pytest.mark.parametrize(("what", "steps", "found"), TOOLS, ids=[what for what, *_ in TOOLS])
def test_each_tool(what: str, steps: list[Step], found: list[tuple[Name, str, str, str]]) -> None:
    """Text and status apart, in the newest state; the message is the one that says it."""
    assert told(*steps) == found, what
    assert [task[1:] for task in map(tuple, open_tasks(*steps, in_parts=True))] == [
        task[1:] for task in map(tuple, open_tasks(*steps))
    ]


@pytest.mark.parametrize("arguments", ["text", None, {"todos": "x"}, {"todos": [1, {"status": 2, "content": "x"}]}, {}])
def test_what_is_no_list(arguments: object) -> None:
    """Arguments of any other shape have no task."""
    assert told(("TodoWrite", arguments, "ok")) == []


@pytest.mark.parametrize("result", ['{"id": [', "[" * 100_000, '{"id": true}', '[[{"key": {}}]]', "[null, 1]"])
def test_what_is_no_task(result: str) -> None:
    """A tool may print anything."""
    assert told(("mcp__jira__search_issues", {}, result)) == []


def test_a_reminder_says_what_others_did() -> None:
    """Claude Code repeats all tasks now and then, with what subagents set."""
    reader, notice = TaskReader(), 'task_reminder: {"content": [{"id": "1", "subject": "Pay", "status": "completed"}]}'
    for place, piece in enumerate(all_pieces(messages(create(1, "Pay"), create(2, "Ship")))):
        reader.add(place, piece)
    reader.add(9, TextSegment(9, SegmentKind.NOTICE, f"<system-reminder>\n{notice}\n</system-reminder>"))
    assert [task.text for task in reader.open] == ["Ship"]


def test_a_call_without_an_id() -> None:
    """As some formats have them: the newest list counts."""
    calls = [Content("assistant", [Call("", *todo(a="pending", **{word: "pending"})[:2])]) for word in "bc"]
    reader = TaskReader()
    for place, piece in enumerate(all_pieces([*enumerate(calls)])):
        reader.add(place, piece)
    assert [task.text for task in reader.open] == ["a", "c"]


words = st.sampled_from(["Mend the cart", "Add a test", "Write the page"])
statuses = st.sampled_from(["pending", "in_progress", "blocked", "completed", "deleted"])
steps = st.lists(
    st.one_of(
        st.dictionaries(words, statuses, max_size=2).map(lambda tasks: todo(**tasks)),
        st.builds(create, st.integers(1, 3), words.map("{} now".format)),
        st.builds(update, st.integers(1, 3), status=statuses),
        st.builds(update, st.integers(1, 3), status=statuses, subject=words.map("{} then".format)),
        words.map(lambda word: bash(f'bd create "{word} at last"', "Created issue: s-1")),
        st.just(bash("bd close s-1", "ok")),
        st.sampled_from(["Todo", "Done"]).map(lambda one: ("get_issue", {"id": "ABC-7"}, LINEAR.replace("Todo", one))),
    ),
    max_size=6,
)  # fmt: skip


@given(steps)
def test_everybody_sees_the_same_tasks(made: list[Step]) -> None:
    """The state of a summary, the query of a model, memory, and the episodes of a trim."""
    found = open_tasks(*made)
    state = SessionState(all_pieces(messages(*made)))
    everything = Names.of(range(1, 2 * len(made) + 1))
    rows = [line for part in state.entries(everything, str, 10_000) for line in part.lines]
    assert [row for row in rows if any(row.endswith(task.line) for task in found)] == rows[: len(found)]
    assert rows[: len(found)] == [] or rows[0].startswith("Open tasks: ")
    assert {task.text for task in found} <= {*state.named.split("\n")}
    raw = [row for one in made for row in step(next(episodes.numbers), *one)]
    with TemporaryDirectory() as folder:
        (path := Path(folder, "log.jsonl")).write_bytes(lines(*episodes.asks("Begin."), *raw))
        notes = [note.text for note in notes_of(Log.open(path)) if note.kind == "open"]
    assert notes == [*dict.fromkeys(task.text for task in found)][: len(notes)]
    assert len(notes) == min(len({task.text for task in found}), 5)
    done = episodes.finished(raw, episodes.edit("a.py"), episodes.ran(episodes.GREEN), episodes.later())
    assert (done == []) is bool(found)
