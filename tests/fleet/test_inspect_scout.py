"""A real Inspect Scout reads `scout/` of a dataset, and scans it."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ctxkit.fleet.ingest import Ingest, ingest
from tests.fleet.folders import logs, rows_of
from tests.fleet.optional import library
from tests.shared import SHARED

library("inspect_scout")

SCANNER = """
import json, sys
from inspect_scout import Result, Transcript, scan, scan_results_df, scanner, transcripts_from

@scanner(messages="all")
def count():
    async def run(transcript: Transcript) -> Result:
        return Result(value=len(transcript.messages), explanation=transcript.source_type)
    return run

if __name__ == "__main__":
    done = scan(scanners=[count()], transcripts=transcripts_from(sys.argv[1]), scans=sys.argv[2], display="none",
                max_processes=1)
    found = scan_results_df(done.location).scanners["count"]
    values = dict(zip(found["transcript_id"], (int(value) for value in found["value"])))
    print(json.dumps({"complete": done.complete, "values": values}))
"""


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of some formats, and a file that cannot be read."""
    root = tmp_path_factory.mktemp("scout")
    folder = logs(root / "logs", 6)
    (folder / "bad.json").write_text('{"a": 1}')
    more = [] if SHARED is None else [str(SHARED / name) for name in ("codex", "pi") if (SHARED / name).is_dir()]
    ingest([str(folder), *more], str(root / "dataset"), Ingest(scout=True))
    return root / "dataset"


def told(dataset: Path) -> dict[str, dict[str, Any]]:
    """Transcript -> its row."""
    return {row["transcript_id"]: row for row in map(json.loads, rows_of(dataset)["scout"])}


def test_schema(dataset: Path) -> None:
    """Scout's own check has nothing to say."""
    from inspect_scout._transcript.database.schema import validate_transcript_schema

    assert validate_transcript_schema(str(dataset / "scout")) == []


def test_reader(dataset: Path) -> None:
    """Its reader opens every transcript: every message is one of Inspect's."""
    from inspect_scout._transcript.database.factory import transcripts_view
    from inspect_scout._transcript.types import TranscriptContent

    async def read() -> dict[str, Any]:
        view = transcripts_view(str(dataset / "scout"))
        await view.connect()
        content = TranscriptContent(messages="all", events="all")
        return {info.transcript_id: await view.read(info, content) async for info in view.select()}

    found, rows = asyncio.run(read()), told(dataset)
    assert found.keys() == rows.keys()
    for key, one in found.items():
        row = rows[key]
        assert (one.source_uri, one.model, one.error) == (row["source_uri"], row["model"], row["error"])
        assert (one.date, one.message_count) == (row["date"], row["message_count"])
        assert [message.role for message in one.messages] == [m["role"] for m in json.loads(row["messages"])]
        assert len(one.events) == len(json.loads(row["events"]))


def test_scan(dataset: Path, tmp_path: Path) -> None:
    """`scan` runs a scanner over all of them."""
    (tmp_path / "scanning.py").write_text(SCANNER)
    words = [sys.executable, "scanning.py", str(dataset / "scout"), str(tmp_path / "scans")]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout.splitlines()[-1])
    wanted = {key: len(json.loads(row["messages"])) for key, row in told(dataset).items()}
    assert found["complete"] and {key: found["values"].get(key, 0) for key in wanted} == wanted
