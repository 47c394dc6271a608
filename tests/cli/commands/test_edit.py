"""edit: a draft out, a draft in. What a draft says: tests/edit/test_edit.py."""

from __future__ import annotations

import json
import os
import shlex
import signal
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect
import pytest

from ctxkit.cli.commands.edit import editor_of
from ctxkit.cli.terminal import streams
from ctxkit.store.drafts import left
from ctxkit.store.sidecar import Sidecar
from tests.cli.runner import (
    FOREIGN,
    PYTHON,
    SMALL,
    Ran,
    ctxkit,
    good,
    lines,
    message,
    ops,
    process,
    shell,
    shown,
    small,
)

BACK = "#%% 10 "


def printed(path: Path, *args: str) -> str:
    """The draft."""
    return good("edit", path, "--print", *args).text


def applied(path: Path, text: str, *args: str) -> Any:
    """What applying a draft gives."""
    return ctxkit("edit", path, "--draft", "-", *args, stdin=text.encode())


def test_there_and_back(tmp_path: Path) -> None:
    """Unchanged is no op and no failure."""
    path = small(tmp_path)
    good("forget", path, "2")
    before = path.read_bytes()
    ran = applied(path, printed(path))
    assert (ran.code, ran.out, ran.err) == (0, b"", "Nothing was changed: nothing appended.\n")
    assert path.read_bytes() == before


def test_words(tmp_path: Path) -> None:
    """What is said, and shown in the list of ops."""
    path = small(tmp_path)
    good("clear", path)
    ran = applied(path, printed(path).replace(BACK, BACK[1:]))
    assert ran.code == 0 and ran.said == "[PRIOR_CONTEXT_PROVIDED] 2 messages (1 brought back)\n"
    assert shown(path) == [1, 10]
    assert "[PRIOR_CONTEXT_PROVIDED] 2 messages" in good("log", path).text.splitlines()[-1]
    told = "2 of 11 messages; [PRIOR_CONTEXT_PROVIDED] 2 messages by op 2"
    assert good("show", path).said.startswith(told)
    with path.open("ab") as log:
        log.write(lines(message("user", "and now", 30)))
    assert good("show", path).said.startswith(told.replace("2 of 11", "3 of 12"))
    good("clear", path)
    assert "PRIOR" not in good("show", path).said
    good("undo", path)
    assert "PRIOR" in good("show", path).said
    good("undo", path)
    assert "PRIOR" not in good("show", path).said
    assert shown(path) == [1, 12]


def test_from_before_a_clear_with_sed(tmp_path: Path) -> None:
    """A script of one line: print, take a # away, apply."""
    small(tmp_path)
    script = "ctxkit clear chat.jsonl && ctxkit edit chat.jsonl --print | sed 's/^#%% 2 /%% 2 /' >d && "
    ran = shell(script + "ctxkit edit chat.jsonl --draft d && ctxkit show chat.jsonl --json", tmp_path)
    assert ran.code == 0 and [value["n"] for value in ran.values] == [1, 2], ran.err


def test_file_and_pipe_agree(tmp_path: Path) -> None:
    """The same op, whole lines, and the log in front of it byte for byte; a cancelled edit lets the log through."""
    path = small(tmp_path)
    draft = tmp_path / "draft.txt"
    draft.write_text(printed(path).replace("%% 2 ", "#%% 2 ").replace("last answer", "the last"))
    ran = ctxkit("edit", "-", "--draft", draft, stdin=SMALL)
    good("edit", path, "--draft", draft)
    file, pipe = path.read_bytes(), ran.out
    assert pipe.startswith(SMALL) and file.startswith(SMALL)
    own = [{key: value for key, value in json.loads(raw.splitlines()[-1]).items()} for raw in (file, pipe)]
    for body in own:
        for key in ("id", "ts", "by", "prev", "sum"):
            del body[key]
    assert own[0] == own[1] and own[0]["ctxkit"] == "edit"
    ran = ctxkit("edit", "-", "--draft", "/dev/null", stdin=SMALL)
    assert (ran.code, ran.out) == (1, SMALL)
    own_name = printed(small(tmp_path)).replace(str(path), "standard input", 1)
    assert ctxkit("edit", "-", "--print", stdin=SMALL).text == own_name


