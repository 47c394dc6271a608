"""Redaction: secrets in a text, found by how they are written, each replaced by its first letters and its length.

Pure. What is sent to a model goes through it, and so does what a model says; a log itself is never changed.

Pipeline: `_marked` finds where marks of makers stand → `_written` reads what stands behind one → `_beside` and
`_placed` find what has no mark → `_apart` joins what overlaps. The kinds stand in secret_kinds.toml.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from ctxkit.core.text import secret_kinds
from ctxkit.core.text.randomness import goes_on, is_mixed, looks_random, mixes
from ctxkit.core.text.secret_kinds import PlaceRule, SecretKind, Shape, kinds

__all__ = ["Secret", "SecretKind", "ends", "find_secrets", "kinds", "mask", "redact"]

FEWEST = 6
"""Characters of a value that is looked for wherever it stands: shorter ones are words."""
MARGIN, EDGE = 10_000, 1000
"""Characters around what is shown of a long text that are looked through, and of these the last, which may hold half of
a secret.
"""
LONG = 12
"""Characters of a word in which marks of makers are looked for: no mark with the least of its value is shorter."""
BESIDE = 300
"""Characters around an id in which its secret is looked for."""
REACH = 400
"""Characters behind a mark in which the sign of its rule stands, if a blank comes before it."""
MUCH = 100
"""Characters of a secret that goes on to the end of its run, whatever its rule reads at most."""
LINES = 40
"""Lines over which a value may be wrapped."""
KNOWN = "known-value"
"""The kind of values that the caller knows."""
_IN_WORDS = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.~")
_WORDS = bytes(97 if one in _IN_WORDS else 32 for one in range(256))
_MIXED = bytes(98 if chr(one).isdigit() or chr(one).isupper() else 97 for one in range(256))
_WRAP, _START = re.compile(secret_kinds.WRAP), re.compile(secret_kinds.START)
_CUT = re.compile(r"\s{0,40}\Z|[\r\n]|\\{1,8}[rn]|…(?!\[)")
_WORDS_ALONE = re.compile(r"[a-z]+(?:-(?:[a-z]+|\d{1,4}))+")
"""A class of CSS, a package: `sk-folding-cube-2` is no key."""
_COLOUR = re.compile(r"(?:\x1b|\\{1,8}(?:u001[bB]|x1[bB]|033|e))\[[0-9;?]*[A-Za-z]")
"""What a terminal is sent for colours, also as JSON writes it: it may stand between a name and its value."""
_NO_END = re.compile(r"[\w…:(=]|[./]\w")
_DONE, _DONE_NEXT = "…[redacted", re.compile(r"[\w.+/=-]{0,60}…\[redacted ")
_HEX_LINE, _LINE = (re.compile(rf"[{one}]{{8,200}}(?![\w.:/(=-])") for one in ("0-9a-f", r"A-Za-z0-9+/=_\-"))
_REST = re.compile(r"(?:[./]{0,3}[\w+=~%!#$*^-])*+")
_Text = TypeVar("_Text", str, bytes)


class Secret(NamedTuple):
    """A secret in a text. `kind`: the name of a `SecretKind`; `start`, `end`: its characters, without the prefix that
    a redaction keeps.
    """

    kind: str
    start: int
    end: int


class _Found(NamedTuple):
    """What may be a secret. `lead`: where its prefix begins; `rank`: the lower, the surer."""

    rank: int
    lead: int
    start: int
    end: int
    kind: str


def find_secrets(text: str, known: Iterable[str] = ()) -> list[Secret]:
    """The secrets of a text, in order; none overlap. `known`: values that are secret wherever they stand."""
    if "[" in text and _COLOUR.search(text) is not None:
        return _without_colours(text, known)
    found = [
        _Found(0, at, at, at + len(value), KNOWN)
        for value in known
        if len(value) >= FEWEST
        for at in _places(text, value)
    ]
    if secret_kinds.may_hold(text):
        raw = text.encode("ascii", "replace")  # a byte for each character
        found += _marked(text, raw)
        found += _beside(text, found)
        found += _placed(text, raw)
    return _apart(text, found)


def _without_colours(text: str, known: Iterable[str]) -> list[Secret]:
    """The secrets of a text with colours, as they are without these."""
    bare, starts, gone, end = list[str](), [0], [0], 0
    for colour in _COLOUR.finditer(text):
        bare.append(text[end : colour.start()])
        starts.append(starts[-1] + len(bare[-1]))
        gone.append(gone[-1] + len(colour[0]))
        end = colour.end()
    found = find_secrets("".join((*bare, text[end:])), known)
    return [
        Secret(
            one.kind,
            one.start + gone[bisect_right(starts, one.start) - 1],
            one.end + gone[max(0, bisect_left(starts, one.end) - 1)],
        )
        for one in found
    ]


def redact(text: str, known: Iterable[str] = ()) -> tuple[str, int]:
    """The text without secrets, and how many it had. `known`: values that are secret wherever they stand."""
    found = find_secrets(text, known)
    parts, at = [], 0
    for secret in found:
        parts += [text[at : secret.start], f"…[redacted {secret.end - secret.start}]"]
        at = secret.end
    return "".join((*parts, text[at:])), len(found)


def mask(text: str, secret: Secret) -> str:
    """What a report may show of a secret: its maker's prefix and its length, as `ghp_…[36]`."""
    prefixes = (mark for mark, shapes in secret_kinds.marks().items() if any(kind == secret.kind for kind, _ in shapes))
    prefix = max((one for one in prefixes if text.endswith(one, 0, secret.start)), key=len, default="")
    return f"{prefix}…[{secret.end - secret.start}]"


