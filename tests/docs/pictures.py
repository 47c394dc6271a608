"""The pictures of terminals in docs/pictures, and of every screen: `just pictures --all DIR` draws these into a folder.

Each is what commands print on a terminal of so many columns, in the sandbox of the docs. `STORY` is the session that
has something to cut: a home of so many letters that lines break where they would break in the one that is shown.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ctxkit.core.times import iso
from ctxkit.formats.session_folders import slug
from ctxkit.store.index import JUST_NOW
from tests.docs.pages import ROOT
from tests.docs.sandbox import make, short_folder
from tests.docs.svg import drawn
from tests.docs.terminal import screen
from tests.prefork import BASE

FOLDER = ROOT / "docs/pictures"
GUIDE = (
    "ctxkit mark chat.jsonl before-refactor",
    "ctxkit protect chat.jsonl 5",
    "ctxkit forget chat.jsonl 8-9",
    "ctxkit window chat.jsonl 24h",
)
"""What was done to the guide's log."""
COUNTED = ("for name in @ @2 @3 @4 @5; do ctxkit status $name --short -q; done",)
"""Sizes are known from here on: the first screen does not wait for them longer than a moment."""


class Picture(NamedTuple):
    """Commands whose output is seen; `before`: others; `until`: words at which the last one is looked at."""

    commands: tuple[str, ...]
    before: tuple[str, ...] = ()
    until: str = ""
    rows: int = 200


PICTURES = {
    "main-job": Picture(("ctxkit", "ctxkit forget @ --larger-than 5k", "ctxkit resume @"), COUNTED),
    "show": Picture(("ctxkit show chat.jsonl --last 7",), GUIDE),
    "show-session": Picture(("ctxkit show session.jsonl --last 12",)),
    "show-calls": Picture(("ctxkit show session.jsonl --tools",)),
    "status": Picture(("ctxkit status chat.jsonl --context-limit 8000",), GUIDE),
    "plot": Picture(("ctxkit status chat.jsonl --plot --context-limit 500",), GUIDE),
}
"""File in docs/pictures -> what it shows, at 80 columns, in the colours that the reader prefers."""

SCREENS = PICTURES | {
    "first-screen": Picture(("ctxkit",), COUNTED),
    "picker": Picture(("ctxkit sessions --here --pick",), until="Number", rows=24),
    "sessions": Picture(("ctxkit sessions --here",)),
    "show-story": Picture(("ctxkit show @ --last 9",)),
    "show-story-calls": Picture(("ctxkit show @ --tools",)),
    "show-marks": Picture(("ctxkit show chat.jsonl",), GUIDE),
    "status-story": Picture(("ctxkit status @", "ctxkit status @ --largest 5", "ctxkit status @ --by tool")),
    "resume": Picture(("ctxkit resume @", "ctxkit resume @2"), ("ctxkit forget @ --larger-than 5k --yes",)),
    "help": Picture(("ctxkit -h",)),
    "help-forget": Picture(("ctxkit forget -h",)),
    "errors": Picture(("ctxkit statsu @; true", "ctxkit show nope.jsonl; true", "ctxkit undo @; true")),
}  # fmt: skip
"""Every screen to look at."""

TALK = (
    ("user", "The checkout is slow since Friday. Find out why."),
    ("call", "Bash", {"command": "grep 'GET /checkout' logs/web-1.log"}, 1900),
    ("call", "Bash", {"command": "grep 'GET /checkout' logs/web-2.log"}, 1700),
    ("call", "Read", {"file_path": "{work}/shop/checkout.py"},
     "1\tdef total(cart):\n2\t    for line in cart.lines:\n3\t        yield line.price * tax_of(line.country)"),
    ("call", "Bash", {"command": "cat bench/requests.log"}, 1260),
    ("said", "The time grows with the **number of lines**: `tax_of` asks the tax service once per line.\n\n"
             "```python\nfor line in cart.lines:\n    total += line.price * tax_of(line.country)\n```"),
    ("user", "Ask once per country. What did we decide about the cache?"),
    ("call", "Read", {"file_path": "{work}/docs/decisions.md"}, "12  Taxes: no cache across requests."),
    ("said", "Decision 12: **no cache across requests**; taxes change at midnight. Within a request it is fine."),
    ("user", "Good. Now fix it, with a test."),
)  # fmt: skip
"""Who said what, and calls with their result, or as many lines of a log."""
OTHERS = {
    "claude": "The total of the cart is wrong by a cent.", "codex": "Port the invoices to the new PDF writer.",
    "pi": "Some tests are flaky.", "gemini": "The shop has no map of its parts.",
}  # fmt: skip
"""What the sessions of the sandbox are about here, the oldest last."""


