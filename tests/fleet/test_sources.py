"""Files of folders and of URLs, each with its sidecar, and what says that they did not change."""

from __future__ import annotations

import base64
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import fsspec
import pytest

from ctxkit.errors import CtxkitError, NoSuchLog, Usage
from ctxkit.fleet.sources import SourceFile, holds, is_url, join, listed, local, may_have_rows
from tests.compressed import packed
from tests.fleet.optional import library

CHAT = b'{"role":"user","content":"hi"}\n'


def names(*places: object) -> list[str]:
    """What is below these places."""
    return [one.name for one in listed(map(str, places))]


def test_a_folder(tmp_path: Path) -> None:
    """All files below it by name, with the files of their sidecars; no sidecar is a log."""
    for name in ("b.jsonl", "a/c.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(CHAT)
    beside = tmp_path / "b.jsonl.ctxkit"
    beside.mkdir(exist_ok=True)
    (beside / "config.toml").write_text('format = "chat"\n')
    found = {Path(one.name).name: one for one in listed([str(tmp_path)])}
    assert list(found) == ["c.jsonl", "b.jsonl"]
    assert found["b.jsonl"].beside == ("config.toml",)
    assert found["b.jsonl"].read().sidecar == {"config.toml": b'format = "chat"\n'}
    assert found["c.jsonl"].read().data == CHAT and not found["c.jsonl"].named
    assert next(listed([str(tmp_path / "b.jsonl")])).named


def test_a_changed_sidecar_is_a_changed_source(tmp_path: Path) -> None:
    """The stamp is of both."""
    path = tmp_path / "x.jsonl"
    path.write_bytes(CHAT)
    stamps = [next(listed([str(path)])).stamp]
    (tmp_path / "x.jsonl.ctxkit").mkdir()
    (tmp_path / "x.jsonl.ctxkit" / "ops.jsonl").write_bytes(b"{}\n")
    stamps.append(next(listed([str(path)])).stamp)
    os.utime(path, ns=(1, 1))
    stamps.append(next(listed([str(path)])).stamp)
    assert len(set(stamps)) == 3
    assert next(listed([str(path)])).stamp == stamps[-1]


def test_each_once(tmp_path: Path) -> None:
    """Places may overlap; file:// is a path."""
    (tmp_path / "x y.jsonl").write_bytes(CHAT)
    url = (tmp_path / "x y.jsonl").as_uri()
    assert names(tmp_path, tmp_path / "x y.jsonl", url) == [str(tmp_path / "x y.jsonl")]
    assert local(url) == str(tmp_path / "x y.jsonl") and not is_url(url)


def test_urls() -> None:
    """What is in a store of fsspec, with its sidecars, is read as files are."""
    fs = fsspec.filesystem("memory")
    fs.pipe({"/urls/a.jsonl": CHAT, "/urls/a.jsonl.ctxkit/ops.jsonl": b"{}\n", "/urls/a.jsonl.ctxkit/x.md": b"no",
             "/urls/d/b.jsonl": CHAT})  # fmt: skip
    found = list(listed(["memory://urls"]))
    assert [one.name for one in found] == ["memory:///urls/a.jsonl", "memory:///urls/d/b.jsonl"]
    assert found[0].read() == (CHAT, {"ops.jsonl": b"{}\n"}) and found[0].stamp
    before = found[0].stamp
    fs.pipe({"/urls/a.jsonl.ctxkit/ops.jsonl": b"{} \n"})
    assert next(listed(["memory://urls"])).stamp != before


def test_compressed(tmp_path: Path) -> None:
    """Here and in a store: the unpacked bytes, with the sidecar of the plain name; the plain file counts."""
    fs = fsspec.filesystem("memory")
    files = {"a.jsonl.zst": packed(CHAT), "a.jsonl.ctxkit/ops.jsonl": b"{}\n", "b.jsonl": CHAT, "b.jsonl.zst": b"?"}
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
        fs.pipe({f"/packed/{name}": data})
    for place in (str(tmp_path), "memory://packed"):
        first, second = listed([place])
        assert [one.name.rpartition("/")[2] for one in (first, second)] == ["a.jsonl.zst", "b.jsonl"]
        assert first.read() == (CHAT, {"ops.jsonl": b"{}\n"})
        assert may_have_rows(first)
        assert second.read() == (CHAT, {})


def test_what_is_not_there(tmp_path: Path) -> None:
    """A place without anything is an error, here and in a store; a file that cannot be read has the reason."""
    for place in (str(tmp_path / "no"), "memory://no/such", ""):
        with pytest.raises(NoSuchLog):
            list(listed([place]))
    with pytest.raises(Usage):
        list(listed(["nosuch://x/y"]))
    with pytest.raises(CtxkitError, match="not a log: it is a device"):
        list(listed(["/dev/null"]))
    (tmp_path / "loose").symlink_to(tmp_path / "nowhere")
    [one] = listed([str(tmp_path)])
    assert "cannot be read" in one.error


def test_without_fsspec(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install; paths need none."""
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(Usage) as raised:
        list(listed(["memory://x"]))
    assert "ctxkit-cli[fleet]" in raised.value.hint


def test_below(tmp_path: Path) -> None:
    """A place holds itself and what is below it, and no other with the same beginning."""
    assert holds("s3://b/x", "s3://b/x/y") and holds("s3://b/x/", "s3://b/x") and not holds("s3://b/x", "s3://b/xy")
    assert holds(str(tmp_path), str(tmp_path / "x")) and holds("/", "/x")
    assert join("s3://b/x", "y", "z") == "s3://b/x/y/z"
    assert SourceFile("a") < SourceFile("b")


@pytest.mark.parametrize(
    "url",
    [
        "reference://u:{}@x/y", "jupyter://u:{}@127.0.0.1:1/x", "nothing://u:{}@x/y",
        "https://u:{1}@me/{0}@127.0.0.1:1/x", "https://u:{}@127.0.0.1:1/x", "s3://u:{}@x/y",
        "ftp://u:{}@127.0.0.1:1/x", "smb://u:{}@127.0.0.1:1/x", "github://u:{}@x/y",
        "ftp://u:open {}@127.0.0.1:1/x", "hf://u:{}@x/y", "https://127.0.0.1:1/x?sig={}&v=1",
        "s3://x/y?X-Amz-Signature={}", "nothing://x/y?X-Amz-Security-Token={}",
    ],
)  # fmt: skip
def test_no_url_is_a_bug_or_tells_its_password(url: str) -> None:
    """Whatever fsspec or a library below it raises is an error of ours that names the URL, without its user."""
    url = url.format("sesame", "ses")
    with pytest.raises(CtxkitError) as caught:
        list(listed([url]))
    told = f"{caught.value.message} {caught.value.hint}"
    assert url.partition(":")[0] in told and "sesame" not in told.replace("/sesame@127", "")


class _Guarded(BaseHTTPRequestHandler):
    """Gives CHAT to `ada` with her password."""

    def do_GET(self) -> None:
        told = self.headers.get("Authorization") == "Basic " + base64.b64encode(b"ada:sesame").decode()
        self.send_response(200 if told else 401)
        self.send_header("Content-Length", str(len(CHAT) if told else 0))
        self.end_headers()
        self.wfile.write(CHAT if told else b"")

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


def test_a_password_opens_a_source_and_is_not_kept() -> None:
    """The name of a source, which a dataset keeps, has none; the source is read with it."""
    library("aiohttp")
    with ThreadingHTTPServer(("127.0.0.1", 0), _Guarded) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://ada:{'sesame'}@127.0.0.1:{server.server_port}/x.jsonl"
        [one] = listed([url])
        assert one.name == url.replace("ada:sesame", "…") and one.read().data == CHAT
        assert holds(url, one.name)
        server.shutdown()
