"""A model is asked, on a server that answers what providers answer, and worse.

litellm itself is asked by the tests with the mark `full`, and by all with `pytest --real-litellm`; else a stand-in.
"""

from __future__ import annotations

import io
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from ctxkit.core.messages import Call, Content
from ctxkit.core.text.redactor import SECRET_NAME
from ctxkit.errors import ExitCode, ModelFailed
from ctxkit.llm import client
from ctxkit.llm.client import Answer, PendingRequest, ask
from tests import which_litellm
from tests.stub import KEY, Says, Script, Stub, asked, pointed, stub

OPENAI, ANTHROPIC = "openai/gpt-4o-mini", "anthropic/claude-sonnet-4-5"
TOO_LONG = {
    OPENAI: Says(
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.", 400,
        type="invalid_request_error", code="context_length_exceeded",
    ),
    ANTHROPIC: Says("prompt is too long: 210345 tokens > 200000 maximum", 400, type="invalid_request_error"),
}  # fmt: skip
MESSAGES = [{"role": "system", "content": "Say it in short."}, {"role": "user", "content": "CANARY of the transcript"}]

both = pytest.mark.parametrize("model", [OPENAI, ANTHROPIC])


@pytest.fixture
def litellm() -> Iterator[None]:
    """litellm itself instead of its stand-in."""
    with which_litellm.real():
        client._litellm()
        yield


