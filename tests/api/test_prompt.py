"""What would be sent: from a log, from a list; the body that `export` prints, and what it comes to."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from ctxkit import (
    BadConfig,
    BadMessage,
    BadTools,
    DoesNotFit,
    Log,
    NothingToSend,
    Prompt,
    build_final_prompt,
    estimate_tokens,
)
from ctxkit.api.prompt import To
from ctxkit.errors import UnknownOp, Usage
from ctxkit.formats.targets import TARGETS
from tests.api.test_fit import FORMS, MODEL, body_of, refused, run
from tests.cli.runner import SMALL, good, lines, message, small

ALL: tuple[To, ...] = get_args(To)
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}


@pytest.mark.parametrize("to", ALL)
def test_it_is_what_export_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: To) -> None:
    """With what the config puts around it, trimmed where the config says so; the log is never changed."""
    path = small(tmp_path)
    monkeypatch.setenv("CTXKIT_ASSEMBLY_SYSTEM", "Be brief. " * 5)
    monkeypatch.setenv("CTXKIT_RESERVE", str(128_000 - 80))
    for enforce in ("false", "true"):
        monkeypatch.setenv("CTXKIT_BUDGET_ENFORCE", enforce)
        printed = good("export", path, "--to", to, "--model", MODEL)
        log = Log.open(path)
        found = build_final_prompt(log, to=to, model=MODEL)
        values = found.messages if to == "chat" else [found.body]
        assert values == printed.values and found.messages is found.body[TARGETS[to].key]
        assert (found.truncated, bool(found.dropped_count)) == (enforce == "true", enforce == "true")
        assert (
            any("to fit 80 (budget.enforce, CTXKIT_BUDGET_ENFORCE)" in note for note in found.notes) == found.truncated
        )
        assert (
            found
            == build_final_prompt(path, to=to, model=MODEL)
            == build_final_prompt(io.BytesIO(SMALL), to=to, model=MODEL)
        )
        assert log.fitted is None and len(log.names()) == 11
    assert path.read_bytes() == SMALL


@pytest.mark.parametrize("to", sorted(FORMS))
@pytest.mark.parametrize("form", sorted(FORMS))
def test_a_list_of_any_form_for_any_provider(form: str, to: Any) -> None:
    """Valid, within the budget, and counted as it is sent."""
    body = body_of(run(), form)
    key, apart, _ = FORMS[form]
    system = body.get(apart)
    whole = build_final_prompt(body[key], to=to, model=MODEL, system=system)
    assert (whole.within_budget, whole.truncated, whole.notes[:1]) == (True, False, whole.notes[:1])
    found = build_final_prompt(body[key], to=to, model=MODEL, system=system, limit=5000, reserve=1000, enforce=True)
    assert (found.budget, found.within_budget, found.truncated, found.to) == (4000, True, True, to)
    assert 0 < found.token_count <= 4000 < whole.token_count
    assert any(f"→ {found.token_count:,} tokens, {found.counter})" in note for note in found.notes)
    assert not refused(to, found.body) and len(found.messages) <= len(whole.messages)
    given = {"limit": 5000, "reserve": 1000}
    assert build_final_prompt(body[key], given, to=to, model=MODEL, system=system) == found
    with pytest.raises(DoesNotFit, match="do not fit into 4,000"):
        build_final_prompt(body[key], to=to, model=MODEL, system=system, enforce=False, **given)


def test_what_counts() -> None:
    """All that is sent: messages, system prompt, tools, overhead; nothing of it twice."""
    rows = [{"role": "user", "content": "hi"}]
    plain = build_final_prompt(rows, model=MODEL)
    assert plain.token_count == estimate_tokens(rows, MODEL) and plain.counter == "o200k_base"
    with_all = build_final_prompt(rows, model=MODEL, system="Be brief.", tools=[TOOL], overhead=50)
    assert with_all.token_count == estimate_tokens(rows, MODEL, system="Be brief.", tools=[TOOL], overhead=50)
    assert with_all.token_count > plain.token_count + 60
    assert [one["role"] for one in with_all.messages] == ["system", "user"]
    unknown = build_final_prompt(rows)
    assert (unknown.within_budget, unknown.budget, unknown.limit, unknown.reserve) == (None, None, None, 4096)


def test_a_log_has_windows_and_threads() -> None:
    """As `export` has them; a system prompt goes before its own."""
    rows = lines(message("user", "old", 1, thread="a"), message("user", "new", 9, thread="b"))
    log = Log.open(io.BytesIO(rows), env={"CTXKIT_WINDOW_MESSAGES": "1"})
    found = build_final_prompt(log, system="Be brief.")
    assert [one["content"] for one in found.messages] == ["Be brief.", "new"]
    log = Log.open(io.BytesIO(rows), env={})
    told = json.dumps(build_final_prompt(log, status="Hurry.").messages)
    assert "Threads: 2 active" in told and "Hurry." in told
    assert "Threads" not in json.dumps(build_final_prompt(log, assembly=False).messages)
    log.lens_thread = "a"
    assert [one["content"] for one in build_final_prompt(log, to="chat").messages] == ["old"]


@pytest.mark.parametrize("limit", [350, 700, 1500, 5000, 20_000])
@pytest.mark.parametrize("enforce", [None, False, True])
def test_a_limit_that_was_given_is_kept(limit: int, enforce: bool | None) -> None:
    """Whoever gives it, as an argument or in `config`: what does not fit is never returned."""
    rows = run()
    for given in ({"limit": limit, "reserve": 300}, {"config": {"limit": limit, "reserve": 300}}):
        try:
            found = build_final_prompt(rows, model=MODEL, enforce=enforce, **given)
        except DoesNotFit:
            assert enforce is False or limit == 350
            continue
        assert found.within_budget and estimate_tokens(found.messages, MODEL) <= limit - 300 == found.budget


def test_settings_as_one_mapping() -> None:
    """By position, as keys of a config file; an argument goes before."""
    found = build_final_prompt(run(), {"limit": 5000, "reserve": 1000, "model": "gpt-4"}, model=MODEL)
    assert (found.budget, found.counter) == (4000, "o200k_base")
    assert build_final_prompt(run(), {"limit": 5000}, limit=6000).limit == 6000


def test_what_was_mended_is_noted() -> None:
    """A call without its result, as on stderr."""
    rows = run(1)[:-1]
    assert "1 call without a result: answered by one that says so" in build_final_prompt(rows, model=MODEL).notes


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [
        (lambda: build_final_prompt([]), NothingToSend, "the list has no messages"),
        (lambda: build_final_prompt(run(), enforce=True), BadConfig, "no limit is known"),
        (lambda: build_final_prompt(run(), enforce=True, limit=10, reserve=0), DoesNotFit, "do not fit into 10"),
        (lambda: build_final_prompt(run(), tools=[{"x": 1}]), BadTools, "has no name"),
        (lambda: build_final_prompt(run(), {"limits": 5}), Usage, "limits"),
        (lambda: build_final_prompt(run(), [5]), Usage, "a list, not a mapping"),  # type: ignore[arg-type]
        (lambda: build_final_prompt(run(), overhead=-1), Usage, "overhead must be at least 0"),
        (lambda: build_final_prompt([{"x": 1}]), BadMessage, "messages[0]"),
        (lambda: build_final_prompt(run(), statsu="x"), TypeError, "statsu"),  # type: ignore[call-arg]
        (
            lambda: build_final_prompt(io.BytesIO(lines(message("user", "a"), {"ctxkit": "new", "v": 1, "id": "x"}))),
            UnknownOp,
            "not known",
        ),
    ],
)
def test_refusals(call: Callable[[], Prompt], kind: type[Exception], says: str) -> None:
    """Typed, and in words."""
    with pytest.raises(kind, match=says.replace("[", r"\[")):
        call()
