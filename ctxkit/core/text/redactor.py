"""Secrets taken out of texts and of JSON values, which stay valid JSON; the one way for all that is written out.

Pure. `core/text/redaction.py` finds them in one text. Here the key before a value, and the words of a command before an
argument, are looked at too: `{"password": …}` and `["curl", "-u", …]` hold secrets that no text alone shows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from ctxkit.core.text.json_text import dumps, finite, loads, overwritten
from ctxkit.core.text.redaction import Secret, find_secrets, mask, redact
from ctxkit.core.text.utf8 import exact

OPAQUE = re.compile(r"[A-Za-z0-9+/_\-\r\n]{200,}={0,2}\s*")
OPAQUE_KEY = re.compile(r"(?:signature|data|encrypted_?content|opaque|b64_json|base64)$", re.IGNORECASE)
"""Pictures, signatures and encrypted reasoning in base64, and the ends of their keys: changed they would be worth
nothing, and in thousands of random letters every mark of a maker stands somewhere. Under other keys a long run of
letters may be a token.
"""
_HOLDS = (str, dict, list)
SHORTEST = 4
"""Characters of the shortest text that is looked through."""
NEAR = 200
"""Characters before and in a value that are read together with its key, or with the words before it."""
LONGEST = 4000
"""Characters of the longest token that is read together with its key: session tokens of clouds have some 2,000."""


_NO_ENDS = str.maketrans({one: "%" for one in "\"'`\\"})
"""What would end a value in a text that is a whole. With % begins nothing that is looked for."""


Way = tuple["Way | None", str | int]
"""The way to a value: that to what holds it, and its key or place there."""


class Leaf(NamedTuple):
    """A text in a JSON value. `way`: how to get there; `key`: what it stands under, also within a list, "" for nothing;
    `before`: what is read with it, as its key or the words of a command; `after`: what ends that.
    """

    way: Way | None
    key: str
    text: str
    before: str
    after: str

    @property
    def path(self) -> tuple[str | int, ...]:
        """Keys and places from outside inwards."""
        found: list[str | int] = []
        way = self.way
        while way is not None:
            way, place = way
            found.append(place)
        return tuple(reversed(found))

    @property
    def whole(self) -> str:
        """The text with what is read with it; that ends where the text ends, whatever signs it has."""
        return f"{self.before}{self.text.translate(_NO_ENDS)}{self.after}"


def leaves(value: Any, clean: Collection[str] = ()) -> Iterator[Leaf]:
    """Yields the texts of a JSON value, also its keys, in order; however deep it is nested. A text that is JSON itself,
    as the arguments of a call, is followed by those in it. `clean`: keys that are left out.
    """
    waiting: list[tuple[Way | None, str, Any, str, str]] = [(None, "", value, "", "")]
    while waiting:
        way, key, one, before, after = waiting.pop()
        if isinstance(one, str):
            yield Leaf(way, key, one, before, after)
            if (inner := inside(one)) is not None:
                waiting.append((way, key, inner, "", ""))
        elif isinstance(one, dict):
            waiting += [((way, name), name, name, "", "") for name in reversed(one) if name not in clean]
            waiting += [
                ((way, name), name, held, *_beside_key(_name(name, one, key), held))
                for name, held in reversed(one.items())
                if isinstance(held, _HOLDS)
            ]
        elif isinstance(one, list):
            name = key if way is not None and isinstance(way[1], str) else ""
            waiting += [
                ((way, at), key, one[at], *_in_list(name, one, at))
                for at in range(len(one) - 1, -1, -1)
                if isinstance(one[at], _HOLDS)
            ]


def inside(text: str) -> Any:
    """The object or list that a text is as JSON; None for another text."""
    if text[:1] not in ("{", "[") or text.rstrip()[-1:] not in ("}", "]"):
        return None
    try:
        found = loads(exact(text))
    except ValueError:
        return None
    return found if isinstance(found, dict | list) else None


def _name(key: str, holder: Mapping[str, Any], outer: str = "") -> str:
    """The key that tells what a value is: beside `value` that is the name of the pair, or what holds it (`outer`)."""
    if key.lower() != "value":
        return key
    name = next((held for one, held in holder.items() if one.lower() in ("name", "key")), outer or key)
    return name if isinstance(name, str) else key


def _beside_key(key: str, held: Any) -> tuple[str, str]:
    near = isinstance(held, str) and (len(held) <= NEAR or (len(held) <= LONGEST and not re.search(r"\s", held)))
    return (f'"{key}": "', '"') if near else ("", "")


def _in_list(name: str, words: list[Any], at: int) -> tuple[str, str]:
    """What is read with a text of a list: of a command the words before it, or `name`, the key of the list. The words
    of a command are known by an option among them.
    """
    if len(words) == 2 and at == 1 and isinstance(words[0], str) and "-" in words[0][1:]:
        return _beside_key(words[0], words[1])  # a header as a pair
    before: list[str] = []
    for one in reversed(words[max(0, at - 8) : at] if isinstance(words[at], str) else ()):
        if not isinstance(one, str) or len(one) > NEAR:
            break
        before.insert(0, one)
    if not any(one.startswith("-") for one in (*before, words[at] if before else "")):
        return _beside_key(name, words[at]) if name else ("", "")
    quote = "" if words[at].startswith("-") else '"'
    return (f"{' '.join(before)} {quote}", quote) if len(words[at]) <= NEAR else ("", "")


class Located(NamedTuple):
    """A secret in a JSON value. `path`: the keys and places of the text that holds it, from outside inwards; `masked`:
    how a report shows it; `value`: itself, never to be printed.
    """

    path: tuple[str | int, ...]
    kind: str
    masked: str
    value: str


def located(value: Any) -> list[Located]:
    """The secrets in a JSON value, in order. One in a JSON text within a text is found in its place there."""
    found: dict[tuple[tuple[str | int, ...], str], Located] = {}
    for leaf in leaves(value):
        if _is_opaque(leaf.text, leaf.key):
            continue
        seen = [(leaf.text, one) for one in find_secrets(leaf.text)]
        seen += [(leaf.whole, one) for one in _in_value(leaf, ()) if not seen]
        for text, one in seen:
            secret = text[one.start : one.end]
            path = leaf.path
            for key in [key for key in found if key[1] == secret and key[0] == path[: len(key[0])] != path]:
                del found[key]
            found.setdefault((path, secret), Located(path, one.kind, mask(text, one), secret))
    return list(found.values())


def _is_opaque(text: str, key: str) -> bool:
    if len(text) < SHORTEST:
        return True
    return OPAQUE_KEY.search(key) is not None and OPAQUE.fullmatch(text) is not None


def _in_value(leaf: Leaf, known: Iterable[str]) -> list[Secret]:
    """The secrets in a text that are seen only with what is read with it; their places in `leaf.whole`."""
    if not leaf.before:
        return []
    start, end = len(leaf.before), len(leaf.before) + len(leaf.text)
    return [one for one in find_secrets(leaf.whole, known) if start <= one.start and one.end <= end]


SECRET_NAME = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$")
"""Matches the end of the name of an environment variable that holds a secret."""


def secret_values(env: Mapping[str, str]) -> list[str]:
    """Values of environment variables with the name of a secret, the longest first."""
    found = {value for name, value in env.items() if SECRET_NAME.search(name.upper()) and len(value) >= 8}
    return sorted(found, key=lambda value: (-len(value), value))


SHORT, MANY = 300, 20_000
"""Characters of a text that is known to hold nothing, if it comes again, and how many of these are held."""


class Redactor:
    """Takes secrets out. `known`: values that are secret wherever they stand; `count`: how many it took out."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        self.known, self.count = tuple(known), 0
        self._names: dict[str, str] = {}
        self._clean = set[str]()
        """Texts that hold nothing: most short ones stand in each row of a log."""
        self._counted: dict[object, int] = {}

    @contextmanager
    def counted_once(self, key: object) -> Iterator[None]:
        """What is taken out of one thing is counted once, however often it is read."""
        before = self.count
        yield
        new = self.count - before
        self.count -= self._counted.get(key, 0)
        self._counted[key] = new

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """What is taken out is not counted."""
        before = self.count
        yield
        self.count = before

    def finds(self, value: Any) -> bool:
        """Whether a JSON value, or a text, holds a secret."""
        clean, texts, fresh = self._clean, [], []
        for leaf in leaves(value, clean):
            new = [one for one in ((leaf.text, leaf.whole) if leaf.before else (leaf.text,)) if one not in clean]
            if new and not self._is_opaque(leaf.text, leaf.key):
                texts.append(leaf)
                fresh += new
        if not find_secrets("\n".join(fresh), self.known):
            if len(clean) > MANY:
                clean.clear()
            clean.update(one for one in fresh if len(one) <= SHORT)
            return False
        return any(map(self._finds, texts))

    def _is_opaque(self, text: str, key: str) -> bool:
        return _is_opaque(text, key) and not any(one in text for one in self.known)

    def _finds(self, leaf: Leaf) -> bool:
        return bool(find_secrets(leaf.text, self.known)) or bool(_in_value(leaf, self.known))

    def text(self, text: str) -> str:
        """A text without its secrets."""
        found, count = redact(text, self.known)
        self.count += count
        return found

    def value(self, value: Any) -> Any:
        """A JSON value without its secrets: the same object if it has none. What was JSON in a text stays JSON. Ids
        with a secret in them get names of their own, the same ones wherever they stand.
        """
        return self._without(value) if self.finds(value) else value

    def _without(self, value: Any) -> Any:
        whole = [value]
        waiting: list[tuple[dict[str, Any] | list[Any], str]] = [(whole, "")]
        while waiting:
            holder, name = waiting.pop()
            places: list[Any] = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
            words = [holder[place] for place in places]
            for place, item in zip(places, words, strict=True):
                key = place if isinstance(place, str) else name
                if isinstance(item, dict | list):
                    holder[place] = item.copy()
                    waiting.append((holder[place], key))
                elif isinstance(item, str):
                    beside = _beside_key(_name(place, holder, name), item) if isinstance(holder, dict) else ("", "")
                    beside = _in_list(name, words, place) if isinstance(holder, list) else beside
                    holder[place] = self._text(Leaf(None, key, item, *beside), key)
            if isinstance(holder, dict) and any(self.text_of(key) != key for key in holder):
                renamed: dict[str, Any] = {}
                for key, held in holder.items():
                    name = made = self.text(key)
                    while name in renamed:  # two keys that read alike keep their values
                        name = f"{made}-{len(renamed)}"
                    renamed[name] = held
                holder.clear()
                holder.update(renamed)
        return whole[0]

    def text_of(self, text: str) -> str:
        """As `text`, but not counted."""
        return redact(text, self.known)[0]

    def _text(self, leaf: Leaf, key: str) -> str:
        text = leaf.text
        if self._is_opaque(text, key):
            return text
        inner = inside(text)
        if inner is not None and self.finds(inner):
            text = json.dumps(finite(self._without(inner)), ensure_ascii=not text.isascii() or "\\u" in text)
        made = self.text(text)
        if inner is not None and made != text and inside(made) is None:
            made = text  # what is left was seen across the marks of JSON
        beside = leaf._replace(text=made)
        for one in reversed(_in_value(beside, self.known)):
            start, end = one.start - len(leaf.before), one.end - len(leaf.before)
            made = f"{made[:start]}…[redacted {end - start}]{made[end:]}"
            self.count += 1
        if made != leaf.text and (key == "name" or key.lower().endswith("id")) and not re.search(r"\s", leaf.text):
            return self._names.setdefault(leaf.text, f"redacted-{len(self._names) + 1}")
        return made

    def lines(self, lines: Iterable[bytes]) -> Iterator[bytes]:
        """Yields lines of JSON, without their ends, each without its secrets; a line that has none keeps its bytes."""
        for line in lines:
            try:
                value = loads(line)
            except ValueError:
                yield exact(self.text(line.decode("utf-8", "backslashreplace")))
                continue
            made = self.value(value)
            same = made is value and not any(map(self.finds, overwritten(line, value)))
            yield line if same else dumps(made).encode("ascii")
