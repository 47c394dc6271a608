"""Scorers that share nothing with what selects: items, facts, failures and lines by patterns of their own.

Nothing of ours is imported here, so a rule of the selector cannot be right by the same mistake in its score: messages
and their parts are known by their attributes alone. The measures are those of `measures.py`, except that lines are
those of the agent's arguments, and that errors are lines of test runners, compilers and failed calls.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import Any, NamedTuple

AHEAD = 60
"""Messages of the agent after the cut that say what was needed."""
SAME = 0.6
"""The share of the words of a line that makes its context."""
KEPT = 0.8
"""The share of the words of a fact that one line must have."""
WORD = re.compile(r"\w+")
NUMBERED = re.compile(r"^\s*L?\d+(?:→|\t|: |\|)", re.M)

PATHS = re.compile(r"(?<![\w/\\.-])(?:[\w.@~+-]*[/\\])*[\w@+-][\w.@+-]*\.[A-Za-z]\w{0,7}(?![\w/\\])")
URLS = re.compile(r"https?://[^\s\"'`<>)\]]+")
CODES = re.compile(
    r"\b(?:[A-Z]\w*(?:Error|Exception|Warning)|E[A-Z]{4,}|TS\d{4,5}|E\d{4}|(?:nilerr|exhaustive|MD\d{3}|SC\d{4}))\b"
)
NAMES = re.compile(r"(?<![\w-])(?:--[a-z][\w-]{2,}|[a-z]+(?:[A-Z]\w*)+|[A-Z][a-z]+(?:[A-Z]\w*)+|\w+_\w+)(?![\w-])")
FIGURES = re.compile(
    r"(?<![\w.])(?:(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}|#\d{2,}|v?\d+\.\d+\.\d+|[A-Z]{2,}-\d+)(?![\w.]*\w)"
)
_SUFFIXES = """go py ts tsx js jsx mjs cjs json jsonl md mdx yml yaml toml css html sh ps1 rs c h cc cpp java sql txt
lock cfg ini xml svg png lua zsh fish bash mod sum test golden patch csv"""
SUFFIXES = frozenset(_SUFFIXES.split())
"""What a name with a point must end in to be a file."""
_DULL = "ls cd cat echo pwd head tail grep rg sed wc true which sleep"
DULL = frozenset(_DULL.split())
"""Commands that say nothing by themselves."""
PIECES = re.compile(r"&&|\|\||[;|\n]")
LINED = frozenset({"name", "code", "figure"})
"""Kinds of items that need their line."""
CALLED = frozenset({"command", "cmd", "file_path", "path", "pattern", "query", "url"})
"""Arguments that say what is called: a result that comes after belongs to it."""

FAILING = re.compile(
    r"--- FAIL: |^FAIL(?:ED)?\b|\(fail\) |[✗✘✕×] |●.*›|^E {3,}\S|\bFAILED\b|panic: |panicked at|"
    r"^(?:\S+[/\\])?[\w.-]+\.[a-z]{1,4}(?::|\()\d+(?:[:,]\d+)?\)?:? .*\S|error(?:\[E\d+\])?: |error TS\d+: |"
    r"^\s*Error(?: Trace)?:\s|\bNot equal|^\s*(?:expected|actual|got|want|received)\s*:|\bError: |"
    r"^make: \*\*\*|\bexit(?:ed with)? (?:code|status):? [1-9]|^Exit code [1-9]|Traceback \(most recent|"
    r"ERROR task failed",
    re.I | re.M,
)
PASSED = re.compile(r"\b0 (?:issues|errors|failed)|^ok\s|\bPASS\b|(\d+) passed|All checks passed|tests? passed", re.M)
RUNS = re.compile(
    r"\b(?:go (?:test|build|vet)|pytest|jest|vitest|bun (?:run )?test|cargo (?:test|build|check)|tsc|eslint|"
    r"make|npm (?:run|test)|mise run|golangci-lint|just|tox|ruff|mypy|biome|markdownlint\S*)\b"
)
FENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")
DECIDES = re.compile(
    r"\b(?:decid|instead of|rather than|root cause|the (?:fix|reason|cause) (?:is|was)|because|chose|"
    r"so (?:I|we)(?:'ll| will))",
    re.I,
)
OPEN = re.compile(r"\b(?:todo|next step|still (?:need|fail|open)|not yet|remaining|follow-?up|left to)\b", re.I)
DEFINES = re.compile(
    r"^\s*(?:export |pub |async |static )*(?:def|class|func|fn|function|interface|struct|enum|trait|type) +\(?\w"
)


class Said(NamedTuple):
    """One text: who said it (`user`, `agent`, `call`, `result`), the message's place, and the argument it is of."""

    who: str
    at: int
    text: str
    key: str = ""
    failed: bool = False
    tool: str = ""


