"""Texts of every kind for the counters: real ones (sessions, Python's own library), and scripts of our making."""

from __future__ import annotations

import base64
import json
import random
import re
import sys
import sysconfig
import unicodedata
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from ctxkit.api.log import Log
from ctxkit.logfile.open import words
from tests.shared import SHARED

MOST = 300
"""Generated texts of a kind."""
LETTERS = 200
"""Characters of a generated text at most."""
RTL = ("HEBREW", "ARABIC", "SYRIAC", "THAANA", "NKO", "ADLAM")
EAST = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO", "YI")


def messages(folder: Path = SHARED / "transcripts") -> Iterator[str]:
    """What each message of each session says, in all formats that are read."""
    for path in sorted(folder.rglob("*")):
        if path.suffix not in (".jsonl", ".json", ".traj"):
            continue
        for number in range(1, 30):
            try:
                log = Log.open(path, conversation=number)
            except Exception:  # no such conversation, or no log: usage and truth files
                if number > 1:
                    break
                try:
                    log = Log.open(path)
                except Exception:
                    break
            for message in log.messages:
                yield "\n".join(words(log.content(message.n)))
            if log.opening.conversation is None:
                break


def strings(folder: Path = SHARED / "transcripts") -> Iterator[str]:
    """Every record of them as it is written, and every string in it: patches, file contents, base64."""
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".eval":
            with zipfile.ZipFile(path) as archive:
                lines = [archive.read(name).decode() for name in archive.namelist()]
        elif path.suffix in (".jsonl", ".json", ".traj"):
            text = path.read_text(encoding="utf-8", errors="replace")
            lines = [text] if path.suffix != ".jsonl" else text.splitlines()
        else:
            continue
        for line in lines:
            yield line
            try:
                yield from _inside(json.loads(line))
            except ValueError:
                continue


def _inside(found: Any) -> Iterator[str]:
    match found:
        case str():
            yield found
        case list():
            for one in found:
                yield from _inside(one)
        case dict():
            for one in found.values():
                yield from _inside(one)


def sources() -> Iterator[str]:
    """Python's own library, function by function, and the headers of its C interface, file by file."""
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("**/*.py")):
        if "site-packages" not in path.parts:
            yield from re.split(r"\n(?=(?:async )?def |class )", path.read_text(encoding="utf-8", errors="replace"))
    for path in sorted(Path(sysconfig.get_path("include")).glob("**/*.h")):
        yield path.read_text(encoding="utf-8", errors="replace")


def prose() -> Iterator[str]:
    """Python's documentation, topic by topic, and the names of all characters, a few at a time."""
    from pydoc_data.topics import topics

    for text in topics.values():
        yield from text.split("\n\n")
    names = (unicodedata.name(chr(at), "") for at in range(sys.maxunicode + 1))
    while some := list(islice(filter(None, names), 200)):
        yield ", ".join(some).capitalize()


@cache
def scripts() -> dict[str, str]:
    """The letters and marks of each script, by the first word of their names."""
    found: dict[str, list[str]] = defaultdict(list)
    for at in range(sys.maxunicode + 1):
        char = chr(at)
        if unicodedata.category(char)[0] in "LM":
            found[unicodedata.name(char, "UNNAMED").split()[0]].append(char)
    return {name: "".join(chars) for name, chars in found.items()}


