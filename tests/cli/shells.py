"""Real shells with ctxkit's completion, in a terminal: what a line becomes when TAB is pressed on it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pexpect

from tests.cli.runner import ROOT
from tests.prefork import program

SCRIPTS = ROOT / "ctxkit/cli/help/shells"

BASH = f"""
PS1='READY> '
. {SCRIPTS}/ctxkit.bash
bind 'set bell-style none'
bind 'set enable-bracketed-paste off'
bind 'set page-completions off'
bind -x '"\\C-t": printf %s "$READLINE_LINE" >line.new && mv line.new line; READLINE_LINE='
echo LOADED
"""

ZSH = f"""
PS1='READY> '
fpath=({SCRIPTS} $fpath)
autoload -Uz compinit && compinit -u -d "$HOME/.zcompdump"
unsetopt beep zle_bracketed_paste 2>/dev/null
unset zle_bracketed_paste
written() {{ print -rn -- "$BUFFER" >line.new && mv line.new line; BUFFER= }}
zle -N written
bindkey -e
bindkey '^T' written
echo LOADED
"""

BEGIN = {"bash": ("bash", ["--norc", "--noprofile", "-i"], BASH), "zsh": ("zsh", ["-f", "-i"], ZSH)}


def environment(folder: Path) -> dict[str, str]:
    """A home in `folder` and a PATH with this ctxkit on it."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    script = programs / "ctxkit"
    script.write_text(program())
    script.chmod(0o755)
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(folder), "TERM": "xterm", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}


class Shell:
    """bash or zsh in a terminal, in `folder`, with completion loaded."""

    def __init__(self, name: str, folder: Path) -> None:
        program, words, setup = BEGIN[name]
        self.folder = folder
        rc = folder / f"setup.{name}"
        rc.write_text(setup)
        self.child = pexpect.spawn(
            program, words, cwd=str(folder), env=environment(folder), encoding="utf-8", timeout=30, dimensions=(60, 200)
        )
        self.child.sendline(f". ./{rc.name}")
        self.child.expect("LOADED\r\n")
        self.child.expect("READY> ")

    def tab(self, typed: str, tabs: int = 1) -> str:
        """The line after `typed` and so many TABs; it is cleared again, not run."""
        done = self.folder / "line"
        done.unlink(missing_ok=True)
        self.child.send(typed + "\t" * tabs + "\x14")
        for _ in range(3000):
            if done.exists():
                break
            self.child.expect([pexpect.TIMEOUT, ".+"], timeout=0.01)
        return done.read_text()

    def listed(self, typed: str) -> str:
        """What the terminal is sent when TAB is pressed twice: the list of candidates, among other things."""
        self.child.send(typed)
        self.child.expect_exact(typed[-4:])
        self.child.send("\t\t")
        self.child.send("\x05END")  # typed behind whatever is listed
        self.child.expect_exact("END")
        listed = self.child.before
        self.child.send("\x15")
        return str(listed)

    def close(self) -> None:
        """End it."""
        self.child.close(force=True)


def fish(line: str, folder: Path) -> list[tuple[str, str]]:
    """What fish completes `line` with: word and description."""
    ran = subprocess.run(
        ["fish", "--no-config", "-c", f"source {SCRIPTS}/ctxkit.fish; complete -C $argv[1]", line],
        cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert ran.stderr == ""
    found = (one.partition("\t") for one in ran.stdout.splitlines())
    return [(word, text) for word, _, text in found]
