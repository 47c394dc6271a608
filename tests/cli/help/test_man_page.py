"""Man pages: words come out of roff as they went in."""

from __future__ import annotations

import subprocess

import pytest

from ctxkit.cli.help.man_page import plain


def test_what_roff_would_act_on() -> None:
    """Backslashes, quotes, leading dots and letters beyond ASCII come out as they went in."""
    assert plain(".so x") == "\\&.so x" and plain("a\\nb") == "a\\enb" and plain("é…") == "\\[u00E9]\\[u2026]"


@pytest.mark.needs("groff")
@pytest.mark.parametrize("words", [".so /etc/passwd", "'\"x", "\\fB\\n[x]", "a -- b ~ ^ ` é …", "\\(ga", "'tis"])
def test_words_are_printed_as_they_are(words: str) -> None:
    """By groff itself."""
    source = f".TH X 1\n.SH NAME\n.nf\n{plain(words)}\n"
    done = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-P-cbou"],
        input=source, capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert words in done.stdout and done.stderr == ""
