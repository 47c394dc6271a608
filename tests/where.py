"""`python -m tests.where rewind`: where a command lives, from its arguments to its tests, as `path:line name`.

Read off the source: the registry of commands, the method of `Log`, what that method calls, the op, its case in the
fold, and the tests that mirror these files.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

from ctxkit.cli.registry import COMMANDS, unknown
from ctxkit.errors import CtxkitError

ROOT = Path(__file__).resolve().parents[1]
API, OPS, FOLD = "ctxkit/api/log.py", "ctxkit/core/ops.py", "ctxkit/core/replay.py"


def where(name: str) -> dict[str, list[str]]:
    """The places of a command: command, API, decision, op, fold, tests; what it does not have is left out.

    Raises Usage for what is no command.
    """
    if name not in COMMANDS:
        raise unknown(name)
    command = _file(COMMANDS[name].module)
    methods = [node for node in _defined(API, "Log") if isinstance(node, ast.FunctionDef) and _is_of(node, name)]
    found = {
        "command": [f"{command}:1"],
        "API": [f"{API}:{node.lineno} Log.{node.name}" for node in methods],
        "decision": list(dict.fromkeys(place for node in methods for place in _decided(node))),
        "uses": [] if methods else _used(command),
        "op": [f"{OPS}:{node.lineno} {node.name}" for node in _ops(name)],
        "fold": [f"{FOLD}:{line} case {op}" for node in _ops(name) for op in _kinds(node) for line in _cases(op)],
    }
    files = dict.fromkeys(place.partition(":")[0] for key in ("command", "decision", "uses") for place in found[key])
    found["tests"] = [test for file in files if (ROOT / (test := _test(file))).exists()]
    if found["op"]:
        found["tests"].append("tests/core/test_rules.py")
    return {key: places for key, places in found.items() if places}


def _tree(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def _file(module: str) -> str:
    path = module.replace(".", "/")
    return f"{path}/__init__.py" if (ROOT / path).is_dir() else f"{path}.py"


def _test(path: str) -> str:
    folder, _, name = path.rpartition("/")
    return f"tests{folder.removeprefix('ctxkit')}/test_{name}"


def _defined(path: str, name: str = "") -> list[ast.stmt]:
    """What stands at the top of a module, or in one of its classes."""
    body = _tree(path).body
    return next((node.body for node in body if isinstance(node, ast.ClassDef) and node.name == name), body)


def _is_of(method: ast.FunctionDef, name: str) -> bool:
    """Whether a method does what a command does: it is called so, or commits an op under that name."""
    calls = [node for node in ast.walk(method) if isinstance(node, ast.Call)]
    commits = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "commit"]
    names = [call.args[0].value for call in commits if call.args and isinstance(call.args[0], ast.Constant)]
    return method.name == name or name in names


def _decided(method: ast.FunctionDef) -> Iterator[str]:
    """What a method of `Log` calls, and what that calls in its own room."""
    for place in _called(method):
        yield place
        path, _, rest = place.partition(":")
        name = rest.partition(" ")[2]
        room = path.rpartition("/")[0] + "/"
        for node in _defined(path):
            if _named(node, name):
                yield from (one for one in _called(node, path) if one.startswith(room))


def _used(command: str) -> list[str]:
    """The functions and classes of lower rooms that a command which has no method of `Log` calls."""
    found = dict.fromkeys(
        place
        for node in _defined(command)
        if isinstance(node, ast.FunctionDef)
        for place in _called(node, command, core=True)
        if not place.startswith(("ctxkit/cli/", "ctxkit/errors.py"))
    )
    return list(found)


def _called(method: ast.FunctionDef, path: str = API, *, core: bool = False) -> Iterator[str]:
    """The functions and classes of other modules that a function uses, where they are defined. `core`: those of core,
    too.
    """
    imported: dict[str, tuple[str, str]] = {}
    for scope in (_tree(path), method):
        for node in scope.body if isinstance(scope, ast.Module) else ast.walk(scope):
            if isinstance(node, ast.ImportFrom):
                imported |= {one.asname or one.name: (node.module or "", one.name) for one in node.names}
    for node in ast.walk(method):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in imported:
            module, name = imported[node.value.id]
            yield from _definition(f"{module}.{name}", node.attr, core=core)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in imported:
            yield from _definition(*imported[node.func.id], core=core)
        elif isinstance(node, ast.Attribute) and node.attr.startswith("plan_"):
            yield from (place for one in _defined(API, "Log") if _named(one, node.attr) for place in _called(one))


def _named(node: ast.stmt, name: str) -> TypeGuard[ast.FunctionDef]:
    return isinstance(node, ast.FunctionDef) and node.name == name


def _definition(module: str, name: str, *, core: bool = False) -> Iterator[str]:
    path = _file(module)
    if (module.startswith("ctxkit.core") and not core) or not (ROOT / path).exists():
        return
    for node in _defined(path):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            yield f"{path}:{node.lineno} {name}"


def _ops(name: str) -> list[ast.ClassDef]:
    """The class of the op that a command writes."""
    found = [node for node in _defined(OPS) if isinstance(node, ast.ClassDef)]
    tags = {
        node.name: [key.value.value for key in node.keywords if isinstance(key.value, ast.Constant)] for node in found
    }
    return [node for node in found if name in tags[node.name]]


def _kinds(op: ast.ClassDef) -> list[str]:
    """The class of an op, and the op that it is a kind of."""
    return [op.name, *(base.id for base in op.bases if isinstance(base, ast.Name) and base.id != "Envelope")]


def _cases(name: str) -> list[int]:
    """The lines of the fold at which an op of this class is told from others."""
    fold = next(node for node in _defined(FOLD, "Fold") if isinstance(node, ast.FunctionDef) and node.name == "op")
    cases = [case for node in ast.walk(fold) if isinstance(node, ast.Match) for case in node.cases]
    return [
        case.pattern.lineno
        for case in cases
        if any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(case.pattern))
    ]


def main(names: list[str]) -> int:
    """Print the places of each command."""
    for name in names or sys.exit("python -m tests.where COMMAND"):
        try:
            found = where(name)
        except CtxkitError as error:
            print(f"{error.message}: {error.hint}", file=sys.stderr)
            return int(error.code)
        for key, places in found.items():
            for place in places:
                print(f"{key:<9} {place}")
                key = ""
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
