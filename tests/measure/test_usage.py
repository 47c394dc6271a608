"""What providers counted is found, parted by compactions, and learnt from."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from ctxkit.api.log import Log
from ctxkit.measure.count import Counting
from ctxkit.measure.size import measure
from ctxkit.measure.usage import SENT_AGAIN, RecordedUsage
from tests.cli.runner import lines
from tests.formats.codex import logs as codex
from tests.measure.test_size import chat, of
from tests.shared import SHARED

FOLDERS = {"claude": "claude-code", "codex": "codex", "pi": "pi", "mini": "mini-swe-agent"}
COLUMNS = {"claude": ("context_in", "output_tokens_last"), "codex": ("last_input", "last_output"),
           "pi": ("context_in", "output"), "mini": ("prompt_tokens", "completion_tokens")}  # fmt: skip


def test_reasoning_leaves_with_its_exchange() -> None:
    """What a reply held of it is taken off once the user goes on, and only then."""

    def codex(n: int, reasoning: int, model: str = "") -> dict[str, Any]:
        found = {
            "input_tokens": n,
            "cached_input_tokens": 0,
            "output_tokens": 420,
            "reasoning_output_tokens": reasoning,
        }
        named = {"model": model} if model else {}
        return {"role": "assistant", "content": "It rains. " * 5, "usage": found} | named

    rows = [{"role": "user", "content": "weather?"}, codex(1000, 400)]
    over, going_on = of(lines(*rows))[0], of(lines(*rows, {"role": "user", "content": "and now?"}))[0]
    assert over.tokens == 1420 and 1020 < going_on.tokens < 1040
    again = of(lines(*rows, {"role": "user", "content": "and now?"}, codex(1025, 300)))[0]
    assert again.tokens == 1445
    for model, least in (("gpt-5.5", 1020), ("gpt-5.6", 1420)):  # which reads that of earlier turns, too
        going_on = of(lines(rows[0], codex(1000, 400, model), {"role": "user", "content": "and now?"}))[0]
        assert least < going_on.tokens < least + 20


def test_a_compaction_leaves_what_was_taught() -> None:
    """Nothing is counted since: overhead and factor of before it, and what the last one sent again, else what is
    typical. What is sent again stands in no row, so a resumed session has none of it.
    """

    def reply(size: int, text: str) -> dict[str, Any]:
        told = {
            "input_tokens": 1,
            "cache_read_input_tokens": size,
            "cache_creation_input_tokens": 0,
            "output_tokens": 9,
        }
        return {"role": "assistant", "id": f"m{size}", "model": "claude-opus-4-5", "stop_reason": "end_turn",
                "content": [{"type": "text", "text": text}], "usage": told}  # fmt: skip

    def session(*parts: tuple[str, Any]) -> bytes:
        rows: list[dict[str, Any]] = []
        for n, (kind, what) in enumerate(parts):
            row = {"type": kind, "uuid": f"u{n}", "parentUuid": rows[-1]["uuid"] if rows else None, "sessionId": "s",
                   "timestamp": f"2026-02-01T10:00:{n:02}Z", "isSidechain": False, "version": "2.1.7"}  # fmt: skip
            if kind == "system":
                row |= {"subtype": "compact_boundary", "logicalParentUuid": row["parentUuid"], "parentUuid": None,
                        "content": "Conversation compacted", "compactMetadata": {"trigger": "auto"}}  # fmt: skip
            elif kind == "user":
                row |= {"message": {"role": "user", "content": what}}
                row |= {"isCompactSummary": True} if what == "summary" else {}
            else:
                row["message"] = what
            rows.append(row)
        return lines(*rows)

    first = [("user", "hello"), ("assistant", reply(20_000, "hi")), ("system", ""), ("user", "summary")]
    found = of(session(*first))[0]
    typical = SENT_AGAIN["claude-code"].typical
    assert found.known is None and found.trust == "range" and 19_950 < found.tokens - typical < 20_050
    assert found.once == typical
    second = [*first, ("assistant", reply(25_000, "yes")), ("system", ""), ("user", "summary")]
    found = of(session(*second))[0]
    assert found.known is None and 24_950 < found.tokens < 25_050 and 19_950 < found.resumed < 20_050
    found = of(session(*second, ("assistant", reply(29_000, "no"))))[0]
    assert (found.tokens, found.trust, found.least) == (29_010, "exact", None) and 19_950 < found.resumed < 20_050


def test_few_replies_are_looked_at() -> None:
    """A long log without usage costs a few rows."""
    log = Log.open(io.BytesIO(chat(*[(1, 1)] * 5, *[None] * 200)), env={})
    looked: list[int] = []
    log.usage = lambda n: looked.append(n)  # type: ignore[method-assign]  # counts the calls
    assert RecordedUsage(Counting(log)).steps == [] and len(looked) == 8


@pytest.mark.parametrize(("gap", "found", "looks"), [(63, 2, 1 + 63 + 1 + 64), (64, 1, 1 + 64)])
def test_few_replies_are_looked_at_before_one_that_was_counted(gap: int, found: int, looks: int) -> None:
    """Where most have no usage, the few before a gap are not searched for."""
    log = Log.open(io.BytesIO(chat(*[None] * 200, (900, 9), *[None] * gap, (1300, 9))), env={})
    looked: list[int] = []
    real = log.usage
    log.usage = lambda n: looked.append(n) or real(n)  # type: ignore[method-assign,func-returns-value]  # counts the calls
    session = RecordedUsage(Counting(log))
    assert len(session.steps) == found and len(looked) == looks


REAL = sorted((SHARED / "transcripts/usage").glob("*.csv"))


@pytest.mark.skipif(not REAL, reason="the shared transcripts are not here")
@pytest.mark.parametrize("table", REAL, ids=lambda path: path.stem)
def test_real_usage(table: Path) -> None:
    """What is read of a real session is what its provider counted, call by call."""
    kind, _, stem = table.stem.partition("-")
    [path] = (SHARED / "transcripts" / FOLDERS[kind]).glob(f"{stem}*")
    log = Log.open(path)
    read = [found for message in log.messages if message.role == "assistant" and (found := log.usage(message.n))]
    request, reply = COLUMNS[kind]
    told = []
    with open(table, newline="") as file:
        for row in csv.DictReader(file):
            if row[request].isdigit() and int(row[request]) > 0:
                told.append((int(row[request]), int(row[reply])))
    missing = set(told) - {(found.request, found.reply) for found in read}
    assert len(missing) <= len(told) // 50, missing


def test_what_is_shortened_now_was_sent_whole(tmp_path: Path) -> None:
    """The steps of the past are told by the rows, whatever an op made of them since."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(chat(*[(1000 + 300 * n, 20) for n in range(6)]))
    before = RecordedUsage(Counting(Log.open(path))).steps
    stub = {"ctxkit": "trim", "v": 1, "id": "t", "at": {"messages": 12}, "ids": "", "stubs": {"3": "[cut]"}}
    with path.open("ab") as file:
        file.write(lines(stub))
    log = Log.open(path)
    assert RecordedUsage(Counting(log)).steps == before
    found = measure(Counting(log), log.names())
    assert found.known == 2520 and found.estimated < -100


