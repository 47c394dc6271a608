"""What is exported with --fit-images its provider takes: by a validator that shares no code with the table's reader."""

from __future__ import annotations

import io
import itertools
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxkit.api.log import Log
from ctxkit.core.derive.image_size import ImageLimits
from ctxkit.core.ops import Trim
from ctxkit.errors import CtxkitError, NothingToSend
from ctxkit.tokens import image_limits
from tests import pictures
from tests.shared import transcripts
from tests.validators import image_rules, prefixes

SMALL = pictures.block(pictures.png(10, 10))
CASES: dict[str, list[dict[str, Any]]] = {
    "22 of 2400 px": [pictures.block(pictures.png(2400, 2400))] * 22,
    "one of 9000 px": [SMALL, pictures.block(pictures.png(9000, 9)), SMALL],
    "one of 3000 px among 30": [SMALL] * 20 + [pictures.block(pictures.jpeg(30, 3000), "image/jpeg")] + [SMALL] * 9,
    "101": [SMALL] * 101,
    "40 MB": [pictures.block(pictures.png(10, 10, 3_000_000))] * 10,
    "one of 6 MB": [pictures.block(pictures.gif(10, 10) + bytes(4_500_000), "image/gif")],
}
LEFT = {
    "22 of 2400 px": 20,
    "one of 9000 px": 2,
    "one of 3000 px among 30": 29,
    "101": 100,
    "40 MB": 7,
    "one of 6 MB": 0,
}
"""How many stay."""
PROVIDERS = {"anthropic": "anthropic", "openai": "openai", "responses": "openai", "gemini": "gemini"}
SESSIONS = {"claude-code": "anthropic", "codex": "openai", "pi": "anthropic"}


def body(log: Log, to: str, **options: Any) -> Any:
    """What is exported to a provider, or the messages of a session file."""
    if to in PROVIDERS:
        (made,) = log.export(to, **options).values
        return made
    return image_rules.of_session(b"".join(log.session(to, **options).pieces).splitlines())


@pytest.mark.covering("case", "write")
@pytest.mark.parametrize("write", [pictures.chat, pictures.in_results])
@pytest.mark.parametrize("case", CASES)
def test_what_no_request_may_have(case: str, write: Any, tmp_path: Path) -> None:
    """Refused as it is, which `check` and the export say; taken with fit_images, which leaves out as few as will do."""
    log = Log.open(write(tmp_path / "log.jsonl", CASES[case]))
    made = log.export("anthropic")
    assert image_rules.faults(next(iter(made.values)), "anthropic")
    assert len(made.refused) == 1 and made.refused[0].startswith("anthropic would refuse the request for ")
    assert [one.code for one in log.check()] == ["refused-images"]
    fits = log.export("anthropic", fit_images=True)
    sent = next(iter(fits.values))
    assert image_rules.faults(sent, "anthropic") == [] and fits.refused == []
    assert len(list(image_rules.pictures_of(sent))) == LEFT[case]
    assert fits.repairs.left_out == {"image beyond what the provider takes": len(CASES[case]) - LEFT[case]}
    assert str(sent).count("[image left out]") == len(CASES[case]) - LEFT[case]
    assert not (tmp_path / "log.jsonl.ctxkit").exists() and len(log.ledger.entries) == 0


@pytest.mark.parametrize("to", SESSIONS)
@pytest.mark.parametrize("write", [pictures.chat, pictures.in_results])
def test_sessions(write: Any, to: str, tmp_path: Path) -> None:
    """A session file is judged by what its program would send; one of a log's own program keeps its rows and ids."""
    log = Log.open(write(tmp_path / "log.jsonl", CASES["22 of 2400 px"]))
    found = body(log, to, fit_images=True)
    kept = len(list(image_rules.pictures_of(found)))
    assert image_rules.faults(found, SESSIONS[to]) == []
    assert kept == (22 if to == "codex" else 20)
    if to == "claude-code" and write is pictures.in_results:
        rows = [row for row in (tmp_path / "log.jsonl").read_text().splitlines() if '"uuid"' in row]
        assert len(found) == len(rows)


def test_larger_window(tmp_path: Path) -> None:
    """A model with a larger window takes 600."""
    log = Log.open(pictures.chat(tmp_path / "log.jsonl", [SMALL] * 601, model="claude-opus-5-5"))
    assert image_rules.faults(body(log, "anthropic"), "anthropic", most=600)
    sent = body(log, "anthropic", fit_images=True)
    assert image_rules.faults(sent, "anthropic", most=600) == []
    assert len(list(image_rules.pictures_of(sent))) == 600
    sent = body(log, "anthropic", model="claude-haiku-4-5", fit_images=True)
    assert len(list(image_rules.pictures_of(sent))) == 100


def test_other_providers(tmp_path: Path) -> None:
    """OpenAI takes 500; a model of Anthropic's that is asked in OpenAI's words takes what Anthropic does."""
    shown = [pictures.link(pictures.png(9000, 10))] * 501
    log = Log.open(pictures.chat(tmp_path / "log.jsonl", shown, model="gpt-5"))
    for to in ("openai", "responses"):
        assert image_rules.faults(body(log, to), "openai")
        sent = body(log, to, fit_images=True)
        assert image_rules.faults(sent, "openai") == [] and len(list(image_rules.pictures_of(sent))) == 500
    sent = body(log, "openai", model="claude-sonnet-4-5", fit_images=True)
    assert image_rules.faults(sent, "anthropic") == []
    assert list(log.export("chat").values) and log.export("chat").refused == []


