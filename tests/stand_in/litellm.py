"""Stands for litellm in tests: what ctxkit uses of it, without the seconds that its import takes.

A request goes out over real HTTP, by httpx, as litellm's does: ctxkit's guard is in its way. Requests, answers, errors
and their words are those of litellm 1.110 for the protocols of OpenAI and of Anthropic. `pytest --real-litellm` runs
the tests with litellm itself, which shows where the two differ. Which one is imported: `tests/which_litellm.py`.

What ctxkit does not use is not there: an argument that nothing here knows is a TypeError.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

suppress_debug_info = turn_off_message_logging = set_verbose = False
disable_hf_tokenizer_download = cache = num_retries = model_fallbacks = None
callbacks: list[Any] = []
input_callback: list[Callable[..., Any]] = []
success_callback: list[Callable[..., Any]] = []
failure_callback: list[Callable[..., Any]] = []
service_callback: list[Any] = []
_async_input_callback: list[Any] = []
_async_success_callback: list[Any] = []
_async_failure_callback: list[Any] = []


class _Error(Exception):
    """An error of litellm's: its class and status, and the provider's words behind the name of the class."""

    status_code = 500

    def __init__(self, words: str, status: int | None = None) -> None:
        super().__init__(f"litellm.{type(self).__name__}: {words}")
        self.status_code = status or self.status_code


def _kind(name: str, status: int = 500, of: type[_Error] = _Error) -> type[_Error]:
    return type(name, (of,), {"status_code": status})


APIError = _kind("APIError")
APIConnectionError = _kind("APIConnectionError")
AuthenticationError = _kind("AuthenticationError", 401)
BadGatewayError = _kind("BadGatewayError", 502)
BadRequestError = _kind("BadRequestError", 400)
ContextWindowExceededError = _kind("ContextWindowExceededError", 400, BadRequestError)
InternalServerError = _kind("InternalServerError")
NotFoundError = _kind("NotFoundError", 404)
PermissionDeniedError = _kind("PermissionDeniedError", 403)
RateLimitError = _kind("RateLimitError", 429)
ServiceUnavailableError = _kind("ServiceUnavailableError", 503)
Timeout = _kind("Timeout", 408)

STATUSES: dict[int, type[_Error]] = {
    400: BadRequestError, 401: AuthenticationError, 404: NotFoundError, 408: Timeout, 422: BadRequestError,
    429: RateLimitError, 500: InternalServerError, 502: BadGatewayError, 503: ServiceUnavailableError, 504: Timeout,
}  # fmt: skip
"""The classes that both protocols' errors have."""
TOO_LONG = ("maximum context length", "prompt is too long", "context_length_exceeded")
"""Words by which litellm tells that a request was too large, whichever protocol it had."""


class _Provider(NamedTuple):
    """A provider. `keys`: environment variables, one of which must be set; `ask`: sends a request, if that is known."""

    keys: tuple[str, ...]
    ask: Callable[[str, dict[str, Any], float], SimpleNamespace] | None
    no_key: _Error


def completion(
    *, model: str, messages: Sequence[Mapping[str, Any]], max_tokens: int, timeout: float, num_retries: int,
    max_retries: int, drop_params: bool, stream: bool, caching: bool, response_format: Mapping[str, Any] | None = None,
    **named: Any,
) -> SimpleNamespace:  # fmt: skip
    """Asks a model once. litellm tells callbacks before and after, except those that come late if `no-log` is given."""
    unknown = named.keys() - {"no-log"}
    if unknown or num_retries or max_retries or stream or caching or cache or model_fallbacks:
        raise TypeError(f"the stand-in for litellm knows nothing like it: {sorted(unknown)}")
    body = {"model": model.rpartition("/")[2], "messages": list(messages), "max_tokens": max_tokens}
    if response_format is not None:
        body["response_format"] = response_format
    try:
        provider = _provider(model)
        if not any(map(os.environ.get, provider.keys)):
            raise provider.no_key
        if provider.ask is None:
            raise APIConnectionError("the stand-in for litellm does not know its protocol")
        for tell in input_callback:
            tell(body)
        found = provider.ask(model, body, timeout)
    except _Error as error:
        if not suppress_debug_info:
            print("Give Feedback / Get Help: https://github.com/BerriAI/litellm/issues/new")
        for tell in failure_callback:
            tell(body, error)
        raise
    for tell in success_callback:
        tell(body, found)
    return found


