"""Small Gemini CLI sessions in a line of text.

    user:q1 | gemini:a1 | gemini:a1+c1 | done:a1+c1 | info:x | same2:other | set 1,2 | rewind 3 | rewind -

Record k has the id m<k>; `+c1` is a call, in `done` with its result; `same2:...` is record 2 once more, of its type in
`same2user:`; `set 1,2` lists records as they were first written; `rewind -` names an id that no record has.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ctxkit.core.messages import Text
from ctxkit.core.transcript import Transcript
from ctxkit.formats.gemini_cli import FORMAT
from tests.formats import reading

HEADER = {"sessionId": "s1", "projectHash": "p", "startTime": "2026-02-01T10:00:00Z", "kind": "main"}


def record(k: int, words: str) -> dict[str, Any]:
    """Record k."""
    kind, _, text = words.partition(":")
    again = re.fullmatch(r"same(\d+)(\w*)", kind)
    if again:
        k, kind = int(again[1]), again[2] or "gemini"
    text, *calls = text.split("+")
    made: dict[str, Any] = {"id": f"m{k}", "timestamp": f"2026-02-01T10:00:{k:02}Z"}
    made |= {"type": "gemini" if kind == "done" else kind}
    made["content"] = text if made["type"] != "user" else [{"text": text}]
    for key in calls:
        call: dict[str, Any] = {"id": key, "name": "read_file", "args": {"path": key}, "status": "executing"}
        if kind == "done":
            response = {"id": key, "name": "read_file", "response": {"output": f"of {key}"}}
            call |= {"status": "success", "result": [{"functionResponse": response}]}
        made.setdefault("toolCalls", []).append(call)
    return made


def rows(spec: str) -> list[dict[str, Any]]:
    """The lines of the session."""
    found: list[dict[str, Any]] = [HEADER]
    for k, part in enumerate(spec.split("|"), 1):
        words = part.strip()
        if words.startswith("rewind "):
            found.append({"$rewindTo": f"m{words.removeprefix('rewind ')}"})
        elif words.startswith("set"):
            listed = [int(one) for one in words.removeprefix("set").split(",") if one.strip()]
            found.append({"$set": {"messages": [found[one] for one in listed], "lastUpdated": "x"}})
        elif words == "meta":
            found.append({"$set": {"summary": "told"}})
        else:
            found.append(record(k, words))
    return found


def raw(spec: str) -> bytes:
    """The session as bytes."""
    return b"".join(json.dumps(one).encode() + b"\n" for one in rows(spec))


def read(spec: str) -> Transcript:
    """The transcript of such a session."""
    return reading.read(FORMAT, raw(spec))


def words(spec: str) -> list[str]:
    """What each message says, or what it is."""
    found = []
    for content in reading.contents(FORMAT, raw(spec)):
        texts = [p.text if isinstance(p, Text) else str(p.__struct_config__.tag) for p in content.parts]
        found.append(f"{content.role[0]}:{'+'.join(texts)}")
    return found
