"""What kind of work an op is, told from its type and name.

The kind follows the op's type, as the recorder stated it. The class decides the compute,
communication and copy split: a kernel whose name is a collective's is communication, a copy is a
copy, everything else (fills included) is compute. docs/definitions.md publishes this.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from wavescope.model.coded_columns import code_counts, looked_up
from wavescope.model.columns import UNKNOWN
from wavescope.model.strings import StringTable


class OpKind(enum.IntEnum):
    """Kinds of GPU work."""

    KERNEL = 0
    COPY = 1
    FILL = 2
    BARRIER = 3
    OTHER = 4


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
MARKER_TYPE = "UserMarker"

_KIND_PATTERNS = (
    (OpKind.KERNEL, re.compile(r"kernel|^task$", re.IGNORECASE)),
    (OpKind.COPY, re.compile(r"copy|memcpy", re.IGNORECASE)),
    (OpKind.FILL, re.compile(r"fill|memset", re.IGNORECASE)),
    (OpKind.BARRIER, re.compile(r"barrier|marker", re.IGNORECASE)),
)
_COLLECTIVE = re.compile(
    r"nccl|rccl|cross_device_reduce|(?<!sm)all_?reduce|(?<!sm)all_?gather|reduce_?scatter|all_?to_?all|"
    r"one_shot_all|two_shot_all",
    re.IGNORECASE,
)
_NAME_LIMIT = 4096


def kind_of_type(op_type: str) -> OpKind:
    """The kind that an op type such as 'CopyHostToDevice' stands for."""
    for kind, pattern in _KIND_PATTERNS:
        if pattern.search(op_type[:_NAME_LIMIT]):
            return kind
    return OpKind.OTHER


def is_collective(name: str) -> bool:
    """Whether `name` is a collective communication kernel's."""
    return _COLLECTIVE.search(name[:_NAME_LIMIT]) is not None


def op_kinds(strings: StringTable, type_codes: npt.NDArray[np.int32]) -> npt.NDArray[np.int8]:
    """The kind of each op, from its type code."""
    return _by_code(type_codes, lambda code: int(kind_of_type(strings[code])))


def op_classes(
    strings: StringTable, type_codes: npt.NDArray[np.int32], name_codes: npt.NDArray[np.int32]
) -> npt.NDArray[np.int8]:
    """The class of each op: compute, communication or copy."""
    kinds = op_kinds(strings, type_codes)
    collective = _by_code(name_codes, lambda code: int(is_collective(strings[code])))
    classes = np.where(kinds == OpKind.COPY, OpClass.COPY, OpClass.COMPUTE).astype(np.int8)
    classes[(collective == 1) & (kinds == OpKind.KERNEL)] = OpClass.COMMUNICATION
    return classes


def _by_code(codes: npt.NDArray[np.int32], value_of: Callable[[int], int]) -> npt.NDArray[np.int8]:
    if not len(codes):
        return np.empty(0, np.int8)
    counts = code_counts(codes if codes.min() >= 0 else codes[codes >= 0], int(codes.max()) + 1)
    table = np.zeros(len(counts) + 1, np.int8)
    for code in np.flatnonzero(counts).tolist():
        table[code] = value_of(code)
    table[-1] = value_of(UNKNOWN)
    return looked_up(table, codes)
