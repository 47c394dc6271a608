"""The part that runs inside the network namespace: loopback up, the stub on it, then the agent, once.

`python -m tests.resume.inside` takes a JSON object on standard input (command, env, cwd, port, seconds, and outside:
the caller's `network()`) and prints one (requests, status, said). Nothing but the stub can be reached from there.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
from typing import Any

from tests.resume.stub import Stub

SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1


def loopback_up() -> None:
    """What `ip link set lo up` does, without iproute2."""
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        asked = struct.pack("16sh22x", b"lo", 0)
        flags = struct.unpack("16xh22x", fcntl.ioctl(probe, SIOCGIFFLAGS, asked))[0]
        fcntl.ioctl(probe, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", flags | IFF_UP))


def network() -> str:
    """The name of the network namespace this runs in."""
    return os.readlink("/proc/self/ns/net")


def run(asked: dict[str, Any]) -> dict[str, Any]:
    """Run the agent beside the stub."""
    if network() == asked["outside"]:
        raise SystemExit("not in a network namespace of its own: nothing was started")
    loopback_up()
    with Stub(asked["port"]) as stub:
        try:
            done = subprocess.run(
                asked["command"], env=asked["env"], cwd=asked["cwd"], timeout=asked["seconds"],
                stdin=subprocess.DEVNULL, capture_output=True, check=False,
            )  # fmt: skip
            status, said = done.returncode, done.stderr + done.stdout
        except subprocess.TimeoutExpired as late:
            status, said = -1, (late.stderr or b"") + (late.stdout or b"")
    return {"requests": stub.requests, "status": status, "said": said.decode(errors="replace")[-4000:]}


if __name__ == "__main__":
    json.dump(run(json.load(sys.stdin)), sys.stdout)
