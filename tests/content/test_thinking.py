"""Thinking and signatures: byte for byte as the model wrote them, or not at all; whole thoughts, and no two joined."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log, build_final_prompt
from ctxkit.content.thinking import FirstChange, first_change, unsent
from ctxkit.core.messages import Thinking
from ctxkit.core.text.json_text import dumps
from ctxkit.edit.draft import draft
from ctxkit.edit.parse import parse
from ctxkit.export.request import repair_notes
from ctxkit.formats.chat_parts import REASONING_KEYS
from ctxkit.measure.count import Counting
from ctxkit.measure.size import Measuring
from ctxkit.tokens.reasoning import rule
from tests.bound import MODELS, cases, sessions
from tests.cli.runner import ctxkit, good
from tests.formats.codex.logs import raw as history
from tests.lawful import ROOT, opened
from tests.shared import SHARED, shared
from tests.validators import item_prefixes
from tests.validators.prefixes import broken_in_body, broken_in_session, made, renamed, thoughts_of_body
from tests.validators.thoughts import calls_signed, signed_calls, thoughts, thoughts_of_log

REAL = sorted((SHARED / "transcripts/claude-code").glob("*.jsonl"))
SESSION = ROOT / "fixtures/guide/session.jsonl"


def sent(log: Log) -> list[tuple[str, ...]]:
    """The thoughts that go to Anthropic."""
    return thoughts(json.loads(dumps(next(iter(log.export("anthropic").values)))))


def kept_after_forgetting(path: Path) -> None:
    """Every thought of what stays is sent as before, after a message in the middle was forgotten."""
    log = opened(path.read_bytes())
    before = sent(log)
    assert set(before) <= thoughts_of_log(path.read_bytes())
    spoken = [entry.name for entry in log.entries() if entry.role == "assistant"]
    names = log.names()
    log.forget(str(spoken[len(spoken) // 2]))
    gone = set(names) - set(log.names())
    raws = [part.raw for n in gone for part in log.content(int(n)).parts if isinstance(part, Thinking)]
    known = {raw.get("signature", raw.get("data")) for raw in raws}
    left = [run for run in before if not any(one in known for block in run for one in json.loads(block).values())]
    assert gone and sent(log) == left


def test_thoughts_stay_when_others_are_forgotten() -> None:
    """On our own small session."""
    kept_after_forgetting(SESSION)


@pytest.mark.parametrize("name", [path.name for path in REAL if path.stat().st_size < 3_000_000] or ["(none)"])
def test_thoughts_of_real_sessions_stay(name: str) -> None:
    """In every real session of up to 3 MB."""
    kept_after_forgetting(shared("transcripts/claude-code") / name)


def record(*blocks: dict[str, Any], role: str = "assistant") -> dict[str, Any]:
    return {"role": role, "content": list(blocks)}


def thought(words: str, signature: str) -> dict[str, Any]:
    return {"type": "thinking", "thinking": words, "signature": signature}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def test_what_was_between_two_answers_is_forgotten() -> None:
    """The answers become one message; their thoughts stay two, each with its words."""
    rows = [
        record(text("a"), role="user"), record(thought("one", "S1"), text("first")), record(text("b"), role="user"),
        record(thought("two", "S2"), text("second")),
    ]  # fmt: skip
    log = opened(b"".join(dumps(row).encode() + b"\n" for row in rows))
    log.forget("3")
    body = next(iter(log.export("anthropic").values))
    assert [block["type"] for block in body["messages"][1]["content"]] == ["thinking", "text", "thinking", "text"]
    assert len(thoughts(body)) == 2


def test_thoughts_that_would_meet() -> None:
    """A thought that nothing was said after does not become part of the next one: it is left out, counted."""
    rows = [record(text("a"), role="user"), record(thought("one", "S1")), record(thought("two", "S2"), text("second"))]
    log = opened(b"".join(dumps(row).encode() + b"\n" for row in rows))
    exported = log.export("anthropic")
    assert thoughts(next(iter(exported.values))) == [(dumps(thought("two", "S2")),)]
    assert exported.repairs.left_out == {"thinking without words after it": 1}


def test_a_thought_that_was_stubbed_is_gone() -> None:
    """A message that an op shortened has no thinking any more, rather than a part of it."""
    rows = [record(text("a"), role="user"), record(thought("one", "S1"), text("first"))]
    op = {"ctxkit": "trim", "v": 1, "id": "t1", "at": {"messages": 2, "rows": 2}, "ids": "", "stubs": {"2": "[cut]"}}
    log = opened(b"".join(dumps(row).encode() + b"\n" for row in [*rows, op]))
    log.force = True
    body = next(iter(log.export("anthropic").values))
    assert body["messages"][1]["content"] == [text("[cut]")]


def test_signatures_of_calls() -> None:
    """What Gemini wrote on a call goes back on it; and the check sees one that moved."""
    call = {"id": "A", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    signed = call | {"id": "B", "extra_content": {"google": {"thought_signature": "QUJD"}}}
    rows = [record(text("a"), role="user"), {"role": "assistant", "content": "", "tool_calls": [call, signed]}]
    raw = b"".join(dumps(row).encode() + b"\n" for row in rows)
    body = next(iter(opened(raw).export("gemini", model="gemini-2.5-pro").values))
    assert calls_signed(body) == {("B", "QUJD")} == signed_calls(raw)


def talk(model: str = "claude-opus-5-5", exchanges: int = 4) -> bytes:
    """A small session of Claude Code: of each exchange a prompt, thinking, words, a call, its result, an answer."""
    rows: list[dict[str, Any]] = []

    def add(kind: str, content: Any, response: str = "") -> None:
        message: dict[str, Any] = {"role": kind, "content": content}
        if kind == "assistant":
            message |= {"id": response, "type": "message", "model": model}
        rows.append({
            "type": kind, "uuid": f"{len(rows):08d}-0000-4000-8000-000000000000", "sessionId": "s", "version": "2",
            "parentUuid": rows[-1]["uuid"] if rows else None, "timestamp": f"2026-10-01T10:{len(rows):02d}:00.000Z",
            "isSidechain": False, "cwd": "/x", "message": message,
        })  # fmt: skip

    for k in range(exchanges):
        add("user", f"question {k}")
        add("assistant", [thought(f"I look {k}", f"A{k}")], f"msg_a{k}")
        add("assistant", [text(f"let me look {k}")], f"msg_a{k}")
        add("assistant", [{"type": "tool_use", "id": f"t{k}", "name": "Read", "input": {"n": k}}], f"msg_a{k}")
        add("user", [{"type": "tool_result", "tool_use_id": f"t{k}", "content": f"found {k}"}])
        add("assistant", [thought("", f"B{k}")], f"msg_b{k}")
        add("assistant", [text(f"answer {k}")], f"msg_b{k}")
    return b"".join(dumps(row).encode() + b"\n" for row in rows)


def body_of(log: Log, **asked: Any) -> tuple[dict[str, Any], dict[str, int]]:
    """A request to Anthropic, and what is said of its thinking."""
    exported = log.export("anthropic", **asked)
    return next(iter(exported.values)), exported.repairs.thinking


def test_forget_in_the_middle() -> None:
    """The request has no thinking; asked for it, none behind the change; the session has none from there on."""
    raw = talk()
    log = opened(raw)
    log.forget("9-12")
    body, said = body_of(log)
    assert thoughts_of_body(body) == []
    assert said == {"left out: the request does not have the system prompt and tools that they were made with": 6}
    body, said = body_of(log, keep_thinking=True)
    assert thoughts_of_body(body) == ["A0", "B0", "A1", "B1"]
    assert said == {"left out: message 9 changed": 2} and broken_in_body(body, raw) == []
    written = log.session("claude-code")
    session = b"".join(written.pieces)
    assert broken_in_session(session, made(raw)) == ([], 4) and b'"A3"' not in session
    assert written.repairs.thinking == {"left out: message 9 changed": 2}
    left = unsent(log)
    assert left is not None and (left.count, left.why) == ({14: 1, 16: 1}, "message 9 changed")


def test_an_older_model_keeps_its_thinking() -> None:
    """As ever: what stays is sent, be it behind a change."""
    log = opened(talk("claude-opus-4-6"))
    log.forget("9-12")
    body, said = body_of(log)
    assert len(thoughts_of_body(body)) == 6 and not said and unsent(log) is None
    assert not log.session("claude-code").repairs.thinking


@pytest.mark.parametrize("model", MODELS)
def test_an_unchanged_session_is_the_log(model: str) -> None:
    """Its bytes stay, thinking and all; a request to no avail has none, unless asked."""
    raw = talk(model)
    log = opened(raw)
    log.protect("1")
    assert first_change(log) is None
    written = log.session("claude-code", keep_id=True)
    assert b"".join(written.pieces) == raw and not written.repairs.thinking
    assert len(thoughts_of_body(body_of(log, keep_thinking=True)[0])) == 8
    assert not thoughts_of_body(body_of(log)[0])


def test_to_another_program() -> None:
    """Another program sends another system prompt: no thinking goes along."""
    written = opened(talk()).session("pi")
    assert b"thinkingSignature" not in b"".join(written.pieces)
    assert written.repairs.thinking == {"left out: another program sends a different system prompt and tools": 8}
    assert b'"A3"' in b"".join(opened(talk("claude-opus-4-6")).session("pi").pieces)


def test_to_another_model() -> None:
    """A model that cannot read the thinking: it is said that it does not count."""
    rows = [record(text("a"), role="user"), record(thought("one", "S1"), text("first"))]
    log = opened(b"".join(dumps(row).encode() + b"\n" for row in rows))
    log.config.set_flags({"model": "claude-opus-5-5"})
    log.transcript.model = "claude-opus-5-5"
    _, said = body_of(log, model="claude-sonnet-4-6")
    assert said == {"will not count: claude-sonnet-4-6 is not known to read them": 1}
    assert not body_of(log, model="claude-opus-5-5", keep_thinking=True)[1]


def test_what_is_put_around_is_a_change(tmp_path: Path) -> None:
    """A system prompt of the config was not what the session's program sent."""
    (tmp_path / "s.md").write_text("Be brief.", encoding="utf-8")
    log = opened(talk())
    log.config.set_flags({"assembly.system": str(tmp_path / "s.md")})
    body, said = body_of(log, keep_thinking=True)
    assert body["system"] and thoughts_of_body(body) == []
    assert said == {"left out: what is put around the messages was not there": 8}
    assert len(thoughts_of_body(body_of(log, keep_thinking=True, assembly=False)[0])) == 8