def ends(text: str, head: int, tail: int, hide: Callable[[str], str], between: Callable[[int], str]) -> str:
    """The first `head` and the last `tail` characters of a text that is longer, with `between` of how many are left
    out. `hide` takes secrets out before it is cut: half of one would be known by nothing.
    """
    if len(text) <= head + tail:
        return text
    if len(text) > head + tail + 2 * MARGIN:  # not all of what nobody sees; where this is cut is not shown
        first = hide(text[: head + MARGIN])[:-EDGE][:head]
        last = hide(text[len(text) - tail - MARGIN :])[EDGE:][-tail:]
    else:
        whole = hide(text)
        if len(whole) <= head + tail:
            return whole
        first, last = whole[:head], whole[len(whole) - tail :]
    return f"{first}{between(len(text) - len(first) - len(last))}{last}"


def _places(text: _Text, mark: _Text) -> Iterator[int]:
    at = text.find(mark)
    while at >= 0:
        yield at
        at = text.find(mark, at + len(mark))


def _marked(text: str, raw: bytes) -> Iterator[_Found]:
    """Secrets by their makers' marks. Marks that are part of a word are looked for in long words alone."""
    words, starts, places = [], [], []
    flat, mixed = raw.translate(_WORDS) + b" ", raw.translate(_MIXED)
    at, size, long = 0, 0, b"a" * LONG
    while (at := flat.find(long, at)) >= 0:
        end = flat.find(b" ", at)
        if mixed.find(b"b", at, end) >= 0:  # no other one has a value
            words.append(raw[at:end])
            starts.append(at)
            places.append(size)
            size += end - at + 1
        at = end
    in_words, others, longer = secret_kinds.roots(_IN_WORDS)
    hits = [at for root in others if root in raw for at in _places(raw, root)]
    for hit in in_words.finditer(b" ".join(words)):
        word = bisect_right(places, hit.start()) - 1
        hits.append(starts[word] + hit.start() - places[word])
    for at in hits:
        for mark in longer[next(root for size in range(1, 40) if (root := text[at : at + size]) in longer)]:
            for kind, shape in secret_kinds.marks()[mark] if text.startswith(mark, at) else ():
                if (one := _written(text, at, mark, kind, secret_kinds.compiled(mark, shape))) is not None:
                    yield one


def _written(text: str, at: int, mark: str, kind: str, shape: Shape) -> _Found | None:
    """What a maker's shape matches whose mark stands at `at`, also where lines were wrapped or it was cut."""
    lead, start = at, at + len(mark)
    if shape.heads:
        before = text[max(0, at - 200) : at][::-1]
        begins = (at - head.end() for pattern in shape.heads if (head := pattern.match(before)) is not None)
        lead = start = next((one for one in begins if _START.match(text, one)), -1)
    behind_line = len(mark) >= 4 and text[lead - 1 : lead] == "_"
    if lead < 0 or not (shape.loose or behind_line or _START.match(text, lead)):
        return None
    run = shape.run.match(text, at + len(mark))
    if run is None:
        return None
    end, flat, found, width = run.end(), run[0], -1, len(run[0])
    while True:
        whole = shape.value.match(flat)
        if whole is not None and (found < 0 or whole.end() > len(flat) - width):
            found = end - len(flat) + whole.end()
        wrap = _WRAP.match(text, end) if len(flat) < shape.most else None
        more = shape.run.match(text, wrap.end()) if wrap is not None else None
        if (
            more is None
            or _NO_END.match(text, more.end())
            or (found >= 0 and not (4 <= len(more[0]) <= width + 40 and goes_on(more[0])))
        ):
            break
        flat, end, width = flat + more[0], more.end(), len(more[0])
    if found >= 0 and _WORDS_ALONE.fullmatch(text, start, found) is not None:
        return None
    if found >= 0 and (is_mixed(text[start:found]) or (shape.loose and goes_on(text[start:found]))):
        return _Found(1000 - len(mark), lead, start, found, kind)
    is_cut = not shape.heads and len(mark) >= 3 and _CUT.match(text, run.end()) is not None
    few = 4 if is_cut and len(mark) >= 6 else min(shape.most, 16)
    sure = shape.loose or (is_cut and (len(mark) > 3 or looks_random(run[0])))
    if sure and len(run[0]) >= few and is_mixed(run[0]):
        return _Found(1500 - len(mark), lead, start, run.end(), kind)
    return None