def validate_environment(model: str) -> dict[str, Any]:
    """Which environment variables with a key are missing for a model; none for one that is not known."""
    try:
        keys = _provider(model).keys
    except BadRequestError:
        keys = ()
    there = not keys or any(map(os.environ.get, keys))
    return {"keys_in_environment": there, "missing_keys": [] if there else list(keys)}


def _provider(model: str) -> _Provider:
    """Who has a model, by its name. Raises BadRequestError."""
    provider, slash, name = model.partition("/")
    if not slash:
        provider = "openai" if name.startswith("gpt-") else "anthropic" if name.startswith("claude-") else ""
    match provider:
        case "openai":
            words = "InternalServerError: OpenAIException - Missing credentials. Please pass an `api_key`"
            return _Provider(("OPENAI_API_KEY",), _openai, InternalServerError(words))
        case "anthropic":
            words = "Missing Anthropic API Key - no key is set either in the environment variables or via params."
            return _Provider(("ANTHROPIC_API_KEY",), _anthropic, AuthenticationError(words))
        case "gemini":
            words = "Missing Gemini API key. Set the GEMINI_API_KEY or GOOGLE_API_KEY environment variable."
            return _Provider(("GOOGLE_API_KEY", "GEMINI_API_KEY"), None, APIConnectionError(words))
    words = "LLM Provider NOT provided. Pass in the LLM provider you are trying to call. You passed model="
    raise BadRequestError(words + model)


def _sent(url: str, headers: dict[str, str], body: dict[str, Any], timeout: float) -> tuple[int, str]:
    """The status and text of a response. Raises what httpx raises, and what the guard in its transport does."""
    import httpx

    with httpx.Client(transport=httpx.HTTPTransport(verify=False), timeout=timeout) as client:
        response = client.post(url, headers=headers, json=body)
    return response.status_code, response.text


