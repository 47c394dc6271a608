"""Redaction: secrets in a text, found by how they are written, each replaced by its first letters and its length.

Pure. What is sent to a model goes through it, and so does what a model says; a log itself is never changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

START = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrtbf])|(?<=\\u[0-9A-Fa-f]{4})|(?<=[\[;\d]\dm)|(?<=\[m))"
"""Where a word begins, also behind a line end or a sign as JSON writes it, and behind a terminal's colour."""
FEWEST = 6
"""Characters of a value that is looked for wherever it stands: shorter ones are words."""
MARGIN, EDGE = 10_000, 1000
"""Characters around what is shown of a long text that are looked through, and of these the last, which may hold half of
a secret.
"""


class Secret(NamedTuple):
    """A secret in a text. `start`, `end`: its value, without the prefix that is kept."""

    kind: str
    start: int
    end: int


class SecretKind(NamedTuple):
    """A kind of secret: its name, who makes it, what it is for, its shape in words, and where that is documented."""

    name: str
    maker: str
    what: str
    shape: str
    source: str


class RedactionRule(NamedTuple):
    """Secrets of one kind. `marks`: no text without one of these, in small letters, holds any. Group 1 of `pattern` is
    kept; what stands behind it is the secret.
    """

    kind: str
    marks: tuple[str, ...]
    pattern: re.Pattern[str]


def _rule(kind: str, marks: str, pattern: str, flags: int = 0) -> RedactionRule:
    return RedactionRule(kind, tuple(marks.split()), re.compile(pattern, flags))


