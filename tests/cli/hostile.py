"""Hostile text: every family of what a terminal would obey or not show, and logs that have it in every field."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ctxkit.cli.terminal.style import STYLES
from tests.cli.runner import ROOT, call, lines, message

FAMILIES = {
    "CSI": "\x1b[31m\x1b[2J\x1b[10A",
    "OSC title": "\x1b]0;pwned\x07",
    "OSC link": "\x1b]8;;http://evil\x1b\\x\x1b]8;;\x1b\\",
    "OSC clipboard": "\x1b]52;c;cm0gLXJm\x07",
    "DCS": "\x1bPq#0;2;0;0;0\x1b\\",
    "APC": "\x1b_Ga=T\x1b\\",
    "C1": "\x9b31m\x9d0;pwned\x9c",
    "reset": "\x1bc",
    "answer": "\x1b[6n\x1b[c",
    "unterminated": "\x1b]0;all of the rest",
    "CR": "good\rbad",
    "BS": "rm\x08\x08ls\x7f",
    "NUL": "a\x00b",
    "bidi": "\u202eabc\u2066d\u2069",
    "tags": "a\U000e0041\U000e007f",
    "zero width": "a\u200bb\ufeffc\u2060d\xade",
    "separators": "a\u2028b\u2029c\x85d",
    "lone surrogate": "a\ud83db",
    "fake line": "x\nctxkit: all is well\nhint: rm -rf",
}
ALL = " ".join(FAMILIES.values())
FORBIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")


def hostile(bad: str) -> bytes:
    """A log with `bad` in every field that a command may print."""
    part = {"type": "text", "text": bad}
    odd = {"type": bad, "beam": bad}
    picture = {"type": "image_url", "image_url": {"url": f"data:{bad};base64,AAAA"}}
    first = [
        message("user", bad, 1, name=bad, agent=bad, thread=bad, model=bad),
        message("assistant", [part, odd, picture], 2, tool_calls=[call(bad, bad, **{bad: bad})]),
        message("tool", bad, 3, tool_call_id=bad),
        message("tool", bad, 4, tool_call_id=f"{bad} lost", name=bad),
        message(bad, bad, 5),
        {"role": "user", "content": bad, "ts": bad, bad: bad},
    ]
    at = {"messages": len(first), "rows": len(first)}

    def op(name: str, key: str, **more: object) -> dict[str, object]:
        return {"ctxkit": name, "v": 1, "id": key, "ts": bad, "at": at, "by": {"args": [bad], "version": bad}, **more}

    return (
        lines(
            *first,
            op("mark", f"m{bad}", label=bad),
            op("window", "w1", seconds=360000, agent=bad),
            op(f"odd {bad}", f"x{bad}", ids=bad),
            op("protect", "p1", ids="2"),
            op("forget", "f1", ids="6", criteria=bad),
            op(
                "edit",
                "e1",
                items=[{"n": 1}, {"message": {"role": bad, "content": bad, "name": bad}, "from": 2}, {"n": 3}],
            ),
        )
        + b"broken \x1b]0;x\x07\n"
    )


STRUCTURE = {"type", "role", "subtype", "timestamp", "stopReason", "level"}
"""Fields that say what a foreign row is; poisoned one at a time, for most of them make it a row of no known kind."""

SESSIONS = {
    "claude_code": ("truth-claude-code", ("p45-system-local-command", "p17-orphan-result-mid",
                                          "p97-candidate-is-sidechain", "p51-user-image", "p77-model-switch-thinking")),
    "codex": ("truth-codex", ("rollback2-end", "compacted-legacy-no-repl", "orphan-output", "reasoning-kinds")),
    "pi": ("truth-pi", ("leaf-label-last", "branch-summary", "compaction", "context-edit", "custom", "thinking")),
}  # fmt: skip
"""Of each format the scenarios whose rows are poisoned."""


def session(name: str, bad: str) -> bytes:
    """A session of another program with `bad` behind every text, name, id, path and key of every row."""
    folder, scenarios = SESSIONS[name]
    rows = [
        json.loads(line)
        for scenario in scenarios
        for line in (ROOT / "fixtures" / folder / f"{scenario}.jsonl").read_bytes().splitlines()
    ]
    kinds = {str(row["type"]) + str(row.get("payload", row.get("message", row)).get("type")): row for row in rows}
    broken = [one for row in kinds.values() for one in _each(row, bad)]
    return lines(*(_poisoned(row, bad) for row in rows), *broken)


def _poisoned(value: Any, bad: str, key: str = "") -> Any:
    if isinstance(value, dict):
        return {**{name: _poisoned(one, bad, name) for name, one in value.items()}, f"key {bad}": bad}
    if isinstance(value, list):
        return [_poisoned(one, bad) for one in value]
    return f"{value}{bad}" if isinstance(value, str) and key not in STRUCTURE else value


def _each(value: Any, bad: str) -> Iterator[Any]:
    """Copies of a row, in each of which one field that says what it is is poisoned."""
    for key, one in value.items():
        if isinstance(one, str) and key in STRUCTURE:
            yield {**_poisoned(value, bad), key: f"{one}{bad}"}
        elif isinstance(one, dict):
            yield from ({**_poisoned(value, bad), key: inner} for inner in _each(one, bad))


def many(bad: str) -> bytes:
    """A file with several conversations, whose names and turns are `bad`."""
    turns = [{"from": who, "value": bad} for who in ("human", "gpt", bad)]
    return json.dumps([{"id": bad, "title": bad, "conversations": turns}] * 2).encode()


def typed(bad: str) -> str:
    """`bad` as far as a call or a file's text can hold it: without NUL and halves of surrogates."""
    return bad.replace("\x00", "").replace("\ud83d", "")


