"""forget: messages leave the context; the bytes stay."""

from __future__ import annotations

import json
from pathlib import Path

from tests import pictures
from tests.cli.runner import FOREIGN, SMALL, ctxkit, good, ops, shown, small


def test_words(tmp_path: Path) -> None:
    """What left, and how many; the step of a call goes with it, and that is said."""
    path = small(tmp_path)
    ran = good("forget", path, "3")
    also = "also taken, since a call and its result stay together: 4\n"
    assert (ran.out, ran.said) == (b"", f"{also}Forgot 3-4 (2 messages).\n")
    assert ops(path)[0]["ids"] == "3-4" and ops(path)[0]["closed"] == "4"
    assert path.read_bytes().startswith(SMALL)


def test_again(tmp_path: Path) -> None:
    """Gone already: exit 1, nothing appended; a part of it new: what is new counts."""
    path = small(tmp_path)
    good("forget", path, "5")
    before = path.read_bytes()
    ran = ctxkit("forget", path, "5")
    assert ran.code == 1 and "out of the context already" in ran.err and path.read_bytes() == before
    assert "Forgot 6 (1 message)." in good("forget", path, "5-6").err


def test_protected(tmp_path: Path) -> None:
    """Skipped with a warning; --include-protected takes them."""
    path = small(tmp_path)
    good("protect", path, "5")
    ran = good("forget", path, "5-6")
    assert "skipped, protected: 5 (use --include-protected to include them)" in ran.err
    assert 5 in shown(path) and 6 not in shown(path)
    good("forget", path, "5", "--include-protected")
    assert 5 not in shown(path)


def test_planning(tmp_path: Path) -> None:
    """The conversation about it goes with it; alone it is no reason."""
    path = small(tmp_path)
    good("forget", path, "2", "--planning", "10-11")
    assert shown(path) == [1, 3, 4, 5, 6, 7, 8, 9]
    assert ops(path)[0]["planning"] == "10-11"
    assert ctxkit("forget", path, "--planning", "5").code == 2


def test_criteria_are_kept(tmp_path: Path) -> None:
    """As typed, for whoever reads the log later."""
    path = small(tmp_path)
    good("forget", path, "--tool", "Read", "--until", "1m", "--yes")
    assert ops(path)[0]["criteria"] == "--tool Read --until 1m" and ops(path)[0]["ids"] == "3-4"


def test_foreign(tmp_path: Path) -> None:
    """The op goes to the sidecar; not a byte of the log changes."""
    path = tmp_path / "s.jsonl"
    path.write_bytes(FOREIGN)
    good("forget", path, "3")
    assert path.read_bytes() == FOREIGN and shown(path) == [1, 2]
    assert len(ops(tmp_path / "s.jsonl.ctxkit" / "ops.jsonl")) == 1


def test_parts(tmp_path: Path) -> None:
    """--images of all is shown first and needs --yes in a script, of numbers it is not; the messages stay."""
    path = pictures.chat(tmp_path / "log.jsonl", [pictures.block(pictures.png(9, 9))] * 3)
    ran = ctxkit("forget", path, "--images")
    assert (
        ran.code == 2
        and "Parts of these messages leave the context:\n" in ran.err
        and "3 parts of 3 messages, " in ran.err
    )
    ran = good("forget", path, "1-2", "--images")
    assert ran.err.startswith("Left out 1 image of 1 (1 message stays).\n")
    assert "1 part left out" in good("show", path, "1").text and "parts of 1 " in good("log", path).text
    assert "1 part of it left out by op 1\n" in good("why", path, "1").text
    ran = good("forget", path, "--larger-than", "50B", "--images", "--yes")
    assert "Left out 2 images of 3,5 (2 messages stay).\n" in ran.err
    assert ctxkit("forget", path, "--images", "--yes").code == 1
    assert ctxkit("forget", path, "--larger-than", "much", "--yes").code == 2
    assert "--images --larger-than 50B" in json.dumps(good("log", path, "--json").values)
    good("undo", path)
    assert "image/png" in good("show", path, "5").text
