"""Messages that a program holds: counted, and cut to fit; what stays is what came in, in each form."""

from __future__ import annotations

import copy
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxkit import (
    BadConfig,
    BadMessage,
    DoesNotFit,
    Fitted,
    Log,
    Tokens,
    enforce_context_limit,
    estimate_tokens,
    shorten_result,
    trim_conversation,
)
from ctxkit.errors import BadTools, NoSuchLog, Usage
from tests import effort
from tests.cli.runner import ctxkit, lines
from tests.effort import examples
from tests.validators import anthropic_rules, gemini_rules, openai_rules, responses_rules

MODEL = "gpt-4o"
Json = dict[str, Any]
FORMS: dict[str, tuple[str, str, Callable[[Json], list[str]]]] = {
    "openai": ("messages", "", openai_rules.problems),
    "anthropic": ("messages", "system", anthropic_rules.problems),
    "gemini": ("contents", "systemInstruction", gemini_rules.problems),
    "responses": ("input", "", responses_rules.problems),
}
"""Provider -> the key of its messages, that of a system prompt that stands apart, what it refuses."""


def step(n: int, words: int, calls: int = 1, tool: str = "bash") -> list[Json]:
    """A response with calls, and their results."""
    made = [
        {
            "id": f"c{n}-{k}",
            "type": "function",
            "function": {"name": tool, "arguments": json.dumps({"command": str(n)})},
        }
        for k in range(calls)
    ]
    answers = [{"role": "tool", "tool_call_id": one["id"], "content": f"result {n} " * words} for one in made]
    return [{"role": "assistant", "content": None, "tool_calls": made}, *answers]


def run(steps: int = 20, words: int = 400) -> list[Json]:
    """A system prompt, a task, and many steps."""
    rows: list[Json] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Mend it."}]
    return [*rows, *(one for n in range(steps) for one in step(n, words))]


def body_of(messages: list[Json], to: str) -> Json:
    """The request body that `ctxkit export --to` makes of chat messages."""
    [body] = Log.open(io.BytesIO(lines(*messages)), env={}).export(to, model=MODEL).values
    return json.loads(json.dumps(body))


def refused(to: str, body: Json) -> list[str]:
    """What the provider would refuse. Messages of one role in a row it takes, and joins them itself."""
    return [one for one in FORMS[to][2](body) if "in a row" not in one]


def test_a_count_names_its_counter() -> None:
    """It is an int, and says who counted."""
    found = estimate_tokens([{"role": "user", "content": "hello world"}], MODEL)
    assert found == 6 and isinstance(found, Tokens) and found.counter == "o200k_base"
    assert "claude" in estimate_tokens([{"role": "user", "content": "hello"}], "claude-sonnet-4-5").counter
    assert estimate_tokens([], MODEL) == 0
    assert estimate_tokens([{"role": "user", "content": "hello world"}], system="Be brief.") > found
    assert estimate_tokens([{"role": "user", "content": "hi"}], counter="cl100k_base").counter == "cl100k_base"


def test_one_result() -> None:
    """The lines that keep most, failures and what is looked for first; counted for the model."""
    rows = [f"src/row_{n}.go: handles the row {n}" for n in range(60)]
    text = "\n".join([*rows[:30], "--- FAIL: TestRow (0.00s)", "    row_test.go:12: got 1, want 2", *rows[30:]])
    short = shorten_result(text, 80, tool="Bash")
    assert "--- FAIL: TestRow (0.00s)\n    row_test.go:12: got 1, want 2" in short and "…" in short
    assert estimate_tokens([{"role": "user", "content": short}]) < 90
    both = "\n".join(f"src/{what}_{n}.go: handles the {what}" for n in range(20) for what in ("ledger", "packet"))
    assert shorten_result(both, 80, query="ledger").count("ledger") > shorten_result(both, 80).count("ledger")
    claude = shorten_result(text, 80, model="claude-sonnet-4-5")
    assert "--- FAIL: TestRow" in claude and estimate_tokens([{"role": "user", "content": claude}], "claude-x") < 95
    assert shorten_result(text, 5000) == text and shorten_result("x" * 9000, 2) == ""
    assert shorten_result("a b c d\r\n" * 50_000, 50).startswith("…\na b c d")  # nothing in it has a use: its start
    for wrong in (0, True):
        with pytest.raises(Usage, match="above 0"):
            shorten_result(text, wrong)
    with pytest.raises(Usage, match="query of shorten_result is a text, not of type int"):
        shorten_result(text, 80, query=5)  # type: ignore[arg-type]  # as an untyped program does


