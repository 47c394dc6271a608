"""Trim on logs: what goes, why, what it costs, and that the context fits and stays whole."""

from __future__ import annotations

import copy
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest

from ctxkit import CtxkitError, enforce_context_limit, trim_conversation
from ctxkit.api.log import Log
from ctxkit.core.item_names import Names
from ctxkit.cut.trim import Trimming, TrimRequest
from ctxkit.cut.trim_plan import TrimRank
from ctxkit.errors import BadConfig, DoesNotFit, NoRefusal
from ctxkit.measure.count import Counting
from tests.cli.runner import good, lines
from tests.effort import some
from tests.shared import SHARED, transcripts

SESSIONS = transcripts("claude-code", "codex", "pi", "mini-swe-agent", under=1_500_000)
REAL = [
    path
    for folder in ("claude-code", "codex", "pi", "mini-swe-agent", "swe-agent")
    for path in sorted((SHARED / "transcripts" / folder).iterdir())[:4]
    if path.stat().st_size < 3_000_000
] if (SHARED / "transcripts").is_dir() else []  # fmt: skip


def step(n: int, tool: str, arguments: dict[str, Any], result: str) -> list[dict[str, Any]]:
    call = {"id": f"c{n}", "type": "function", "function": {"name": tool, "arguments": json.dumps(arguments)}}
    return [{"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{n}", "content": result}]  # fmt: skip


def run(steps: int = 20, words: int = 400) -> bytes:
    """One user message and many steps, as an agent leaves it."""
    rows: list[dict[str, Any]] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Mend it."}]
    for n in range(steps):
        rows += step(n, "bash", {"command": f"make {n}"}, f"result {n} " * words)
    return lines(*rows)


def opened(raw: bytes) -> Log:
    return Log.open(io.BytesIO(raw), env={})


def size(log: Log) -> int:
    return Counting(log).of(log.names())


