"""What kind of work an op is, told from its type and name.

The kind follows the op's type, as the recorder stated it. The class decides the compute,
communication and copy split: a kernel whose name is a collective's is communication, a copy is a
copy, everything else (fills and runs of graphs included) is compute. docs/definitions.md publishes
this.
"""

from __future__ import annotations

import enum
import functools
import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from wavescope.arrays.coded_columns import CodeCounts, counted_codes, looked_up
from wavescope.model.strings import StringTable

Codes = npt.NDArray[np.int32]
Kinds = npt.NDArray[np.int8]


class OpKind(enum.IntEnum):
    """Kinds of GPU work."""

    KERNEL = 0
    COPY = 1
    FILL = 2
    BARRIER = 3
    OTHER = 4
    GRAPH_RUN = 5
    """A whole graph, where its kernels were not recorded one by one."""


class OpClass(enum.IntEnum):
    """The three-way split of GPU time."""

    COMPUTE = 0
    COMMUNICATION = 1
    COPY = 2


KERNEL_TYPE = "KernelExecution"
COPY_TYPES = (
    "CopyHostToDevice",
    "CopyDeviceToHost",
    "CopyDeviceToDevice",
    "CopyHostToHost",
    "CopyPeerToPeer",
)
FILL_TYPE = "FillMemory"
BARRIER_TYPE = "Barrier"
GRAPH_RUN_TYPE = "GraphExecution"
MARKER_TYPE = "UserMarker"

_KIND_PATTERNS = (
    (OpKind.KERNEL, re.compile(r"kernel|^task$", re.IGNORECASE)),
    (OpKind.COPY, re.compile(r"copy|memcpy", re.IGNORECASE)),
    (OpKind.FILL, re.compile(r"fill|memset", re.IGNORECASE)),
    (OpKind.BARRIER, re.compile(r"barrier|marker", re.IGNORECASE)),
    (OpKind.GRAPH_RUN, re.compile(rf"^{GRAPH_RUN_TYPE}$", re.IGNORECASE)),
)
_COLLECTIVE = re.compile(
    r"nccl|rccl|cross_device_reduce|(?<!sm)all_?reduce|(?<!sm)all_?gather|reduce_?scatter|all_?to_?all|"
    r"one_shot_all|two_shot_all|msccl|nvshmem|userbuffers_|ep(?:dispatch|combine)int|deep_ep::|moe_?a2a|\bcomm::\w+::",
    re.IGNORECASE,
)
_NAME_LIMIT = 4096
_REMEMBERED_NAMES = 8192
"""Each is looked at several times in a trace, and all ranks of a job have the same."""


def kind_of_type(op_type: str) -> OpKind:
    """The kind that an op type such as 'CopyHostToDevice' stands for."""
    for kind, pattern in _KIND_PATTERNS:
        if pattern.search(op_type[:_NAME_LIMIT]):
            return kind
    return OpKind.OTHER


def is_collective(name: str) -> bool:
    """Whether `name` is a collective communication kernel's."""
    return _is_collective(name[:_NAME_LIMIT])


@functools.lru_cache(maxsize=_REMEMBERED_NAMES)
def _is_collective(name: str) -> bool:
    return _COLLECTIVE.search(name) is not None


def op_kinds(strings: StringTable, types: Codes, used_types: CodeCounts | None = None) -> Kinds:
    """The kind of each op from the code of its type; `used_types` if they are counted already."""
    used = counted_codes(types) if used_types is None else used_types
    return _by_code(types, used, lambda code: kind_of_type(strings[code]))


def op_classes(
    strings: StringTable,
    types: Codes,
    names: Codes,
    used_types: CodeCounts | None = None,
    used_names: CodeCounts | None = None,
) -> Kinds:
    """The class of each op (compute, communication or copy) from the codes of type and name."""
    used_types = counted_codes(types) if used_types is None else used_types
    used_names = counted_codes(names) if used_names is None else used_names
    classes = _by_code(types, used_types, lambda code: _class_of_type(strings[code]))
    if any(is_collective(strings[code]) for code in used_names.codes.tolist()):
        kinds = op_kinds(strings, types, used_types)
        collective = _by_code(names, used_names, lambda code: int(is_collective(strings[code])))
        classes[(collective == 1) & (kinds == OpKind.KERNEL)] = OpClass.COMMUNICATION
    return classes


def _class_of_type(op_type: str) -> OpClass:
    return OpClass.COPY if kind_of_type(op_type) is OpKind.COPY else OpClass.COMPUTE


def _by_code(codes: Codes, used: CodeCounts, value_of: Callable[[int], int]) -> Kinds:
    values = {code: value_of(code) for code in used.codes.tolist()}
    if len(set(values.values())) <= 1:
        return np.full(len(codes), next(iter(values.values()), 0), np.int8)
    table = np.zeros(max(values) + 2, np.int8)  # with a last entry for code -1
    for code, value in values.items():
        table[code] = value
    return looked_up(table, codes)
