"""What init writes: valid, with the defaults, and what the profile promises."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from ctxkit.errors import Usage
from ctxkit.settings.config import Config, load
from ctxkit.settings.keys import KEYS
from ctxkit.settings.profiles import PROFILES, profile
from ctxkit.settings.tomledit import with_key, without_key


def loaded(folder: Path, text: str) -> Config:
    """The config of a log whose sidecar holds this text."""
    file = folder / "log.jsonl.ctxkit/config.toml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return load(file, folder, {}, None, unsaid="all")


@pytest.mark.parametrize(
    ("name", "now", "window"), [("session", "last", 0), ("persona", "wall", 28800), ("bot", "wall", 86400)]
)
def test_profiles(tmp_path: Path, name: str, now: str, window: int) -> None:
    """What init writes is valid and sets what its profile promises."""
    config = loaded(tmp_path, profile(name))
    assert (config["now"], config["window.default"], config.notices) == (now, window, [])


def test_profile_says_the_defaults(tmp_path: Path) -> None:
    """Uncommented, the lines of a profile are valid and hold the defaults; untrusted keys are not offered."""
    text = "\n".join(
        line.removeprefix("# ").replace("NAME", "frodo")
        for line in profile("session").splitlines()
        if "=" in line or line.lstrip("# ").startswith("[")
    )
    tomllib.loads(text)
    config = loaded(tmp_path, text)
    assert config.notices == []
    assert {word: one.value for word, one in config.agents["frodo"].items()} == {
        "window": 28800, "limit": 32000, "color": "cyan", "model": "gpt-4o", "system": "You are Frodo.",
        "docs": ["docs/frodo.md"],
    }  # fmt: skip
    plain = Config()
    differ = {key.name for key in KEYS if "NAME" not in key.name and config[key.name] != plain[key.name]}
    assert differ == {
        "model",
        "limit",
        "window.messages",
        "checkpoint.auto",
        "compact.input",
    }  # no default to show: an example


def test_unknown_profile() -> None:
    """The profiles that there are are named."""
    with pytest.raises(Usage) as caught:
        profile("x")
    assert caught.value.hint == "profiles: session, persona, bot"


@pytest.mark.parametrize("name", PROFILES)
def test_every_line_is_taken_in_place(name: str) -> None:
    """Setting a key changes one line and no other; unsetting it takes that line out."""
    text = profile(name)
    for key in KEYS:
        path = tuple(key.name.split("."))
        if key.of_agent or key.trust == "never" or key.name in PROFILES[name]:
            continue
        changed = with_key(text, path, key.shown())
        differ = [(old, new) for old, new in zip(text.split("\n"), changed.split("\n"), strict=True) if old != new]
        assert [old.removeprefix("# ") for old, _ in differ] == [new for _, new in differ] and len(differ) == 1
        assert without_key(changed, path) == text.replace(f"{differ[0][0]}\n", "", 1), key.name
