"""What providers say of a request that is too large: the figures in each of their wordings, in whatever they stand."""

from __future__ import annotations

import json

import pytest

from ctxkit.tokens.overflow import Overflow, overflow

REFUSALS: list[tuple[str, tuple[int | None, ...]]] = [
    # Anthropic, Bedrock, Fireworks
    ("prompt is too long: 210345 tokens > 200000 maximum", (210_345, 200_000)),
    ("ValidationException: the model said: prompt is too long: 1,210,345 tokens > 1,000,000 maximum",
     (1_210_345, 1_000_000)),
    ("input length and `max_tokens` exceed context limit: 199000 + 8000 > 200000, decrease either",
     (199_000, 200_000, 8000)),
    ("The prompt is too long: 140000, model maximum context length: 131071", (140_000, 131_071)),
    # OpenAI and its kin
    ("This model's maximum context length is 128000 tokens. However, your messages resulted in 130456 tokens.",
     (130_456, 128_000)),
    ("This model's maximum context length is 8192 tokens. However, you requested 9001 tokens (8001 in the messages, "
     "1000 in the completion). Please reduce either.", (8001, 8192, 1000)),
    ("maximum context length is 8192 tokens, however you requested 9001 tokens (8001 in your prompt; 1000 for the "
     "completion)", (8001, 8192, 1000)),
    ("maximum context length is 16385 tokens. However, you requested 20000 tokens (15000 in the messages, 1000 in the "
     "functions, and 4000 in the completion).", (16_000, 16_385, 4000)),
    ("maximum context length is 8192 tokens, however you requested 9001 tokens (8001 in your prompt)",
     (8001, 8192, 1000)),
    ("Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300123 tokens.",
     (300_123, 272_000)),
    ("This endpoint's maximum context length is 131072 tokens. However, you requested about 141607 tokens (10535 of "
     "text input, 131072 in the output).", (10_535, 131_072, 131_072)),
    ("This endpoint's maximum context length is 16384 tokens. However, you requested about 94307 tokens (94307 of text "
     "input).", (94_307, 16_384)),
    ("maximum context length is 65536 tokens. However, you requested about 71000 tokens (60000 of text input, 3000 of "
     "tool input, 8000 in the output)", (63_000, 65_536, 8000)),
    # vLLM, SGLang, text-generation-inference
    ("'max_tokens' is too large: 2000. This model's maximum context length is 4096 tokens and your request has 3000 "
     "input tokens (2000 > 4096 - 3000).", (3000, 4096, 2000)),
    ("You passed 5000 input tokens and requested 300 output tokens. However, the model's context length is only 4096 "
     "tokens", (5000, 4096, 300)),
    ("This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.", (5000, 4096)),
    ("The decoder prompt (length 21535) is longer than the maximum model length of 16384.", (21_535, 16_384)),
    ("The prompt (total length 25938) is too long to fit into the model (context length 4096).", (25_938, 4096)),
    ("Input prompt (2664 tokens) is too long and exceeds limit of 2048/2560", (2664, 2048)),
    ("The input (17000 tokens) is longer than the model's context length (16384 tokens).", (17_000, 16_384)),
    ("Requested token count exceeds the model's maximum context length of 131072 tokens. You requested a total of "
     "140000 tokens: 130000 tokens from the input messages and 10000 tokens for the completion.",
     (130_000, 131_072, 10_000)),
    ("`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 7000 `inputs` tokens and 2000 `max_new_tokens`",
     (7000, 8193, 2000)),
    ("`inputs` must have less than 4096 tokens. Given: 5123", (5123, 4096)),
    # Gemini
    ("The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
     (1_200_000, 1_048_576)),
    ("Unable to submit request because the input token count is 1200000 but model only supports up to 1048576.",
     (1_200_000, 1_048_576)),
    # llama.cpp, Ollama
    ("request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it", (4390, 4096)),
    ('{"error":{"code":400,"message":"the request exceeds the available context size.","type":'
     '"exceed_context_size_error","n_prompt_tokens":14429,"n_ctx":8192}}', (14_429, 8192)),
    ("ValueError: Requested tokens (2138) exceed context window of 2048", (2138, 2048)),
    ('level=WARN msg="input exceeds context length" prompt=2782 limit=2048', (2782, 2048)),
    ("prompt too long; exceeded max context length by 412 tokens", (None, None, None, 412)),
    # others
    ("Prompt contains 40123 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
     (40_123, 32_768)),
    ("This model's maximum prompt length is 131072 but the request contains 537812 tokens.", (537_812, 131_072)),
    ("Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)", (300_000, 262_144)),
    ("too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292.", (4292, 4081)),
    ("too many tokens: size limit exceeded by 11326 tokens.", (None, None, None, 11_326)),
    ("Please reduce the length. Current length is 9000 while limit is 8192", (9000, 8192)),
    ("prompt token count of 130123 exceeds the limit of 128000", (130_123, 128_000)),
    ("Your 130123 input tokens exceed what fits: the maximum is 128000", (130_123, 128_000)),
    ("Range of input length should be [1, 98304]", (None, 98_304)),
    # no figures
    ('{"error":{"message":"Please reduce the length of the messages or completion.","code":"context_length_exceeded"}}',
     (None, None)),
    ("Your input exceeds the context window of this model. Please adjust it.", (None, None)),
    ("Input is too long for requested model.", (None, None)),
    ("Context size has been exceeded.", (None, None)),
    ("the input length exceeds the context length", (None, None)),
    ("Prompt is too long", (None, None)),
    ("Input Tokens Exceeded: Number of input tokens exceeds maximum length.", (None, None)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), REFUSALS, ids=[text[:60] for text, _ in REFUSALS])
