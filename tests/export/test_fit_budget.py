"""What an export writes fits the budget as a whole: read again as a file of its own, by the counter alone."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxkit.api.log import Log
from ctxkit.cut.trim import TrimRequest
from ctxkit.errors import DoesNotFit, NothingToSend
from ctxkit.export.fit_budget import within
from ctxkit.export.request import Exported
from ctxkit.formats.base import Written
from ctxkit.measure.count import Counting
from tests.cli.runner import ctxkit, good, lines
from tests.effort import examples, one_of
from tests.lawful import as_bytes, conversations
from tests.shared import transcripts
from tests.test_counted import steps

REQUESTS = ("openai", "responses", "anthropic", "gemini")
SESSIONS = ("claude-code", "codex", "pi")
TO = ("chat", *REQUESTS, *SESSIONS)
REAL = transcripts("claude-code", "codex", "pi", "mini-swe-agent", under=600_000)


def unanswered(calls: int) -> list[dict[str, Any]]:
    """Calls that no result answers: an export writes one for each."""
    made = [{"id": f"u{n}", "type": "function", "function": {"name": "f", "arguments": "{}"}} for n in range(calls)]
    return [{"role": "assistant", "content": None, "tool_calls": made}]


def chat(**last: Any) -> bytes:
    """A log whose export is larger than its messages."""
    rows: list[dict[str, Any]] = [{"role": "user", "content": "Mend it.", "thread": "a"}]
    for n in range(30):
        rows += unanswered(5) if n % 3 else [{"role": "assistant", "content": f"words {n} " * 20}]
        rows += [{"role": "user", "content": f"go on {n} " * 5, "thread": "ab"[n % 2]}]
    return lines(*rows, {"role": "assistant", "content": "Done.", **last})


USAGE = {"usage": {"prompt_tokens": 1500, "completion_tokens": 5}}
"""Less than what the messages are estimated at."""
ASSEMBLY = '[assembly]\nsystem = "Be brief."\ndocs = ["rules.md"]\n'


def writer(to: str) -> Callable[[Log], Exported | Written]:
    """What makes an export."""
    return lambda log: log.session(to) if to in SESSIONS else log.export(to)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("to", TO)
@pytest.mark.parametrize("raw", [chat(), chat(**USAGE)], ids=["estimated", "counted"])
def test_every_budget(tmp_path: Path, to: str, raw: bytes) -> None:
    """It fits, or says that it does not; assembled texts, tools and overhead have their room."""
    folder, out = tmp_path / "log", tmp_path / "out.json"
    folder.mkdir()
    path = folder / "chat.jsonl"
    path.write_bytes(raw)
    (folder / "rules.md").write_text("Rules. " * 30)
    (folder / "ctxkit.toml").write_text("overhead = 40\n" + ASSEMBLY)
    fitted = 0
    for budget in (*range(100, 900, 90 * one_of(2)), 1200, 1600, 2400, 5000):
        log = Log.open(path, env={})
        try:
            _, made = within(log, TrimRequest(budget, assembly=to in REQUESTS), writer(to))
        except (DoesNotFit, NothingToSend):
            assert budget < 900, budget
            continue
        out.write_bytes(b"".join(made.pieces))
        used = Log.open(out, env={"CTXKIT_MODEL": "unknown"}).status().tokens.used
        assert used is not None and used <= budget - 40, (to, budget)
        fitted += 1
    assert fitted >= 5


def test_it_keeps_what_it_can(tmp_path: Path) -> None:
    """What is larger as it is written is cut again, to nearly all of the budget; nothing else is."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(chat(**USAGE))
    log = Log.open(path, env={})
    made: list[Log] = []

    def make(one: Log) -> Exported:
        made.append(one)
        return one.export("openai")

    seen, _ = within(log, TrimRequest(1400), make)
    assert 1 < len(made) < 10 and seen in made
    assert log.figures is not None and log.figures.budget == 1400
    whole = len(log.names())
    made.clear()
    assert len(within(log, TrimRequest(100_000), make)[0].names()) == whole and len(made) == 1


