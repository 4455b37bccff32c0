"""What an operator has to do at least: arithmetic and bytes, by its recorded arguments."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import NamedTuple

from wavescope.analyze.work.arguments import Arguments


class WorkKind(str, enum.Enum):
    """Kinds of operators with a formula; docs/work-model.md has them all."""

    GEMM = "GEMM"
    CONVOLUTION = "convolution"
    ATTENTION = "attention"
    MOE = "MoE"
    NORMALIZATION = "normalization"
    SOFTMAX = "softmax"
    ELEMENTWISE = "elementwise"
    COPY = "copy"
    REDUCTION = "reduction"
    EMBEDDING = "embedding"

    @property
    def is_matrix(self) -> bool:
        """Whether matrix units do the arithmetic, so that their peak bounds it."""
        return self in _MATRIX


_MATRIX = {WorkKind.GEMM, WorkKind.CONVOLUTION, WorkKind.ATTENTION, WorkKind.MOE}


class GemmSizes(NamedTuple):
    """`batch` products of an m x k by a k x n matrix."""

    batch: int
    m: int
    n: int
    k: int


class HeadSizes(NamedTuple):
    """Heads of an attention: of queries, of keys and values, and elements of one."""

    query_heads: int
    key_heads: int
    size: int


class OperatorWork(NamedTuple):
    """Arithmetic and compulsory traffic of one call: inputs read once, outputs written once."""

    kind: WorkKind
    flops: int
    bytes: int
    data_type: str
    """Of the arithmetic: the wider operand's."""
    shape: str
    """The sizes that matter, for people."""
    gemm: GemmSizes | None = None
    heads: HeadSizes | None = None


Formula = Callable[[Arguments], OperatorWork | None]
"""None where the arguments do not suffice."""
