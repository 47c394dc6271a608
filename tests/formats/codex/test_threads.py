"""The files of a Codex thread, found by its id from another file of the home."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from ctxkit.formats.codex.threads import file_id, is_newest, thread_files
from tests.formats.codex import pages

A, B, PAGE = (f"01990000-0000-7000-8000-0000000000{end}" for end in ("0a", "0b", "c0"))
OLD, NEW = "sessions/2026/09/30", "sessions/2026/10/01"
AT = "rollout-2026-10-01T10-00-00"
CASES: dict[str, tuple[list[str], str, str, list[str]]] = {
    "of the same day": ([f"{NEW}/{AT}-{A}.jsonl", f"{NEW}/{AT}-{B}.jsonl"], f"{NEW}/{AT}-{B}.jsonl", A,
                        [f"{NEW}/{AT}-{A}.jsonl"]),
    "the newest day first, then archived": (
        [f"archived_sessions/{AT}-{A}.jsonl", f"{OLD}/{AT}-{A}.jsonl", f"{NEW}/{AT}-{A}.jsonl"],
        f"{OLD}/{AT}-{B}.jsonl", A,
        [f"{NEW}/{AT}-{A}.jsonl", f"{OLD}/{AT}-{A}.jsonl", f"archived_sessions/{AT}-{A}.jsonl"]),
    "from an archived one": ([f"{OLD}/{AT}-{A}.jsonl"], f"archived_sessions/{AT}-{B}.jsonl", A,
                             [f"{OLD}/{AT}-{A}.jsonl"]),
    "compressed": ([f"{OLD}/{AT}-{A}.jsonl.zst"], f"{NEW}/{AT}-{B}.jsonl.zst", A, [f"{OLD}/{AT}-{A}.jsonl.zst"]),
    "plain before compressed": ([f"{OLD}/{AT}-{A}.jsonl", f"{OLD}/{AT}-{A}.jsonl.zst"], f"{OLD}/x.jsonl", A,
                                [f"{OLD}/{AT}-{A}.jsonl"]),
    "pages": ([f"{OLD}/{AT}-{A}.jsonl", f"{OLD}/{AT}-{A}_{PAGE}.jsonl.zst"], f"{OLD}/{AT}-{A}.jsonl", A,
              [f"{OLD}/{AT}-{A}_{PAGE}.jsonl.zst", f"{OLD}/{AT}-{A}.jsonl"]),
    "a page by its own id": ([f"{OLD}/{AT}-{A}.jsonl", f"{OLD}/{AT}-{A}_{PAGE}.jsonl"], f"{OLD}/{AT}-{A}.jsonl", PAGE,
                             [f"{OLD}/{AT}-{A}_{PAGE}.jsonl"]),
    "side by side, in no home": ([f"copies/{AT}-{A}.jsonl", f"{OLD}/{AT}-{A}.jsonl"], f"copies/{AT}-{B}.jsonl", A,
                                 [f"copies/{AT}-{A}.jsonl"]),
    "in a folder of that name without days": ([f"sessions/{AT}-{A}.jsonl"], f"sessions/{AT}-{B}.jsonl", A,
                                              [f"sessions/{AT}-{A}.jsonl"]),
    "a name is no pattern": ([f"{OLD}/{AT}-{A}.jsonl"], f"{OLD}/x.jsonl", "0.*", []),
    "a part of an id is no id": ([f"{OLD}/{AT}-{A}.jsonl"], f"{OLD}/x.jsonl", A[9:], []),
    "no id": ([f"{OLD}/{AT}-.jsonl"], f"{OLD}/x.jsonl", "", []),
    "other files": ([f"{OLD}/{AT}-{A}.jsonl.tmp", f"{OLD}/{AT}-{A}.jsonl.ctxkit/ops.jsonl"], f"{OLD}/x.jsonl", A, []),
    "a folder is no file": ([f"{OLD}/{AT}-{A}.jsonl/x"], f"{OLD}/x.jsonl", A, []),
    "nothing there": ([], f"{NEW}/{AT}-{B}.jsonl", A, []),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_files(case: str, tmp_path: Path) -> None:
    there, beside, thread, wanted = CASES[case]
    for name in there:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    assert thread_files(tmp_path / beside, thread) == [tmp_path / name for name in wanted]


def test_a_folder_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no empty folder, unless the file is found in another one."""
    for name in (f"{OLD}/{AT}-{A}.jsonl", f"{NEW}/{AT}-{B}.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    listed = os.listdir

    def refused(folder: str) -> list[str]:
        if folder.endswith(NEW):
            raise OSError(errno.EMFILE, "Too many open files", folder)
        return listed(folder)

    monkeypatch.setattr(os, "listdir", refused)
    path = tmp_path / NEW / f"{AT}-{B}.jsonl"
    assert thread_files(path, A) == [tmp_path / OLD / f"{AT}-{A}.jsonl"]
    with pytest.raises(OSError, match="Too many"):
        thread_files(path, B)
    assert is_newest(path)


def test_a_listing_is_kept_as_long_as_it_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chain of forks asks for its folder with each file; a name that comes or goes counts at once."""
    path = tmp_path / NEW / f"{AT}-{B}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    asked: list[str] = []
    listed = os.listdir
    monkeypatch.setattr(os, "listdir", lambda folder: [asked.append(folder), listed(folder)][1])
    for folder in (path.parent, *path.parents[1:5]):
        os.utime(folder, (1, 1))
    assert [thread_files(path, B) for _ in range(3)] == [[path]] * 3
    assert asked.count(str(path.parent)) == 1
    other = path.with_name(f"{AT}-{A}.jsonl")
    other.write_bytes(b"")
    assert thread_files(path, A) == [other]
    other.unlink()
    assert thread_files(path, A) == []


def test_other_folders_are_not_listed(tmp_path: Path) -> None:
    """A home holds much more than rollouts: what is not a day is never looked into."""
    for folder in ("log", "sessions/2026/10/01/deeper", "sessions/backup/10/01", "archived_sessions/2026"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / f"{AT}-{A}.jsonl").write_bytes(b"")
    assert thread_files(tmp_path / NEW / f"{AT}-{B}.jsonl", A) == []


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (pages.name(1), True),
        (pages.name(1) + ".zst", True),
        (pages.name(1, page_of=5), True),  # a page is named by its own id
        (pages.name(5, page_of=1), False),
        (pages.name(2), False),
        ("session.jsonl", False),
    ],
)
def test_file_id(file: str, expected: bool) -> None:
    """The last id of the name counts."""
    assert (file_id(file) == pages.thread(1)) is expected
