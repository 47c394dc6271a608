"""The table of unseen characters is what Unicode says."""

from __future__ import annotations

import re
import sys
import unicodedata

from ctxkit.core.text.invisible import UNSEEN

CATEGORIES = {"Cc", "Cf", "Cs", "Zl", "Zp"}
SEEN = set("\n\t\u200c\u200d")
"""Line ends, tabs and joiners belong to texts."""


def test_table_is_what_unicode_says() -> None:
    """The class holds every code point of the five categories, and beside them only unassigned ones."""
    pattern = re.compile(f"[{UNSEEN}]")
    table = {c for c in map(chr, range(sys.maxunicode + 1)) if pattern.match(c)}
    unicode = {c for c in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(c) in CATEGORIES} - SEEN
    assert unicode - table == set()
    assert {unicodedata.category(c) for c in table - unicode} <= {"Cn", "Mn"}
    assert len({c for c in table - unicode if unicodedata.category(c) == "Mn"}) <= 1  # U+13440, Unicode 15
