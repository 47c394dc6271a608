"""URLs without their users and passwords."""

from __future__ import annotations

import pytest

from ctxkit.core.text.urls import secrets_of, without_users


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"GET https://u:{'p@ss'}@host/a@b failed", "GET https://…@host/a@b failed"),
        ("s3://bucket/a@b, me@here", "s3://bucket/a@b, me@here"),
        ("s3://user:" + "pa/ss@bucket/x", "s3://…@bucket/x"),
        ("https://host:8080/a@b", "https://host:8080/a@b"),
        ("https://host/a:b@c", "https://host/a:b@c"),
        (f"https://token@host and ftp://u:{'p'}@h:21/x", "https://…@host and ftp://…@h:21/x"),
        ("no URL: a@b", "no URL: a@b"),
        ("/work/http:/u:p@host/x", "/work/http:/…@host/x"),
        ("cannot read 'ftp://u:open sesame@h/p' now", "cannot read 'ftp://…@h/p' now"),
        ("http://h:80 and me@host", "http://h:80 and me@host"),
        (f"https://h/x?se=1&sig={'a'}%2Fb%3D&v=2", "https://h/x?se=1&sig=…&v=2"),
        ("'s3://b/k?X-Amz-Signature=beef&X-Amz-Credential=A%2F1'", "'s3://b/k?X-Amz-Signature=…&X-Amz-Credential=…'"),
        (
            "gs://b/k?GoogleAccessId=me&Signature=beef https://h/#token=x",
            "gs://b/k?GoogleAccessId=…&Signature=… https://h/#token=…",
        ),
        ("https://h/?monkey=1&keys=2&design=3", "https://h/?monkey=…&keys=2&design=3"),
    ],
)
def test_users(text: str, shown: str) -> None:
    """Of each URL; an address, a port and a path with an @ stay."""
    assert without_users(text) == shown


@pytest.mark.parametrize(
    ("url", "words", "shown"),
    [
        ("hf://me:open sesame@x/y", "no repo 'me:open sesame@x/y', open sesame", "no repo '…@x/y', …"),
        ("hf://hf_abc@x", "Invalid token hf_abc for hf_abc@x, not hf_abcd", "Invalid token … for …@x, not hf_abcd"),
        (f"github://u:{'p'}%40ss@x/y", "401 for https://api/u/x (p%40ss)", "401 for https://api/u/x (…)"),
        ("https://h/x?sig=a%2Fb", "Refused: a%2Fb is no signature", "Refused: … is no signature"),
        ("ftp://host:21/x", "no route to host:21", "no route to host:21"),
    ],
)  # fmt: skip
def test_a_library_s_own_words(url: str, words: str, shown: str) -> None:
    """What is secret in a URL is left out of what a library says of it, and no other word."""
    assert without_users(words, secrets_of(url)) == shown
