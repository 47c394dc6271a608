"""The laws of docs/architecture.md that can be read off the source: arrows, names, mirrors, commands."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "ctxkit"
MODULES = sorted(PACKAGE.rglob("*.py"))

LEAVES = {"errors", "version"}
"""Constants and exceptions: anyone may import them, they import nothing of ours."""

MAY_IMPORT: dict[str, set[str]] = {
    "core": set(),
    "policies": {"core"},
    "formats": {"core"},
    "store": {"core"},
    "tokens": {"core"},
    "summarize": {"core", "wire"},
    "wire": set(),
    "when": {"core"},
}
"""Layers below the API. What is not here (api/log.py, ...) is the Python API: it may import all but the CLI."""

SIDEWAYS = {
    ("__main__", "cli.app"): "`python -m ctxkit` is the command",
    ("store.keys", "when"): "durations in words, loaded only where a config holds one",
    ("summarize", "tokens.overflow"): "what providers say of a request that is too large",
    ("store", "formats.base"): "the shapes of rows and blocks, which are all that the two share",
}
"""Arrows between neighbours, each with its reason."""

ONLY_IN = {
    "dateparser": {"when"},
    "pytimeparse": {"when"},
    "litellm": {"summarize"},
    "tenacity": {"summarize"},
    "typer": {"cli"},
    "click": set(),  # typer vendors its own
    "jsonlines": {"formats"},
    "tiktoken": {"tokens"},
    "tomlkit": {"store"},
    "httpx": {"wire"},
}
LAZY = {
    "dateparser", "pytimeparse", "litellm", "tenacity", "httpx", "tiktoken", "rich", "tomlkit", "tomllib", "jsonlines",
    "difflib",
}  # fmt: skip
"""Too slow for every start: imported inside the function that needs them."""

IMPURE = {
    "asyncio", "fcntl", "getpass", "glob", "http", "io", "locale", "logging", "mmap", "multiprocessing", "os",
    "pathlib", "platform", "random", "secrets", "selectors", "shutil", "signal", "socket", "sqlite3", "ssl",
    "subprocess", "sys", "tempfile", "threading", "time", "urllib", "uuid", "warnings", "zoneinfo",
}  # fmt: skip
"""Modules that do I/O or read a clock, a random source or the environment."""
IMPURE_CALLS = {"open", "print", "input", "exec", "eval", "breakpoint"}
CLOCKS = {"now", "utcnow", "today"}

BANNED = {"utils", "util", "misc", "common", "helpers", "helper", "manager", "process", "data"}

NO_TEST_OF_ITS_OWN = {
    "core/findings.py": "declarations; every test of check builds them",
    "core/messages.py": "declarations; every reader's test builds them",
    "core/transcript.py": "declarations; every reader's test builds them",
    "formats/base.py": "declarations; every format's test uses them",
    "__main__.py": "two lines; the tests that start processes run it",
}


def dotted(path: Path) -> str:
    """`ctxkit/core/ops.py` -> `core.ops`; the package itself -> ``."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree(path: Path) -> ast.Module:
    """The parsed source."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imports(path: Path, node: ast.AST | None = None) -> Iterator[str]:
    """Every module that is imported, absolute, wherever it stands; `from a import b` gives a.b."""
    for found in ast.walk(node or tree(path)):
        if isinstance(found, ast.Import):
            yield from (alias.name for alias in found.names)
        elif isinstance(found, ast.ImportFrom):
            assert found.level == 0, f"{path}: relative import"
            yield from (f"{found.module}.{alias.name}" for alias in found.names)


def ours(path: Path) -> set[str]:
    """The modules of ctxkit that a module imports, without the leading `ctxkit.`"""
    return {name.removeprefix("ctxkit.") for name in imports(path) if name.startswith("ctxkit.")}


def under(name: str, prefix: str) -> bool:
    """Whether a dotted name is `prefix` or inside it."""
    return name == prefix or name.startswith(prefix + ".")


def sideways(module: str, name: str) -> bool:
    """Whether an arrow between neighbours is in the table."""
    return any(under(module, start) and under(name, end) for start, end in SIDEWAYS)


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_import_arrows(path: Path) -> None:
    """cli -> API -> policies, store, formats, tokens, summarize, when -> core; nothing imports cli."""
    module = dotted(path)
    layer = module.split(".")[0]
    for name in ours(path):
        target = name.split(".")[0]
        if target in LEAVES:
            continue
        if layer in LEAVES:
            pytest.fail(f"{module} imports {name}")
        if layer != "cli" and target == "cli" and not sideways(module, name):
            pytest.fail(f"{module} imports the command line: {name}")
        if layer in MAY_IMPORT and target not in {layer} | MAY_IMPORT[layer]:
            assert sideways(module, name), f"{module} imports {name}"


def test_sideways_arrows_are_used() -> None:
    """An arrow in the table that nobody needs any more goes."""
    used = {(dotted(path), name) for path in MODULES for name in ours(path)}
    for start, end in SIDEWAYS:
        assert any(under(module, start) and under(name, end) for module, name in used), (start, end)


@pytest.mark.parametrize("path", sorted((PACKAGE / "core").rglob("*.py")), ids=dotted)
def test_core_is_pure(path: Path) -> None:
    """The core imports the standard library and msgspec, does no I/O, and reads no clock or environment."""
    for name in imports(path):
        top = name.split(".")[0]
        assert top in sys.stdlib_module_names | {"ctxkit", "msgspec"}, name
        assert top not in IMPURE, name
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call):
            call = node.func
            assert not (isinstance(call, ast.Name) and call.id in IMPURE_CALLS), f"line {node.lineno}"
            assert not (isinstance(call, ast.Attribute) and call.attr in CLOCKS), f"line {node.lineno}"


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_libraries_stay_where_they_belong(path: Path) -> None:
    """Each library of the table has one home, and the slow ones are imported inside functions."""
    module = dotted(path)
    for name in imports(path):
        homes = ONLY_IN.get(name.split(".")[0])
        assert homes is None or module.split(".")[0] in homes, f"{module} imports {name}"
    functions = [node for node in ast.walk(tree(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    lazy = {name for function in functions for name in imports(path, function)}
    typing = [
        node for node in ast.walk(tree(path)) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
    ]
    unreal = {name for block in typing for name in imports(path, block)}
    for name in set(imports(path)) - lazy - unreal:
        assert name.split(".")[0] not in LAZY, f"{module} imports {name} at its top"


def test_start_loads_nothing_heavy() -> None:
    """`import ctxkit` and the command line load none of the slow libraries."""
    heavy = sorted(LAZY - {"difflib", "tomllib"} | {"pydantic", "click"})
    for module in ("ctxkit", "ctxkit.cli.app"):
        code = f"import sys, {module}; print(sorted(set({heavy!r}) & set(sys.modules)))"
        run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
        assert (run.stdout.strip(), run.stderr) == ("[]", ""), module


@pytest.mark.parametrize("path", MODULES, ids=dotted)
def test_docstrings(path: Path) -> None:
    """Every module says in one line what it is; every public class and function of it has a docstring."""
    text = ast.get_docstring(tree(path))
    assert text, "no module docstring"
    assert len(text.splitlines()[0]) <= 120
    bare = [
        node.name
        for node in tree(path).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
        and "overload" not in map(ast.unparse, node.decorator_list)  # types alone; what follows has the words
    ]
    assert bare == []


@pytest.mark.parametrize("path", [path for path in MODULES if path.name != "__init__.py"], ids=dotted)
def test_mirror(path: Path) -> None:
    """Every module has the test file of its name, at the same place below tests/."""
    inside = path.relative_to(PACKAGE)
    test = ROOT / "tests" / inside.with_name(f"test_{path.name}")
    if inside.as_posix() in NO_TEST_OF_ITS_OWN:
        assert not test.exists(), "it has one: take it out of the table"
        return
    assert test.exists(), f"{test.relative_to(ROOT)} is missing"


def test_exemptions_exist() -> None:
    """A module that is gone is not exempt."""
    assert [name for name in NO_TEST_OF_ITS_OWN if not (PACKAGE / name).exists()] == []


def test_banned_names() -> None:
    """No module or class is named after nothing: utils, misc, common, helpers, manager, process, data."""
    for path in [*MODULES, *sorted((ROOT / "tests").rglob("*.py"))]:
        assert not set(re.split(r"[_.]", path.stem)) & BANNED, path
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ClassDef):
                assert not {word.lower() for word in re.findall(r"[A-Z][a-z]*", node.name)} & BANNED, node.name


def project() -> dict[str, object]:
    """pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def recipes() -> dict[str, list[str]]:
    """The recipes of the justfile and their lines."""
    found: dict[str, list[str]] = {}
    for line in (ROOT / "justfile").read_text(encoding="utf-8").splitlines():
        head = re.match(r"(\w+)[^:=]*:(?!=)", line)
        if head:
            found[head[1]] = []
        elif line.startswith("    "):
            found[[*found][-1]].append(line.strip())
    return found