_NAMES = (
    r"pass(?:word|wd|phrase)|pwd(?![\"'\\]{0,8}\s{0,4}[:=]\s{0,4}[\"'\\]{0,8}[~/.])|secret|credentials?|api[_-]?key|apikey|access[_-]?key|secret[_-]?key|private[_-]?key"
    r"|account[_-]?key|shared[_-]?access[_-]?key|auth[_-]?key|signing[_-]?key|encryption[_-]?key|token"
)
_DIGIT = r"(?=[^\s\"'\\]{0,200}\d)"
RULES = (
    _rule("private key", "private key", r"(-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)"
          r"(?s:.{1,8000}?-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
          r"|(?:(?:\\{1,8}[nrt\"]|\s|\d{1,6}(?=[→|:\t])|[→|:>+,\"'*#-]){1,24}"
          r"(?:[A-Za-z0-9+/=]{16,200}|(?:Proc-Type|DEK-Info|Version|Comment):[^\n\\]{1,100})){1,200})"),
    _rule("age", "age-secret-key-1", r"(AGE-SECRET-KEY-1)[0-9A-Z]{40,}"),
    _rule("github", "ghp_ gho_ ghu_ ghs_ ghr_", r"(gh[pousr]_)[A-Za-z0-9]{20,}"),
    _rule("github", "github_pat_", r"(github_pat_)[A-Za-z0-9_]{22,}"),
    _rule("gitlab", "glpat- gldt- glrt- glcbt- glptt-", r"(gl(?:pat|dt|rt|cbt|ptt)-)[A-Za-z0-9_.-]{20,}"),
    _rule("anthropic", "sk-ant-", r"(sk-ant-)[A-Za-z0-9_-]{16,}"),
    _rule("openai", "sk-", rf"{START}(sk-(?:proj-|or-v1-|svcacct-|admin-|lf-)?)(?=[A-Za-z_-]{{0,200}}\d)"
          r"[A-Za-z0-9_-]{20,}"),
    _rule("aws", "akia asia abia acca", rf"{START}(A(?:KIA|SIA|BIA|CCA))[A-Z0-9]{{16}}(?![A-Za-z0-9])"),
    _rule("google", "aiza", rf"{START}(AIza)[A-Za-z0-9_-]{{30,}}"),
    _rule("google", "ya29. gocspx-", rf"{START}(ya29\.|GOCSPX-)[A-Za-z0-9_-]{{20,}}"),
    _rule("slack", "xox xapp-", r"(xox[abeoprs]-|xapp-)[A-Za-z0-9-]{10,}"),
    _rule("slack", "hooks.slack.com", r"(hooks\.slack\.com/(?:services|workflows)/)[A-Za-z0-9_/]{20,}"),
    _rule("stripe", "_live_ _test_", r"((?:sk|rk|pk)_(?:live|test)_)[A-Za-z0-9]{10,}"),
    _rule("webhook", "whsec_", r"(whsec_)[A-Za-z0-9+/=]{20,}"),
    _rule("npm", "npm_", r"(npm_)[A-Za-z0-9]{30,}"),
    _rule("pypi", "pypi-", r"(pypi-)[A-Za-z0-9_-]{50,}"),
    _rule("hugging face", "hf_", rf"{START}(hf_)[A-Za-z0-9]{{30,}}"),
    _rule("sendgrid", "sg.", rf"{START}(SG\.)[A-Za-z0-9_-]{{16,}}\.[A-Za-z0-9_-]{{16,}}"),
    _rule("twilio", "sk", rf"{START}(SK)[0-9a-f]{{32}}(?![0-9a-f])"),
    _rule("digitalocean", "_v1_", rf"{START}(do[opr]_v1_)[0-9a-f]{{64}}"),
    _rule("shopify", "shp", rf"{START}(shp(?:at|ca|pa|ss)_)[0-9a-fA-F]{{32}}"),
    _rule("databricks", "dapi", rf"{START}(dapi)[0-9a-f]{{32}}"),
    _rule("groq, xai, replicate, perplexity", "gsk_ xai- r8_ pplx-",
          rf"{START}(gsk_|xai-|r8_|pplx-)[A-Za-z0-9]{{30,}}"),
    _rule("vault", "hvs. hvb.", rf"{START}(hv[sb]\.)[A-Za-z0-9_-]{{20,}}"),
    _rule("others with a prefix", "lin_api_ ntn_ figd_ sntrys_ dp.pt. nfp_ fo1_ phc_ phx_ rdme_ pul- tskey-",
          rf"{START}(lin_api_|ntn_|figd_|sntrys_|dp\.pt\.|nfp_|fo1_|ph[cx]_|rdme_|pul-|tskey-)"
          r"(?=[A-Za-z_-]{0,200}\d)[A-Za-z0-9_+/=-]{20,}"),
    _rule("telegram", ":aa", rf"{START}(\d{{8,10}}:)AA[A-Za-z0-9_-]{{32,34}}(?![A-Za-z0-9_-])"),
    _rule("jwt", "eyj", rf"{START}(eyJ)[A-Za-z0-9_-]{{10,}}\.[A-Za-z0-9_-]{{10,}}(?:\.[A-Za-z0-9_-]{{5,}})?"),
    _rule("authorization", "authorization", r"(authorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?(?:[a-z]{3,12}\s{1,2})?)"
          r"[A-Za-z0-9+/=._~-]{8,}", re.I),
    _rule("bearer", "bearer", rf"{START}(bearer\s{{1,2}})(?=[A-Za-z+/=._~-]{{0,200}}\d)[A-Za-z0-9+/=._~-]{{16,}}",
          re.I),
    _rule("password in a URL", "://", r"(://[^\s/:@\"'<>]{0,100}:)(?![$<{*%…])[^\s/\"'<>]{1,200}(?=@)"),
    _rule("parameter of a URL", "key= token= sig= signature= secret= password=",
          r"([?&](?:[a-z_-]{0,30}key|[a-z_-]{0,30}token|sig|signature|[a-z_-]{0,30}secret|password)=)"
          r"(?![$<{*…])[^&\s\"'<>)\]}]{8,}", re.I),
    _rule("credentials of curl", "curl",
          r"(\bcurl\s[^\n|;]{0,300}?(?<=\s)(?:-u|--user)[ =]?[\"'\\]{0,3}[^\s:\"'\\]{1,80}:)"
          r"(?![$<{*…])[^\s\"'\\]{3,}"),
    _rule("sshpass", "sshpass", r"(\bsshpass\s{1,4}-p\s{0,4}[\"'\\]{0,3})(?![$<{*…])[^\s\"'\\]{3,}"),
    _rule("netrc", "login", r"(\blogin\s{1,4}\S{1,80}\s{1,4}password\s{1,4})(?![$<{*…])[^\s\"'\\]{3,}"),
    _rule("option", "--pass --token --api-key --secret",
          r"(--(?:password|passwd|pass|token|api-key|secret)[ =][\"'\\]{0,3})"
          rf"(?![$<{{*…]){_DIGIT}[^\s\"'\\,;)]{{8,}}"),
    _rule("cookie", "cookie", r"((?<![A-Za-z0-9_])(?:set-)?cookie[\"']?\s{0,4}:\s{0,4}[\"']?[\w.-]{1,80}=)"
          r"(?![$<{*…])[^\n\"'\\<>]{8,4000}", re.I),
    _rule("header", "x-api-key x-auth-token x-access-token api-key",
          r"((?:x-api-key|x-auth-token|x-access-token|api-key)[\"'\\]{0,8}\s{0,4}:\s{0,4}[\"'\\]{0,8})"
          rf"(?![$<{{*…]){_DIGIT}[A-Za-z0-9+/=._~-]{{16,}}", re.I),
    _rule("auth of a registry", "auth",
          r"((?<![A-Za-z0-9])_?auth[\"'\\]{0,8}\s{0,4}[:=]\s{0,4}[\"'\\]{0,8})"
          rf"{_DIGIT}[A-Za-z0-9+/]{{14,}}={{0,2}}(?![\w(\[{{./:-])"),
    _rule("variable", "pass secret key token pwd",
          r"((?<![A-Za-z0-9_$])(?:[A-Z][A-Z0-9]{0,30}_){0,6}(?:PASSWORD|PASSWD|PASS|(?<=_)PWD|SECRET|TOKEN"
          r"|(?:API|SECRET|ACCESS|PRIVATE|AUTH|SIGNING|ENCRYPTION)_?KEY)=)"
          r"(?:(?P<q>[\"'])(?![$<{*…])[^\n\"'\\]{6,300}(?=(?P=q))|(?![$<{*…(/\"'.])[^\s\"'\\,;()\[\]{}<>`|&]{6,}"
          r"(?![\w(\[{]))"),
    _rule("password in quotes", "password passwd passphrase",
          r"((?:password|passwd|passphrase)[\"'\\]{0,8}\s{0,4}(?:=>|:=|[=:])\s{0,4}\\{0,8}(?P<q>[\"']))"
          r"(?![$<{*…])(?=[^\s\"'\\]{0,60}\d)(?=[^\s\"'\\]{0,60}[A-Za-z])[^\s\"'\\<>{}]{5,60}"
          r"(?=\\{0,8}(?P=q))", re.I),
    _rule("assignment", "pass pwd secret credential key token",
          rf"((?:{_NAMES})[\"'\\]{{0,8}}\s{{0,4}}(?:=>|:=|[=:])\s{{0,4}}[\"'\\]{{0,8}})"
          r"(?=[^\s\"',;()\[\]{}<>\\]{0,80}\d)(?=[^\s\"',;()\[\]{}<>\\]{0,80}[A-Za-z])"
          r"[^\s\"',;()\[\]{}<>\\$]{8,}(?![\w(\[{.])", re.I),
)  # fmt: skip
"""The surest first: what one has taken no later one sees."""


