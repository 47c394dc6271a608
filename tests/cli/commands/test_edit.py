"""edit: a draft out, a draft in. What a draft says: tests/edit/test_edit.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.runner import FOREIGN, SMALL, ctxkit, good, lines, message, ops, shell, shown, small

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
