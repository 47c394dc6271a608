"""Measuring: the provider's own count where there is one, and what changed since by the session's calibration."""

from __future__ import annotations

import io
import json
import re
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
import tiktoken

from ctxkit.api.log import Log
from ctxkit.core.derive.usage import Measured
from ctxkit.explain.diff import Diff
from ctxkit.explain.revisions import ComparedState
from ctxkit.measure.count import Counting
from ctxkit.measure.shares import Shares
from ctxkit.measure.size import Measuring, change, measure
from ctxkit.measure.usage import RecordedUsage
from ctxkit.tokens.ranks import described
from tests.cli.runner import SMALL, good, lines
from tests.shared import transcripts


def chat(*usages: tuple[int, int] | None) -> bytes:
    """Exchanges of a question and an answer each; the answers with these usages."""
    rows: list[dict[str, Any]] = []
    for found in usages:
        rows.append({"role": "user", "content": "what is the weather like in Paris today? " * 20})
        told = {} if found is None else {"usage": {"prompt_tokens": found[0], "completion_tokens": found[1]}}
        rows.append({"role": "assistant", "content": "It rains. " * 5, **told})
    return lines(*rows)


def of(raw: bytes, *ops: str) -> tuple[Measured, Counting]:
    log = Log.open(io.BytesIO(raw), env={})
    counting = Counting(log)
    return measure(counting, log.names()), counting


def test_nothing_recorded() -> None:
    """The counter alone."""
    found, counting = of(SMALL)
    assert found == Measured(counting.of(range(1, 12)), counting.counter.name)


def test_the_newest_reply_is_counted() -> None:
    """Its request and itself: exactly what the provider said."""
    found, _ = of(chat((1000, 20), (1300, 21)))
    assert (found.tokens, found.known, found.at, found.estimated) == (1321, 1321, 4, 0)
    assert found.counter == "the provider's count at message 4"
    assert found.overhead is not None and 600 < found.overhead < 1321


def test_what_came_since_is_estimated() -> None:
    """By the session's own factor, which stands in the name."""
    found, counting = of(chat((1000, 20), (1300, 21), None))
    assert found.at == 4 and found.tokens == 1321 + found.estimated
    assert 0.8 * counting.of([5, 6]) < found.estimated < 1.6 * counting.of([5, 6])
    assert "then o200k_base ×" in found.counter


def test_what_ops_took_out_is_taken_off(tmp_path: Path) -> None:
    """And comes back with an undo, to the token."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(chat((1000, 20), (1300, 21)))
    log = Log.open(path)
    before = measure(Counting(log), log.names())
    log.forget(["1"])
    less = measure(Counting(log), log.names())
    assert less.known == before.known and less.estimated < -100 and less.tokens == 1321 + less.estimated
    log.undo()
    assert measure(Counting(log), log.names()) == before


def test_another_model_is_counted_for_itself() -> None:
    """The log's usage is of its own model."""
    log = Log.open(io.BytesIO(chat((1000, 20))), env={"CTXKIT_MODEL": "gpt-4o"})
    assert measure(Counting(log), log.names()).known is None


@pytest.mark.parametrize(
    ("raw", "env", "trust"),
    [
        (chat((1000, 20)), {}, "exact"), (chat((1000, 20), None), {}, "calibrated"), (SMALL, {}, "guess"),
        (SMALL, {"CTXKIT_MODEL": "gpt-4o"}, "encoding"), (SMALL, {"CTXKIT_MODEL": "claude-opus-4-5"}, "guess"),
        (SMALL, {"CTXKIT_MODEL": "claude-opus-4-5", "CTXKIT_COUNTER": "o200k_base"}, "guess"),
        (SMALL, {"CTXKIT_MODEL": "gpt-4o", "CTXKIT_COUNTER": "o200k_base"}, "encoding"),
        (SMALL, {"CTXKIT_MODEL": "gpt-4o", "CTXKIT_COUNTER": "cl100k_base"}, "guess"),
    ],
)  # fmt: skip
def test_trust(raw: bytes, env: dict[str, str], trust: str) -> None:
    """Exact is said of the provider's count alone; what was asked for by name is not the model's own encoding."""
    log = Log.open(io.BytesIO(raw), env=env)
    assert measure(Counting(log), log.names()).trust == trust


