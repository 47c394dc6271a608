"""Encodings count what tiktoken counts, also where tiktoken itself breaks."""

from __future__ import annotations

import base64
import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxkit.tokens import encodings, fast
from ctxkit.tokens.counter import Counter
from ctxkit.tokens.encodings import Encoding
from tests.bench import equal
from tests.shared import shared

MADE = {name: Encoding(name) for name in ("o200k_base", "cl100k_base")}
NAMES = sorted(MADE)


@pytest.mark.parametrize("name", NAMES)
@given(text=st.text(st.characters(), max_size=200))
def test_any_text(name: str, text: str) -> None:
    """As tiktoken itself, lone surrogates included."""
    made = MADE[name]
    assert made.counts([text]) == [len(made._tiktoken.encode_ordinary(text))]


WORDS = st.sampled_from(
    ["word", " ", "\n", "12", "_", "'s", "don't", "é ", "漢", "\r\n", "\t", ".", "/", "A", "ſ", "1 ", "\u0301"]
)


@pytest.mark.parametrize("name", NAMES)
@given(words=st.lists(WORDS, max_size=40))
def test_parts_have_the_tokens_of_the_whole(name: str, words: list[str]) -> None:
    """Cut at every place where a long text may be cut."""
    text = "".join(words)
    some = list(encodings.parts(text, 1))
    whole = MADE[name]._tiktoken.encode_ordinary
    assert "".join(some) == text and sum(len(whole(part)) for part in some) == len(whole(text))


@pytest.mark.parametrize("text", ["a" * 5_000_000, "x y" + "漢" * 4_000_000 + " z" * 9], ids=["letters", "CJK"])
def test_no_part_is_larger_than_can_be_taken(text: str) -> None:
    """A word of millions of characters is cut, too: tiktoken takes 52 bytes of memory for each of its bytes."""
    some = list(encodings.parts(text))
    assert "".join(some) == text and max(map(len, some)) <= 2 * encodings.PART
    assert list(encodings.parts(text[: encodings.PART])) == [text[: encodings.PART]]


