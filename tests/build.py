"""Builders: small logs in a line of text, for tests that read like tables.

    1-3 | mark a | 4 agent=frodo | 5-6 | forget 4 planning=5-6 | rewind a | undo @2

Parts are joined by `|`. Messages come by their numbers, odd ones from the user, even ones from the assistant, a minute
apart from 10:00 on; after a number: a role, `call=x`, `result=x`, `agent=`, `thread=`, `ts=` (`none`: without).
`row` is a row that holds no message. Everything else is an op: its name, the word that `WORD` explains, and fields. The
`at` of an op is filled in; `at=5` says that it was decided when the log had 5 messages. `@2` names op 2 (its id is
`a2`), `@2.1` its first item; `+` stands for a blank. `~` before an op puts it into the sidecar.
"""

from __future__ import annotations

import json
import re
from array import array
from typing import Any

import msgspec

from ctxkit.core.context import shown_names
from ctxkit.core.item_names import Name, Names
from ctxkit.core.ledger import build
from ctxkit.core.messages import Message
from ctxkit.core.ops import LogPosition, Op, checksum, to_body
from ctxkit.core.replay import fold
from ctxkit.core.sets.ranges import Ranges
from ctxkit.core.state import State
from ctxkit.core.text.json_text import digest, dumps, loads
from ctxkit.core.transcript import OpLine, Transcript, View

WORD = {
    "mark": "label", "rewind": "to", "forget": "ids", "remember": "ids", "recall": "ids", "protect": "ids",
    "unprotect": "ids", "window": "seconds", "compact": "ids", "trim": "ids", "undo": "op", "clear": "agent",
    "edit": "items", "restore": "items", "interrupted": "id",
}  # fmt: skip
"""The field that an op's bare word fills. `rewind a`: to the newest mark a; `edit 1-3,new:hello`: see `items`."""

ROLES = ("system", "developer", "user", "assistant", "tool")
TYPED = ("stubs", "summaries", "seconds", "at", "reasons", "v")
"""Fields that are written as JSON; the others are text."""


def log(spec: str) -> list[dict[str, Any]]:
    """The records of the log that `spec` describes; a sidecar's ops have the key `~`."""
    records: list[dict[str, Any]] = []
    ops = 0
    for part in (part.strip() for part in re.sub(r"@(\d+)", r"a\1", spec).split("|")):
        head, *words = part.split()
        if head == "row":
            records.append({"type": "progress"})
        elif head[0].isdigit():
            low, _, high = head.partition("-")
            for n in range(int(low), int(high or low) + 1):
                assert n == len(plain(records)) + 1, f"message {n} is out of order in {spec!r}"
                records.append(message(n, *words))
        else:
            ops += 1
            records.append(op(records, f"a{ops}", head, words))
    return records


