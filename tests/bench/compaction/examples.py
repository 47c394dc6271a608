"""`just bench-examples`: eight made sessions, each summarized by `extract` of two checkouts, side by side.

CTXKIT_BEFORE names the folder of the older checkout. `--write` puts both into docs/compaction-examples.md. The sessions
are made here, of different kinds, so nothing of a real one is shown. What one who goes on would look for is written
down beside each.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ctxkit import Log
from tests.bench.__main__ import ROOT
from tests.bench.compaction.made import NOUNS, VERBS, WORDS
from tests.bench.compaction.others import BEFORE

PAGE = "docs/compaction-examples.md"
SHARE = 15
"""Percent of the tokens that each session is compacted to."""
SUMMARY = """
import io, json, sys
from ctxkit import Log
log = Log.open(io.BytesIO(sys.stdin.buffer.read()), env={"CTXKIT_COUNTER": "o200k_base"})
log.dry_run = True
op = log.compact(budget=int(sys.argv[1]), strategy="extract", keep_last=0)
log.look_through(op)
texts = [part.text for one in log.entries() for part in log.full(one).parts if hasattr(part, "text")]
print(json.dumps([op.text, "\\n".join(texts)]))
"""
Row = dict[str, Any]


class Example(NamedTuple):
    """A session. `needs`: what one who goes on looks for, as words that stand in it."""

    name: str
    raw: bytes
    needs: tuple[str, ...]


class Session:
    """A session as chat records, with what stands between the steps that matter."""

    def __init__(self, seed: int) -> None:
        self.rows: list[Row] = []
        self.dice = random.Random(seed)

    def user(self, text: str) -> Session:
        """What somebody typed."""
        self.rows.append({"role": "user", "content": text})
        return self

    def says(self, text: str) -> Session:
        """What the model said."""
        self.rows.append({"role": "assistant", "content": text})
        return self

    def call(self, tool: str, result: str, failed: bool = False, **arguments: Any) -> Session:
        """A call with its result."""
        made = {"name": tool, "arguments": json.dumps(arguments, ensure_ascii=False)}
        call = {"id": f"call_{len(self.rows)}", "type": "function", "function": made}
        self.rows.append({"role": "assistant", "content": None, "tool_calls": [call]})
        answer: Row = {"role": "tool", "tool_call_id": call["id"], "content": result}
        self.rows.append(answer | {"is_error": True} if failed else answer)
        return self

    def looks(self, count: int, suffix: str = "py") -> Session:
        """So many files read, of which nothing is needed later."""
        for _ in range(count):
            verb, noun = self.dice.choice(VERBS), self.dice.choice(NOUNS)
            lines = [f"{n}\t{verb}_{noun}_{n} = {' '.join(self.dice.choices(WORDS, k=7))}" for n in range(1, 15)]
            self.call("Read", "\n".join(lines), file_path=f"/home/me/port/{noun}/{verb}.{suffix}")
        return self

    @property
    def raw(self) -> bytes:
        """As a log."""
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows).encode()


def examples() -> Iterator[Example]:
    """All of them."""
    made = Session(1).user("The ledger drops the last row. Mend it; do not change the public API of ledger.py.")
    made.looks(6).call("Edit", "The file was updated.", file_path="/home/me/port/src/ledger.py",
                       old_string="rows[:-1]", new_string="rows[:last + 1]")  # fmt: skip
    made.call("Bash", PYTEST, failed=True, command="pytest -q tests/test_ledger.py").looks(5)
    made.says("The bound is inclusive now, so the empty ledger fails. Next I guard `last` against -1 in `Ledger.tail`.")
    yield Example("A failing pytest", made.raw, (
        "do not change the public API", "assert [] == [0]", "tests/test_ledger.py:41", "guard `last` against -1",
    ))  # fmt: skip

    made = Session(2).user("Make the retry tests pass under -race.")
    made.looks(5, "go").call("Bash", GO, failed=True, command="go test -race ./internal/retry/...")
    made.call(
        "Edit", "ok", file_path="/home/me/port/internal/retry/backoff.go", old_string="n++", new_string="n.Add(1)"
    )
    made.call("Bash", GO_AFTER, failed=True, command="go test -race ./internal/retry/...").looks(5, "go")
    made.says("The race is gone. What is left is the rounding in TestBackoffCap.")
    yield Example("go test, twice", made.raw, (
        "backoff_test.go:88", "expected: 30s", "actual  : 31s", "backoff.go", "rounding in TestBackoffCap",
    ))  # fmt: skip

    made = Session(3).user("Move the settings page to the new form hook. Keep the German labels as they are.")
    made.call("TodoWrite", "ok", todos=[
        {"content": "Replace useForm in SettingsPage.tsx", "status": "completed"},
        {"content": "Type the onSubmit handler", "status": "in_progress"},
        {"content": "Delete legacyForm.ts", "status": "pending"},
    ]).looks(6, "tsx")  # fmt: skip
    made.call(
        "Edit", "ok", file_path="/home/me/port/web/SettingsPage.tsx", old_string="useForm(", new_string="useFormNext("
    )
    made.call("Bash", TSC, failed=True, command="npx tsc --noEmit").looks(5, "ts")
    made.says("Two type errors are left, both from the handler.")
    yield Example("TypeScript, with a list of tasks", made.raw, (
        "Keep the German labels", "Type the onSubmit handler", "Delete legacyForm.ts", "TS2345",
        "SettingsPage.tsx(57,19)",
    ))  # fmt: skip

    made = Session(4).user(
        "Which of our three queues can lose a message when the broker restarts? Only read, no edits."
    )
    made.looks(8).call("Grep", "queue/outbox.py:112: ack(before=True)\nqueue/inbox.py:40: ack(before=False)",
                       pattern="ack\\(before")  # fmt: skip
    made.says(
        "The outbox acknowledges before it writes (outbox.py:112), so a restart between the two loses one message."
    )
    made.looks(6).says("The inbox is safe. I have not looked at the replay queue yet.")
    yield Example("Research", made.raw, (
        "Only read, no edits", "outbox.py:112", "acknowledges before it writes", "not looked at the replay queue",
    ))  # fmt: skip

    made = Session(5).user(
        "Plan the move from one database to one per customer. 400 customers, no downtime over 5 minutes."
    )
    made.says(PLAN).looks(8, "sql").user("Use schema per customer, not a database each. Billing goes last.")
    made.says(
        "Then one cluster with 400 schemas, and migrations run in batches of 20. Billing is the last batch."
    ).looks(7, "sql")
    made.user("Write the runbook for the first batch now.")
    yield Example("Long planning", made.raw, (
        "no downtime over 5 minutes", "schema per customer", "Billing goes last", "batches of 20",
        "Write the runbook for the first batch",
    ))  # fmt: skip

    made = Session(6).user("The importer must skip rows without an id and count them. Run the whole suite at the end.")
    made.looks(6).call(
        "shell", "done", command=["bash", "-lc", "sed -i 's/raise KeyError/skipped += 1/' importer/rows.py"]
    )
    made.call("shell", CARGO, failed=True, command=["bash", "-lc", "cargo test -p importer"]).looks(6, "rs")
    made.says("The count is off by one: the header is counted as skipped.")
    log = Log.open(io.BytesIO(made.raw), env={})
    raw = b"".join(log.session("codex", id="5e551011-0000-4000-8000-000000000006", cwd="/home/me/port").pieces)
    yield Example("A session of Codex", raw, (
        "Run the whole suite at the end", "left: 3", "right: 2", "header is counted as skipped",
    ))  # fmt: skip

    made = Session(7).user(
        f"CI is red since this morning. This is the log:\n\n{CI}\n\nFind out why, and mend only that."
    )
    made.looks(9).says("The lock file pins node 18 and the image has 20. I change the image, not the lock file.").looks(
        4
    )
    yield Example("A pasted log", made.raw, (
        "mend only that", "EBADENGINE", "wanted: {\"node\":\"18.x\"}", "I change the image",
    ))  # fmt: skip

    made = Session(8)
    for asks, answers in LANGUAGES:
        made.user(asks).looks(3).says(answers)
    yield Example("Five languages", made.raw, (
        "Ändere nie die Migrationen", "utilise le cache Redis", "zona horaria de Madrid", "日志只保留七天",
        "テストは最後に",
    ))  # fmt: skip


PYTEST = """..F.
=================================== FAILURES ===================================
_______________________________ test_empty_tail ________________________________
    def test_empty_tail():
