"""Kinds and operations of rocprofv3 JSON: numbers in records that its string tables resolve.

The kinds stand where rocprofv3 puts them, since some readers go by number; their operations are
those the trace uses. A call of no ROCm API gets a kind at the end, named by its category.
Names of copies, APIs and kernels are rocprofiler-sdk's, in rocpd files as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from wavescope.arrays import Array
from wavescope.names.demangle import demangle

MARKER_CATEGORY = "roctx"
OWN_MEMBER = "wavescope"
"""What only our own exports have, see `own_export`."""

_COPY_PREFIX = "MEMORY_COPY_"
_API_OF_KIND = (
    ("HIP", "HIP"),
    ("HSA", "HSA"),
    ("RCCL", "RCCL"),
    ("MARKER", "ROCTX"),
    ("MEMORY_ALLOCATION", "MEMORY"),
    ("SCRATCH_MEMORY", "MEMORY"),
    ("ROCDECODE", "ROCDECODE"),
    ("ROCJPEG", "ROCJPEG"),
    ("OMPT", "OMPT"),
)


def copy_type(direction: str) -> str:
    """The op type of a copy: MEMORY_COPY_HOST_TO_DEVICE or HOST_TO_DEVICE is CopyHostToDevice.

    Any other name is a type already.
    """
    words = direction.strip().removeprefix(_COPY_PREFIX)
    if not words.isupper():
        return words or "Copy"
    return "Copy" + "".join(word.capitalize() for word in words.split("_"))


def api_of_kind(kind: str) -> str:
    """The API that a rocprofv3 kind such as HIP_RUNTIME_API_EXT belongs to."""
    for prefix, api in _API_OF_KIND:
        if kind.startswith(prefix):
            return api
    return kind


def copy_gpus(types: Sequence[str], sources: Array, targets: Array) -> Array:
    """The GPU a copy is counted for: the one written to from the host, else the one read from."""
    to_device = np.array(["HostToDevice" in name for name in types])
    first, second = np.where(to_device, (targets, sources), (sources, targets))
    chosen: Array = np.where(first >= 0, first, second)
    return chosen


def plain_kernel_name(name: str) -> str:
    """A kernel's name without what marks its descriptor: `.kd`, `(.kd)` or `[clone .kd]`."""
    return name.removesuffix(".kd").removesuffix(" [clone .kd]").removesuffix(" (.kd)").rstrip()


def shown_kernel_name(name: str) -> str:
    """The one name of a kernel, whether a file spells it demangled, mangled or by descriptor."""
    return demangle(plain_kernel_name(name))


KERNEL_DISPATCH = 11
KERNEL_COMPLETE = 2
MEMORY_COPY = 10
MARKER_RANGE = 32
MARK, THREAD_RANGE = 0, 1
HOST_SECTION = "host_api"
HOST_KIND = "HOST_CALL"

_KINDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("NONE", ()),
    ("HSA_CORE_API", ()),
    ("HSA_AMD_EXT_API", ()),
    ("HSA_IMAGE_EXT_API", ()),
    ("HSA_FINALIZE_EXT_API", ()),
    ("HIP_RUNTIME_API", ()),
    ("HIP_COMPILER_API", ()),
    ("MARKER_CORE_API", ()),
    ("MARKER_CONTROL_API", ()),
    ("MARKER_NAME_API", ()),
    (
        "MEMORY_COPY",
        (
            "MEMORY_COPY_NONE",
            "MEMORY_COPY_HOST_TO_HOST",
            "MEMORY_COPY_HOST_TO_DEVICE",
            "MEMORY_COPY_DEVICE_TO_HOST",
            "MEMORY_COPY_DEVICE_TO_DEVICE",
        ),
    ),
    (
        "KERNEL_DISPATCH",
        ("KERNEL_DISPATCH_NONE", "KERNEL_DISPATCH_ENQUEUE", "KERNEL_DISPATCH_COMPLETE"),
    ),
    ("SCRATCH_MEMORY", ()),
    ("CORRELATION_ID_RETIREMENT", ()),
    ("RCCL_API", ()),
    ("OMPT", ()),
    ("MEMORY_ALLOCATION", ()),
    ("RUNTIME_INITIALIZATION", ()),
    ("ROCDECODE_API", ()),
    ("ROCJPEG_API", ()),
    ("HIP_STREAM", ()),
    ("HIP_RUNTIME_API_EXT", ()),
    ("HIP_COMPILER_API_EXT", ()),
    ("ROCDECODE_API_EXT", ()),
    ("KFD_EVENT_PAGE_MIGRATE", ()),
    ("KFD_EVENT_PAGE_FAULT", ()),
    ("KFD_EVENT_QUEUE", ()),
    ("KFD_EVENT_UNMAP_FROM_GPU", ()),
    ("KFD_EVENT_DROPPED_EVENTS", ()),
    ("KFD_PAGE_MIGRATE", ()),
    ("KFD_PAGE_FAULT", ()),
    ("KFD_QUEUE", ()),
    (
        "MARKER_CORE_RANGE_API",
        ("roctxMarkA", "roctxThreadRangeA", "roctxProcessRangeA", "roctxGetThreadId"),
    ),
)
_SECTION_OF_KIND = (
    ("HIP_", "hip_api"),
    ("HSA_", "hsa_api"),
    ("RCCL_API", "rccl_api"),
    ("ROCDECODE_API", "rocdecode_api"),
    ("ROCJPEG_API", "rocjpeg_api"),
    ("MEMORY_ALLOCATION", "memory_allocation"),
    ("SCRATCH_MEMORY", "scratch_memory"),
)
_KIND_OF_NAME = (
    ("__hip", "HIP_COMPILER_API"),
    ("hip", "HIP_RUNTIME_API"),
    ("hsa_amd_", "HSA_AMD_EXT_API"),
    ("hsa_ext_image", "HSA_IMAGE_EXT_API"),
    ("hsa_", "HSA_CORE_API"),
    ("nccl", "RCCL_API"),
    ("rocDec", "ROCDECODE_API"),
    ("rocJpeg", "ROCJPEG_API"),
)
_COPY_OPERATIONS = {
    "CopyHostToHost": 1,
    "CopyHostToDevice": 2,
    "CopyDeviceToHost": 3,
    "CopyDeviceToDevice": 4,
}
CALL_SECTIONS = (*dict.fromkeys(section for _, section in _SECTION_OF_KIND), HOST_SECTION)


def kind_name(number: int) -> str:
    """What rocprofv3 calls the kind with this number; empty where it has no such kind."""
    return _KINDS[number][0] if 0 < number < len(_KINDS) else ""


class Kinds:
    """The string tables of one file, growing as operations are asked for."""

    def __init__(self) -> None:
        self._operations: list[dict[str, int]] = []
        self._names: dict[str, int] = {}
        self._stated: dict[tuple[int, int], tuple[str, str]] = {}
        """Category and domain of calls, by kind and operation."""
        for name, operations in _KINDS:
            self._add_kind(name, operations)

    def of_call(self, category: str, name: str, domain: str = "") -> tuple[str, int, int]:
        """Section, kind and operation of a call."""
        kind = category if _section(category) else _kind_of_name(name)
        section = _section(kind) or HOST_SECTION
        if section == HOST_SECTION:
            # A category that happens to be a kind of another section must not lead there.
            kind = category if category and category not in _STANDARD else HOST_KIND
        number = self._names.get(kind)
        if number is None:
            number = self._add_kind(kind, ())
        operation = self._operation(number, name)
        self._stated.setdefault((number, operation), (category, domain))
        return section, number, operation

    def of_copy(self, op_type: str) -> int:
        """The MEMORY_COPY operation of an op that is no kernel; unusual types get their own."""
        known = _COPY_OPERATIONS.get(op_type)
        return self._operation(MEMORY_COPY, op_type) if known is None else known

    def table(self) -> list[dict[str, object]]:
        """strings.buffer_records: kinds in order, each with its operations in order."""
        return [self._kind(name, number) for name, number in self._names.items()]

    def _kind(self, name: str, number: int) -> dict[str, object]:
        """A kind; what calls of its operations were in the trace stands beside them."""
        operations = self._operations[number]
        stated = [self._stated.get((number, each)) for each in operations.values()]
        beside = {OWN_MEMBER: stated} if any(stated) else {}
        return {"kind": name, "operations": list(operations), **beside}

    def _add_kind(self, name: str, operations: Iterable[str]) -> int:
        self._names[name] = len(self._operations)
        self._operations.append({text: number for number, text in enumerate(operations)})
        return self._names[name]

    def _operation(self, kind: int, name: str) -> int:
        operations = self._operations[kind]
        return operations.setdefault(name, len(operations))


_STANDARD = frozenset(name for name, _ in _KINDS)


def _section(kind: str) -> str:
    if kind in _STANDARD:
        for prefix, section in _SECTION_OF_KIND:
            if kind.startswith(prefix):
                return section
    return ""


def _kind_of_name(name: str) -> str:
    for prefix, kind in _KIND_OF_NAME:
        if name.startswith(prefix):
            return kind
    return ""
