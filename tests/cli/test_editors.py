"""What editors do to a file, and what is brought back by it: whole commands, in this process where that is enough."""

from __future__ import annotations

import json
import os
import shlex
import signal
import stat
import termios
from pathlib import Path

import pytest

from ctxkit.cli.terminal import streams
from ctxkit.store.sidecar import Sidecar
from tests.cli.commands.test_edit import drafts, edited, ended, opened, script, spawn, until
from tests.cli.runner import PYTHON, SMALL, ctxkit, good, lines, message, ops, shell, shown, small


@pytest.mark.parametrize(
    ("commands", "code", "said"),
    [
        ("printf '\\357\\273\\277' >new; sed 's/$/\\r/' \"$1\" >>new; mv new \"$1\"", 0, "Nothing was changed"),
        ("printf '\\357\\273\\277' >new; sed 's/last/my/; s/$/\\r/' \"$1\" >>new; mv new \"$1\"", 0, "(1 changed)"),
        ("tr '\\n' '\\r' <\"$1\" >new; mv new \"$1\"", 0, "Nothing was changed"),
        ("cp \"$1\" old; mv \"$1\" \"$1~\"; sed s/last/my/ \"$1~\" >\"$1\"", 0, "(1 changed)"),  # backupcopy=no
        ("cp \"$1\" \"$1~\"; sed s/last/my/ \"$1~\" >\"$1\"", 0, "(1 changed)"),  # truncates, writes in place
        ("sed s/last/my/ \"$1\" >new; rm \"$1\"; ln -s \"$PWD/new\" \"$1\"", 0, "(1 changed)"),
        ("printf %s \"$(sed s/last/my/ \"$1\")\" >new; mv new \"$1\"", 0, "(1 changed)"),  # no last line end
        ("sed 's/last/\\xe9/' -i \"$1\"", 65, "not UTF-8"),
        ("(printf '\\377\\376'; cat \"$1\") >new; mv new \"$1\"", 65, "not UTF-8"),
        ("rm \"$1\"; mkfifo \"$1\"", 74, "not a regular file"), ("rm \"$1\"; mkdir \"$1\"", 74, "not a regular file"),
    ],
)  # fmt: skip
def test_what_editors_do_to_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commands: str, code: int, said: str
) -> None:
    """Marks and line ends are not edited; renamed over, truncated, linked: the text at the path counts; no text, 65."""
    path = small(tmp_path)
    monkeypatch.setenv("EDITOR", f"'{script(tmp_path, commands)}'")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    ran = ctxkit("edit", path)
    assert ran.code == code and said in ran.err, ran
    assert len(drafts(path)) == (code == 65) and (ran.code == 0 or str(Sidecar(path).folder / "drafts") in ran.err)
    assert path.read_bytes()[: len(SMALL)] == SMALL and len(ops(path)) == (said == "(1 changed)")
    assert ("my answer" in good("show", path).text) == (said == "(1 changed)")


def test_no_editor_no_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """None is named, and no terminal is there, or no vi: 78, and what names one; vi is not started. A closed standard
    input is no terminal, and an editor may not need it.
    """
    path = small(tmp_path)
    monkeypatch.delenv("EDITOR", raising=False)
    monkeypatch.delenv("VISUAL", raising=False)
    script(tmp_path, "touch started").rename(tmp_path / "vi")
    with monkeypatch.context() as bare:
        bare.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        ran = ctxkit("edit", path)
    assert ran.code == 78 and "no editor is named, and this is no terminal: nothing was changed" in ran.err
    assert "set VISUAL or EDITOR" in ran.err and drafts(path) == [] and not list(tmp_path.rglob("started"))
    (tmp_path / "vi").unlink()
    monkeypatch.setattr(streams, "on_terminal", lambda: True)
    with monkeypatch.context() as bare:
        bare.setenv("PATH", str(tmp_path))
        ran = ctxkit("edit", path)
    assert ran.code == 78 and "the editor 'vi' cannot be started: no such file" in ran.err
    assert "set VISUAL or EDITOR" in ran.err and drafts(path) == []
    ran = shell("EDITOR='sed -i /^%%=/d' ctxkit edit chat.jsonl <&- >&-; echo $? >&2", tmp_path)
    assert ran.err.endswith("74\n") and path.read_bytes() == SMALL  # as every command
    ran = shell("EDITOR='sed -i s/last/my/' ctxkit edit chat.jsonl <&-", tmp_path)
    assert ran.code == 0 and "(1 changed)" in ran.err


def test_what_an_editor_prints_is_no_result(tmp_path: Path) -> None:
    """It goes to standard error, so that the op can be taken."""
    path = small(tmp_path)
    ran = edited(path, "sh -c 'echo prattle; sed -i s/last/my/ \"$0\"'", "--json")
    assert [value["ctxkit"] for value in ran.values] == ["edit"] and "prattle" in ran.err


