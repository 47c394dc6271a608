"""An edit by an editor: again where the draft has mistakes; the draft stays until its op is durable."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ctxkit.api.log import Log
from ctxkit.core.select import Selection
from ctxkit.edit.editor import Drafting, marked
from ctxkit.edit.parse import parse
from ctxkit.errors import BadDraft, EditorFailed, NothingChanges, UpdatedElsewhere, Usage
from ctxkit.store.drafts import left
from ctxkit.store.sidecar import Sidecar
from tests.cli.runner import SMALL, lines, message
from tests.edit.test_edit import numbers
from tests.effort import one_of
from tests.faults import Tally, run_matrix
from tests.lawful import NOW
from tests.test_kill import is_ours

OP = "c0ffee000001"
CANARY = "canary-7f3a9c"
SECRET = SMALL.replace(b"first question", CANARY.encode())
Change = Callable[[str], str]


def editor(*changes: Change) -> Callable[[Path], None]:
    """Makes one change after the other, one each time."""
    waiting = list(changes)

    def edit(path: Path) -> None:
        (path.parent / ".draft.txt.swp").write_text(path.read_text())
        path.write_text(waiting.pop(0)(path.read_text()))

    return edit


def without(n: int) -> Change:
    """Message n is commented out."""
    return lambda text: text.replace(f"\n%% {n} ", f"\n#%% {n} ")


def drafting(log: Log, edit: Callable[[Path], None], *, again: bool = False) -> Drafting:
    """Of all there is."""
    return Drafting(log, Selection(), edit, lambda error: again)


def written(tmp_path: Path, raw: bytes = SECRET) -> Path:
    path = tmp_path / "chat.jsonl"
    path.write_bytes(raw)
    return path


def holding(folder: Path) -> list[str]:
    """The files that hold private text."""
    return [path.name for path in folder.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]


def test_nothing_is_left(tmp_path: Path) -> None:
    """Neither a draft nor what the editor put beside it, nor a folder; the op is there."""
    path = written(tmp_path)
    op = drafting(Log.open(path), editor(without(3))).edit()
    assert op is not None and numbers(Log.open(path)) == ["1", "2", *map(str, range(4, 12))]
    assert holding(tmp_path) == ["chat.jsonl"] and not (Sidecar(path).folder / "drafts").exists()


@pytest.mark.parametrize("change", [lambda text: "", lambda text: text.replace("\n%% ", "\n#%% "), lambda text: text])
def test_cancelled_or_unchanged(tmp_path: Path, change: Change) -> None:
    """Nothing is appended, and nothing left."""
    path = written(tmp_path)
    try:
        assert drafting(Log.open(path), editor(change)).edit() is None
    except NothingChanges:
        assert change("\n%% 1 ") != "\n%% 1 "
    assert path.read_bytes() == SECRET and holding(tmp_path) == ["chat.jsonl"]


def test_again(tmp_path: Path) -> None:
    """With each mistake told above its line; what is told goes by itself."""
    path = written(tmp_path)
    seen: list[str] = []

    def mend(text: str) -> str:
        seen.append(text)
        return text.replace("Z usr", "Z user").replace("third question", "a third question")

    op = drafting(Log.open(path), editor(lambda text: text.replace("Z user", "Z usr"), mend), again=True).edit()
    assert op is not None and "a third question" in str(op) and "no role" not in str(op)
    told = seen[0].split("\n")
    places = [k for k, line in enumerate(told) if line.startswith("%%! no role 'usr'")]
    assert len(places) == 3 and all(told[k + 1].startswith("%% ") for k in places)
    assert holding(tmp_path) == ["chat.jsonl"]


def test_what_it_is_of_is_known(tmp_path: Path) -> None:
    """A substitution that hits the line which says so changes nothing of that, in a draft that is kept neither."""
    path = written(tmp_path)
    one = drafting(Log.open(path), editor(lambda text: text.replace("last", "newest"))).edit()
    assert one is not None and "newest answer" in str(one)
    wrong = editor(lambda text: text.replace("last", "final").replace("Z user", "Z usr"))
    with pytest.raises(BadDraft) as caught:
        drafting(Log.open(path), wrong).edit()
    assert {told for _, told in caught.value.mistakes} == {"no role 'usr': system, developer, user, assistant"}
    (draft,) = left(Sidecar(path))
    mended = draft.read_text().replace("Z usr", "Z user").replace("third question", "3rd")
    assert Log.open(path).edit(mended) is not None


def test_a_mistake_that_stays(tmp_path: Path) -> None:
    """Nobody to ask, or saved again as it was: an error that names the draft, which is kept."""
    for again in (False, True):
        path = written(tmp_path)
        wrong = editor(lambda text: text.replace("Z user", "Z usr"), lambda text: text)
        with pytest.raises(BadDraft) as caught:
            drafting(Log.open(path), wrong, again=again).edit()
        draft = left(Sidecar(path))[-1]
        line = int(caught.value.message.removeprefix(f"{draft}:").partition(":")[0])
        assert "usr" in draft.read_text().split("\n")[line - 1 + again] and str(draft) in caught.value.hint
        assert path.read_bytes() == SECRET
    mended = draft.read_text().replace("Z usr", "Z user").replace("third question", "3rd")
    assert Log.open(path).edit(mended) is not None


def test_no_text(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are a mistake."""
    path = written(tmp_path)
    with pytest.raises(BadDraft, match=r"draft\.txt:3: not UTF-8"):
        drafting(Log.open(path), lambda draft: draft.write_bytes(b"#\n\n\xff") and None).edit()


