"""Kinds of secrets, as secret_kinds.toml has them: read where first used, compiled where a mark was found.

Pure. Used by `redaction`, which looks for them.
"""

from __future__ import annotations

import pkgutil
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

START = (
    r"(?<!\d\])(?:(?<![A-Za-z0-9_])|(?<=[^A-Za-z0-9_]_)|(?<=\A_)|(?<=\\[nrtbf])|(?<=\\u[0-9A-Fa-f]{4})"
    r"|(?<=%[0-9A-F]{2})|(?<=[\[;\d]\dm)|(?<=\[m))"
)
"""Where a word begins, also within Markdown's _, behind a line end or a sign as JSON or a URL writes it, and behind a
terminal's colour; not at what a redaction left.
"""
WRAP = r"(?:\\{0,8}(?:\r?\n|(?<=\\)r\\{1,8}n|(?<=\\)n)[ \t]{0,40}(?:[>|+] ?)?)"
"""Where a line was wrapped, also as JSON writes it, with what may stand before the next line's words."""
PARW = r"(?:(?: ?[>|+])?[ \t]{0,40}(?:\n\r?|n\\{1,8}(?:r\\{1,8})?)\\{0,8})"
"""The same, read from its end."""
PLACEHOLDER = (
    r"(?:[<{*…]|\$(?:[{(<]|[A-Z][A-Z0-9_]{0,60}(?!\w)|[a-z_]{1,60}(?!\w)|\w{1,3}(?!\w))"
    r"|%(?:[({]|[A-Z_]{1,60}%|\w(?!\w))|[\w-]{0,24}(?:\.\.\.|xxxx)|(?i:your[_-][a-z_-]{2,40}\d{0,2}(?![a-z0-9])|redacted))"
)
"""What begins a value that stands for a secret, as in a template."""
OPENED = r"""(?:[bruBRU]{1,2}(?=["'])|f(?=["'][^"'{]{1,200}["']))?(?P<q>\\{0,8}["'`])"""
"""A quote that opens a value, as deep as JSON nests it."""
CLOSED = r"""(?:(?<!\\)(?P=q)|(?<=[^\\]\\\\)["'])"""
"""The quote that closes what OPENED began: no other one does."""
INSIDE = rf"(?:(?!{CLOSED})\S)"
"""A character of a value in quotes."""
CONCATENATED = r"""(?:\+[\w.()\[\]]{1,40}\+\\{0,8}["'`]|\\{0,8}["'`][\s,;)+])"""
"""What stands between two texts in code, where what seems to open one closes it."""
ASSIGNED = (
    r"""["'\\]{0,8}\]?(?:\s{0,4}(?:=>|:=|\|\|=|->|(?::\s?[\w.\[\], |]{1,40}?\s?)?=|:)\s{0,4}(?:\[\s{0,4})?"""
    r"""|(?:,|(?<!["'\\])[ \t]{0,4}(?:\r?\n|(?:\\{1,8}r)?\\{1,8}n))(?:\s|\\{1,8}[nrt]){0,40}"""
    r"""["'\\]{0,8}value["'\\]{0,8}\s{0,4}[=:]\s{0,4})"""
)
"""What stands between a name and its value, also in a list, and in a pair of name and value."""
CODE_NAME = (
    r"(?:(?=\w{0,60}?(?i:key|secret|token|password|credential))(?:[A-Za-z]{1,30}_){1,6}[A-Za-z]{0,30}\d{0,2}"
    r"|(?:[A-Z][a-z]{0,20}){1,6}\d{1,2}(?:[A-Z][a-z]{2,20}){1,6})(?![\w+/=-])"
)
"""A name in code, as `make_token_v2` and `Uint8Array`."""
DOTTED = r"(?:[a-z]\w{1,30}\.){1,5}[A-Za-z_]\w{1,40}(?![\w+/=~!@#%^*$?-])"
"""A value that code takes from an object, as `process.env.TOKEN_2`."""
BREAK = r"""(?:\\{1,8}(?:[nrt"]|x0[ad])|\s|\d{1,6}(?=[→|:\t])|[→|:>+,"'*#]|-(?!-)){1,24}+"""
"""What stands between the lines of a key: line ends, and what a tool writes before a line."""
_PARTS = {
    "START": START, "WRAP": WRAP, "PLACEHOLDER": PLACEHOLDER, "OPENED": OPENED, "CLOSED": CLOSED, "INSIDE": INSIDE,
    "CONCATENATED": CONCATENATED, "ASSIGNED": ASSIGNED, "CODE_NAME": CODE_NAME, "DOTTED": DOTTED, "BREAK": BREAK,
}  # fmt: skip
ALPHABETS = {
    "digit": ("0-9", "digits"), "hex": ("0-9a-f", "hexadecimal digits"), "hexany": ("0-9a-fA-F", "hexadecimal digits"),
    "uuid": (r"0-9a-fA-F\-", "characters of a UUID"), "alnum": ("A-Za-z0-9", "letters and digits"),
    "loweralnum": ("a-z0-9", "small letters and digits"), "base36": ("A-Z0-9", "capital letters and digits"),
    "b64": ("A-Za-z0-9+/", "characters of Base64"), "b64eq": ("A-Za-z0-9+/=", "characters of Base64"),
    "url": (r"A-Za-z0-9_\-", "letters, digits, _ and -"), "urleq": (r"A-Za-z0-9_=\-", "letters, digits, _, - and ="),
    "word": ("A-Za-z0-9_", "letters, digits and _"), "slack": (r"A-Za-z0-9\-", "letters, digits and -"),
    "slackd": (r"A-Za-z0-9%/+=\-", "characters of Base64, %"), "path": (r"A-Za-z0-9_/\-", "letters, digits, /, _"),
    "mail": (r"A-Za-z0-9@\-", "letters, digits, @ and -"), "percent": ("A-Za-z0-9%", "letters, digits and %"),
    "pager": (r"A-Za-z0-9+_\-", "letters, digits, +, _, -"), "azure": (r"A-Za-z0-9_.~\-", "letters, digits, _ . ~ -"),
    "dotted": ("A-Za-z0-9._", "letters, digits, . and _"), "bech32": ("AC-HJ-NP-Z02-9", "letters and digits of Bech32"),
}  # fmt: skip
"""The alphabets of shapes, as regular expressions and people have them."""
PART = re.compile(r"\{(?:(?P<least>\d+)(?:-(?P<most>\d+))? (?P<alphabet>\w+)|crc32)\}")
"""A part of a shape: so many characters of an alphabet, or six of a checksum."""