def test_what_is_beyond_pictures_is_said(tmp_path: Path) -> None:
    """A request that is too large for its words alone is refused, whatever pictures go."""
    path = pictures.chat(tmp_path / "log.jsonl", [SMALL, {"type": "text", "text": "x" * 33_000_000}])
    made = Log.open(path).export("anthropic", fit_images=True)
    assert [text for text in made.refused if "at most 32.0 MB" in text]
    assert not Log.open(pictures.chat(tmp_path / "other.jsonl", [SMALL])).export("anthropic").refused


def test_over_a_budget(tmp_path: Path) -> None:
    """What a trim left through which the log is looked at stays out."""
    log = Log.open(pictures.chat(tmp_path / "log.jsonl", CASES["22 of 2400 px"]))
    log.fit(30_000)
    assert log.fitted is not None and log.fitted.op
    before = len(log.names())
    made = log.export("anthropic", fit_images=True)
    assert image_rules.faults(next(iter(made.values)), "anthropic") == []
    assert before < 44 and len(log.names()) == before and made.count <= before


@pytest.mark.parametrize("tokens", [1_000_000, 20_000])
def test_trim(tokens: int, tmp_path: Path) -> None:
    """A trim leaves out what the provider does not take, too; what it says is what is there then; an undo takes it
    back.
    """
    path = pictures.in_results(tmp_path / "log.jsonl", CASES["22 of 2400 px"])
    log = Log.open(path)
    before = list(log.export("anthropic").values)
    op = log.trim(tokens)
    assert isinstance(op, Trim) and op.v == 2 and len(op.parts) == 2 and bool(op.stubs or op.ids) == (tokens < 30_000)
    assert "2 images left out, which the provider does not accept" in log.said
    log = Log.open(path)
    assert log.export("anthropic").refused == [] and log.check() == []
    assert image_rules.faults(body(log, "anthropic"), "anthropic") == []
    assert op.before is not None and op.after is not None and (op.after.tokens or 0) <= tokens
    assert log.status().tokens.used == op.after.tokens
    assert log.trim(tokens) is None
    log.undo()
    assert list(log.export("anthropic").values) == before
    op = log.trim(1_000_000, fit_images=False)
    assert op is None


OPS = (
    "log.forget('2-3')", "log.protect(1)", "log.compact(target=50, force=True)", "log.trim(2000)", "log.clear()",
    "log.forget(images=True, larger_than='100B')", "log.undo()", "log.recall('1-4')", "log.edit(log.draft())",
)  # fmt: skip
SAMPLES = int(os.environ.get("CTXKIT_SAMPLES", "1"))
"""Sequences of ops for each real file; `just images` takes all there are."""
TIGHT = ImageLimits("anthropic", side=300, most=1, request=32_000_000)


def sampled(path: Path, logs: int) -> Iterator[Log]:
    """A log after some sequences of ops, by its name."""
    seed = sum(path.name.encode())
    for sequence in itertools.islice(itertools.combinations(OPS, 2), seed % 7, None, 36 // logs):
        log = Log.open(path)
        for op in sequence:
            try:
                made = eval(op, {"log": _dry(log)})  # our own table
            except CtxkitError:
                continue
            if made is not None:
                log.look_through(made)
        yield log


def _dry(log: Log) -> Log:
    log.dry_run = True
    return log


def pictured() -> list[Path]:
    """The real files with pictures in messages."""
    kinds = ("claude-code", "claude-code-subagents", "codex", "copilot-cli", "pi", "openai-chat", "chatgpt-export")
    signs = re.compile(b'"type": ?"image"|"input_image"|"image_url"')
    return [path for path in transcripts(*kinds, under=8_000_000) if signs.search(path.read_bytes())]


def tighten(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on no provider takes more than TIGHT."""
    for name in ("ANTHROPIC", "LARGE_WINDOW", "OPENAI", "GEMINI"):
        monkeypatch.setattr(image_limits, name, TIGHT)


def test_thinking_behind_a_picture(tmp_path: Path) -> None:
    """A picture that is left out changes what stood before: thinking that is bound to it does not go out."""
    thought = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    for large in (True, False):
        shown = [pictures.block(pictures.png(9000 if large else 90, 9)), SMALL]
        path = pictures.in_results(tmp_path / f"{large}.jsonl", shown, model="claude-opus-5-5")
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        rows[3]["message"]["content"].insert(0, thought)
        raw = "".join(json.dumps(row) + "\n" for row in rows).encode()
        log = Log.open(io.BytesIO(raw), env={})
        assert len(prefixes.thoughts_of_body(body(log, "anthropic", keep_thinking=True))) == 1
        sent = body(log, "anthropic", fit_images=True, keep_thinking=True)
        assert prefixes.broken_in_body(sent, raw) == [] and len(prefixes.thoughts_of_body(sent)) == (not large)
        session = b"".join(log.session("claude-code", fit_images=True).pieces)
        assert prefixes.broken_in_session(session, prefixes.made(raw)) == ([], int(not large))


@pytest.mark.parametrize("path", pictured(), ids=lambda path: path.name)
def test_real_files(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every writer, after ops: one picture of at most 300 pixels is sent, where a provider takes no more."""
    tighten(monkeypatch)
    for log in sampled(path, SAMPLES):
        for to in (*PROVIDERS, *SESSIONS):
            try:
                sent = body(log, to, fit_images=True)
            except NothingToSend:
                continue
            if log.opening.format.name == to:  # its other branches stay in the file: what a request of it has, counts
                again = Log.open(io.BytesIO(b"".join(log.session(to, fit_images=True).pieces)), env={})
                sent = body(again, {"claude-code": "anthropic", "codex": "responses", "pi": "anthropic"}[to])
            assert image_rules.faults(sent, "anthropic", most=1, side=300) == [], to