>       assert Ledger([]).tail() == [0]
E       assert [] == [0]
tests/test_ledger.py:41: AssertionError
FAILED tests/test_ledger.py::test_empty_tail - assert [] == [0]
1 failed, 3 passed in 0.21s"""
GO = """WARNING: DATA RACE
--- FAIL: TestRetryCounts (0.01s)
    testing.go:1398: race detected during execution of test
FAIL	port/internal/retry	0.214s"""
GO_AFTER = """--- FAIL: TestBackoffCap (0.00s)
    backoff_test.go:88:
\tError Trace:\tbackoff_test.go:88
\tError:      \tNot equal:
\t            \texpected: 30s
\t            \tactual  : 31s
FAIL\tport/internal/retry\t0.198s"""
TSC = """web/SettingsPage.tsx(57,19): error TS2345: Argument of type 'FormEvent' is not assignable to 'SubmitValues'.
web/SettingsPage.tsx(61,5): error TS2322: Type 'void' is not assignable to type 'Promise<void>'.
Found 2 errors in 1 file."""
CARGO = """running 12 tests
test rows::counts_skipped ... FAILED
thread 'rows::counts_skipped' panicked at importer/src/rows.rs:77:9:
assertion `left == right` failed
  left: 3
 right: 2
test result: FAILED. 11 passed; 1 failed"""
CI = """[08:01:12] runner image: node-20-slim
[08:01:40] npm ci
[08:01:44] npm error code EBADENGINE
[08:01:44] npm error engine Unsupported engine
[08:01:44] npm error notsup wanted: {"node":"18.x"} (current: {"node":"20.11.1"})
[08:01:44] make: *** [install] Error 1"""
PLAN = """Three ways: a database each, a schema each, or a column. A database each isolates best and costs most.
I decided for batches rather than one night, because a rollback of 400 at once takes hours.
1. Copy with logical replication.
2. Switch reads.
3. Switch writes within 5 minutes."""
LANGUAGES = (
    ("Ändere nie die Migrationen von gestern, nur neue sind erlaubt.", "Verstanden. Neue Dateien beginnen mit 0042."),
    (
        "Pour les sessions, utilise le cache Redis et pas la base.",
        "D'accord. J'ai choisi une durée de vie de 15 minutes.",
    ),
    ("Las fechas van siempre en la zona horaria de Madrid.", "Hecho. La función es `to_madrid` en fechas.py."),
    ("日志只保留七天。删除更早的文件。", "好的。已在 rotate_logs 中设置 7 天。"),
    ("テストは最後に一度だけ走らせてください。", "分かりました。最後に `make check` を実行します。"),
)


class Summary(NamedTuple):
    """A summary of an example. `total`: tokens of the session; `found`: how many of the needs the context has then."""

    text: str
    total: int
    budget: int
    found: int


def summary(example: Example, folder: Path) -> Summary:
    """By the ctxkit of this folder."""
    log = Log.open(io.BytesIO(example.raw), env={"CTXKIT_COUNTER": "o200k_base"})
    total = int(log.status(assembly=False).tokens.used)
    words = [sys.executable, "-c", SUMMARY, str(total * SHARE // 100)]
    ran = subprocess.run(words, input=example.raw, cwd=folder, capture_output=True, check=True)
    text, context = json.loads(ran.stdout)
    flat = " ".join(context.split())
    found = sum(" ".join(one.split()) in flat for one in example.needs)
    return Summary(text, total, total * SHARE // 100, found)


def page(older: Path, newer: Path = ROOT) -> Iterator[str]:
    """The page: a table, then both summaries of each session."""
    rows, blocks = [], list[str]()
    for number, example in enumerate(examples(), 1):
        before, after = summary(example, older), summary(example, newer)
        cells = [f"{after.total:,}", f"{after.budget:,}"]
        cells += [f"{one.found} of {len(example.needs)}" for one in (before, after)]
        rows.append(f"| {number}. {example.name} | {' | '.join(cells)} |")
        looked = ", ".join(f"`{one}`" if "`" not in one else f"`` {one} ``" for one in example.needs)
        blocks += [f"## {number}. {example.name}", "", f"Looked for: {looked}.", ""]
        for label, one in (("Before", before), ("After", after)):
            blocks += [f"**{label}**", "", "````text", one.text.strip(), "````", ""]
    yield from HEAD
    yield "| session | tokens | budget | found before | found after |"
    yield "|---|---:|---:|---:|---:|"
    yield from rows
    yield ""
    yield from blocks[:-1]


HEAD = (
    "# Summaries before and after",
    "",
    f"Eight made sessions of different kinds, each compacted by `extract` to {SHARE} % of its tokens; of the newest "
    "messages none is kept beside the summary. The first message stays in the context as it is, and is not shown here.",
    '"Before" is commit 74eb4bb1: without the state of the session, failures by runner, and superseded lines. '
    '"After" is this version.',
    "What one who goes on would look for is written down beside each session "
    "([examples.py](../tests/bench/compaction/examples.py)). The table counts how much of it the context has, word for "
    "word. These are examples, no benchmark: [the figures of real sessions](compaction.md#what-a-reader-needs).",
    "`just bench-examples --write` writes this page.",
    "",
)


def main() -> int:
    """Print the page; with --write, write it. 2 where no older checkout is named."""
    words = argparse.ArgumentParser(prog="just bench-examples", description=__doc__)
    words.add_argument("--write", action="store_true", help=PAGE)
    given = words.parse_args()
    if not os.environ.get(BEFORE):
        print(f"{BEFORE} names no checkout of an older ctxkit: git worktree add DIR 74eb4bb1", file=sys.stderr)
        return 2
    text = "\n".join(page(Path(os.environ[BEFORE]))) + "\n"
    if given.write:
        (ROOT / PAGE).write_text(text, encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
