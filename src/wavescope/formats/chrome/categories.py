"""What the categories of Chrome trace events mean: which are GPU work, host calls and markers.

PyTorch's profiler (Kineto) names every event's category, in an older and a newer spelling; other
tools' exports are told by the name of the process an event lies under (see `processes`).
"""

from __future__ import annotations

import enum
import re

from wavescope.model.op_kinds import (
    BARRIER_TYPE,
    COPY_TYPES,
    FILL_TYPE,
    GRAPH_RUN_TYPE,
    KERNEL_TYPE,
    MARKER_TYPE,
)


class Role(enum.IntEnum):
    """Which table an event belongs to."""

    BY_PROCESS = 0
    """The category does not say: an op under a process that is named as a GPU, else a call."""
    OP = 1
    """GPU work as Kineto writes it, numbers in args."""
    TYPED_OP = 2
    """GPU work whose category is the op's type, as exports of rocpd traces write it."""
    CALL = 3
    LAUNCH_CALL = 4
    """A call that can cause GPU work: links prefer it over others with the same correlation."""
    MARKER = 5
    GPU_MARKER = 6
    """A marker drawn over the GPU work that it caused."""
    SKIPPED = 7
    """A repetition of what other events say."""


PROFILER_SPAN = "Trace"

_CATEGORIES: dict[Role, tuple[str, ...]] = {
    Role.OP: ("kernel", "gpu_memcpy", "gpu_memset", "Kernel", "Memcpy", "Memset"),
    Role.TYPED_OP: (
        KERNEL_TYPE,
        *COPY_TYPES,
        FILL_TYPE,
        BARRIER_TYPE,
        GRAPH_RUN_TYPE,
        "Task",
        "Copy",
    ),
    Role.CALL: (
        "cpu_op",
        "Operator",
        "python_function",
        "cpu_instant_event",
        "overhead",
        "Overhead",
        "Runtime Overhead",
        "CUPTI Overhead",
        "itt",
    ),
    Role.LAUNCH_CALL: (
        "cuda_runtime",
        "cuda_driver",
        "Runtime",
        "hip_runtime",
        "hip_driver",
        "hip_api",
        "hsa_api",
        "hip_runtime_api",
        "hip_runtime_api_ext",
        "privateuse1_runtime",
        "privateuse1_driver",
        "xpu_runtime",
        "xpu_driver",
        "mtia_runtime",
        "glow_runtime",
    ),
    Role.MARKER: ("user_annotation", MARKER_TYPE, "roctx", "nvtx", "marker", "user_scope"),
    Role.GPU_MARKER: ("gpu_user_annotation",),
    Role.SKIPPED: (
        PROFILER_SPAN,
        "ac2g",
        "async_gpu",
        "async_cpu_to_gpu",
        "fwdbwd",
        "forward_backward",
        "cuda_sync",
        "cuda_event",
        "cuda_profiler_range",
        "gpu_pm_counter",
        "external_correlation",
    ),
}
ROLES: dict[str, Role] = {name: role for role, names in _CATEGORIES.items() for name in names}

WORK_ITEM_LAUNCHES = ("hipExtModuleLaunchKernel", "hipHccModuleLaunchKernel")
"""Calls whose grid is in work-items; that of all others is in blocks."""

OP_CATEGORIES = (*_CATEGORIES[Role.OP], *_CATEGORIES[Role.TYPED_OP])
DROPPED_ARGS = (
    *OP_CATEGORIES,
    "user_annotation",
    "gpu_user_annotation",
    *_CATEGORIES[Role.SKIPPED],
)
"""Categories whose args hold nothing that the tables keep as text."""

_DRIVER_CATEGORY = re.compile("driver")
_DIRECTIONS = (
    (re.compile(r"h(?:ost)?\W*(?:to|2)\W*d", re.IGNORECASE), "CopyHostToDevice"),
    (re.compile(r"d(?:evice)?\W*(?:to|2)\W*h", re.IGNORECASE), "CopyDeviceToHost"),
    (re.compile(r"d(?:evice)?\W*(?:to|2)\W*d", re.IGNORECASE), "CopyDeviceToDevice"),
    (re.compile(r"h(?:ost)?\W*(?:to|2)\W*h", re.IGNORECASE), "CopyHostToHost"),
    (re.compile(r"p(?:eer)?\W*(?:to|2)\W*p", re.IGNORECASE), "CopyPeerToPeer"),
)
_UNKNOWN_COPY = "Copy"
_DOMAINS = (("hip", "HIP"), ("hsa", "HSA"), ("cuda", "CUDA"), ("cu", "CUDA"))
_NAME_LIMIT = 256


def op_type(category: str, name: str, kind: str) -> str:
    """The type of an op: its category, or what Kineto's stands for; copies tell their direction."""
    if ROLES.get(category) is Role.TYPED_OP:
        return category
    lowered = category.lower()
    if "memset" in lowered:
        return FILL_TYPE
    if "memcpy" not in lowered:
        return KERNEL_TYPE
    for text in (kind, name):
        for pattern, type_name in _DIRECTIONS:
            if pattern.search(text[:_NAME_LIMIT]):
                return type_name
    return _UNKNOWN_COPY


def launch_preference(category: str) -> int:
    """Of calls with one correlation id the one with the smallest number caused the op."""
    if ROLES.get(category) is not Role.LAUNCH_CALL:
        return 2
    return 1 if _DRIVER_CATEGORY.search(category) else 0


def api_of_call(name: str) -> str:
    """The API that a runtime or driver call's name belongs to, empty when it does not say."""
    return next((domain for prefix, domain in _DOMAINS if name.startswith(prefix)), "")
