"""Archetypes: what a file may set, and that it names nothing outside of its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxkit.errors import BadConfig, CtxkitError, ExitCode, NoSuchLog
from ctxkit.settings.archetypes import read_archetype
from ctxkit.settings.named_files import configured_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of an archetype, with a secret beside it."""
    made = tmp_path / "kinds"
    (made / "lore").mkdir(parents=True)
    (made / "lore/ring.md").write_text("a ring")
    (made / "prompt.md").write_text("You are a hobbit.")
    (tmp_path / "secret.md").write_text("secret")
    (made / "out.md").symlink_to(tmp_path / "secret.md")
    (made / "outside").symlink_to(tmp_path)
    return made


def read(folder: Path, text: str) -> object:
    """The keys in an archetype with this text."""
    (folder / "hobbit.toml").write_text(text)
    return read_archetype(str(folder / "hobbit.toml"), folder / "none/config.toml")[1]


def test_every_key(folder: Path) -> None:
    """Values as they are written; paths are absolute, from the folder of the archetype."""
    text = 'window = "8h"\nlimit = 9\ncolor = "red"\nmodel = "m"\nsystem = "file:prompt.md"\n'
    text += 'docs = ["lore", "lore/*.md"]\n'
    assert read(folder, text) == {
        "window": "8h", "limit": 9, "color": "red", "model": "m", "system": f"file:{folder}/./prompt.md",
        "docs": [f"{folder}/./lore", f"{folder}/./lore/*.md"],
    }  # fmt: skip
    assert read(folder, 'system = "Be brief."\n') == {"system": "Be brief."}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('docs = ["../secret.md"]', ":1: ../secret.md: a path that leads out of the folder of the archetype"),
        ('\ndocs = ["/etc/passwd"]', ":2: /etc/passwd: a path that leads out"),
        ('docs = ["out.md"]', "out.md: a path that leads out"),
        ('docs = ["outside/*.md"]', "outside/*.md: a path that leads out"),
        ('system = "file:out.md"', "out.md: a path that leads out"),
        ('docs = ["gone.md"]', "gone.md: no such file"),
        ('window = "soon"', ":1: window must be "),
        ("limit = 0", ":1: limit must be at least 1"),
        ('status.processes = "x"', "unknown key status"),
        ("", "it sets nothing"),
        ("x", "not TOML"),
    ],
)
def test_refused(folder: Path, text: str, words: str) -> None:
    """Exit 78, with the line."""
    with pytest.raises(BadConfig) as caught:
        read(folder, text)
    assert words in caught.value.message and caught.value.code == ExitCode.CONFIG


def test_by_name(folder: Path, tmp_path: Path) -> None:
    """A name alone is also looked for beside the user's config; a file that is there comes first."""
    user = tmp_path / "ctxkit/config.toml"
    kept = user.parent / "archetypes/hobbit.toml"
    kept.parent.mkdir(parents=True)
    kept.write_text('color = "green"\n')
    assert read_archetype("hobbit", user) == (kept, {"color": "green"})
    for name in ("elf", "kinds/elf.toml", "../hobbit"):
        with pytest.raises(NoSuchLog, match="no such file"):
            read_archetype(name, user)


def test_what_is_no_file(folder: Path) -> None:
    """A folder is refused, as any config is."""
    with pytest.raises(CtxkitError, match="it is a folder"):
        read_archetype(str(folder), folder / "config.toml")


@pytest.mark.parametrize("swapped", ["prompt.md", "lore/ring.md", "lore"])
def test_swapped_for_a_link_later(folder: Path, tmp_path: Path, swapped: str) -> None:
    """What was a file or folder when the archetype was set, and leads out now, is not read."""
    found = read(folder, 'system = "file:prompt.md"\ndocs = ["lore/ring.md", "lore"]\n')
    assert isinstance(found, dict)

    def read_now() -> list[str]:
        paths = [path for name in (found["system"][5:], *found["docs"])
                 for _, path in configured_files(tmp_path, name, several=True).files]  # fmt: skip
        return [path.read_text() for path in paths]

    assert read_now() == ["You are a hobbit.", "a ring", "a ring"]
    (folder / swapped).rename(tmp_path / "moved")
    (tmp_path / "lore").mkdir()
    (tmp_path / "lore/ring.md").write_text("secret")
    (folder / swapped).symlink_to(tmp_path / ("lore" if swapped == "lore" else "secret.md"))
    assert "secret" not in read_now()


def test_its_folder_swapped_for_a_link_later(folder: Path, tmp_path: Path) -> None:
    """Nothing is read from where it leads; a folder that was a link when the archetype was set is where it led then."""
    (tmp_path / "link").symlink_to(folder)
    (folder / "x.toml").write_text('docs = ["prompt.md"]\n')
    _, found = read_archetype(str(tmp_path / "link/x.toml"), tmp_path / "none/config.toml")
    [name] = found["docs"]
    assert [path.read_text() for _, path in configured_files(tmp_path, name, several=True).files] == [
        "You are a hobbit."
    ]
    folder.rename(tmp_path / "moved")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/prompt.md").write_text("secret")
    folder.symlink_to(tmp_path / "elsewhere")
    made = configured_files(tmp_path, name, several=True)
    assert not made.files and made.left_out == [f"{folder} is a link, or is below one: ignored"]