def requests(count: int) -> str:
    """So many lines of a web server's log."""
    return "\n".join(
        f"10:{n // 60 % 60:02}:{n % 60:02} GET /checkout 200 {180 + n * 7919 % 2600} ms cart={n * 104729 % 9973}"
        f" lines={n * 31 % 41}"
        for n in range(count)
    )


def story(work: Path) -> Path:
    """The newest session of the project, of Claude Code: 64 % full, most of it results that nobody needs any more."""
    identity = "3f2a91c0-7d15-4b6e-9a52-0c8e61d4b7f3"
    rows: list[dict[str, Any]] = []
    letters = 50_000  # the system prompt, tools and files that come with every session

    def row(kind: str, message: dict[str, Any]) -> None:
        number, parent = f"{len(rows):08x}-0000-4000-8000-000000000000", rows[-1]["uuid"] if rows else None
        base = {"parentUuid": parent, "uuid": number, "sessionId": identity, "cwd": str(work), "gitBranch": "main",
                "timestamp": iso(BASE - 600 - 20 * (30 - len(rows))), "version": "2.1.330", "isSidechain": False,
                "userType": "external"}  # fmt: skip
        rows.append(base | {"type": kind, "message": message})

    def reply(block: dict[str, Any]) -> None:
        usage = {"input_tokens": 3, "cache_read_input_tokens": int(letters / 2.4), "output_tokens": 90}
        row("assistant", {"id": f"msg_{len(rows)}", "type": "message", "role": "assistant",
                          "model": "claude-sonnet-4-5", "content": [block], "usage": usage})  # fmt: skip

    for kind, *what in TALK:
        if kind == "user":
            row("user", {"role": "user", "content": what[0]})
        elif kind == "said":
            reply({"type": "text", "text": what[0]})
        else:
            name, asked, result = what
            asked = {key: value.format(work=work) for key, value in asked.items()}
            call = f"toolu_{len(rows)}"
            reply({"type": "tool_use", "id": call, "name": name, "input": asked})
            text = result if isinstance(result, str) else requests(result)
            letters += len(text)
            row("user", {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": text}]})
    path = work.parent / ".claude/projects" / slug(str(work)) / f"{identity}.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    os.utime(path, (BASE - 300, BASE - 300))
    return path


def other_titles(work: Path) -> None:
    """Give the sandbox's sessions titles and days of their own, so that a list of them is worth looking at."""
    for age, (agent, title) in enumerate(OTHERS.items()):
        [path] = [one for one in (work.parent / f".{agent}").rglob("*.jsonl")]
        raw = path.read_bytes().replace(b"The total of the cart is wrong by a cent for some customers.", title.encode())
        path.write_bytes(raw.replace(b"2026-02-12T14:", f"2026-02-{12 - age:02}T{14 - age:02}:".encode()))
        os.utime(path, (BASE - 1200 - 90_000 * age,) * 2)


@contextmanager
def home() -> Iterator[Path]:
    """The sandbox in a home of as many letters as `/home/you`, with the story; gives the working folder."""
    with short_folder() as folder:
        work = make(folder)
        other_titles(work)
        story(work)
        time.sleep(2 * JUST_NOW / 1e9)  # a size is noted of a log that has not just changed
        yield work


def picture(shown: Picture, columns: int = 80, scheme: str = "") -> str:
    """The SVG of a picture, of a home of its own."""
    with home() as work:
        for step, command in enumerate(shown.before):
            screen(work, command, columns, step=step)
        first = len(shown.before)
        seen = [
            (command, screen(work, command, columns, step=step, rows=shown.rows, until=shown.until))
            for step, command in enumerate(shown.commands, start=first)
        ]
    return drawn("; ".join(shown.commands), seen, columns, scheme)


def main(words: Sequence[str]) -> int:
    """Write them."""
    parser = argparse.ArgumentParser(prog="just pictures", description=__doc__)
    parser.add_argument("--all", type=Path, metavar="DIR", help="every screen, at 80 and 40 columns, dark and light")
    parser.add_argument("--only", default="", metavar="REGEX", help="those with such a name")
    asked = parser.parse_args(words)
    if asked.all is None:
        for name, shown in PICTURES.items():
            if re.search(asked.only, name):
                (FOLDER / f"{name}.svg").write_text(picture(shown), encoding="utf-8")
        return 0
    asked.all.mkdir(parents=True, exist_ok=True)
    for name, shown in SCREENS.items():
        for columns in (80, 40) if re.search(asked.only, name) else ():
            for scheme in ("dark", "light"):
                file = asked.all / f"{name}-{columns}-{scheme}.svg"
                file.write_text(picture(shown, columns, scheme), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
