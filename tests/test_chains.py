"""The figures of `just chain`: what of them the suite runs besides."""

from __future__ import annotations

import pytest

from tests.chains import native_as_before, read_as_before
from tests.whole import FILES, FORMATS


def test_a_native_log_whose_ops_are_not_chained() -> None:
    """One that an older ctxkit left is read to the same context."""
    assert native_as_before()


@pytest.mark.parametrize("name", FORMATS)
def test_real_sessions_whose_ops_are_not_chained(name: str) -> None:
    """The same of each format; the next op is chained to the last of them."""
    if not FILES[name]:
        pytest.skip("no shared transcripts")
    assert read_as_before(name, 2)
