"""Texts that config and caller put around a context: read, and refused where they are missing, elsewhere or no text."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.core.assembly import Assembled
from ctxkit.errors import BadConfig, CtxkitError, NoSuchLog, ReadFailed, Usage
from ctxkit.logfile.assembly_sources import words_of
from ctxkit.settings.named_files import FILES, LARGEST
from ctxkit.store.private import user_config
from tests.cli.runner import SMALL, ctxkit, good, lines, message
from tests.validators.anthropic_rules import problems as anthropic_problems
from tests.validators.openai_rules import problems as openai_problems

GOLDEN = Path(__file__).resolve().parents[2] / "fixtures" / "assembly"


def log(folder: Path, config: str, raw: bytes = SMALL) -> Path:
    """A log with this config beside it."""
    path = folder / "chat.jsonl"
    path.write_bytes(raw)
    (folder / "chat.jsonl.ctxkit").mkdir(exist_ok=True)
    (folder / "chat.jsonl.ctxkit" / "config.toml").write_text(config)
    return path


def assembled(path: Path, **more: Any) -> list[Assembled]:
    """What stands around the context."""
    return list(Log.open(path, env={}).assembled(**more))


def test_golden() -> None:
    """System prompt, documents, status: in their places, the same in every run, on every clock."""
    assert good("show", GOLDEN / "chat.jsonl", "--json").out == (GOLDEN / "show.jsonl").read_bytes()
    late = Log.open(GOLDEN / "chat.jsonl", env={}, clock=lambda: 4e9)
    assert list(late.assembled()) == list(Log.open(GOLDEN / "chat.jsonl", env={}, clock=lambda: 0.0).assembled())


@pytest.mark.parametrize("to", ["openai", "anthropic"])
def test_requests_stay_valid(to: str) -> None:
    """A request has it all, system words first, and passes the provider's rules."""
    log = Log.open(GOLDEN / "chat.jsonl", env={})
    [body] = log.export(to, model="m", status="all is well").values
    check = openai_problems if to == "openai" else anthropic_problems
    assert check(body | ({"max_tokens": 9} if to == "anthropic" else {})) == []
    words = json.dumps(body)
    places = [words.index(part) for part in ("garden's", "House rules", "Seeds: 2.50", "Be brief.")]
    assert places == sorted(places)
    assert words.index("Threads: 2") < words.index("all is well") < words.index("The shop is open")
    assert "pump" not in words  # the caller's words stand for those of the config


def test_chat_is_the_log(tmp_path: Path) -> None:
    """Chat lines hold the log's own messages only (replay 53); so does a request that is asked to."""
    log = Log.open(GOLDEN / "chat.jsonl", env={})
    for value in (*log.export("chat").values, *log.export("openai", assembly=False).values):
        assert "garden" not in json.dumps(value) and "Threads" not in json.dumps(value)


def test_nothing_by_default(tmp_path: Path) -> None:
    """Without config and threads there is nothing around a context, but what a caller says."""
    path = log(tmp_path, "")
    assert assembled(path) == []
    assert assembled(path, status="cpu 3 %") == [Assembled("status", "user", "cpu 3 %")]
    assert assembled(path, status="  \n") == []


def test_documents_in_order(tmp_path: Path) -> None:
    """Each document is a message of its own, as it stands in its file, without the last line's end."""
    (tmp_path / "a.md").write_bytes(b"\xef\xbb\xbf# A\r\n\r\nx\r\n")
    (tmp_path / "b.md").write_text("B")
    found = assembled(log(tmp_path, '[assembly]\ndocs = ["b.md", "a.md"]\n'))
    assert [(one.kind, one.role, one.text, one.source) for one in found] == [
        ("docs", "system", "B", "b.md"),
        ("docs", "system", "# A\n\nx", "a.md"),
    ]


def test_links_out_of_the_folder(tmp_path: Path) -> None:
    """A link that leads out of the log's folder is named and not followed; one within it is."""
    inside = tmp_path / "in"
    inside.mkdir()
    (tmp_path / "secret").write_text("secret")
    os.symlink("../secret", inside / "doc.md")
    os.symlink("..", inside / "up")
    (inside / "real.md").write_text("fine")
    os.symlink("real.md", inside / "link.md")
    path = log(inside, '[assembly]\ndocs = ["doc.md", "up/secret", "link.md"]\n')
    opened = Log.open(path, env={})
    assert [one.text for one in opened.assembled()] == ["fine"]
    assert len(opened.noticed) == 2 and all("leads out of the log's folder" in one for one in opened.noticed)
    ran = good("show", path, "--oneline")
    assert "secret" not in ran.text and "doc.md: a link leads out of the log's folder: ignored" in ran.err


