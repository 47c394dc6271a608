"""Other programs as strategies of the readers' benchmark: cozempic and goosedump, where they are on the PATH.

Each gets the prefix as a session of Claude Code, in a home of its own, without a network, and with everything off that
installs, updates or reports. Neither takes a budget in tokens as ctxkit does, so cozempic is asked for its lightest
prescription that fits, and else for its heaviest, of which the oldest steps are dropped; goosedump for a summary of at
most so many tokens. A checkout of an older ctxkit can be named by CTXKIT_BEFORE.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from ctxkit.core.messages import Content, Text
from tests.bench.compaction.baselines import Compacted, dropped
from tests.bench.compaction.cases import borders, contents, read, tokens
from tests.bench.compaction.goosedump import LIMIT, _said
from tests.bench.compaction.ready import Ready
from tests.bench.compaction.sessions import Record, opened, records
from tests.bench.peers import ALONE, QUIET, cut_off

ID = "5e551011-0000-4000-8000-00000000c0de"
PRESCRIPTIONS = ("gentle", "standard", "aggressive")
BEFORE = "CTXKIT_BEFORE"
"""Names the folder of a checkout."""
OLDER = """
import json, pickle, sys
from tests.bench.compaction.own import compact
asked = json.load(sys.stdin)
sys.stdout.buffer.write(pickle.dumps(compact(asked["records"], asked["budget"], "extract")))
"""
"""What that checkout is asked for: no name of a function or class may have changed since."""


def there() -> dict[str, Callable[[Ready, int], Compacted]]:
    """Those that can be run here, by what the tables call them."""
    found: dict[str, Callable[[Ready, int], Compacted]] = {}
    if os.environ.get(BEFORE):
        found["ctxkit extract, before"] = older
    if cut_off():
        found |= {name: run for name, run in (("cozempic", cozempic), ("goosedump", goosedump)) if shutil.which(name)}
    return found


def older(case: Ready, budget: int) -> Compacted:
    """What `extract` of an older checkout makes of the prefix."""
    return by_older(case.case.prefix, budget)


def by_older(some: Sequence[Record], budget: int) -> list[Content]:
    """The same of any records."""
    asked = json.dumps({"records": list(some), "budget": budget}).encode()
    ran = subprocess.run(
        [sys.executable, "-c", OLDER], input=asked, cwd=os.environ[BEFORE], capture_output=True, check=True
    )
    found: list[Content] = pickle.loads(ran.stdout)
    return found


_treated: dict[str, list[Ready]] = {}
"""Of the newest case: what each prescription leaves. It does not depend on a budget."""


def cozempic(case: Ready, budget: int) -> Compacted:
    """The lightest prescription that fits; else the heaviest, without the oldest steps."""
    if case.case.name not in _treated:
        _treated.clear()
        _treated[case.case.name] = [_prescribed(case, name) for name in PRESCRIPTIONS]
    made = _treated[case.case.name]
    fits = next((one for one in made if one.total <= budget), None)
    return fits.contents if fits is not None else dropped(made[-1], made[-1].contents, budget)


def _prescribed(case: Ready, name: str) -> Ready:
    """The case, its prefix as cozempic leaves it."""
    with tempfile.TemporaryDirectory(prefix="ctxkit-bench-") as home:
        path = _session(case.case.prefix, Path(home))
        words = [*ALONE, shutil.which("cozempic") or "", "treat", ID, "-rx", name, "--execute"]
        environment = {**os.environ, **QUIET, "HOME": home}
        subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT, check=True)
        log = opened(path.read_bytes())
    left = read(records(log, log.own()))
    ends, some = borders(left), contents(left)
    steps = [range(start, end) for start, end in zip([0, *ends], ends, strict=False)]
    return case._replace(contents=some, tokens=tokens(some), steps=steps)


_silent: set[str] = set()
"""Cases of which goosedump gave no summary."""


def goosedump(case: Ready, budget: int) -> Compacted:
    """Its summary alone; why not, where it would first download a model."""
    why = "it gives no summary without a model, which it would download"
    if case.case.name in _silent:
        return why
    with tempfile.TemporaryDirectory(prefix="ctxkit-bench-") as home:
        _session(case.case.prefix, Path(home))
        words = [*ALONE, shutil.which("goosedump") or "", "session", "compact", f"claude:{ID}"]
        words += ["--summary-max-tokens", str(budget)]
        environment = {**os.environ, "HOME": home}
        ran = subprocess.run(words, env=environment, capture_output=True, timeout=LIMIT, check=False)
    summary = "" if ran.returncode else "\n".join(_said(ran.stdout.decode("utf-8", "replace")))
    if not summary:
        _silent.add(case.case.name)
        return why
    return [Content("user", [Text(summary)])]


def _session(some: Sequence[Record], home: Path) -> Path:
    """These records as a session of Claude Code, in the folder where it keeps them."""
    path = home / ".claude/projects/-home-me-x" / f"{ID}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"".join(read(some).session("claude-code", id=ID, cwd="/home/me/x").pieces))
    return path