def test_json_and_dry_run(tmp_path: Path) -> None:
    """The draft as JSON; the op, and with --dry-run that one alone."""
    path = small(tmp_path)
    text = good("edit", path, "--print", "--json").values[0]["draft"]
    assert text == printed(path)
    changed = text.replace("%% 2 ", "#%% 2 ")
    ran = applied(path, changed, "--dry-run")
    assert json.loads(ran.out)["ctxkit"] == "edit" and path.read_bytes() == SMALL and "Dry run" in ran.err
    ran = applied(path, changed, "--json")
    assert json.loads(ran.out) == ops(path)[-1]
    assert applied(path, printed(path), "--json").out == (
        b'{"op":null,"said":"Nothing was changed: nothing appended."}\n'
    )


def test_op_id(tmp_path: Path) -> None:
    """A retry appends nothing."""
    path = small(tmp_path)
    text = printed(path).replace("%% 2 ", "#%% 2 ")
    for _ in range(2):
        assert applied(path, text, "--op-id", "once").code == 0
    assert len(ops(path)) == 1


def test_selectors(tmp_path: Path) -> None:
    """As of forget; the others stay."""
    path = small(tmp_path)
    good("forget", path, "9")
    assert printed(path, "--role", "user", "--last", "1").count("\n%% ") == 1
    assert "\n#%% 9 " in printed(path, "8-9") and "%% 9 " not in printed(path, "8-9", "--only-context")
    assert applied(path, printed(path, "--role", "user", "--last", "1").replace("third", "a third")).code == 0
    assert "a third question" in good("show", path).text and len(good("show", path, "--json").values) == 10


def test_mistakes(tmp_path: Path) -> None:
    """Exit 65, each with its line, nothing appended."""
    path = small(tmp_path)
    ran = applied(path, printed(path).replace("Z user", "Z usr"))
    assert ran.code == 65 and path.read_bytes() == SMALL
    assert ran.err.startswith("ctxkit: draft:17: ") and "no role 'usr'" in ran.err and "(and 2 more)" in ran.err


def test_grown_meanwhile(tmp_path: Path) -> None:
    """What came is kept, and it is said."""
    path = small(tmp_path)
    text = printed(path).replace("%% 2 ", "#%% 2 ")
    path.write_bytes(SMALL + lines(message("user", "late", 30)))
    ran = applied(path, text)
    assert "1 message (12) were added meanwhile: they stay after the edit" in ran.err and shown(path) == [
        1,
        *range(3, 13),
    ]


def test_other_ops_meanwhile(tmp_path: Path) -> None:
    """Exit 75, nothing appended."""
    path = small(tmp_path)
    text = printed(path).replace("%% 2 ", "#%% 2 ")
    good("forget", path, "9")
    ran = applied(path, text)
    assert ran.code == 75 and len(ops(path)) == 1 and "forget (op 1) was appended" in ran.err


def test_a_foreign_log(tmp_path: Path) -> None:
    """Its own bytes stay; the op is beside it."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(FOREIGN)
    assert applied(path, printed(path).replace("\nhi\n", "\nhey\n")).code == 0
    assert path.read_bytes() == FOREIGN and "hey" in good("show", path).text


@pytest.mark.parametrize(
    "words", [("--print", "--draft", "d"), ("--draft", "d", "3"), ("--draft", "d", "--only-context")]
)
def test_what_does_not_go_together(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Exit 2."""
    path = small(tmp_path)
    assert ctxkit("edit", path, *words).code == 2 and path.read_bytes() == SMALL


def test_an_editor_in_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`edit -` runs a program that $EDITOR names; what it makes wrong is kept, and named."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    log = b'{"role":"user","content":"hi"}\n{"role":"assistant","content":"yo"}\n'
    monkeypatch.setenv("EDITOR", "sed -i s/^yo$/yes/")
    ran = good("edit", "-", stdin=log)
    assert ran.out.startswith(log) and good("show", "-", "--oneline", stdin=ran.out).text.split()[-1] == "yes"
    assert not list((tmp_path / "ctxkit").glob("draft-*"))
    monkeypatch.setenv("EDITOR", "sed -i s/^%%=.*//")
    wrong = ctxkit("edit", "-", stdin=log)
    (kept,) = (tmp_path / "ctxkit").glob("draft-*/draft.txt")
    assert (wrong.code, wrong.out) == (65, b"") and str(kept) in wrong.err
    monkeypatch.delenv("EDITOR")
    assert "ctxkit edit - --draft FILE" in ctxkit("edit", "-", stdin=log).err


