"""Other programs on the same Claude Code session, at what comes nearest to a command of ctxkit.

None of them is needed: what is not installed is left out, and the table says so. They run without a network, and with
everything off that installs, updates or reports.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.bench.runs import Kind

QUIET = {f"COZEMPIC_NO_{what}": "1" for what in ("GLOBAL_INIT", "AUTO_INIT", "AUTO_UPDATE", "TELEMETRY", "RECEIPTS")}
"""For the environment: no hooks, no updates, no reports."""
ALONE = ("unshare", "--net") if os.geteuid() == 0 else ("unshare", "--map-root-user", "--net")
"""Begins a command that gets no network."""


class Peer(NamedTuple):
    """A command of another program: its words, what it does to or of the session, and what has to be undone after."""

    program: str
    words: tuple[str, ...]
    does: str
    after: Callable[[], None] = lambda: None


def beside(session: Path, folder: Path) -> dict[str, list[Peer]]:
    """Command of ctxkit -> what others have instead. `session`: in the folder where they look; `folder`: for output."""
    identity, kept = session.stem, folder / "kept.jsonl"
    shutil.copyfile(session, kept)
    out = folder / "exported"

    def restore() -> None:
        for left in session.parent.iterdir():
            if left != session:
                shutil.rmtree(left) if left.is_dir() else left.unlink()
        shutil.copyfile(kept, session)

    return {
        "status": [
            Peer("cozempic", ("diagnose", identity), "counts sizes and tokens; no history, no threads"),
            Peer("session-recall", ("info", "--session-id", identity), "counts turns and tools; no context"),
            Peer("goosedump", ("session", "show", f"claude:{identity}"), "prints what is behind the last compaction"),
        ],
        "forget": [
            Peer("cozempic", ("treat", identity, "-rx", "standard", "--execute"),
                 "rewrites the file by rules of its own, keeps a copy; no choice of messages, no undo", restore),
            Peer("goosedump", ("session", "compact", f"claude:{identity}"), "prints a summary; changes nothing"),
        ],
        "export": [
            Peer("session-recall", ("export", identity, "-o", str(out)),
                 "Markdown of the words, results left out; nothing that an agent goes on with",
                 lambda: shutil.rmtree(out, ignore_errors=True)),
            Peer("goosedump", ("session", "copy", "--to", "codex", f"claude:{identity}"),
                 "reads it for a copy to Codex; writes none without --yes"),
        ],
    }  # fmt: skip


def cut_off() -> bool:
    """Whether a program can be run without a network here."""
    return shutil.which(ALONE[0]) is not None and subprocess.run([*ALONE, "true"], capture_output=True).returncode == 0


def kinds(peers: list[Peer]) -> tuple[dict[str, Kind], dict[str, str]]:
    """Of the programs that are there: what is run, and what it does, by the name that the table has for it."""
    run: dict[str, Kind] = {}
    does: dict[str, str] = {}
    for peer in peers:
        path = shutil.which(peer.program)
        known = version(path) if path is not None else ""
        if path is not None and known:
            words = " ".join(word for word in peer.words if len(word) < 30 and not word.startswith("/"))
            name = f"{peer.program} {known} `{words}`"
            run[name] = Kind((*ALONE, path, *peer.words), peer.after)
            does[name] = peer.does
    return run, does


def missing(commands: Mapping[str, list[Peer]]) -> list[str]:
    """The programs that are not installed, or do not run here."""
    named = dict.fromkeys(peer.program for peers in commands.values() for peer in peers)
    return [program for program in named if not version(shutil.which(program) or "")]


@cache
def version(program: str) -> str:
    """As it says itself, without a network; "" where it does not run."""
    if not program:
        return ""
    command = [*ALONE, program, "--version"]
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, **QUIET, "HOME": home}
        said = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    found = re.search(r"\d+(\.\d+)+", said.stdout)
    return found[0] if found and not said.returncode else ""