@pytest.mark.parametrize("changed", [True, False])
def test_a_failed_editor(tmp_path: Path, changed: bool) -> None:
    """What somebody wrote stays; what nobody changed goes."""
    path = written(tmp_path)

    def fail(draft: Path) -> None:
        if changed:
            draft.write_text(draft.read_text() + "more")
        raise EditorFailed("no")

    with pytest.raises(EditorFailed) as caught:
        drafting(Log.open(path), fail).edit()
    assert len(left(Sidecar(path))) == changed and ("--draft" in caught.value.hint) == changed
    assert path.read_bytes() == SECRET


def test_it_cannot_be_appended(tmp_path: Path) -> None:
    """The draft is kept, and named."""
    path = written(tmp_path)

    def meanwhile(draft: Path) -> None:
        Log.open(path).forget("9")
        draft.write_text(without(3)(draft.read_text()))

    with pytest.raises(UpdatedElsewhere) as caught:
        drafting(Log.open(path), meanwhile).edit()
    (draft,) = left(Sidecar(path))
    assert str(draft) in caught.value.hint and len(Log.open(path).ledger.entries) == 1


def test_messages_that_came_meanwhile(tmp_path: Path) -> None:
    """Stay behind the edit, and it says so."""
    path = written(tmp_path)

    def meanwhile(draft: Path) -> None:
        path.write_bytes(SECRET + lines(message("user", "late", 30)))
        draft.write_text(without(3)(draft.read_text()))

    log = Log.open(path)
    drafting(log, meanwhile).edit()
    assert numbers(Log.open(path))[-2:] == ["11", "12"]
    assert "1 message (12) were added meanwhile: they stay after the edit" in log.notes


def test_dry_run_and_streams(tmp_path: Path) -> None:
    """Nothing appended: the draft is kept. A stream has no place for one."""
    path = written(tmp_path)
    log = Log.open(path)
    log.dry_run = True
    assert drafting(log, editor(without(3))).edit() is not None and path.read_bytes() == SECRET
    assert log.notes[-1] == f"the draft is kept: {left(Sidecar(path))[0]}"
    with path.open("rb") as stream, pytest.raises(Usage, match="only a log in a file can be edited"):
        drafting(Log.open(stream), editor(without(3))).edit()


def test_marked() -> None:
    """Above its line, in order; read again they are nothing."""
    text = marked("%% user\nx\n%% usr\ny", [(1, "a"), (3, "b")])
    assert text == "%%! a\n%% user\nx\n%%! b\n%% usr\ny" and len(parse(text).blocks) == 2


def operation(log: Path) -> None:
    """The command, as one process would run it."""
    target = Log.open(log, clock=lambda: NOW)
    target.op_id = OP
    edit = editor(without(3))

    def noted(draft: Path) -> None:
        edit(draft)
        with suppress(OSError):
            (log.parent / "edited").touch()

    drafting(target, noted).edit()


@pytest.mark.full("kills at every call")
def test_killed_or_disturbed_at_every_call(tmp_path: Path) -> None:
    """The log is the old or the new one; a draft that is left is whole, private, and the only one of its run.

    Whatever was edited is there: in the log, or in a draft.
    """
    before = Log.open(written(tmp_path)).draft()

    def inspect(log: Path, acknowledged: bool) -> Iterator[str]:
        found = numbers(Log.open(log))
        if found != [*map(str, range(1, 12))] and found != ["1", "2", *map(str, range(4, 12))]:
            yield f"half an edit: {found}"
        drafts = left(Sidecar(log))
        if len(drafts) > 1:
            yield "two drafts"
        whole = [parse(text).blocks for text in (before, without(3)(before))]
        for draft in drafts:
            if parse(draft.read_text()).blocks not in whole:
                yield "half a draft"
        kept = whole[1] in [parse(draft.read_text()).blocks for draft in drafts]
        if (log.parent / "edited").exists() and "3" in found and not kept:
            yield "what was edited is lost"
        for path in Sidecar(log).folder.rglob("*"):
            if path.is_file() and path.name != ".draft.txt.swp" and stat.S_IMODE(path.stat().st_mode) & 0o077:
                yield f"{path} is for others too"
            if path.is_dir() and stat.S_IMODE(path.stat().st_mode) != 0o700:
                yield f"{path} is open"

    tallies: list[Tally] = run_matrix(
        operation, is_ours, tmp_path, name="edit", starts={"clean": SECRET}, inspect=inspect, every=one_of(3) * 3
    )
    found = [violation for tally in tallies for violation in tally.violations]
    assert found == [], "\n".join(found)
    assert sum(tally.runs for tally in tallies) > 100 / one_of(3) and {"SIGKILL", "EIO"} <= {
        tally.fault for tally in tallies
    }
