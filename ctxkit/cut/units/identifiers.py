"""Finds, by pattern, what work on code refers to by its exact name. Pure.

These are paths, commands, URLs, numbers that name something, errors and identifiers. A summary should keep those that
are needed later; the benchmark counts them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from ctxkit.cut.units.text_segments import TextSegment


class IdentifierKind(IntEnum):
    """The kinds of items."""

    PATH = 0
    COMMAND = 1
    URL = 2
    NUMBER = 3
    ERROR = 4
    IDENTIFIER = 5


class Identifier(NamedTuple):
    """An item, as it is written in the text."""

    kind: IdentifierKind
    text: str


NAME = "[A-Za-z0-9_@~+.-]"
EXTENSIONS = (
    "py|pyi|js|jsx|ts|tsx|mjs|cjs|go|rs|rb|java|kt|c|h|cc|cpp|hpp|cs|php|swift|scala|sh|bash|zsh|fish|ps1|sql|md|mdx|rst|txt|"
    "json|jsonl|yaml|yml|toml|ini|cfg|conf|lock|html|css|scss|svg|png|xml|csv|log|env|vue|svelte|proto|tf|ipynb|bak|diff|patch"
)
KINDS = (
    rf"""(?P<url>https?://[^\s"'`<>()\[\]{{}}\\|^]+)"""
    rf"""|(?P<path>(?<![A-Za-z0-9_])(?:~|\.{{1,2}}|{NAME}+)?(?:/{NAME}+)+(?<![.-])|(?<![\w/.])[\w.+-]*\w\.(?:{EXTENSIONS})(?![\w/]))"""
    r"""|(?P<uuid>\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b)"""
    r"""|(?P<flag>(?<![\w-])--[a-z][a-z0-9]+(?:-[a-z0-9]+)*)"""
    r"""|(?P<error>\b[A-Z]\w*(?:Error|Exception)\b|\bE(?:NOENT|ACCES|EXIST|PERM|INVAL|PIPE|ISDIR|NOTDIR|ADDRINUSE|CONNREFUSED|CONNRESET|TIMEDOUT|NOTEMPTY|RESOLVE|LIFECYCLE)\b|\bTS\d{4,5}\b)"""
    r"""|(?P<number>(?=[\dA-Za-fv\#])(?:\bv?\d+\.\d+(?:\.\d+)+(?:-[a-z]+[\w.]*)?\b|\bv\d+\.\d+\b|(?<![\w&/])\#\d+\b|\b[A-Z]{2,10}-\d{1,6}\b|(?<=localhost:)\d{4,5}\b|(?<=\d:)\d{4,5}\b|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}\b))"""
    r"""|(?P<identifier>\b_*[A-Za-z0-9]+(?:_+[A-Za-z0-9]+)+\b|\b[a-z]+[a-z0-9]*(?:[A-Z][A-Za-z0-9]*)+\b|\b(?:[A-Z][a-z0-9]+){2,}[A-Z]?\b)"""
)  # fmt: skip
"""The pattern of each kind. The first that matches at a place counts."""
AT_ONCE = "++" if re.sub("(?:a|1(?!b))++", "", "a1b") == "1b" else "+"
"""Repeats a group without a way back. Python before 3.11.5 loses its place where the group fails (CPython gh-106052):
there it is the plain one, which finds the same, three times as slowly.
"""
PLAIN = (
    r"""(?:(?:[\s,;()\[\]{}<>"'`=*!?|\\$%^&]++|[.:](?=\s|$)"""
    r"""|(?:[a-z]++(?:-[a-z]++){0,3}|[A-DF-Z](?:[a-z]*+|[A-Z]++)|E[a-z]*+|(?<![:\w])\d++)(?![\w/@~+\#-]|[.:](?!\s|$)))"""
    rf"{AT_ONCE})"
)
"""Matches plain words, numbers, and what stands between them: no item begins there. Skipped at once, they take a third
of the time of a search at each letter.
"""
REST = r"[A-Za-z0-9_]++(?!://)"
"""Matches a word that is no item: none begins inside it, but a URL."""
PATTERN = re.compile(f"{PLAIN}|{KINDS}|{REST}(?:{PLAIN})?")
SORTS = {
    "url": IdentifierKind.URL,
    "path": IdentifierKind.PATH,
    "uuid": IdentifierKind.NUMBER,
    "flag": IdentifierKind.IDENTIFIER,
    "error": IdentifierKind.ERROR,
    "number": IdentifierKind.NUMBER,
    "identifier": IdentifierKind.IDENTIFIER,
}
BARE = frozenset({
    "ls", "cat", "cd", "grep", "pwd", "echo", "true", "rg", "head", "tail", "wc", "sort", "done", "fi", "do", "then",
    "else",
})  # fmt: skip
"""Programs that only look at files, and words of the shell. Commands that begin with them are not worth keeping."""
DOCUMENT = re.compile(r"<<-?[ \t]*(['\"]?)(?P<end>\w+)\1")
"""The start of a here-document; `end`: the line that ends it."""
PIECES = re.compile(r"&&|\|\||[;|\n]")
SHORTEST, LONGEST = 3, 200
"""Bounds of the length of an item, in characters."""
SEGMENTS = 3
"""How many of the last components of a path are kept."""