def test_refusals(text: str, expected: tuple[int | None, ...]) -> None:
    """The figures: of the request without the reply, of what fits, of the reply that was asked for."""
    assert overflow(text) == Overflow(*expected)  # type: ignore[arg-type]


@pytest.mark.parametrize(("text", "expected"), REFUSALS, ids=[text[:60] for text, _ in REFUSALS])
def test_in_whatever_they_stand(text: str, expected: tuple[int | None, ...]) -> None:
    """A body, a body in a body, as .NET and Go escape it, broken by a terminal, in a traceback."""
    told = Overflow(*expected)  # type: ignore[arg-type]
    body = json.dumps({"type": "error", "error": {"code": 400, "message": text, "param": "messages"}})
    twice = json.dumps({"error": {"message": body, "status": 413}}, indent=2)
    assert overflow(body) == overflow(twice) == told
    assert overflow(body.replace(">", "\\u003e").replace("'", "\\u0027").replace("`", "\\u0060")) == told
    assert overflow('Traceback:\n  File "x.py", line 12\nBadRequestError: Error code: 400 - ' + repr(text)) == told
    assert overflow(text.replace(" ", "\n   ")) == told


@pytest.mark.parametrize(
    "text",
    [
        "", "rate limit exceeded", "401 unauthorized", "12 tokens", "5 > 4", "prompt", "429: try again in 20 s",
        "Rate limit reached on tokens per min (TPM): Limit 30000, Used 29000, Requested 4500.",
        "The maximum tokens you requested exceeds the model limit of 32768", "overloaded_error",
        "messages: text content blocks must be non-empty", "file is too long", "9" * 400,
    ],
)  # fmt: skip
def test_other_words(text: str) -> None:
    """No refusal of that kind."""
    assert overflow(text) is None


@pytest.mark.full("a long text")
def test_a_long_text_is_no_stall() -> None:
    """Megabytes of figures and of words without an end."""
    for text in ("1 tokens exceeds " * 100_000, "9" * 1_000_000, "prompt is too long: " * 50_000, "(" * 1_000_000):
        overflow(text)
    overflow("\\" * 1_000_000)