def test_a_copied_history_that_is_written_anew() -> None:
    """Its chain makes each call once: thinking behind the copy is bound to another prefix, wherever the change is."""
    rows = [json.loads(line) for line in talk().splitlines()]
    call = {"type": "tool_use", "id": "c1", "name": "Read", "input": {"path": "a"}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "a text"}
    copies = [
        {**rows[1], "uuid": f"s{n}", "message": {**rows[1]["message"], "id": f"r{n}", "content": [call]}}
        for n in range(2)
    ] + [{**rows[0], "uuid": f"t{n}", "message": {"role": "user", "content": [result]}} for n in range(2)]
    rows[1:1] = copies
    for above, row in pairwise(rows):
        row["parentUuid"] = above["uuid"]
    raw = b"".join(dumps(row).encode() + b"\n" for row in rows)
    log = opened(raw)
    found = parse(log.draft())
    assert found.base is not None
    log.edit(draft("x", found.base, [*found.blocks[:-2], found.blocks[-1], found.blocks[-2]]))
    written = log.session("claude-code")
    session = b"".join(written.pieces)
    assert broken_in_session(session, made(raw)) == ([], 0)
    assert "makes a call again" in next(iter(written.repairs.thinking))


def test_windows_and_filters_are_changes() -> None:
    """What hides the beginning changes what all the rest stands behind."""
    log = opened(talk())
    log.config.set_flags({"window.messages": "6"})
    change = first_change(log)
    assert change == FirstChange(0, "message 1 changed")
    assert not thoughts_of_body(body_of(log, keep_thinking=True)[0])