def _beside(text: str, found: Sequence[_Found]) -> Iterator[_Found]:
    """Secrets without a mark, which stand near an id of their kind."""
    for kind, (other,), shape in secret_kinds.near("beside"):
        pattern = rf"(?:(?<![A-Za-z0-9+/=_-])|(?<=\\[nrt])){shape.pattern}(?![A-Za-z0-9+/=_-])"
        for one in found:
            low = max(0, one.lead - BESIDE)
            for value in re.finditer(pattern, text[low : one.end + BESIDE]) if one.kind == other else ():
                if looks_random(value[0]):
                    yield _Found(2000, low + value.start(), low + value.start(), low + value.end(), kind)


def _placed(text: str, raw: bytes) -> Iterator[_Found]:
    """Secrets by their place. What a rule has read it does not read again."""
    small = raw.lower()
    for mark, some in secret_kinds.rules().items():
        where = small if mark == mark.lower() else raw
        if mark not in where:
            continue
        signs = {rule.sign for rule in some}
        past, patterns = [0] * len(some), [rule.compiled() for rule in some]
        for at in _places(where, mark) if len(signs) > 1 or "" in signs else _near(raw, where, mark, *signs):
            for n, rule in enumerate(some):
                if at < past[n]:
                    continue
                if not rule.within:
                    match = patterns[n].match(text, at)
                    matches: Iterable[re.Match[str]] = () if match is None else (match,)
                else:
                    matches = patterns[n].finditer(text, max(past[n], at - rule.before), at + rule.within)
                    past[n] = at + rule.within // 2  # was read in vain, if nothing matches: no mark reads it again
                for match in matches:
                    one = _value(rule, text, match)
                    past[n] = max(past[n], match.end(), at + rule.within, one.end if one else 0)
                    if one is not None:
                        yield one


def _near(raw: bytes, where: bytes, mark: bytes, sign: str) -> Iterator[int]:
    """Where a mark stands in `where` that has a sign behind it in `raw`: not far, or before the next blank."""
    signs, at, place, low = re.compile(sign.encode("ascii")), where.find(mark), -1, 0
    while at >= 0:
        if place < at:
            if (found := signs.search(raw, at)) is None:
                return
            place = found.start()
            low = min(max(raw.rfind(b" ", at, place), raw.rfind(b"\n", at, place), at), place - REACH)
        if at >= low:
            yield at
            at = where.find(mark, at + len(mark))
        else:
            at = where.find(mark, low)


def _value(rule: PlaceRule, text: str, match: re.Match[str]) -> _Found | None:
    """The secret in what a rule matched, and its kind, which a maker's name before it may tell."""
    start, end = match.end(1), match.end()
    end -= len(match[0]) - len(match[0].rstrip(".")) if rule.random else 0  # of the sentence
    if _DONE in text[start:end] or _DONE_NEXT.match(text, end):
        return None
    before, value = text[max(0, start - 60) : start].lower().replace("-", "_"), text[start:end]
    of_makers = (
        kind
        for kind, words, shape in secret_kinds.near("named")
        if any(word in before for word in words) and shape.fullmatch(value)
    )
    kind = next(of_makers, "")
    pattern = _HEX_LINE if _HEX_LINE.fullmatch(value) else _LINE
    for _ in range(LINES if len(value) >= 16 else 0):
        wrap = _WRAP.match(text, end)
        line = pattern.match(text, wrap.end()) if wrap is not None else None
        if line is None or mixes(line[0]) < 3:
            break
        end = line.end()
    if kind or not rule.random or looks_random(text[start:end]):
        return _Found((2500 if kind else 3000) + rule.rank, match.start(), start, end, kind or rule.name)
    return None


def _apart(text: str, found: Iterable[_Found]) -> list[Secret]:
    """The surest of what overlaps, and all that belongs to the others: none of it stays. No length ends a long one."""
    taken: list[_Found] = []
    for one in sorted(found, key=lambda one: (one.start, one.rank)):
        if taken and one.start < taken[-1].end:
            surer, other = sorted((taken.pop(), one))
            start = other.start if other.start < surer.lead else surer.start
            one = surer._replace(start=start, end=max(surer.end, other.end))
        if one.end - one.start >= MUCH and (rest := _REST.match(text, one.end)) is not None:
            one = one._replace(end=rest.end())
        taken.append(one)
    return [Secret(one.kind, one.start, one.end) for one in taken]
