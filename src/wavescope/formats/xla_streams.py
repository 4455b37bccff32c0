"""What the profilers of JAX and TensorFlow record of a GPU: its streams, what ran, and how.

The same in both files that they write, xplane.pb and Chrome JSON.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from wavescope.model.columns import UNKNOWN
from wavescope.model.op_kinds import FILL_TYPE, KERNEL_TYPE

StatValue = int | float | str
"""What a profiler notes of an event."""

GPU_NAME = re.compile(r"/device:GPU:(\d{1,4})", re.ASCII)
STREAM_NAME = re.compile(r"Stream #(\d{1,9})", re.ASCII)
REPEATED_LINES = frozenset(
    (
        "Steps", "XLA Modules", "XLA Ops", "Async XLA Ops", "Framework Ops", "Framework Name Scope",
        "TensorFlow Ops", "TensorFlow Name Scope", "Launch Stats", "Source code", "XLA TraceMe",
    )
)  # fmt: skip
"""Lines that profilers add to a GPU's streams: the same work seen another way."""
STEP, CORRELATION = "step_num", "correlation_id"

_COPY = re.compile(r"Memcpy\s*(?:(H|D|P)(?:2|to)(H|D|P)|Other)?\b", re.IGNORECASE)
_ENDS = {"H": "Host", "D": "Device", "P": "Peer"}
_SIZES = re.compile(r"(\d{1,10}),(\d{1,10}),(\d{1,10})")
_LARGEST_INT32 = (1 << 31) - 1
OP_NUMBERS = (
    "correlation", "lds_bytes", "size_bytes", "grid_x", "grid_y", "grid_z", "workgroup_x",
    "workgroup_y", "workgroup_z",
)  # fmt: skip


def op_type(name: str, stats: Mapping[str, StatValue]) -> str:
    """What an event on a stream is: a kernel, unless its name or its details say otherwise."""
    if name.lower().startswith("memset") or "Memset_details" in stats:
        return FILL_TYPE
    found = _COPY.match(name)
    if found is None:
        return "Copy" if "memcpy_details" in stats else KERNEL_TYPE
    if not found[1]:
        return "Copy"
    source, target = (_ENDS[letter.upper()] for letter in found.groups())
    return f"Copy{source}To{target}"


def launch_numbers(stats: Mapping[str, StatValue]) -> list[int]:
    """The values of `OP_NUMBERS`; a grid is counted in blocks there, and in work-items here."""
    copy = stats.get("memcpy_details", stats.get("Memset_details", ""))
    return [whole_number(stats.get(CORRELATION)), *_sizes(stats.get("kernel_details", ""), copy)]


@lru_cache(maxsize=1 << 14)
def _sizes(kernel_details: StatValue, copy_details: StatValue) -> list[int]:
    kernel, moved = _details(kernel_details), _details(copy_details)
    block, grid = _three(kernel.get("block")), _three(kernel.get("grid"))
    items = [
        blocks * size if blocks > 0 and size > 0 else UNKNOWN
        for blocks, size in zip(grid, block, strict=True)
    ]
    shared = [whole_number(kernel.get(name)) for name in ("static_shared", "dynamic_shared")]
    return [
        sum(shared) if min(shared) >= 0 else UNKNOWN,
        whole_number(moved.get("size", moved.get("num_bytes"))),
        *items,
        *block,
    ]


def _details(text: StatValue) -> dict[str, str]:
    """The parts of a text such as `regs:32 grid:8,1,1 block:256,1,1`."""
    if not isinstance(text, str):
        return {}
    pairs = (word.partition(":") for word in text.split())
    return {name: value for name, colon, value in pairs if colon}


def _three(text: str | None) -> list[int]:
    found = _SIZES.fullmatch(text or "")
    sizes = [int(part) for part in found.groups()] if found else [UNKNOWN] * 3
    return [size if size <= _LARGEST_INT32 else UNKNOWN for size in sizes]


def whole_number(value: StatValue | None) -> int:
    """A number that a column can hold, -1 for anything else."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 19:
        return int(value)
    return value if isinstance(value, int) else UNKNOWN