def test_a_message_of_nothing_but_thinking_goes_whole() -> None:
    """Its rows leave with it, and who hung on them hangs on what stands above."""
    raw = talk()
    rows = raw.splitlines(keepends=True)
    raw = b"".join(rows[:-1])  # the last answer was thought, and never said
    log = opened(raw)
    log.forget("1")
    session = b"".join(log.session("claude-code").pieces)
    assert broken_in_session(session, made(raw)) == ([], 0) and b"thinking" not in session


def test_a_compaction_that_kept_messages() -> None:
    """What the program kept stands behind a summary that it was not made behind: a changed session goes without it."""
    path = ROOT / "fixtures/proofs-claude-code/compact.jsonl"
    log = opened(renamed(path.read_bytes(), "claude-opus-5-5"))
    moved = [cut for cut in log.transcript.view.cuts if cut.moved] if log.transcript.view is not None else []
    assert moved and first_change(log) is not None


def test_the_prompt_of_a_program() -> None:
    """`build_final_prompt` gives the same as `export`."""
    log = opened(talk())
    log.forget("9-12")
    kept = build_final_prompt(log, to="anthropic", keep_thinking=True)
    assert thoughts_of_body(kept.body) == ["A0", "B0", "A1", "B1"]
    assert "2 thinking blocks left out: message 9 changed" in kept.notes
    assert thoughts_of_body(build_final_prompt(log, to="anthropic").body) == []


