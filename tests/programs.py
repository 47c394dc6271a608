"""The files of other programs in `fixtures/programs`, with the table of what happens to each."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "programs"


class Program(NamedTuple):
    """A row of the table. `format`: what it is read as, "" where it is refused; `messages`: how many it has."""

    file: str
    name: str
    shape: str
    format: str
    messages: int
    said: tuple[str, ...]

    def put(self, folder: Path) -> Path:
        """The file, in a folder."""
        path = folder / self.file
        if path.suffix != ".sql":
            path.write_bytes((FOLDER / self.file).read_bytes())
            return path
        path = path.with_suffix(".db")
        database = sqlite3.connect(path)
        database.executescript((FOLDER / self.file).read_text())
        database.close()
        return path


def programs() -> list[Program]:
    """All of them."""
    rows = [line.split(" | ") for line in (FOLDER / "README.md").read_text().splitlines() if line.startswith("| ")]
    found = []
    for file, name, shape, _, happens, said in rows[1:]:
        format, _, count = happens.partition(", ")
        words = tuple(said.removesuffix(" |").split("; "))
        found.append(
            Program(file.removeprefix("| "), name, shape, "" if format == "refused" else format, int(count or 0), words)
        )
    return found


ALL = {one.file: one for one in programs()}
