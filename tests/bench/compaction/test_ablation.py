"""Each number and pattern that `extract` chooses lines by stands in the table of the ablation, with what it is for."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.bench.compaction.ablation_groups import GROUPS

MODULES = (
    "cut.rank.candidates", "cut.rank.coverage", "cut.rank.facts", "cut.rank.scoring",
    "cut.summarize.extraction", "cut.summarize.failures", "cut.summarize.state_header", "cut.summarize.tasks",
    "cut.summarize.working_state", "cut.units.segments",
)  # fmt: skip
_, *ROWS = (line.split("\t") for line in Path(__file__).with_name("constants.tsv").read_text("utf-8").splitlines())


def is_chosen(value: Any) -> bool:
    """Whether a value is a number or a pattern, or holds numbers."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else [value]
    return bool(inner) and all(isinstance(one, int | float | re.Pattern) and not isinstance(one, bool) for one in inner)


def constants(name: str) -> Iterator[str]:
    """The numbers and patterns of a module: those at its top, and defaults of arguments that are written as numbers."""
    module = importlib.import_module(f"ctxkit.{name}")
    short = name.rpartition(".")[2]
    tree = ast.parse(Path(module.__file__ or "").read_text("utf-8"))
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        names = [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]
        yield from (f"{short}.{one}" for one in names if is_chosen(vars(module)[one]))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            places = node.args
            given = [*zip(reversed(places.args), reversed(places.defaults), strict=False),
                *zip(places.kwonlyargs, places.kw_defaults, strict=True)]  # fmt: skip
            yield from (
                f"{short}.{node.name}.{argument.arg}"
                for argument, value in given
                if isinstance(value, ast.Constant) and is_chosen(value.value)
            )


def test_no_constant_is_without_a_kept_group() -> None:
    """And none is named that is gone, or that two groups have."""
    named = [one for _, kept, _, some in ROWS if kept == "yes" for one in some.split()]
    assert sorted(named) == sorted(one for name in MODULES for one in constants(name))


def test_what_was_taken_out_is_gone() -> None:
    """The bench takes out only what is there, and each row says what that costs."""
    assert not GROUPS.keys() & {group for group, kept, *_ in ROWS if kept == "no"}
    assert all(effect for _, _, effect, _ in ROWS)
