"""The stories beside the readers' questions: whose they are, and that they go the way of any answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ctxkit.core.text.redaction import redact
from ctxkit.cut.summarize.prompt import END, HEADINGS, sections
from tests.bench.compaction.cases import Case
from tests.bench.compaction.questions import asked
from tests.bench.compaction.stories import BUDGETS, STORIES, checked, compacted, named

FILES = sorted(STORIES.glob("*.md"))


def case(name: str = "made/one:1") -> Case:
    """A made case of some steps."""
    prefix = [{"role": "user", "content": "Mend the cart."}]
    for n in range(30):
        prefix += [{"role": "assistant", "content": f"Step {n}: {'word ' * 40}"}, {"role": "user", "content": f"{n}?"}]
    return Case(name, 1, "made", True, False, prefix, [])


def test_one_for_each_case_and_budget() -> None:
    """All of the reported half, none of the tuned one."""
    cases = [one.case for one in asked() if one.half == "reported"]
    wanted = {f"{name.rpartition('/')[2].replace(':', '.')}.{budget}.1.md" for name in cases for budget in BUDGETS}
    assert {path.name for path in FILES} == wanted


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_its_form(path: Path) -> None:
    """The five headings in order, END last, and no secret that is known by its form."""
    text = path.read_text(encoding="utf-8").rstrip()
    assert tuple(one.name for one in sections(text)) == HEADINGS and text.endswith(f"\n{END}")
    assert redact(text)[1] == 0


def test_prompts_and_answers(tmp_path: Path) -> None:
    """A prompt is kept under its name; without an answer there is no context, with one the story stands in it."""
    prompts, answers = tmp_path / "prompts", tmp_path / "answers"
    prompts.mkdir()
    answers.mkdir()
    assert named(case(), 25) == "one.1.25"
    made, why, _ = compacted(case(), 25, answers, prompts)
    assert made == [] and why.endswith("exit code 3, no answer for one.1.25: nothing was changed")
    prompt = (prompts / "one.1.25.1.txt").read_text()
    assert prompt.startswith("You write the summary of") and "Step 3: word" in prompt
    (answers / "one.1.25.1.md").write_text("Goal:\n- the cart\n- `src/cart.py`\nEND\n")
    made, why, marked = compacted(case(), 25, answers)
    assert not why and marked == 1 and checked(answers, [marked]).startswith("In these 1 stories, 7 words, 1 names")
    assert sum("> - the cart" in json.dumps(str(one)) for one in made) == 1
