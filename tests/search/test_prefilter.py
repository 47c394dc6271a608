"""Files that cannot hold what is searched: by the index, and never another answer than without it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ctxkit.cli import log_search
from ctxkit.core.text.search_pattern import Needle
from ctxkit.search import prefilter
from ctxkit.search.prefilter import WordPrefilter
from ctxkit.store.folder import walk
from ctxkit.store.words import WordIndex, available
from tests.cli.runner import SMALL, Ran, ctxkit, good, lines, message
from tests.damage.sessions import ALL

pytestmark = pytest.mark.skipif(not available(), reason="this SQLite has no FTS5")

NEEDLES = [
    "second question", "question", "print", "zebra", "-i SECOND", "-i fifth", "--regex que.*n", "a.py", "naïve",
    "étude", "ABCdef", "12345", "100000", "one file", "first", "uest", "-e zebra -e answer", "-e print -e ab",
    "new line", "tool", "\U0001f600", "nul", "deep words", "c1",
]  # fmt: skip


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written a moment ago counts as settled, and there is time for all of it."""
    monkeypatch.setattr("ctxkit.store.index.JUST_NOW", 0)
    monkeypatch.setattr(prefilter, "BUDGET", 600)


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Sessions of all formats, words spelled in several ways, files of other kinds, ops, a link."""
    folder = tmp_path / "logs"
    folder.mkdir()
    for name, session in ALL.items():
        (folder / name).write_bytes(session.clean)
    odd = b'{"role":"user","content":"\\u0041BCdef \\u00e9tude na\\u00efve 1\\u0032345 \\ud83d\\ude00"}\n'
    (folder / "odd").write_bytes(odd)
    (folder / "numbers").write_bytes(b'{"role":"user","content":[{"type":"odd","odd":[1e5,12345,0.00001]}]}\n')
    (folder / "escapes").write_bytes(b'{"role":"user","content":"new\\nline\\tnew line deep\\\\words"}\n')
    (folder / "utf16").write_bytes('{"role":"user","content":"second question"}\n'.encode("utf-16"))
    (folder / "notes.txt").write_bytes(b"second question\n")
    (folder / "package.json").write_bytes(b'{"name":"question"}')
    (folder / "nul").write_bytes(SMALL.replace(b"second", b"sec\0ond"))
    (folder / "ops").write_bytes(SMALL)
    (folder / "claude").write_bytes(ALL["claude-code"].clean)
    good("forget", folder / "claude", "3")
    good("forget", folder / "ops", "6-8")
    many = ({"messages": [message("user", f"question {i}")]} for i in range(3))
    (folder / "many").write_bytes(lines(*many))
    (folder / "link").symlink_to("ops")
    return folder


def search(folder: Path, words: str, form: str) -> tuple[int, bytes]:
    """What a recall answers."""
    ran: Ran = ctxkit("recall", folder, *words.split(" ") if words.startswith("-") else [words], *form.split())
    return ran.code, ran.out


@pytest.mark.one_in(4)
@pytest.mark.parametrize("form", ["", "--json", "--limit 2 --json"])
def test_the_same_answers(logs: Path, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an index, with an empty one, with a full one, and after files changed."""
    asked = NEEDLES
    with monkeypatch.context() as none:
        none.setattr(prefilter, "available", lambda: False)
        expected = [search(logs, words, form) for words in asked]
    assert [search(logs, words, form) for words in asked] == expected
    assert [search(logs, words, form) for words in asked] == expected
    (logs / "ops").write_bytes(SMALL.replace(b"second", b"fifth!"))
    (logs / "new").write_bytes(lines(message("user", "zebra question")))
    (logs / "pi").unlink()
    with monkeypatch.context() as none:
        none.setattr(prefilter, "available", lambda: False)
        changed = [search(logs, words, form) for words in asked]
    assert changed != expected
    assert [search(logs, words, form) for words in asked] == changed


def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that a search opens from now on."""
    names: list[str] = []
    usual: Callable[[log_search.LogSearch, Path], None] = log_search.LogSearch.search_file

    def noted(run: log_search.LogSearch, path: Path) -> None:
        names.append(path.name)
        usual(run, path)

    monkeypatch.setattr(log_search.LogSearch, "search_file", noted)
    return names


def test_a_second_search_opens_what_may_hold_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And what changed since."""
    for name, words in (("a", "the fox"), ("b", "the zebra"), ("c", "the fox again")):
        (tmp_path / name).write_bytes(lines(message("user", words)))
    names = opened(monkeypatch)
    good("recall", tmp_path, "fox")
    assert names == ["a", "b", "c"]
    names.clear()
    good("recall", tmp_path, "fox")
    assert names == ["a", "c"]
    names.clear()
    good("recall", tmp_path, "zebr")
    assert names == ["b"]
    with (tmp_path / "a").open("ab") as log:
        log.write(lines(message("user", "zebra")))
    names.clear()
    assert len({hit["log"] for hit in good("recall", tmp_path, "zebra", "--json").values}) == 2
    assert names == ["a", "b"]


def test_a_little_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Learning ends where its time is over, and goes on the next time; what may change unseen is not learnt."""
    for n in range(5):
        (tmp_path / f"{n}").write_bytes(SMALL)
    index = WordIndex(tmp_path / "cache")
    (tmp_path / "logs").mkdir()
    for n in range(5):
        os.replace(tmp_path / f"{n}", tmp_path / "logs" / f"{n}")

    def run(ticks: int) -> int:
        moments = iter([0.0] * ticks + [10**6] * 100)
        one = WordPrefilter(Needle("zebra"), index)
        one.enter(tmp_path / "logs")
        found = [one.of(entry) for entry in walk(tmp_path / "logs")]
        one.leave()
        one.learn(lambda: next(moments))
        return sum(lacks is True for lacks in found)

    assert [run(3), run(3), run(9), run(9)] == [0, 2, 4, 5]
    monkeypatch.setattr("ctxkit.store.index.JUST_NOW", 10**18)
    (tmp_path / "logs/0").write_bytes(SMALL)
    assert [run(9), run(9)] == [4, 4]


def test_what_is_gone_is_forgotten(tmp_path: Path) -> None:
    """Once the whole folder was walked."""
    for name in "ab":
        (tmp_path / name).write_bytes(SMALL)
    good("recall", tmp_path, "question")
    index = WordIndex(Path(os.environ["XDG_CACHE_HOME"]) / "ctxkit")
    place = os.fsencode(tmp_path)
    assert len(index.known(place)) == 2
    (tmp_path / "a").unlink()
    good("recall", tmp_path, "question")
    assert list(index.known(place)) == [place + b"/b"]


def test_a_file_that_cannot_be_read_is_reported_all_the_same(tmp_path: Path) -> None:
    """A file whose mode changed is not what it was."""
    path = tmp_path / "a"
    path.write_bytes(SMALL)
    (tmp_path / "b").write_bytes(SMALL)
    good("recall", tmp_path, "question")
    path.unlink()
    path.symlink_to("nowhere")
    assert "nowhere" in ctxkit("recall", tmp_path, "zebra").err