SHORT = 10_000
"""Characters of a text in which signs are looked for one by one."""
_FIXED = re.compile(r'"(?:(?:\{[^{}"]*\})+([^{}"]+)|([^{}"]+)\{)')
"""The first part of a shape in the file that stands there as it is."""
_MARKS, _QUOTED = re.compile(r"^marks = (.*)$", re.MULTILINE), re.compile(r"'([^']*)'|\"([^\"]*)\"")


class SecretKind(NamedTuple):
    """A kind of secret. `shape`: how its maker writes it, in words; `source`: where the maker says so."""

    name: str
    maker: str
    what: str
    shape: str
    source: str


class Shape(NamedTuple):
    """A shape, compiled. `heads`: what stands before its mark, from its end, on a line and over lines; `value`: what
    stands behind it; `run`: all that may be part of a value; `most`: the longest value. `loose`: the mark is so long
    that a value of another length, or one that is cut, is a secret too.
    """

    heads: Sequence[re.Pattern[str]]
    value: re.Pattern[str]
    run: re.Pattern[str]
    most: int
    loose: bool


class NearKind(NamedTuple):
    """A kind that is known by what stands near it: `words` are in small letters, with _ for -."""

    name: str
    words: Sequence[str]
    shape: re.Pattern[str]


class PlaceRule(NamedTuple):
    """Secrets by their place; the fields are those of [[rule]]. `rank`: its number."""

    rank: int
    name: str
    pattern: str
    random: bool
    within: int
    before: int
    sign: str

    def compiled(self) -> re.Pattern[str]:
        """The pattern."""
        return _rule_pattern(self.pattern)


@cache
def table() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """The file: `maker` and `rule`."""
    import tomllib

    return tomllib.loads(_file())


def _file() -> str:
    return (pkgutil.get_data(__package__, "secret_kinds.toml") or b"").decode()


@cache
def signs() -> tuple[frozenset[str], frozenset[str]]:
    """Words of which one at least stands in every text with a secret: makers' marks as they are, and what begins a
    rule, in small letters. Seen in the file's text, which takes a twentieth of the time that parsing its table does.
    """
    makers, _, places = _file().partition("\n[[rule]]\n")
    of_places = (one for line in _MARKS.findall(places) for one in _QUOTED.findall(line))
    return frozenset(map("".join, _FIXED.findall(makers))), frozenset(map("".join, of_places))


def may_hold(text: str) -> bool:
    """Whether a text may hold a secret; False is sure. Most commands never need the table: what is typed is short, and
    has no sign. Once the table is there, to look costs less than this.
    """
    return len(text) > SHORT or table.cache_info().currsize > 0 or has_sign(text)


def has_sign(text: str) -> bool:
    """Whether a text has one of the signs."""
    of_makers, of_places = signs()
    small = text.lower()
    return any(one in text for one in of_makers) or any(one in small for one in of_places)


def kinds() -> Sequence[SecretKind]:
    """All kinds, in the order of the file."""
    found = [
        SecretKind(name, maker["name"], what, " or ".join(map(in_words, shapes)), maker["source"])
        for maker in table()["maker"]
        for group in ("kinds", "named", "beside")
        for name, (what, *shapes) in maker.get(group, {}).items()
    ]
    return [
        *found,
        *(SecretKind(one["name"], "any", one["what"], one["shape"], one["source"]) for one in table()["rule"]),
    ]


