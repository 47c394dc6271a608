"""Redaction: secrets by how they are written; everything else stays as it is."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import subprocess
import time
import uuid
import zlib
from itertools import groupby, pairwise
from operator import attrgetter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.core.text import secret_kinds
from ctxkit.core.text.redaction import ends, find_secrets, kinds, mask, redact
from tests.canaries import ALNUM, FORMS, PLACES, Canary, canaries, left

ROOT = Path(__file__).resolve().parents[3]
CANARIES = {kind: list(some) for kind, some in groupby(canaries(34, 3), key=attrgetter("kind"))}
RSA = "RSA PRIVATE KEY"
FEW = {"Basic", "Kubernetes", "URL", "cut"}
"""Forms that need no more than one secret of each kind on a push."""


def made(chance: random.Random, count: int) -> str:
    """Letters and digits."""
    return "".join(chance.choices(ALNUM, k=count))


def test_every_kind_has_canaries() -> None:
    """Whatever `kinds` lists, but for what the caller knows; names are words that a report can be searched for."""
    names = [kind.name for kind in kinds()]
    assert sorted({*names} - {"known-value"}) == sorted(CANARIES) and len(names) == len(set(names)) >= 120
    assert all(
        re.fullmatch(
            r"[a-z0-9]+(-[a-z0-9]+)+|jwt|netrc|pgpass|option|cookie|header|variable|bearer|authorization|assignment",
            name,
        )
        for name in names
    )
    assert all(kind.what and kind.shape and kind.source.startswith("https://") and kind.maker for kind in kinds())


@pytest.mark.parametrize("kind", sorted(CANARIES))
def test_kinds(kind: str) -> None:
    """Each is found as its kind, its prefix is kept, the mask tells prefix and length and nothing of the value."""
    for one in CANARIES[kind]:
        text = f"it says\n{one.text}\nand more"
        found = [secret for secret in find_secrets(text) if secret.kind == kind]
        assert len(found) == 1, text
        [secret] = found
        assert one.secret.startswith(text[secret.start : secret.end][:5]), (
            one,
            text[secret.start : secret.end],
        )
        shown = mask(text, secret)
        assert shown.endswith(f"…[{secret.end - secret.start}]") and left(one, shown) == ""
        if one.before in secret_kinds.marks():
            assert shown.startswith(one.before)


@pytest.mark.parametrize("form", FORMS)
def test_forms(form: str) -> None:
    """In plain text, over lines, cut, in JSON and in JSON in JSON, in a URL and in Base64: no eight characters in a row
    are left, spans do not overlap, and a second look finds nothing.
    """
    missed = []
    for some in CANARIES.values():
        for one in some[: 1 if form in FEW else None]:
            if (text := FORMS[form](one)) is not None:
                hidden, count = redact(text)
                found = find_secrets(text)
                assert count == len(found) and all(a.end <= b.start for a, b in pairwise(found))
                assert redact(hidden) == (hidden, 0), text
                if count == 0 or left(one, hidden):
                    missed.append(text)
    assert [text for text in missed if not any(word in text.lower() for word in HARD.get(form, ()))] == []


HARD = {"wrapped": ("mailgun", "asana", "akia", "\n+")}
"""Forms in which kinds are missed without a mark, of digits and signs; a line that begins as one of a patch."""


@given(
    st.lists(st.sampled_from([one for some in CANARIES.values() for one in some]) | st.text(max_size=20), max_size=6)
)
def test_laws(parts: list[Canary | str]) -> None:
    """Of any text with secrets: hidden once, nothing more is found; spans are in order; what is outside stays."""
    text = " ".join(part.text if isinstance(part, Canary) else part for part in parts)
    found = find_secrets(text)
    assert all(a.end <= b.start for a, b in pairwise(found)) and all(one.start < one.end for one in found)
    hidden, count = redact(text)
    assert count == len(found) and redact(hidden) == (hidden, 0)
    around = [0, *(place for one in found for place in (one.start, one.end)), len(text)]
    at = 0
    for low, high in zip(around[::2], around[1::2], strict=True):
        at = hidden.index(text[low:high], at) + high - low


def test_the_signs_are_those_of_the_table() -> None:
    """Nothing that begins a kind or a rule is missing: so a text without a sign has no secret, and needs no table."""
    of_makers, of_places = secret_kinds.signs()
    assert of_makers >= set(secret_kinds.marks()) and len(of_makers) < 2 * len(secret_kinds.marks())
    assert of_places == {mark.decode("ascii") for mark in secret_kinds.rules()}


@given(
    st.lists(st.sampled_from([one for some in CANARIES.values() for one in some]) | st.text(max_size=20), max_size=6),
    st.integers(0, 300),
    st.integers(0, 300),
)
def test_without_a_sign_nothing_is_found(parts: list[Canary | str], first: int, last: int) -> None:
    """Of any text, also of a piece of a secret: without a sign, nothing is found."""
    whole = "".join(part.text if isinstance(part, Canary) else part for part in parts)
    text = whole[min(first, len(whole)) : max(0, len(whole) - last)]
    assert secret_kinds.has_sign(text) or find_secrets(text) == []


def test_the_table_is_not_read_for_plain_words() -> None:
    """What most commands are given, such as the words of a call."""
    for read in (secret_kinds.table, secret_kinds.marks, secret_kinds.roots, secret_kinds.rules):
        read.cache_clear()
    assert find_secrets("mark /home/ada/.claude/projects/-work/2f0a6f1e-41aa-4c0d-9b1c-77c1e1de1c55.jsonl before") == []
    assert secret_kinds.table.cache_info().currsize == 0


def test_every_secret_has_a_sign() -> None:
    """All canaries, in all forms."""
    texts = [FORMS[form](some[0]) for some in CANARIES.values() for form in FORMS]
    assert [text for text in texts if text is not None and find_secrets(text) and not secret_kinds.has_sign(text)] == []


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
def test_keys_go(around: str) -> None:
    """Wherever they stand, also in JSON, also behind an escaped line end and a terminal's colour."""
    for some in CANARIES.values():
        for one in some[:1] if some[0].kind not in PLACES and some[0].before in secret_kinds.marks() else ():
            for text in (around.format(one.text), json.dumps(around.format(one.text))):
                assert left(one, redact(text)[0]) == "", text


