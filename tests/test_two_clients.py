"""Two clients of one log: whatever one appends between what the other reads and appends, the outcome is that of some
order, what is said is true, and what was confirmed stands (replay 62).
"""

from __future__ import annotations

import multiprocessing
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pytest

from ctxkit import CtxkitError, Log
from ctxkit.core.decision import Decision
from ctxkit.core.ops import Op
from ctxkit.core.snapshot import Snapshot
from ctxkit.errors import UpdatedElsewhere
from ctxkit.logfile.commit import MEANWHILE, TRIES
from ctxkit.store.durable_append import append_line
from tests.effort import some
from tests.lawful import as_bytes

SPAWN = multiprocessing.get_context("forkserver")
"""Processes of their own, from one that has imported what all of them need and nothing else."""
SPAWN.set_forkserver_preload(["ctxkit", "tests.lawful"])
HANG = 120
WORDS = "the port is 8080 and the file is a.py " * 8
RECORDS = [
    {"role": "system", "content": "be brief"},
    *({"role": ("user", "assistant")[n % 2], "content": f"{n} {WORDS}", "ts": f"2026-02-01T10:{n:02}:00Z",
       **({"agent": "frodo"} if n in (4, 5) else {})} for n in range(14)),
]  # fmt: skip


def _row(n: int, record: dict[str, Any]) -> dict[str, Any]:
    role, words = record["role"], [{"type": "text", "text": record["content"]}]
    return {
        "type": role, "uuid": f"u{n}", "parentUuid": f"u{n - 1}" if n else None, "sessionId": "s",
        "timestamp": record["ts"], "message": {"role": role, "id": f"m{n}", "content": words},
    }  # fmt: skip


FOREIGN = as_bytes(_row(n, record) for n, record in enumerate(RECORDS[1:]))
"""The same as a session of Claude Code, whose ops stand in a sidecar."""


Start = tuple[Path, Snapshot]
"""A log, and a snapshot of it."""


class Client(NamedTuple):
    """What one client does. `settled`: a person, a model or an editor made it, so it may be refused with 75."""

    name: str
    call: Callable[[Log, Any], Op | None]
    settled: bool = False


def _settled(log: Log, decide: Callable[[], Decision]) -> Op | None:
    """A forget that somebody looked at and confirmed, on the log as it was read."""

    def confirmed() -> Decision:
        decision = decide()
        decision.settled = True
        return decision

    return log.commit("forget", confirmed)


def _compact(log: Log, *given: Any, **asked: Any) -> Op | None:
    log.config = log.config.given({"compact.cooldown": "off"})
    return log.compact(*given, force=True, **asked)


CLIENTS = [
    Client("mark", lambda log, _: log.mark("b")),
    Client("rewind", lambda log, _: log.rewind("a")),
    Client("forget 5", lambda log, _: log.forget("5")),
    Client("forget 4-7", lambda log, _: log.forget("4-7")),
    Client("forget by words", lambda log, _: log.forget(grep="^[357] ")),
    Client("forget, confirmed", lambda log, _: _settled(log, lambda: log.plan_forget("5-6")), settled=True),
    Client("remember", lambda log, _: log.remember("4-9")),
    Client("recall", lambda log, _: log.recall("3")),
    Client("clear", lambda log, _: log.clear()),
    Client("clear, protected kept", lambda log, _: log.clear(keep_protected=True)),
    Client("clear agent", lambda log, _: log.clear("frodo")),
    Client("protect", lambda log, _: log.protect("5")),
    Client("unprotect", lambda log, _: log.unprotect("8")),
    Client("window add", lambda log, _: log.shift_window(8 * 3600)),
    Client("window set", lambda log, _: log.set_window(3 * 3600)),
    Client("window off for frodo", lambda log, _: log.window_off("frodo")),
    Client("undo", lambda log, _: log.undo()),
    Client("undo 2", lambda log, _: log.undo("2")),
    Client("redo", lambda log, _: log.redo()),
    Client("trim", lambda log, _: log.trim(400)),
    Client("compact", lambda log, _: _compact(log, target="40%")),
    Client("compact 4-9", lambda log, _: _compact(log, "4-9", strategy="truncate")),
    Client("compact 4-9, told", lambda log, _: _compact(log, "4-9", summary="told in words"), settled=True),
    Client("edit", lambda log, given: log.edit(given[0]), settled=True),
    Client("restore", lambda log, given: log.restore(given[1])),
    Client("restore --replace", lambda log, given: log.restore(given[1], replace=True), settled=True),
]


