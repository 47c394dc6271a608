"""What a program sends alone, and its provider refuses: `check` names it, and a session that is written has it not.

The requests are those that the programs themselves were recorded to send (docs/agents.md).
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.formats import registry
from ctxkit.formats.base import SessionFormat
from tests.cli.runner import ctxkit
from tests.shared import SHARED

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
PAIRS = {"no-call", "no-result"}
ACCEPTED = {"dup-output", "results-twice"}
"""Sent with a second output of a call: OpenAI takes it, as a call of Codex may have several. Gemini CLI writes and
sends each result twice; what its provider makes of that is not recorded: a note."""
UNRECORDED = {"context-edit-call": ["no-call"], "compaction-kept-result": ["no-call"]}
"""Recorded by `just resume`, which keeps no block that has no partner (tests/resume/compare.py)."""
MENDED = {"codex": {"no-result"}, "claude-code": {"no-result"}}
"""What the program makes up, and the recorded blocks, which are those of the file, do not have."""


def recorded() -> Iterator[tuple[str, Path, Any]]:
    """Each session that its program was recorded to send: the program, the file, the request."""
    for folder in sorted(FIXTURES.glob("truth-*")):
        for name, request in json.loads((folder / "requests.json").read_text(encoding="utf-8")).items():
            [path] = [path for path in folder.glob(f"{name}.*") if path.name != "requests.json"]
            yield folder.name.removeprefix("truth-"), path, request


def pairs(request: Any) -> Iterator[tuple[bool, list[str], list[str]]]:
    """The messages of a request of any provider: whether the model speaks, its calls, the results."""
    if isinstance(request, dict) and "digest" in request:
        for role, kind, key, *_ in request["digest"]:
            yield role == "assistant", [key] * (kind == "tool_use"), [key] * (kind == "tool_result")
        return
    for message in request if isinstance(request, list) else request["contents"]:
        blocks = message.get("parts") or message.get("content")
        calls = [b["id"] for b in blocks if b.get("type") == "tool_use"]
        results = [b["tool_use_id"] for b in blocks if b.get("type") == "tool_result"]
        calls += [b["functionCall"].get("id", "") for b in blocks if "functionCall" in b]
        results += [b["functionResponse"].get("id", "") for b in blocks if "functionResponse" in b]
        yield message["role"] in ("assistant", "model"), calls, results


def refused(request: Any, *, by_block: bool) -> list[str]:
    """What providers refuse of a request: results without a call before them, calls without a result."""
    waiting: list[str] = []
    found: list[str] = []
    for speaks, calls, results in pairs(request):
        for result in results:
            if result in waiting:
                waiting.remove(result)
            else:
                found.append("no-call")
        if speaks and not by_block:
            found += ["no-result"] * len(waiting)
            waiting = []
        waiting += calls
    return found + ["no-result"] * len(waiting)


@pytest.mark.parametrize(("program", "path", "request_"), [pytest.param(*one, id=one[1].stem) for one in recorded()])
def test_check_judges_what_is_sent(program: str, path: Path, request_: Any) -> None:
    """What `check` calls damage of calls and results is what the recorded request has alone; all else are notes."""
    sent = refused(request_, by_block=isinstance(request_, dict) and "digest" in request_)
    sent = [] if path.stem in ACCEPTED else [one for one in sent if one not in MENDED.get(program, ())]
    sent += UNRECORDED.get(path.stem, [])
    found = Log.open(path).check(notes=True)
    assert [one.code for one in found if one.code in PAIRS and not one.note] == sent
    if sent and isinstance(registry.by_name(program), SessionFormat):
        assert mended(Log.open(path)) == len(sent)


def mended(log: Log) -> int:
    """How many pairs the written session has mended; it has none that its provider refuses."""
    written = log.session(log.opening.format.name)
    made = b"".join(written.pieces)
    assert [one for one in Log.open(io.BytesIO(made)).check() if one.code in PAIRS] == []
    return written.repairs.dropped + written.repairs.made + sum(written.repairs.added.values())


def line(key: str, parent: str | None, message: dict[str, Any], **more: Any) -> bytes:
    """An entry of a pi session."""
    row = {"type": "message", "id": key, "parentId": parent, "timestamp": "2026-10-01T08:00:01.000Z"}
    return json.dumps({**row, "message": message, **more}).encode() + b"\n"


HEAD = (
    b'{"type":"session","version":3,"id":"0199aaaa-0000-7000-8000-000000000013","cwd":"/x","timestamp":"2026-10-01"}\n'
)
ASK: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": "go"}]}
CALL = {"role": "assistant", "content": [{"type": "toolCall", "id": "t", "name": "bash", "arguments": {}}]}
RESULT = {"role": "toolResult", "toolCallId": "t", "content": [{"type": "text", "text": "x"}]}


@pytest.mark.parametrize(
    ("rows", "alone"),
    [
        ([ASK, CALL, RESULT], []),
        ([ASK, CALL, ASK], []),
        ([ASK, CALL, RESULT, RESULT], ["message 4"]),
        ([ASK, CALL, ASK, RESULT], ["message 4"]),
        ([ASK, CALL | {"stopReason": "aborted"}, RESULT], ["message 3"]),
        ([RESULT, ASK], ["message 1"]),
    ],
)
def test_pi(rows: list[dict[str, Any]], alone: list[str]) -> None:
    """A second result, one behind words, one of a failed response: pi leaves them; what it mends is a note."""
    raw = HEAD + b"".join(line(f"e{n}", f"e{n - 1}" if n else None, row) for n, row in enumerate(rows))
    log = Log.open(io.BytesIO(raw))
    assert [one.where for one in log.check()] == alone
    if alone:
        assert mended(log) == 1


def test_resume_goes_on_with_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a session that lies where pi looks and that no op changed, if what pi sends of it is refused; it is said."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / ".pi/agent/sessions" / f"--{str(tmp_path).strip('/').replace('/', '-')}--"
    folder.mkdir(parents=True)
    path = folder / "2026-10-01T08-00-00-000Z_0199aaaa-0000-7000-8000-000000000013.jsonl"
    head = HEAD.replace(b'"/x"', json.dumps(str(tmp_path)).encode())
    path.write_bytes(head + line("a", None, ASK) + line("b", "a", CALL) + line("c", "b", RESULT))
    assert "as it is" in ctxkit("resume", path).err
    path.write_bytes(head + line("a", None, ASK) + line("b", "a", RESULT) + line("c", "b", ASK))
    before = path.read_bytes()
    ran = ctxkit("check", path)
    assert (ran.code, "hint: `ctxkit resume" in ran.err) == (1, True)
    ran = ctxkit("resume", path)
    assert ran.code == 0 and "1 result without a call: left out" in ran.err and "as it is" not in ran.err
    [made] = [one for one in folder.glob("*.jsonl") if one != path]
    assert ctxkit("check", made).code == 0 and path.read_bytes() == before


@pytest.mark.parametrize("whose", ["b", "c"])
def test_a_fork_of_codex_is_told(whose: str) -> None:
    """It begins with its own head and goes on with its parent's, a copy; any other second head is told, too."""
    metas = [{"id": "a", "cwd": "/x", "forked_from_id": "b"}, {"id": whose, "cwd": "/x"}]
    raw = b"".join(json.dumps({"type": "session_meta", "payload": one}).encode() + b"\n" for one in metas)
    log = Log.open(io.BytesIO(raw))
    [found] = log.check(notes=True)
    assert (found.code, found.where, log.check()) == ("other-session", "line 2", [])
    assert ("copied into a fork" in found.text) == (whose == "b")