def test_the_model_may_be_told_by_the_messages() -> None:
    """As by the rows of a log."""
    rows = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho", "model": MODEL}]
    assert estimate_tokens(rows).counter == "o200k_base"
    assert enforce_context_limit(rows).limit == 128_000


@pytest.mark.parametrize("to", FORMS)
@pytest.mark.parametrize("share", [1.0, 0.9, 0.5, 0.1])
def test_each_form_stays_what_it_is(to: str, share: float) -> None:
    """Very same dicts but for shortened results, never over the budget, valid, and counted as they are counted."""
    body = body_of(run(), to)
    key, apart, _ = FORMS[to]
    messages, system = body[key], body.get(apart)
    before = copy.deepcopy(messages)
    tokens = estimate_tokens(messages, MODEL, system=system)
    found = trim_conversation(messages, int(tokens * share), model=MODEL, system=system)
    assert messages == before
    assert found.token_count == estimate_tokens(found.messages, MODEL, system=system) <= found.budget
    assert (found.tokens_before, found.within_budget, found.counter) == (tokens, True, "o200k_base")
    assert not refused(to, {**body, key: found.messages})
    same = [one for one in found.messages if any(one is other for other in messages)]
    assert len(found.messages) - len(same) == found.stubbed_count
    assert len(messages) - len(found.messages) == found.dropped_count
    assert found.truncated == (share < 1) == bool(found.cuts)
    assert [cut.action for cut in found.cuts].count("dropped") == found.dropped_count
    for cut in found.cuts:
        assert isinstance(cut.message, int) and cut.reason
        kept = any(messages[cut.message] is one for one in found.messages)
        assert not kept


@pytest.mark.parametrize("budget", [12_000, 7000, 2500, 1300])
def test_the_same_budget_cuts_the_same(budget: int) -> None:
    """Whatever form the messages are in: the same steps go, the same results are shortened, the same is left."""
    left = set()
    for to, (key, apart, _) in FORMS.items():
        body = body_of(run(), to)
        found = trim_conversation(body[key], budget, model=MODEL, system=body.get(apart))
        told = re.findall(r"result (\d+) result|(stale|superseded)", str(found.messages))
        left.add((found.tokens_before, found.token_count, found.stubbed_count, tuple(told)))
    assert len(left) == 1


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["talk", "step"]), st.integers(1, 300), st.integers(1, 3)), min_size=1, max_size=9
    ),
    st.sampled_from(sorted(FORMS)),
    st.floats(0.02, 1),
)
def test_whatever_is_cut(spec: list[tuple[str, int, int]], to: str, share: float) -> None:
    """It fits, it is valid, and the current task stays while anything else could go; or it says that it cannot."""
    rows: list[Json] = [{"role": "user", "content": "Begin."}]
    for n, (kind, words, calls) in enumerate(spec):
        told = "yes " * words, f"go {n} " * words
        talk = [{"role": role, "content": one} for role, one in zip(("assistant", "user"), told, strict=True)]
        rows += step(n, words, calls) if kind == "step" else talk
    rows.append({"role": "user", "content": "The task."})
    body = body_of(rows, to)
    key, apart, _ = FORMS[to]
    budget = int(estimate_tokens(body[key], MODEL, system=body.get(apart)) * share)
    try:
        found = trim_conversation(body[key], budget, model=MODEL, system=body.get(apart))
    except DoesNotFit:
        return
    assert found.token_count == estimate_tokens(found.messages, MODEL, system=body.get(apart)) <= budget
    assert not refused(to, {**body, key: found.messages})


@pytest.mark.parametrize(("budget", "action"), [(9000, "stubbed"), (3000, "dropped")])
def test_it_is_what_the_command_does(tmp_path: Path, budget: int, action: str) -> None:
    """The same messages, exported with the same budget."""
    messages = run()
    found = trim_conversation(messages, budget, model=MODEL)
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(*({**one, "model": MODEL} for one in messages)))
    exported = ctxkit("export", path, "--to", "chat", "--max-tokens", str(budget))
    assert [{key: one[key] for key in one if key != "model"} for one in exported.values] == found.messages
    assert action in {cut.action for cut in found.cuts}


