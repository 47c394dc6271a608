"""git with the recipes of docs/git.md, in a real repository: a diff of a log reads like a conversation."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.runner import FOREIGN, good, lines, message, small
from tests.cli.shells import environment
from tests.docs.pages import DOCS

pytestmark = pytest.mark.needs("git")

RECIPES = re.findall(
    r"^\$ ((?:git config diff.ctxkit.(?:textconv|xfuncname)|printf '%s\\n' '\*\.jsonl).*)$",
    (DOCS / "git.md").read_text("utf-8"),
    re.M,
)
"""The setup, as the page has it."""


class Repository:
    """A repository set up as the page says; its git knows no other settings."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "repository"
        self.folder.mkdir()
        self.env = {**os.environ, **environment(folder), "GIT_CONFIG_NOSYSTEM": "1", "GIT_PAGER": "cat"}
        self("git init -q; git config user.name Ada; git config user.email ada@example.org")
        for recipe in RECIPES:
            self(recipe)

    def __call__(self, command: str) -> str:
        """What a command prints; it must succeed and say nothing on stderr."""
        ran = subprocess.run(
            ["bash", "-c", command], cwd=self.folder, env=self.env, capture_output=True, timeout=60, check=False
        )
        assert (ran.returncode, ran.stderr) == (0, b""), ran.stderr
        return ran.stdout.decode("utf-8")

    def commit(self) -> None:
        """All there is."""
        self("git add -A; git commit -q -m x")

    def diff(self, *words: str) -> list[str]:
        """The lines of a diff that say something else than before."""
        printed = self(f"git diff {' '.join(words)}").splitlines()
        return [line for line in printed if line[:1] in "+-" and line[:4] not in ("+++ ", "--- ")]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """With a log in its first commit."""
    made = Repository(tmp_path)
    small(made.folder)
    made.commit()
    return made


def test_the_page_has_the_recipes() -> None:
    """Attributes, textconv, hunk headers."""
    assert len(RECIPES) >= 3 and any("diff.ctxkit.textconv" in recipe for recipe in RECIPES)


def test_what_a_change_looks_like(repository: Repository) -> None:
    """Forgotten messages go, added ones come, a lock appears; marks and JSON are not seen."""
    log = repository.folder / "chat.jsonl"
    good("mark", log, "here")
    good("forget", log, "6")
    good("protect", log, "5")
    good("add", log, "fourth question", "--ts", "2026-02-01T11:00:00Z")
    assert repository.diff() == [
        "-5  assistant  2026-02-01T10:04:00Z",
        "+5  assistant  2026-02-01T10:04:00Z  🔒",
        "-6  user  2026-02-01T10:05:00Z",
        "-    second question",
        "-",
        "+12  user  2026-02-01T11:00:00Z",
        "+    fourth question",
        "+",
    ]
    hunks = [line for line in repository("git diff -U0").splitlines() if line.startswith("@@")]
    assert hunks[-1].endswith("@@ 11  assistant  2026-02-01T10:10:00Z")
    repository.commit()
    for command in ("git log -p -1", "git show"):
        assert "\n-    second question\n" in repository(command)
    assert '"ctxkit":"forget"' in repository("git show --no-textconv")


def test_undo_is_no_difference(repository: Repository) -> None:
    """The bytes differ, the conversation does not."""
    good("forget", repository.folder / "chat.jsonl", "6")
    good("undo", repository.folder / "chat.jsonl")
    assert repository.diff() == [] and repository.diff("--no-textconv") != []


def test_tool_results_are_whole(repository: Repository) -> None:
    """No line is clipped and none left out, whatever the width."""
    words = "\n".join(f"line {i} " + "x" * 300 for i in range(50))
    with (repository.folder / "chat.jsonl").open("ab") as log:
        log.write(lines(message("tool", words, 20, tool_call_id="c9")))
    repository.env["COLUMNS"] = "20"
    assert [line.endswith("x" * 300) for line in repository.diff() if "line " in line] == [True] * 50


def test_colour_is_gits_own(repository: Repository) -> None:
    """Even where everything else is forced to colour."""
    good("protect", repository.folder / "chat.jsonl", "5")
    repository.env["CLICOLOR_FORCE"] = "1"
    assert "\x1b" not in repository("git diff") and repository.diff()[1].endswith("🔒")


def test_new_and_deleted_logs(repository: Repository) -> None:
    """All of it on one side."""
    small(repository.folder, name="new.jsonl")
    (repository.folder / "chat.jsonl").unlink()
    repository("git add -N new.jsonl")
    assert repository.diff("--no-renames", "--diff-filter=A").count("+    first question") == 1
    assert repository.diff("--no-renames", "--diff-filter=D").count("-    first question") == 1


def test_another_programs_log(repository: Repository) -> None:
    """The conversation from the log; its ops from their own file, as they are."""
    log = repository.folder / "session.jsonl"
    log.write_bytes(FOREIGN)
    repository.commit()
    good("forget", log, "1")
    repository("git add -N .")
    [op] = repository.diff()
    assert '"ctxkit":"forget"' in op and op.startswith("+{")
    repository.commit()
    log.write_bytes(FOREIGN.replace(b'"more"', b'"much more"'))
    assert repository.diff() == ["-    more", "+    much more"]