def test_a_foreign_log_in_a_pipe(tmp_path: Path) -> None:
    """The same context as of the file with its sidecar, whose ops a draft knows either way."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(FOREIGN)
    good("forget", path, "1")
    draft = tmp_path / "draft.txt"
    draft.write_text(printed(path).replace("#%% 1 ", "%% 1 ").replace("\nhi\n", "\nhey\n"))
    out = good("edit", "-", "--draft", draft, stdin=good("cat", path).out).out
    good("edit", path, "--draft", draft)
    assert "hey" in good("show", path).text and good("show", "-", stdin=out).out == good("show", path).out


def test_plain(tmp_path: Path) -> None:
    """A conversation, printed and applied; --draft sees itself which form it is."""
    path = small(tmp_path)
    text = printed(path, "--plain")
    assert "\n[2026-02-01T10:01:00Z] User: first question\n" in text and '\n<<3/2 call Read {"path":"a.py"}>>\n' in text
    assert applied(path, text).said == "Nothing was changed: nothing appended.\n"
    ran = applied(path, text.replace("first question", "another question"))
    assert ran.code == 0 and ran.said == "[PRIOR_CONTEXT_PROVIDED] 11 messages (1 changed)\n"
    ran = ctxkit("edit", path, "--plain", "--draft", "-", stdin=text.encode())
    assert ran.code == 2 and "use numbers, criteria, --only-context and --plain with --print" in ran.said


def test_a_mangled_line_of_a_plain_draft(tmp_path: Path) -> None:
    """Exit 65, with the line; nothing is appended."""
    path = small(tmp_path)
    text, before = printed(path, "--plain"), path.read_bytes()
    broken = text.replace('<<3/2 call Read {"path":"a.py"}>>', '<<3/2 call Read {"path":"b.py"}>>')
    line = broken.split("\n").index('<<3/2 call Read {"path":"b.py"}>>') + 1
    ran = applied(path, broken)
    assert (ran.code, path.read_bytes()) == (65, before)
    assert ran.err.startswith(f'ctxkit: draft:{line}: the line <<3/2 call Read {{"path":"a.py"}}>> must stay as it is')


@pytest.mark.parametrize("end", ["s/first/second/", "s/^%%=.*/%%= lost/; s/first/second/"])
def test_plain_in_an_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    """As the other form: a line %%= that was changed is known, and mended."""
    path = small(tmp_path)
    monkeypatch.setenv("EDITOR", f"sed -i '{end}'")
    ran = good("edit", path, "--plain")
    assert ran.said == "[PRIOR_CONTEXT_PROVIDED] 11 messages (1 changed)\n"
    assert "second question" in good("show", path).text
    assert list((tmp_path / "chat.jsonl.ctxkit").glob("drafts/*")) == []


CANARY = "canary-7f3a9c"


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, "vi"), ({"EDITOR": "nano"}, "nano"), ({"EDITOR": "nano", "VISUAL": "code --wait"}, "code --wait"),
        ({"EDITOR": "nano", "VISUAL": " "}, "nano"), ({"EDITOR": ""}, "vi"),
    ],
)  # fmt: skip
def test_which(env: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """VISUAL, then EDITOR, then vi on a terminal; an empty one is none."""
    monkeypatch.setattr(streams, "on_terminal", lambda: True)
    assert editor_of(env) == expected


def edited(path: Path, editor: str, *args: str, stdin: bytes = b"", **env: str) -> Ran:
    """An edit by an editor, as a script runs it: no terminal."""
    return process("edit", path, *args, stdin=stdin, env={"EDITOR": editor, **env})


def script(folder: Path, text: str) -> Path:
    """A program of ours."""
    path = folder / "my editor"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def drafts(path: Path) -> list[Path]:
    """Those that are left."""
    return left(Sidecar(path))


def holding(folder: Path) -> list[str]:
    """The files that hold private text."""
    return [path.name for path in folder.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]


def test_sed(tmp_path: Path) -> None:
    """A line as an editor: out, back from before a clear, unchanged."""
    path = small(tmp_path)
    assert edited(path, "sed -i 's/^%% 2 /#%% 2 /'").said == "[PRIOR_CONTEXT_PROVIDED] 10 messages (1 left out)\n"
    assert shown(path) == [1, *range(3, 12)]
    good("clear", path)
    ran = edited(path, "sed -i -E 's/^#(%% (2|11) )/\\1/'")
    assert (ran.code, ran.said) == (0, "[PRIOR_CONTEXT_PROVIDED] 3 messages (2 brought back)\n")
    assert shown(path) == [1, 2, 11] and not (Sidecar(path).folder / "drafts").exists()
    before = path.read_bytes()
    assert edited(path, "true").said == "Nothing was changed: nothing appended.\n" and path.read_bytes() == before


@pytest.mark.needs("ed")
def test_ed(tmp_path: Path) -> None:
    """Its commands on standard input: delete a message, change one, move one to the end."""
    path = small(tmp_path)
    commands = b"/^%% 2 /,/^%% 3 /-1d\n,s/last answer/the last answer/\n/^%% 5 /,/^%% 6 /-1m$\nw\nq\n"
    ran = edited(path, "ed -s", stdin=commands)
    assert ran.code == 0 and "(1 left out, 1 changed, other order)" in ran.err
    assert [value.get("n", value.get("item")) for value in good("show", path, "--json").values] == [
        1, 3, 4, 6, 7, 8, 9, 10, "1.9", 5,
    ]  # fmt: skip


def test_words_are_split_and_no_shell_sees_them(tmp_path: Path) -> None:
    """Options, as of `code --wait`; quotes and blanks; a semicolon is no end of a command."""
    path = small(tmp_path)
    mine = script(tmp_path, f'printf "%s\\n" "$@" >"{tmp_path}/words"; sed -i "s/last answer/$(basename "$0")/" "$2"')
    assert edited(path, f"'{mine}' --wait").code == 0
    first, file = (tmp_path / "words").read_text().splitlines()
    assert first == "--wait" and file.endswith("/draft.txt") and "my editor" in good("show", path).text
    for words in (f"true;touch {tmp_path}/x", f"true $(touch {tmp_path}/x)", f"true | touch {tmp_path}/x"):
        edited(path, words)
    assert not (tmp_path / "x").exists()


def test_visual_goes_first(tmp_path: Path) -> None:
    """As everywhere."""
    path = small(tmp_path)
    assert edited(path, "false", VISUAL="sed -i '/^%% 2 /,/^$/d'").code == 0 and shown(path)[1] == 3


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("no-such-editor --wait", 78, "the editor 'no-such-editor --wait' cannot be started: no such file"),
        ("vi 'open", 78, "cannot be started: no closing quotation"), ("/", 78, "cannot be started: permission denied"),
        ("false", 1, "the editor 'false' ended with 1"),
        ("sh -c 'kill -9 $$'", 1, "was ended by SIGKILL"), ("sh -c 'kill -TERM $$'", 1, "was ended by SIGTERM"),
        ("truncate -s 0", 1, "no message is left in the draft: the edit is cancelled"), ("rm", 1, "cancelled"),
        ("sed -i /^%%/d", 65, "text that belongs to no message"),
    ],
)  # fmt: skip
def test_failing_editors(tmp_path: Path, words: str, code: int, said: str) -> None:
    """Nothing is appended; nothing is left where nobody wrote anything."""
    path = small(tmp_path)
    ran = edited(path, words)
    assert (ran.code, path.read_bytes()) == (code, SMALL) and said in ran.err and "nothing was changed" in ran.err
    assert len(drafts(path)) == (code == 65)


def test_a_killed_editor_loses_nothing(tmp_path: Path) -> None:
    """What was saved is kept, named, and applied by --draft, after which it goes."""
    path = small(tmp_path)
    mine = script(tmp_path, 'sed -i "s/last answer/mine/" "$1"; kill -9 $$')
    ran = edited(path, f"'{mine}'")
    (draft,) = drafts(path)
    assert ran.code == 1 and f"--draft {draft}" in ran.err
    assert f"a draft of an earlier edit is left: {draft}" in edited(path, "true").err
    assert good("edit", path, "--draft", draft).err.startswith("[PRIOR_CONTEXT_PROVIDED]")
    assert "mine" in good("show", path).text and drafts(path) == []


def test_mistakes_in_a_script(tmp_path: Path) -> None:
    """Exit 65, the draft's path with the line, and nothing appended; corrected, it can be applied."""
    path = small(tmp_path)
    ran = edited(path, "sed -i 's/Z user/Z usr/; s/last answer/mine/'")
    (draft,) = drafts(path)
    assert ran.code == 65 and ran.err.startswith(f"ctxkit: {draft}:17: no role 'usr'") and path.read_bytes() == SMALL
    draft.write_text(draft.read_text().replace("Z usr", "Z user"))
    good("edit", path, "--draft", draft)
    assert "mine" in good("show", path).text and drafts(path) == []