@pytest.mark.parametrize("to", FORMS)
def test_arguments_of_old_calls(to: str) -> None:
    """On request they are shortened too, where they stand; what else the call says stays."""
    rows: list[Json] = [{"role": "user", "content": "Send them."}]
    for n in range(12):
        told = json.dumps({"to": f"{n}@py", "text": f"line {n}\n" * 400})
        call = {"id": f"c{n}", "type": "function", "function": {"name": "send", "arguments": told}}
        rows += [{"role": "assistant", "content": None, "tool_calls": [call]}]
        rows += [{"role": "tool", "tool_call_id": f"c{n}", "content": "done"}]
    body = body_of(rows, to)
    key, apart, _ = FORMS[to]
    messages, system = body[key], body.get(apart)
    budget = estimate_tokens(messages, MODEL, system=system) - 2000
    found = trim_conversation(messages, budget, model=MODEL, system=system, clear_inputs=True, keep=99)
    assert found.token_count == estimate_tokens(found.messages, MODEL, system=system) <= budget
    assert not refused(to, {**body, key: found.messages})
    assert found.stubbed_count and {cut.reason for cut in found.cuts if cut.action == "stubbed"} == {"old input"}
    changed = [one for one in found.messages if not any(one is other for other in messages)]
    assert len(changed) == found.stubbed_count and all("@py" in str(one) and "cut here" in str(one) for one in changed)
    plain = trim_conversation(messages, budget, model=MODEL, system=system, keep=99)
    assert "old input" not in {cut.reason for cut in plain.cuts} and plain.dropped_count > found.dropped_count


def test_a_permission_goes_with_what_it_permits() -> None:
    """An answer to a request for permission that is gone is refused; others stay."""
    items: list[Json] = [{"role": "user", "content": "Go."}]
    for n in range(3):
        ask = {"type": "mcp_approval_request", "id": f"r{n}", "server_label": "s", "name": "f", "arguments": "x " * 300}
        items += [ask, {"type": "mcp_approval_response", "approval_request_id": f"r{n}", "approve": True}]
        items += [{"role": "user", "content": f"and {n}"}, {"type": "mcp_approval_request", "arguments": "x " * 300}]
    found = trim_conversation(items, estimate_tokens(items, MODEL) - 500, model=MODEL)
    left = {one["id"] for one in found.messages if "id" in one}
    assert {one.get("approval_request_id") for one in found.messages} - {None} == left and 0 < len(left) < 3
    assert found.dropped_count == len(items) - len(found.messages) == len(found.cuts)
    assert [cut.message for cut in found.cuts] == sorted(int(cut.message) for cut in found.cuts)


