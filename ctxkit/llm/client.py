"""Asks a model, through litellm, or a program that stands for one. No other module asks one or imports litellm.

`ask` takes secrets out of the messages, sends them, and returns the text of the answer before a deadline. It tries
again if that may help, and keeps litellm silent. An error names only the class and status of a failure: a provider's
own words may contain the key, or what was sent. Callers (`prompt.py`) write the request, judge the answer, and
work without a model if there is none.
"""

from __future__ import annotations

import logging
import os
import queue
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any, NamedTuple, NoReturn, Protocol, cast

import msgspec

from ctxkit.core.messages import Content
from ctxkit.core.text.redaction import redact
from ctxkit.core.text.redactor import located, secret_values
from ctxkit.core.text.utf8 import utf8
from ctxkit.errors import ModelFailed
from ctxkit.llm import program as programs
from ctxkit.llm.guard import CALLING, LARGEST, guard
from ctxkit.llm.program import is_program
from ctxkit.tokens.overflow import overflow

INSTALL = "pip install 'ctxkit-cli[llm]'"
OFFLINE = "CTXKIT_OFFLINE"
"""The environment variable. If it is set to anything but 0, no model is asked."""
TRIES = 4
"""The largest number of requests for one answer."""
WAIT, LONGEST_WAIT = 0.5, 8.0
"""Seconds to wait before the second try, and the longest wait. Each wait is twice the one before."""
TICK = 0.1
"""Seconds between two looks at the clock while waiting for an answer."""
REPLY = 4000
"""The limit of tokens for an answer, with what the model thinks before it."""
AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""HTTP statuses after which another try may succeed."""
NO_KEY = re.compile(r"api[ _-]?key|credential|_KEY\b|_TOKEN\b|authenticat", re.I)
"""Matches litellm's errors about a missing key, which come before anything is sent."""

Message = Mapping[str, Any]


class _Config(Protocol):
    """A log's config."""

    def __getitem__(self, key: str) -> Any: ...


class PendingRequest(NamedTuple):
    """A request that was not sent yet. `bytes`: size of its body; `redactions`: number of secrets taken out."""

    model: str
    host: str
    bytes: int
    redactions: int


class Answer(str):
    """The text of a model's answer. `cut`: the answer reached the token limit before its end; `ended`: whether who
    answered said that it is whole, None if it says no such thing.
    """

    cut = False
    ended: bool | None = True


def time_limit(config: _Config, model: str) -> float:
    """The longest wait for this model in seconds: a program, which may be an agent, has a limit of its own."""
    return float(config["compact.program_timeout"] if is_program(model) else config["compact.timeout"])


def available(model: str = "") -> str:
    """Says why this model cannot be asked (default: any of litellm's); "" if it can."""
    if os.environ.get(OFFLINE, "0") not in ("", "0"):
        return f"{OFFLINE} is set"
    if is_program(model):
        return ""
    for name in ("litellm", "tenacity"):
        if sys.modules.get(name) is None and (name in sys.modules or find_spec(name) is None):
            return f"{name} is not installed: {INSTALL}"
    return ""


def secrets() -> list[str]:
    """Values of environment variables with the name of a secret, the longest first."""
    return secret_values(os.environ)


class SecretHiding:
    """Takes secrets out of texts. `count`: how many it took out."""

    def __init__(self) -> None:
        self._known, self.count = secrets(), 0

    def look_into(self, contents: Iterable[Content]) -> None:
        """Learn the secrets that only their place in a call tells: a text for a model has no keys and no quotes."""
        values = {one.value for content in contents for one in located(msgspec.to_builtins(content.parts))}
        self._known = sorted({*self._known, *values}, key=lambda value: (-len(value), value))

    def __call__(self, text: str) -> str:
        found, some = redact(text, self._known)
        self.count += some
        return found


def cleaned(messages: Sequence[Message]) -> tuple[list[dict[str, Any]], int]:
    """Takes secrets out of messages. Returns the messages and the number of secrets."""
    hide = SecretHiding()
    return [{**message, "content": hide(message["content"])} for message in messages], hide.count