LINES = [line for lines in recipes().values() for line in lines]


def test_recipes_are_told_apart() -> None:
    """No name is two recipes'."""
    text = (ROOT / "justfile").read_text(encoding="utf-8")
    names = re.findall(r"^([a-z][a-z-]*)(?: [^:\n]*)?:(?!=)", text, re.M)
    assert "kills" in names and len(names) == len(set(names))


@pytest.mark.parametrize("line", LINES)
def test_justfile_commands_exist(line: str) -> None:
    """Each line of a recipe runs a tool of the dev extra, a module or a script that is there."""
    words = line.split()
    if words[:2] == ["python", "-m"]:
        extra = str(project()["project"])
        place = ROOT / words[2].replace(".", "/")
        known = f"'{words[2]}>=" in extra
        assert known or place.with_suffix(".py").exists() or (place / "__main__.py").exists(), words[2]
    else:
        assert words[0] in ("sh", "bash"), line
        assert (ROOT / words[1]).is_file(), words[1]


def test_contributing_names_what_exists() -> None:
    """Recipes and paths in docs/contributing.md are there."""
    text = (ROOT / "docs/contributing.md").read_text(encoding="utf-8")
    assert set(re.findall(r"\bjust (\w+)", text)) <= set(recipes())
    assert {"test", "check", "docs", "bench", "smoke"} <= set(re.findall(r"\bjust (\w+)", text))
    for path in re.findall(r"`((?:ctxkit|tests|fixtures|docs|\.ci)/[\w./-]*)`", text):
        assert (ROOT / path).exists(), path


def test_readme_has_the_two_commands() -> None:
    """One line each sets up and runs the main job, and sets up and passes the tests; .ci/run takes it from there."""
    lines = [
        line for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines() if "python3 -m venv" in line
    ]
    assert len(lines) == 2
    assert [line for line in lines if "pytest" in line] == lines[1:]
    for path in re.findall(r"<(\S+)", lines[0]):
        assert (ROOT / path).is_file(), path
    assert "python3 -m venv .*pytest" in (ROOT / ".ci/run").read_text(encoding="utf-8")


def test_package_is_typed_and_named() -> None:
    """The distribution is ctxkit-cli, the command ctxkit, and type checkers see our annotations."""
    found = project()["project"]
    assert isinstance(found, dict)
    assert (found["name"], found["scripts"]) == ("ctxkit-cli", {"ctxkit": "ctxkit.cli.app:main"})
    assert (PACKAGE / "py.typed").exists()


MARKDOWN = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("path", MARKDOWN, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path: Path) -> None:
    """Every relative link of the documentation names a file."""
    prose = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.S | re.M)
    for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)[^)]*\)", prose):
        assert (path.parent / target).exists(), target
