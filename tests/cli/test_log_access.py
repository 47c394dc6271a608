"""What all commands share: pipes, dry runs, JSON, quiet, retries by id, looking back, damage, hints."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from ctxkit.cli.log_access import criteria_text, with_dash
from ctxkit.cli.options import Selecting
from tests.cli.runner import FOREIGN, SMALL, Ran, ctxkit, good, lines, message, numbers, shown, small
from tests.formats.claude_code import logs as claude

PREPARED = good("mark", "-", "a", "-q", stdin=SMALL).out
for _words in (["forget", "-", "6"], ["window", "-", "24h"], ["undo", "-", "2"]):
    PREPARED = good(*_words, "-q", stdin=PREPARED).out

WRITERS = [
    ["mark", "-"],
    ["mark", "-", "label"],
    ["rewind", "-", "a"],
    ["forget", "-", "3"],
    ["forget", "-", "--role", "user"],
    ["remember", "-", "--last", "1x"],
    ["clear", "-"],
    ["clear", "-", "--keep-protected"],
    ["protect", "-", "5"],
    ["protect", "-", "1", "--off", "--force"],
    ["window", "-", "8h"],
    ["window", "-", "off"],
    ["undo", "-"],
    ["undo", "-", "--redo"],
]
LOG = PREPARED + lines(message("user", "later", 20), message("assistant", "so be it", 21))
IDS = [" ".join(words) for words in WRITERS]


def in_file(words: list[str], path: Path, *more: str) -> Ran:
    """The same call in file mode; what is chosen by criteria needs a yes."""
    yes = ["--yes"] if words[0] in ("forget", "remember") else []
    return ctxkit(words[0], path, *words[2:], *yes, *more)


def bare(line: bytes) -> dict[str, object]:
    """An op without what differs from run to run."""
    return {key: value for key, value in json.loads(line).items() if key not in ("id", "ts", "by", "prev", "sum")}


@pytest.mark.parametrize("words", WRITERS, ids=IDS)
def test_pipe(words: list[str], tmp_path: Path) -> None:
    """The log comes out byte for byte with one op behind it, the same op as in file mode; reports go to stderr."""
    ran = good(*words, stdin=LOG)
    assert ran.out.startswith(LOG) and ran.out.count(b"\n") == LOG.count(b"\n") + 1
    assert ran.err
    path = tmp_path / "chat.jsonl"
    path.write_bytes(LOG)
    filed = in_file(words, path)
    assert (filed.code, filed.out) == (0, b"")
    assert bare(path.read_bytes().splitlines()[-1]) == bare(ran.out.splitlines()[-1])
    assert numbers(good("show", "-", "--json", stdin=ran.out)) == shown(path)


@pytest.mark.parametrize("words", WRITERS, ids=IDS)
def test_nothing_named_is_standard_input(words: list[str]) -> None:
    """`-` may be left out where nothing else follows."""
    if len(words) == 2:
        ran = good(words[0], stdin=LOG)
        assert ran.out.startswith(LOG) and len(ran.out) > len(LOG)


@pytest.mark.parametrize("words", WRITERS, ids=IDS)
def test_dry_run(words: list[str], tmp_path: Path) -> None:
    """Nothing is appended: the op is printed, on stderr in a pipe, whose log goes through."""
    piped = good(*words, "--dry-run", stdin=LOG)
    assert piped.out == LOG
    path = tmp_path / "chat.jsonl"
    path.write_bytes(LOG)
    filed = in_file(words, path, "--dry-run")
    assert (filed.code, path.read_bytes()) == (0, LOG)
    [line] = [line for line in piped.err.splitlines() if line.startswith("{")]
    assert bare(filed.out) == bare(line.encode())
    assert "nothing was appended" in filed.err


@pytest.mark.parametrize("words", WRITERS, ids=IDS)
def test_json(words: list[str], tmp_path: Path) -> None:
    """The machine form is the line that was appended."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(LOG)
    ran = in_file(words, path, "--json")
    assert ran.out == path.read_bytes().splitlines(keepends=True)[-1]
    piped = good(*words, "--json", stdin=LOG)
    assert piped.out.splitlines()[-1].decode() in piped.err.splitlines()