def test_the_folder_is_that_of_the_log_itself(tmp_path: Path) -> None:
    """A log that is reached by a link has its documents beside itself."""
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "d.md").write_text("mine")
    path = log(tmp_path / "real", '[assembly]\ndocs = ["d.md"]\n')
    os.symlink(path, tmp_path / "link.jsonl")
    assert [one.text for one in assembled(tmp_path / "link.jsonl")] == ["mine"]


def test_elsewhere_by_the_user_alone(tmp_path: Path) -> None:
    """A path out of the folder counts from the environment, and not from the log's own config."""
    (tmp_path / "in").mkdir()
    (tmp_path / "mine.md").write_text("mine")
    path = log(tmp_path / "in", '[assembly]\ndocs = ["../mine.md"]\n')
    assert assembled(path) == []
    env = {"CTXKIT_ASSEMBLY_DOCS": f"../mine.md, {tmp_path}/mine.md"}
    assert [one.text for one in Log.open(path, env=env).assembled()] == ["mine", "mine"]


@pytest.mark.parametrize(
    ("raw", "kind", "words"),
    [
        (None, BadConfig, "no such file"),
        (b"\xff\xfe", BadConfig, "not UTF-8 (byte 0)"),
        (b"a\0b", BadConfig, "it contains NUL"),
        (b"x" * (LARGEST + 1), BadConfig, "larger than 1,048,576 bytes"),
        ("folder", CtxkitError, "d.md"),
        ("pipe", BadConfig, "not a regular file"),
        ("loop", ReadFailed, "too many levels"),
    ],
)
def test_refused(tmp_path: Path, raw: bytes | str | None, kind: type[CtxkitError], words: str) -> None:
    """A document that cannot be read as text ends the command: a context without it is not what was asked for."""
    path = log(tmp_path, '[assembly]\ndocs = ["d.md"]\n')
    doc = tmp_path / "d.md"
    if isinstance(raw, bytes):
        doc.write_bytes(raw)
    elif raw == "folder":
        doc.mkdir()
    elif raw == "pipe":
        os.mkfifo(doc)
    elif raw == "loop":
        os.symlink("d.md", doc)
    with pytest.raises(kind) as caught:
        assembled(path)
    assert words in caught.value.message and "nothing was printed" in caught.value.message
    assert Log.open(path, env={}).export("openai", assembly=False).count == 11


@pytest.mark.parametrize("name", ["", "a\\u0000b"])
def test_no_name_of_a_file(tmp_path: Path, name: str) -> None:
    """Whatever a config writes there."""
    with pytest.raises(BadConfig, match="not a file name"):
        assembled(log(tmp_path, f'[assembly]\ndocs = ["{name}"]\n'))


def test_empty_documents(tmp_path: Path) -> None:
    """A document without words is no message, and that is said."""
    (tmp_path / "d.md").write_text(" \n")
    opened = Log.open(log(tmp_path, '[assembly]\ndocs = ["d.md"]\nsystem = "  "\n'), env={})
    assert list(opened.assembled()) == [] and "d.md: is empty" in opened.noticed[0]


def test_status_file(tmp_path: Path) -> None:
    """The file of the config stands behind the threads, and alone where there are not two."""
    (tmp_path / "s.txt").write_text("cpu 3 %\n")
    config = '[assembly]\nstatus = "s.txt"\n'
    assert [(one.text, one.source) for one in assembled(log(tmp_path, config))] == [("cpu 3 %", "s.txt")]
    two = lines(message("user", "a", 1, thread="x"), message("user", "b", 2, thread="y"))
    [one] = assembled(log(tmp_path, config, two))
    assert one.text.startswith("Threads: 2 active\n") and one.text.endswith('"a"\n\ncpu 3 %')


def test_words_of(tmp_path: Path) -> None:
    """A file that the caller names: its text, or the error that says what is wrong with it."""
    (tmp_path / "s").write_text("fine\n")
    assert words_of(str(tmp_path / "s")) == "fine"
    (tmp_path / "s").write_bytes(b"\xff")
    for name, kind in ((tmp_path / "none", NoSuchLog), (tmp_path, ReadFailed), (tmp_path / "s", Usage)):
        with pytest.raises(kind, match="nothing was printed"):
            words_of(str(name))


def many(folder: Path) -> None:
    """Some documents, some of them not to be read."""
    (folder / "docs" / "deep").mkdir(parents=True)
    for name in ("b.md", "a.md", "deep/c.txt", ".hidden.md"):
        (folder / "docs" / name).write_text(f"words of {name}")
    (folder / "docs" / "logo.png").write_bytes(b"\x89PNG\0")
    (folder / "docs" / "empty.md").write_text("\n")