def _by_its_program(before: str = "") -> Callable[[Log, Any], None]:
    """A line of another program, which knows nothing of locks: the user stopped it."""

    def write(log: Log, _: Any) -> None:
        assert log.opening.path is not None
        with log.opening.path.open("a") as file:
            file.write(before + '{"ctxkit":"interrupted"}\n')

    return write


PROGRAMS = [
    Client("interrupted by its program", _by_its_program()),
    Client("interrupted behind a row of no message", _by_its_program('{"type":"progress","uuid":"p"}\n')),
]
"""What another program writes into its log meanwhile; it never waits for us."""
BY_NAME = {client.name: client for client in (*CLIENTS, *PROGRAMS)}


KINDS = ("native", "claude-code")


@pytest.fixture(scope="module", params=KINDS)
def start(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Start:
    """A log with ops of all kinds in force and void, and a snapshot of it."""
    return started(request.param, tmp_path_factory.mktemp(request.param))


def started(kind: str, folder: Path) -> Start:
    """Such a log in this folder."""
    path = folder / "log.jsonl"
    path.write_bytes(as_bytes(RECORDS) if kind == "native" else FOREIGN)
    log = opened(path)
    kept = log.snapshot("x").kept
    log.set_window(40 * 3600)
    log.forget("3")
    log.protect("8")
    log.mark("a")
    log.forget("2")
    log.undo()
    return path, kept


def opened(path: Path) -> Log:
    """Without checkpoints, which stand beside the log."""
    log = Log.open(path, env={})
    log.config = log.config.given({"checkpoint.auto": False})
    return log


def copied(start: Path, folder: Path) -> Path:
    """The log and its sidecar, elsewhere."""
    folder.mkdir(parents=True)
    shutil.copy(start, folder / start.name)
    beside = start.parent / f"{start.name}.ctxkit"
    if beside.exists():
        shutil.copytree(beside, folder / beside.name)
    return folder / start.name


class Outcome(NamedTuple):
    """What a client was told: its words, or its error; and the op that it got. `dated`: its figures are of before."""

    said: str
    error: str
    op: str | None
    dated: bool = False


def ran(log: Log, client: Client, given: Any, op_id: str) -> Outcome:
    """Let a client go on with what it has read."""
    log.op_id = op_id
    try:
        op = client.call(log, given)
    except CtxkitError as error:
        return Outcome("", type(error).__name__, None)
    return Outcome(log.said, "", None if op is None else op.name, MEANWHILE in log.notes)


def drafted(log: Log) -> str:
    """The draft of an edit that takes one message out."""
    lines = log.draft().splitlines(keepends=True)
    at = next(k for k, line in enumerate(lines) if line.startswith("%% ") and k > 2)
    return "".join([*lines[:at], *lines[at + 2 :]])


def later(path: Path, other: Path) -> None:
    """Append to the log at `path`, and to its ops, what those at `other` have more."""
    for own, theirs in ((path, other), (beside(path), beside(other))):
        if theirs.exists():
            own.parent.mkdir(exist_ok=True)
            with own.open("ab") as file:
                file.write(theirs.read_bytes()[file.tell() :])


def beside(path: Path) -> Path:
    """The ops on a log that another program owns."""
    return path.parent / f"{path.name}.ctxkit" / "ops.jsonl"


def marking(held: Log) -> list[str]:
    """When this log is read anew for the first time, another client marks its place; the list tells that it did."""
    met: list[str] = []
    refresh = held.refresh

    def refreshed() -> None:
        refresh()
        if not met:
            met.append("marked")
            assert held.opening.path is not None
            opened(held.opening.path).mark("again")

    held.refresh = refreshed  # type: ignore[method-assign]
    return met


class Prepared(NamedTuple):
    """What one client did alone: the log then, and its context."""

    name: str
    path: Path
    shape: list[Any]


@pytest.fixture(scope="module")
def firsts(start: Start, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Prepared]:
    """Every client alone, once."""
    return prepared(start, tmp_path_factory.mktemp("first"))


def prepared(start: Start, folder: Path) -> dict[str, Prepared]:
    """The same, each in a folder of its own."""
    path, kept = start
    found = {}
    for place, client in enumerate((*CLIENTS, *PROGRAMS)):
        here = copied(path, folder / str(place))
        ran(opened(here), client, (drafted(opened(here)), kept), "first")
        found[client.name] = Prepared(client.name, here, opened(here).shape())
    return found


@contextmanager
def blind() -> Iterator[None]:
    """A commit that does not look again under the lock: what the machine must catch."""
    with (
        mock.patch("ctxkit.logfile.append._holds_op", lambda *_: False),
        mock.patch(
            "ctxkit.store.sidecar.Sidecar.append",
            lambda self, line, log, seen, read, recheck: append_line(self.ops_path, line),
        ),
    ):
        yield


def wrong(start: Start, folder: Path, name: str, first: Prepared, second: Client, *, again: bool = False) -> str:
    """What is wrong where one client appends between what `second` reads and appends; "" for nothing. `again`: while
    it decides anew, another one marks the place.
    """
    path, kept = start
    here = copied(path, folder / f"{name}-held")
    held = opened(here)
    held.state()
    given = (drafted(held), kept) if second.name == "edit" else ("", kept)
    later(here, first.path)
    met = marking(held) if again else []
    found = ran(held, second, given, "second")
    now = opened(here)
    if odd := [one for one in now.check() if "op" in one.where]:
        return f"check finds {odd}"
    if found.error == UpdatedElsewhere.__name__:
        if not second.settled:
            return "refused, although nobody settled it"
        return "" if now.shape() == first.shape else "refused, and something was changed"

    for third in (True, False) if met else (False,):  # the mark came before this one, or behind it
        there = copied(first.path, folder / f"{name}-one-by-one-{third}")
        if third:
            opened(there).mark("again")
        expected = ran(opened(there), second, given, "second")
        if found.dated:
            expected = expected._replace(said=found.said, dated=True)
        if found == expected and now.shape() == opened(there).shape():
            return ""
    other = copied(path, folder / f"{name}-the-other-way-round")
    expected = ran(opened(other), second, given, "second")
    if found.op is not None:
        ran(opened(other), BY_NAME[first.name], (drafted(opened(other)), kept), "first")
        return "" if second.settled and now.shape() == opened(other).shape() else "another context than in any order"
    return "" if found == expected and now.shape() == first.shape else f"said {found}, and in any order {expected}"


@pytest.mark.one_in(3)
@pytest.mark.parametrize("second", CLIENTS, ids=[client.name for client in CLIENTS])
def test_a_decision_is_appended_only_to_the_log_that_it_was_made_on(
    start: Start, firsts: dict[str, Prepared], tmp_path: Path, second: Client
) -> None:
    """Each command, between what the others read and append: as if one had come after the other.

    A push lets each command meet a third of them. `just chain` lets a third one come while the second decides anew.
    """
    others = some([*firsts.items()], 3, CLIENTS.index(second) + (start[0].parent.name[0] == "n"))
    found = {name: wrong(start, tmp_path, str(k), one, second) for k, (name, one) in enumerate(others)}
    assert {name: text for name, text in found.items() if text} == {}


def test_the_machine_sees_a_commit_that_does_not_look_again(
    start: Start, firsts: dict[str, Prepared], tmp_path: Path
) -> None:
    """With the look under the lock taken out, protected messages are forgotten, and undos meet."""
    with blind():
        assert wrong(start, tmp_path, "protect", firsts["protect"], BY_NAME["forget 5"])
        assert wrong(start, tmp_path, "undo", firsts["undo"], BY_NAME["undo"])
        assert wrong(start, tmp_path, "window", firsts["window add"], BY_NAME["window add"])


def many(path: Path, name: str, count: int, results: multiprocessing.Queue[tuple[str, str]]) -> None:
    """One process: the same command again and again, each time on the log as it was read before it waits.

    Refused with 75 after five ops of others, it does what the hint says: it tries again.
    """
    for _ in range(count):
        found = None
        while found is None:
            log = opened(path)
            log.state()
            try:
                op = BY_NAME[name].call(log, None)
                found = "", str(getattr(op, "op", None))
            except UpdatedElsewhere:
                continue
            except CtxkitError as error:
                found = type(error).__name__, ""
        results.put(found)


@pytest.mark.slow
def test_undos_of_many_processes_never_meet(tmp_path: Path) -> None:
    """Ten forgets, twenty undos in four processes: ten are done, each of another op; the others find nothing."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(as_bytes(RECORDS))
    for n in range(3, 13):
        opened(path).forget(str(n))
    results: multiprocessing.Queue[tuple[str, str]] = SPAWN.Queue()
    running = [SPAWN.Process(target=many, args=(path, "undo", 5, results)) for _ in range(4)]
    for process in running:
        process.start()
    found = [results.get(timeout=HANG) for _ in range(20)]
    for process in running:
        process.join(HANG)
    assert Counter(error for error, _ in found) == {"": 10, "NoSuchOp": 10}
    assert len({target for error, target in found if not error}) == 10
    log = opened(path)
    assert len(log.ledger.entries) == 20 and len(log.names()) == len(RECORDS)


def test_windows_of_many_threads_add_up(tmp_path: Path) -> None:
    """Two threads of one program, each with a log of its own: no window is lost."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(as_bytes(RECORDS))
    opened(path).set_window(3600)
    failed: list[str] = []

    def add() -> None:
        for _ in range(4):
            try:
                opened(path).shift_window(3600)
            except UpdatedElsewhere as error:  # five others came: said, and nothing was done
                failed.append(error.message)

    threads = [threading.Thread(target=add) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG)
    assert opened(path).state().windows[None] == (13 - len(failed)) * 3600


def test_what_was_confirmed_is_done_or_refused(tmp_path: Path) -> None:
    """A person looked at messages 5 and 6: a mark meanwhile does not matter; where 5 is protected since, 75."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(as_bytes(RECORDS))
    confirmed = BY_NAME["forget, confirmed"]
    held = opened(path)
    opened(path).mark("m")
    assert confirmed.call(held, None) is not None and 5 not in opened(path).names()
    opened(path).undo()
    held = opened(path)
    opened(path).protect("5")
    before = path.read_bytes()
    with pytest.raises(
        UpdatedElsewhere, match=r"other ops changed the messages that this one names.*nothing was appended"
    ):
        confirmed.call(held, None)
    assert path.read_bytes() == before


def test_after_five_times_it_is_refused(tmp_path: Path) -> None:
    """Somebody appends faster than this one decides: 75, and nothing was appended."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(as_bytes(RECORDS))
    log, decided = opened(path), 0

    def decide() -> Decision:
        nonlocal decided
        decided += 1
        decision = log.plan_forget("5")
        opened(path).mark(str(decided))
        return decision

    with pytest.raises(UpdatedElsewhere, match="again and again"):
        log.commit("forget", decide)
    assert decided == TRIES == len(opened(path).ledger.entries)
