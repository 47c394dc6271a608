"""export: the context in the shape of a request."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ctxkit.formats.targets import REQUESTS
from tests import pictures
from tests.cli.runner import ROOT, SMALL, call, ctxkit, good, lines, message, small


def test_chat(tmp_path: Path) -> None:
    """A message per line, which is a log again; no op and no `ctxkit` key is among them."""
    path = small(tmp_path, marks=["a"])
    good("forget", path, "2")
    ran = good("export", path, "--to", "chat")
    assert [value["role"] for value in ran.values][:3] == ["system", "assistant", "tool"]
    assert len(ran.values) == 10 and ran.err == "10 messages\n" and b'"ctxkit"' not in ran.out
    assert len(good("show", "-", "--json", stdin=ran.out).values) == 10


def test_providers() -> None:
    """One JSON object in the shape of the request body."""
    [body] = good("export", "-", "--to", "openai", "--model", "m", stdin=SMALL).values
    assert body["model"] == "m" and [m["role"] for m in body["messages"]][:2] == ["system", "user"]
    [body] = good("export", "-", "--to", "anthropic", "--model", "m", stdin=SMALL).values
    assert body["model"] == "m" and "be brief" in json.dumps(body["system"])
    assert [m["role"] for m in body["messages"]][:3] == ["user", "assistant", "user"]
    [body] = good("export", "-", "--to", "gemini", "--model", "m", stdin=SMALL).values
    assert "be brief" in json.dumps(body["systemInstruction"])
    assert [m["role"] for m in body["contents"]][:3] == ["user", "model", "user"]


def test_what_is_added_is_said() -> None:
    """A body that has more than the log says so on stderr."""
    ran = good("export", "-", "--to", "gemini", stdin=lines(message("assistant", "x", 1)))
    assert "added: 1 × first message of the user\n" in ran.err


@pytest.mark.parametrize("to", ["chat", *REQUESTS])
def test_pairs(to: str) -> None:
    """A call without its result gets one that says so, a result without its call goes; both are counted on stderr."""
    raw = lines(
        message("user", "go", 1),
        message("assistant", "ok", 2, tool_calls=[call("Bash", "c1")]),
        message("user", "and?", 3),
        message("tool", "lost", 4, tool_call_id="c9"),
    )
    ran = good("export", "-", "--to", to, stdin=raw)
    assert "1 call without a result: answered by one that says so" in ran.err
    assert "1 result without a call: left out" in ran.err
    assert "[no result recorded]" in ran.text and "lost" not in ran.text


def test_filters() -> None:
    """One agent's or thread's messages."""
    raw = lines(message("user", "a", 1, agent="sam"), message("user", "b", 2, agent="bo"), message("user", "c", 3))
    assert len(good("export", "-", "--to", "chat", "--agent", "sam", stdin=raw).values) == 2
    assert ctxkit("export", "-", "--to", "chat", "--agent", "x", stdin=raw).code == 1


@pytest.mark.parametrize("to", ["chat", *REQUESTS])
def test_nothing_to_send(tmp_path: Path, to: str) -> None:
    """Exit 1, nothing on stdout; it says whether the log or its context is empty."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(lines(message("user", "a")))
    good("clear", path)
    ran = ctxkit("export", path, "--to", to)
    assert (ran.code, ran.out) == (1, b"") and "all 1 are out of its context" in ran.err
    assert "has no messages\n" in ctxkit("export", "-", "--to", to, stdin=b"").err


def test_unknown_ops() -> None:
    """An op of a later ctxkit: exit 65, nothing on stdout; --skip-unknown goes on."""
    raw = SMALL + lines({"ctxkit": "frobnicate", "v": 1, "id": "x1", "at": {"messages": 11, "rows": 11}})
    ran = ctxkit("export", "-", "--to", "chat", stdin=raw)
    assert (ran.code, ran.out) == (65, b"")
    assert len(good("export", "-", "--to", "chat", "--skip-unknown", stdin=raw).values) == 11
    assert good("show", "-", "--json", stdin=raw).code == 0


def test_a_session(tmp_path: Path) -> None:
    """Lines on standard output, or a new file; in a folder it has the name that its program looks for."""
    source = ROOT / "fixtures/guide/session.jsonl"
    ran = good("export", source, "--to", "claude-code", "--keep-id")
    assert ran.out == source.read_bytes() and "session " in ran.err
    ran = good("export", source, "--to", "claude-code", "-o", tmp_path)
    [made] = tmp_path.iterdir()
    assert ran.out == b"" and f"wrote {made}" in ran.err and f"session {made.stem}" in ran.err
    assert len(made.read_bytes().splitlines()) == len(source.read_bytes().splitlines())
    ran = ctxkit("export", source, "--to", "claude-code", "-o", made)
    assert ran.code == 73 and "nothing was written" in ran.err
    [body] = good("export", "-", "--to", "openai", stdin=SMALL).values
    good("export", "-", "--to", "openai", "-o", tmp_path / "body.json", stdin=SMALL)
    assert json.loads((tmp_path / "body.json").read_bytes()) == body