def test_it_is_said(tmp_path: Path) -> None:
    """On stderr, in `why`, and in `status`; as JSON too."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(talk())
    good("forget", path, "9-12")
    assert "2 thinking blocks left out: message 9 changed\n" in good("export", path, "--to", "claude-code").err
    assert b"left out: message 9 changed" in good("why", path, "14").out
    assert b"left out" not in good("why", path, "2").out
    assert b"2 blocks are not sent" in good("status", path).out
    assert good("status", path, "--json").values[0]["thinking"] == {"blocks": 2, "why": "message 9 changed"}
    [why] = good("why", path, "14", "--json").values
    assert why["thinking"] == "1 thinking block left out: message 9 changed"
    assert ctxkit("export", path, "--to", "pi", "--keep-thinking").code == 2


@pytest.mark.parametrize("name", [path.name for path in sessions(under=600_000)] or ["(none)"])
def test_no_bound_thinking_behind_a_change(name: str) -> None:
    """The law, on real sessions under any ops, all ways out (`just thinking`: all of them, more ops)."""
    path = next(
        p for p in (shared(f"transcripts/{kind}") / name for kind in ("claude-code", "pi", "codex")) if p.exists()
    )
    found = list(cases(path, 4))
    assert found and [case for case in found if case.broken] == []


@pytest.mark.parametrize("name", ["35-entire-cjk.jsonl", "37-agentv-small.jsonl"])
def test_status_counts_what_its_program_sends(name: str) -> None:
    """Without what is left out: the figure is that of the session which it goes on with."""
    data = (shared("transcripts/claude-code") / name).read_bytes()
    log, older = opened(renamed(data, MODELS[0])), opened(renamed(data, "claude-opus-5"))
    for one in (log, older):
        one.forget(str([entry.name for entry in one.entries() if entry.role == "assistant"][1]))
    told, written = log.status(), opened(b"".join(log.session("claude-code").pieces)).status()
    used, exported, full = (one.tokens.used or 0 for one in (told, written, older.status()))
    assert told.thinking is not None and written.thinking is None
    assert abs(used - exported) <= 1 and used < full


ROLLOUT = (
    "meta | user:q1 | think:A | say:a1 | call:c1 | out:c1 | think:B | say:a2 | user:q2 | think:C | call:c2 | out:c2 | "
    "think:D | say:a3"
)


def rollout(model: str, words: str = ROLLOUT) -> bytes:
    """A small session of Codex, of a model."""
    return history(f"model:{model} | {words}")


def reasoning(items: list[dict[str, Any]]) -> list[str]:
    """What reasoning items were encrypted to, in order."""
    return [item["encrypted_content"] for item in items if item["type"] == "reasoning"]


def items_of(log: Log, **asked: Any) -> tuple[list[str], dict[str, int]]:
    """The reasoning of a request to Responses, and what is said of it."""
    exported = log.export("responses", **asked)
    return reasoning(next(iter(exported.values))["input"]), exported.repairs.thinking


def test_reasoning_behind_a_change_at_openai() -> None:
    """From GPT-6.2 on the provider drops it unseen: it goes out nowhere, and is counted nowhere."""
    raw = rollout("gpt-6.2-sol")
    log = opened(raw)
    assert items_of(log) == (["A", "B", "C", "D"], {}) and unsent(log) is None
    log.forget("3")  # the output goes with it, and so does the call
    assert items_of(log) == ([], {"left out: message 2 changed": 3})
    assert items_of(log, keep_thinking=True)[0] == []
    written = log.session("codex")
    session = b"".join(written.pieces)
    assert reasoning(item_prefixes.last(session)) == []
    assert written.repairs.thinking == {"left out: message 2 changed": 3}
    left = unsent(log)
    assert left is not None and left.blocks == 3 and first_change(opened(session)) is None
    log = opened(raw)
    log.forget("5")
    assert items_of(log) == (["A", "B"], {"left out: message 5 changed": 2})
    session = b"".join(log.session("codex").pieces)
    assert reasoning(item_prefixes.last(session)) == ["A", "B"] and session.count(b'"call_id": "c2"') == 2
    moved = b"".join(log.session("pi").pieces)
    assert b'"A"' not in moved


def test_reasoning_of_older_models_of_openai() -> None:
    """Nothing is bound; before GPT-5.6 that of earlier turns goes out, and it is said that it does not count."""
    for model, said in (
        ("gpt-6.1", {}),
        ("gpt-5.5", {"of earlier turns will not count: gpt-5.5 does not read them": 2}),
    ):
        log = opened(rollout(model))
        log.forget("5")
        assert items_of(log)[0] == ["A", "B", "C", "D"] and unsent(log) is None
        assert items_of(opened(rollout(model))) == (["A", "B", "C", "D"], said)
        assert not log.session("codex").repairs.thinking


def test_what_came_after_a_compaction_of_codex_stays() -> None:
    """It was made behind the compacted history; of what stood before nothing is kept but words of the user."""
    log = opened(rollout("gpt-6.2-sol", f"{ROLLOUT} | compact user:q1,user:sum | user:q3 | think:E | say:a4"))
    assert first_change(log) is None and items_of(log) == (["E"], {})


def test_a_call_that_codex_answers_itself() -> None:
    """In other words than ctxkit: what was thought behind it is not sent in a request."""
    log = opened(rollout("gpt-6.2-sol", "meta | user:q | think:A | call:c | user:r | think:B | say:b"))
    assert items_of(log) == (["A"], {"left out: message 2 has a call without a result": 1})


UNSENT: dict[str, tuple[str, dict[str, str], str, str]] = {
    # what changed: (the session, config, ops, why the thinking does not count)
    "nothing": (ROLLOUT, {}, "", ""),
    "a message": (ROLLOUT, {}, "3", "message 2 changed"),
    "a text around": (ROLLOUT, {"assembly.system": "a.md"}, "", "what is put around the messages was not there"),
    "a status": (ROLLOUT, {"assembly.status": "a.md"}, "", "what is put around the messages was not there"),
    "a missing result": (
        "meta | user:q | think:A | call:c | user:r | think:B | say:b", {}, "", "message 2 has a call without a result",
    ),
    "the model": (ROLLOUT, {"model": "gpt-5.5"}, "", "gpt-5.5 is not known to read them"),
    "the model, to a later one": (ROLLOUT, {"model": "gpt-7"}, "", "gpt-7 is not known to read them"),
    "the model's name": (ROLLOUT, {"model": "openai/gpt-6.2-sol"}, "", ""),
}  # fmt: skip


@pytest.mark.parametrize(("words", "config", "ops", "why"), UNSENT.values(), ids=UNSENT.keys())
def test_status_and_why_know_what_export_sends(
    words: str, config: dict[str, str], ops: str, why: str, tmp_path: Path
) -> None:
    """Blocks that a request leaves out, or that its model does not read, are told by both, and are not counted."""
    path = tmp_path / "s.jsonl"
    (tmp_path / "a.md").write_text("Be brief.")
    path.write_bytes(rollout("gpt-6.2-sol", words))
    log = Log.open(path, env={})
    log.config.set_flags({key: str(tmp_path / value) if key != "model" else value for key, value in config.items()})
    if ops:
        log.forget(ops)
    exported = log.export("responses", model=config.get("model", ""))
    reported, found = sum(exported.repairs.thinking.values()), log.status()
    assert (0 if found.thinking is None else found.thinking.blocks) == reported
    assert ("" if found.thinking is None else found.thinking.why) == why and bool(reported) == bool(why)
    measuring = Measuring(Counting(log))
    whole, used = sum(measuring.each(log.listed())), measuring.of(log.listed()).tokens
    assert (used < round(whole)) == bool(why)


CHAT = [
    {"role": "user", "content": "q"},
    {"role": "assistant", "content": "", "reasoning_content": "think", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "t", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "a"},
    {"role": "assistant", "content": "done", "reasoning_content": "more"},
    {"role": "user", "content": "next"},
]  # fmt: skip
ROUTED = [
    {"role": "user", "content": "q"},
    {"role": "assistant", "content": "a", "reasoning": "think", "reasoning_details": [{"type": "reasoning.encrypted"}]},
    {"role": "user", "content": "next"},
]
TEXTS = [{"reasoning_content": "think"}, {"reasoning_content": "more"}]
DETAILS = {"reasoning_details": ROUTED[1]["reasoning_details"]}
SENT: dict[str, tuple[list[dict[str, Any]], str, bool, list[dict[str, Any]], str]] = {
    # what it is: (log, model, --keep-thinking, fields of the assistant's messages, what is said)
    "demanded": (CHAT, "deepseek/deepseek-v4-pro", False, TEXTS, ""),
    "demanded by another": (CHAT, "kimi-k2.6", False, TEXTS, ""),
    "wanted": (CHAT, "glm-4.7", False, TEXTS, ""),
    "taken": (CHAT, "qwen3-max", False, [{}, {}], "not sent: 2 × thinking (--keep-thinking keeps it)"),
    "taken, asked for": (CHAT, "qwen3-max", True, TEXTS, ""),
    "no field": (CHAT, "gpt-5.5", True, [{}, {}], "not sent: 2 × thinking"),
    "refused of old": (CHAT, "deepseek-r1", True, [{}, {}], "not sent: 2 × thinking"),
    "unknown": (CHAT, "llama-4", False, TEXTS, "2 thinking blocks sent as the log has it: nothing is known of llama-4"),
    "no model": (CHAT, "", False, TEXTS, "2 thinking blocks sent as the log has it: the request names no model"),
    "a gateway": (ROUTED, "anthropic/claude-opus-4.6", False, [{"reasoning": "think"} | DETAILS], ""),
    "the maker itself": (ROUTED, "gpt-5.5", False, [{}], "not sent: 1 × thinking"),
    "under another key": (ROUTED, "deepseek-v4-pro", False, [{"reasoning_content": "think"}], ""),
    "blocks": (ROUTED, "MiniMax-M2", False, [DETAILS], ""),
    "a gateway's bound thinking": (
        ROUTED, "anthropic/claude-opus-5.5", False, [{}],
        "1 thinking block left out: the request does not have the system prompt and tools that they were made with",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("rows", "model", "keep", "fields", "said"), SENT.values(), ids=SENT.keys())
def test_what_a_chat_completion_has(
    rows: list[dict[str, Any]], model: str, keep: bool, fields: list[dict[str, Any]], said: str
) -> None:
    """By the model's rule: what is demanded or wanted goes along as the log has it, the rest is told."""
    log = opened(b"".join(dumps(row).encode() + b"\n" for row in rows))
    exported = log.export("openai", model=model, keep_thinking=keep)
    spoken = [message for message in next(iter(exported.values))["messages"] if message["role"] == "assistant"]
    assert [{key: one[key] for key in REASONING_KEYS if key in one} for one in spoken] == fields
    assert ", ".join(repair_notes(exported.repairs)) == said


