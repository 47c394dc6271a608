"""mask: which results are masked, and what they say then."""

from __future__ import annotations

import pytest

from ctxkit.compact.mask import Masked, mask, masked


@pytest.mark.parametrize(("need", "names"), [(0, []), (1, [2]), (10, [2]), (11, [2, 6]), (15, [2, 6]), (99, [2, 6, 8])])
def test_the_oldest_first(need: int, names: list[int]) -> None:
    """Until enough is saved; what would be longer is left alone."""
    some = [Masked(2, "a", 10), Masked(4, "b", -3), Masked(6, "c", 5), Masked(8, "d", 5)]
    assert list(mask(some, need)) == names


@pytest.mark.parametrize(
    ("words", "tool", "text", "pictures", "failed"),
    [
        ("[Read: 2 lines left out]", "Read", "a\nb", 0, False),
        ("[Read: 2 lines left out]", "Read", "a\nb\n", 0, False),
        ("[Bash failed: 1 line left out]", "Bash", "no", 0, True),
        ("[result: 0 lines left out]", "", "", 0, False),
        ("[shot: 1 picture left out]", "shot", "", 1, False),
        ("[shot: 1 line and 2 pictures left out]", "shot", "x", 2, False),
        ("[Read: 1,200 lines left out]", "Read", "x\n" * 1200, 0, False),
    ],
)
def test_words(words: str, tool: str, text: str, pictures: int, failed: bool) -> None:
    """Which tool, how much there was, and whether it had failed."""
    assert masked(tool, text, pictures, failed=failed) == words
