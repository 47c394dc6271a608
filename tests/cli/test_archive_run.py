"""What `sessions --archive` prints, refuses, and exits with."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from ctxkit.store.archive_files import LIST
from tests import homes
from tests.cli.runner import PYTHON, ctxkit, good


@pytest.fixture
def home() -> Path:
    """A home with a session."""
    found = Path(os.environ["HOME"])
    homes.session(found, "claude-code", "/shop", "a" * 8)
    return found


def test_what_is_new(home: Path, tmp_path: Path) -> None:
    """A line for each file that is copied; a dry run says the same, and does nothing."""
    dry = good("sessions", "--archive", tmp_path / "A", "--dry-run")
    assert dry.text == "new               281 bytes  .claude/projects/-shop/aaaaaaaa.jsonl\n"
    assert "Dry run, nothing was copied" in dry.err and not (tmp_path / "A").exists()
    ran = good("sessions", "--archive", tmp_path / "A")
    assert ran.text == dry.text and "1 session: 1 new, 281 bytes\nhint: ctxkit config set archive.dir" in ran.err
    again = good("sessions", "--archive", tmp_path / "A", "--json")
    assert (again.out, again.err.splitlines()[0]) == (b"", "1 session: nothing new; 1 unchanged, 0 bytes")


def test_for_programs(home: Path, tmp_path: Path) -> None:
    """An object for each file."""
    path = homes.session(home, "codex", "/shop")
    Path(f"{path}.ctxkit").mkdir()
    (Path(f"{path}.ctxkit") / "config.toml").write_text("")
    values = good("sessions", "--archive", tmp_path / "A", "--json").values
    assert [(one["format"], one["session"], one["change"]) for one in values] == [
        ("claude-code", True, "new"), ("codex", True, "new"), ("codex", False, "new"),
    ]  # fmt: skip
    assert values[1]["from"] == str(path) and (tmp_path / "A" / values[1]["path"]).is_file()


def test_verify(home: Path, tmp_path: Path) -> None:
    """Damaged copies are named, and what to do; a damaged list is said."""
    good("sessions", "--archive", tmp_path / "A")
    assert "1 file, 281 bytes: nothing damaged" in good("sessions", "--archive", tmp_path / "A", "--verify").err
    copy = tmp_path / "A/.claude/projects/-shop/aaaaaaaa.jsonl"
    copy.write_bytes(copy.read_bytes()[:-5])
    ran = ctxkit("sessions", "--archive", tmp_path / "A", "--verify")
    assert (ran.code, ran.text) == (1, f"{copy}: short: it has 276 of 281 bytes\n")
    assert "delete a damaged copy, and the next --archive makes it anew" in ran.err
    [found] = ctxkit("sessions", "--archive", tmp_path / "A", "--verify", "--json").values
    assert (found["path"], found["code"]) == (str(copy.relative_to(tmp_path / "A")), "short")
    copy.unlink()
    good("sessions", "--archive", tmp_path / "A")
    (tmp_path / "A" / LIST).write_bytes(b"?\n")
    assert ctxkit("sessions", "--archive", tmp_path / "A", "--verify").code == 1


def test_a_deleted_copy_is_made_anew(home: Path, tmp_path: Path) -> None:
    """A copy that was changed is named until it is deleted; then the next run makes it anew."""
    folder = tmp_path / "A"
    good("sessions", "--archive", folder)
    copy = folder / ".claude/projects/-shop/aaaaaaaa.jsonl"
    whole = copy.read_bytes()
    copy.write_bytes(b"X" + whole[1:])
    assert "nothing new; 1 unchanged" in good("sessions", "--archive", folder).err
    ran = ctxkit("sessions", "--archive", folder, "--verify")
    assert ran.code == 1 and ran.text.startswith(f"{copy}: changed")
    copy.unlink()
    assert "1 session: 1 new, 281 bytes" in good("sessions", "--archive", folder).err
    assert copy.read_bytes() == whole
    good("sessions", "--archive", folder, "--verify")


def test_a_full_disk(home: Path, tmp_path: Path) -> None:
    """What was copied before is whole; with room the next run goes on where it stopped."""
    for name in "bcdef":
        path = homes.session(home, "claude-code", "/shop", name * 8)
        path.write_bytes(path.read_bytes() + b'{"type":"x","text":"' + b"word " * 4000 + b'"}\n')
    folder = tmp_path / "A"
    folder.mkdir()
    script = (
        f"mount -t tmpfs -o size=64k none {folder} || exit 99\n"
        f'"$@"; echo "code $?"; "$@" --verify; mount -t tmpfs -o remount,size=1m none {folder} && "$@" && "$@" --verify'
    )
    words = [*PYTHON, "sessions", "--archive", str(folder)]
    ran = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", script, "sh", *words], capture_output=True, text=True, check=False
    )
    if ran.returncode == 99 or ran.stderr.startswith("unshare"):
        pytest.skip("no user namespaces here")
    assert "code 74" in ran.stdout and ran.returncode == 0, ran.stderr
    assert "no space left on device" in ran.stderr and "of 6 sessions are not archived" in ran.stderr
    assert ran.stderr.count("nothing damaged") == 2 and "6 files" in ran.stderr


def test_a_file_that_cannot_be_read(home: Path, tmp_path: Path) -> None:
    """It is named, the others are copied, and the exit status says that not all is there."""
    path = homes.session(home, "claude-code", "/shop", "b" * 8)
    sidecar = Path(f"{path}.ctxkit")
    sidecar.mkdir()
    (sidecar / "config.toml").write_bytes(b"")
    (sidecar / "config.toml").chmod(0)
    ran = ctxkit("sessions", "--archive", tmp_path / "A")
    if os.geteuid():
        assert ran.code == 77 and "config.toml: permission denied" in ran.err
    assert ran.text.count("new ") >= 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--archive", "A", "."], "cannot be combined with DIR"),
        (["--archive", "A", "--here"], "cannot be combined with --here"),
        (["--archive", "A", "--limit", "3"], "cannot be combined with --limit"),
        (["--archive", "A", "--sort", "size"], "cannot be combined with --sort"),
        (["--archive", ""], "the name of the archive is empty"),
        (["--verify"], "belong to --archive"),
        (["-n"], "belong to --archive"),
        (["--archive", "A", "-n", "--verify"], "cannot be combined"),
    ],
)
def test_refused(words: list[str], said: str) -> None:
    """What does not go together."""
    ran = ctxkit("sessions", *words)
    assert ran.code == 2 and said in ran.err


def test_nothing_there(tmp_path: Path) -> None:
    """No sessions, no archive, a file in its place, an agent's own folder."""
    assert ctxkit("sessions", "--archive", tmp_path / "A").code == 1
    assert ctxkit("sessions", "--archive", tmp_path / "B", "--verify").code == 66
    homes.session(Path(os.environ["HOME"]), "claude-code", "/shop")
    (tmp_path / "file").write_bytes(b"")
    ran = ctxkit("sessions", "--archive", tmp_path / "file")
    assert ran.code == 74 and "not a directory: 1 of 1 sessions is not archived" in ran.err
    assert "hint: name a folder that can be written to" in ran.err
    assert ctxkit("sessions", "--archive", os.environ["HOME"]).code == 2