def test_what_does_not_fit_as_it_is_written(tmp_path: Path) -> None:
    """Protected calls fit, the results that are written for them do not."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines({"role": "user", "content": "Go."}, *unanswered(60)))
    good("protect", path, "2")
    plain = Log.open(path, env={}).status().tokens.used or 0
    ran = ctxkit("export", path, "--to", "openai", "--max-tokens", str(plain + 5))
    assert ran.code == 1 and ran.out == b""
    assert "as it is written, do not fit into" in ran.err and "nothing was written" in ran.err


def test_a_file_of_its_own(tmp_path: Path) -> None:
    """As a user sees it: export to a file, status of the file."""
    path, out = tmp_path / "chat.jsonl", tmp_path / "new.json"
    path.write_bytes(chat())
    good("export", path, "--to", "openai", "--max-tokens", "1k", "-o", out)
    [found] = good("status", out, "--json").values
    assert 500 < found["tokens"]["used"] <= 1000
    assert [message["role"] for message in json.loads(out.read_bytes())["messages"]].count("tool") > 0


USAGES = st.one_of(st.none(), st.builds(lambda n, m: {"prompt_tokens": n, "completion_tokens": m},
                                        st.integers(1, 3000), st.integers(1, 400)))  # fmt: skip


@st.composite
def counted(draw: st.DrawFn) -> bytes:
    """A log of messages with every kind of part, with threads; some of its replies were counted, well or badly."""
    records = draw(conversations(6)) + [record for step in draw(st.lists(steps(), max_size=6)) for record in step]
    for record in records:
        if record.get("role") == "assistant" and (usage := draw(USAGES)) is not None:
            record["usage"] = usage
    return as_bytes(records)


ENV = {"CTXKIT_OVERHEAD": "25", "CTXKIT_ASSEMBLY_SYSTEM": "Be brief. Be kind."}


@settings(max_examples=examples(80), suppress_health_check=list(HealthCheck), deadline=None)
@given(counted(), st.integers(1, 1200), st.sampled_from(TO))
def test_any_log(raw: bytes, budget: int, to: str) -> None:
    """After a trim `status` shows what the trim said, and no more than the budget; so does what is written."""
    log = Log.open(io.BytesIO(raw), env=ENV)
    before = log.status().tokens.used
    try:
        log.trim(budget)
    except DoesNotFit:
        pass
    else:
        told, after = log.figures, log.status().tokens.used
        assert before is not None and after is not None and (after <= budget or before == after == 0)
        assert told is None or told.before == before
    fresh = Log.open(io.BytesIO(raw), env=ENV)
    try:
        _, made = within(fresh, TrimRequest(budget, assembly=to in REQUESTS), writer(to))
    except (DoesNotFit, NothingToSend):
        return
    read = Log.open(io.BytesIO(b"".join(made.pieces)), env={"CTXKIT_MODEL": "unknown"})
    assert Counting(read).of(read.names()) <= budget - 25


@pytest.mark.skipif(not REAL, reason="the shared transcripts are not here")
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_sessions(path: Path, tmp_path: Path) -> None:
    """Also where what a provider counted is less than the estimate of what is written."""
    chosen = 1 if path.suffix in (".json", ".traj") else None
    used = Log.open(path, conversation=chosen, env={}).status().tokens.used or 0
    for to in ("chat", "anthropic", "codex"):
        for share in (0.9, 0.4):
            log, out = Log.open(path, conversation=chosen, env={}), tmp_path / f"{to}{share}.jsonl"
            try:
                _, made = within(log, TrimRequest(int(used * share), assembly=False), writer(to))
            except (DoesNotFit, NothingToSend):
                continue
            out.write_bytes(b"".join(made.pieces))
            alone = Log.open(out, env={"CTXKIT_MODEL": f"{log.model or 'unknown'}-2"})  # its counts are of more
            assert (alone.status().tokens.used or 0) <= int(used * share)


COUNTED = [path for path in REAL if path.parent.name in SESSIONS]


@pytest.mark.skipif(not COUNTED, reason="the shared transcripts are not here")
@pytest.mark.parametrize("path", COUNTED, ids=lambda path: path.name)
def test_what_replies_tell_of_it(path: Path, tmp_path: Path) -> None:
    """Where they tell anew what their requests come to, `status` of the file shows no more than the budget."""
    to, used = path.parent.name, Log.open(path, env={}).status().tokens.used or 0
    for share in (0.9, 0.6):
        log, out = Log.open(path, env={}), tmp_path / f"{share}.jsonl"
        try:
            _, made = within(
                log,
                TrimRequest(int(used * share), assembly=False),
                lambda one: one.session(to, recount=True),
                recounted=True,
            )
        except (DoesNotFit, NothingToSend):
            continue
        out.write_bytes(b"".join(made.pieces))
        assert (Log.open(out, env={}).status().tokens.used or 0) <= int(used * share)
