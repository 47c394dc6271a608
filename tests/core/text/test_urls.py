"""URLs without their users and passwords."""

from __future__ import annotations

import pytest

from ctxkit.core.text.urls import without_users


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"GET https://u:{'p@ss'}@host/a@b failed", "GET https://…@host/a@b failed"),
        ("s3://bucket/a@b, me@here", "s3://bucket/a@b, me@here"),
        ("s3://user:pa/ss@bucket/x", "s3://…@bucket/x"),
        ("https://host:8080/a@b", "https://host:8080/a@b"),
        ("https://host/a:b@c", "https://host/a:b@c"),
        (f"https://token@host and ftp://u:{'p'}@h:21/x", "https://…@host and ftp://…@h:21/x"),
        ("no URL: a@b", "no URL: a@b"),
        ("/work/http:/u:p@host/x", "/work/http:/…@host/x"),
    ],
)
def test_users(text: str, shown: str) -> None:
    """Of each URL; an address, a port and a path with an @ stay."""
    assert without_users(text) == shown