def test_a_change_is_told_by_one_counter() -> None:
    """Before and after an op as `status` tells them; the name is that of the figure that is estimated in part."""
    log = Log.open(io.BytesIO(chat((1000, 20), (1300, 21))), env={})
    state = log.state()
    before = measure(Counting(log), log.names())
    log.forget("1-2")
    found = change(log.seen_at(state), log.state())
    assert (found.before, found.after) == (before.tokens, measure(Counting(log), log.names()).tokens)
    assert found.before > found.after and "then o200k_base" in found.counter
    assert (found.messages, found.dropped, found.came, found.stubbed) == (4, 2, 0, 0)
    back = change(log, state)
    assert (back.before, back.after, back.counter) == (found.after, found.before, found.counter)
    assert (back.messages, back.dropped, back.came) == (2, 0, 2)


@pytest.mark.parametrize("raw", [SMALL, chat((1000, 20), (1300, 21)), chat((900, 5), (4000, 900), None, None)])
def test_the_parts_add_up(raw: bytes) -> None:
    """Whatever leaves: the whole is less by what it was said to come to."""
    log = Log.open(io.BytesIO(raw), env={})
    found, sizes = Measuring(Counting(log)).with_sizes(log.names())
    each = dict(zip(log.names(), sizes, strict=True))
    for some in (["1"], ["2-3"], [str(n) for n in range(2, len(each) + 1)]):
        log.forget(some, include_protected=True)
        less = measure(Counting(log), log.names())
        gone = sum(each.values()) - sum(each[name] for name in log.names())
        assert found.tokens - gone - 1 <= less.tokens <= found.tokens - gone + 1
        log.undo()


def test_without_any_message_the_overhead_is_left() -> None:
    """However well or badly the messages are estimated, what was counted is shared out among them."""
    log = Log.open(io.BytesIO(chat((5000, 20), (5020, 21), (5040, 22))), env={})
    found = measure(Counting(log), log.names())
    log.clear()
    left = measure(Counting(log), log.names())
    assert found.overhead and left.tokens == found.overhead


def test_a_look_is_measured_like_an_op() -> None:
    """What `fit` does to this object alone is no part of what the provider counted."""
    raw = chat((1000, 20), (1300, 21), (1600, 22))
    seen, written = (Log.open(io.BytesIO(raw), env={}) for _ in range(2))
    seen.fit(1300)
    written.trim(1300)
    assert measure(Counting(seen), seen.names()) == measure(Counting(written), written.names())
    assert measure(Counting(seen), seen.names()).tokens <= 1300


SESSIONS = transcripts("claude-code", "codex", "pi", "mini-swe-agent", under=1_500_000)


