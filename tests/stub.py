"""A provider of models on loopback: it speaks the protocols of OpenAI and of Anthropic, and answers what a test says.

Real HTTP, asked by a stand-in for litellm, or by litellm itself (`tests/which_litellm.py`). `Stub.url` goes into
OPENAI_API_BASE and ANTHROPIC_API_BASE. Each request takes the next of `answers`, the last one for all that follow;
`requests` holds the bodies that came.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, repeat
from typing import Any, NamedTuple

import pytest

from tests import which_litellm

KEY = "sk-canary-" + "0123456789abcdef" * 2
"""What every test gives as the provider's key: it must be nowhere afterwards."""


class Says(NamedTuple):
    """One answer. `text`: what the model says; `status` other than 200: an error, with `text` as its words; `raw`: the
    body as it is; `endless`: it never ends; `wait`: seconds before it comes.
    """

    text: str | None = ""
    status: int = 200
    wait: float = 0.0
    stop: str = "stop"
    raw: bytes | None = None
    headers: Mapping[str, str] = {}
    endless: bool = False
    refusal: str | None = None
    calls: Sequence[str] = ()
    type: str = "server_error"
    code: str | None = None


Script = Says | Callable[[str, dict[str, Any]], Says]
"""What is answered: always the same, or what a function makes of the words that were asked, and the request."""


class Stub:
    """A server, and what it was asked."""

    def __init__(self, *answers: Script) -> None:
        self.answers: list[Script] = list(answers)
        self.requests: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.keys: list[str] = []
        self.lock = threading.Lock()
        self.server = _Server(("127.0.0.1", 0), _handler(self))
        self.server.daemon_threads = True
        self.host = f"127.0.0.1:{self.server.server_address[1]}"
        self.url = f"http://{self.host}"

    def next(self, body: dict[str, Any]) -> Says:
        """The answer to a request."""
        with self.lock:
            self.requests.append(body)
            one = self.answers[min(len(self.requests), len(self.answers)) - 1]
        return one if isinstance(one, Says) else one(asked(body), body)

    @property
    def sent(self) -> str:
        """All that came in, as one text."""
        return "\n".join(json.dumps(body, ensure_ascii=False) for body in self.requests)


def asked(body: Mapping[str, Any]) -> str:
    """The words of the user's messages of a request."""
    found = []
    for message in body.get("messages", ()):
        content = message["content"]
        if message["role"] == "user":
            found.append(content if isinstance(content, str) else "".join(part.get("text", "") for part in content))
    return "\n".join(found)


class _Server(ThreadingHTTPServer):
    def handle_error(self, *words: Any) -> None:
        """Whoever asked is gone: nothing on stderr."""


def _handler(stub: Stub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *words: Any) -> None:
            """Nothing on stderr."""

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            stub.paths.append(self.path)
            stub.keys.append(self.headers.get("authorization") or self.headers.get("x-api-key") or "")
            says = stub.next(body)
            time.sleep(says.wait)
            try:
                self._answer(says, body)
            except OSError:
                self.close_connection = True

        def _answer(self, says: Says, body: dict[str, Any]) -> None:
            self.send_response(says.status)
            for name, value in {"content-type": "application/json", **says.headers}.items():
                self.send_header(name, value)
            if says.endless:
                self.send_header("transfer-encoding", "chunked")
                self.end_headers()
                self._endless(says)
                return
            shape = _anthropic if self.path.endswith("/messages") else _openai
            raw = shape(says, body) if says.raw is None else says.raw
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def _endless(self, says: Says) -> None:
            head = (
                b'{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"'
            )
            block = (says.text or "on and on ").encode() * 4000
            for piece in chain([head], repeat(block)):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))

    return Handler


def _openai(says: Says, body: dict[str, Any]) -> bytes:
    if says.status != 200:
        return json.dumps({"error": {"message": says.text, "type": says.type, "code": says.code}}).encode()
    message: dict[str, Any] = {"role": "assistant", "content": says.text, "refusal": says.refusal}
    if says.calls:
        message["tool_calls"] = [
            {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": "{}"}}
            for n, name in enumerate(says.calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": says.stop}
    usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
    return json.dumps(
        {"id": "x", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [choice],
         "usage": usage}
    ).encode()  # fmt: skip


def _anthropic(says: Says, body: dict[str, Any]) -> bytes:
    if says.status != 200:
        return json.dumps({"type": "error", "error": {"type": says.type, "message": says.text}}).encode()
    content: list[dict[str, Any]] = [{"type": "text", "text": says.text}] if says.text is not None else []
    content += [{"type": "tool_use", "id": f"c{n}", "name": name, "input": {}} for n, name in enumerate(says.calls)]
    reason = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}[says.stop]
    return json.dumps(
        {"id": "x", "type": "message", "role": "assistant", "model": body["model"], "content": content,
         "stop_reason": reason, "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 9}}
    ).encode()  # fmt: skip


@contextmanager
def stub(*answers: Script) -> Iterator[Stub]:
    """A server for the time of a test."""
    made = Stub(*answers)
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.server.shutdown()
        made.server.server_close()


def env(made: Stub) -> dict[str, str]:
    """What makes a program ask this server, whichever protocol its model has."""
    return {
        "OPENAI_API_KEY": KEY, "OPENAI_API_BASE": f"{made.url}/v1", "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_API_BASE": made.url, **which_litellm.environment(),
    }  # fmt: skip


def pointed(made: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    """This process asks this server."""
    for name, value in env(made).items():
        monkeypatch.setenv(name, value)
