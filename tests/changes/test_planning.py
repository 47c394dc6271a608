"""The planning example: preview, yes, apply, and the conversation about it is gone. A scripted agent plays the model.

The agent sees what a model would be sent, `ctxkit export`, and what `ctxkit tool call` answers; nothing else. Its
context after each step stands in fixtures/planning/contexts; `GOLDEN=write` in the environment writes it anew.
"""

from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from ctxkit import filter_context
from ctxkit.api.log import Log
from ctxkit.core.select import Selection
from tests.bench.topics import topics
from tests.cli.runner import ROOT, good, ops
from tests.shared import SHARED
from tests.validators import openai_rules

PLANNING = ROOT / "fixtures/planning"
SMALL = 800_000
"""Bytes of a real session that is looked at here."""
Json = dict[str, Any]


class Agent:
    """Calls the tool where the user asks for it, asks before it applies, applies on a yes. `shape`: its provider."""

    def __init__(self, shape: str) -> None:
        self.shape, self.calls = shape, 0
        self.agreed: Json = {}

    def answer(self, context: list[Json]) -> str | Json:
        """To the newest message: words, or the arguments of a call."""
        newest = context[-1]
        if newest["role"] == "tool":
            found = json.loads(newest["content"])
            self.agreed = self.agreed | {
                "action": "apply",
                "message_ids": [one["id"] for one in found["matching_messages"]],
                "planning_conversation_ids": found["planning_conversation_ids"],
            }
            ids = ", ".join(self.agreed["message_ids"])
            return f"That is {ids}: {found['message_count']} messages. Shall I {self.agreed['mode']}?"
        request = re.fullmatch(r"(Forget|Keep only) what we said of (.*)\.", newest["content"])
        if request:
            mode = "forget" if request[1] == "Forget" else "remember"
            self.agreed = {"action": "preview", "mode": mode, "criteria": request[2]}
            return self.agreed
        return self.agreed if newest["content"] == "yes" else "As it was, then."

    def call(self, arguments: Json) -> tuple[str, Json]:
        """The call's id, and the call as the provider gives it."""
        self.calls += 1
        name, identity = "filter_context", f"call_{self.calls}"
        match self.shape:
            case "openai":
                told = {"name": name, "arguments": json.dumps(arguments)}
                return identity, {"id": identity, "type": "function", "function": told}
            case "anthropic":
                return identity, {"type": "tool_use", "id": identity, "name": name, "input": arguments}
            case _:
                return identity, {"functionCall": {"id": identity, "name": name, "args": arguments}}


class Session:
    """A log, and the program around the agent: it records what is said, and executes the calls."""

    def __init__(self, log: Path, agent: Agent) -> None:
        self.log, self.agent, self.steps = log, agent, 0

    def context(self) -> list[Json]:
        """What the model would be sent; valid, always."""
        body = json.loads(good("export", self.log, "--to", "openai").out)
        assert openai_rules.problems(body) == []
        return list(body["messages"])

    def add(self, **record: Any) -> None:
        """A message is recorded."""
        good("add", self.log, "--messages", "-", stdin=json.dumps(record).encode())

    def says(self, text: str) -> None:
        """The user does, and the agent goes on until it has words for an answer."""
        self.add(role="user", content=text)
        answer = self.agent.answer(self.context())
        while isinstance(answer, dict):
            identity, call = self.agent.call(answer)
            told = {"name": "filter_context", "arguments": json.dumps(answer)}
            self.add(
                role="assistant", content=None, tool_calls=[{"id": identity, "type": "function", "function": told}]
            )
            found = good("tool", "call", self.log, "-", stdin=json.dumps(call).encode()).text
            self.add(role="tool", tool_call_id=identity, content=found)
            again = good("tool", "call", self.log, "-", stdin=json.dumps(call).encode()).values
            if "filter_event_id" in json.loads(found):  # sent twice, applied once
                assert again[0].pop("notes") == ["this call was executed before: nothing was done again"]
                assert {**again[0]}.items() <= json.loads(found).items()
                answer = "Done."
            else:
                answer = self.agent.answer(self.context())
        self.add(role="assistant", content=answer)

    def shows(self, name: str) -> list[str]:
        """The context, compared with its golden file; its words."""
        self.steps += 1
        golden = PLANNING / "contexts" / f"{self.steps}-{name}.jsonl"
        text = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in self.context())
        if os.environ.get("GOLDEN") == "write":
            golden.parent.mkdir(exist_ok=True)
            golden.write_text(text, encoding="utf-8")
        assert text == golden.read_text(encoding="utf-8")
        return [one["content"] or "" for one in self.context()]


