"""`just secrets`: how many secrets of each kind are found, how many ids are taken for one, and how long it takes.

Recall: canaries of every kind (`tests/canaries.py`), in each form in which one may stand. Precision: ids, hashes,
UUIDs, paths and signatures of the real sessions. Speed: processor time of 10 MB of real sessions, beside detect-secrets
if `--peer PYTHON` names an interpreter that has it, and of texts that are made to be slow, at two sizes: 2 is linear.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import islice

from ctxkit.core.text import secret_kinds
from ctxkit.core.text.redaction import find_secrets, redact
from tests.canaries import FORMS, canaries, left
from tests.shared import SHARED

IDS = {
    "UUIDs": r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    "hashes": r"\b(?:[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{7,12})\b",
    "ids of messages": r"\b(?:msg|resp|chatcmpl|req|rs|fc|item|ses|prt)[_-][A-Za-z0-9]{8,}",
    "ids of calls": r"\b(?:toolu|call)_[A-Za-z0-9]{8,}",
    "signatures": r'(?<=")[A-Za-z0-9+/]{60,}={0,2}(?=")',
    "integrity hashes": r"sha(?:1|256|384|512)-[A-Za-z0-9+/=]{20,}",
    "paths": r"(?<![\w/])/[\w./-]{12,100}|\b[\w-]+(?:/[\w.-]+){2,}",
}
"""What stands in sessions and is no secret."""
PEER = """
import sys, time
from detect_secrets import SecretsCollection
from detect_secrets.settings import default_settings
with default_settings():
    began = time.process_time()
    SecretsCollection().scan_file(sys.argv[1])
    print(time.process_time() - began)
"""
SIZE = 10_000_000


def recall(count: int) -> None:
    """Prints the share that is found by form, and the kinds of which most pass."""
    seen: Counter[tuple[str, str]] = Counter()
    missed: Counter[tuple[str, str]] = Counter()
    for one in canaries(34, count):
        for form, made in FORMS.items():
            if (text := made(one)) is not None:
                hidden, found = redact(text)
                seen[one.kind, form] += 1
                missed[one.kind, form] += found == 0 or left(one, hidden) != ""
    print("| form | kinds | secrets | found |\n|---|---|---|---|")
    for form in FORMS:
        all_of = sum(number for (_, of), number in seen.items() if of == form)
        passed = sum(number for (_, of), number in missed.items() if of == form)
        print(f"| {form} | {sum(of == form for _, of in seen)} | {all_of:,} | {1 - passed / all_of:.2%} |")
    print(f"\nAll: {sum(seen.values()):,}, {1 - missed.total() / seen.total():.2%} found. Most pass of:")
    for (kind, form), number in (+missed).most_common(12):
        print(f"- {kind}, {form}: {number} of {seen[kind, form]}")


def sessions() -> Iterator[str]:
    """The texts of the real sessions."""
    for path in sorted((SHARED / "transcripts").rglob("*")):
        if path.is_file():
            yield path.read_text(encoding="utf-8", errors="replace")


def precision() -> None:
    """Prints how many of what is no secret is taken for one, alone, in a sentence and in JSON."""
    ids: dict[str, set[str]] = defaultdict(set)
    for text in sessions():
        for kind, pattern in IDS.items():
            ids[kind].update(islice(re.findall(pattern, text), 5000))
    print("\n| no secret | of them | false alarms |\n|---|---|---|")
    for kind, some in ids.items():
        alarms = sum(bool(find_secrets(f'{one}\nsee {one}, line 4\n{{"id": "{one}", "n": 1}}')) for one in some)
        print(f"| {kind} | {len(some):,} | {alarms} |")


def took(text: str) -> float:
    """Processor time, in seconds."""
    began = time.process_time()
    find_secrets(text)
    return time.process_time() - began


def speed(peer: str) -> None:
    """Prints the time for real sessions, beside the peer."""
    text = ""
    for one in sessions():
        text += one[: SIZE // 8]
        if len(text) >= SIZE:
            break
    text = text[:SIZE]
    own = min(took(text) for _ in range(3))
    print(f"\n{len(text) / 1e6:.1f} MB of real sessions, {len(find_secrets(text))} found: {own:.2f} s of a processor")
    if peer:
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            ran = subprocess.run([peer, "-c", PEER, file.name], capture_output=True, text=True, check=True)
        print(
            f"detect-secrets on the same file: {float(ran.stdout):.2f} s, {float(ran.stdout) / own:.0f} times as long"
        )


def hostile(size: int) -> None:
    """Prints the slowest of texts that repeat what almost is a secret, and how they grow with their length."""
    marks = [*secret_kinds.marks(), *(mark.decode() for mark in secret_kinds.rules())]
    units = [f"{mark}{more}" for mark in marks for more in ("", "=", ": a ", "a1a1a1a1-", '\\"')]
    for one in canaries(34, 1):
        units += [one.text[: len(one.text) // 2], one.before + one.secret[:-1] + " ", one.text[:-1] + "!"]
    units += [f"key: {'11-' * 60}!", "a1" * 30 + "AZDO", "aB1cD2eF3gH4iJ5kL6\n", "key" + " " * 4]
    times = sorted(((took(unit * (size // len(unit))), unit) for unit in filter(None, units)), reverse=True)
    print(f"\nOf {len(times):,} texts of {size / 1000:.0f} KB that are almost secrets, the slowest:")
    for spent, unit in times[:5]:
        growth = took(unit * (2 * size // len(unit))) / spent
        print(f"- {unit[:40]!r}: {spent:.2f} s, of twice the length {growth:.1f} times")


def main() -> None:
    """`just secrets`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20, help="canaries of each kind")
    parser.add_argument("--peer", default="", metavar="PYTHON", help="an interpreter that has detect-secrets")
    parser.add_argument("--hostile", type=int, default=50_000, metavar="BYTES", help="size of texts made to be slow")
    typed = parser.parse_args()
    recall(typed.count)
    if (SHARED / "transcripts").exists():
        precision()
        speed(typed.peer)
    hostile(typed.hostile)


if __name__ == "__main__":
    main()