def plain(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages among `records`."""
    return [record for record in records if "role" in record]


def message(n: int, *words: str) -> dict[str, Any]:
    """Message n, with the words of its part."""
    found: dict[str, Any] = {"role": "user" if n % 2 else "assistant", "content": f"m{n}"}
    found["ts"] = f"2026-02-01T{10 + n // 60:02}:{n % 60:02}:00Z"
    for word in words:
        key, _, value = word.partition("=")
        if key in ROLES:
            found["role"] = key
        elif key == "call":
            calls = [
                {"id": call, "type": "function", "function": {"name": call, "arguments": "{}"}}
                for call in value.split(",")
            ]
            found.update(role="assistant", tool_calls=calls)
        elif key == "result":
            found.update(role="tool", tool_call_id=value)
        elif word == "ts=none":
            del found["ts"]
        else:
            found[key] = value
    return found


def op(records: list[dict[str, Any]], name: str, kind: str, words: list[str]) -> dict[str, Any]:
    """The record of an op behind `records`."""
    sidecar, kind = kind.startswith("~"), kind.removeprefix("~")
    body: dict[str, Any] = {"ctxkit": kind, "v": 1, "id": name}
    fields: dict[str, Any] = {}
    for i, word in enumerate(words):
        key, equals, value = word.partition("=")
        key, value = (key, value) if equals and key.isidentifier() else (WORD[kind], word)
        assert i == 0 or equals, f"{kind}: what is {word!r}?"
        value = value.replace("+", " ")
        fields[key] = json.loads(value) if key in TYPED else value
    messages = plain(records)
    count = fields.pop("at", len(messages))
    place = [i for i, record in enumerate(r for r in records if "ctxkit" not in r) if "role" in record]
    rows = len([r for r in records if "ctxkit" not in r]) if count >= len(place) else place[count]
    body["at"] = {"messages": count, "last": identity(messages, min(count, len(messages))), "rows": rows}
    if "rows" in fields:
        body["at"]["rows"] = int(fields.pop("rows"))
    if "last" in fields:
        body["at"]["last"] = fields.pop("last")
    body.update(fields)
    if kind == "rewind":
        marks = [r for r in records if r.get("ctxkit") == "mark"]
        named = [r["id"] for r in marks if r.get("label") == body.get("to") or "to" not in body]
        body["to"] = named[-1] if named else body["to"]
    if kind in ("edit", "restore"):
        body["items"] = items(body["items"])
        body.setdefault("ts", "2026-02-01T20:00:00Z")
    if kind == "compact":
        body.setdefault("text", f"summary of {body['ids']}")
    if kind == "interrupted":
        del body["at"]
    for key in [key for key, value in body.items() if value == "none"]:
        del body[key]
    if body.get("sum") == "ok":
        body["sum"] = checksum(body)
    return {**body, "~": True} if sidecar else body


def identity(messages: list[dict[str, Any]], n: int) -> str:
    """The identity of message n; "" for none."""
    return digest([messages[n - 1]["role"], messages[n - 1]["content"]]) if n else ""


def items(text: str) -> list[dict[str, Any]]:
    """`3-5,new:hello,7:changed,a2.1:words` -> numbers, a literal, two that changed; `!` after a name: protected.

    `7>6`: behind 6.
    """
    found: list[dict[str, Any]] = []
    for token in text.split(","):
        head, colon, words = token.partition(":")
        more = {"protected": True} if head.endswith("!") else {}
        head, _, behind = head.removesuffix("!").partition(">")
        if behind:
            more["after"] = int(behind) if behind.isdigit() else behind
        if not colon:
            found += [{"n": n, **more} for n in Ranges.parse(head)]
            continue
        stem = {} if head == "new" else {"from": int(head) if head.isdigit() else head}
        found.append({"message": {"role": "user", "content": words}, **stem, **more})
    return found


def lines(spec: str) -> bytes:
    """The log as bytes."""
    return b"".join(dumps(record).encode() + b"\n" for record in log(spec))


def transcript(records: list[dict[str, Any]], view: View | None = None) -> Transcript:
    """A transcript of native records, built without any disk or format."""
    messages: list[Message] = []
    row_of = array("L")
    ops: list[OpLine] = []
    rows = 0
    for line, record in enumerate(records, start=1):
        if isinstance(record.get("ctxkit"), str):
            body = {key: value for key, value in record.items() if key != "~"}
            ops.append(OpLine(loads(dumps(body).encode()), rows, len(messages), line, sidecar="~" in record))
            continue
        rows += 1
        if "role" not in record:
            continue
        row_of.append(rows - 1)
        calls = record.get("tool_calls") or []
        messages.append(
            Message(
                len(messages) + 1, 0, 0, record["role"], record.get("ts"), record.get("agent"), record.get("thread"),
                calls=tuple(c["id"] for c in calls), tools=tuple(c["function"]["name"] for c in calls),
                results=(record["tool_call_id"],) if "tool_call_id" in record else (), opens=record["role"] == "user",
            )
        )  # fmt: skip
    return Transcript("chat", messages, row_of, rows, ops, [], view)


def state(spec: str, view: View | None = None, *, at: int | None = None, force: bool = False) -> State:
    """The state that the log of `spec` folds to, or that it had at op `at`."""
    return state_of(log(spec), view, at=at, force=force)


def state_of(
    records: list[dict[str, Any]], view: View | None = None, *, at: int | None = None, force: bool = False
) -> State:
    """The state that these records fold to, identities checked."""
    read, messages = transcript(records, view), plain(records)
    ledger = build(read)
    if at is not None:
        place = ledger.entries[at - 1].place
        kept = len([row for row in read.row_of if row < place])
        read = msgspec.structs.replace(read, messages=read.messages[:kept], row_of=read.row_of[:kept])
        ledger = ledger.upto(at)
    return fold(read, ledger, lambda n: identity(messages, n), force=force)


def here(records: list[dict[str, Any]]) -> LogPosition:
    """The `at` of an op that is decided now."""
    messages = plain(records)
    rows = len([record for record in records if "ctxkit" not in record])
    return LogPosition(messages=len(messages), last=identity(messages, len(messages)), rows=rows)


def appended(records: list[dict[str, Any]], decided: Op) -> list[dict[str, Any]]:
    """The records with a decided op behind them."""
    number = len([record for record in records if "ctxkit" in record]) + 1
    return [*records, {**to_body(decided), "id": f"a{number}"}]


def shown(state: State) -> str:
    """The context as names in order, in the words of the specs: `1-4,@1.1,7`."""
    return written(shown_names(state))


def written(names: Any) -> str:
    """Names in this order; neighbouring numbers as one range."""
    runs: list[list[Name]] = []
    for name in names:
        last = runs[-1][-1] if runs else None
        if isinstance(name, int) and isinstance(last, int) and name == last + 1:
            runs[-1].append(name)
        else:
            runs.append([name])
    found = ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return spoken(found)


def spoken(names: str | Names) -> str:
    """Wire names in the words of the specs: `a1.1` -> `@1.1`."""
    return re.sub(r"\ba(\d+)\.", r"@\1.", str(names))


def taken_by(state: State, name: Name) -> list[str]:
    """What keeps `name` out, oldest first, a foreign program's view last."""
    found = [out.kind for out in state.board.outs if name in out.names]
    return [*found, state.inactive_reason[name]] if isinstance(name, int) and name in state.away else found
