"""The context of a history in several files against what Codex 0.171.0 was recorded to send when it resumed them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxkit.errors import MissingHistory
from tests.resume.contexts import context

FOLDER = Path(__file__).resolve().parents[3] / "fixtures/truth-codex/two-files"
RECORDED: dict[str, Any] = json.loads((FOLDER / "probes.json").read_text(encoding="utf-8"))
PROBES: dict[str, Any] = RECORDED["probes"]
STRICTER = {
    "bytes-changed-longer": "a line that the byte cuts is dropped by Codex without a word",
    "offset-5": "the same",
    "ordinal-1": "Codex does not compare the number of the row",
    "second-meta-with-base": "Codex reads a file from its last session_meta on, and writes only one",
    "second-meta-in-parent": "the same",
}
"""What Codex sends and ctxkit refuses: the parent is not what it was, or no file that Codex writes."""


def put(probe: str, home: Path) -> Path:
    """Write the files of a probe; returns the one that Codex went on with."""
    for place, number in PROBES[probe]["files"].items():
        (home / place).parent.mkdir(parents=True, exist_ok=True)
        (home / place).write_text(RECORDED["texts"][number], encoding="utf-8", newline="")
    return home / str(PROBES[probe]["resumed"])


@pytest.mark.parametrize("probe", PROBES)
def test_a_probe_is_read_as_recorded(probe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What Codex sent is the context; what it refused is refused."""
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    path = put(probe, tmp_path)
    if "refused" in PROBES[probe] or probe in STRICTER:
        with pytest.raises(MissingHistory):
            context("codex", path)
        return
    ours = [
        [one.role, one.kind, one.key if one.kind != "tool_result" else f"{one.key}: {'' if one.rule else one.body}"]
        for one in context("codex", path)
    ]
    sent = [[role, kind, words.replace(": aborted", ": ")] for role, kind, words in PROBES[probe]["sent"]]
    assert ours == sent
