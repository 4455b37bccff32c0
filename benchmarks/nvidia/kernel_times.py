"""Kernels as (name, start, end), read from a trace of wavescope or straight from the JSON of torch.profiler."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_KERNEL = 0
_COPY_KERNEL = re.compile(r"memcpy\d+_post$")


class Kernel(NamedTuple):
    """One run of a kernel; times in ns."""

    name: str
    start_ns: int
    end_ns: int
    launch: int = -1
    """The number of the call that launched it; -1: not known."""


def traced_kernels(path: Path, marker: str = "") -> list[Kernel]:
    """The kernels of any trace that wavescope reads; of those that began while `marker` was open."""
    return [kernel for kind, _, kernel in _traced_ops(path, marker) if kind == _KERNEL]


def traced_copies(path: Path, marker: str = "") -> list[Kernel]:
    """Copies within a GPU, as kernels are read."""
    return [copy for _, type_, copy in _traced_ops(path, marker) if type_ == "CopyDeviceToDevice"]


def _traced_ops(path: Path, marker: str) -> list[tuple[int, str, Kernel]]:
    from wavescope.formats import open_trace

    with open_trace(path) as trace:
        start_ns, end_ns = 0, 1 << 62
        if marker:
            rows = [at for at, name in enumerate(trace.markers.strings("name")) if name == marker]
            if not rows:
                raise SystemExit(f"{path} has no marker {marker!r}")
            start_ns = int(trace.markers["start_ns"][rows[-1]])
            end_ns = int(trace.markers["end_ns"][rows[-1]])
        columns = (
            trace.ops.strings("name"),
            trace.ops["start_ns"].tolist(),
            trace.ops["end_ns"].tolist(),
            trace.ops["correlation"].tolist(),
        )
        return [
            (kind, type_, Kernel(compact(name), start, end, launch))
            for kind, type_, name, start, end, launch in zip(
                trace.op_kind.tolist(), trace.ops.strings("type"), *columns, strict=True
            )
            if start_ns <= start < end_ns
        ]


def kernel_ends(path: Path, pattern: re.Pattern[str]) -> Any:
    """When kernels ended that have a name in which the pattern is found, in ns; for large traces."""
    import numpy as np

    from wavescope.formats import open_trace

    with open_trace(path) as trace:
        codes, place = np.unique(trace.ops["name"], return_inverse=True)
        names = trace.ops.string_table.decode(codes)
        is_wanted = np.array([bool(pattern.search(name)) for name in names], bool)
        return trace.ops["end_ns"][is_wanted[place] & (trace.op_kind == _KERNEL)]


def op_count(path: Path) -> int:
    """How many kernels, copies, fills and whole graphs a trace has."""
    from wavescope.formats import open_trace

    with open_trace(path) as trace:
        return len(trace.ops)


class JsonOps(NamedTuple):
    """What a trace of torch.profiler has."""

    kernels: list[Kernel]
    copies: list[Kernel]
    """Within a GPU: also those nodes of graphs that CUPTI tells as kernels of its own, which it does
    where it was asked only after the graph was instantiated."""
    copies_as_kernels: int


def json_ops(path: Path) -> JsonOps:
    """The kernels and copies of a trace of torch.profiler, by nothing but a JSON parser."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        events = json.load(file, parse_float=_thousandths, parse_int=lambda text: int(text) * 1000)
    ops = [
        (event["cat"], Kernel(compact(event["name"]), event["ts"], event["ts"] + event["dur"],
                              event.get("args", {}).get("correlation", -1)))
        for event in events["traceEvents"]
        if event.get("ph") == "X" and event.get("cat") in ("kernel", "gpu_memcpy")
    ]  # fmt: skip
    kernels, as_kernels = parted(op for category, op in ops if category == "kernel")
    copies = [op for category, op in ops if category == "gpu_memcpy" and "DtoD" in op.name]
    return JsonOps(kernels, [*copies, *as_kernels], len(as_kernels))


def parted(kernels: Iterable[Kernel]) -> tuple[list[Kernel], list[Kernel]]:
    """Kernels of the program, and those of CUDA that copy for a node of a graph."""
    parts: tuple[list[Kernel], list[Kernel]] = ([], [])
    for kernel in kernels:
        parts[_COPY_KERNEL.match(kernel.name) is not None].append(kernel)
    return parts


def _thousandths(text: str) -> int:
    """Microseconds with decimals as whole ns."""
    if "e" in text.lower():
        return round(float(text) * 1000)
    whole, _, part = text.partition(".")
    value = abs(int(whole)) * 1000 + int((part + "000")[:3])
    return -value if whole.startswith("-") else value


def in_graphs(kernels: Iterable[Kernel]) -> set[int]:
    """The launches that ran several kernels: those of graphs."""
    counts = Counter(kernel.launch for kernel in kernels)
    return {launch for launch, count in counts.items() if count > 1 and launch != -1}


@cache
def compact(name: str) -> str:
    """A name without what demanglers write differently."""
    name = re.sub(r"\((?:int|unsigned int|bool|long|unsigned long)\)(?=-?\d)", "", name)
    return re.sub(r"(?<=\d)(?:ul|u|l|ull|ll)\b", "", re.sub(r"\s+", "", name))


def busy_ns(kernels: Iterable[Kernel]) -> int:
    """The time in which at least one kernel ran."""
    total, until = 0, -(1 << 62)
    for kernel in sorted(kernels, key=lambda each: each.start_ns):
        total += max(0, kernel.end_ns - max(kernel.start_ns, until))
        until = max(until, kernel.end_ns)
    return total
