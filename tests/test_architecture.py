"""The laws of docs/architecture.md that can be read off the source: arrows, names, mirrors, commands."""

from __future__ import annotations

import ast
import builtins
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "ctxkit"
MODULES = sorted(PACKAGE.rglob("*.py"))

FLOORS: tuple[tuple[str, ...], ...] = (
    ("errors", "version"),
    ("core",),
    ("when",),
    ("store", "formats", "tokens", "llm"),
    ("settings",),
    ("logfile",),
    ("measure", "content"),
    ("cut", "changes"),
    ("edit", "snapshots", "recovery", "search", "export", "explain"),
    ("memory",),
    ("api",),
    ("watch", "adapters", "fleet"),
    ("cli",),
)
"""The rooms of the package, the lowest first: a room imports those of lower floors, whatever kind of import it is."""

SIDEWAYS = {
    ("explain", "snapshots"): "a state that is compared may be a snapshot",
    ("recovery", "edit"): "drafts that a crash left",
    ("recovery", "snapshots"): "what stands beside a log; the way back to a checkpoint",
    ("measure", "content"): "whose a context's tokens are, and which of them do not go out",
    ("llm", "tokens.overflow"): "what providers say of a request that is too large",
    ("formats.gemini", "tokens.reasoning"): "which models demand signatures: one table has what providers demand",
    ("tokens.cache", "store.cache_file"): "counts are kept in a file of the user's cache, as indexes are",
    ("store", "formats.base"): "the shapes of rows and blocks, which are all that the two share",
}
"""Arrows between rooms of one floor, each with its reason."""

ROOMS = 28
"""What stands at the top of the package, at most."""

