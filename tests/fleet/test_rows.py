"""The rows of one log: bytes in, rows of the five tables out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ctxkit.api.log import Log
from ctxkit.errors import BadConfig
from ctxkit.fleet.rows import Rows, empty, rows, transcript_id, unread
from ctxkit.fleet.sources import listed
from ctxkit.fleet.tables import COLUMNS, TABLES
from ctxkit.measure.status import status
from tests.cli.runner import lines
from tests.compressed import pack
from tests.formats.codex import logs, pages
from tests.shared import SHARED

GUIDE = Path(__file__).resolve().parents[2] / "fixtures" / "guide"
SECRET = "sk-ant-" + "a1b2" * 8


def chat(*contents: str) -> bytes:
    """A chat of user messages."""
    lines = ({"role": "user", "content": one, "ts": f"2026-02-12T14:30:{k:02}Z"} for k, one in enumerate(contents))
    return b"".join(json.dumps(one).encode() + b"\n" for one in lines)


def of_file(path: Path) -> Rows:
    """The rows of a file, with its sidecar."""
    folder = path.with_name(f"{path.name}.ctxkit")
    files = ("ops.jsonl", "config.toml")
    beside = {name: (folder / name).read_bytes() for name in files if (folder / name).exists()}
    return rows(path.read_bytes(), str(path), sidecar=beside)


def test_chat() -> None:
    """One row per message, and one for the transcript."""
    found = rows(chat("hi", "there"), "/x/v1.2.traj.json")
    assert [row["text"] for row in found["messages"]] == ["hi", "there"]
    [row] = found["transcripts"]
    assert (row["source_id"], row["source_type"], row["message_count"], row["error"]) == ("v1.2", "chat", 2, None)
    assert (row["date"], row["total_time"], row["agent"]) == ("2026-02-12T14:30:00Z", 1.0, None)
    assert {one["transcript_id"] for some in found.values() for one in some} == {transcript_id("/x/v1.2.traj.json")}


def test_same_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the environment nor files of the working folder change a row."""
    data = (GUIDE / "session.jsonl").read_bytes()
    before = rows(data, "s3://b/session.jsonl")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ctxkit.toml").write_text('window = {default = "1h"}\n')
    monkeypatch.setenv("CTXKIT_WINDOW", "1h")
    assert rows(data, "s3://b/session.jsonl") == before


def test_ops_of_the_sidecar(tmp_path: Path) -> None:
    """A forget in the sidecar takes its messages out, and is a row of `ops`."""
    path = tmp_path / "session.jsonl"
    path.write_bytes((GUIDE / "session.jsonl").read_bytes())
    log = Log.open(path)
    log.forget([4, 5])
    found = of_file(path)
    out = {row["n"]: (row["out_kind"], row["out_by_op"]) for row in found["messages"] if not row["in_context"]}
    assert out.keys() >= {4, 5} and set(out.values()) == {("forget", 1)}
    [op] = found["ops"]
    assert (op["op"], op["kind"], op["before"], op["after"]) == (1, "forget", 20, 20 - len(out))


def test_a_compressed_log(tmp_path: Path) -> None:
    """The rows of ctxkit's own log after its ops, which are beside it once it is compressed; named as the plain one."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(chat("hi", "there", "more"))
    there = pack(path)
    Log.open(there).forget([2])
    [file] = listed([str(there)])
    held = file.read()
    found = rows(held.data, file.name, sidecar=held.sidecar)
    assert [row["out_by_op"] for row in found["messages"]] == [None, 1, None]
    assert found["transcripts"][0]["source_id"] == "chat"


def test_ops_in_the_log(tmp_path: Path) -> None:
    """A compact is a row of `ops` with its text, and its summary a row of `messages`."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes((GUIDE / "chat.jsonl").read_bytes())
    Log.open(path).compact([2, 3, 4, 5], summary="what was said", force=True)
    found = of_file(path)
    [summary] = [row for row in found["messages"] if row["item"]]
    assert (summary["kind"], summary["n"], summary["in_context"]) == ("summary", None, True)
    assert "what was said" in summary["text"]
    assert "what was said" in found["ops"][0]["text"]
    assert {row["out_kind"] for row in found["messages"] if not row["in_context"]} == {"compact"}


def files() -> list[Path]:
    """Logs of many formats."""
    some = sorted(GUIDE.glob("*.jsonl"))
    if SHARED is not None:
        some += sorted(path for path in SHARED.rglob("*.jsonl") if 0 < path.stat().st_size < 400_000)[::3]
    return some