def test_back_by_taking_away_a_sign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever took it out, also before a clear, with its calls and pictures: what is told is what was there."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    shows = message("user", [{"type": "text", "text": "see"}, picture], 11)
    path = small(tmp_path)
    path.write_bytes(SMALL + lines(shows))
    before = good("export", path, "--to", "chat").out
    monkeypatch.setenv("EDITOR", "sed -i '/^#%%/s/^#//; s/^see$/look/'")
    good("forget", path, "2-4")
    good("mark", path, "here")
    with path.open("ab") as file:
        file.write(lines(message("user", "aside", 12)))
    good("rewind", path, "here")
    good("clear", path)
    seen = good("edit", path, "--print").text
    for told in (
        "#%% 2 2026-02-01T10:01:00Z user (forgotten by op 1)", "#%% 13 2026-02-01T10:12:00Z user (rewound by op 3)",
        "#%% 10 2026-02-01T10:09:00Z user (cleared by op 4)", "%%> 3/2 call Read {\"path\":\"a.py\"}",
        "%%> 12/2 image image/png 9 bytes",
    ):  # fmt: skip
        assert told in seen, told
    assert "iVBOR" not in seen
    ran = good("edit", path)
    assert "brought back" in ran.err and "1 changed" in ran.err
    [*all_but_two, last, late] = good("export", path, "--to", "chat").values
    assert all_but_two == [json.loads(line) for line in before.splitlines()][:-1] and late["content"] == "aside"
    assert last["content"] == [{"type": "text", "text": "look"}, picture]
    good("undo", path)
    assert shown(path) == [1]


def test_two_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The edit that is saved last is refused, and its draft kept."""
    path = small(tmp_path)
    inner = f"EDITOR='sed -i s/third/3rd/' {shlex.join(PYTHON)} edit '{path}'; sed -i s/last/my/ \"$1\""
    monkeypatch.setenv("EDITOR", f"'{script(tmp_path, inner)}'")
    ran = ctxkit("edit", path)
    (draft,) = drafts(path)
    assert ran.code == 75 and str(draft) in ran.err and "my answer" in draft.read_text()
    assert len(ops(path)) == 1 and "3rd question" in good("show", path).text


@pytest.mark.needs("vi")
def test_vi_with_other_ends_and_backups(tmp_path: Path) -> None:
    """A mark in front, other line ends, a backup, the file renamed over; ctrl-C is vi's, and vi goes on."""
    path = small(tmp_path)
    child = spawn(path, "vi")
    opened(child)
    child.sendintr()
    child.expect(" to exit ")
    child.send(":set nocp bomb ff=dos backup backupcopy=no\r:%s/last/my/\r:wq\r")
    status, text = ended(child)
    assert status == 0 and "(1 changed)" in text, text
    assert "my answer" in good("show", path).text and not (Sidecar(path).folder / "drafts").exists()


@pytest.mark.needs("vi")
def test_the_terminal_goes(tmp_path: Path) -> None:
    """What was saved is in the one draft that is left, private as what vi puts beside it; applied, all of it goes."""
    path = small(tmp_path)
    child = spawn(path, "vi")
    opened(child)
    child.send(":%s/last answer/my answer/\r:w\r")
    until(lambda: bool(drafts(path)) and "my answer" in drafts(path)[0].read_text())
    child.close(force=False)
    until(lambda: not child.isalive())
    (draft,) = drafts(path)
    assert path.read_bytes() == SMALL and "my answer" in draft.read_text()
    assert {stat.S_IMODE(one.stat().st_mode) for one in draft.parent.iterdir()} == {0o600}
    good("edit", path, "--draft", draft)
    assert "my answer" in good("show", path).text and not (Sidecar(path).folder / "drafts").exists()


def test_the_terminal_after_a_killed_editor(tmp_path: Path) -> None:
    """Is as it was, whatever the editor had made of it."""
    path = small(tmp_path)
    mine = script(
        tmp_path, f'stty raw -echo; echo $$ >"{tmp_path}/pid"; mv "{tmp_path}/pid" "{tmp_path}/open"; exec sleep 60'
    )
    child = spawn(path, f"'{mine}'")
    before = termios.tcgetattr(child.child_fd)
    until((tmp_path / "open").exists)
    assert termios.tcgetattr(child.child_fd) != before
    os.kill(int((tmp_path / "open").read_text()), signal.SIGKILL)
    child.expect("was ended by SIGKILL: nothing was changed")
    assert termios.tcgetattr(child.child_fd) == before
    assert ended(child)[0] == 1 and path.read_bytes() == SMALL
