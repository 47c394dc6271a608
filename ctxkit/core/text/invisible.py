"""The characters that a terminal or an editor would obey, or would not show.

Used by `cli/terminal/safe_text.py`, which makes them visible, and by `edit/spelling.py`, which writes them so that they
can be read back.
"""

from __future__ import annotations

UNSEEN = (
    # every Cc, Cf, Cs, Zl, Zp but \n, \t and joiners: a test compares it with unicodedata. A table, because going
    # through all of Unicode takes 150 ms; wider where Unicode has default-ignorable code points unassigned.
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b\u200e\u200f"
    "\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
)
"""The inside of a character class."""