def find_secrets(text: str, known: Iterable[str] = ()) -> list[Secret]:
    """The secrets in a text, sorted, none inside another. `known`: values that are secret wherever they stand."""
    found: list[Secret] = []
    small = text.lower()
    spans = [(value, re.escape(value)) for value in known if len(value) >= FEWEST and value in text]
    for _, pattern in spans:
        found += [Secret("known value", *one.span()) for one in re.finditer(pattern, text)]
    for rule in RULES:
        if any(mark in small for mark in rule.marks):
            for one in rule.pattern.finditer(text):
                start, end = one.end(1), one.end()
                if not any(start < other.end and other.start < end for other in found):
                    found.append(Secret(rule.kind, start, end))
    return sorted(found, key=lambda one: one.start)


def mask(text: str, secret: Secret) -> str:
    """The secret as a report shows it: its first letters and its length, `ghp_…[36]`."""
    word = re.search(r"[A-Za-z0-9_.-]{0,12}$", text[max(0, secret.start - 12) : secret.start])
    return f"{word[0] if word else ''}…[{secret.end - secret.start}]"


def kinds() -> Sequence[SecretKind]:
    """The kinds of secrets that are found."""
    names = dict.fromkeys(rule.kind for rule in RULES)
    return [SecretKind(name, "", name, "", "") for name in (*names, "known value")]


def redact(text: str, known: Iterable[str] = ()) -> tuple[str, int]:
    """The text without secrets, and how many it had. `known`: values that are secret wherever they stand."""
    count = 0
    for value in known:
        if len(value) >= FEWEST and value in text:
            count += text.count(value)
            text = text.replace(value, f"…[redacted {len(value)}]")
    small = text.lower()
    for rule in RULES:
        if any(mark in small for mark in rule.marks):
            text, found = rule.pattern.subn(_replaced, text)
            count += found
    return text, count


def ends(text: str, head: int, tail: int, hide: Callable[[str], str], between: Callable[[int], str]) -> str:
    """The first `head` and the last `tail` characters of a text that is longer, with `between` of how many are left
    out. `hide` takes secrets out before it is cut: half of one would be known by nothing.
    """
    if len(text) <= head + tail:
        return text
    if len(text) > head + tail + 2 * MARGIN:  # not all of what nobody sees; where this is cut is not shown
        first = hide(text[: head + MARGIN])[:-EDGE][:head]
        last = hide(text[len(text) - tail - MARGIN :])[EDGE:][-tail:]
    else:
        whole = hide(text)
        if len(whole) <= head + tail:
            return whole
        first, last = whole[:head], whole[len(whole) - tail :]
    return f"{first}{between(len(text) - len(first) - len(last))}{last}"


def _replaced(found: re.Match[str]) -> str:
    return f"{found[1]}…[redacted {len(found[0]) - len(found[1])}]"