def test_qwen_code_refuses_two_sessions() -> None:
    """So they are damage there (agents, Qwen Code 8)."""
    one = (FIXTURES / "truth-qwen-code/basic.jsonl").read_bytes()
    [session] = {json.loads(line)["sessionId"].encode() for line in one.splitlines()}
    assert [found.code for found in Log.open(io.BytesIO(one + one.replace(session, b"other"))).check()] == [
        "other-session"
    ]


@pytest.mark.parametrize(("case", "code"), [("pi-orphan", 1), ("codex-legacy-fork", 0)])
def test_cases(case: str, code: int) -> None:
    """Two sessions as people reported them: one that is refused, and a healthy fork, of which it is said."""
    folder = SHARED / "cases" / case
    if not folder.is_dir():
        pytest.skip("the reported cases are not at hand")
    [path] = folder.glob("*.jsonl")
    [found] = Log.open(path).check(notes=True)
    assert found.note == (code == 0) and ctxkit("check", path).code == code


def test_a_result_that_comes_too_late_is_kept() -> None:
    """In the session that is written it stands behind its call: its words are not lost."""
    chain = [line(str(k), str(k - 1) if k else None, message) for k, message in enumerate([ASK, CALL, ASK, RESULT])]
    written = Log.open(io.BytesIO(HEAD + b"".join(chain))).session("pi")
    log = Log.open(io.BytesIO(b"".join(written.pieces)))
    assert [log.content(n).role for n in log.listed()] == ["user", "assistant", "tool", "user"]
    assert log.text(log.listed()[2]) == "x" and written.repairs.dropped == 0