@pytest.mark.parametrize("path", files(), ids=lambda path: path.name)
def test_as_status_says(path: Path, tmp_path: Path) -> None:
    """Messages in the context and tokens are those of `status`; each response that was counted is one request."""
    found = of_file(path)
    if found["transcripts"][0]["error"]:
        pytest.skip(found["transcripts"][0]["error"])
    if len(found["transcripts"]) > 1:
        pytest.skip("a file with many conversations")
    [row] = found["transcripts"]
    said = status(Log.open(path, env={}), assembly=False)
    assert sum(one["in_context"] for one in found["messages"]) == said.inside == row["ctxkit_in_context"]
    assert row["ctxkit_tokens"] == said.tokens.used
    assert len(found["messages"]) == said.total
    log = Log.open(path, env={})
    counted: dict[str | int, int] = {}  # what follows a result may have the id, and the usage, of the words before it
    for n in range(1, len(log.messages) + 1):
        if log.messages[n - 1].role == "assistant" and log.usage(n):
            bodies = [row["message"] for row in log.content(n).rows if isinstance(row.get("message"), dict)]
            counted.setdefault(next((body["id"] for body in bodies if body.get("id")), n), n)
    assert [one["n"] for one in found["requests"]] == [*counted.values()]


def test_a_bad_file() -> None:
    """It is one row that says why, and nothing else."""
    found = rows(b"\x7fELF\x00", "/bin/x")
    [row] = found["transcripts"]
    assert row["error"] and row["ctxkit_bytes"] == 5
    assert {table: len(some) for table, some in found.items() if some} == {"transcripts": 1}


def test_many_conversations() -> None:
    """Each is a transcript of its own, whose id begins as that of the file."""
    one = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]}
    data = json.dumps([one, one]).encode()
    found = rows(data, "/x.json")
    ids = [row["transcript_id"] for row in found["transcripts"]]
    assert ids == [transcript_id("/x.json", 1), transcript_id("/x.json", 2)]
    assert all(one.startswith(transcript_id("/x.json")) for one in ids)
    assert [row["ctxkit_conversation"] for row in found["transcripts"]] == [1, 2]
    assert len(found["messages"]) == 4


def test_redact() -> None:
    """A secret is in no cell of any table; without it the text is as it was."""
    data = chat(f"my key is {SECRET}")
    assert SECRET in json.dumps(rows(data, "/x.jsonl"))
    assert SECRET not in json.dumps(rows(data, "/x.jsonl", redact=True))


def test_redact_what_a_call_names() -> None:
    """Also in arguments of tools, in paths of files and in which part of them was read."""
    given = {"file_path": f"/tmp/{SECRET}/x.txt", "offset": 3, "pattern": SECRET}
    use = {"type": "tool_use", "id": "t1", "name": "Read", "input": given}
    message = {"role": "assistant", "content": [use]}
    data = chat("hi") + json.dumps(message).encode() + b"\n"
    assert SECRET in rows(data, "/x.jsonl")["files"][0]["path"]
    found = rows(data, "/x.jsonl", redact=True)
    assert len(found["files"]) == 1 and SECRET not in json.dumps(found)


def test_redact_the_words_of_a_command() -> None:
    """Each word of it alone is no secret, and in the text of a message arguments are no JSON any more."""
    word = "hunter2" + "x9Kq"
    for given in (
        {"command": ["curl", "-u", f"ada:{word}", "https://x.test"]},
        {"argv": ["mysql", f"-p{word}"]},
    ):
        call = {"id": "c1", "type": "function", "function": {"name": "sh", "arguments": json.dumps(given)}}
        message = {"role": "assistant", "content": "so:", "tool_calls": [call]}
        data = chat("hi") + json.dumps(message).encode() + b"\n"
        assert word in json.dumps(rows(data, "/x.jsonl"))
        assert word not in json.dumps(rows(data, "/x.jsonl", redact=True)), given


def test_redact_names() -> None:
    """Also in names of tools, ids of calls, models and names of people."""
    call = {"id": SECRET, "type": "function", "function": {"name": f"run_{SECRET}", "arguments": "{}"}}
    lines = [
        {"role": "user", "content": "hi", "name": SECRET},
        {"role": "assistant", "content": "", "model": SECRET, "tool_calls": [call], "usage": {"prompt_tokens": 5}},
        {"role": "tool", "tool_call_id": SECRET, "content": "done"},
    ]
    data = b"".join(json.dumps(one).encode() + b"\n" for one in lines)
    before, after = rows(data, "/x.jsonl"), rows(data, "/x.jsonl", redact=True)
    assert before["messages"][1]["call_id"] == SECRET and before["transcripts"][0]["model"] == SECRET
    assert SECRET not in json.dumps(after)
    assert after["messages"][1]["call_id"] == after["messages"][2]["call_id"] != ""