def test_private(tmp_path: Path) -> None:
    """Under any umask the draft is 0600 in folders of 0700, so is what the editor makes; nothing is left anywhere."""
    path = small(tmp_path)
    path.write_bytes(SMALL.replace(b"first question", CANARY.encode()))
    (tmp_path / "tmp").mkdir()
    mine = script(
        tmp_path,
        f'cat "$1" >"$1~"; stat -c %a "$1" "$(dirname "$1")" "$1~" >"{tmp_path}/modes"; echo >>"$1"; '
        'sed -i "s/^%% 3 /#%% 3 /" "$1"',
    )
    before = os.umask(0)
    try:
        ran = edited(path, f"'{mine}'", TMPDIR=str(tmp_path / "tmp"), TMP=str(tmp_path / "tmp"))
    finally:
        os.umask(before)
    assert ran.code == 0 and (tmp_path / "modes").read_text().split() == ["600", "700", "600"]
    assert holding(tmp_path) == ["chat.jsonl"] and list((tmp_path / "tmp").iterdir()) == []


def test_grown_and_changed_meanwhile(tmp_path: Path) -> None:
    """New messages stay behind the edit; another op refuses it: 75, the draft kept."""
    path = small(tmp_path)
    (tmp_path / "late").write_bytes(lines(message("user", "late", 30)))
    mine = script(tmp_path, f'cat "{tmp_path}/late" >>"{path}"; sed -i "s/^%% 2 /#%% 2 /" "$1"')
    ran = edited(path, f"'{mine}'")
    assert "1 message (12) were added meanwhile: they stay after the edit" in ran.err and shown(path) == [
        1,
        *range(3, 13),
    ]
    mine = script(tmp_path, f'{shlex.join(PYTHON)} forget "{path}" 5; sed -i "s/^%% 3 /#%% 3 /" "$1"')
    ran = edited(path, f"'{mine}'")
    (draft,) = drafts(path)
    assert ran.code == 75 and str(draft) in ran.err and [op["ctxkit"] for op in ops(path)] == ["edit", "forget"]


