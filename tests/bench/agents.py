"""Sessions of the other agents, of any size, for the benches: shaped like real ones, the same bytes in every run.

Codex and Copilot CLI, pi: shapes, sizes and shares of the rows are from counts over real files; Gemini CLI and opencode
are from their documentation. All have calls with results, and what their programs do to a history: compactions,
rollbacks, branches, labels, updates, rewinds. A text in ten is not ASCII, as in real files.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 1, 1)
WORDS = ["the", "session", "module", "reads", "a", "token", "from", "the", "request", "and", "compares", "its", "age"]
LENGTHS = (80, 200, 400, 800, 1600, 3000, 9000)
TOOLS = ("exec_command", "read", "grep", "apply_patch", "write_stdin")
KEPT = 30
"""How many of the newest messages a compaction lists again."""

Json = dict[str, Any]


class Session:
    """Texts, ids and times; counts the bytes that were made. `cuts`: where, in bytes, a compaction is due."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows = 0
        self.calls = 0
        self.written = 0
        self.chosen = random.Random(size)
        self.cuts = [size // 4, size // 2, 3 * size // 4]
        self._texts = {length: [self._made(length, i) for i in range(20)] for length in LENGTHS}

    def _made(self, length: int, i: int) -> str:
        found = "→ “déjà vu” — 会話\n" if i % 10 == 3 else ""
        while len(found) < length:
            found += " ".join(self.chosen.choices(WORDS, k=11)) + ("\n" if self.chosen.random() < 0.6 else ". ")
        return found[:length]

    def text(self, *lengths: int) -> str:
        """A text of one of these lengths (of `LENGTHS`), numbered, so that no two are the same."""
        return f"{self.rows} {self.chosen.choice(self._texts[self.chosen.choice(lengths)])}"

    def call(self) -> tuple[str, str]:
        """Id and tool of a new call."""
        self.calls += 1
        return f"call_{self.calls:08d}", TOOLS[self.calls % len(TOOLS)]

    def stamp(self) -> str:
        """The time of the next row."""
        return (START + timedelta(seconds=2 * self.rows)).isoformat(timespec="milliseconds") + "Z"

    def line(self, record: Json) -> str:
        """A record as a line."""
        found = json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
        self.rows += 1
        self.written += len(found)
        return found

    def due(self) -> bool:
        """Whether a compaction is due, said once for each."""
        if self.cuts and self.written > self.cuts[0]:
            self.cuts.pop(0)
            return True
        return False


def codex(session: Session) -> Iterator[str]:
    """A rollout: reasoning, calls, outputs, the events beside them, compactions that list history, a rollback."""
    turn, newest = 0, list[Json]()

    def row(kind: str, **payload: Any) -> str:
        if payload.get("type") == "message":
            newest.append(payload)
        return session.line({"timestamp": session.stamp(), "type": kind, "payload": payload})

    def said(role: str, words: str) -> str:
        part = "output_text" if role == "assistant" else "input_text"
        return row("response_item", type="message", role=role, content=[{"type": part, "text": words}])

    yield row(
        "session_meta", id="s1", cwd="/src", originator="codex-tui", base_instructions={"text": session.text(9000)}
    )
    yield said("developer", session.text(3000))
    while session.written < session.size:
        turn += 1
        yield row("event_msg", type="task_started", turn_id=f"t{turn}", model_context_window=258_400)
        if session.due():
            listed = [one | {"content": [dict(part) for part in one["content"]]} for one in newest[-KEPT:]]
            yield row("compacted", message="", replacement_history=listed, window_id=turn)
            yield row("event_msg", type="context_compacted")
        yield row("turn_context", turn_id=f"t{turn}", cwd="/src", model="gpt-5.5", settings=session.text(800))
        yield said("user", session.text(200, 400))
        yield row("event_msg", type="user_message", message=newest[-1]["content"][0]["text"], images=[])
        for _ in range(session.chosen.randint(4, 40)):
            sealed = f"{session.chosen.getrandbits(2400):x}"
            yield row("response_item", type="reasoning", summary=[], encrypted_content=sealed)
            if session.chosen.random() < 0.5:
                words = session.text(200, 400)
                yield row("event_msg", type="agent_message", message=words, phase="commentary")
                yield said("assistant", words)
            yield from _codex_calls(session, row)
            usage = dict.fromkeys(("input_tokens", "cached_input_tokens", "output_tokens", "total_tokens"), 24_005)
            info = {"total_token_usage": usage, "last_token_usage": usage, "model_context_window": 258_400}
            limits = {"limit_id": "codex", "primary": {"used_percent": 29.0, "window_minutes": 300}, "credits": None}
            yield row("event_msg", type="token_count", info=info, rate_limits=limits)
        yield said("assistant", session.text(800))
        yield row("event_msg", type="task_complete", turn_id=f"t{turn}", last_agent_message=session.text(800))
        if turn % 50 == 49:
            yield row("event_msg", type="thread_rolled_back", num_turns=1)


def _codex_calls(session: Session, row: Callable[..., str]) -> Iterator[str]:
    """One call or two, then what came of them."""
    made = [session.call() for _ in range(session.chosen.choice((1, 1, 1, 2)))]
    for key, tool in made:
        if tool == "apply_patch":
            yield row("response_item", type="custom_tool_call", call_id=key, name=tool, input=session.text(1600))
        else:
            words = json.dumps({"cmd": session.text(200), "workdir": "/src"})
            yield row("response_item", type="function_call", name=tool, arguments=words, call_id=key)
    for key, tool in made:
        kind = "custom_tool_call_output" if tool == "apply_patch" else "function_call_output"
        yield row("response_item", type=kind, call_id=key, output=session.text(400, 1600, 3000, 9000, 9000))


def pi(session: Session) -> Iterator[str]:
    """A tree of version 3: branches that were left, compactions, labels, a context edit."""
    above: list[str] = []

    def row(kind: str, parent: str | None = None, **more: Any) -> str:
        key = f"{session.rows:08x}"
        up = parent or (above[-1] if above else None)
        above.append(key)
        return session.line({"type": kind, "id": key, "parentId": up, "timestamp": session.stamp(), **more})

    def said(role: str, parent: str | None = None, **more: Any) -> str:
        return row("message", parent, message={"role": role, **more, "timestamp": 1_764_000_000_000 + session.rows})

    yield session.line({"type": "session", "version": 3, "id": "s1", "timestamp": session.stamp(), "cwd": "/src"})
    yield row("model_change", provider="anthropic", modelId="claude-x")
    turn = 0
    while session.written < session.size:
        turn += 1
        if session.due():
            kept = above[-KEPT:][0]
            yield row("compaction", summary=session.text(3000), firstKeptEntryId=kept, tokensBefore=160_000)
        back = above[-6] if turn % 20 == 11 else None
        yield said("user", back, content=[{"type": "text", "text": session.text(80, 400)}])
        if turn % 10 == 5:
            yield row("label", targetId=above[-1], label=f"turn {turn}")
        for _ in range(session.chosen.randint(2, 10)):
            blocks: list[Json] = [{"type": "thinking", "thinking": session.text(200), "thinkingSignature": "x" * 300}]
            made = [session.call() for _ in range(session.chosen.choice((1, 1, 2)))]
            for key, tool in made:
                asked = {"path": f"/src/{session.calls % 97}.py", "text": session.text(80, 400)}
                blocks.append({"type": "toolCall", "id": key, "name": tool, "arguments": asked})
            yield said("assistant", content=blocks, **_pi_answer("toolUse"))
            for key, tool in made:
                blocks = [{"type": "text", "text": session.text(80, 400, 1600, 3000)}]
                yield said("toolResult", toolCallId=key, toolName=tool, content=blocks, isError=False)
        blocks = [{"type": "text", "text": session.text(800)}]
        yield said("assistant", content=blocks, **_pi_answer("stop"))
        if turn % 60 == 59:
            yield row("context_edit", targetId=above[-2], replacement=None)


def _pi_answer(stop: str) -> Json:
    cost = {"input": 0.000005, "output": 0.01, "cacheRead": 0.003, "cacheWrite": 0, "total": 0.013005}
    usage = {"input": 9, "output": 210, "cacheRead": 48_000, "cacheWrite": 0, "totalTokens": 48_219, "cost": cost}
    return {
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": "claude-x",
        "usage": usage,
        "stopReason": stop,
    }


def _gemini(session: Session) -> Iterator[Json]:
    """The records of a Gemini CLI session, a notice now and then."""

    def record(kind: str, content: Any, **more: Any) -> Json:
        return {"id": f"m{session.rows}", "timestamp": session.stamp(), "type": kind, "content": content, **more}

    turn = 0
    while session.written < session.size:
        turn += 1
        yield record("user", [{"text": session.text(80, 400)}])
        for _ in range(session.chosen.randint(1, 6)):
            calls = [_gemini_call(session) for _ in range(session.chosen.choice((1, 1, 2)))]
            thoughts = [{"subject": "A plan", "description": session.text(200), "timestamp": session.stamp()}]
            tokens = dict.fromkeys(("input", "output", "cached", "thoughts", "tool", "total"), 1200)
            yield record(
                "gemini", session.text(80), thoughts=thoughts, tokens=tokens, model="gemini-x", toolCalls=calls
            )
        if turn % 30 == 7:
            yield record("info", "Request cancelled.")


def _gemini_call(session: Session) -> Json:
    key, tool = session.call()
    words = session.text(400, 1600, 3000)
    result = [{"functionResponse": {"id": key, "name": tool, "response": {"output": words}}}]
    return {"id": key, "name": tool, "args": {"path": "/src/a.py", "text": session.text(80)}, "result": result,
            "status": "success", "timestamp": session.stamp(), "resultDisplay": words[:400],
            "displayName": tool, "renderOutputAsMarkdown": False}  # fmt: skip


def _gemini_head() -> Json:
    return {"sessionId": "s1", "projectHash": "p1", "startTime": "2026-01-01T00:00:00Z", "kind": "main"}


def gemini_cli(session: Session) -> Iterator[str]:
    """The event log: records, records again with results, a `$set` with the newest messages, rewinds."""
    yield session.line(_gemini_head())
    newest = list[Json]()
    for record in _gemini(session):
        newest.append(record)
        if record["type"] == "gemini" and session.rows % 2:
            asked = [{key: value for key, value in call.items() if key != "result"} for call in record["toolCalls"]]
            yield session.line(record | {"toolCalls": asked})
        yield session.line(record)
        if session.rows % 40 == 0:
            yield session.line({"$set": {"lastUpdated": session.stamp()}})
        if session.due():
            yield session.line({"$set": {"messages": newest[-KEPT:], "lastUpdated": session.stamp()}})
        if len(newest) > 3 and session.chosen.random() < 0.005:
            yield session.line({"$rewindTo": newest[-2]["id"]})
            del newest[-2:]


def gemini_document(session: Session) -> Iterator[str]:
    """The older form, indented as the program writes it."""
    records = []
    for record in _gemini(session):
        session.line(record)
        records.append(record)
    yield json.dumps({**_gemini_head(), "messages": records}, ensure_ascii=False, indent=2)


def copilot_cli(session: Session) -> Iterator[str]:
    """Events: prompts, answers, executions with their start, hooks that hold results again, a compaction, a rewind."""
    above: list[str | None] = [None]

    def row(kind: str, **data: Any) -> str:
        key = f"{session.rows:08x}-0000-4000-8000-000000000000"
        parent = above[-1]
        above.append(key)
        return session.line({"type": kind, "data": data, "id": key, "timestamp": session.stamp(), "parentId": parent})

    yield row("session.start", sessionId="s1", version=1, producer="copilot-agent", selectedModel="claude-x")
    prompt, turn = session.text(9000), 0
    while session.written < session.size:
        turn += 1
        yield row("system.message", role="system", content=prompt)
        words = session.text(200, 800)
        yield row("user.message", content=words, transformedContent=f"<now>{words}", attachments=[])
        asked_at = above[-1]
        for step in range(session.chosen.randint(8, 40)):
            yield row("assistant.turn_start", turnId=str(step))
            made = [session.call() for _ in range(session.chosen.choice((1, 1, 2)))]
            asked = [
                {"toolCallId": key, "name": tool, "arguments": {"command": session.text(80, 400)}, "type": "function"}
                for key, tool in made
            ]
            sealed = f"{session.chosen.getrandbits(1600):x}"
            yield row("assistant.message", messageId=f"m{session.rows}", model="claude-x", content=session.text(200),
                      toolRequests=asked, reasoningOpaque=sealed, reasoningText=session.text(200))  # fmt: skip
            for one in asked:
                key, tool, arguments = one["toolCallId"], one["name"], one["arguments"]
                yield row("tool.execution_start", toolCallId=key, toolName=tool, arguments=arguments)
                result = session.text(400, 800, 1600, 3000)
                hook = {"toolName": tool, "toolResult": {"textResultForLlm": result, "sessionLog": result[:400]}}
                yield row("hook.start", hookInvocationId=f"h{key}", hookType="postToolUse", input=hook)
                yield row("hook.end", hookInvocationId=f"h{key}", hookType="postToolUse", success=True)
                told = {"content": result, "detailedContent": result[:400]}
                yield row("tool.execution_complete", toolCallId=key, model="claude-x", success=True, result=told,
                          toolTelemetry={"metrics": {"resultLength": len(result)}})  # fmt: skip
            yield row("assistant.turn_end", turnId=str(step))
        if session.due():
            yield row("session.compaction_complete", success=True, summaryContent=session.text(3000))
        elif turn % 25 == 24:
            yield row("session.snapshot_rewind", upToEventId=asked_at)


def opencode(session: Session) -> Iterator[str]:
    """An export, indented as the program prints it: words, reasoning, tool parts, steps, a compaction."""
    messages: list[Json] = []

    def add(role: str, parts: list[Json], **more: Any) -> None:
        time = {"created": 1_770_000_000_000 + session.rows}
        info = {"id": f"msg_{session.rows:08d}", "sessionID": "ses_1", "role": role, "time": time, **more}
        numbered = [{"id": f"prt_{session.rows}_{k}", "messageID": info["id"], **part} for k, part in enumerate(parts)]
        messages.append({"info": info, "parts": numbered})
        session.line(messages[-1])

    while session.written < session.size:
        if session.due():
            add("user", [{"type": "compaction", "auto": True}])
            told = [{"type": "text", "text": session.text(3000)}]
            add("assistant", told, summary=True, finish="stop", parentID=messages[-1]["info"]["id"])
        add("user", [{"type": "text", "text": session.text(80, 400)}])
        asked = messages[-1]["info"]["id"]
        for _ in range(session.chosen.randint(2, 10)):
            parts: list[Json] = [{"type": "step-start", "snapshot": "0" * 40}]
            parts.append({"type": "reasoning", "text": session.text(200), "time": {"start": 1, "end": 2}})
            for _ in range(session.chosen.choice((1, 1, 2))):
                key, tool = session.call()
                state = {"status": "completed", "input": {"filePath": "/src/a.py", "text": session.text(80)},
                         "output": session.text(400, 1600, 3000), "title": tool, "metadata": {"preview": "x" * 200},
                         "time": {"start": 1, "end": 2}}  # fmt: skip
                parts.append({"type": "tool", "callID": key, "tool": tool, "state": state})
            tokens = {"input": 9, "output": 210, "reasoning": 0, "cache": {"read": 48_000, "write": 0}}
            parts.append({"type": "step-finish", "reason": "tool-calls", "tokens": tokens, "cost": 0.01})
            add("assistant", parts, parentID=asked, modelID="claude-x", providerID="anthropic", tokens=tokens)
    head = {"id": "ses_1", "projectID": "p1", "directory": "/src", "version": "1.0.0", "time": {"created": 1}}
    yield json.dumps({"info": head, "messages": messages}, ensure_ascii=False, indent=2)


KINDS: dict[str, Callable[[Session], Iterator[str]]] = {
    "codex": codex,
    "pi": pi,
    "gemini-cli": gemini_cli,
    "gemini-cli .json": gemini_document,
    "copilot-cli": copilot_cli,
    "opencode": opencode,
}
"""What can be written: the name of a format, and which of its files."""


def write(kind: str, path: Path, size: int) -> int:
    """Write a session of about `size` bytes; how many rows (of a document, messages) it has."""
    session = Session(size)
    with path.open("w", encoding="utf-8", newline="\n", buffering=1 << 20) as file:
        file.writelines(KINDS[kind](session))
    return session.rows