def test_half_a_character() -> None:
    """It becomes U+FFFD in every table, because UTF-8 has none."""
    found = rows(b'{"role":"user","content":"a \\ud83d b"}\n', "/x.jsonl", scout=True)
    assert found["messages"][0]["text"] == "a � b"
    json.loads(found["scout"][0]["messages"].encode())


def test_config() -> None:
    """A setting counts, a bad one is refused, and the sidecar's counts below it."""
    old = b'{"role":"user","content":"old","ts":"2026-01-01T00:00:00Z"}\n'
    window = b'window = {default = "1h"}\n'
    assert [row["in_context"] for row in rows(old + chat("new"), "/x")["messages"]] == [True, True]
    found = rows(old + chat("new"), "/x", sidecar={"config.toml": window})
    assert [row["out_kind"] for row in found["messages"]] == ["window", None]
    found = rows(old + chat("new"), "/x", sidecar={"config.toml": window}, config={"window.default": "off"})
    assert [row["in_context"] for row in found["messages"]] == [True, True]
    with pytest.raises(BadConfig):
        rows(b"", "/x", config={"no such": 1})


def test_requests() -> None:
    """What a provider counted: the cached part is among the request's tokens."""
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 70, "cache_creation_input_tokens": 20}
    reply = {"role": "assistant", "content": "ho", "model": "claude-x", "usage": usage, "cost": 0.25}
    [row] = rows(chat("hi") + json.dumps(reply).encode() + b"\n", "/x.jsonl")["requests"]
    assert (row["n"], row["model"], row["input"], row["cached"], row["cache_write"]) == (2, "claude-x", 100, 70, 20)
    assert (row["output"], row["cost"]) == (5, 0.25)


def test_files() -> None:
    """Each touch is a row; the last state of a file is that of the newest change."""
    found = rows((GUIDE / "session.jsonl").read_bytes(), "/session.jsonl")["files"]
    assert {row["touched"] for row in found} <= {"read", "edited", "written", "created", "deleted"}
    for path in {row["path"] for row in found}:
        some = [row for row in found if row["path"] == path]
        assert [row["last"] for row in some] == [False] * (len(some) - 1) + [True]
        changed = [row["touched"] for row in some if row["touched"] != "read"]
        assert {row["state"] for row in some} == {changed[-1] if changed else "read"}


def test_empty() -> None:
    """Every table, without rows; a source that was not read at all has its name and the reason."""
    assert empty() == {table: [] for table in TABLES}
    assert empty(scout=True).keys() == COLUMNS.keys()
    [row] = unread("s3://b/x", "no network")["transcripts"]
    assert (row["source_uri"], row["error"], row["ctxkit_sha256"]) == ("s3://b/x", "no network", None)


def test_a_repeated_answer_is_one_request() -> None:
    """A resumed session of Claude Code repeats answers in new rows: their requests were paid once."""

    def line(k: int, kind: str, message: dict[str, object]) -> bytes:
        row = {
            "type": kind,
            "uuid": f"u{k}",
            "parentUuid": f"u{k - 1}" if k else None,
            "sessionId": "s",
            "message": message,
        }
        answer = {"requestId": f"req_{k % 4}"} if kind == "assistant" else {}
        return json.dumps(row | answer | {"timestamp": f"2026-02-12T14:30:{k:02}Z"}).encode() + b"\n"

    def answer(k: int, output: int) -> bytes:
        counted = {"input_tokens": 7, "cache_read_input_tokens": 3, "output_tokens": output}
        content = [{"type": "text", "text": "yes"}]
        return line(k, "assistant", {"role": "assistant", "id": f"msg_{k % 4}", "content": content, "usage": counted})

    asked = {"role": "user", "content": "hi"}
    data = line(0, "user", asked) + answer(1, 2) + line(2, "user", asked) + answer(3, 9) + line(4, "user", asked)
    found = rows(data + answer(5, 20) + line(6, "user", asked) + answer(7, 9), "/x.jsonl")
    assert [(one["n"], one["input"], one["output"]) for one in found["requests"]] == [(2, 10, 20), (4, 10, 9)]
    assert found["transcripts"][0]["total_tokens"] == 49


def test_a_count_that_codex_tells_again() -> None:
    """After an interrupted request Codex tells the count of the one before once more: it is no other request."""

    def line(kind: str, payload: dict[str, object]) -> bytes:
        return json.dumps({"timestamp": "2026-02-12T14:30:00Z", "type": kind, "payload": payload}).encode() + b"\n"

    def count(before: int, request: int) -> bytes:
        last = {"input_tokens": request, "cached_input_tokens": 2, "output_tokens": 5, "total_tokens": request + 5}
        total = last | {"total_tokens": before + request + 5, "input_tokens": before + request}
        return line(
            "event_msg", {"type": "token_count", "info": {"last_token_usage": last, "total_token_usage": total}}
        )

    def said(role: str, text: str) -> bytes:
        kind = "output_text" if role == "assistant" else "input_text"
        return line("response_item", {"type": "message", "role": role, "content": [{"type": kind, "text": text}]})

    begin = line("session_meta", {"id": "s", "timestamp": "2026-02-12T14:30:00Z", "cwd": "/x"}) + said("user", "hi")
    told = said("assistant", "a") + count(0, 100) + said("user", "b") + said("assistant", "c") + count(0, 100)
    found = rows(begin + told + said("user", "d") + said("assistant", "e") + count(105, 120), "/x.jsonl")
    assert [(one["input"], one["output"]) for one in found["requests"]] == [(100, 5), (120, 5)]


