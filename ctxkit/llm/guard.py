"""What a model's provider is sent is announced first and goes nowhere else; what it sends back is bounded.

`llm/client.py` hangs it between litellm and the network.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Iterator
from typing import Any

LARGEST = 8 << 20
"""Bytes of a response, unpacked; more are no answer."""
GUARDED = "_ctxkit_guarded"
CALLING = threading.local()
"""`call`: the request that this thread makes, a `client._Call`; threads of others have none."""


def guard() -> None:
    """From now on, requests of our threads are announced before they leave, go to no other place that an answer names,
    and bring no more than they may. Those of other threads are as ever.
    """
    import httpx

    plain: Any = httpx.HTTPTransport.handle_request
    if getattr(plain, GUARDED, False):
        return

    class Bounded(httpx.SyncByteStream):
        def __init__(self, stream: Any, call: Any, *, packed: bool) -> None:
            self._stream, self._call = stream, call
            self._unpack = zlib.decompressobj(47) if packed else None

        def __iter__(self) -> Iterator[bytes]:
            size = 0
            for piece in self._stream:
                if self._unpack is not None:
                    piece = self._unpack.decompress(piece, LARGEST + 1)
                size += len(piece)
                self._call.received(size)
                yield piece

        def close(self) -> None:
            self._stream.close()

    def guarded(self: Any, request: httpx.Request) -> httpx.Response:
        call = getattr(CALLING, "call", None)
        if call is None:
            response: httpx.Response = plain(self, request)
            return response
        port = "" if request.url.port is None else f":{request.url.port}"
        call.may_send(f"{request.url.host}{port}", int(request.headers.get("content-length", 0)))
        request.headers["accept-encoding"] = "identity"  # what is packed may be a thousand times as large
        response = plain(self, request)
        if response.has_redirect_location:
            response.close()
            call.refuse(f"it points to another place, status {response.status_code}")
        call.after = seconds(response.headers.get("retry-after", "0"))
        packing = response.headers.pop("content-encoding", "identity").strip().lower()
        if packing not in ("", "identity", "gzip", "x-gzip", "deflate"):
            response.close()
            call.refuse("it is packed in a way that nobody asked for")
        response.stream = Bounded(response.stream, call, packed=packing not in ("", "identity"))
        return response

    setattr(guarded, GUARDED, True)
    httpx.HTTPTransport.handle_request = guarded  # type: ignore[method-assign]


def seconds(text: str) -> float:
    """What a provider asks to wait, as a header says it; 0 where it names a date."""
    try:
        return min(max(float(text), 0.0), 3600.0)
    except ValueError:
        return 0.0