def test_limit_and_reserve(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the arguments, else of the config, else of the model; the budget is what is left."""
    messages = run(2, 20)
    found = enforce_context_limit(messages, model="gpt-4")
    assert (found.limit, found.reserve, found.budget, found.truncated) == (8192, 4096, 4096, False)
    assert found.messages == messages and found.messages is not messages
    monkeypatch.setenv("CTXKIT_LIMIT", "9000")
    monkeypatch.setenv("CTXKIT_RESERVE", "1000")
    assert enforce_context_limit(messages, model="gpt-4").budget == 8000
    found = enforce_context_limit(messages, limit=300, reserve=0)
    assert enforce_context_limit(messages, 300).messages == found.messages
    assert (found.limit, found.reserve, found.budget) == (300, 0, 300)
    found = trim_conversation(messages, 300)
    assert (found.limit, found.reserve, found.budget) == (None, None, 300)


def test_options_are_those_of_trim() -> None:
    """And a misspelt one is refused, as by any function."""
    messages = run()
    whole = estimate_tokens(messages, MODEL)
    exempt = trim_conversation(messages, whole - 500, model=MODEL, exclude_tools=["bash"])
    assert exempt.dropped_count and not exempt.stubbed_count
    assert trim_conversation(messages, whole - 500, model=MODEL, exclude_tools="bash") == exempt
    assert trim_conversation(messages, whole - 500, model=MODEL, clear_at_least=5000).stubbed_count > 1
    assert (
        trim_conversation(messages, 3000, model=MODEL, keep_results=0).messages
        != trim_conversation(messages, 3000, model=MODEL).messages
    )
    with pytest.raises(TypeError, match="keep_result"):
        trim_conversation(messages, 3000, keep_result=0)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="limit"):
        estimate_tokens(messages, limit=3)  # type: ignore[call-arg]


def test_what_is_sent_too_has_its_room() -> None:
    """Tools and overhead count, and never go."""
    messages = run()
    tool = {"name": "bash", "description": "runs a command " * 50, "input_schema": {"type": "object"}}
    plain, more = (trim_conversation(messages, 9000, model=MODEL, tools=tools) for tools in (None, [tool]))
    assert more.tokens_before > plain.tokens_before + 150 and more.token_count <= 9000
    assert trim_conversation(messages, 9000, model=MODEL, overhead=8000).dropped_count > plain.dropped_count
    assert estimate_tokens(messages, MODEL, overhead=7) == estimate_tokens(messages, MODEL) + 7


def test_a_log(tmp_path: Path) -> None:
    """Its context, its ops applied, as chat messages; cuts by its numbers. The log is not changed, nor the object."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(*run(), {"role": "user", "content": "Go on."}))
    log = Log.open(path)
    log.forget("3-4")
    raw = path.read_bytes()
    for source in (log, path, str(path), io.BytesIO(raw)):
        found: Fitted[dict[str, Any]] = trim_conversation(source, 3000, model=MODEL)
        assert found.token_count <= 3000 and {"role": "user", "content": "Go on."} in found.messages
        assert found.cuts[0].message == "5" and found.tokens_before == estimate_tokens(path, MODEL)
    assert path.read_bytes() == raw and log.names()[:3] == [1, 2, 5] and not log.state().board.stubs
    assert log.config["model"] == ""
    log.clear()
    log.forget([1], include_protected=True)
    assert trim_conversation(log, 10).messages == []


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda: trim_conversation(run(), 10), DoesNotFit, "do not fit into 10"),
        (lambda: enforce_context_limit(run(), limit=10, reserve=0), DoesNotFit, "do not fit into 10"),
        (lambda: enforce_context_limit(run(), 10), DoesNotFit, "do not fit into 10"),
        (lambda: enforce_context_limit(run(), 10, limit=20), Usage, "what is left of a limit"),
        (
            lambda: enforce_context_limit(run(), limit=10),
            BadConfig,
            "the reserve of 4,096 tokens takes all of the limit",
        ),
        (lambda: enforce_context_limit(run()), BadConfig, "no limit is known"),
        (lambda: enforce_context_limit(run(), limit=0), Usage, "limit must be at least 1"),
        (lambda: enforce_context_limit(run(), reserve=-1, limit=9), Usage, "reserve must be at least 0"),
        (lambda: estimate_tokens(run(), counter="mine"), Usage, "counter must be one of"),
        (lambda: trim_conversation(run(), cast(Any, float("nan"))), Usage, "max_tokens must be a whole number"),
        (lambda: trim_conversation(run(), True), Usage, "max_tokens must be a whole number"),
        (lambda: trim_conversation(run(), 9, keep=-1), Usage, "keep must be at least 0"),
        (lambda: trim_conversation(run(), 9, clear_at_least=-1), Usage, "clear_at_least must be at least 0"),
        (lambda: estimate_tokens(run(), tools=[{"name": "f", "parameters": {"x": object()}}]), BadTools, "tools: "),
        (lambda: estimate_tokens({"messages": []}), BadMessage, "a dict, not a list"),  # type: ignore[arg-type]
        (lambda: estimate_tokens([{"role": "user", "content": "x"}, {"x": 1}]), BadMessage, "messages[1]"),
        (lambda: estimate_tokens("missing.jsonl"), NoSuchLog, "no such log"),
        (lambda: estimate_tokens(io.BytesIO(b""), system="x"), Usage, "a log has its own"),
    ],
)
def test_refusals(call: Callable[[], object], kind: type[Exception], says: str) -> None:
    """Typed, and in words."""
    with pytest.raises(kind, match=says.replace("[", r"\[")):
        call()


