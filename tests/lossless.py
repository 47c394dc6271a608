"""What a request or session leaves out of the messages that were chosen: an independent walk of their raw rows.

`python -m tests.lossless` looks at every real file, target and sequence of ops (just lossless); the suite at a sample.
It shares no code with readers and writers: it knows where a row of each format has its words, and takes every string
there. A string that is not in what is written must be counted on standard error.
"""

from __future__ import annotations

import argparse
import fnmatch
import io
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ctxkit import Log
from ctxkit.core.messages import Repairs
from ctxkit.errors import CtxkitError, ManyConversations, NothingToSend
from ctxkit.formats.targets import SESSIONS, TARGETS
from tests.lawful import NOW, tried
from tests.shared import HERE, SHARED
from tests.whole import _command

SEQUENCES = 3
"""Of ops on each file, beside none at all."""
FOLDERS = (
    "claude-code", "claude-code-subagents", "codex", "pi", "copilot-cli", "mini-swe-agent", "openai-chat", "sharegpt",
    "swe-agent", "tau-bench", "openhands", "derived-corrupt",
)  # fmt: skip
FIXTURES = ("truth-*/*.json*", "rules/*", "golden-200/log.jsonl", "guide/*.jsonl", "lossless/*")

QUIET = frozenset({
    "type", "id", "tool_use_id", "call_id", "tool_call_id", "tool_call_ids", "toolCallId", "toolUseId", "signature",
    "thinkingSignature", "textSignature", "thoughtSignature", "encrypted_content", "status", "media_type", "mimeType",
    "detail", "phase", "role", "cache_control", "caller", "namespace", "metadata", "extra", "annotations", "logprobs",
    "provider_specific_fields", "internal_chat_message_metadata_passthrough", "is_error", "execution", "citations",
    "index", "responseId", "globs", "rawContent", "turn_id", "reasoningOpaque", "encoding", "filename",
})  # fmt: skip
"""Keys whose values are no words: ids, signatures, kinds, what a program keeps for itself."""
MESSAGE = ("content", "parts", "tool_calls", "function_call", "refusal", "reasoning_content", "reasoning")
"""Where a message of a chat has its words."""


ATTACHED = ("content", "prompt", "snippet", "newDate")
"""Where an attachment of Claude Code has its words, as far as it was not stored as it was sent."""


class Thing(NamedTuple):
    """A block of a message, or a string that stands by itself: what it is, and the words in it."""

    kind: str
    words: tuple[str, ...]