def test_to_standard_output() -> None:
    """`-o -` is what is printed without -o."""
    call = "export", "-", "--to", "openai"
    assert good(*call, "-o", "-", stdin=SMALL).out == good(*call, stdin=SMALL).out != b""


def test_a_session_of_something_else() -> None:
    """It is written anew; what it cannot hold is counted; there is no id to keep, and a request has none."""
    ran = good("export", "-", "--to", "claude-code", stdin=SMALL)
    assert {value["type"] for value in ran.values} == {"user", "assistant"}
    assert "not sent: 1 × role of a system message (it is the user's)" in ran.err
    assert ctxkit("export", "-", "--to", "claude-code", "--keep-id", stdin=SMALL).code == 2
    assert ctxkit("export", "-", "--to", "openai", "--keep-id", stdin=SMALL).code == 2
    assert ctxkit("export", "-", "--to", "openai", "--recount", stdin=SMALL).code == 2


NAMES = ("s.jsonl", "./s.jsonl", "../w/s.jsonl", "link.jsonl", "hard.jsonl", "dangling.jsonl", "own", "own/")


@pytest.mark.parametrize("output", NAMES)
@pytest.mark.parametrize("source", ["s.jsonl", "link.jsonl", "hard.jsonl"])
def test_never_over_the_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, output: str) -> None:
    """By whatever name, also in the program's own folder under its own id: exit 73, and nothing is changed."""
    folder = tmp_path / "w"
    folder.mkdir()
    monkeypatch.chdir(folder)
    raw = (ROOT / "fixtures/guide/session.jsonl").read_bytes()
    identity = json.loads(raw.splitlines()[0])["sessionId"]
    Path("s.jsonl").write_bytes(raw)
    Path("link.jsonl").symlink_to("s.jsonl")
    Path("hard.jsonl").hardlink_to("s.jsonl")
    Path("dangling.jsonl").symlink_to("nowhere.jsonl")
    Path("own").mkdir()
    Path(f"own/{identity}.jsonl").hardlink_to("s.jsonl")
    before = {path: path.lstat() for path in sorted(folder.rglob("*"))}
    ran = ctxkit("export", source, "--to", "claude-code", "--keep-id", "-o", output)
    assert ran.code == 73 and "exists already: nothing was written" in ran.err and ran.out == b""
    after = {path: path.lstat() for path in sorted(folder.rglob("*"))}
    assert before.keys() == after.keys() and Path("s.jsonl").read_bytes() == raw
    assert [one.st_mtime_ns for one in before.values()] == [one.st_mtime_ns for one in after.values()]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("log", ["s.jsonl", "link.jsonl", "-"])
@pytest.mark.parametrize("to", ["claude-code", "chat"])
def test_never_behind_the_source(tmp_path: Path, log: str, to: str) -> None:
    """`>>` of a shell into the log that is read: exit 73, nothing is added; into another file it is."""
    raw = (ROOT / "fixtures/guide/session.jsonl").read_bytes()
    path = tmp_path / "s.jsonl"
    path.write_bytes(raw)
    (tmp_path / "link.jsonl").symlink_to(path)
    for into, code in ((path, 73), (tmp_path / "other.jsonl", 0)):
        with path.open("rb") as stdin, into.open("ab") as stdout:
            words = [sys.executable, "-m", "ctxkit", "export", log, "--to", to]
            ran = subprocess.run(words, cwd=tmp_path, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, check=False)
        assert ran.returncode == code and (b"itself: nothing was written" in ran.stderr) == bool(code)
    assert path.read_bytes() == raw and (tmp_path / "other.jsonl").stat().st_size


def test_a_session_is_for_its_owner(tmp_path: Path) -> None:
    """Mode 0600 whatever the umask is; a new id in name and rows, unless it is kept."""
    source = ROOT / "fixtures/guide/session.jsonl"
    old = os.umask(0)
    try:
        good("export", source, "--to", "claude-code", "-o", tmp_path)
        good("export", source, "--to", "claude-code", "-o", tmp_path, "--keep-id")
    finally:
        os.umask(old)
    made = {path.stem: json.loads(path.read_bytes().splitlines()[0])["sessionId"] for path in tmp_path.iterdir()}
    assert len(made) == 2 and all(name == identity for name, identity in made.items())
    assert json.loads(source.read_bytes().splitlines()[0])["sessionId"] in made
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


