"""Redaction: secrets by how they are written; everything else stays as it is."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import string
import time
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.text.redaction import RULES, ends, redact

ALPHABET = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


def made(chance: random.Random, count: int, alphabet: str = ALPHABET) -> str:
    """Letters as a key has them: at least one digit among them."""
    return "".join(chance.choices(alphabet, k=count - 1)) + chance.choice("0123456789")


SHAPES = {
    "ghp_": lambda c: "ghp_" + made(c, 36),
    "ghs_": lambda c: "ghs_" + made(c, 36),
    "github_pat_": lambda c: f"github_pat_{made(c, 22)}_{made(c, 59)}",
    "glpat-": lambda c: "glpat-" + made(c, 20),
    "sk-ant-": lambda c: "sk-ant-api03-" + made(c, 93),
    "sk-proj-": lambda c: "sk-proj-" + made(c, 48),
    "sk-": lambda c: "sk-" + made(c, 48),
    "AKIA": lambda c: "AKIA" + made(c, 16, string.ascii_uppercase + string.digits),
    "AIza": lambda c: "AIza" + made(c, 35),
    "ya29.": lambda c: "ya29." + made(c, 60),
    "xoxb-": lambda c: f"xoxb-{made(c, 11, string.digits)}-{made(c, 11, string.digits)}-{made(c, 24)}",
    "slack hook": lambda c: "https://hooks.slack.com/services/T" + made(c, 8) + "/B" + made(c, 8) + "/" + made(c, 24),
    "sk_live_": lambda c: "sk_live_" + made(c, 24),
    "npm_": lambda c: "npm_" + made(c, 36),
    "pypi-": lambda c: "pypi-" + made(c, 120),
    "hf_": lambda c: "hf_" + made(c, 34),
    "SG.": lambda c: f"SG.{made(c, 22)}.{made(c, 43)}",
    "jwt": lambda c: f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIi{made(c, 20)}.{made(c, 43)}",
    "hvs.": lambda c: "hvs." + made(c, 24),
    "gsk_": lambda c: "gsk_" + made(c, 52),
    "telegram": lambda c: f"{made(c, 10, string.digits)}:AA{made(c, 33)}",
    "dop_v1_": lambda c: "dop_v1_" + made(c, 64, HEX),
}
"""Keys as their makers write them, by what they begin with."""


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "the key is {}.",
        "KEY={}",
        '{{"key":"{}"}}',
        "a\n{}\nb",
        "curl -H 'X: {}'",
        "\x1b[31m{}\x1b[0m",
        "\\u0022{}",
    ],
)
def test_keys_go(shape: str, around: str) -> None:
    """Wherever they stand, also in JSON, also behind an escaped line end; how long they were is told."""
    chance = random.Random(f"{shape}{around}")
    for _ in range(5):
        key = SHAPES[shape](chance)
        secret = key[-12:]
        for text in (around.format(key), json.dumps(around.format(key)), json.dumps(json.dumps(around.format(key)))):
            found, count = redact(text)
            assert secret not in found and count >= 1 and "…[redacted " in found, text


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("postgres://ada:hunter22@db:5432/shop", "postgres://ada:…[redacted 8]@db:5432/shop"),
        ("https://:tok3n-value@example.com/x", "https://:…[redacted 11]@example.com/x"),
        ("DB_PASSWORD=correct-h0rse", "DB_PASSWORD=…[redacted 13]"),
        ('"password": "s3cretvalue"', '"password": "…[redacted 11]"'),
        ("client_secret: 'abc123def456'", "client_secret: '…[redacted 12]'"),
        ("Authorization: Bearer abcdef0123456789", "Authorization: Bearer …[redacted 16]"),
        ("authorization: Basic YWRhOmh1bnRlcjI=", "authorization: Basic …[redacted 16]"),
        ("curl 'https://x.test/v1?key=AbCd1234efgh&n=1'", "curl 'https://x.test/v1?key=…[redacted 12]&n=1'"),
        ("ghp_" + "a1" * 18, "ghp_…[redacted 36]"),
        ("API_TOKEN=abcdefghijklmnop", "API_TOKEN=…[redacted 16]"),
        ("DB_PASSWORD=hunter2", "DB_PASSWORD=…[redacted 7]"),
        ("SECRET_KEY='a$b c d(e'", "SECRET_KEY=…[redacted 10]'"),
        ("postgres://ada:p@ss@db/shop", "postgres://ada:…[redacted 4]@db/shop"),
        ("PASSWORD = 'S3cr3t!'", "PASSWORD = '…[redacted 7]'"),
        ("X-Api-Key: 12345678-1234-1234-1234-123456789012", "X-Api-Key: …[redacted 36]"),
        ("Cookie: session=abcdef0123456789; a=b", "Cookie: session=…[redacted 21]"),
        ("curl -sS -u ada:hunter2 http://x.test", "curl -sS -u ada:…[redacted 7] http://x.test"),
        ("sshpass -p 'hunter2' ssh x", "sshpass -p '…[redacted 7]' ssh x"),
        ("machine h login ada password hunter2", "machine h login ada password …[redacted 7]"),
        ("deploy --token abcdef123456", "deploy --token …[redacted 12]"),
        ('{"auth": "YWRhOmh1bnRlcjI="}', '{"auth": "…[redacted 16]"}'),
        ("AccountKey=" + "Ab1/" * 11 + ";x", "AccountKey=…[redacted 44];x"),
    ],
)
def test_what_is_left(text: str, left: str) -> None:
    """What it was stays to be read; told again, nothing more goes."""
    assert redact(text) == (left, 1)
    assert redact(left) == (left, 0)


def test_private_keys() -> None:
    """Whole, with real line ends and escaped ones, and where their end is cut off."""
    body = "\n".join(base64.b64encode(hashlib.sha256(bytes([n])).digest() * 2).decode()[:64] for n in range(20))
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----"
    read = "\n".join(f"{n:>6}→{line}" for n, line in enumerate(key[:400].split("\n"), start=1))
    patch = "\n".join(f"+{line}" for line in key[:400].split("\n"))
    headed = key[:400].replace("-----\n", "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,AB01\n\n", 1)
    for text in (key, json.dumps(key), key[:400], json.dumps(json.dumps(key[:400])), read, patch, headed):
        found, count = redact(f"cat id_rsa\n{text}\nand on")
        assert count == 1 and body[10:40] not in found and body[-40:-10] not in found and "and on" in found


def test_known_values() -> None:
    """What is secret by its place is so wherever it stands; short ones are words."""
    assert redact("it is plainwords here", ["plainwords"]) == ("it is …[redacted 10] here", 1)
    assert redact("the cat", ["the"]) == ("the cat", 0)


@pytest.mark.parametrize(
    "text",
    [
        "password = get_password(user)", "token: string;", "const token = await getToken1();",
        "api_key = os.environ['K']",
        "the password is wrong", "secret: ${{ secrets.NPM_TOKEN }}", "postgres://$USER:$PASSWORD@db/shop",
        "https://example.com:8080/a@b", "max_tokens=4096", "total_tokens: 12345678",
        "sk-skeleton-loader-animation-wrapper",
        "task-0123456789abcdef0123", "git commit -m 'token refresh'", "key=value", "tokenizer: cl100k_base",
        "hf_hub_download", '"pwd": "/home/ada/shop1"', "PWD=/home/ada/shop1", "TOKEN=$(cat token1)", "author: ada1815",
        "API_KEY=get_key1()", "SECRET_KEY=os.environ['K1']", "docker run -u 1000:1000 x",
        "-----BEGIN PRIVATE KEY----- in words",
        "ctxkit/tokens/counter.py:12", "bearer of bad news and more words", "xoxo- hugs", "AKIA is a prefix",
    ],
)  # fmt: skip
def test_words_stay(text: str) -> None:
    """Code and prose that speak of secrets hold none."""
    assert redact(text) == (text, 0)


def test_names_that_look_random_stay() -> None:
    """UUIDs, digests and ids of calls are what a session is found by."""
    chance = random.Random(8)
    wrong = 0
    for _ in range(300):
        raw = chance.randbytes(32)
        for text in (
            str(uuid.UUID(bytes=raw[:16])), hashlib.sha256(raw).hexdigest(), hashlib.sha1(raw).hexdigest()[:12],
            "toolu_01" + made(chance, 22), "call_" + made(chance, 24), "msg_01" + made(chance, 22),
            "req_" + made(chance, 24),
        ):  # fmt: skip
            wrong += redact(f"see {text}, line 4")[1]
    assert wrong <= 0.01 * 2100


@given(st.text(st.characters(exclude_categories=[]), max_size=200))
def test_any_text(text: str) -> None:
    """Never fails; nothing found: nothing changed."""
    found, count = redact(text)
    assert (count == 0) == (found == text)


@pytest.mark.full("long hostile texts")
def test_hostile_text_is_read_in_time() -> None:
    """Repeats of what begins a secret cost no more than their length (a hang guard: ten times what it takes)."""
    began = time.monotonic()
    for rule in RULES:
        for mark in rule.marks:
            for word in (mark, mark.upper(), f"{mark}=", f"{mark}:a ", f"-----BEGIN {mark}-----\n"):
                redact(word * (20_000 // len(word)))
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("size", [2000, 60_000])
@pytest.mark.parametrize(
    "secret",
    [
        "ghp_" + "a1" * 18,
        "-----BEGIN RSA PRIVATE KEY-----\n" + ("a1" * 32 + "\n") * 25 + "-----END RSA PRIVATE KEY-----",
    ],
)
def test_no_secret_is_cut_in_two(size: int, secret: str) -> None:
    """Wherever it stands in a text of which both ends are shown; what is shown is no longer than it may be."""
    found = []

    def hide(text: str) -> str:
        return redact(text)[0]

    for at in {*range(700, 1100, 23), *range(size - 1200, size - 100, 23), *range(10_000, min(size, 12_000), 97)}:
        text = "word " * 200 * (size // 1000)
        shown = ends(text[:at] + secret + text[at:], 900, 300, hide, lambda left: f"[{left}]")
        assert "a1a1" not in shown, (at, shown)
        found.append(len(shown))
    assert max(found) <= 1200 + len("[100000]")
    assert ends("short", 3, 2, hide, str) == "short" and ends("0123456789", 3, 2, hide, str) == "012589"
