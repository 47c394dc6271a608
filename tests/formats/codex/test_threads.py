"""The files of a Codex thread, found by its id from another file of the home."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxkit.formats.codex.threads import file_id, thread_files
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
