"""Builders: small logs in a line of text, for tests that read like tables.

`log("1-3 | mark a | 4-6 | rewind a")` gives the JSONL lines of a native log: messages 1-3 (user, assistant in turn),
then ops with their `at` filled in. An op is `name word key=value ...`; see `_OPS` for what the bare word means.
`@N` in a value names the id of the Nth op.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ctxkit.core.jsontext import digest, dumps, loads
from ctxkit.core.ledger import build
from ctxkit.core.messages import Message
from ctxkit.core.replay import fold
from ctxkit.core.state import State
from ctxkit.core.transcript import OpLine, Transcript, View
from array import array

_OPS = {
    "mark": "label", "rewind": "to", "forget": "ids", "remember": "ids", "recall": "ids", "protect": "ids",
    "unprotect": "ids", "window": "seconds", "compact": "ids", "trim": "ids", "undo": "op", "clear": "agent",
    "edit": "items", "restore": "items", "interrupted": "id",
}  # fmt: skip


def message(n: int, role: str | None = None, **more: Any) -> dict[str, Any]:
    """Message n: odd numbers are the user's, even ones the assistant's, one minute apart."""
    role = role or ("user" if n % 2 else "assistant")
    return {"role": role, "content": f"m{n}", "ts": f"2026-02-01T{10 + n // 60:02}:{n % 60:02}:00Z", **more}


def log(spec: str) -> list[dict[str, Any]]:
    """The records of the log that `spec` describes."""
    records: list[dict[str, Any]] = []
    count, ops = 0, 0
    labels: dict[str, str] = {}
    for part in (p.strip() for p in spec.split("|")):
        numbers = re.fullmatch(r"(\d+)(?:-(\d+))?(?:\s+(.*))?", part)
        if numbers:
            for n in range(int(numbers[1]), int(numbers[2] or numbers[1]) + 1):
                assert n == count + 1, f"message {n} is out of order in {spec!r}"
                count += 1
                more = _fields(numbers[3] or "")
                records.append(message(n, **more))
            continue
        name, *words = part.split()
        ops += 1
        body: dict[str, Any] = {"ctxkit": name, "v": 1, "id": f"a{ops}"}
        if name != "interrupted":
            last = digest([records_message(records)["role"], records_message(records)["content"]]) if count else ""
            body["at"] = {"messages": count, "last": last, "rows": count}
        if words and "=" not in words[0]:
            body[_OPS[name]] = words.pop(0)
        body.update(_fields(" ".join(words)))
        if name == "mark":
            labels[body.get("label", "")] = body["id"]
        if name == "rewind":
            body["to"] = labels[body.get("to", "")] if body.get("to", "") in labels else body.get("to", "")
            if body["to"] == "":
                body["to"] = [r["id"] for r in records if r.get("ctxkit") == "mark"][-1]
        if name in ("window",) and isinstance(body.get("seconds"), str):
            body["seconds"] = json.loads(body["seconds"])
        if name in ("edit", "restore"):
            body["items"] = items(body["items"])
            body.setdefault("ts", "2026-02-01T20:00:00Z")
        if name == "compact":
            body.setdefault("text", f"summary of {body['ids']}")
            if body["text"] == "null":
                del body["text"]
        for key in ("ids", "op", "keep", "planning", "to"):
            if isinstance(body.get(key), str):
                body[key] = re.sub(r"@(\d+)", r"a\1", body[key])
        records.append(body)
    return records


def records_message(records: list[dict[str, Any]]) -> dict[str, Any]:
    """The newest message among `records`."""
    return next(r for r in reversed(records) if "role" in r)


def items(text: str) -> list[dict[str, Any]]:
    """`3,5,new:hello,7:changed` -> numbers, a literal, and 7 changed; `+` stands for a blank."""
    found: list[dict[str, Any]] = []
    for token in text.split(","):
        head, colon, words = token.partition(":")
        if not colon:
            found.append({"n": int(head)})
            continue
        item: dict[str, Any] = {"message": {"role": "user", "content": words.replace("+", " ")}}
        if head != "new":
            item["from"] = int(head) if head.isdigit() else re.sub(r"@(\d+)", r"a\1", head)
        found.append(item)
    return found


def _fields(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in text.split():
        key, _, value = pair.partition("=")
        try:
            found[key] = json.loads(value)
        except ValueError:
            found[key] = value
        if key in ("ids", "label", "text", "planning", "agent", "op", "to", "keep"):
            found[key] = value.replace("+", " ")
        if key == "summaries":
            found[key] = json.loads(value.replace("+", " "))
    return found


def lines(spec: str) -> bytes:
    """The log as bytes."""
    return b"".join(dumps(record).encode() + b"\n" for record in log(spec))


def transcript(records: list[dict[str, Any]], view: View | None = None) -> Transcript:
    """A transcript of native records, built without any disk or format."""
    messages: list[Message] = []
    ops: list[OpLine] = []
    for line, record in enumerate(records, start=1):
        if isinstance(record.get("ctxkit"), str):
            ops.append(OpLine(loads(dumps(record).encode()), len(messages), len(messages), line))
            continue
        calls = record.get("tool_calls") or []
        results = (record["tool_call_id"],) if "tool_call_id" in record else ()
        messages.append(
            Message(
                len(messages) + 1, 0, 0, record["role"], record.get("ts"), record.get("agent"), record.get("thread"),
                calls=tuple(c["id"] for c in calls), tools=tuple(c["function"]["name"] for c in calls), results=results,
                opens=record["role"] == "user",
            )  # fmt: skip
        )
    rows = len(messages)
    return Transcript("chat", messages, array("L", range(rows)), rows, ops, [], view)


def state(spec: str) -> State:
    """The state that the log of `spec` folds to."""
    return state_of(log(spec))


def state_of(records: list[dict[str, Any]]) -> State:
    """The state that these records fold to, identities checked."""
    read = transcript(records)
    plain = [r for r in records if not isinstance(r.get("ctxkit"), str)]
    return fold(read, build(read), lambda n: digest([plain[n - 1]["role"], plain[n - 1]["content"]]))


def shown(state: State) -> str:
    """The context as names in order, in the words of the specs: `1-4,a1.1,7`."""
    from ctxkit.core.context import shown_names

    out: list[str] = []
    run: list[int] = []

    def flush() -> None:
        if run:
            out.append(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}")
            run.clear()

    for name in shown_names(state):
        if isinstance(name, int) and (not run or name == run[-1] + 1):
            run.append(name)
            continue
        flush()
        if isinstance(name, int):
            run.append(name)
        else:
            out.append(str(name))
    flush()
    return ",".join(out)