@pytest.mark.parametrize("words", WRITERS, ids=IDS)
def test_quiet(words: list[str], tmp_path: Path) -> None:
    """-q silences reports; an error is no report."""
    assert good(*words, "-q", stdin=LOG).err == ""
    assert ctxkit(words[0], tmp_path / "none.jsonl", *words[2:], "-q").err != ""


@pytest.mark.parametrize("words", WRITERS, ids=IDS)
def test_retry_by_id(words: list[str], tmp_path: Path) -> None:
    """An id that is there already: exit 0, nothing appended, the op printed; in both modes."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(LOG)
    assert in_file(words, path, "--op-id", "try-1").code == 0
    once = path.read_bytes()
    again = in_file(words, path, "--op-id", "try-1")
    assert (again.code, path.read_bytes()) == (0, once), again.err
    assert again.out == once.splitlines(keepends=True)[-1]
    piped = good(*words, "--op-id", "try-1", stdin=once)
    assert piped.out == once
    assert once.splitlines()[-1].decode() in piped.err.splitlines()
    assert "already" in piped.err and "already" in again.err


@pytest.mark.parametrize("text", ["", "12", "1-2", "a.1", "a,b", "a b", "-x", "ü", "a" * 129, "a\n"])
def test_ids_that_would_read_as_something_else(text: str, tmp_path: Path) -> None:
    """An op is named by its id: numbers, ranges, lists and items are none."""
    path = small(tmp_path)
    assert ctxkit("mark", path, f"--op-id={text}").code == 2
    assert path.read_bytes() == SMALL


NOES = ["rewind - none", "forget - --grep zzz", "forget - 1", "undo - 99", "remember - 1-", "protect - --agent x",
        "clear - --agent x"]  # fmt: skip
ERRORS = ["forget - 99", "forget -", "window - 8", "protect - 1 --off", "mark - a b", "forget - --grep (",
          "mark - --now x --op-id 1"]  # fmt: skip


@pytest.mark.parametrize("words", NOES)
def test_pipe_goes_on_after_a_no(words: str) -> None:
    """Exit 1: the log comes out whole and unchanged, so that a pipe does not lose it."""
    ran = ctxkit(*words.split(), stdin=LOG)
    assert (ran.code, ran.out) == (1, LOG)
    assert "nothing was changed" in ran.err


@pytest.mark.parametrize("words", ERRORS)
def test_pipe_ends_after_an_error(words: str) -> None:
    """Exit 2 and above: nothing on stdout."""
    ran = ctxkit(*words.split(), stdin=LOG)
    assert (ran.code, ran.out) == (2, b"")
    assert ran.err.startswith("ctxkit: ")


@pytest.mark.parametrize("raw", [b"", SMALL.rstrip(b"\n"), b"\xef\xbb\xbf" + SMALL, SMALL.replace(b"\n", b"\r\n"),
                                 b"garbage\n" + SMALL, SMALL + b'{"role":"us', SMALL + b"\x00" * 50, b"\n\n" + SMALL,
                                 FOREIGN, SMALL.replace(b'}\n{', b"}{", 1)])  # fmt: skip
def test_pipe_is_byte_exact(raw: bytes) -> None:
    """Whatever was wrong with the log stays as it was; the op begins on a line of its own."""
    ran = good("mark", "-", "here", stdin=raw)
    glue = b"\n" if raw and not raw.endswith(b"\n") else b""
    assert ran.out.startswith(raw + glue + b'{"ctxkit":"mark"')
    assert ctxkit("rewind", "-", "none", stdin=raw).out == raw
    assert good("mark", "-", "--dry-run", stdin=raw).out == raw


def test_pipes_make_a_chain() -> None:
    """Each stage sees the ops of those before it."""
    raw = good("forget", "-", "--tool", "Read", stdin=SMALL).out
    raw = good("mark", "-", "m", stdin=raw).out
    raw = good("window", "-", "1h", stdin=raw).out
    assert numbers(good("show", "-", "--json", stdin=raw)) == [1, 2, 5, 6, 7, 8, 9, 10, 11]
    assert [value["ctxkit"] for value in good("log", "-", "--json", stdin=raw).values] == ["forget", "mark", "window"]


BACK = re.compile(r" *back with: .*\n")
LOOKERS = [["show"], ["show", "--oneline"], ["log"], ["why", "6"], ["export", "--to", "chat"], ["window"]]


@pytest.mark.parametrize("words", LOOKERS, ids=lambda words: " ".join(words))
def test_looking_changes_nothing(words: list[str], tmp_path: Path) -> None:
    """A result on stdout, reports on stderr, the same from a file and from a stream; the file stays as it is."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(LOG)
    filed = good(words[0], path, *words[1:])
    assert path.read_bytes() == LOG and list(tmp_path.iterdir()) == [path]
    assert good(words[0], "-", *words[1:], stdin=LOG).out == filed.out
    assert filed.out


