"""How many bytes a collective counts as, and what of its speed the links between GPUs see.

The algorithm bandwidth is size / time. The bus bandwidth is that times a factor which makes it
comparable with the speed of the links whatever the number of ranks n, as nccl-tests defines them:
an all-reduce of S bytes moves 2 (n - 1) / n S through each link. docs/operators.md has the table.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass


class Operation(enum.Enum):
    """What a collective does, with what it is called for people."""

    ALL_REDUCE = "all-reduce"
    ALL_GATHER = "all-gather"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_TO_ALL = "all-to-all"
    BROADCAST = "broadcast"
    REDUCE = "reduce"
    GATHER = "gather"
    SCATTER = "scatter"
    SEND_RECV = "send/recv"
    BARRIER = "barrier"


_OPERATIONS = (
    (re.compile("allreduce"), Operation.ALL_REDUCE),
    (re.compile("allgather"), Operation.ALL_GATHER),
    (re.compile("reducescatter"), Operation.REDUCE_SCATTER),
    (re.compile("alltoall"), Operation.ALL_TO_ALL),
    (re.compile("broadcast|bcast"), Operation.BROADCAST),
    (re.compile("sendrecv|^send|^recv|^isend|^irecv"), Operation.SEND_RECV),
    (re.compile("barrier"), Operation.BARRIER),
    (re.compile("reduce"), Operation.REDUCE),
    (re.compile("gather"), Operation.GATHER),
    (re.compile("scatter"), Operation.SCATTER),
)
_ELEMENT_BYTES = {
    **dict.fromkeys(("byte", "char", "bool", "int8", "uint8"), 1),
    **dict.fromkeys(("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz"), 1),
    **dict.fromkeys(("half", "bfloat16", "short", "uint16"), 2),
    **dict.fromkeys(("float", "int", "uint32"), 4),
    **dict.fromkeys(("double", "long", "uint64", "complexfloat"), 8),
    "complexdouble": 16,
}
_COUNTS_OUTPUT = frozenset({Operation.ALL_GATHER, Operation.GATHER})
_PART_FACTOR = frozenset(
    {
        Operation.ALL_GATHER,
        Operation.REDUCE_SCATTER,
        Operation.ALL_TO_ALL,
        Operation.GATHER,
        Operation.SCATTER,
    }
)
_WHOLE_FACTOR = frozenset({Operation.BROADCAST, Operation.REDUCE, Operation.SEND_RECV})


@dataclass(frozen=True)
class Message:
    """What one rank gives to a collective and gets from it; None is unknown."""

    operation: Operation | None
    in_elements: int | None
    out_elements: int | None
    element_bytes: int | None
    group_size: int | None
    is_uneven: bool = False
    """Whether ranks exchange parts of different sizes: no one factor holds then."""

    @property
    def size_bytes(self) -> int | None:
        """The size that bandwidths refer to: of all ranks' data for gathers, else of the input."""
        if self.element_bytes is None or self.operation in (None, Operation.BARRIER):
            return None
        elements = self.out_elements if self.operation in _COUNTS_OUTPUT else self.in_elements
        if self.operation is Operation.SEND_RECV and not elements:
            elements = self.out_elements
        return elements * self.element_bytes if elements else None

    @property
    def bus_factor(self) -> float | None:
        """Bus bandwidth / algorithm bandwidth."""
        if self.operation in _WHOLE_FACTOR:
            return 1.0
        ranks = self.group_size
        if self.is_uneven or ranks is None or ranks < 2:
            return None
        if self.operation is Operation.ALL_REDUCE:
            return 2 * (ranks - 1) / ranks
        return (ranks - 1) / ranks if self.operation in _PART_FACTOR else None


def operation_of(name: str) -> Operation | None:
    """What a recorded name such as `_reduce_scatter_base` or a kernel's `AllReduce` stands for."""
    plain = name.replace("_", "").lower()
    return next((found for pattern, found in _OPERATIONS if pattern.search(plain)), None)


def element_bytes_of(dtype: str) -> int | None:
    """The size of an element of a type as PyTorch calls it, None when it is not known."""
    return _ELEMENT_BYTES.get(dtype.replace("_", "").lower())


def gb_per_s(size_bytes: int | None, time_ns: int, factor: float | None = 1.0) -> float | None:
    """Bytes per time in GB/s of 10^9 bytes, times a factor; None when one of them is unknown."""
    if size_bytes is None or factor is None or time_ns <= 0:
        return None
    return size_bytes / time_ns * factor