ONLY_IN = {
    "dateparser": {"when"},
    "pytimeparse": {"when"},
    "litellm": {"llm", "adapters"},
    "agents": {"adapters"},
    "langchain_core": {"adapters"},
    "pydantic_ai": {"adapters"},
    "tenacity": {"llm"},
    "typer": {"cli"},
    "click": set(),  # typer vendors its own
    "jsonlines": {"formats"},
    "tiktoken": {"tokens"},
    "tomlkit": {"settings"},
    "httpx": {"llm"},
    "watchfiles": {"watch"},
    "prometheus_client": {"cli"},
    "duckdb": {"fleet"},
    "pyarrow": {"fleet"},
    "fsspec": {"fleet"},
    "ray": {"fleet"},
}
LAZY = {
    "dateparser", "pytimeparse", "litellm", "tenacity", "httpx", "tiktoken", "rich", "tomlkit", "tomllib", "jsonlines",
    "difflib", "watchfiles", "prometheus_client", "duckdb", "pyarrow", "fsspec", "ray",
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


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All nodes of the parsed source: most tests look at each of them."""
    return tuple(ast.walk(tree(path)))


def imports(path: Path, inside: Iterable[ast.AST] | None = None) -> Iterator[str]:
    """Every module that is imported, absolute, wherever it stands; `from a import b` gives a.b."""
    for found in nodes(path) if inside is None else inside:
        if isinstance(found, ast.Import):
            yield from (alias.name for alias in found.names)
        elif isinstance(found, ast.ImportFrom):
            assert found.level == 0, f"{path}: relative import"
            yield from (f"{found.module}.{alias.name}" for alias in found.names)


def at_start(node: ast.AST) -> Iterator[ast.AST]:
    """What is run when a module is imported: nothing inside functions, or for types alone."""
    for child in ast.iter_child_nodes(node):
        typing = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test)
        runs = isinstance(child, ast.stmt | ast.excepthandler | ast.match_case)
        if runs and not typing and not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
            yield from at_start(child)


def ours(path: Path) -> set[str]:
    """The modules of ctxkit that a module imports, without the leading `ctxkit.`"""
    return {name.removeprefix("ctxkit.") for name in imports(path) if name.startswith("ctxkit.")}


def under(name: str, prefix: str) -> bool:
    """Whether a dotted name is `prefix` or inside it."""
    return name == prefix or name.startswith(prefix + ".")


def room(module: str) -> str:
    """`core.ops` -> `core`; the package itself is the API, `python -m ctxkit` the command line."""
    return {"": "api", "__main__": "cli"}.get(module, module.split(".")[0])


def floor(module: str) -> int:
    """How high a module's room stands."""
    return next(height for height, rooms in enumerate(FLOORS) if room(module) in rooms)


@cache
def arrows() -> dict[str, set[str]]:
    """Which modules of ctxkit each module imports: at its top, inside functions, for types alone."""
    known = {dotted(path) for path in MODULES}
    found = {}
    for path in MODULES:
        names = {name if name in known else name.rpartition(".")[0] for name in ours(path)}
        found[dotted(path)] = names & known - {dotted(path)}
    return found


def test_every_room_has_a_floor() -> None:
    """Few rooms stand at the top, and each has its floor."""
    rooms = {room(dotted(path)) for path in MODULES}
    assert rooms == {name for names in FLOORS for name in names}
    assert len([path for path in PACKAGE.iterdir() if path.suffix == ".py" or list(path.glob("*.py"))]) <= ROOMS


def test_arrows_go_down() -> None:
    """A room imports lower ones alone, but for the few neighbours in the table, each of which is used."""
    up, used = [], set()
    for module, names in arrows().items():
        for name in names:
            if room(module) == room(name) or floor(name) < floor(module):
                continue
            listed = {(a, b) for a, b in SIDEWAYS if under(module, a) and under(name, b)}
            used |= listed
            if not listed or floor(name) > floor(module):
                up.append(f"{module} imports {name}")
    assert up == []
    assert used == set(SIDEWAYS), "an arrow in the table that nobody needs any more goes"


def test_no_circles() -> None:
    """No module imports itself, by whatever way round and whatever kind of import."""
    waiting = arrows()
    while free := {module for module, names in waiting.items() if not names & waiting.keys()}:
        waiting = {module: names for module, names in waiting.items() if module not in free}
    while leaf := waiting.keys() - {name for names in waiting.values() for name in names}:  # what only leads to circles
        waiting = {module: names for module, names in waiting.items() if module not in leaf}
    assert sorted(waiting) == []


def is_pure(path: Path) -> bool:
    """Whether a module says that it is: all of the core, and each whose docstring has the sentence "Pure."."""
    return room(dotted(path)) == "core" or re.search(r"\bPure\.", ast.get_docstring(tree(path)) or "") is not None


def test_pure_modules_are_pure() -> None:
    """They import the standard library, msgspec and other pure modules, do no I/O, and read no clock or environment."""
    pure = {dotted(path) for path in MODULES if is_pure(path)} | {"errors", "version"}
    wrong = []
    for path in filter(is_pure, MODULES):
        for name in imports(path):
            top = name.split(".")[0]
            if top not in sys.stdlib_module_names | {"ctxkit", "msgspec"} or top in IMPURE:
                wrong.append(f"{dotted(path)} imports {name}")
        wrong += [f"{dotted(path)} imports {name}" for name in arrows()[dotted(path)] if name not in pure]
        for node in nodes(path):
            call = node.func if isinstance(node, ast.Call) else None
            named = isinstance(call, ast.Name) and call.id in IMPURE_CALLS
            if named or (isinstance(call, ast.Attribute) and call.attr in CLOCKS):
                wrong.append(f"{dotted(path)}:{node.lineno} calls {ast.unparse(call)}")  # type: ignore[attr-defined, arg-type]  # a call
    assert wrong == []


def test_libraries_stay_where_they_belong() -> None:
    """Each library of the table has one home, and the slow ones are imported inside functions."""
    wrong = []
    for path in MODULES:
        module = dotted(path)
        for name in imports(path):
            homes = ONLY_IN.get(name.split(".")[0])
            if homes is not None and room(module) not in homes:
                wrong.append(f"{module} imports {name}")
        top = {name for name in imports(path, at_start(tree(path))) if name.split(".")[0] in LAZY}
        wrong += [f"{module} imports {name} at its top" for name in sorted(top)]
    assert wrong == []


def test_text_is_encoded_in_one_place() -> None:
    """Text of a log may hold half a surrogate, at which `encode` fails: only `core/text/utf8.py` makes bytes of it.

    Elsewhere the bytes are ASCII, as JSON that ctxkit writes, or UTF-16, or a name of a file.
    """
    sure = {"ascii", "utf-16-be", "utf-16-le", "surrogateescape"}
    wrong = []
    for path in MODULES:
        for node in nodes(path) if path.name != "utf8.py" else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "encode":
                said = {one.value for one in node.args if isinstance(one, ast.Constant)}
                if not said & sure and not ast.unparse(node.func).startswith("msgspec.json"):
                    wrong.append(f"{dotted(path)}:{node.lineno}: {ast.unparse(node)}")
    assert wrong == []


def test_start_loads_nothing_heavy() -> None:
    """`import ctxkit` and the command line load none of the slow libraries."""
    heavy = sorted(LAZY - {"difflib", "tomllib"} | {"pydantic", "click"})
    for module in ("ctxkit", "ctxkit.cli.app"):
        code = f"import sys, {module}; print(sorted(set({heavy!r}) & set(sys.modules)))"
        run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
        assert (run.stdout.strip(), run.stderr) == ("[]", ""), module


def test_docstrings() -> None:
    """Every module says in a whole sentence, on one line, what it is; public classes and functions have docstrings."""
    wrong = []
    for path in MODULES:
        text = (ast.get_docstring(tree(path)) or "").splitlines()
        if not text or not text[0].endswith((".", "?", "!")) or len(text[0]) > 120:
            wrong.append(f"{dotted(path)}: {text[:1]}")
        wrong += [
            f"{dotted(path)}.{node.name} has none"
            for node in tree(path).body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            and not node.name.startswith("_")
            and not ast.get_docstring(node)
            and "overload" not in map(ast.unparse, node.decorator_list)  # types alone; what follows has the words
        ]
    assert wrong == []


def test_mirror() -> None:
    """Every module has the test file of its name, at the same place below tests/, unless the table says why not."""
    wrong = []
    for path in MODULES:
        inside = path.relative_to(PACKAGE)
        has = (ROOT / "tests" / inside.with_name(f"test_{path.name}")).exists()
        if path.name != "__init__.py" and has is (inside.as_posix() in NO_TEST_OF_ITS_OWN):
            wrong.append(inside.as_posix())
    assert wrong == []


def test_exemptions_exist() -> None:
    """A module that is gone is not exempt."""
    assert [name for name in NO_TEST_OF_ITS_OWN if not (PACKAGE / name).exists()] == []


def test_banned_names() -> None:
    """No module or class is named after nothing: utils, misc, common, helpers, manager, process, data."""
    for path in [*MODULES, *sorted((ROOT / "tests").rglob("*.py"))]:
        assert not set(re.split(r"[_.]", path.stem)) & BANNED, path
        for name in re.findall(r"^ *class (\w+)", path.read_text(encoding="utf-8"), re.M):
            assert not {word.lower() for word in re.findall(r"[A-Z][a-z]*", name)} & BANNED, name


def names_of_code() -> set[str]:
    """Every name that the package uses: modules, classes, functions, parameters, attributes, imports, builtins."""
    found = set(dir(builtins))
    for path in MODULES:
        found |= {path.stem, *path.relative_to(PACKAGE).parts}
        for node in nodes(path):
            match node:
                case (
                    ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.Name(id=name) | ast.Attribute(attr=name)
                ):
                    found.add(name)
                case ast.arg(arg=name):
                    found.add(name)
                case ast.alias():
                    found.add((node.asname or node.name).rpartition(".")[2])
    return found


def test_docstrings_name_what_there_is() -> None:
    """An error behind "Raises", a class in backticks and a module of a pipeline exist: a rename reaches docstrings."""
    known, wrong = names_of_code(), []
    for path in MODULES:
        for node in nodes(path):
            if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                continue
            words = ast.get_docstring(node) or ""
            named = re.findall(r"`([A-Z][a-z]\w+)`", words)
            for raised in re.findall(r"\bRaises ((?:[A-Z]\w+(?:, | and | or |; )?)+)", words):
                named += re.findall(r"[A-Z]\w+", raised)
            for paragraph in words.split("\n\n"):
                if paragraph.startswith(("Pipeline:", "Used by")):
                    named += [
                        name for name in re.findall(r"`(\w+)`", paragraph) if name.islower() and name not in NOT_OF_CODE
                    ]
            wrong += [f"{dotted(path)}: {name}" for name in named if name not in known]
    assert wrong == []


NOT_OF_CODE = {"session_meta", "folders"}
"""What pipelines name besides code: rows of formats, kinds of completion."""

ROWS_OF = {"BlockHead", "MessageHead"}
"""Names that the rows of more than one format have."""


def test_public_classes_have_names_of_their_own() -> None:
    """A public class name is one class in the whole package, so that a search for it finds that class."""
    found: dict[str, list[str]] = {}
    for path in MODULES:
        for node in tree(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found.setdefault(node.name, []).append(dotted(path))
    doubled = {name: modules for name, modules in found.items() if len(modules) > 1}
    assert {name: modules for name, modules in doubled.items() if name not in ROWS_OF} == {}
    assert doubled.keys() >= ROWS_OF, "a name that is one class is not exempt"


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
    words = [word for word in line.split() if not re.fullmatch(r"[A-Z_]+=\w*", word)]  # what is set for it alone
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


def test_answers_are_there() -> None:
    """Each `file::symbol` of docs/contributing.md is defined in that file."""
    text = (ROOT / "docs/contributing.md").read_text(encoding="utf-8")
    named = re.findall(r"`(ctxkit/[\w/]+\.py)::([\w.]+)`", text)
    assert len(named) >= 11
    for file, symbol in named:
        body: list[ast.stmt] = tree(ROOT / file).body
        for name in symbol.split("."):
            kinds = (ast.FunctionDef, ast.ClassDef)
            found = next((node for node in body if isinstance(node, kinds) and node.name == name), None)
            assert found is not None, f"{file}::{symbol}"
            body = found.body


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