def in_words(shape: str) -> str:
    """A shape as people read it: `ghp_, then 30 letters and digits, then a checksum of 6`."""
    near, _, written = shape.rpartition(": ")
    said, at = [], 0
    for part in PART.finditer(written):
        many = " to ".join(filter(None, part.group("least", "most")))
        said += [written[at : part.start()], f"{many} {ALPHABETS[part['alphabet']][1]}" if many else "a checksum of 6"]
        at = part.end()
    return ", then ".join(filter(None, [*said, written[at:]])) + (f", near {near.replace(' ', ' or ')}" if near else "")


@cache
def marks() -> Mapping[str, Sequence[tuple[str, str]]]:
    """What must stand in a text → the kinds and shapes of which it is part."""
    found = defaultdict(list)
    for maker in table()["maker"]:
        for kind, (_, *shapes) in maker.get("kinds", {}).items():
            for shape in shapes:
                found[next(filter(None, PART.sub("\0", shape).split("\0")))].append((kind, shape))
    return found


@cache
def roots(in_words: frozenset[int]) -> tuple[re.Pattern[bytes], Sequence[bytes], Mapping[str, Sequence[str]]]:
    """Marks that no other one begins: one pattern for those of which all stands in a word, and the others; and all that
    each begins. `in_words`: the characters of words.
    """
    longer: dict[str, list[str]] = {}
    for mark in sorted(marks(), key=len):
        longer.setdefault(next((one for one in longer if mark.startswith(one)), mark), []).append(mark)
    apart = set(map(chr, range(33, 127))) - set(map(chr, in_words))
    others = [root for root, some in longer.items() if any(apart & set(_begins(mark)) for mark in some)]
    pattern = f"(?={_any_of(root for root in longer if root not in others)})"
    return re.compile(pattern.encode("ascii")), [root.encode("ascii") for root in others], longer


def _begins(mark: str) -> str:
    """A mark, and the characters with which what stands behind it may begin."""
    parts = (PART.match(shape, len(mark)) for _, shape in marks()[mark] if shape.startswith(mark))
    return mark + "".join(_letters(part).replace("\\", "") for part in parts if part is not None)


def _any_of(words: Iterable[str]) -> str:
    """A pattern for any of the words that tries each letter once."""
    firsts: dict[str, list[str]] = defaultdict(list)
    for word in filter(None, words):
        firsts[word[0]].append(word[1:])
    parts = [re.escape(first) + ("" if "" in rest else _any_of(rest)) for first, rest in sorted(firsts.items())]
    return parts[0] if len(parts) == 1 else f"(?:{'|'.join(parts)})"


@cache
def compiled(mark: str, shape: str) -> Shape:
    """A shape that has this mark."""
    head, _, value = shape.partition(mark)
    parts, signs = list(PART.finditer(value)), PART.sub("", value)
    letters = "".join(map(_letters, parts)) + re.escape("".join(sorted(set(signs))))
    most = sum(int(part["most"] or part["least"] or 6) for part in parts) + len(signs)
    is_open = bool(parts) and bool(parts[-1]["most"]) and not signs and most >= 100
    loose = not head and len(mark) >= 4 and not mark[-1].isalnum()
    return Shape(
        [re.compile(_pattern(head, between)) for between in ("(?:)", f"{PARW}?")] if head else [],
        re.compile(_pattern(value) + ("" if loose or is_open else r"(?![A-Za-z0-9])")),
        re.compile(f"[{letters}]{{1,{most + 200}}}" if letters else ""),
        most,
        loose,
    )


@cache
def near(group: str) -> Sequence[NearKind]:
    """The kinds that stand behind the name of their maker (`named`), or beside another secret (`beside`)."""
    return [
        NearKind(kind, words.replace("-", "_").split() if group == "named" else [words], re.compile(_pattern(shape)))
        for maker in table()["maker"]
        for kind, (_, *shapes) in maker.get(group, {}).items()
        for words, _, shape in (one.partition(": ") for one in shapes)
    ]


@cache
def rules() -> Mapping[bytes, Sequence[PlaceRule]]:
    """What must stand in a text, in small letters or with capital ones as it is → the rules that it begins."""
    found = defaultdict(list)
    for rank, one in enumerate(table()["rule"]):
        numbers = (one.get("within", 0), one.get("before", 0))
        rule = PlaceRule(rank, one["name"], one["pattern"], one.get("random", False), *numbers, one.get("sign", ""))
        for mark in one["marks"]:
            found[mark.encode("ascii")].append(rule)
    return found


@cache
def _rule_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(re.sub("|".join(_PARTS), lambda name: _PARTS[name[0]], pattern))


def _letters(part: re.Match[str]) -> str:
    return ALPHABETS[part["alphabet"] or "alnum"][0]


def _pattern(shape: str, between: str = "") -> str:
    """A shape as a regular expression. `between`: what may stand before each character besides; then all is read from
    its end, as what stands before a mark is.
    """
    made, at = [], 0
    for part in PART.finditer(shape):
        many = f"{{{part['least']},{part['most'] or part['least']}}}" if part["least"] else "{6}"
        made += [re.escape(shape[at : part.start()]), f"(?:{between}[{_letters(part)}]){many}"]
        at = part.end()
    made.append(re.escape(shape[at:]))
    return "".join(reversed(made) if between else made)
