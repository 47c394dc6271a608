"""A rolling context with the clients of OpenAI and Anthropic, whose requests end at a stub."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from ctxkit import RollingContext
from ctxkit.adapters.clients import anthropic_messages, openai_chat, openai_responses
from tests.trims import RULES

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
REPLIES: dict[str, dict[str, Any]] = {
    "openai": {
        "id": "x", "object": "chat.completion", "created": 1, "model": "gpt-4o",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "answer"}}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10},
    },
    "responses": {
        "id": "r", "object": "response", "created_at": 1, "model": "gpt-4o", "status": "completed", "tools": [],
        "tool_choice": "auto", "parallel_tool_calls": True, "error": None, "incomplete_details": None,
        "instructions": None, "metadata": {}, "temperature": 1, "top_p": 1,
        "output": [{"id": "m", "type": "message", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": "answer", "annotations": []}]}],
        "usage": {"input_tokens": 9, "output_tokens": 1, "total_tokens": 10,
                  "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}},
    },
    "anthropic": {
        "id": "m", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "stop_reason": "end_turn",
        "stop_sequence": None, "content": [{"type": "text", "text": "answer"}],
        "usage": {"input_tokens": 9, "output_tokens": 1},
    },
}  # fmt: skip


@pytest.mark.full("imports the clients, which takes seconds")
@pytest.mark.parametrize("to", REPLIES)
def test_a_client(to: str) -> None:
    """The body that the client sends is valid and fits; the response is added, with its usage."""
    import anthropic
    import openai

    sent: list[dict[str, Any]] = []

    class Stub(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            sent.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            body = json.dumps(REPLIES[to]).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            return

    server = HTTPServer(("127.0.0.1", 0), Stub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    at: dict[str, Any] = {"api_key": "x", "base_url": f"http://127.0.0.1:{server.server_port}", "max_retries": 0}
    context = RollingContext(900, reserve=400, model="gpt-4o")
    context.add({"role": "system", "content": "system"})
    for n in range(12):
        context.add({"role": "user", "content": f"question {n} " + "word " * 60})
        context.add({"role": "assistant", "content": None, "tool_calls": [{**CALL, "id": f"c{n}"}]})
        context.add({"role": "tool", "tool_call_id": f"c{n}", "content": "seen"})
        match to:
            case "openai":
                openai_chat(openai.OpenAI(**at), context, "gpt-4o")
            case "responses":
                openai_responses(openai.OpenAI(**at), context, "gpt-4o")
            case _:
                client = anthropic.Anthropic(**at)
                anthropic_messages(client, context, "claude-sonnet-4-5", 100)
        assert not list(RULES[to](sent[-1]))
    server.shutdown()
    server.server_close()
    assert len(sent) == 12 and context.status().of == 49 and context.status().trims > 0
    [row] = context.log.content(49).rows
    assert "answer" in json.dumps(row["content"]) and row["meta"]["usage"]
