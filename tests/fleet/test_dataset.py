"""The files of a dataset: replaced as a whole, refused where they are no dataset."""

from __future__ import annotations

import json
import os
import resource
from contextlib import ExitStack
from pathlib import Path

import pytest

from ctxkit.errors import BadDataset, Locked, NoSuchLog
from ctxkit.fleet import dataset as module
from ctxkit.fleet.dataset import HEAD, LEDGER, Dataset, DatasetHead, Part, SourceEntry, allow_files, part_name, share_of
from ctxkit.fleet.tables import SCHEMA


@pytest.fixture
def made(tmp_path: Path) -> Dataset:
    """A new dataset without rows."""
    found = Dataset(str(tmp_path / "dataset"))
    found.begin(DatasetHead(redact=True))
    return found


def test_head(made: Dataset) -> None:
    """What it was made with is read again; a place without anything has none."""
    assert made.head() == made.opened() == DatasetHead(redact=True)
    assert Dataset(made.place + "x").head() is None
    with pytest.raises(NoSuchLog):
        Dataset(made.place + "x").opened()


def test_another_schema(made: Dataset) -> None:
    """A dataset of another version says what to do; damage and other folders too."""
    place = Path(made.path("ctxkit.json"))
    for text in (
        json.dumps({"ctxkit_schema": SCHEMA - 1, "redact": False}),
        "{",
        '{"redact": "x", "ctxkit_schema": 2}',
    ):
        place.write_text(text)
        with pytest.raises(BadDataset) as raised:
            made.head()
        assert "nothing was changed" in raised.value.message and raised.value.hint
    place.unlink()
    with pytest.raises(BadDataset):
        made.head()


def test_ledger(made: Dataset) -> None:
    """A part is kept as it is; a damaged one is refused, and nothing else is a part."""
    sources = {name: SourceEntry("s", "d", 3, 1) for name in ("b", "\udcff.jsonl")}  # a name need not be UTF-8
    part = Part(sources | {"a": SourceEntry("", "", 3, 1, failed=True)}, ["gone"], ["messages/x.parquet"])
    made.write_part("00000001-00001", part)
    made.write(b"{", LEDGER, "other.json")
    assert made.parts() == {"00000001-00001": part}
    Path(made.path("ledger", "00000001-00001.json")).write_text("[")
    with pytest.raises(BadDataset, match=r"00000001-00001\.json is damaged"):
        made.parts()


def test_remove_part(made: Dataset) -> None:
    """Its files go; one that is gone already is no error."""
    file = "messages/month=1/source=x/00000001-00001.parquet"
    made.write(b"x", *file.split("/"))
    part = Part(files=[file, "messages/none"])
    made.write_part("00000001-00001", part)
    made.remove_part("00000001-00001", part)
    assert made.parts() == {} and not Path(made.path(file)).exists()


def test_names_of_parts() -> None:
    """Later ones come later; a share is told."""
    names = [part_name(1, 2), part_name(2, 1, "2of8"), part_name(2, 10, "2of8"), part_name(10, 1)]
    assert names == sorted(names) and [share_of(name) for name in names] == ["", "2of8", "2of8", ""]


def test_has_link(made: Dataset, tmp_path: Path) -> None:
    """A file, or a folder on the way to it; not what leads to the dataset."""
    made.write(b"x", "messages", "a", "x")
    (tmp_path / "way").symlink_to(tmp_path)
    assert not Dataset(str(tmp_path / "way/dataset")).has_link("messages/a/x")
    Path(made.path("messages", "b")).symlink_to("a")
    assert made.has_link("messages/b/x")


def test_replaced_as_a_whole(made: Dataset) -> None:
    """A file is the old one until the new one is whole; what fails leaves nothing; the mode stays."""
    made.write(b"old", "messages", "x")
    place = Path(made.path("messages", "x"))
    assert place.stat().st_mode & 0o777 == 0o600
    place.chmod(0o640)
    with pytest.raises(ZeroDivisionError), made.written("messages", "x") as temporary:
        Path(temporary).write_bytes(b"half")
        assert place.read_bytes() == b"old"
        raise ZeroDivisionError
    assert os.listdir(place.parent) == ["x"]
    made.write(b"new", "messages", "x")
    assert place.read_bytes() == b"new" and place.stat().st_mode & 0o777 == 0o640


def test_alone(made: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second writer is refused; those of two shares are not, beside each other."""
    monkeypatch.setattr(module, "PATIENCE", 0.01)
    for first, second, refused in (
        ("", "", True), ("", "1of2", True), ("1of2", "", True), ("1of2", "1of2", True), ("1of2", "2of2", False),
    ):  # fmt: skip
        with made.alone(first), ExitStack() as stack:
            if refused:
                stack.enter_context(pytest.raises(Locked))
            stack.enter_context(made.alone(second))


def test_sweep(made: Dataset) -> None:
    """What a killed run left is removed, by one of the same share or of all; what counts stays."""
    names = [part_name(1, 1), part_name(2, 1), part_name(2, 1, "1of2"), part_name(2, 1, "2of2")]
    for name in names:
        made.write(b"x", "messages", "month=1", f"{name}.parquet")
        made.write(b"x", "messages", "month=1", f".ctxkit-{name}.parquet-x")
    made.write(b"x", ".ctxkit-ctxkit.json-x")

    def left() -> list[str]:
        return sorted(path.name for path in Path(made.place).rglob("*") if path.is_file() and path.name != HEAD)

    before = left()
    made.sweep("2of2", names[:1])
    assert left() == [one for one in before if "2of2" not in one]
    made.sweep("", names[:1])
    assert left() == [f"{names[0]}.parquet"]


def test_allow_files() -> None:
    """The limit is raised as far as it may be, never lowered."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allow_files(1)
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (soft, hard)