def test_a_call_without_thinking() -> None:
    """A provider that demands it gets an empty one beside a call, and nowhere else."""
    bare = [{key: value for key, value in row.items() if key != "reasoning_content"} for row in CHAT]
    log = opened(b"".join(dumps(row).encode() + b"\n" for row in bare))
    exported = log.export("openai", model="kimi-k3")
    messages = next(iter(exported.values))["messages"]
    assert [message.get("reasoning_content") for message in messages] == [None, "", None, None, None]
    assert list(repair_notes(exported.repairs)) == ["added: 1 × empty reasoning_content beside calls"]


def test_other_providers_of_anthropics_form() -> None:
    """DeepSeek and Kimi demand thinking there, too, and take it unsigned; Anthropic refuses it."""
    log = opened(b"".join(dumps(row).encode() + b"\n" for row in CHAT))

    def thought_of(model: str, **asked: bool) -> list[str]:
        messages = next(iter(log.export("anthropic", model=model, **asked).values))["messages"]
        return [one["thinking"] + one["signature"] for m in messages for one in m["content"] if "thinking" in one]

    assert thought_of("deepseek-v4-pro") == thought_of("kimi-k3") == ["think", "more"]
    assert thought_of("qwen3-max") == thought_of("claude-opus-4-6") == thought_of("") == []
    assert thought_of("qwen3-max", keep_thinking=True) == thought_of("llama-4", keep_thinking=True) == ["think", "more"]
    assert thought_of("claude-opus-4-6", keep_thinking=True) == thought_of("", keep_thinking=True) == []


