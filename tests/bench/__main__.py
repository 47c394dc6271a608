"""`just bench`: start-up, speed and memory of whole processes, as a table for docs/performance.md.

Everything is a ratio to something measured in the same turn: start-up to a typer app that does nothing, reading to a
bare msgspec decode of the same file, with `wc -l` beside it. Not collected by pytest: figures are read, not asserted.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.bench import logs, peers, readers
from tests.bench import session as sessions
from tests.bench.runs import Kind, Run, in_turn, ratio

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs/performance.md"
BEGIN, END = "<!-- written by `just bench --write` -->\n", "<!-- end -->\n"
MB = 1_000_000
CTXKIT = (sys.executable, "-m", "ctxkit")


def main() -> None:
    """Measure, print, and with --write put the tables into the page."""
    parser = argparse.ArgumentParser(prog="just bench", description=__doc__)
    parser.add_argument("--size", type=int, default=1000, metavar="MB", help="of the native log (default 1000)")
    parser.add_argument("--session", type=int, default=60, metavar="MB", help="of the Claude Code session (default 60)")
    parser.add_argument("--readers", type=int, default=20, metavar="MB", help="of a session per reader (default 20)")
    parser.add_argument("--times", type=int, default=5, metavar="N", help="runs of each command (default 5)")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/performance.md")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ctxkit-bench-") as name:
        folder = Path(name)
        environment = environment_in(folder)
        lines = [
            *_machine(), "",
            *start_up(folder, environment, asked.times * 4), "",
            *native(folder, environment, asked.size * MB, asked.times), "",
            *reading(folder, environment, asked.readers * MB, asked.times * 3), "",
            *session(folder, environment, asked.session * MB, asked.times),
        ]  # fmt: skip
    text = "\n".join(lines) + "\n"
    print(text)
    if asked.write:
        page = PAGE.read_text(encoding="utf-8")
        found = re.sub(f"{BEGIN}.*{END}", lambda _: BEGIN + "\n" + text + "\n" + END, page, flags=re.S)
        PAGE.write_text(found, encoding="utf-8")


def start_up(folder: Path, environment: dict[str, str], times: int) -> Iterator[str]:
    """A command on a log of 20 messages, against a typer app that does nothing."""
    log = folder / "small.jsonl"
    logs.native(log, 20 * logs.MESSAGE)
    found = in_turn(
        {
            "`python -c pass`": Kind((sys.executable, "-c", "pass")),
            "a typer app that does nothing": Kind((sys.executable, "-m", "minimal", "x")),
            "`ctxkit mark`": _marking(log),
            "`ctxkit log`": Kind((*CTXKIT, "log", str(log))),
            "`ctxkit show --last 20`": Kind((*CTXKIT, "show", "--last", "20", str(log))),
            "`ctxkit --help`": Kind((*CTXKIT, "--help")),
        },
        times,
        environment,
    )
    floor = found["a typer app that does nothing"]
    yield f"| start-up, {times} runs | ms: median (least to most) | to the typer app | by processor time |"
    yield "|---|---|---|---|"
    for name, runs in found.items():
        told = spread([run.wall * 1000 for run in runs])
        yield f"| {name} | {told} | {ratio(runs, floor, 'wall'):.2f} | {ratio(runs, floor, 'cpu'):.2f} |"


def native(folder: Path, environment: dict[str, str], size: int, times: int) -> Iterator[str]:
    """The commands of the target on a large native log."""
    log = folder / "large.jsonl"
    count = logs.native(log, size)
    _run("mark", log, "start")
    _run("forget", log, "11-20", str(count))
    kinds = {
        "`wc -l`": Kind(("wc", "-l", str(log))),
        "bare decode": Kind((sys.executable, str(HERE / "bare.py"), str(log))),
        "`ctxkit mark`": _marking(log),
        "`ctxkit log`": Kind((*CTXKIT, "log", str(log))),
        "`ctxkit show --last 20`": Kind((*CTXKIT, "show", "--last", "20", str(log))),
        "`ctxkit status --no-tokens`": Kind((*CTXKIT, "status", "--no-tokens", str(log))),
        "`ctxkit diff LOG 1 now`": Kind((*CTXKIT, "diff", str(log), "1", "now"), status=1),
        "`ctxkit recall LOG TEXT`": Kind((*CTXKIT, "recall", str(log), logs.RARE), status=int(count <= logs.RARE_AT)),
    }
    title = f"native log, {log.stat().st_size // MB} MB, {count:,} messages, {times} runs"
    yield from _table(title, in_turn(kinds, times, environment), log.stat().st_size)
    log.unlink()


def session(folder: Path, environment: dict[str, str], size: int, times: int) -> Iterator[str]:
    """Reading, showing and forgetting on a long Claude Code session."""
    home = folder / ".claude/projects/-bench"  # where the other programs look
    home.mkdir(parents=True)
    log = home / f"{sessions.ID}.jsonl"
    count = sessions.claude_code(log, size)
    kinds = {
        "bare decode": Kind((sys.executable, str(HERE / "bare.py"), str(log), "claude")),
        "`ctxkit log`": Kind((*CTXKIT, "log", str(log))),
        "`ctxkit status --no-tokens`": Kind((*CTXKIT, "status", "--no-tokens", str(log))),
        "`ctxkit recall LOG TEXT`": Kind((*CTXKIT, "recall", str(log), sessions.NEEDLE)),
        "`grep -F TEXT`": Kind(("grep", "-F", sessions.NEEDLE, str(log))),
        "`ctxkit show --last 20`": Kind((*CTXKIT, "show", "--last", "20", str(log))),
        "`ctxkit show`": Kind((*CTXKIT, "show", str(log))),
        "`ctxkit forget --tool Read --dry-run`": Kind((*CTXKIT, "forget", "--tool", "Read", "--dry-run", str(log))),
    }
    title = f"Claude Code session, {log.stat().st_size // MB} MB, {count:,} rows, {times} runs"
    yield from _table(title, in_turn(kinds, times, environment), log.stat().st_size)
    yield ""
    yield from others(folder, environment, log, times)


def others(folder: Path, environment: dict[str, str], log: Path, times: int) -> Iterator[str]:
    """Three commands on that session, and what other programs have instead."""
    commands = peers.beside(log, folder)
    folders = (log.with_name(log.name + ".ctxkit"), folder / "out")

    def clear() -> None:
        for one in folders:
            shutil.rmtree(one, ignore_errors=True)
        folders[1].mkdir()

    ours = {
        "status": [("--no-tokens", str(log))],
        "forget": [("--tool", "Read", "--yes", str(log))],
        "export": [("--to", "claude-code", str(log), "-o", str(folders[1])), ("--to", "openai", str(log))],
    }
    absent = [] if peers.cut_off() else ["other programs, as none can be run without a network here"]
    yield f"| the same session, {times} runs | s: median (least to most) | to ctxkit | peak MB | what it does |"
    yield "|---|---|---|---|---|"
    for command, variants in ours.items():
        kinds: dict[str, Kind] = {}
        for words in variants:
            shown = " ".join(word for word in words if not word.startswith("/")).removesuffix(" -o")
            kinds[f"`ctxkit {command} {shown}`"] = Kind((*CTXKIT, command, *words), clear)
        run, does = ({}, {}) if absent else peers.kinds(commands[command])
        clear()
        found = in_turn({**kinds, **run}, times, {**environment, **peers.QUIET})
        own = next(iter(found.values()))
        for name, runs in found.items():
            told = spread([one.wall for one in runs], 2)
            to, peak = ratio(runs, own, "wall"), max(one.peak for one in runs)
            yield f"| {name} | {told} | {to:.1f} | {peak:.0f} | {does.get(name, '')} |"
    for program in absent or peers.missing(commands):
        yield f"| {program}: not measured{'' if absent else ', not installed'} | | | | |"


def reading(folder: Path, environment: dict[str, str], size: int, times: int) -> Iterator[str]:
    """Each reader in turn with a bare decode of the same bytes, in a process of its own."""
    yield f"| reader, {size // MB} MB, {times} turns | records | bare decode, MB/s | of it: median (least to most) |"
    yield "|---|---|---|---|"
    for kind in readers.FORMATS:
        path = folder / f"{kind}.{'json' if kind == 'opencode' else 'jsonl'}"
        command = [sys.executable, "-m", "tests.bench.readers", str(path), kind, str(size), str(times)]
        said = subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout
        count, pairs = readers.found(said)
        parts = [pair.bare / pair.whole for pair in pairs]
        speed = statistics.median(path.stat().st_size / MB / pair.bare for pair in pairs)
        told = f"{statistics.median(parts):.0%} ({min(parts):.0%} to {max(parts):.0%})"
        yield f"| {kind} | {count:,} | {speed:,.0f} | {told} |"
        path.unlink()


def _table(title: str, found: dict[str, list[Run]], size: int) -> Iterator[str]:
    floor = found["bare decode"]
    yield f"| {title} | MB/s: median (least to most) | of the bare decode | by processor time | peak MB |"
    yield "|---|---|---|---|---|"
    for name, runs in found.items():
        told = spread([size / MB / run.wall for run in runs])
        wall, cpu = (1 / ratio(runs, floor, what) for what in ("wall", "cpu"))
        yield f"| {name} | {told} | {wall:.0%} | {cpu:.0%} | {max(run.peak for run in runs):.0f} |"


def spread(values: Sequence[float], digits: int = 0) -> str:
    median, least, most = (f"{value:,.{digits}f}" for value in (statistics.median(values), min(values), max(values)))
    return f"{median} ({least} to {most})"


def _marking(log: Path) -> Kind:
    """A mark, taken away again after each run, so that all runs are alike."""
    size = log.stat().st_size
    return Kind((*CTXKIT, "mark", str(log)), lambda: os.truncate(log, size))


def _run(command: str, log: Path, *words: str) -> None:
    """One op on the log, unmeasured."""
    subprocess.run([*CTXKIT, command, str(log), *words], cwd=ROOT, check=True, capture_output=True)


def environment_in(folder: Path) -> dict[str, str]:
    """Nothing of the person who runs it; bytecode is cached, in the folder, for both sides of a ratio."""
    kept = {key: os.environ[key] for key in ("PATH", "LANG", "LD_LIBRARY_PATH") if key in os.environ}
    own = {"HOME": name, "PYTHONPYCACHEPREFIX": name} if (name := str(folder)) else {}
    return {**kept, **own, "TZ": "UTC", "PYTHONPATH": os.pathsep.join((str(ROOT), str(HERE)))}


def _machine() -> Iterator[str]:
    from importlib.metadata import version

    made = {"AuthenticAMD": "AMD", "GenuineIntel": "Intel"}
    try:
        found = re.search(r"vendor_id\s*:\s*(\w+)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    except OSError:
        found = None
    maker = made.get(found[1], found[1]) + " " if found else ""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("typer", "msgspec"))
    system = f"{platform.system()}, {maker}{platform.machine()}, {os.cpu_count()} cores"
    yield f"{platform.python_implementation()} {platform.python_version()}, {libraries}; {system}."


if __name__ == "__main__":
    main()
