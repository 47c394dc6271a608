"""Everything that this version writes, kept for ever: `python -m tests.written_by fixtures/written-by/VERSION`.

Run once for a release. It makes logs with ops of every kind, sidecars of other programs' sessions, snapshots, drafts,
notes, token logs, exports and resumed sessions, by the commands themselves, with a fixed clock and fixed ids. Beside
them stands `expected.jsonl`, what they are read to. `test_written_by.py` reads them with the code of today.

What a version has written never changes: the folder of one that is there is refused.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ctxkit.formats.targets import TARGETS
from ctxkit.version import VERSION
from tests import prefork, programs
from tests.cli.runner import call, ctxkit, good, lines, message
from tests.damage.sessions import ALL as SESSIONS
from tests.docs import sandbox

FOLDER = Path(__file__).resolve().parents[1] / "fixtures/written-by"
EXPECTED = "expected.jsonl"
SIDECAR = ".ctxkit"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

TALK = lines(
    message("system", "Be brief.", 0),
    message("user", "Where is the port set?", 1),
    message("assistant", "I look.", 2, tool_calls=[call("Read", "c1", path="a.py"), call("Read", "c2", path="b.py")]),
    message("tool", "\n".join(f"line {n}: the port is {8000 + n}" for n in range(40)), 3, tool_call_id="c1"),
    message("tool", "PORT = 8080", 4, tool_call_id="c2"),
    message("assistant", "In b.py, line 1.", 5, model="gpt-4o", usage={"prompt_tokens": 520, "completion_tokens": 9}),
    message("user", [{"type": "text", "text": "And this error?"},
                     {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}], 6),
    message("assistant", "", 7, tool_calls=[call("Bash", "c3", command="pytest -q")]),
    message("tool", "1 failed: test_port\nAssertionError: 8080 != 80", 8, tool_call_id="c3"),
    message("assistant", "The test wants 80.", 9, name="frodo"),
    message("user", "We decided: the port is 80. Change it.", 10),
    message("assistant", "", 11, tool_calls=[call("Edit", "c4", path="b.py", old="8080", new="80")]),
    message("tool", "done", 12, tool_call_id="c4"),
    message("assistant", "Changed.", 13),
    message("user", "An aside: a name for the cat?", 14, thread="side", agent="sam"),
    message("assistant", "Segfault.", 15, thread="side", agent="sam"),
    message("user", "Run the tests again.", 16),
    message("assistant", "14 passed.", 17),
)  # fmt: skip
"""Of eighteen messages: two calls in one, a long result, a picture, usage, a speaker's name, another agent's thread."""

EDITED = "EDITOR='sed -i s/Changed/Set/' ctxkit edit LOG"
OPS: dict[str, tuple[str, ...]] = {
    "none": (),
    "mark": ("ctxkit mark LOG", "ctxkit mark LOG 'before the aside'"),
    "rewind": ("ctxkit mark LOG start", "ctxkit add LOG 'a wrong turn'", "ctxkit rewind LOG start"),
    "forget": ("ctxkit forget LOG 4-5 7",),
    "forget-criteria": ("ctxkit forget LOG --tool Bash --yes",),
    "forget-images": ("ctxkit forget LOG --images --yes",),
    "forget-parts": ("ctxkit forget LOG --larger-than 200 --yes",),
    "remember": ("ctxkit remember LOG --last 2x --yes",),
    "recall": ("ctxkit forget LOG 2-6", "ctxkit recall LOG 'PORT =' --apply --yes"),
    "protect": ("ctxkit protect LOG 7", "ctxkit forget LOG 6-9"),
    "unprotect": ("ctxkit protect LOG 7-9", "ctxkit protect LOG 8 --off"),
    "clear": ("ctxkit clear LOG", "ctxkit add LOG 'A fresh start.'"),
    "clear-newest": ("ctxkit protect LOG 2", "ctxkit clear LOG --keep-protected"),
    "clear-agent": ("ctxkit clear LOG --agent sam",),
    "window": ("ctxkit window LOG 1h --agent sam", "ctxkit window LOG 24h", "ctxkit window LOG add 8h"),
    "window-default": ("ctxkit config LOG set window.min 1m", "ctxkit config LOG set window.default 5m"),
    "compact-extract": ("ctxkit compact LOG --target 45% --keep-last 1 --focus port",),
    "compact-mask": ("ctxkit compact LOG --strategy mask --keep-last 0 --target 10%",),
    "compact-truncate": ("ctxkit compact LOG --strategy truncate --keep-last 1 --target 40%",),
    "compact-file": (
        "echo 'The port was 8080 and is 80.' >LOG.summary", "ctxkit compact LOG 2-9 --summary-file LOG.summary",
        "rm LOG.summary",
    ),
    "compact-program": (
        "ctxkit compact LOG --strategy llm --summary-model 'cmd:echo The port was 8080 and is 80.' --target 60% --yes",
    ),
    "compact-again": (
        "ctxkit compact LOG --target 45% --keep-last 2", "ctxkit add LOG 'And the host?'",
        "ctxkit compact LOG --target 35% --keep-last 1 --force", "ctxkit forget LOG 6",
    ),
    "trim": ("ctxkit trim LOG --max-tokens 400 --keep-last 1",),
    "trim-inputs": ("ctxkit trim LOG --max-tokens 900 --clear-inputs",),
    "trim-episodes": ("ctxkit trim LOG --max-tokens 500 --strategy episodes",),
    "trim-summary": (
        "ctxkit compact LOG --target 45% --keep-last 1", "ctxkit trim LOG --max-tokens 200",
    ),
    "forget-short": (
        "ctxkit compact LOG --target 45% --keep-last 1", "ctxkit trim LOG --max-tokens 300", "ctxkit forget LOG 15-16",
    ),
    "edit": (EDITED,),
    "edit-plain": ("EDITOR='sed -i s/brief/short/' ctxkit edit LOG --plain",),
    "edit-some": ("EDITOR='sed -i s/aside/idea/' ctxkit edit LOG --last 3x",),
    "undo": ("ctxkit forget LOG 4-5", "ctxkit compact LOG --target 45% --keep-last 1", "ctxkit undo LOG 1"),
    "redo": ("ctxkit forget LOG 4-5", "ctxkit undo LOG", "ctxkit undo LOG --redo"),
    "restore": ("ctxkit snapshot LOG -m kept", "ctxkit forget LOG 3-9", "ctxkit restore LOG latest"),
    "restore-place": (
        EDITED, "ctxkit snapshot LOG -m kept", "ctxkit forget LOG 3-9", "ctxkit restore LOG latest",
    ),
    "restore-replace": (
        "ctxkit snapshot LOG -m kept --tag release", "ctxkit forget LOG 3-9", "ctxkit add LOG later",
        "ctxkit restore LOG kept --replace",
    ),
    "restore-summary": (
        "echo 'The port is 80.' >LOG.summary", "ctxkit snapshot LOG -m told --summary-file LOG.summary",
        "rm LOG.summary", "ctxkit clear LOG", "ctxkit restore LOG told --summary",
    ),
    "restore-elsewhere": ("ctxkit clear LOG", "ctxkit restore LOG none.jsonl.snapshot --yes"),
    "checkpoint": ("ctxkit snapshot LOG --light -m 'tests are green'", "ctxkit forget LOG 3-9"),
    "draft": ("EDITOR='sed -i s/^%%/%%%/' ctxkit edit LOG",),
    "tool": (
        "ctxkit add LOG 'Forget the aside.'",
        """echo '{"action":"preview","mode":"forget","criteria":"cat"}' | ctxkit tool call LOG -""",
        """echo '{"action":"apply","mode":"forget","message_ids":["15-16"]}' | ctxkit tool call LOG -""",
        "ctxkit add LOG 'It is gone.' --role assistant", "ctxkit tool cleanup LOG",
    ),
}  # fmt: skip
"""Name of a log -> what is done to TALK. The newest op is of the kind in the name."""
CHAIN = (
    "ctxkit mark LOG start", "ctxkit protect LOG 7", "ctxkit window LOG 48h", "ctxkit forget LOG 15-16",
    "ctxkit recall LOG 15 --apply", "ctxkit add LOG 'And the host?'", "ctxkit add LOG localhost --role assistant",
    "ctxkit compact LOG --strategy mask --keep-last 1 --target 60%", "ctxkit snapshot LOG -m middle",
    "ctxkit compact LOG --target 50% --keep-last 2 --force", "ctxkit undo LOG", "ctxkit undo LOG --redo",
    "ctxkit protect LOG 7 --off", "ctxkit forget LOG --images --yes", "ctxkit add LOG 'Name the timeout.'",
    "ctxkit trim LOG --max-tokens 600", "ctxkit remember LOG 10-21", EDITED, "ctxkit mark LOG late",
    "ctxkit add LOG wrong", "ctxkit rewind LOG late", "ctxkit restore LOG middle", "ctxkit undo LOG 4",
    "ctxkit clear LOG", "ctxkit add LOG 'A new start.'", "ctxkit restore LOG middle --replace",
)  # fmt: skip
BESIDE = (
    "ctxkit mark LOG start", "ctxkit protect LOG 1", "ctxkit config LOG set window.default 48h",
    "ctxkit forget LOG 4", "ctxkit undo LOG", "ctxkit forget LOG 5",
    "EDITOR='sed -i s/question/request/' ctxkit edit LOG",
)  # fmt: skip
"""What is done to a session of another program, or a request: all of it stands in the sidecar."""
ALSO = ("amp.json", "cline.json", "continue.json", "cursor.jsonl", "goose.jsonl",
        "qwen-code.jsonl", "tau-bench.json")  # fmt: skip
"""Files of `fixtures/programs` that are read, besides the formats of `damage/sessions.py`."""
MANY = lines(*({"messages": [message("user", f"question {n}"), message("assistant", f"answer {n}"),
                             message("user", f"more {n}")]} for n in range(3)))  # fmt: skip
"""A file of three conversations."""
OTHERS = (
    "ctxkit snapshot - <none.jsonl >none.jsonl.snapshot",
    "ctxkit edit edit.jsonl --print | sed s/Segfault/Core/ >edit.jsonl.draft",
    "CTXKIT_LOG=tokens.jsonl ctxkit status none.jsonl --model gpt-4o",
    "CTXKIT_LOG=tokens.jsonl ctxkit forget none.jsonl 4 --dry-run",
    "ctxkit memory add 'The port is 80.' --kind decision",
    "ctxkit memory add 'Write the docs.'",
    "ctxkit memory supersede 2 'The docs are written.'",
    "ctxkit memory extract chain.jsonl",
    "ctxkit memory undo",
)
EXPORTED = ("chain.jsonl", "claude-code.jsonl", "codex.jsonl")
"""Logs that are exported to every target."""
RESUMED = ("compact-extract.jsonl", "pi.jsonl")
"""Logs that are resumed by every agent."""
KEYS = ("n", "role", "name", "agent", "thread", "parts")
"""What `show --json` says of a message that must stay."""


NEXT_ID = "now.update(id=__import__('hashlib').sha256(now['id'].encode()).hexdigest())"
ONE_AFTER_ANOTHER = f"bytes.fromhex(({NEXT_ID} or now['id'])[: 2 * size])"
"""As `DRAWN` of `prefork.py`, but a session has many ids."""

LATER = ("undone", "restored")
"""Contexts of a log after one more op. In the file, that of the first log is its name."""


class Script(NamedTuple):
    """A log, and the commands that write to it; LOG stands for its name. `options`: of every command that reads it."""

    name: str
    raw: bytes
    commands: Sequence[str]
    options: tuple[str, ...] = ()


def scripts() -> Iterator[Script]:
    """All logs, in the order in which they are made."""
    for name, commands in OPS.items():
        yield Script(f"{name}.jsonl", TALK, commands)
    yield Script("chain.jsonl", TALK, CHAIN)
    again = b'{"role": "user", "content": "Run'
    torn = TALK.replace(again, b'{"ctxkit":"interrupted"}\n' + again)
    yield Script("interrupted.jsonl", torn, ("ctxkit forget LOG 2",))
    for name, session in SESSIONS.items():
        if session.format != "chat":
            yield Script(f"{name.removesuffix('.json')}{Path(session.name).suffix}", session.clean, BESIDE)
    for name in ALSO:
        yield Script(name, (programs.FOLDER / name).read_bytes(), (*BESIDE[:3], "ctxkit forget LOG 2"))
    yield Script("many.jsonl", MANY, ("ctxkit mark LOG start --conversation 2", "ctxkit forget LOG 2 --conversation 2"),
                 ("--conversation", "2"))  # fmt: skip


def context(log: Path, *options: str) -> list[dict[str, Any]]:
    """The messages of the context, in full."""
    ran = good("show", log, "--json", "--full", "--no-assembly", *options)
    return [{key: value for key, value in row.items() if key in KEYS} for row in ran.values]


def standing(log: Path, *options: str) -> dict[str, str]:
    """Of each message that is out of the context, what took it out: a kind, and the number of the op."""
    rows = good("show", log, "--explain", "--json", *options).values
    return {
        str(row["n"]): " ".join(str(word) for word in (row["standing"], row["op"]) if word is not None)
        for row in rows
        if not row.get("in_context", True)
    }


def goes_on(log: Path, *options: str) -> dict[str, Any]:
    """What `check` says of a log, and its context after an undo of the newest op, then of a restore of the newest
    snapshot; None where there is none.

    It appends to the log: a copy is given.
    """
    found: dict[str, Any] = {"check": ctxkit("check", log, "-q", *options).code}
    for name, words in (("undone", ("undo", log)), ("restored", ("restore", log, "latest", "--replace", "--yes"))):
        ran = ctxkit(*words, "-q", *options)
        found[name] = context(log, *options) if ran.code == 0 else None
    return found


def copied(log: Path, folder: Path) -> Path:
    """A copy of a log with its sidecar, to write to."""
    beside = log.with_name(log.name + SIDECAR)
    if beside.is_dir():
        shutil.copytree(beside, folder / beside.name)
    return Path(shutil.copyfile(log, folder / log.name))


def make(aim: Path) -> None:
    """Write everything into a new folder."""
    aim.mkdir(parents=True)
    prefork.DRAWN = ONE_AFTER_ANOTHER
    with sandbox.short_folder() as home:
        work = sandbox.make(home)
        before = {path.relative_to(home) for path in home.rglob("*")}
        made = list(scripts())
        (work / "exports").mkdir()
        (work / "resumed").mkdir()
        for script in made:
            (work / script.name).write_bytes(script.raw)
        by_name = {script.name: script for script in made}
        first = [by_name["none.jsonl"], by_name["edit.jsonl"], by_name["chain.jsonl"]]
        commands = [line for script in first for line in _lines(script)] + list(OTHERS)
        commands += [line for script in made if script not in first for line in _lines(script)]
        commands += _exports()
        bad = _lines(by_name["draft.jsonl"])[0]  # it cannot be applied: the draft is kept
        ran = zip(commands, sandbox.run(work, commands), strict=True)
        if failed := [f"{line}: exit {status}\n{shown}" for line, (shown, status) in ran if status and line != bad]:
            sys.exit("\n".join(failed))
        for path in sorted(home.rglob("*")):
            name = path.relative_to(home)
            if path.is_file() and name not in before and ".cache" not in name.parts and path.suffix != ".lock":
                _keep(path, aim / _place(name), str(work))
    rows = [_expected(aim, name, options) for name, options in _logs(aim, made)]
    for row in rows[1:]:
        for key in LATER:
            if row[key] == rows[0]["context"]:
                row[key] = rows[0]["log"]
    (aim / EXPECTED).write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def _lines(script: Script) -> list[str]:
    return [command.replace("LOG", script.name) for command in script.commands]


def _exports() -> list[str]:
    found = [
        f"ctxkit export {name} --to {to} >exports/{name}.{to}.{'json' if target.kind == 'request' else 'jsonl'}"
        for name in EXPORTED
        for to, target in TARGETS.items()
    ]
    return found + [
        f"ctxkit resume {name} --to {to} --cwd . -q"
        for name in RESUMED
        for to, target in TARGETS.items()
        if target.kind == "session"
    ]


def _place(name: Path) -> Path:
    """Where a file of the home is kept."""
    if name.parts[0] == "logs":
        return Path(*name.parts[1:])
    if "memory" in name.parts:
        return Path("notes.jsonl")
    return Path("resumed", name.parts[0].removeprefix("."), name.name)


def _keep(path: Path, aim: Path, work: str) -> None:
    """Copy a file. Sessions name the folder that they were written for; what has sums keeps its bytes."""
    raw = path.read_bytes()
    aim.parent.mkdir(parents=True, exist_ok=True)
    aim.write_bytes(raw if b'"sum":' in raw else raw.replace(work.encode(), sandbox.ELSEWHERE.encode()))


def _logs(folder: Path, made: Sequence[Script]) -> list[tuple[str, tuple[str, ...]]]:
    """The logs of a folder, each with its options."""
    own = [(script.name, script.options) for script in made]
    others = (path for place in ("exports", "resumed") for path in sorted((folder / place).rglob("*.json*")))
    return own + [(str(path.relative_to(folder)), ()) for path in others if SIDECAR not in str(path)]


def _expected(folder: Path, name: str, options: tuple[str, ...]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        log = copied(folder / name, Path(place))
        read = {"context": context(log, *options), "out": standing(log, *options)}
        return {"log": name, "options": options, **read, **goes_on(log, *options)}


def main(args: Sequence[str]) -> None:
    """Write into the folder that is named. Exits where it is there, or of another version."""
    aim = Path(args[0])
    if aim.exists():
        sys.exit(f"{aim} is there: what a version has written never changes")
    if not VERSION.startswith(aim.name + "."):
        sys.exit(f"this is version {VERSION}, not {aim.name}")
    make(aim)


if __name__ == "__main__":
    main(sys.argv[1:])
