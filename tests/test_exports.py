"""Every export is valid for its provider, whatever ops came before: random sequences of them on slices of real logs.

Strict rules, written from the providers' documentation, and the types of the providers' own packages look at each body.
The number of sequences is counted, and the count is a test.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxkit import Log
from ctxkit.core.text.json_text import dumps
from ctxkit.errors import NothingToSend, UnknownFormat
from ctxkit.formats.targets import SESSIONS
from tests.effort import examples
from tests.lawful import COMMANDS, DRAFTS, TO_COME, Command, as_bytes, opened, tried
from tests.seeds import FAMILIES, ODD, exchanged, oddities, of_opencode, slices
from tests.validators import anthropic_rules, gemini_rules, openai_rules, responses_rules, typed
from tests.validators.thoughts import Thought, calls_signed, signed_calls, thoughts_of_log
from tests.validators.thoughts import thoughts as thoughts_sent

Body = dict[str, Any]
PROMPT = "what comes next"
SEQUENCES = 1000
"""Of each seed family; of each of `FEW` a quarter."""

CHANGED = st.sampled_from([dumps(piece[0]) for piece in ODD])
ANY = st.one_of(
    COMMANDS,
    TO_COME,
    DRAFTS,
    st.builds(
        Command, st.sampled_from(["edit", "restore"]), st.integers(0, 30), st.integers(0, 4), flag=st.booleans(),
        changed=CHANGED,
    ),
)  # fmt: skip
SOURCES: dict[str, st.SearchStrategy[bytes]] = {
    "odd": oddities(),
    **{family: slices(family) for family in FAMILIES if FAMILIES[family]},
    "items": exchanged("items"),
    "contents": exchanged("contents"),
    "opencode": of_opencode(),
}
FEW = ("responses", "anthropic", "gemini-cli", "copilot-cli", "items", "contents", "opencode")
AS_SENT = (
    "thinking without signature",
    "thinking without a signature",
    "thinking is the last block",
    "results do not come first",
)
"""What programs were recorded to send all the same (Claude Code: p11, p12, p76 of fixtures/truth-claude-code); as long
as no op has changed the context, it goes out so."""
UNFOLLOWED = "reasoning without the item that follows it"
"""The same of Codex, where a turn was interrupted."""
OWN = as_bytes(record for piece in ODD for record in piece)
ran: Counter[str] = Counter()
seen: Counter[str] = Counter()


def plain(identity: str) -> str:
    """An id without the number that makes it unlike an earlier one."""
    return re.sub(r"-\d+$", "", identity)


def asked(body: Body, key: str, mine: Body) -> Body:
    """The body as a person would send it: with the next prompt, where it ends with the model's words."""
    last = body[key][-1]
    return {**body, key: [*body[key], mine]} if last["role"] in ("assistant", "model") else body


def openai(body: Body) -> list[str]:
    """What OpenAI refuses, or its types."""
    own = [{key: one[key] for key in one if key not in openai_rules.REASONING} for one in body["messages"]]
    return openai_rules.problems(body) + typed.openai(body | {"messages": own})  # OpenAI's types lack others' fields


def responses(body: Body) -> list[str]:
    """What OpenAI's Responses refuses, or its types."""
    return responses_rules.problems(body) + typed.responses(body)


def anthropic(body: Body) -> list[str]:
    """What Anthropic refuses, or its types: as it is, and with a prompt, which its newer models insist on."""
    sent = asked(body, "messages", {"role": "user", "content": PROMPT})
    return anthropic_rules.problems(body) + anthropic_rules.problems(sent, prefill=False) + typed.anthropic(sent)


def gemini(body: Body) -> list[str]:
    """What Gemini refuses, or its types: as it is, and with a prompt."""
    sent = asked(body, "contents", {"role": "user", "parts": [{"text": PROMPT}]})
    return gemini_rules.problems(body, unasked=True) + gemini_rules.problems(sent) + typed.gemini(sent)


CHECKS: dict[str, Callable[[Body], list[str]]] = {
    "openai": openai,
    "responses": responses,
    "anthropic": anthropic,
    "gemini": gemini,
}


def check(log: Log, as_sent: bool, thoughts: set[Thought], signed: set[tuple[str, str]]) -> None:
    """Every export of the log's context; `as_sent`: its own program may send what is not as documented.

    `thoughts`, `signed`: thinking, and signatures of calls, which the log or an op has; no others may go out.
    """
    for to, problems in CHECKS.items():
        try:
            [value] = log.export(to).values
        except NothingToSend:
            continue
        body = json.loads(dumps(value))
        if as_sent and to == "anthropic" and any(one.endswith(AS_SENT) for one in anthropic_rules.problems(body)):
            assert [one for one in anthropic_rules.problems(body) if not one.endswith(AS_SENT)] == []
        elif as_sent and to == "responses":
            assert [one for one in problems(body) if not one.endswith(UNFOLLOWED)] == []
        else:
            assert problems(body) == [], to
        seen[to] += 1
        if to == "anthropic":
            assert set(thoughts_sent(body)) <= thoughts
            seen["thoughts"] += len(thoughts_sent(body))
        elif to == "gemini":
            assert {(plain(one), what) for one, what in calls_signed(body)} <= signed
            seen["signatures of calls"] += len(calls_signed(body))


@pytest.mark.one_in(2)
@pytest.mark.slow
@pytest.mark.parametrize("family", SOURCES)
def test_every_export_is_valid(family: str) -> None:
    """After any sequence of ops."""

    @settings(max_examples=examples(SEQUENCES // (4 if family in FEW else 1)), suppress_health_check=list(HealthCheck))
    @given(SOURCES[family], st.lists(ANY, min_size=1, max_size=6))
    def sequence(content: bytes, commands: list[Command]) -> None:
        try:
            log = opened(content)
        except UnknownFormat:  # a slice without a single message
            return
        before = log.names()
        for command in commands:
            tried(log, command)
        same = log.names() == before and all(entry.stub is None for entry in log.entries())
        known = thoughts_of_log(content) | thoughts_of_log(OWN)
        signed = {(plain(one), what) for one, what in signed_calls(content) | signed_calls(OWN)}
        check(log, same and log.transcript.format in SESSIONS, known, signed)
        ran[family] += 1

    sequence()


@pytest.mark.slow
def test_how_many_sequences_were_run(capsys: pytest.CaptureFixture[str]) -> None:
    """At least 5,000 in all, of which a push runs a part; the number is printed in every run."""
    if set(ran) != set(SOURCES):
        pytest.skip("the sequences were not run")
    with capsys.disabled():
        print(f"\nsequences of ops, every export valid: {ran.total()} ({dict(ran)}); bodies and more: {dict(seen)}")
    assert ran.total() >= examples(5_000)
