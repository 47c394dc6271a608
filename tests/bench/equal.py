"""`just equal`: tokens of tens of thousands of texts by ctxkit, by tiktoken itself, by fastokens and by pieces.

tiktoken is loaded as it loads itself, from a cache folder of its own, so that what ctxkit hands it is compared too.
Each text is also cut at all runs of two blanks, which changes no figure (`ctxkit/tokens/blank_runs.py`).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path

import tiktoken

from ctxkit.tokens import blank_runs, fast, ranks, word_shapes
from ctxkit.tokens.encodings import encoding
from tests import texts as made
from tests.shared import HERE, SHARED

PAGE = HERE.parent / "docs/tokens.md"
BEGIN, END = "<!-- written by `just equal --write` -->\n", "<!-- end of equal -->\n"
"""Where the table stands."""
TOGETHER = 2000
"""Texts that are counted at a time."""
ENOUGH = 20
"""Tokens from which on the error of an estimate says something."""


@dataclass
class Kind:
    """Texts of one kind: how many, their size, by what they were counted otherwise, and how far pieces were off."""

    name: str
    texts: int = 0
    characters: int = 0
    tokens: int = 0
    differences: dict[str, int] = field(default_factory=dict)
    off: list[float] = field(default_factory=list)

    def off_by(self) -> str:
        """Of all of them together; of 95 % of them, either way; below, of 95 %."""
        if not self.off:
            return " | | "
        ways = sorted(map(abs, self.off)), sorted(max(0.0, -one) for one in self.off)
        mean = sum(self.off) / len(self.off)
        return f"{mean:+.1%} | {_most(ways[0])} | {_most(ways[1])}"


def _most(errors: Sequence[float]) -> str:
    return f"{errors[min(len(errors) - 1, int(0.95 * len(errors)))]:.1%}"


def main() -> int:
    """Compare, print, and with --write put the table into docs/tokens.md; 1 where a figure differs."""
    parser = argparse.ArgumentParser(prog="just equal", description=__doc__)
    parser.add_argument("--hostile", type=int, default=1_000_000, metavar="N", help="characters of each hostile text")
    parser.add_argument("--write", action="store_true", help="put the table into docs/tokens.md")
    asked = parser.parse_args()
    found = compared(texts(SHARED / "transcripts", hostile=asked.hostile), ranks.NAMES)
    text = "\n".join(table(found)) + "\n"
    print(text)
    if asked.write:
        page = re.sub(
            f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n{text}\n{END}", PAGE.read_text(encoding="utf-8"), flags=re.S
        )
        PAGE.write_text(page, encoding="utf-8")
    return int(any(any(kind.differences.values()) for kind in found))


def texts(folder: Path, *, share: float = 1.0, hostile: int = 1_000_000) -> Iterator[tuple[str, str]]:
    """Kind and text of each, none twice. `share`: of those that are not hostile; sessions are read for all alone."""
    chosen, seen = random.Random(5), set()
    real = made.strings(folder) if folder.is_dir() else iter(())
    if share == 1.0:
        real = chain(made.messages(folder), real)
    for name, some in (
        ("", real), ("code", made.sources()), ("prose", made.prose()),
        ("CJK letters, made", made.written(made.EAST, chosen)), ("RTL letters, made", made.written(made.RTL, chosen)),
        ("other letters, made", made.written(None, chosen)),
        ("emoji, made", made.emoji(chosen)), ("base64, made", made.encoded(chosen)),
    ):  # fmt: skip
        for text in some:
            digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).digest()
            if digest not in seen and (share == 1.0 or digest[0] < share * 256):
                seen.add(digest)
                yield name or made.kind(text), text
    for text in made.hostile(hostile):
        yield "hostile", text


def compared(some: Iterable[tuple[str, str]], names: Sequence[str]) -> list[Kind]:
    """The kinds of texts in the order in which they came, each counted in every way by each of the encodings."""
    kinds: dict[str, Kind] = {}
    references = {name: reference(name) for name in names}
    quick = {name: fast.reader(name) for name in names}
    left = iter(some)
    while chunk := list(islice(left, TOGETHER)):
        words = [text for _, text in chunk]
        for name in names:
            ours = encoding(name)
            expected = [_counted(references[name], text) for text in words]
            ways = {
                f"{name}": ours.counts(words),
                f"{name}, cut": [blank_runs.count(text, ours._ordinary, ours._piece, 2) for text in words],
            }
            if (count := quick[name]) is not None:
                short = [text if len(text) < blank_runs.LONG else "" for text in words]  # longer ones never go there
                ways[f"{name}, fastokens"] = [
                    n if len(text) < blank_runs.LONG else true
                    for n, text, true in zip(count(short), words, expected, strict=True)
                ]
            roughly = word_shapes.counts(words) if name == "o200k_base" else None
            for at, (kind, text) in enumerate(chunk):
                true, of = expected[at], kinds.setdefault(kind, Kind(kind))
                for way, counted in ways.items():
                    of.differences[way] = of.differences.get(way, 0) + (true is not None and counted[at] != true)
                if roughly is not None:
                    of.texts, of.characters = of.texts + 1, of.characters + len(text)
                    of.tokens += true or 0
                    if true is not None and true >= ENOUGH:
                        of.off.append(roughly[at] / true - 1)
    return list(kinds.values())


def _counted(reference: tiktoken.Encoding, text: str) -> int | None:
    """Tokens by tiktoken itself; None where it panics."""
    if re.search(f"(?<![{blank_runs.BLANKS}])[{blank_runs.BLANKS}]{{999990,}}", text):
        return None
    return len(reference.encode_ordinary(text))


def reference(name: str) -> tiktoken.Encoding:
    """tiktoken's own encoding, which it finds in a folder where it would have put it after fetching it."""
    url = ranks.PUBLISHED + name + ranks.SUFFIX
    with tempfile.TemporaryDirectory(prefix="ctxkit-equal-") as folder:
        file = Path(folder) / hashlib.sha1(url.encode()).hexdigest()
        ranks.described(name, file.write_bytes)
        before = os.environ.get("TIKTOKEN_CACHE_DIR")
        os.environ["TIKTOKEN_CACHE_DIR"] = folder
        try:
            return tiktoken.get_encoding(name)
        finally:
            os.environ.pop("TIKTOKEN_CACHE_DIR")
            if before is not None:
                os.environ["TIKTOKEN_CACHE_DIR"] = before


def table(found: Sequence[Kind]) -> Iterator[str]:
    """A line a kind, and all of them."""
    yield "| texts | | characters | differences | pieces: mean, 95 % within, 95 % not lower by | | |"
    yield "|---|---|---|---|---|---|---|"
    for kind in found:
        wrong = sum(kind.differences.values())
        yield f"| {kind.name} | {kind.texts:,} | {kind.characters:,} | {wrong} | {kind.off_by()} |".replace("%", " %")
    ways = ", ".join(f"{way} {sum(kind.differences[way] for kind in found)}" for way in found[0].differences)
    real = [kind for kind in found if kind.name != "hostile"]
    every = Kind("all but hostile", off=[one for kind in real for one in kind.off])
    count, size = sum(kind.texts for kind in real), sum(kind.characters for kind in real)
    yield f"| {every.name} | {count:,} | {size:,} | {ways} | {every.off_by()} |".replace("%", " %")


if __name__ == "__main__":
    sys.exit(main())