@pytest.mark.parametrize("shape", ["openai", "anthropic", "gemini"])
def test_the_planning_example(shape: str, tmp_path: Path) -> None:
    """Preview, yes, apply: the topic and the conversation about it are gone, to the last word; a no changes nothing;
    undo brings back.
    """
    log = tmp_path / "log.jsonl"
    log.write_bytes((PLANNING / "log.jsonl").read_bytes())
    session = Session(log, Agent(shape))
    before = session.shows("before")

    session.says("Forget what we said of the schema.")
    asked = session.shows("asked")
    assert asked[: len(before)] == before and "Shall I forget?" in asked[-1] and ops(log) == []

    session.says("yes")
    applied = session.shows("applied")
    assert not any("schema" in text or "filter_context" in text or text == "yes" for text in applied)
    assert set(applied) < set(before)
    op, rest = ops(log)
    assert (op["ctxkit"], op["ids"], op["planning"], op["criteria"]) == ("forget", "2-5,8-9", "12-17", "the schema")
    assert (rest["ctxkit"], rest["ids"], rest["planning"], rest["cleans"]) == ("forget", "", "18-19", op["id"])

    if shape != "openai":
        return
    session.says("Forget what we said of the checkout.")
    session.says("no")
    declined = session.shows("declined")
    assert declined[: len(applied)] == applied and len(ops(log)) == 2

    session.says("Keep only what we said of buttons.")
    session.says("yes")
    kept = session.shows("kept")
    assert kept[0] == before[0] and all("colour" in t or "button" in t for t in kept[1:])
    assert [op["ctxkit"] for op in ops(log)] == ["forget", "forget", "remember", "forget"]

    good("undo", log)
    good("undo", log)
    undone = session.context()
    assert [one["content"] or "" for one in undone][: len(before)] == before


def behind(session: bytes, codex: bool, words: list[str]) -> bytes:
    """A real session, in which the user says these words at its end."""
    rows = [row for line in session.split(b"\n") if isinstance(row := _row(line), dict)]
    stamp = next(row["timestamp"] for row in reversed(rows) if row.get("timestamp"))
    found = session if session.endswith(b"\n") else session + b"\n"
    log = Log.open(io.BytesIO(session))
    parent = next(log.messages[name - 1].key for name in reversed(log.names()) if isinstance(name, int))
    for n, text in enumerate(words):
        said: Json = {"role": "user", "content": [{"type": "input_text" if codex else "text", "text": text}]}
        row: Json = {"type": "response_item", "payload": {"type": "message", **said}}
        if not codex:
            row = {"type": "user", "uuid": f"planning-{n}", "parentUuid": parent, "isSidechain": False, "message": said}
            parent = row["uuid"]
        found += json.dumps({"timestamp": stamp, "sessionId": "s", **row}).encode() + b"\n"
    return found


def _row(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


TOPICS = [one for one in topics(under=SMALL) if one["session"].startswith(("claude-code/", "codex/"))]


@pytest.mark.skipif(not TOPICS, reason="the shared transcripts are not there (set CTXKIT_SHARED)")
@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic["text"])
def test_a_request_behind_real_sessions(topic: Json) -> None:
    """The request, which has the words of its topic more than anything else, never matches, and is proposed whole."""
    session = (SHARED / "transcripts" / topic["session"]).read_bytes()
    words = [f"/forget what we said of {topic['text']}", f"Show me first: {topic['text']}"]
    log = Log.open(io.BytesIO(behind(session, topic["session"].startswith("codex"), words)))
    count = len(log.messages)
    found = filter_context(log, {"action": "preview", "mode": "forget", "criteria": topic["text"]})
    assert found["matching_messages"] and found["planning_conversation_ids"] == [f"{count - 1}-"]
    assert not {str(count - 1), str(count)} & {one["id"] for one in found["matching_messages"]}
    assert not {count - 1, count} & set(log.select(Selection(about=topic["text"])))