def test_nothing_is_written_but_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not beside the caller, nor where temporary files go, however large the messages are."""
    monkeypatch.chdir(tmp_path)
    for name in ("TMPDIR", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
        (tmp_path / name).mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    trim_conversation(run(10, 100_000), 50_000, model=MODEL)
    assert [path.name for path in tmp_path.rglob("*") if path.is_file() and "cache" not in path.parts] == []


def test_ten_thousand_messages_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Linear: no message is looked at more than a handful of times."""
    read = 0
    true = Log.full

    def counted(self: Log, entry: Any) -> Any:
        nonlocal read
        read += 1
        return true(self, entry)

    monkeypatch.setattr(Log, "full", counted)
    messages = run(2000, 3)
    trim_conversation(messages, estimate_tokens(messages, MODEL) // 2, model=MODEL)
    assert read < 6 * len(messages)


SNIPPET = """
from typing import Any, TypedDict, assert_type
import ctxkit

class Message(TypedDict):
    role: str
    content: str

held: list[Message] = [{"role": "user", "content": "hi"}]
loose: list[dict[str, Any]] = []
fitted = ctxkit.enforce_context_limit(held, model="gpt-4o", limit=8000, keep=3)
assert_type(fitted, ctxkit.Fitted[Message])
assert_type(fitted.messages, list[Message])
assert_type(fitted.cuts[0].reason, str)
assert_type((fitted.truncated, fitted.dropped_count, fitted.counter), tuple[bool, int, str])
assert_type(ctxkit.trim_conversation(loose, 100).messages, list[dict[str, Any]])
assert_type(ctxkit.trim_conversation("chat.jsonl", 100).messages, list[dict[str, Any]])
assert_type(ctxkit.summarize_context("chat.jsonl").messages, list[dict[str, Any]])
assert_type(ctxkit.summarize_context(loose, target="30%").summary, str | None)
ctxkit.summarize_context(held, tarket=30)  # E: no such option
assert_type(ctxkit.estimate_tokens(held, "gpt-4o", system="Be brief."), ctxkit.Tokens)
more: int = ctxkit.estimate_tokens(held) + 1
prompt = ctxkit.build_final_prompt(held, to="gemini", enforce=True, limit=8000)
assert_type(prompt, ctxkit.Prompt)
assert_type((prompt.body, prompt.within_budget, prompt.notes), tuple[dict[str, Any], bool | None, tuple[str, ...]])
ctxkit.build_final_prompt(held, to="gemni")  # E: no provider
fitted.messages = []  # E: frozen
ctxkit.trim_conversation(held, "100")  # E: no number
ctxkit.trim_conversation(held, 100, kep=1)  # E: no such option
ctxkit.trim_conversation([1, 2], 100)  # E: no messages
"""


PROVIDERS = """
from typing import assert_type
from anthropic.types import MessageParam, TextBlockParam
from google.genai.types import ContentDict
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputItemParam
import ctxkit

chat: list[ChatCompletionMessageParam] = [{"role": "user", "content": "hi"}]
items: list[ResponseInputItemParam] = [{"role": "user", "content": "hi"}]
messages: list[MessageParam] = [{"role": "user", "content": "hi"}]
system: list[TextBlockParam] = [{"type": "text", "text": "Be brief."}]
contents: list[ContentDict] = [{"role": "user", "parts": [{"text": "hi"}]}]
assert_type(ctxkit.trim_conversation(chat, 100).messages, list[ChatCompletionMessageParam])
assert_type(ctxkit.trim_conversation(items, 100).messages, list[ResponseInputItemParam])
assert_type(ctxkit.trim_conversation(messages, 100, system=system).messages, list[MessageParam])
assert_type(ctxkit.enforce_context_limit(contents, limit=100).messages, list[ContentDict])
ctxkit.estimate_tokens(["hi"])  # E: no messages
"""


@pytest.mark.full("runs mypy")
@pytest.mark.parametrize("snippet", [
    pytest.param(SNIPPET, id="ours"), *([pytest.param(PROVIDERS, id="providers")] if effort.WHOLE else [])
])  # fmt: skip
def test_types(tmp_path: Path, snippet: str) -> None:
    """A type checker knows what goes in and what comes out, of the providers' own types too: `py.typed` is there."""
    path = tmp_path / "snippet.py"
    path.write_text(snippet)
    call = [sys.executable, "-m", "mypy", "--strict", "--config-file", os.devnull, "--no-error-summary", str(path)]
    done = subprocess.run(call, capture_output=True, text=True, timeout=600, check=False, cwd=Path(__file__).parents[2])
    wrong = {n for n, line in enumerate(snippet.splitlines(), start=1) if "# E:" in line}
    found = {int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}
    assert found == wrong, done.stdout + done.stderr