@pytest.mark.parametrize("call", [
    {"extra_content": {"google": {"thought_signature": "QUJD"}}}, {"thought_signature": "QUJD"},
])  # fmt: skip
def test_signatures_of_calls_in_openais_form(call: dict[str, Any]) -> None:
    """They go back to Gemini's models, which demand them, and nowhere else; a call without one gets the placeholder."""
    rows = [dict(row) for row in CHAT]
    rows[1] = rows[1] | {"reasoning_content": None, "tool_calls": [rows[1]["tool_calls"][0] | call]}
    log = opened(b"".join(dumps(row).encode() + b"\n" for row in rows))

    def signed(source: Log, model: str, **asked: bool) -> tuple[Any, list[str]]:
        exported = source.export("openai", model=model, **asked)
        [made] = next(iter(exported.values))["messages"][1]["tool_calls"]
        return made.get("extra_content"), [note for note in repair_notes(exported.repairs) if "signature" in note]

    kept = {"google": {"thought_signature": "QUJD"}}
    for model in ("gemini-3-pro-preview", "google/gemini-3.5-flash", "gemini-2.5-pro"):
        assert signed(log, model) == (kept, [])
    for model in ("gpt-5.5", "deepseek-v4-pro", "llama-4", ""):
        assert signed(log, model) == (None, ["not sent: 1 × thought signature"])
    assert signed(log, "llama-4", keep_thinking=True) == (kept, [])
    bare = opened(b"".join(dumps(row).encode() + b"\n" for row in CHAT))
    placeholder = {"google": {"thought_signature": "skip_thought_signature_validator"}}
    added = ["added: 1 × placeholder for a missing thought signature"]
    assert signed(bare, "gemini-3-pro-preview") == (placeholder, added)
    assert signed(bare, "gemini-2.5-pro") == signed(bare, "llama-4") == (None, [])


