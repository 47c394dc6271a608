"""The files of a dataset: replaced as a whole, refused where they are no dataset."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from ctxkit.errors import BadDataset, CannotCreate, Locked, NoSuchLog
from ctxkit.fleet import dataset as module
from ctxkit.fleet.dataset import HEAD, Dataset, DatasetHead, Part, SourceEntry, part_name, share_of
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
    place.rename(place.with_name("other"))
    with pytest.raises(BadDataset, match="is no dataset"):
        made.head()


def test_ledger(made: Dataset) -> None:
    """A part is kept as it is; a damaged one is refused, and nothing else is a part."""
    sources = {name: SourceEntry("s", "d", 3, 1) for name in ("b", "\udcff.jsonl")}  # a name need not be UTF-8
    part = Part(sources | {"a": SourceEntry(size=3, failed=True), "x": SourceEntry(gone=True)}, ["messages/x.parquet"])
    made.write_part("00000001-00001", part)
    made.write("ledger/other.json", b"{")
    assert made.parts() == {"00000001-00001": part}
    Path(made.path("ledger/00000001-00001.json")).write_text("[")
    with pytest.raises(BadDataset, match=r"00000001-00001\.json is damaged"):
        made.parts()


def test_remove_part(made: Dataset) -> None:
    """Its files go; one that is gone already is no error."""
    file = "messages/month=1/source=x/00000001-00001.parquet"
    made.write(file, b"x")
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
    made.write("messages/a/x", b"x")
    (tmp_path / "way").symlink_to(tmp_path)
    assert not Dataset(str(tmp_path / "way/dataset")).has_link("messages/a/x")
    Path(made.path("messages/b")).symlink_to("a")
    assert made.has_link("messages/b/x")


def test_written_as_a_whole(made: Dataset, tmp_path: Path) -> None:
    """A file is its owner's alone; where a link is, nothing is written."""
    made.write("messages/a/x", b"new")
    place = Path(made.path("messages/a/x"))
    assert place.read_bytes() == made.read("messages/a/x") == b"new" and place.stat().st_mode & 0o777 == 0o600
    assert place.parent.stat().st_mode & 0o777 == 0o700
    for link in ("messages/a/y", "messages/b", "ops"):
        Path(made.path(link)).symlink_to(tmp_path)
        with pytest.raises(CannotCreate, match="a link"):
            made.write(link if link.endswith("y") else f"{link}/y", b"x")
    assert not (tmp_path / "y").exists()


def test_names(made: Dataset) -> None:
    """The files of a folder, and below it; none of one that is not there."""
    made.write("ops/b/x", b"")
    made.write("ops/a", b"")
    assert made.names("ops", below=True) == ["ops/a", "ops/b/x"]
    assert made.names("ops")[0] == "ops/a" and made.names("nothing") == [] and made.read("nothing") is None


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
        made.write(f"messages/month=1/{name}.parquet", b"x")
    for left in (".ctxkit-1", "messages/month=1/.ctxkit-2"):
        Path(made.path(left)).touch()

    def stay() -> list[str]:
        return sorted(path.name for path in Path(made.place).rglob("*") if path.is_file() and path.name != HEAD)

    made.sweep("2of2", names[:1])
    assert stay() == [f"{name}.parquet" for name in names[:3]]
    made.sweep("", names[:1])
    assert stay() == [f"{names[0]}.parquet"]