@pytest.mark.parametrize(
    "text",
    [
        "postgres://ada:{0}{1}@db:5432/shop", "https://:{0}{1}@example.com/x", "DB_PASSWORD={0}{1}",
        '"password": "{0}8{1}"', "client_secret: '{0}abcdef{1}'", "Authorization: Bearer {0}456789{1}",
        "authorization: Basic {0}1aGVyMzI={1}", "curl 'https://x.test/v1?key={0}34{1}&n=1'", "API_TOKEN={0}{1}",
        "SECRET_KEY='{0} b c d(e{1}'", "postgres://ada:{2}p@{0}{1}@db/shop", "PASSWORD = '{0}!{1}'",
        "X-Api-Key: {0}4-1234-1234-1234-123456789012{1}", "Cookie: session={0}56789; a=b{1}",
        "curl -sS -u ada:{0}{1} http://x.test", "sshpass -p '{0}{1}' ssh x", "machine h login ada password {0}{1}",
        "deploy --token {0}3456{1}", '{{"auth": "{0}aHVudGVyMjI={1}"}}', "mysql -u ada -p{0}{1} shop",
        "redis-cli -h x -a {0}{1} ping", "gpg --passphrase {0}{1} -d x", "docker run -e PGPASSWORD={0}{1} pg",
        "db.test:5432:shop:ada:{0}{1}", "//npm.test/:_authToken={0}abc{1}", 'password => "{0}{1}"',
        "{{\\\"password\\\": \\\"{0}8{1}\\\"}}", "see https://x.test/a?sig={0}%2Fabc{1}&x=1",
        "SECRET_TOKEN={0}{1}\nNAME=ada",
    ],
)  # fmt: skip
def test_what_is_left(text: str) -> None:
    """What it was stays to be read; told again, nothing more goes. {0}: a password; {1}: where the secret ends."""
    word = "hunter2"
    before, secret, after = text.format(word if "{2}" in text else f"\0{word}", "\0", "\0").split("\0")
    hidden = f"{before}…[redacted {len(secret)}]{after}"
    assert redact(before + secret + after) == (hidden, 1)
    assert redact(hidden) == (hidden, 0)