@pytest.mark.parametrize(
    ("value", "sources"),
    [
        ("docs", ["docs/a.md", "docs/b.md", "docs/deep/c.txt"]),
        ("docs/", ["docs/a.md", "docs/b.md", "docs/deep/c.txt"]),
        ("docs/*.md", ["docs/a.md", "docs/b.md"]), ("docs/**/*.txt", ["docs/deep/c.txt"]), ("doc?/[b]*", ["docs/b.md"]),
        ("**/*.md", ["docs/a.md", "docs/b.md"]),
    ],
)  # fmt: skip
def test_folders_and_patterns(tmp_path: Path, value: str, sources: list[str]) -> None:
    """A folder stands for all below it, a pattern for what fits: by path; what is no text is named, and left out."""
    many(tmp_path)
    path = log(tmp_path, "")
    good("config", path, "set", "assembly.docs", value)
    opened = Log.open(path, env={})
    assert [one.source for one in opened.assembled()] == sources
    assert all("left out" in text for text in opened.noticed)
    assert any("logo.png" in text for text in opened.noticed) == (value.startswith("docs") and "." not in value)
    assert good("show", path).code == 0 and good("export", path, "--to", "openai").code == 0


def test_a_folder_is_bounded(tmp_path: Path) -> None:
    """So many files, and so many bytes; what is beyond is counted. Links lead nowhere else."""
    inside = tmp_path / "in"
    (inside / "docs").mkdir(parents=True)
    for n in range(FILES + 5):
        (inside / "docs" / f"{n:04}.md").write_text("x")
    (tmp_path / "secret.md").write_text("secret")
    os.symlink("../../secret.md", inside / "docs" / "0000a.md")
    os.symlink("..", inside / "docs" / "0000b")
    opened = Log.open(log(inside, '[assembly]\ndocs = ["docs"]\n'), env={})
    found = list(opened.assembled())
    assert len(found) == FILES and not any("secret" in one.text for one in found)
    assert "5 more files left out" in opened.noticed[-1] and "0000a.md: a link leads out" in opened.noticed[0]
    (inside / "docs" / "0001.md").write_text("x" * LARGEST)
    assert sum(len(one.text) for one in Log.open(inside / "chat.jsonl", env={}).assembled()) <= LARGEST


@pytest.mark.parametrize("value", ["docs", "docs/**", "**/*.md"])
def test_a_link_to_a_folder_is_not_followed(tmp_path: Path, value: str) -> None:
    """A link that leads round or out is named once: each file is there once, and nothing beyond is looked at."""
    outside, folder = tmp_path / "outside", tmp_path / "in"
    folder.mkdir()
    many(folder)
    (outside / "deep").mkdir(parents=True)
    for n in range(20):
        (outside / "deep" / f"{n}.md").write_text("secret")
    for name, target in {"self": ".", "deep/up": "..", "a": "deep", "out": str(outside)}.items():
        os.symlink(target, folder / "docs" / name)
    path = log(folder, f'[assembly]\ndocs = ["{value}"]\n')
    opened = Log.open(path, env={})
    assert [one.source for one in opened.assembled() if one.source.endswith(".md")] == ["docs/a.md", "docs/b.md"]
    links = [text for text in opened.noticed if ": a link " in text]
    assert len(links) == (0 if value == "**/*.md" else 4) and not any("deep/1.md" in text for text in links)


@pytest.mark.parametrize("value", ["docs[1]", "docs[1]/", "docs[1]/*.md", "docs[[]1]/a.md", "docs[1]/**", "**/a.md"])
def test_folders_whose_names_hold_brackets(tmp_path: Path, value: str) -> None:
    """A pattern is what config says: not the log's folder, and not a folder that is there under this very name."""
    folder = tmp_path / "[new] *" / "docs[1]"
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("words")
    path = log(folder.parent, "")
    good("config", path, "set", "assembly.docs", value)
    assert [one.source for one in Log.open(path, env={}).assembled()] == ["docs[1]/a.md"]


@pytest.mark.parametrize("value", ["nothing.md", "no/folder/", "*.nothing", "bad.md", ""])
@pytest.mark.parametrize("key", ["assembly.docs", "assembly.status", "tools"])
def test_what_is_missing_is_refused_when_it_is_set(tmp_path: Path, key: str, value: str) -> None:
    """A setting that names no text is refused, exit 78, and nothing is written."""
    path = log(tmp_path, "")
    (tmp_path / "bad.md").write_bytes(b"\xff\0")
    ran = ctxkit("config", path, "set", key, value)
    assert ran.code == (0 if not value else 78), ran.err
    assert not value or "nothing was changed" in ran.err
    assert not value or (tmp_path / "chat.jsonl.ctxkit/config.toml").read_text() == ""


