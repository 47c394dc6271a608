"""The one place where a model is asked, through litellm, which no other module imports.

`ask` sends messages and returns the answer's text: secrets taken out, within a deadline, tried again where that may
help, litellm kept silent. A failure is told by its class and status alone: a provider's own words may hold the key, or
what was sent. Callers (`compact/prompt.py`) make the request, judge the answer, and go on without a model where there
is none.
"""

from __future__ import annotations

import logging
import os
import queue
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, NamedTuple, NoReturn, cast

from ctxkit.core.text.redaction import redact
from ctxkit.errors import ModelFailed
from ctxkit.llm.guard import CALLING, LARGEST, guard
from ctxkit.tokens.overflow import overflow

INSTALL = "pip install 'ctxkit-cli[llm]'"
OFFLINE = "CTXKIT_OFFLINE"
"""Set to anything but 0: no model is asked, whoever wants one."""
TRIES = 4
"""Requests until an answer can be used."""
WAIT, LONGEST_WAIT = 0.5, 8.0
"""Seconds before the second try, doubled before each further one, and at most."""
TICK = 0.1
"""Seconds between two looks at the clock while an answer is awaited."""
REPLY = 4000
"""Tokens of an answer, and of what a model thinks before it, unless the caller says otherwise."""
AGAIN = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
"""Statuses that pass."""
SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$")
"""How variables of the environment end whose values are secret."""
NO_KEY = re.compile(r"api[ _-]?key|credential|_KEY\b|_TOKEN\b|authenticat", re.I)
"""What litellm says before anything is sent, where there is no key."""

Message = Mapping[str, Any]


class PendingRequest(NamedTuple):
    """What is about to be sent; nothing left yet. `bytes`: of the request's body; `redactions`: secrets taken out."""

    model: str
    host: str
    bytes: int
    redactions: int


class Answer(str):
    """A model's words. `cut`: it was not done when it reached its limit."""

    cut = False


def available() -> str:
    """Why no model can be asked at all; "" where one can."""
    if os.environ.get(OFFLINE, "0") not in ("", "0"):
        return f"{OFFLINE} is set"
    for name in ("litellm", "tenacity"):
        if sys.modules.get(name) is None and (name in sys.modules or find_spec(name) is None):
            return f"{name} is not installed: {INSTALL}"
    return ""


def secrets() -> list[str]:
    """Values of the environment that are keys, as their names say; the longest first."""
    found = {value for name, value in os.environ.items() if SECRET_NAME.search(name.upper()) and len(value) >= 8}
    return sorted(found, key=lambda value: (-len(value), value))


class SecretHiding:
    """Takes secrets out of texts, and counts them in `count`."""

    def __init__(self) -> None:
        self._known, self.count = secrets(), 0

    def __call__(self, text: str) -> str:
        found, some = redact(text, self._known)
        self.count += some
        return found


def cleaned(messages: Sequence[Message]) -> tuple[list[dict[str, Any]], int]:
    """The messages without secrets, and how many they had."""
    hide = SecretHiding()
    return [{**message, "content": hide(message["content"])} for message in messages], hide.count


def ask(
    model: str, messages: Sequence[Message], *, deadline: float, schema: Mapping[str, Any] | None = None,
    max_tokens: int = REPLY, check: Callable[[str], str | None] | None = None,
    tell: Callable[[PendingRequest], None] | None = None, tick: Callable[[], None] | None = None,
    clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep,
) -> Answer:  # fmt: skip
    """What `model` (a name as litellm has it) answers to `messages`: `role` and `content`, each a text.

    `deadline`: the moment on `clock` when it is over, tries and waits and all; `schema`: JSON schema that the answer
    has to follow, where the provider can see to that (a caller still looks); `max_tokens`: of the answer; `check`: why
    an answer cannot be used, None where it can: another is asked for; `tell`: called before anything is sent to a
    host; `tick`: called ten times a second while it waits. Raises ModelFailed.
    """
    missing = available()
    if missing:
        raise ModelFailed(f"no model can be asked: {missing}")
    if not model:
        raise ModelFailed("no model can be asked: none is named")
    import tenacity

    sent, redactions = cleaned(messages)
    asked = {"model": model, "messages": sent, "max_tokens": max_tokens}
    if schema is not None:
        form = {"name": "answer", "schema": dict(schema), "strict": True}
        asked["response_format"] = {"type": "json_schema", "json_schema": form}
    least = sum(len(message["content"].encode("utf-8", "replace")) for message in sent)
    told: set[str] = set()

    def announce(host: str, size: int) -> None:
        if tell is not None and host not in told:
            told.add(host)
            tell(
                PendingRequest(model, host, max(size, least), redactions)
            )  # some providers are asked for the model first

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


def _failed(model: str, why: str, *, again: bool = False, after: float = 0.0, hint: str = "") -> ModelFailed:
    error = ModelFailed(f"{model} gave no answer that can be used: {why}", hint)
    error.again, error.after = again, after
    return error


class _Stopped(Exception):
    """Nobody waits any more."""


