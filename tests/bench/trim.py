"""`just bench-trim`: a trim to half the tokens, beside a plain tiktoken loop, and what langchain_core and litellm have.

The same messages, of 400 characters each, and the same encoding for all; each in a process of its own, in turn.
Ratios are medians, turn by turn, of processor time. `--peers PYTHON` names the interpreter of an environment that has
the others; what is not installed there is left out.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from ctxkit.tokens.encodings import encoding
from tests.bench.__main__ import CTXKIT, HERE, ROOT, environment_in
from tests.bench.pages import put

BEGIN, END = "<!-- written by `just bench-trim --write` -->\n", "<!-- end of trim -->\n"
SIZES = (1_000, 10_000, 100_000)
CHARACTERS = 400
KINDS = {
    "loop": "tiktoken alone, a plain loop", "ctxkit": "`ctxkit.trim_conversation`",
    "command": "`ctxkit trim`, the whole process, nothing counted before",
    "again": "`ctxkit trim`, the whole process, counted before",
    "langchain": "`langchain_core.messages.trim_messages`", "litellm": "`litellm.utils.trim_messages`",
}  # fmt: skip


def main() -> None:
    """Measure, print, and with --write put the table into the page."""
    parser = argparse.ArgumentParser(prog="just bench-trim", description=__doc__)
    parser.add_argument("--peers", default=sys.executable, metavar="PYTHON", help="that has langchain-core and litellm")
    parser.add_argument("--times", type=int, default=3, metavar="N", help="runs of each (default 3)")
    parser.add_argument("--limit", type=int, default=300, metavar="S", help="seconds that a run may take, by the clock")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ctxkit-bench-") as name:
        text = "\n".join(table(Path(name), asked.peers, asked.times, asked.limit)) + "\n"
    print(text)
    if asked.write:
        put(text, BEGIN, END)


def table(folder: Path, peers: str, times: int, limit: int) -> Iterator[str]:
    """A line each, a column for each number of messages."""
    found: dict[str, dict[int, list[float] | None]] = {kind: {} for kind in KINDS}
    for count in SIZES:
        log = made(folder, count)
        for _ in range(times):
            for kind in KINDS:
                before = found[kind].get(count, [])
                if before is not None:
                    took = once(kind, folder, log, peers, limit)
                    found[kind][count] = None if took is None else [*before, took]
    yield f"| messages of {CHARACTERS} characters, {times} runs | " + " | ".join(f"{n:,}" for n in SIZES) + " |"
    yield "|---" * (len(SIZES) + 1) + "|"
    for kind, told in KINDS.items():
        if any(found[kind].values()):
            yield f"| {told} | " + " | ".join(_cell(found, kind, n, limit) for n in SIZES) + " |"


def _cell(found: dict[str, dict[int, list[float] | None]], kind: str, count: int, limit: int) -> str:
    """Processor seconds, and how many times the loop's."""
    took, floor = found[kind].get(count), found["loop"][count]
    if took is None or floor is None:
        return f"over {limit} s"
    if kind == "loop":
        return f"{statistics.median(took):.3g} s"
    times = statistics.median(one / bare for one, bare in zip(took, floor, strict=True))
    return f"{statistics.median(took):.3g} s, × {times:.2g}"


def made(folder: Path, count: int) -> Path:
    """A chat of so many messages: words of this project's pages, cut at random places, the same in every run."""
    dice = random.Random(count)
    pages = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("*.md")))
    starts = [dice.randrange(len(pages) - CHARACTERS) for _ in range(count)]
    messages = [{"role": "system", "content": "Be brief."}]
    messages += [
        {"role": "assistant" if n % 2 else "user", "content": pages[at : at + CHARACTERS]}
        for n, at in enumerate(starts[1:])
    ]  # fmt: skip
    tokens = sum(4 + n for n in encoding("o200k_base").counts([message["content"] for message in messages]))
    (folder / "messages.json").write_text(json.dumps({"messages": messages, "tokens": tokens}), encoding="ascii")
    log = folder / "chat.jsonl"
    log.write_text("".join(json.dumps(message) + "\n" for message in messages), encoding="ascii")
    return log


def once(kind: str, folder: Path, log: Path, peers: str, limit: int) -> float | None:
    """Processor seconds of one run; None where it is not installed, or takes longer than `limit`."""
    environment = environment_in(folder) | {"CTXKIT_MODEL": "gpt-4o"}
    if kind in ("command", "again"):
        budget = json.loads((folder / "messages.json").read_bytes())["tokens"] // 2
        if kind == "command":
            _forget_counts(folder)
        return _process([*CTXKIT, "trim", str(log), "--max-tokens", str(budget), "--dry-run"], environment, limit)
    if kind == "ctxkit":
        _forget_counts(folder)
    python = peers if kind in ("langchain", "litellm") else sys.executable
    words = [python, str(HERE / "trimmers.py"), kind, str(folder / "messages.json")]
    try:
        ran = subprocess.run(words, env=environment, capture_output=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return None
    if ran.returncode:
        missing = b"ModuleNotFoundError" in ran.stderr
        if not missing:
            raise SystemExit(f"{kind}: {ran.stderr.decode()[-500:]}")
        return None
    return float(json.loads(ran.stdout.splitlines()[-1])["seconds"])


def _process(words: Sequence[str], environment: dict[str, str], limit: int) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        words, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=limit, check=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _forget_counts(folder: Path) -> None:
    for path in (folder / ".cache/ctxkit").glob("*"):
        path.unlink()


if __name__ == "__main__":
    main()