@pytest.mark.skipif(not SESSIONS, reason="the shared transcripts are not here")
@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.name)
def test_status_after_ops_on_real_sessions(path: Path) -> None:
    """What `diff` says is gone, and `--by` held, is what `status` shows less; an undo brings it back to the token."""
    log = Log.open(path, conversation=1 if path.suffix in (".json", ".traj") else None, env={})
    before = log.status().tokens.used or 0
    names = log.names()
    for some in (names[1:2], names[1 : len(names) // 2], names[len(names) // 2 :]):
        op = log.plan_forget([str(name) for name in some], include_protected=True).op
        assert op is not None
        seen = log.seen_at(log.state_with(log.stamp(op)))
        gone = Diff(ComparedState(log, "before"), ComparedState(seen, "after"))
        less = seen.status().tokens.used or 0
        figures = gone.tokens()
        assert abs((before - less) - figures["gone"]) <= 1 + gone.counts["gone"] / 2
        assert abs((before - less) - (figures["before"] - figures["after"])) <= 1 + gone.counts["gone"] / 2
        assert sum(share.tokens for share in Shares(seen).by("role")) <= less + len(log.messages)
    assert log.status().tokens.used == before


def test_a_change_has_what_is_sent_besides(tmp_path: Path) -> None:
    """As `status` has it; a document that is missing keeps no op from being written."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(SMALL)
    (tmp_path / "ctxkit.toml").write_text('overhead = 300\n[assembly]\nsystem = "Be brief."\n')
    log = Log.open(path, env={})
    found = change(log, log.state_with(log.stamp(log.plan_forget("3").op)))  # type: ignore[arg-type]  # it is there
    used = log.status().tokens.used
    log.forget("3")
    assert (found.before, found.after) == (used, log.status().tokens.used)
    (tmp_path / "ctxkit.toml").write_text('overhead = 300\n[assembly]\ndocs = ["none.md"]\n')
    log = Log.open(path, env={})
    assert (
        change(log, log.state()).before == log.status().tokens.used == measure(Counting(log), log.names()).tokens + 300
    )


def test_looking_back() -> None:
    """What came later tells nothing: neither its messages nor what was counted of them."""
    raw = chat((1000, 20), (1300, 21))
    then = Log.open(io.BytesIO(raw), env={})
    op = then.mark()
    assert op is not None
    log = Log.open(io.BytesIO(b"".join(then.copy_out()) + chat((1700, 22), (2000, 23))), env={})
    log.at = op.id
    assert measure(Counting(log), log.names()) == measure(Counting(then), then.names())
    assert RecordedUsage(Counting(log)).own == RecordedUsage(Counting(then)).own


def opencode(*sizes: int) -> bytes:
    """Replies of one session, each with a call and its result in it, whose requests had so many tokens."""
    found: list[dict[str, Any]] = []
    for n, size in enumerate(sizes):
        tokens = {
            "total": size + 40,
            "input": 7,
            "output": 30,
            "reasoning": 10,
            "cache": {"read": size - 7, "write": 0},
        }
        state = {"status": "completed", "input": {"path": "a"}, "output": "a line of a file\n" * 100}
        parts = [
            {"type": "text", "text": "I read."},
            {"type": "tool", "tool": "read", "callID": f"c{n}", "state": state},
        ]
        found.append({"info": {"id": f"u{n}", "role": "user"}, "parts": [{"type": "text", "text": "read it " * 20}]})
        info = {"id": f"m{n}", "role": "assistant", "modelID": "claude-sonnet-4-5", "tokens": tokens}
        found.append({"info": info, "parts": parts})
    return lines({"info": {"id": "ses_1"}, "document": True}, *found)


def test_opencode() -> None:
    """Its counts are read; a result that stands in a reply came after its request, and is estimated."""
    found, _ = of(opencode(9000, 9700, 10_400))
    assert (found.known, found.at) == (10_440, 6) and 600 < found.estimated < 800 and found.trust == "calibrated"


def test_a_reply_that_was_counted_while_it_streamed() -> None:
    """Its request is the provider's count; its own words are an estimate, and nothing is called exact."""
    found, _ = of(chat((1000, 20), (1300, 1)))
    assert found.known == 1300 and found.estimated > 5 and found.trust == "calibrated"


@cache
def encoding() -> tiktoken.Encoding:
    """That of gpt-4o, made once."""
    return tiktoken.Encoding(**described("o200k_base"))


def sent(path: Path) -> list[list[int]]:
    """The messages of the request that a log sends, each in the tokens that OpenAI counts."""
    return [
        [-1, *encoding().encode(one["role"]), -2, *encoding().encode(one["content"]), -3]
        for one in map(json.loads, good("export", path, "--to", "chat").out.splitlines())
    ]


@pytest.mark.parametrize(
    "command",
    ["compact --target 30% --keep-last 4", "compact --target 50% --strategy truncate", "trim --max-tokens 900",
     "compact 5-30 --summary-file -", "forget --grep Seven --yes"],
)  # fmt: skip
@pytest.mark.parametrize("earlier", ["", "compact 3-9 --summary-file -"])
def test_what_the_next_request_sends_uncached(tmp_path: Path, command: str, earlier: str) -> None:
    """All tokens from the first message on that the request before did not have there, a new summary's too."""
    path = tmp_path / "log.jsonl"
    rows = [{"role": "user", "content": "Please count the words of the book."}]
    for n in range(40):
        rows.append({"role": "assistant", "content": f"Page {n}: " + "Seven words are on this page. " * (n % 9)})
        rows.append({"role": "user", "content": f"And how many on page {n + 1}?"})
    path.write_bytes(lines(*rows))
    good("config", path, "set", "model", "gpt-4o")
    if earlier:
        good(earlier.split()[0], path, *earlier.split()[1:], stdin=b"They counted.")
    before, words = sent(path), command.split()
    ran = good(words[0], path, *words[1:], stdin=b"It is done.")
    after = sent(path)
    same = next(place for place, pair in enumerate(zip_longest(before, after)) if pair[0] != pair[1])
    found = re.search(r"prompt cache: .*; the next request sends ([\d,]+) tokens uncached", ran.err)
    assert found is not None
    told, truth = int(found[1].replace(",", "")), sum(map(len, after[same:]))
    assert abs(told - truth) <= 3 + 0.02 * truth, (told, truth)


def test_beyond_of_a_log_as_it_was_earlier() -> None:
    """Messages that were not there yet are not in the context."""
    measuring = Measuring(Counting(Log.open(io.BytesIO(chat((1000, 20), (5000, 21), (1300, 22), (1400, 23))), env={})))
    early, padded = bytearray(b"\0\0\0\0\0\1\1"), bytearray(b"\0\0\0\0\0\1\1\0\0")
    assert measuring.beyond(early) == measuring.beyond(padded) != 0