def test_blocks_of_litellm() -> None:
    """Back to a gateway under their key, and to Anthropic as its own blocks, signed."""
    blocks = [thought("think", "S1"), {"type": "redacted_thinking", "data": "R"}]
    row = {"role": "assistant", "content": "a", "reasoning_content": "think", "thinking_blocks": blocks}
    rows = [{"role": "user", "content": "q"}, row, {"role": "user", "content": "next"}]
    log = opened(b"".join(dumps(row).encode() + b"\n" for row in rows))
    body = next(iter(log.export("openai", model="anthropic/claude-opus-4-6").values))
    assert body["messages"][1] == {"role": "assistant", "content": "a", "thinking_blocks": blocks}
    body = next(iter(log.export("anthropic", model="claude-opus-4-6").values))
    assert body["messages"][1]["content"] == [*blocks, text("a")]
    body = next(iter(log.export("openai", model="deepseek-v4-pro").values))
    assert body["messages"][1] == {"role": "assistant", "content": "a", "reasoning_content": "think"}


def test_one_line_about_a_block() -> None:
    """Reasoning that is not sent is not told a second time, as what would not count."""
    log = opened(talk("gpt-5.5", 2))
    exported = log.export("responses", model="gpt-5.5")
    assert list(repair_notes(exported.repairs)) == ["not sent: 4 × thinking"]
    log = opened(rollout("gpt-5.5", "meta | user:q | think:A | say:a | user:r | think:B | say:b"))
    exported = log.export("responses")
    assert list(repair_notes(exported.repairs)) == [
        "1 thinking block of earlier turns will not count: gpt-5.5 does not read them"
    ]
    log.forget("2")
    sent = next(iter(log.export("responses").values))["input"]
    assert [item["type"] for item in sent].count("reasoning") == 1


TOLD = {
    # program: (its log, the thinking in words that stands beside its calls)
    "claude-code": (lambda: talk("claude-opus-4-6", 2), ["I look 0", "I look 1"]),
    "pi": (lambda: as_pi(talk("claude-opus-4-6", 2)), ["I look 0", "I look 1"]),
    "pi, unsigned": (
        lambda: as_pi(talk("claude-opus-4-6", 2)).replace(b'"thinkingSignature"', b'"was"'), ["I look 0", "I look 1"]
    ),
    "chat": (lambda: b"".join(dumps(row).encode() + b"\n" for row in CHAT), ["think"]),
}  # fmt: skip


def as_pi(raw: bytes) -> bytes:
    """The session as one of pi."""
    return b"".join(opened(raw).session("pi").pieces)