@pytest.mark.full("each kind takes seconds")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "letters", ["abcdefghijklmnopqrstuvwxyz", "a", "=", "的一是不了人我在有他", "😀", "aB", "ab.c/"]
)
def test_a_cut_word_has_nearly_the_tokens_of_the_whole(name: str, letters: str) -> None:
    """The letters again and again, and at random: within 0.05 %."""
    size, random_letters = 3 * encodings.PART, random.Random(1)
    for text in (letters * (size // len(letters)), "".join(random_letters.choices(letters, k=size))):
        whole = len(MADE[name]._tiktoken.encode_ordinary(text))
        assert abs(MADE[name].counts([text])[0] - whole) <= 0.0005 * whole


def differing(few: list[equal.Kind]) -> list[tuple[str, dict[str, int]]]:
    """The kinds with texts that are counted otherwise than by tiktoken itself."""
    return [(kind.name, kind.differences) for kind in few if any(kind.differences.values())]


def test_many_texts(tmp_path: Path) -> None:
    """Of a chat of our own, sources, other scripts and hostile ones; `just equal` takes all there are."""
    texts = [f"漢字と仮名の文が続く{n}。" * 9 for n in range(600)]
    texts += [base64.b64encode(random.Random(n).randbytes(600)).decode() for n in range(600)]
    (tmp_path / "chat.jsonl").write_text(
        "".join(json.dumps({"role": "user", "content": text}) + "\n" for text in texts)
    )
    few = equal.compared(equal.texts(tmp_path, share=0.01, hostile=10_000), NAMES)
    assert {kind.name for kind in few} >= {"CJK", "RTL letters, made", "base64", "hostile"}
    assert sum(kind.texts for kind in few) > 150
    assert differing(few) == []


@pytest.mark.full("all kinds of texts, of real sessions too")
def test_texts_of_real_sessions() -> None:
    """More of each kind, with those of all real sessions."""
    few = equal.compared(equal.texts(shared("transcripts"), share=0.03, hostile=10_000), NAMES)
    assert sum(kind.texts for kind in few) > 1000
    assert differing(few) == []


def test_special_tokens_are_words() -> None:
    """A transcript that talks of them is not cut by them."""
    assert MADE["o200k_base"].counts(["<|endoftext|>"])[0] > 1


HOSTILE = {
    "a letter": ("a" * 10**6, 125_000),
    "spaces": (" " * 10**6, 7_813),
    "five million spaces": (" " * 5_000_000, 39_063),
    "between words": ("x" + " " * 1_500_000 + "x", 11_721),
    "before a line": (" " * 2_000_000 + "\nx", 15_627),
    "almost long, many": ((" " * 499_999 + "x") * 4, 15_632),
    "lines of blanks": ((" " * 1000 + "\n") * 1000, 9_000),
    "line breaks": ("\n" * 10**6, 62_500),
    "combining marks": ("e" + "\u0301" * 10**6, 1_000_001),
    "base64": (base64.b64encode(random.Random(0).randbytes(750_000)).decode(), 682_028),
    "lone surrogates": ("\ud800" * 10**6, 125_000),
}


@pytest.mark.one_in(6)
@pytest.mark.slow
@pytest.mark.parametrize("what", HOSTILE)
def test_hostile(what: str) -> None:
    """A megabyte of one thing neither crashes nor stalls."""
    text, expected = HOSTILE[what]
    assert MADE["o200k_base"].counts([text]) == [expected]


@pytest.mark.covering("name", "size", "before", pairs=True)
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [999_999, 1_000_001])
@pytest.mark.parametrize(("before", "after"), [("", ""), ("x", "x"), ("x\n", "\ty"), ("!\r\n", ""), ("", "\n漢")])
def test_around_what_tiktoken_bears(name: str, size: int, before: str, after: str) -> None:
    """A blank more is a figure that goes on as it did: two runs of the same words differ by a token at most."""
    made = MADE[name]
    whole, less = made.counts([before + " " * size + after, before + " " * (size - 128) + after])
    assert whole == less + 1


def test_a_text_that_tiktoken_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its panic is no exception; the figure becomes an estimate, and says so."""

    class PanicException(BaseException):  # so it is called
        pass

    def panics(text: str) -> int:
        raise PanicException("called `Result::unwrap()` on an `Err` value")

    found = Counter("cl100k_base")
    monkeypatch.setattr(encodings.encoding("cl100k_base"), "_ordinary", panics)
    assert found.counts(["hello world"]) == [2]
    assert (found.name, found.plain) == ("estimate, pieces", False)


def test_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large texts go through fastokens where it is installed; the counts are the same, in the same order."""
    pytest.importorskip("fastokens")
    made = MADE["o200k_base"]
    texts = ["one two", "", "x " * 50, "漢字 😀", "\ud800a", "\ud83d\ude00", "\ud83d\ude00" * 9 + "\udc00", "  \n\n  y"]
    expected = made.counts(texts)
    asked: list[str] = []
    monkeypatch.setattr(fast, "PAYS", 1)
    monkeypatch.setattr(fast, "reader", lambda name, real=fast.reader: asked.append(name) or real(name))
    assert made.counts(texts) == expected and asked == ["o200k_base"]


def test_quick_while_there_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many characters are counted quickly, also the rest of them; a few let that go, and it comes back."""
    made, released = list[str](), list[bool]()
    plain = MADE["o200k_base"]

    def reader(name: str) -> fast.Count:
        made.append(name)
        return lambda texts: list(map(plain._count, texts))

    monkeypatch.setattr(fast, "reader", reader)
    monkeypatch.setattr(fast, "release", lambda: released.append(True))
    monkeypatch.setattr(fast, "PAYS", 100)
    encoding = Encoding("o200k_base")
    states = []
    for length in (50, 100, 20, 10, 20, 100):
        text = "x " * (length // 2)
        assert encoding.counts([text]) == [plain._count(text)]
        states.append((len(made), len(released)))
    assert states == [(0, 0), (1, 0), (1, 0), (1, 1), (1, 1), (2, 1)]