def said(some: Iterable[Any]) -> list[Said]:
    """All texts of these messages, thinking left out; the arguments of calls one by one. A message: `role`, `parts`."""
    return list(_said(some))


def _said(some: Iterable[Any]) -> Iterator[Said]:
    tools: dict[str, str] = {}
    for at, content in enumerate(some):
        who = "agent" if content.role in ("assistant", "model") else "user" if content.role == "user" else "result"
        for part in content.parts:
            match type(part).__name__:
                case "Text":
                    yield Said(who, at, part.text)
                case "Call":
                    tools[part.id] = part.name
                    for key, text in _leaves(part.arguments, ""):
                        yield Said("call", at, text, key, tool=part.name)
                case "Result":
                    yield Said(
                        "result", at, NUMBERED.sub("", _shown(part.content)), "", part.is_error, tools.get(part.id, "")
                    )
                case _:
                    continue


def _shown(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(map(_words, content))


def _words(part: Any) -> str:
    match type(part).__name__:
        case "Text":
            return str(part.text)
        case "Result":
            return _shown(part.content)
        case _:
            return ""


def _leaves(value: Any, key: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, str(name))
    elif isinstance(value, list):
        if value and all(isinstance(one, str) for one in value):
            yield key, " ".join(value)
        else:
            for inner in value:
                yield from _leaves(inner, key)
    elif isinstance(value, int | float):
        yield key, str(value)


def whole(some: Sequence[Said]) -> str:
    """All that a reader sees of these texts."""
    return "\n".join(one.text for one in some)


Item = tuple[str, str]
"""Kind and text."""


def items(text: str) -> set[Item]:
    """The items of a text, without commands."""
    found: set[Item] = {("url", one.rstrip(".,;:")) for one in URLS.findall(text)}
    for path in PATHS.findall(URLS.sub(" ", text)):
        if path.rpartition(".")[2].lower() in SUFFIXES:
            found.add(("path", "/".join(re.split(r"[/\\]", path)[-3:])))
    found.update(("code", one) for one in CODES.findall(text))
    found.update(("name", one) for one in NAMES.findall(text) if len(one) >= 6)
    found.update(("figure", one) for one in FIGURES.findall(text))
    return found


def commands(one: Said) -> list[str]:
    """The commands of an argument that a shell runs."""
    if one.key not in ("command", "cmd", "script"):
        return []
    pieces = [" ".join(piece.split()) for piece in PIECES.split(one.text)]
    return [piece for piece in pieces if 8 <= len(piece) <= 160 and " " in piece and piece.split()[0] not in DULL]


def of(one: Said) -> set[Item]:
    """The items of a text, with the commands of a call."""
    return items(one.text) | {("command", command) for command in commands(one)}


class Later(NamedTuple):
    """What was needed: items, each with the words of the lines that it stands in; lines of arguments."""

    items: dict[Item, list[frozenset[str]]]
    lines: list[str]


def later(prefix: Sequence[Said], suffix: Sequence[Said]) -> Later:
    """What the agent wrote again before anything showed it again."""
    known = set[Item]().union(*(of(one) for one in prefix))
    there = {line.strip() for one in prefix for line in one.text.split("\n")}
    flat = {" ".join(line.split()) for line in there}
    needed, lines = dict[Item, None](), dict[str, None]()
    decided, shown, authors = set[object](), "", set[int]()
    for one in suffix:
        if one.who not in ("agent", "call"):
            shown += "\n" + one.text
            continue
        authors.add(one.at)
        if len(authors) > AHEAD:
            break
        fresh = {item for item in of(one) if item in known and item not in decided}
        decided |= fresh
        plain = shown.replace("\\", "/")
        needed.update(dict.fromkeys(sorted(item for item in fresh if item[1] not in plain)))
        if one.who == "call":
            for line in map(str.strip, one.text.split("\n")):
                if 24 <= len(line) <= 300 and " " in line and line in there and line not in decided:
                    decided.add(line)
                    if line not in shown:
                        lines[line] = None
    held: dict[Item, list[frozenset[str]]] = {}
    for item in needed:
        if item[0] in LINED:
            held[item] = [frozenset(WORD.findall(line)) for line in flat if item[1] in line]
        else:
            held[item] = []
    return Later(held, list(lines))


def paths(asked: Later) -> Later:
    """What was needed of files: their paths that name a folder."""
    return Later({(kind, text): [] for kind, text in asked.items if kind == "path" and "/" in text.strip("/")}, [])


def has(text: str, item: str) -> bool:
    """Whether a text has this item, not as a part of a longer word."""
    return re.search(rf"(?<![\w]){re.escape(item)}(?![\w])", text) is not None


def recall(asked: Later, generic: frozenset[Item], text: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """Items kept in their context, and lines kept; each with how many there are. `text`: of the compacted context."""
    flat = "\n".join(dict.fromkeys(" ".join(line.split()).replace("\\", "/") for line in text.split("\n")))
    rows = flat.split("\n")
    kept, there = 0, [item for item in asked.items if item not in generic]
    for item in there:
        name = item[1]
        if name not in flat:
            continue
        if item[0] not in LINED:
            kept += has(flat, name)
            continue
        for row in rows:
            if name in row and has(row, name):
                words = frozenset(WORD.findall(row))
                if any(len(words & source) >= SAME * len(source) for source in asked.items[item]):
                    kept += 1
                    break
    lines = sum(line in text for line in asked.lines)
    return (kept, len(there)), (lines, len(asked.lines))


def facts(prefix: Sequence[Said]) -> dict[str, list[str]]:
    """The facts of a prefix by class; `open errors` are those of the last run of a command, if that failed."""
    found: dict[str, dict[str, None]] = defaultdict(dict)
    runs: dict[str, list[str]] = {}
    running = ""
    for one in prefix:
        if one.who == "call":
            found["commands"].update(dict.fromkeys(commands(one)))
            ran = [command for command in commands(one) if RUNS.search(command)]
            running = " ".join(RUNS.findall(ran[0])) if ran else "" if one.key in CALLED else running
            if one.key in ("file_path", "path") and any(
                word in one.tool.lower() for word in ("edit", "write", "create")
            ):
                found["files edited"][one.text.replace("\\", "/").rpartition("/")[2]] = None
            found["code"].update(
                dict.fromkeys(
                    line.strip()
                    for line in one.text.split("\n")
                    if one.key != "old_string" and DEFINES.match(line) and len(line) <= 200
                )
            )
        elif one.who == "user":
            plain = re.sub(r"<system-reminder>.*?</system-reminder>", "", one.text, flags=re.S)
            if not plain.lstrip().startswith(("<", "This session is being continued", "Base directory")):
                some = [row.strip() for row in FENCE.split(plain) if len(WORD.findall(row)) >= 3 and len(row) <= 300]
                found["user"].update(dict.fromkeys(some))
        elif one.who == "agent":
            for row in map(str.strip, FENCE.split(one.text)):
                if 12 <= len(row) <= 300:
                    for name, pattern in (("decisions", DECIDES), ("pending", OPEN)):
                        if pattern.search(row):
                            found[name][row] = None
        elif one.failed or running:
            wrong = failing(one.text)
            found["errors"].update(dict.fromkeys(wrong))
            if running and (wrong or PASSED.search(one.text)):
                runs[running] = wrong
    found["open errors"] = dict.fromkeys(row for rows in runs.values() for row in rows)
    alike: dict[str, str] = {}
    for row in found["errors"]:
        alike.setdefault(re.sub(r"\d+", "0", row), row)
    found["errors"] = dict.fromkeys(alike.values())
    return {name: list(some) for name, some in found.items()}


def failing(text: str) -> list[str]:
    """The lines of an output that say what failed, where and how."""
    rows = [row.strip() for row in text.split("\n") if 8 <= len(row.strip()) <= 300]
    return [row for row in rows if FAILING.search(row) and not re.match(r"^ok\b|.*\b0 (?:errors|failed)\b", row)]


CLASSES = ("errors", "open errors", "commands", "files edited", "decisions", "pending", "user", "code")


def kept(found: Mapping[str, Sequence[str]], text: str) -> dict[str, tuple[int, int]]:
    """Class -> facts that the text keeps: word for word, or with KEPT of their words in one line; and how many."""
    rows = [frozenset(WORD.findall(row)) for row in dict.fromkeys(text.split("\n"))]
    at: dict[str, list[int]] = defaultdict(list)
    for place, words in enumerate(rows):
        for word in words:
            at[word].append(place)
    return {name: (sum(_keeps(one, text, rows, at) for one in some), len(some)) for name, some in found.items()}


def _keeps(fact: str, text: str, rows: Sequence[frozenset[str]], at: Mapping[str, list[int]]) -> bool:
    if fact in text:
        return True
    words = frozenset(WORD.findall(fact))
    least = ceil(KEPT * len(words))
    rare = sorted(words, key=lambda word: len(at.get(word, ())))[: len(words) - least + 1]
    return any(len(rows[place] & words) >= least for word in rare for place in at.get(word, ()))


def common(prefixes: Iterable[tuple[str, Sequence[Said]]], least: int = 3) -> frozenset[Item]:
    """The items that prefixes of so many repositories have. Pairs of repository and prefix."""
    whose: dict[Item, set[str]] = defaultdict(set)
    for name, prefix in prefixes:
        for item in set[Item]().union(*(of(one) for one in prefix)):
            whose[item].add(name)
    return frozenset(item for item, names in whose.items() if len(names) >= least)
