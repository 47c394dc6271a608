"""`python -m tests.resume.probes`: what agents do with small sessions of ours, without ctxkit.

The sources of two tables of ctxkit/formats/claude_code/blocks.py (which tools a resumed session has of itself, by
model, and which fields of SendMessage are not sent), of where words and thinking between calls go, of rows that are
not for the model, and of what docs/formats.md says of pi's models. Linux only; no test of the suite.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from tests.resume.__main__ import blocks_of
from tests.resume.agents import AGENTS
from tests.resume.exports import FIXTURES
from tests.resume.install import Installed, cache, install
from tests.resume.resuming import NotResumedError, resume

TOOLS = (
    "Agent", "Bash", "CronCreate", "CronDelete", "CronList", "DeferredToolPlaceholder", "Edit", "EnterWorktree",
    "ExitWorktree", "Glob", "Grep", "KillShell", "ListAgents", "Monitor", "NotebookEdit", "Read", "ReportFindings",
    "ScheduleWakeup", "SendMessage", "Skill", "Task", "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskStop",
    "TaskUpdate", "TodoWrite", "ToolSearch", "WebFetch", "WebSearch", "Workflow", "Write", "mcp__a__b",
)  # fmt: skip
MODELS = (
    "claude-opus-5-5", "claude-opus-5", "claude-opus-4-8", "claude-opus-4-7", "claude-opus-4-6", "claude-opus-4-5",
    "claude-sonnet-5-5", "claude-sonnet-5", "claude-sonnet-4-6", "claude-sonnet-4-5", "claude-haiku-5-5",
    "claude-haiku-4-5", "claude-fable-5", "claude-fable-5-1", "claude-fable-5-2", "claude-mythos-5-1",
)  # fmt: skip
FIXTURE = FIXTURES / "truth-pi/ids-of-another-model.jsonl"
"""A call of OpenAI's, with an id that Anthropic does not take, then words of Anthropic's model."""
COUNTED = {"claude-code": "p77-model-switch-thinking", "codex": "rollback2-end", "pi": "thinking"}
"""Sessions whose rows get a usage."""
OLD = {"type": "m", "recipient": "r", "content": "c", "request_id": "1", "approve": True, "reason": "x"}
MESSAGES = (OLD, OLD | {"to": "r"}, OLD | {"message": "c"}, OLD | {"to": "r", "message": "c"})
"""Inputs of SendMessage, without and with the newer fields."""


def session(model: str, calls: list[tuple[str, Any, Any]]) -> bytes:
    """A session with these calls: name, input, result."""
    rows: list[dict[str, Any]] = []

    def add(kind: str, message: dict[str, Any]) -> None:
        number = len(rows) + 1
        rows.append({
            "type": kind, "uuid": f"00000000-0000-4000-8000-{number:012d}",
            "parentUuid": rows[-1]["uuid"] if rows else None, "sessionId": "11111111-2222-4333-8444-555555555555",
            "timestamp": f"2026-10-01T00:00:{number:02d}.000Z", "message": message,
        })  # fmt: skip

    add("user", {"role": "user", "content": "go"})
    for at, (name, given, result) in enumerate(calls):
        call = {"type": "tool_use", "id": f"toolu_{at}", "name": name, "input": given}
        add("assistant", {"role": "assistant", "id": f"msg_{at}", "model": model, "content": [call]})
        answer = {"type": "tool_result", "tool_use_id": f"toolu_{at}", "content": result}
        add("user", {"role": "user", "content": [answer]})
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def blocks(installed: Installed, raw: bytes, kind: str) -> tuple[str, list[dict[str, Any]]]:
    """The model of the request that the agent makes of a session, and its blocks of a kind."""
    body = resume(installed, raw)
    listed = [part for one in body["messages"] if isinstance(one["content"], list) for part in one["content"]]
    return body["model"], [part for part in listed if part["type"] == kind]


def response(blocks: tuple[dict[str, Any], ...]) -> bytes:
    """A session of one response with a row for each block, and the results of its calls."""
    *rows, _ = session(MODELS[0], [("Bash", {}, "")]).splitlines()
    said, asked = map(json.loads, rows[:2])
    calls = dict.fromkeys(block["id"] for block in blocks if block["type"] == "tool_use")
    given = ({"type": "tool_result", "tool_use_id": key, "content": "ok"} for key in calls)
    made = [asked["message"] | {"content": [block]} for block in blocks]
    made += [{"role": "user", "content": [block]} for block in given]
    listed = [said]
    for message in made:
        uuid = f"00000000-0000-4000-8000-{len(listed) + 1:012d}"
        kind = {"type": message["role"], "uuid": uuid, "parentUuid": listed[-1]["uuid"], "message": message}
        listed.append(said | kind | {"timestamp": f"2026-10-01T00:00:{len(listed) + 1:02d}.000Z"})
    return b"".join(json.dumps(row).encode() + b"\n" for row in listed)


def copies() -> None:
    """Print what Claude Code makes of a response whose copy stands behind it."""
    calls = [{"type": "tool_use", "id": key, "name": "Bash", "input": {"command": "ls"}} for key in ("A", "B")]
    thought = {"type": "thinking", "thinking": "thought", "signature": "c2lnbmF0dXJl"}
    words = {"type": "text", "text": "words"}
    for version in AGENTS["claude-code"].versions:
        installed = install(AGENTS["claude-code"], cache(), version)
        for between in (thought, words):
            given = (thought, *calls, between, calls[0])
            sent = resume(installed, response(given))["messages"]
            kinds = [" ".join(map(_short, one["content"])) for one in sent if one["role"] == "assistant"]
            print(f"{version} {' '.join(map(_short, given))}: {kinds}", flush=True)


def _short(block: dict[str, Any]) -> str:
    return str(block.get("id") or block["type"])


def kinds_of_rows() -> None:
    """Print what Claude Code sends of rows that are no words of the user's, of a call without its result, of an odd id.

    Rows of fixtures as they stand, and with `[shortened]` for the words of the row that is meta, or on the screen only.
    """
    folder = FIXTURES / "truth-claude-code"
    meta, virtual, first = (
        [json.loads(row) for row in (folder / f"{name}.jsonl").read_bytes().splitlines()]
        for name in ("q20-response-over-meta", "q25-virtual", "q26-result-first")
    )
    short = {"role": "user", "content": [{"type": "text", "text": "[shortened]"}]}
    alone = [
        first[0],
        *(row | {"parentUuid": up["uuid"]} for row, up in zip(first[2:], [first[0], first[2]], strict=True)),
    ]
    call = {"type": "tool_use", "id": "call_a|fc_b", "name": "Bash", "input": {}}
    tried = {
        "a response around a meta row": meta,
        "the same, shortened": [row | {"message": short} if row.get("isMeta") else row for row in meta],
        "rows on the screen only": virtual,
        "these, shortened": [row | {"message": short} if n == 2 else row for n, row in enumerate(virtual)],
        "a result before its call": first,
        "the call without it": alone,
        "an odd id": [json.loads(row) for row in response((call, {"type": "text", "text": "z"})).splitlines()],
    }
    for version in AGENTS["claude-code"].versions:
        installed = install(AGENTS["claude-code"], cache(), version)
        for what, rows in tried.items():
            sent = resume(installed, b"".join(json.dumps(row).encode() + b"\n" for row in rows))["messages"]
            print(
                f"{version} {what}: {' | '.join(_said(one) for one in sent[:-1] if one['role'] != 'system')}",
                flush=True,
            )


def open_calls() -> None:
    """Print what Claude Code sends of a call without a result: in the middle of a session, and at its end."""
    for name, last in (("p18-unanswered-mid", 2), ("p43-unanswered-mid-two-rows", 3)):
        rows = (FIXTURES / f"truth-claude-code/{name}.jsonl").read_bytes().splitlines(keepends=True)
        for version in AGENTS["claude-code"].versions:
            installed = install(AGENTS["claude-code"], cache(), version)
            for where, some in (("in the middle", rows), ("at the end", rows[:last])):
                sent = resume(installed, b"".join(some))["messages"]
                told = (_said(one) for one in sent[:-1] if one["role"] != "system")
                print(f"{version} {name}, {where}: {' | '.join(told)}", flush=True)


def _said(message: dict[str, Any]) -> str:
    """Whose a message is, and what stands in it."""
    content = message["content"]
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    told = (part.get("text") or part.get("id") or part.get("tool_use_id") or "" for part in parts)
    return " ".join(
        [message["role"], *(f"{part['type']}:{words[:20]}" for part, words in zip(parts, told, strict=True))]
    )


def thinking_of_another_model() -> None:
    """Print what each version of pi sends of a response of another model, or another API, that thought."""
    for version in AGENTS["pi"].versions:
        installed = install(AGENTS["pi"], cache(), version)
        for name in ("thinking", "thinking-other-api"):
            sent = resume(installed, (FIXTURES / f"truth-pi/{name}.jsonl").read_bytes())["messages"]
            print(f"pi {version} {name}: {' | '.join(map(_said, sent[:-1]))}", flush=True)


def picture_in_a_failed_result() -> None:
    """Print where each version of pi sends a picture that stands in a failed result: a row of the fixture, with one."""
    rows = [json.loads(row) for row in FIXTURE.read_bytes().splitlines()]
    pixels = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
    for row in rows:
        if row.get("message", {}).get("role") == "toolResult":
            row["message"]["isError"] = True
            row["message"]["content"].append({"type": "image", "data": pixels, "mimeType": "image/png"})
    for version in AGENTS["pi"].versions:
        installed = install(AGENTS["pi"], cache(), version)
        sent = resume(installed, b"".join(json.dumps(row).encode() + b"\n" for row in rows))["messages"]
        for one in sent[:-1]:
            inner = [part.get("content") for part in one["content"] if part["type"] == "tool_result"]
            if inner:
                held = "inside" if "image" in json.dumps(inner[0]) and isinstance(inner[0], list) else "not inside"
                print(f"pi {version} picture in a failed result: {held}; {_said(one)}", flush=True)


def other_model() -> None:
    """Print with which model pi goes on where a session names only one that it has no key for, and the ids of calls.

    The rows of the fixture before the response of Anthropic's model: what a rewind to there leaves.
    """
    rows = FIXTURE.read_bytes().splitlines(keepends=True)
    for version in AGENTS["pi"].versions:
        installed = install(AGENTS["pi"], cache(), version)
        for named in (rows, rows[:-1], [row for row in rows[:-1] if b'"model_change"' not in row]):
            body = resume(installed, b"".join(named))
            ids = [part["id"] for one in body["messages"] if isinstance(one["content"], list)
                   for part in one["content"] if part["type"] == "tool_use"]  # fmt: skip
            print(f"pi {version}, {len(named)} rows: asks {body['model']}, sends {ids}", flush=True)


def usage_beside_a_message() -> None:
    """Print whether an agent sends the same of a session in which each row with a message has a `usage` of its own.

    An export has such a row where no counted reply is left to tell the size of the context.
    """
    for agent, name in COUNTED.items():
        raw = (FIXTURES / f"truth-{agent}/{name}.jsonl").read_bytes()
        rows = [json.loads(row) for row in raw.splitlines()]
        for row in rows:
            if "message" in row or row["type"] == "response_item":
                row["usage"] = {"input_tokens": 150_000, "output_tokens": 0, "ctxkit": "estimated"}
        made = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
        for version in AGENTS[agent].versions:
            installed = install(AGENTS[agent], cache(), version)
            without, given = ([one for one in blocks_of(installed, one) if not one.rule] for one in (raw, made))
            print(
                f"{agent} {version} usage beside a message: {'the same' if given == without else 'other'}", flush=True
            )


def qwen_results() -> None:
    """Print the results that Qwen Code sends, and of which call: in which order, a late one, two calls of an id."""
    for version in AGENTS["qwen-code"].versions:
        installed = install(AGENTS["qwen-code"], cache(), version)
        for name in ("parallel", "later-result", "second-call-of-an-id"):
            sent = blocks_of(installed, (FIXTURES / f"truth-qwen-code/{name}.jsonl").read_bytes())
            told = (f"{one.kind}:{one.key[:20]}{' made up' * (one.rule == 'made up')}" for one in sent
                    if one.rule in ("", "made up"))  # fmt: skip
            print(f"qwen-code {version} {name}: {' | '.join(told)}", flush=True)


def opencode_responses() -> None:
    """Print what opencode sends of responses: in steps, words behind a call, of another model, stopped, reverted."""
    for version in AGENTS["opencode"].versions:
        installed = install(AGENTS["opencode"], cache(), version)
        for name in (
            "two-steps", "words-behind-a-call", "other-model", "aborted-snapshot", "odd-id", "revert-part"
        ):  # fmt: skip
            sent = resume(installed, (FIXTURES / f"truth-opencode/{name}.json").read_bytes())["messages"]
            print(f"opencode {version} {name}: {' | '.join(map(_said, sent[:-1]))}", flush=True)


def main() -> int:
    """Print what each model has, what goes of each message, and the order that a copied response is sent in."""
    usage_beside_a_message()
    copies()
    kinds_of_rows()
    open_calls()
    thinking_of_another_model()
    picture_in_a_failed_result()
    other_model()
    qwen_results()
    opencode_responses()
    for version in AGENTS["claude-code"].versions:
        installed = install(AGENTS["claude-code"], cache(), version)
        found = [{"type": "tool_reference", "tool_name": name} for name in TOOLS]
        for model in MODELS:
            try:
                asked, results = blocks(
                    installed, session(model, [("ToolSearch", {"query": "x"}, found)]), "tool_result"
                )
            except NotResumedError as why:
                print(f"{version} {model}: {why}")
                continue
            stays = {part.get("tool_name") for part in results[0]["content"]}
            print(f"{version} {model} (asked: {asked}): without {sorted(set(TOOLS) - stays)}", flush=True)
        _, calls = blocks(installed, session(MODELS[0], [("SendMessage", one, "ok") for one in MESSAGES]), "tool_use")
        for given, call in zip(MESSAGES, calls, strict=True):
            print(f"{version} SendMessage {sorted(given)}: without {sorted(set(given) - set(call['input']))}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