def load(tick: Callable[[], None] | None = None, model: str = "") -> None:
    """Imports litellm, which may take seconds, before a deadline for the model begins; nothing for a program.

    `tick`: called ten times a second meanwhile. If the import fails, it fails again in `ask`, which reports why.
    """
    if is_program(model) or "litellm" in sys.modules or available():
        return
    with _muted():
        loading = _Load()
        loading.start()
        while loading.is_alive():
            loading.join(TICK)
            (tick or (lambda: None))()


def ask(
    model: str, messages: Sequence[Message], *, deadline: float, schema: Mapping[str, Any] | None = None,
    check: Callable[[str], str | None] | None = None, tell: Callable[[PendingRequest], None] | None = None,
    tick: Callable[[], None] | None = None,
    clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep, most: int = REPLY,
) -> Answer:  # fmt: skip
    """Sends `messages` (`role` and `content`, both text) to `model` and returns its answer. A model is named as litellm
    does; `cmd:PROGRAM ARGUMENTS` is a program, which is asked once.

    `most`: the limit of tokens for the answer; `deadline`: the time on `clock` at which it gives up, tries and waits
    included; `schema`: the JSON schema of the answer (a caller still checks: not every provider enforces it); `check`:
    returns why an answer cannot be used, or None: then another is asked for; `tell`: called once per host, before
    anything is sent to it; `tick`: called ten times a second while waiting. Raises ModelFailed.
    """
    missing = available(model)
    if missing:
        raise ModelFailed(f"no model can be asked: {missing}")
    if not model:
        raise ModelFailed("no model can be asked: none is named")
    if is_program(model):
        return _ask_program(model, messages, lambda: deadline - clock(), check, tell, tick or (lambda: None))
    import tenacity

    sent, redactions = cleaned(messages)
    asked = {"model": model, "messages": sent, "max_tokens": most}
    if schema is not None:
        form = {"name": "answer", "schema": dict(schema), "strict": True}
        asked["response_format"] = {"type": "json_schema", "json_schema": form}
    least = sum(len(utf8(message["content"])) for message in sent)
    announced: set[str] = set()

    def announce(host: str, size: int) -> None:
        if tell is not None and host not in announced:
            announced.add(host)
            # some providers get a small request about the model first, so `size` alone may be too small
            tell(PendingRequest(model, host, max(size, least), redactions))

    def once() -> Answer:
        left = deadline - clock()
        if left <= 0:
            raise _failed(model, "the time is over")
        answer = _Call(asked, left).wait(lambda: deadline - clock(), announce, tick or (lambda: None))
        why = check(answer) if check is not None else None
        if why:
            raise _failed(model, why, again=True)
        return answer

    def wait(state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        return max(backoff(state), getattr(error, "after", 0.0))

    def pause(seconds: float) -> None:
        while seconds > 0:
            sleep(min(seconds, TICK))
            seconds -= TICK
            (tick or (lambda: None))()

    def over(state: tenacity.RetryCallState) -> bool:
        return state.attempt_number >= TRIES or clock() + state.upcoming_sleep >= deadline

    backoff = tenacity.wait_exponential(multiplier=WAIT, max=LONGEST_WAIT)
    retrying = tenacity.Retrying(
        stop=over, wait=wait, sleep=pause, reraise=True,
        retry=tenacity.retry_if_exception(lambda error: isinstance(error, ModelFailed) and error.again),
    )  # fmt: skip
    return retrying(once)


def _ask_program(
    model: str, messages: Sequence[Message], left: Callable[[], float], check: Callable[[str], str | None] | None,
    tell: Callable[[PendingRequest], None] | None, tick: Callable[[], None],
) -> Answer:  # fmt: skip
    """The answer of a program to the texts of `messages`, one after the other. Raises ModelFailed."""
    hide = SecretHiding()
    asked = programs.program(model, SecretHiding())
    prompt = "\n\n".join(hide(message["content"]) for message in messages)
    if left() <= 0:
        raise _failed(asked.name, "the time is over")
    if tell is not None:
        tell(PendingRequest(asked.name, asked.path, len(utf8(prompt)), hide.count))
    said = programs.run(asked, prompt, left=left, tick=tick, wait=TICK, hide=hide)
    why = "it is empty" if not said.strip() else check(said) if check is not None else None
    if why:
        raise _failed(asked.name, why)
    answer = Answer(said)
    answer.ended = None
    return answer


def _failed(model: str, why: str, *, again: bool = False, after: float = 0.0, hint: str = "") -> ModelFailed:
    error = ModelFailed(f"{model} gave no answer that can be used: {why}", hint)
    error.again, error.after = again, after
    return error


class _Stopped(Exception):
    """Stops the thread of a request: nobody waits for its answer."""


class _Muted(threading.Thread):
    """A thread that prints nothing."""


class _Load(_Muted):
    """The import of litellm."""

    def __init__(self) -> None:
        super().__init__(name="ctxkit-litellm", daemon=True)

    def run(self) -> None:
        """Imports litellm. `ask` reports an error."""
        with suppress(BaseException):  # whatever a package raises while it is imported
            _litellm()


class _Call(_Muted):
    """One request, in a thread of its own, so that a slow provider cannot block the caller.

    The thread reports through `_news`: (host, bytes) before it sends, and then it waits for `_go`; at the end an
    `Answer` or a ModelFailed.
    """

    def __init__(self, asked: dict[str, Any], timeout: float) -> None:
        super().__init__(name="ctxkit-model", daemon=True)
        self._asked, self._timeout = asked, timeout
        self._end = time.monotonic() + timeout
        self._news: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._go = threading.Event()
        self._left = self._sent = False
        self._why = ""
        self._again = False
        self.after = 0.0
        """Seconds that the provider asked to wait."""

    def wait(self, left: Callable[[], float], announce: Callable[[str, int], None], tick: Callable[[], None]) -> Answer:
        """Waits for the answer. Raises ModelFailed if the request failed or time is over, and what a signal raises."""
        with _muted():
            try:
                self.start()
                while True:
                    try:
                        news = self._news.get(timeout=max(0.0, min(TICK, left())))
                    except queue.Empty:
                        if left() <= 0:
                            raise _failed(self._asked["model"], "the time is over") from None
                        tick()
                        continue
                    if isinstance(news, tuple):
                        announce(*news)
                        self._go.set()
                        continue
                    self.join(1)  # it has nothing left to do
                    if isinstance(news, ModelFailed):
                        raise news
                    return cast(Answer, news)
            finally:
                self._left = True
                self._go.set()

    def run(self) -> None:
        """Sends the request, and puts the answer or the error into the queue."""
        try:
            self._news.put(self._answer())
        except BaseException as error:  # no error of a provider's code leaves the thread: its words may hold anything
            self._news.put(self._failure(error))

    def _answer(self) -> Answer:
        litellm = _litellm()
        CALLING.call = self
        with _settings(litellm):
            found = litellm.completion(
                **self._asked, timeout=self._timeout, num_retries=0, max_retries=0, drop_params=True, stream=False,
                caching=False, **_UNSEEN,
            )  # fmt: skip
        choice = found.choices[0]
        message = choice.message
        text = message.content
        if choice.finish_reason == "content_filter" or getattr(message, "refusal", None):
            self.refuse("it refuses", again=True)
        if not isinstance(text, str) or not text.strip():
            called = getattr(message, "tool_calls", None)
            self.refuse("it calls a tool" if called else "it is empty", again=True)
        answer = Answer(text)
        answer.cut = choice.finish_reason == "length"
        answer.ended = not answer.cut
        return answer

    def _failure(self, error: BaseException) -> ModelFailed:
        """An error of ours without any word of the provider: the class and status of `error`, and what we found."""
        model = str(self._asked["model"])
        if self._why:
            return _failed(model, self._why, again=self._again)
        if isinstance(error, ImportError):
            return _failed(model, f"a package of litellm's is not installed: {INSTALL}")
        if not self._sent and (keys := _missing_keys(model)):
            return ModelFailed(f"{model} was not asked: {' or '.join(keys)} is not set", _hint(401, ""))
        name, status = type(error).__name__, getattr(error, "status_code", None)
        status = status if isinstance(status, int) else None
        words = str(error)
        if not self._sent and NO_KEY.search(words):
            return _failed(model, "no key for it was found", hint=_hint(401, words))
        if name == "ContextWindowExceededError" or status == 413 or overflow(words) is not None:
            found = _failed(model, "it does not take so many tokens")
            found.too_large = True
            return found
        why = name if status is None else f"{name}, status {status}"
        again = status in AGAIN or name in ("Timeout", "APIConnectionError", "APIError", "JSONDecodeError")
        again = again and self._sent  # an error before anything is sent would come again
        return _failed(model, why, again=again, after=self.after, hint=_hint(status, words))

    def may_send(self, host: str, size: int) -> None:
        """Called in the thread before each request. Returns once the request may be sent, else raises _Stopped."""
        if not self._left:
            self._go.clear()
            self._news.put((host, size))
            self._go.wait(max(0.0, self._end - time.monotonic()))
        if self._left or not self._go.is_set():
            raise _Stopped
        self._sent = True

    def refuse(self, why: str, *, again: bool = False) -> NoReturn:
        """Called in the thread: rejects the response, for the reason `why`. `again`: another try may succeed."""
        self._why, self._again = why, again
        raise _Stopped

    def received(self, size: int) -> None:
        """Called in the thread for each piece of a response. `size`: bytes received so far."""
        if size > LARGEST:
            self.refuse(f"it is longer than {LARGEST:,} bytes")
        if self._left or time.monotonic() > self._end:
            raise _Stopped


def _missing_keys(model: str) -> list[str]:
    """Environment variables in which litellm looked for a key and found none. Setting one of them is enough."""
    litellm = sys.modules.get("litellm")
    try:
        names = [] if litellm is None else litellm.validate_environment(model)["missing_keys"]
    except Exception:  # litellm cannot parse the model's name
        return []
    return [name for name in names if name.endswith("_KEY")]


def _hint(status: int | None, words: str) -> str:
    if status in (401, 403):
        return "set the provider's key in the environment: OPENAI_API_KEY, ANTHROPIC_API_KEY, ..."
    if status == 404 or "LLM Provider NOT provided" in words:
        return "models are named as litellm does: openai/gpt-..., anthropic/claude-..., ollama/..."
    return ""


_SET: dict[str, Any] = {
    "suppress_debug_info": True, "turn_off_message_logging": True, "disable_hf_tokenizer_download": True,
    "set_verbose": False, "cache": None, "num_retries": None, "model_fallbacks": None, "callbacks": [],
    "input_callback": [], "success_callback": [], "failure_callback": [], "service_callback": [],
    "_async_input_callback": [], "_async_success_callback": [], "_async_failure_callback": [],
}  # fmt: skip
"""litellm's settings while a model is asked: no output, no callbacks, no retries of its own, no downloads."""

_UNSEEN = {"no-log": True}
"""No callback sees the request: litellm calls them later, in threads, when `_SET` is not in force any more."""


@contextmanager
def _settings(litellm: Any) -> Iterator[None]:
    """Gives litellm the settings of `_SET`, and afterwards its former ones: the process may use litellm elsewhere."""
    before = {name: getattr(litellm, name) for name in _SET if hasattr(litellm, name)}
    try:
        for name in before:
            setattr(litellm, name, _SET[name] if not isinstance(_SET[name], list) else [])
        yield
    finally:
        for name, value in before.items():
            setattr(litellm, name, value)


def _litellm() -> Any:
    """Imports litellm so that it is silent, downloads nothing, and reads no .env file of the current folder."""
    os.environ.pop("LITELLM_LOG", None)
    for table in ("MODEL_COST_MAP", "ANTHROPIC_BETA_HEADERS", "AUTOROUTER_PRESETS"):
        os.environ[f"LITELLM_LOCAL_{table}"] = "True"
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    import litellm

    for name in ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router", "httpx", "httpcore", "openai"):
        logging.getLogger(name).disabled = True
    guard()
    return litellm


class _MutedStream:
    """A stream that drops what our threads write. What other threads write goes to the plain stream."""

    def __init__(self, stream: Any) -> None:
        self.plain = stream

    def write(self, text: str) -> int:
        return len(text) if isinstance(threading.current_thread(), _Muted) else self.plain.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)


@contextmanager
def _muted() -> Iterator[None]:
    """Hides what our threads print. If one of them still runs at the end, its output stays hidden."""
    for name in ("stdout", "stderr"):
        if (stream := getattr(sys, name)) is not None and not isinstance(stream, _MutedStream):
            setattr(sys, name, _MutedStream(stream))
    try:
        yield
    finally:
        if not any(isinstance(one, _Muted) for one in threading.enumerate()):
            for name in ("stdout", "stderr"):
                if isinstance(stream := getattr(sys, name), _MutedStream):
                    setattr(sys, name, stream.plain)
