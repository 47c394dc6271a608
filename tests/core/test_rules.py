"""The rules of replay, one by one: the tables in fixtures/rules, read and checked here (its README.md says how)."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ctxkit import errors
from ctxkit.changes import clear, forget, marks, protect, recall, undo, window
from ctxkit.core.context import Projection, names, shown_names
from ctxkit.core.decision import Decision
from ctxkit.core.ended_ops import ended
from ctxkit.core.item_names import NOTHING, Names
from ctxkit.core.ledger import build as build_ledger
from ctxkit.core.ops import Compact, Resummarized, to_body
from ctxkit.core.reasons import Reasons
from ctxkit.core.select import Selection, parse_ids, resolve
from ctxkit.core.state import State
from ctxkit.core.times import iso
from ctxkit.core.times import written as seconds
from ctxkit.core.transcript import ProgramCut, View
from ctxkit.core.visibility import Visibilities
from ctxkit.cut.summarize.left_out import left_out
from ctxkit.errors import CtxkitError
from tests import build

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "fixtures" / "rules"


def by_rule(state: State) -> forget.Again:
    """What makes a summary again that needs no message read: that of `truncate`."""

    def again(op: Compact, told: Names, _: Names) -> Resummarized | None:
        return Resummarized(op=op.id, text=left_out(told, state.label)) if op.strategy == "truncate" else None

    return again


class Case(NamedTuple):
    """One case of a table: the rules in its parentheses, its sentence, its lines."""

    rules: tuple[str, ...]
    says: str
    lines: list[tuple[str, str]]


class Table(NamedTuple):
    """One file: its title, its rules by name, and its cases in order, with the rule that each stands under."""

    title: str
    rules: dict[str, str]
    cases: list[tuple[str, Case]]


def read(path: Path) -> Table:
    """One table. A line that is no comment, no rule, no case's head and none of its lines is an error."""
    lines = path.read_text(encoding="utf-8").splitlines()
    found = Table(lines[0].removeprefix("# "), {}, [])
    under = ""
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        if rule := re.fullmatch(r"\[([^]]+)\] (.+)", line):
            under = rule[1]
            assert under not in found.rules, f"{path.name}:{number}: {under} is there twice"
            found.rules[under] = rule[2]
        elif head := re.fullmatch(r"((?:\([^()]+\) )+)(.+)", line):
            found.cases.append((under, Case(tuple(re.findall(r"\(([^()]+)\)", head[1])), head[2], [])))
        else:
            pair = re.fullmatch(r"([a-z]+): +(.*)", line)
            assert pair is not None, f"{path.name}:{number}: {line!r}"
            assert found.cases, f"{path.name}:{number}: {line!r} belongs to no case"
            found.cases[-1][1].lines.append((pair[1], pair[2].strip()))
    return found


def told(names: str) -> Names:
    """Names of a table: `3-5,@2.1`."""
    return Names.parse(re.sub(r"@(\d+)", r"a\1", names))