def bodies(name: str, row: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Kind and value of each part of a row in which words stand."""
    message = row.get("message") if isinstance(row.get("message"), dict) else {}
    match name:
        case "claude-code" if row.get("type") == "attachment":
            told = row.get("attachment") or {}
            yield "reminder", row["rendered"] if row.get("rendered") else {key: told.get(key) for key in ATTACHED}
        case "claude-code":
            yield "text", row.get("content") if row.get("type") == "system" else message.get("content")
        case "codex":
            item = row.get("payload", row)
            if row.get("type") in ("compacted", "inter_agent_communication"):
                yield "text", item.get("message", item.get("content"))
            else:
                yield "text", item
        case "responses":
            yield "text", row
        case "pi":
            answers = message.get("role") == "toolResult"
            yield "result" if answers else "text", message.get("content", row.get("content"))
            yield "text", [one.get(key) for one in (row, message) for key in ("summary", "command", "output")]
        case "gemini-cli":
            yield "thinking", row.get("thoughts")
            yield "text", row.get("content")
            for call in row.get("toolCalls") or ():
                yield "call", {key: call.get(key) for key in ("name", "args")}
                yield "result", call.get("result")
        case "copilot-cli":
            data = row.get("data") or {}
            yield "thinking", data.get("reasoningText")
            yield "text", data.get("transformedContent") or data.get("content") or data.get("summaryContent")
            yield from (
                ("call", {"name": one["name"], "args": one.get("arguments")}) for one in data.get("toolRequests") or ()
            )
            failed = data.get("success") is False
            outcome = data.get("error" if failed else "result")
            if isinstance(outcome, dict):
                outcome = outcome.get("content", outcome.get("message", outcome))
            yield "result", outcome
        case "opencode":
            for part in row.get("parts") or ():
                state = part.get("state") or {}
                yield "call", {"name": part.get("tool"), "args": state.get("input")}
                told = state.get("error", state.get("output"))
                known = state.get("metadata") or {}
                told = known.get("output") if known.get("interrupted") else told
                yield "result", None if (state.get("time") or {}).get("compacted") else told  # agents, opencode 3
                if not part.get("ignored") or (row.get("info") or {}).get("role") != "user":
                    yield "thinking" if part.get("type") == "reasoning" else "text", part.get("text")
        case _:
            answers = row.get("role") in ("tool", "function")
            for key in MESSAGE:
                kind = {"tool_calls": "call", "function_call": "call"}.get(key, "result" if answers else "text")
                yield "thinking" if key.startswith("reasoning") else kind, row.get(key)


KINDS = {
    "thinking": "thinking", "redacted_thinking": "thinking", "reasoning": "thinking", "summary_text": "thinking",
    "tool_use": "call", "toolCall": "call", "tool_call": "call", "function": "call", "function_call": "call",
    "custom_tool_call": "call", "local_shell_call": "call", "tool_search_call": "call", "custom": "call",
    "tool_result": "result", "function_call_output": "result", "custom_tool_call_output": "result",
    "local_shell_call_output": "result", "tool_search_output": "result", "image": "image", "image_url": "image",
    "input_image": "image",
}  # fmt: skip
"""Kinds of blocks by their type; others have that of what they stand in, or are "other"."""
PLAIN = frozenset({"text", "input_text", "output_text", "message", "refusal", "agent_message", "compaction_summary"})


def things(kind: str, value: Any) -> Iterator[Thing]:
    """The blocks in a value, each with its words; a result holds blocks of its own, which are told by themselves."""
    if isinstance(value, list):
        for one in value:
            yield from things(kind, one)
        return
    if isinstance(value, dict):
        of = value.get("type")
        if value.get("thought") is True:
            kind = "thinking"
        elif value.get("redacted") is True:  # pi's own words stand there
            value = {"type": "thinking", "hidden": value.get("thinkingSignature")}
            kind = "thinking"
        elif "functionCall" in value or "function_call" in value:
            kind = "call"
        elif "functionResponse" in value or "function_response" in value:
            kind = "result"
        elif isinstance(of, str) and kind not in ("reminder", "call"):
            kind = KINDS.get(of, kind if of in PLAIN else "other" if kind == "text" else kind)
        inner = [block for one in value.values() if _blocks(one) for block in one]
        if kind == "call":
            found = list(strings(value, keys=True))
            name = [word for word in found if word.startswith(NAME)]
            old = list(_old_fields(value))
            yield Thing("name", tuple(name))
            yield Thing("old field", tuple(old))
            yield Thing("call", tuple((Counter(found) - Counter(name) - Counter(old)).elements()))
            return
        if kind not in ("result", "text", "thinking"):
            yield Thing(kind, tuple(strings(value)))
            return
        plain = {key: one for key, one in value.items() if not _blocks(one)}
        if kind == "result":  # its words are one thing, pictures and others in it are things of their own
            plain["content"] = [one for one in inner if not _other(one)] or plain.get("content")
            inner = [one for one in inner if _other(one)]
        yield Thing(kind, tuple(strings(plain)))
        yield from things(kind, inner)
        return
    if isinstance(value, str):
        yield Thing(kind, (value,))


def _other(block: Any) -> bool:
    return not isinstance(block, dict) or block.get("type", "text") not in PLAIN


def _old_fields(call: dict[str, Any]) -> Iterator[str]:
    """What Claude Code does not send of a message to another agent, which is told a second time."""
    given = call.get("input")
    if call.get("name") == "SendMessage" and isinstance(given, dict) and {"to", "message"} <= set(given):
        for key in ("type", "recipient", "content", "request_id", "approve"):
            if key in given:
                yield from strings({key: given[key]}, key="input")


def _blocks(value: Any) -> bool:
    return isinstance(value, list) and any(isinstance(one, dict) for one in value)


def strings(value: Any, *, keys: bool = False, key: str = "") -> Iterator[str]:
    """Every string of a value that is not quiet; `keys`: of a call's arguments, whose own keys are words too."""
    if isinstance(value, str):
        if key in ("arguments", "input", "value") and value[:1] in "{[" and (decoded := _decoded(value)) is not None:
            yield from strings(decoded, keys=True)
        elif key == "url" and value.startswith("data:"):
            yield value.partition(",")[2]
        else:
            yield NAME + value if key == "name" and keys else value
    elif isinstance(value, dict):
        inside = key in ("arguments", "args", "input", "action")
        for name, one in value.items():
            if inside or name not in QUIET:
                if inside:
                    yield name
                yield from strings(
                    one, keys=keys and not inside, key="args" if inside and isinstance(one, dict) else name
                )
    elif isinstance(value, list):
        for one in value:
            yield from strings(one, key=key if key == "args" else "")


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _glued(line: str) -> Iterator[Any]:
    """The records on a line, also where a broken one stands before a whole one."""
    at = line.find("{")
    while at >= 0:
        try:
            value, at = json.JSONDecoder().raw_decode(line, at)
            yield value
        except ValueError:
            at += 1
        at = line.find("{", at)


SURROGATES = re.compile("[\ud800-\udfff]")


def fold(words: str) -> str:
    """What counts of words: white space does not, nor halves of a pair, which no request may hold."""
    return " ".join(SURROGATES.sub("\ufffd", words).split())


NAME = "tool: "
"""Before the name of a called tool, which is looked for as such, once."""
LONG = 24
"""Shorter words need to be there once, however often they were said."""


class Sent:
    """All strings of what was written."""

    def __init__(self, values: Iterable[Any]) -> None:
        self._leaves: Counter[str] = Counter(filter(None, (fold(one) for value in values for one in _all(value))))
        self._text = "\n".join(self._leaves.elements())
        self._asked: Counter[str] = Counter()

    def has(self, words: str) -> bool:
        """Whether it is there as often as it was asked for so far."""
        words = fold(words)
        if not words:
            return True
        self._asked[words] += 1
        asked = self._asked[words] if len(words) >= LONG and not words.startswith(NAME) else 1
        return asked <= self._leaves[words] or asked <= self._text.count(words)

    def lacks(self, words: Iterable[str]) -> str:
        """The first of these that is not there; "" for none."""
        return next(iter([one for one in words if not self.has(one)]), "")


def _all(value: Any, key: str = "") -> Iterator[str]:
    """Every string of a JSON value, keys too, those in JSON texts included."""
    if isinstance(value, str):
        if value[:1] in ("{", "[") and key in ("arguments", "input") and (decoded := _decoded(value)) is not None:
            yield from _all(decoded)
            return
        yield value
        if value.startswith("data:"):
            yield value.partition(",")[2]
        elif value.startswith("<system-reminder>"):  # an attachment without words of its own is told as JSON
            yield from _all(_decoded(value[value.find("{") : value.rfind("}") + 1]))
    elif isinstance(value, dict):
        for name, one in value.items():
            yield name
            if name == "name" and isinstance(one, str):
                yield NAME + one
            yield from _all(one, name)
    elif isinstance(value, list):
        for one in value:
            yield from _all(one, key)


WHOLE = re.compile(
    r"API error message|failed response|message of nothing but thinking|empty message|on the screen|"
    r"message of a role|does not send|"
    r"never answered|task reminder|program's own|answer to|wording of an attachment|instructions of"
)
"""Counts of whole messages."""
LATE = ("thinking", "reminder", "old field")
"""Kinds that are looked for last: where two things have the same words, one of these is what went."""
COUNTED = {
    "thinking": r"thinking|reasoning|thought|Thinking",
    "call": r"repeated call|never answered|arguments|caller|_call$|tool_use",
    "name": r"repeated call|never answered|tool's name|name of a tool",
    "old field": r"older field of SendMessage|repeated call|never answered",
    "result": r"answer|result|image|tool_reference|tool search|picture|document|block|error|repeated",
    "image": r"image|picture",
    "text": r"blank text|white space|name of a speaker|empty|wording|image",
    "reminder": r"wording of an attachment|task reminder",
    "other": r"",
}  # fmt: skip
"""Which counts are about a thing of each kind; "other": any."""


def rows(log: Log, n: int) -> Iterator[dict[str, Any]]:
    """The JSON objects of message n as they stand in the file; of several with one uuid the last counts."""
    message = log.messages[n - 1]
    found: dict[Any, dict[str, Any]] = {}
    for place, (offset, size) in enumerate([(message.offset, message.size), *message.more]):
        try:
            row = json.loads(log.opening.laid_out.read(offset, size).decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict):
            found[row.get("uuid", place) if log.opening.format.name == "claude-code" else place] = row
    yield from found.values()


def chosen(log: Log) -> Iterator[tuple[str, list[Thing]]]:
    """What each chosen message holds, behind its name: of the file, or of the op that brought it in or shortened it."""
    name = log.opening.format.name
    for entry in log.entries():
        found: list[Thing] = []
        if entry.stub is not None:
            answers = entry.message is not None and entry.message.results
            found += things("result" if answers else "text", entry.stub)
        elif entry.item is not None:
            found += (thing for kind, value in bodies("chat", entry.item.message) for thing in things(kind, value))
        elif entry.message is not None:
            edits: list[Any] = list(rows(log, entry.message.n))
            if name == "pi" and len(edits) > 1:  # a context edit: what it says stands for the content
                told = edits[-1].get("replacement")
                found += things("text", told.get("content") if isinstance(told, dict) else told)
                edits = []
            for row in edits:
                found += (thing for kind, value in bodies(name, row) for thing in things(kind, value))
        yield str(entry.name), found


def lost(log: Log, values: Iterable[Any], repairs: Repairs) -> list[str]:
    """What is neither in `values` nor counted: a line each."""
    sent = Sent(values)
    away: dict[str, list[tuple[Thing, str]]] = {}
    whole: set[str] = set()
    held = list(chosen(log))
    for late in (False, True):  # of words and a thought that are the same, the thought is what went
        for name, found in held:
            for thing in found:
                if (thing.kind in LATE) == late and (first := sent.lacks(thing.words)):
                    away.setdefault(name, []).append((thing, first))
    for name, found in held:
        if name in away and len(away[name]) == len([thing for thing in found if any(map(fold, thing.words))]):
            whole.add(name)
    counts = dict(repairs.left_out) | repairs.added
    counts["result without a call"] = repairs.dropped
    counts |= {f"thinking {what}": count for what, count in repairs.thinking.items()}
    excused = sum(count for kind, count in counts.items() if WHOLE.search(kind))
    for name in sorted(away, key=lambda name: name not in whole)[:excused]:  # the same words may stand elsewhere too
        away.pop(name)
    missing = Counter(thing.kind for gone in away.values() for thing, _ in gone)
    wrong = {
        kind for kind, count in missing.items()
        if count > sum(many for what, many in counts.items() if re.search(COUNTED[kind], what))
    }  # fmt: skip
    return [
        f"{name} {thing.kind}: {fold(first)[:60]!r}"
        for name, gone in away.items() for thing, first in gone if thing.kind in wrong
    ]  # fmt: skip


def written(log: Log, to: str) -> tuple[list[Any], Repairs]:
    """The values of a request, or the rows of a session."""
    if to in SESSIONS:
        session = log.session(to)
        text = b"".join(session.pieces).decode("utf-8", "replace")
        return [row for line in text.split("\n") for row in _glued(line)], session.repairs
    made = log.export(to, assembly=False)
    return list(made.values), made.repairs


def judge(log: Log, to: str) -> list[str]:
    """What is lost on the way to `to`; nothing where there is nothing to send."""
    try:
        values, repairs = written(log, to)
    except NothingToSend:
        return []
    return lost(log, values, repairs)


def opened(path: Path) -> Iterator[tuple[str, Log]]:
    """The log of a file; of one with several conversations the first three."""
    raw = path.read_bytes()
    try:
        yield "", Log.open(io.BytesIO(raw), clock=lambda: NOW)
    except ManyConversations:
        for number in (1, 2, 3):
            try:
                yield f" {number}", Log.open(io.BytesIO(raw), clock=lambda: NOW, conversation=number)
            except CtxkitError:
                return
    except CtxkitError:
        return


def sequences(path: Path, count: int) -> Iterator[tuple[str, Log]]:
    """A file's log as it is, and after random ops; sequence N is the same in every run."""
    for what, log in opened(path):
        yield what, log
    for number in range(count):
        dice = random.Random(f"{path.name} {number}")
        for what, log in opened(path):
            for command in [_command(dice) for _ in range(dice.randint(1, 5))]:
                tried(log, command)
            yield f"{what} sequence {number}", log


def files() -> list[Path]:
    """All that there are: our fixtures, and the real ones."""
    ours = [path for glob in FIXTURES for path in sorted((HERE.parent / "fixtures").glob(glob)) if path.is_file()]
    real = [path for name in FOLDERS for path in sorted((SHARED / "transcripts" / name).glob("*"))]
    endings = (".jsonl", ".json", ".traj")
    return [path for path in (*ours, *real) if path.suffix in endings and path.name != "requests.json"]


def main() -> int:
    """Looks at all of them; 1 where something is lost."""
    parser = argparse.ArgumentParser(prog="python -m tests.lossless", description=__doc__)
    parser.add_argument("--file", default="*", help="only files with such a name")
    parser.add_argument("--to", choices=TARGETS, action="append")
    parser.add_argument("--count", type=int, default=SEQUENCES, help="sequences of ops on each (default %(default)s)")
    asked = parser.parse_args()
    begun, ran, bad = time.monotonic(), 0, Counter[str]()
    for path in files():
        name = f"{path.parent.name}/{path.name}"
        if not fnmatch.fnmatch(name, asked.file):
            continue
        for what, log in sequences(path, asked.count):
            for to in asked.to or TARGETS:
                ran += 1
                if found := judge(log, to):
                    bad[to] += 1
                    print(f"{name}{what} -> {to}: {len(found)} lost: {'; '.join(found[:4])}", flush=True)
    print(f"{ran} exports, {bad.total()} lose something uncounted {dict(bad)}, in {time.monotonic() - begun:.0f} s")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
