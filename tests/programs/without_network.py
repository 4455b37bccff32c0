"""without_network.py COUNTS COMMAND...: run a command in a fresh network namespace, and count attempts.

Only the loopback device is there, and is up. The kernel counts whatever any process of the namespace
wanted to send elsewhere and had no route for, and what was sent over loopback: COUNTS gets both.
"""

from __future__ import annotations

import fcntl
import json
import socket
import struct
import subprocess
import sys
from pathlib import Path

_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1


def main(counts: str, *command: str) -> int:
    raise_loopback()
    code = subprocess.run(command, check=False).returncode
    Path(counts).write_text(json.dumps(attempts()))
    return code


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        request = struct.pack("16sH14x", b"lo", 0)
        (flags,) = struct.unpack("16xH14x", fcntl.ioctl(asking, _GET_FLAGS, request))
        fcntl.ioctl(asking, _SET_FLAGS, struct.pack("16sH14x", b"lo", flags | _UP))


def attempts() -> dict[str, int]:
    """Sendings without a route, datagrams, and connections that were opened, since the beginning."""
    found = {**old_counters(), **new_counters()}
    unroutable = found["Ip.OutNoRoutes"] + found.get("Ip6OutNoRoutes", 0)
    datagrams = found["Udp.OutDatagrams"] + found.get("Udp6OutDatagrams", 0)
    return {
        "unroutable": unroutable,
        "datagrams": datagrams,
        "connections": found["Tcp.ActiveOpens"],
    }


def old_counters() -> dict[str, int]:
    """Of IPv4: a line of names, then a line of values, for each protocol."""
    lines = Path("/proc/self/net/snmp").read_text().splitlines()
    found = {}
    for names, values in zip(lines[::2], lines[1::2], strict=True):
        protocol, *columns = names.split()
        for name, value in zip(columns, values.split()[1:], strict=True):
            found[f"{protocol[:-1]}.{name}"] = int(value)
    return found


def new_counters() -> dict[str, int]:
    """Of IPv6, where the kernel has it: a name and a value on each line."""
    path = Path("/proc/self/net/snmp6")
    lines = path.read_text().splitlines() if path.exists() else []
    return {name: int(value) for name, value in (line.split() for line in lines)}


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
