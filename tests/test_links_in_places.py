"""Links in places that are written to: one that the user names is followed, one that lies in such a place is not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.runner import ctxkit, good, small
from tests.fleet.optional import library
from tests.watch.running import Claude, append, log_of

SESSION = ".claude/projects/-w/s1.jsonl"


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder with a log, a folder elsewhere, and a session of Claude Code at home."""
    monkeypatch.chdir(tmp_path)
    small(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    session = Path(os.environ["HOME"], SESSION)
    session.parent.mkdir(parents=True)
    claude = Claude()
    log_of(session, claude.user("q"), claude.says("a"))
    yield


WRITES = {
    "export": "export chat.jsonl --to openai -o PLACE/x.json",
    "export-folder": "export chat.jsonl --to claude-code -o PLACE/",
    "recover": "recover chat.jsonl -o PLACE/x.jsonl",
    "metrics": "metrics . --textfile PLACE/x.prom",
    "ledger": "fleet map status chat.jsonl --ledger PLACE",
    "archive": "sessions --archive PLACE",
    "sidecar": "snapshot chat.jsonl --light --sidecar PLACE",
}
"""Commands -> lines that write below a place that is named."""


def below(folder: Path) -> dict[str, bytes]:
    """The files below a folder, with their bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", WRITES)
def test_a_named_link_is_followed(name: str, tmp_path: Path) -> None:
    """It is the user's word: what is written is where the link leads, and the link stays one."""
    if name == "metrics":
        library("prometheus_client")
    (tmp_path / "PLACE").symlink_to("elsewhere")
    good(*WRITES[name].split())
    assert (tmp_path / "PLACE").is_symlink()
    assert below(tmp_path / "elsewhere")


INSIDE = {
    "sessions --archive PLACE": ("archive.jsonl", ".claude", ".claude/projects", ".claude/projects/-w", SESSION),
    "fleet map status chat.jsonl --ledger PLACE": ("done.jsonl",),
}
"""Line -> the paths below its place, of which each may be a link."""


@pytest.mark.covering("link", "there")
@pytest.mark.parametrize("there", [True, False], ids=["leads to a copy", "leads to nothing"])
@pytest.mark.parametrize(("line", "link"), [(line, link) for line, links in INSIDE.items() for link in links])
def test_a_link_inside_is_not_followed(line: str, link: str, there: bool, tmp_path: Path) -> None:
    """What lies in a place may be somebody else's: it is an error that names the link, and nothing is written there."""
    good(*line.split())
    path = tmp_path / "PLACE" / link
    path = next(path.parent.iterdir()) if link.endswith("NAME") else path
    os.rename(path, tmp_path / "elsewhere/x")
    if not there:
        os.rename(tmp_path / "elsewhere/x", tmp_path / "gone")
    path.symlink_to(tmp_path / "elsewhere/x")
    append(tmp_path / "chat.jsonl", {"role": "user", "content": "more"})
    append(Path(os.environ["HOME"], SESSION), Claude().user("more"))
    before = below(tmp_path / "elsewhere")
    ran = ctxkit(*line.split())
    assert ran.code in (73, 74) and f"{link.removesuffix('NAME')}" in ran.err and "a link" in ran.err, ran
    assert below(tmp_path / "elsewhere") == before and path.is_symlink()


def test_a_dataset_follows_none(tmp_path: Path) -> None:
    """Its place and its folders may be no links; a link in the place of one of its files is replaced."""
    library("pyarrow")
    good("fleet", "ingest", "chat.jsonl", "-o", "data")
    files = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    for number, path in enumerate(files):
        os.rename(path, tmp_path / f"elsewhere/{number}")
        path.symlink_to(tmp_path / f"elsewhere/{number}")
    (tmp_path / "new").mkdir()
    (tmp_path / "PLACE").symlink_to("new")
    append(tmp_path / "chat.jsonl", {"role": "user", "content": "more"})
    before = below(tmp_path / "elsewhere")
    good("fleet", "ingest", "chat.jsonl", "-o", "data")
    assert not all(path.is_symlink() for path in files) and below(tmp_path / "elsewhere") == before
    assert ctxkit("fleet", "ingest", "chat.jsonl", "-o", "PLACE").code == 73
