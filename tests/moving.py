"""Moves modules of ctxkit, and their tests, to other rooms: `python -m tests.moving OLD NEW [OLD NEW ...]`.

Names are dotted, without `ctxkit.`: `python -m tests.moving condensing compact.plan`. Files are moved by git; imports,
dotted names in strings and comments, and paths in code and docs follow. What a module is called where it is imported
follows too, unless the file has that name for something else: then it is imported `as` what it was called.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TEXTS = ("*.py", "*.md", "*.toml", "*.txt", "justfile", "*.sh")
ROOM = '"""The room {}."""\n'
"""What stands in the `__init__.py` of a new room, until somebody says what lives there."""


def renames(pairs: list[tuple[str, str]]) -> dict[str, str]:
    """Dotted old name -> new one, of modules and of their tests."""
    found = {}
    for old, new in pairs:
        found[f"ctxkit.{old}"] = f"ctxkit.{new}"
        tested, test = (_test(name) for name in (old, new))
        if (ROOT / f"{tested.replace('.', '/')}.py").exists():
            found[tested] = test
    return found


def _test(module: str) -> str:
    """The test of a module, dotted."""
    *rooms, name = module.split(".")
    return ".".join(["tests", *rooms, f"test_{name}"])


def path_of(module: str) -> str:
    """The file of a module, from the root."""
    path = module.replace(".", "/")
    return f"{path}.py" if (ROOT / f"{path}.py").exists() else f"{path}/__init__.py"


def move_files(names: dict[str, str]) -> None:
    """Move the files; a new room gets its `__init__.py`."""
    for old, new in names.items():
        start, end = path_of(old), f"{new.replace('.', '/')}.py"
        folder = (ROOT / end).parent
        folder.mkdir(parents=True, exist_ok=True)
        if end.startswith("ctxkit/") and not (folder / "__init__.py").exists():
            (folder / "__init__.py").write_text(ROOM.format(folder.name))
            subprocess.run(["git", "add", folder / "__init__.py"], cwd=ROOT, check=True)
        subprocess.run(["git", "mv", start, end], cwd=ROOT, check=True)
        deeper(ROOT / end, end.count("/") - start.count("/"))


def deeper(path: Path, by: int) -> None:
    """What a file that stands so many folders deeper says of its own place."""
    text = path.read_text(encoding="utf-8")
    new = re.sub(r"(__file__\)(?:\.resolve\(\))?\.parents\[)(\d+)", lambda m: f"{m[1]}{int(m[2]) + by}", text)
    path.write_text(new, encoding="utf-8")


class Edits:
    """Replacements in one text, by place, applied from the end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.starts = [0]
        for line in text.encode().splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.raw = text.encode()
        self.found: list[tuple[int, int, bytes]] = []

    def place(self, line: int, column: int) -> int:
        """Bytes before a place, as `ast` gives it."""
        return self.starts[line - 1] + column

    def put(self, node: ast.stmt | ast.expr, words: str) -> None:
        """Other words for a node."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = self.place(node.lineno, node.col_offset)
        self.found.append((start, self.place(node.end_lineno, node.end_col_offset), words.encode()))

    def done(self) -> str:
        """The text with all of them."""
        raw = self.raw
        for start, end, words in sorted(set(self.found), reverse=True):
            raw = raw[:start] + words + raw[end:]
        return raw.decode()


def _statement(module: str, aliases: list[ast.alias]) -> str:
    names = ", ".join(f"{one.name} as {one.asname}" if one.asname else one.name for one in aliases)
    return f"from {module} import {names}"


def code(text: str, names: dict[str, str]) -> str:
    """A module with its imports, and the names that they bind, as they are to be."""
    tree, edits = ast.parse(text), Edits(text)
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    bound |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    bound |= {
        one.asname or one.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for one in node.names
    }
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    stored |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    called: dict[str, str] = {}
    for node in ast.walk(tree):
        if not isinstance(node, ast.ImportFrom) or node.module is None or node.level:
            continue
        module = names.get(node.module, node.module)
        stay = [one for one in node.names if f"{node.module}.{one.name}" not in names]
        parts = [_statement(module, stay)] if stay else []
        for one in node.names:
            new = names.get(f"{node.module}.{one.name}")
            if new is None:
                continue
            room, _, name = new.rpartition(".")
            known = one.asname or one.name
            if one.asname is None and name != one.name:
                if name in bound or one.name in stored:
                    one = ast.alias(name, one.name)
                else:
                    called[one.name], one = name, ast.alias(name, None)
            else:
                one = ast.alias(name, one.asname if one.asname != name else None)
            assert known
            parts.append(_statement(room, [one]))
        if parts != [_statement(node.module, node.names)]:
            edits.put(node, ("\n" + " " * node.col_offset).join(parts))
    fstrings = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    inside = {id(child) for node in fstrings for child in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in called and id(node) not in inside:
            edits.put(node, called[node.id])
    if called:
        for node in fstrings:
            segment = ast.get_source_segment(text, node) or ""
            new = re.sub(rf"(?<=[{{\s(\[!]){_any(called)}(?=[.\s)}}!:,])", lambda m: called[m[0]], segment)
            if new != segment:
                edits.put(node, new)
    return edits.done()


def _any(names: dict[str, str]) -> str:
    return "(?:" + "|".join(map(re.escape, sorted(names, key=len, reverse=True))) + ")"


def words(text: str, names: dict[str, str], at: Path) -> str:
    """Dotted names and paths, wherever they stand."""
    text = re.sub(rf"(?<![\w.]){_any(names)}(?![\w])", lambda m: names[m[0]], text)
    text = re.sub(r"\bfrom ([\w.]+) import (\w+)$", lambda m: _import(m, names), text, flags=re.M)  # code in a string
    paths = {f"{old.replace('.', '/')}.py": f"{new.replace('.', '/')}.py" for old, new in names.items()}
    text = re.sub(rf"(?<![\w/]){_any(paths)}", lambda m: paths[m[0]], text)
    inner = {old.partition("/")[2]: new.partition("/")[2] for old, new in paths.items() if old.startswith("ctxkit/")}
    beside = {path.name for path in at.parent.glob("*.py")} if at.parent != ROOT / "ctxkit" else set()
    far = {old: new for old, new in inner.items() if old not in beside}  # a file's name means its neighbour first
    text = re.sub(rf"(?<![\w/.]){_any(far)}", lambda m: far[m[0]], text) if far else text
    if at.is_relative_to(ROOT / "ctxkit"):  # a neighbour by its file's name alone
        near = neighbours(at, inner)
        if near:
            text = re.sub(rf"(?<![\w/.]){_any(near)}", lambda m: near[m[0]], text)
    return text


def _import(found: re.Match[str], names: dict[str, str]) -> str:
    """A line that imports one module, as it is to be; what it binds keeps its name."""
    new = names.get(f"{found[1]}.{found[2]}")
    if new is None:
        return found[0]
    room, _, name = new.rpartition(".")
    return _statement(room, [ast.alias(name, found[2] if found[2] != name else None)])


def neighbours(at: Path, paths: dict[str, str]) -> dict[str, str]:
    """Names of files beside `at` -> what they are to be called where `at` is to be."""
    room = at.parent.relative_to(ROOT / "ctxkit")
    own = Path(paths.get((room / at.name).as_posix(), (room / at.name).as_posix()))
    found = {}
    for path in at.parent.glob("*.py"):
        new = Path(paths.get((room / path.name).as_posix(), (room / path.name).as_posix()))
        called = new.name if new.parent == own.parent else new.as_posix()
        if called != path.name and path.name != "__init__.py":
            found[path.name] = called
    return found


def main(pairs: list[str]) -> int:
    """Move what is asked for, and rewrite what speaks of it."""
    names = renames(list(zip(pairs[::2], pairs[1::2], strict=True)))
    listed = subprocess.run(["git", "ls-files", *TEXTS], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.splitlines():
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        new = code(text, names) if name.endswith(".py") else text
        new = words(new, names, path)
        if new != text:
            path.write_text(new, encoding="utf-8")
    move_files(names)
    for call in (["check", "-q", "--fix", "--select", "I", "."], ["format", "-q", "."]):
        subprocess.run([sys.executable, "-m", "ruff", *call], cwd=ROOT, check=False)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
