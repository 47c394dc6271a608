"""Why a message is in or out, in words, with the command that brings it back."""

from __future__ import annotations

import pytest

from ctxkit.core.context import Projection
from ctxkit.core.item_names import Names
from ctxkit.core.reasons import Reasons
from ctxkit.core.transcript import ProgramCut, View
from ctxkit.core.visibility import Visibilities
from tests import build


@pytest.mark.parametrize(
    ("spec", "name", "expected"),
    [
        ("1-4", "2", []),
        ("1-4 | forget 2", "2", ["forget 1 forgotten by op 1 [ctxkit undo LOG 1]"]),
        (
            "1-4 | forget 2 ts=2026-02-01T10:00:00Z | trim 2",
            "2",
            [
                "forget 1 forgotten by op 1 (2026-02-01T10:00:00Z) [ctxkit undo LOG 1]",
                "trim 2 trimmed by op 2 [ctxkit undo LOG 2]",
            ],
        ),
        ("1-4 | mark | 5-6 | rewind", "6", ["rewind 2 rewound by op 2 [ctxkit undo LOG 2]"]),
        ("1-4 | remember 2", "2", ["remember 1 left out by the remember of op 1 [ctxkit undo LOG 1]"]),
        ("1-4 | clear", "2", ["clear 1 cleared by op 1 [ctxkit undo LOG 1]"]),
        (
            "1-4 | restore 2 mode=replace ts=none",
            "3",
            ["restore 1 replaced by the restore of op 1 [ctxkit undo LOG 1]"],
        ),
        ("1-4 | interrupted", "4", ["interrupted 1 interrupted at op 1 [ctxkit undo LOG 1]"]),
        ("1-4 | interrupted id=none", "4", ["interrupted 1 interrupted at op 1 []"]),
        (
            "1-4 | compact 2-3",
            "2",
            ["compact 1 replaced by the summary of op 1 [ctxkit undo LOG 1]", "compact 1 summarized in 1.1 []"],
        ),
        (
            "1-4 | compact 2-3 | forget @1.1",  # a summary that is out itself tells nothing
            "2",
            [
                "compact 1 replaced by the summary of op 1 [ctxkit undo LOG 1]",
                "forget 2 forgotten by op 2 [ctxkit undo LOG 2]",
            ],
        ),
        ("1-4 | compact 2-3", "a1.1", ["compact 1 it is the summary that op 1 put in for 2-3 []"]),
        (
            "1-4 | edit 1,2:x ts=none",
            "2",
            [
                "edit 1 left out by the edit of op 1 [ctxkit undo LOG 1]",
                "edit 1 changed by 1, now 1.2 [ctxkit undo LOG 1]",
            ],
        ),
        ("1-4 | edit 1,3:x", "a1.2", ["item 1 op 1 brought it in, from 3 []"]),
        ("1-4 | edit 1,new:x", "a1.2", ["item 1 op 1 brought it in []"]),
        ("1-4 | edit 2", "2", ["moved None an edit or restore put it here []"]),
        ("1-4 | protect 2", "2", ["protected None it is protected by a protect []"]),
        ("1 system | 2-3", "1", ["protected None it is protected as part of the system preamble []"]),
        ("1-3", "1", ["protected None it is the first message: compact and trim keep it []"]),
        (
            '1-3 | trim ids= stubs={"2":"x"}',
            "2",
            ["stub None its content is shown shortened [ctxkit recall LOG 2 --apply]"],
        ),
    ],
)
def test_reasons(spec: str, name: str, expected: list[str]) -> None:
    """All of them, what keeps it out first."""
    state = build.state(spec)
    single = Names.parse(name).single
    assert single is not None
    found = Reasons(Visibilities(state)).of(single)
    assert [f"{r.kind} {r.op} {r.text} [{r.back}]" for r in found] == expected


@pytest.mark.parametrize(
    ("spec", "projection", "expected"),
    [
        ("1-4 | window 60", Projection(), ["window older than the window of 1m [ctxkit window LOG off]"]),
        ("1-4", Projection(windows={None: 60}), ["window older than the window of 1m [ctxkit window LOG off]"]),
        (
            "1-3 | 4 agent=a | forget 2 | window 60",
            Projection(),
            [
                "forget forgotten by op 1 [ctxkit undo LOG 1]",
                "window older than the window of 1m [ctxkit window LOG off]",
            ],
        ),
        (
            "1 | 2 agent=a | 3-4 | window 60 agent=a",
            Projection(),
            ["window older than the window of 1m [ctxkit window LOG off --agent a]"],
        ),
        ("1 | 2 agent=a | 3 agent=b", Projection(agent="b"), ["filter of another agent than b []"]),
        ("1 | 2 thread=s | 3 thread=t", Projection(thread="t"), ["filter of another thread than t []"]),
        ("1-4", Projection(newest=1), ["newest beyond the newest 1 that are shown (window.messages) []"]),
        ("1-4 | protect 2 | window 60", Projection(), ["protected it is protected by a protect []"]),
    ],
)
def test_projection(spec: str, projection: Projection, expected: list[str]) -> None:
    """What of the projection hides it, by name; also where an op keeps it out besides."""
    found = Reasons(Visibilities(build.state(spec), projection)).of(2)
    assert [f"{r.kind} {r.text} [{r.back}]" for r in found] == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("1-4 | forget 2 ts=2026-02-01T10:00:00Z", "forgotten by op 1"),
        ("1-4 | forget 2 criteria=--role=user", "forgotten by op 1 (--role=user)"),
        ('1-4 | trim 2 reasons={"2":"oldest"}', "trimmed by op 1 (oldest)"),
        ("1-4 | protect 2", "protected by a protect"),
    ],
)
def test_brief(spec: str, expected: str) -> None:
    """In few words, with those of the op."""
    [reason] = Reasons(Visibilities(build.state(spec))).of(2)
    assert reason.brief == expected


def test_programs() -> None:
    """A program's own compaction and branches."""
    view = View([1, 2, 3, 4], {5: "sidechain"}, [ProgramCut(3, [1, 2], "compacted at line 9")])
    state = build.state("1-6", view)
    (reason,) = [r for r in Reasons(Visibilities(state)).of(2) if r.kind == "program"]
    assert (reason.text, reason.back) == ("compacted at line 9", "ctxkit recall LOG 2 --apply")
    assert [r.kind for r in Reasons(Visibilities(state)).of(5)] == ["sidechain"]
    state = build.state("1-4", View([1, 2, 3, 4], {}, [ProgramCut(3, [1], "compacted", [2, 3], 4)]))
    assert [r.text for r in Reasons(Visibilities(state)).of(2)] == ["the log's own program put it here"]
