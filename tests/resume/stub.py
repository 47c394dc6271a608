"""A model provider on loopback that keeps what it is sent: just enough of four APIs for an agent to get its answer."""

from __future__ import annotations

import gzip
import json
import threading
import zlib
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SAID = "pong"
"""What the model answers, whatever it is asked."""
Json = dict[str, Any]
Request = tuple[str, Json]
"""The path, and the body."""


def anthropic_message(model: str) -> Json:
    """A whole answer of the Messages API."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    text = [{"type": "text", "text": SAID}]
    return {
        "id": "msg_stub", "type": "message", "role": "assistant", "model": model, "content": text,
        "stop_reason": "end_turn", "stop_sequence": None, "usage": usage,
    }  # fmt: skip


def anthropic_events(model: str) -> Iterator[Json]:
    """The same as the events of a stream."""
    whole = anthropic_message(model)
    yield {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": SAID}}
    yield {"type": "content_block_stop", "index": 0}
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": end, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


def responses_events(model: str, asked: object = ()) -> Iterator[Json]:
    """An answer of the Responses API as the events of a stream; a compaction where `asked` ends with its request."""
    text = {"type": "output_text", "text": SAID, "annotations": []}
    item: Json = {"type": "message", "id": "msg_stub", "role": "assistant", "status": "completed", "content": [text]}
    if isinstance(asked, list) and asked and asked[-1].get("type") == "compaction_trigger":
        item = {"type": "compaction", "encrypted_content": SAID}
    usage = {
        "input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 2,
    }  # fmt: skip
    response = {"id": "resp_stub", "object": "response", "model": model, "output": [item], "usage": usage}
    yield {"type": "response.created", "response": {**response, "output": [], "status": "in_progress"}}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": {**response, "status": "completed"}}


def gemini_answer() -> Json:
    """An answer of Gemini's API, whole or the one chunk of a stream."""
    content = {"role": "model", "parts": [{"text": SAID}]}
    counts = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": counts}


def answer(path: str, body: Json) -> tuple[str, bytes]:
    """Content type and bytes of the answer to a POST."""
    model = str(body.get("model", ""))
    if path.endswith("/count_tokens"):
        return "application/json", b'{"input_tokens": 1}'
    if path.endswith("/messages") and not body.get("stream"):
        return "application/json", json.dumps(anthropic_message(model)).encode()
    if path.endswith("/messages"):
        return "text/event-stream", stream(anthropic_events(model))
    if path.endswith("/responses"):
        return "text/event-stream", stream(responses_events(model, body.get("input")))
    if path.endswith(":streamGenerateContent"):
        return "text/event-stream", f"data: {json.dumps(gemini_answer())}\r\n\r\n".encode()
    if path.endswith(":generateContent"):
        return "application/json", json.dumps(gemini_answer()).encode()
    return "application/json", b"{}"


def stream(events: Iterator[Json]) -> bytes:
    """Server-sent events."""
    return b"".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode() for event in events)


def decoded(raw: bytes, encoding: str) -> Json:
    """A body as an object; {} for what is none."""
    if encoding == "gzip":
        raw = gzip.decompress(raw)
    elif encoding == "deflate":
        raw = zlib.decompress(raw)
    try:
        found = json.loads(raw or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


class Stub(ThreadingHTTPServer):
    """Answers on 127.0.0.1 while the `with` block lasts; `requests` has what was posted, in order."""

    daemon_threads = True

    def __init__(self, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.requests: list[Request] = []

    def __enter__(self) -> Stub:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Stub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing is said."""

    def do_HEAD(self) -> None:
        self._send(200, "text/plain", b"")

    def do_GET(self) -> None:
        if self.headers.get("Upgrade", "").lower() == "websocket":
            self._send(426, "text/plain", b"")
        else:
            self._send(200, "application/json", b'{"data": [], "models": []}')

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = decoded(raw, self.headers.get("Content-Encoding", ""))
        path = self.path.partition("?")[0]
        self.server.requests.append((path, body))
        self._send(200, *answer(path, body))

    def _send(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)