def test_what_is_no_log_is_shown_as_it_is(repository: Repository) -> None:
    """A data set, a damaged log, something binary: git goes on, and nothing acts on the terminal."""
    data, broken, binary = (repository.folder / f"{name}.jsonl" for name in ("data", "broken", "binary"))
    data.write_text('{"id": 1}\r\n')
    broken.write_bytes(lines(message("user", "before", 1), message("user", "after", 2)))
    binary.write_bytes(b"\0\x01\x1b]0;pwned\x07 old\n")
    repository.commit()
    data.write_text('{"id": 2}\r\n')
    broken.write_bytes(lines(message("user", "before", 1)) + b'{"role":"us\0\0\n' + lines(message("user", "now", 2)))
    binary.write_bytes(b"\0\x01\x1b]0;pwned\x07 new\n")
    assert [line.rstrip("\r") for line in repository.diff("data.jsonl")] == ['-{"id": 1}', '+{"id": 2}']
    assert {"-    after", "+    now"} <= set(repository.diff("broken.jsonl"))
    assert repository.diff("binary.jsonl") == ["-]0;pwned old", "+]0;pwned new"]


def test_a_hostile_log(repository: Repository) -> None:
    """Escape sequences in a message are shown, not obeyed."""
    with (repository.folder / "chat.jsonl").open("ab") as log:
        log.write(lines(message("user", "\x1b]0;pwned\x07\x9b31m", 20)))
    printed = repository("git diff")
    assert "␛]0;pwned␇" in printed and "\x1b" not in printed and "\x9b" not in printed


def test_without_ctxkit_git_still_works(repository: Repository) -> None:
    """On a machine that has the settings but not the program, the JSON is shown."""
    good("forget", repository.folder / "chat.jsonl", "6")
    git, tools = shutil.which("git"), repository.folder.parent / "tools"
    assert git is not None
    tools.mkdir()
    for program in ("git", "bash", "sh", "tr"):
        (tools / program).symlink_to(str(shutil.which(program)))
    repository.env["PATH"] = str(tools)
    [added] = repository.diff()
    assert '"ctxkit":"forget"' in added


def driven(repository: Repository) -> None:
    """The diff driver as the page has it."""
    [driver] = re.findall(r"^\$ (git config diff\.ctxkit\.command .*)$", (DOCS / "git.md").read_text("utf-8"), re.M)
    repository(driver)


def test_the_diff_driver(repository: Repository) -> None:
    """`git diff` through `ctxkit diff`: changed, new, deleted, and what is no log; git never stops."""
    (repository.folder / "data.jsonl").write_text('{"id": 1}\n')
    small(repository.folder, name="old.jsonl")
    repository.commit()
    driven(repository)
    good("forget", repository.folder / "chat.jsonl", "6")
    small(repository.folder, name="new.jsonl")
    (repository.folder / "old.jsonl").unlink()
    (repository.folder / "data.jsonl").write_text('{"id": 2}\n')
    repository("git add -N new.jsonl")
    printed = repository("git diff --no-renames")
    heads = re.findall(r"^--- (\S+)\n\+\+\+ (\S+)\n", printed, re.M)
    pieces = re.split(r"^--- \S+\n\+\+\+ \S+\n", printed, flags=re.M)[1:]
    assert heads == [
        ("a/chat.jsonl", "b/chat.jsonl"), ("a/data.jsonl", "b/data.jsonl"), ("/dev/null", "b/new.jsonl"),
        ("a/old.jsonl", "/dev/null"),
    ]  # fmt: skip
    logs = dict(zip(("chat.jsonl", "data.jsonl", "new.jsonl", "old.jsonl"), pieces, strict=True))
    assert (
        re.search(r"^- +6 user +second question$", logs["chat.jsonl"], re.M)
        and "forgotten by op 1" in logs["chat.jsonl"]
    )
    assert '-{"id": 1}\n+{"id": 2}' in logs["data.jsonl"]
    assert re.search(r"^\+ +2 user +first question$", logs["new.jsonl"], re.M)
    assert re.search(r"^- +2 user +first question$", logs["old.jsonl"], re.M)


def test_the_diff_driver_and_what_is_hostile(repository: Repository) -> None:
    """What is no log, its name and a log's words do nothing to the terminal."""
    data = repository.folder / "da\x1b]0;pwned\x07ta.jsonl"
    data.write_text("old\n")
    repository.commit()
    driven(repository)
    data.write_bytes(b"\x1b]0;pwned\x07 new\n")
    with (repository.folder / "chat.jsonl").open("ab") as log:
        log.write(lines(message("user", "\x1b]0;pwned\x07", 20)))
    printed = repository("git diff")
    assert "+]0;pwned new" in printed and "pwned␇" in printed and "\x1b" not in printed and "\x07" not in printed


def test_the_diff_driver_and_a_reader_that_leaves(repository: Repository) -> None:
    """`git diff | head`: no word of a driver that died."""
    for number in range(3):
        (repository.folder / f"{number}.jsonl").write_bytes(lines(message("user", "old", 1)))
    repository.commit()
    driven(repository)
    for number in range(3):
        many = (message("user", f"new {i} " + "x" * 200, 1) for i in range(2000))
        (repository.folder / f"{number}.jsonl").write_bytes(lines(*many))
    assert repository("git diff | head -n 2") == "--- a/0.jsonl\n+++ b/0.jsonl\n"
