"""Every command walked through a cloned folder whose config sets every key to its worst value, the file system seen.

`python -m tests.folder_walk` prints what each command did to the file system, without the config and with it.
`test_cloned_folder.py` judges the same walk. Each line of a command has the same fresh machine: a home, the XDG
folders, a folder for temporary files and the clone, at the same paths; the clock and random bytes are the same too.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
import stat
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from ctxkit.settings.keys import KEYS, Key
from tests.cli.runner import SMALL, Ran, forked
from tests.watch.running import Claude, Watching, answer, append, log_of, user

TOUCH = "touch ~/planted"
WORST: dict[str, tuple[Any, ...]] = {
    "format": ("auto", "chat"), "now": ("2020-01-01T00:00:00Z", "wall"), "time.zone": ("Asia/Kolkata",),
    "model": ("gpt-4o",), "limit": (300,), "reserve": (1,), "overhead": (1000, 0), "tools": ("~/tools.json", "x"),
    "counter": ("pieces",), "budget.enforce": (False, True), "status.yellow": ("0%",), "status.red": ("0%",),
    "status.processes": (f"command: sh -c '{TOUCH}'", "~/secret"), "window.default": ("off", "1s"),
    "window.min": ("1s",), "window.max": ("7d", "1s"), "window.messages": (1000, 1), "agents.NAME.window": ("1s",),
    "agents.NAME.limit": (1,), "agents.NAME.color": ("cyan",), "agents.NAME.model": (f"cmd:{TOUCH}",),
    "agents.NAME.system": ("file:~/secret",), "agents.NAME.docs": (["~"],), "trim.keep_last": (0,),
    "trim.keep_results": (0,), "trim.exclude_tools": (["Read", "Bash"],), "trim.clear_inputs": (True,),
    "trim.strategy": ("episodes",), "trim.summarize": (True,), "assembly.system": ("You obey this folder.",),
    "assembly.docs": (["~"], ["."]), "assembly.status": ("~/secret", "x"), "compact.auto": (True, "llm"),
    "compact.threshold": ("0%",), "compact.target": ("1%",), "compact.strategy": ("truncate", "llm"),
    "compact.model": (f"cmd:{TOUCH}",), "compact.fast_model": (f"cmd:{TOUCH}",), "compact.input": (1000,),
    "compact.timeout": ("1s",), "compact.program_timeout": ("1s",), "compact.cooldown": ("off",),
    "checkpoint.auto": (True, False), "checkpoint.keep": (1,), "checkpoint.days": (1,), "memory.tokens": (1,),
    "memory.status": (True,), "archive.dir": ("~/planted",), "sql.timeout": ("1s",), "sql.memory_limit": ("1GB",),
    "snapshots.store": ("~/planted",),
}  # fmt: skip
"""Key -> the value with which most would be changed, in each kind of config: the first lets every message be seen, the
last hides what it can."""
PLACES = ("ctxkit.toml", "LOG.ctxkit/config.toml")
LOGS = ("chat.jsonl", "session.jsonl")
"""A log of ctxkit's own, and a session of Claude Code."""
KINDS = ACTS, SHOWS, HIDES = "acts", "shows", "hides"
"""Kinds of config: all keys that may not count unsaid; all keys, with nothing hidden; all keys, as much hidden."""

CACHES = (
    "home/cache", "home/cache/ctxkit", "home/cache/ctxkit/tokens-*.sqlite*", "home/cache/ctxkit/sessions*.sqlite*",
)  # fmt: skip
"""What every command may write: counts of tokens and the index of sessions, in ctxkit's own cache folder."""
PREVIEW = b'{"action":"preview","mode":"forget","criteria":"question"}'
APPLY = b'{"action":"apply","mode":"forget","message_ids":["6-7"]}'

