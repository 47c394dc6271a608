"""`just bench-stories`: `compact --strategy llm` on the sessions of the readers' questions; stories are files.

`--prompts FOLDER` writes the exact prompts that would be sent to a model, a file each. Whoever answers them sees
nothing else: neither the questions nor how a session went on. The answers are kept in `stories/`, under the names of
the prompts. Without an option the contexts with these stories are scored, beside `extract`.
"""

from __future__ import annotations

import argparse
import io
import json
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from ctxkit import Log
from ctxkit.core.messages import Content
from ctxkit.core.ops import Compact
from ctxkit.errors import ModelFailed
from tests.bench.__main__ import ROOT
from tests.bench.compaction import answering, honest
from tests.bench.compaction.cases import Case, contents, read, tokens
from tests.bench.compaction.intervals import mean
from tests.bench.compaction.page import put
from tests.bench.compaction.questions import Asked, asked
from tests.bench.compaction.readers import Honest, Scored, cell, half, run, scores_of
from tests.bench.compaction.ready import all_cases, ready
from tests.bench.compaction.sessions import files
from tests.shared import SHARED

STORIES = Path(__file__).with_name("stories")
BUDGETS = (10, 25)
INPUT = "28000"
"""The config's compact.input: one prompt for each session, of what one reader reads with care."""
STORY = "ctxkit llm, with a story"
MEASURES = {"keys": "keys found", "questions": "questions answered whole", "FRR_ctx": "FRR_ctx", "errors": "errors"}


def main() -> int:
    """Write the prompts, or print and write the scores."""
    words = argparse.ArgumentParser(prog="just bench-stories", description=__doc__)
    words.add_argument("--prompts", type=Path, metavar="FOLDER", help="write the prompts there, and score nothing")
    words.add_argument("--answers", type=Path, metavar="FOLDER", default=STORIES, help="other stories than those here")
    words.add_argument("--half", choices=("tuned", "reported"), default="reported")
    words.add_argument("--write", action="store_true", help="the table, into docs/compaction.md")
    given = words.parse_args()
    paths = files(SHARED)
    if not paths:
        print("the shared transcripts are not here", file=sys.stderr)
        return 2
    questions = {one.case: one for one in asked() if one.half == given.half}
    every = all_cases(paths)
    cases = [case for case in every if case.name in questions]
    if given.prompts is not None:
        given.prompts.mkdir(parents=True, exist_ok=True)
        for case in cases:
            for budget in BUDGETS:
                compacted(case, budget, given.answers, given.prompts)
        return 0
    marked: list[int] = []
    rows = list(scored(every, cases, questions, given.answers, marked))
    lines = [*table(rows), checked(given.answers, marked)]
    if given.write:
        put(ROOT, "stories", lines)
    print("\n".join(lines))
    return 0


def checked(answers: Path, marked: Sequence[int]) -> str:
    """How many words the stories have, and how many names in them are marked. `marked`: in each story."""
    words = sum(len(path.read_text(encoding="utf-8").split()) for path in answers.glob("*.*"))
    return f"In these {len(marked)} stories, {words:,} words, {sum(marked):,} names are marked `(not in the log)`."


def named(case: Case, budget: int) -> str:
    """The name of a prompt and its answer, without number and ending."""
    return f"{case.name.rpartition('/')[2].replace(':', '.')}.{budget}"


def compacted(case: Case, budget: int, answers: Path, prompts: Path | None = None) -> tuple[list[Content], str, int]:
    """The context of a case at `budget` percent with the story that is in `answers`; why it has none, else ""; and how
    many names of the story are marked.

    The story takes the way of any model's: through a program, its checks, and what is above and below it.
    """
    raw = "".join(json.dumps(record) + "\n" for record in case.prefix).encode()
    log = Log.open(io.BytesIO(raw), env={"CTXKIT_COUNTER": "o200k_base", "CTXKIT_COMPACT_INPUT": INPUT})
    log.dry_run = True
    goal = sum(tokens(contents(log))) * budget // 100
    with tempfile.TemporaryDirectory(prefix="ctxkit-stories-") as folder:
        job = Path(folder, "job")
        kept = "" if prompts is None else str(prompts.resolve())
        job.write_text(
            json.dumps({"name": named(case, budget), "prompts": kept, "answers": str(answers.resolve()), "asked": 0})
        )
        program = shlex.join([sys.executable, str(Path(answering.__file__).resolve()), str(job)])
        try:
            op = log.compact(budget=goal, summary_model=f"cmd:{program}", fallback=False)
        except ModelFailed as error:
            return [], error.message.replace(program, "..."), 0
    if isinstance(op, Compact):
        log.look_through(op)
    marked = int(op.asked.get("marked", 0)) if isinstance(op, Compact) else 0
    return [log.full(one) for one in log.entries()], "", marked


def scored(
    every: Sequence[Case], cases: Sequence[Case], questions: dict[str, Asked], answers: Path,
    marked: list[int],
) -> Iterator[Scored]:  # fmt: skip
    """With a story and without, every case that has one at every budget. `marked`: gets the marked names of each."""
    said = {case.name: honest.said(contents(read(case.prefix))) for case in every if not case.beyond}
    generic = honest.common((case.repository, said[case.name]) for case in every if case.name in said)
    for case in cases:
        one = ready(case)
        prefix = honest.said(one.contents)
        later = honest.later(prefix, honest.said(contents(read(case.suffix))))
        own = Honest(one, later, honest.facts(prefix), questions[case.name])
        for budget in BUDGETS:
            made, why, names = compacted(case, budget, answers)
            if why:
                print(f"{named(case, budget)}: {why}", file=sys.stderr)
                continue
            marked.append(names)
            used = sum(tokens(made)) / one.total
            yield Scored(case.name, half(case), case.main, STORY, budget, scores_of(own, made, generic), used)
            if (plain := run(own, "ctxkit extract", budget, generic)) is not None:
                yield plain


def table(runs: Sequence[Scored]) -> Iterator[str]:
    """A row for each strategy and budget; those of Claude Code and Codex, and all."""
    for label, some in (("Claude Code and Codex", [one for one in runs if one.main]), ("all programs", list(runs))):
        if not some:
            continue
        cases = {one.case for one in some}
        count = sum(len(one.questions) for one in asked() if one.case in cases)
        yield f"| {label}: {len(cases)} cases, {count} questions | tokens | {' | '.join(MEASURES.values())} | used |"
        yield "|---" * (len(MEASURES) + 3) + "|"
        for name, budget in sorted({(one.strategy, one.budget) for one in some}, key=lambda row: (row[1], row[0])):
            rows = [one for one in some if (one.strategy, one.budget) == (name, budget)]
            cells = [cell(mean([one.scores[measure] for one in rows])) for measure in MEASURES]
            used = 100 * sum(one.used for one in rows) / len(rows)
            yield f"| {name} | {budget} % | {' | '.join(cells)} | {used:.1f} |"
        yield ""


if __name__ == "__main__":
    sys.exit(main())
