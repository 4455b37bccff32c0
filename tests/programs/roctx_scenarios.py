"""Programs that use roctx, one per function; the first argument says which. Results are printed as JSON."""

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
import time
from pathlib import Path

lib = ctypes.CDLL(None)
for name in ("roctxMarkA", "roctxRangePushA", "roctxNameOsThread", "nvtxRangePushA", "nvtxMarkA"):
    getattr(lib, name).argtypes = [ctypes.c_char_p]
for name in ("roctxRangeStartA", "roctxRangeStart", "nvtxRangeStartA"):
    getattr(lib, name).argtypes = [ctypes.c_char_p]
    getattr(lib, name).restype = ctypes.c_uint64
for name in ("roctxRangeStop", "nvtxRangeEnd", "roctxProfilerPause", "roctxProfilerResume"):
    getattr(lib, name).argtypes = [ctypes.c_uint64]
lib.roctxNameHipStream.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
lib.roctxNameHsaAgent.argtypes = [ctypes.c_char_p, ctypes.c_void_p]


def say(**values: object) -> None:
    print(json.dumps(values), flush=True)


def wait_for_the_end_of(thread: threading.Thread) -> None:
    """Returns when the system's thread is gone: `join` returns before its destructors have run."""
    while Path(f"/proc/self/task/{thread.native_id}").exists():
        time.sleep(0.001)


def nesting() -> None:
    """Marks and ranges within ranges, with the values that every call returns."""
    levels = [lib.roctxRangePop(), lib.roctxRangePushA(b"outer"), lib.roctxRangePush(b"inner")]
    lib.roctxMarkA(b"point")
    levels += [lib.roctxRangePop(), lib.roctxRangePushA(b"second"), lib.roctxRangePop()]
    levels += [lib.roctxRangePop(), lib.roctxRangePop()]
    lib.roctxMark(b"alone")
    say(levels=levels, version=[lib.roctx_version_major(), lib.roctx_version_minor()])


def odd_texts() -> None:
    """No text, bytes that are not UTF-8, an empty text, one of many thousand characters."""
    for text in (None, b"\xff\xfe broken \xc3", b"", b"x" * 200_000, "größe µs 名前".encode()):
        lib.roctxMarkA(text)


def deep() -> None:
    """Thousands of ranges within each other, and one pop too many."""
    count = int(sys.argv[2])
    pushed = [lib.roctxRangePushA(b"level") for _ in range(count)]
    popped = [lib.roctxRangePop() for _ in range(count + 1)]
    say(
        pushed=pushed == list(range(count)),
        popped=popped == [*range(count - 1, -1, -1), -1],
    )


def threads() -> None:
    """Threads with ranges of their own, one that ends inside of two ranges."""
    barrier = threading.Barrier(3)

    def work(number: int) -> None:
        lib.roctxNameOsThread(b"worker %d" % number)
        for step in range(100):
            lib.roctxRangePushA(b"thread %d step %d" % (number, step))
            if step == 50:
                barrier.wait()
            lib.roctxRangePop()

    def leave() -> None:
        lib.roctxRangePushA(b"left open")
        lib.roctxRangePushA(b"left open inside")

    workers = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    workers.append(threading.Thread(target=leave))
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        wait_for_the_end_of(worker)
    say(left=workers[3].native_id, workers=[worker.native_id for worker in workers[:3]])


def stop_elsewhere() -> None:
    """Ranges by start and stop: crossed, stopped by another thread, unknown, never stopped."""
    lib.roctxRangePushA(b"pushed")
    first = lib.roctxRangeStartA(b"first")
    second = lib.roctxRangeStart(b"second")
    lib.roctxRangeStop(first)
    helper = threading.Thread(target=lib.roctxRangeStop, args=(second,))
    helper.start()
    helper.join()
    lib.roctxRangeStop(second)
    lib.roctxRangeStop(0)
    lib.roctxRangeStop(987_654_321)
    lib.roctxRangeStartA(b"never stopped")
    lib.roctxRangePop()
    say(ids=[first, second])


def wait_inside() -> None:
    """Says when three ranges are open, then waits to be killed."""
    lib.roctxRangePushA(b"closed")
    lib.roctxRangePop()
    lib.roctxRangePushA(b"outer")
    lib.roctxRangePushA(b"inner")
    lib.roctxRangeStartA(b"started")
    say(ready=True)
    time.sleep(3600)


def fork() -> None:
    """A child that closes its parent's range and opens its own, while the parent goes on."""
    lib.roctxRangePushA(b"before the fork")
    started = lib.roctxRangeStartA(b"started before the fork")
    pid = os.fork()
    if pid == 0:
        levels = [lib.roctxRangePushA(b"child"), lib.roctxRangePop(), lib.roctxRangePop()]
        lib.roctxRangeStop(started)
        lib.roctxMarkA(b"child mark")
        os._exit(0 if levels == [1, 1, 0] else 9)
    _, status = os.waitpid(pid, 0)
    lib.roctxRangePushA(b"parent")
    lib.roctxRangePop()
    lib.roctxRangePop()
    lib.roctxRangeStop(started)
    say(child=pid, status=os.waitstatus_to_exitcode(status))


def many() -> None:
    """Very many marks and ranges."""
    count = int(sys.argv[2])
    for number in range(count // 2):
        lib.roctxRangePushA(b"step %d" % (number % 1000))
        lib.roctxRangePop()
        lib.roctxMarkA(b"mark")
    say(marked=count)


def paused() -> None:
    """Ranges before, across, within and after a pause."""
    lib.roctxRangePushA(b"across")
    returned = [lib.roctxProfilerPause(0)]
    lib.roctxRangePushA(b"within")
    lib.roctxMarkA(b"mark within")
    started = lib.roctxRangeStartA(b"start within")
    returned.append(lib.roctxProfilerResume(0))
    lib.roctxMarkA(b"after resume")
    lib.roctxRangeStop(started)
    returned += [lib.roctxRangePop(), lib.roctxRangePop()]
    lib.roctxMarkA(b"after")
    say(returned=returned)


def names() -> None:
    """Names for the thread, a device, a stream and an agent; the thread's id."""
    thread = ctypes.c_uint64()
    agent = ctypes.c_uint64(0x1234)
    returned = [
        lib.roctxGetThreadId(ctypes.byref(thread)),
        lib.roctxNameOsThread(b"main loop"),
        lib.roctxNameHipDevice(b"left GPU", 1),
        lib.roctxNameHipStream(b"copies", 0xABCD),
        lib.roctxNameHsaAgent(b"agent", ctypes.byref(agent)),
        lib.roctxNameOsThread(None),
        lib.roctxGetThreadId(None),
    ]
    say(returned=returned, is_own=thread.value == threading.get_native_id())


def nvtx() -> None:
    """The same through the classic NVTX functions, mixed with roctx."""
    levels = [lib.nvtxRangePushA(b"nvtx range"), lib.roctxRangePushA(b"roctx range")]
    levels += [lib.roctxRangePop(), lib.nvtxRangePop(), lib.nvtxRangePop()]
    lib.nvtxMarkA(b"nvtx mark")
    lib.nvtxRangeEnd(lib.nvtxRangeStartA(b"nvtx started"))
    say(levels=levels)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