def file_name(bad: str) -> str:
    """`bad` as far as a file's name can."""
    return typed(bad).replace("/", "")[:60]


def toml(bad: str) -> str:
    """`bad` as a text of TOML, escapes and all."""
    return '"' + "".join(f"\\U{ord(c):08x}" for c in typed(bad)) + '"'


def configs(bad: str) -> dict[str, str]:
    """Configs of a sidecar: one that holds, and such as are wrong in their values, keys and form."""
    raw = re.sub(r"[\x00-\x08\x0a-\x1f\x7f]", "", typed(bad))
    right = (
        f"# {raw}\nmodel = {toml(bad)}\nlimit = 9\n[assembly]\nsystem = {toml(bad)}\n"
        f"docs = [{toml(file_name(bad))}]\nstatus = {toml(file_name(bad))}\n"
        f'[agents.{toml(bad)}]\nwindow = "8h"\n[trim]\nexclude_tools = [{toml(bad)}]\n'
    )
    return {
        "right": right,
        "unknown key": f"{toml(bad)} = 1\n",
        "wrong type": f"limit = {toml(bad)}\n",
        "wrong choice": f"[compact]\nstrategy = {toml(bad)}\nmodel = {toml(bad)}\n",
        "missing document": f"[assembly]\ndocs = [{toml('no' + file_name(bad))}]\n",
        "no TOML": f"model = {typed(bad)}\n",
        "not in place": f"[agents.{toml(bad)}]\n{toml(bad)} = {toml(bad)}\n",
    }


def beside(path: Path, bad: str, config: str) -> None:
    """A sidecar for the log at `path`: a config, ops that name what is not there, damage; and the document it names."""
    folder = Path(f"{path}.ctxkit")
    folder.mkdir(exist_ok=True)
    (folder / "config.toml").write_text(config)
    ops = [json.loads(line) for line in hostile(bad).splitlines()[:-1]]
    (folder / "ops.jsonl").write_bytes(lines(*(one for one in ops if "ctxkit" in one)) + b"broken \x1b]0;x\x07\n")
    (path.parent / file_name(bad)).write_bytes(typed(bad).encode())


def folder_of(path: Path, bad: str) -> Path:
    """A folder with logs below it, all of whose names are hostile; one is no UTF-8."""
    found = path / f"d{file_name(bad)}"
    (found / file_name(bad)).mkdir(parents=True)
    (found / file_name(bad) / f"{file_name(bad)}.jsonl").write_bytes(hostile(bad))
    (found / f"many{file_name(bad)}").write_bytes(many(bad))
    with open(os.fsencode(found) + b"/raw\x9b31m\xff\x1bc.jsonl", "wb") as raw:
        raw.write(hostile(bad))
    (found / f"link{file_name(bad)}").symlink_to("nowhere")
    return found


CODES = {f"{a};{b}" if b else a for a in STYLES.values() for b in ("", *STYLES.values())}
_OWN = re.compile("\x1b\\[([0-9;]+)m([^\x1b\n]*)\x1b\\[0m")


def plain(text: str) -> str:
    """`text` without the colours that ctxkit puts around words of its own choice: on, text, off, on one line."""
    return _OWN.sub(lambda found: found[2] if found[1] in CODES else found[0], text)


def bad_characters(text: str) -> list[str]:
    """What may not reach a terminal."""
    return [c for c in text if unicodedata.category(c) in FORBIDDEN and c not in "\n\t"]