def test_a_response_beside_the_reply() -> None:
    """mini-swe-agent keeps the provider's response and the cost in `extra`."""
    counted = {"prompt_tokens": 50, "completion_tokens": 4, "total_tokens": 54}
    extra = {"response": {"model": "deepseek-chat", "usage": counted}, "cost": 0.25}
    reply = {"role": "assistant", "content": "yes", "extra": extra}
    run = {"info": {}, "messages": [{"role": "user", "content": "hi"}, reply], "trajectory_format": "mini-swe-agent-1"}
    found = rows(json.dumps(run).encode(), "/x.traj.json")
    assert [(one["model"], one["input"], one["cost"]) for one in found["requests"]] == [("deepseek-chat", 50, 0.25)]
    assert found["transcripts"][0]["model"] == "deepseek-chat"


def test_a_fork_asks_no_request_again(tmp_path: Path) -> None:
    """What a log inherited are its messages, and requests of the log that made them."""

    def counted(tokens: int) -> dict[str, object]:
        last = {"input_tokens": tokens, "output_tokens": 5, "total_tokens": tokens + 5}
        return {"type": "event_msg", "payload": {"type": "token_count", "info": {"last_token_usage": last}}}

    said = [json.loads(line) for line in logs.raw("user:a | say:b | user:c | say:d").splitlines()]
    path = pages.write(tmp_path, [*said[:2], counted(100), *said[2:], counted(120)], [3])
    found = rows(path.read_bytes(), str(path))
    assert [row["n"] for row in found["messages"]] == [1, 2, 3, 4]
    assert [(row["n"], row["input"]) for row in found["requests"]] == [(4, 120)]


def _claude(session: str, replies: Sequence[tuple[str, bool]]) -> bytes:
    found, before = list[dict[str, Any]](), None
    for n, (name, copied) in enumerate(replies):
        used = {"input_tokens": 1000, "output_tokens": 10}
        said = {"id": name, "role": "assistant", "model": "claude-opus-4-6", "usage": used,
                "content": [{"type": "text", "text": name}]}  # fmt: skip
        row = {"type": "assistant", "uuid": f"u{n}", "parentUuid": before, "sessionId": session, "message": said,
               "timestamp": f"2026-10-02T09:00:0{n}.000Z"}  # fmt: skip
        found.append(row | ({"forkedFrom": {"sessionId": "parent", "messageUuid": f"u{n}"}} if copied else {}))
        before = f"u{n}"
    return lines(*found)


def _pi(session: str, replies: Sequence[tuple[str, bool]]) -> bytes:
    copied = sum(copy for _, copy in replies)
    head = {"type": "session", "version": 3, "id": session, "timestamp": f"2026-10-02T09:00:0{copied}.500Z", "cwd": "/"}
    found = [head | {"parentSession": "/parent.jsonl"} if copied else head]
    for n, (name, _) in enumerate(replies, start=1):
        used = {"input": 1000, "output": 10, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 1010}
        said = {"role": "assistant", "content": [{"type": "text", "text": name}], "model": "m", "usage": used}
        found.append({"type": "message", "id": f"e{n}", "parentId": f"e{n - 1}" if n > 1 else None, "message": said,
                      "timestamp": f"2026-10-02T09:00:0{n}.000Z"})  # fmt: skip
    return lines(*found)


@pytest.mark.parametrize("made", [_claude, _pi])
def test_copied_history_is_in_one_total(made: Callable[[str, Sequence[tuple[str, bool]]], bytes]) -> None:
    """The totals of a session and its fork add up to what was asked for, as the ready questions count it."""
    parent = rows(made("parent", [("m1", False), ("m2", False)]), "/parent.jsonl")
    fork = rows(made("fork", [("m1", True), ("m2", True), ("m3", False)]), "/fork.jsonl")
    assert [one["transcripts"][0]["total_tokens"] for one in (parent, fork)] == [2020, 1010]
    assert len(fork["requests"]) == 3
    assert rows(made("fork", [("m1", True)]), "/f.jsonl")["transcripts"][0]["total_tokens"] == 0