@pytest.mark.parametrize("model", ["deepseek-v4-pro", "moonshotai/kimi-k2.6", "mimo-v2.5-pro"])
@pytest.mark.parametrize("program", TOLD)
def test_what_is_demanded_has_its_place(program: str, model: str) -> None:
    """Whatever program kept it: where it is demanded, not empty where the log has it, and never as words."""
    made, told = TOLD[program]
    log = opened(made())
    spoken = [m for m in next(iter(log.export("openai", model=model).values))["messages"] if m["role"] == "assistant"]
    assert [message["reasoning_content"] for message in spoken if "tool_calls" in message] == told
    assert not any(words in dumps(message["content"]) for words in told for message in spoken)
    exported = log.export("anthropic", model=model)
    blocks = [m["content"] for m in next(iter(exported.values))["messages"] if m["role"] == "assistant"]
    calling = [listed for listed in blocks if any(block["type"] == "tool_use" for block in listed)]
    assert [[b["thinking"] for b in listed if b["type"] == "thinking"] for listed in calling] == [[one] for one in told]
    assert not any(words in block.get("text", "") for words in told for listed in blocks for block in listed)
    assert not any(block.get("signature") for listed in blocks for block in listed)


def test_calls_without_thinking_in_anthropics_form() -> None:
    """They get an empty one where the provider refuses them bare, and only there; it is counted."""
    bare = [{key: value for key, value in row.items() if key != "reasoning_content"} for row in CHAT]
    log = opened(b"".join(dumps(row).encode() + b"\n" for row in bare))
    for model in ("deepseek-v4-pro", "kimi-k3", "mimo-v2.5-pro", "glm-4.7", "claude-opus-4-6", ""):
        exported = log.export("anthropic", model=model)
        kinds = [[block["type"] for block in m["content"]] for m in next(iter(exported.values))["messages"]]
        demanded = rule(model).need == "demanded"
        assert kinds[1] == ["thinking"] * demanded + ["tool_use"] and "thinking" not in kinds[3]
        assert list(repair_notes(exported.repairs)) == ["added: 1 × empty thinking beside calls"] * demanded


def test_pi_notes_the_key_of_a_message_as_the_signature() -> None:
    """Thinking of a chat completion's model goes back under that key, to a model of which nothing is known, too."""
    raw = as_pi(talk("llama-4", 1)).replace(b'"thinkingSignature":"A0"', b'"thinkingSignature":"reasoning_content"')
    for model in ("", "llama-4", "deepseek-v4-pro"):
        [first, _] = [
            message for message in next(iter(opened(raw).export("openai", model=model).values))["messages"]
            if message["role"] == "assistant"
        ]  # fmt: skip
        assert (first["reasoning_content"], first["content"]) == ("I look 0", "let me look 0")


def test_mistral_has_it_in_the_content() -> None:
    """As a chunk, which is read again."""
    log = opened(b"".join(dumps(row).encode() + b"\n" for row in CHAT))
    body = next(iter(log.export("openai", model="magistral-medium-latest", keep_thinking=True).values))
    chunk = {"type": "thinking", "thinking": [{"type": "text", "text": "more"}]}
    assert body["messages"][3]["content"] == [chunk, text("done")]
    again = opened(dumps(body["messages"][3]).encode() + b"\n").content(1)
    assert again.parts[0] == Thinking("more", chunk)


def test_an_op_on_a_log_of_a_gateway_stays_valid() -> None:
    """Reasoning of nothing but encrypted blocks is no first part: digests of older ops are of the words."""
    row = {"role": "assistant", "content": "a", "reasoning_details": [{"type": "reasoning.encrypted", "data": "E"}]}
    parts = opened(dumps(row).encode() + b"\n").content(1).parts
    assert [type(part).__name__ for part in parts] == ["Text", "Thinking"]


def test_the_validator_sees_a_change() -> None:
    """A word that changed, a block that was left out, an order that is another: all behind it are told."""
    raw = talk()
    known = made(raw)
    assert broken_in_session(raw, known) == ([], 8)
    assert len(broken_in_session(raw.replace(b"found 1", b"found x"), known)[0]) == 5
    assert len(broken_in_session(raw.replace(b'"I look 2"', b'"I looked"'), known)[0]) == 3
    body = body_of(opened(talk("claude-opus-4-6")))[0]
    assert broken_in_body(body, raw) == [] and len(thoughts_of_body(body)) == 8
    del body["messages"][2]["content"][0]
    assert len(broken_in_body(body, raw)) > 4
    raw = rollout("gpt-6.2-sol")
    known = item_prefixes.made(raw)
    assert item_prefixes.broken(item_prefixes.last(raw), known) == ([], 4)
    assert item_prefixes.broken(item_prefixes.last(raw.replace(b'"of c1"', b'"of x"')), known) == (["B", "C", "D"], 4)