@pytest.mark.parametrize("words", LOOKERS, ids=lambda words: " ".join(words))
def test_at(words: list[str]) -> None:
    """--at OP is what the log up to and including that op shows, by number, id or prefix of an id; commands that bring
    something back are about the log as it is now.
    """
    cut = LOG[: LOG.index(b'"window"')].rpartition(b"\n")[0] + b"\n"
    forget = json.loads(cut.splitlines()[-1])
    assert forget["ctxkit"] == "forget"
    expected = re.sub(BACK, "", good(words[0], "-", *words[1:], stdin=cut).text)
    for name in ("2", forget["id"], forget["id"][:6]):
        seen = good(words[0], "-", *words[1:], "--at", name, stdin=LOG).text
        assert re.sub(BACK, "", seen) == expected
    for name in ("99", "zz", ""):
        ran = ctxkit(words[0], "-", *words[1:], "--at", name, stdin=LOG)
        assert (ran.code, ran.out) == (1, b"")


def test_at_counts_what_was_there() -> None:
    """`11 of 11 messages`, not of those that came later."""
    assert "11 of 11 messages" in good("show", "-", "--at", "1", stdin=LOG).err


def test_damage_is_reported_once(tmp_path: Path) -> None:
    """path:line: code: text on stderr, ten at most; the rest is counted; -q silences it; the result is whole."""
    path = tmp_path / "chat.jsonl"
    path.write_bytes(SMALL + b"broken\n" * 12)
    ran = good("show", path, "--json")
    named = [line for line in ran.err.splitlines() if line.startswith(f"{path}:")]
    assert len(named) == 11 and named[0].startswith(f"{path}:12: not-json: ")
    assert "2 more damaged places" in named[-1]
    assert len(ran.values) == 11
    assert good("show", path, "--json", "-q").err == ""


def test_with_dash() -> None:
    """The advice is the call itself with `-` in it, quoted for a shell."""
    assert ctxkit("mark", "before the refactor", "--quiet").err.splitlines()[-1] == (
        "hint: was a log on standard input meant? ctxkit mark - 'before the refactor' --quiet"
    )
    assert with_dash("undo", "3").startswith("ctxkit undo - ")


def test_a_misspelt_file_is_no_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name that looks like a file gets the other advice."""
    monkeypatch.chdir(tmp_path)
    hint = ctxkit("mark", "caht.jsonl", "a").err.splitlines()[-1]
    assert hint == "hint: ctxkit sessions FOLDER lists the logs below a folder; ctxkit init caht.jsonl starts one"


def test_sidecar_for_a_stream(tmp_path: Path) -> None:
    """--sidecar puts and finds the ops elsewhere."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(FOREIGN)
    good("forget", path, "3", "--sidecar", str(tmp_path / "mine"))
    assert numbers(good("show", path, "--json")) == [1, 2, 3]
    assert numbers(good("show", path, "--json", "--sidecar", str(tmp_path / "mine"))) == [1, 2]
    assert numbers(good("show", "-", "--json", "--sidecar", str(tmp_path / "mine"), stdin=FOREIGN)) == [1, 2]
    assert path.read_bytes() == FOREIGN


