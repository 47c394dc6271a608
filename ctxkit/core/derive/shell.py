"""What a line of shell does to files: the few programs that people and agents read and write files with, by a table.

Nothing is run or expanded: a path with a variable or a pattern is no path. `files.py` asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import dropwhile
from posixpath import join, normpath
from typing import Literal, NamedTuple

Did = Literal["read", "edit", "write", "delete"]

LARGEST = 1 << 18
"""Characters of a script that are looked at."""
LONGEST = 4096
"""Characters of a path, as systems take it."""
READS: dict[str, frozenset[str]] = {
    "cat": frozenset(), "bat": frozenset({"-r", "-l"}), "nl": frozenset({"-b", "-w", "-s", "-n", "-v"}),
    "less": frozenset(), "more": frozenset(), "tac": frozenset(), "head": frozenset({"-n", "-c", "--lines", "--bytes"}),
    "tail": frozenset({"-n", "-c", "--lines", "--bytes"}), "sed": frozenset({"-e", "-f", "-l"}),
}  # fmt: skip
"""Programs that print files, with their options that have a value behind them."""
PARTIAL = frozenset({"head", "tail", "sed", "bat"})
"""Those that print a part, as their options say."""
QUIET = frozenset(
    {
        "",
        "cd",
        "export",
        "set",
        "true",
        ":",
        "echo",
        "printf",
        "mkdir",
        "sleep",
        "source",
        ".",
        "pwd",
        "done",
        "fi",
        "}",
    }
)
"""What prints nothing that anybody would look for in a file."""
BEFORE = re.compile(r"if|elif|while|until|do|then|else|time|sudo|command|exec|!|\{|[A-Za-z_]\w*=.*", re.S)
"""Words that stand before a command."""
PIPED = "|"
"""The part that is left of a file behind a pipe: nobody knows which."""

PIECE = r"""[^\s'"\\;&|<>()]|\\.|'[^']*'|"(?:[^"\\]|\\.)*\""""
TOKEN = re.compile(
    rf"""(?P<blank>[^\S\n]+|\\\n)|(?P<comment>\#[^\n]*)|(?P<end>\n|&&|\|\||;;?|\|&?|[()]|&(?!>))"""
    rf"""|(?P<into>(?:\d+|&)?(?:<<<|<<-?|>>|>\||[<>])(?:&[\d-]*)?)|(?P<word>(?:{PIECE})+)""",
    re.S,
)
PLAIN = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)|([^'"\\]+)""", re.S)
NO_PATH = re.compile(r"[*?$`{}\[\]\n]|^-$|^/dev/|^$")


class Used(NamedTuple):
    """What is done to a file: the fields of `files.FileTouch`."""

    path: str
    how: Did
    part: str = ""
    mixed: bool = False


class _Command(NamedTuple):
    """One command: its words, where its output goes (sign, path), and whether it goes on into another."""

    words: list[str]
    into: list[tuple[str, str]]
    piped: bool


def used(script: str) -> list[Used]:
    """What a script reads and writes, as far as the table knows, up to the first place that it does not understand.

    Reads are `mixed` where something else prints, too.
    """
    folder: str | None = ""
    found: list[Used] = []
    other = behind = False
    for words, into, piped in _commands(script[:LARGEST]):
        words = list(dropwhile(BEFORE.fullmatch, words))
        name = words[0].rpartition("/")[2] if words else ""
        paths, options = _split(name, words[1:])
        if name == "cd":
            folder = _path(folder, paths[0] if paths else "~")
        made: list[tuple[str, Did]] = [(to, "edit" if ">>" in sign else "write") for sign, to in into if ">" in sign]
        prints = not any(sign[0] in ">&1" for sign, _ in into if ">" in sign)
        changed = _made(name, paths, options)
        reads = _reads(name, paths, options) if prints and not behind else []
        found += [Used(path, how) for one, how in (*made, *changed) if (path := _path(folder, one)) is not None]
        for one, part in reads:
            if (path := _path(folder, one)) is not None:
                found.append(Used(path, "read", PIPED if piped else part, mixed=piped))
        other = other or (prints and not (reads or changed or behind or name in QUIET))
        behind = piped
    return [one._replace(mixed=True) if other and one.how == "read" else one for one in dict.fromkeys(found)]


def _reads(name: str, paths: Sequence[str], options: Sequence[str]) -> list[tuple[str, str]]:
    """The files that a command prints, and which part."""
    if name not in READS or _in_place(name, options):
        return []
    if name == "sed" and not {"-e", "-f"} & set(options):
        options, paths = [*options, *paths[:1]], paths[1:]
    part = " ".join([name, *options]) if name in PARTIAL else ""
    return [(path, part) for path in paths]


def _made(name: str, paths: Sequence[str], options: Sequence[str]) -> list[tuple[str, Did]]:
    """The files that a command changes."""
    match name:
        case "sed" if _in_place(name, options):
            given = [path for path in paths if path]  # the suffix of BSD's -i may be empty
            return [(path, "edit") for path in (given if {"-e", "-f"} & set(options) else given[1:])]
        case "tee":
            return [(path, "edit" if "-a" in options else "write") for path in paths]
        case "cp" if len(paths) == 2:
            return [(_target(*paths), "write")]
        case "mv" if len(paths) == 2:
            return [(paths[0], "delete"), (_target(*paths), "write")]
        case "rm" if not any("r" in one.lower() for one in options):
            return [(path, "delete") for path in paths]
        case "touch":
            return [(path, "write") for path in paths]
        case _:
            return []


def _target(source: str, to: str) -> str:
    """The file that a copy makes: in the folder `to`, if it is one by its name."""
    name = source.rstrip("/").rpartition("/")[2]
    is_folder = to.endswith("/") or to in (".", "..") or ("." in name[1:] and "." not in to.rpartition("/")[2][1:])
    return join(to, name) if is_folder else to


def _in_place(name: str, options: Sequence[str]) -> bool:
    return name == "sed" and any(re.match(r"-[nEr]*i|--in-place", one) for one in options)


def _split(name: str, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Paths, and options with their values."""
    paths: list[str] = []
    options: list[str] = []
    valued = False
    for word in words:
        if valued or (word.startswith("-") and len(word) > 1):
            options.append(word)
            valued = not valued and word in READS.get(name, ())
        else:
            paths.append(word)
    return paths, options


def _path(folder: str | None, word: str) -> str | None:
    """The path that a word is in a folder; None where nobody knows."""
    if NO_PATH.search(word) or (folder is None and not word.startswith(("/", "~"))):
        return None
    path = normpath(word if word.startswith("~") else join(folder or "", word))
    return path if len(path) <= LONGEST else None


def _commands(script: str) -> Iterator[_Command]:
    """The simple commands, one after the other."""
    words: list[str] = []
    into: list[tuple[str, str]] = []
    sign, ends = "", list[str]()
    at = 0
    while at < len(script) and (found := TOKEN.match(script, at)) is not None:
        at, text = found.end(), found[0]
        match found.lastgroup:
            case "word" if "<<" in sign and "<<<" not in sign:
                ends.append(_plain(text))
            case "word" if sign:
                into.append((sign, _plain(text)))
            case "word":
                words.append(_plain(text))
            case "into":
                sign = "" if "&" in text[1:] else text
                continue
            case "end":
                if words or into:
                    yield _Command(words, into, text in ("|", "|&"))
                words, into = [], []
                if text == "\n" and ends:
                    at, ends = _behind(script, at, ends), []
            case _:
                continue
        sign = ""
    if words or into:
        yield _Command(words, into, piped=False)


def _behind(script: str, at: int, ends: Sequence[str]) -> int:
    """Where the bodies of here-documents are over."""
    for end in ends:
        found = re.compile(rf"^\t*{re.escape(end)}[ \t]*$\n?", re.M).search(script, at)
        at = found.end() if found is not None else len(script)
    return at


def _plain(word: str) -> str:
    """A word without its quotes."""
    return "".join(one[0] or re.sub(r'\\([$`"\\\n])', r"\1", one[1]) or one[2] or one[3] for one in PLAIN.findall(word))