def test_overlaps() -> None:
    """A maker's token inside a longer value: all of the value goes, as the token's kind; a prefix that stands at its
    start is kept.
    """
    token = CANARIES["github-token"][0].text
    for before, after in (("", ""), ("ab12cd34-", ""), ("", "-ab12cd34"), ("ab12cd34-", ".x")):
        text = f"see https://x.test/?token={before}{token}{after}&n=1"
        [secret] = find_secrets(text)
        kept = "" if before else "ghp_"
        size = len(before + token + after) - len(kept)
        assert secret.kind == "github-token"
        assert redact(text) == (f"see https://x.test/?token={kept}…[redacted {size}]&n=1", 1)


@pytest.mark.parametrize("after", ["v2.0.1 release", "2 things", "line2: x", "Then2(", "the end"])
def test_the_next_line_stays(after: str) -> None:
    """A whole token at a line's end takes nothing of the next line that is no rest of one."""
    token = "sk_" + "live_" + "aB3dE5gH" * 4
    assert redact(f"{token}\n{after}") == (f"sk_live_…[redacted 32]\n{after}", 1)


def test_checksums() -> None:
    """A canary of GitHub or npm has the checksum that they document: CRC32 of the 30 characters, in base 62."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    for kind in ("github-token", "npm-token"):
        for one in CANARIES[kind]:
            number = 0
            for letter in one.secret[-6:]:
                number = number * 62 + digits.index(letter)
            assert number == zlib.crc32(one.secret[:-6].encode())


def test_this_repository_has_none() -> None:
    """Our own files pass: canaries are made when tests run."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False).stdout.decode()
    found = []
    for name in filter(re.compile(r".*\.(?:py|md|toml|sh)").fullmatch, listed.split("\0")):
        text = (ROOT / name).read_text(encoding="utf-8", errors="replace")
        found += [f"{name}:{text.count(chr(10), 0, one.start) + 1}: {one.kind}" for one in find_secrets(text)]
    assert found == []


def test_private_keys() -> None:
    """Whole, with real line ends and escaped ones, and where their end is cut off."""
    body = "\n".join(base64.b64encode(hashlib.sha256(bytes([n])).digest() * 2).decode()[:64] for n in range(20))
    key = f"-----BEGIN {RSA}-----\n{body}\n-----END {RSA}-----"
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
    marks = [*secret_kinds.marks(), *(mark.decode() for mark in secret_kinds.rules())]
    for mark in marks:
        for word in (mark, f"{mark}=", f"{mark}:a ", f"{mark}a1a1-", f"-----BEGIN {mark}-----\n"):
            find_secrets(word * (4_000 // len(word)))
    for word in (
        "key: " + "11-" * 60 + "!",
        "a1" * 30 + "AZDO",
        "aB1cD2eF3gH4iJ5kL6\n",
        f"token={RSA[:1]}1cD2eF3gH4\n",
    ):
        find_secrets(word * (20_000 // len(word)))
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("size", [2000, 60_000])
@pytest.mark.parametrize(
    "secret",
    [
        "ghp_" + "a1" * 18,
        f"-----BEGIN {RSA}-----\n" + ("a1" * 32 + "\n") * 25 + f"-----END {RSA}-----",
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
