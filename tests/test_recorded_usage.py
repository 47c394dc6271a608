"""What a provider counted, as programs record it: each place is read, or docs/formats.md says why not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ctxkit import Log
from ctxkit.errors import CtxkitError
from tests.shared import shared, transcripts

ROOT = Path(__file__).parent.parent
SAYS = re.compile(r"usage|token|cost(?!um)|tokenCount", re.IGNORECASE)
"""Keys that speak of what was counted."""
CONTENT = frozenset({"arguments", "input", "content", "parameters", "args", "result", "output", "llm_config"})
"""Below these a program keeps what people, models and tools said."""
FIXTURES = sorted(
    {path.parent for name in ("programs", "truth-*") for path in (ROOT / "fixtures").glob(f"{name}/*.json*")}
)
LARGE = 1 << 20
"""Bytes of a real file that is walked."""
HEADING = "## Where a program records usage"


def table() -> dict[str, str]:
    """The row of each format in the documented table."""
    text = (ROOT / "docs" / "formats.md").read_text().partition(HEADING)[2].partition("\n## ")[0]
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| `")]
    return {name: row[2] + row[3] for row in rows for name in re.findall(r"`([^`]+)`", row[1])}


def places(value: Any, path: str = "") -> Iterator[str]:
    """The paths, without the places in lists, of the numbers below keys that speak of tokens."""
    if isinstance(value, list):
        for one in value:
            yield from places(one, path)
    elif isinstance(value, dict):
        for key, below in value.items():
            here = f"{path}.{key}".removeprefix(".")
            if key in CONTENT and not SAYS.search(path):
                continue
            if isinstance(below, int | float) and not isinstance(below, bool) and SAYS.search(here):
                yield here
            yield from places(below, here)


def records(path: Path) -> list[Any]:
    """What a file holds: one JSON value, or one a line; a damaged line is left out."""
    text = path.read_text(errors="replace")
    try:
        return [json.loads(text)]
    except ValueError:
        found = []
        for line in text.splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                continue
        return found


def unnamed(path: Path) -> set[str]:
    """The places of a file that the table does not have."""
    try:
        name = Log.open(path).opening.format.name
    except CtxkitError:
        return set()  # no log that is read
    said = re.findall(r"`([^`]+)`", table()[name])
    known = re.compile("|".join(rf"(?:^|\.){re.escape(one)}(?:\.|$)" for one in said) or "$^")
    return {f"{path.name}, {name}: {place}" for place in set(places(records(path))) if not known.search(place)}


@pytest.mark.parametrize("folder", FIXTURES, ids=lambda path: path.name)
def test_each_place_is_in_the_table(folder: Path) -> None:
    """A number of tokens that a program recorded is read, or the table says why it is not."""
    assert not {place for path in sorted(folder.glob("*.json*")) for place in unnamed(path)}


def test_real_places_are_in_the_table() -> None:
    """The same of real sessions."""
    folders = [
        path.name for path in shared("transcripts").iterdir() if path.is_dir() and path.name != "derived-corrupt"
    ]
    files = [path for path in transcripts(*folders, under=LARGE) if ".json" in path.suffixes[-1]]
    assert not {place for path in files for place in unnamed(path)}


COPILOT = {"currentTokens": 21_000, "systemTokens": 8_000, "toolDefinitionsTokens": 12_600}
AMP = {"inputTokens": 12, "cacheReadInputTokens": 15_010, "cacheCreationInputTokens": 820, "outputTokens": 61}


@pytest.mark.parametrize(
    ("name", "more", "known"),
    [
        ("qwen-code.jsonl", None, 14_321 + 58),
        ("goose.jsonl", None, 4_211),
        ("amp.json", None, sum(AMP.values())),
        ("claude-code.jsonl", None, None),
        ("copilot-cli.jsonl", {"type": "session.shutdown", "id": "s", "data": COPILOT}, 21_000),
        ("copilot-cli.jsonl", {"type": "session.shutdown", "id": "s", "data": {"currentTokens": "x"}}, 0),
    ],
)
def test_usage_is_read(tmp_path: Path, name: str, more: Any, known: int | None) -> None:
    """`status` goes by what the program recorded: the figure is that of the file itself, not an estimate."""
    log = tmp_path / name
    log.write_text((ROOT / "fixtures" / "programs" / name).read_text() + (json.dumps(more) + "\n" if more else ""))
    measured = Log.open(log).status().tokens.measured
    assert measured is not None
    assert measured.known == known if known else (measured.known is None) == (known == 0)


def test_the_newest_of_a_compressed_session(tmp_path: Path) -> None:
    """Qwen Code: after its compression, the newest reply's total is the size."""
    asked = {"uuid": "a", "parentUuid": None, "sessionId": "s", "type": "user"}
    said = asked | {"type": "assistant", "model": "qwen3.6-plus"}
    history = [
        {"role": "user", "parts": [{"text": "<state>done</state>"}]},
        {"role": "model", "parts": [{"text": "Ok"}]},
    ]
    rows = [
        asked | {"message": {"role": "user", "parts": [{"text": "first"}]}},
        said | {"uuid": "b", "parentUuid": "a", "message": {"role": "model", "parts": [{"text": "one"}]},
                "usageMetadata": {"promptTokenCount": 4_000, "candidatesTokenCount": 20, "totalTokenCount": 4_020}},
        asked | {"uuid": "c", "parentUuid": "b", "type": "system", "subtype": "chat_compression",
                 "systemPayload": {"info": {"newTokenCount": 1_024}, "compressedHistory": history}},
        asked | {"uuid": "d", "parentUuid": "c", "message": {"role": "user", "parts": [{"text": "next"}]}},
        said | {"uuid": "e", "parentUuid": "d", "message": {"role": "model", "parts": [{"text": "two"}]},
                "usageMetadata": {"promptTokenCount": 1_100, "candidatesTokenCount": 5, "thoughtsTokenCount": 3,
                                  "totalTokenCount": 1_108}},
    ]  # fmt: skip
    log = tmp_path / "session.jsonl"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    status = Log.open(log).status()
    assert (status.tokens.used, status.tokens.measured.trust) == (1_108, "exact")  # type: ignore[union-attr]