class _Call(threading.Thread):
    """One request, in a thread of its own, so that no provider can hold up who waits for it.

    The thread shares nothing but `_news`: ("host", name, bytes) before it sends, and then waits for `_go`; at the end
    an `Answer` or an error of ours.
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
        """Seconds that the provider asks to wait."""

    def wait(self, left: Callable[[], float], announce: Callable[[str, int], None], tick: Callable[[], None]) -> Answer:
        """The answer. Raises what the thread found, ModelFailed where the time is over, and what a signal raises."""
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
        """Ask, and put what comes of it into the queue, whatever it is."""
        try:
            self._news.put(self._answer())
        except BaseException as error:  # whatever a provider's code raises stays in here: its words may hold anything
            self._news.put(self._told(error))

    def _answer(self) -> Answer:
        litellm = _litellm()
        CALLING.call = self
        with _settings(litellm):
            found = litellm.completion(
                **self._asked, timeout=self._timeout, num_retries=0, max_retries=0, drop_params=True, stream=False,
                caching=False,
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
        return answer

    def _told(self, error: BaseException) -> ModelFailed:
        """An error without any word of the provider's: its class and status, and what we know ourselves."""
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
        again = again and self._sent  # what fails before that fails always
        return _failed(model, why, again=again, after=self.after, hint=_hint(status, words))

    def may_send(self, host: str, size: int) -> None:
        """Called in the thread before each request: returns when it may be sent."""
        if not self._left:
            self._go.clear()
            self._news.put((host, size))
            self._go.wait(max(0.0, self._end - time.monotonic()))
        if self._left or not self._go.is_set():
            raise _Stopped
        self._sent = True

    def refuse(self, why: str, *, again: bool = False) -> NoReturn:
        """Called in the thread: what comes is no answer. `again`: another try may bring one."""
        self._why, self._again = why, again
        raise _Stopped

    def received(self, size: int) -> None:
        """Called in the thread with each piece of a response: `size` bytes of it so far."""
        if size > LARGEST:
            self.refuse("it does not end")
        if self._left or time.monotonic() > self._end:
            raise _Stopped


def _missing_keys(model: str) -> list[str]:
    """The variables that litellm looks for a key in, where it finds none: one of them is enough."""
    litellm = sys.modules.get("litellm")
    try:
        names = [] if litellm is None else litellm.validate_environment(model)["missing_keys"]
    except Exception:  # of a name that it cannot read
        return []
    return [name for name in names if name.endswith("_KEY")]


def _hint(status: int | None, words: str) -> str:
    if status in (401, 403):
        return "the provider's key belongs into the environment, as OPENAI_API_KEY, ANTHROPIC_API_KEY, ..."
    if status == 404 or "LLM Provider NOT provided" in words:
        return "models are named as litellm does: openai/gpt-..., anthropic/claude-..., ollama/..."
    return ""


_SET: dict[str, Any] = {
    "suppress_debug_info": True, "turn_off_message_logging": True, "disable_hf_tokenizer_download": True,
    "set_verbose": False, "cache": None, "num_retries": None, "model_fallbacks": None, "callbacks": [],
    "input_callback": [], "success_callback": [], "failure_callback": [], "service_callback": [],
    "_async_input_callback": [], "_async_success_callback": [], "_async_failure_callback": [],
}  # fmt: skip
"""How litellm is to be while it is asked: no words, no callbacks, no tries of its own, nothing fetched."""


@contextmanager
def _settings(litellm: Any) -> Iterator[None]:
    """As `_SET` says, and afterwards as whoever uses it too had it."""
    before = {name: getattr(litellm, name) for name in _SET if hasattr(litellm, name)}
    try:
        for name in before:
            setattr(litellm, name, _SET[name] if not isinstance(_SET[name], list) else [])
        yield
    finally:
        for name, value in before.items():
            setattr(litellm, name, value)


def _litellm() -> Any:
    """litellm, silent, which fetches nothing by itself and reads no .env file of the folder that it is in."""
    os.environ.pop("LITELLM_LOG", None)
    for table in ("MODEL_COST_MAP", "ANTHROPIC_BETA_HEADERS", "AUTOROUTER_PRESETS"):
        os.environ[f"LITELLM_LOCAL_{table}"] = "True"
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    import litellm

    for name in ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router", "httpx", "httpcore", "openai"):
        logging.getLogger(name).disabled = True
    guard()
    return litellm


class _Aside:
    """A stream that takes no words of our threads; those of others go where they always went."""

    def __init__(self, stream: Any) -> None:
        self.plain = stream

    def write(self, text: str) -> int:
        return len(text) if isinstance(threading.current_thread(), _Call) else self.plain.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)


@contextmanager
def _muted() -> Iterator[None]:
    """Nothing that our threads print is seen; where one is busy still at the end, what it prints later neither."""
    for name in ("stdout", "stderr"):
        if (stream := getattr(sys, name)) is not None and not isinstance(stream, _Aside):
            setattr(sys, name, _Aside(stream))
    try:
        yield
    finally:
        if not any(isinstance(one, _Call) for one in threading.enumerate()):
            for name in ("stdout", "stderr"):
                if isinstance(stream := getattr(sys, name), _Aside):
                    setattr(sys, name, stream.plain)