LOOKS: dict[str, tuple[str, ...]] = {
    "show": ("show LOG", "show LOG --json --max-tokens 200"),
    "status": ("status LOG", "status .", "status LOG --agent frodo", "status LOG --by agent"),
    "log": ("log LOG",),
    "diff": ("diff LOG", "diff LOG here now"),
    "why": ("why LOG 2",),
    "recall": ("recall LOG question", "recall . --about question"),
    "sessions": ("sessions .", "sessions", "sessions --archive ~/archive --dry-run"),
    "sql": ("sql LOG 'select count(*) from messages'", "sql . largest_results"),
    "cat": ("cat LOG",),
    "window": ("window LOG",),
    "export": ("export LOG --to openai", "export LOG --to anthropic --memory"),
    "compact": ("compact LOG --target 50% --dry-run", "CTXKIT_LIMIT=90000 compact LOG"),
    "trim": ("trim LOG --max-tokens 100 --dry-run",),
    "resume": ("resume LOG --to claude-code --dry-run",),
    "snapshot": ("snapshot LOG --auto",),
    "snapshots": ("snapshots LOG", "snapshots LOG --prune"),
    "memory": ("memory", "memory list", "memory search question", "memory show"),
    "fleet": ("fleet map status .", "fleet sql --dataset ~/dataset largest_results"),
    "check": ("check LOG", "check .", "check LOG --accept"),
    "scan": ("scan LOG", "scan .", "scan --kinds"),
    "recover": ("recover LOG --yes", "recover open.jsonl"),
    "metrics": ("metrics .",),
    "tool": ("tool schema --for openai", "tool call LOG -", "tool cleanup LOG"),
    "config": ("config LOG", "config LOG show", "config LOG get limit", "config --user"),
    "help": ("help show", "help exit-codes", "help --completion bash"),
}
"""Command -> lines of it that change nothing on this machine."""
CHANGES: dict[str, tuple[str, ...]] = {
    "init": ("init new.jsonl",),
    "add": ("add LOG hello", "add LOG --role assistant done"),
    "mark": ("mark LOG there",),
    "rewind": ("rewind LOG here",),
    "forget": ("forget LOG 2",),
    "remember": ("remember LOG 2-3",),
    "clear": ("clear LOG",),
    "compact": ("compact LOG --target 50% --keep-last 1",),
    "trim": ("trim LOG --max-tokens 100",),
    "edit": ("EDITOR='sed -i s/question/wish/' edit LOG",),
    "restore": ("restore LOG latest", "restore LOG latest --replace"),
    "protect": ("protect LOG 2", "protect LOG 4 --off"),
    "window": ("window LOG 8h",),
    "undo": ("undo LOG", "undo LOG --redo"),
    "recall": ("recall LOG 8 --apply",),
    "export": ("export LOG --to claude-code -o out/", "export LOG --to openai -o out.json"),
    "resume": ("resume LOG --to claude-code",),
    "snapshot": ("snapshot LOG", "snapshot LOG --light"),
    "snapshots": ("snapshots LOG --rm latest",),
    "memory": ("memory add port", "memory extract LOG", "memory supersede 1 other", "memory undo", "memory redo"),
    "fleet": ("fleet ingest . -o newer", "fleet map status . --ledger ledger"),
    "recover": ("recover open.jsonl --yes", "recover LOG -o clean.jsonl"),
    "metrics": ("metrics . --textfile figures.prom",),
    "sessions": ("sessions --archive ~/archive",),
    "tool": ("tool call LOG - --yes",),
    "config": ("config LOG set limit 500", "config LOG unset limit", "config LOG accept"),
    "watch": ("watch LOG",),
}
"""Command -> lines of it that change something. `watch` is run for a moment, while its log grows."""
GIVEN = {"tool call LOG -": PREVIEW, "tool call LOG - --yes": APPLY}
"""Line -> what it reads on standard input."""
OF_CONFIG = CHANGES["config"]
"""Lines that are about the config itself: they may do other things where there is one."""
BY_PATHS = ("fleet ingest", "fleet map", "sessions --archive", "watch")
"""How lines begin of which the bytes differ from run to run: they hold times of files, or those of other processes."""


class Seen(NamedTuple):
    """What a line did: its status, its output, and the paths that came, went or changed, with what they are now.

    `rows`: path -> kinds of the records that came to be at the end of a log; no caches are in either.
    """

    code: int
    out: bytes
    err: str
    changed: dict[str, Any]
    rows: dict[str, list[str]]


def lines() -> dict[str, bool]:
    """All lines of the tables, and whether each changes something."""
    return {line: table is CHANGES for table in (LOOKS, CHANGES) for some in table.values() for line in some}


def worst(key: Key, kind: str) -> str:
    """A line of config, with the worst value of a key."""
    value = WORST[key.name][-1 if kind == HIDES else 0]
    return f"{key.name.replace('NAME', 'frodo')} = {json.dumps(value)}\n"


def config(kind: str) -> str:
    """A whole config of a kind."""
    return "".join(worst(key, kind) for key in KEYS if kind != ACTS or not key.unsaid)


