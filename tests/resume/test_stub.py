"""The stub answers the three APIs, and keeps what it was sent."""

from __future__ import annotations

import gzip
import json
import urllib.error
import urllib.request

import pytest

from tests.resume.stub import SAID, Stub


def post(stub: Stub, path: str, body: bytes, **headers: str) -> str:
    """The text of the answer."""
    url = f"http://127.0.0.1:{stub.server_port}{path}"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(url, data=body, headers=headers), timeout=30) as answer:
        return str(answer.read().decode())


def test_a_message_is_answered_whole_or_as_a_stream() -> None:
    """Anthropic's API, both ways."""
    with Stub() as stub:
        assert json.loads(post(stub, "/v1/messages", b'{"model": "m"}'))["content"][0]["text"] == SAID
        streamed = post(stub, "/v1/messages?beta=true", b'{"model": "m", "stream": true}')
    assert streamed.startswith("event: message_start\n") and "event: message_stop\n" in streamed and SAID in streamed


def test_a_response_is_streamed() -> None:
    """OpenAI's API."""
    with Stub() as stub:
        assert "event: response.completed\n" in post(stub, "/v1/responses", b'{"stream": true}')


def test_requests_are_kept_in_order() -> None:
    """With their bodies, packed or not; what is no JSON object is an empty one."""
    with Stub() as stub:
        post(stub, "/v1/messages", b'{"a": 1}')
        post(stub, "/v1/messages", gzip.compress(b'{"b": 2}'), **{"Content-Encoding": "gzip"})
        post(stub, "/other?x=y", b"words")
        assert stub.requests == [("/v1/messages", {"a": 1}), ("/v1/messages", {"b": 2}), ("/other", {})]


def test_a_websocket_is_refused() -> None:
    """With the status that sends Codex to plain HTTP."""
    with Stub() as stub:
        url = f"http://127.0.0.1:{stub.server_port}/v1/responses"
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with pytest.raises(urllib.error.HTTPError) as refused:
            opener.open(urllib.request.Request(url, headers={"Upgrade": "websocket"}), timeout=30)
        assert refused.value.code == 426