def test_criteria_text() -> None:
    """Criteria as typed, for the op's provenance."""
    chosen = Selecting()
    assert criteria_text(chosen) is None
    chosen.role, chosen.after_mark, chosen.invert = "user", "a b", True
    assert criteria_text(chosen) == "--role user --after-mark a b --invert"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A Claude Code session with a sidechain of its own, and a folder with what two more agents did."""
    own = claude.user("s", None, "inside", isSidechain=True, agentId="inner")
    (tmp_path / "one.jsonl").write_bytes(claude.log(claude.user("q", None, "main words"), own))
    folder = tmp_path / "one/subagents"
    folder.mkdir(parents=True)
    for name in ("a1", "a2"):
        rows = [claude.user("u", None, f"task of {name}", isSidechain=True, agentId=name),
                claude.assistant("r", "u", f"report of {name}", isSidechain=True, agentId=name)]  # fmt: skip
        (folder / f"agent-{name}.jsonl").write_bytes(claude.log(*rows))
    (folder / "notes.txt").write_text("none")
    (folder / "agent-link.jsonl").symlink_to(folder / "agent-a1.jsonl")
    return tmp_path / "one.jsonl"


def test_an_agent_with_a_log_of_its_own(session: Path) -> None:
    """It is opened where its thread is named; ops on it go to its own sidecar, and no other thread changes."""
    found = good("show", session, "--thread", "a2", "--oneline")
    assert b"report of a2" in found.out and b"main words" not in found.out
    assert f"a2 has a log of its own: {session.parent}/one/subagents/agent-a2.jsonl" in found.err
    good("forget", session, "2", "--thread", "a2", "-y")
    assert b"report of a2" not in good("export", session, "--thread", "a2", "--to", "anthropic").out
    assert good("status", session, "--thread", "a2", "--json").values[0]["log"].endswith("agent-a2.jsonl")
    assert (session.parent / "one/subagents/agent-a2.jsonl.ctxkit").is_dir()
    assert not session.with_name("one.jsonl.ctxkit").exists()
    assert b"inside" in good("show", session, "--thread", "inner").out
    assert b"main words" in good("show", session, "--thread", "main").out
    good("protect", session, "1", "--thread", "a1")
    good("protect", session, "1", "--off", "--thread", "a1")


def test_a_thread_that_nobody_has(session: Path) -> None:
    """Both the log's threads and the agents beside it are listed; a link is none, and no path leads elsewhere."""
    for name in ("nobody", "link", "../../one"):
        found = ctxkit("show", session, "--thread", name)
        assert found.code == 1 and "hint: it has inner, main; beside it: a1, a2\n" in found.err
    assert "beside" not in ctxkit("show", session.parent / "one/subagents/agent-a1.jsonl", "--thread", "a2").err


def test_an_agent_and_a_sidecar(session: Path, tmp_path: Path) -> None:
    """A sidecar that is named is the session's: its ops are not an agent's."""
    found = ctxkit("show", session, "--thread", "a1", "--sidecar", tmp_path / "side")
    assert found.code == 2 and "agent-a1.jsonl" in found.err


CHANGES = [
    ["edit", "--draft", "DRAFT"], ["forget", "3"], ["undo"], ["undo", "--redo"],
    ["remember", "6-11"], ["recall", "3", "--apply"], ["clear"], ["undo"],
    ["compact", "2-8"], ["undo"], ["forget", "6"], ["restore", "latest", "--replace"],
    ["trim", "--max-tokens", "120"],
]  # fmt: skip
FOUND = re.compile(r"(?:whole request: )?([\d,]+) → (?:about )?([\d,]+) tokens(?: \((?:<1|\d+) % of [\d,]+\))?")


