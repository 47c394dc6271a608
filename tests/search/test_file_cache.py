"""What the last look at files told, as long as they are what they were."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ctxkit.search import sessions
from ctxkit.search.file_cache import GLANCE, TOKENS, CachedFiles, CachedTokens, key, known_as
from ctxkit.search.preview import LastWords, SessionPreview
from ctxkit.search.sessions import ROUGH, find_sessions
from ctxkit.store.index import Index, settled
from ctxkit.store.source import Source
from tests.cli.runner import FOREIGN, SMALL, ctxkit, good, lines, message
from tests.damage.sessions import ALL

ONE = SessionPreview("chat", "a title", LastWords("user", "words"), 1.5, 3, "clean")


def old(path: Path, raw: bytes = SMALL) -> Path:
    """A file that was not changed just now, as far as its times say."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(raw)
    return path


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written a moment ago counts as settled."""
    monkeypatch.setattr("ctxkit.store.index.JUST_NOW", 0)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were read."""
    names: list[str] = []
    usual = sessions.glance

    def noted(source: Source, name: str, *more: Any) -> SessionPreview | None:
        names.append(Path(name).name)
        return usual(source, name, *more)

    monkeypatch.setattr(sessions, "glance", noted)
    return names


def test_learns_and_recalls(tmp_path: Path) -> None:
    """A glance, that a file is no session, and nothing once it is something else."""
    index = Index(tmp_path / "cache")
    paths = [old(tmp_path / name) for name in "abc"]
    one = CachedFiles(index)
    one.enter(tmp_path)
    one.learn(paths[0], "1", ONE)
    one.learn(paths[1], "1", None)
    one.leave()
    two = CachedFiles(index)
    two.enter(tmp_path)
    assert [two.glance(path, "1") for path in paths] == [(True, ONE), (True, None), (False, None)]
    assert two.glance(paths[0], "2") == (False, None)
    paths[0].unlink()
    three = CachedFiles(index)
    three.enter(tmp_path)
    three.leave()
    assert list(index.below(GLANCE, key(tmp_path))) == [key(paths[1])]


@pytest.mark.parametrize("told", [b"{}", b"broken", b'{"format":7}', b"null"])
def test_what_reads_as_nothing(tmp_path: Path, told: bytes) -> None:
    """Is not known."""
    index = Index(tmp_path / "cache")
    path = old(tmp_path / "a")
    index.put(GLANCE, {key(path): ("1", told)})
    index.put("tokens", {key(path): ("1", told)})
    one = CachedFiles(index)
    one.enter(tmp_path)
    assert one.glance(path, "1") == (False, None) and one.tokens(path, "1") is None


def test_notes(tmp_path: Path) -> None:
    """Tokens, of one state of a file."""
    index = Index(tmp_path / "cache")
    path = old(tmp_path / "a")
    index.put(TOKENS, {key(path): ("1", msgspec.json.encode(CachedTokens(7, "pieces")))})
    one = CachedFiles(index)
    one.enter(tmp_path)
    assert one.tokens(path, "1") == CachedTokens(7, "pieces") and one.tokens(path, "2") is None


def test_a_second_look_reads_nothing(tmp_path: Path, read: list[str]) -> None:
    """And tells the same, of all formats and of what is no log; what changed in any way is read again."""
    for name, session in ALL.items():
        old(tmp_path / "logs" / name, session.clean)
    old(tmp_path / "logs/notes", b"buy milk")
    first = find_sessions([tmp_path / "logs"])
    assert len(read) == len(ALL) + 1
    assert first == find_sessions([tmp_path / "logs"], index=False)
    read.clear()
    assert find_sessions([tmp_path / "logs"]) == first and read == []
    path = tmp_path / "logs" / next(iter(ALL))
    os.utime(path, ns=(1, path.stat().st_mtime_ns + 1))
    find_sessions([tmp_path / "logs"])
    assert read == [path.name]
    read.clear()
    other = old(tmp_path / "logs/other", path.read_bytes())
    os.utime(other, ns=(1, path.stat().st_mtime_ns))
    os.replace(other, path)
    find_sessions([tmp_path / "logs"])
    assert read == [path.name]


