"""What a line of shell does to files, by the lines that agents write."""

from __future__ import annotations

import time

import pytest

from ctxkit.core.derive.shell import PIPED, Used, used


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("cat a b", [("a", "read"), ("b", "read")]), ("nl -ba a.py", [("a.py", "read")]),
        ("nl -b a a.py", [("a.py", "read")]), ("/bin/cat a", [("a", "read")]),
        ("sudo cat /etc/x", [("/etc/x", "read")]),
        ("head -n 20 a", [("a", "read", "head -n 20")]), ("head -20 a", [("a", "read", "head -20")]),
        ("sed -n '1,220p' src/a.py", [("src/a.py", "read", "sed -n 1,220p")]),
        ("sed -n -e 1p -e '$p' a", [("a", "read", "sed -n -e 1p -e $p")]),
        ("sed -n 1p a && sed -n 9p a", [("a", "read", "sed -n 1p"), ("a", "read", "sed -n 9p")]),
        ("sed -i 's/x/y/' a b", [("a", "edit"), ("b", "edit")]), ("sed -i '' 's/x/y/' a", [("a", "edit")]),
        ("sed -i.bak -e s/x/y/ a", [("a", "edit")]), ("sed --in-place s/x/y/ a", [("a", "edit")]),
        ("cat <<'EOF' > a.py\nprint('cat b')\nEOF\ncat c", [("a.py", "write"), ("c", "read")]),
        ("cat > a <<-EOF\n\tx\n\tEOF\ncat c", [("a", "write"), ("c", "read")]),
        ("cat >> a <<EOF\nx", [("a", "edit")]), ("cat <<< word", []),
        ("echo x > a; echo y >>b", [("a", "write"), ("b", "edit")]), ("cat a > b", [("b", "write")]),
        ("echo x | tee a | tee -a b", [("a", "write"), ("b", "edit")]),
        ("cp a b; mv c d", [("b", "write"), ("c", "delete"), ("d", "write")]), ("cp a b c/", []),
        ("rm a; rm -rf b; touch c", [("a", "delete"), ("c", "write")]),
        ("cd /w && cat a", [("/w/a", "read")]), ("cd src; cd ..; cat ./a", [("a", "read")]),
        ("cd $HOME && cat a; cat /b", [("/b", "read")]), ("cd && cat a ~/b", [("~/a", "read"), ("~/b", "read")]),
        ("X=1 cat a", [("a", "read")]), ("if true; then cat a; fi", [("a", "read")]),
        ("echo === ; cat a; echo", [("a", "read")]),
        ('cat "my file" my\\ other', [("my file", "read"), ("my other", "read")]),
        ("cat a 2>/dev/null", [("a", "read")]), ("cat a 2>&1", [("a", "read")]), ("cat a >/dev/null", []),
        ("cat a # cat b", [("a", "read")]), ("cat \\\na", [("a", "read")]),
        ("cat a & cat b", [("a", "read"), ("b", "read")]),
        # with other output beside it
        ("cat a && make", [("a", "read", "", True)]), ("ls; sed -n 1p a", [("a", "read", "sed -n 1p", True)]),
        ("cat a | grep x", [("a", "read", PIPED, True)]), ("grep x a | head -3", []), ("make 2>log; cat a", [
            ("log", "write"), ("a", "read", "", True),
        ]),
        ("cat a; make >log", [("a", "read"), ("log", "write")]),
        # what is no path, or no file that is shown
        ("cat $F *.py a?b {a,b} `ls` - /dev/null", []), ("cat", []), ("", []), ("grep -rn cat .", []),
        ("git show HEAD:cat", []), ("echo 'cat a > b'", []), ("python -c 'open(1)' > out", [("out", "write")]),
        # what is not understood ends it
        ("cat a; echo 'open", [("a", "read")]), ("'", []), ("cat 'a", []),
    ],
)  # fmt: skip
def test_used(script: str, expected: list[tuple[object, ...]]) -> None:
    """Path, what is done to it, which part, and whether something else is shown."""
    assert used(script) == [Used(*one) for one in expected]  # type: ignore[arg-type]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("script", ["'" * 300_000, '"\\' * 150_000, "a" * 300_000, "cat <<A\n" * 40_000, "$(" * 150_000,
                                    "a\\" * 150_000, "x='" + "y" * 300_000, "cat a;" * 50_000])  # fmt: skip
def test_hostile_scripts(script: str) -> None:
    """No stall, no recursion."""
    start = time.perf_counter()
    used(script)
    assert time.perf_counter() - start < 30


def test_no_path_is_longer_than_systems_take() -> None:
    """A folder that goes deeper and deeper is none that anybody knows."""
    assert used("cd a\n" * 3000 + "cat b") == []
    assert used("cd a\n" * 20 + "cat b") == [Used("a/" * 20 + "b", "read")]