def test_a_run_with_one_user_message_is_cut_at_steps() -> None:
    """Results are shortened, then the oldest steps go, whole; the task stays."""
    log = opened(run())
    before = size(log)
    log.trim(before // 10)
    kept = log.names()
    assert size(log) <= before // 10 and kept[:2] == [1, 2] and kept[-1] == 42
    assert all(n + 1 in kept for n in kept if isinstance(n, int) and n > 2 and n % 2)
    log.undo()
    assert size(log) == before and len(log.names()) == 42


def test_stale_results_keep_head_and_tail_and_say_why() -> None:
    """The newest three stay whole."""
    log = opened(run())
    log.trim(size(log) - 500)
    op = log.ledger.entries[-1].body
    assert op["ids"] == "" and set(op["reasons"].values()) == {"stale result"}
    first = op["stubs"]["4"]
    assert (
        first.startswith("result 0 result 0") and first.rstrip().endswith("result 0") and "characters were cut" in first
    )
    assert not {"38", "40", "42"} & op["stubs"].keys()


def test_superseded_reads_go_first() -> None:
    """Whatever their age; the newest read of a file stays."""
    rows: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
    rows += step(0, "bash", {"command": "make"}, "old " * 900)
    for n in range(1, 8):
        rows += step(n, "Read", {"file_path": "a.py" if n in (1, 4) else f"{n}.py"}, f"text {n} " * 900)
    log = opened(lines(*rows))
    log.trim(size(log) - 100)
    assert log.ledger.entries[-1].body["reasons"] == {"5": "superseded by message 10"}


def test_files_being_edited_stay_longest() -> None:
    """Their newest step outlives newer ones."""
    rows: list[dict[str, Any]] = [{"role": "user", "content": "Go."}]
    rows += step(0, "Edit", {"file_path": "a.py", "old_string": "x"}, "done " * 300)
    for n in range(1, 9):
        rows += step(n, "bash", {"command": "make"}, f"text {n} " * 300)
    log = opened(lines(*rows))
    log.trim(900)
    assert {2, 3} <= set(log.names()) and 4 not in log.names()


@pytest.mark.parametrize(
    ("asked", "kept"),
    [({"exclude_tools": ["bash"]}, "dropped"), ({"keep_results": 0}, "40"), ({"clear_at_least": 5000}, "10")],
)
def test_what_can_be_asked(asked: dict[str, Any], kept: str) -> None:
    """Tools whose results stay whole, how many stay, how much is saved at least."""
    log = opened(run())
    log.trim(size(log) - (500 if kept != "40" else size(log) - 2500), **asked)
    op = log.ledger.entries[-1].body
    if kept == "dropped":
        assert "stubs" not in op and op["ids"]
    else:
        assert kept in op["stubs"] or kept in op["ids"]


def test_what_fits_appends_nothing() -> None:
    """And says so."""
    log = opened(run())
    assert log.trim(10**6) is None and "it fits" in log.said


def test_what_cannot_fit() -> None:
    """Protected messages are never given up."""
    log = opened(run())
    log.protect("3-30")
    words = (
        "never drops the system prompt .9 tokens., the first message .10 tokens., "
        "protected messages .21,560 tokens.: nothing"
    )
    with pytest.raises(DoesNotFit, match=words):
        log.trim(500)
    with pytest.raises(BadConfig, match="no limit is known"):
        log.trim()


def test_a_refusal_gives_the_figures() -> None:
    """The true size, and the limit; less the reserve."""
    log = opened(run())
    log.trim(overflow="prompt is too long: 21034 tokens > 20000 maximum")
    op = log.ledger.entries[-1].body
    assert op["budget"] == 20_000 - 4096 and "21,034" in op["counter"]
    with pytest.raises(NoRefusal, match="not a provider's error about"):
        opened(run()).trim(overflow="it rains")


@pytest.mark.parametrize(
    ("text", "budget", "counter"),
    [
        ("maximum context length is 20000 tokens. However, you requested 27000 tokens (19000 in the messages, 8000 in "
         "the completion).", 12_000, "the provider's count, 19,000 tokens"),
        ("maximum context length is 20000 tokens. However, you requested 20500 tokens (19500 in the messages, 1000 in "
         "the completion).", 15_904, "the provider's count, 19,500 tokens"),
        ("Your input exceeds the context window of this model.", 90_000 - 4096, "at least 90,001 tokens"),
        ("too many tokens: size limit exceeded by 326 tokens.", 90_000 - 4096, "at least 90,326 tokens"),
        ("This model's maximum context length is 70000 tokens.", 70_000 - 4096, "at least 70,001 tokens"),
    ],
)  # fmt: skip
def test_refusals(text: str, budget: int, counter: str) -> None:
    """The reply that was asked for has its room; what was refused without figures is above the limit."""
    log = opened(run())
    log.config.set_flags({"limit": "90000"})
    log.trim(overflow=text)
    op = log.ledger.entries[-1].body
    assert op["budget"] == budget and op["counter"].startswith(counter) and op["after"]["tokens"] <= budget


def test_a_reply_that_leaves_nothing() -> None:
    """No trim helps: what was asked for is to be less."""
    told = "context length is 8192 tokens, you requested 9000 tokens (808 in the messages, 8192 in the completion)"
    with pytest.raises(DoesNotFit, match="a reply of 8,192 tokens was asked for, which leaves nothing of 8,192"):
        opened(run()).trim(overflow=told)


@pytest.mark.parametrize("overflow", [None, "prompt is too long: 61040 tokens > 60000 maximum"])
def test_what_it_costs_in_cached_prefix(overflow: str | None) -> None:
    """All that the next request has from the first change on, in the figures of the trim."""
    log = opened(run())
    before = log.status().tokens.used or 0
    log.trim(None if overflow else before // 2, overflow=overflow)
    op = log.ledger.entries[-1].body
    changed = {*map(int, op["stubs"]), *Names.parse(op.get("ids", "")).numbers}
    scale = 61040 / before if overflow else 1
    now = dict(zip(log.names(), Counting(log).counted(log.names()), strict=True))
    lost = scale * sum(size for n, size in now.items() if n >= min(changed))
    words = r"prompt cache: valid before message (\d+); the next request sends ([\d,]+) tokens uncached"
    told = re.fullmatch(words, log.notes[-1])
    assert told is not None and int(told[1]) == min(changed) and abs(int(told[2].replace(",", "")) - lost) <= len(now)


WRITTEN = lines(
    {"role": "user", "content": "Write the report to a.md."},
    *step(1, "Read", {"file_path": "b"}, "I read b: the port is 8080."),
    *step(2, "Write", {"file_path": "a.md", "content": "why port 8080 is better " * 1500}, "ok"),
    {"role": "assistant", "content": "Done: a.md says why port 8080 was chosen."},
    {"role": "user", "content": "And which port was it?"},
)  # fmt: skip
"""A file that was written and is larger than what is asked for."""


def fitted(way: str, budget: int, path: Path) -> list[Any]:
    """What a model is sent of WRITTEN, cut in one of the ways that there are."""
    path.write_bytes(WRITTEN)
    env = {"CTXKIT_LIMIT": str(budget), "CTXKIT_RESERVE": "0", "CTXKIT_BUDGET_ENFORCE": "true"}
    log = Log.open(path, env=env if way == "budget.enforce" else {})
    if way in ("trim_conversation", "enforce_context_limit"):
        messages = [json.loads(line) for line in WRITTEN.splitlines()]
        limit = {"limit": budget, "reserve": 0}
        cut = trim_conversation(messages, budget) if way[0] == "t" else enforce_context_limit(messages, **limit)
        return list(cut.messages)
    if way == "trim":
        log.trim(budget)
    elif way == "fit":
        log.fit(budget)
    else:
        log.enforce()
    return list(log.export("chat").values)


@pytest.mark.parametrize("way", ["trim", "fit", "trim_conversation", "enforce_context_limit", "budget.enforce"])
@pytest.mark.parametrize("budget", [300, 1000, 2000, 4000])
def test_what_is_too_large_takes_nothing_along(way: str, budget: int, tmp_path: Path) -> None:
    """The file that was written says less; what was read, the answer and the question stay, and the room is used."""
    found = fitted(way, budget, tmp_path / "chat.jsonl")
    assert [one["role"] for one in found] == ["user", "assistant", "tool", "assistant", "tool", "assistant", "user"]
    assert "8080 was chosen" in found[5]["content"] and "the port is 8080" in found[2]["content"]
    said = json.loads(found[3]["tool_calls"][0]["function"]["arguments"])["content"]
    assert said.startswith("why port") and "[large input: " in said and said.endswith("is better ")
    assert 0.9 * budget <= size(opened(lines(*found))) <= budget


def test_the_last_answer_stays() -> None:
    """Whatever is larger than the room, and wherever it stands: a summary, a file that is edited, the newest result."""
    task, answer = {"role": "user", "content": "And now?"}, {"role": "assistant", "content": "It is 8080, as b says."}
    big = step(3, "Read", {"file_path": "c.md"}, "line of c\n" * 2000)
    edit = step(4, "Edit", {"file_path": "c.md", "old_string": "line\n" * 900, "new_string": "x\n" * 900}, "ok")
    for rows in ([*big, *edit, answer, task], [answer, task, *big], [*big, answer, *edit, task], [answer, *edit, *big]):
        log = opened(lines({"role": "user", "content": "Go."}, *rows))
        log.trim(600)
        texts = [one["content"] for one in log.export("chat").values]
        assert answer["content"] in texts and 540 <= size(log) <= 600


FIRST = "Mend what this log tells:\n" + "".join(f"error {n} in line {n * 7}\n" for n in range(3000))


def first(*, steps: int = 5) -> list[dict[str, Any]]:
    """A long first message with a picture, and what came then."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    rows: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": FIRST}, picture]}]
    for n in range(steps):
        rows += step(n, "bash", {"command": f"make {n}"}, f"result {n} " * 100)
    return [*rows, {"role": "assistant", "content": "Done."}, {"role": "user", "content": "And the rest?"}]


def test_a_long_first_message_says_less() -> None:
    """Above 2,000 tokens it keeps its place, its start and its end; its picture stays; undo brings it back."""
    log = opened(lines(*first()))
    whole = size(log)
    log.trim(5000)
    op = log.ledger.entries[-1].body
    assert op["reasons"]["1"] == "long first message" and op.get("ids", "") == ""
    text, picture = op["stubs"]["1"]
    assert text["text"].startswith("Mend what") and text["text"].endswith("20993\n") and "[long first" in text["text"]
    assert picture["type"] == "image_url" and 4500 <= size(log) <= 5000
    log.undo()
    assert size(log) == whole


def test_a_first_message_keeps_2000_tokens() -> None:
    """No less: where that is too much, nothing fits."""
    log = opened(lines(*first()))
    log.fit(2400)
    sizes = dict(zip(log.names(), Counting(log).counted(log.names()), strict=True))
    assert 2000 <= sizes[1] <= 2400
    with pytest.raises(
        DoesNotFit, match=r"the first message \((2,\d+|1,99\d) tokens when shortened\), the current task \(\d"
    ):
        opened(lines(*first())).fit(1500)


def test_a_first_message_that_a_person_protected_stays_whole() -> None:
    """Protection by hand is for its length, too; so is a short one."""
    log = opened(lines(*first()))
    log.protect("1")
    with pytest.raises(DoesNotFit):
        log.fit(5000)
    log = opened(lines({"role": "user", "content": FIRST[:4000]}, *first()[1:]))
    log.trim(size(log) // 2)
    assert "1" not in log.ledger.entries[-1].body["reasons"]


@pytest.mark.parametrize("form", ["openai", "anthropic", "gemini", "responses"])
def test_a_long_first_message_of_a_list(form: str) -> None:
    """In the form that it has."""
    part = {"gemini": {"text": FIRST}, "responses": {"type": "input_text", "text": FIRST}}
    key = "parts" if form == "gemini" else "content"
    said = {"openai": FIRST, "anthropic": [{"type": "text", "text": FIRST}]}.get(form, [part.get(form)])
    messages: list[dict[str, Any]] = [
        {"role": "user", key: said}, {"role": "user", key: [part[form]] if form in part else "And the rest?"},
    ]  # fmt: skip
    if form in part:
        messages[1][key] = [{**part[form], "text": "And the rest?"}]
    found = trim_conversation(messages, 5000, model="gpt-4o")
    assert found.stubbed_count == 1 and found.dropped_count == 0 and 4500 <= found.token_count <= 5000
    assert "[long first message: " in json.dumps(found.messages[0]) and found.messages[1] is messages[1]
    assert found.messages[0].keys() == messages[0].keys()
    assert type(found.messages[0][key]) is type(messages[0][key])


def test_what_is_sent_besides_takes_most_of_the_room() -> None:
    """That is said, with what is left; where there is enough of it, nothing is."""
    log = opened(run())
    log.config.set_flags({"overhead": "5000"})
    log.trim(8000)
    told = "system prompt, tools and what else is sent with the messages take 5,009 of 8,000 tokens"
    assert f"{told}: 2,991 are left for messages" in log.notes
    log = opened(run())
    log.config.set_flags({"overhead": "1000"})
    log.trim(8000)
    assert not any("are left for messages" in note for note in log.notes)


def test_fit_is_a_look() -> None:
    """The context of this object alone; nothing is appended."""
    log = opened(run())
    before = len(log.ledger.entries)
    log.fit(2000)
    assert size(log) <= 2000 and len(log.ledger.entries) == before


@pytest.mark.skipif(not REAL, reason="the shared transcripts are not here")
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.name)
def test_real_sessions(path: Path) -> None:
    """At many budgets: it fits by the same counter, no pair is broken, or what is protected is too large alone."""
    whole = Log.open(path, conversation=1 if path.suffix in (".json", ".traj") else None)
    unpaired = whole.export("openai", model="gpt-4o").repairs.dropped
    for share in (0.9, 0.5, 0.2, 0.05):
        log = Log.open(path, conversation=1 if path.suffix in (".json", ".traj") else None)
        log.config.set_flags({"model": "gpt-4o"})  # no usage: the figures are the counter's alone
        budget = int(size(log) * share)
        try:
            log.fit(budget)
        except DoesNotFit:
            units = Trimming(log, TrimRequest(budget)).units
            assert sum(unit.tokens for unit in units if unit.rank >= TrimRank.TASK) > budget
            continue
        assert size(log) <= budget
        exported = log.export("openai", model="gpt-4o")
        assert exported.repairs.dropped <= unpaired


@pytest.mark.skipif(not SESSIONS, reason="the shared transcripts are not here")
@pytest.mark.parametrize("path", some(SESSIONS, 2), ids=lambda path: path.name)
def test_status_agrees_on_real_sessions(path: Path, tmp_path: Path) -> None:
    """By the provider's count and the session's own calibration, with all that is sent besides: right after a trim
    `status` shows no more than its budget, and what the trim said.
    """
    chosen = 1 if path.suffix in (".json", ".traj") else None
    env = {"CTXKIT_OVERHEAD": "700", "CTXKIT_ASSEMBLY_SYSTEM": "Be brief. " * 50}
    used = Log.open(path, conversation=chosen, env=env).status().tokens.used or 0
    for share in (0.97, 0.7, 0.4, 0.1):
        log = Log.open(path, conversation=chosen, env=env)
        try:
            log.fit(int(used * share))
        except DoesNotFit:
            continue
        figures = log.figures  # those of the trim
        after = log.status().tokens.used
        assert after is not None and figures is not None
        assert figures.before == used and figures.after == after <= int(used * share)


def test_the_status_of_threads_may_grow(tmp_path: Path) -> None:
    """It quotes the last words of a user that are in the context: where a trim makes others the last, these count."""
    rows = [{"role": "user", "content": "long words " * 20, "thread": "a"}]
    for n in range(12):
        rows += [{"role": "assistant", "content": f"answer {n} " * 10, "thread": "ab"[n > 2]}]
        rows += [{"role": "user", "content": "ok", "thread": "ab"[n > 2]}]
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(*rows))
    used = Log.open(path, env={}).status().tokens.used or 0
    fitted = 0
    for budget in range(used // 8, used, 3):
        log = Log.open(path, env={})
        try:
            log.fit(budget)
        except DoesNotFit:
            continue
        told, now = log.figures, log.status().tokens.used
        assert now is not None and now <= budget and told is not None and told.after == now
        fitted += 1
    assert fitted > 20


def test_what_slides_into_a_window_of_messages_fits_too(tmp_path: Path) -> None:
    """`window.messages` shows the newest N of what is left: for what leaves, older ones come in, and have to fit."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(run(steps=40, words=60))
    fitted = 0
    for newest in (4, 9, 20):
        env = {"CTXKIT_WINDOW_MESSAGES": str(newest)}
        used = Log.open(path, env=env).status().tokens.used or 0
        for share in (0.99, 0.8, 0.5, 0.3):
            log = Log.open(path, env=env)
            log.fit(int(used * share))
            told, now = log.figures, log.status().tokens.used
            assert told is not None and now is not None and now <= used * share
            assert (told.before, told.after) == (used, now)
            assert told.messages - told.dropped + told.came == len(log.names())
            fitted += 1
        log = Log.open(path, env=env)
        log.fit(used)
        assert len(log.names()) >= newest  # what is hidden does not count where it fits as it is
    assert fitted == 12


def condensed(path: Path) -> Log:
    """A session of one request and 60 small exchanges, of which all but the newest six are in a summary."""
    rows = [{"role": "system", "content": "You mend programs."}, {"role": "user", "content": "Make it add up."}]
    rows.append({"role": "assistant", "content": "I go through it file by file."})
    for n in range(60):
        rows.append({"role": "user", "content": f"Step {n}: please change file{n}.py so that the total is {3 * n}."})
        rows.append({"role": "assistant", "content": f"file{n}.py: " + " ".join(f"word{n}x{k % 9}" for k in range(20))})
    path.write_bytes(lines(*rows))
    log = Log.open(path, env={"CTXKIT_MODEL": "gpt-4o"})
    log.compact(target=50, keep_last=6)
    return log


def summaries(log: Log) -> list[str]:
    """The words of each summary in the context."""
    items = log.state().board.items
    return [log.text(name) for name in log.names() if not isinstance(name, int) and items[name].summary]


@pytest.mark.parametrize("less", [50, 200, 0.1, 0.25, 0.5, 0.75])
def test_a_summary_is_shortened_before_it_is_dropped(less: float, tmp_path: Path) -> None:
    """Line by line, in turn with the oldest steps; a replay shows the same, and undo brings all of it back."""
    log = condensed(tmp_path / "chat.jsonl")
    whole, [text] = size(log), summaries(log)
    budget = whole - less if isinstance(less, int) else int(whole * (1 - less))
    looked = Log.open(tmp_path / "chat.jsonl", env={"CTXKIT_MODEL": "gpt-4o"})
    looked.fit(budget)
    log.trim(budget)
    [brief] = summaries(log)
    assert summaries(looked) == [brief] and 0.9 * budget <= size(log) <= budget
    assert brief == text or (brief.startswith(text.split("\n\n")[0]) and len(brief) < len(text))
    before, after = len(text) / whole, len(brief) / budget
    assert after == pytest.approx(before, rel=0.25) or log.names()[-2:] == [122, 123]
    assert summaries(Log.open(tmp_path / "chat.jsonl")) == [brief]
    log.undo()
    assert size(log) == whole and summaries(log) == [text]


def test_a_shortened_summary_can_be_shortened_again_and_come_back(tmp_path: Path) -> None:
    """`why` says what shortened it and what brings it back; a forget of what it tells does not leave it in the text."""
    path = tmp_path / "chat.jsonl"
    log = condensed(path)
    [text] = summaries(log)
    for share in (0.8, 0.5, 0.3):
        log.trim(int(size(log) * share))
    [brief] = summaries(log)
    [name] = [name for name in log.names() if not isinstance(name, int)]
    why = good("why", path, "1.1").text
    assert "without its least useful lines" in why and "recall" in why
    told = int(re.findall(r"#(\d+) user: Step", brief)[0])
    log.forget([told])
    assert f"#{told} user" not in summaries(log)[0]
    log.undo()
    assert summaries(log) == [brief]
    log.recall([name])
    assert summaries(log) == [text]


@pytest.mark.parametrize("share", [0.9, 0.6, 0.3])
def test_a_forget_in_a_summary_makes_no_context_larger(share: float, tmp_path: Path) -> None:
    """However short a trim made the summary: what is told without the message has at most as many tokens."""
    log = condensed(tmp_path / "chat.jsonl")
    log.trim(int(size(log) * share))
    for n in range(3, 112, 18):
        before = size(log)
        log.forget([n])
        assert size(log) <= before and len(summaries(log)) == 1


@pytest.mark.parametrize("share", [0.9, 0.6, 0.3])
def test_an_undo_of_the_trim_gives_the_summary_without_the_message(share: float, tmp_path: Path) -> None:
    """As long as if it had never been shortened; a redo makes it as short as it was."""
    paths = tmp_path / "chat.jsonl", tmp_path / "other.jsonl"
    log, other = map(condensed, paths)
    trimmed = log.trim(int(size(log) * share))
    log.forget([3])
    short = summaries(log)
    assert trimmed is not None
    log.undo(trimmed.id)
    [whole], [now] = summaries(log), short
    assert len(now) < len(whole)
    if not trimmed.ids:  # type: ignore[attr-defined]
        other.forget([3])
        assert [whole] == summaries(other)
    assert [*map(summaries, map(opened, (path.read_bytes() for path in paths[:1])))] == [[whole]]
    log.redo()
    assert summaries(log) == short


@pytest.mark.slow
@pytest.mark.one_in(8)
@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.name)
def test_a_budget_below_the_size_keeps_the_memory(path: Path) -> None:
    """Of real sessions after a compact: the summary stays, and the room is used, or what cannot be cut is named."""
    log = Log.open(io.BytesIO(path.read_bytes()), env={"CTXKIT_MODEL": "gpt-4o"})
    try:
        log.compact(target="30%")
    except CtxkitError:
        pytest.skip("there is nothing to summarize")
    raw, whole = log.opening.source, size(log)
    if not summaries(log):
        pytest.skip("no summary was made")
    for share in (0.98, 0.9, 0.75):
        seen = copy.copy(log)
        try:
            seen.fit(budget := int(whole * share))
        except DoesNotFit:
            continue
        assert summaries(seen) or whole < 2000
        assert size(seen) <= budget and seen.fitted is not None
        assert 0.9 * budget <= size(seen) or any("no more fits of" in words for words in seen.fitted.said)
    assert log.opening.source is raw


def test_what_cannot_be_cut_is_named() -> None:
    """A long text is cut before the room stays empty; what cannot be cut leaves whole, and a note names it."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
    said = {"type": "text", "text": "So much was said of it. " * 400}
    for content, shortened in (([said], True), ([said, picture], False)):
        log = opened(lines(
            {"role": "user", "content": "Go."}, {"role": "assistant", "content": "Yes."},
            {"role": "user", "content": content}, {"role": "assistant", "content": "Fine."},
            {"role": "user", "content": "And now?"},
        ))  # fmt: skip
        log.trim(1000)
        assert (size(log) >= 900) == shortened == (3 in log.names())
        named = [note for note in log.notes if "are not used" in note]
        assert [re.search(r"no more fits of (\S+) ", note)[1] for note in named] == ([] if shortened else ["3"])  # type: ignore[index]


def test_a_summary_of_a_program_that_leaves_is_named() -> None:
    """As one of ours is: what it told is no longer in the context in any form."""
    told = "This session is being continued from a previous conversation, in which so much was said "
    log = opened(lines(
        {"role": "user", "content": "Go."}, {"role": "assistant", "content": "Yes."},
        {"role": "user", "content": told + "again" * 90}, {"role": "assistant", "content": "Fine."},
        {"role": "user", "content": "And now? " * 20},
    ))  # fmt: skip
    log.trim(95)
    assert 3 not in log.names()
    assert "dropped: the summary 3; `ctxkit recall LOG 3 --apply` brings it back" in log.notes