def written(names: tuple[str, ...] | None, chosen: random.Random) -> Iterator[str]:
    """Words of scripts with blanks, digits, signs and line ends between them; None: of all scripts but those named."""
    every = scripts()
    if names is None:
        names = tuple(name for name in every if name not in RTL + EAST)
    between = (" ", " ", " ", ", ", ". ", "\n", " 12 ", "。", "،", "\u3000", "\u200f", "\u200b", "\t", "’")
    for _ in range(MOST):
        for name in chosen.sample(names, min(4, len(names))):
            text = ""
            for _ in range(chosen.randint(1, LETTERS // 6)):
                text += "".join(chosen.choices(every[name], k=chosen.randint(1, 9))) + chosen.choice(between)
            yield text


def emoji(chosen: random.Random) -> Iterator[str]:
    """Pictures alone, with skin, joined, as flags and keycaps, among words."""
    pictures = [chr(at) for at in (*range(0x1F300, 0x1F650), *range(0x1F680, 0x1F700), *range(0x2600, 0x27BF))]
    skin = [chr(at) for at in range(0x1F3FB, 0x1F400)]
    flags = [chr(at) for at in range(0x1F1E6, 0x1F200)]
    made: list[Callable[[], str]] = [
        lambda: chosen.choice(pictures), lambda: chosen.choice(pictures) + chosen.choice(skin),
        lambda: "\u200d".join(chosen.choices(pictures, k=chosen.randint(2, 4))),
        lambda: chosen.choice(pictures) + "\ufe0f",
        lambda: "".join(chosen.choices(flags, k=2)), lambda: chosen.choice("0123456789#*") + "\ufe0f\u20e3",
        lambda: chosen.choice(["ok", "done", " ", "\n", "!"]),
    ]  # fmt: skip
    for _ in range(3 * MOST):
        yield "".join(chosen.choice(made)() for _ in range(chosen.randint(1, LETTERS // 4)))


def encoded(chosen: random.Random) -> Iterator[str]:
    """Base64 of noise and of text, in one line and in many, plain and for addresses."""
    for n in range(3 * MOST):
        raw = chosen.randbytes(chosen.randint(1, 3000)) if n % 2 else b'{"n": %d, "of": "%s"}' % (n, b"x" * (n % 90))
        make = (base64.b64encode, base64.encodebytes, base64.urlsafe_b64encode)[n % 3]
        yield make(raw).decode()


def hostile(size: int) -> Iterator[str]:
    """Of each thing that tokenizers stumble on about so many characters, alone, and between words and line ends."""
    chosen = random.Random(size)
    for unit in (
        "a", "A", "é", "aB", "漢", "ア", "م", "א", "1", "12a", ".", "-", "/", "=", "!@", "'s", "<|endoftext|>",
        "<|im_start|>",
        " ", "\t", "\n", "\r\n", "\r", " \t", " \n", "\n ", "\u00a0", "\u3000", "\x0b", "\x1c", "\x1f ", "\0", "\x07",
        "\u0301", "e\u0301", "\u200b", "\u200d", "\ufeff", "\u200f", "\u202e\u202c", "👩\u200d", "👍🏽", "🇩🇪", "\ud800",
        "\ud83d\ude00", "\udfff", "\ufffd", "\U0010ffff", " " * 999 + "\n", "\n" + " " * 999, " " * 99 + "x",
        "x" + "\n" * 99,
    ):  # fmt: skip
        text = unit * (size // len(unit))
        yield from (text, f"x{text}", f"{text}x", f"\n{text}\n", f"!\n{text} 1")
    for letters in ("abcdefghijklmnopqrstuvwxyz", "0123456789", "!@#$%^&*()", " \t\n\r", "".join(scripts()["CJK"])):
        yield "".join(chosen.choices(letters, k=size))
    yield base64.b64encode(chosen.randbytes(size * 3 // 4)).decode()


def kind(text: str) -> str:
    """What a real text is, by its characters: of each kind that is told apart, what a reader would call it."""
    some = text[:4000]
    if re.fullmatch(r"[\w+/=-]{200,}", some, re.ASCII):
        return "base64"
    for name, found in (
        ("CJK", re.findall(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]", some)),
        ("RTL", re.findall(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]", some)),
        ("emoji", re.findall(r"[\U0001f300-\U0001faff\u2600-\u27bf]", some)),
    ):
        if len(found) * 10 > len(some):
            return name
    if some.lstrip()[:1] in ("{", "[") and re.search(r'"\s*:|",', some):
        return "JSON"
    signs = len(re.findall(r"[{}()\[\]=<>;_/\\|]", some))
    return "code" if signs * 25 > len(some) else "prose"
