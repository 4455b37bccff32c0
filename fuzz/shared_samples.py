"""Real files as further samples, where a folder of them is at hand; none are in the repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fuzz.inputs import Input, read_input

_LARGEST_BYTES = 150_000
_PLACES: dict[str, tuple[str, ...]] = {
    "rocm-trace-lite": ("rtl/*.db",),
    "rocmProfileData": ("rpd/*.rpd",),
    "rocpd": ("rocprofv3/sdk-*/*/*/*_results.db",),
    "rocprofv3 CSV": ("rocprofv3/gfx1151/*_kernel_trace.csv", "rocprofv3/sdk-*/*/vm"),
    "rocprof timestamps": ("compute-workloads/*/vcopy/timestamps.csv",),
    "rocprofv3 JSON": ("rocprofv3/sdk-*/*/*/*_results.json*",),
    "Perfetto": ("rocprofv3/sdk-*/*/*/*.pftrace",),
    "Chrome JSON": ("kineto/*/*.json*",),
    "captures": ("thread-trace/*_dispatch_*", "thread-trace/pc_sampling_folder"),
    "counter folders": ("compute-workloads/*/vcopy",),
    "counter files": ("rocprofv3/gfx1151/*_counter_collection.csv", "thread-trace/gfx90a_pmc"),
}


def shared_samples(folder: Path) -> dict[str, list[Input]]:
    """By reader, the files below `folder` that are small enough to be read often."""
    return {reader: list(_inputs(folder, patterns)) for reader, patterns in _PLACES.items()}


def _inputs(folder: Path, patterns: tuple[str, ...]) -> Iterator[Input]:
    for pattern in patterns:
        for path in sorted(folder.glob(pattern)):
            if _size_bytes(path) <= _LARGEST_BYTES:
                yield read_input(path)


def _size_bytes(path: Path) -> int:
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return sum(each.stat().st_size * _growth(each) for each in files)


def _growth(path: Path) -> int:
    """How many times as large a file becomes when it is unpacked, about."""
    return 10 if path.suffix == ".gz" else 1