@pytest.mark.parametrize("to", ["chat", *REQUESTS, "codex"])
def test_a_budget_that_is_kept(monkeypatch: pytest.MonkeyPatch, to: str) -> None:
    """The config trims what goes out, and says so; the model of the request is whose limit counts."""
    monkeypatch.setenv("CTXKIT_BUDGET_ENFORCE", "true")
    monkeypatch.setenv("CTXKIT_RESERVE", "127930")
    assert ctxkit("export", "-", "--to", to, stdin=SMALL).code == 78
    ran = good("export", "-", "--to", to, "--model", "gpt-4o", stdin=SMALL)
    assert "to fit 70 (budget.enforce, CTXKIT_BUDGET_ENFORCE)." in ran.err and b"looking" not in ran.out
    ran = good("export", "-", "--to", to, "--model", "gpt-4o", "--max-tokens", "off", stdin=SMALL)
    assert "to fit" not in ran.err and b"looking" in ran.out
    ran = ctxkit("export", "-", "--to", to, "--model", "gpt-4o", "--max-tokens", "5", stdin=SMALL)
    assert (ran.code, ran.out) == (1, b"") and "do not fit into 5" in ran.err


@pytest.mark.parametrize("counted", [True, False])
def test_counts_of_another_context(tmp_path: Path, counted: bool) -> None:
    """Records keep their bytes, what a provider counted among them; where that is of another context, it is said."""
    rows = [json.loads(line) for line in (ROOT / "fixtures/guide/session.jsonl").read_bytes().splitlines()]
    for n, row in enumerate(rows):
        if row.get("type") == "assistant" and counted:
            row["message"]["usage"] = {"input_tokens": 100 + 45 * n, "output_tokens": 40}
    path = tmp_path / "session.jsonl"
    path.write_bytes(lines(*rows))
    said = "may compact at once"
    assert said not in good("export", path, "--to", "claude-code").err
    assert said not in good("export", path, "--to", "codex", "--max-tokens", "600").err
    cut = good("export", path, "--to", "claude-code", "--max-tokens", "600", "--no-recount").err
    assert "to fit 600" in cut and (said in cut) is counted
    assert said not in good("export", path, "--to", "claude-code", "--max-tokens", "600").err
    good("forget", path, "4-7")
    assert said not in good("export", path, "--to", "claude-code").err
    assert (said in good("export", path, "--to", "claude-code", "--no-recount").err) is counted


def test_pictures_that_the_provider_refuses(tmp_path: Path) -> None:
    """Said with the limit and the messages, and printed all the same; left out and counted where that is asked, in a
    file and in a pipe; a budget asks for it by itself. `check` finds it.
    """
    path = pictures.chat(tmp_path / "log.jsonl", [pictures.block(pictures.png(2400, 2400))] * 22)
    refused = (
        "ctxkit: anthropic would refuse the request for the 22 images: more than 2,000 pixels a side, in a request "
        "with more than 20 images (messages 1, 3, 5, 7, 9, …)"
    )
    ran = good("export", path, "--to", "anthropic")
    assert f"{refused}; use --fit-images to leave them out\n" in ran.err and ran.out.count(b'"image"') == 22
    ran = ctxkit("check", path)
    assert ran.code == 1 and b"log.jsonl: message 1: refused-images: anthropic would refuse" in ran.out
    for args, stdin in ((("-",), path.read_bytes()), ((path,), b"")):
        ran = good("export", *args, "--to", "anthropic", "--fit-images", stdin=stdin)
        assert "not sent: 2 × image beyond what the provider takes\n" in ran.err and "refuse" not in ran.err
        assert ran.out.count(b'"image"') == 20 and ran.out.count(b"[image left out]") == 2
    ran = good("export", path, "--to", "claude-code", "--max-tokens", "1M")
    assert "not sent: 2 × image beyond what the provider takes\n" in ran.err
    ran = good("export", path, "--to", "anthropic", "--max-tokens", "1M", "--no-fit-images")
    assert refused in ran.err
    assert good("log", path).out == b""


def test_an_empty_pipe() -> None:
    """The hint says how a pipe begins: `add LOG TEXT | export -` passes nothing on."""
    ran = ctxkit("export", "-", "--to", "openai", stdin=b"")
    assert ran.code == 1 and "hint: a pipe begins with -: ctxkit add - TEXT <LOG | ctxkit export -" in ran.err