def test_a_change_says_what_it_did(tmp_path: Path) -> None:
    """In tokens, as `status` counts before and after it, and as a share of the limit; in any state of the log."""
    path = small(tmp_path)
    draft = tmp_path / "draft.txt"
    draft.write_bytes(good("edit", path, "--print").out.replace(b"first question", b"first question, reworded"))

    def used() -> int:
        return int(good("status", path, "--json", "--context-limit", "1000").values[0]["tokens"]["used"])

    good("config", path, "set", "limit", "1000")
    for words in CHANGES:
        before = used()
        ran = good(words[0], path, *(str(draft) if word == "DRAFT" else word for word in words[1:]))
        after = used()
        if words[0] in ("trim", "compact"):
            assert f"({before:,} → {after:,} tokens" in ran.err and ran.err.endswith(f"\n{after // 10} % of 1,000\n")
            continue
        line = ran.err.splitlines()[-1].removeprefix("about ")
        assert line.endswith(f"→ {after:,} tokens ({after // 10 or '<1'} % of 1,000)") or "about " in ran.err, words
        found = FOUND.fullmatch(line)
        assert found is not None and int(found[1]) == before, words
    good("mark", path, "a")
    good("add", path, "one more")
    before = used()
    assert good("rewind", path, "a").err.splitlines()[1].startswith(f"{before:,} → ")


def test_who_asks_for_no_report_gets_no_figures(tmp_path: Path) -> None:
    """Nor does a pipe, nor an op that leaves the context as it is."""
    path = small(tmp_path)
    for words in (["forget", "3", "-q"], ["forget", "2", "--json"], ["protect", "6"], ["mark"]):
        assert "tokens" not in good(words[0], path, *words[1:]).err
    assert "tokens" not in good("forget", "-", "3", stdin=SMALL).err


def test_a_large_log_that_nobody_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tokens are not counted for a report; how to ask is said. What is counted roughly says so, and is not kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "large.jsonl"
    path.write_bytes(lines(*(message("user", "some words " * 2000, n) for n in range(8))))
    assert good("forget", path, "3").err.endswith(f"tokens: ctxkit status {path} counts them\n")
    good("status", path)
    assert FOUND.fullmatch(good("forget", path, "4").err.splitlines()[-1])
    little = small(tmp_path)
    assert good("forget", little, "3").err.splitlines()[-1].startswith("about ")
    exact = good("status", little, "--json").values[0]["tokens"]["used"]
    assert good("forget", little, "6").err.splitlines()[-1].startswith(f"{exact} → ")


def test_a_log_above_8_mb(tmp_path: Path) -> None:
    """Has no figures of small changes, also if its tokens are counted: they would take longer than the change."""
    path = tmp_path / "large.jsonl"
    path.write_bytes(lines(*(message("user", f"{n} " + "x" * 100_000, n) for n in range(85))))
    good("trim", path, "--max-tokens", "90000")
    assert good("forget", path, "3").err.endswith(f"\ntokens: ctxkit status {path} counts them\n")
    assert "tokens" not in good("mark", path).err


@pytest.mark.parametrize(
    ("how", "command", "told"),
    [
        ("copy", "show", True), ("copy", "status", True), ("copy", "log", True), ("copy", "export", True),
        ("move", "show", True), ("copy with its config", "show", False), ("copy elsewhere", "show", False),
        ("copy without keys", "show", False), ("copy without ops", "show", False), ("the log itself", "show", False),
    ],
)  # fmt: skip
def test_a_copy_whose_config_stayed_behind(tmp_path: Path, how: str, command: str, told: bool) -> None:
    """A copied file has the ops; its window and its clock may be in the config beside the other one: one line says so,
    and what it names mends it.
    """
    path, copy = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    good("init", path)
    good("add", path, "hello")
    if how != "copy without keys":
        good("config", path, "set", "window.default", "8h")
        good("config", path, "set", "now", "wall")
    if how != "copy without ops":
        good("mark", path, "here")
    if how == "copy elsewhere":
        copy = tmp_path / "other" / "b.jsonl"
        copy.parent.mkdir()
    if how == "move":
        path.rename(copy)
    elif how == "the log itself":
        copy = path
    else:
        copy.write_bytes(path.read_bytes())
    if how == "copy with its config":
        shutil.copytree(tmp_path / "a.jsonl.ctxkit", tmp_path / "b.jsonl.ctxkit")
    to = ["--to", "openai"] if command == "export" else []
    mend = f"cp -r {path}.ctxkit {copy}.ctxkit"
    words = f"{copy}: its ops were made in a.jsonl, whose config does not count here (now, window.default): {mend}\n"
    assert (words in good(command, copy, *to).err) is told
    if told:
        subprocess.run(shlex.split(mend), check=True)
        assert "does not count here" not in good(command, copy, *to).err