@pytest.fixture(autouse=True)
def silence(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Whatever happens: not a word on stdout or stderr."""
    yield
    assert capfd.readouterr() == ("", "")


def tried(monkeypatch: pytest.MonkeyPatch, model: str, *answers: Script, **options: Any) -> tuple[Answer, Stub]:
    """What is answered, without waiting between two tries."""
    with stub(*answers) as made:
        pointed(made, monkeypatch)
        deadline = time.monotonic() + options.pop("seconds", 50)
        options.setdefault("sleep", lambda _: None)
        return ask(model, options.pop("messages", MESSAGES), deadline=deadline, **options), made


def failed(monkeypatch: pytest.MonkeyPatch, model: str, *answers: Script, **options: Any) -> tuple[ModelFailed, int]:
    """What it raises, and how often it asked: exit 69, no word of what was sent, of the key, or of the provider's."""
    with stub(*answers) as made:
        pointed(made, monkeypatch)
        with pytest.raises(ModelFailed) as caught:
            deadline = time.monotonic() + options.pop("seconds", 50)
            ask(model, MESSAGES, deadline=deadline, **{"sleep": lambda _: None, **options})
        found: BaseException | None = caught.value
        while found is not None:
            for word in ("CANARY", KEY, "BOOM", made.host):
                assert word not in repr(found) and word not in str(getattr(found, "hint", ""))
            found = found.__cause__ or found.__context__
        assert caught.value.code == ExitCode.PROVIDER == 69
        return caught.value, len(made.requests)


@both
def test_good(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    """The answer's text; what is sent was announced before it left, with its size, and holds the caller's words."""
    seen: list[tuple[PendingRequest, int]] = []
    with stub(Says("We fixed it.")) as made:
        pointed(made, monkeypatch)
        found = ask(
            model, MESSAGES, deadline=time.monotonic() + 50, tell=lambda one: seen.append((one, len(made.requests)))
        )
        assert found == "We fixed it." and isinstance(found, str) and not found.cut
        [(sending, before)] = seen
        assert sending == PendingRequest(model, made.host, sending.bytes, 0) and before == 0 and sending.bytes > 50
        [body] = made.requests
        assert asked(body) == "CANARY of the transcript" and KEY in made.keys[0]
        assert not body.get("tools") and not body.get("stream") and body["max_tokens"] == client.REPLY


@both
def test_secrets_do_not_leave(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    """Neither those that look like one, nor what the environment calls one."""
    monkeypatch.setenv("SHOP_TOKEN", "plainwordsonly")
    words = f"ghp_{'a1' * 18} and plainwordsonly and {KEY}"
    seen: list[PendingRequest] = []
    found, made = tried(
        monkeypatch, model, Says("done"), messages=[{"role": "user", "content": words}], tell=seen.append
    )
    assert found == "done" and seen[0].redactions == 3
    assert "a1a1" not in made.sent and "plainwords" not in made.sent and KEY not in made.sent
    assert asked(made.requests[0]) == "ghp_…[redacted 36] and …[redacted 14] and …[redacted 42]"


@both
@pytest.mark.parametrize(
    "first",
    [
        Says("BOOM", 429), Says("BOOM", 500), Says("BOOM", 503), Says("BOOM", 529, type="overloaded_error"),
        Says(raw=b'{"id": "x", "choi'), Says(raw=b'{"hello": 1}'), Says(raw=b"[1]"), Says(raw=b"<html>BOOM</html>"),
        Says(raw=b""), Says(""), Says(" \n"), Says(None), Says(None, calls=["rm"]), Says("no", stop="content_filter"),
    ],
)  # fmt: skip
def test_then_good(monkeypatch: pytest.MonkeyPatch, model: str, first: Says) -> None:
    """What passes is tried again."""
    found, made = tried(monkeypatch, model, first, Says("good"))
    assert found == "good" and len(made.requests) == 2 and made.requests[0] == made.requests[1]


@both
@pytest.mark.parametrize(
    ("always", "tries", "words"),
    [
        (Says("BOOM", 500), 4, "status 500"), (Says(""), 4, "it is empty"),
        (Says(None, calls=["rm"]), 4, "calls a tool"),
        (Says("BOOM", stop="content_filter"), 4, "it refuses"), (Says("BOOM", 401), 1, "status 401"),
        (Says("BOOM", 404), 1, "status 404"), (Says("BOOM", 400, type="invalid_request_error"), 1, "status 400"),
        (Says("", 307, headers={"location": "http://127.0.0.1:9/BOOM"}), 1, "it is a redirect, status 307"),
        (Says(endless=True), 1, "it is longer than "),
    ],
)  # fmt: skip
def test_always(monkeypatch: pytest.MonkeyPatch, model: str, always: Says, tries: int, words: str) -> None:
    """What does not pass is told by class and status; only what may pass is asked again."""
    error, count = failed(monkeypatch, model, always)
    assert words in error.message and error.message.startswith(model) and count == tries
    assert (always.status == 401) == ("set the provider's key in the environment" in error.hint)


@both
def test_too_large(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    """It says so, at once: the caller sends less."""
    error, count = failed(monkeypatch, model, TOO_LONG[model])
    assert error.too_large and count == 1


@both
def test_slow(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    """Nobody waits longer than the deadline; meanwhile `tick` is called; nothing is sent afterwards."""
    ticks: list[float] = []
    began = time.monotonic()
    error, count = failed(monkeypatch, model, Says("late", wait=30), seconds=0.6, tick=lambda: ticks.append(0))
    assert "the time is over" in error.message and count == 1 and ticks and time.monotonic() - began < 20


def test_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that reached its limit says so."""
    for model in (OPENAI, ANTHROPIC):
        assert tried(monkeypatch, model, Says("and so on and", stop="length"))[0].cut


def test_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each wait twice the one before; what the provider asks for where that is longer; none beyond the deadline."""
    waits: list[float] = []
    failed(monkeypatch, OPENAI, Says("BOOM", 500), sleep=waits.append)
    assert sum(waits) == pytest.approx(0.5 + 1 + 2)
    waits.clear()
    tried(monkeypatch, OPENAI, Says("BOOM", 429, headers={"retry-after": "7"}), Says("good"), sleep=waits.append)
    assert sum(waits) == pytest.approx(7)
    error, count = failed(monkeypatch, OPENAI, Says("BOOM", 429, headers={"retry-after": "90"}), sleep=waits.append)
    assert "status 429" in error.message and count == 1 and sum(waits) == pytest.approx(7)


def test_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller's word on an answer: another is asked for, and its reason told."""
    check = {"bad": "it is bad"}.get
    assert tried(monkeypatch, OPENAI, Says("bad"), Says("good"), check=check)[0] == "good"
    error, count = failed(monkeypatch, OPENAI, Says("bad"), check=check)
    assert error.message.endswith("it is bad") and count == 4


def test_schema(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that follows a schema is asked for in the provider's own way."""
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": False,
    }
    _, made = tried(monkeypatch, OPENAI, Says('{"a":1}'), schema=schema)
    assert made.requests[0]["response_format"]["json_schema"]["schema"] == schema
    found, made = tried(monkeypatch, ANTHROPIC, Says('{"a":1}'), schema=schema)
    assert found == '{"a":1}' and '"properties": {"a": {"type": "integer"}}' in made.sent


def test_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while it waits, and before anything has left: then nothing leaves."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    for when in ("tick", "tell"):
        with stub(Says("late", wait=1)) as made:
            pointed(made, monkeypatch)
            with pytest.raises(KeyboardInterrupt):
                ask(OPENAI, MESSAGES, deadline=time.monotonic() + 50, **{when: interrupt})  # type: ignore[arg-type]
            time.sleep(0.2)
            assert len(made.requests) <= (when == "tick")


def test_nobody_to_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without litellm the way to install it is told; CTXKIT_OFFLINE refuses; an unknown name asks nobody."""
    error, count = failed(monkeypatch, "nonsense", Says("x"))
    assert count == 0 and "models are named as litellm does" in error.hint
    monkeypatch.setenv("CTXKIT_OFFLINE", "1")
    assert failed(monkeypatch, OPENAI, Says("x"))[0].message == "no model can be asked: CTXKIT_OFFLINE is set"
    monkeypatch.setenv("CTXKIT_OFFLINE", "0")
    monkeypatch.setattr(client, "find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, "litellm")
    assert "pip install 'ctxkit-cli[llm]'" in failed(monkeypatch, OPENAI, Says("x"))[0].message


@pytest.mark.parametrize(("model", "name"), [(OPENAI, "OPENAI_API_KEY"), (ANTHROPIC, "ANTHROPIC_API_KEY")])
def test_no_key(monkeypatch: pytest.MonkeyPatch, model: str, name: str) -> None:
    """Which one is missing, at once: nothing was sent, and nobody answered."""
    monkeypatch.delenv(name, raising=False)
    with pytest.raises(ModelFailed) as error:
        ask(model, MESSAGES, deadline=time.monotonic() + 50, sleep=lambda _: pytest.fail("it is tried again"))
    assert error.value.message == f"{model} was not asked: {name} is not set" and "environment" in error.value.hint


def test_whoever_else_uses_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its settings are as they were, other requests are not guarded, streams are as they were."""
    tried(monkeypatch, OPENAI, Says("x"))
    import httpx
    import litellm

    called: list[str] = []
    monkeypatch.setattr(litellm, "success_callback", [lambda *_: called.append("told")])
    monkeypatch.setattr(litellm, "suppress_debug_info", False)
    out = sys.stdout
    tried(monkeypatch, OPENAI, Says("x"))
    assert litellm.success_callback != [] and litellm.suppress_debug_info is False and called == []
    assert sys.stdout is out or isinstance(sys.stdout, client._MutedStream)
    with stub(Says("", 307, headers={"location": "/elsewhere"})) as made:
        assert httpx.post(f"{made.url}/v1/x", json={}).status_code == 307


def test_words_of_others_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """While a model is asked, what other threads print goes where it always went."""
    out = io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    tried(monkeypatch, OPENAI, Says("x", wait=0.3), tick=lambda: print("here"))
    monkeypatch.undo()
    assert "here" in out.getvalue()


@pytest.mark.parametrize("model", [OPENAI, ANTHROPIC, "gemini/gemini-2.0-flash"])
def test_no_key_at_all(monkeypatch: pytest.MonkeyPatch, model: str) -> None:
    """Said so, with what to do, at once: nothing was sent, and no second try finds one."""
    for name in list(os.environ):
        if SECRET_NAME.search(name) or name.startswith("GOOGLE"):
            monkeypatch.delenv(name)
    paused: list[float] = []
    with pytest.raises(ModelFailed) as caught:
        ask(model, MESSAGES, deadline=time.monotonic() + 50, sleep=paused.append, tell=pytest.fail)
    assert re.search("_KEY is not set$|no key for it was found$", caught.value.message)
    assert "environment" in caught.value.hint
    assert not paused


def test_half_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that is missing is told by its name, with how to install all; a broken one of litellm's too."""
    monkeypatch.setitem(sys.modules, "tenacity", None)
    assert client.available() == f"tenacity is not installed: {client.INSTALL}"
    monkeypatch.undo()

    def broken() -> None:
        raise ModuleNotFoundError("No module named 'BOOM'", name="BOOM")

    monkeypatch.setattr(client, "_litellm", broken)
    error, _ = failed(monkeypatch, OPENAI, Says("no"))
    assert error.message.endswith(f"a package of litellm's is not installed: {client.INSTALL}")


def test_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """litellm is there afterwards; while it loads the caller is called; where it cannot be loaded, `ask` says so."""
    import litellm

    ticks: list[int] = []
    monkeypatch.delitem(sys.modules, "litellm")
    monkeypatch.setattr(client, "_litellm", lambda: (time.sleep(0.3), sys.modules.__setitem__("litellm", litellm)))
    client.load(lambda: ticks.append(1))
    assert sys.modules["litellm"] is litellm and ticks
    client.load(lambda: ticks.append(2))
    assert 2 not in ticks


@pytest.mark.full("imports litellm itself, which takes seconds")
@both
def test_litellm_itself(monkeypatch: pytest.MonkeyPatch, litellm: None, model: str) -> None:
    """It asks, and fails, as the stand-in does."""
    test_good(monkeypatch, model)
    test_schema(monkeypatch)
    test_too_large(monkeypatch, model)
    for first in (Says("BOOM", 429), Says(raw=b"<html>BOOM</html>"), Says(None, calls=["rm"])):
        test_then_good(monkeypatch, model, first)
    for status, tries in ((401, 1), (500, 4)):
        test_always(monkeypatch, model, Says("BOOM", status), tries, f"Error, status {status}")


def late_callbacks(monkeypatch: pytest.MonkeyPatch) -> None:
    """litellm tells callbacks in threads of its own: those that another user has set by then hear nothing."""
    from litellm.litellm_core_utils.thread_pool_executor import executor

    late: list[Callable[[], Any]] = []
    with monkeypatch.context() as patch:
        patch.setattr(executor, "submit", lambda *args, **named: late.append(partial(*args, **named)))
        tried(patch, OPENAI, Says("x"))
    called: list[str] = []
    monkeypatch.setattr("litellm.success_callback", [lambda *_: called.append("told")])
    for handler in late:
        handler()
    assert late and called == []


def sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some providers are asked for the model first, in a few bytes: told is what the messages have all the same."""
    seen: list[PendingRequest] = []
    with stub(Says("BOOM", 404)) as made:
        monkeypatch.setenv("OLLAMA_API_BASE", made.url)
        messages = [{"role": "user", "content": "word " * 400}]
        with pytest.raises(ModelFailed):
            ask("ollama/x", messages, deadline=time.monotonic() + 50, tell=seen.append, sleep=lambda _: None)
    [sending] = seen
    assert sending.host == made.host and sending.bytes >= 2000


@pytest.mark.full("imports litellm itself, which takes seconds")
@pytest.mark.parametrize("what", [late_callbacks, sizes])
def test_what_litellm_alone_does(monkeypatch: pytest.MonkeyPatch, litellm: None, what: Callable[..., None]) -> None:
    """Callbacks in threads of its own; protocols that the stand-in does not know."""
    what(monkeypatch)


def test_secrets_that_only_their_place_tells() -> None:
    """A text for a model has the values of a call's arguments without their keys, and words without quotes."""
    word, other = f"Zz9qPw7{'LmNop'}", f"Qq8{'rTz5xYw'}"
    call = Call("c", "login", {"user": "me", "password": word, "command": ["sshpass", "-p", other, "ssh"]})
    hide = client.SecretHiding()
    hide.look_into([Content("assistant", [call])])
    assert hide(f"login me {word}\nand {other}") == "login me …[redacted 12]\nand …[redacted 10]" and hide.count == 2