def test_a_rewind_leaves_counts_standing() -> None:
    """What it took out came after them; a compaction took out what they counted."""

    def count(size: int) -> dict[str, Any]:
        found = {"input_tokens": size, "cached_input_tokens": 0, "output_tokens": 7, "reasoning_output_tokens": 0}
        return {"type": "event_msg", "payload": {"type": "token_count", "info": {"last_token_usage": found}}}

    words = ["meta", "user:q1", "say:a1", 9000, "user:q2", "say:a2", 9500, "rollback:1"]
    rows = [count(one) if isinstance(one, int) else codex.row(one) for one in words]
    found = of(lines(*rows))[0]
    assert (found.tokens, found.known, found.trust) == (9007, 9007, "exact")
    again = of(lines(*rows, codex.row("user:q3"), codex.row("say:a3"), count(9100)))[0]
    assert again.known == 9107
    assert of(lines(*rows[:-1], codex.row("compact user:q1,user:short")))[0].known is None


def test_a_sidechain_has_an_overhead_of_its_own() -> None:
    """Its first request tells it, not that of the main thread, which other tools and another prompt go with."""
    rows: list[dict[str, Any]] = []
    for n, (aside, size) in enumerate([(False, 15_000), (True, 1000), (True, 1200)]):
        for role in ("user", "assistant"):
            parent = None if role == "user" and (n < 2) else rows[-1]["uuid"]
            held: dict[str, Any] = {"role": role, "content": f"{role} {n} " * 20}
            if role == "assistant":
                usage = {"input_tokens": size, "output_tokens": 60}
                held |= {"id": f"m{n}", "model": "claude-opus-4-5", "content": [{"type": "text", "text": "so " * 50}],
                         "usage": usage, "stop_reason": "end_turn"}  # fmt: skip
            rows.append({"type": role, "uuid": f"{role}{n}", "parentUuid": parent, "isSidechain": aside,
                         "sessionId": "s", "timestamp": f"2026-02-01T10:0{n}:00Z", "message": held})  # fmt: skip
    log = Log.open(io.BytesIO(lines(*rows)), env={})
    assert 14_000 < (RecordedUsage(Counting(log)).overhead or 0) < 15_000
    [log.lens_thread] = log.state().threads
    session = RecordedUsage(Counting(log))
    assert 800 < (session.overhead or 0) < 1000