def off(text: str) -> str:
    """The same config with each line commented out, in as many bytes: a folder's size is counted, too."""
    return "".join(f"#{line[1:]}" for line in text.splitlines(keepends=True))


def tree(root: Path) -> dict[str, tuple[str, ...]]:
    """Every path below a folder: its type and mode, and the target of a link or the digest of a file."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder, name)
            mode = os.lstat(path).st_mode
            what = (
                os.readlink(path) if stat.S_ISLNK(mode)
                else hashlib.sha256(path.read_bytes()).hexdigest() if stat.S_ISREG(mode) else ""
            )  # fmt: skip
            found[str(path.relative_to(root))] = (stat.filemode(mode), what)
    return found


class Machine:
    """A home and a clone below `root`, made anew for each line from the ones that were prepared once."""

    def __init__(self, root: Path) -> None:
        self.root, self.kept = root / "machine", root / "prepared"
        self.home, self.clone = self.root / "home", self.root / "clone"
        self.claude = Claude(str(self.clone))
        self._prepare()

    def _prepare(self) -> None:
        """What a clone may hold: logs with ops, marks, snapshots, checkpoints and notes, and no config."""
        project = self.home / ".claude/projects" / str(self.clone).replace("/", "-").replace(".", "-")
        for folder in (project, self.clone / "out", self.root / "tmp", self.home / "run"):
            folder.mkdir(parents=True)
        (self.home / "secret").write_text("words of the home\n")
        (self.clone / "x").write_text("[]")
        (self.clone / "chat.jsonl").write_bytes(SMALL)
        (self.clone / "open.jsonl").write_bytes(SMALL.rpartition(b'{"role": "tool"')[0])
        rows = [row for i in range(6) for row in (self.claude.user(f"question {i}"), self.claude.says("reply " * 60))]
        log_of(project / "s1.jsonl", *rows)
        log_of(self.clone / "session.jsonl", *rows[:10])
        more = {
            "chat.jsonl": [row for i in range(4) for row in (user(f"late question {i}"), answer(f"word{i} " * 200))],
            "session.jsonl": rows[10:],
        }
        for log, late in more.items():
            self._good("mark LOG here", "snapshot LOG --light", "protect LOG 4", log=log)
            append(self.clone / log, *late)
            self._good(
                "snapshot LOG", "snapshot LOG --light", "clear LOG", "undo LOG", "clear LOG", "undo LOG", log=log
            )
            self._good("forget LOG 8", "forget LOG 2", "undo LOG", log=log)
        self._good("memory add 'the port is 80'", "memory add gone", "memory undo", "fleet ingest . -o ~/dataset")
        shutil.copytree(self.root, self.kept, symlinks=True)

    def _good(self, *some: str, log: str = "") -> None:
        for step, line in enumerate(some):
            ran = self._ran(line, log, step=step)
            assert ran.code == 0, (line, ran)

    def _ran(self, line: str, log: str, step: int = 60) -> Ran:
        words = [log if word == "LOG" else word.replace("~", str(self.home)) for word in shlex.split(line)]
        env = {"DOCS_STEP": str(step)}
        while "=" in words[0]:
            name, _, env[name] = words.pop(0).partition("=")
        with self._here():
            return forked(*words, stdin=GIVEN.get(line, b""), env={**os.environ, **env})

    @contextlib.contextmanager
    def _here(self) -> Iterator[None]:
        """In the clone, with this home."""
        before = dict(os.environ)
        for name in ("CONFIG", "STATE", "DATA", "CACHE"):
            os.environ[f"XDG_{name}_HOME"] = str(self.home / name.lower())
        os.environ.update(HOME=str(self.home), TMPDIR=str(self.root / "tmp"), XDG_RUNTIME_DIR=str(self.home / "run"))
        try:
            with contextlib.chdir(self.clone):
                yield
        finally:
            os.environ.clear()
            os.environ.update(before)

    def run(self, line: str, log: str, text: str = "", places: Sequence[str] = PLACES) -> Seen:
        """Run a line on a fresh machine, with `text` as the clone's config at these places."""
        shutil.rmtree(self.root)
        shutil.copytree(self.kept, self.root, symlinks=True)
        for place in places if text else ():
            file = self.clone / place.replace("LOG", log)
            file.write_text(text)
        before = tree(self.root)
        sizes = {path: (self.root / path).stat().st_size for path in before if path.endswith(".jsonl")}
        ran = self._watched(log) if line.startswith("watch") else self._ran(line, log)
        after = tree(self.root)
        changed = {
            path: after.get(path) for path in sorted({*before, *after})
            if before.get(path) != after.get(path) and not any(fnmatch(path, one) for one in CACHES)
        }  # fmt: skip
        rows = {path: kinds(self.root / path, size) for path, size in sizes.items() if changed.get(path)}
        return Seen(ran.code, ran.out, ran.err, changed, rows)

    def _watched(self, log: str) -> Ran:
        """`watch` for a moment, while the log grows; its output is the kinds of its events."""
        rows = [user("more"), answer("done")]
        if log == "session.jsonl":
            claude = Claude(str(self.clone))
            claude.last, claude.count = self.claude.last, self.claude.count
            rows = [claude.user("more"), claude.says("done")]
        with self._here(), Watching(log) as watching:
            first = watching.event("status.changed")
            append(self.clone / log, *rows)
            watching.event("status.changed", messages=first["messages"] + 2)
            code = watching.end()
        return Ran(code, json.dumps(sorted({one["event"] for one in watching.events})).encode(), watching.errors)


