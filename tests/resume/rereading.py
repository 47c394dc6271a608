"""`python -m tests.resume.rereading`: a session after an op is read as the context that it was written from.

What an agent would send of the file is worked out by the rules that `just resume` shows to be its own. So this looks
for differences where it costs no agent: each session after each op of `edits.py`, and with one message shortened,
edited or forgotten, in its place and in a context that an edit put in another order. `--each` says how many messages of
a file are tried (just reread).
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from ctxkit import Log
from ctxkit.core.ops import Edit, Item, Trim
from ctxkit.errors import CtxkitError, NothingChanges, NothingMatched, NothingToSend
from ctxkit.formats.targets import SESSIONS
from tests.resume.blocks import Block, as_json
from tests.resume.compare import compared
from tests.resume.contexts import context_of
from tests.resume.edits import EDITS, STUB, commit, numbers
from tests.resume.exports import sessions

AGENTS = tuple(SESSIONS)
MORE = " and more"
"""What an editor puts in."""
Act = Callable[[Path], Log | None]


def shortened(n: int, copy: Path) -> Log:
    """Message n says less."""
    log = Log.open(copy)
    return commit(log, Trim(at=log.here(), ids="", stubs={str(n): STUB}))


def moved(n: int, copy: Path) -> Log:
    """The last message comes first; then message n says less."""
    log = Log.open(copy)
    *rest, last = numbers(log)
    commit(log, Edit(at=log.here(), items=[Item(n=last), *(Item(n=one) for one in rest)]))
    return shortened(n, copy)


def edited(n: int, copy: Path) -> Log:
    """Message n says more, in a draft as an editor leaves it: the first line of its words, or of a result's."""
    log = Log.open(copy)
    lines = log.draft(only_context=True).split("\n")
    place = next(at for at, line in enumerate(lines) if line.startswith(f"%% {n} ")) + 1
    if lines[place].startswith("%%") or not lines[place] or log.messages[n - 1].role == "system":
        raise NothingMatched("it has no words, or words that are sent in another place")
    lines[place] += MORE
    log.edit("\n".join(lines))
    return Log.open(copy)


def forgotten(n: int, copy: Path) -> Log:
    """Message n goes, with the step it is in."""
    Log.open(copy).forget(str(n), include_protected=True)
    return Log.open(copy)


ONE: dict[str, Callable[[int, Path], Log]] = {"trim one": shortened, "move, trim one": moved, "forget one": forgotten,
                                                   "edit one": edited}  # fmt: skip


def acts(path: Path, each: int) -> Iterator[tuple[str, str, Act]]:
    """What is done to a session: its kind, its name, and how. `each`: to so many of its messages at most."""
    for name, act in EDITS.items():
        yield name, name, act
    found = numbers(Log.open(path))
    for n in found[:: max(1, -(-len(found) // each))] if each else ():
        yield from ((kind, f"{kind}: {n}", partial(act, n)) for kind, act in ONE.items())


def difference(agent: str, path: Path, act: Act) -> str | None:
    """Where the session that is written differs from the context it is of, "" for nowhere; None: nothing is written."""
    with tempfile.TemporaryDirectory(prefix="ctxkit-reread-") as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(path.read_bytes())
        try:
            log = act(copy)
            if log is None:
                return None
            written = Path(folder) / "written.jsonl"
            written.write_bytes(b"".join(log.session(agent).pieces))
        except (NothingMatched, NothingChanges, NothingToSend):
            return None
        except CtxkitError as why:
            return f"refused: {why}"
        again = context_of(agent, Log.open(written, format=agent))
        return compared(*map(_spelled, (again, context_of(agent, log)))).first.replace("agent", "the file")


def _spelled(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks with arguments in one spelling: those of an edited message are written anew."""
    for block in blocks:
        name, brace, rest = (block.body or "").partition("{")
        try:
            yield replace(block, body=name + as_json(json.loads(brace + rest))) if block.kind == "tool_use" else block
        except ValueError:
            yield block


def main() -> int:
    """1 where something differs."""
    parser = argparse.ArgumentParser(prog="just reread", description=__doc__)
    parser.add_argument("--agent", choices=AGENTS, action="append", help="only this one; can be repeated")
    parser.add_argument("--file", default="*", metavar="GLOB", help="only sessions with such a name (default *)")
    parser.add_argument("--each", type=int, default=12, metavar="N", help="messages of a file (default 12)")
    asked = parser.parse_args()
    wrong = 0
    for agent in asked.agent or AGENTS:
        ran: Counter[str] = Counter()
        for path in sessions(agent, asked.file):
            for kind, name, act in acts(path, asked.each):
                found = difference(agent, path, act)
                ran[kind] += found is not None
                if found:
                    wrong += 1
                    print(f"{agent} {path.stem} {name}: {found}", flush=True)
        print(f"{agent}: {', '.join(f'{kind} {count}' for kind, count in ran.items())}")
    print(f"{wrong} differ")
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
