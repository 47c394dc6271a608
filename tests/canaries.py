"""Secrets that nobody uses, made anew at each run from the shapes of secret_kinds.toml: none stands in the repository.

A host refuses a push that holds a key, and so does our own scan; so a canary is random, from a seed, with a checksum
where its maker has one, and text around it is put together here.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
import uuid
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple
from urllib.parse import quote

from ctxkit.core.text import secret_kinds

ALNUM = string.ascii_letters + string.digits
BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
RSA = "RSA PRIVATE KEY"
PGP = "PGP PRIVATE KEY BLOCK"
LETTERS = "".join(map(chr, range(33, 127)))


class Canary(NamedTuple):
    """A secret: what is hidden, what stands before it (a mark, a name, a place) and behind it."""

    kind: str
    before: str
    secret: str
    after: str = ""

    @property
    def text(self) -> str:
        """All of it."""
        return self.before + self.secret + self.after


def letters(alphabet: str) -> str:
    """The characters of an alphabet of shapes."""
    pattern = re.compile(f"[{secret_kinds.ALPHABETS[alphabet][0]}]")
    return "".join(filter(pattern.match, LETTERS))


def written(chance: random.Random, shape: str) -> str:
    """A value of a shape."""
    made, at = "", 0
    for part in secret_kinds.PART.finditer(shape):
        made, at = made + shape[at : part.start()], part.end()
        if part["alphabet"] == "uuid":
            made += str(uuid.UUID(int=chance.getrandbits(128), version=4))
        elif part["alphabet"]:
            size = chance.randint(int(part["least"]), int(part["most"] or part["least"]))
            made += "".join(chance.choices(letters(part["alphabet"]), k=size))
        else:
            number, digits = zlib.crc32(made.partition("_")[2].encode()), ""
            for _ in range(6):
                number, place = divmod(number, 62)
                digits = BASE62[place] + digits
            made += digits
    return made + shape[at:]


def token(chance: random.Random, least: int = 20, most: int = 40, alphabet: str = ALNUM) -> str:
    """A random value with a digit, a small and a capital letter."""
    made = chance.choices(alphabet, k=chance.randint(least, most) - 3)
    made += [chance.choice(some) for some in (string.digits, string.ascii_lowercase, string.ascii_uppercase)]
    chance.shuffle(made)
    return "".join(made)


def password(chance: random.Random) -> str:
    """A password of 8 to 16 characters, as generators make them."""
    return token(chance, 8, 16, ALNUM + "!#^_-~+")


def word(chance: random.Random) -> str:
    """A password of small letters."""
    return "".join(chance.choices("bcdfghjklmpqrtvwxz", k=chance.randint(8, 12)))


def encoded(chance: random.Random, least: int = 24, most: int = 60) -> str:
    """Random bytes in Base64."""
    return base64.b64encode(chance.randbytes(chance.randint(least, most))).decode()


def armour(chance: random.Random) -> str:
    """The lines of a private key."""
    return "\n" + "\n".join(base64.b64encode(chance.randbytes(48)).decode() for _ in range(12)) + "\n"


def web_token(chance: random.Random) -> str:
    """A JSON Web Token, without the first three letters."""
    parts = [
        json.dumps({"alg": "HS256", "typ": "JWT"}),
        json.dumps({"sub": token(chance), "iat": chance.getrandbits(30)}),
    ]
    made = [base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts]
    return ".".join([*made, base64.urlsafe_b64encode(chance.randbytes(32)).decode().rstrip("=")])[3:]


def basic(chance: random.Random) -> str:
    """A name and a password in Base64, as the scheme Basic and Docker write them."""
    return base64.b64encode(f"ada:{password(chance)}".encode()).decode()


PLACES: dict[str, list[tuple[str, Callable[[random.Random], str], str]]] = {
    "private-key": [
        (f"-----BEGIN {kind}PRIVATE KEY-----", armour, f"-----END {kind}PRIVATE KEY-----")
        for kind in ("", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED ")
    ]
    + [(f"-----BEGIN {PGP}-----", armour, f"-----END {PGP}-----")],
    "private-key-begin": [
        ("\n", lambda c: "MIIEpAIBAAKCAQEA" + encoded(c, 36, 36) + armour(c).rstrip("\n"), ""),
        ("\n", lambda c: "b3BlbnNzaC1rZXktdjEAAAAA" + encoded(c, 30, 30) + armour(c).rstrip("\n"), ""),
        ("\n", lambda c: "MC4CAQAwBQYDK2VwBCIEI" + encoded(c, 33, 33)[1:], ""),
    ],
    "private-key-end": [("\n", lambda c: f"{armour(c)[1:]}-----END {RSA}-----", "")],
    "markup-password": [
        ("<td>Password</td><td>", password, "</td>"),
        ("<password>", password, "</password>"),
        ('<input type="password" value="', password, '">'),
    ],
    "putty-key": [("Private-Lines: 12", lambda c: armour(c).rstrip("\n"), "\nPrivate-MAC: 0")],
    "jwt": [("eyJ", web_token, "")],
    "wireguard-key": [
        ("PrivateKey = ", lambda c: encoded(c, 32, 32), ""),
        ("PresharedKey=", lambda c: encoded(c, 32, 32), ""),
    ],
    "kubernetes-secret": [
        ("kind: Secret\nmetadata:\n  name: shop\ndata:\n  db: ", encoded, "\n"),
        ('{"kind": "Secret", "data": {"db": "', encoded, '"}}'),
    ],
    "authorization": [
        ("Authorization: Bearer ", token, ""),
        ("authorization: Basic ", basic, ""),
        ("-H 'Authorization: token ", token, "'"),
        ('"Authorization": "', token, '"'),
    ],
    "bearer": [("uses Bearer ", lambda c: "a1" + token(c), "")],
    "url-password": [
        (f"{scheme}://ada:", password, "@db.test:5432/shop")
        for scheme in ("postgres", "mysql", "mongodb+srv", "redis", "amqps", "https", "smtp", "ftp", "socks5")
    ]
    + [("redis://:", password, "@cache.test:6379/0")],
    "url-user": [("https://", lambda c: "a1" + token(c), "@git.test/shop.git")],
    "url-parameter": [
        ("https://x.test/v1?key=", token, "&n=1"),
        ("https://x.test/?a=1&access_token=", token, ""),
        ("https://a.blob.test/b?sv=2024&sig=", lambda c: quote(encoded(c, 32, 32), safe=""), ""),
        ("https://b.s3.test/o?X-Amz-Signature=", lambda c: c.randbytes(32).hex(), ""),
    ],
    "basic-auth": [("it sends Basic ", basic, " to x")],
    "curl-user": [
        ("curl -sS -u ada:", password, " https://x.test"),
        ("curl --user 'ada:", password, "' https://x.test"),
    ],
    "command-password": [
        ("sshpass -p ", password, " ssh db.test"),
        ("mysql -h db.test -u ada -p", password, " shop"),
        ("mysqldump -uada -p", password, " shop"),
        ("redis-cli -h cache.test -a ", password, " ping"),
        ("docker login -u ada -p ", password, " hub.test"),
        ("mongosh --host db.test -u ada -p ", password, ""),
        ("ldapsearch -D cn=ada -w ", password, " -b dc=x"),
        ("az login -u ada -p ", password, ""),
        ("7z a -p", password, " x.7z"),
        ("keytool -list -storepass ", password, ""),
        ("openssl rsa -passin pass:", password, " -in x.pem"),
    ],
    "piped-password": [
        ("echo 'ada:", password, "' | chpasswd"),
        ("echo ", password, " | docker login -u ada --password-stdin"),
    ],
    "auth-pair": [('get(url, auth=("ada", "', lambda c: "a1" + password(c), '"))')],
    "netrc": [("machine x.test login ada password ", password, "")],
    "pgpass": [("db.test:5432:shop:ada:", password, "\n"), ("*:*:*:ada:", password, "\n")],
    "password-hash": [
        ("ada:$apr1$", lambda c: token(c, 8, 8) + "$" + token(c, 22, 22), ""),
        ("ada:$2y$10$", lambda c: token(c, 53, 53), ""),
        ("ada:$6$", lambda c: token(c, 16, 16) + "$" + token(c, 86, 86), ":19000:0"),
    ],
    "option": [
        ("deploy --token ", lambda c: "a1" + token(c), ""),
        ("tool --api-key=", lambda c: "a1" + token(c), " x"),
        ("run --db-password '", lambda c: "a1" + password(c), "'"),
        ('["--secret", "', lambda c: "a1" + token(c), '"]'),
    ],
    "passphrase-option": [
        ("gpg --batch --passphrase ", password, " -d x.gpg"),
        ("ssh-keygen -t ed25519 -N '", password, "'"),
    ],
    "cookie": [("Cookie: session=", token, ""), ("Set-Cookie: sid=", token, "; HttpOnly")],
    "header": [("X-Api-Key: ", token, ""), ("PRIVATE-TOKEN: ", token, ""), ('"x-auth-token": "', token, '"')],
    "registry-auth": [('{"auths": {"hub.test": {"auth": "', basic, '"}}}'), ("//npm.test/:_auth=", basic, "")],
    "variable": [
        ("DB_PASSWORD=", password, ""),
        ("export API_TOKEN='", password, "'"),
        ("docker run -e PGPASSWORD=", password, " pg"),
        ('SECRET_KEY="', password, '"'),
        ("STRIPE_API_KEY=", token, "\n"),
    ],
    "quoted-password": [
        ("password: '", lambda c: "a1" + password(c)[:5], "'"),
        ('passwd = "', lambda c: "a1" + password(c)[:5], '"'),
    ],
    "assignment": [
        ("client_secret: ", token, ""),
        ('"apiKey": "', token, '"'),
        ("//npm.test/:_authToken=", token, ""),
        ("token := ", token, ""),
        ("access_key = ", token, ""),
        ("credentials: ", token, ""),
    ],
    "config-password": [("port: 1\npassword: ", word, "\n"), ("  db_password: ", word, "\n  port: 1")],
    "told-password": [
        ("**Password:** ", lambda c: token(c, 8, 11), ""),
        ("| password | ", lambda c: token(c, 8, 11), " |"),
        ("Password is ", lambda c: token(c, 8, 11), "!"),
    ],
    "before-a-name": [
        ("take ", lambda c: token(c, 16, 24), " as the password"),
        ("`", lambda c: token(c, 20, 40), "` is your token"),
    ],
    "near-a-name": [
        ("the password is ", lambda c: token(c, 16, 24), "."),
        ("use the key ", lambda c: token(c, 20, 40), " for it"),
        ("Secret value: ", lambda c: token(c, 20, 40), ""),
        ("passphrase for backups: ", lambda c: token(c, 16, 24), ""),
        ("your new token `", lambda c: token(c, 20, 40), "`"),
        ('"key": "', lambda c: token(c, 24, 40), '"'),
    ],
}
"""Where secrets stand that have no shape of their own: what is before one, how it is made, what is behind it."""


def canaries(seed: int, count: int = 20) -> Iterator[Canary]:
    """So many secrets of every kind."""
    for maker in secret_kinds.table()["maker"]:
        for kind, (_, *shapes) in maker.get("kinds", {}).items():
            chance = random.Random(f"{seed} {kind}")
            for n in range(count):
                shape = shapes[n % len(shapes)]
                value = written(chance, shape)
                mark = shape.partition("{")[0]
                yield Canary(kind, mark, value.removeprefix(mark))
        for kind, (_, said) in maker.get("named", {}).items():
            chance = random.Random(f"{seed} {kind}")
            names, _, shape = said.partition(": ")
            for n in range(count):
                name = names.split()[n % len(names.split())]
                joined = f"{name.upper().rstrip('_-')}_API_KEY=" if n % 2 else f"{name} API token: "
                yield Canary(kind, joined.replace("-", "_") if n % 2 else joined, written(chance, shape))
        for kind, (_, said) in maker.get("beside", {}).items():
            chance = random.Random(f"{seed} {kind}")
            near, _, shape = said.partition(": ")
            for n in range(count):
                beside = written(chance, maker["kinds"][near][1])
                yield Canary(kind, beside + ("\n" if n % 2 else "  "), written(chance, shape))
    for kind, places in PLACES.items():
        chance = random.Random(f"{seed} {kind}")
        for n in range(count):
            before, made, after = places[n % len(places)]
            yield Canary(kind, before, made(chance), after)


def _over_lines(one: Canary) -> str:
    """Wrapped as a terminal or a mail does it, the first time behind 24 characters of the secret."""
    first, rest = one.secret[:24], one.secret[24:]
    lines = [one.before + first, *(rest[at : at + 40] for at in range(0, len(rest), 40))]
    return "\n".join(lines) + one.after


def _cut(one: Canary) -> str:
    return one.before + one.secret[: max(16, len(one.secret) * 2 // 3)]


FORMS: dict[str, Callable[[Canary], str | None]] = {
    "plain": lambda one: f"it says\n{one.text}\nand more",
    "wrapped": lambda one: (
        f"it says\n{_over_lines(one)}\n\nand more" if len(one.secret) >= 40 and _one_word(one) else None
    ),
    "cut": lambda one: (
        f"it says {_cut(one)}" if len(one.secret) >= 24 and len(one.before) > 3 and _has_mark(one) else None
    ),
    "JSON": lambda one: json.dumps({"text": f"it says\n{one.text}\nand more"}),
    "JSON in JSON": lambda one: json.dumps({"arguments": json.dumps({"text": f"it says\n{one.text}\nand more"})}),
    "URL": lambda one: (
        f"https://x.test/a?token={quote(one.text, safe='')}" if _has_mark(one) and _one_word(one) else None
    ),
    "Basic": lambda one: f"Authorization: Basic {_base64('ada:' + one.text)}" if _has_mark(one) else None,
    "Kubernetes": lambda one: f"kind: Secret\ndata:\n  value: {_base64(one.text)}\n" if _has_mark(one) else None,
}
"""How a secret may stand in a text; None where that makes no sense for it."""


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _one_word(one: Canary) -> bool:
    return (
        not set(one.secret) & set(" \n") and one.kind not in ("cookie", "url-user", "password-hash") and not one.after
    )


def _has_mark(one: Canary) -> bool:
    return one.kind not in PLACES and not set(one.before) & set(" =\n")


def left(one: Canary, text: str) -> str:
    """The first eight characters in a row of a secret that a text still holds, "" if none; of a short one all."""
    for form in {
        one.secret,
        json.dumps(one.secret)[1:-1],
        quote(one.secret, safe=""),
        _base64(one.text),
        _base64("ada:" + one.text),
    }:
        size = min(8, len(form))
        for at in range(len(form) - size + 1):
            if form[at : at + size] in text:
                return form[at : at + size]
    return ""