def _openai(model: str, body: dict[str, Any], timeout: float) -> SimpleNamespace:
    """Asks by OpenAI's protocol."""
    import httpx

    url = os.environ.get("OPENAI_API_BASE", "https://api.openai.com/v1") + "/chat/completions"
    headers = {"authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    try:
        status, text = _sent(url, headers, body | {"model": model.partition("/")[2] or model}, timeout)
    except httpx.TimeoutException:
        raise Timeout("APITimeoutError - Request timed out. Error_str: Request timed out.") from None
    except Exception as error:
        words = "Connection error." if isinstance(error, httpx.ConnectError) else ""
        raise InternalServerError(f"InternalServerError: OpenAIException - {words}") from error
    if status != 200:
        raise _openai_error(status, text)
    try:
        answer = json.loads(text)
        choices = answer["choices"]
    except ValueError as error:
        raise InternalServerError(f"InternalServerError: OpenAIException - error - {error}") from error
    except (LookupError, TypeError) as error:
        words = "OpenAIException - Empty or invalid response from LLM endpoint."
        raise InternalServerError(f"InternalServerError: {words}") from error
    return SimpleNamespace(choices=[_openai_choice(choice) for choice in choices])


def _openai_choice(choice: dict[str, Any]) -> SimpleNamespace:
    """A choice as litellm gives it: calls of tools are a reason to end, whatever is told."""
    message = choice["message"]
    calls = [_call(one["function"]["name"], one["function"]["arguments"]) for one in message.get("tool_calls") or ()]
    reason = "tool_calls" if calls else choice.get("finish_reason", "stop")
    return _choice(reason, message.get("content"), calls, refusal=message.get("refusal"))


def _openai_error(status: int, text: str) -> _Error:
    """An error by OpenAI's protocol: its class by the status, its words from the body, if they can be read."""
    try:
        error = json.loads(text)["error"]
        words, code = str(error["message"]), error.get("code")
    except (ValueError, LookupError, TypeError):
        words, code = f"Error code: {status}", None
    if status == 400 and any(one in f"{words} {code}" for one in TOO_LONG):
        return ContextWindowExceededError(
            f"litellm.BadRequestError: ContextWindowExceededError: OpenAIException - {words}"
        )
    kind = STATUSES.get(status, APIError)
    named = {BadRequestError: "", Timeout: "Timeout Error: "}.get(kind, f"{kind.__name__}: ")
    return kind(f"{named}OpenAIException - {words}", status)


def _anthropic(model: str, body: dict[str, Any], timeout: float) -> SimpleNamespace:
    """Asks by Anthropic's protocol."""
    import httpx

    messages = [(one["role"], [{"type": "text", "text": one["content"]}]) for one in body["messages"]]
    sent = body | {"messages": [{"role": role, "content": parts} for role, parts in messages if role != "system"]}
    system = [part for role, parts in messages if role == "system" for part in parts]
    if system:
        sent["system"] = system
    if "response_format" in sent:
        form = sent.pop("response_format")["json_schema"]["schema"]
        sent["output_format"] = {"type": "json_schema", "schema": form}
    url = os.environ.get("ANTHROPIC_API_BASE", "https://api.anthropic.com") + "/v1/messages"
    headers = {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "anthropic-version": "2023-06-01"}
    try:
        status, text = _sent(url, headers, sent, timeout)
    except httpx.TimeoutException:
        raise Timeout(f"AnthropicException - litellm.Timeout: Read timed out. Timeout passed={timeout}") from None
    except Exception as error:
        words = f"AnthropicException - {error}. Handle with `litellm.InternalServerError`."
        raise InternalServerError(words) from error
    if status != 200:
        raise _anthropic_error(status, text)
    try:
        answer = json.loads(text)
    except ValueError as error:
        words = f"AnthropicException - Unable to get json response - {error}, Original Response: {text}"
        raise APIConnectionError(words) from error
    try:
        parts, ended = answer["content"], answer["stop_reason"]
    except (LookupError, TypeError) as error:
        raise APIConnectionError(str(error)) from error
    calls = [_call(part["name"], json.dumps(part["input"])) for part in parts if part["type"] == "tool_use"]
    words = "".join(part["text"] for part in parts if part["type"] == "text") or None
    reasons = {"max_tokens": "length", "refusal": "content_filter", "tool_use": "tool_calls"}
    return SimpleNamespace(choices=[_choice(reasons.get(ended, "stop"), words, calls)])


def _anthropic_error(status: int, text: str) -> _Error:
    """An error by Anthropic's protocol: its words are the whole body."""
    if status == 400 and any(one in text for one in TOO_LONG):
        return ContextWindowExceededError(f"litellm.BadRequestError: AnthropicError - {text}")
    words = f"AnthropicException - {text}"
    match status:
        case 403:
            return PermissionDeniedError(words)
        case 413:
            return BadRequestError(words)
        case 502 | 504:
            kind = STATUSES[status]
            return kind(f"AnthropicException {kind.__name__} - {text}", status)
        case 500 | 503 | 529:
            kind = STATUSES.get(status, InternalServerError)
            return kind(f"{words}. Handle with `litellm.{kind.__name__}`.")
    return STATUSES.get(status, BadRequestError if status < 500 else InternalServerError)(words, status)


def _call(name: str, arguments: str) -> SimpleNamespace:
    """A call of a tool."""
    return SimpleNamespace(type="function", function=SimpleNamespace(name=name, arguments=arguments))


def _choice(reason: str, text: str | None, calls: list[SimpleNamespace], **more: Any) -> SimpleNamespace:
    """A choice: why it ended, and the message."""
    message = SimpleNamespace(role="assistant", content=text, tool_calls=calls or None, **more)
    return SimpleNamespace(index=0, finish_reason=reason, message=message)