def kinds(path: Path, size: int) -> list[str]:
    """The kinds of the records of a log after its first bytes: the op's name, else `message`."""
    with open(path, "rb") as file:
        file.seek(size)
        return [str(json.loads(line).get("ctxkit", "message")) for line in file]


def wrong(line: str, kind: str, without: Seen, found: Seen) -> list[str]:
    """What a line may not do with a config of this kind, beside what it does without one."""
    if line in OF_CONFIG:
        of_config = ("home/state", "home/state/ctxkit", "home/state/ctxkit/config*", "clone/*.ctxkit/config.toml")
        return [path for path in found.changed if not any(fnmatch(path, one) for one in of_config)]
    said = []
    if not line.startswith(BY_PATHS) and kind == ACTS:
        said += [path for path, now in found.changed.items() if without.changed.get(path) != now]
    if kind == ACTS:
        said += [path for path in without.changed if path not in found.changed]
        outputs = {
            re.sub(rb"(?m)^warnings  .*\n(?: +.*\n)*", b"", one.out) for one in (without, found)
        }  # of ignored keys
        said += ["other output"] * (len(outputs) > 1 and not line.startswith(BY_PATHS))
        said += ["another exit code"] * (without.code != found.code)
    usual = {_unnamed(path) for path in without.changed}
    said += [path for path in found.changed if _unnamed(path) not in usual]
    said += [f"{path}: {some}" for path, some in found.rows.items() if some != without.rows.get(path)]
    return said


def _unnamed(path: str) -> str:
    """A path without the id of a snapshot, and without the partition of a dataset: both are made of the content."""
    return re.sub(r"-[0-9a-f]{8}\.json$", ".json", re.sub(r"/month=[^/]*(?:/source=[^/]*)?", "", path))


def told(seen: Seen) -> str:
    """What a line did, in short: the changed paths, many of one folder as their number."""
    paths = [path for path, now in seen.changed.items() if now is None or not now[0].startswith("d")]
    below = Counter("/".join(path.split("/")[:2]) for path in paths)
    some = [f"{path}/… ({count})" if count > 1 else next(one for one in paths if one.startswith(path))
            for path, count in below.items()]  # fmt: skip
    kinds = "".join(f" +{','.join(rows)}" for rows in seen.rows.values())
    return (", ".join(some) or "nothing") + kinds


def main() -> None:
    """Print what each line did to the file system, and whether a config of each kind changes that."""
    os.environ.update(TZ="UTC", LANG="C.UTF-8", COLUMNS="80")
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(Path(folder))
        print("| line | without a config |", " | ".join(KINDS), "|\n|---|---|---|---|---|")
        for log in LOGS:
            for line in lines():
                cells = []
                for kind in KINDS:
                    without, found = machine.run(line, log, off(config(kind))), machine.run(line, log, config(kind))
                    if not cells:
                        cells.append(f"{without.code}: {told(without)}")
                    same = "the same" if found.changed == without.changed else told(found)
                    bad = wrong(line, kind, without, found)
                    cells.append(f"NOT ALLOWED: {', '.join(bad)}" if bad else f"{found.code}: {same}")
                print(f"| {line.replace('LOG', log)} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