class Checked:
    """One case being checked: its lines are done in order, each by the method of its key."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self.view: View | None = None
        self.number: int | None = None
        self.seen = Projection()
        self.decision: Decision | None = None
        self.failure: CtxkitError | None = None
        self.chosen = NOTHING
        self.checks = 0

    def state(self) -> State:
        """The state of the log, as far as it is set up."""
        return build.state_of(self.records, self.view, at=self.number)

    def log(self, text: str) -> None:
        self.records = build.log(text)

    def view_(self, text: str) -> None:
        fields = dict(word.split("=") for word in text.split())
        inactive = [pair.split(":") for pair in fields.get("inactive", "").split("+") if pair]
        away = {n: reason for numbers, reason in inactive for n in told(numbers).numbers}
        threads = {}
        for pair in fields.get("threads", "").split("+") if "threads" in fields else ():
            name, numbers = pair.split(":")
            threads[name] = View([n for part in numbers.split(",") for n in told(part).numbers], {})
            away.update(dict.fromkeys(threads[name].order, "sidechain"))
        count = len(build.plain(self.records))
        order = [n for part in fields["order"].split(",") for n in told(part).numbers] if "order" in fields else None
        self.view = View(order or [n for n in range(1, count + 1) if n not in away], away, threads=threads)

    def cut(self, text: str) -> None:
        fields = dict(word.split("=") for word in text.split())
        if self.view is None:
            self.view_("")
        assert self.view is not None
        moved = [n for part in fields.get("moved", "").split(",") for n in told(part).numbers]
        out = list(told(fields["out"]).numbers)
        self.view.cuts.append(
            ProgramCut(int(fields["row"]), out, "compacted by its program", moved, int(fields.get("after", 0)))
        )

    def at(self, text: str) -> None:
        self.number = int(text)

    def projection(self, text: str) -> None:
        fields = dict(word.split("=") for word in text.split())
        windows = {key.partition(".")[2] or None: int(v) for key, v in fields.items() if key.startswith("window")}
        now = seconds(f"2026-02-01T{fields['now']}:00Z") if "now" in fields else None
        newest = int(fields["newest"]) if "newest" in fields else None
        self.seen = Projection(fields.get("agent"), fields.get("thread"), now, windows, newest)

    def context(self, text: str) -> None:
        self.checks += 1
        assert (build.written(names(self.state(), self.seen)) or "none") == text

    def present(self, text: str) -> None:
        self.checks += 1
        assert build.spoken(self.state().present()) == text

    def protected(self, text: str) -> None:
        state = self.state()
        self.checks += 1
        assert (build.spoken(Names.of(filter(state.protected, state.everything()))) or "none") == text

    def marks(self, text: str) -> None:
        self.checks += 1
        assert (" ".join(str(mark.label) for mark in self.state().marks) or "none") == text

    def ops(self, text: str) -> None:
        ledger = build_ledger(build.transcript(self.records))
        self.checks += 1
        assert " ".join(f"{e.number}{'-void' if e.void else ''}" for e in ledger.entries) == text

    def ended(self, text: str) -> None:
        number, _, words = text.partition(" = ")
        self.checks += 1
        found = ended(self.state()).get(int(number))
        assert (found.text if found is not None else "none") == words

    def stubs(self, text: str) -> None:
        self.checks += 1
        assert (build.spoken(Names.of(self.state().board.stubs)) or "none") == text

    def words(self, text: str) -> None:
        name, _, words = text.partition(" = ")
        item = told(name).single
        self.checks += 1
        assert self.state().board.items[item].message["content"] == words

    def time(self, text: str) -> None:
        name, _, moment = text.partition(" = ")
        state = self.state()
        found = state.last if name == "last" else state.effective(told(name).single or 0)
        self.checks += 1
        assert (iso(found)[11:16] if found is not None else "none") == moment

    def why(self, text: str) -> None:
        name, _, words = text.partition(": ")
        state = self.state()
        single = told(name).single
        assert single is not None
        reasons = Reasons(Visibilities(state, self.seen)).of(single)
        self.checks += 1
        assert words in "; ".join(f"{reason.text} [{reason.back}]" for reason in reasons)

    def warns(self, text: str) -> None:
        self.checks += 1
        assert text in "\n".join(self.state().warnings)

    def refused(self, text: str) -> None:
        self.checks += 1
        with pytest.raises((errors.Misfit, errors.DamagedOp), match=re.escape(text)):
            self.state()

    def decide(self, text: str) -> None:
        self.decision = self.failure = None
        try:
            self.decision = decided(self, text.split())
        except CtxkitError as error:
            self.failure = error

    def op(self, text: str) -> None:
        assert self.failure is None, self.failure
        assert self.decision is not None
        op = self.decision.op
        fields = {} if op is None else to_body(op)
        shown = [f"{key}={build.spoken(str(fields[key]))}" for key in fields if key not in ("ctxkit", "v", "at")]
        self.checks += 1
        assert (" ".join([str(fields["ctxkit"]), *shown]) if fields else "none") == text

    def said(self, text: str) -> None:
        assert self.decision is not None, self.failure
        self.checks += 1
        assert self.decision.said == text

    def note(self, text: str) -> None:
        assert self.decision is not None, self.failure
        self.checks += 1
        assert text in "\n".join(self.decision.notes)

    def error(self, text: str) -> None:
        kind, _, words = text.partition(": ")
        assert self.failure is not None, self.decision
        self.checks += 1
        assert type(self.failure).__name__ == kind
        assert words in self.failure.message

    def then(self, text: str) -> None:
        assert self.decision is not None, self.failure
        assert self.decision.op is not None
        self.records = build.appended(self.records, self.decision.op)
        self.context(text)

    def test(self, text: str) -> None:
        path, _, name = text.partition("::")
        self.checks += 1
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")

    def selected(self, text: str) -> None:
        assert self.failure is None, self.failure
        self.checks += 1
        assert build.spoken(self.chosen) == text


def decided(case: Checked, words: list[str]) -> Decision:
    """What the policy of a command decides; `select` only chooses."""
    command, at = words.pop(0), build.here(case.records)
    state = case.state()
    asked: dict[str, Any] = {"ids": ()}
    flags: dict[str, Any] = {}
    while words:
        word = words.pop(0)
        key = word.removeprefix("--").replace("-", "_")
        if not word.startswith("--"):
            asked["ids"] = (*asked["ids"], label(state, word))
        elif key in ("invert", "include_protected", "keep_summary", "keep_protected", "force"):
            (asked if key == "invert" else flags)[key] = True
        elif key == "planning":
            flags[key] = parse_ids(state, [label(state, words.pop(0))])
        elif key in ("since", "until"):
            asked[key] = seconds(f"2026-02-01T{words.pop(0)}:00Z")
        else:
            asked[key] = words.pop(0)
    ids = asked["ids"]
    simple: dict[str, Callable[[], Decision]] = {
        "mark": lambda: marks.mark(at, ids[0] if ids else None),
        "rewind": lambda: marks.rewind(state, at, ids[0] if ids else None),
        "clear": lambda: clear.clear(state, at, asked.get("agent"), **flags),
        "undo": lambda: undo.undo(state.ledger, at, ids[0] if ids else None),
        "redo": lambda: undo.redo(state.ledger, at),
        "window": lambda: windowed(state, case, ids, asked.get("agent")),
    }
    if command in simple:
        return simple[command]()
    case.chosen = resolve(
        state, Selection(**asked), shown_names(state, asked.get("thread")), lambda name: text_of(case, name)
    )
    match command:
        case "forget":
            return forget.forget(state, at, forget.ForgetRequest(case.chosen, **flags), by_rule(state))
        case "remember":
            return forget.remember(state, at, forget.ForgetRequest(case.chosen, **flags), by_rule(state))
        case "protect":
            return protect.protect(state, at, case.chosen)
        case "unprotect":
            return protect.unprotect(state, at, case.chosen, **flags)
        case "recall":
            return recall.recall(state, at, case.chosen, case.seen)
    assert command == "select"
    return Decision(None, "")


def windowed(state: State, case: Checked, words: tuple[str, ...], agent: str | None) -> Decision:
    """`window set 3600`, `add`, `reset`, `off`."""
    at, bounds = build.here(case.records), window.Bounds(case.seen.windows)
    match words:
        case ("set", duration):
            return window.set_to(state, at, bounds, int(duration), agent)
        case ("add", duration):
            return window.shift(state, at, bounds, int(duration), agent)
        case ("reset",):
            return window.reset(state, at, bounds, agent)
    assert words == ("off",)
    return window.off(state, at, bounds, agent)


def label(state: State, word: str) -> str:
    """`@2.1` as people type it: the op's number."""
    return word.replace("@", "")


def text_of(case: Checked, name: Any) -> str:
    """The words of a message, for --grep."""
    if isinstance(name, int):
        return str(build.plain(case.records)[name - 1]["content"])
    return str(case.state().board.items[name].message["content"])


TABLES = [read(path) for path in sorted(FOLDER.glob("*.txt"))]
CASES = [case for table in TABLES for _, case in table.cases]


@pytest.mark.parametrize("case", CASES, ids=[f"({','.join(case.rules)}) {case.says}" for case in CASES])
def test_case(case: Case) -> None:
    """Every line of the case holds, and it has one that checks something."""
    checked = Checked()
    for key, text in case.lines:
        getattr(checked, "view_" if key == "view" else key)(text)
    assert checked.checks


def test_each_rule_has_a_case_and_each_case_a_rule() -> None:
    """No rule is declared twice; numbers are not used again."""
    rules = [rule for table in TABLES for rule in table.rules]
    assert sorted(rules) == sorted(set(rules))
    assert {rule for case in CASES for rule in case.rules} == set(rules)


def test_readme_explains_every_key() -> None:
    """What a newcomer finds in a table is in the README beside it."""
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    used = {key for case in CASES for key, _ in case.lines}
    assert {key for key in used if f"`{key}`" not in text} == set()