def test_a_foreign_log_and_another_sidecar(tmp_path: Path) -> None:
    """The draft is where the ops go."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(FOREIGN)
    mine = script(tmp_path, f'echo "$1" >"{tmp_path}/where"; sed -i "s/^hello/hallo/" "$1"')
    assert edited(path, f"'{mine}'", "--sidecar", str(tmp_path / "beside")).code == 0
    assert (tmp_path / "where").read_text().startswith(f"{tmp_path}/beside/drafts/") and path.read_bytes() == FOREIGN
    assert "hallo" in good("show", path, "--sidecar", tmp_path / "beside").text
    ran = edited(path, "sed -i 's/ user$/ usr/'", "--sidecar", str(tmp_path / "beside"))
    assert f"hint: the draft is kept: ctxkit edit {path} --sidecar {tmp_path}/beside --draft " in ran.err


def test_an_op_id_opens_no_editor_twice(tmp_path: Path) -> None:
    """A retry appends nothing and asks nobody."""
    path = small(tmp_path)
    assert edited(path, "sed -i 's/^%% 2 /#%% 2 /'", "--op-id", "once").code == 0
    assert edited(path, "false", "--op-id", "once").code == 0 and len(ops(path)) == 1


# on terminals


def spawn(path: Path, editor: str, *args: str, **env: str) -> pexpect.spawn:
    """The command on a terminal."""
    full = {**os.environ, "EDITOR": editor, **env}
    words = [*PYTHON[1:], "edit", str(path), *args]
    return pexpect.spawn(PYTHON[0], words, env=full, dimensions=(40, 100), timeout=60)  # type: ignore[arg-type]


def ended(child: pexpect.spawn) -> tuple[int | None, str]:
    """Exit status, and what was on the terminal since the last look."""
    child.expect(pexpect.EOF)
    child.close()
    return child.exitstatus, child.before.decode("utf-8", "replace")


def opened(child: pexpect.spawn, words: str = "NUMBER TIME ROLE") -> None:
    """The editor shows the draft; a small vi waits first, where the name of the file is too long for its last line."""
    if child.expect([words, "Press ENTER"]) == 1:
        child.send("\r")
        child.expect(words)


def until(found: Callable[[], bool]) -> None:
    """Waits for it; a guard against hanging, no measure."""
    end = time.monotonic() + 60
    while not found():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.05)


@pytest.mark.needs("vi")
def test_vi(tmp_path: Path) -> None:
    """Substitutes, saves, leaves: the op. What it keeps beside the draft goes with it."""
    path = small(tmp_path)
    path.write_bytes(SMALL.replace(b"first question", CANARY.encode()))
    child = spawn(path, "vi")
    opened(child)
    child.send(":%s/^%% 3 /#%% 3 /\r")
    child.send(":%s/last answer/from vi/\r")
    child.send(":wq\r")
    status, text = ended(child)
    assert status == 0 and "[PRIOR_CONTEXT_PROVIDED] 10 messages (1 left out, 1 changed)" in text
    assert "from vi" in good("show", path).text and holding(tmp_path) == ["chat.jsonl"]
    child = spawn(path, "vi")
    opened(child)
    child.send(":cq\r")
    status, text = ended(child)
    assert status == 1 and "ended with 1" in text and drafts(path) == []


@pytest.mark.needs("vi")
def test_vi_sees_its_mistake(tmp_path: Path) -> None:
    """On a terminal the editor opens again, with what is wrong above the line; corrected, it is done."""
    path = small(tmp_path)
    child = spawn(path, "vi")
    opened(child)
    child.send(":%s/Z user$/Z usr/\r:wq\r")
    opened(child, "no role")
    child.send(":%s/Z usr$/Z user/\r:%s/third/a third/\r:wq\r")
    status, text = ended(child)
    assert status == 0 and "(1 changed)" in text, text
    assert "a third question" in good("show", path).text and drafts(path) == []


@pytest.mark.needs("nano")
def test_nano(tmp_path: Path) -> None:
    """Searches, types a number sign, saves, leaves."""
    path = small(tmp_path)
    child = spawn(path, "nano")
    opened(child)
    child.send("\x17%% 2 \r")
    child.send("#")
    child.send("\x0f\r")
    child.expect("Wrote")
    child.send("\x18")
    status, text = ended(child)
    assert status == 0 and "[PRIOR_CONTEXT_PROVIDED] 10 messages (1 left out)" in text
    assert shown(path) == [1, *range(3, 12)]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_killed_while_the_editor_is_open(tmp_path: Path, number: signal.Signals) -> None:
    """The log is as it was; one draft is left, private and whole, and the next edit names it."""
    path = small(tmp_path)
    mine = script(tmp_path, f'sed -i "s/last answer/{CANARY}/" "$1"; touch "{tmp_path}/open"; exec sleep 60')
    child = spawn(path, f"'{mine}'")
    until((tmp_path / "open").exists)
    child.kill(number)
    until(lambda: not child.isalive())
    child.close(force=True)
    (draft,) = drafts(path)
    assert path.read_bytes() == SMALL and stat.S_IMODE(draft.stat().st_mode) == 0o600
    assert sorted(holding(tmp_path)) == ["draft.txt", "my editor"]
    assert str(draft) in edited(path, "true").err
    good("edit", path, "--draft", draft)
    assert CANARY in good("show", path).text


def test_an_editor_that_does_not_wait(tmp_path: Path) -> None:
    """One with windows that comes back at once has edited nothing: it is said how it would."""
    path = small(tmp_path)
    status, text = ended(spawn(path, "true"))
    assert status == 0 and "Nothing was changed" in text and 'EDITOR="code --wait"' in text
    assert "code --wait" not in edited(path, "true").err


def test_an_interrupt_is_the_editors(tmp_path: Path) -> None:
    """Ctrl-C ends the editor, not ctxkit, which says so."""
    path = small(tmp_path)
    mine = script(tmp_path, f'touch "{tmp_path}/open"; exec sleep 60')
    child = spawn(path, f"'{mine}'")
    until((tmp_path / "open").exists)
    child.sendintr()
    status, text = ended(child)
    assert status == 1 and "was ended by SIGINT" in text and path.read_bytes() == SMALL and drafts(path) == []
