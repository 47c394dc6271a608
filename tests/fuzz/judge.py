"""What is demanded of every input: no bug, no hang, the same twice, good neighbours, logs that are never rewritten."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import ctxkit as package
from ctxkit.cli.terminal import error_report
from ctxkit.core import unreadable
from ctxkit.errors import ExitCode
from ctxkit.formats.targets import TARGETS
from tests.cli.runner import Ran, ctxkit
from tests.fuzz.seeds import Case

BOUND = 20
"""Seconds of processor time for one command on a file of some kilobytes, which takes hundredths of one."""
CODES = {int(code) for code in ExitCode} - {ExitCode.BUG}
GOOD = b'{"role": "user", "content": "a good neighbour asks"}\n{"role": "assistant", "content": "it is answered"}\n'
READERS: tuple[tuple[str, ...], ...] = (
    # LOG stands for the log
    ("show", "LOG"), ("show", "LOG", "--json"), ("show", "LOG", "--explain"), ("show", "LOG", "--full"),
    ("show", "LOG", "--oneline", "--last", "2x"), ("show", "LOG", "--max-tokens", "100"), ("show", "LOG", "--at", "1"),
    ("show", "LOG", "--since", "8h"), ("show", "LOG", "--tool", "*", "--thread", "side"),
    ("show", "LOG", "--now", "wall"),
    ("show", "LOG", "--force-replay"), ("show", "LOG", "--conversation", "2"),
    ("show", "LOG", "--about", "the question"),
    ("status", "LOG"), ("status", "LOG", "--json"), ("status", "LOG", "--plot"), ("status", "LOG", "--svg"),
    ("status", "LOG", "--files", "--by", "tool"), ("status", "LOG", "--short"), ("status", "LOG", "--largest", "3"),
    ("status", "LOG", "--by", "exchange", "--json"), ("log", "LOG", "--tokens"), ("log", "LOG", "--json"),
    ("why", "LOG", "1"), ("why", "LOG", "3", "--json"), ("recall", "LOG", "question"), ("cat", "LOG"),
    ("recall", "LOG", "--regex", "-i", "-e", "[aq].", "--json"), ("recall", "LOG", "x", "--state", "out"),
    ("diff", "LOG"), ("diff", "LOG", "1"), ("diff", "LOG", "--stat"), ("diff", "LOG", "good.jsonl", "--full"),
    ("resume", "LOG", "--to", "codex", "--cwd", ".", "--dry-run"), ("resume", "LOG", "--map", "/=.", "--dry-run"),
    ("recover", "LOG", "-o", "-"), ("recover", "LOG"), ("recover", "LOG", "--json"), ("snapshots", "LOG"),
    ("snapshots", "LOG", "--json"), ("snapshots", "LOG", "--prune", "--dry-run"), ("config", "LOG"),
    ("sessions", "LOG"), ("edit", "LOG", "--print"), ("forget", "LOG", "--grep", "question", "--dry-run"),
    ("trim", "LOG", "--max-tokens", "100", "--dry-run"), ("compact", "LOG", "--force", "--dry-run"),
    ("__complete", "bash", "2", "ctxkit", "why", "LOG", ""), ("check", "LOG", "--json"),
    ("export", "LOG", "--to", "OWN"), ("export", "LOG", "--to", "OWN", "--recount"),
    ("export", "LOG", "--to", "OWN", "--no-recount", "--keep-id"),
    ("export", "LOG", "--to", "chat", "--max-tokens", "90"),
    *(("export", "LOG", "--to", to) for to in TARGETS),
    ("export", "LOG", "--to", "anthropic", "--with-tools", "--model", "claude-opus-5-5"),
    ("export", "LOG", "--to", "anthropic", "--with-instructions", "--keep-thinking"), ("forget", "-", "2"),
)  # fmt: skip
WRITERS: tuple[tuple[str, ...], ...] = (
    ("forget", "LOG", "2"), ("forget", "LOG", "--last", "1x", "-y"), ("forget", "LOG", "--images", "-y"),
    ("forget", "LOG", "--larger-than", "5", "-y"), ("remember", "LOG", "1-3"), ("protect", "LOG", "2-3"),
    ("protect", "LOG", "1-", "--off"), ("trim", "LOG", "--max-tokens", "80"),
    ("compact", "LOG", "--force", "--keep-last", "0"),
    ("compact", "LOG", "--force", "--strategy", "mask", "--keep-last", "0"), ("clear", "LOG"), ("undo", "LOG"),
    ("compact", "LOG", "--force", "--strategy", "truncate", "--target", "40%"), ("undo", "LOG", "--redo"),
    ("mark", "LOG", "m"),
    ("rewind", "LOG", "here"), ("rewind", "LOG", "back"), ("window", "LOG", "8h"), ("window", "LOG", "add", "4h"),
    ("snapshot", "LOG", "-m", "kept"), ("snapshot", "LOG", "--light", "-m", "kept"), ("restore", "LOG", "latest"),
    ("restore", "LOG", "night", "--replace"), ("restore", "LOG", "here"), ("recover", "LOG", "--yes"),
    ("recall", "LOG", "2", "--apply"), ("recall", "LOG", "question", "--apply", "-y"), ("check", "LOG", "--accept"),
    ("add", "LOG", "more", "--role", "user"), ("config", "LOG", "set", "trim.keep_last", "4"),
    ("snapshots", "LOG", "--prune"),
)  # fmt: skip
FOLDER: tuple[tuple[str, ...], ...] = (
    ("sessions", ".", "--json"), ("sessions", "."), ("sessions", ".", "--grep", "good neighbour", "--json"),
    ("recall", ".", "good neighbour", "--json"), ("recall", ".", "--regex", "-e", "good.neighbour", "--json"),
    ("recall", ".", "good neighbour", "--json"), ("recall", ".", "good neighbour", "--state", "in"),
)  # fmt: skip


class Bug(NamedTuple):
    """Something that may not be. `key`: what makes it the same bug as another."""

    key: str
    text: str


class Hangs(Exception):
    """A command took longer than any may."""


class Watch:
    """What went wrong below the command line, and what the nets caught, while it is on."""

    def __init__(self) -> None:
        self.errors: list[BaseException] = []
        self.caught: list[BaseException] = []

    @contextmanager
    def on(self) -> Iterator[None]:
        """Notes every error that nobody expected, and every one that a net caught."""
        bug, caught, unforeseen = error_report.bug, unreadable.caught, unreadable.unforeseen

        def noted(error: BaseException) -> int:
            self.errors.append(error)
            return bug(error)

        def netted(error: BaseException) -> None:
            self.caught.append(error)
            caught(error)

        error_report.bug, unreadable.caught, unreadable.unforeseen = noted, netted, self.errors.append
        try:
            yield
        finally:
            error_report.bug, unreadable.caught, unreadable.unforeseen = bug, caught, unforeseen


def place(error: BaseException) -> str:
    """Where an error comes from: the innermost function of ours, and what it is."""
    root = str(Path(package.__file__).parent)
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename.startswith(root)]
    where = f"{frames[-1].filename[len(root) + 1 :]}:{frames[-1].name}" if frames else "?"
    return f"{type(error).__name__} {where}"


def judged(case: Case, dice: random.Random, *, most: int = 6, nets: Counter[str] | None = None) -> list[Bug]:
    """What is wrong with ctxkit on an input: some readers, folders and writers, as the dice fall; `most` of each."""
    here = os.getcwd()
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        return _Judge(case, folder, dice, nets).all(most)
    finally:
        os.chdir(here)
        shutil.rmtree(folder, ignore_errors=True)


class _Judge:
    def __init__(self, case: Case, folder: Path, dice: random.Random, nets: Counter[str] | None) -> None:
        self.case, self.folder, self.dice, self.nets = case, folder, dice, nets
        self.bugs: list[Bug] = []
        self.netted = 0
        case.put(folder)
        (folder / "good.jsonl").write_bytes(GOOD)
        self.raw = case.files[case.name]
        os.chdir(folder)

    def all(self, most: int) -> list[Bug]:
        """Everything, in an order in which one thing is a preparation of the next."""
        dice = self.dice
        check = self.run(("check", "LOG", "--json"))
        netted = self.netted
        own = self.own(check)
        shown = self.run(("show", "LOG", "--json"))
        for words in dice.sample(READERS, min(most, len(READERS))):
            ran = self.run(words, own)
            if check.code == 0 and words[0] in ("show", "export") and ran.code == ExitCode.REFUSED and len(words) <= 4:
                self.wrong("clean-but-refused", f"check finds nothing, {words} refuses: {ran.err}")
        if self.netted and not netted and check.code == 0:
            self.wrong("net-unsaid", f"a net caught {self.caught[-1]!r}, and check finds nothing")
        again = self.run(("show", "LOG", "--json"))
        if (shown.code, shown.out) != (again.code, again.out):
            self.wrong("not-the-same", "show twice differs")
        self.neighbours(dice.choice(FOLDER))
        for words in dice.sample(WRITERS, min(most // 2, len(WRITERS))):
            self.write(words)
        self.run(("check", "LOG"))
        last = self.run(("show", "LOG"))
        if shown.code != ExitCode.REFUSED and last.code == ExitCode.REFUSED:
            self.wrong("refused-since", f"a command appended what no reader takes: {last.err}")
        if dice.random() < 0.3:
            self.neighbours(dice.choice(FOLDER[:2]))
        return self.bugs

    def own(self, check: Ran) -> str:
        """The format that the log would be exported to by its own program; any other where it has none."""
        told = self.run(("status", "LOG", "--json", "--no-tokens"))
        try:
            name = json.loads(told.out)["format"]
        except (ValueError, KeyError, TypeError):
            name = ""
        return name if name in TARGETS else self.dice.choice(list(TARGETS))

    def neighbours(self, words: tuple[str, ...]) -> None:
        """A good file beside a bad one is listed; the exit code is that of what cannot be read."""
        ran = self.run(words)
        if b"good.jsonl" not in ran.out:
            self.wrong("neighbour-lost", f"{words}: exit {ran.code}, {ran.err[:300]}")

    def write(self, words: tuple[str, ...]) -> None:
        """A change never rewrites, and leaves a whole line."""
        path = Path(self.case.name)
        before = path.read_bytes()
        ran = self.run(words)
        after = path.read_bytes()
        if not after.startswith(before):
            self.wrong("rewritten", f"{words}: the log's bytes changed")
        elif ran.code != 0 and after != before:
            self.wrong("failed-but-wrote", f"{words}: exit {ran.code}, and the log grew")
        elif after != before:
            for line in after[len(before) :].strip(b"\n").split(b"\n"):
                try:
                    json.loads(line)
                except ValueError:
                    self.wrong("wrote-no-json", f"{words}: {line[:80]!r}")

    def run(self, words: tuple[str, ...], own: str = "chat") -> Ran:
        """One command."""
        args = [self.case.name if word == "LOG" else own if word == "OWN" else word for word in words]
        watch = Watch()
        try:
            with watch.on(), _bounded():
                ran = ctxkit(*args, stdin=self.raw if "-" in args and words != ("recover", "LOG", "-o", "-") else b"")
        except Hangs as error:
            self.wrong(f"hang {place(error)}", f"{args} takes more than {BOUND} s")
            return Ran(-1, b"", "")
        self.caught = watch.caught
        for error in watch.caught:
            self.netted += 1
            if self.nets is not None:
                self.nets[place(error)] += 1
        for error in watch.errors:
            key = f"hang {place(error)}" if isinstance(error, Hangs) else place(error)
            self.wrong(key, f"{args}: " + "".join(traceback.format_exception(error)[-4:]))
        if ran.code == ExitCode.BUG and not watch.errors:
            self.wrong("exit-70", f"{args}: {ran.err}")
        elif ran.code not in CODES and ran.code != ExitCode.BUG:
            self.wrong(f"exit-{ran.code}", f"{args}: {ran.err}")
        if "Traceback" in ran.err:
            self.wrong("traceback", f"{args}: {ran.err}")
        return ran

    def wrong(self, key: str, text: str) -> None:
        """This may not be."""
        self.bugs.append(Bug(key, text))


def _ends(number: int, frame: FrameType | None) -> None:
    raise Hangs


@contextmanager
def _bounded() -> Iterator[None]:
    """Ends what hangs: by processor time, so that a busy machine is no slow program."""
    before = signal.signal(signal.SIGPROF, _ends)
    signal.setitimer(signal.ITIMER_PROF, BOUND)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