def items(piece: TextSegment) -> set[Identifier]:
    """The items of a segment."""
    found = set(named(piece.text))
    if piece.is_script:
        found.update(Identifier(IdentifierKind.COMMAND, one) for one in commands(piece.text))
    return found


def named(text: str) -> Iterator[Identifier]:
    """Yields the items of a text, without commands, as often as they occur."""
    for kind, held, _ in _matched(text):
        name = short(held) if kind == IdentifierKind.PATH else held
        if SHORTEST <= len(name) <= LONGEST:
            yield Identifier(kind, name)


def placed(text: str) -> Iterator[tuple[Identifier, int]]:
    """Yields the items of a text as they are written, of any length, each with the place where it begins."""
    return ((Identifier(kind, held), at) for kind, held, at in _matched(text))


def _matched(text: str) -> Iterator[tuple[IdentifierKind, str, int]]:
    for match in PATTERN.finditer(text):
        group = match.lastgroup
        if group is None:  # plain
            continue
        held = match[0].rstrip(".,;:!?*") if group == "url" else match[0]
        if group != "path" or _is_path(held):
            yield SORTS[group], held, match.start()


def _is_path(held: str) -> bool:
    """Whether it is a path, and not two words of prose with a slash between them."""
    last = held.rpartition("/")[2]
    return held[0] in "/~." or held.count("/") > 1 or ("." in last[1:] and not last.endswith("."))


def short(path: str) -> str:
    """The last components of a path."""
    return "/".join(path.strip("/").split("/")[-SEGMENTS:])


def commands(script: str) -> Iterator[str]:
    """Yields the commands of a script that are worth keeping: not those of BARE, and no bodies of here-documents."""
    for piece in PIECES.split(without_documents(script)):
        words = piece.split()
        if len(words) > 1 and not (words[0] in BARE or words[0].startswith("#")):
            held = " ".join(words)
            if len(held) <= LONGEST:
                yield held


def without_documents(script: str) -> str:
    """A script without the bodies of its here-documents. Takes linear time for any script."""
    if "<<" not in script:
        return script
    lines = script.split("\n")
    alike: dict[str, list[int]] = {}
    for place, line in enumerate(lines):
        alike.setdefault(line.strip(), []).append(place)
    left, place = list[str](), 0
    while place < len(lines):
        left.append(lines[place])
        place = _behind(lines[place], place, alike) + 1
    return "\n".join(left)


def _behind(line: str, place: int, alike: Mapping[str, Sequence[int]]) -> int:
    """The place of the line that ends the here-document that this line begins; `place` itself if there is none."""
    for match in DOCUMENT.finditer(line):
        ends = alike.get(match["end"], ())
        if (first := bisect_right(ends, place)) < len(ends):
            return ends[first]
    return place
