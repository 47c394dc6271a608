"""docs/log-format.md: fields of the ops as `core/ops.py` declares them, and the codes that the code can report."""

from __future__ import annotations

import ast
import re
import types
import typing
from collections.abc import Collection
from pathlib import Path
from typing import Any

import msgspec

from ctxkit.cli.registry import COMMANDS
from ctxkit.core import ops
from tests.docs.pages import DOCS, ROOT, plain, settle, with_part

PAGE = DOCS / "log-format.md"

ENVELOPE = {
    "ctxkit": "the op's name",
    "at": "how far the log reached when the op was decided",
    "id": "12 hex digits, the first a letter",
    "v": "version of the format",
    "ts": "time of the append",
    "by": "`args`: the command line as given; `version`: of ctxkit",
    "before": "size of the context before",
    "after": "size of the context after",
    "prev": "digest of the op before it: 64 hex digits; empty for the first",
    "sum": "16 hex digits",
}
AT = {
    "messages": "how many messages the log held",
    "last": "identity of the last of them",
    "rows": "how many rows (lines that are no op) it held",
}

JSON_TYPES = {
    str: "string",
    int: "integer",
    bool: "boolean",
    dict: "object",
    ops.LogPosition: "object",
    ops.Count: "Count",
}


def spoken(kind: Any) -> str:
    """A type as readers of JSON know it."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return " or ".join(spoken(one) if one is not type(None) else "null" for one in arguments)
    if origin is list:
        return f"list of {arguments[0].__name__}"
    if kind is Any:
        return "any"
    return JSON_TYPES[origin or kind]


def rows(kind: type[msgspec.Struct], *, bold: Collection[str] = (), leave: Collection[str] = ()) -> list[str]:
    """A row per field: name, type, whether it must be there."""
    found = []
    for field in msgspec.structs.fields(kind):
        if field.name in leave:
            continue
        text = "names" if issubclass(kind, ops.Envelope) and field.name in ops.NAME_FIELDS else spoken(field.type)
        text = text if field.required else text.removesuffix(" or null")
        key = f"**`{field.encode_name}`**" if field.name in bold else f"`{field.encode_name}`"
        found.append(f"| {key} | {text} | {'required' if field.required else 'optional'} |")
    return found


def section(name: str, kind: type[ops.Op]) -> str:
    """One op: what it is, whether it reaches the model, its fields."""
    envelope = {field.name for field in msgspec.structs.fields(ops.Envelope)}
    fields = rows(kind, bold=kind.folded, leave=envelope)
    writer = "Read; no command writes it yet"
    if name in COMMANDS:
        writer = f"Written by [`ctxkit {name}`](commands/{name}.md)"
    if name == "unprotect":
        writer = "Written by [`ctxkit protect --off`](commands/protect.md)"
    if name == "interrupted":
        writer = "Written by other programs"
    reaches = f"Reaches the model: {kind.brings_in}." if kind.brings_in else "Reaches the model: no."
    lines = [f"### {name}", "", plain(kind.__doc__), f"{writer}.", reaches]
    if fields:
        lines += ["", "| field | type | |", "|---|---|---|", *fields]
    return "\n".join(lines)


def table(kind: type[msgspec.Struct], words: dict[str, str]) -> str:
    """The fields of the envelope or of `at`, with what they mean."""
    fields = {field.encode_name: field for field in msgspec.structs.fields(kind)}
    if kind is ops.Envelope:
        assert set(words) == {"ctxkit", *fields}
    else:
        assert set(words) == set(fields)
    lines = ["| key | type | meaning |", "|---|---|---|"]
    for name, text in words.items():
        type_ = spoken(fields[name].type).removesuffix(" or null") if name in fields else "string"
        lines.append(f"| `{name}` | {type_} | {text} |")
    return "\n".join(lines)


def parts() -> str:
    """What stands inside of ops."""
    found = []
    for kind in (ops.Count, ops.Resummarized, ops.Item):
        found.append(re.sub(r"\n+ *", "\n", f"**{kind.__name__}**: {plain(kind.__doc__)}"))
        found.append("\n".join(["| field | type | |", "|---|---|---|", *rows(kind)]))
    return "\n\n".join(found)


def test_fields(update: bool) -> None:
    """Every op with every field stands on the page, as its class declares it."""
    for kind in ops.BY_NAME.values():
        assert kind.folded <= {field.name for field in msgspec.structs.fields(kind)}
    text = PAGE.read_text(encoding="utf-8")
    text = with_part(text, "envelope", table(ops.Envelope, ENVELOPE))
    text = with_part(text, "at", table(ops.LogPosition, AT))
    text = with_part(text, "ops", "\n\n".join(section(name, kind) for name, kind in ops.BY_NAME.items()))
    settle(PAGE, with_part(text, "parts", parts()), update=update)


CODE = re.compile(r"[a-z]+[a-z0-9]*(-[a-z0-9]+)*")


def codes_in(path: Path) -> set[str]:
    """The codes that a module can report: in calls of Damage, Finding and their makers, in _NOTES, and `code = …`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ("Damage", "report", "_lost", "_note", "_place", "Finding", "ProofMismatch", "Unpaired"):
                values = [*node.args, *(word.value for word in node.keywords if word.arg == "code")]
                found |= {value.value for value in values if isinstance(value, ast.Constant) and _is_code(value.value)}
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            target = node.targets[0].id
            if target == "_NOTES" and isinstance(node.value, ast.Dict):
                found |= {str(key.value) for key in node.value.keys if isinstance(key, ast.Constant)}
            if target == "code" and isinstance(node.value, ast.IfExp):
                pair = [node.value.body, node.value.orelse]
                found |= {str(one.value) for one in pair if isinstance(one, ast.Constant)}
    return found


def _is_code(value: object) -> bool:
    return isinstance(value, str) and CODE.fullmatch(value) is not None


def test_damage_codes() -> None:
    """The page has the codes that the code reports, all of them and no others."""
    places = [*(ROOT / "ctxkit/store").glob("*.py"), ROOT / "ctxkit/core/ledger.py", ROOT / "ctxkit/recovery/check.py"]
    places += [
        ROOT / "ctxkit/recovery/beside.py",
        ROOT / "ctxkit/logfile/chain_head.py",
        ROOT / "ctxkit/logfile/read.py",
    ]
    places += [
        ROOT / "ctxkit/logfile/tolerant.py",
        ROOT / "ctxkit/logfile/unpaired.py",
        ROOT / "ctxkit/core/messages.py",
    ]
    places.append(ROOT / "ctxkit/formats/chat.py")
    places.append(ROOT / "ctxkit/formats/claude_code/proofs.py")
    places += [ROOT / "ctxkit/recovery/records.py", ROOT / "ctxkit/formats/truncated_json.py"]
    found = set().union(*map(codes_in, places))
    found |= {f"{code}-void" for code in ("misfit", "damaged-op")}  # recovery/check.py: ops that are undone
    part = PAGE.read_text(encoding="utf-8").partition("<!-- codes -->")[2].partition("\n## ")[0]
    cells = [line.split("|")[1] for line in part.splitlines() if line.startswith("| `")]
    listed = [code for cell in cells for code in re.findall("`([^`]+)`", cell)]
    assert sorted(listed) == sorted(found)