def test_ops_and_config_count(tmp_path: Path, read: list[str]) -> None:
    """A log is told anew once its sidecar's ops grow, or it is to be read as another format."""
    path = old(tmp_path / "logs/s.jsonl", FOREIGN)
    find_sessions([tmp_path / "logs"])
    good("forget", path, "1")
    find_sessions([tmp_path / "logs"])
    find_sessions([tmp_path / "logs"])
    assert read == ["s.jsonl"] * 2
    old(tmp_path / "logs/ctxkit.toml", b'format = "claude-code"\n')
    find_sessions([tmp_path / "logs"])
    assert read == ["s.jsonl"] * 3 + ["ctxkit.toml"] or read == ["s.jsonl"] * 2 + ["ctxkit.toml", "s.jsonl"]


def test_what_changed_just_now_is_read_again(tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """As its next change may not show."""
    monkeypatch.setattr("ctxkit.store.index.JUST_NOW", 10**12)
    path = old(tmp_path / "logs/s.jsonl")
    assert not settled(path.stat())
    for _ in range(3):
        find_sessions([tmp_path / "logs"])
    assert len(read) == 3


def test_what_changes_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is not kept as what it was before."""
    path = old(tmp_path / "logs/s.jsonl")
    usual = sessions.glance

    def slow(*words: Any) -> SessionPreview | None:
        told = usual(*words)
        with path.open("ab") as log:
            log.write(lines(message("user", "more")))
        return told

    monkeypatch.setattr(sessions, "glance", slow)
    assert find_sessions([tmp_path / "logs"]).sessions[0].glance.messages == 11
    monkeypatch.undo()
    monkeypatch.setattr("ctxkit.store.index.JUST_NOW", 0)
    assert find_sessions([tmp_path / "logs"]).sessions[0].glance.messages == 12


def test_what_is_gone_is_forgotten(tmp_path: Path) -> None:
    """Below the folders that were looked at; what cannot be seen at the moment is not gone."""
    folder = tmp_path / "logs"
    for name in ("a", "b/c"):
        old(folder / name)
    find_sessions([folder])
    (folder / "a").unlink()
    find_sessions([folder])
    index = Index(Path(os.environ["XDG_CACHE_HOME"]) / "ctxkit")
    assert list(index.below(GLANCE, key(folder))) == [key(folder / "b/c")]


def test_known_as(tmp_path: Path) -> None:
    """By the file, its ops and how it is read."""
    path = old(tmp_path / "a")
    found = path.stat()
    assert len({known_as(found, None), known_as(found, found), known_as(found, None, "chat")}) == 3


def listed(path: Path) -> tuple[object, object]:
    """Tokens and counter, as `sessions` has them."""
    [found] = good("sessions", path, "--json").values
    return found["tokens"], found["counter"]


@pytest.mark.parametrize("raw", [SMALL, FOREIGN])
def test_status_notes_tokens(tmp_path: Path, raw: bytes) -> None:
    """An estimate before, its figure after, an estimate once the log or its ops grew."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(raw)
    assert listed(path)[1] == ROUGH
    [told] = good("status", path, "--json").values
    assert listed(path) == (told["tokens"]["used"], told["tokens"]["counter"])
    assert f"{told['tokens']['used']:,} tokens" in good("sessions", path).text
    good("forget", path, "2")
    assert listed(path)[1] == ROUGH
    [less] = good("status", path, "--json").values
    assert listed(path)[0] == less["tokens"]["used"] < told["tokens"]["used"]
    with path.open("ab") as log:
        log.write(lines(message("user", "more")))
    assert listed(path)[1] == ROUGH


@pytest.mark.parametrize("words", ["--at 1", "--no-tokens", "--no-assembly", "--now 2026-01-01", "--context-limit 60k"])
def test_another_look_is_not_noted(tmp_path: Path, words: str) -> None:
    """Only the context as it is."""
    path = tmp_path / "log.jsonl"
    path.write_bytes(SMALL)
    good("mark", path)
    good("status", path, *words.split())
    assert listed(path)[1] == ROUGH


def test_streams_and_many_conversations(tmp_path: Path) -> None:
    """Have no place to be noted at."""
    path = tmp_path / "many.jsonl"
    path.write_bytes(lines(*({"messages": [message("user", f"question {i}")]} for i in range(2))))
    good("status", path, "--conversation", "1")
    assert listed(path) == (None, None)
    assert ctxkit("status", stdin=SMALL).code == 0