def test_a_look_goes_on_and_an_export_does_not(tmp_path: Path) -> None:
    """What is missing later: `show` warns and goes on, what leaves is refused, `check` finds it with its line."""
    path = log(tmp_path, '[assembly]\ndocs = ["gone.md", "here.md"]\n')
    (tmp_path / "here.md").write_text("present")
    for words in (("show", path), ("show", path, "--explain"), ("show", path, "--max-tokens", "100000")):
        ran = ctxkit(*words)
        assert (ran.code == 0 and "present" in ran.text) or "here.md" in ran.text
        assert ran.err.count("gone.md: no such file: left out") == 1, ran.err
    for to in ("openai", "anthropic"):
        ran = ctxkit("export", path, "--to", to)
        assert (ran.code, ran.out) == (78, b"") and "gone.md: no such file: nothing was printed" in ran.err
    ran = ctxkit("check", path, "--json")
    found = [one for one in ran.values if "gone.md" in json.dumps(one)]
    assert ran.code == 1 and len(found) == 1 and "config.toml line 2" in json.dumps(found), ran.text
    (tmp_path / "gone.md").write_text("back")
    assert ctxkit("check", path).code == 0


TWO = lines(
    message("user", "to frodo", 0, agent="frodo"),
    message("user", "to sam", 1, agent="sam"),
    message("user", "to pip", 2, agent="pip"),
)


def of_agents(folder: Path) -> Path:
    """A log of three agents; the user's own config has texts for two, the log's for all."""
    path = log(folder, '[assembly]\nsystem = "for all"\ndocs = ["all.md"]\n', TWO)
    (folder / "lore").mkdir()
    for name in ("all.md", "lore/ring.md", "lore/shire.md", "sam.txt"):
        (folder / name).write_text(f"text of {name}")
    own = user_config(os.environ)
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text(
        f"""[agents.frodo]
system = "You are Frodo."
docs = ["lore"]
[agents.sam]
system = "file:{folder}/sam.txt"
docs = []
"""
    )
    return path


def seen_as(path: Path, agent: str | None) -> list[tuple[str, str]]:
    """The texts around the context of an agent, with the files that they are from."""
    log = Log.open(path)
    log.lens_agent = agent
    return [(one.text, one.source) for one in log.assembled()]


def test_texts_of_an_agent_come_before_those_of_the_log(tmp_path: Path) -> None:
    """System prompt and documents, each by itself; an empty list is none; an agent without any has those of the log."""
    path = of_agents(tmp_path)
    for_all = [("for all", ""), ("text of all.md", "all.md")]
    assert seen_as(path, None) == seen_as(path, "pip") == for_all
    assert seen_as(path, "frodo") == [
        ("You are Frodo.", ""), ("text of lore/ring.md", "lore/ring.md"), ("text of lore/shire.md", "lore/shire.md"),
    ]  # fmt: skip
    assert seen_as(path, "sam") == [("text of sam.txt", f"{tmp_path}/sam.txt")]


def test_exports_of_agents(tmp_path: Path) -> None:
    """Each request has the texts of its agent alone."""
    path = of_agents(tmp_path)
    texts = {
        agent: good("export", path, "--to", "openai", "--model", "m", "--agent", agent).text
        for agent in ("frodo", "sam", "pip")
    }
    for agent, mine in (("frodo", "You are Frodo."), ("sam", "text of sam.txt"), ("pip", "for all")):
        assert [mine in texts[one] for one in texts] == [one == agent for one in texts]
        assert [f"to {agent}" in texts[one] for one in texts] == [one == agent for one in texts]


def test_a_missing_document_of_an_agent(tmp_path: Path) -> None:
    """The message names the agent's key and its line; the other agents are not concerned."""
    path = of_agents(tmp_path)
    (tmp_path / "sam.txt").unlink()
    ran = ctxkit("export", path, "--to", "openai", "--model", "m", "--agent", "sam")
    key = f"{user_config(os.environ)}:5: agents.sam.system: {tmp_path}/sam.txt"
    assert ran.code == 78 and ran.err.startswith(f"ctxkit: {key}: no such file: nothing was printed\n")
    good("export", path, "--to", "openai", "--model", "m", "--agent", "frodo")
    assert "agents.sam.system" in ctxkit("check", path).text


def test_a_link_of_an_agent_out_of_the_folder(tmp_path: Path) -> None:
    """A relative path of the user's own config is in the log's folder, which may be a stranger's: no link leads out."""
    path = of_agents(tmp_path / "in") if (tmp_path / "in").mkdir() is None else tmp_path
    (tmp_path / "secret").write_text("secret words")
    (tmp_path / "in/lore/out.md").symlink_to(tmp_path / "secret")
    ran = good("export", path, "--to", "openai", "--model", "m", "--agent", "frodo")
    assert "secret words" not in ran.text and "lore/out.md: a link leads out of the log's folder: ignored" in ran.err
