"""Tasks for the tests of workers: each does one good or bad thing to its item."""

from __future__ import annotations

import ctypes
import hashlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from wavescope.errors import UnreadableInputError

HERE = "tests.worked_items"


def digest(item: str, options: bytes) -> bytes:
    """Bytes that depend on the item and the options, some 30 kB."""
    return hashlib.sha256(item.encode(errors="surrogatepass") + options).digest() * 1000


def busy(item: str, options: bytes) -> bytes:
    """Takes as many seconds of processor time as the options say."""
    until = time.process_time() + float(options)
    data = item.encode()
    while time.process_time() < until:
        data = hashlib.sha256(data).digest()
    return item.encode()


def unlucky(item: str, options: bytes) -> bytes:
    """What the item says: 'kill', 'exit 3', 'raise', 'sleep 5', 'memory', or a good answer."""
    word, _, rest = item.partition(" ")
    return _DEEDS.get(word, lambda rest: item.encode() + options)(rest)


def _kill(rest: str) -> bytes:
    os.kill(os.getpid(), int(rest or signal.SIGKILL))
    time.sleep(60)
    return b""


def _exit(rest: str) -> bytes:
    print("the last thing that was said", file=sys.stderr)
    os._exit(int(rest))


def _once(rest: str) -> bytes:
    """Kills its process the first time: the file that `rest` names tells whether it was here."""
    mark = Path(rest)
    if not mark.exists():
        mark.touch()
        _kill("")
    return b"second try"


def _memory(rest: str) -> bytes:
    return bytes(len(bytearray(int(rest or 4 << 30))) & 1)


def _leave_behind(rest: str) -> bytes:
    """Starts a process that outlives its starter unless somebody ends it; its id is the answer."""
    left = subprocess.Popen(["sleep", "300"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return str(left.pid).encode()


def _fault(rest: str) -> bytes:
    ctypes.string_at(0)
    return b""


def _raise(rest: str) -> bytes:
    raise ValueError(rest)


def _import(rest: str) -> bytes:
    raise ImportError(rest)


def _unreadable(rest: str) -> bytes:
    raise UnreadableInputError(rest, "the file is empty", hint="was the run killed?")


def _open(rest: str) -> bytes:
    return Path(rest).read_bytes()


def _sleep(rest: str) -> bytes:
    time.sleep(float(rest))
    return b"slept"


def _print(rest: str) -> bytes:
    print(rest * 100_000)
    print(rest, file=sys.stderr)
    os.write(1, b"straight to the descriptor\n")
    return b"printed"


def _no_bytes(rest: str) -> bytes:
    return rest  # type: ignore[return-value]


def _leave(rest: str) -> bytes:
    sys.exit(rest)


def _who(rest: str) -> bytes:
    return f"{os.getpid()} {os.getppid()} {os.getpgid(0)}".encode()


def _environment(rest: str) -> bytes:
    return os.environ.get(rest, "").encode()


def _stdin(rest: str) -> bytes:
    return sys.stdin.read().encode() + b"end"


def _kill_starter(rest: str) -> bytes:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)
    return b""


_DEEDS = {
    "kill": _kill,
    "exit": _exit,
    "once": _once,
    "memory": _memory,
    "leave-behind": _leave_behind,
    "fault": _fault,
    "raise": _raise,
    "import": _import,
    "unreadable": _unreadable,
    "open": _open,
    "sleep": _sleep,
    "print": _print,
    "no-bytes": _no_bytes,
    "leave": _leave,
    "who": _who,
    "environment": _environment,
    "stdin": _stdin,
    "kill-starter": _kill_starter,
}


def content(item: str, options: bytes) -> bytes:
    """The bytes of the file that the item names."""
    return Path(item).read_bytes()
