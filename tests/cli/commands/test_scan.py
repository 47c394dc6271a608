"""ctxkit scan: findings, exit codes, many logs, standard input, plain text."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ctxkit.core.text.redaction import kinds
from tests.canary_sessions import canary
from tests.cli.runner import SMALL, ctxkit, lines, message


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log with a secret in its first message."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(lines(message("user", f"say {canary()}"), message("assistant", "no")))
    return path


def test_found(log: Path) -> None:
    """Exit 1; the message, the place, the kind and no more of the secret than its first letters."""
    ran = ctxkit("scan", log)
    assert (ran.code, ran.text) == (1, f"{log}: message 1, text: ghp_…[36] (github-token), in the context\n")
    assert "1 secret found: 1 in the context, 0 only in files" in ran.err and "hint: revoke them" in ran.err
    [value] = ctxkit("scan", log, "--json").values
    assert value == {
        "log": str(log), "file": str(log), "line": 1, "message": "1", "where": "text", "kind": "github-token",
        "masked": "ghp_…[36]", "in_context": True,
    }  # fmt: skip


def test_nothing(tmp_path: Path) -> None:
    """Exit 0."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(SMALL)
    ran = ctxkit("scan", path)
    assert (ran.code, ran.text, ran.err) == (0, "", "0 secrets found\n")
    assert ctxkit("scan", path, "--json").values == [{"log": str(path), "secrets": 0}]


def test_no_log(tmp_path: Path) -> None:
    """A folder without logs is no folder without secrets; so says `check`."""
    (tmp_path / "notes.txt").write_text("nothing")
    for name in ("scan", "check"):
        for more in ((), ("-q",), ("--json",)):
            assert ctxkit(name, tmp_path, *more).code == 66


def test_quiet(log: Path, tmp_path: Path) -> None:
    """The exit code alone, as of `check`."""
    clean = tmp_path / "clean.jsonl"
    clean.write_bytes(SMALL)
    for logs, code in (((log,), 1), ((clean,), 0), ((log, clean), 1)):
        for more in ((), ("--json",)):
            assert ctxkit("scan", *logs, "-q", *more) == (code, b"", "")


def test_the_name_of_a_file(tmp_path: Path) -> None:
    """It is printed without a secret, too; what a finding says stays as it is."""
    key = canary()
    text, log = tmp_path / f"{key}.txt", tmp_path / f"{key}.jsonl"
    text.write_text(f"say {canary()}")
    log.write_bytes(lines(message("user", f"say {canary()}"), message("assistant", "no")))
    for files in ((text,), (log,), (text, log), (tmp_path,), (text, tmp_path / f"no{key}.jsonl")):
        for more in ((), ("--json",)):
            ran = ctxkit("scan", *files, *more)
            assert ran.code in (1, 66) and "[36]" in ran.text
            assert key[-12:] not in ran.text + ran.err


def test_standard_input(log: Path) -> None:
    """A log, or any text."""
    assert ctxkit("scan", "-", stdin=log.read_bytes()).text.startswith("standard input: message 1, text: ghp_…[36]")
    assert ctxkit("scan", "-", stdin=f"a\n{canary()}".encode()).text.startswith("-: line 2: ghp_…[36]")


def test_many(log: Path, tmp_path: Path) -> None:
    """Files of any kind that are named; below folders only logs. The highest exit code."""
    notes, clean = tmp_path / "notes.txt", tmp_path / "clean.jsonl"
    notes.write_text(f"a\nb={canary()}\n")
    clean.write_bytes(SMALL)
    ran = ctxkit("scan", log, notes, clean)
    assert ran.code == 1 and [line.rpartition(": ghp")[0] for line in ran.text.splitlines() if "…" in line] == [
        f"{log}: message 1, text", f"{notes}: line 2",
    ]  # fmt: skip
    values = ctxkit("scan", log, notes, clean, "--json").values
    assert [len(one["secrets"]) for one in values] == [1, 1, 0]
    assert "notes.txt" not in ctxkit("scan", tmp_path).text
    assert ctxkit("scan", clean, tmp_path / "missing").code == 66


def test_kinds() -> None:
    """Each with its name."""
    assert [one["name"] for one in ctxkit("scan", "--kinds", "--json").values] == [one.name for one in kinds()]
    assert ctxkit("scan", "--kinds").text.count("\n") >= len(kinds())


@pytest.mark.parametrize(("name", "code"), [("missing.jsonl", 66), ("", 66)])
def test_no_such_file(name: str, code: int, tmp_path: Path) -> None:
    """As other commands say it."""
    assert ctxkit("scan", str(tmp_path / name) if name else "").code == code


def test_other_encodings(tmp_path: Path) -> None:
    """A text of UTF-16 is read; of a packed file nothing can be said, so it is refused."""
    secret = canary()
    text = tmp_path / "a.txt"
    text.write_bytes(f"the key is {secret}\n".encode("utf-16"))
    assert ctxkit("scan", text).code == 1
    packed = tmp_path / "a.txt.gz"
    packed.write_bytes(gzip.compress(text.read_bytes()))
    ran = ctxkit("scan", packed)
    assert ran.code == 65 and "gzip" in ran.err
