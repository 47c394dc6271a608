"""Secrets by their place: what people and programs write around one; it goes to its end, and ordinary text stays."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

import pytest

from ctxkit.core.text.redaction import find_secrets, redact
from ctxkit.core.text.redactor import Redactor
from tests.canaries import ALNUM, token

KEY = "PRIVATE KEY"
WORD = f"hunter{22}"  # put together, because our own scan reads this file
SIGNS = ["a{}3{{x", "a({}3x)yz", "a<{}3>x&y", "a,{}3,x", "a;{}3;x=1", "p@{}3/x#y", "$1{}3[x]", "a`{}3|x"]
SIGNED = [one.format("B") for one in SIGNS]
"""Passwords with signs that end something elsewhere."""
LOWER = "sword" + "fish"


def hides(before: str, secret: str, after: str) -> None:
    """The secret goes as a whole; what is around it stays."""
    found = [(before + secret + after)[one.start : one.end] for one in find_secrets(before + secret + after)]
    assert found == [secret], (before, secret, after)


@pytest.mark.parametrize(
    "around",
    [
        'password: "…"', "password = '…'", '{"password": "…", "n": 1}', "DB_PASSWORD='…'", 'export API_TOKEN="…"',
        'client_secret: "…"', "api_key='…'", '"access_token": "…"', "tool --password '…' x", 'tool --token="…"',
        "curl -u 'ada:…' https://x.test", "sshpass -p '…' ssh x", "mysql -u ada -p'…' shop",
        "gpg --passphrase '…' -d x", '{\\"password\\": \\"…\\"}', 'X-Api-Key: "…"',
    ],
)  # fmt: skip
@pytest.mark.parametrize("secret", [*(f"{one}Kd93Lq7x" for one in SIGNED), "Kd93it's\"fine7x"])
def test_a_quoted_value_ends_at_its_own_quote(around: str, secret: str) -> None:
    """Whatever signs it has, also the other quote, and its own where it is escaped."""
    if "\\" in around:
        secret = secret.replace('"', '\\\\\\"')
    else:
        quote = next(one for one in reversed(around.split("…")[0]) if one in "\"'`")
        secret = secret.replace(quote, f"\\{quote}")
    if not secret.startswith("$"):  # a variable of a shell
        before, after = around.split("…")
        hides(before, secret, after)


@pytest.mark.parametrize("secret", ["pa/ss@w0rd", "p@ss/w@rd1", "a<b>3'x", "ab,c;d(e1", "kx" * 150 + "1"])
@pytest.mark.parametrize("around", ["postgres://ada:…@db.test/shop", "see redis://:…@h:6379/0 now"])
def test_a_password_in_a_url(around: str, secret: str) -> None:
    """To the last @ before a blank."""
    hides(around.split("…")[0], secret, around.split("…")[1])


@pytest.mark.parametrize("size", [300, 5000, 70_000])
@pytest.mark.parametrize(
    "around",
    [
        "sk-…", "sk-proj-…", "https://…@git.test/x", "https://ada:…@git.test/x", "it uses Bearer …",
        "Authorization: Bearer …", "DB_PASSWORD=…", "api_key: …", "glpat-…", "https://x.test/?token=…&n=1",
        'password: "…"', "tool --token …", "X-Api-Key: …", "Cookie: session=…", "eyJhbGciOiJkaXIifQ.…",
    ],
)  # fmt: skip
def test_no_length_lets_a_tail_out(around: str, size: int) -> None:
    """What its mark proves is taken to the end of the run."""
    secret = token(random.Random(size), size, size)
    hidden, count = redact(around.replace("…", secret) + "\nand on")
    assert count and secret[-6:] not in hidden and hidden.endswith("and on") and len(hidden) < 200


def test_encrypted_web_tokens() -> None:
    """Five parts; the second is empty where the key is agreed."""
    chance = random.Random(4)
    parts = [token(chance, size, size) for size in (40, 16, 90, 22)]
    for text in (".".join(["eyJhbGciOiJBMjU2S1cifQ", *parts]), ".".join(["eyJhbGciOiJkaXIifQ", "", *parts[1:]])):
        hides("see eyJ", text[3:], " it")


@pytest.mark.parametrize(
    "around",
    [
        'pass: "…"', '{"pass":"…"}', 'DB_PASS: "…"', "psk=…", 'psk="…"', "DB_PW=…", "RAILS_MASTER_KEY=…",
        "SECRET_KEY_BASE=…", "APP_KEY=" + "base64:…", "openssl rsa -passin pass:… -in k.pem",
        "echo " + "'ada:…' | chpasswd", "echo " + "ada:… | sudo chpasswd",
        "echo … | docker login -u ada --password-stdin", "az login -u ada -p …",
        "7z a -p… x.7z", "keytool -list -storepass …", 'requests.get(url, auth=("me","…"))', "auth=('me', '…')",
        "**Password:** …", "**Password**: `…`", "| user | ada |\n| password | … |", "| Password | `…` |",
        "Password is …!", "the password is ….", "the new password was `…`,", '{"name":"DB_PASSWORD","value":"…"}',
        "- name: DB_PASSWORD\n  value: …\n", '{"password":["…"]}', '[{"name": "API_TOKEN", "value": "…"}]',
    ],
)  # fmt: skip
@pytest.mark.parametrize("secret", [f"kestrel{19}x", "Tr0ub4dor&3"])
def test_places(around: str, secret: str) -> None:
    """What attacks found to pass, also in JSON and in JSON in JSON."""
    before, after = around.split("…")
    hides(before, secret, after)
    inner = json.dumps({"text": f"it says\n{before}{secret}{after}\nand more"})
    for text in (inner, json.dumps({"arguments": inner})):
        assert secret not in redact(text)[0]


@pytest.mark.parametrize(
    ("value", "count"),
    [
        ({"name": "DB_PASSWORD", "value": "…"}, 1), ({"password": ["…"]}, 1), ({"pass": "…"}, 1),
        (["az", "login", "-p", "…"], 1), (["mysql", "-u", "ada", "-p…"], 1),
        ({"env": [{"name": "TOKEN", "value": "…"}]}, 1),
        (["the token", "…"], 0), (["password", "…", "ada"], 0), ({"name": "colour", "value": "…"}, 0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("secret", ["kestrel" + "19x", *(f"{one}Kd93Lq7x" for one in SIGNED[:6]), "Kd93it's\"fi\\ne7x"])
def test_values(value: Any, count: int, secret: str) -> None:
    """In JSON a value is a whole: no sign in it ends it. Only what follows an option of a command is an argument."""

    def put(held: Any) -> Any:
        if isinstance(held, dict):
            return {key: put(one) for key, one in held.items()}
        return list(map(put, held)) if isinstance(held, list) else held.replace("…", secret)

    redactor = Redactor()
    made = redactor.value(put(value))
    assert redactor.count == count
    assert not count or (secret[-4:] not in repr(made) and secret[:4] not in repr(made))


def test_basic_alone() -> None:
    """Base64 of a text with a colon."""
    for password in (WORD, "x" + WORD, "xy" + WORD):
        hides("it sent Basic ", base64.b64encode(f"ada:{password}".encode()).decode(), " and")


@pytest.mark.parametrize(
    "line", ["password: …", "  password: …\n  port: 1\n", "db_password: …\nname: x\n", "- passwd: …"]
)
def test_small_letters_in_a_config(line: str) -> None:
    """A word alone on its line."""
    hides(line.split("…")[0], LOWER, line.split("…")[1])
    hides('{"password": "', 2 * LOWER, '"}')


@pytest.mark.parametrize("prefix", ["", "12| ", "> ", "+ ", "   7\t", "12→"])
def test_half_of_a_private_key(prefix: str) -> None:
    """Its end without its begin, and its begin without the line before."""
    chance = random.Random(9)
    lines = [base64.b64encode(chance.randbytes(48)).decode() for _ in range(14)]
    end = [*lines[4:], "Qk1hY2g=", f"-----END RSA {KEY}-----"]
    begin = ["MIIEpAIBAAKCAQEA" + lines[0][16:], *lines[1:7]]
    for some in (end, begin, ["b3BlbnNzaC1rZXktdjEAAAAA" + lines[0][24:], *lines[1:7]]):
        text = "it says:\n" + "".join(f"{prefix}{line}\n" for line in some) + "and on"
        hidden, count = redact(text)
        assert count == 1 and hidden.endswith("and on") and hidden.startswith("it says"), hidden
        assert not any(line[9:17] in hidden for line in lines), hidden


@pytest.mark.parametrize("around", ["my_…", "_…_", "*…*", "**…**", "__…__", "see _…_ now", "id_…"])
@pytest.mark.parametrize("mark", ["ghp_", "AKIA", "sk-proj-", "AIza", "npm_"])
def test_marks_behind_a_line(around: str, mark: str) -> None:
    """Markdown, and names that end with _, hide no mark."""
    chance = random.Random(mark)
    size = {"AKIA": 16, "AIza": 35, "sk-proj-": 60}.get(mark, 36)
    secret = "".join(chance.choices(ALNUM.upper() if mark == "AKIA" else ALNUM, k=size))
    hidden, count = redact(around.replace("…", mark + secret))
    assert count == 1 and secret[:8] not in hidden and secret[-8:] not in hidden


@pytest.mark.parametrize("around", ["… is the password", "take …, it is the key", "`…` as API token"])
def test_a_random_value_before_its_name(around: str) -> None:
    """Within three words."""
    hides(around.split("…")[0], token(random.Random(2), 18, 18), around.split("…")[1])


@pytest.mark.parametrize(
    "text",
    [
        "key: src/x/KeyStore2.tsx", "secret = generate_secret_v2", "api_key: ApiKeyV2Config", "privateKey: Uint8Array,",
        "Bearer YOUR_API_TOKEN_1", "Authorization: Bearer YOUR_API_TOKEN_1", "password: the user's word",
        "Set-Cookie: name=value pairs are stored by 12 browsers", "Cookie: name=value; Max-Age=3600; Path=/",
        "password: string;", "password: str", "  password: hashed\n}", "password: required", "password: null",
        "| password | string | the word |", "password is sha256 hashed", "Password is 8 characters",
        "Basic authentication", "Basic HTTP2Connection", 'pass: "yes"', '"pass": 12', "auth=('user', 'pass')",
        "http://localhost:3000/@vite/client2", "echo a1b2c3d4 | tee x", "-----END CERTIFICATE-----",
        "8a1b2c3d4e5f is the token", "see src/a/TokenStore2.ts, the key", "call_" + "2b4C6d8E0f2G4h6I8j0K of tools",
    ],
)  # fmt: skip
def test_ordinary_text_stays(text: str) -> None:
    """Code, prose and templates that speak of secrets."""
    assert redact(text) == (text, 0)


@pytest.mark.parametrize(
    "around",
    [
        "\x1b[01;31m\x1b[KDB_PASSWORD\x1b[m\x1b[K=…", '\x1b[34;1m"password"\x1b[0m: \x1b[0;32m"…"\x1b[0m',
        "SECRET_KEY = b'…'",
        'password = f"…"', 'os.environ["API_KEY"] = "…"', "ENV['API_KEY'] ||= '…'", 'api_key: Optional[str] = "…"',
        "password -> '…'", '{"password": "$…"}', '{"env": [{"Key": "API_TOKEN", "Value": "…"}]}',
        '{"headers": [["X-Api-Key", "…"]]}', '{"password": {"value": "…"}}',
    ],
)  # fmt: skip
def test_colours_and_code(around: str) -> None:
    """What a terminal colours, what code assigns, and what JSON names elsewhere."""
    word = "Xq7Lm2Rv9Tz" + "Kp4sWd8nQ"
    text = around.replace("…", word)
    try:
        made = repr(Redactor().value(json.loads(text)))
    except ValueError:
        made = redact(text)[0]
    assert word not in made and "redacted 2" in made, made


@pytest.mark.parametrize("size", [20_000, 60_000])
def test_long_armour(size: int) -> None:
    """A key with a photo in it: nothing of its middle stays, also where its line ends are escaped."""
    chance = random.Random(4)
    lines = [base64.b64encode(chance.randbytes(48)).decode() for _ in range(size // 64)]
    key = "\n".join([f"-----BEGIN PGP {KEY} BLOCK-----", "", *lines, f"-----END PGP {KEY} BLOCK-----"])
    for text in (key, key.replace("\n", "\\x0a"), json.dumps(key), key[: size // 2]):
        hidden, count = redact(text)
        assert count == 1 and not any(line in hidden for line in lines)
